/* offers.h - with which settings the runners of a plan would work here, and under which policies, as one digest.
 *
 * A plan names runners and policies; what they do is in runners.yaml, which may differ from process to process. Whoever hands
 * a run to another process states this digest, so that a run is never carried out by what only has the same name, nor under
 * other policies.
 *
 * Owns: the text lives in the arena.     Fails: never.     Thread: any.
 */
#ifndef CLI_OFFERS_H
#define CLI_OFFERS_H

#include "lang/catalog.h"
#include "policy/guard.h"
#include "value/value.h"

/* What a process works with. */
typedef struct OfferScope {
    const Catalog *catalog;             /* NULL: only what is built in */
    Guard *guard;                       /* NULL: no policies */
} OfferScope;

/* Of the plan's document. */
Str offers_digest(Arena *arena, Value document, const OfferScope *scope);

#endif
