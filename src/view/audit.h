/* audit.h - do the tables say what the ledger says? Every row that follows from records is made again and compared.
 *
 * The chain (ledger/verify.h) proves the records; this proves the rows that were written beside them. For each run its records
 * are replayed and projected anew, and every column of every row that the store has of it is held against the result; so are
 * plans against their digests, revisions, archived runs and the head of the log against the records of the log itself. What
 * differs is a finding FINDING_ROW whose text names table, key, column, what was found and what was expected. docs/ledger.md
 * has the columns that nothing can be held against, each with its reason.
 *
 * The store may be in use. A run that goes on while it is read is read again, and after AUDIT_TRY_COUNT_MAX times told as busy.
 *
 * Of an archived run the records are elsewhere: what the log said when it was archived is compared, and nothing more.
 *
 * Owns:   nothing after it returns.
 * Fails:  with the store's reason. What is wrong with the rows is no failure.
 * Bounds: AUDIT_ROW_COUNT rows of one run at a time, some 50 bytes a plan, 200 a revision and an archived run.
 * Thread: as store_select() of the store.
 */
#ifndef VIEW_AUDIT_H
#define VIEW_AUDIT_H

#include "ledger/verify.h"
#include "view/store.h"

typedef struct AuditOptions {
    void (*finding)(void *context, const Finding *finding);     /* may be NULL */
    void *context;
} AuditOptions;

typedef struct AuditReport { uint64_t run_count, row_count, damage_count, busy_count; } AuditReport;

MUST_USE Status audit_store(Store *store, const AuditOptions *options, AuditReport *out_report, Error *err);
/* One run alone, by its row. */
MUST_USE Status audit_run(Store *store, const Cell *row, const AuditOptions *options, AuditReport *out_report, Error *err);

#endif
