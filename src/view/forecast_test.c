#include "view/forecast.h"

#include "harness/test.h"
#include "value/json.h"

#define TASK(id) "{\"id\":\"" id "\",\"kind\":\"task\",\"name\":\"" id "\",\"run\":\"noop\"}"

/*  a -> b -> d
 *   \-> c -/      */
static const char diamond[] = "{\"format\":1,\"kind\":\"workflow\",\"id\":\"w\",\"tenant\":\"t\",\"jobs\":[],\"steps\":["
    TASK("a") "," TASK("b") "," TASK("c") "," TASK("d") "],\"edges\":[[0,1,\"order\"],[0,2,\"order\"],[1,3,\"order\"],[2,3,\"order\"]],"
    "\"loops\":[]}";

#define HOUR 3600000

TEST(what_is_left_is_the_longest_way_through_what_has_not_ended, "proves: F-127")
{
    static const struct {
        const char *name;
        ForecastStep steps[4];
        int64_t left_ms, left_micro;
        uint32_t left_count, unknown_count;
    } rows[] = {
        { "nothing has begun", { { .usual_ms = 10 }, { .usual_ms = 100 }, { .usual_ms = 30 }, { .usual_ms = 5 } }, 115, 0, 4, 0 },
        { "the shorter of two ways is under way", { { .is_over = true, .usual_ms = 10 }, { .is_over = true, .usual_ms = 100 },
          { .usual_ms = 30, .elapsed_ms = 12 }, { .usual_ms = 5 } }, 23, 0, 2, 0 },
        { "it takes longer than it used to", { { .is_over = true, .usual_ms = 10 }, { .usual_ms = 100, .elapsed_ms = 500 },
          { .is_over = true, .usual_ms = 30 }, { .usual_ms = 5 } }, 5, 0, 2, 0 },
        { "of some nothing is known", { { .usual_ms = 10 }, { .usual_ms = FORECAST_UNKNOWN }, { .usual_ms = 30 },
          { .usual_ms = FORECAST_UNKNOWN, .elapsed_ms = 7 } }, 40, 0, 4, 2 },
        { "nothing is left", { { .is_over = true }, { .is_over = true }, { .is_over = true }, { .is_over = true } }, 0, 0, 0, 0 },
        { "every step that is left costs its time", { { .is_over = true, .usual_ms = HOUR, .hour_micro = 1000000 },
          { .usual_ms = HOUR, .elapsed_ms = HOUR / 2, .hour_micro = 3000000 }, { .usual_ms = 2 * HOUR, .hour_micro = 1000001 },
          { .usual_ms = 5 } }, 2 * HOUR + 5, 3500002, 3, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        Value document;
        Plan plan;
        Error err;
        ROW(rows[i].name);
        arena_init(&arena, SIZE_MAX);
        REQUIRE_OK(json_parse(&arena, str_of(diamond), &document, &err), &err);
        REQUIRE_OK(plan_read(&arena, document, &plan, &err), &err);
        Forecast forecast = forecast_of(&plan, rows[i].steps, &arena);
        EXPECT_INT(forecast.left_ms, rows[i].left_ms);
        EXPECT_INT(forecast.left_micro, rows[i].left_micro);
        EXPECT_INT(forecast.left_count, rows[i].left_count);
        EXPECT_INT(forecast.unknown_count, rows[i].unknown_count);
        arena_deinit(&arena);
    }
}

TEST(the_median_is_the_middle_whatever_the_order, "")
{
    static const struct { const char *name; int64_t measured[5]; size_t count; int64_t want; } rows[] = {
        { "nothing", { 0 }, 0, FORECAST_UNKNOWN },      { "one", { 7 }, 1, 7 },
        { "the lower one of two", { 9, 4 }, 2, 4 },     { "one that was stuck", { 5, 900000, 6, 4, 5 }, 5, 5 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t measured[5];
        ROW(rows[i].name);
        for (size_t k = 0; k < 5; k++) measured[k] = rows[i].measured[k];
        EXPECT_INT(forecast_median(measured, rows[i].count), rows[i].want);
    }
}
