#include "dispatch/breaker.h"

#include "base/limits.h"
#include "harness/test.h"

static const BreakerTerms terms = { 3, 1000 };

TEST(a_circuit_opens_by_failures_in_a_row_and_closes_by_a_probe, "proves: R-108 F-109")
{
    Breaker breaker = { 0 };
    int64_t due;
    for (int i = 0; i < 2; i++) breaker_failed(&breaker, &terms, 0);
    breaker_succeeded(&breaker);                                /* in a row, not in all */
    for (int i = 0; i < 2; i++) breaker_failed(&breaker, &terms, 0);
    EXPECT(breaker_permits(&breaker, 100, 0, &due));
    breaker_failed(&breaker, &terms, 0);
    EXPECT(!breaker_permits(&breaker, 0, 999, &due));
    EXPECT_INT(due, 1000);
    EXPECT(breaker_permits(&breaker, 0, 1000, &due));
    EXPECT_STR(str_of(breaker_state_name((BreakerState)breaker.state)), STR("half-open"));
    EXPECT(!breaker_permits(&breaker, 1, 1000, &due));          /* one at a time */
    EXPECT_INT(due, INT64_MAX);
    breaker_failed(&breaker, &terms, 1000);                     /* open again, for twice as long */
    EXPECT(!breaker_permits(&breaker, 0, 2999, &due));
    EXPECT(breaker_permits(&breaker, 0, 3000, &due));
    breaker_succeeded(&breaker);
    EXPECT_INT(breaker.state, BREAKER_CLOSED);
}

TEST(a_circuit_that_closes_begins_slowly, "")
{
    Breaker breaker = { .state = BREAKER_HALF_OPEN };
    int64_t due;
    breaker_succeeded(&breaker);
    for (uint32_t most = 2; most <= 256; most *= 2) {
        EXPECT(breaker_permits(&breaker, most - 1, 0, &due));
        EXPECT(!breaker_permits(&breaker, most, 0, &due));
        breaker_succeeded(&breaker);
    }
    EXPECT(breaker_permits(&breaker, 100000, 0, &due));
}

TEST(a_circuit_is_never_open_for_longer_than_its_bound, "")
{
    Breaker breaker = { 0 };
    int64_t now = 0, due;
    for (int i = 0; i < 3; i++) breaker_failed(&breaker, &terms, now);
    for (int i = 0; i < 40; i++) {
        now = breaker.until_ms;
        EXPECT(breaker_permits(&breaker, 0, now, &due));
        breaker_failed(&breaker, &terms, now);
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
        { "5/s", { 5, 1000 } }, { "10/s", { 10, 1000 } }, { "1/s", { 1, 1000 } }, { "3 in 10 ms", { 3, 10 } }, { "100/m", { 100, 60000 } }, { "7/h", { 7, 3600000 } },
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
