/* verify.h - is the ledger what was written? Everything that can be found, is found, and told with its place.
 *
 * The rows of a ledger are given one after another in the order of their positions, then the heads that rows of runs hold,
 * then the end is declared. What was changed, removed, inserted, exchanged, repeated or cut off becomes a finding; so do
 * payloads without their digest, times that go back, and columns that say something else than their record. A finding does
 * not end the work: the chain is taken up again where it was broken, so that one change is one finding, or few.
 *
 *   Verifier verifier;
 *   verify_init(&verifier, &(VerifyOptions){ .log = 1, .head = &head, .finding = print_finding });
 *   for each row:  verify_row(&verifier, &row, err)
 *   for each run:  verify_run(&verifier, &run_head, err)
 *   VerifyReport report = verify_end(&verifier);
 *   verify_deinit(&verifier);
 *
 * Payloads that were erased are reported as such, not as damage, where an event PAYLOAD_ERASED (whose `count` is the position
 * of the record) says so; without one they are missing. Records of a newer maestro are reported; their chain is verified.
 *
 * A row whose record is empty was archived: what it held lies in another file, and its hash, which stays, bridges the stretch
 * in both chains. That is so where an event RUN_ARCHIVED of the log names the run (`count` is its number); without one the
 * record is missing.
 *
 * What no chain can find: a ledger that was rewritten whole, heads included. Anchors, kept elsewhere, find that.
 *
 * Owns:   a Verifier owns its memory until verify_deinit(). Texts of a Finding live until the callback returns.
 * Fails:  ERR_LIMIT. Damage is no failure of these functions.
 * Bounds: VERIFY_RUN_COUNT_MAX, VERIFY_ERASED_COUNT_MAX (erased payloads; stretches of archived records); one record at a time.
 * Thread: one at a time; pure.
 */
#ifndef LEDGER_VERIFY_H
#define LEDGER_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "base/str.h"
#include "value/canonical.h"

/* NAME, name, is it damage? */
#define FINDING_KINDS(X) \
    X(CHANGED,    "changed",         true)      /* the record does not have its hash */ \
    X(UNREADABLE, "unreadable",      true)      /* it has its hash, and is no record */ \
    X(COLUMN,     "column",          true)      /* a column of its row says something else */ \
    X(GAP,        "gap",             true)      /* records, or events of a run, are missing */ \
    X(ORDER,      "order",           true)      /* out of order, or there twice */ \
    X(RUN,        "run",             true)      /* the number of a run stands for two runs, or an id for two numbers */ \
    X(LOG,        "log",             true)      /* of another log */ \
    X(TIME,       "time",            true)      /* earlier than the record before it */ \
    X(PAYLOAD,    "payload",         true)      /* not the bytes whose digest the record holds */ \
    X(MISSING,    "payload-missing", true)      /* gone, and no event says that it was erased */ \
    X(GONE,       "record-missing",  true)      /* gone, and no event says that its run was archived */ \
    X(KEPT,       "payload-kept",    true)      /* an event says that it was erased */ \
    X(TRUNCATED,  "truncated",       true)      /* ends before its head, or an anchor */ \
    X(HEAD,       "head",            true)      /* ends with another hash than its head, or an anchor */ \
    X(DOCUMENT,   "document",        true)      /* a line of an exported ledger is not what was exported */ \
    X(ROW,        "row",             true)      /* a row of another table is not what the records make: view/audit.h */ \
    X(SHOWN,      "shown",           false)     /* what an exported line shows beside its record is not what the record says */ \
    X(ERASED,     "erased",          false) \
    X(NEWER,      "newer",           false)     /* written by a newer maestro: not looked into */ \
    X(BUSY,       "busy",            false)     /* a run that goes on all the time: its rows were not compared */

typedef enum FindingKind {
#define FINDING_ENUM(NAME, name, is_damage) FINDING_##NAME,
    FINDING_KINDS(FINDING_ENUM)
#undef FINDING_ENUM
    FINDING_KIND_COUNT
} FindingKind;

typedef struct Finding {
    FindingKind kind;
    uint64_t position;              /* of the record; 0: of none */
    Str run_id;                     /* empty: of none, or not known */
    Str text;
} Finding;

const char *finding_name(FindingKind kind);         /* "payload-missing" */
bool        finding_is_damage(FindingKind kind);

/* One row of maestro_ledger. */
typedef struct LedgerRow {
    uint64_t position, run_no;      /* run_no 0: of the log itself */
    uint64_t prev_position, first_event;
    uint32_t event_count;
    Digest hash;
    Str record, payload;            /* an empty record: archived; an empty payload is NULL in the row: none, or erased */
} LedgerRow;

/* The end of a log, or what an anchor says it was once. */
typedef struct LedgerHead { uint64_t log, position; Digest head; } LedgerHead;

/* The end of a run, as its row has it. */
typedef struct RunHead { uint64_t run_no; Str run_id; uint64_t last_position, event_count; Digest head; } RunHead;

typedef struct VerifyOptions {
    uint64_t log;
    const LedgerHead *head;         /* what the log's row says; NULL: not known, its end is not verified */
    const LedgerHead *anchors;      /* signed heads, whose signatures were checked */
    uint32_t anchor_count;
    bool has_run_heads;             /* verify_run() will be called for every run there is */
    bool is_part;                   /* the rows are those of some runs alone: positions have gaps, the log is not verified */
    void (*finding)(void *context, const Finding *finding);     /* may be NULL */
    void *context;
} VerifyOptions;

typedef struct VerifyReport {
    uint64_t record_count, event_count, run_count, payload_count, erased_count, damage_count;
    uint64_t archived_count;        /* runs of which some or all records lie in other files */
    LedgerHead end;                 /* what the log's head should be after these rows; zeros with is_part */
} VerifyReport;

typedef struct VerifyRun VerifyRun;
typedef struct Stretch { uint64_t first, last; } Stretch;      /* of positions, both included */

typedef struct Verifier {
    VerifyOptions options;
    VerifyReport report;
    Arena arena, scratch;           /* for the whole ledger; for one record */
    Map numbers, ids;               /* to indexes of runs */
    VerifyRun **runs;
    uint64_t *missing, *erased;     /* positions without payloads; positions that events say were erased */
    Stretch *archived;              /* positions of archived records, in order */
    size_t run_count, run_capacity, missing_count, missing_capacity, erased_count, erased_capacity, archived_count, archived_capacity;
    int64_t now_ms;
} Verifier;

void            verify_init(Verifier *verifier, const VerifyOptions *options);
MUST_USE Status verify_row(Verifier *verifier, const LedgerRow *row, Error *err);
MUST_USE Status verify_run(Verifier *verifier, const RunHead *head, Error *err);
VerifyReport    verify_end(Verifier *verifier);
void            verify_deinit(Verifier *verifier);

#endif
