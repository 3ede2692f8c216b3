// page_waiting.js - what waits for a person: failures to decide on, pauses to answer, gates, compensations that failed.

import { actions, decideMany } from "./action.js";
import { announce, h, link, show } from "./dom.js";
import { count } from "./format.js";
import { follow, soon } from "./live.js";
import { chip, empty, problem, runLink, time } from "./parts.js";
import { waitsFor } from "./state.js";

const LIMIT = 200;
const GROUPS = [
  { title: "Failed, and nobody has decided", state: "failed", fits: (run) => run.resolution === "AWAITING_DECISION", only: ["resolve", "compensate", "cancel"], canChoose: true },
  { title: "Paused for an answer", state: "paused", fits: (run) => run.awaitingTrigger, only: ["approve", "deny"] },
  { title: "At a gate", state: "waiting-signal", fits: () => true, isWhole: true },
  { title: "A compensation failed", state: "compensation-failed", fits: () => true, only: ["retry-compensation", "skip-compensation"] },
  { title: "Paused by somebody", state: "paused", fits: (run) => !run.awaitingTrigger, only: ["resume", "cancel"] },
];

export function showWaiting({ client }) {
  const place = h("div", { class: "groups" });
  const said = h("div", {});
  const chosen = new Set();

  const card = (group, run) => {
    const context = { run, steps: run.steps ?? [], client, onDone: () => { chosen.delete(run.executionId); announce("Done"); load(); } };
    return h("li", { class: "card waiting", "data-run": run.executionId },
      h("div", { class: "row" },
        group.canChoose && h("input", { type: "checkbox", "aria-label": "Choose " + run.executionId, checked: chosen.has(run.executionId), "data-focus": "pick-" + run.executionId,
          onchange: (event) => { event.target.checked ? chosen.add(run.executionId) : chosen.delete(run.executionId); load(); } }),
        chip(run.state), link(runLink(run), run.revisionId.workflowId, { class: "strong", "data-focus": "run-" + run.executionId }),
        h("span", { class: "muted small" }, run.revisionId.namespace), h("span", { class: "spacer" }), h("span", { class: "muted small" }, "since ", time(run.lastUpdatedAt))),
      h("p", {}, run.errorMessage ?? "waits for " + waitsFor(run)),
      h("div", { class: "row actions" }, actions(context, group.isWhole ? undefined : group.only).flat(2)));
  };

  async function load() {
    try {
      const states = [...new Set(GROUPS.map((group) => group.state))];
      const pages = Object.fromEntries(await Promise.all(states.map(async (state) => [state, await client.get(`/api/executions?limit=${LIMIT}&state=${state}`)])));
      const groups = await Promise.all(GROUPS.map(async (group) => {
        const fitting = pages[group.state].items.filter(group.fits);
        // What a gate waits for stands in its steps.
        return { group, runs: group.isWhole ? await Promise.all(fitting.slice(0, 20).map((run) => client.execution(run._links.self.href))) : fitting, hasMore: !!pages[group.state].nextCursor };
      }));
      for (const id of [...chosen]) if (!groups[0].runs.some((run) => run.executionId === id)) chosen.delete(id);
      show(place, [groups.map(({ runs }) => runs), [...chosen]], () => groups.some(({ runs }) => runs.length)
        ? groups.filter(({ runs }) => runs.length).map(({ group, runs, hasMore }) => h("section", { "aria-label": group.title },
          h("div", { class: "row" }, h("h2", {}, group.title), h("span", { class: "badge" }, runs.length + (hasMore ? "+" : "")), h("span", { class: "spacer" }),
            group.canChoose && chosen.size > 1 && h("button", { type: "button", class: "primary", "data-action": "decide-many", onclick: () => many(runs) }, `Decide on ${chosen.size}`)),
          h("ul", { class: "cards" }, runs.map((run) => card(group, run)))))
        : empty("Nobody waits for you.", "Failures to decide on, approvals and gates appear here by themselves. ", link("#/executions", "See all executions"), "."));
    } catch (error) {
      show(place, error.message + Math.random(), () => problem(error));
    }
  }

  async function many(runs) {
    const result = await decideMany(client, runs.filter((run) => chosen.has(run.executionId)));
    if (!result) return;
    const done = result.items.filter((item) => item.outcome === "done").length;
    const rest = result.items.filter((item) => item.outcome !== "done");
    said.replaceChildren(h("div", { class: "note", role: "status" }, `${count(done, "execution")} decided.`,
      rest.length > 0 && h("ul", {}, rest.map((item) => h("li", {}, h("code", {}, item.executionId), ` ${item.outcome}: ${item.detail ?? ""}`)))));
    chosen.clear();
    load();
  }

  const [look, stopLook] = soon(load, 700);
  const stopFollow = follow(client, "/api/events", { onEvents: look, onState: (state) => { if (state === "live") look(); } });
  load();
  return { title: "Waiting for you", node: [h("div", { class: "row head" }, h("h1", { tabindex: -1 }, "Waiting for you")), said, place], stop: () => { stopFollow(); stopLook(); } };
}
