// page_workflows.js - workflows, their revisions, and starting one.

import { announce, h, link, show } from "./dom.js";
import { ask, REASON } from "./form.js";
import { toText } from "./json.js";
import { empty, problem, runLink, section, time, workflowLink } from "./parts.js";

const NUMBERS = ["number", "integer", "int", "float"];

export function showWorkflows({ client, who, go }, parts, query) {
  const place = h("div", {});
  const namespace = query.get("namespace") ?? "";
  const filter = who.namespace === "*" && h("form", { class: "filters", role: "search", "aria-label": "Whose workflows",
    onsubmit: (event) => { event.preventDefault(); const value = event.target.elements.namespace.value.trim(); go("#/workflows" + (value ? "?namespace=" + encodeURIComponent(value) : "")); } },
    h("div", { class: "field" }, h("label", { for: "q-ns" }, "Namespace"), h("input", { id: "q-ns", name: "namespace", type: "search", value: namespace, placeholder: "every one", autocomplete: "off" })),
    h("button", { type: "submit" }, "Show"));
  const more = h("div", {});
  const items = [];
  async function load(cursor) {
    try {
      const asked = new URLSearchParams({ limit: 100, ...(namespace ? { namespace } : {}), ...(cursor ? { cursor } : {}) });
      const page = await client.get("/api/workflows?" + asked);
      items.push(...page.items);
      show(place, items, () => items.length ? h("ul", { class: "cards" }, items.map((w) => h("li", { class: "card" },
        h("div", { class: "row" }, link(workflowLink(w), w.workflowId, { class: "strong" }), h("span", { class: "muted small" }, w.namespace), h("span", { class: "spacer" }),
          w.activeVersion ? h("span", { class: "chip good" }, `r${w.activeVersion} active`) : h("span", { class: "chip idle" }, "not active")),
        w.description && h("p", { class: "muted" }, w.description))))
        : empty("No workflow is stored here.", "Store a definition with the button above, by ", h("code", {}, "POST /api/workflows"), ", or run one: ", h("code", {}, "maestro run FILE"), "."));
      show(more, page.nextCursor ?? "", () => page.nextCursor ? h("button", { type: "button", onclick: () => load(page.nextCursor) }, "More") : null);
    } catch (error) { show(place, error.message + Math.random(), () => problem(error)); }
  }
  load();
  return { title: "Workflows", node: [h("div", { class: "row head" }, h("h1", { tabindex: -1 }, "Workflows"), h("span", { class: "spacer" }),
    h("button", { type: "button", "data-action": "store", onclick: () => store({ client, go }, namespace) }, "Store a definition")), filter, place, more] };
}

async function store({ client, go }, namespace) {
  const made = await ask({
    title: "Store a definition", explain: "It becomes the first or the next revision of the workflow that it names, and is not active until somebody activates it.", button: "Store",
    fields: [{ name: "definition", label: "Definition", kind: "source", required: true, hint: "YAML or JSON; every mistake is pointed at." }],
    send: (values, key) => client.post("/api/workflows" + (namespace ? "?namespace=" + encodeURIComponent(namespace) : ""), values, key),
  });
  if (made) go(`${workflowLink(made.revisionId)}/${made.revisionId.version}`);
}

function parameterField(parameter) {
  const type = parameter.type ?? "string";
  const kind = NUMBERS.includes(type) ? "number" : type === "boolean" || type === "bool" ? "select" : type === "string" ? "text" : "json";
  const given = parameter.default;
  return {
    name: parameter.name, label: parameter.name, kind, required: parameter.required === true, type,
    options: kind === "select" ? [["", "as declared"], ["true", "yes"], ["false", "no"]] : undefined,
    value: given === undefined || given === null ? "" : typeof given === "string" ? given : toText(given),
    hint: [parameter.description, type].filter(Boolean).join(" · "),
  };
}

async function start({ client, go }, revision) {
  const fields = (revision.parameters ?? []).map(parameterField);
  const id = revision.revisionId;
  const begun = await ask({
    title: `Start ${id.workflowId}`, explain: `Revision ${id.version}${revision.label ? ", " + revision.label : ""}. It is durable before this page hears of it.`, button: "Start",
    fields: [...fields.map((f) => ({ ...f, name: "p-" + f.name })), { ...REASON, required: false }],
    send: ({ reason, ...values }, key) => {
      const parameters = {};
      for (const field of fields) {
        const given = values["p-" + field.name];
        if (given !== undefined) parameters[field.name] = field.kind === "select" ? given === "true" : given;
      }
      return client.post("/api/executions", { namespace: id.namespace, workflowId: id.workflowId, version: id.version, parameters, ...(reason ? { reason } : {}) }, key);
    },
  });
  if (begun) go(runLink(begun));
}

export function showWorkflow(context, [namespace, workflowId, version]) {
  const { client, go } = context;
  const base = `/api/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(workflowId)}`;
  const head = h("div", {}, h("h1", { tabindex: -1 }, workflowId));
  const detail = h("div", {});
  const list = h("div", {});
  const said = h("div", {});
  let opened = version ? Number(version) : 0;

  async function change(revision, name) {
    const isOn = name === "activate";
    const result = await ask({
      title: `${isOn ? "Activate" : "Deactivate"} revision ${revision.revisionId.version}`, button: isOn ? "Activate" : "Deactivate", tone: isOn ? "primary" : "danger",
      explain: isOn ? "It is the one that is started from now on; executions that have begun keep theirs." : "It can no longer be started; executions that have begun go on.",
      fields: [...(isOn ? [{ name: "allowIncompatible", label: "also where it breaks who relies on the active one", kind: "check", value: false }] : []), REASON],
      send: (values, key) => client.post(revision._links[name].href, values.allowIncompatible ? values : { reason: values.reason }, key),
    });
    if (result) { announce("Done"); load(); }
  }

  async function load() {
    try {
      const [workflow, revisions] = await Promise.all([client.get(base), client.get(base + "/revisions?limit=100")]);
      const shown = opened || workflow.activeVersion || workflow.newestVersion;
      const revision = await client.get(`${base}/revisions/${shown}`);
      show(head, workflow, () => [h("div", { class: "row head" }, h("h1", { tabindex: -1 }, workflow.workflowId), h("span", { class: "muted" }, workflow.namespace), h("span", { class: "spacer" }),
        link(`#/executions?workflow=${encodeURIComponent(workflowId)}&namespace=${encodeURIComponent(namespace)}`, "Executions", { class: "button" })),
      workflow.description && h("p", { class: "muted" }, workflow.description)]);
      show(list, [revisions.items, shown], () => section("Revisions", {}, h("div", { class: "table" }, h("table", {},
        h("caption", { class: "unseen" }, "Revisions, the newest first"),
        h("thead", {}, h("tr", {}, ["Revision", "Label", "Stored", "", ""].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, revisions.items.map((r) => h("tr", { class: r.revisionId.version === shown ? "current" : null, "data-version": r.revisionId.version },
          h("td", {}, link(`${workflowLink(r.revisionId)}/${r.revisionId.version}`, "r" + r.revisionId.version, { class: "strong" })),
          h("td", {}, r.label ?? "–"), h("td", {}, time(r.createdAt)),
          h("td", {}, r.active ? h("span", { class: "chip good" }, "active") : null),
          h("td", { class: "row actions" }, r._links.activate && h("button", { type: "button", "data-action": "activate", onclick: () => change(r, "activate") }, "Activate"),
            r._links.deactivate && h("button", { type: "button", class: "danger", "data-action": "deactivate", onclick: () => change(r, "deactivate") }, "Deactivate")))))))));
      show(detail, revision, () => section(`Revision ${shown}`, {
        tools: [revision.active && h("span", { class: "chip good" }, "active"), h("span", { class: "spacer" }),
          revision._links.start ? h("button", { type: "button", class: "primary", "data-action": "start", onclick: () => start(context, revision) }, "Start")
            : h("span", { class: "muted small" }, "Activate it to start it.")] },
      (revision.parameters ?? []).length > 0 && h("div", { class: "table" }, h("table", {}, h("caption", {}, "Parameters"),
        h("thead", {}, h("tr", {}, ["Name", "Type", "Default"].map((n) => h("th", { scope: "col" }, n)))),
        h("tbody", {}, revision.parameters.map((p) => h("tr", {}, h("td", { class: "mono" }, p.name), h("td", {}, p.type), h("td", { class: "mono" }, p.required ? "needed" : toText(p.default ?? null))))))),
      h("details", { open: true }, h("summary", {}, "Definition"), h("pre", { class: "code", tabindex: 0 }, revision.definition))));
    } catch (error) { said.replaceChildren(problem(error)); }
  }
  load();
  return { title: workflowId, node: [h("p", {}, link("#/workflows?namespace=" + encodeURIComponent(namespace), "← Workflows")), said, head, detail, list] };
}
