// json.js - JSON with exact numbers: digits that a number of JavaScript cannot hold are kept as they were sent.

export class Exact {
  constructor(source) { this.source = source; }
  toString() { return this.source; }
  toJSON() { return this.source; }      // where somebody compares texts; toText() writes it as a number
}

export function parse(text) {
  return JSON.parse(text, (key, value, context) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source ? new Exact(context.source) : value);
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

// A number as somebody typed it; null where it is none.
export function exactNumber(text) {
  return NUMBER.test(text.trim()) ? new Exact(text.trim()) : null;
}

export function toText(value, indent = 0, level = 0) {
  if (value instanceof Exact) return value.source;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const isList = Array.isArray(value);
  const parts = isList ? value.map((item) => toText(item, indent, level + 1))
    : Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) =>
      JSON.stringify(key) + (indent ? ": " : ":") + toText(item, indent, level + 1));
  const [open, close] = isList ? "[]" : "{}";
  if (!parts.length) return open + close;
  if (!indent) return open + parts.join(",") + close;
  const line = "\n" + " ".repeat(indent * (level + 1));
  return open + line + parts.join("," + line) + "\n" + " ".repeat(indent * level) + close;
}
