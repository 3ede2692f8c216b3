// sse.js - server-sent events out of pieces of text, wherever they were cut.
//
// EventSource of browsers sends no Authorization, so streams are read by fetch() and taken apart here.

export class EventReader {
  constructor() {
    this.rest = "";
    this.event = {};
  }

  // The events that are whole by now: { id, event, data }.
  take(piece) {
    const lines = (this.rest + piece).split("\n");
    const whole = [];
    this.rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (this.event.data !== undefined) whole.push({ id: "", event: "message", ...this.event });
        this.event = {};
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "data") this.event.data = this.event.data === undefined ? value : this.event.data + "\n" + value;
      else if (name === "id" || name === "event") this.event[name] = value;
    }
    return whole;
  }
}
