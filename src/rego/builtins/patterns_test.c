/* Regular expressions as builtins, and the cache that they share with others. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/builtins/cache.h"
#include "rego/builtins/rows_test.h"

TEST(patterns_match_as_in_opa, "") { rows_run("regex"); }

typedef struct Fixture {
    Arena arena;
    BuiltinCache cache;
    BuiltinContext context;
    uint64_t steps;
    Error err;
} Fixture;

static void fixture_open(Fixture *fixture)
{
    arena_init(&fixture->arena, SIZE_MAX);
    builtin_cache_init(&fixture->cache);
    rows_context(&fixture->context, &fixture->arena, &fixture->steps);
    fixture->context.cache = &fixture->cache;
}

static void fixture_close(Fixture *fixture)
{
    builtin_cache_deinit(&fixture->cache);
    arena_deinit(&fixture->arena);
}

static BuiltinResult match(Fixture *fixture, const char *pattern, const char *text, Value *out)
{
    Value args[] = { value_string(str_of(pattern)), value_string(str_of(text)) };
    return builtin_call(builtin_find(STR("regex.match")), &fixture->context, args, out, &fixture->err);
}

TEST(a_pattern_seen_before_costs_the_same_steps, "")
{
    Fixture fixture;
    fixture_open(&fixture);
    Value answer;
    uint64_t before = fixture.steps;
    EXPECT_INT(match(&fixture, "^[a-z]+$", "hello", &answer), BUILTIN_OK);
    uint64_t first = before - fixture.steps;
    before = fixture.steps;
    EXPECT_INT(fixture.cache.item_count, 1);
    EXPECT_INT(match(&fixture, "^[a-z]+$", "hello", &answer), BUILTIN_OK);
    EXPECT_INT(before - fixture.steps, first);
    EXPECT_INT(fixture.cache.item_count, 1);
    EXPECT(value_is_true(answer));
    /* And so does the same call without any cache. */
    fixture.context.cache = NULL;
    before = fixture.steps;
    EXPECT_INT(match(&fixture, "^[a-z]+$", "hello", &answer), BUILTIN_OK);
    EXPECT_INT(before - fixture.steps, first);
    fixture_close(&fixture);
}

TEST(a_full_cache_forgets_and_goes_on, "")
{
    Fixture fixture;
    fixture_open(&fixture);
    for (int i = 0; i < 3 * (int)BUILTIN_CACHE_COUNT_MAX; i++) {
        char pattern[32], text[32];
        snprintf(pattern, sizeof pattern, "^%d$", i);
        snprintf(text, sizeof text, "%d", i);
        Value answer;
        EXPECT_INT(match(&fixture, pattern, text, &answer), BUILTIN_OK);
        EXPECT(value_is_true(answer));
    }
    EXPECT(fixture.cache.item_count <= BUILTIN_CACHE_COUNT_MAX);
    EXPECT(fixture.cache.arena.size < 2 * BUILTIN_CACHE_SIZE_MAX);
    fixture_close(&fixture);
}

TEST(a_hostile_pattern_is_stopped_by_the_budget, "")
{
    Fixture fixture;
    fixture_open(&fixture);
    static char text[1 << 20];
    memset(text, 'a', sizeof text - 1);
    Value args[] = { value_string(STR("(a*)*b|a")), value_string((Str){ text, sizeof text - 1 }), value_int(-1) };
    Value answer;
    fixture.steps = 5000000;        /* every match looks to the end of the text: quadratic */
    EXPECT_INT(builtin_call(builtin_find(STR("regex.find_n")), &fixture.context, args, &answer, &fixture.err), BUILTIN_HALT);
    EXPECT_INT(fixture.steps, 0);
    fixture.steps = 100;
    EXPECT_INT(match(&fixture, "x", text, &answer), BUILTIN_HALT);
    bool stop = true;
    fixture.context.stop = &stop;
    fixture.steps = UINT64_C(1) << 40;
    EXPECT_INT(match(&fixture, "x", "y", &answer), BUILTIN_HALT);
    fixture_close(&fixture);
}

TEST(texts_that_are_no_utf8_are_matched_byte_by_byte, "")
{
    Fixture fixture;
    fixture_open(&fixture);
    Value answer;
    EXPECT_INT(match(&fixture, "^a..b$", "a\xff\xfe" "b", &answer), BUILTIN_OK);
    EXPECT(value_is_true(answer));
    EXPECT_INT(match(&fixture, "(?m)^\\B", "\n\x80", &answer), BUILTIN_OK);
    EXPECT_INT(match(&fixture, "\xff", "\xff", &answer), BUILTIN_ERROR);
    EXPECT(strstr(fixture.err.text, "invalid UTF-8") != NULL);
    fixture_close(&fixture);
}
