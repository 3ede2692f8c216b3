#include <stdio.h>

#include "cli/export_file.h"
#include "cli/human.h"
#include "cli/ledger_read.h"
#include "cli/run_read.h"
#include "cli/workplace.h"

static const Option options[] = {
    { "output", 'o', "FILE", NULL, "Writes to this file instead of standard output." },
    STORE_OPTION,
    { NULL },
};

static Status write_one_run(ExportFile *export, const Args *args, Store *store, const Cell *row, Error *err)
{
    StepRows records;
    Status status = run_records(args->arena, store, row, 0, /* has_payloads= */ true, &records, err);
    RunHead head = run_head_of(row);
    for (size_t i = 0; !status && i < records.count; i++) {
        LedgerRow record = ledger_row_of(records.rows[i]);
        status = export_file_row(export, &record, err);
    }
    return status ? status : export_file_run(export, &head, err);
}

static Status write_all(ExportFile *export, FILE *file, const Args *args, Store *store, const Cell *row, Error *err)
{
    ExportHeader header = { .now_ms = human_now_ms(), .is_part = row != NULL, .run_id = row ? row[RUNS_id].text : (Str){ 0 } };
    LedgerHead head;
    Status status = ledger_head(store, &head, err);
    if (status) return status;
    header.head = head;
    status = export_file_begin(export, file, &header, err);
    if (!status && row) status = write_one_run(export, args, store, row, err);
    else if (!status) {
        status = ledger_rows(store, 1, head.position, export_file_row, export, err);
        if (!status) status = ledger_run_heads(store, head.position, export_file_run, export, err);
    }
    if (!status) status = export_file_end(export, err);
    export_file_deinit(export);
    return status;
}

static ExitCode run(const Args *args)
{
    Store *store;
    const Cell *row = NULL;
    Error err;
    const char *path = args_value(args, "output");
    ExitCode code = store_open_existing(args, &store);
    if (code) return code;
    if (args->operand_count) code = find_row(args, store, args->operands[0], &row);
    static ExportFile export;       /* see there why not on the stack */
    FILE *file = stdout;
    if (!code && path && !(file = fopen(path, "wxe"))) {
        error_set(&err, ERR_UNAVAILABLE, "%s cannot be made, or exists already", path);
        code = fail(&err);
    }
    if (!code) {
        Status status = write_all(&export, file, args, store, row, &err);
        if (path && fclose(file) && !status) status = error_set(&err, ERR_UNAVAILABLE, "%s cannot be written", path);
        if (status) code = fail(&err);
    }
    store_close(store);
    return code;
}

const Verb command_ledger_export = {
    .name = "ledger export", .operands = "[RUN]", .operand_count_max = 1,
    .summary = "Writes the ledger, or that of one run, as a file that anybody can verify.",
    .doc = "JSON lines: a header, every record with its bytes and what they say, the ends of runs, an end with a digest. It is verified\n"
           "by 'maestro ledger verify FILE', or without maestro by ledger-verify. docs/ledger.md describes every byte.",
    .examples = "maestro ledger export -o ledger.jsonl\n"
                "maestro ledger export last > run.jsonl",
    .options = options, .run = run,
};
