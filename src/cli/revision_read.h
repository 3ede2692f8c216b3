/* revision_read.h - the revision that a person means, found in a store.
 *
 * NAME is the active revision of a workflow, NAME@3 its third, NAME@2.1.0 the one that its author calls so. --tenant says whose
 * workflow it is; see cli/server_order.h where it is left out.
 *
 * Owns:   rows and plans live in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason: cli/problem.h.     Thread: the main one.
 */
#ifndef CLI_REVISION_READ_H
#define CLI_REVISION_READ_H

#include "cli/command.h"
#include "core/plan.h"
#include "engine/engine.h"
#include "lang/compatibility.h"
#include "view/store.h"

#define TENANT_OPTION { "tenant", 0, "NAME", NULL, "Whose stored revisions are meant; by default that of the key of --server, else 'default'." }
#define INCOMPATIBLE_OPTION \
    { "allow-incompatible", 0, NULL, NULL, "Does it though the definition has changed in a way that breaks who relies on it." }

Str revision_tenant(const Args *args);
ExitCode revision_find(const Args *args, Store *store, const char *operand, const Cell **out_row);
/* Its plan, and the canonical document of that. */
ExitCode revision_plan(const Args *args, Store *store, const Cell *row, Plan *out_plan, Str *out_document);
/* The plan of that revision of the workflow of `plan`. Fails with ERR_NOT_FOUND. */
MUST_USE Status revision_plan_of(Arena *arena, Store *store, const Plan *plan, uint32_t version, Plan *out_plan, Error *err);
/* The revision that the plan is. */
ExitCode revision_of_plan(const Args *args, Store *store, const Plan *plan, const Cell **out_row);
/* Whether who relies on revision_relied_on() gets along with the plan. */
typedef struct RevisionCheck {
    const Cell *before;             /* what it was compared with; NULL: nobody relies on any */
    Compatibility found;
} RevisionCheck;
ExitCode revision_compare(const Args *args, Store *store, const Plan *plan, RevisionCheck *out);
/* Says to people what breaks, and the consequence, a line; nothing where nothing does. */
void revision_warn(Str workflow, const RevisionCheck *check, const char *consequence);
/* Whether the plan may take the place: one that breaks others is told, and refused unless --allow-incompatible is given. What it was compared
 * with the engine is told, too. */
ExitCode revision_admit(const Args *args, Store *store, const Plan *plan, RevisionSeen *out_seen);

#endif
