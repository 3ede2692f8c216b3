/* The contracts of workflows by the names that the documents of Maestro use.
 *
 * Conditions are Rego expressions, evaluated by the engine and recorded with their result; the SDK holds their form, never
 * their meaning. What a runner or an API answers is here as the JSON that it is. */
import type {
  Authentication, Branch, Compensation, Expression, FailureResolution, Json, Pause, Poll, Task, Termination,
} from "./definition.js";

/** `when`: the job or task is carried out if it holds, and skipped with a reason if not. */
export type StepCondition = Expression;
/** `branch.select`: the key of the case to take (exclusive), or the list of keys (inclusive). */
export type BranchCondition = Branch["select"];
/** `terminate_when`: after the step, the run ends in that state if the condition holds. */
export type TerminationCondition = Readonly<Termination>;
/** What a condition gave: whether to go on, or the keys of a branch, and what it had looked at. */
export interface ConditionResult {
  readonly condition: StepCondition | BranchCondition;
  readonly result: boolean | string | readonly string[];
  readonly reason?: string;
  readonly input?: Json;
}

/** `poll`: how often and how long is asked, and what happens then. */
export type PollingConfiguration = Readonly<Poll>;
/** A task whose runner is asked again and again. */
export type PollingStep = Task & { readonly run: string; readonly poll: PollingConfiguration };
/** What the runner of a polling step answers. */
export interface PollResult {
  readonly complete: boolean;
  /** false gives up; without it, an answer that is not complete is asked for again. */
  readonly continue?: boolean;
  readonly output?: Json;
  /** Seconds until the next poll, this once. */
  readonly nextInterval?: number;
}

/** `pause_after`: the run waits behind the task until this trigger is called. */
export type PauseTrigger = Readonly<Pause>;
/** The body of a call of a trigger: held against the payload schema, then known to conditions as `payload`. */
export type TriggerPayload = Json;
/** `resume_when`: the run resumes only if it holds for the payload. */
export type ResumeCondition = Expression;
/** How whoever calls a trigger is authenticated; a policy is the way to an authenticator of one's own. */
export type TriggerAuthenticator = Readonly<Authentication>;

/** `failure_resolution`, as a value that nobody changes. */
export type FailureResolutionConfig = Readonly<FailureResolution>;
export type FailureResolutionStrategy = NonNullable<FailureResolution["strategy"]>;
/** What undoes a task: the runner, its time and its retries. */
export type CompensationDefinition = Readonly<Compensation>;
