// page_runs.js - executions: filtered, the newest first, page by page, and live.

import { h, link, show } from "./dom.js";
import { between } from "./format.js";
import { follow, soon } from "./live.js";
import { chip, empty, problem, runLink, time } from "./parts.js";
import { RUN_STATES, waitsFor } from "./state.js";

const LIMIT = 50;

export function runRow(run) {
  const id = run.revisionId;
  const note = run.errorMessage || (waitsFor(run) && "waits for " + waitsFor(run)) || "";
  return h("tr", { "data-run": run.executionId },
    h("td", {}, chip(run.state)),
    h("td", {}, link(runLink(run), id.workflowId, { class: "strong", "data-focus": run.executionId }), h("span", { class: "muted" }, ` r${id.version}`),
      h("div", { class: "muted small" }, id.namespace)),
    h("td", { class: "note-cell" }, note),
    h("td", {}, time(run.startedAt)),
    h("td", { class: "number" }, between(run.startedAt, run.completedAt)),
    h("td", { class: "mono small wide-only" }, run.executionId));
}

export function runTable(rows, caption) {
  return h("div", { class: "table runs" }, h("table", {}, h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, ["State", "Workflow", "Note", "Started", "Took", "Id"].map((name, i) =>
      h("th", { scope: "col", class: i === 5 ? "wide-only" : i === 4 ? "number" : null }, name)))),
    h("tbody", {}, rows)));
}

export function showRuns({ client, who, go }, parts, query) {
  const cursors = [query.get("cursor") ?? ""];
  const list = h("div", { "aria-live": "off" });
  const pager = h("nav", { class: "row pager", "aria-label": "Pages" });
  const lamp = h("span", { class: "lamp", role: "status" });
  const sees = who.namespace === "*";
  const filter = (name) => query.get(name) ?? "";
  const input = (name, label, node) => h("div", { class: "field" }, h("label", { for: "q-" + name }, label), node);
  const workflows = h("datalist", { id: "workflow-names" });
  const form = h("form", { class: "filters", role: "search", "aria-label": "Which executions", onsubmit: (event) => { event.preventDefault(); apply(); } },
    input("state", "State", h("select", { id: "q-state", onchange: () => apply() }, h("option", { value: "" }, "every state"),
      RUN_STATES.map((state) => h("option", { value: state, selected: filter("state") === state }, state)))),
    input("workflow", "Workflow", h("input", { id: "q-workflow", type: "search", value: filter("workflow"), list: "workflow-names", placeholder: "every workflow", autocomplete: "off" })),
    sees && input("namespace", "Namespace", h("input", { id: "q-namespace", type: "search", value: filter("namespace"), placeholder: "every one", autocomplete: "off" })),
    workflows, h("button", { type: "submit" }, "Show"));

  function apply() {
    const wanted = new URLSearchParams();
    for (const name of ["state", "workflow", "namespace"]) {
      const value = form.querySelector("#q-" + name)?.value.trim();
      if (value) wanted.set(name, value);
    }
    go("#/executions" + (wanted.size ? "?" + wanted : ""));
  }

  function address() {
    const asked = new URLSearchParams({ limit: LIMIT });
    for (const [name, as] of [["state", "state"], ["workflow", "workflowId"], ["namespace", "namespace"]]) if (filter(name)) asked.set(as, filter(name));
    if (cursors.at(-1)) asked.set("cursor", cursors.at(-1));
    return "/api/executions?" + asked;
  }

  const isFiltered = ["state", "workflow", "namespace"].some(filter);
  async function load() {
    try {
      const page = await client.get(address());
      const when = page.items.some((run) => !run.completedAt) ? Math.floor(Date.now() / 1000) : 0;
      show(list, [page.items, when], () => page.items.length ? runTable(page.items.map(runRow), "Executions, the newest first")
        : isFiltered ? empty("Nothing fits.", "No execution is like that. ", link("#/executions", "Show every one"), ".")
          : empty("Nothing has been started yet.", "Pick a workflow and start it, or store one first: ", link("#/workflows", "Workflows"), "."));
      show(pager, [cursors.length, page.nextCursor], () => [
        h("button", { type: "button", disabled: cursors.length < 2, onclick: () => { cursors.pop(); load(); } }, "Newer"),
        h("button", { type: "button", disabled: !page.nextCursor, onclick: () => { cursors.push(page.nextCursor); load(); } }, "Older")]);
    } catch (error) {
      show(list, error.message + Math.random(), () => problem(error));
    }
  }

  const [look, stopLook] = soon(load, 700);
  const stopFollow = follow(client, "/api/events" + (filter("namespace") ? "?namespace=" + encodeURIComponent(filter("namespace")) : ""), {
    onEvents: look,
    onState: (state) => { lamp.className = "lamp " + state; lamp.textContent = state === "live" ? "live" : "reconnecting"; if (state === "live") look(); },
  });
  const tick = setInterval(look, 5000);
  client.get("/api/workflows?limit=500" + (filter("namespace") ? "&namespace=" + encodeURIComponent(filter("namespace")) : ""))
    .then((page) => workflows.replaceChildren(...page.items.map((w) => h("option", { value: w.workflowId })))).catch(() => {});
  load();
  return {
    title: "Executions",
    node: [h("div", { class: "row head" }, h("h1", { tabindex: -1 }, "Executions"), lamp), form, list, pager],
    stop: () => { stopFollow(); stopLook(); clearInterval(tick); },
  };
}
