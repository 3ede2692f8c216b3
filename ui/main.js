// main.js - the frame of all pages: who is signed in, where one is, what is shown.

import { Client } from "./client.js";
import { announce, h, link } from "./dom.js";
import { showHelp } from "./page_help.js";
import { showRun } from "./page_run.js";
import { showRuns } from "./page_runs.js";
import { signIn } from "./page_signin.js";
import { showWaiting } from "./page_waiting.js";
import { showWorkflow, showWorkflows } from "./page_workflows.js";
import { empty } from "./parts.js";

const KEY = "maestro-key";
const app = document.getElementById("app");
const NAV = [["executions", "Executions"], ["waiting", "Waiting for you"], ["workflows", "Workflows"]];

let context = null;
let page = null;

const go = (hash) => { location.hash = hash; };

// The parts of the address behind "#/", and its query.
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

function choose(parts) {
  const [first, ...rest] = parts;
  if (!first || (first === "executions" && !rest.length)) return [showRuns, []];
  if (first === "executions" && rest.length === 1) return [showRun, rest];
  if (first === "waiting") return [showWaiting, rest];
  if (first === "workflows") return rest.length >= 2 ? [showWorkflow, rest] : [showWorkflows, rest];
  if (first === "errors" && rest.length === 1) return [showHelp, rest];
  return [() => ({ title: "Nothing here", node: [h("h1", { tabindex: -1 }, "Nothing here"), empty("There is no such page.", link("#/executions", "Go to the executions"))] }), []];
}

function route({ isFirst = false } = {}) {
  page?.stop?.();
  page = null;
  if (!context) { signOut(); return; }
  const { parts, query } = place();
  const [build, rest] = choose(parts);
  const main = document.getElementById("main");
  page = build(context, rest, query);
  main.replaceChildren(...[page.node].flat(Infinity).filter(Boolean));
  document.title = page.title + " · Maestro";
  for (const item of document.querySelectorAll("nav.main a"))
    item.toggleAttribute("aria-current", item.getAttribute("href") === "#/" + (parts[0] ?? "executions"));
  for (const item of document.querySelectorAll("nav.main a[aria-current]")) item.setAttribute("aria-current", "page");
  if (!isFirst) { main.querySelector("h1")?.focus({ preventScroll: true }); window.scrollTo(0, 0); }
  announce(page.title);
}

function frame(who) {
  app.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); document.querySelector("main h1")?.focus(); } }, "Skip to the content"),
    h("header", { class: "top" },
      link("#/executions", [h("img", { src: "/ui/icon.svg", alt: "", width: 26, height: 26 }), h("span", {}, "Maestro")], { class: "brand" }),
      h("nav", { class: "main", "aria-label": "Pages" }, NAV.map(([path, name]) => link("#/" + path, name))),
      h("span", { class: "spacer" }),
      h("span", { class: "who", id: "who", title: "namespace and role of the key" }, who.namespace === "*" ? "every namespace" : who.namespace, " · ", who.role),
      h("button", { type: "button", class: "quiet", id: "sign-out", onclick: () => signOut() }, "Sign out")),
    h("main", { id: "main" }),
    h("footer", { class: "foot" }, `Maestro ${who.version} · `, link("/openapi.json", "API")),
    h("div", { id: "announcer", class: "unseen", role: "status", "aria-live": "polite" }));
}

function signedIn(key, who) {
  sessionStorage.setItem(KEY, key);
  const client = new Client(key, { onUnknownKey: () => signOut("This key is no longer known. Sign in with another one.") });
  context = { client, who, go };
  frame(who);
  route({ isFirst: true });
}

function signOut(note) {
  page?.stop?.();
  page = null;
  context = null;
  sessionStorage.removeItem(KEY);
  document.querySelectorAll("dialog").forEach((dialog) => dialog.remove());
  document.title = "Sign in · Maestro";
  app.replaceChildren(signIn(signedIn, note));
  document.getElementById("key").focus();
}

async function begin() {
  const key = sessionStorage.getItem(KEY);
  if (!key) { signOut(); return; }
  try {
    signedIn(key, await new Client(key).get("/api"));
  } catch (error) {
    signOut(error.status === 401 ? "This key is no longer known. Sign in with another one." : error.message);
  }
}

window.addEventListener("hashchange", () => { if (context) route(); });
begin();
