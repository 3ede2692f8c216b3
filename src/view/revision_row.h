/* revision_row.h - what the row of a revision shows of its plan: name, description, triggers, parameters, steps; and which row others rely on.
 *
 * Written when a revision is stored, and made again when a store is verified: the plan has a digest, and these follow from it. Whoever
 * wants to know by what and with what a workflow is started reads its triggers and parameters here: a plan has a hundred thousand steps, and the
 * row tells it without them.
 *
 * Owns:   texts live in the arena given, or in the document; rows and lists in the arena.
 * Fails:  describing never. Reading with the store's reason; ERR_CORRUPT where what a row says of its triggers or parameters is no list of JSON.
 * Thread: describing is pure, any; reading as store_select() of the store.
 */
#ifndef VIEW_REVISION_ROW_H
#define VIEW_REVISION_ROW_H

#include "base/arena.h"
#include "value/value.h"
#include "view/store.h"

/* Of the cells by column: those that it fills. */
#define REVISION_ROW_MASK (COLUMN_BIT(REVISIONS_name) | COLUMN_BIT(REVISIONS_description) | COLUMN_BIT(REVISIONS_triggers) \
                           | COLUMN_BIT(REVISIONS_parameters) | COLUMN_BIT(REVISIONS_steps))
/* `workflow` is the name where the document has none. */
void revision_row_describe(Arena *arena, Value document, Str workflow, Cell *cells);

/* By what runs of the revision of a row are started: the list of its plan, empty where it has none. */
MUST_USE Status revision_row_triggers(Arena *arena, const Cell *row, Value *out_triggers, Error *err);
/* The parameters that they declare, as the plan has them. */
MUST_USE Status revision_row_parameters(Arena *arena, const Cell *row, Value *out_parameters, Error *err);
/* Triggers of the active revision of a workflow; *out_row has tenant, workflow_id, version, digest, active, triggers and parameters, or is NULL where
 * none is active. */
MUST_USE Status revision_triggers(Arena *arena, Store *store, Str tenant, Str workflow, const Cell **out_row, Value *out_triggers, Error *err);
/* The revision that another has to get along with before it takes the place: the active one, else the one that was active last. *out_row has
 * neither its text nor its steps, and is NULL where none ever was active: a first one breaks nobody. */
MUST_USE Status revision_relied_on(Arena *arena, Store *store, Str tenant, Str workflow, const Cell **out_row, Error *err);
/* How that one stands: "is active", or "was active last". */
const char *revision_standing(const Cell *row);
/* The next workflow of a tenant behind that name; empty: there is none. */
MUST_USE Status revision_workflow_after(Arena *arena, Store *store, Str tenant, Str after, Str *out_name, Error *err);

#endif
