#include "rego/builtins/rows_test.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "harness/test.h"
#include "value/json.h"

#ifndef CASE_ROOT
#define CASE_ROOT "test/cases"
#endif

/* --- values with tags -------------------------------------------------------------------------------------------- */

static uint8_t hex_digit(char c)
{
    return (uint8_t)(ascii_is_digit(c) ? c - '0' : c - 'a' + 10);
}

static Value from_hex(Arena *arena, Str hex)
{
    char *bytes = arena_alloc(arena, hex.len / 2 + 1);
    for (size_t i = 0; i + 1 < hex.len; i += 2)
        bytes[i / 2] = (char)(hex_digit(hex.ptr[i]) << 4 | hex_digit(hex.ptr[i + 1]));
    return value_string((Str){ bytes, hex.len / 2 });
}

static Value untag(Arena *arena, Value value)
{
    if (value.kind == VALUE_ARRAY) {
        ValueList list = { .arena = arena };
        for (uint32_t i = 0; i < value.count; i++) value_list_add(&list, untag(arena, value.items[i]));
        return value_list_array(&list);
    }
    if (value.kind != VALUE_OBJECT) return value;
    const Value *tagged;
    if (value.count == 1 && (tagged = value_get_text(value, "$hex"))) return from_hex(arena, value_text(*tagged));
    if (value.count == 1 && (tagged = value_get_text(value, "$set"))) {
        Value items = untag(arena, *tagged);
        Value *copy = ARENA_ARRAY(arena, Value, items.count);
        if (items.count) memcpy(copy, items.items, items.count * sizeof *copy);
        return value_set(arena, copy, items.count);
    }
    bool has_pairs = value.count == 1 && (tagged = value_get_text(value, "$obj")) != NULL;
    uint32_t count = has_pairs ? tagged->count : value.count;
    Member *members = ARENA_ARRAY(arena, Member, count);
    for (uint32_t i = 0; i < count; i++) {
        if (has_pairs)
            members[i] = (Member){ untag(arena, tagged->items[i].items[0]), untag(arena, tagged->items[i].items[1]) };
        else members[i] = (Member){ value.members[i].key, untag(arena, value.members[i].value) };
    }
    return value_object(arena, members, count);
}

bool tagged_read(Arena *arena, Str json, Value *out_value, Error *err)
{
    Value value;
    if (json_parse(arena, json, &value, err)) return false;
    *out_value = untag(arena, value);
    return true;
}

static void print_items(Buf *buf, const Value *items, uint32_t count)
{
    buf_char(buf, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i) buf_char(buf, ',');
        tagged_print(buf, items[i]);
    }
    buf_char(buf, ']');
}

static void print_object(Buf *buf, Value object)
{
    bool has_strings = true;
    for (uint32_t i = 0; i < object.count; i++) {
        Value key = object.members[i].key;
        has_strings = has_strings && key.kind == VALUE_STRING && utf8_valid_size(value_text(key)) == key.count;
    }
    buf_text(buf, has_strings ? "{" : "{\"$obj\":[");
    for (uint32_t i = 0; i < object.count; i++) {
        if (i) buf_char(buf, ',');
        if (!has_strings) buf_char(buf, '[');
        tagged_print(buf, object.members[i].key);
        buf_char(buf, has_strings ? ':' : ',');
        tagged_print(buf, object.members[i].value);
        if (!has_strings) buf_char(buf, ']');
    }
    buf_text(buf, has_strings ? "}" : "]}");
}

void tagged_print(Buf *buf, Value value)
{
    Error err;
    Str text = value_text(value);
    switch ((ValueKind)value.kind) {
    case VALUE_STRING:
        if (utf8_valid_size(text) == text.len) {
            json_print_string(buf, text);
        } else {
            buf_text(buf, "{\"$hex\":\"");
            buf_hex(buf, (const uint8_t *)text.ptr, text.len);
            buf_text(buf, "\"}");
        }
        return;
    case VALUE_ARRAY:
        print_items(buf, value.items, value.count);
        return;
    case VALUE_SET:
        buf_text(buf, "{\"$set\":");
        print_items(buf, value.items, value.count);
        buf_char(buf, '}');
        return;
    case VALUE_OBJECT:
        print_object(buf, value);
        return;
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
        break;
    }
    EXPECT_OK(json_print(buf, value, JSON_COMPACT, &err), &err);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

const char *result_code(BuiltinResult result)
{
    static const char *const codes[] = {
        [BUILTIN_OK] = "ok",
        [BUILTIN_UNDEFINED] = "undefined",
        [BUILTIN_ERROR] = "eval_builtin_error",
        [BUILTIN_TYPE_ERROR] = "eval_type_error",
        [BUILTIN_CONFLICT] = "eval_conflict_error",
        [BUILTIN_HALT] = "halt",
    };
    return codes[result];
}

/* The zones that rows name, by the rule that holds in the years the rows are about: no row depends on the machine's
 * data. */
static const struct { const char *name, *rule; } zone_rules[] = {
    { "America/New_York", "EST5EDT,M3.2.0,M11.1.0" },
    { "Asia/Kolkata", "IST-5:30" },
    { "Australia/Lord_Howe", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0" },
    { "Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3" },
    { "Europe/Dublin", "IST-1GMT0,M10.5.0,M3.5.0/1" },
};

#define ZONE_COUNT (sizeof zone_rules / sizeof zone_rules[0])

/* A TZif file of version 2 without transitions: two headers with one type each, and the rule as footer. */
static Str zone_bytes(char *storage, size_t size, const char *rule)
{
    Buf buf = buf_on(storage, size);
    for (int i = 0; i < 2; i++) {
        buf_text(&buf, "TZif2");
        buf_repeat(&buf, '\0', 15 + 16);
        buf_bytes(&buf, "\0\0\0\1\0\0\0\4", 8);
        buf_repeat(&buf, '\0', 6 + 4);
    }
    buf_char(&buf, '\n');
    buf_text(&buf, rule);
    buf_char(&buf, '\n');
    return buf_peek(&buf);
}

static Str read_zone(void *owner, Str name)
{
    static char storage[ZONE_COUNT][256];
    for (size_t i = 0; i < ZONE_COUNT; i++)
        if (str_is_text(name, zone_rules[i].name))
            return zone_bytes(storage[i], sizeof storage[i], zone_rules[i].rule);
    return STR("");
}

void rows_context(BuiltinContext *context, Arena *arena, uint64_t *steps)
{
    static const ZoneSource zones = { read_zone, NULL };
    *steps = UINT64_C(1) << 32;
    *context = (BuiltinContext){ .arena = arena, .arena_size_max = SIZE_MAX, .steps_left = steps,
                                 .step_count_max = *steps, .zones = &zones, .environment = { .kind = VALUE_OBJECT } };
}

static void expect_answer(BuiltinContext *context, const Builtin *builtin, Value row, const char *file, int line)
{
    Value args = *value_get_text(row, "a");
    const Value *want = value_get_text(row, "r"), *text = value_get_text(row, "e");
    Str want_code = want ? STR("ok") : value_get_string(row, "c", STR("?"));
    context->now_ns = value_get_int(row, "t", 0);
    Value result = value_null();
    Error err = { 0 };
    BuiltinResult code = builtin_call(builtin, context, args.items, &result, &err);
    test_expect(str_is_text(want_code, result_code(code)), file, line, "%s: got %s (%s), want %.*s", builtin->name,
                result_code(code), err.text, STR_ARG(want_code));
    if (code != BUILTIN_OK && text)
        test_expect_str(str_of(err.text), value_text(*text), builtin->name, file, line);
    if (code != BUILTIN_OK || !want) return;
    Buf got_text, want_text;
    buf_init(&got_text, JSON_SIZE_MAX);
    buf_init(&want_text, JSON_SIZE_MAX);
    tagged_print(&got_text, result);
    tagged_print(&want_text, *want);
    test_expect_str(buf_peek(&got_text), buf_peek(&want_text), builtin->name, file, line);
    buf_deinit(&got_text);
    buf_deinit(&want_text);
}

static void run_row(Str json, const char *path, int line)
{
    Arena arena;
    uint64_t steps;
    BuiltinContext context;
    Value row;
    Error err;
    arena_init(&arena, SIZE_MAX);
    rows_context(&context, &arena, &steps);
    char label[160];
    snprintf(label, sizeof label, "%.*s", STR_ARG(json));
    ROW(label);
    if (test_expect(tagged_read(&arena, json, &row, &err), path, line, "no JSON: %s", err.text)) {
        Str name = value_get_string(row, "f", STR(""));
        const Builtin *builtin = builtin_find(name);
        if (test_expect(builtin != NULL, path, line, "no builtin '%.*s'", STR_ARG(name)))
            expect_answer(&context, builtin, row, path, line);
    }
    ROW(NULL);
    arena_deinit(&arena);
}

void rows_run(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, CASE_ROOT "/rego-builtins/%s.jsonl", name);
    Str text = test_read_file(path);
    int line = 1;
    for (size_t at = 0; at < text.len; line++) {
        size_t end = str_find(text, '\n', at);
        if (end > at) run_row(str_slice(text, at, end), path, line);
        at = end + 1;
    }
    EXPECT(line > 1);
}

/* --- calls of a test --------------------------------------------------------------------------------------------- */

void call_begin(Call *call)
{
    arena_init(&call->arena, SIZE_MAX);
    builtin_cache_init(&call->cache);
    rows_context(&call->context, &call->arena, &call->steps);
    call->context.cache = &call->cache;
    call->result = value_null();
}

void call_end(Call *call)
{
    builtin_cache_deinit(&call->cache);
    arena_deinit(&call->arena);
}

BuiltinResult call_values(Call *call, const char *name, const Value *args)
{
    return builtin_call(builtin_find(str_of(name)), &call->context, args, &call->result, &call->err);
}

BuiltinResult call_run(Call *call, const char *name, const char *arguments)
{
    Value args;
    if (!EXPECT(tagged_read(&call->arena, str_of(arguments), &args, &call->err))) return BUILTIN_HALT;
    return call_values(call, name, args.items);
}
