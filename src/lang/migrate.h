/* migrate.h - a runbook of the old format (connectors, analysers, execution) as one of artifacts.
 *
 *   connectors:  [{ name: logs, type: filesystem_connector }]        artifacts:
 *   analysers:   [{ name: pda, type: personal_data_analyser }]         logs:  { source: { type: filesystem_connector } }
 *   execution:   [{ id: find, connector: logs, analyser: pda }]        find:  { inputs: logs, transform: { type: ... }, output: true }
 *
 * Each connector that a step uses becomes an artifact with a source, each step an artifact made of it or of the step it
 * names by input_from; steps that no other reads are the results. Every key is carried over, or reported, or both: where a
 * person must decide, the result has a comment that begins with DECIDE, and a diagnostic points at the place in the old
 * file. A warning means that the result validates as far as this file can tell (whether its components exist is known
 * elsewhere); an error, that it does not before the person has decided.
 *
 * Owns:   texts of notes live in the arena given; the YAML is in the caller's buffer.
 * Fails:  by diagnostics, of which there must be none before. Where parts of the file cannot be understood, the buffer stays
 *         empty.
 * Bounds: the buffer's maximum; what is larger is refused and the buffer left empty.     Thread: pure, any.
 */
#ifndef LANG_MIGRATE_H
#define LANG_MIGRATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "lang/diagnostic.h"
#include "lang/node.h"

#define MIGRATE_NOTE_COUNT_MAX 4u       /* one of each kind */

typedef struct MigrateNotes {
    Str items[MIGRATE_NOTE_COUNT_MAX];  /* what was derived or dropped: for the person to know, nothing to decide */
    uint32_t count;
} MigrateNotes;

bool runbook_is_old(const Node *root);

/* The file's name and text are those of the diagnostics. The result is the same for the same file, byte by byte. */
void migrate(Arena *arena, const Node *root, Diagnostics *diagnostics, Buf *out_yaml, MigrateNotes *out_notes);

#endif
