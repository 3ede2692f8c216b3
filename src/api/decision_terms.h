/* decision_terms.h - what a decision about a failed execution may say beside itself: which step, what is undone, with which parameters.
 *
 * Each decision takes terms of its own. One that it does not take is refused by its place: whoever retries with other parameters is not told
 * that it is done while the old ones stay.
 *
 * Owns:   nothing.     Fails: by answers.     Thread: the server's.
 */
#ifndef API_DECISION_TERMS_H
#define API_DECISION_TERMS_H

#include "api/api.h"
#include "api/body.h"
#include "core/state.h"

/* Members of a body that may have any of them. */
#define DECISION_REASON { "reason", VALUE_STRING, false }
#define DECISION_STEPS  { "steps", VALUE_ARRAY, false, .is_texts = true, .item_count_min = 1 }
#define DECISION_TERMS \
    { "decision", VALUE_STRING, true }, DECISION_REASON, { "scope", VALUE_STRING, false }, { "mode", VALUE_STRING, false }, \
    { "step", VALUE_STRING, false }, { "includeStep", VALUE_BOOL, false }, DECISION_STEPS, { "unknownEffects", VALUE_STRING, false }, \
    { "parameters", VALUE_OBJECT, false }, { "version", VALUE_INT, false }

/* Which decision `decision` of the body is; false after answering. */
bool decision_read(Call *call, Value body, DecisionKind *out_decision);
/* Adds the terms of that decision, as a petition has them, and the reason; false after answering what it does not take, or misses. */
bool decision_add_terms(Call *call, Value body, DecisionKind decision, MemberList *members);

#endif
