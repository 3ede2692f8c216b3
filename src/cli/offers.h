/* offers.h - with which settings the runners of a plan would work here, as one digest.
 *
 * A plan names runners; what they do is in runners.yaml, which may differ from process to process. Whoever hands a run to
 * another process states this digest, so that a run is never carried out by what only has the same name.
 *
 * Owns: the text lives in the arena.     Fails: never.     Thread: any.
 */
#ifndef CLI_OFFERS_H
#define CLI_OFFERS_H

#include "lang/catalog.h"
#include "value/value.h"

/* Of the plan's document. */
Str offers_digest(Arena *arena, Value document, const Catalog *catalog);

#endif
