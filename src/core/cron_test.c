#include "core/cron.h"

#include <string.h>

#include "harness/test.h"
#include "value/json.h"

TEST(cron_fields_become_sets, "")
{
    Cron cron;
    Error err;
    REQUIRE_OK(cron_parse(STR("*/15 9-17/4 1,15 JAN-MAR mon-fri"), STR(""), &cron, &err), &err);
    EXPECT(cron.minutes == (UINT64_C(1) << 0 | UINT64_C(1) << 15 | UINT64_C(1) << 30 | UINT64_C(1) << 45));
    EXPECT_INT(cron.hours, 1 << 9 | 1 << 13 | 1 << 17);
    EXPECT_INT(cron.days, 1 << 1 | 1 << 15);
    EXPECT_INT(cron.months, 1 << 1 | 1 << 2 | 1 << 3);
    EXPECT_INT(cron.weekdays, 0x3e);
    EXPECT_INT(cron.seconds, 1);
    EXPECT(!cron.any_day && !cron.any_weekday);
    REQUIRE_OK(cron_parse(STR("0 0 ? * 7"), STR(""), &cron, &err), &err);
    EXPECT(cron.any_day);
    EXPECT_INT(cron.weekdays, 1);
    REQUIRE_OK(cron_parse(STR("0 0 L-3,15W,LW * 5L,FRI#2"), STR(""), &cron, &err), &err);
    EXPECT(cron.last_day && cron.last_day_offset == 3 && cron.last_workday && cron.near_workdays == 1u << 15);
    EXPECT_INT(cron.last_weekdays, 1 << 5);
    EXPECT_INT(cron.nth_weekdays[5], 1 << 2);
}

TEST(a_wrong_field_is_named_with_its_column, "")
{
    static const struct { const char *text; uint32_t column; const char *says; } rows[] = {
        { "61 * * * *", 1, "minute: 61 is not from 0 to 59" },
        { "0 0 * * 8", 9, "day of week: 8 is not from 0 to 7" },
        { "0 0 5-2 * *", 8, "runs backwards" },
        { "*/0 * * * *", 4, "at least 1" },
        { "* * *", 1, "five fields" },
        { "* * * * * * *", 13, "more than six" },
        { "@daly", 1, "no macro" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Cron cron;
        Error err;
        ROW(rows[i].text);
        EXPECT_INT(cron_parse(str_of(rows[i].text), STR(""), &cron, &err), ERR_INVALID);
        EXPECT_INT(err.column, rows[i].column);
        EXPECT(strstr(err.text, rows[i].says) != NULL);
    }
}

TEST(the_published_expressions_are_accepted_or_refused, "")
{
    const char *directory = test_shared_dir("schedule-cases/cron.json");
    if (!directory) NOT_RUN("the schedule cases are not on this machine");
    Arena arena;
    Value cases;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(json_parse(&arena, test_read_file(directory), &cases, &err), &err);
    for (uint32_t i = 0; i < cases.count; i++) {
        Str text = value_get_string(cases.items[i], "expr", STR(""));
        bool wrong = value_get_bool(cases.items[i], "error", false);
        Cron cron;
        if (value_get_bool(cases.items[i], "disputed", false)) continue;
        ROW(arena_copy(&arena, text).ptr);
        EXPECT_INT(cron_parse(text, STR("seed"), &cron, &err) != OK, wrong);
        if (!wrong) EXPECT_INT(!cron_can_fire(&cron), value_get_bool(cases.items[i], "never", false));
    }
    arena_deinit(&arena);
}

/* The set of one field of the hashed cases. */
static uint64_t field_set(const Cron *cron, Str field)
{
    if (str_is(field, STR("minute"))) return cron->minutes;
    if (str_is(field, STR("hour"))) return cron->hours;
    if (str_is(field, STR("day_of_month"))) return cron->days;
    return str_is(field, STR("month")) ? cron->months : cron->weekdays;
}

static void check_hashed(Value row, Str seed, uint64_t *seen)
{
    Cron cron;
    Error err;
    if (value_get_bool(row, "error", false)) {
        EXPECT(cron_parse(value_get_string(row, "expr", STR("")), seed, &cron, &err) != OK);
        return;
    }
    REQUIRE_OK(cron_parse(value_get_string(row, "expr", STR("")), seed, &cron, &err), &err);
    uint64_t set = field_set(&cron, value_get_string(row, "field", STR("")));
    const Value *within = value_get_text(row, "within");
    uint64_t low = (uint64_t)within->items[0].integer, high = (uint64_t)within->items[1].integer;
    EXPECT_INT(__builtin_popcountll(set), value_get_int(row, "count", 0));
    EXPECT((uint64_t)__builtin_ctzll(set) >= low && 63 - (uint64_t)__builtin_clzll(set) <= high);
    int64_t spacing = value_get_int(row, "spacing", 0);
    if (spacing) EXPECT((set & set >> spacing) == (set & ((UINT64_C(1) << (63 - __builtin_clzll(set))) - 1)));
    *seen |= set;
}

TEST(a_hashed_value_is_stable_within_bounds_and_spread, "proves: F-037")
{
    const char *path = test_shared_dir("schedule-cases/cron-hash.json");
    if (!path) NOT_RUN("the schedule cases are not on this machine");
    Arena arena;
    Value cases;
    Error err;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(json_parse(&arena, test_read_file(path), &cases, &err), &err);
    for (uint32_t i = 0; i < cases.count; i++) {
        uint64_t seen = 0;
        ROW(arena_copy(&arena, value_get_string(cases.items[i], "expr", STR(""))).ptr);
        for (uint32_t seed = 0; seed < 1000; seed++) {
            char name[16];
            Buf buf = buf_on(name, sizeof name);
            buf_format(&buf, "workflow-%u", seed);
            check_hashed(cases.items[i], buf_peek(&buf), &seen);
        }
        const Value *within = value_get_text(cases.items[i], "within");
        if (!within) continue;
        for (int64_t n = within->items[0].integer; n <= within->items[1].integer; n++) EXPECT(seen >> n & 1);
    }
    arena_deinit(&arena);
}
