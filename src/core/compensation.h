/* compensation.h - undoing what a run has done: which steps, in which order, one after the other.
 *
 * A step can be undone that declares what undoes it and has done its work: it succeeded, or failed behind its work (at its
 * gate, or after it had committed an effect). Steps are undone in the reverse order of their ending. A step whose effect was
 * announced and of which nobody knows whether it took place holds all of it back, until a person says what is known.
 * A step whose result was another run's (a declared key) is not this run's to undo.
 *
 * The set is planned first, a bounded number of compensations a decision, and then carried out one by one; each has attempts,
 * a deadline and retries of its own. What undoes a step gets, under a key made of the step's own:
 *
 *   input     what is declared; else the step's output, or the effect that it recorded where it failed
 *   context   {"compensation": {"step", "output", "effect", "attempt", "maxAttempts", "reason"}}
 *
 * Owns:   nothing; events and sets live in the decision's arena.
 * Fails:  reports with ERR_CONFLICT where nobody holds that attempt.     Bounds: those of a decision.     Thread: pure, any.
 */
#ifndef CORE_COMPENSATION_H
#define CORE_COMPENSATION_H

#include "core/decide_kinds.h"

typedef struct RollbackPlan {
    CompensationScope scope;
    uint32_t flags;                 /* RollbackFlag */
    uint32_t from;                  /* of SCOPE_FROM_STEP */
    const uint8_t *named;           /* of SCOPE_PARTIAL: a byte a step */
} RollbackPlan;

typedef struct CompensationList {
    const uint32_t *steps;          /* in the order in which they are undone, then those with nothing to undo */
    uint32_t count, undo_count;
    uint32_t unknown;               /* a step of the set whose effect is not known, or STEP_NONE */
} CompensationList;

CompensationList compensation_list(const Plan *plan, const Run *run, const RollbackPlan *wanted, Arena *arena);
/* The rollback that the run is in, or winds down for. `named` lives in the arena. */
RollbackPlan     compensation_wanted(const Run *run, Arena *arena);
/* Why there is nothing to undo about a step that was named; the plan's or constant text. */
Str              compensation_why_none(const Plan *plan, const Run *run, uint32_t step);

/* Ids by commas; empty where they do not fit a text. */
Str  compensation_names(const Plan *plan, const uint8_t *named, Arena *arena);
/* EVENT_COMPENSATION_STARTED, and before it what the table demands where the run waits or is paused. */
void compensation_start(const Settle *settle, const RollbackPlan *wanted, const CompensationList *list, Str reason);

/* What follows while the run is compensating; BEGIN as of steps. */
Advance compensation_advance(const Settle *settle, uint32_t event_count_max);

/* The idempotency key of what undoes the step. */
Str compensation_key(const Plan *plan, const Run *run, uint32_t step, Str declared, Arena *arena);

/* --- what holders of its attempts say, and what time says ------------------------------------------------------------------ */
Status compensation_accept(const Asked *asked, Error *err);
Status compensation_report(const Asked *asked, Error *err);
MUST_USE Status compensation_check_holder(const Asked *asked, Error *err);
void   compensation_timer(const Settle *settle);
void   compensation_orphan(const Settle *settle, Loss loss, Str why);

#endif
