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

TEST(a_rate_permits_so_many_in_so_long, "")
{
    Rate rate = { 0 };
    RateTerms ten = { 10, 1000 };
    int64_t due;
    uint32_t count = 0;
    for (int64_t now = 1000000; now < 1010000; now++)
        if (rate_permits(&rate, &ten, 0, now, &due)) {
            rate_take(&rate, &ten);
            count++;
        } else {
            EXPECT(due > now && due <= now + 100);
        }
    EXPECT_INT(count, 109);                                     /* a burst of ten, then ten a second */
    EXPECT(!rate_permits(&rate, &ten, 1000, 2000000, &due));    /* what is promised counts */
}
