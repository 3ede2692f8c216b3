/* The builders: workflow, job, task, and what a signal does.
 *
 * A method says one thing of a definition, at most once; those that add (`needs`, `policy`, `trigger` ...) may be called
 * again. Keys without a method of their own are given by `with()`, or as options of `workflow()`. */
import { Body } from "./body.js";
import type {
  PauseTrigger, PollingConfiguration, StepCondition, TerminationCondition, CompensationDefinition, FailureResolutionConfig,
} from "./contracts.js";
import type {
  Amplification, Branch, Canary, Duration, FailureHandling, IdempotencySetting, Job, Json, Need, Parameter, Placement,
  RetryPolicy, Schedule, ShortCircuit, SignalGate, Task, Trigger, Workflow,
} from "./definition.js";
import { DefinitionError } from "./place.js";

export type WorkflowOptions = Omit<Workflow, "workflow" | "workflowId" | "jobs">;
export type JobOptions = Omit<Job, "tasks">;
export type TaskOptions = Omit<Task, "name" | "id">;

/* Every workflow that was made, for the compiler, which runs one definition and ends. */
const made: WorkflowBuilder[] = [];

export function workflow(name: string, options?: WorkflowOptions): WorkflowBuilder {
  const builder = new WorkflowBuilder(name, options);
  made.push(builder);
  return builder;
}

export function workflowsMade(): readonly WorkflowBuilder[] {
  return made;
}

export class WorkflowBuilder {
  private readonly body = new Body("workflow");

  constructor(readonly name: string, options?: WorkflowOptions) {
    this.body.set("workflow", name);
    this.body.setAll(options, 1);
  }

  /** What starts a run: `gitPush()`, `signal()`, `webhook()`, `message()`, `manual()`. */
  trigger(...triggers: Trigger[]): this {
    triggers.forEach((trigger, index) => this.body.add("triggers", trigger, index));
    return this;
  }

  /** Time starts a run: `cron()`, or its expression. */
  schedule(schedule: Schedule | string): this {
    const trigger = new Body("trigger");
    trigger.set("schedule", schedule);
    this.body.add("triggers", trigger.value);
    return this;
  }

  /** A typed input of a run. */
  param(name: string, type: Parameter["type"], options?: Omit<Parameter, "name" | "type">): this {
    const parameter = new Body("parameter");
    parameter.set("name", name);
    parameter.set("type", type, 1);
    parameter.setAll(options, 2);
    this.body.add("params", parameter.value);
    return this;
  }

  job(name: string, build: (job: JobBuilder) => JobBuilder | void): this {
    const job = new JobBuilder();
    build(job);
    this.body.enter("jobs", name, job.toJSON());
    return this;
  }

  /** Policies that apply to every job and task. */
  policy(...names: string[]): this {
    names.forEach((name, index) => this.body.add("policies", name, index));
    return this;
  }

  /** What happens when the run fails, is cancelled or takes too long. */
  failureResolution(config: FailureResolutionConfig): this {
    this.body.set("failureResolution", config);
    return this;
  }

  /** Short for the strategy auto_compensate: `compensateAll()`, `selectiveCompensation()`. */
  onFailure(handling: "compensate_all" | FailureHandling): this {
    this.body.set("onFailure", handling);
    return this;
  }

  /** What a signal does to the run. */
  onSignal(name: string, build: (actions: SignalActions) => SignalActions | void): this {
    this.body.enter("onSignal", name, actionsOf(name, build));
    return this;
  }

  /** The run writes provenance events. */
  emitProvenance(): this {
    this.body.set("provenance", true);
    return this;
  }

  /** Keys without a method of their own. */
  with(options: WorkflowOptions): this {
    this.body.setAll(options);
    return this;
  }

  /** The definition, with the keys that YAML has. */
  toJSON(): { readonly [key: string]: unknown } {
    return this.body.value;
  }
}

export class JobBuilder {
  private readonly body = new Body("job");

  /** Jobs that come before; one with a guard closes a cycle. */
  needs(...jobs: (string | Need)[]): this {
    jobs.forEach((job, index) => this.body.add("needs", job, index));
    return this;
  }

  /** The next piece of work: tasks run in the order written. */
  task(name: string, build: (task: TaskBuilder) => TaskBuilder | void): this {
    const task = new TaskBuilder(name);
    build(task);
    this.body.add("tasks", task.toJSON());
    return this;
  }

  /** The job is skipped unless this holds. */
  when(condition: StepCondition): this {
    this.body.set("when", condition);
    return this;
  }

  /** Chooses which jobs run next. */
  branch(branch: Branch): this {
    this.body.set("branch", branch);
    return this;
  }

  /** Ends the run early after this job. */
  terminateWhen(condition: TerminationCondition): this {
    this.body.set("terminateWhen", condition);
    return this;
  }

  /** The job waits for a signal after its tasks and before it succeeds. */
  waitForSignal(name: string, options?: Omit<SignalGate, "signal">): this {
    this.body.set("waitForSignal", gateOf(name, options));
    return this;
  }

  policy(...names: string[]): this {
    names.forEach((name, index) => this.body.add("policies", name, index));
    return this;
  }

  /** Limits a rollout and watches it. */
  canary(canary: Canary): this {
    this.body.set("canary", canary);
    return this;
  }

  placement(placement: Placement): this {
    this.body.set("placement", placement);
    return this;
  }

  /** What a signal does to this job. */
  onSignal(name: string, build: (actions: SignalActions) => SignalActions | void): this {
    this.body.enter("onSignal", name, actionsOf(name, build));
    return this;
  }

  /** Keys without a method of their own. */
  with(options: JobOptions): this {
    this.body.setAll(options);
    return this;
  }

  toJSON(): { readonly [key: string]: unknown } {
    return this.body.value;
  }
}

/** A task, which is a step of the plan. */
export class TaskBuilder {
  private readonly body = new Body("task");

  constructor(name: string) {
    this.body.set("name", name);
  }

  /** The runner that does the work. */
  run(runner: string): this {
    this.body.set("run", runner);
    return this;
  }

  /** Writes a message to the log, instead of a runner. */
  log(message: string): this {
    this.body.set("log", message);
    return this;
  }

  /** Arguments, passed to the runner in order and unchanged. */
  args(...args: string[]): this {
    args.forEach((arg, index) => this.body.add("args", arg, index));
    return this;
  }

  /** What the runner gets; texts may hold ${paths}. */
  input(input: Json): this {
    this.body.set("input", input);
    return this;
  }

  /** How long one attempt may take. */
  timeout(timeout: Duration): this {
    this.body.set("timeout", timeout);
    return this;
  }

  /** How a failed attempt is tried again. */
  retry(policy: RetryPolicy): this {
    this.body.set("retries", policy);
    return this;
  }

  /** What makes it safe to run the task again. */
  idempotency(setting: IdempotencySetting | IdempotencySetting["strategy"]): this {
    this.body.set("idempotency", setting);
    return this;
  }

  policy(...names: string[]): this {
    names.forEach((name, index) => this.body.add("policies", name, index));
    return this;
  }

  /** What undoes the task: a runner, or one with its timeout and retries. */
  compensation(compensation: string | CompensationDefinition): this {
    this.body.set("compensation", compensation);
    return this;
  }

  /** The same as compensation(). */
  withCompensation(compensation: string | CompensationDefinition): this {
    return this.compensation(compensation);
  }

  /** Pauses the run after the task until the trigger of this key resumes it. */
  pauseAfter(trigger: string, options?: Omit<PauseTrigger, "trigger">): this {
    const pause = new Body("pause");
    pause.set("trigger", trigger);
    pause.setAll(options, 1);
    this.body.set("pauseAfter", pause.value);
    return this;
  }

  /** Runs the task again and again until it reports completion. */
  poll(configuration: PollingConfiguration): this {
    this.body.set("poll", configuration);
    return this;
  }

  /** The task is skipped unless this holds. */
  when(condition: StepCondition): this {
    this.body.set("when", condition);
    return this;
  }

  /** Ends the run early after this task. */
  terminateWhen(condition: TerminationCondition): this {
    this.body.set("terminateWhen", condition);
    return this;
  }

  waitForSignal(name: string, options?: Omit<SignalGate, "signal">): this {
    this.body.set("waitForSignal", gateOf(name, options));
    return this;
  }

  /** Keys without a method of their own. */
  with(options: TaskOptions): this {
    this.body.setAll(options);
    return this;
  }

  toJSON(): { readonly [key: string]: unknown } {
    return this.body.value;
  }
}

/** What a signal does, in order. */
export class SignalActions {
  private readonly actions: unknown[] = [];

  private add(action: unknown): this {
    this.actions.push(action);
    return this;
  }

  pauseAll(): this {
    return this.add("pause_all");
  }

  /** Policies are asked again before the run may resume. */
  policyRecheck(): this {
    return this.add("policy_recheck");
  }

  resume(): this {
    return this.add("resume");
  }

  cancel(): this {
    return this.add("cancel");
  }

  compensateAll(): this {
    return this.add("compensate_all");
  }

  /** Ends work early with an outcome. */
  shortCircuit(options: ShortCircuit): this {
    const action = new Body("signal-action");
    action.set("shortCircuit", options);
    return this.add(action.value);
  }

  /** Raises attempts or shortens the backoff of tasks. */
  amplifyRetries(options: Amplification): this {
    const action = new Body("signal-action");
    action.set("amplifyRetries", options);
    return this.add(action.value);
  }

  toJSON(): readonly unknown[] {
    return this.actions;
  }
}

function actionsOf(name: string, build: (actions: SignalActions) => SignalActions | void): readonly unknown[] {
  const actions = new SignalActions();
  build(actions);
  if (!actions.toJSON().length) throw new DefinitionError(`the signal '${name}' has no action`);
  return actions.toJSON();
}

function gateOf(name: string, options: Omit<SignalGate, "signal"> | undefined): unknown {
  if (!options) return name;
  const gate = new Body("signal-gate");
  gate.set("signal", name);
  gate.setAll(options, 1);
  return gate.value;
}

export type StepBuilder = TaskBuilder;
