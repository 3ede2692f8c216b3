#include "engine/breaker.h"

#include "base/limits.h"

#define SLOW_START_FIRST 2u
#define SLOW_START_LAST 256u

static const char *const names[BREAKER_STATE_COUNT] = { "closed", "open", "half-open" };

bool breaker_permits(Breaker *breaker, uint32_t promised, int64_t now_ms, int64_t *out_due_ms)
{
    if (breaker->state == BREAKER_OPEN && now_ms >= breaker->until_ms) {
        breaker->state = BREAKER_HALF_OPEN;
        breaker->round++;
        breaker->under_way = 0;
    }
    uint32_t count = breaker->under_way + promised;
    *out_due_ms = breaker->state == BREAKER_OPEN ? breaker->until_ms : INT64_MAX;
    if (breaker->state == BREAKER_CLOSED) return !breaker->slow_max || count < breaker->slow_max;
    return breaker->state == BREAKER_HALF_OPEN && !count;
}

uint32_t breaker_begin(Breaker *breaker)
{
    breaker->under_way++;
    return breaker->round;
}

void breaker_end(Breaker *breaker, uint32_t round)
{
    if (round == breaker->round) breaker->under_way--;
}

void breaker_failed(Breaker *breaker, uint32_t round, const BreakerTerms *terms, int64_t now_ms)
{
    if (round != breaker->round) return;
    breaker->failure_count++;
    if (breaker->state == BREAKER_OPEN) return;                 /* of one that began before it was opened */
    if (breaker->state == BREAKER_CLOSED && breaker->failure_count < terms->failure_max) return;
    bool is_again = breaker->state == BREAKER_HALF_OPEN;
    breaker->open_ms = is_again ? breaker->open_ms * 2 : terms->open_ms;
    if (breaker->open_ms > BREAKER_OPEN_MS_MAX) breaker->open_ms = BREAKER_OPEN_MS_MAX;
    breaker->state = BREAKER_OPEN;
    breaker->until_ms = now_ms + breaker->open_ms;
}

void breaker_succeeded(Breaker *breaker, uint32_t round)
{
    if (round != breaker->round || breaker->state == BREAKER_OPEN) return;
    breaker->failure_count = 0;
    if (breaker->state == BREAKER_HALF_OPEN) {
        breaker->state = BREAKER_CLOSED;
        breaker->slow_max = breaker->slow_left = SLOW_START_FIRST;
    } else if (breaker->slow_max && --breaker->slow_left == 0) {
        breaker->slow_max = breaker->slow_left = breaker->slow_max < SLOW_START_LAST ? breaker->slow_max * 2 : 0;
    }
}

const char *breaker_state_name(BreakerState state)
{
    return names[state];
}

/* --- rates ---------------------------------------------------------------------------------------------------------------- */

static int64_t slot_ms(const RateTerms *terms)
{
    return (terms->per_ms + RATE_SLOT_COUNT - 1) / RATE_SLOT_COUNT;
}

/* Slots that have passed since the last look hold nothing any more. Of a time that goes back nothing is forgotten. */
static void rate_move(Rate *rate, int64_t slot)
{
    int64_t passed = slot - rate->slot;
    if (passed <= 0) return;
    for (int64_t i = 1; i <= passed && i <= RATE_RING_COUNT; i++) rate->counts[(rate->slot + i) % RATE_RING_COUNT] = 0;
    rate->slot = slot;
}

bool rate_permits(Rate *rate, const RateTerms *terms, uint32_t promised, int64_t now_ms, int64_t *out_due_ms)
{
    int64_t size = slot_ms(terms), count = 0;
    rate_move(rate, now_ms / size);
    /* The slot in which the window begins counts whole: what began in it before the window costs a part of a slot, and no more. */
    int64_t first = (now_ms - terms->per_ms + 1) / size;
    if (first < 0) first = 0;
    for (int64_t slot = first; slot <= rate->slot; slot++) count += rate->counts[slot % RATE_RING_COUNT];
    *out_due_ms = now_ms;
    if (count + promised < terms->count) return true;
    int64_t slot = first;
    while (slot < rate->slot && count + promised >= terms->count) count -= rate->counts[slot++ % RATE_RING_COUNT];
    int64_t last = count + promised >= terms->count ? rate->slot : slot - 1;       /* the one that has to be over */
    *out_due_ms = (last + 1) * size + terms->per_ms - 1;
    return false;
}

void rate_take(Rate *rate, const RateTerms *terms, int64_t now_ms)
{
    rate_move(rate, now_ms / slot_ms(terms));
    rate->counts[rate->slot % RATE_RING_COUNT]++;
    rate->at_ms = now_ms;
}
