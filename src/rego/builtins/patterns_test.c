/* Regular expressions as builtins, and the cache that they share with others. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/builtins/cache.h"
#include "rego/builtins/rows_test.h"

TEST(patterns_match_as_in_opa, "") { rows_run("regex"); }

static BuiltinResult match(Call *call, const char *pattern, const char *text)
{
    Value args[] = { value_string(str_of(pattern)), value_string(str_of(text)) };
    return call_values(call, "regex.match", args);
}

TEST(a_pattern_seen_before_costs_the_same_steps, "")
{
    Call call;
    call_begin(&call);
    uint64_t before = call.steps;
    EXPECT_INT(match(&call, "^[a-z]+$", "hello"), BUILTIN_OK);
    uint64_t first = before - call.steps;
    before = call.steps;
    EXPECT_INT(call.cache.item_count, 1);
    EXPECT_INT(match(&call, "^[a-z]+$", "hello"), BUILTIN_OK);
    EXPECT_INT(before - call.steps, first);
    EXPECT_INT(call.cache.item_count, 1);
    EXPECT(value_is_true(call.result));
    /* And so does the same call without any cache. */
    call.context.cache = NULL;
    before = call.steps;
    EXPECT_INT(match(&call, "^[a-z]+$", "hello"), BUILTIN_OK);
    EXPECT_INT(before - call.steps, first);
    call_end(&call);
}

TEST(a_full_cache_forgets_and_goes_on, "")
{
    Call call;
    call_begin(&call);
    for (int i = 0; i < 3 * (int)BUILTIN_CACHE_COUNT_MAX; i++) {
        char pattern[32], text[32];
        snprintf(pattern, sizeof pattern, "^%d$", i);
        snprintf(text, sizeof text, "%d", i);
            EXPECT_INT(match(&call, pattern, text), BUILTIN_OK);
        EXPECT(value_is_true(call.result));
    }
    EXPECT(call.cache.item_count <= BUILTIN_CACHE_COUNT_MAX);
    EXPECT(call.cache.arena.size < 2 * BUILTIN_CACHE_SIZE_MAX);
    call_end(&call);
}

TEST(a_hostile_pattern_is_stopped_by_the_budget, "")
{
    Call call;
    call_begin(&call);
    static char text[1 << 20];
    memset(text, 'a', sizeof text - 1);
    Value args[] = { value_string(STR("(a*)*b|a")), value_string((Str){ text, sizeof text - 1 }), value_int(-1) };
    call.steps = 5000000;        /* every match looks to the end of the text: quadratic */
    EXPECT_INT(call_values(&call, "regex.find_n", args), BUILTIN_HALT);
    EXPECT_INT(call.steps, 0);
    call.steps = 100;
    EXPECT_INT(match(&call, "x", text), BUILTIN_HALT);
    atomic_bool stop = true;
    call.context.stop = &stop;
    call.steps = UINT64_C(1) << 40;
    EXPECT_INT(match(&call, "x", "y"), BUILTIN_HALT);
    call_end(&call);
}

TEST(texts_that_are_no_utf8_are_matched_byte_by_byte, "")
{
    Call call;
    call_begin(&call);
    EXPECT_INT(match(&call, "^a..b$", "a\xff\xfe" "b"), BUILTIN_OK);
    EXPECT(value_is_true(call.result));
    EXPECT_INT(match(&call, "(?m)^\\B", "\n\x80"), BUILTIN_OK);
    EXPECT_INT(match(&call, "\xff", "\xff"), BUILTIN_ERROR);
    EXPECT(strstr(call.err.text, "invalid UTF-8") != NULL);
    call_end(&call);
}
