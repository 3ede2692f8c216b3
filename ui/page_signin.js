// page_signin.js - who is there? The key is kept by this tab alone, until it is closed or somebody signs out.

import { Client } from "./client.js";
import { h } from "./dom.js";
import { problem } from "./parts.js";

export function signIn(onKey, note) {
  const said = h("div", { class: "said" }, note && h("p", { class: "note", role: "status" }, note));
  const input = h("input", { id: "key", type: "password", required: true, autocomplete: "current-password", spellcheck: "false", placeholder: "mk.…" });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const go = async (event) => {
    event.preventDefault();
    const key = input.value.trim();
    if (!key) return;
    button.disabled = true;
    try {
      const who = await new Client(key).get("/api");
      onKey(key, who);
    } catch (error) {
      button.disabled = false;
      said.replaceChildren(problem(error));
      input.select();
    }
  };
  return h("main", { class: "signin", id: "main" },
    h("form", { class: "card", onsubmit: go },
      h("img", { src: "/ui/icon.svg", alt: "", width: 44, height: 44 }),
      h("h1", {}, "Maestro"),
      h("p", { class: "muted" }, "Sign in with an API key. It stays in this tab and is sent to this server alone."),
      h("label", { for: "key" }, "API key"), input, said, button,
      h("details", {}, h("summary", {}, "Where do I get one?"),
        h("p", {}, "The first start of the server wrote a key to a file beside its store; the line that it printed names it. For others:"),
        h("pre", { class: "code" }, "maestro key create --tenant acme --role operator"))));
}
