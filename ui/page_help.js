// page_help.js - what a type of error means and what to do: the server's own page about it, as text with headings.

import { h, link } from "./dom.js";
import { markdown } from "./markdown.js";
import { problem } from "./parts.js";

export function showHelp({ client }, [type]) {
  const place = h("article", { class: "card prose" }, h("p", { class: "muted" }, "…"));
  client.text("/errors/" + encodeURIComponent(type))
    .then((text) => place.replaceChildren(...markdown(text)))
    .catch((error) => place.replaceChildren(problem(error)));
  return { title: "Help", node: [h("p", {}, link("#/executions", "← Executions")), h("h1", { class: "unseen", tabindex: -1 }, "Help: " + type), place] };
}
