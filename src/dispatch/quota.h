/* quota.h - what a tenant may have: attempts, cores and memory at a time; time and money in a window.
 *
 *   at a time     running, cpu, memory: taken when an attempt begins, given back when it has ended
 *   in a window   runtime, cost: charged while attempts are under way, and begun anew with each window, of which the first begins
 *                 in 1970: window n lasts from n times its length to the next
 *
 * What is lacking holds an attempt back and fails nothing; only what can never fit is refused. What undoes a step is held to what
 * there is at a time, not to time and money: a tenant without money has to be able to clean up.
 *
 * Owns: nothing.     Fails: never.     Bounds: amounts are saturated at QUOTA_AMOUNT_MAX.     Thread: pure, any.
 */
#ifndef DISPATCH_QUOTA_H
#define DISPATCH_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

typedef struct QuotaTerms {             /* 0: without bound */
    int64_t running_max;                /* attempts at a time */
    int64_t cpu_milli_max;              /* thousandths of a core */
    int64_t memory_mb_max;
    int64_t runtime_ms_max;             /* of attempts, in a window */
    bool has_cost_max;                  /* there is a cap, which may be 0 ... */
    int64_t cost_micro_max;             /* ... in millionths, in a window */
    int64_t window_ms;                  /* above 0 */
} QuotaTerms;

/* What one attempt takes while it is under way. */
typedef struct QuotaNeed { int64_t cpu_milli, memory_mb; } QuotaNeed;

typedef struct QuotaUse {
    int64_t running, cpu_milli, memory_mb;
    int64_t window_ms;                  /* when the window began that the rest is of */
    int64_t runtime_ms, cost_micro;
    int64_t price_rest;                 /* of a millionth, in millionths and milliseconds of an hour */
} QuotaUse;

typedef enum QuotaLack {
    QUOTA_ENOUGH, QUOTA_RUNNING, QUOTA_CPU, QUOTA_MEMORY, QUOTA_RUNTIME, QUOTA_COST, QUOTA_LACK_COUNT
} QuotaLack;

/* What one more attempt lacks. */
QuotaLack quota_lack(const QuotaTerms *terms, const QuotaUse *use, const QuotaNeed *need, bool is_undo);
/* What it lacks where nothing else is under way: then it never fits. */
QuotaLack quota_never(const QuotaTerms *terms, const QuotaNeed *need);
/* QUOTA_RUNTIME or QUOTA_COST where those of the window are used up: nothing more begins, and who goes on goes beyond it. */
QuotaLack quota_spent(const QuotaTerms *terms, const QuotaUse *use);
const char *quota_name(QuotaLack lack);         /* "max_concurrency", "cpu", "memory_mb", "runtime", "cost"; of enough "none" */

void quota_take(QuotaUse *use, const QuotaNeed *need);
void quota_give(QuotaUse *use, const QuotaNeed *need);
/* An attempt was under way for so long, at so many millionths an hour. */
void quota_charge(QuotaUse *use, int64_t runtime_ms, int64_t hour_micro);
void quota_pay(QuotaUse *use, int64_t cost_micro);
/* True where a new window has begun. Time that goes back changes nothing. */
bool quota_turn(const QuotaTerms *terms, QuotaUse *use, int64_t now_ms);
int64_t quota_window_end(const QuotaTerms *terms, const QuotaUse *use);

#endif
