// parts.js - what several pages show: states, times, values, problems, empty places.

import { h, link } from "./dom.js";
import { ago, moment } from "./format.js";
import { toText } from "./json.js";
import { sign, tone, word } from "./state.js";

export function chip(state) {
  return h("span", { class: "chip " + tone(state), "data-state": word(state) }, h("span", { "aria-hidden": "true" }, sign(state)), " ", word(state));
}

export function time(text) {
  return text ? h("time", { datetime: text, title: moment(text) }, ago(text)) : h("span", { class: "muted" }, "–");
}

export function value(data) {
  if (data === null || data === undefined) return h("p", { class: "muted" }, "nothing");
  return h("pre", { class: "code", tabindex: 0 }, toText(data, 2));
}

// What went wrong, why, and where its help is.
export function problem(error, attributes) {
  return h("div", { class: "problem", role: "alert", ...attributes },
    h("strong", {}, error.title ?? "It did not work"),
    h("p", {}, error.message),
    error.fields?.length > 0 && h("ul", {}, error.fields.map((field) => h("li", {}, h("code", {}, field.line ? `line ${field.line}, column ${field.column}` : field.pointer), " ", field.detail))),
    error.help && h("p", {}, link(error.help, "What this means, and what to do")));
}

export function empty(title, ...what) {
  return h("div", { class: "empty" }, h("strong", {}, title), h("p", {}, what));
}

export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, shown]) => shown !== null && shown !== undefined && shown !== "").map(([name, shown]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, shown))));
}

export function section(title, { tools, ...attributes }, ...children) {
  const id = "s-" + title.toLowerCase().replaceAll(/\W+/g, "-");
  return h("section", { "aria-labelledby": id, ...attributes, class: "card " + (attributes.class ?? "") },
    h("header", { class: "row" }, h("h2", { id }, title), tools), children);
}

export function runLink(run) {
  return "#/executions/" + encodeURIComponent(run.executionId);
}

export function workflowLink(id) {
  return "#/workflows/" + [id.namespace, id.workflowId].map(encodeURIComponent).join("/");
}
