// format.js - times, spans and sizes as people read them. Pure.

const UNITS = [["d", 86400000], ["h", 3600000], ["min", 60000], ["s", 1000]];

// 4 ms, 1.2 s, 3 min 20 s, 2 d 4 h
export function span(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  if (ms < 0) ms = 0;
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 10000) return (Math.floor(ms / 100) / 10).toFixed(1) + " s";
  const first = UNITS.findIndex(([, size]) => ms >= size);
  const [name, size] = UNITS[first];
  const rest = UNITS[first + 1];
  const more = rest ? Math.floor((ms % size) / rest[1]) : 0;
  return Math.floor(ms / size) + " " + name + (more ? " " + more + " " + rest[0] : "");
}

export function between(from, to) {
  return from ? span((to ? Date.parse(to) : Date.now()) - Date.parse(from)) : "–";
}

// "just now", "4 min ago", and beyond a day the date.
export function ago(time, now = Date.now()) {
  if (!time) return "–";
  const ms = now - Date.parse(time);
  if (ms < 0) return "in " + span(-ms);
  if (ms < 5000) return "just now";
  if (ms < 86400000) return span(ms).replace(/^(\d+)\.\d s$/, "$1 s").replace(/^(\d+ (?:h|min)) .*/, "$1") + " ago";
  return moment(time);
}

const two = (number) => String(number).padStart(2, "0");

// 2026-11-17 09:04:05, of the reader's clock
export function moment(time) {
  if (!time) return "–";
  const at = new Date(time);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(time)}`;
}

export function clock(time) {
  const at = new Date(time);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

// 1.5 of "1.500000", exact.
export function money(value) {
  if (value === null || value === undefined) return "–";
  const text = String(value);
  if (!/^-?\d+\.\d+$/.test(text)) return text;
  const [whole, part] = text.split(".");
  return whole + "." + part.replace(/0+$/, "").padEnd(2, "0");
}

export function count(number, one, many = one + "s") {
  return `${number} ${number === 1 ? one : many}`;
}

export function digest(text) {
  return text ? text.replace(/^sha256:/, "").slice(0, 12) : "–";
}
