/* decide_start.c - the beginning of a run: its parameters, its key, its first events. */
#include <inttypes.h>

#include "base/limits.h"
#include "base/map.h"
#include "core/decide_kinds.h"
#include "core/input.h"
#include "core/type.h"

/* --- parameters --------------------------------------------------------------------------------------------------------- */

typedef struct ParamCheck {
    Value declared;
    Arena *arena;
    ParamFinding *items;
    uint32_t count, total;
    size_t capacity;
    MemberList members;
} ParamCheck;

static void violation(ParamCheck *check, Str name, const char *what, Str detail)
{
    if (check->total++ >= PARAM_FINDING_COUNT_MAX) return;
    check->items = arena_grow(check->arena, check->items, sizeof *check->items, check->count, &check->capacity);
    check->items[check->count++] = (ParamFinding){ name, arena_format(check->arena, "%s%.*s", what, STR_ARG(detail)) };
}

Value decide_declared(const Plan *plan)
{
    const Value *declared = value_get_text(plan->document, "params");
    return declared && declared->kind == VALUE_ARRAY ? *declared : value_array(NULL, 0);
}

static void check_declared(ParamCheck *check, Value given)
{
    Value declared = check->declared;
    for (uint32_t i = 0; i < declared.count; i++) {
        Str name = value_get_string(declared.items[i], "name", STR(""));
        Str type = value_get_string(declared.items[i], "type", STR(""));
        const Value *value = value_get(given, name);
        if (!value) value = value_get_text(declared.items[i], "default");
        if (value && !type_accepts(type, *value))
            violation(check, name, "is not of type ", type);
        else if (value)
            member_list_add(&check->members, name, *value);
        else if (value_get_bool(declared.items[i], "required", true))
            violation(check, name, "is missing", STR(""));
    }
}

/* There may be very many of both, and whoever starts a run says how many. */
static void check_unknown(ParamCheck *check, Value given)
{
    Value declared = check->declared;
    Map names;
    map_init(&names, check->arena, declared.count);
    for (uint32_t i = 0; i < declared.count; i++) (void)map_add(&names, value_get_string(declared.items[i], "name", STR("")), i, NULL);
    for (uint32_t i = 0; i < given.count; i++) {
        Str name = value_text(given.members[i].key);
        uint32_t place;
        if (!map_find(&names, name, &place)) violation(check, name, "is not declared", STR(""));
    }
}

static void check_all(ParamCheck *check, Value given)
{
    if (given.kind == VALUE_OBJECT && given.count) check_unknown(check, given);
    check_declared(check, given);
}

void decide_check_params(Value declared, Value given, Arena *arena, ParamFindings *out)
{
    ParamCheck check = { .declared = declared, .arena = arena, .members = { .arena = arena } };
    check_all(&check, given);
    *out = (ParamFindings){ check.items, check.count, check.total };
}

/* As many as there is room for in one text, and how many there are where that is not all. */
static Status refuse_params(const ParamCheck *check, Error *err)
{
    char storage[ERROR_TEXT_SIZE - 64];
    Buf wrong = buf_on(storage, sizeof storage);
    for (uint32_t i = 0; i < check->count && !buf_overflowed(&wrong); i++)
        buf_format(&wrong, "%sparameter '%.*s' %.*s", i ? "; " : "", STR_ARG(check->items[i].name), STR_ARG(check->items[i].what));
    if (!buf_overflowed(&wrong)) return error_set(err, ERR_INVALID, "%.*s", STR_ARG(buf_peek(&wrong)));
    return error_set(err, ERR_INVALID, "%" PRIu32 " parameters are wrong: %.*s ...", check->total, STR_ARG(buf_peek(&wrong)));
}

/* {"params": ..., "payload": ...}, checked and with defaults; refused with all that is wrong. */
Status decide_params(const Plan *plan, Value given, Value payload, Arena *arena, Value *out, Error *err)
{
    ParamCheck check = { .declared = decide_declared(plan), .arena = arena, .members = { .arena = arena } };
    if (given.kind != VALUE_NULL && given.kind != VALUE_OBJECT)
        return error_set(err, ERR_INVALID, "parameters are an object, this is of type %s", value_kind_name(given));
    check_all(&check, given);
    if (check.total) return refuse_params(&check, err);
    MemberList whole = { .arena = arena };
    member_list_add(&whole, STR("params"), member_list_object(&check.members));
    member_list_add(&whole, STR("payload"), payload);
    *out = member_list_object(&whole);
    return OK;
}

/* --- the key -------------------------------------------------------------------------------------------------------------- */

static Status refuse_key(size_t size, Error *err)
{
    return error_set(err, ERR_LIMIT, "the idempotency key has %zu bytes, more than IDEMPOTENCY_KEY_SIZE_MAX (%u)", size, IDEMPOTENCY_KEY_SIZE_MAX);
}

static Status make_key(const Plan *plan, const StartRequest *request, Value params, Arena *arena, Str *out_key, Error *err)
{
    Str template = value_get_string(plan->document, "idempotency_key", STR(""));
    *out_key = request->key;
    if (request->key.len > IDEMPOTENCY_KEY_SIZE_MAX) return refuse_key(request->key.len, err);
    if (request->key.len || template.len == 0) return OK;
    /* With a space behind it, what is one path is printed like any other; numbers make keys, too. */
    InputResult result = { 0 };
    Str text = arena_format(arena, "%.*s ", STR_ARG(template));
    if (input_fill_start(params, arena, value_string(text), &result) != INPUT_OK)
        return error_set(err, ERR_INVALID, "the idempotency key cannot be made: %.*s", STR_ARG(result.text));
    Str filled = value_text(result.value);
    *out_key = str_slice(filled, 0, filled.len - 1);
    return out_key->len > IDEMPOTENCY_KEY_SIZE_MAX ? refuse_key(out_key->len, err) : OK;
}

Status decide_start_key(const Plan *plan, const StartRequest *request, Arena *arena, Str *out_key, Error *err)
{
    Value params;
    Status status = decide_params(plan, request->params, request->payload, arena, &params, err);
    return status ? status : make_key(plan, request, params, arena, out_key, err);
}

/* --- the start ------------------------------------------------------------------------------------------------------------ */

Status decide_start(const DecideEnv *env, const Plan *plan, const Run *run, const StartRequest *request,
                    const Command *command, int64_t now_ms, Decision *decision, Error *err)
{
    (void)command;
    if (run->event_count) return error_set(err, ERR_CONFLICT, "the run has begun already");
    if (plan->terms->unsupported.len)
        return error_set(err, ERR_INVALID, "this version cannot carry out %.*s; remove it from the definition",
                         STR_ARG(plan->terms->unsupported));
    if (request->directory.len > DIRECTORY_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the directory of a run has at most DIRECTORY_SIZE_MAX (%u) bytes", DIRECTORY_SIZE_MAX);
    if (request->directory.len && request->directory.ptr[0] != '/')
        return error_set(err, ERR_INVALID, "the directory of a run is named from the root on: '%.*s' is not",
                         STR_ARG(request->directory));
    Value params;
    Str key;
    Status status = decide_params(plan, request->params, request->payload, decision->arena, &params, err);
    if (!status) status = make_key(plan, request, params, decision->arena, &key, err);
    if (status) return status;
    Verdict verdict = env->verdict(env->context, HOOK_RUN_START, plan, run, STEP_NONE, params);
    if (verdict.kind == VERDICT_LATER) return error_set(err, ERR_UNAVAILABLE, "the policy has not answered yet");
    if (verdict.kind == VERDICT_DENY)
        return error_set(err, ERR_DENIED, "a policy does not permit this run: %.*s", STR_ARG(verdict.text));
    decision->policy = verdict.policy;
    uint32_t payload;
    status = decision_payload_try(decision, "what the parameters and the payload are together", params, &payload, err);
    if (status) return status;

    Event *event = decision_event(decision, EVENT_RUN_CREATED, 0);
    event->tenant = plan->tenant;
    event->name = plan->id;
    event->revision = request->revision;
    event->digest = &plan->digest;
    event->key = key;
    event->count = request->key_generation;
    event->seed = request->seed;
    event->due_ms = plan->terms->timeout_ms ? now_ms + plan->terms->timeout_ms : 0;
    uint8_t priority = PRIORITY_NORMAL;
    Str written = value_get_string(plan->document, "priority", STR("normal"));
    for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
        if (str_is_text(written, priority_name((Priority)p))) priority = p;
    event->priority = priority;
    event->payload = payload;
    event->parent = request->parent;
    event->source = request->source;
    event->directory = request->directory;
    decision_event(decision, EVENT_RUN_DISPATCHED, 0);          /* C-05: three events of one transaction */
    decision_event(decision, EVENT_RUN_RUNNING, 0);
    return OK;
}
