#include "base/trace.h"

#include <stdio.h>
#include <string.h>

#include "harness/test.h"
#include "value/json.h"
#include "value/number.h"

#define GOOD "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

TEST(a_traceparent_is_taken_as_the_recommendation_says, "proves: F-017")
{
    static const struct { const char *text; bool is_good; } cases[] = {
        { GOOD, true }, { " \t" GOOD "\t", true }, { "", false }, { GOOD "-", false }, { GOOD "0", false },
        { "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true },
        { "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more", false },
        { "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false },
        { "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false },
        { "00-00000000000000000000000000000000-b7ad6b7169203331-01", false },
        { "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false },
        { "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false },
        { "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Trace trace;
        EXPECT_INT(trace_read(str_of(cases[i].text), &trace), cases[i].is_good);
    }
}

TEST(what_is_written_is_version_00_with_the_flags_it_knows, "")
{
    Trace trace;
    char text[TRACE_TEXT_SIZE];
    EXPECT(trace_read(STR("7f-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff-x"), &trace));
    EXPECT_STR(trace_print(&trace, text), STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03"));
}

TEST(a_child_has_the_same_trace_and_a_span_of_its_own, "")
{
    Trace trace, again, other;
    char text[TRACE_TEXT_SIZE], second[TRACE_TEXT_SIZE];
    EXPECT(trace_read(STR(GOOD), &trace));
    again = trace_child(&trace, 7);
    other = trace_child(&trace, 8);
    EXPECT(memcmp(again.id, trace.id, sizeof trace.id) == 0);
    EXPECT(memcmp(again.span, trace.span, sizeof trace.span) != 0);
    EXPECT(memcmp(again.span, other.span, sizeof other.span) != 0);
    Trace same = trace_child(&again, 7);            /* of the trace, not of the span */
    EXPECT_STR(trace_print(&same, text), trace_print(&again, second));
    Trace made = trace_make(0), read;
    EXPECT(trace_read(trace_print(&made, text), &read));
}

static Str read_all(Arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return (Str){ 0 };
    char *bytes = arena_bytes(arena, 1u << 20);
    size_t size = fread(bytes, 1, 1u << 20, file);
    fclose(file);
    return (Str){ bytes, size };
}

static bool hex_is(const uint8_t *bytes, size_t count, Str wanted)
{
    char text[64];
    Buf buf = buf_on(text, sizeof text);
    buf_hex(&buf, bytes, count);
    return str_is(buf_peek(&buf), wanted);
}

TEST(traces_are_taken_from_headers_as_the_shared_cases_say, "proves: F-017")
{
    const char *path = test_shared_dir("trace-cases/traceparent.json");
    if (!path) NOT_RUN("the cases are not on this machine");
    Arena arena;
    Value cases;
    Error err;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(json_parse(&arena, read_all(&arena, path), &cases, &err), &err);
    EXPECT(cases.count > 50);
    for (size_t i = 0; i < cases.count; i++) {
        const Value *one = &cases.items[i], *headers = value_get_text(*one, "headers");
        TraceHeader list[8];
        uint32_t count = 0;
        for (; count < headers->count && count < 8; count++)
            list[count] = (TraceHeader){ value_text(headers->items[count].items[0]), value_text(headers->items[count].items[1]) };
        Trace trace;
        bool is_valid = trace_of_headers(list, count, &trace), is_wanted = value_get_bool(*one, "valid", false);
        int64_t flags = -1, version = -1;
        if (is_valid && is_wanted) {
            EXPECT(number_to_int64(*value_get_text(*one, "flags"), &flags) && flags == trace.flags);
            EXPECT(number_to_int64(*value_get_text(*one, "version"), &version) && version == trace.version);
            is_valid = hex_is(trace.id, 16, value_get_string(*one, "trace_id", STR("")))
                    && hex_is(trace.span, 8, value_get_string(*one, "parent_id", STR("")));
        }
        if (is_valid != is_wanted) printf("  case %.*s\n", STR_ARG(value_get_string(*one, "id", STR(""))));
        EXPECT_INT(is_valid, is_wanted);
    }
    arena_deinit(&arena);
}
