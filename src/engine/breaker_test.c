#include "engine/breaker.h"

#include "base/limits.h"
#include "harness/test.h"

static const BreakerTerms terms = { 3, 1000 };

/* Attempts that begin and fail at once. */
static void fail(Breaker *breaker, int count, int64_t now)
{
    for (int i = 0; i < count; i++) {
        uint32_t round = breaker_begin(breaker);
        breaker_failed(breaker, round, &terms, now);
        breaker_end(breaker, round);
    }
}

static void succeed(Breaker *breaker, uint32_t round)
{
    breaker_succeeded(breaker, round);
    breaker_end(breaker, round);
}

TEST(a_circuit_opens_by_failures_in_a_row_and_closes_by_a_probe, "proves: R-108 F-109")
{
    Breaker breaker = { 0 };
    int64_t due;
    fail(&breaker, 2, 0);
    succeed(&breaker, breaker_begin(&breaker));                 /* in a row, not in all */
    fail(&breaker, 2, 0);
    EXPECT(breaker_permits(&breaker, 100, 0, &due));
    fail(&breaker, 1, 0);
    EXPECT(!breaker_permits(&breaker, 0, 999, &due));
    EXPECT_INT(due, 1000);
    EXPECT(breaker_permits(&breaker, 0, 1000, &due));
    EXPECT_STR(str_of(breaker_state_name((BreakerState)breaker.state)), STR("half-open"));
    EXPECT(!breaker_permits(&breaker, 1, 1000, &due));          /* one at a time, and what is promised counts */
    uint32_t probe = breaker_begin(&breaker);
    EXPECT(!breaker_permits(&breaker, 0, 1000, &due));
    EXPECT_INT(due, INT64_MAX);
    breaker_end(&breaker, probe);                               /* it said nothing: the next one tries */
    EXPECT(breaker_permits(&breaker, 0, 1000, &due));
    fail(&breaker, 1, 1000);                                    /* open again, for twice as long */
    EXPECT(!breaker_permits(&breaker, 0, 2999, &due));
    EXPECT(breaker_permits(&breaker, 0, 3000, &due));
    succeed(&breaker, breaker_begin(&breaker));
    EXPECT_INT(breaker.state, BREAKER_CLOSED);
}

TEST(what_began_before_a_circuit_was_half_open_neither_holds_back_the_probe_nor_decides_for_it, "proves: R-108")
{
    static const struct { const char *name; bool is_success; } rows[] = { { "a late success", true }, { "a late failure", false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Breaker breaker = { 0 };
        int64_t due;
        uint32_t old[4];
        for (int k = 0; k < 4; k++) old[k] = breaker_begin(&breaker);
        fail(&breaker, 3, 0);
        EXPECT(!breaker_permits(&breaker, 0, 0, &due));
        breaker_succeeded(&breaker, old[0]);                    /* nothing closes it but a probe */
        breaker_end(&breaker, old[0]);
        EXPECT_INT(breaker.state, BREAKER_OPEN);
        EXPECT_INT(breaker.failure_count, 3);
        EXPECT(breaker_permits(&breaker, 0, 1000, &due));       /* three of them are under way still */
        uint32_t probe = breaker_begin(&breaker);
        if (rows[i].is_success) breaker_succeeded(&breaker, old[1]);
        else breaker_failed(&breaker, old[1], &terms, 1000);
        breaker_end(&breaker, old[1]);
        EXPECT_INT(breaker.state, BREAKER_HALF_OPEN);
        EXPECT(!breaker_permits(&breaker, 0, 1000, &due));      /* nor does its end make room for another probe */
        succeed(&breaker, probe);
        EXPECT_INT(breaker.state, BREAKER_CLOSED);
        EXPECT(breaker_permits(&breaker, 1, 1000, &due));       /* two at a time, beside the two that are left */
        EXPECT(!breaker_permits(&breaker, 2, 1000, &due));
        for (int k = 2; k < 4; k++) {
            breaker_failed(&breaker, old[k], &terms, 1000);
            breaker_end(&breaker, old[k]);
        }
        EXPECT_INT(breaker.failure_count, 0);
        EXPECT_INT(breaker.under_way, 0);
    }
}

TEST(a_circuit_that_closes_begins_slowly_and_doubles_after_as_many_successes, "proves: R-108")
{
    Breaker breaker = { .state = BREAKER_HALF_OPEN };
    int64_t due;
    succeed(&breaker, breaker_begin(&breaker));
    for (uint32_t most = 2; most <= 256; most *= 2)
        for (uint32_t done = 0; done < most; done++) {
            EXPECT(breaker_permits(&breaker, most - 1, 0, &due));
            EXPECT(!breaker_permits(&breaker, most, 0, &due));
            succeed(&breaker, breaker_begin(&breaker));
        }
    EXPECT(breaker_permits(&breaker, 100000, 0, &due));
}

TEST(a_circuit_is_never_open_for_longer_than_its_bound, "")
{
    Breaker breaker = { 0 };
    int64_t now = 0, due;
    fail(&breaker, 3, now);
    for (int i = 0; i < 40; i++) {
        now = breaker.until_ms;
        EXPECT(breaker_permits(&breaker, 0, now, &due));
        fail(&breaker, 1, now);
        EXPECT(breaker.until_ms - now <= BREAKER_OPEN_MS_MAX);
    }
}

/* Everything that asks as often as it can; begins when it is permitted. */
static uint32_t begin_all(Rate *rate, const RateTerms *bound, int64_t from, int64_t until, int64_t *begun)
{
    uint32_t count = 0;
    for (int64_t now = from, due; now < until; now = due > now ? due : now)
        if (rate_permits(rate, bound, 0, now, &due)) {
            rate_take(rate, bound, now);
            begun[count++] = now;
        }
    return count;
}

TEST(a_rate_permits_so_many_in_every_window, "")
{
    static const struct { const char *name; RateTerms terms; } rows[] = {
        { "5/s", { 5, 1000 } }, { "10/s", { 10, 1000 } }, { "1/s", { 1, 1000 } }, { "3 in 10 ms", { 3, 10 } },
        { "100/m", { 100, 60000 } }, { "7/h", { 7, 3600000 } },
    };
    static int64_t begun[4096];
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int64_t from = 1000000; from < 1000003; from++) {
            ROW(rows[r].name);
            const RateTerms *bound = &rows[r].terms;
            Rate rate = { 0 };
            uint32_t count = begin_all(&rate, bound, from, from + 20 * bound->per_ms, begun);
            for (uint32_t i = (uint32_t)bound->count; i < count; i++)
                EXPECT(begun[i] - begun[i - (uint32_t)bound->count] >= bound->per_ms);
            for (uint32_t i = 0; i < bound->count; i++) EXPECT_INT(begun[i], from);        /* as many as that at once */
            EXPECT(count >= (uint32_t)(18 * bound->count));                                 /* and nothing is given away */
        }
}

TEST(a_rate_counts_exactly, "")
{
    RateTerms five = { 5, 1000 };
    Rate rate = { 0 };
    int64_t begun[64], due;
    EXPECT_INT(begin_all(&rate, &five, 1000000, 1001000, begun), 5);           /* none but these before the end of the first second */
    EXPECT_INT(begin_all(&rate, &five, 1001000, 1002000, begun), 5);
    EXPECT(begun[0] <= 1001000 + 16);                                           /* after it, and a slot at most */
    rate_permits(&rate, &five, 0, 1009000, &due);
    EXPECT(rate_permits(&rate, &five, 4, 1009000, &due));
    EXPECT(!rate_permits(&rate, &five, 5, 1009000, &due));                      /* what is promised counts */
    EXPECT(due > 1009000);
    for (int i = 0; i < 3; i++) rate_take(&rate, &five, 1009000);
    for (int i = 0; i < 2; i++) rate_take(&rate, &five, 1009500);
    EXPECT(!rate_permits(&rate, &five, 0, 1009999, &due));
    EXPECT(rate_permits(&rate, &five, 2, due, &due));                           /* three places are free again at once, and no more */
    rate_permits(&rate, &five, 0, 1010016, &due);
    EXPECT(!rate_permits(&rate, &five, 3, 1010016, &due));
}
