#include "conformance/schema_suite.h"

#include <stdio.h>
#include <string.h>

#include "value/json.h"
#include "value/schema.h"

#define SUITE_SERVER "http://localhost:1234/"

typedef struct Suite {
    const char *file;
    Value group;
    SuiteFailure failure;
    SuiteCount *count;
} Suite;

static void case_count(Suite *suite, Value test, bool passes, Str why)
{
    suite->count->case_count++;
    suite->count->pass_count += passes;
    if (!passes)
        suite->failure(suite->file, value_get_string(suite->group, "description", STR("")),
                       value_get_string(test, "description", STR("")), why);
}

static bool has_id(Value value, Str segment);

static bool any_has_id(Value value, Str segment)
{
    for (uint32_t i = 0; i < value.count; i++)
        if (has_id(value.kind == VALUE_OBJECT ? value.members[i].value : value.items[i], segment)) return true;
    return false;
}

/* What stands behind the last slash. */
static Str last_segment(Str uri)
{
    size_t from = uri.len;
    while (from && uri.ptr[from - 1] != '/') from--;
    return str_slice(uri, from, uri.len);
}

/* Whether an $id anywhere in the value ends with that segment: then the document was there and must have been found. */
static bool has_id(Value value, Str segment)
{
    if (value.kind != VALUE_OBJECT && value.kind != VALUE_ARRAY) return false;
    Str id = value_get_string(value, "$id", STR(""));
    return (id.len && str_is(last_segment(id), segment)) || any_has_id(value, segment);
}

/* Whether the refusal names a document of the suite's server that the schema does not hold itself. */
static bool names_remote(Value schema, const char *reason)
{
    const char *at = strstr(reason, SUITE_SERVER);
    if (!at) return false;
    Str segment = last_segment((Str){ at, strcspn(at, "#\"") });
    return segment.len && !has_id(schema, segment);
}

static void group_refuse(Suite *suite, Value schema, const Error *err)
{
    const Value *tests = value_get_text(suite->group, "tests");
    bool is_remote = err->status == ERR_INVALID && names_remote(schema, err->text);
    for (uint32_t i = 0; i < tests->count; i++) case_count(suite, tests->items[i], is_remote, str_of(err->text));
    if (is_remote) suite->count->remote_count += tests->count;
}

static void test_run(Suite *suite, const Schema *schema, Value test)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    SchemaReport report;
    Error err;
    const Value *data = value_get_text(test, "data");
    Status status = schema_check(schema, *data, &arena, &report, &err);
    bool wants = value_get_bool(test, "valid", false);
    Error quick;
    Status quick_status = schema_require(schema, *data, &arena, &quick);
    if (status) case_count(suite, test, false, str_of(err.text));
    else if (!quick_status != !report.count) case_count(suite, test, false, STR("the two checks disagree"));
    else if (report.count) case_count(suite, test, !wants, report.items[0].message);
    else case_count(suite, test, wants, STR("is valid"));
    arena_deinit(&arena);
}

static void group_run(Suite *suite)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const Schema *schema;
    Error err;
    const Value *document = value_get_text(suite->group, "schema"), *tests = value_get_text(suite->group, "tests");
    if (schema_compile(&arena, *document, &schema, NULL, &err)) group_refuse(suite, *document, &err);
    else
        for (uint32_t i = 0; i < tests->count; i++) test_run(suite, schema, tests->items[i]);
    arena_deinit(&arena);
}

void schema_suite_run(const char *file, Str text, SuiteFailure failure, SuiteCount *count)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value groups;
    Error err;
    if (json_parse(&arena, text, &groups, &err)) {
        count->case_count++;
        failure(file, STR(""), STR(""), str_of(err.text));
    } else {
        for (uint32_t i = 0; i < groups.count; i++)
            group_run(&(Suite){ file, groups.items[i], failure, count });
    }
    arena_deinit(&arena);
}
