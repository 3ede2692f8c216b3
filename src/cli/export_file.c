#include "cli/export_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

static Status write_line(ExportFile *export, Error *err)
{
    bool is_written = !buf_overflowed(&export->line)
        && fwrite(export->line.ptr, 1, export->line.len, export->file) == export->line.len;
    buf_clear(&export->line);
    return is_written ? OK : error_set(err, ERR_UNAVAILABLE, "the ledger cannot be written out: is the disk full?");
}

Status export_file_begin(ExportFile *export, FILE *file, const ExportHeader *header, Error *err)
{
    export_init(&export->exporter);
    buf_init(&export->line, SIZE_MAX);
    export->file = file;
    export_header(&export->exporter, header, &export->line);
    return write_line(export, err);
}

Status export_file_row(void *context, const LedgerRow *row, Error *err)
{
    ExportFile *export = context;
    export_row(&export->exporter, row, &export->line);
    return write_line(export, err);
}

Status export_file_run(void *context, const RunHead *head, Error *err)
{
    ExportFile *export = context;
    export_run(&export->exporter, head, &export->line);
    return write_line(export, err);
}

Status export_file_end(ExportFile *export, Error *err)
{
    export_end(&export->exporter, &export->line);
    return write_line(export, err);
}

void export_file_deinit(ExportFile *export)
{
    buf_deinit(&export->line);
    export_deinit(&export->exporter);
}

/* --- verifying ------------------------------------------------------------------------------------------------------------ */

static Status check_lines(ExportCheck *check, FILE *file, const char *path, Error *err)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    Status status = OK;
    while (!status && (size = getline(&text, &capacity, file)) >= 0) {
        if (size > 0 && text[size - 1] == '\n') size--;
        status = export_check_line(check, (Str){ text, (size_t)size }, err);
    }
    if (!status && ferror(file)) status = error_set(err, ERR_UNAVAILABLE, "%s cannot be read to its end", path);
    free(text);
    return status;
}

Status export_file_verify(const char *path, const VerifyOptions *wanted, VerifyReport *out_report, Digest *out_digest, Error *err)
{
    static ExportCheck check;       /* the state of a hash wants an alignment that not every stack gives */
    bool is_piped = strcmp(path, "-") == 0;
    FILE *file = is_piped ? stdin : fopen(path, "rbe");
    if (!file)
        return error_set(err, errno == ENOENT ? ERR_NOT_FOUND : errno == EACCES ? ERR_DENIED : ERR_UNAVAILABLE,
                         "%s cannot be opened: %s",
                         path, strerror(errno));
    export_check_init(&check, wanted);
    Status status = check_lines(&check, file, path, err);
    if (!status) status = export_check_end(&check, out_report, err);
    if (!status && out_digest) *out_digest = check.digest;
    export_check_deinit(&check);
    if (!is_piped) fclose(file);
    return status;
}
