// graph.js - the steps of an execution as a drawing: lineage from left to right (on a narrow page downwards), coloured by state.

import { h, s } from "./dom.js";
import { layout, path, NODE } from "./layout.js";
import { sign, tone, word } from "./state.js";

export const DRAWN_MAX = 400;           // more steps are a table alone: a drawing that nobody can read helps nobody

function cut(text, length) {
  return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

function node(step, place, selected, onSelect) {
  const state = word(step.state);
  const label = `${step.stepId}, ${state}` + (step.pausesFor ? `, then waits for ${step.pausesFor}` : "");
  const choose = () => onSelect(step.index);
  return s("g", {
    class: `node ${tone(step.state)}${step.state === null ? " ahead" : ""}${selected ? " selected" : ""}`, transform: `translate(${place.x} ${place.y})`,
    tabindex: 0, role: "button", "aria-label": label, "aria-pressed": selected ? "true" : "false", "data-focus": "node-" + step.index,
    "data-step": step.stepId, "data-state": state, onclick: choose,
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } },
  },
    s("title", {}, label),
    s("rect", { class: "box", width: NODE.width, height: NODE.height, rx: 9 }),
    s("rect", { class: "bar", x: 0, y: 9, width: 4, height: NODE.height - 18, rx: 2 }),
    s("text", { class: "name", x: 14, y: 21 }, cut(step.name, 21)),
    s("text", { class: "state", x: 14, y: 38 }, `${sign(step.state)} ${state}` + (step.job ? ` · ${cut(step.job, 14)}` : "")),
    step.pausesFor && s("text", { class: "pause", x: NODE.width - 10, y: 21, "text-anchor": "end" }, "Ⅱ"));
}

const SCALE_MIN = 0.7;                  // smaller nobody reads it: the drawing is scrolled then

export function draw(graph, { across, room, selected, onSelect }) {
  if (graph.steps.length > DRAWN_MAX)
    return h("p", { class: "note" }, `There are ${graph.steps.length} steps: too many to draw. The table below has them.`);
  const plan = layout(graph.steps.length, graph.edges, { across });
  const scale = Math.min(1, Math.max(SCALE_MIN, room / plan.width));
  const kinds = new Map(graph.edges.map((edge) => [edge.from + ">" + edge.to, edge]));
  const lines = plan.edges.map((edge) => {
    const known = kinds.get(edge.from + ">" + edge.to);
    const isDone = ["succeeded", "skipped"].includes(graph.steps[edge.from].state) && graph.steps[edge.to].state !== null;
    return s("path", { class: `edge ${known.kind}${isDone ? " done" : ""}`, d: path(edge.points, across), "marker-end": "url(#arrow)" },
      known.key && s("title", {}, "way " + known.key));
  });
  return h("div", { class: "canvas", "data-scroll": "graph" },
    s("svg", { width: Math.floor(plan.width * scale), height: Math.floor(plan.height * scale), viewBox: `0 0 ${plan.width} ${plan.height}`, role: "group", "aria-label": "Steps and what each depends on" },
      s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
        s("path", { d: "M0 0.6 7 4 0 7.4z" }))),
      s("g", { "aria-hidden": "true" }, lines),
      graph.steps.map((step) => node(step, plan.nodes[step.index], selected === step.index, onSelect))));
}
