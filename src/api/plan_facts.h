/* plan_facts.h - a few facts of plans, so that the server's thread need not read them.
 *
 * A plan may have a hundred thousand steps and takes a second to read. What is asked of it again and again is little: whether its revision is
 * large, and of a trigger that a run awaits whether it may do without. A plan never changes, so its facts are remembered by its digest, whoever has
 * read it: the thread beside the server's, where that is possible.
 *
 * Owns:   a table of fixed size; names of triggers are copied.
 * Bounds: API_PLAN_FACT_COUNT; one takes the place of another that fell to the same place, and what is forgotten is read again.
 * Fails:  never.     Thread: any.
 */
#ifndef API_PLAN_FACTS_H
#define API_PLAN_FACTS_H

#include "core/plan.h"

typedef struct PlanFacts PlanFacts;

typedef struct PlanFact {
    bool is_large;                  /* of no trigger: a revision of it is shown beside the server's thread */
    bool is_plain;                  /* pauses for the trigger ask nothing of its payload */
    bool takes_token;               /* it may be sent with a bearer token */
} PlanFact;

PlanFacts *plan_facts_new(void);
void plan_facts_free(PlanFacts *facts);         /* NULL is permitted */

/* What is known of the plan of that digest, and of a trigger of it; with an empty name of the plan itself. False: nothing. */
bool plan_facts_find(PlanFacts *facts, const Digest *digest, Str trigger, PlanFact *out_fact);
void plan_facts_put(PlanFacts *facts, const Digest *digest, Str trigger, PlanFact fact);
/* What a plan says of a trigger that its runs await. */
PlanFact plan_fact_of(const Plan *plan, Str trigger);

#endif
