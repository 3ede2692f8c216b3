/* What starts a run, and what answers a failure: the values that `.trigger()`, `.schedule()` and `.onFailure()` take. */
import { Body } from "./body.js";
import type {
  CodePush, FailureHandling, ManualTrigger, MessageTrigger, Schedule, SignalTrigger, Trigger, Webhook,
} from "./definition.js";

function made<T>(part: string, fill: (body: Body) => void): T {
  const body = new Body(part);
  fill(body);
  return body.value as T;
}

/** A push to a branch. */
export function gitPush(options: CodePush): Trigger {
  return made("trigger", (trigger) => trigger.set("gitPush", options));
}

/** A signal of that name, sent to the tenant. */
export function signal(name: string, options?: Omit<SignalTrigger, "name">): Trigger {
  const inner = made<SignalTrigger>("signal-trigger", (body) => (body.set("name", name), body.setAll(options, 1)));
  return made("trigger", (trigger) => trigger.set("signal", options ? inner : name));
}

/** A request to the webhook of that key. */
export function webhook(key: string, options?: Omit<Webhook, "key">): Trigger {
  const inner = made<Webhook>("webhook", (body) => (body.set("key", key), body.setAll(options, 1)));
  return made("trigger", (trigger) => trigger.set("webhook", inner));
}

/** A message on a topic. */
export function message(topic: string, options?: Omit<MessageTrigger, "topic">): Trigger {
  const inner = made<MessageTrigger>("message-trigger", (body) => (body.set("topic", topic), body.setAll(options, 1)));
  return made("trigger", (trigger) => trigger.set("message", options ? inner : topic));
}

/** A person. */
export function manual(options?: ManualTrigger): Trigger {
  return made("trigger", (trigger) => trigger.set("manual", options ?? true));
}

/** Time: minute, hour, day of month, month, day of week; H spreads workflows over a range. */
export function cron(expression: string, options?: Omit<Schedule, "cron">): Schedule {
  return made("schedule", (body) => (body.set("cron", expression), body.setAll(options, 1)));
}

/** Undoes every task that has a compensation, the last one first. */
export function compensateAll(): "compensate_all" {
  return "compensate_all";
}

/** Undoes these tasks alone, in reverse order of completion. */
export function selectiveCompensation(tasks: readonly string[]): FailureHandling {
  return made("failure-handling", (body) => body.set("compensate", tasks));
}
