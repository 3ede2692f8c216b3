// markdown.js - the little Markdown that the server's help pages are written in, as elements: headings, paragraphs, lists, code.

import { h } from "./dom.js";

function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
    if (part.startsWith("**")) return h("strong", {}, part.slice(2, -2));
    return part.startsWith("[") && part.includes("](") ? part.slice(1, part.indexOf("]")) : part;       // their links lead into documents
  });
}

export function markdown(text) {
  const made = [];
  let list = null;
  let code = null;
  let lines = [];
  const flush = () => { if (lines.length) made.push(h("p", {}, inline(lines.join(" ")))); lines = []; };
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) {
      flush();
      if (code) { made.push(h("pre", { class: "code" }, code.join("\n"))); code = null; } else code = [];
    } else if (code) code.push(line);
    else if (/^#+ /.test(line)) { flush(); list = null; made.push(h(line.startsWith("# ") ? "h2" : "h3", {}, inline(line.replace(/^#+ /, "")))); }
    else if (/^[-*] /.test(line)) {
      flush();
      if (!list) { list = h("ul", {}); made.push(list); }
      list.append(h("li", {}, inline(line.slice(2))));
    } else if (!line.trim()) { flush(); list = null; }
    else if (list && line.startsWith("  ")) list.lastChild.append(" ", ...inline(line.trim()));
    else { list = null; lines.push(line.trim()); }
  }
  flush();
  return made;
}
