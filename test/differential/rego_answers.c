/* rego-answers - answers cases of the differential test with Maestro's engine.
 *
 * Reads one JSON object a line from standard input and writes one a line to standard output, in the same order and at once,
 * so that a driver may ask one case at a time. README.md describes both lines; opa/ holds the same program around OPA.
 * Exits with 2 where a line is no case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "os/zone.h"
#include "rego/builtins/cache.h"
#include "rego/rego.h"
#include "value/json.h"

#define LINE_SIZE_MAX (64u << 20)

typedef struct Answerer {
    Arena *arena;                   /* of the case under way */
    BuiltinCache *cache;
    ZoneSource zones;
    Value testcase;
} Answerer;

/* --- values -------------------------------------------------------------------------------------------------------- */

static Value tagged_value(Arena *arena, Value value);

static Value value_tag(Arena *arena, Str name, Value value)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, name, value);
    return member_list_object(&members);
}

static Value tagged_items(Arena *arena, Value value)
{
    ValueList items = { .arena = arena };
    for (uint32_t i = 0; i < value.count; i++) value_list_add(&items, tagged_value(arena, value.items[i]));
    return value_list_array(&items);
}

static Value tagged_object(Arena *arena, Value object)
{
    bool is_plain = true;
    for (uint32_t i = 0; i < object.count; i++) is_plain &= object.members[i].key.kind == VALUE_STRING;
    MemberList members = { .arena = arena };
    ValueList pairs = { .arena = arena };
    for (uint32_t i = 0; i < object.count; i++) {
        Value key = object.members[i].key, value = tagged_value(arena, object.members[i].value);
        if (is_plain) {
            member_list_add(&members, value_text(rego_value_to_json(arena, key)), value);
            continue;
        }
        Value *pair = ARENA_ARRAY(arena, Value, 2);
        pair[0] = tagged_value(arena, key);
        pair[1] = value;
        value_list_add(&pairs, value_array(pair, 2));
    }
    return is_plain ? member_list_object(&members) : value_tag(arena, STR("$object"), value_list_array(&pairs));
}

/* As JSON that loses nothing: {"$set": [...]}, and {"$object": [[key, value], ...]} where a key is no string. */
static Value tagged_value(Arena *arena, Value value)
{
    if (value.kind == VALUE_ARRAY) return tagged_items(arena, value);
    if (value.kind == VALUE_SET) return value_tag(arena, STR("$set"), tagged_items(arena, value));
    if (value.kind == VALUE_OBJECT) return tagged_object(arena, value);
    return rego_value_to_json(arena, value);
}

/* --- errors -------------------------------------------------------------------------------------------------------- */

static Value mistake_document(Arena *arena, const char *code, Str text, Str file, uint32_t row)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("code"), value_string(str_of(code)));
    member_list_add(&members, STR("text"), value_string(text));
    member_list_add(&members, STR("file"), value_string(file));
    member_list_add(&members, STR("row"), value_int(row));
    return member_list_object(&members);
}

static Value errors_document(Arena *arena, const RegoErrors *errors)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < errors->count; i++) {
        const RegoError *error = &errors->items[i];
        value_list_add(&list, mistake_document(arena, rego_error_code_name(error->code), error->text, error->file,
                                               error->loc.row));
    }
    return value_list_array(&list);
}

/* --- queries ------------------------------------------------------------------------------------------------------- */

static Value answer_document(Arena *arena, const RegoAnswer *answer)
{
    MemberList bindings = { .arena = arena }, members = { .arena = arena };
    ValueList values = { .arena = arena };
    for (uint32_t i = 0; i < answer->binding_count; i++)
        member_list_add(&bindings, answer->bindings[i].name, tagged_value(arena, answer->bindings[i].value));
    for (uint32_t i = 0; i < answer->expression_count; i++)
        value_list_add(&values, tagged_value(arena, answer->expressions[i].value));
    if (answer->binding_count) member_list_add(&members, STR("bindings"), member_list_object(&bindings));
    member_list_add(&members, STR("values"), value_list_array(&values));
    return member_list_object(&members);
}

static Value input_outcome(Answerer *a, const RegoQuery *query, Value input)
{
    RegoEvalContext context = { .arena = a->arena, .now_ns = value_get_int(a->testcase, "now_ns", 0), .seed = 1,
                                .zones = &a->zones, .strict = value_get_bool(a->testcase, "strict", false),
                                .cache = a->cache };
    RegoResult result;
    RegoEvalError error;
    Value given = input.kind == VALUE_NULL ? rego_undefined() : input;
    MemberList outcome = { .arena = a->arena };
    ValueList list = { .arena = a->arena };
    if (rego_eval(query, given, &context, &result, &error)) {
        Str text = arena_copy(a->arena, str_of(error.error.text));
        value_list_add(&list, mistake_document(a->arena, rego_eval_code_name(error.code), text, error.file, error.loc.row));
        member_list_add(&outcome, STR("errors"), value_list_array(&list));
        return member_list_object(&outcome);
    }
    for (uint32_t i = 0; i < result.count; i++) value_list_add(&list, answer_document(a->arena, &result.answers[i]));
    if (result.count) member_list_add(&outcome, STR("answers"), value_list_array(&list));
    return member_list_object(&outcome);
}

static Value query_outcomes(Answerer *a, const RegoPolicy *policy, Str text, Value inputs)
{
    RegoErrors errors;
    rego_errors_init(&errors, a->arena);
    RegoQuery *query = NULL;
    const RegoQueryOptions options = { .capture = true };
    bool is_good = rego_query_prepare(policy, text, &options, &query, &errors) == OK;
    ValueList outcomes = { .arena = a->arena };
    for (uint32_t i = 0; i < inputs.count; i++)
        value_list_add(&outcomes, is_good ? input_outcome(a, query, inputs.items[i])
                                          : value_tag(a->arena, STR("errors"), errors_document(a->arena, &errors)));
    Value document = value_list_array(&outcomes);
    if (is_good) document = value_copy(a->arena, document);     /* answers may point into the query */
    rego_query_free(query);
    return document;
}

/* --- cases --------------------------------------------------------------------------------------------------------- */

static Value list_get(Value object, const char *name)
{
    const Value *list = value_get_text(object, name);
    return list && list->kind == VALUE_ARRAY ? *list : (Value){ .kind = VALUE_ARRAY };
}

static Value case_answer(Answerer *a)
{
    Value modules = list_get(a->testcase, "modules"), queries = list_get(a->testcase, "queries");
    RegoModuleText *texts = ARENA_ARRAY(a->arena, RegoModuleText, modules.count + 1u);
    for (uint32_t i = 0; i < modules.count; i++)
        texts[i] = (RegoModuleText){ arena_format(a->arena, "test-%u.rego", i), value_text(modules.items[i]) };
    const Value *data = value_get_text(a->testcase, "data");
    RegoErrors errors;
    rego_errors_init(&errors, a->arena);
    MemberList members = { .arena = a->arena };
    member_list_add(&members, STR("id"), value_string(value_get_string(a->testcase, "id", STR(""))));
    RegoPolicy *policy = NULL;
    if (rego_compile(texts, modules.count, data ? *data : value_null(), NULL, &policy, &errors)) {
        member_list_add(&members, STR("errors"), errors_document(a->arena, &errors));
        return member_list_object(&members);
    }
    ValueList outcomes = { .arena = a->arena };
    for (uint32_t i = 0; i < queries.count; i++)
        value_list_add(&outcomes, query_outcomes(a, policy, value_text(queries.items[i]), list_get(a->testcase, "inputs")));
    member_list_add(&members, STR("outcomes"), value_list_array(&outcomes));
    Value document = value_copy(a->arena, member_list_object(&members));
    rego_policy_free(policy);
    return document;
}

static bool line_answer(Answerer *a, Str line, Buf *out)
{
    Error err;
    if (json_parse(a->arena, line, &a->testcase, &err)) {
        fprintf(stderr, "rego-answers: %s\n", err.text);
        return false;
    }
    buf_clear(out);
    if (json_print(out, case_answer(a), JSON_COMPACT, &err)) {
        fprintf(stderr, "rego-answers: %s\n", err.text);
        return false;
    }
    buf_char(out, '\n');
    Str text = buf_peek(out);
    return fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
}

int main(void)
{
    Arena arena;
    BuiltinCache cache;
    Buf out;
    Zones *zones = zones_open(NULL);
    arena_init(&arena, SIZE_MAX);
    builtin_cache_init(&cache);
    buf_init(&out, LINE_SIZE_MAX);
    bool is_good = true;
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size; is_good && (size = getline(&line, &capacity, stdin)) > 0;) {
        arena_reset(&arena);
        Answerer answerer = { .arena = &arena, .cache = &cache, .zones = zones_source(zones) };
        is_good = line_answer(&answerer, (Str){ line, (size_t)size }, &out);
    }
    free(line);
    buf_deinit(&out);
    builtin_cache_deinit(&cache);
    arena_deinit(&arena);
    zones_close(zones);
    return is_good ? 0 : 2;
}
