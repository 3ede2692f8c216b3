#include "core/terms.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/name.h"
#include "core/path.h"
#include "dispatch/task.h"

typedef struct TermsReader {
    Arena *arena;
    const Plan *plan;
    StepTerms *steps;
    ConditionTerms *conditions;
    size_t condition_count, condition_capacity;
    PlanTerms *terms;
    Error *err;
} TermsReader;

static Status corrupt(TermsReader *reader, const char *what, uint32_t index)
{
    return error_set(reader->err, ERR_CORRUPT, "the plan is damaged: %s, at %" PRIu32, what, index);
}

static void unsupported(TermsReader *reader, const char *what, Str where)
{
    if (reader->terms->unsupported.len) return;
    reader->terms->unsupported = where.len ? arena_format(reader->arena, "%s (of '%.*s')", what, STR_ARG(where))
                                           : arena_copy(reader->arena, str_of(what));
}

/* --- texts with paths ----------------------------------------------------------------------------------------------- */

typedef struct PathFacts {
    bool has_paths, has_secrets;
} PathFacts;

static void find_paths(Value value, PathFacts *facts)
{
    if (value.kind == VALUE_STRING) {
        PathScan scan = { .text = value_text(value) };
        Path path;
        for (PathStep step; (step = path_next(&scan, &path)) != PATH_END;) {
            facts->has_paths = true;
            if (step == PATH_FOUND && str_is(path.parts[0], STR("secrets"))) facts->has_secrets = true;
        }
    } else if (value.kind == VALUE_ARRAY) {
        for (uint32_t i = 0; i < value.count; i++) find_paths(value.items[i], facts);
    } else if (value.kind == VALUE_OBJECT) {
        for (uint32_t i = 0; i < value.count; i++) find_paths(value.members[i].value, facts);
    }
}

static Value read_template(Value settings, const char *key, bool *out_has_paths, bool *has_secrets)
{
    const Value *member = value_get_text(settings, key);
    PathFacts facts = { 0 };
    if (member) find_paths(*member, &facts);
    *out_has_paths = facts.has_paths;
    *has_secrets = *has_secrets || facts.has_secrets;
    return member ? *member : value_null();
}

static Value member_or_null(Value settings, const char *key)
{
    const Value *member = value_get_text(settings, key);
    return member ? *member : value_null();
}

/* --- conditions, retries, gates ------------------------------------------------------------------------------------- */

static Status read_condition(TermsReader *reader, Value settings, const char *key, uint32_t step, uint32_t *out_index)
{
    const Value *member = value_get_text(settings, key);
    *out_index = CONDITION_NONE;
    if (!member) return OK;
    if (member->kind != VALUE_STRING) return corrupt(reader, "a condition that is no text", step);
    if (str_is(value_text(*member), STR("true"))) return OK;            /* nothing to ask */
    reader->conditions = arena_grow(reader->arena, reader->conditions, sizeof *reader->conditions,
                                    reader->condition_count, &reader->condition_capacity);
    *out_index = (uint32_t)reader->condition_count++;
    reader->conditions[*out_index] = (ConditionTerms){ value_text(*member), step };
    return OK;
}

/* What `on` names: a class with all its causes, or one cause. */
static uint32_t retried_causes(Str name)
{
    uint32_t bits = 0;
    for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
        FailureClass failure_class = cause_class((Cause)cause);
        bool is_named = str_is_text(name, failure_class_name(failure_class)) || str_is_text(name, cause_name((Cause)cause));
        if (is_named && failure_class != CLASS_PERMANENT) bits |= 1u << cause;
    }
    return bits;
}

static Status read_retries(TermsReader *reader, Value settings, uint32_t step, RetryTerms *out)
{
    const Value *retries = value_get_text(settings, "retries");
    *out = (RetryTerms){ .attempt_count_max = 1, .delay_ms = 1000, .delay_ms_max = 60000, .jitter_ms = 500,
                         .is_exponential = true, .on = retried_causes(STR("transient")) };                   /* G-04 */
    if (retries) {
        int64_t attempts = value_get_int(*retries, "attempts", 1);
        out->delay_ms = value_get_int(*retries, "delay_ms", out->delay_ms);
        out->delay_ms_max = value_get_int(*retries, "max_delay_ms", out->delay_ms_max);
        out->jitter_ms = value_get_int(*retries, "jitter_ms", out->jitter_ms);
        bool is_whole = attempts >= 1 && attempts <= ATTEMPT_COUNT_MAX && out->delay_ms >= 0
                     && out->delay_ms <= DURATION_MS_MAX && out->delay_ms_max >= 0 && out->delay_ms_max <= DURATION_MS_MAX
                     && out->jitter_ms >= 0 && out->jitter_ms <= DURATION_MS_MAX;
        if (!is_whole) return corrupt(reader, "retries without bound", step);
        out->attempt_count_max = (uint32_t)attempts;
        out->is_exponential = str_is(value_get_string(*retries, "strategy", STR("exponential")), STR("exponential"));
        const Value *on = value_get_text(*retries, "on");
        if (on && on->kind == VALUE_ARRAY) out->on = 0;
        for (uint32_t i = 0; on && on->kind == VALUE_ARRAY && i < on->count; i++)
            if (on->items[i].kind == VALUE_STRING) out->on |= retried_causes(value_text(on->items[i]));
    }
    int64_t spawns = value_get_int(settings, "spawn_budget", (int64_t)out->attempt_count_max * (1 + reader->terms->cooperative_max));
    /* Its acceptance: what is declared here holds for every run of the plan, and no task is without a budget and a depth. */
    Task task;
    Error refusal;
    TaskTerms terms = { .spawn_budget = spawns < 0 || spawns > UINT32_MAX ? 0 : (uint32_t)spawns, .retry_depth_max = out->attempt_count_max - 1,
                        .cooperative_max = reader->terms->cooperative_max };
    if (task_accept(&terms, &task, &refusal)) return corrupt(reader, refusal.text, step);
    out->spawn_count_max = task.terms.spawn_budget;
    return OK;
}

static Status read_duration(TermsReader *reader, Value settings, const char *key, uint32_t index, int64_t *out_ms)
{
    *out_ms = value_get_int(settings, key, 0);
    return *out_ms >= 0 && *out_ms <= DURATION_MS_MAX ? OK : corrupt(reader, "a time without bound", index);
}

static Status read_gate(TermsReader *reader, Value settings, uint32_t index, GateTerms *out)
{
    const Value *gate = value_get_text(settings, "wait_for_signal");
    *out = (GateTerms){ 0 };
    if (!gate) return OK;
    out->signal = value_get_string(*gate, "signal", STR(""));
    if (out->signal.len == 0) return corrupt(reader, "a gate without signal", index);
    out->is_before = str_is(value_get_string(*gate, "when", STR("after")), STR("before"));
    return read_duration(reader, *gate, "timeout_ms", index, &out->timeout_ms);
}

static Status read_undo(TermsReader *reader, Value settings, uint32_t step, UndoTerms *out)
{
    const Value *undo = value_get_text(settings, "compensation");
    *out = (UndoTerms){ .input = value_null(), .args = value_null(), .settings = value_null() };
    if (!undo) return OK;
    bool has_secrets = false;           /* they are filled in whenever an attempt is handed over */
    out->settings = *undo;
    out->runner = undo->kind == VALUE_STRING ? value_text(*undo) : value_get_string(*undo, "run", STR(""));
    if (out->runner.len == 0) return corrupt(reader, "a compensation without runner", step);
    Status status = read_retries(reader, *undo, step, &out->retry);
    if (!value_get_text(*undo, "retries")) out->retry.attempt_count_max = 3;                                   /* G-04 */
    if (!status) status = read_duration(reader, *undo, "timeout_ms", step, &out->timeout_ms);
    out->input = read_template(*undo, "input", &out->input_has_paths, &has_secrets);
    out->args = read_template(*undo, "args", &out->args_have_paths, &has_secrets);
    return status;
}

/* --- polls, pauses, ends ----------------------------------------------------------------------------------------------- */

static Status read_action(TermsReader *reader, Value settings, const char *key, const char *const *names, uint32_t count,
                          uint32_t step, uint32_t *out)
{
    Str name = value_get_string(settings, key, str_of(names[0]));
    for (*out = 0; *out < count; ++*out)
        if (str_is_text(name, names[*out])) return OK;
    return corrupt(reader, "an unknown action", step);
}

static Status read_poll(TermsReader *reader, Value settings, uint32_t step, PollTerms *out)
{
    static const char *const actions[POLL_ACTION_COUNT] = { "FailWorkflow", "PauseWorkflow", "ContinueWithDefault" };
    const Value *poll = value_get_text(settings, "poll");
    *out = (PollTerms){ .otherwise = value_null() };
    if (!poll) return OK;
    uint32_t on_timeout, on_abort;
    Status status = read_duration(reader, *poll, "interval_ms", step, &out->interval_ms);
    if (!status) status = read_duration(reader, *poll, "max_duration_ms", step, &out->duration_ms);
    if (!status) status = read_duration(reader, *poll, "max_interval_ms", step, &out->interval_ms_max);
    if (!status) status = read_action(reader, *poll, "on_timeout", actions, POLL_ACTION_COUNT, step, &on_timeout);
    if (!status) status = read_action(reader, *poll, "on_abort", actions, POLL_ACTION_COUNT, step, &on_abort);
    if (status) return status;
    int64_t count = value_get_int(*poll, "max_attempts", POLL_COUNT_MAX);
    if (out->interval_ms == 0 || out->duration_ms == 0 || count < 1) return corrupt(reader, "a poll without bound", step);
    bool ignored = false;
    out->count_max = count > POLL_COUNT_MAX ? POLL_COUNT_MAX : (uint32_t)count;
    out->is_exponential = str_is(value_get_string(*poll, "backoff", STR("fixed")), STR("exponential"));
    if (!out->interval_ms_max) out->interval_ms_max = out->duration_ms;
    out->on_timeout = (PollAction)on_timeout;
    out->on_abort = (PollAction)on_abort;
    out->otherwise = read_template(*poll, "default_output", &out->otherwise_has_paths, &ignored);
    out->slot = reader->terms->poll_count++;
    return OK;
}

static Status read_notify(TermsReader *reader, Value pause, uint32_t step, PauseTerms *out)
{
    const Value *notify = value_get_text(pause, "notify");
    if (!notify) return OK;
    if (notify->kind != VALUE_ARRAY) return corrupt(reader, "a `notify` that is no list", step);
    for (uint32_t i = 0; i < notify->count; i++)
        if (notify->items[i].kind != VALUE_STRING) return corrupt(reader, "a `notify` that is no text", step);
    out->notify = notify->items;
    out->notify_count = notify->count < NOTIFY_TARGET_COUNT_MAX ? (uint32_t)notify->count : NOTIFY_TARGET_COUNT_MAX;
    return OK;
}

static Status read_pause(TermsReader *reader, Value settings, uint32_t step, PauseTerms *out)
{
    static const char *const actions[PAUSE_ACTION_COUNT] = { "FailWorkflow", "Reminder", "AutoApprove" };
    const Value *pause = value_get_text(settings, "pause_after");
    *out = (PauseTerms){ .payload_schema = value_null(), .otherwise = value_null(), .auth = value_null(),
                         .resume_when = CONDITION_NONE };
    if (!pause) return OK;
    uint32_t on_timeout;
    out->trigger = value_get_string(*pause, "trigger", STR(""));
    if (out->trigger.len == 0) return corrupt(reader, "a pause without trigger", step);
    Status status = read_duration(reader, *pause, "timeout_ms", step, &out->timeout_ms);
    if (!status) status = read_duration(reader, *pause, "auto_resume_after_ms", step, &out->resume_ms);
    if (!status) status = read_action(reader, *pause, "on_timeout", actions, PAUSE_ACTION_COUNT, step, &on_timeout);
    if (!status) status = read_condition(reader, *pause, "resume_when", step, &out->resume_when);
    if (!status) status = read_duration(reader, *pause, "replay_window_ms", step, &out->window_ms);
    const Value *rate = value_get_text(*pause, "rate_limit");
    if (!status && rate) {
        int64_t count = value_get_int(*rate, "count", 0);
        status = read_duration(reader, *rate, "per_ms", step, &out->rate_ms);
        if (!status && (count < 1 || !out->rate_ms)) status = corrupt(reader, "a rate that is none", step);
        out->rate_count = (uint64_t)count;
    }
    if (!status) status = read_notify(reader, *pause, step, out);
    if (status) return status;
    bool ignored = false;
    int64_t reminders = value_get_int(*pause, "reminders", UINT32_MAX);
    out->reminder_count_max = reminders < 0 || reminders > UINT32_MAX ? UINT32_MAX : (uint32_t)reminders;
    out->on_timeout = (PauseAction)on_timeout;
    out->payload_schema = member_or_null(*pause, "payload_schema");
    out->auth = member_or_null(*pause, "auth");
    out->otherwise = read_template(*pause, "default_payload", &out->otherwise_has_paths, &ignored);
    out->slot = reader->terms->pause_count++;
    return OK;
}

static Status read_terminate(TermsReader *reader, Value settings, uint32_t step, TerminateTerms *out)
{
    const Value *terminate = value_get_text(settings, "terminate_when");
    *out = (TerminateTerms){ .condition = CONDITION_NONE };
    if (!terminate) return OK;
    out->is_declared = true;
    out->is_success = str_is(value_get_string(*terminate, "state", STR("FAILED")), STR("SUCCEEDED"));
    out->reason = value_get_string(*terminate, "reason", STR(""));
    return read_condition(reader, *terminate, "condition", step, &out->condition);
}

/* --- steps and jobs ------------------------------------------------------------------------------------------------- */

static void check_supported(TermsReader *reader, Value settings, Str id)
{
    static const char *const keys[] = { "execute", "canary", "budget", NULL };
    for (const char *const *key = keys; *key; key++)
        if (value_get_text(settings, *key)) unsupported(reader, *key, id);
}

static void read_branch(Value settings, StepTerms *terms)
{
    terms->is_selecting = value_get_text(settings, "select") != NULL;
    terms->is_inclusive = str_is(value_get_string(settings, "type", STR("exclusive")), STR("inclusive"));
    terms->otherwise = value_get_string(settings, "default", STR(""));
    terms->cases = member_or_null(settings, "cases");
}

static void add_constraints(PlacementTerms *terms, Value part)
{
    if (part.kind == VALUE_OBJECT && part.count) terms->parts[terms->count++] = part;
}

/* Of the workflow, of the job, and where the data of the job may be. Neighbours have the same. */
static const PlacementTerms *read_placement(TermsReader *reader, uint32_t index)
{
    uint32_t job = reader->plan->steps[index].job;
    if (index && reader->plan->steps[index - 1].job == job && step_works(&reader->plan->steps[index - 1])) return reader->steps[index - 1].placement;
    Value settings = job == PLAN_NONE ? value_null() : reader->plan->jobs[job].settings;
    const Value *tags = value_get_text(settings, "data_sovereignty");
    PlacementTerms *terms = ARENA_NEW(reader->arena, PlacementTerms);
    add_constraints(terms, member_or_null(reader->plan->document, "placement"));
    add_constraints(terms, member_or_null(settings, "placement"));
    if (tags) {
        Member *member = ARENA_NEW(reader->arena, Member);
        *member = (Member){ value_string(STR("data_sovereignty")), *tags };
        add_constraints(terms, value_object(reader->arena, member, 1));
    }
    return terms->count ? terms : NULL;
}

static Status read_step(TermsReader *reader, uint32_t index)
{
    const PlanStep *step = &reader->plan->steps[index];
    StepTerms *terms = &reader->steps[index];
    Value settings = step->settings;
    terms->job_when = terms->select = CONDITION_NONE;
    Status status = read_condition(reader, settings, "when", index, &terms->when);
    if (!status && step->kind == STEP_BRANCH) {
        read_branch(settings, terms);
        status = read_condition(reader, settings, terms->is_selecting ? "select" : "condition", index, &terms->select);
        if (!status && terms->select == CONDITION_NONE && terms->is_selecting)
            status = corrupt(reader, "a branch that selects nothing", index);
    }
    if (status || !step_works(step)) return status;

    status = read_retries(reader, settings, index, &terms->retry);
    if (!status) status = read_duration(reader, settings, "timeout_ms", index, &terms->timeout_ms);
    if (!status) status = read_gate(reader, settings, index, &terms->gate);
    if (!status) status = read_undo(reader, settings, index, &terms->undo);
    if (!status) status = read_poll(reader, settings, index, &terms->poll);
    if (!status) status = read_pause(reader, settings, index, &terms->pause);
    if (!status) status = read_terminate(reader, settings, index, &terms->terminate[0]);
    if (status) return status;
    check_supported(reader, settings, step->id);
    terms->key = value_get_string(settings, "key", STR(""));
    terms->domain = value_get_string(settings, "key_domain", reader->plan->id);
    int64_t weight = value_get_int(settings, "blast_radius", step->strategy != STRATEGY_REPLAY_SAFE);
    if (weight < 0 || weight > UINT32_MAX) return corrupt(reader, "a weight without bound", index);
    terms->weight = (uint32_t)weight;
    terms->placement = read_placement(reader, index);
    terms->intent = intent_find(value_get_string(settings, "intent", STR("normal")));                        /* G-18 */
    terms->is_optional = value_get_bool(settings, "optional", false);
    terms->outputs = member_or_null(settings, "outputs");
    terms->output_schema = member_or_null(settings, "output_schema");
    if (step->kind == STEP_ARTIFACT) return OK;
    terms->input = read_template(settings, "input", &terms->input_has_paths, &terms->has_secrets);
    terms->args = read_template(settings, "args", &terms->args_have_paths, &terms->has_secrets);
    terms->input_schema = member_or_null(settings, "input_schema");
    return OK;
}

/* A job waits at its last task, or at its first: a branch behind the tasks is taken after the wait. */
static Status read_job(TermsReader *reader, uint32_t index)
{
    const PlanJob *job = &reader->plan->jobs[index];
    if (job->step_count == 0) return OK;
    check_supported(reader, job->settings, job->id);
    Status status = read_condition(reader, job->settings, "when", job->step_first, &reader->steps[job->step_first].job_when);
    uint32_t first = job->step_first, last = job->step_first + job->step_count - 1;
    if (!step_works(&reader->plan->steps[last]) && last > first) last--;
    GateTerms gate;
    if (!status) status = read_gate(reader, job->settings, index, &gate);
    if (!status) status = read_terminate(reader, job->settings, last, &reader->steps[last].terminate[1]);
    if (status || gate.signal.len == 0) return status;
    uint32_t at = gate.is_before ? first : last;
    if (!step_works(&reader->plan->steps[at])) unsupported(reader, "wait_for_signal without a task", job->id);
    else if (reader->steps[at].gate.signal.len) unsupported(reader, "wait_for_signal beside that of its task", job->id);
    else reader->steps[at].gate = gate;
    return OK;
}

static Status read_loops(TermsReader *reader)
{
    const Plan *plan = reader->plan;
    uint32_t *conditions = ARENA_ARRAY(reader->arena, uint32_t, plan->loop_count);
    bool *fails = ARENA_ARRAY(reader->arena, bool, plan->loop_count);
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        Value settings = plan->loops[l].settings;
        Status status = read_condition(reader, settings, "when", plan->loops[l].tail, &conditions[l]);
        if (status) return status;
        fails[l] = !str_is(value_get_string(settings, "on_max", STR("fail")), STR("continue"));
    }
    /* Which of its keys a branch has taken is not remembered until a loop is left. */
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].loop != PLAN_NONE && plan->edges[e].kind == EDGE_BRANCH)
            unsupported(reader, "a guarded cycle that ends with a branch", plan->steps[plan->edges[e].from].id);
    reader->terms->loop_conditions = conditions;
    reader->terms->loop_fails = fails;
    return OK;
}

/* --- the definition as a whole -------------------------------------------------------------------------------------- */

static Status read_resolution(TermsReader *reader, Value resolution, ResolutionTerms *out)
{
    Str strategy = value_get_string(resolution, "strategy", STR("AWAIT_DECISION"));
    Str scope = value_get_string(resolution, "compensation_scope", STR("ALL"));
    Str on_timeout = value_get_string(resolution, "on_timeout", STR("AWAIT_DECISION"));
    *out = (ResolutionTerms){ 0 };
    if (str_is(strategy, STR("AUTO_RETRY"))) out->strategy = FAILURE_AUTO_RETRY;
    else if (str_is(strategy, STR("AUTO_COMPENSATE"))) out->strategy = FAILURE_AUTO_COMPENSATE;
    else if (!str_is(strategy, STR("AWAIT_DECISION"))) return corrupt(reader, "an unknown failure strategy", 0);
    if (str_is(scope, STR("FAILED_STEP_ONLY"))) out->scope = FAILURE_SCOPE_FAILED_STEP;
    if (str_is(scope, STR("PARTIAL"))) out->scope = FAILURE_SCOPE_NAMED;
    if (str_is(on_timeout, STR("FAIL"))) out->on_timeout = TIMEOUT_FAILS;
    if (str_is(on_timeout, STR("COMPENSATE"))) out->on_timeout = TIMEOUT_COMPENSATES;
    out->cancel_compensates = str_is(value_get_string(resolution, "on_cancel", STR("")), STR("COMPENSATE"));
    int64_t count = value_get_int(resolution, "max_retries", 3), delay = value_get_int(resolution, "retry_delay_ms", 60000);
    if (count < 0 || count > UINT16_MAX || delay < 0 || delay > DURATION_MS_MAX)
        return corrupt(reader, "automatic retries without bound", 0);
    out->retry_count_max = (uint32_t)count;
    out->retry = (RetryTerms){ .delay_ms = delay, .delay_ms_max = DURATION_MS_MAX,
                               .is_exponential = str_is(value_get_string(resolution, "backoff", STR("fixed")), STR("exponential")) };
    return OK;
}

/* --- reactions to signals -------------------------------------------------------------------------------------------- */

typedef struct Reactions { ReactionTerms *items; size_t count, capacity; } Reactions;

/* A job by its id, or a task; what the names of a definition mean was checked when it was compiled. */
static bool add_target(TermsReader *reader, Str name, uint32_t *steps, uint32_t *count)
{
    const Plan *plan = reader->plan;
    uint32_t step;
    for (uint32_t j = 0; j < plan->job_count; j++) {
        if (!str_is(plan->jobs[j].id, name)) continue;
        for (uint32_t s = 0; s < plan->jobs[j].step_count; s++) steps[(*count)++] = plan->jobs[j].step_first + s;
        return true;
    }
    if (!name_find_step(plan, name, &step)) return false;
    steps[(*count)++] = step;
    return true;
}

static Status read_cut(TermsReader *reader, Value settings, Str job, ReactionTerms *out)
{
    static const char *const outcomes[CUT_OUTCOME_COUNT] = { "succeeded", "failed", "skipped" };
    uint32_t outcome;
    Str target = value_get_string(settings, "target", job);
    uint32_t *steps = ARENA_ARRAY(reader->arena, uint32_t, reader->plan->step_count + 1);
    out->kind = REACTION_CUT;
    out->reason = value_get_string(settings, "reason", STR(""));
    Status status = read_action(reader, settings, "outcome", outcomes, CUT_OUTCOME_COUNT, 0, &outcome);
    if (!status && target.len && !add_target(reader, target, steps, &out->step_count))
        status = corrupt(reader, "a short circuit of what is not there", 0);
    if (status) return status;
    out->outcome = (CutOutcome)outcome;
    out->steps = steps;
    return OK;
}

static Status read_amplify(TermsReader *reader, Value settings, ReactionTerms *out)
{
    const Value *tasks = value_get_text(settings, "tasks");
    uint32_t named = tasks && tasks->kind == VALUE_ARRAY ? tasks->count : 0;
    uint32_t *steps = ARENA_ARRAY(reader->arena, uint32_t, (size_t)named * (reader->plan->step_count + 1) + 1);
    int64_t attempts = value_get_int(settings, "attempts", 0);
    out->kind = REACTION_AMPLIFY;
    out->delay_ms = value_get_int(settings, "delay_ms", -1);
    for (uint32_t i = 0; i < named; i++)
        if (tasks->items[i].kind != VALUE_STRING || !add_target(reader, value_text(tasks->items[i]), steps, &out->step_count))
            return corrupt(reader, "retries of a task that is not there", i);
    if (attempts < 0 || attempts > ATTEMPT_COUNT_MAX || !out->step_count) return corrupt(reader, "an amplification without bound", 0);
    out->attempt_count_max = (uint32_t)attempts;
    out->steps = steps;
    return OK;
}

static Status read_reaction(TermsReader *reader, Value action, Str job, ReactionTerms *out)
{
    static const char *const words[] = { "pause_all", "policy_recheck", "resume", "cancel", "compensate_all" };
    out->delay_ms = -1;
    for (uint32_t i = 0; action.kind == VALUE_STRING && i < REACTION_CUT; i++) {
        if (!str_is_text(value_text(action), words[i])) continue;
        out->kind = (ReactionKind)i;
        return OK;
    }
    const Value *short_circuit = value_get_text(action, "short_circuit"), *amplify = value_get_text(action, "amplify_retries");
    if (short_circuit) return read_cut(reader, *short_circuit, job, out);
    return amplify ? read_amplify(reader, *amplify, out) : corrupt(reader, "an unknown reaction", 0);
}

static Status read_on_signal(TermsReader *reader, Value settings, Str job, Reactions *reactions)
{
    const Value *on_signal = value_get_text(settings, "on_signal");
    for (uint32_t i = 0; on_signal && on_signal->kind == VALUE_OBJECT && i < on_signal->count; i++) {
        Value actions = on_signal->members[i].value;
        for (uint32_t a = 0; actions.kind == VALUE_ARRAY && a < actions.count; a++) {
            reactions->items = arena_grow(reader->arena, reactions->items, sizeof *reactions->items, reactions->count, &reactions->capacity);
            ReactionTerms *reaction = &reactions->items[reactions->count++];
            *reaction = (ReactionTerms){ .signal = value_text(on_signal->members[i].key) };
            Status status = read_reaction(reader, actions.items[a], job, reaction);
            if (status) return status;
        }
    }
    return OK;
}

static Status read_reactions(TermsReader *reader)
{
    Reactions reactions = { 0 };
    Status status = read_on_signal(reader, reader->plan->document, STR(""), &reactions);
    for (uint32_t j = 0; j < reader->plan->job_count && !status; j++)
        status = read_on_signal(reader, reader->plan->jobs[j].settings, reader->plan->jobs[j].id, &reactions);
    reader->terms->reactions = reactions.items;
    reader->terms->reaction_count = (uint32_t)reactions.count;
    return status;
}

/* The tasks that `on_failure` names, by their names as conditions have them. */
static Status read_named(TermsReader *reader)
{
    const Value *named = value_get_text(member_or_null(reader->plan->document, "failure_resolution"), "compensate");
    for (uint32_t i = 0; named && named->kind == VALUE_ARRAY && i < named->count; i++) {
        uint32_t step;
        if (named->items[i].kind != VALUE_STRING || !name_find_step(reader->plan, value_text(named->items[i]), &step))
            return corrupt(reader, "a compensation of a step that is not there", i);
        reader->steps[step].is_undone_on_failure = true;
    }
    return OK;
}

static Status read_whole(TermsReader *reader)
{
    Value document = reader->plan->document;
    PlanTerms *terms = reader->terms;
    Value config = member_or_null(document, "config"), resolution = member_or_null(document, "failure_resolution");
    terms->is_fail_fast = str_is(value_get_string(document, "failure_mode", STR("fail-fast")), STR("fail-fast"));
    terms->ends_running = str_is(value_get_string(document, "on_fail_fast", STR("finish")), STR("cancel"));
    int64_t running = value_get_int(config, "max_concurrency", 10);
    terms->cost_max_micro = value_get_int(config, "cost_limit_micro", 0);
    terms->has_cost_max = value_get_text(config, "cost_limit_micro") != NULL;
    if (running < 1 || running > UINT32_MAX || terms->cost_max_micro < 0) return corrupt(reader, "limits out of range", 0);
    terms->running_count_max = (uint32_t)running;
    Status status = read_duration(reader, config, "timeout_ms", 0, &terms->timeout_ms);
    if (status) return status;
    int64_t cooperatives = value_get_int(document, "cooperatives", COOPERATIVE_COUNT_DEFAULT);
    if (cooperatives < 0 || cooperatives > COOPERATIVE_COUNT_MAX) return corrupt(reader, "cooperatives out of range", 0);
    terms->cooperative_max = (uint32_t)cooperatives;
    terms->lease_ms = value_get_int(member_or_null(document, "lease"), "duration_ms", LEASE_MS_DEFAULT);

    status = read_resolution(reader, resolution, &terms->resolution);
    if (status) return status;
    const Value *blast = value_get_text(document, "blast_radius");
    int64_t budget = blast ? value_get_int(*blast, "budget", 0) : 0;
    if (budget < 0 || budget > UINT32_MAX) return corrupt(reader, "a blast radius without bound", 0);
    terms->has_blast_max = blast != NULL;
    terms->blast_max = (uint32_t)budget;
    return OK;
}

Str terms_branch_condition(const PlanTerms *terms, uint32_t step_index)
{
    uint32_t condition = terms->steps[step_index].select;
    return condition != CONDITION_NONE ? terms->conditions[condition].text : STR("");
}

Status terms_read(Arena *arena, const Plan *plan, PlanTerms *out_terms, Error *err)
{
    PlanTerms terms = { 0 };
    TermsReader reader = { .arena = arena, .plan = plan, .terms = &terms, .err = err };
    reader.steps = ARENA_ARRAY(arena, StepTerms, plan->step_count);
    Status status = read_whole(&reader);
    for (uint32_t i = 0; i < plan->step_count && !status; i++) status = read_step(&reader, i);
    for (uint32_t i = 0; i < plan->job_count && !status; i++) status = read_job(&reader, i);
    if (!status) status = read_loops(&reader);
    if (!status) status = read_named(&reader);
    if (!status) status = read_reactions(&reader);
    if (status) return status;
    uint32_t *pauses = ARENA_ARRAY(arena, uint32_t, terms.pause_count + 1);
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (step_pauses(&reader.steps[i])) pauses[reader.steps[i].pause.slot] = i;
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (step_terminates(&reader.steps[i])) reader.steps[i].end_slot = terms.end_count++;
    terms.pauses = pauses;
    terms.steps = reader.steps;
    terms.conditions = reader.conditions;
    terms.condition_count = (uint32_t)reader.condition_count;
    *out_terms = terms;
    return OK;
}
