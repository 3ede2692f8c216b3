// state.js - how states look: a tone for the colour, a sign for those who do not see it, a word for everybody. Pure.

const TONES = {
  queued: ["idle", "○"], dispatched: ["busy", "◔"], running: ["busy", "◑"], polling: ["busy", "↻"],
  paused: ["wait", "Ⅱ"], "waiting-signal": ["wait", "◇"],
  succeeded: ["good", "✓"], failed: ["bad", "✕"], "timed-out": ["bad", "✕"],
  compensating: ["undo", "↶"], compensated: ["undo", "↶"], "compensation-failed": ["bad", "↶"],
  cancelled: ["idle", "⊘"], skipped: ["idle", "→"], superseded: ["idle", "↺"],
};

export const RUN_STATES = ["queued", "dispatched", "running", "paused", "waiting-signal", "succeeded", "failed", "compensating",
  "compensated", "compensation-failed", "cancelled"];

export function tone(state) { return (TONES[state] ?? ["idle"])[0]; }
export function sign(state) { return (TONES[state] ?? ["", "○"])[1]; }
export function word(state) { return state === null || state === undefined ? "not begun" : state; }

// What a run waits for, in a few words; "" where it goes on by itself.
export function waitsFor(run) {
  if (run.state === "failed" && run.resolution === "AWAITING_DECISION") return "a decision";
  if (run.state === "compensation-failed") return "a decision about its compensation";
  if (run.awaitingTrigger) return `an answer to ${run.awaitingTrigger}`;
  if (run.state === "paused") return "somebody who resumes it";
  if (run.state === "waiting-signal") return "a signal";
  return "";
}
