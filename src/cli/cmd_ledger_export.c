#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/export_file.h"
#include "cli/human.h"
#include "cli/ledger_read.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "os/file.h"

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

static Status write_all(FILE *file, const Args *args, Store *store, const Cell *row, Error *err)
{
    static ExportFile exports;      /* see there why not on the stack */
    ExportFile *export = &exports;
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

/* Under another name until it is whole. */
static Status write_file(const char *path, const Args *args, Store *store, const Cell *row, Error *err)
{
    const char *part = arena_format(args->arena, "%s.part", path).ptr;
    if (file_exists(path)) return error_set(err, ERR_UNAVAILABLE, "%s exists already and is not overwritten", path);
    int fd = open(part, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!file) {
        Status why = errno == EACCES || errno == EROFS ? ERR_DENIED : ERR_UNAVAILABLE;
        error_set(err, why, "%s cannot be made: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return err->status;
    }
    Status status = write_all(file, args, store, row, err);
    if (!status && (fflush(file) || fsync(fd)))
        status = error_set(err, ERR_UNAVAILABLE, "%s cannot be written: %s", path, strerror(errno));
    if (fclose(file) && !status) status = error_set(err, ERR_UNAVAILABLE, "%s cannot be written", path);
    if (!status) return file_publish(part, path, err);
    (void)unlink(part);
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
    if (!code) {
        Status status = row ? run_is_here(row, &err) : OK;      /* before anything is written */
        if (!status) status = path ? write_file(path, args, store, row, &err) : write_all(stdout, args, store, row, &err);
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
