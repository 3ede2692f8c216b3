/* id_derive.h - public ids that follow from what they name.
 *
 * Step runs, decisions and payloads have ids like runs do, but no chance is in them: they are the hash of the run's id, the
 * kind of thing and its number in the run, so that a replay gives the same ones.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef VIEW_ID_DERIVE_H
#define VIEW_ID_DERIVE_H

#include "base/id.h"

typedef enum DerivedKind {
    DERIVED_STEP_RUN,               /* ordinal: its number in the run */
    DERIVED_BRANCH,                 /* ordinal of these: the number of their event in the run */
    DERIVED_DECISION,
    DERIVED_TRIGGER,
    DERIVED_POLL,
    DERIVED_COMPENSATION,
    DERIVED_KIND_COUNT
} DerivedKind;

Id id_derive(const Id *run_id, DerivedKind kind, uint64_t ordinal);

#endif
