// action.js - what an operator can do with an execution. Which of it is possible now the server says, by the links it gives: no rule
// of the engine is repeated here. Each action asks for a reason and is one request of the API.

import { h } from "./dom.js";
import { ask, REASON } from "./form.js";
import { toText } from "./json.js";

const UNKNOWN = { name: "unknownEffects", label: "Steps whose effect is not known", kind: "select", value: "hold",
  options: [["hold", "stop and ask"], ["compensate", "undo them, too"], ["leave", "leave them as they are"]] };
const MODE = { name: "mode", label: "Before that", kind: "select", value: "RETRY_ONLY",
  options: [["RETRY_ONLY", "undo nothing"], ["COMPENSATE_THEN_RETRY", "undo what came after that step"]] };

const stepOptions = (context) => context.steps.map((step) => [step.stepId, step.stepId]);
const undoable = (context) => context.steps.filter((step) => step.compensable !== false).map((step) => [step.stepId, step.stepId]);

const scopeFields = (context) => [
  { name: "scope", label: "What to undo", kind: "select", value: "FULL",
    options: [["FULL", "everything that was done"], ["FROM_STEP", "from a step on"], ["PARTIAL", "some steps"]] },
  { name: "step", label: "From which step on", kind: "select", options: stepOptions(context), when: (v) => v.scope === "FROM_STEP" },
  { name: "steps", label: "Which steps", kind: "steps", options: undoable(context), when: (v) => v.scope === "PARTIAL" },
  UNKNOWN,
];

// { id, link, label, tone, title, explain, fields, body }: body makes of values what is sent.
const ACTIONS = [
  { id: "approve", link: "approvals", label: "Approve", tone: "primary", title: (run) => `Approve ${run.awaitingTrigger}`,
    explain: () => "The execution goes on behind its pause.",
    fields: () => [{ name: "payload", label: "Answer", kind: "json", value: toText({ approved: true }), hint: "JSON, as the definition expects it." }],
    body: (v) => ({ approved: true, ...(v.payload === undefined ? {} : { payload: v.payload }) }) },
  { id: "deny", link: "approvals", label: "Deny", tone: "danger", title: (run) => `Deny ${run.awaitingTrigger}`,
    explain: () => "The pause ends as denied, and the execution fails.",
    fields: () => [], body: () => ({ approved: false, payload: { approved: false } }) },
  { id: "resume", link: "resume", label: "Resume", tone: "primary", title: () => "Resume this execution",
    explain: (run) => run.awaitingTrigger ? `It goes on without an answer to ${run.awaitingTrigger}.` : "Steps begin again." },
  { id: "pause", link: "pause", label: "Pause", title: () => "Pause this execution",
    explain: () => "Steps under way are finished, no further one begins until it is resumed." },
  { id: "resolve", link: "resolve", label: "Decide", tone: "primary", title: () => "What becomes of this failure?",
    explain: () => "The decision is recorded and cannot be taken back.",
    fields: (context) => [
      { name: "decision", label: "Decision", kind: "select", value: "RETRY", options: [["RETRY", "Retry the step that failed"],
        ["RETRY_FROM_STEP", "Go back to a step"], ["COMPENSATE", "Compensate: undo what was done"], ["CANCEL", "Cancel"],
        ["MARK_RESOLVED", "Mark it as resolved: nothing is done"]] },
      { name: "step", label: "To which step", kind: "select", options: stepOptions(context), value: context.run.failedStep, when: (v) => v.decision === "RETRY_FROM_STEP" },
      { ...MODE, when: (v) => v.decision === "RETRY_FROM_STEP" },
      { ...UNKNOWN, when: (v) => v.decision === "COMPENSATE" },
    ],
    body: (v) => v },
  { id: "retry-from", link: "retry-from", label: "Retry from…", title: () => "Go back to a step",
    explain: () => "It and what follows are carried out anew; what came before stays.",
    fields: (context) => [{ name: "step", label: "Step", kind: "select", required: true, options: stepOptions(context), value: context.run.failedStep }, MODE],
    body: (v) => v },
  { id: "compensate", link: "compensate", label: "Compensate", tone: "danger", title: () => "Undo what was done",
    explain: () => "Compensations run in the reverse order of what was completed.", fields: scopeFields, body: (v) => v },
  { id: "retry-compensation", link: "retry-compensation", label: "Retry compensation", tone: "primary", title: () => "Try the compensation again" },
  { id: "skip-compensation", link: "skip-compensation", label: "Skip compensation", tone: "danger", title: () => "Leave out the compensation that failed",
    explain: () => "What it would have undone stays as it is.",
    fields: () => [{ name: "remaining", label: "and all that are left", kind: "check", value: false }], body: (v) => v },
  { id: "rebind", link: "placement", label: "Rebind placement", title: () => "Where may its steps run from now on?",
    explain: () => "The next placement uses these constraints; steps that have begun stay where they are.",
    fields: () => [
      { name: "regions", label: "Regions", kind: "list", hint: "Names, by commas. Empty: any." },
      { name: "requires", label: "Capabilities", kind: "list", hint: "What an executor has to have, by commas. Empty: nothing. With both empty it is as its definition says." }],
    body: (v) => v },
  { id: "cancel", link: "cancel", label: "Cancel", tone: "danger", title: () => "Cancel this execution",
    explain: () => "Steps under way are ended.",
    fields: () => [{ name: "compensate", label: "What was done", kind: "select", value: "",
      options: [["", "as its definition says"], ["yes", "is undone"], ["no", "stays as it is"]] }],
    body: (v) => v.compensate ? { compensate: v.compensate === "yes" } : {} },
];

async function open(action, context) {
  const { run, client } = context;
  const done = await ask({
    title: action.title(run), explain: action.explain?.(run), button: action.label.replace("…", ""), tone: action.tone ?? "primary",
    fields: [...(action.fields?.(context) ?? []), REASON],
    send: ({ reason, ...values }, key) => client.post(run._links[action.link].href, { ...(action.body?.(values) ?? {}), reason }, key),
  });
  if (done) context.onDone(done);
}

// A gate within an execution: a step that waits for a signal is approved or denied by one.
async function openGate(name, isDenial, context) {
  const { run, client } = context;
  const done = await ask({
    title: `${isDenial ? "Deny" : "Approve"} ${name}`, button: isDenial ? "Deny" : "Approve", tone: isDenial ? "danger" : "primary",
    explain: isDenial ? "The step that waits for it fails." : "The step that waits for it goes on.",
    fields: [...(isDenial ? [] : [{ name: "payload", label: "Answer", kind: "json", hint: "JSON, where the definition expects some." }]), REASON],
    send: ({ reason, payload }, key) => client.post("/api/signals",
      { executionId: run.executionId, name, kind: "approval", denial: isDenial, reason, ...(payload === undefined ? {} : { payload }) }, key),
  });
  if (done) context.onDone(done);
}

const button = (id, label, tone, act) => h("button", { type: "button", class: tone ?? "", "data-action": id, "data-focus": "act-" + id, onclick: act }, label);

// Buttons for what can be done now. context: { run, steps, client, onDone(run) }; `only` names some actions.
export function actions(context, only) {
  const gates = only ? [] : [...new Set((context.run.steps ?? []).filter((step) => step.state === "waiting-signal" && step.waitingFor).map((step) => step.waitingFor))];
  return [
    gates.map((name) => [button("approve-gate", `Approve ${name}`, "primary", () => openGate(name, false, context)),
      button("deny-gate", `Deny ${name}`, "danger", () => openGate(name, true, context))]),
    ACTIONS.filter((action) => context.run._links[action.link] && (!only || only.includes(action.id)))
      .map((action) => button(action.id, action.label, action.id === "resume" && context.run.awaitingTrigger ? "" : action.tone, () => open(action, context))),
  ];
}

// One job of an execution, by the links that the graph gives for it: the same requests, whose body names the job.
const JOB_ACTIONS = [
  { id: "resume", label: "Resume", tone: "primary", title: (job) => `Resume the job ${job.job}`, explain: "It goes on where it was." },
  { id: "pause", label: "Pause", title: (job) => `Pause the job ${job.job}`, explain: "Its steps under way are finished, no further one begins until it is resumed. The other jobs go on." },
  { id: "cancel", label: "Cancel", tone: "danger", title: (job) => `Cancel the job ${job.job}`, explain: "Its steps under way are ended, and what needs it is skipped: the execution fails by its own rules." },
];

async function openJob(action, job, context) {
  const done = await ask({
    title: action.title(job), explain: action.explain, button: action.label, tone: action.tone ?? "primary", fields: [REASON],
    send: ({ reason }, key) => context.client.post(job._links[action.id].href, { job: job.job, reason }, key),
  });
  if (done) context.onDone(done);
}

export function jobActions(job, context) {
  return JOB_ACTIONS.filter((action) => job._links[action.id]).map((action) =>
    h("button", { type: "button", class: "small " + (action.tone ?? ""), "data-job-action": action.id, "data-focus": `job-${action.id}-${job.job}`,
      "aria-label": action.title(job), onclick: () => openJob(action, job, context) }, action.label));
}

// The same decision about many failed executions.
export async function decideMany(client, runs) {
  return ask({
    title: `Decide on ${runs.length} failed executions`, explain: "The same decision for each; what cannot take it is told and left alone.",
    button: "Decide", fields: [
      { name: "decision", label: "Decision", kind: "select", value: "RETRY", options: [["RETRY", "Retry the step that failed"], ["COMPENSATE", "Compensate: undo what was done"],
        ["CANCEL", "Cancel"], ["MARK_RESOLVED", "Mark as resolved: nothing is done"]] }, REASON],
    send: (values, key) => client.post("/api/decisions", { executionIds: runs.map((run) => run.executionId), ...values }, key),
  });
}
