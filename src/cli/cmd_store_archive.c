/* maestro store archive: runs that are over leave the store for a sealed file, and their heads stay.
 *
 *   1  what an interrupted call has left is taken away        the rows themselves tell
 *   2  the file is written beside its name, synced, verified  nothing in the store has changed
 *   3  it gets its name; the directory is synced
 *   4  the log says so, and the rows of the runs name it      one commit for some runs at a time
 *   5  the rows and bytes of these runs are taken away        many small commits
 *
 * A crash before 4 leaves a file too many; a crash from there on is gone on with by 1. At no time are a run's records neither
 * in the store nor in a file that was verified. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/limits.h"
#include "cli/anchor_file.h"
#include "cli/export_file.h"
#include "cli/human.h"
#include "cli/ledger_read.h"
#include "cli/ledger_write.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "os/file.h"
#include "view/run_rows.h"

static const Option options[] = {
    { "before", 0, "T", NULL, "Runs that ended before this: a time, a date, or how long ago, such as 30d. Needed." },
    { "to", 0, "FILE", NULL, "The file, which must not exist; by default STORE.archive-TIME.jsonl beside the store." },
    { "key", 0, "FILE", NULL, "Signs the end of the log afterwards with this key: an anchor in FILE.anchor beside the archive." },
    STORE_OPTION,
    { NULL },
};

typedef struct Archive {
    const Args *args;
    Store *store;
    LedgerPen pen;
    int64_t before_ms;
    const char *path, *part_path;
    RunHead *runs;                  /* in the order of their numbers */
    size_t run_count, run_capacity;
    uint64_t first_position, last_position, record_count;
    char digest[2 * DIGEST_SIZE];
    int64_t cursor;
    bool has_more;
} Archive;

/* --- which runs --------------------------------------------------------------------------------------------------------------- */

static bool take_run(void *context, const Cell *row, uint32_t count)
{
    Archive *archive = context;
    (void)count;
    archive->cursor = row[RUNS_run_no].integer;
    archive->has_more = true;
    if (!row_is_over(row) || row[RUNS_archived_to].kind == CELL_TEXT || row[RUNS_completed_ms].integer >= archive->before_ms) return true;
    if (archive->run_count == archive->run_capacity)
        archive->runs = arena_grow(archive->args->arena, archive->runs, sizeof *archive->runs, archive->run_count, &archive->run_capacity);
    RunHead head = run_head_of(row);
    head.run_id = arena_copy(archive->args->arena, head.run_id);
    archive->runs[archive->run_count++] = head;
    if (head.last_position > archive->last_position) archive->last_position = head.last_position;
    uint64_t first = row[RUNS_params_at].kind == CELL_INT ? (uint64_t)row[RUNS_params_at].integer : 1;
    if (first < archive->first_position) archive->first_position = first;
    return archive->run_count <= ARCHIVE_RUN_COUNT_MAX;
}

static int number_compare(const void *a, const void *b)
{
    const RunHead *left = a, *right = b;
    return (left->run_no > right->run_no) - (left->run_no < right->run_no);
}

static Status choose_runs(Archive *archive, Error *err)
{
    archive->cursor = INT64_MAX;
    archive->first_position = UINT64_MAX;
    do {
        archive->has_more = false;
        QueryAsk ask = { .query = QUERY_RUNS, .params = { cell_int(archive->cursor), cell_null(), cell_null() }, .param_count = 3,
                         .row_count_max = 1000 };
        Status status = store_select(archive->store, &ask, take_run, archive, err);
        if (status) return status;
        if (archive->run_count > ARCHIVE_RUN_COUNT_MAX)
            return error_set(err, ERR_LIMIT, "more runs ended before then than ARCHIVE_RUN_COUNT_MAX (%u); give an earlier --before",
                             ARCHIVE_RUN_COUNT_MAX);
    } while (archive->has_more);
    if (archive->run_count) qsort(archive->runs, archive->run_count, sizeof *archive->runs, number_compare);
    return OK;
}

/* --- the file ----------------------------------------------------------------------------------------------------------------- */

typedef struct Writing { Archive *archive; ExportFile *export; } Writing;

static Status write_row(void *context, const LedgerRow *row, Error *err)
{
    const Writing *writing = context;
    Archive *archive = writing->archive;
    RunHead wanted = { .run_no = row->run_no };
    if (!bsearch(&wanted, archive->runs, archive->run_count, sizeof *archive->runs, number_compare)) return OK;
    archive->record_count++;
    return export_file_row(writing->export, row, err);
}

static Status write_lines(Archive *archive, FILE *file, Error *err)
{
    static ExportFile export;       /* see there why not on the stack */
    ExportHeader header = { .head.log = 1, .is_part = true, .now_ms = human_now_ms() };
    Writing writing = { archive, &export };
    Status status = export_file_begin(&export, file, &header, err);
    if (!status) status = ledger_rows(archive->store, archive->first_position, archive->last_position, write_row, &writing, err);
    for (size_t i = 0; i < archive->run_count && !status; i++) status = export_file_run(&export, &archive->runs[i], err);
    if (!status) status = export_file_end(&export, err);
    export_file_deinit(&export);
    return status;
}

static void tell_finding(void *context, const Finding *finding)
{
    (void)context;
    if (finding_is_damage(finding->kind))
        fprintf(stderr, "DAMAGE record %" PRIu64 ": %s: %.*s\n", finding->position, finding_name(finding->kind), STR_ARG(finding->text));
}

/* What is on the disk is read again: it has to be whole before anything leaves the store. */
static Status check_file(Archive *archive, Error *err)
{
    VerifyReport report;
    Digest digest;
    Status status = export_file_verify(archive->part_path, &(VerifyOptions){ .finding = tell_finding }, &report, &digest, err);
    if (status) return status;
    if (report.damage_count || report.record_count != archive->record_count || report.run_count != archive->run_count)
        return error_set(err, ERR_CORRUPT, "these runs cannot be archived: their records are damaged, as 'maestro ledger verify' tells; "
                         "nothing was changed");
    Buf hex = buf_on(archive->digest, sizeof archive->digest);
    buf_hex(&hex, digest.bytes, sizeof digest);
    return OK;
}

/* The lock on the store makes this process the only one that archives it: what lies there under the name of a part was left by
 * one that was killed. */
static Status write_part(Archive *archive, Error *err)
{
    int fd = open(archive->part_path, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!file) {
        error_set(err, errno == EACCES ? ERR_DENIED : ERR_UNAVAILABLE, "%s cannot be made: %s", archive->part_path, strerror(errno));
        if (fd >= 0) close(fd);
        return err->status;
    }
    Status status = write_lines(archive, file, err);
    if (!status && (fflush(file) || fsync(fd)))
        status = error_set(err, ERR_UNAVAILABLE, "%s cannot be written: %s", archive->part_path, strerror(errno));
    if (fclose(file) && !status) status = error_set(err, ERR_UNAVAILABLE, "%s cannot be written", archive->part_path);
    return status;
}

static Status refuse_existing(const char *path, Error *err)
{
    return error_set(err, ERR_CONFLICT, "%s exists already and is not overwritten; give another file with --to", path);
}

static Status make_file(Archive *archive, Error *err)
{
    Status status = write_part(archive, err);
    if (!status) status = check_file(archive, err);
    if (!status) status = file_publish(archive->part_path, archive->path, err);
    else (void)unlink(archive->part_path);
    return status == ERR_CONFLICT ? refuse_existing(archive->path, err) : status;
}

/* --- the store ---------------------------------------------------------------------------------------------------------------- */

/* Some runs: what the log says of each, and its row. */
static Status mark_some(Archive *archive, const RunHead *runs, uint32_t count, Error *err)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Event *events = ARENA_ARRAY(&arena, Event, count);
    RowChange *changes = ARENA_ARRAY(&arena, RowChange, count);
    for (uint32_t i = 0; i < count; i++) {
        events[i] = (Event){ .kind = EVENT_RUN_ARCHIVED, .count = runs[i].run_no, .name = runs[i].run_id, .text = str_of(archive->path),
                             .key = { archive->digest, sizeof archive->digest }, .payload = EVENT_NO_PAYLOAD };
        Cell *cells = ARENA_ARRAY(&arena, Cell, RUNS_archived_to + 1);
        cells[RUNS_run_no] = cell_int((int64_t)runs[i].run_no);
        cells[RUNS_archived_to] = cell_text(str_of(archive->path));
        changes[i] = (RowChange){ TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_archived_to), cells };
    }
    Status status = ledger_note(&archive->pen, &(LedgerNote){ .events = events, .event_count = count, .changes = changes,
                                                              .rationale = STR("to archive runs that are over was asked for"),
                                                              .change_count = count }, err);
    arena_deinit(&arena);
    return status;
}

static Status mark_runs(Archive *archive, Error *err)
{
    Status status = OK;
    for (size_t i = 0; i < archive->run_count && !status; i += ARCHIVE_MARK_COUNT) {
        size_t left = archive->run_count - i;
        status = mark_some(archive, &archive->runs[i], left < ARCHIVE_MARK_COUNT ? (uint32_t)left : ARCHIVE_MARK_COUNT, err);
    }
    return status;
}

/* After the log has said what was archived: who holds the anchor can tell that neither was rewritten. */
static Status write_anchor(const Archive *archive, Error *err)
{
    const char *key_path = args_value(archive->args, "key");
    AnchorKey key;
    bool is_new;
    char storage[ANCHOR_TEXT_SIZE_MAX + 1];
    Buf text = buf_on(storage, sizeof storage);
    if (!key_path) return OK;
    Status status = anchor_key_open(archive->args->arena, key_path, &key, &is_new, err);
    if (status) return status;
    LedgerHead head = { .log = 1, .position = archive->pen.head.position, .head = archive->pen.head.head };
    Anchor anchor = anchor_make(&head, human_now_ms(), &key);
    anchor_print(&text, &anchor);
    if (!text.len || text.ptr[text.len - 1] != '\n') buf_char(&text, '\n');
    return file_write(arena_format(archive->args->arena, "%s.anchor", archive->path).ptr, buf_peek(&text), err);
}

/* --- the command -------------------------------------------------------------------------------------------------------------- */

static Status choose_path(Archive *archive, Error *err)
{
    Arena *arena = archive->args->arena;
    const char *given = args_value(archive->args, "to"), *beside = store_path(arena, store_url(archive->args));
    char storage[32], directory[STORE_PATH_SIZE_MAX + 1];
    Buf time = buf_on(storage, sizeof storage);
    civil_print_ms(&time, human_now_ms());
    if (!given && beside) given = arena_format(arena, "%s.archive-%.*s.jsonl", beside, STR_ARG(buf_peek(&time))).ptr;
    if (!given) return error_set(err, ERR_INVALID, "--to FILE is needed: the store has no file");
    if (given[0] != '/') {
        if (!getcwd(directory, sizeof directory)) return error_set(err, ERR_UNAVAILABLE, "the current directory is not known");
        given = arena_format(arena, "%s/%s", directory, given).ptr;
    }
    archive->path = given;
    archive->part_path = arena_format(arena, "%s.part", given).ptr;
    return file_exists(given) ? refuse_existing(given, err) : OK;
}

/* Without an owner of its own that carries runs out: nothing of a run that is over is decided, and no step is touched. */
static Status own(Archive *archive, Error *err)
{
    uint64_t finished;
    Status status = ledger_own(archive->args->arena, archive->store, &archive->pen, err);
    if (status == ERR_CONFLICT) error_prefix(err, "archiving needs the store for itself; end what uses it, archive, and start it again: ");
    if (status) return status;
    status = store_prune(archive->store, &finished, err);
    if (!status && finished)
        printf("finished an archiving that was interrupted: took away what %" PRIu64 " archived run%s had left\n", finished,
               finished == 1 ? "" : "s");
    return status;
}

static Status archive_runs(Archive *archive, Error *err)
{
    uint64_t pruned;
    Status status = own(archive, err);
    if (!status) status = choose_path(archive, err);
    if (!status) status = choose_runs(archive, err);
    if (status) return status;
    if (!archive->run_count) {
        printf("no run that is over ended before then; nothing was archived\n");
        return OK;
    }
    status = make_file(archive, err);
    if (!status) status = mark_runs(archive, err);
    if (!status) status = write_anchor(archive, err);
    if (!status) status = store_prune(archive->store, &pruned, err);
    if (status) return status;
    char storage[64];
    Buf size = buf_on(storage, sizeof storage);
    struct stat info;
    if (stat(archive->path, &info) == 0) human_size(&size, (uint64_t)info.st_size);
    printf("%s: %zu run%s, %" PRIu64 " records, %.*s; 'maestro ledger verify FILE' verifies it\n", archive->path, archive->run_count,
           archive->run_count == 1 ? "" : "s", archive->record_count, STR_ARG(buf_peek(&size)));
    return OK;
}

static ExitCode run(const Args *args)
{
    Archive archive = { .args = args };
    Error err;
    const char *before = args_value(args, "before");
    if (!before || !human_since(str_of(before), human_now_ms(), &archive.before_ms)) {
        fprintf(stderr, "maestro: --before %s; give a time (2026-01-31T00:00:00.000Z), a date, or how long ago, such as 30d\n",
                before ? "is no time" : "is needed");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = server_refuse(args, "runs are archived");
    if (!code) code = store_open_existing(args, &archive.store);
    if (code) return code;
    Status status = archive_runs(&archive, &err);
    store_close(archive.store);
    if (status == ERR_CORRUPT) return fail(&err), EXIT_CODE_DATA;
    return status ? fail(&err) : EXIT_CODE_OK;
}

const Verb command_store_archive = {
    .name = "store archive", .operands = "",
    .summary = "Moves runs that are over into a sealed file, and leaves their heads.",
    .doc = "Runs that ended before --before, and about which nothing is left to decide, go into a file in the format of 'maestro ledger\n"
           "export': every record and payload with its hashes, sealed by a digest that the log keeps. Once the file is synced and\n"
           "verified, their steps, logs, records and payloads are taken out of the store. What stays is the row of each run, which\n"
           "names the file, and the hashes of its records: 'maestro ledger verify' still verifies the whole log. Keys that started\n"
           "them and keys that their steps declared stay taken.\n"
           "\n"
           "Failed runs that await a decision stay, and so do those whose compensation failed. The store must not be in use. What is\n"
           "interrupted, even by a crash, is finished by the next call. The file of the store does not shrink; the room is used again.",
    .examples = "maestro store archive --before 90d --to /mnt/archive/2026-q3.jsonl\n"
                "maestro store archive --before 2026-10-01 --key store.db.key",
    .options = options, .run = run,
};
