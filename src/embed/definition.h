/* definition.h - what a compiled definition holds: its plan as the engine takes it.
 *
 * Owns:   its texts, until maestro_definition_free().     Fails: see include/maestro.h.
 * Thread: any; it does not change.
 */
#ifndef EMBED_DEFINITION_H
#define EMBED_DEFINITION_H

#include "base/arena.h"
#include "base/buf.h"
#include "embed/embed.h"
#include "value/value.h"

struct MaestroDefinition {
    Buf document;                       /* canonical JSON */
    Buf tenant;
    Arena arena;                        /* of `guarded` */
    Value guarded;                      /* the document again, where it names policies; else null */
};

#endif
