/* ledger_read.h - the ledger of a store, row by row, for commands that verify, show and export it.
 *
 * A ledger that somebody is writing to is read up to where it ended when the reading began: rows of runs that have gone on
 * since then are told as they stood there.
 *
 * Owns:   nothing; a row lives until the visitor returns.
 * Fails:  with the store's reason, or the visitor's.     Thread: the main one.
 */
#ifndef CLI_LEDGER_READ_H
#define CLI_LEDGER_READ_H

#include "base/arena.h"
#include "ledger/verify.h"
#include "view/audit.h"
#include "view/store.h"

/* Where the log ends now. */
MUST_USE Status ledger_head(Store *store, LedgerHead *out_head, Error *err);

/* The records from one position to another, both included. */
typedef Status (*LedgerVisit)(void *context, const LedgerRow *row, Error *err);
MUST_USE Status ledger_rows(Store *store, uint64_t first, uint64_t last, LedgerVisit visit, void *context, Error *err);
/* The ends of all runs, as they stood at that position. */
typedef Status (*RunHeadVisit)(void *context, const RunHead *head, Error *err);
MUST_USE Status ledger_run_heads(Store *store, uint64_t position, RunHeadVisit visit, void *context, Error *err);
/* The end of the run that a row of runs is of. */
RunHead run_head_of(const Cell *row);

/* All of it: rows and heads, against the log's head and the anchors; then the rows of other tables against the records. Findings
 * go to the callback, and `out_report` counts the damage of both. */
typedef struct LedgerCheck {
    const LedgerHead *anchors;
    uint32_t anchor_count;
    void (*finding)(void *context, const Finding *finding);
    void *context;
} LedgerCheck;
MUST_USE Status ledger_verify(Store *store, const LedgerCheck *check, VerifyReport *out_report, AuditReport *out_rows, Error *err);
/* One run by its row: its chain, its payloads, its rows. ERR_NOT_FOUND where it was archived. */
MUST_USE Status ledger_verify_run(Store *store, const Cell *row, const LedgerCheck *check, VerifyReport *out_report,
                                  AuditReport *out_rows, Error *err);

#endif
