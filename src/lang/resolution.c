/* The parts of a workflow that are about the run as a whole: header, triggers, failure resolution, signals. */
#include <string.h>

#include "lang/compiler.h"
#include "lang/cron.h"
#include "lang/reference.h"
#include "lang/shapes.h"
#include "lang/task.h"

/* --- header and triggers ---------------------------------------------------------------------------------------- */

static void check_schedule(Compiler *compiler, const Node *schedule)
{
    if (!schedule || schedule->kind != NODE_MAP) return;
    static const struct { const char *key; CatalogKind kind; } names[] = {
        { "calendar", CATALOG_CALENDAR }, { "blackout", CATALOG_WINDOWS }, { "release_windows", CATALOG_WINDOWS },
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const Node *list = node_get(schedule, names[k].key);
        for (uint32_t i = 0; i < many_count(list); i++) check_known(compiler, names[k].kind, many_at(list, i));
    }
    const Node *freezes = node_get(schedule, "freeze_windows");
    for (uint32_t i = 0; i < many_count(freezes); i++)
        if (many_at(freezes, i)->kind == NODE_TEXT) freeze_check(compiler->diagnostics, many_at(freezes, i));
    const Node *critical = node_get(schedule, "critical");
    if (critical && critical->kind == NODE_BOOL && critical->truth && !node_get(schedule, "on_call"))
        diagnose(compiler->diagnostics, SEVERITY_WARNING, critical,
                 "a critical schedule has nobody to notify: add on_call");
}

/* What tells one trigger from another of its kind: two alike would start the same run twice. */
static const Node *trigger_key(const Node *trigger, const char **out_kind)
{
    static const struct {
        const char *kind, *key;
    } kinds[] = { { "webhook", "key" }, { "signal", "name" }, { "message", "topic" }, { "manual", NULL } };
    for (size_t i = 0; trigger->kind == NODE_MAP && i < sizeof kinds / sizeof *kinds; i++) {
        const Node *settings = node_get(trigger, kinds[i].kind);
        if (!settings) continue;
        *out_kind = kinds[i].kind;
        if (!kinds[i].key || settings->kind == NODE_TEXT) return settings;
        return get_text(settings, kinds[i].key);
    }
    return NULL;
}

static void check_trigger_keys(Compiler *compiler, const Node *triggers)
{
    Map keys;
    map_init(&keys, compiler->scratch, triggers->count);
    for (uint32_t i = 0; i < triggers->count; i++) {
        const char *kind = "";
        const Node *key = trigger_key(&triggers->items[i], &kind);
        uint32_t line;
        if (!key) continue;
        bool is_text = key->kind == NODE_TEXT;
        Str name =
            arena_format(compiler->scratch, "%s %.*s", kind, is_text ? (int)key->count : 0, is_text ? key->text : "");
        if (!map_add(&keys, name, key->line, &line))
            diagnose(compiler->diagnostics, SEVERITY_ERROR, key, "there is such a %s trigger already, in line %u", kind,
                     line);
    }
}

static void check_lease(Compiler *compiler, const Node *lease)
{
    int64_t duration, heartbeat;
    const Node *long_one = lease ? get_text(lease, "duration") : NULL,
               *short_one = lease ? get_text(lease, "heartbeat") : NULL;
    if (!long_one || !short_one || !duration_read(node_text(long_one), &duration)
        || !duration_read(node_text(short_one), &heartbeat))
        return;
    if (duration <= heartbeat)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, long_one,
                 "a lease must last longer than the heartbeat interval");
}

void check_slo(Compiler *compiler, const Node *slo)
{
    int64_t latency, deadline;
    const Node *start = slo ? get_text(slo, "latency") : NULL, *end = slo ? get_text(slo, "deadline") : NULL;
    if (!start || !end || !duration_read(node_text(start), &latency) || !duration_read(node_text(end), &deadline))
        return;
    if (latency > deadline)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, start, "the latency is longer than the deadline");
}

void header_check(Compiler *compiler, References *references)
{
    const Node *root = compiler->root, *triggers = get_list(root, "triggers");
    check_policies(compiler, root);
    check_lease(compiler, get_map(root, "lease"));
    for (uint32_t i = 0; triggers && i < triggers->count; i++)
        if (triggers->items[i].kind == NODE_MAP) check_schedule(compiler, node_get(&triggers->items[i], "schedule"));
    if (triggers) check_trigger_keys(compiler, triggers);
    check_slo(compiler, get_map(root, "slo"));

    reference_value(references, &(Place){ .roots = ROOT_PARAMS | ROOT_PAYLOAD }, get_text(root, "idempotency_key"));
}

/* A parameter is required exactly if it has no default, unless it says otherwise. */
static Value lower_params(Arena *arena, Value params)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < params.count; i++) {
        Value param = params.items[i];
        MemberList members = { .arena = arena };
        for (uint32_t j = 0; j < param.count; j++)
            member_list_add(&members, value_text(param.members[j].key), param.members[j].value);
        if (!value_get_text(param, "required"))
            member_list_add(&members, STR("required"), value_bool(!value_get_text(param, "default")));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}

void header_lower(Compiler *compiler)
{
    static const char *const without[] = { "workflow",           "version",    "jobs",     "steps",
                                           "failure_resolution", "on_failure", "policies", NULL };
    Arena *arena = compiler->arena;
    MemberList header = { .arena = arena };
    shape_add_all(arena, &header, &shape_workflow, compiler->root, without);
    for (size_t i = 0; i < header.count; i++) {
        Str key = value_text(header.members[i].key);
        Value value = header.members[i].value;
        member_list_add(&compiler->draft.members, key, str_is(key, STR("params")) ? lower_params(arena, value) : value);
    }
    const Node *version = get_text(compiler->root, "version");
    if (version) member_list_add(&compiler->draft.members, STR("label"), value_string(node_text(version)));
    ValueList policies = { .arena = arena };
    add_policies(&policies, compiler->root);
    if (policies.count) member_list_add(&compiler->draft.members, STR("policies"), value_list_array(&policies));
}

/* --- failure resolution ----------------------------------------------------------------------------------------- */

typedef enum FailureStrategy { AWAIT_DECISION, AUTO_RETRY, AUTO_COMPENSATE } FailureStrategy;

static const char *const strategy_words[] = { "AWAIT_DECISION", "AUTO_RETRY", "AUTO_COMPENSATE" };
static const char *const strategy_lower_words[] = { "await_decision", "auto_retry", "auto_compensate" };

/* What is written, or what on_failure means; false for a word that is no strategy, about which nothing more is said. */
static bool strategy_read(const Node *root, FailureStrategy *out)
{
    const Node *resolution = get_map(root, "failure_resolution");
    const Node *strategy = resolution ? node_get(resolution, "strategy") : NULL;
    *out = node_get(root, "on_failure") ? AUTO_COMPENSATE : AWAIT_DECISION;
    if (!strategy) return true;
    for (unsigned i = 0; strategy->kind == NODE_TEXT && i < 3; i++) {
        Str word = node_text(strategy);
        if (!str_is_text(word, strategy_words[i]) && !str_is_text(word, strategy_lower_words[i])) continue;
        *out = (FailureStrategy)i;
        return true;
    }
    return false;
}

/* A setting that the strategy does not read would be believed to do something. */
static void check_settings(Compiler *compiler, const Node *resolution, FailureStrategy strategy)
{
    static const struct {
        const char *key; FailureStrategy strategy;
    } settings[] = {
        { "max_retries", AUTO_RETRY },
        { "retry_delay", AUTO_RETRY },
        { "backoff", AUTO_RETRY },
        { "fallback", AUTO_RETRY },
        { "compensation_scope", AUTO_COMPENSATE },
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const Node *value = node_get(resolution, settings[i].key);
        if (!value || strategy == settings[i].strategy) continue;
        diagnose(compiler->diagnostics, SEVERITY_ERROR, value, "'%s' belongs to the strategy %s, here it is %s",
                 settings[i].key, strategy_lower_words[settings[i].strategy], strategy_lower_words[strategy]);
    }
}

static void refuse_task(Compiler *compiler, const TaskNames *names, const Node *name, const char *what)
{
    Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, name, "there is no %s '%.*s'", what,
                                      STR_ARG(node_text(name)));
    Suggestion suggestion = suggest_begin(node_text(name));
    if (may_suggest(compiler)) names->offer(names->context, &suggestion);
    if (suggestion.best.len)
        diagnostic_help(compiler->diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
    else
        diagnostic_help(compiler->diagnostics, diagnostic,
                        "name a task, or job.task where several jobs have one of that name");
}

static void check_compensated(Compiler *compiler, const TaskNames *names, const Node *list)
{
    uint32_t with = 0, known = 0;
    Map seen;
    map_init(&seen, compiler->scratch, many_count(list));
    for (uint32_t i = 0; i < many_count(list); i++) {
        const Node *name = many_at(list, i), *task;
        if (name->kind != NODE_TEXT) continue;
        if (!names->find(names->context, node_text(name), &task)) {
            refuse_task(compiler, names, name, "single task");
            continue;
        }
        known++;
        if (!map_add(&seen, node_text(name), 0, NULL))
            diagnose(compiler->diagnostics, SEVERITY_ERROR, name, "the task '%.*s' is named twice",
                     STR_ARG(node_text(name)));
        if (task->kind == NODE_MAP && node_get(task, "compensation")) with++;
        else
            diagnose(compiler->diagnostics, SEVERITY_WARNING, name,
                     "the task '%.*s' has no compensation: there will be nothing to compensate",
                     STR_ARG(node_text(name)));
    }
    if (known && !with) diagnose(compiler->diagnostics, SEVERITY_ERROR, list, "none of these tasks has a compensation");
}

static void check_on_failure(Compiler *compiler, const TaskNames *names, FailureStrategy strategy,
                             uint32_t compensation_count)
{
    const Node *on_failure = node_get(compiler->root, "on_failure");
    const Node *resolution = get_map(compiler->root, "failure_resolution");
    const Node *stated = resolution ? get_text(resolution, "strategy") : NULL;
    const Node *scope = resolution ? node_get(resolution, "compensation_scope") : NULL;
    if (on_failure && strategy != AUTO_COMPENSATE) {
        Diagnostic *diagnostic =
            diagnose(compiler->diagnostics, SEVERITY_ERROR, on_failure,
                     "'on_failure' means the strategy auto_compensate, but failure_resolution says %s",
                     strategy_lower_words[strategy]);
        diagnostic_help(compiler->diagnostics, diagnostic, "keep one of the two");
    }
    if (on_failure && scope)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, scope, "'on_failure' says already what is compensated");
    if (on_failure && on_failure->kind == NODE_MAP) {
        const Node *list = node_get(on_failure, "compensate");
        if (list) check_compensated(compiler, names, list);
    } else if ((on_failure || strategy == AUTO_COMPENSATE) && compensation_count == 0) {
        Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, on_failure ? on_failure : stated,
                                          "automatic compensation needs a compensation on at least one task");
        diagnostic_help(compiler->diagnostics, diagnostic, "add what undoes a task: compensation: <runner>");
    }
}

/* --- signals ---------------------------------------------------------------------------------------------------- */

static void check_amplify(Compiler *compiler, const TaskNames *names, const Node *amplify)
{
    const Node *tasks = node_get(amplify, "tasks"), *attempts = node_get(amplify, "attempts");
    uint64_t wanted = 0, bound;
    bool has_attempts = attempts && attempts->kind == NODE_NUMBER && str_to_u64(node_text(attempts), &wanted);
    if (!attempts && !node_get(amplify, "delay"))
        diagnose(compiler->diagnostics, SEVERITY_ERROR, amplify, "this changes nothing: give 'attempts' or 'delay'");
    for (uint32_t i = 0; i < many_count(tasks); i++) {
        const Node *name = many_at(tasks, i), *task;
        if (name->kind != NODE_TEXT) continue;
        if (!names->find(names->context, node_text(name), &task)) {
            refuse_task(compiler, names, name, "single task");
            continue;
        }
        const Node *retries = task_retries(task), *most = retries ? node_get(retries, "attempts_max") : NULL;
        if (!has_attempts) continue;
        if (!most)
            diagnose(
                compiler->diagnostics, SEVERITY_ERROR, name,
                "the attempts of '%.*s' can only be raised up to a bound it declares: retries: { attempts_max: ... }",
                STR_ARG(node_text(name)));
        else if (str_to_u64(node_text(most), &bound) && wanted > bound)
            diagnose(compiler->diagnostics, SEVERITY_ERROR, attempts, "'%.*s' declares attempts_max %.*s, this is more",
                     STR_ARG(node_text(name)), STR_ARG(node_text(most)));
    }
}

static void check_target(Compiler *compiler, const TaskNames *names, const Node *target)
{
    const Node *task;
    if (!target || names->find(names->context, node_text(target), &task)) return;
    if (names->has_job && names->has_job(names->context, node_text(target))) return;
    refuse_task(compiler, names, target, "job or task");
}

static void check_on_signal(Compiler *compiler, const TaskNames *names, const Node *on_signal)
{
    for (uint32_t i = 0; on_signal && i < on_signal->count; i++) {
        const Node *actions = node_value(on_signal, i);
        for (uint32_t j = 0; j < many_count(actions); j++) {
            const Node *action = many_at(actions, j);
            const Node *amplify = get_map(action, "amplify_retries"), *circuit = get_map(action, "short_circuit");
            if (amplify) check_amplify(compiler, names, amplify);
            if (circuit) check_target(compiler, names, get_text(circuit, "target"));
        }
    }
}

void resolution_check(Compiler *compiler, const TaskNames *names, uint32_t compensation_count)
{
    const Node *resolution = get_map(compiler->root, "failure_resolution");
    FailureStrategy strategy;
    if (strategy_read(compiler->root, &strategy)) {
        if (resolution) check_settings(compiler, resolution, strategy);
        check_on_failure(compiler, names, strategy, compensation_count);
    }
    check_on_signal(compiler, names, get_map(compiler->root, "on_signal"));
    const Node *jobs = get_map(compiler->root, "jobs");
    for (uint32_t i = 0; jobs && i < jobs->count; i++)
        check_on_signal(compiler, names, get_map(node_value(jobs, i), "on_signal"));
}

/* --- lowering --------------------------------------------------------------------------------------------------- */

static void add_default(MemberList *members, Value declared, const char *key, Value otherwise)
{
    const Value *value = value_get_text(declared, key);
    member_list_add(members, str_of(key), value ? *value : otherwise);
}

/* Every setting that the strategy reads has a value in the plan, declared or not. */
void resolution_lower(Compiler *compiler)
{
    Arena *arena = compiler->arena;
    const Node *on_failure = node_get(compiler->root, "on_failure");
    MemberList found = { .arena = arena }, members = { .arena = arena };
    shape_add(arena, &found, &shape_workflow, compiler->root, "failure_resolution");
    Value declared = found.count ? found.members[0].value : value_object(arena, NULL, 0);
    FailureStrategy strategy;
    strategy_read(compiler->root, &strategy);
    member_list_add(&members, STR("strategy"), value_string(str_of(strategy_words[strategy])));
    if (strategy == AUTO_RETRY) {
        add_default(&members, declared, "max_retries", value_int(3));
        add_default(&members, declared, "retry_delay_ms", value_int(60000));
        add_default(&members, declared, "backoff", value_string(STR("fixed")));
        add_default(&members, declared, "fallback", value_string(STR("AWAIT_DECISION")));
    }
    if (strategy == AUTO_COMPENSATE) {
        const Node *list = on_failure && on_failure->kind == NODE_MAP ? node_get(on_failure, "compensate") : NULL;
        ValueList tasks = { .arena = arena };
        for (uint32_t i = 0; i < many_count(list); i++)
            value_list_add(&tasks, value_string(node_text(many_at(list, i))));
        if (list) member_list_add(&members, STR("compensate"), value_list_array(&tasks));
        if (list) member_list_add(&members, STR("compensation_scope"), value_string(STR("PARTIAL")));
        else add_default(&members, declared, "compensation_scope", value_string(STR("ALL")));
    }
    add_default(&members, declared, "on_cancel", value_string(STR("NO_COMPENSATE")));
    add_default(&members, declared, "on_timeout", value_string(STR("AWAIT_DECISION")));
    member_list_add(&compiler->draft.members, STR("failure_resolution"), member_list_object(&members));
}
