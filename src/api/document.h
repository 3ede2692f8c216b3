/* document.h - rows as the documents of the API: executions, steps, revisions, events.
 *
 * Names are those of the REST document (executionId, revisionId, status ...), with what the others have beside them (state,
 * resolution). Every one has `_links` to what belongs to it and to what can be done with it now.
 *
 * Owns:   values live in the call's arena.     Fails: never; what cannot be read is null.     Thread: the server's.
 */
#ifndef API_DOCUMENT_H
#define API_DOCUMENT_H

#include "api/api.h"
#include "ledger/record.h"

Value document_execution(Call *call, const Cell *row, bool has_steps);
Value document_step(Call *call, const Cell *row, Str execution_id);
Value document_revision(Call *call, const Cell *row, bool is_whole);
Value document_event(Arena *arena, const Record *record, uint32_t index);
/* The entity tag of a revision: its content never changes, its flag does. */
Str   document_etag(Call *call, const Cell *row);
/* Answers an execution as it is in the store now. */
void  document_answer_execution(Call *call, unsigned status, Str execution_id);

#endif
