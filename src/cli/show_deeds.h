/* show_deeds.h - the part of 'maestro show' about what was decided and what was undone: decisions on failures, branches that were
 * taken, compensations.
 *
 * Owns:   what is read lives in the arena of the arguments.
 * Fails:  with the store's reason.
 * Bounds: a page of each kind, as view/queries.def says; the oldest.
 * Thread: the main one.
 */
#ifndef CLI_SHOW_DEEDS_H
#define CLI_SHOW_DEEDS_H

#include "cli/command.h"
#include "value/value.h"
#include "view/run_rows.h"

typedef struct ShowDeeds {
    Arena *arena;
    StepRows decisions, branches;       /* as they were made */
    StepRows compensations;             /* in the order in which they are carried out */
} ShowDeeds;

/* Of the run that `row` is of; of one that was archived there are none. */
MUST_USE Status show_deeds_read(ShowDeeds *deeds, Arena *arena, Store *store, const Cell *row, Error *err);
void show_deeds_tables(const ShowDeeds *deeds);
/* Members "decisions", "branches" and "compensations", each where there are some. */
void show_deeds_add(const ShowDeeds *deeds, MemberList *members);

#endif
