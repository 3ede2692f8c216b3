// form.js - a dialog that asks before something is done: fields, a reason, and what the server says to it.
//
// Fields are data: { name, label, kind: "text" | "area" | "select" | "check" | "steps" | "list" | "json" | "number" | "source", required, options,
// value, hint, when(values) }. What is sent is made of their values by the caller; the dialog stays open with the problem where the
// server refuses it, and the key of the request stays the same, so that a second click does nothing twice.

import { wishKey } from "./client.js";
import { h } from "./dom.js";
import { exactNumber, parse } from "./json.js";
import { problem } from "./parts.js";

const READ = {
  text: (input) => input.value.trim() || undefined,
  area: (input) => input.value.trim() || undefined,
  source: (input) => input.value,
  select: (input) => input.value || undefined,
  check: (input) => input.checked,
  list: (input) => { const list = input.value.split(",").map((item) => item.trim()).filter(Boolean); return list.length ? list : undefined; },
  steps: (input) => { const list = [...input.selectedOptions].map((option) => option.value); return list.length ? list : undefined; },
  number: (input) => {
    if (!input.value.trim()) return undefined;
    const number = exactNumber(input.value);
    if (!number) throw new Error("is no number");
    return number;
  },
  json: (input) => {
    if (!input.value.trim()) return undefined;
    try { return parse(input.value); } catch (error) { throw new Error("is no JSON: " + error.message); }
  },
};

function control(field, id) {
  const common = { id, name: field.name, required: field.required && field.kind !== "check", "aria-describedby": field.hint ? id + "-hint" : null };
  const rows = { area: 2, json: 4, source: 16 }[field.kind];
  if (rows) {
    const area = h("textarea", { ...common, rows, spellcheck: field.kind === "area" ? "true" : "false", class: field.kind === "area" ? "" : "mono" });
    area.value = field.value ?? "";
    return area;
  }
  if (field.kind === "select" || field.kind === "steps") {
    return h("select", { ...common, multiple: field.kind === "steps", size: field.kind === "steps" ? Math.min(8, Math.max(3, field.options.length)) : null },
      field.options.map((option) => { const [key, text] = Array.isArray(option) ? option : [option, option]; return h("option", { value: key, selected: key === field.value }, text); }));
  }
  if (field.kind === "check") return h("input", { ...common, type: "checkbox", checked: field.value === true });
  return h("input", { ...common, type: "text", value: field.value ?? "", autocomplete: "off", inputmode: field.kind === "number" ? "decimal" : null });
}

function row(field, input, id) {
  const label = h("label", { for: id }, field.label, field.required && h("span", { class: "muted" }, " (needed)"));
  return h("div", { class: "field " + field.kind }, field.kind === "check" ? [input, label] : [label, input],
    field.hint && h("p", { class: "hint", id: id + "-hint" }, field.hint));
}

export const REASON = { name: "reason", label: "Reason", kind: "area", required: true, hint: "It is recorded in the ledger, with your key." };

// Opens it; resolves with what `send(values, key)` gave, or null where it was closed.
export function ask({ title, explain, fields, button, tone = "primary", send }) {
  return new Promise((done) => {
    const key = wishKey();
    const rows = fields.map((field) => { const id = "f-" + field.name; const input = control(field, id); return { field, input, node: row(field, input, id) }; });
    const said = h("div", { class: "said" });
    const submit = h("button", { type: "submit", class: tone }, button);
    const values = () => Object.fromEntries(rows.filter((r) => !r.node.hidden).map((r) => {
      try { return [r.field.name, READ[r.field.kind](r.input)]; } catch (error) { error.field = r; throw error; }
    }));
    const settle = () => {
      const now = Object.fromEntries(rows.map((r) => [r.field.name, r.field.kind === "check" ? r.input.checked : r.input.value]));
      for (const r of rows) {
        r.node.hidden = r.field.when ? !r.field.when(now) : false;
        if (r.field.required && r.field.kind !== "check") r.input.required = !r.node.hidden;
      }
    };
    const close = (result) => { dialog.close(); dialog.remove(); done(result); };
    const go = async (event) => {
      event.preventDefault();
      let read;
      try { read = values(); } catch (error) {
        said.replaceChildren(problem({ title: error.field.field.label, message: `'${error.field.field.label}' ${error.message}` }));
        error.field.input.focus();
        return;
      }
      submit.disabled = true;
      said.replaceChildren();
      try { close(await send(read, key)); } catch (error) {
        submit.disabled = false;
        said.replaceChildren(problem(error));
      }
    };
    const dialog = h("dialog", { class: "ask", "aria-labelledby": "ask-title", oncancel: (event) => { event.preventDefault(); close(null); } },
      h("form", { onsubmit: go, oninput: settle, onchange: settle },
        h("h2", { id: "ask-title" }, title), explain && h("p", { class: "muted" }, explain),
        rows.map((r) => r.node), said,
        h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => close(null) }, "Close"), submit)));
    document.body.append(dialog);
    settle();
    dialog.showModal();
    rows.find((r) => !r.node.hidden)?.input.focus();
  });
}
