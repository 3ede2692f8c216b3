#include "lang/task.h"
#include "lang/trigger.h"

#include <inttypes.h>

#include "base/limits.h"
#include "lang/shapes.h"
#include "value/number.h"

/* --- checks ----------------------------------------------------------------------------------------------------- */

static const Node *get_any(const Node *map, const char *key)
{
    return map && map->kind == NODE_MAP ? node_get(map, key) : NULL;
}

/* What a shorthand and its long form both say: the text itself, or the mapping's key. */
static const Node *lone_or_key(const Node *node, const char *key)
{
    if (!node || node->kind == NODE_TEXT) return node;
    return get_text(node, key);
}

static bool is_word(const Node *node, const char *name, const char *also)
{
    return node && node->kind == NODE_TEXT
        && (str_is_text(node_text(node), name) || str_is_text(node_text(node), also));
}

static int64_t read_ms(const Node *node)
{
    int64_t ms = -1;
    if (node && node->kind == NODE_TEXT && !duration_read(node_text(node), &ms)) ms = -1;
    return ms;
}

static int64_t read_int(const Node *node)
{
    if (!node || node->kind != NODE_NUMBER) return -1;
    Arena scratch;
    int64_t number = -1;
    arena_init(&scratch, SIZE_MAX);
    if (!number_to_int64(number_make(&scratch, node_text(node)), &number)) number = -1;
    arena_deinit(&scratch);
    return number;
}

const Node *task_retries(const Node *task)
{
    const Node *retries = get_map(task, "retries");
    return retries ? retries : get_map(task, "retry");
}

static void check_idempotency(Compiler *compiler, const Node *task)
{
    const Node *idempotency = get_any(task, "idempotency");
    const Node *strategy = lone_or_key(idempotency, "strategy");
    if (is_word(strategy, "effect-recorded", "") && !get_any(task, "compensation")) {
        Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, strategy,
                                          "an effect-recorded task needs a compensating action");
        diagnostic_help(compiler->diagnostics, diagnostic, "add what undoes it: compensation: <runner>");
    }
    if (get_any(task, "idempotency_key") && get_any(idempotency, "key"))
        diagnose(compiler->diagnostics, SEVERITY_ERROR, get_any(task, "idempotency_key"),
                 "the key is given twice, here and in 'idempotency'");
    if (get_any(task, "idempotency_key") && is_word(strategy, "replay-safe", ""))
        diagnose(compiler->diagnostics, SEVERITY_WARNING, get_any(task, "idempotency_key"),
                 "a replay-safe task is never looked up by a key");
}

static void check_retries(Compiler *compiler, const Node *retries)
{
    int64_t attempts = read_int(get_any(retries, "attempts")), most = read_int(get_any(retries, "attempts_max"));
    if (most >= 0 && most < attempts)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, get_any(retries, "attempts_max"),
                 "attempts_max is below attempts (%" PRId64 ")", attempts);
    int64_t delay = read_ms(get_any(retries, "delay")), longest = read_ms(get_any(retries, "max_delay"));
    if (delay >= 0 && longest >= 0 && longest < delay)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, get_any(retries, "max_delay"),
                 "max_delay is shorter than delay");
}

static void check_poll(Compiler *compiler, const Node *task)
{
    const Node *poll = get_map(task, "poll");
    if (!poll) return;
    static const char *const keys[] = { "on_timeout", "on_abort" };
    for (unsigned i = 0; i < 2; i++) {
        const Node *action = get_any(poll, keys[i]);
        if (!is_word(action, "ContinueWithDefault", "continue_with_default") || get_any(poll, "default_output"))
            continue;
        Diagnostic *diagnostic =
            diagnose(compiler->diagnostics, SEVERITY_ERROR, action, "continue_with_default needs a default output");
        diagnostic_help(compiler->diagnostics, diagnostic, "add default_output: { ... } to the poll");
    }
    int64_t interval = read_ms(get_any(poll, "interval")), duration = read_ms(get_any(poll, "max_duration"));
    if (interval > 0 && duration >= 0 && duration < interval)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, get_any(poll, "max_duration"),
                 "max_duration is shorter than one interval");
    const Node *attempts = get_any(poll, "max_attempts");
    bool is_fixed = !is_word(get_any(poll, "backoff"), "exponential", "exponential");
    int64_t count = attempts ? read_int(attempts) : is_fixed && interval > 0 ? duration / interval : 0;
    if (count > POLL_COUNT_MAX) {
        Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, attempts ? attempts : get_any(poll, "max_duration"),
                                          "these are %" PRId64 " polls, more than POLL_COUNT_MAX (%u)", count, POLL_COUNT_MAX);
        diagnostic_help(compiler->diagnostics, diagnostic, "poll less often, or with backoff: exponential");
    }
}

static bool schema_demands_payload(const Node *schema)
{
    if (!schema) return false;
    if (schema->kind == NODE_TEXT) return true;
    const Node *required = get_list(schema, "required");
    return required && required->count;
}

/* The trigger's URL names the run and the key: two pauses of one key could not be told apart. */
static void check_pause_key(Compiler *compiler, const Node *key)
{
    uint32_t line;
    if (key && key->kind == NODE_TEXT && !map_add(&compiler->pause_keys, node_text(key), key->line, &line))
        diagnose(compiler->diagnostics, SEVERITY_ERROR, key, "there is a pause for '%.*s' already, in line %" PRIu32,
                 STR_ARG(node_text(key)), line);
}

static void check_pause(Compiler *compiler, const Node *task)
{
    const Node *pause = get_map(task, "pause_after");
    check_pause_key(compiler, lone_or_key(get_any(task, "pause_after"), "trigger"));
    if (!pause) return;
    const Node *action = get_any(pause, "on_timeout"), *schema = get_any(pause, "payload_schema");
    check_schema_name(compiler, schema);
    trigger_check(compiler, pause);
    if (is_word(action, "AutoApprove", "auto_approve") && schema_demands_payload(schema)
        && !get_any(pause, "default_payload")) {
        Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, action,
                                          "auto_approve needs a default payload, since the schema demands one");
        diagnostic_help(compiler->diagnostics, diagnostic, "add default_payload: { ... } to the pause");
    }
    int64_t timeout = read_ms(get_any(pause, "timeout")), resume = read_ms(get_any(pause, "auto_resume_after"));
    if (timeout >= 0 && resume >= 0 && timeout <= resume)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, get_any(pause, "timeout"),
                 "the trigger times out before the run resumes by itself");
    if (action && !get_any(pause, "timeout"))
        diagnose(compiler->diagnostics, SEVERITY_WARNING, action,
                 "without 'timeout' the trigger is awaited for ever, and this never happens");
}

void task_check(Compiler *compiler, const Node *task)
{
    if (task->kind != NODE_MAP) return;
    check_known(compiler, CATALOG_RUNNER, get_any(task, "run"));
    check_known(compiler, CATALOG_RUNNER, lone_or_key(get_any(task, "compensation"), "run"));
    check_policies(compiler, task);
    check_schema_name(compiler, get_any(task, "input_schema"));
    check_schema_name(compiler, get_any(task, "output_schema"));
    check_schema_name(compiler, get_any(task, "produces"));
    check_idempotency(compiler, task);
    check_retries(compiler, task_retries(task));
    check_retries(compiler, get_any(get_map(task, "compensation"), "retries"));
    check_poll(compiler, task);
    check_pause(compiler, task);
    const Node *when = get_any(task, "when");
    if (when && when->kind == NODE_BOOL && !when->truth)
        diagnose(compiler->diagnostics, SEVERITY_WARNING, when, "this task never runs");
}

bool task_always_terminates(const Node *task)
{
    const Node *condition = get_any(get_map(task, "terminate_when"), "condition");
    return condition && condition_is_always(condition);
}

/* --- references ------------------------------------------------------------------------------------------------- */

/* A name that is none would never make anything optional. */
static void check_optional(References *references, const Node *list)
{
    for (uint32_t i = 0; i < many_count(list); i++) {
        const Node *name = many_at(list, i);
        uint32_t ignored;
        if (name->kind != NODE_TEXT || references_find(references, node_text(name), &ignored)) continue;
        if (map_find(&references->jobs, node_text(name), &ignored)) continue;
        diagnose(references->compiler->diagnostics, SEVERITY_ERROR, name, "there is no single task or job '%.*s'",
                 STR_ARG(node_text(name)));
    }
}

/* The input and the arguments of what is run. Of the shell, the command is a part of the input. */
static void reference_work(References *references, const Place *place, const Node *run, const Node *input, const Node *args)
{
    const Compiler *compiler = references->compiler;
    Place line = *place;
    line.is_command_line = run && run->kind == NODE_TEXT && catalog_is_program(compiler->catalog, node_text(run), compiler->tenant);
    bool is_shell = line.is_command_line && str_is_text(node_text(run), "shell");
    for (uint32_t i = 0; is_shell && input && input->kind == NODE_MAP && i < input->count; i++) {
        Str key = node_text(node_key(input, i));
        bool is_command = str_is_text(key, "command") || str_is_text(key, "script");
        reference_value(references, is_command ? &line : place, node_value(input, i));
    }
    if (!is_shell || !input || input->kind != NODE_MAP) reference_value(references, is_shell ? &line : place, input);
    reference_value(references, &line, args);
}

void task_references(References *references, const Place *place, const Node *task)
{
    if (task->kind != NODE_MAP) return;
    check_optional(references, get_any(task, "optional_outputs"));
    Place before = *place, work = *place, after = *place;
    before.roots = ROOTS_BEFORE;
    work.roots = ROOTS_BEFORE | ROOT_SECRETS | (get_any(task, "poll") ? (unsigned)ROOT_POLL : 0);
    after.roots = ROOTS_AFTER | (get_any(task, "poll") ? (unsigned)ROOT_POLL : 0);
    after.task_limit++;             /* its own output is known by then */

    reference_condition(references, &before, get_any(task, "when"));
    reference_value(references, &before, get_any(task, "log"));
    reference_value(references, &before, get_any(task, "idempotency_key"));
    reference_value(references, &before, get_any(get_map(task, "idempotency"), "key"));
    reference_work(references, &work, get_any(task, "run"), get_any(task, "input"), get_any(task, "args"));
    reference_value(references, &before, get_any(get_map(task, "poll"), "default_output"));
    reference_condition(references, &after, get_any(get_map(task, "terminate_when"), "condition"));
    reference_condition(references, &after, get_any(get_map(task, "pause_after"), "resume_when"));
    reference_value(references, &before, get_any(get_map(task, "pause_after"), "default_payload"));

    after.roots |= ROOT_SECRETS;
    const Node *undo = get_map(task, "compensation");
    reference_work(references, &after, get_any(undo, "run"), get_any(undo, "input"), get_any(undo, "args"));
}

void task_producers(References *references, const Node *task, ProducerVisit visit, void *context)
{
    static const char *const values[] = { "log", "idempotency_key", "idempotency", "input", "args", NULL };
    producers_of_condition(references, get_any(task, "when"), visit, context);
    for (const char *const *key = values; *key; key++)
        producers_of_value(references, get_any(task, *key), visit, context);
    producers_of_condition(references, get_any(get_map(task, "terminate_when"), "condition"), visit, context);
}

/* --- lowering --------------------------------------------------------------------------------------------------- */

/* The strategy, and the key under which the effect is known: declared, or derived from tenant, workflow, run domain, job,
 * task and args when the run is there. */
static void lower_idempotency(const Node *task, MemberList *members)
{
    const Node *idempotency = get_any(task, "idempotency");
    const Node *strategy = lone_or_key(idempotency, "strategy");
    const Node *key = get_any(task, "idempotency_key"), *domain = get_any(idempotency, "domain");
    if (!key) key = get_any(idempotency, "key");
    member_list_add(members, STR("strategy"), value_string(strategy ? node_text(strategy) : STR("dedupe-key")));
    if (key) member_list_add(members, STR("key"), value_string(node_text(key)));
    if (domain) member_list_add(members, STR("key_domain"), value_string(node_text(domain)));
}

/* A first delay beyond the default of the longest one raises that; the other way round is a mistake already reported. */
static Value lift_max_delay(Arena *arena, Value retries, const Node *declared)
{
    int64_t delay = value_get_int(retries, "delay_ms", 0);
    if (declared || delay <= value_get_int(retries, "max_delay_ms", 0)) return retries;
    MemberList members = { .arena = arena };
    for (uint32_t i = 0; i < retries.count; i++)
        member_list_add(&members, value_text(retries.members[i].key), retries.members[i].value);
    member_list_add(&members, STR("max_delay_ms"), value_int(delay));       /* of equal keys the last one counts */
    return member_list_object(&members);
}

/* A task that declares nothing is tried once; the rest of the policy has the defaults of the system. */
static Value lower_retries(Compiler *compiler, const Shape *shape, const Node *task)
{
    MemberList found = { .arena = compiler->arena };
    shape_add(compiler->arena, &found, shape, task, get_any(task, "retry") ? "retry" : "retries");
    if (found.count)
        return lift_max_delay(compiler->arena, found.members[0].value, get_any(task_retries(task), "max_delay"));
    static const char *const names[] = { "attempts", "delay_ms", "jitter_ms", "max_delay_ms" };
    static const int64_t numbers[] = { 1, 1000, 500, 60000 };
    MemberList retries = { .arena = compiler->arena };
    for (unsigned i = 0; i < 4; i++) member_list_add(&retries, str_of(names[i]), value_int(numbers[i]));
    Value *on = ARENA_NEW(compiler->arena, Value);
    *on = value_string(STR("transient"));
    member_list_add(&retries, STR("on"), value_array(on, 1));
    member_list_add(&retries, STR("strategy"), value_string(STR("exponential")));
    return member_list_object(&retries);
}

/* Schemas that are given by name: of equal keys the last one counts. */
static void lower_schemas(Compiler *compiler, MemberList *members)
{
    static const char *const keys[] = { "input_schema", "output_schema" };
    size_t count = members->count;
    for (size_t i = 0; i < count; i++) {
        Str key = value_text(members->members[i].key);
        Value value = members->members[i].value;
        const Value *payload = str_is(key, STR("pause_after")) ? value_get_text(value, "payload_schema") : NULL;
        for (unsigned k = 0; k < 2; k++)
            if (str_is_text(key, keys[k]) && value.kind == VALUE_STRING)
                member_list_add(members, key, schema_by_name(compiler, value_text(value)));
        if (!payload || payload->kind != VALUE_STRING) continue;
        MemberList pause = { .arena = compiler->arena };
        for (uint32_t m = 0; m < value.count; m++) member_list_add(&pause, value_text(value.members[m].key), value.members[m].value);
        member_list_add(&pause, STR("payload_schema"), schema_by_name(compiler, value_text(*payload)));
        member_list_add(members, key, member_list_object(&pause));
    }
}

/* With a fixed interval the duration bounds the number of polls as well. */
static Value lower_poll(Compiler *compiler, const Shape *shape, const Node *task)
{
    MemberList found = { .arena = compiler->arena }, poll = { .arena = compiler->arena };
    shape_add(compiler->arena, &found, shape, task, "poll");
    Value value = found.members[0].value;
    for (uint32_t i = 0; i < value.count; i++)
        member_list_add(&poll, value_text(value.members[i].key), value.members[i].value);
    int64_t interval = value_get_int(value, "interval_ms", 1), duration = value_get_int(value, "max_duration_ms", 0);
    bool is_fixed = str_is(value_get_string(value, "backoff", STR("")), STR("fixed"));
    if (is_fixed && !value_get_text(value, "max_attempts"))
        member_list_add(&poll, STR("max_attempts"), value_int(duration / interval));
    return member_list_object(&poll);
}

void task_lower(Compiler *compiler, const Shape *shape, const Node *task, const ValueList *inherited,
                MemberList *members)
{
    static const char *const without[] = {
        "name", "run", "log", "idempotency", "idempotency_key", "retries", "poll", "policies",
        "sequence", "if", "then", "else", NULL,
    };
    Arena *arena = compiler->arena;
    const Node *run = get_any(task, "run"), *message = get_any(task, "log");
    shape_add_all(arena, members, shape, task, without);
    member_list_add(members, STR("run"), value_string(run ? node_text(run) : STR("log")));
    if (message) {
        Member *input = ARENA_NEW(arena, Member);
        *input = (Member){ value_string(STR("message")), value_string(node_text(message)) };
        member_list_add(members, STR("input"), value_object(arena, input, 1));
    }
    lower_schemas(compiler, members);
    lower_idempotency(task, members);
    Value retries = lower_retries(compiler, shape, task);
    member_list_add(members, STR("retries"), retries);
    int64_t attempts = value_get_int(retries, "attempts", 1);
    if (!get_any(task, "spawn_budget"))                                                                     /* G-18 */
        member_list_add(members, STR("spawn_budget"),
                        value_int(value_get_int(retries, "attempts_max", attempts) * (1 + compiler->catalog->cooperative_max)));
    if (get_any(task, "poll")) member_list_add(members, STR("poll"), lower_poll(compiler, shape, task));

    ValueList policies = { .arena = arena };
    for (size_t i = 0; i < inherited->count; i++) value_list_add(&policies, inherited->items[i]);
    add_policies(&policies, task);
    if (policies.count) member_list_add(members, STR("policies"), value_list_array(&policies));
}
