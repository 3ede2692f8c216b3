/* The keys of a task, of a step of a step tree, and of what hangs on them: retries, compensation, polls, pauses, gates. */
#include "base/limits.h"
#include "lang/shapes.h"
#include "lang/shapes_parts.h"

/* --- retries, compensation ---------------------------------------------------------------------------------------- */

static const EnumName backoffs[] = { { "exponential", NULL }, { "fixed", NULL }, { NULL, NULL } };
const Type type_backoff = { .kind = TYPE_ENUM, .names = backoffs, .what = "a backoff" };

static const EnumName retry_causes[] = {
    { "transient", NULL },     { "policy-blocked", NULL },  { "timeout", NULL },
    { "lease-expired", NULL }, { "budget-exceeded", NULL }, { NULL, NULL },
};
static const Type type_retry_cause = { .kind = TYPE_ENUM,
                                       .names = retry_causes,
                                       .what = "a class or cause of failure" };
static const Type type_retry_causes = {
    .kind = TYPE_LIST, .item = &type_retry_cause, .lone = true, .what = "a list of failure classes"
};
static const Type type_attempts = { .kind = TYPE_INT, .min = 1, .max = ATTEMPT_COUNT_MAX };
static const Type type_bare_milliseconds = { .kind = TYPE_DURATION, .milliseconds = true };
static const Type type_milliseconds = { .kind = TYPE_INT, .min = 0, .max = 86400000 };

static const Field retries_fields[] = {
    { "attempts", &type_attempts, "How often the task is tried in all, the first time included.", FIELD_REQUIRED },
    { "strategy", &type_backoff, "How the delay grows from one try to the next.", .otherwise = "\"exponential\"" },
    { "backoff", &type_backoff, "The same as strategy.", .as = "strategy" },
    { "delay", &type_duration, "The delay before the first retry.", .otherwise = "1000" },
    { "backoff_ms", &type_bare_milliseconds, "The same as delay, in milliseconds.", .as = "delay" },
    { "max_delay", &type_duration, "The longest delay between two tries.", .otherwise = "60000" },
    { "jitter_ms", &type_milliseconds, "A random part of up to so many milliseconds is added to each delay.",
      .otherwise = "500" },
    { "on", &type_retry_causes, "Which classes and causes of failure are retried.", .otherwise = "[\"transient\"]" },
    { "attempts_max", &type_attempts, "The bound up to which a signal may raise the attempts." },
    { NULL },
};
static const Shape shape_retries = { "retry policy", "How a failed attempt is tried again.", retries_fields, NULL,
                                     NULL };
const Type type_retries = { .kind = TYPE_OBJECT, .shape = &shape_retries, .what = "a retry policy" };

static const Field compensation_fields[] = {
    { "run", &type_ref, "The runner that undoes the task's effect.", FIELD_REQUIRED },
    { "input", &type_any, "Its input; without it, the output (or the recorded effect) of the task it undoes." },
    { "args", &type_template_list, "Arguments, passed in order and unchanged." },
    { "timeout", &type_timeout, "How long one attempt may take." },
    { "retries", &type_retries, "How a failed attempt is tried again.",
      .otherwise =
          "{\"attempts\":3,\"delay_ms\":1000,\"jitter_ms\":500,\"max_delay_ms\":60000,\"on\":[\"transient\"],\"strategy\":\"exponential\"}" },
    { NULL },
};
static const Shape shape_compensation = { "compensation", "What undoes a task.", compensation_fields, NULL, "run" };
static const Type type_compensation_object = { .kind = TYPE_OBJECT, .shape = &shape_compensation };
static const Type *const compensation_forms[] = { &type_ref, &type_compensation_object, NULL };
static const Type type_compensation = { .kind = TYPE_EITHER,
                                        .either = compensation_forms,
                                        .what = "a runner's name or a mapping" };

/* --- idempotency -------------------------------------------------------------------------------------------------- */

static const EnumName strategies[] = {
    { "replay-safe", NULL }, { "dedupe-key", NULL }, { "effect-recorded", NULL }, { NULL, NULL }
};
static const Type type_strategy = { .kind = TYPE_ENUM, .names = strategies, .what = "an idempotency strategy" };
static const Field idempotency_fields[] = {
    { "strategy", &type_strategy, "What makes it safe to run the task again.", FIELD_REQUIRED },
    { "key", &type_template, "The key under which its effect is known; derived where it is left out." },
    { "domain", &type_ref, "Where the key is unique; the workflow where it is left out." },
    { NULL },
};
static const Shape shape_idempotency = { "idempotency setting", "What makes it safe to run a task again.",
                                         idempotency_fields, NULL, "strategy" };
static const Type type_idempotency_object = { .kind = TYPE_OBJECT, .shape = &shape_idempotency };
static const Type *const idempotency_forms[] = { &type_strategy, &type_idempotency_object, NULL };
static const Type type_idempotency = { .kind = TYPE_EITHER,
                                       .either = idempotency_forms,
                                       .what = "an idempotency strategy or a mapping" };

/* --- polls, pauses, gates, termination ------------------------------------------------------------------------------ */

static const EnumName poll_actions[] = {
    { "FailWorkflow", "fail_workflow" },
    { "PauseWorkflow", "pause_workflow" },
    { "ContinueWithDefault", "continue_with_default" },
    { NULL, NULL },
};
static const Type type_poll_action = { .kind = TYPE_ENUM, .names = poll_actions, .what = "an action" };
static const Field poll_fields[] = {
    { "interval", &type_timeout, "The time between two polls.", FIELD_REQUIRED },
    { "max_duration", &type_timeout, "How long is polled at most.", FIELD_REQUIRED },
    { "max_attempts", &type_positive, "How often is polled at most; with a fixed interval derived from max_duration." },
    { "backoff", &type_backoff, "Whether the interval doubles after each poll.", .otherwise = "\"fixed\"" },
    { "max_interval", &type_duration, "The longest interval with exponential backoff." },
    { "on_timeout", &type_poll_action, "What happens when the limits are reached.", .otherwise = "\"FailWorkflow\"" },
    { "on_abort", &type_poll_action, "What happens when the poll itself gives up.", .otherwise = "\"FailWorkflow\"" },
    { "default_output", &type_any, "The step's output for continue_with_default." },
    { NULL },
};
static const Shape shape_poll = { "poll", "Runs the task again and again until it reports completion.", poll_fields,
                                  NULL, NULL };
static const Type type_poll = { .kind = TYPE_OBJECT, .shape = &shape_poll };

static const EnumName pause_actions[] = {
    { "FailWorkflow", "fail_workflow" }, { "Reminder", "reminder" }, { "AutoApprove", "auto_approve" }, { NULL, NULL },
};
static const Type type_pause_action = { .kind = TYPE_ENUM, .names = pause_actions, .what = "an action" };
static const Field pause_fields[] = {
    { "trigger", &type_name, "The key by which the resume trigger is called.", FIELD_REQUIRED },
    { "timeout", &type_timeout, "How long the trigger is awaited." },
    { "on_timeout", &type_pause_action, "What happens when it does not come.", .otherwise = "\"FailWorkflow\"" },
    { "payload_schema", &type_schema, "What the trigger's payload must look like." },
    { "resume_when", &type_condition, "The run resumes only if this holds for the payload." },
    { "default_payload", &type_any, "The payload that auto_approve resumes with." },
    { "auto_resume_after", &type_timeout, "The run resumes by itself after this time." },
    { "auth", &type_auth, "How the trigger is authenticated.", .otherwise = "{\"hmac_of_definition\":true}" },
    { "replay_window", &type_timeout, "A trigger older than this, or seen within it, is refused; left out, 5m." },
    { "rate_limit", &type_rate, "How many triggers are taken in a time; left out, 60/m." },
    { "notify", &type_texts, "Whom to notify when the run pauses, and with each reminder: URLs, runners, addresses." },
    { "reminders", &type_positive,
      "How many reminders are sent before the trigger fails; without it there is no limit." },
    { NULL },
};
static const Shape shape_pause = { "pause", "Pauses the run after the task until a trigger resumes it.", pause_fields,
                                   NULL, "trigger" };
static const Type type_pause_object = { .kind = TYPE_OBJECT, .shape = &shape_pause };
static const Type *const pause_forms[] = { &type_name, &type_pause_object, NULL };
static const Type type_pause = { .kind = TYPE_EITHER, .either = pause_forms, .what = "a trigger's key or a mapping" };

static const EnumName gate_times[] = { { "after", NULL }, { "before", NULL }, { NULL, NULL } };
static const Type type_gate_time = { .kind = TYPE_ENUM, .names = gate_times, .what = "a time" };
static const Field gate_fields[] = {
    { "signal", &type_ref, "The signal that is awaited.", FIELD_REQUIRED },
    { "timeout", &type_timeout, "How long it is awaited." },
    { "when", &type_gate_time, "Before the work, or after it and before its success counts.",
      .otherwise = "\"after\"" },
    { NULL },
};
static const Shape shape_gate = { "signal gate", "Waits for a signal.", gate_fields, NULL, "signal" };
static const Type type_gate_object = { .kind = TYPE_OBJECT, .shape = &shape_gate };
static const Type *const gate_forms[] = { &type_ref, &type_gate_object, NULL };
const Type type_gate = { .kind = TYPE_EITHER, .either = gate_forms, .what = "a signal's name or a mapping" };

static const EnumName terminal_states[] = { { "SUCCEEDED", "succeeded" }, { "FAILED", "failed" }, { NULL, NULL } };
static const Type type_terminal_state = { .kind = TYPE_ENUM, .names = terminal_states, .what = "a terminal state" };
static const Field terminate_fields[] = {
    { "condition", &type_condition, "The run ends at once if this holds after the task.", FIELD_REQUIRED },
    { "state", &type_terminal_state, "How it ends.", FIELD_REQUIRED },
    { "reason", &type_line, "Why, for the people who read the run.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_terminate = { "termination", "Ends the run early.", terminate_fields, NULL, NULL };
const Type type_terminate = { .kind = TYPE_OBJECT, .shape = &shape_terminate };

/* --- outputs ------------------------------------------------------------------------------------------------------ */

static const EnumName output_types[] = {
    { "string", NULL }, { "integer", NULL }, { "number", NULL }, { "boolean", NULL },
    { "object", NULL }, { "array", NULL },   { NULL, NULL },
};
static const Type type_output_type = { .kind = TYPE_ENUM, .names = output_types, .what = "a type" };
static const Type type_outputs = { .kind = TYPE_MAP,
                                   .item = &type_output_type,
                                   .what = "a mapping of output names to types" };

/* --- the task ------------------------------------------------------------------------------------------------------ */

static const EnumName intents[] = { { "light", NULL }, { "normal", NULL }, { "heavy", NULL }, { NULL, NULL } };
static const Type type_intent = { .kind = TYPE_ENUM, .names = intents, .what = "an intent" };
static const Type type_spawn_budget = { .kind = TYPE_INT, .min = 1, .max = SPAWN_BUDGET_MAX };
static const EnumName risks[] = { { "normal", NULL }, { "high", NULL }, { NULL, NULL } };
const Type type_risk = { .kind = TYPE_ENUM, .names = risks, .what = "a risk" };
const Type type_template_list = { .kind = TYPE_LIST, .item = &type_template, .what = "a list of texts" };
static const Type type_weight = { .kind = TYPE_INT, .min = 0, .max = 1000000 };

/* The rows that tasks and steps of a step tree share. */
#define TASK_ROWS \
    { "name", &type_name, "What the task is called; unique within its job." }, \
    { "id", &type_name, "The same as name.", .as = "name" }, \
    { "description", &type_text, "What it is for." }, \
    { "run", &type_ref, "The runner that does the work." }, \
    { "log", &type_template, "Writes a message to the log: short for the runner log." }, \
    { "intent", &type_intent, "How heavy the work is, for the dispatch of it.", .otherwise = "\"normal\"" }, \
    { "spawn_budget", &type_spawn_budget, \
      "Sub-routines that may ever carry it to its runner, retries included; left out, enough for all its attempts." }, \
    { "input", &type_any, "What the runner gets; texts may hold ${paths}." }, \
    { "args", &type_template_list, "Arguments, passed to the runner in order and unchanged." }, \
    { "input_schema", &type_schema, "What the input must look like, checked before dispatch." }, \
    { "outputs", &type_outputs, "The outputs that the runner must report, with their types." }, \
    { "output_schema", &type_schema, "What the output must look like, checked before success counts." }, \
    { "produces", &type_schema, "The same as output_schema.", .as = "output_schema" }, \
    { "idempotency", &type_idempotency, "What makes it safe to run the task again." }, \
    { "idempotency_key", &type_template, "The key under which the task's effect is known." }, \
    { "timeout", &type_timeout, "How long one attempt may take." }, \
    { "retries", &type_retries, "How a failed attempt is tried again." }, \
    { "retry", &type_retries, "The same as retries.", .as = "retries" }, \
    { "compensation", &type_compensation, "What undoes the task." }, \
    { "when", &type_condition, "The task is skipped unless this holds." }, \
    { "terminate_when", &type_terminate, "Ends the run early." }, \
    { "poll", &type_poll, "Runs the task again and again until it reports completion." }, \
    { "pause_after", &type_pause, "Pauses the run after the task until a trigger resumes it." }, \
    { "wait_for_signal", &type_gate, "Waits for a signal." }, \
    { "policies", &type_refs, "Policies that apply to this task." }, \
    { "policy", &type_refs, "The same as policies.", .as = "policies" }, \
    { "risk", &type_risk, "A step of high risk needs an approval gate in production." }, \
    { "blast_radius", &type_weight, "The weight of this task against the blast-radius budget." }, \
    { "identity", &type_ref, "The identity under which the task's credentials are issued." }, \
    { "optional_outputs", &type_refs, "Tasks and jobs whose outputs may be missing here." }, \
    { "owner", &type_line, "Who is responsible." }, \
    { "contact", &type_line, "How to reach them." }, \
    { "labels", &type_labels, "Labels for audits and searches." }

static const Field task_fields[] = { TASK_ROWS, { NULL } };
static const char *const task_work[] = { "run", "log", NULL };
const Shape shape_task = { "task", "The smallest unit of work: names exactly one runner.", task_fields, task_work,
                           NULL };

/* --- the step of a step tree ---------------------------------------------------------------------------------------- */

static const Type type_step = { .kind = TYPE_OBJECT, .shape = &shape_step };
const Type type_step_list = {
    .kind = TYPE_LIST, .item = &type_step, .lone = true, .what = "a step or a list of steps"
};

static const Field step_fields[] = {
    TASK_ROWS,
    { "sequence", &type_step_list, "Steps that run one after another." },
    { "if", &type_condition, "Runs the steps of then if this holds, those of else otherwise." },
    { "then", &type_step_list, "Steps that run if the condition holds." },
    { "else", &type_step_list, "Steps that run if the condition does not hold." },
    { "thenSteps", &type_step_list, "The same as then.", .as = "then" },
    { "elseSteps", &type_step_list, "The same as else.", .as = "else" },
    { NULL },
};
static const char *const step_work[] = { "run", "log", "sequence", "if", NULL };
const Shape shape_step = { "step", "A step of a step tree: work, a message, a sequence of steps, or a choice.",
                           step_fields, step_work, NULL };
