// client.js - the API as these pages use it: requests with the key, problems as errors, event streams.
//
// Nothing is sent anywhere but to the server that the pages came from.

import { Exact, parse, toText } from "./json.js";
import { EventReader } from "./sse.js";

// What the server refused: problem details, or that it could not be reached.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? "the server refused it");
    this.status = status;
    this.title = body.title ?? "It did not work";
    this.fields = Array.isArray(body.errors) ? body.errors : [];
    const type = typeof body.type === "string" ? body.type.split("/").pop() : "";
    this.help = /^[a-z-]+$/.test(type) ? "#/errors/" + type : null;
  }
}

function unreachable() {
  return new Problem(0, { title: "The server cannot be reached", detail: "It may be starting again, or the network is away. This page tries again by itself." });
}

// A key of its own for each wish, so that one that is sent twice is done once.
export function wishKey() {
  return "ui-" + [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Client {
  constructor(key, { onUnknownKey } = {}) {
    this.key = key;
    this.onUnknownKey = onUnknownKey;
  }

  async send(path, options) {
    const headers = { Authorization: "Bearer " + this.key, ...options.headers };
    let answer;
    try {
      answer = await fetch(path, { method: options.method ?? "GET", headers, body: options.body, signal: options.signal, cache: "no-store",
        credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" });
    } catch (error) {
      throw error.name === "AbortError" ? error : unreachable();
    }
    if (answer.ok) return answer;
    const text = await answer.text().catch(() => "");
    let body = { title: "The server answered " + answer.status };
    try { body = parse(text); } catch { /* no problem details: the status says it */ }
    if (answer.status === 401) this.onUnknownKey?.();
    throw new Problem(answer.status, body);
  }

  async get(path, signal) {
    return parse(await (await this.send(path, { signal })).text());
  }

  // An execution with all of its steps: a large one has the first of them, and pages of the others.
  async execution(path) {
    const run = await this.get(path);
    for (let next = run._links.next; next;) {
      const page = await this.get(next.href);
      run.steps.push(...page.items);
      next = page._links.next;
    }
    return run;
  }

  async text(path) {
    return (await this.send(path, {})).text();
  }

  // `key` is one of wishKey(): the same for each time that the same thing is asked.
  async post(path, body, key) {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": key ?? wishKey() };
    return parse(await (await this.send(path, { method: "POST", headers, body: toText(body) })).text());
  }

  // Events of a stream until it ends: { id, event, data } with data as a value. The last of one that does not go on is "end".
  async *events(path, lastId, signal, onOpen) {
    const headers = { Accept: "text/event-stream", ...(lastId ? { "Last-Event-ID": lastId } : {}) };
    const answer = await this.send(path, { headers, signal });
    onOpen?.();
    if (answer.status === 204) { yield { id: "", event: "end", data: {} }; return; }
    const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const reader = new EventReader();
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return;
      for (const event of reader.take(value)) yield { ...event, data: parse(event.data) };
    }
  }
}

export function text(value) {
  return value instanceof Exact ? value.source : String(value);
}
