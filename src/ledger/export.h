/* export.h - a ledger as a file of JSON lines that anybody can verify, with this program or with another.
 *
 *   {"kind":"header", "format":"maestro-ledger/1", "log", "run", "position", "head", "time"}
 *   {"kind":"record", "position", "run", "runNo", "prev", "firstEvent", "eventCount", "hash", "record", "payload", "shown"}
 *   {"kind":"run", "run", "runNo", "last", "events", "head"}
 *   {"kind":"end", "records", "events", "runs", "position", "head", "digest"}
 *
 * Records come in the order of their positions, then the heads of the runs, then the end. `record` and `payload` are the
 * bytes in base64 (an erased payload is null); `shown` is the record decoded, for readers. "digest" covers all lines before
 * the last one: what chance damages is found by it, also in what is shown. docs/ledger.md has the details.
 *
 * The export of one run (`run` of the header is its id, else null) has no head of the log: its records have gaps between them.
 * So has an archive, which holds the runs that were moved out of a store: there `run` is empty. A record of the whole log whose
 * run was archived is empty, too: its hash bridges the gap in the chains.
 *
 * Writing:   export_init(); export_header(), export_row() for each, export_run() for each, export_end(): a line each, appended
 *            to a buffer that the caller writes to its file and clears.
 * Verifying: export_check_init(); export_check_line() for each line without its end; export_check_end().
 *
 * Owns:   an ExportCheck owns its memory until export_check_deinit().
 * Fails:  export_check_line() with ERR_INVALID where the file is no exported ledger, ERR_UNAVAILABLE for a newer format,
 *         ERR_LIMIT. Damage is a finding (ledger/verify.h), no failure. Overflow of a buffer shows in it.
 * Bounds: JSON_SIZE_MAX a line.     Thread: one at a time; pure.
 */
#ifndef LEDGER_EXPORT_H
#define LEDGER_EXPORT_H

#include <sodium/crypto_generichash.h>

#include "base/arena.h"
#include "base/buf.h"
#include "ledger/verify.h"

typedef struct ExportHeader {
    LedgerHead head;                /* of the log; position and hash are not written for a part */
    bool is_part;                   /* of some runs alone: an archive, or with run_id the export of one */
    Str run_id;
    int64_t now_ms;                 /* when it was exported */
} ExportHeader;

/* A state of libsodium's, without its alignment: a struct that holds one may lie anywhere. */
typedef struct LineDigest { unsigned char bytes[sizeof(crypto_generichash_state)]; } LineDigest;

typedef struct Exporter {
    LineDigest digest;                      /* of the lines so far */
    ExportHeader header;
    Arena scratch;
    uint64_t record_count, event_count, run_count;
} Exporter;

void export_init(Exporter *exporter);
void export_header(Exporter *exporter, const ExportHeader *header, Buf *line);
void export_row(Exporter *exporter, const LedgerRow *row, Buf *line);
void export_run(Exporter *exporter, const RunHead *head, Buf *line);
Digest export_digest(const Exporter *exporter);         /* of the lines so far: the one that the end states */
void export_end(Exporter *exporter, Buf *line);
void export_deinit(Exporter *exporter);

typedef struct ExportCheck {
    VerifyOptions options;          /* log, head and scope come from the header */
    Verifier verifier;
    Exporter again;                 /* writes each line once more: it has to be the same */
    Arena arena;                    /* of one line */
    Buf line;
    LedgerHead head;
    Str run_id;
    Digest digest;                  /* of the lines before the last one */
    uint64_t line_count;
    enum { CHECK_HEADER, CHECK_BODY, CHECK_ENDED } stage;
} ExportCheck;

/* Of the options: finding, context, anchors. */
void            export_check_init(ExportCheck *check, const VerifyOptions *options);
MUST_USE Status export_check_line(ExportCheck *check, Str line, Error *err);
MUST_USE Status export_check_end(ExportCheck *check, VerifyReport *out_report, Error *err);
void            export_check_deinit(ExportCheck *check);

#endif
