/* Schemas and instances from anywhere: the text of {"schema": ..., "data": ...}.
 *
 * Beside crashes and leaks it looks for contradictions: a check that reports everything and one that stops at the first
 * violation must agree, and every violation must name a place of the instance. */
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "value/json.h"
#include "value/json_pointer.h"
#include "value/schema.h"

static const Value *place_find(const Value *value, Str pointer)
{
    Buf token;
    buf_init(&token, JSON_SIZE_MAX);
    FUZZ_HOLDS(json_pointer_is_valid(pointer));
    while (value && json_pointer_next(&pointer, &token)) value = json_pointer_step(*value, buf_peek(&token));
    buf_deinit(&token);
    return value;
}

static void report_check(const SchemaReport *report, Value instance)
{
    FUZZ_HOLDS(report->count <= SCHEMA_ERROR_COUNT_MAX);
    FUZZ_HOLDS(report->count || !report->is_cut);
    for (uint32_t i = 0; i < report->count; i++) {
        FUZZ_HOLDS(report->items[i].message.len > 0);
        FUZZ_HOLDS(place_find(&instance, report->items[i].instance) != NULL);
    }
}

static void instance_check(Arena *arena, const Schema *schema, Value instance)
{
    SchemaReport report;
    Error err;
    Status status = schema_check(schema, instance, arena, &report, &err);
    Status quick = schema_require(schema, instance, arena, &err);
    FUZZ_HOLDS(status == OK || status == ERR_LIMIT);
    if (status) return;
    report_check(&report, instance);
    FUZZ_HOLDS((quick == OK) == (report.count == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value input;
    Error err;
    const Schema *schema;
    Str place = STR("");
    if (!json_parse(&arena, (Str){ (const char *)data, size }, &input, &err)) {
        const Value *document = value_get_text(input, "schema"), *instance = value_get_text(input, "data");
        Status status = document ? schema_compile(&arena, *document, &schema, &place, &err) : ERR_NOT_FOUND;
        if (document && status) FUZZ_HOLDS(status == ERR_INVALID || status == ERR_LIMIT);
        if (!status && instance) instance_check(&arena, schema, *instance);
        if (!status) instance_check(&arena, schema, *document);
    }
    arena_deinit(&arena);
    return 0;
}
