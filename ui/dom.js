// dom.js - elements out of plain calls: h("p", { class: "note" }, "text").
//
// Texts become text nodes and nothing is ever read as HTML, so what runs, steps and people wrote stays inert. An attribute that
// begins with "on" is a listener; null and false are left out, true is an empty attribute; children may be nested lists.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

// A link to a page, or to an address of this server. Nothing else can become one: what is shown comes from runs.
export function link(href, text, attributes) {
  return h("a", { href: href.startsWith("#/") || href.startsWith("/") ? href : null, ...attributes }, text);
}

const shown = new WeakMap();

// Puts what `build` makes into a place, but only where `data` is another than the last time: what a person reads, selects or
// scrolls does not move while nothing changes. The focus stays on what has the same data-focus.
export function show(place, data, build) {
  const text = JSON.stringify(data);
  if (shown.get(place) === text) return;
  shown.set(place, text);
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("data-focus") : null;
  const scrolled = [...place.querySelectorAll("[data-scroll]")].map((e) => [e.getAttribute("data-scroll"), e.scrollLeft, e.scrollTop]);
  place.replaceChildren(...nodes([build()]));
  for (const [name, left, top] of scrolled) {
    const element = place.querySelector(`[data-scroll="${name}"]`);
    if (element) [element.scrollLeft, element.scrollTop] = [left, top];
  }
  if (focused) place.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// Says something to those who listen instead of looking.
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place && place.textContent !== text) place.textContent = text;
}
