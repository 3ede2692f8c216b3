#include "dispatch/breaker.h"

#include "base/limits.h"

#define SLOW_START_FIRST 2u
#define SLOW_START_LAST 256u

static const char *const names[BREAKER_STATE_COUNT] = { "closed", "open", "half-open" };

bool breaker_permits(Breaker *breaker, uint32_t under_way, int64_t now_ms, int64_t *out_due_ms)
{
    if (breaker->state == BREAKER_OPEN && now_ms >= breaker->until_ms) breaker->state = BREAKER_HALF_OPEN;
    *out_due_ms = breaker->state == BREAKER_OPEN ? breaker->until_ms : INT64_MAX;
    if (breaker->state == BREAKER_CLOSED) return !breaker->slow_max || under_way < breaker->slow_max;
    return breaker->state == BREAKER_HALF_OPEN && !under_way;
}

void breaker_failed(Breaker *breaker, const BreakerTerms *terms, int64_t now_ms)
{
    breaker->failure_count++;
    if (breaker->state == BREAKER_OPEN) return;                 /* of one that began before it was opened */
    if (breaker->state == BREAKER_CLOSED && breaker->failure_count < terms->failure_max) return;
    bool is_again = breaker->state == BREAKER_HALF_OPEN;
    breaker->open_ms = is_again ? breaker->open_ms * 2 : terms->open_ms;
    if (breaker->open_ms > BREAKER_OPEN_MS_MAX) breaker->open_ms = BREAKER_OPEN_MS_MAX;
    breaker->state = BREAKER_OPEN;
    breaker->until_ms = now_ms + breaker->open_ms;
}

void breaker_succeeded(Breaker *breaker)
{
    breaker->failure_count = 0;
    if (breaker->state == BREAKER_HALF_OPEN) {
        breaker->state = BREAKER_CLOSED;
        breaker->slow_max = SLOW_START_FIRST;
    } else if (breaker->state == BREAKER_CLOSED && breaker->slow_max) {
        breaker->slow_max = breaker->slow_max < SLOW_START_LAST ? breaker->slow_max * 2 : 0;
    }
}

const char *breaker_state_name(BreakerState state)
{
    return names[state];
}

/* One costs per_ms / count; the credit is in millionths of a second and never above what per_ms gives. */
static int64_t cost_us(const RateTerms *terms)
{
    int64_t cost = terms->per_ms * 1000 / terms->count;
    return cost ? cost : 1;
}

bool rate_permits(Rate *rate, const RateTerms *terms, uint32_t promised, int64_t now_ms, int64_t *out_due_ms)
{
    int64_t most = terms->per_ms * 1000, passed = now_ms - rate->at_ms;
    if (passed > 0) {
        rate->credit_us = passed >= terms->per_ms || rate->credit_us + passed * 1000 > most ? most : rate->credit_us + passed * 1000;
        rate->at_ms = now_ms;
    }
    int64_t missing = cost_us(terms) * ((int64_t)promised + 1) - rate->credit_us;
    *out_due_ms = missing > 0 ? now_ms + (missing + 999) / 1000 : now_ms;
    return missing <= 0;
}

void rate_take(Rate *rate, const RateTerms *terms)
{
    rate->credit_us -= cost_us(terms);
}
