#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/human.h"
#include "cli/ledger_read.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "ledger/export.h"

static const Option options[] = {
    { "output", 'o', "FILE", NULL, "Writes to this file instead of standard output." },
    STORE_OPTION,
    { NULL },
};

typedef struct Export {
    Exporter exporter;
    FILE *file;
    Buf line;
} Export;

static Status write_line(Export *export, Error *err)
{
    bool is_written = !buf_overflowed(&export->line) && fwrite(export->line.ptr, 1, export->line.len, export->file) == export->line.len;
    buf_clear(&export->line);
    return is_written ? OK : error_set(err, ERR_UNAVAILABLE, "the export cannot be written");
}

static Status write_row(void *context, const LedgerRow *row, Error *err)
{
    Export *export = context;
    export_row(&export->exporter, row, &export->line);
    return write_line(export, err);
}

static Status write_run(void *context, const RunHead *head, Error *err)
{
    Export *export = context;
    export_run(&export->exporter, head, &export->line);
    return write_line(export, err);
}

static Status write_one_run(Export *export, const Args *args, Store *store, const Cell *row, Error *err)
{
    StepRows records;
    Status status = run_records(args->arena, store, row, 0, /* has_payloads= */ true, &records, err);
    RunHead head = run_head_of(row);
    for (size_t i = 0; !status && i < records.count; i++) {
        LedgerRow record = ledger_row_of(records.rows[i]);
        status = write_row(export, &record, err);
    }
    return status ? status : write_run(export, &head, err);
}

static Status write_all(Export *export, const Args *args, Store *store, const Cell *row, Error *err)
{
    ExportHeader header = { .now_ms = human_now_ms(), .run_id = row ? row[RUNS_id].text : (Str){ 0 } };
    Status status = ledger_head(store, &header.head, err);
    if (status) return status;
    export_header(&export->exporter, &header, &export->line);
    status = write_line(export, err);
    if (!status && row) status = write_one_run(export, args, store, row, err);
    else if (!status) {
        status = ledger_rows(store, 1, header.head.position, write_row, export, err);
        if (!status) status = ledger_run_heads(store, header.head.position, write_run, export, err);
    }
    if (status) return status;
    export_end(&export->exporter, &export->line);
    return write_line(export, err);
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
    static Export export;           /* the state of a hash wants an alignment that not every stack gives */
    export.file = stdout;
    if (!code && path && !(export.file = fopen(path, "wxe"))) {
        error_set(&err, ERR_UNAVAILABLE, "%s cannot be made, or exists already", path);
        code = fail(&err);
    }
    if (!code) {
        export_init(&export.exporter);
        buf_init(&export.line, SIZE_MAX);
        Status status = write_all(&export, args, store, row, &err);
        if (path && fclose(export.file) && !status) status = error_set(&err, ERR_UNAVAILABLE, "%s cannot be written", path);
        if (status) code = fail(&err);
        buf_deinit(&export.line);
        export_deinit(&export.exporter);
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
