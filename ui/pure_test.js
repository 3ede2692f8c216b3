// pure_test.js - tests of what needs no browser: node --test ui/

import assert from "node:assert/strict";
import test from "node:test";

import { ago, digest, money, span } from "./format.js";
import { exactNumber, parse, toText } from "./json.js";
import { layout, NODE, path } from "./layout.js";
import { EventReader } from "./sse.js";
import { RUN_STATES, sign, tone, waitsFor } from "./state.js";
import { tell } from "./story.js";

test("events are read wherever the pieces are cut", () => {
  const text = ": beat\n\nid: 7.1\nevent: run-created\ndata: {\"a\":\ndata: 1}\n\nid: 7.2\r\nevent: x\r\ndata:y\r\n\r\nid: 8.1\n\n";
  const want = [{ id: "7.1", event: "run-created", data: "{\"a\":\n1}" }, { id: "7.2", event: "x", data: "y" }];
  for (let size = 1; size <= text.length; size++) {
    const reader = new EventReader();
    const seen = [];
    for (let at = 0; at < text.length; at += size) seen.push(...reader.take(text.slice(at, at + size)));
    assert.deepEqual(seen, want, `pieces of ${size}`);
  }
});

test("spans and times are told in two units at most", () => {
  for (const [ms, want] of [[0, "0 ms"], [999, "999 ms"], [1250, "1.2 s"], [61000, "1 min 1 s"], [3600000, "1 h"], [7380000, "2 h 3 min"], [200000000, "2 d 7 h"], [null, "–"], [-5, "0 ms"]])
    assert.equal(span(ms), want);
  const now = Date.parse("2026-01-02T03:04:05Z");
  for (const [time, want] of [["2026-01-02T03:04:04Z", "just now"], ["2026-01-02T03:03:05Z", "1 min ago"], ["2026-01-02T01:01:01Z", "2 h ago"], ["2026-01-02T04:04:05Z", "in 1 h"], [null, "–"]])
    assert.equal(ago(time, now), want);
});

test("money keeps its digits", () => {
  for (const [value, want] of [["1.500000", "1.50"], ["0.000001", "0.000001"], [3, "3"], [null, "–"], ["12345678901234567890.10", "12345678901234567890.10"]]) assert.equal(money(value), want);
  assert.equal(digest("sha256:0123456789abcdef"), "0123456789ab");
});

test("values are printed as JSON, numbers that were typed to the last digit", () => {
  const typed = exactNumber(" 0.10000000000000000000001 ");
  assert.equal(toText({ a: typed, b: [1, "<b>", null], c: undefined, d: {} }), '{"a":0.10000000000000000000001,"b":[1,"<b>",null],"d":{}}');
  assert.equal(toText({ a: [1] }, 2), '{\n  "a": [\n    1\n  ]\n}');
  for (const text of ["1e", "0x1", "01", "", "NaN", "1,5"]) assert.equal(exactNumber(text), null, text);
  assert.deepEqual(parse('{"a":1.5}'), { a: 1.5 });
});

test("every step has its own place, behind all that it depends on", () => {
  const edges = [[0, 1], [0, 2], [1, 3], [2, 3], [0, 3], [3, 4], [0, 4]].map(([from, to]) => ({ from, to }));
  for (const across of [true, false]) {
    const plan = layout(6, edges, { across });
    const front = (node) => across ? node.x : node.y;
    for (const { from, to } of edges) assert.ok(front(plan.nodes[from]) < front(plan.nodes[to]), `${from} before ${to}`);
    for (let a = 0; a < 6; a++) for (let b = 0; b < a; b++) {
      const [p, q] = [plan.nodes[a], plan.nodes[b]];
      assert.ok(Math.abs(p.x - q.x) >= NODE.width || Math.abs(p.y - q.y) >= NODE.height, `${a} and ${b} lie apart`);
    }
    for (const node of plan.nodes) assert.ok(node.x >= 0 && node.y >= 0 && node.x + NODE.width <= plan.width && node.y + NODE.height <= plan.height);
    assert.equal(plan.edges.length, edges.length);
    for (const edge of plan.edges) assert.match(path(edge.points, across), /^M[\d. ]+[LC]/);
  }
  assert.deepEqual(layout(0, []).nodes, []);
});

test("a line over several layers keeps out of the steps between", () => {
  const plan = layout(4, [[0, 1], [1, 2], [2, 3], [0, 3]].map(([from, to]) => ({ from, to })));
  const long = plan.edges.find((edge) => edge.from === 0 && edge.to === 3);
  for (const [x, y] of long.points.slice(1, -1))
    for (const node of plan.nodes) assert.ok(x < node.x || x > node.x + NODE.width || y < node.y || y > node.y + NODE.height, "it runs through a step");
});

test("every state has a colour and a sign", () => {
  for (const state of RUN_STATES) assert.ok(tone(state) && sign(state), state);
  assert.equal(waitsFor({ state: "failed", resolution: "AWAITING_DECISION" }), "a decision");
  assert.equal(waitsFor({ state: "paused", awaitingTrigger: "ok" }), "an answer to ok");
  assert.equal(waitsFor({ state: "running" }), "");
});

test("events are told with names, and one that is not known by its own", () => {
  const names = { step: (i) => "s" + i, job: (i) => "j" + i };
  assert.deepEqual(tell({ event: "step-failed", step: 3, message: "no" }, names), { subject: "s3", text: "failed: no", tone: "bad", isDetail: false });
  assert.equal(tell({ event: "step-skipped", step: 1, last: 3, reason: "CONDITION_FALSE" }, names).subject, "s1 and 2 more");
  assert.equal(tell({ event: "job-moved", job: 2, state: "running" }, names).subject, "j2");
  assert.deepEqual(tell({ event: "job-paused", job: 1 }, names), { subject: "j1", text: "paused by a person", tone: "wait", isJob: true });
  assert.deepEqual(tell({ event: "something-new", message: "x" }, names), { subject: "", text: "Something new: x", tone: "idle", isDetail: true });
});
