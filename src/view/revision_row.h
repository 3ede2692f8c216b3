/* revision_row.h - what the row of a revision shows of its plan: name, description, parameters, steps.
 *
 * Written when a revision is stored, and made again when a store is verified: the plan has a digest, and these follow from it.
 *
 * Owns: texts live in the arena given, or in the document.     Fails: never.     Thread: pure, any.
 */
#ifndef VIEW_REVISION_ROW_H
#define VIEW_REVISION_ROW_H

#include "base/arena.h"
#include "value/value.h"
#include "view/store.h"

/* Fills these four of the cells by column. `workflow` is the name where the document has none. */
void revision_row_describe(Arena *arena, Value document, Str workflow, Cell *cells);

#endif
