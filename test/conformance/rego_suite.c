#include "conformance/rego_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "rego/builtins/cache.h"
#include "rego/builtins/yaml_read.h"
#include "rego/parser.h"
#include "rego/rego.h"
#include "value/json.h"

#define WHY_SIZE_MAX (1u << 20)

/* One case under way. */
typedef struct Case {
    const RegoSuiteOptions *options;
    Arena *arena;
    BuiltinCache *cache;
    Value value;            /* as it stands in the file */
    Buf why;                /* what is not as wanted; empty: passed */
} Case;

/* --- modules ----------------------------------------------------------------------------------------------------- */

static RegoModuleText *case_modules(Case *c, uint32_t *out_count)
{
    const Value *modules = value_get_text(c->value, "modules");
    *out_count = modules && modules->kind == VALUE_ARRAY ? modules->count : 0;
    RegoModuleText *texts = ARENA_ARRAY(c->arena, RegoModuleText, *out_count + 1u);
    for (uint32_t i = 0; i < *out_count; i++)
        texts[i] = (RegoModuleText){ arena_format(c->arena, "test-%u.rego", i),
                                     modules->items[i].kind == VALUE_STRING ? value_text(modules->items[i]) : STR("") };
    return texts;
}

static void why_errors(Case *c, const char *what, const RegoErrors *errors)
{
    buf_text(&c->why, what);
    for (size_t i = 0; i < errors->count; i++) {
        buf_text(&c->why, i ? "; " : ": ");
        rego_error_print(&c->why, &errors->items[i]);
    }
}

/* --- cases that are evaluated ------------------------------------------------------------------------------------ */

static Value answer_value(Case *c, const RegoAnswer *answer)
{
    bool is_sorted = value_get_bool(c->value, "sort_bindings", false);
    MemberList members = { .arena = c->arena };
    for (uint32_t i = 0; i < answer->binding_count; i++) {
        Value value = rego_value_to_json(c->arena, answer->bindings[i].value);
        if (is_sorted && value.kind == VALUE_ARRAY) {
            /* Sorted as a bag: repeated items stay, so each is paired with its place among the items. */
            Value *items = arena_copy_items(c->arena, value.items, value.count * sizeof *items);
            for (uint32_t a = 1; a < value.count; a++)
                for (uint32_t b = a; b > 0 && value_compare(items[b - 1], items[b]) > 0; b--) {
                    Value other = items[b];
                    items[b] = items[b - 1];
                    items[b - 1] = other;
                }
            value = value_array(items, value.count);
        }
        member_list_add(&members, answer->bindings[i].name, value);
    }
    return member_list_object(&members);
}

static void compare_answers(Case *c, const RegoResult *result, Value wanted)
{
    Value *got = ARENA_ARRAY(c->arena, Value, result->count + 1u);
    for (uint32_t i = 0; i < result->count; i++) got[i] = answer_value(c, &result->answers[i]);
    Value got_set = value_set(c->arena, got, result->count);
    Value *copy = arena_copy_items(c->arena, wanted.items, wanted.count * sizeof *copy);
    Value wanted_set = value_set(c->arena, copy, wanted.count);
    if (value_equals(got_set, wanted_set)) return;
    Error err;
    buf_text(&c->why, "got ");
    if (json_print(&c->why, value_array(got_set.items, got_set.count), JSON_COMPACT, &err)) buf_text(&c->why, "?");
    buf_text(&c->why, ", wanted ");
    if (json_print(&c->why, wanted, JSON_COMPACT, &err)) buf_text(&c->why, "?");
}

static void compare_error(Case *c, const RegoEvalError *error)
{
    char storage[4096];
    Buf text = buf_on(storage, sizeof storage);
    rego_eval_error_print(&text, error);
    if (*error->details) buf_format(&text, ": %s", error->details);     /* what newer suites ask for */
    Str code = value_get_string(c->value, "want_error_code", (Str){ 0 });
    Str part = value_get_string(c->value, "want_error", (Str){ 0 });
    bool has_code = !code.len || str_is_text(code, rego_eval_code_name(error->code));
    bool has_text = !part.len || memmem(text.ptr, text.len, part.ptr, part.len);
    if ((code.len || part.len) && has_code && has_text) return;
    buf_text(&c->why, "error ");
    buf_str(&c->why, buf_peek(&text));
    if (code.len) buf_format(&c->why, ", wanted code %.*s", STR_ARG(code));
    if (part.len) buf_format(&c->why, ", wanted text %.*s", STR_ARG(part));
}

static bool case_input(Case *c, Value *out_input)
{
    const Value *term = value_get_text(c->value, "input_term");
    const Value *input = value_get_text(c->value, "input");
    *out_input = input && input->kind != VALUE_NULL ? *input : rego_undefined();
    if (!term || term->kind != VALUE_STRING) return true;
    /* A term that may hold what JSON cannot: evaluated as a query of its own. */
    RegoErrors errors;
    rego_errors_init(&errors, c->arena);
    RegoPolicy *policy;
    RegoQuery *query;
    if (rego_compile(NULL, 0, value_null(), NULL, &policy, &errors)) return false;
    Str text = arena_format(c->arena, "input_term = %.*s", STR_ARG(value_text(*term)));
    bool is_good = rego_query_prepare(policy, text, NULL, &query, &errors) == OK;
    if (is_good) {
        RegoResult result;
        RegoEvalError error;
        RegoEvalContext context = { .arena = c->arena };
        is_good = rego_eval(query, rego_undefined(), &context, &result, &error) == OK && result.count == 1;
        if (is_good) *out_input = value_copy(c->arena, result.answers[0].bindings[0].value);
        rego_query_free(query);
    }
    rego_policy_free(policy);
    return is_good;
}

static void case_eval(Case *c, const RegoQuery *query)
{
    Value input;
    if (!case_input(c, &input)) {
        buf_text(&c->why, "input_term cannot be read");
        return;
    }
    RegoEvalContext context = { .arena = c->arena, .now_ns = c->options->now_ns, .seed = 1, .zones = c->options->zones,
                                .strict = value_get_bool(c->value, "strict_error", false), .cache = c->cache };
    RegoResult result;
    RegoEvalError error;
    if (rego_eval(query, input, &context, &result, &error)) {
        compare_error(c, &error);
        return;
    }
    const Value *wanted = value_get_text(c->value, "want_result");
    if (value_get_text(c->value, "want_error") || value_get_text(c->value, "want_error_code")) {
        Str code = value_get_string(c->value, "want_error_code", value_get_string(c->value, "want_error", (Str){ 0 }));
        buf_format(&c->why, "no error, wanted %.*s", STR_ARG(code));
    } else if (wanted && wanted->kind == VALUE_ARRAY) {
        compare_answers(c, &result, *wanted);
    } else if (wanted && result.count) {
        buf_text(&c->why, "an answer, wanted none");
    } else if (value_get_bool(c->value, "want_defined", result.count > 0) != (result.count > 0)) {
        buf_text(&c->why, result.count ? "an answer, wanted none" : "no answer, wanted one");
    }
}

static void case_run(Case *c)
{
    const RegoCompileOptions options = { .v0 = c->options->v0, .allow_network = true };
    uint32_t count;
    RegoModuleText *modules = case_modules(c, &count);
    const Value *data = value_get_text(c->value, "data");
    if (data && data->kind != VALUE_OBJECT && data->kind != VALUE_NULL) {
        buf_text(&c->why, "data is no object");
        return;
    }
    RegoErrors errors;
    rego_errors_init(&errors, c->arena);
    RegoPolicy *policy = NULL;
    RegoQuery *query = NULL;
    if (rego_compile(modules, count, data ? *data : value_null(), &options, &policy, &errors)) {
        why_errors(c, "not compiled", &errors);
    } else if (rego_query_prepare(policy, value_get_string(c->value, "query", (Str){ 0 }), NULL, &query, &errors)) {
        why_errors(c, "query not compiled", &errors);
    } else {
        case_eval(c, query);
    }
    rego_query_free(query);
    rego_policy_free(policy);
}

/* --- cases of the compiler --------------------------------------------------------------------------------------- */

static bool error_matches(Value wanted, const RegoError *error)
{
    if (!str_is_text(value_get_string(wanted, "code", (Str){ 0 }), rego_error_code_name(error->code))) return false;
    if (!str_is(value_get_string(wanted, "message", error->text), error->text)) return false;
    if (!str_is(value_get_string(wanted, "module", STR("test-0.rego")), error->file)) return false;
    return value_get_int(wanted, "row", error->loc.row) == error->loc.row
        && value_get_int(wanted, "col", error->loc.col) == error->loc.col;
}

static void case_refused(Case *c, Value wanted)
{
    Str version = value_get_string(c->value, "rego_version", STR("v1"));
    const RegoCompileOptions options = { .v0 = str_is(version, STR("v0")),
                                         .strict = value_get_bool(c->value, "strict", false),
                                         .keep_print = value_get_bool(c->value, "print_statements", false),
                                         .allow_network = true };
    uint32_t count;
    RegoModuleText *modules = case_modules(c, &count);
    RegoErrors errors;
    rego_errors_init(&errors, c->arena);
    RegoPolicy *policy = NULL;
    if (rego_compile(modules, count, value_null(), &options, &policy, &errors) == OK) {
        buf_text(&c->why, "compiled");
        rego_policy_free(policy);
        return;
    }
    bool is_missing = false;
    for (uint32_t i = 0; i < wanted.count; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < errors.count; k++) found = error_matches(wanted.items[i], &errors.items[k]);
        if (!found) is_missing = true;
    }
    if (value_get_bool(c->value, "exhaustive", false) && errors.count != wanted.count) is_missing = true;
    if (is_missing) why_errors(c, "other errors than wanted", &errors);
}

/* --- files ------------------------------------------------------------------------------------------------------- */

static void suite_case(const RegoSuiteOptions *options, Str category, BuiltinCache *cache, Value value, RegoSuiteCount *count)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Case c = { .options = options, .arena = &arena, .cache = cache, .value = value };
    buf_init(&c.why, WHY_SIZE_MAX);
    const Value *errors = value_get_text(value, "want_errors");
    if (errors && errors->kind == VALUE_ARRAY) case_refused(&c, *errors);
    else case_run(&c);
    count->case_count++;
    if (!c.why.len) count->pass_count++;
    else options->report(options->reporter, category, value_get_string(value, "_id", (Str){ 0 }), value_get_string(value, "note", (Str){ 0 }),
                        buf_peek(&c.why));
    buf_deinit(&c.why);
    arena_deinit(&arena);
}

static Status file_parse(Arena *arena, Str text, const RegoSuiteOptions *options, Value *out_file, Error *err)
{
    return (options->is_yaml ? yaml_value_read : json_parse)(arena, text, out_file, err);
}

/* The cases of a file, an array; or false where it has none. */
static bool file_cases(const Value *file, Value *out_cases)
{
    const Value *cases = value_get_text(*file, "cases");
    bool is_case = value_get_text(*file, "query") || value_get_text(*file, "want_errors");
    *out_cases = cases ? *cases : is_case ? value_array(file, 1) : *file;
    return out_cases->kind == VALUE_ARRAY;
}

void rego_suite_category(Str text, const RegoSuiteOptions *options, char *out_category, size_t size)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value file;
    Error err;
    Str category = { 0 };
    if (file_parse(&arena, text, options, &file, &err) == OK) category = value_get_string(file, "category", category);
    snprintf(out_category, size, "%.*s", STR_ARG(category));
    arena_deinit(&arena);
}

bool rego_suite_run(Str text, Str category, const RegoSuiteOptions *options, RegoSuiteCount *count)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value file, cases;
    Error err;
    bool has_cases = true;
    if (file_parse(&arena, text, options, &file, &err)) {
        count->case_count++;
        options->report(options->reporter, category, STR("?"), STR("the file cannot be read"), str_of(err.text));
    } else if ((has_cases = file_cases(&file, &cases))) {
        BuiltinCache cache;
        builtin_cache_init(&cache);
        for (uint32_t i = 0; i < cases.count; i++) suite_case(options, category, &cache, cases.items[i], count);
        builtin_cache_deinit(&cache);
    }
    arena_deinit(&arena);
    return has_cases;
}
