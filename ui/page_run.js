// page_run.js - one execution on one page, live: its state and what can be done, lineage, transitions, policy decisions, cost and time
// that are to be expected, steps with what they got and gave, logs.
//
// The stream of its events says when to look; what is shown comes from the documents of the API.

import { actions, jobActions } from "./action.js";
import { announce, h, link, show } from "./dom.js";
import { between, clock, count, digest, moment, money, span } from "./format.js";
import { draw } from "./graph.js";
import { follow, soon } from "./live.js";
import { chip, empty, facts, problem, section, time, value, workflowLink } from "./parts.js";
import { waitsFor } from "./state.js";
import { rationale, tell } from "./story.js";

const EVENTS_MAX = 2000;            // of a longer history the last ones
const LINES_MAX = 2000;
const NARROW_PX = 720;

const isOver = (run) => ["succeeded", "compensated", "cancelled"].includes(run.state) || (run.state === "failed" && run.resolution === "RESOLVED");

export function showRun({ client }, [id]) {
  const self = "/api/executions/" + encodeURIComponent(id);
  const places = Object.fromEntries(["head", "banner", "figures", "graph", "detail", "jobs", "steps", "events", "verdicts", "logs", "params"].map((name) => [name, h("div", { class: "place-" + name })]));
  const lamp = h("span", { class: "lamp", role: "status" });
  const said = h("div", {});
  const state = { run: null, graph: null, projection: null, verdicts: null, events: [], lines: [], selected: null, hasDetails: false, logCursor: "", logTail: [] };

  places.head.append(h("h1", { tabindex: -1 }, "Execution"));
  const light = (now) => { lamp.className = "lamp " + now; lamp.textContent = { live: "live", ended: "ended" }[now] ?? "reconnecting"; };

  // --- reading -------------------------------------------------------------------------------------------------------

  async function readLogs() {
    for (let page; !page || page.nextCursor;) {
      page = await client.get(`${self}/logs?limit=500` + (state.logCursor ? "&cursor=" + state.logCursor : ""));
      if (page.nextCursor) {
        state.lines = [...state.lines, ...page.items].slice(-LINES_MAX);
        state.logCursor = page.nextCursor;
        state.logTail = [];
      } else state.logTail = page.items;
    }
  }

  async function readVerdicts() {
    const items = [];
    for (let page, cursor = ""; !page || (page.nextCursor && items.length < EVENTS_MAX); cursor = page.nextCursor) {
      page = await client.get(`${self}/verdicts?limit=500` + (cursor ? "&cursor=" + cursor : ""));
      items.push(...page.items);
    }
    state.verdicts = items;
  }

  const part = async (name, path) => { try { state[name] = await client.get(path); } catch (error) { if (error.status === 401) throw error; state[name] = { problem: error.message }; } };

  async function load() {
    try {
      const before = state.run?.state;
      state.run = await client.execution(self);
      await Promise.all([part("graph", self + "/graph"), part("projection", self + "/projection"), readVerdicts(), readLogs()]);
      said.replaceChildren();
      if (before && before !== state.run.state) announce(`The execution is ${state.run.state}`);
      render();
    } catch (error) {
      said.replaceChildren(problem(error));
    }
  }

  // --- showing -------------------------------------------------------------------------------------------------------

  const names = {
    step: (index) => state.graph?.steps?.[index]?.stepId ?? `step ${index}`,
    job: (index) => state.graph?.jobs?.[index]?.job ?? `job ${index}`,
  };
  const context = () => ({ run: state.run, steps: state.graph?.steps ?? state.run.steps ?? [], client, onDone: (run) => { if (run?.state) announce(`The execution is ${run.state}`); load(); } });
  const stepRuns = () => state.run.steps ?? [];

  function head() {
    const run = state.run;
    const revision = run.revisionId;
    return [
      h("div", { class: "row head" }, h("h1", { tabindex: -1 }, link(workflowLink(revision), revision.workflowId)), chip(run.state), lamp, h("span", { class: "spacer" }),
        h("div", { class: "row actions", role: "group", "aria-label": "Actions" }, actions(context()))),
      facts([["Execution", h("code", {}, run.executionId)], ["Namespace", revision.namespace], ["Revision", link(`${workflowLink(revision)}/${revision.version}`, "r" + revision.version)],
        ["Started", time(run.startedAt)], ["Ended", run.completedAt && time(run.completedAt)], ["By", run.source], ["Key", run.idempotencyKey && h("code", {}, run.idempotencyKey)], ["Archived to", run.archivedTo]]),
    ];
  }

  function banner() {
    const run = state.run;
    if (run.errorMessage) return h("div", { class: "banner bad", role: "status" }, h("strong", {}, run.errorMessage),
      h("p", {}, [run.failedStep && `at ${run.failedStep}`, run.errorClass, run.errorCause, waitsFor(run) && "waits for " + waitsFor(run)].filter(Boolean).join(" · ")));
    const waits = waitsFor(run);
    return waits ? h("div", { class: "banner wait", role: "status" }, h("strong", {}, `It waits for ${waits}.`)) : null;
  }

  function bar(part, whole, label) {
    const share = whole > 0 ? Math.round(Math.min(100, (part / whole) * 100)) : 0;
    const filled = h("div", {});
    filled.style.width = share + "%";
    return h("div", { class: "gauge", role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": share }, filled);
  }

  function figure(name, shown, note, extra) {
    return h("div", { class: "figure card" }, h("div", { class: "muted small" }, name), h("div", { class: "big" }, shown), note && h("div", { class: "muted small" }, note), extra);
  }

  function figures() {
    const { latency, cost, sampleCount, method, problem: why } = state.projection ?? {};
    if (!latency) return why ? h("p", { class: "note" }, why) : null;
    const over = isOver(state.run) || state.run.completedAt;
    const steps = state.graph?.steps ?? [];
    const done = steps.filter((step) => ["succeeded", "failed", "skipped", "cancelled"].includes(step.state)).length;
    const basis = { "earlier-executions": "by what earlier ones cost", "declared-prices": "by the prices of executors", reported: "as attempts reported" }[cost.basis];
    return h("div", {}, h("div", { class: "figures" },
      figure("Elapsed", h("span", { id: "elapsed" }, span(over ? latency.elapsedMs : Date.now() - Date.parse(state.run.startedAt))),
        latency.usualMs === null ? "no earlier execution to compare" : `usually ${span(latency.usualMs)}`),
      figure("Expected remaining", over ? "–" : latency.remainingMs === null ? "not known" : span(latency.remainingMs),
        over ? "it has ended" : latency.expectedEndAt ? `until about ${clock(latency.expectedEndAt)}` + (latency.deadlineAt ? `, at most ${clock(latency.deadlineAt)}` : "") : "nothing to compare yet",
        !over && latency.deadlineAt && latency.expectedEndAt && latency.expectedEndAt > latency.deadlineAt && h("div", { class: "small bad-text" }, "later than its deadline")),
      figure("Steps", `${done} of ${steps.length}`, latency.stepsUnknown ? `${latency.stepsUnknown} never seen before` : "ended", steps.length > 0 && bar(done, steps.length, "Steps that have ended")),
      figure("Cost", money(cost.spent), cost.limit === null ? "no limit" : `of ${money(cost.limit)} at most`, cost.limit !== null && bar(Number(cost.spent), Number(cost.limit), "Cost of its limit")),
      figure("Projected cost", money(cost.projected), basis, cost.exceedsLimit && h("div", { class: "small bad-text" }, "above its limit"))),
    h("details", { class: "small muted" }, h("summary", {}, `How this is projected (${count(sampleCount, "earlier execution")})`), h("p", {}, method)));
  }

  const room = () => places.graph.clientWidth || window.innerWidth;
  const across = () => room() >= NARROW_PX;

  function lineage() {
    if (!state.graph?.steps) return h("p", { class: "note" }, state.graph?.problem ?? "…");
    return draw(state.graph, { across: across(), room: room(), selected: state.selected, onSelect: (index) => { state.selected = state.selected === index ? null : index; render(); } });
  }

  function stepDetail() {
    const step = state.graph?.steps?.[state.selected];
    if (!step) return h("p", { class: "muted small" }, "Choose a step to see what it got and gave.");
    const tries = stepRuns().filter((run) => run.stepId === step.stepId);
    const needs = state.graph.edges.filter((edge) => edge.to === step.index).map((edge) => names.step(edge.from));
    const leads = state.graph.edges.filter((edge) => edge.from === step.index).map((edge) => names.step(edge.to));
    return h("div", { class: "card inner", id: "step-detail" },
      h("div", { class: "row" }, h("h3", {}, step.stepId), chip(step.state)),
      facts([["Runner", step.run], ["Job", step.job], ["Depends on", needs.join(", ") || "nothing"], ["Leads to", leads.join(", ") || "the end"],
        ["Policies", step.policies.join(", ") || "none of its own"], ["Compensation", step.compensable ? "yes" : "none"], ["Then waits for", step.pausesFor]]),
      tries.length === 0 && h("p", { class: "muted" }, "It has not begun."),
      tries.map((run) => h("div", { class: "try" },
        h("div", { class: "row small" }, chip(run.state), h("span", { class: "muted" }, [count(run.attempts ?? 0, "attempt"), run.executor && `on ${run.executor}`, between(run.startedAt, run.completedAt)].filter(Boolean).join(" · "))),
        run.skipReason && h("p", {}, "Skipped: " + run.skipReason.toLowerCase().replaceAll("_", " ")),
        run.errorMessage && h("div", { class: "banner bad" }, h("strong", {}, run.errorMessage), h("p", {}, [run.errorDetails?.class, run.errorDetails?.cause, run.errorDetails?.details?.drop].filter(Boolean).join(" · "))),
        run.inputData !== null && [h("h4", {}, "Input"), value(run.inputData)],
        run.outputData !== null && [h("h4", {}, "Output"), value(run.outputData)],
        run.errorDetails?.details && [h("h4", {}, "Details of the failure"), value(run.errorDetails.details)])));
  }

  function jobTable() {
    const jobs = state.graph?.jobs ?? [];
    const counts = new Map();
    for (const step of state.graph?.steps ?? []) {
      const seen = counts.get(step.job) ?? [0, 0];
      counts.set(step.job, [seen[0] + (["succeeded", "failed", "timed-out", "skipped", "cancelled"].includes(step.state) ? 1 : 0), seen[1] + 1]);
    }
    if (!jobs.length) return h("p", { class: "muted" }, "Its definition has no jobs.");
    return h("div", { class: "table tall", "data-scroll": "jobs" }, h("table", {}, h("caption", { class: "unseen" }, "Jobs, and what can be done about each"),
      h("thead", {}, h("tr", {}, ["State", "Job", "Steps", "Actions"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, jobs.map((job) => h("tr", { "data-job": job.job, "data-state": job.state, "data-paused": String(job.paused) },
        h("td", {}, chip(job.state)),
        h("td", {}, job.job, job.paused && job.state !== "paused" && h("div", { class: "small muted" }, "paused before it runs"),
          job.cancelling && h("div", { class: "small bad-text" }, "being cancelled")),
        h("td", { class: "number" }, (counts.get(job.job) ?? [0, 0]).join(" of ")),
        h("td", {}, h("div", { class: "row" }, jobActions(job, context()))))))));
  }

  function stepTable() {
    if (!stepRuns().length) return empty("No step has begun.", "They appear here as they do.");
    return h("div", { class: "table tall", "data-scroll": "steps" }, h("table", {}, h("caption", { class: "unseen" }, "Step runs in their order"),
      h("thead", {}, h("tr", {}, ["State", "Step", "Attempts", "Executor", "Began", "Took"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, stepRuns().map((run) => h("tr", { "data-step": run.stepId },
        h("td", {}, chip(run.state)),
        h("td", {}, h("button", { type: "button", class: "text", "data-focus": "step-" + run.stepIndex, onclick: () => {
          state.selected = state.graph?.steps?.findIndex((step) => step.stepId === run.stepId) ?? null;
          render();
          places.detail.scrollIntoView({ block: "nearest" });
        } }, run.stepId), run.errorMessage && h("div", { class: "small bad-text" }, run.errorMessage)),
        h("td", { class: "number" }, run.attempts), h("td", {}, run.executor ?? "–"), h("td", {}, run.startedAt ? clock(run.startedAt) : "–"),
        h("td", { class: "number" }, between(run.startedAt, run.completedAt)))))));
  }

  function timeline() {
    const told = state.events.map((event) => ({ event, ...tell(event, names) })).filter((line) => state.hasDetails || !line.isDetail);
    if (!told.length) return h("p", { class: "muted" }, "…");
    return h("ol", { class: "timeline", tabindex: 0, "aria-label": "Transitions, the newest first", "data-scroll": "events" }, told.reverse().map(({ event, subject, text, tone: colour }) =>
      h("li", { class: colour, "data-event": event.event, "data-number": event.number },
        h("div", {}, subject && h("strong", {}, subject, " "), text),
        h("div", { class: "muted small" }, h("time", { datetime: event.time, title: moment(event.time) }, clock(event.time)), " · ", h("span", { class: "actor" }, event.actor),
          rationale(event) && [" · ", h("span", { class: "rationale" }, rationale(event))]))));
  }

  function verdicts() {
    if (!state.verdicts?.length) return empty("No policy was asked.", "Every hook that it comes by is listed here with its answer.");
    const rows = [...state.verdicts].reverse();
    const shown = rows.slice(0, 100);
    return [h("div", { class: "table tall", "data-scroll": "verdicts" }, h("table", {}, h("caption", { class: "unseen" }, "Policy decisions, the newest first"),
      h("thead", {}, h("tr", {}, ["Verdict", "Hook", "Step", "Policy", "Digest", "When"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, shown.map((v) => h("tr", { "data-verdict": v.verdict },
        h("td", {}, h("span", { class: "chip " + (v.verdict === "denied" ? "bad" : "good") }, v.verdict)),
        h("td", {}, v.hook), h("td", {}, v.stepId ?? "–"),
        h("td", {}, v.policies.length ? v.policies.join(", ") : h("span", { class: "muted" }, "those of the server"), v.reason && h("div", { class: "small bad-text" }, v.reason)),
        h("td", {}, h("code", { title: v.digest ?? "" }, digest(v.digest))), h("td", {}, clock(v.time))))))),
    rows.length > shown.length && h("p", { class: "muted small" }, `and ${rows.length - shown.length} earlier ones`)];
  }

  function logs() {
    const lines = [...state.lines, ...state.logTail].slice(-LINES_MAX);
    if (!lines.length) return empty("Nothing was written.", "What steps write to their standard output and error appears here.");
    const byIndex = new Map(stepRuns().map((run) => [run.stepIndex, run.stepId]));
    return h("div", { class: "log", tabindex: 0, role: "log", "aria-label": "Log", "data-scroll": "log" }, lines.map((line) =>
      h("div", { class: line.stream === "stderr" ? "err" : "" }, h("span", { class: "muted" }, clock(line.time), " ", byIndex.get(line.stepIndex) ?? "", "  "), line.text)));
  }

  const toggle = h("input", { type: "checkbox", id: "details-toggle", onchange: (event) => { state.hasDetails = event.target.checked; render(); } });

  function render() {
    if (!state.run) return;
    const run = state.run;
    const links = Object.keys(run._links);
    const beat = run.completedAt ? 0 : Math.floor(Date.now() / 5000);       // what says how long ago or how long goes on with time
    if (isOver(run)) light("ended");
    show(places.head, [beat, run.state, links, run.completedAt, run.archivedTo, stepRuns().map((s) => s.waitingFor), state.graph?.steps?.length], head);
    show(places.banner, [run.state, run.errorMessage, run.awaitingTrigger, run.resolution], banner);
    show(places.figures, [state.projection, run.state, state.graph?.steps?.map((s) => s.state)], figures);
    show(places.graph, [state.graph, state.selected, room()], lineage);
    show(places.detail, [state.selected, state.graph?.steps?.[state.selected], stepRuns().filter((s) => s.stepId === state.graph?.steps?.[state.selected]?.stepId)], stepDetail);
    show(places.jobs, [state.graph?.jobs, state.graph?.steps?.map((s) => s.state)], jobTable);
    show(places.steps, [beat, stepRuns(), !!state.graph], stepTable);
    show(places.events, [state.events.length, state.events.at(-1)?.number, state.hasDetails, !!state.graph], timeline);
    show(places.verdicts, state.verdicts, verdicts);
    const log = places.logs.querySelector(".log");
    const isAtEnd = !log || log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
    show(places.logs, [state.lines.length, state.lines.at(-1)?.line, state.logTail.length, stepRuns().length], logs);
    if (isAtEnd) places.logs.querySelector(".log")?.scrollTo(0, 1e9);
    show(places.params, [run.inputParameters, run.triggerPayload], () => [value(run.inputParameters), run.triggerPayload !== undefined && [h("h4", {}, "Payload of its trigger"), value(run.triggerPayload)]]);
  }

  // --- its life ------------------------------------------------------------------------------------------------------

  const [look, stopLook] = soon(load, 250);
  const stopFollow = follow(client, self + "/events", {
    onEvents: (events) => {
      const last = state.events.at(-1)?.number ?? 0;
      state.events = [...state.events, ...events.filter((event) => event.number > last)].slice(-EVENTS_MAX);
      render();
      if (events.length) look();
    },
    onState: (now) => { light(now); if (now !== "ended") look(); },
  });
  const second = setInterval(() => {
    const place = document.getElementById("elapsed");
    if (place && state.run && !state.run.completedAt) place.textContent = span(Date.now() - Date.parse(state.run.startedAt));
  }, 1000);
  const often = setInterval(() => { if (state.run && !state.run.completedAt) look(); }, 3000);      // lines of a log make no event
  const resized = () => render();
  window.addEventListener("resize", resized);
  load();
  return {
    title: "Execution " + id.slice(0, 8),
    node: [h("p", {}, link("#/executions", "← Executions")), said, places.head, places.banner, places.figures,
      section("Lineage", {}, places.graph, places.detail),
      h("div", { class: "columns" },
        h("div", { class: "main-column" },
          section("Jobs", {}, places.jobs),
          section("Steps", {}, places.steps),
          section("Policy decisions", {}, places.verdicts),
          section("Log", {}, places.logs)),
        h("div", { class: "side-column" },
          section("Transitions", { tools: [h("span", { class: "spacer" }), h("label", { class: "row small", for: "details-toggle" }, toggle, "details")] }, places.events),
          section("Parameters", {}, places.params)))],
    stop: () => { stopFollow(); stopLook(); clearInterval(second); clearInterval(often); window.removeEventListener("resize", resized); },
  };
}
