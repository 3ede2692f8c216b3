/* The keys of a workflow, its triggers, its failure resolution, and its jobs. */
#include "base/limits.h"
#include "lang/shapes.h"
#include "lang/shapes_parts.h"

/* --- triggers ------------------------------------------------------------------------------------------------------ */

static const Field auth_fields[] = {
    { "hmac", &type_ref, "HMAC over time, method, path and body, with the secret of this name." },
    { "hub_signature", &type_ref, "HMAC over the body, as code forges send it (X-Hub-Signature-256), with the secret of this name." },
    { "bearer", &type_true, "A bearer token, made for each run." },
    { "api_key", &type_true, "The API credentials of the sender." },
    { "policy", &type_ref, "A policy of this name decides." },
    { NULL },
};
static const char *const auth_methods[] = { "hmac", "hub_signature", "bearer", "api_key", "policy", NULL };
static const Shape shape_auth = { "authentication", "How a trigger is authenticated: never not at all.", auth_fields,
                                  auth_methods, NULL };
const Type type_auth = { .kind = TYPE_OBJECT, .shape = &shape_auth, .what = "an authentication method" };

const Type type_rate = { .kind = TYPE_RATE };

/* What every kind of trigger has; left out, the compiler fills in what is safe. */
#define TRIGGER_ROWS(default_auth) \
    { "auth", &type_auth, "How the sender is authenticated.", .otherwise = default_auth }, \
        { "rate_limit", &type_rate, "How many requests are accepted in a time.", \
          .otherwise = "{\"count\":60,\"per_ms\":60000}" }, \
        { "replay_window", &type_timeout, "A request older than this, or seen within it, is refused.", \
          .otherwise = "300000" }, \
    { \
        "debounce", &type_duration, "Several events within this time start one run, with the last one's payload.", \
            .otherwise = "0" \
    }

#define HMAC_OF_DEFINITION "{\"hmac_of_definition\":true}"
#define SENDER_CREDENTIALS "{\"api_key\":true}"

static const Field manual_fields[] = {
    { "enabled", &type_bool, "Whether people may start the workflow.", .otherwise = "true" },
    TRIGGER_ROWS(SENDER_CREDENTIALS),
    { NULL },
};
static const Shape shape_manual = { "manual trigger", "A person starts the workflow.", manual_fields, NULL, "enabled" };
static const Type type_manual_object = { .kind = TYPE_OBJECT, .shape = &shape_manual };
static const Type *const manual_forms[] = { &type_bool, &type_manual_object, NULL };
static const Type type_manual = { .kind = TYPE_EITHER, .either = manual_forms, .what = "true, or a mapping" };

static const Field webhook_fields[] = {
    { "key", &type_name, "The last part of the webhook's URL.", FIELD_REQUIRED },
    TRIGGER_ROWS(HMAC_OF_DEFINITION),
    { NULL },
};
static const Shape shape_webhook = { "webhook", "An HTTP request starts the workflow; its body is the payload.",
                                     webhook_fields, NULL, NULL };
static const Type type_webhook = { .kind = TYPE_OBJECT, .shape = &shape_webhook };

static const Field push_fields[] = {
    { "branch", &type_line, "Only pushes to this branch.", FIELD_REQUIRED },
    { "repository", &type_line, "Only pushes to this repository." },
    { "signed_commits_only", &type_bool, "Only if every pushed commit carries a valid signature.",
      .otherwise = "false" },
    TRIGGER_ROWS(HMAC_OF_DEFINITION),
    { NULL },
};
static const Shape shape_push = { "code push", "A push to a branch starts the workflow.", push_fields, NULL, NULL };
static const Type type_push = { .kind = TYPE_OBJECT, .shape = &shape_push };

static const Field signal_fields[] = {
    { "name", &type_ref, "The signal.", FIELD_REQUIRED },
    TRIGGER_ROWS(SENDER_CREDENTIALS),
    { NULL },
};
static const Shape shape_signal = { "signal trigger", "A signal starts the workflow.", signal_fields, NULL, "name" };
static const Type type_signal_object = { .kind = TYPE_OBJECT, .shape = &shape_signal };
static const Type *const signal_forms[] = { &type_ref, &type_signal_object, NULL };
static const Type type_signal = { .kind = TYPE_EITHER, .either = signal_forms, .what = "a signal's name or a mapping" };

static const Field message_fields[] = {
    { "topic", &type_ref, "The topic that is subscribed to.", FIELD_REQUIRED },
    TRIGGER_ROWS(SENDER_CREDENTIALS),
    { NULL },
};
static const Shape shape_message = { "message trigger", "A message on a topic starts the workflow.", message_fields,
                                     NULL, "topic" };
static const Type type_message_object = { .kind = TYPE_OBJECT, .shape = &shape_message };
static const Type *const message_forms[] = { &type_ref, &type_message_object, NULL };
static const Type type_message = { .kind = TYPE_EITHER, .either = message_forms, .what = "a topic or a mapping" };

static const Type type_cron = { .kind = TYPE_CRON };
static const Field schedule_fields[] = {
    { "cron", &type_cron, "When: minute, hour, day of month, month, day of week. H spreads workflows over the range.",
      FIELD_REQUIRED },
    { "timezone", &type_ref, "The zone whose wall clock counts.", .otherwise = "\"UTC\"" },
    { "calendar", &type_refs, "Calendars whose days are included or excluded." },
    { "blackout", &type_refs, "Window sets in which nothing is started." },
    { "release_windows", &type_refs, "Window sets outside which nothing is started." },
    { "freeze_windows", &type_texts, "Days on which nothing is started: \"Dec 25\", \"2026-12-24..2026-12-26\"." },
    { "payload", &type_any, "The payload of a scheduled start." },
    { "critical", &type_bool, "A critical schedule notifies the people on call when it starts.", .otherwise = "false" },
    { "on_call", &type_line, "Whom it notifies." },
    { NULL },
};
static const Shape shape_schedule = { "schedule", "Time starts the workflow.", schedule_fields, NULL, "cron" };
static const Type type_schedule_object = { .kind = TYPE_OBJECT, .shape = &shape_schedule };
static const Type *const schedule_forms[] = { &type_cron, &type_schedule_object, NULL };
static const Type type_schedule = { .kind = TYPE_EITHER,
                                    .either = schedule_forms,
                                    .what = "a cron expression or a mapping" };

static const Field trigger_fields[] = {
    { "manual", &type_manual, "A person starts the workflow." },
    { "webhook", &type_webhook, "An HTTP request starts the workflow." },
    { "schedule", &type_schedule, "Time starts the workflow." },
    { "git_push", &type_push, "A push to a branch starts the workflow." },
    { "signal", &type_signal, "A signal starts the workflow." },
    { "message", &type_message, "A message on a topic starts the workflow." },
    { NULL },
};
static const char *const trigger_kinds[] = { "manual", "webhook", "schedule", "git_push", "signal", "message", NULL };
static const Shape shape_trigger = { "trigger", "What starts the workflow.", trigger_fields, trigger_kinds, NULL };
static const Type type_trigger = { .kind = TYPE_OBJECT, .shape = &shape_trigger };
static const Type type_triggers = { .kind = TYPE_LIST, .item = &type_trigger, .what = "a list of triggers" };

/* --- failure resolution -------------------------------------------------------------------------------------------- */

static const EnumName resolution_strategies[] = {
    { "AWAIT_DECISION", "await_decision" },
    { "AUTO_RETRY", "auto_retry" },
    { "AUTO_COMPENSATE", "auto_compensate" },
    { NULL, NULL },
};
static const Type type_resolution_strategy = { .kind = TYPE_ENUM,
                                               .names = resolution_strategies,
                                               .what = "a failure strategy" };
static const EnumName fallbacks[] = { { "AWAIT_DECISION", "await_decision" }, { NULL, NULL } };
static const Type type_fallback = { .kind = TYPE_ENUM, .names = fallbacks, .what = "a fallback" };
static const EnumName scopes[] = { { "ALL", "all" }, { "FAILED_STEP_ONLY", "failed_step_only" }, { NULL, NULL } };
static const Type type_scope = { .kind = TYPE_ENUM, .names = scopes, .what = "a compensation scope" };
static const EnumName cancel_actions[] = { { "COMPENSATE", "compensate" },
                                           { "NO_COMPENSATE", "no_compensate" },
                                           { NULL, NULL } };
static const Type type_cancel_action = { .kind = TYPE_ENUM, .names = cancel_actions, .what = "an action" };
static const EnumName timeout_actions[] = {
    { "COMPENSATE", "compensate" }, { "FAIL", "fail" }, { "AWAIT_DECISION", "await_decision" }, { NULL, NULL },
};
static const Type type_timeout_action = { .kind = TYPE_ENUM, .names = timeout_actions, .what = "an action" };

static const Field resolution_fields[] = {
    { "strategy", &type_resolution_strategy, "What happens when the run fails.", .otherwise = "\"AWAIT_DECISION\"" },
    { "max_retries", &type_positive, "For auto_retry: how often the run is retried." },
    { "retry_delay", &type_duration, "For auto_retry: the delay before a retry." },
    { "backoff", &type_backoff, "For auto_retry: how the delay grows." },
    { "fallback", &type_fallback, "For auto_retry: what follows the last retry." },
    { "compensation_scope", &type_scope, "For auto_compensate: which steps are undone." },
    { "on_cancel", &type_cancel_action, "Whether cancelling the run undoes its steps." },
    { "on_timeout", &type_timeout_action, "What happens when the run takes too long." },
    { NULL },
};
static const Shape shape_resolution = { "failure resolution", "What happens when the run fails.", resolution_fields,
                                        NULL, NULL };
static const Type type_resolution = { .kind = TYPE_OBJECT, .shape = &shape_resolution };

static const EnumName compensate_all[] = { { "compensate_all", NULL }, { NULL, NULL } };
static const Type type_compensate_all = { .kind = TYPE_ENUM,
                                          .names = compensate_all,
                                          .what = "a way to handle failure" };
static const Field on_failure_fields[] = {
    { "compensate", &type_some_refs, "The tasks that are undone, in reverse order of completion.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_on_failure = { "failure handling", "Short for the strategy auto_compensate.",
                                        on_failure_fields, NULL, NULL };
static const Type type_on_failure_object = { .kind = TYPE_OBJECT, .shape = &shape_on_failure };
static const Type *const on_failure_forms[] = { &type_compensate_all, &type_on_failure_object, NULL };
static const Type type_on_failure = { .kind = TYPE_EITHER,
                                      .either = on_failure_forms,
                                      .what = "compensate_all, or a mapping" };

/* --- signals ------------------------------------------------------------------------------------------------------- */

static const EnumName signal_actions[] = {
    { "pause_all", NULL }, { "policy_recheck", NULL }, { "resume", NULL },
    { "cancel", NULL },    { "compensate_all", NULL }, { NULL, NULL },
};
static const Type type_signal_word = { .kind = TYPE_ENUM, .names = signal_actions, .what = "an action" };
static const EnumName outcomes[] = { { "succeeded", NULL }, { "failed", NULL }, { "skipped", NULL }, { NULL, NULL } };
static const Type type_outcome = { .kind = TYPE_ENUM, .names = outcomes, .what = "an outcome" };

static const Field circuit_fields[] = {
    { "target", &type_ref, "The job, or job.task, that ends early; the whole run where it is left out." },
    { "outcome", &type_outcome, "How it ends.", FIELD_REQUIRED },
    { "reason", &type_line, "Why." },
    { NULL },
};
static const Shape shape_circuit = { "short circuit", "Ends work early with an outcome.", circuit_fields, NULL, NULL };
static const Type type_circuit = { .kind = TYPE_OBJECT, .shape = &shape_circuit };
static const Type type_attempts = { .kind = TYPE_INT, .min = 1, .max = ATTEMPT_COUNT_MAX };
static const Field amplify_fields[] = {
    { "tasks", &type_some_refs, "The tasks whose retries change.", FIELD_REQUIRED },
    { "attempts", &type_attempts, "The attempts they then have, within their attempts_max." },
    { "delay", &type_duration, "The delay they then begin with." },
    { NULL },
};
static const Shape shape_amplify = { "amplification", "Raises attempts or shortens the backoff of tasks.",
                                     amplify_fields, NULL, NULL };
static const Type type_amplify = { .kind = TYPE_OBJECT, .shape = &shape_amplify };
static const Field signal_action_fields[] = {
    { "short_circuit", &type_circuit, "Ends work early with an outcome." },
    { "amplify_retries", &type_amplify, "Raises attempts or shortens the backoff of tasks." },
    { NULL },
};
static const char *const signal_action_kinds[] = { "short_circuit", "amplify_retries", NULL };
static const Shape shape_signal_action = { "signal action", "What a signal does.", signal_action_fields,
                                           signal_action_kinds, NULL };
static const Type type_signal_action_object = { .kind = TYPE_OBJECT, .shape = &shape_signal_action };
static const Type *const signal_action_forms[] = { &type_signal_word, &type_signal_action_object, NULL };
static const Type type_signal_action = { .kind = TYPE_EITHER, .either = signal_action_forms, .what = "an action" };
static const Type type_signal_actions = {
    .kind = TYPE_LIST, .item = &type_signal_action, .lone = true, .min = 1, .what = "an action or a list of actions"
};
static const Type type_on_signal = {
    .kind = TYPE_MAP, .item = &type_signal_actions, .dotted = true, .what = "a mapping of signals to actions"
};

/* --- placement, budgets --------------------------------------------------------------------------------------------- */

static const EnumName tenancies[] = { { "shared", NULL }, { "dedicated", NULL }, { NULL, NULL } };
static const Type type_tenancy = { .kind = TYPE_ENUM, .names = tenancies, .what = "a tenancy" };
static const Field placement_fields[] = {
    { "regions", &type_some_refs, "Regions it may run in." },
    { "clouds", &type_some_refs, "Clouds it may run in." },
    { "tenancy", &type_tenancy, "Whether the executor is shared with other tenants." },
    { "requires", &type_some_refs, "Capabilities the executor must have." },
    { "data_sovereignty", &type_refs, "Where the data may be." },
    { NULL },
};
static const Shape shape_placement = { "placement", "Where the work may run: hard constraints.", placement_fields, NULL,
                                       NULL };
static const Type type_placement = { .kind = TYPE_OBJECT, .shape = &shape_placement };

static const Field slo_fields[] = {
    { "latency", &type_timeout, "From queued to started." },
    { "deadline", &type_timeout, "From queued to ended." },
    { NULL },
};
static const Shape shape_slo = { "service level", "Objectives whose breach emits a signal and a metric.", slo_fields,
                                 NULL, NULL };
static const Type type_slo = { .kind = TYPE_OBJECT, .shape = &shape_slo };

static const Field budget_fields[] = {
    { "cost", &type_money, "The most it may cost." },
    { "runtime", &type_timeout, "The most time its attempts may take together." },
    { NULL },
};
static const Shape shape_budget = { "budget", "Caps that stop further dispatch.", budget_fields, NULL, NULL };
static const Type type_budget = { .kind = TYPE_OBJECT, .shape = &shape_budget };

static const Type type_cores = { .kind = TYPE_NUMBER, .min = 1 };
static const Field resources_fields[] = {
    { "cpu", &type_cores, "Cores." },
    { "memory_mb", &type_positive, "Megabytes." },
    { "runtime", &type_timeout, "The longest time of one attempt's processes." },
    { NULL },
};
static const Shape shape_resources = { "resource envelope", "What the tasks of the job share.", resources_fields, NULL,
                                       NULL };
static const Type type_resources = { .kind = TYPE_OBJECT, .shape = &shape_resources };

/* --- jobs ----------------------------------------------------------------------------------------------------------- */

static const Type type_iterations = { .kind = TYPE_INT, .min = 1, .max = ITERATION_COUNT_MAX };
static const EnumName guard_ends[] = { { "fail", NULL }, { "continue", NULL }, { NULL, NULL } };
static const Type type_guard_end = { .kind = TYPE_ENUM, .names = guard_ends, .what = "an end" };
static const Field guard_fields[] = {
    { "when", &type_condition, "The cycle goes round again if this holds.", FIELD_REQUIRED },
    { "max_iterations", &type_iterations, "How often it goes round at most.", FIELD_REQUIRED },
    { "on_max", &type_guard_end, "What happens when it still holds then.", .otherwise = "\"fail\"" },
    { NULL },
};
const Shape shape_guard = { "guard", "What makes a cycle legal: a condition and a bound.", guard_fields, NULL, NULL };
static const Type type_guard = { .kind = TYPE_OBJECT, .shape = &shape_guard };
static const Field need_fields[] = {
    { "job", &type_name, "The job that comes before.", FIELD_REQUIRED },
    { "guard", &type_guard,
      "Makes this the edge that closes a cycle: the job begins again after that one while the guard holds." },
    { NULL },
};
static const Shape shape_need = { "need", "A job that comes before.", need_fields, NULL, "job" };
static const Type type_need_object = { .kind = TYPE_OBJECT, .shape = &shape_need };
static const Type *const need_forms[] = { &type_name, &type_need_object, NULL };
static const Type type_need = { .kind = TYPE_EITHER, .either = need_forms, .what = "a job's name, or a mapping" };
static const Type type_needs = {
    .kind = TYPE_LIST, .item = &type_need, .lone = true, .what = "a job or a list of jobs"
};

static const EnumName branch_types[] = { { "exclusive", NULL }, { "inclusive", NULL }, { NULL, NULL } };
static const Type type_branch_type = { .kind = TYPE_ENUM, .names = branch_types, .what = "a branch type" };
static const Type type_case_jobs = {
    .kind = TYPE_LIST, .item = &type_name, .lone = true, .what = "a job or a list of jobs"
};
static const Type type_cases = {
    .kind = TYPE_MAP, .item = &type_case_jobs, .min = 1, .dotted = true, .what = "a mapping of keys to jobs"
};
static const Field branch_fields[] = {
    { "type", &type_branch_type, "Whether exactly one case is taken, or one or more.", .otherwise = "\"exclusive\"" },
    { "select", &type_condition, "The key of the case to take (exclusive), or the keys (inclusive).", FIELD_REQUIRED },
    { "cases", &type_cases, "Which jobs each key starts.", FIELD_REQUIRED },
    { "default", &type_ref, "The case to take when select is undefined." },
    { "converge", &type_name, "The job in which the cases come together." },
    { NULL },
};
const Shape shape_branch = { "branch", "Chooses which jobs run.", branch_fields, NULL, NULL };
static const Type type_branch = { .kind = TYPE_OBJECT, .shape = &shape_branch };

static const Type type_percentage = { .kind = TYPE_INT, .min = 1, .max = 100 };
static const Field canary_fields[] = {
    { "percentage", &type_percentage, "How much of the work goes through the new version." },
    { "segments", &type_refs, "Whose work goes through the new version." },
    { "metrics", &type_some_refs, "What is watched; a breach rolls back.", FIELD_REQUIRED },
    { "duration", &type_duration, "How long it is watched." },
    { NULL },
};
static const Shape shape_canary = { "canary", "Limits a rollout and watches it.", canary_fields, NULL, NULL };
static const Type type_canary = { .kind = TYPE_OBJECT, .shape = &shape_canary };

static const Type type_task_object = { .kind = TYPE_OBJECT, .shape = &shape_task };
static const Type type_tasks = { .kind = TYPE_LIST, .item = &type_task_object, .min = 1, .what = "a list of tasks" };

static const Field job_fields[] = {
    { "name", &type_line, "What people see; its key is its id." },
    { "description", &type_text, "What it is for." },
    { "type", &type_ref, "What kind of job it is, for policies and placement." },
    { "needs", &type_needs, "Jobs that come before." },
    { "when", &type_condition, "The job is skipped unless this holds." },
    { "tasks", &type_tasks, "The work, in the order written, on one executor." },
    { "branch", &type_branch, "Chooses which jobs run next." },
    { "priority", &type_priority, "Which of two dispatchable jobs goes first." },
    { "placement", &type_placement, "Where the job may run." },
    { "resources", &type_resources, "What its tasks share." },
    { "slo", &type_slo, "Objectives whose breach emits a signal." },
    { "budget", &type_budget, "Caps that stop further dispatch." },
    { "data_sovereignty", &type_refs, "Where its data may be; inherited by what it produces." },
    { "policies", &type_refs, "Policies that apply to the job." },
    { "policy", &type_refs, "The same as policies.", .as = "policies" },
    { "wait_for_signal", &type_gate, "The job waits for a signal after its tasks and before it succeeds." },
    { "terminate_when", &type_terminate, "Ends the run early after this job." },
    { "canary", &type_canary, "Limits a rollout and watches it." },
    { "on_signal", &type_on_signal, "What signals do to this job." },
    { "risk", &type_risk, "A job of high risk needs an approval gate in production." },
    { "optional_outputs", &type_refs, "Tasks and jobs whose outputs may be missing here." },
    { "owner", &type_line, "Who is responsible." },
    { "contact", &type_line, "How to reach them." },
    { "labels", &type_labels, "Labels for audits and searches." },
    { NULL },
};
const Shape shape_job = { "job", "Tasks that share one placement and one resource envelope.", job_fields, NULL, NULL };
static const Type type_job = { .kind = TYPE_OBJECT, .shape = &shape_job };
static const Type type_jobs = { .kind = TYPE_MAP, .item = &type_job, .min = 1, .what = "a mapping of job ids to jobs" };

/* --- the workflow ---------------------------------------------------------------------------------------------------- */

static const EnumName param_types[] = {
    { "string", NULL }, { "integer", NULL }, { "boolean", NULL }, { "number", NULL }, { NULL, NULL }
};
static const Type type_param_type = { .kind = TYPE_ENUM, .names = param_types, .what = "a parameter type" };
static const Field param_fields[] = {
    { "name", &type_name, "What it is called; unique.", FIELD_REQUIRED },
    { "type", &type_param_type, "Which JSON values it accepts.", FIELD_REQUIRED },
    { "default", &type_any, "Its value where a start gives none." },
    { "required", &type_bool, "Whether a start must give it; by default exactly if it has no default." },
    { "description", &type_text, "What it is for." },
    { NULL },
};
static const Shape shape_param = { "parameter", "A typed input of a run.", param_fields, NULL, NULL };
static const Type type_param = { .kind = TYPE_OBJECT, .shape = &shape_param };
static const Type type_params = { .kind = TYPE_LIST, .item = &type_param, .what = "a list of parameters" };

static const Field config_fields[] = {
    { "timeout", &type_duration_or_seconds, "The deadline of the whole run." },
    { "max_concurrency", &type_positive, "How many steps run at a time.", .otherwise = "10" },
    { "cost_limit", &type_money, "The most the run may cost." },
    { NULL },
};
static const Shape shape_limits = { "configuration", "Limits of a run.", config_fields, NULL, NULL };
static const Type type_limits = { .kind = TYPE_OBJECT, .shape = &shape_limits };

static const Field blast_fields[] = {
    { "budget", &type_count, "The most weight that may be started and not undone.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_blast = { "blast radius", "How much may be affected before an approval is needed.",
                                   blast_fields, NULL, NULL };
static const Type type_blast = { .kind = TYPE_OBJECT, .shape = &shape_blast };

static const Field lease_fields[] = {
    { "duration", &type_duration, "How long a lease lasts without a heartbeat.", FIELD_REQUIRED },
    { "heartbeat", &type_duration, "The interval of heartbeats.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_lease = { "lease", "When a silent executor counts as lost.", lease_fields, NULL, NULL };
static const Type type_lease = { .kind = TYPE_OBJECT, .shape = &shape_lease };

static const Field runbooks_fields[] = {
    { "rollback", &type_line, "Where the rollback runbook is." },
    { "incident", &type_line, "Where the incident runbook is." },
    { NULL },
};
static const Shape shape_links = { "list of runbooks", "What people read when things go wrong.", runbooks_fields, NULL,
                                   NULL };
static const Type type_links = { .kind = TYPE_OBJECT, .shape = &shape_links };

static const Field evidence_fields[] = {
    { "retention", &type_duration, "How long evidence is kept.", FIELD_REQUIRED },
    { NULL },
};
static const Shape shape_evidence = { "evidence setting", "What happens to evidence.", evidence_fields, NULL, NULL };
static const Type type_evidence = { .kind = TYPE_OBJECT, .shape = &shape_evidence };

static const EnumName running_actions[] = { { "finish", NULL }, { "cancel", NULL }, { NULL, NULL } };
static const Type type_running_action = { .kind = TYPE_ENUM, .names = running_actions, .what = "an action" };

static const Field workflow_fields[] = {
    { "workflow", &type_name, "The id of the workflow.", FIELD_REQUIRED },
    { "workflowId", &type_name, "The same as workflow.", .as = "workflow" },
    { "tenant", &type_name, "Whose it is.", .otherwise = "\"default\"" },
    { "namespace", &type_name, "The same as tenant.", .as = "tenant" },
    { "name", &type_line, "What people see." },
    { "version", &type_line, "A label such as \"2.1.0\"; revisions are numbered by themselves." },
    { "description", &type_text, "What it is for." },
    { "owner", &type_line, "Who is responsible." },
    { "contact", &type_line, "How to reach them." },
    { "labels", &type_labels, "Labels for audits and searches." },
    { "params", &type_params, "The typed inputs of a run." },
    { "parameters", &type_params, "The same as params.", .as = "params" },
    { "schemas", &type_schemas, "JSON Schemas by name, for this definition." },
    { "idempotency_key", &type_template, "A second start with the same key returns the first one's run." },
    { "priority", &type_priority, "The default of its jobs.", .otherwise = "\"normal\"" },
    { "policies", &type_refs, "Policies that apply to every job and task." },
    { "policy", &type_refs, "The same as policies.", .as = "policies" },
    { "config", &type_limits, "Limits of a run.", .otherwise = "{\"max_concurrency\":10}" },
    { "blast_radius", &type_blast, "How much may be affected before an approval is needed." },
    { "placement", &type_placement, "Where its jobs may run, in addition to their own constraints." },
    { "slo", &type_slo, "Objectives of the whole run." },
    { "lease", &type_lease, "When a silent executor counts as lost." },
    { "triggers", &type_triggers, "What starts the workflow." },
    { "failure_mode", &type_failure_mode, "Whether a failed step stops everything that has not begun.",
      .otherwise = "\"fail-fast\"" },
    { "on_fail_fast", &type_running_action, "What becomes of steps that run when another fails.",
      .otherwise = "\"finish\"" },
    { "failure_resolution", &type_resolution, "What happens when the run fails." },
    { "on_failure", &type_on_failure, "Short for the strategy auto_compensate." },
    { "on_signal", &type_on_signal, "What signals do to the run." },
    { "provenance", &type_bool, "Whether the run writes provenance events.", .otherwise = "false" },
    { "evidence", &type_evidence, "What happens to evidence." },
    { "runbooks", &type_links, "What people read when things go wrong." },
    { "jobs", &type_jobs, "The work, as a graph of jobs." },
    { "steps", &type_step_list, "The work, as a tree of steps." },
    { NULL },
};
static const char *const workflow_work[] = { "jobs", "steps", NULL };
const Shape shape_workflow = { "workflow", "A workflow: a graph of jobs or a tree of steps.", workflow_fields,
                               workflow_work, NULL };
const Type type_workflow = { .kind = TYPE_OBJECT, .shape = &shape_workflow };
