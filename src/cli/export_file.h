/* export_file.h - an exported ledger, or an archive, as a file: written line by line, and verified line by line.
 *
 *   export_file_begin(&export, file, &header, err)
 *   export_file_row(&export, row, err) for each, export_file_run(&export, head, err) for each: as ledger/export.h
 *   export_file_end(&export, err)
 *   export_file_deinit(&export)
 *
 * Owns:   the file is the caller's. An ExportFile owns its memory from export_file_begin(), even a failed one, to
 *         export_file_deinit(). It is static where a stack would not give the alignment that the state of a hash wants.
 * Fails:  ERR_UNAVAILABLE where the file cannot be written or read; verifying as export_check_line().
 * Bounds: one line at a time, JSON_SIZE_MAX.     Thread: the main one.
 */
#ifndef CLI_EXPORT_FILE_H
#define CLI_EXPORT_FILE_H

#include <stdio.h>

#include "ledger/export.h"

typedef struct ExportFile {
    Exporter exporter;
    FILE *file;
    Buf line;
} ExportFile;

MUST_USE Status export_file_begin(ExportFile *export, FILE *file, const ExportHeader *header, Error *err);
MUST_USE Status export_file_row(void *export, const LedgerRow *row, Error *err);        /* a LedgerVisit */
MUST_USE Status export_file_run(void *export, const RunHead *head, Error *err);         /* a RunHeadVisit */
MUST_USE Status export_file_end(ExportFile *export, Error *err);
void            export_file_deinit(ExportFile *export);

/* Verifies a file; "-" is standard input. `out_digest`, which its last line states, may be NULL. */
MUST_USE Status export_file_verify(const char *path, const VerifyOptions *wanted, VerifyReport *out_report, Digest *out_digest,
                                   Error *err);

#endif
