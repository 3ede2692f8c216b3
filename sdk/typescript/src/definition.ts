/* Written by scripts/types.mjs out of spec/definition.schema.json; change that instead.
 *
 * Every part of a workflow, with its keys in camel case, and the table that turns them into the keys of a definition. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Unit = "ms" | "s" | "m" | "h" | "d";
/** `500ms`, `30s`, `5m`, `48h`, `7d`, joined from large to small as `1h30m`. */
export type Duration = `${number}${Unit}` | `${number}${Unit}${number}${string}`;
/** A count in a time: `50/s`. */
export type Rate = `${number}/${Unit}`;
/** A Rego expression over params, outputs, output, payload, run and poll. */
export type Expression = string | boolean;

/** Raises attempts or shortens the backoff of tasks. */
export interface Amplification {
  /** The attempts they then have, within their attempts_max. */
  readonly attempts?: number;
  /** The delay they then begin with. */
  readonly delay?: Duration;
  /** The tasks whose retries change. */
  readonly tasks: string | readonly string[];
}

/** How a trigger is authenticated: never not at all. */
export interface Authentication {
  /** The API credentials of the sender. */
  readonly apiKey?: true;
  /** A bearer token, made for each run. */
  readonly bearer?: true;
  /** HMAC over time, method, path and body, with the secret of this name. */
  readonly hmac?: string;
  /** HMAC over the body, as code forges send it (X-Hub-Signature-256), with the secret of this name. */
  readonly hubSignature?: string;
  /** A policy of this name decides. */
  readonly policy?: string;
}

/** How much may be affected before an approval is needed. */
export interface BlastRadius {
  /** The most weight that may be started and not undone. */
  readonly budget: number;
}

/** Chooses which jobs run. */
export interface Branch {
  /** Which jobs each key starts. */
  readonly cases: { readonly [key: string]: string | readonly string[] };
  /** The job in which the cases come together. */
  readonly converge?: string;
  /** The case to take when select is undefined. */
  readonly default?: string;
  /** The key of the case to take (exclusive), or the keys (inclusive). */
  readonly select: Expression;
  /** Whether exactly one case is taken, or one or more. */
  readonly type?: "exclusive" | "inclusive";
}

/** Caps that stop further dispatch. */
export interface Budget {
  /** The most it may cost. */
  readonly cost?: number;
  /** The most time its attempts may take together. */
  readonly runtime?: Duration;
}

/** Limits a rollout and watches it. */
export interface Canary {
  /** How long it is watched. */
  readonly duration?: Duration;
  /** What is watched; a breach rolls back. */
  readonly metrics: string | readonly string[];
  /** How much of the work goes through the new version. */
  readonly percentage?: number;
  /** Whose work goes through the new version. */
  readonly segments?: string | readonly string[];
}

/** A push to a branch starts the workflow. */
export interface CodePush {
  /** How the sender is authenticated. */
  readonly auth?: Authentication;
  /** Only pushes to this branch. */
  readonly branch: string;
  /** Several events within this time start one run, with the last one's payload. */
  readonly debounce?: Duration;
  /** How many requests are accepted in a time. */
  readonly rateLimit?: Rate;
  /** A request older than this, or seen within it, is refused. */
  readonly replayWindow?: Duration;
  /** Only pushes to this repository. */
  readonly repository?: string;
  /** Only if every pushed commit carries a valid signature. */
  readonly signedCommitsOnly?: boolean;
}

/** What undoes a task. */
export interface Compensation {
  /** Arguments, passed in order and unchanged. */
  readonly args?: readonly string[];
  /** Its input; without it, the output (or the recorded effect) of the task it undoes. */
  readonly input?: Json;
  /** How a failed attempt is tried again. */
  readonly retries?: RetryPolicy;
  /** The runner that undoes the task's effect. */
  readonly run: string;
  /** How long one attempt may take. */
  readonly timeout?: Duration;
}

/** Limits of a run. */
export interface Configuration {
  /** The most the run may cost. */
  readonly costLimit?: number;
  /** How many steps run at a time. */
  readonly maxConcurrency?: number;
  /** The deadline of the whole run. */
  readonly timeout?: Duration | number;
}

/** What happens to evidence. */
export interface EvidenceSetting {
  /** How long evidence is kept. */
  readonly retention: Duration;
}

/** Short for the strategy auto_compensate. */
export interface FailureHandling {
  /** The tasks that are undone, in reverse order of completion. */
  readonly compensate: string | readonly string[];
}

/** What happens when the run fails. */
export interface FailureResolution {
  /** For auto_retry: how the delay grows. */
  readonly backoff?: "exponential" | "fixed";
  /** For auto_compensate: which steps are undone. */
  readonly compensationScope?: "all" | "failed_step_only";
  /** For auto_retry: what follows the last retry. */
  readonly fallback?: "await_decision";
  /** For auto_retry: how often the run is retried. */
  readonly maxRetries?: number;
  /** Whether cancelling the run undoes its steps. */
  readonly onCancel?: "compensate" | "no_compensate";
  /** What happens when the run takes too long. */
  readonly onTimeout?: "compensate" | "fail" | "await_decision";
  /** For auto_retry: the delay before a retry. */
  readonly retryDelay?: Duration;
  /** What happens when the run fails. */
  readonly strategy?: "await_decision" | "auto_retry" | "auto_compensate";
}

/** What makes a cycle legal: a condition and a bound. */
export interface Guard {
  /** How often it goes round at most. */
  readonly maxIterations: number;
  /** What happens when it still holds then. */
  readonly onMax?: "fail" | "continue";
  /** The cycle goes round again if this holds. */
  readonly when: Expression;
}

/** What makes it safe to run a task again. */
export interface IdempotencySetting {
  /** Where the key is unique; the workflow where it is left out. */
  readonly domain?: string;
  /** The key under which its effect is known; derived where it is left out. */
  readonly key?: string;
  /** What makes it safe to run the task again. */
  readonly strategy: "replay-safe" | "dedupe-key" | "effect-recorded";
}

/** Tasks that share one placement and one resource envelope. */
export interface Job {
  /** Chooses which jobs run next. */
  readonly branch?: Branch;
  /** Caps that stop further dispatch. */
  readonly budget?: Budget;
  /** Limits a rollout and watches it. */
  readonly canary?: Canary;
  /** How to reach them. */
  readonly contact?: string;
  /** Where its data may be; inherited by what it produces. */
  readonly dataSovereignty?: string | readonly string[];
  /** What it is for. */
  readonly description?: string;
  /** Labels for audits and searches. */
  readonly labels?: { readonly [key: string]: string };
  /** What people see; its key is its id. */
  readonly name?: string;
  /** Jobs that come before. */
  readonly needs?: string | Need | readonly (string | Need)[];
  /** What signals do to this job. */
  readonly onSignal?:
    { readonly [key: string]: "pause_all" | "policy_recheck" | "resume" | "cancel" | "compensate_all" | SignalAction | readonly ("pause_all" | "policy_recheck" | "resume" | "cancel" | "compensate_all" | SignalAction)[] };
  /** Tasks and jobs whose outputs may be missing here. */
  readonly optionalOutputs?: string | readonly string[];
  /** Who is responsible. */
  readonly owner?: string;
  /** Where the job may run. */
  readonly placement?: Placement;
  /** Policies that apply to the job. */
  readonly policies?: string | readonly string[];
  /** The same as policies. */
  readonly policy?: string | readonly string[];
  /** Which of two dispatchable jobs goes first. */
  readonly priority?: "low" | "normal" | "high" | "critical";
  /** What its tasks share. */
  readonly resources?: ResourceEnvelope;
  /** A job of high risk needs an approval gate in production. */
  readonly risk?: "normal" | "high";
  /** Objectives whose breach emits a signal. */
  readonly slo?: ServiceLevel;
  /** The work, in the order written, on one executor. */
  readonly tasks?: readonly Task[];
  /** Ends the run early after this job. */
  readonly terminateWhen?: Termination;
  /** What kind of job it is, for policies and placement. */
  readonly type?: string;
  /** The job waits for a signal after its tasks and before it succeeds. */
  readonly waitForSignal?: string | SignalGate;
  /** The job is skipped unless this holds. */
  readonly when?: Expression;
}

/** When a silent executor counts as lost. */
export interface Lease {
  /** How long a lease lasts without a heartbeat. */
  readonly duration: Duration;
  /** The interval of heartbeats. */
  readonly heartbeat: Duration;
}

/** What people read when things go wrong. */
export interface ListOfRunbooks {
  /** Where the incident runbook is. */
  readonly incident?: string;
  /** Where the rollback runbook is. */
  readonly rollback?: string;
}

/** A person starts the workflow. */
export interface ManualTrigger {
  /** How the sender is authenticated. */
  readonly auth?: Authentication;
  /** Several events within this time start one run, with the last one's payload. */
  readonly debounce?: Duration;
  /** Whether people may start the workflow. */
  readonly enabled?: boolean;
  /** How many requests are accepted in a time. */
  readonly rateLimit?: Rate;
  /** A request older than this, or seen within it, is refused. */
  readonly replayWindow?: Duration;
}

/** A message on a topic starts the workflow. */
export interface MessageTrigger {
  /** How the sender is authenticated. */
  readonly auth?: Authentication;
  /** Several events within this time start one run, with the last one's payload. */
  readonly debounce?: Duration;
  /** How many requests are accepted in a time. */
  readonly rateLimit?: Rate;
  /** A request older than this, or seen within it, is refused. */
  readonly replayWindow?: Duration;
  /** The topic that is subscribed to. */
  readonly topic: string;
}

/** A job that comes before. */
export interface Need {
  /** Makes this the edge that closes a cycle: the job begins again after that one while the guard holds. */
  readonly guard?: Guard;
  /** The job that comes before. */
  readonly job: string;
}

/** A typed input of a run. */
export interface Parameter {
  /** Its value where a start gives none. */
  readonly default?: Json;
  /** What it is for. */
  readonly description?: string;
  /** What it is called; unique. */
  readonly name: string;
  /** Whether a start must give it; by default exactly if it has no default. */
  readonly required?: boolean;
  /** Which JSON values it accepts. */
  readonly type: "string" | "integer" | "boolean" | "number";
}

/** Pauses the run after the task until a trigger resumes it. */
export interface Pause {
  /** How the trigger is authenticated. */
  readonly auth?: Authentication;
  /** The run resumes by itself after this time. */
  readonly autoResumeAfter?: Duration;
  /** The payload that auto_approve resumes with. */
  readonly defaultPayload?: Json;
  /** Whom to notify when the run pauses, and with each reminder: URLs, runners, addresses. */
  readonly notify?: string | readonly string[];
  /** What happens when it does not come. */
  readonly onTimeout?: "fail_workflow" | "reminder" | "auto_approve";
  /** What the trigger's payload must look like. */
  readonly payloadSchema?: string | { readonly [key: string]: Json } | boolean;
  /** How many triggers are taken in a time; left out, 60/m. */
  readonly rateLimit?: Rate;
  /** How many reminders are sent before the trigger fails; without it there is no limit. */
  readonly reminders?: number;
  /** A trigger older than this, or seen within it, is refused; left out, 5m. */
  readonly replayWindow?: Duration;
  /** The run resumes only if this holds for the payload. */
  readonly resumeWhen?: Expression;
  /** How long the trigger is awaited. */
  readonly timeout?: Duration;
  /** The key by which the resume trigger is called. */
  readonly trigger: string;
}

/** Where the work may run: hard constraints. */
export interface Placement {
  /** Clouds it may run in. */
  readonly clouds?: string | readonly string[];
  /** Where the data may be. */
  readonly dataSovereignty?: string | readonly string[];
  /** Regions it may run in. */
  readonly regions?: string | readonly string[];
  /** Capabilities the executor must have. */
  readonly requires?: string | readonly string[];
  /** Whether the executor is shared with other tenants. */
  readonly tenancy?: "shared" | "dedicated";
}

/** Runs the task again and again until it reports completion. */
export interface Poll {
  /** Whether the interval doubles after each poll. */
  readonly backoff?: "exponential" | "fixed";
  /** The step's output for continue_with_default. */
  readonly defaultOutput?: Json;
  /** The time between two polls. */
  readonly interval: Duration;
  /** How often is polled at most; with a fixed interval derived from max_duration. */
  readonly maxAttempts?: number;
  /** How long is polled at most. */
  readonly maxDuration: Duration;
  /** The longest interval with exponential backoff. */
  readonly maxInterval?: Duration;
  /** What happens when the poll itself gives up. */
  readonly onAbort?: "fail_workflow" | "pause_workflow" | "continue_with_default";
  /** What happens when the limits are reached. */
  readonly onTimeout?: "fail_workflow" | "pause_workflow" | "continue_with_default";
}

/** What the tasks of the job share. */
export interface ResourceEnvelope {
  /** Cores. */
  readonly cpu?: number;
  /** Megabytes. */
  readonly memoryMb?: number;
  /** The longest time of one attempt's processes. */
  readonly runtime?: Duration;
}

/** How a failed attempt is tried again. */
export interface RetryPolicy {
  /** How often the task is tried in all, the first time included. */
  readonly attempts: number;
  /** The bound up to which a signal may raise the attempts. */
  readonly attemptsMax?: number;
  /** The same as strategy. */
  readonly backoff?: "exponential" | "fixed";
  /** The same as delay, in milliseconds. */
  readonly backoffMs?: Duration | number;
  /** The delay before the first retry. */
  readonly delay?: Duration;
  /** A random part of up to so many milliseconds is added to each delay. */
  readonly jitterMs?: number;
  /** The longest delay between two tries. */
  readonly maxDelay?: Duration;
  /** Which classes and causes of failure are retried. */
  readonly on?:
    "transient" | "policy-blocked" | "timeout" | "lease-expired" | "budget-exceeded" | readonly ("transient" | "policy-blocked" | "timeout" | "lease-expired" | "budget-exceeded")[];
  /** How the delay grows from one try to the next. */
  readonly strategy?: "exponential" | "fixed";
}

/** Time starts the workflow. */
export interface Schedule {
  /** Window sets in which nothing is started. */
  readonly blackout?: string | readonly string[];
  /** Calendars whose days are included or excluded. */
  readonly calendar?: string | readonly string[];
  /** A critical schedule notifies the people on call when it starts. */
  readonly critical?: boolean;
  /** When: minute, hour, day of month, month, day of week. H spreads workflows over the range. */
  readonly cron: string;
  /** Days on which nothing is started: "Dec 25", "2026-12-24..2026-12-26". */
  readonly freezeWindows?: string | readonly string[];
  /** Whom it notifies. */
  readonly onCall?: string;
  /** The payload of a scheduled start. */
  readonly payload?: Json;
  /** Window sets outside which nothing is started. */
  readonly releaseWindows?: string | readonly string[];
  /** The zone whose wall clock counts. */
  readonly timezone?: string;
}

/** Objectives whose breach emits a signal and a metric. */
export interface ServiceLevel {
  /** From queued to ended. */
  readonly deadline?: Duration;
  /** From queued to started. */
  readonly latency?: Duration;
}

/** Ends work early with an outcome. */
export interface ShortCircuit {
  /** How it ends. */
  readonly outcome: "succeeded" | "failed" | "skipped";
  /** Why. */
  readonly reason?: string;
  /** The job, or job.task, that ends early; the whole run where it is left out. */
  readonly target?: string;
}

/** What a signal does. */
export interface SignalAction {
  /** Raises attempts or shortens the backoff of tasks. */
  readonly amplifyRetries?: Amplification;
  /** Ends work early with an outcome. */
  readonly shortCircuit?: ShortCircuit;
}

/** Waits for a signal. */
export interface SignalGate {
  /** The signal that is awaited. */
  readonly signal: string;
  /** How long it is awaited. */
  readonly timeout?: Duration;
  /** Before the work, or after it and before its success counts. */
  readonly when?: "after" | "before";
}

/** A signal starts the workflow. */
export interface SignalTrigger {
  /** How the sender is authenticated. */
  readonly auth?: Authentication;
  /** Several events within this time start one run, with the last one's payload. */
  readonly debounce?: Duration;
  /** The signal. */
  readonly name: string;
  /** How many requests are accepted in a time. */
  readonly rateLimit?: Rate;
  /** A request older than this, or seen within it, is refused. */
  readonly replayWindow?: Duration;
}

/** A step of a step tree: work, a message, a sequence of steps, or a choice. */
export interface Step {
  /** Arguments, passed to the runner in order and unchanged. */
  readonly args?: readonly string[];
  /** The weight of this task against the blast-radius budget. */
  readonly blastRadius?: number;
  /** What undoes the task. */
  readonly compensation?: string | Compensation;
  /** How to reach them. */
  readonly contact?: string;
  /** What it is for. */
  readonly description?: string;
  /** Steps that run if the condition does not hold. */
  readonly else?: Step | readonly Step[];
  /** The same as else. */
  readonly elseSteps?: Step | readonly Step[];
  /** The same as name. */
  readonly id?: string;
  /** What makes it safe to run the task again. */
  readonly idempotency?: "replay-safe" | "dedupe-key" | "effect-recorded" | IdempotencySetting;
  /** The key under which the task's effect is known. */
  readonly idempotencyKey?: string;
  /** The identity under which the task's credentials are issued. */
  readonly identity?: string;
  /** Runs the steps of then if this holds, those of else otherwise. */
  readonly if?: Expression;
  /** What the runner gets; texts may hold ${paths}. */
  readonly input?: Json;
  /** What the input must look like, checked before dispatch. */
  readonly inputSchema?: string | { readonly [key: string]: Json } | boolean;
  /** How heavy the work is, for the dispatch of it. */
  readonly intent?: "light" | "normal" | "heavy";
  /** Labels for audits and searches. */
  readonly labels?: { readonly [key: string]: string };
  /** Writes a message to the log: short for the runner log. */
  readonly log?: string;
  /** What the task is called; unique within its job. */
  readonly name?: string;
  /** Tasks and jobs whose outputs may be missing here. */
  readonly optionalOutputs?: string | readonly string[];
  /** What the output must look like, checked before success counts. */
  readonly outputSchema?: string | { readonly [key: string]: Json } | boolean;
  /** The outputs that the runner must report, with their types. */
  readonly outputs?: { readonly [key: string]: "string" | "integer" | "number" | "boolean" | "object" | "array" };
  /** Who is responsible. */
  readonly owner?: string;
  /** Pauses the run after the task until a trigger resumes it. */
  readonly pauseAfter?: string | Pause;
  /** Policies that apply to this task. */
  readonly policies?: string | readonly string[];
  /** The same as policies. */
  readonly policy?: string | readonly string[];
  /** Runs the task again and again until it reports completion. */
  readonly poll?: Poll;
  /** The same as output_schema. */
  readonly produces?: string | { readonly [key: string]: Json } | boolean;
  /** How a failed attempt is tried again. */
  readonly retries?: RetryPolicy;
  /** The same as retries. */
  readonly retry?: RetryPolicy;
  /** A step of high risk needs an approval gate in production. */
  readonly risk?: "normal" | "high";
  /** The runner that does the work. */
  readonly run?: string;
  /** Steps that run one after another. */
  readonly sequence?: Step | readonly Step[];
  /** Sub-routines that may ever carry it to its runner, retries included; left out, enough for all its attempts. */
  readonly spawnBudget?: number;
  /** Ends the run early. */
  readonly terminateWhen?: Termination;
  /** Steps that run if the condition holds. */
  readonly then?: Step | readonly Step[];
  /** The same as then. */
  readonly thenSteps?: Step | readonly Step[];
  /** How long one attempt may take. */
  readonly timeout?: Duration;
  /** Waits for a signal. */
  readonly waitForSignal?: string | SignalGate;
  /** The task is skipped unless this holds. */
  readonly when?: Expression;
}

/** The smallest unit of work: names exactly one runner. */
export interface Task {
  /** Arguments, passed to the runner in order and unchanged. */
  readonly args?: readonly string[];
  /** The weight of this task against the blast-radius budget. */
  readonly blastRadius?: number;
  /** What undoes the task. */
  readonly compensation?: string | Compensation;
  /** How to reach them. */
  readonly contact?: string;
  /** What it is for. */
  readonly description?: string;
  /** The same as name. */
  readonly id?: string;
  /** What makes it safe to run the task again. */
  readonly idempotency?: "replay-safe" | "dedupe-key" | "effect-recorded" | IdempotencySetting;
  /** The key under which the task's effect is known. */
  readonly idempotencyKey?: string;
  /** The identity under which the task's credentials are issued. */
  readonly identity?: string;
  /** What the runner gets; texts may hold ${paths}. */
  readonly input?: Json;
  /** What the input must look like, checked before dispatch. */
  readonly inputSchema?: string | { readonly [key: string]: Json } | boolean;
  /** How heavy the work is, for the dispatch of it. */
  readonly intent?: "light" | "normal" | "heavy";
  /** Labels for audits and searches. */
  readonly labels?: { readonly [key: string]: string };
  /** Writes a message to the log: short for the runner log. */
  readonly log?: string;
  /** What the task is called; unique within its job. */
  readonly name?: string;
  /** Tasks and jobs whose outputs may be missing here. */
  readonly optionalOutputs?: string | readonly string[];
  /** What the output must look like, checked before success counts. */
  readonly outputSchema?: string | { readonly [key: string]: Json } | boolean;
  /** The outputs that the runner must report, with their types. */
  readonly outputs?: { readonly [key: string]: "string" | "integer" | "number" | "boolean" | "object" | "array" };
  /** Who is responsible. */
  readonly owner?: string;
  /** Pauses the run after the task until a trigger resumes it. */
  readonly pauseAfter?: string | Pause;
  /** Policies that apply to this task. */
  readonly policies?: string | readonly string[];
  /** The same as policies. */
  readonly policy?: string | readonly string[];
  /** Runs the task again and again until it reports completion. */
  readonly poll?: Poll;
  /** The same as output_schema. */
  readonly produces?: string | { readonly [key: string]: Json } | boolean;
  /** How a failed attempt is tried again. */
  readonly retries?: RetryPolicy;
  /** The same as retries. */
  readonly retry?: RetryPolicy;
  /** A step of high risk needs an approval gate in production. */
  readonly risk?: "normal" | "high";
  /** The runner that does the work. */
  readonly run?: string;
  /** Sub-routines that may ever carry it to its runner, retries included; left out, enough for all its attempts. */
  readonly spawnBudget?: number;
  /** Ends the run early. */
  readonly terminateWhen?: Termination;
  /** How long one attempt may take. */
  readonly timeout?: Duration;
  /** Waits for a signal. */
  readonly waitForSignal?: string | SignalGate;
  /** The task is skipped unless this holds. */
  readonly when?: Expression;
}

/** Ends the run early. */
export interface Termination {
  /** The run ends at once if this holds after the task. */
  readonly condition: Expression;
  /** Why, for the people who read the run. */
  readonly reason: string;
  /** How it ends. */
  readonly state: "succeeded" | "failed";
}

/** What starts the workflow. */
export interface Trigger {
  /** A push to a branch starts the workflow. */
  readonly gitPush?: CodePush;
  /** A person starts the workflow. */
  readonly manual?: boolean | ManualTrigger;
  /** A message on a topic starts the workflow. */
  readonly message?: string | MessageTrigger;
  /** Time starts the workflow. */
  readonly schedule?: string | Schedule;
  /** A signal starts the workflow. */
  readonly signal?: string | SignalTrigger;
  /** An HTTP request starts the workflow. */
  readonly webhook?: Webhook;
}

/** An HTTP request starts the workflow; its body is the payload. */
export interface Webhook {
  /** How the sender is authenticated. */
  readonly auth?: Authentication;
  /** Several events within this time start one run, with the last one's payload. */
  readonly debounce?: Duration;
  /** The last part of the webhook's URL. */
  readonly key: string;
  /** How many requests are accepted in a time. */
  readonly rateLimit?: Rate;
  /** A request older than this, or seen within it, is refused. */
  readonly replayWindow?: Duration;
}

/** A workflow: a graph of jobs or a tree of steps. */
export interface Workflow {
  /** How much may be affected before an approval is needed. */
  readonly blastRadius?: BlastRadius;
  /** Limits of a run. */
  readonly config?: Configuration;
  /** How to reach them. */
  readonly contact?: string;
  /** What it is for. */
  readonly description?: string;
  /** What happens to evidence. */
  readonly evidence?: EvidenceSetting;
  /** Whether a failed step stops everything that has not begun. */
  readonly failureMode?: "fail-fast" | "continue-independent";
  /** What happens when the run fails. */
  readonly failureResolution?: FailureResolution;
  /** A second start with the same key returns the first one's run. */
  readonly idempotencyKey?: string;
  /** The work, as a graph of jobs. */
  readonly jobs?: { readonly [key: string]: Job };
  /** Labels for audits and searches. */
  readonly labels?: { readonly [key: string]: string };
  /** When a silent executor counts as lost. */
  readonly lease?: Lease;
  /** What people see. */
  readonly name?: string;
  /** The same as tenant. */
  readonly namespace?: string;
  /** What becomes of steps that run when another fails. */
  readonly onFailFast?: "finish" | "cancel";
  /** Short for the strategy auto_compensate. */
  readonly onFailure?: "compensate_all" | FailureHandling;
  /** What signals do to the run. */
  readonly onSignal?:
    { readonly [key: string]: "pause_all" | "policy_recheck" | "resume" | "cancel" | "compensate_all" | SignalAction | readonly ("pause_all" | "policy_recheck" | "resume" | "cancel" | "compensate_all" | SignalAction)[] };
  /** Who is responsible. */
  readonly owner?: string;
  /** The same as params. */
  readonly parameters?: readonly Parameter[];
  /** The typed inputs of a run. */
  readonly params?: readonly Parameter[];
  /** Where its jobs may run, in addition to their own constraints. */
  readonly placement?: Placement;
  /** Policies that apply to every job and task. */
  readonly policies?: string | readonly string[];
  /** The same as policies. */
  readonly policy?: string | readonly string[];
  /** The default of its jobs. */
  readonly priority?: "low" | "normal" | "high" | "critical";
  /** Whether the run writes provenance events. */
  readonly provenance?: boolean;
  /** What people read when things go wrong. */
  readonly runbooks?: ListOfRunbooks;
  /** JSON Schemas by name, for this definition. */
  readonly schemas?: { readonly [key: string]: string | { readonly [key: string]: Json } | boolean };
  /** Objectives of the whole run. */
  readonly slo?: ServiceLevel;
  /** The work, as a tree of steps. */
  readonly steps?: Step | readonly Step[];
  /** Whose it is. */
  readonly tenant?: string;
  /** What starts the workflow. */
  readonly triggers?: readonly Trigger[];
  /** A label such as "2.1.0"; revisions are numbered by themselves. */
  readonly version?: string;
  /** The id of the workflow. */
  readonly workflow?: string;
  /** The same as workflow. */
  readonly workflowId?: string;
}

/* Keys that are written in another way, and values that have keys themselves. */
export type Part = string | { readonly each: Part };
export const parts: Readonly<Record<string, Readonly<Record<string, { readonly key: string; readonly part?: Part }>>>> = {
  "amplification": {},
  "authentication": {
    apiKey: { key: "api_key" },
    hubSignature: { key: "hub_signature" },
  },
  "blast-radius": {},
  "branch": {},
  "budget": {},
  "canary": {},
  "code-push": {
    auth: { key: "auth", part: "authentication" },
    rateLimit: { key: "rate_limit" },
    replayWindow: { key: "replay_window" },
    signedCommitsOnly: { key: "signed_commits_only" },
  },
  "compensation": {
    retries: { key: "retries", part: "retry-policy" },
  },
  "configuration": {
    costLimit: { key: "cost_limit" },
    maxConcurrency: { key: "max_concurrency" },
  },
  "evidence-setting": {},
  "failure-handling": {},
  "failure-resolution": {
    compensationScope: { key: "compensation_scope" },
    maxRetries: { key: "max_retries" },
    onCancel: { key: "on_cancel" },
    onTimeout: { key: "on_timeout" },
    retryDelay: { key: "retry_delay" },
  },
  "guard": {
    maxIterations: { key: "max_iterations" },
    onMax: { key: "on_max" },
  },
  "idempotency-setting": {},
  "job": {
    branch: { key: "branch", part: "branch" },
    budget: { key: "budget", part: "budget" },
    canary: { key: "canary", part: "canary" },
    dataSovereignty: { key: "data_sovereignty" },
    needs: { key: "needs", part: "need" },
    onSignal: { key: "on_signal", part: { each: "signal-action" } },
    optionalOutputs: { key: "optional_outputs" },
    placement: { key: "placement", part: "placement" },
    resources: { key: "resources", part: "resource-envelope" },
    slo: { key: "slo", part: "service-level" },
    tasks: { key: "tasks", part: "task" },
    terminateWhen: { key: "terminate_when", part: "termination" },
    waitForSignal: { key: "wait_for_signal", part: "signal-gate" },
  },
  "lease": {},
  "list-of-runbooks": {},
  "manual-trigger": {
    auth: { key: "auth", part: "authentication" },
    rateLimit: { key: "rate_limit" },
    replayWindow: { key: "replay_window" },
  },
  "message-trigger": {
    auth: { key: "auth", part: "authentication" },
    rateLimit: { key: "rate_limit" },
    replayWindow: { key: "replay_window" },
  },
  "need": {
    guard: { key: "guard", part: "guard" },
  },
  "parameter": {},
  "pause": {
    auth: { key: "auth", part: "authentication" },
    autoResumeAfter: { key: "auto_resume_after" },
    defaultPayload: { key: "default_payload" },
    onTimeout: { key: "on_timeout" },
    payloadSchema: { key: "payload_schema" },
    rateLimit: { key: "rate_limit" },
    replayWindow: { key: "replay_window" },
    resumeWhen: { key: "resume_when" },
  },
  "placement": {
    dataSovereignty: { key: "data_sovereignty" },
  },
  "poll": {
    defaultOutput: { key: "default_output" },
    maxAttempts: { key: "max_attempts" },
    maxDuration: { key: "max_duration" },
    maxInterval: { key: "max_interval" },
    onAbort: { key: "on_abort" },
    onTimeout: { key: "on_timeout" },
  },
  "resource-envelope": {
    memoryMb: { key: "memory_mb" },
  },
  "retry-policy": {
    attemptsMax: { key: "attempts_max" },
    backoffMs: { key: "backoff_ms" },
    jitterMs: { key: "jitter_ms" },
    maxDelay: { key: "max_delay" },
  },
  "schedule": {
    freezeWindows: { key: "freeze_windows" },
    onCall: { key: "on_call" },
    releaseWindows: { key: "release_windows" },
  },
  "service-level": {},
  "short-circuit": {},
  "signal-action": {
    amplifyRetries: { key: "amplify_retries", part: "amplification" },
    shortCircuit: { key: "short_circuit", part: "short-circuit" },
  },
  "signal-gate": {},
  "signal-trigger": {
    auth: { key: "auth", part: "authentication" },
    rateLimit: { key: "rate_limit" },
    replayWindow: { key: "replay_window" },
  },
  "step": {
    blastRadius: { key: "blast_radius" },
    compensation: { key: "compensation", part: "compensation" },
    else: { key: "else", part: "step" },
    elseSteps: { key: "elseSteps", part: "step" },
    idempotency: { key: "idempotency", part: "idempotency-setting" },
    idempotencyKey: { key: "idempotency_key" },
    inputSchema: { key: "input_schema" },
    optionalOutputs: { key: "optional_outputs" },
    outputSchema: { key: "output_schema" },
    pauseAfter: { key: "pause_after", part: "pause" },
    poll: { key: "poll", part: "poll" },
    retries: { key: "retries", part: "retry-policy" },
    retry: { key: "retry", part: "retry-policy" },
    sequence: { key: "sequence", part: "step" },
    spawnBudget: { key: "spawn_budget" },
    terminateWhen: { key: "terminate_when", part: "termination" },
    then: { key: "then", part: "step" },
    thenSteps: { key: "thenSteps", part: "step" },
    waitForSignal: { key: "wait_for_signal", part: "signal-gate" },
  },
  "task": {
    blastRadius: { key: "blast_radius" },
    compensation: { key: "compensation", part: "compensation" },
    idempotency: { key: "idempotency", part: "idempotency-setting" },
    idempotencyKey: { key: "idempotency_key" },
    inputSchema: { key: "input_schema" },
    optionalOutputs: { key: "optional_outputs" },
    outputSchema: { key: "output_schema" },
    pauseAfter: { key: "pause_after", part: "pause" },
    poll: { key: "poll", part: "poll" },
    retries: { key: "retries", part: "retry-policy" },
    retry: { key: "retry", part: "retry-policy" },
    spawnBudget: { key: "spawn_budget" },
    terminateWhen: { key: "terminate_when", part: "termination" },
    waitForSignal: { key: "wait_for_signal", part: "signal-gate" },
  },
  "termination": {},
  "trigger": {
    gitPush: { key: "git_push", part: "code-push" },
    manual: { key: "manual", part: "manual-trigger" },
    message: { key: "message", part: "message-trigger" },
    schedule: { key: "schedule", part: "schedule" },
    signal: { key: "signal", part: "signal-trigger" },
    webhook: { key: "webhook", part: "webhook" },
  },
  "webhook": {
    auth: { key: "auth", part: "authentication" },
    rateLimit: { key: "rate_limit" },
    replayWindow: { key: "replay_window" },
  },
  "workflow": {
    blastRadius: { key: "blast_radius", part: "blast-radius" },
    config: { key: "config", part: "configuration" },
    evidence: { key: "evidence", part: "evidence-setting" },
    failureMode: { key: "failure_mode" },
    failureResolution: { key: "failure_resolution", part: "failure-resolution" },
    idempotencyKey: { key: "idempotency_key" },
    jobs: { key: "jobs", part: { each: "job" } },
    lease: { key: "lease", part: "lease" },
    onFailFast: { key: "on_fail_fast" },
    onFailure: { key: "on_failure", part: "failure-handling" },
    onSignal: { key: "on_signal", part: { each: "signal-action" } },
    parameters: { key: "parameters", part: "parameter" },
    params: { key: "params", part: "parameter" },
    placement: { key: "placement", part: "placement" },
    runbooks: { key: "runbooks", part: "list-of-runbooks" },
    slo: { key: "slo", part: "service-level" },
    steps: { key: "steps", part: "step" },
    triggers: { key: "triggers", part: "trigger" },
  },
};
