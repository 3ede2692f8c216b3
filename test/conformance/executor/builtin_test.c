/* The built-in runners as an executor, and what only they have. */
#include "exec/builtin/builtin.h"

#include "conformance/executor/suite.h"
#include "os/clock.h"

static Status open_builtin(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    BuiltinOptions options = { .name = STR("built-in"), .sink = sink, .capacity = capacity };
    return builtin_executor_open(&options, out_executor, err);
}

static const Subject builtin = {
    .name = "builtin", .open = open_builtin, .is_instant = true,
    .works = { [WORK_SUCCEEDS] = { "noop", NULL, "{\"output\":{\"answer\":42}}" },
               [WORK_FAILS_PERMANENT] = { "unheard-of", NULL, NULL }, [WORK_FAILS_INPUT] = { "log", NULL, "{\"message\":5}" },
               [WORK_LOGS] = { "log", NULL, "{\"message\":\"a line of its log\"}" },
               [WORK_TAKES_LONG] = { "sleep", NULL, "{\"duration\":\"1m\"}" } },
};
EXECUTOR_CASES(builtin)

TEST(builtin_sleep_takes_the_time_it_is_given, "")
{
    static const struct { const char *name, *input; int64_t ms; bool is_right; } cases[] = {
        { "a duration", "{\"duration\":\"120ms\"}", 120, true }, { "seconds", "{\"duration\":0.12}", 120, true },
        { "the input itself", "\"120ms\"", 120, true },           { "no time", "{\"duration\":0}", 0, true },
        { "a whole number", "0", 0, true },                       { "a wrong unit", "{\"duration\":\"5 lightyears\"}", 0, false },
        { "nothing", "{}", 0, false },                            { "less than nothing", "{\"duration\":-1}", 0, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Stand stand;
        uint64_t start_ns = clock_monotonic_ns();
        if (stand_open(&stand, &builtin, 4) && EXPECT(stand_execute(&stand, 1, (Work){ "sleep", NULL, cases[i].input }))
            && EXPECT(stand_await(&stand, 1, 0))) {
            EXPECT_INT(stand_report(&stand, 1)->cause, cases[i].is_right ? CAUSE_NONE : CAUSE_INPUT_INVALID);
            EXPECT((int64_t)((clock_monotonic_ns() - start_ns) / 1000000) >= cases[i].ms - 2);
        }
        stand_take_down(&stand);
    }
}

/* The engine's clock and no other: a simulated hour is over at once. */
TEST(builtin_sleepers_wake_in_the_order_of_their_times_by_the_clock_of_the_engine, "")
{
    Stand stand;
    if (stand_open(&stand, &builtin, 100)) {
        static const char *const inputs[] = { "\"3h\"", "\"1h\"", "\"2h\"" };
        for (uint32_t i = 0; i < 3; i++) {
            Attempt attempt = stand_attempt(&stand, i, (Work){ "sleep", NULL, inputs[i] });
            attempt.steady_ms = 1000;
            EXPECT(stand.executor->ops->execute(stand.executor, &attempt));
        }
        static const struct { int64_t steady_ms; int reports; } turns[] = {
            { 1000, 0 }, { 3600999, 0 }, { 3601000, 1 }, { 3601000, 0 }, { 100000000, 2 },
        };
        static const uint32_t want[] = { 1, 2, 0 };
        int count = 0;
        for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
            stand.executor->ops->turn(stand.executor, turns[i].steady_ms);
            int got = 0;
            for (Notice notice; notice_ring_take(stand.ring, &notice); got++)
                EXPECT_INT(notice.id.step, want[count + got]);
            EXPECT_INT(got, turns[i].reports);
            count += got;
        }
    }
    stand_take_down(&stand);
}

TEST(builtin_noop_without_an_output_gives_null, "")
{
    Stand stand;
    if (stand_open(&stand, &builtin, 4) && EXPECT(stand_execute(&stand, 1, (Work){ "noop", NULL, "{\"x\":1}" }))
        && EXPECT(stand_await(&stand, 1, 0)))
        EXPECT_STR(stand_json(&stand, stand_report(&stand, 1)->output), STR("null"));
    stand_take_down(&stand);
}

TEST(builtin_offers_log_noop_and_sleep_alone, "")
{
    EXPECT(builtin_executor_offers(STR("log")));
    EXPECT(builtin_executor_offers(STR("noop")));
    EXPECT(builtin_executor_offers(STR("sleep")));
    EXPECT(!builtin_executor_offers(STR("shell")));
    EXPECT(!builtin_executor_offers(STR("")));
}
