/* breaker.h - a circuit: whether attempts of one runner for one tenant are worth beginning.
 *
 *             `failures` in a row                    `open_ms` are over
 *   CLOSED ──────────────────────▶ OPEN ───────────────────────────────▶ HALF_OPEN: one attempt at a time tries
 *     ▲                              ▲  it fails: open again, twice as long           │
 *     │                              └───────────────────────────────────────────────┤
 *     └──── it succeeds: closed; a slow start: 2 at a time, after as many successes 4, then 8, ... ──┘
 *
 * What says nothing about the runner is not told: a circuit that is half open stays so, for the next attempt to try. Nor does it count what
 * began before it was last half open, neither as one under way nor by its outcome: that says how things were, and a long attempt of
 * that time neither holds back the one that tries nor decides for it. Each half-open time begins a round, which attempts remember.
 *
 * It is told of outcomes by whoever sees them, never by a carrier, and only answers whether one more may begin: what it holds back
 * waits, and nothing is failed or dropped by it. Kept in memory: a new process begins with closed circuits.
 *
 * Owns: nothing.     Fails: never.     Bounds: BREAKER_OPEN_MS_MAX.     Thread: pure, any.
 */
#ifndef ENGINE_BREAKER_H
#define ENGINE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum BreakerState { BREAKER_CLOSED, BREAKER_OPEN, BREAKER_HALF_OPEN, BREAKER_STATE_COUNT } BreakerState;

typedef struct BreakerTerms { uint32_t failure_max; int64_t open_ms; } BreakerTerms;

typedef struct Breaker {
    uint8_t state;                  /* a BreakerState */
    uint32_t failure_count;         /* in a row */
    uint32_t slow_max, slow_left;   /* of a slow start: so many at a time, until so many more have succeeded; 0: it is over */
    uint32_t round, under_way;      /* how often it was half open; what has begun since */
    int64_t open_ms, until_ms;      /* how long it was opened for; until when */
} Breaker;

/* Whether one more may begin beside `promised`. `out_due_ms`: where not, when to ask again; INT64_MAX: when one has ended. */
bool breaker_permits(Breaker *breaker, uint32_t promised, int64_t now_ms, int64_t *out_due_ms);
uint32_t breaker_begin(Breaker *breaker);                   /* the round that the attempt is of */
void breaker_end(Breaker *breaker, uint32_t round);         /* whatever became of it */
void breaker_failed(Breaker *breaker, uint32_t round, const BreakerTerms *terms, int64_t now_ms);
void breaker_succeeded(Breaker *breaker, uint32_t round);
const char *breaker_state_name(BreakerState state);     /* "closed", "open", "half-open" */

/* So many in so long: no window of `per_ms`, wherever it begins, has more than `count`, and as many may begin at once. The window is
 * kept in slots, so that a place is free again after `per_ms` and at most one slot. Kept in memory: a new process begins with none. */
#define RATE_SLOT_COUNT 64              /* of a window */
#define RATE_RING_COUNT (RATE_SLOT_COUNT + 2)
typedef struct Rate { int64_t slot, at_ms; uint32_t counts[RATE_RING_COUNT]; } Rate;        /* the last slot; when the last one began */
typedef struct RateTerms { int64_t count, per_ms; } RateTerms;

/* Whether one more may begin beside `promised`; where not, when. */
bool rate_permits(Rate *rate, const RateTerms *terms, uint32_t promised, int64_t now_ms, int64_t *out_due_ms);
void rate_take(Rate *rate, const RateTerms *terms, int64_t now_ms);

#endif
