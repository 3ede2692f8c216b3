#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "rego/eval.h"
#include "rego/print.h"
#include "value/json.h"

/* --- evaluating a query ------------------------------------------------------------------------------------------ */

typedef struct Answers {
    Yield yield;
    const RegoQuery *query;
    RegoAnswer *items;
    size_t count, capacity;
} Answers;

static Run answer_take(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Answers *answers = (Answers *)yield;
    const RegoQuery *query = answers->query;
    RegoBinding *bindings = eval_alloc(e, (query->binding_count + 1u) * sizeof *bindings);
    RegoExpressionValue *values = eval_alloc(e, (query->capture_count + 1u) * sizeof *values);
    if (!bindings || !values || !eval_spend(e, 1)) return RUN_ERROR;
    for (uint32_t i = 0; i < query->binding_count; i++)
        bindings[i] = (RegoBinding){ query->bindings[i].name, operand_value(frame, op->operands[i]) };
    for (uint32_t i = 0; i < query->capture_count; i++) {
        const QueryCapture *capture = &query->captures[i];
        values[i] = (RegoExpressionValue){ operand_value(frame, op->operands[query->binding_count + i]), capture->text,
                                           capture->row, capture->col };
    }
    for (uint32_t i = 0; i < op->count; i++)        /* whoever prints it walks over all of it */
        if (!eval_weigh(e, operand_value(frame, op->operands[i]))) return RUN_ERROR;
    if (answers->count == answers->capacity) {
        size_t capacity = answers->capacity ? 2 * answers->capacity : 4;
        RegoAnswer *items = eval_alloc(e, capacity * sizeof *items);
        if (!items) return RUN_ERROR;
        if (answers->count) memcpy(items, answers->items, answers->count * sizeof *items);
        answers->items = items;
        answers->capacity = capacity;
    }
    answers->items[answers->count++] = (RegoAnswer){ bindings, values, query->binding_count, query->capture_count };
    return RUN_END;
}

static void eval_begin(Eval *e, const RegoQuery *query, const RegoEvalContext *context, RegoEvalError *error)
{
    const RegoBudget *budget = &context->budget;
    *e = (Eval){ .policy = query->policy, .query = query, .arena = context->arena, .strict = context->strict,
                 .tracer = context->tracer, .error = error };
    e->steps_left = budget->step_count_max ? budget->step_count_max : REGO_STEP_COUNT_DEFAULT;
    bool is_lower = budget->depth_max && budget->depth_max < REGO_CALL_DEPTH_MAX;
    e->depth_max = is_lower ? budget->depth_max : REGO_CALL_DEPTH_MAX;
    e->builtins = (BuiltinContext){ .arena = context->arena,
                                    .arena_size_max = budget->size_max ? budget->size_max : REGO_EVAL_SIZE_DEFAULT,
                                    .now_ns = context->now_ns, .seed = context->seed, .steps_left = &e->steps_left,
                                    .step_count_max = e->steps_left, .stop = context->stop,
                                    .zones = context->zones, .cache = context->cache, .environment = context->environment };
    if (e->builtins.environment.kind != VALUE_OBJECT) e->builtins.environment = (Value){ .kind = VALUE_OBJECT };
    error->code = REGO_EVAL_OK;
    error->details[0] = 0;
}

Status rego_eval(const RegoQuery *query, Value input, const RegoEvalContext *context, RegoResult *out_result,
                 RegoEvalError *out_error)
{
    Eval e;
    eval_begin(&e, query, context, out_error);
    uint64_t steps = e.steps_left;
    EvalScope scope = { .input = input, .data = query->policy->data, .data_is_base = true };
    Answers answers = { .yield = { answer_take }, .query = query };
    Frame frame;
    Run run = RUN_ERROR;
    if (trace_begin(&e, context) && frame_push(&e, &query->unit, &scope, &frame)) {
        for (uint32_t i = 0; i < query->name_count; i++) frame.registers[i] = context->values[i];
        run = run_block(&e, &frame, &query->block, &answers.yield);
    }
    trace_end(&e);
    if (run == RUN_ERROR) return out_error->error.status;
    *out_result = (RegoResult){ answers.items, (uint32_t)answers.count, steps - e.steps_left };
    return OK;
}

/* --- errors ------------------------------------------------------------------------------------------------------ */

const char *rego_eval_code_name(RegoEvalCode code)
{
    static const char *const names[] = {
#define X(code, name) name,
        REGO_EVAL_CODES(X)
#undef X
    };
    return code < REGO_EVAL_CODE_COUNT ? names[code] : "";
}

void rego_eval_error_print(Buf *buf, const RegoEvalError *error)
{
    if (error->file.len) buf_format(buf, "%.*s:%u: ", STR_ARG(error->file), error->loc.row);
    buf_format(buf, "%s: %s", rego_eval_code_name(error->code), error->error.text);
}

/* --- results ----------------------------------------------------------------------------------------------------- */

Value rego_result_value(const RegoResult *result)
{
    if (!result->count || !result->answers[0].expression_count) return rego_undefined();
    return result->answers[0].expressions[0].value;
}

/* JSON is UTF-8; each byte that is none (base64.decode gives any) becomes U+FFFD. */
static Value text_to_json(Arena *arena, Value text)
{
    Str rest = value_text(text);
    size_t valid = utf8_valid_size(rest);
    if (valid == rest.len) return text;
    char *bytes = arena_bytes(arena, 3 * rest.len + 1);
    size_t size = 0;
    while (rest.len) {
        memcpy(bytes + size, rest.ptr, valid);
        size += valid;
        rest = str_slice(rest, valid, rest.len);
        if (!rest.len) break;
        memcpy(bytes + size, "\xef\xbf\xbd", 3);
        size += 3;
        rest = str_slice(rest, 1, rest.len);
        valid = utf8_valid_size(rest);
    }
    return value_string((Str){ bytes, size });
}

static Value key_to_json(Arena *arena, Value key)
{
    if (key.kind == VALUE_STRING) return text_to_json(arena, key);
    Buf buf;
    Error err;
    buf_init(&buf, REGO_VALUE_SIZE_MAX);
    Value text = value_string(STR(""));
    if (json_print(&buf, rego_value_to_json(arena, key), JSON_COMPACT, &err) == OK)
        text = value_string(arena_copy(arena, buf_peek(&buf)));
    buf_deinit(&buf);
    return text;
}

Value rego_value_to_json(Arena *arena, Value value)
{
    if (value.kind == VALUE_ARRAY || value.kind == VALUE_SET) {
        Value *items = ARENA_ARRAY(arena, Value, value.count + 1u);
        for (uint32_t i = 0; i < value.count; i++) items[i] = rego_value_to_json(arena, value.items[i]);
        return value_array(items, value.count);
    }
    if (value.kind == VALUE_STRING) return text_to_json(arena, value);
    if (value.kind != VALUE_OBJECT) return value;
    Member *members = ARENA_ARRAY(arena, Member, value.count + 1u);
    for (uint32_t i = 0; i < value.count; i++)
        members[i] = (Member){ key_to_json(arena, value.members[i].key),
                               rego_value_to_json(arena, value.members[i].value) };
    return value_object(arena, members, value.count);
}

static Value expression_document(Arena *arena, const RegoExpressionValue *expression)
{
    MemberList location = { .arena = arena }, members = { .arena = arena };
    member_list_add(&location, STR("row"), value_int(expression->row));
    member_list_add(&location, STR("col"), value_int(expression->col));
    member_list_add(&members, STR("value"), rego_value_to_json(arena, expression->value));
    member_list_add(&members, STR("text"), value_string(expression->text));
    member_list_add(&members, STR("location"), member_list_object(&location));
    return member_list_object(&members);
}

Value rego_result_document(Arena *arena, const RegoResult *result)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < result->count; i++) {
        const RegoAnswer *answer = &result->answers[i];
        MemberList members = { .arena = arena };
        if (answer->expression_count) {
            ValueList expressions = { .arena = arena };
            for (uint32_t k = 0; k < answer->expression_count; k++)
                value_list_add(&expressions, expression_document(arena, &answer->expressions[k]));
            member_list_add(&members, STR("expressions"), value_list_array(&expressions));
        }
        if (answer->binding_count) {
            MemberList bindings = { .arena = arena };
            for (uint32_t k = 0; k < answer->binding_count; k++)
                member_list_add(&bindings, answer->bindings[k].name,
                                rego_value_to_json(arena, answer->bindings[k].value));
            member_list_add(&members, STR("bindings"), member_list_object(&bindings));
        }
        value_list_add(&list, member_list_object(&members));
    }
    MemberList document = { .arena = arena };
    if (result->count) member_list_add(&document, STR("result"), value_list_array(&list));
    return member_list_object(&document);
}
