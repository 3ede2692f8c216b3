/* document.h - rows as the documents of the API: executions, steps, revisions, events.
 *
 * Names are those of the REST document (executionId, revisionId, status ...), with what the others have beside them (state,
 * resolution). Every one has `_links` to what belongs to it and to what can be done with it now.
 *
 * Payloads (parameters, inputs, outputs) may be large: one for which there is no room is {"omitted": true, "bytes": N} in its place.
 * Erased, it is {"erased": true}.
 *
 * Owns:   values live in the call's arena.     Fails: never; what cannot be read is null.
 * Thread: the server's; of document_revision(), document_execution() and documents of steps, events and lines any, of a copy.
 */
#ifndef API_DOCUMENT_H
#define API_DOCUMENT_H

#include "api/api.h"
#include "ledger/record.h"

typedef struct PayloadRoom {
    size_t one_max;                 /* a larger one is left out */
    size_t size, size_max;          /* of those that were taken, and may be */
} PayloadRoom;

/* With its first API_STEP_COUNT_MAX steps: all of its parameters, and what these were given and gave up to API_PAGE_SIZE; the list of steps
 * has all of it, and `next` of the links is its page behind them. To who may not read executions: its id, status and links. */
Value document_execution_whole(Call *call, const Cell *row);
Value document_execution(Call *call, const Cell *row, PayloadRoom *room);
/* Whether that is told without reading the plan, which may take long. */
bool  document_is_at_hand(Call *call, const Cell *row);
/* What all steps of an execution say of it: made once for them. */
typedef struct ExecutionName { Str id; Value link; } ExecutionName;
ExecutionName document_execution_name(Call *call, const Cell *run);
Value document_step(Call *call, const Cell *row, const ExecutionName *execution, PayloadRoom *room);
Value document_revision_links(Call *call, const Cell *row);
/* Of one that was just stored: the version that it was compared with, null where nobody relies on any, and what breaks who does. */
typedef struct RevisionCompared { Value with, breaks; } RevisionCompared;
/* Whole with its steps and its text, where the row has them. What its links are is the server's thread to say: see aside.h. `compared` may be
 * NULL. */
Value document_revision(Call *call, const Cell *row, Value links, bool is_whole, const RevisionCompared *compared);
/* Of a row of the ledger that is of no run: the tenant that its events name; empty: none. In the arena. */
Str   document_named_tenant(Arena *arena, const Cell *cells);
Value document_event(Arena *arena, const Record *record, uint32_t index);
/* A line that a step wrote. `names` remembers the step of the last one. */
typedef struct LineNames { int64_t index; char key[3 * NAME_SIZE_MAX]; size_t size; } LineNames;
Value document_line(Arena *arena, Store *store, LineNames *names, const Cell *row);
/* The entity tag of a revision: its content never changes, its flag does. */
Str   document_etag(Call *call, const Cell *row);
/* Answers an execution as it is in the store now. */
void  document_answer_execution(Call *call, unsigned status, Str execution_id);

#endif
