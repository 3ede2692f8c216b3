// story.js - events of the ledger as sentences. Pure.
//
// Each is { text, tone, isDetail }: details are what the engine did on the way, and are shown on request.

const RUN = {
  "run-created": (e) => ["created", "idle"], "run-dispatched": () => ["dispatched", "busy", true],
  "run-running": () => ["running", "busy"], "run-paused": (e) => ["paused" + because(e), "wait"],
  "run-waiting-signal": () => ["waits for a signal", "wait"], "run-succeeded": () => ["succeeded", "good"],
  "run-failed": (e) => ["failed" + because(e), "bad"], "run-failing": (e) => ["is failing: nothing new begins", "bad", true],
  "run-cancelled": (e) => ["cancelled" + because(e), "idle"], "run-cancelling": (e) => ["is being cancelled" + because(e), "wait"],
  "run-rolling-back": (e) => ["will be undone" + because(e), "undo"], "run-compensated": (e) => ["compensated" + because(e), "undo"],
  "run-compensation-failed": (e) => ["its compensation failed" + because(e), "bad"], "run-requeued": (e) => ["goes on again", "busy"],
  "run-revised": (e) => [`goes on with revision ${e.revision}` + because(e), "wait"],
  "run-rebound": (e) => ["is bound to other places" + because(e), "wait"],
  "run-terminated-early": (e) => ["ends early" + because(e), "wait"],
};

const STEP = {
  "step-ready": () => ["ready", "idle", true], "step-dispatched": (e) => [`dispatched to ${e.name}` + tries(e), "busy", true],
  "step-running": () => ["running", "busy"], "step-succeeded": () => ["succeeded", "good"],
  "step-failed": (e) => ["failed" + because(e), "bad"], "attempt-failed": (e) => [`attempt ${e.attempt} failed` + because(e), "bad"],
  "step-requeued": (e) => ["will be tried again", "wait"], "step-skipped": (e) => ["skipped: " + (e.reason ?? "").toLowerCase().replaceAll("_", " "), "idle"],
  "step-cancelled": () => ["cancelled", "idle"], "step-waiting-signal": (e) => [`waits for the signal ${e.name}`, "wait"],
  "step-resumed": (e) => [`got the signal ${e.name}`, "busy"], "step-cancelling": () => ["is being ended", "wait", true],
  "step-deferred": (e) => ["held back" + because(e), "wait"], "step-dropped": (e) => ["dropped" + because(e), "bad"],
  "branch-taken": (e) => [`takes the way ${e.name}`, "busy"], "loop-repeated": (e) => [`begins round ${e.count}`, "busy"],
  "lease-expired": (e) => ["its worker was lost" + because(e), "bad"], "report-refused": (e) => ["a late report was refused" + because(e), "idle", true],
  "step-superseded": () => ["will be run anew", "idle"], "step-polling": () => ["will be asked again", "wait"],
  "poll-attempted": (e) => [`asked ${e.count} times`, "busy", true], "poll-timed-out": (e) => ["was asked in vain" + because(e), "bad"],
  "poll-completed": () => ["was answered", "good"], "step-overdue": (e) => [(e.cause ? "is being ended" : "takes too long") + because(e), "bad"],
  "cost-reported": (e) => [`cost ${Number(e.count) / 1e6}`, "idle"],
};

const COMPENSATION = {
  "compensation-step-started": () => ["is being undone", "undo"], "compensation-step-succeeded": () => ["undone", "undo"],
  "compensation-step-failed": (e) => ["could not be undone" + because(e), "bad"],
  "compensation-step-skipped": (e) => ["not undone" + because(e), "undo"], "compensation-planned": () => ["will be undone", "undo", true],
};

const OTHER = {
  "compensation-started": (e) => ["Compensation begins" + because(e), "undo"],
  "compensation-resumed": (e) => ["Compensation goes on" + because(e), "undo"],
  "decision-made": (e) => [`Decided: ${String(e.kind).toLowerCase().replaceAll("_", " ")}` + because(e), "wait"],
  "auto-retry-scheduled": (e) => ["Will be retried by itself", "wait"], "auto-retry-exhausted": () => ["No further retry by itself", "bad"],
  "params-changed": (e) => ["Parameters changed" + because(e), "wait"],
  "signal-received": (e) => [`Signal ${e.name}` + (e.flags ? ": denied" : ""), e.flags ? "bad" : "busy"],
  "signal-reacted": (e) => [`Reacts to the signal ${e.name}`, "wait"], "trigger-awaited": (e) => [`Awaits ${e.name}`, "wait"],
  "trigger-received": (e) => [`Answer to ${e.name}` + (e.flags & 1 ? ": denied" : e.flags & 4 ? ": its condition does not hold" : ""), e.flags & 1 ? "bad" : "good"],
  "trigger-refused": (e) => [`An answer to ${e.name} was refused` + because(e), "idle"],
  "trigger-timed-out": (e) => [`Nobody answered ${e.name} in time`, "bad"], "trigger-reminded": (e) => [`Reminded of ${e.name}`, "wait"],
  "trigger-ended": (e) => [`${e.name} is ${e.kind}`, "good"], "verdict": (e) => [`A policy denies ${e.kind}` + because(e), "bad"],
};

function because(event) { return event.message ? ": " + event.message : ""; }
function tries(event) { return event.attempt > 1 ? `, attempt ${event.attempt}` : ""; }

const first = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// `names` gives names by index: { step(i), job(i) }.
export function tell(event, names) {
  const kind = event.event;
  const about = (told, subject) => ({ subject, text: told[0], tone: told[1], isDetail: told[2] === true });
  if (RUN[kind]) return about(RUN[kind](event), "Execution");
  if (STEP[kind]) return about(STEP[kind](event), range(event, names));
  if (COMPENSATION[kind]) return about(COMPENSATION[kind](event), range(event, names));
  if (kind === "job-paused") return { subject: names.job(event.job), text: "paused by a person", tone: "wait", isJob: true };
  if (kind === "job-resumed") return { subject: names.job(event.job), text: "resumed", tone: "idle", isJob: true };
  if (kind === "job-cancelling") return { subject: names.job(event.job), text: "is being cancelled", tone: "bad", isJob: true };
  if (kind === "job-moved") return { subject: names.job(event.job), text: event.state, tone: "idle", isDetail: true, isJob: true };
  if (OTHER[kind]) return about(OTHER[kind](event), event.step === undefined ? "" : names.step(event.step));
  return { subject: event.step === undefined ? "" : names.step(event.step), text: first(kind.replaceAll("-", " ")) + because(event), tone: "idle", isDetail: true };
}

function range(event, names) {
  return names.step(event.step) + (event.last > event.step ? ` and ${event.last - event.step} more` : "");
}

// The reason that a person gave, as the ledger has it.
export function rationale(event) {
  return event.rationale ?? "";
}
