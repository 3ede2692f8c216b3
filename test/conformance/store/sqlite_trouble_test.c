/* sqlite_trouble_test.c - full disks, failing syncs, damage, kill -9. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "failing_vfs.h"
#include "sqlite_case.h"
#include "store/sqlite/sqlite_store.h"

/* --- trouble ------------------------------------------------------------------------------------------------------- */

SQLITE_CASE(a_full_disk_refuses_and_writes_nothing_half, "")
{
    commit_run(it, "default", "orders");
    struct rlimit before, tight;
    getrlimit(RLIMIT_FSIZE, &before);
    char wal[256];
    snprintf(wal, sizeof wal, "%s-wal", it->path);
    struct stat info;
    REQUIRE(stat(wal, &info) == 0);
    tight = (struct rlimit){ (rlim_t)info.st_size + 20000, before.rlim_max };
    char *large = arena_bytes(&it->arena, 1000000);
    memset(large, 'x', 1000000);
    RowChange change = run_row(it, 2, "default", "orders", 1);
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 3, .run_no = 2, .payload = { large, 1000000 },
                                                .changes = &change, .change_count = 1 });
    setrlimit(RLIMIT_FSIZE, &tight);
    Error err = { 0 };
    CommitOutcome outcome = batch_commit(it, batch, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_INT(outcome, STORE_REFUSED);
    EXPECT(has(str_of(err.text), "the disk full"));
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, 0);
    ROW("with room again it goes on");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    REQUIRE(store_case_reopen(it));
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, 1);
}

SQLITE_CASE(a_sync_that_fails_is_an_unknown_outcome_until_it_is_owned_again, "")
{
    commit_run(it, "default", "orders");
    RowChange change = run_row(it, 2, "default", "orders", 1);
    failing_vfs_fail_syncs(true);
    CommitOutcome outcome = commit_changes(it, &change, 1);
    failing_vfs_fail_syncs(false);
    EXPECT_INT(outcome, STORE_UNKNOWN);
    ROW("until then everything is refused");
    EXPECT_INT(commit_changes(it, &change, 1), STORE_REFUSED);
    Error err;
    REQUIRE_OK(store_own(it->store, 1, &it->head, &err), &err);
    Answer there = ASK(it, QUERY_RUN, cell_int(2));
    EXPECT_INT(it->head.position, there.row_count ? 2 : 1);         /* either way head and rows agree */
    change = run_row(it, 3, "default", "orders", 1);
    EXPECT_INT(commit_changes(it, &change, 1), STORE_DURABLE);
    ROW("and after the next start it is still so");
    REQUIRE(store_case_reopen(it));
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(2)).row_count, there.row_count);
    EXPECT_INT(ASK(it, QUERY_RUN, cell_int(3)).row_count, 1);
}

/* In a process that is not root, whom permissions do not bind. */
SQLITE_CASE(a_read_only_file_is_a_refusal_that_says_so, "")
{
    commit_run(it, "default", "orders");
    store_close(it->store);
    it->store = NULL;
    chmod(it->path, 0444);
    char lock[256];
    snprintf(lock, sizeof lock, "%s.lock", it->path);
    chmod(lock, 0666);
    chmod(it->directory, 0755);
    pid_t child = fork();
    if (!child) {
        if (!geteuid() && (setgid(65534) || setuid(65534))) _exit(9);
        Error err = { 0 };
        Store *store;
        LogHead head;
        Status status = sqlite_store_open(&(SqliteOptions){ .path = it->path }, &store, &err);
        if (!status) status = store_own(store, 1, &head, &err);
        if (status != ERR_DENIED) fprintf(stderr, "status %d: %s\n", status, err.text);
        _exit(status == ERR_DENIED ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_INT(WEXITSTATUS(status), 0);
    chmod(it->path, 0600);
}

static bool ignore_row(void *context, const Cell *cells, uint32_t count)
{
    (void)context, (void)cells, (void)count;
    return true;
}

SQLITE_CASE(damaged_pages_are_found_and_reported_as_damage, "")
{
    char *large = arena_bytes(&it->arena, 3000);
    memset(large, 'x', 3000);
    Batch *batch = batch_make(it, &(BatchPlan){ .record_count = 200, .run_no = 1, .payload = { large, 3000 } });
    Error err = { 0 };
    EXPECT_INT(batch_commit(it, batch, &err), STORE_DURABLE);
    store_close(it->store);
    it->store = NULL;
    int fd = open(it->path, O_RDWR);
    struct stat info;
    REQUIRE(fd >= 0 && fstat(fd, &info) == 0);
    /* Everything from the middle on; the tables' descriptions at the beginning stay. */
    char garbage[4096];
    memset(garbage, 0x5a, sizeof garbage);
    for (off_t at = info.st_size / 2 / 4096 * 4096; at < info.st_size; at += 4096) EXPECT(pwrite(fd, garbage, 4096, at) == 4096);
    close(fd);
    REQUIRE_OK(sqlite_store_open(&(SqliteOptions){ .path = it->path }, &it->store, &err), &err);
    uint32_t count = 0;
    EXPECT_OK(store_check(it->store, note_finding, &count, &err), &err);
    EXPECT(count > 0);
    ROW("reading what is damaged says so");
    uint32_t corrupt = 0;
    for (int64_t i = 1; i <= 200; i++) {
        QueryAsk asked = { QUERY_RECORD, { cell_int(i) }, 1, 0 };
        Status status = store_select(it->store, &asked, ignore_row, NULL, &err);
        EXPECT(status == OK || status == ERR_CORRUPT);
        if (status == ERR_CORRUPT && !corrupt++) EXPECT(has(str_of(err.text), "damaged"));
    }
    EXPECT(corrupt > 0);
}

/* --- being killed -------------------------------------------------------------------------------------------------- */

/* Commits runs without end and says which are durable. */
static _Noreturn void commit_until_killed(StoreCase *it, int out)
{
    if (!store_case_reopen(it)) _exit(1);
    for (;;) {
        Batch *batches[4];
        for (int i = 0; i < 4; i++) {
            uint64_t run_no = it->head.next_run_no++;
            RowChange *changes = ARENA_ARRAY(&it->arena, RowChange, 2);
            changes[0] = run_row(it, run_no, "default", "orders", 1);
            changes[1] = step_row(it, run_no, 0, it->head.next_step_run_no++, "a");
            batches[i] = batch_make(it, &(BatchPlan){ .record_count = 2, .run_no = run_no, .payload = STR("0123456789abcdef{}"),
                                                      .changes = changes, .change_count = 2 });
            if (!store_submit(it->store, batches[i])) _exit(2);
        }
        for (int i = 0; i < 4; i++) {
            Completion completion;
            if (!completion_wait(it, &completion) || completion.outcome != STORE_DURABLE) _exit(3);
            uint64_t run_no = completion.batch->records[0].run_no;
            if (write(out, &run_no, sizeof run_no) != sizeof run_no) _exit(4);
        }
    }
}

SQLITE_CASE(kill_9_loses_nothing_that_was_acknowledged, "proves: R-005")
{
    store_close(it->store);
    it->store = NULL;
    uint64_t acknowledged = 0;
    for (int round = 0; round < 6; round++) {
        int pipe_ends[2];
        REQUIRE(pipe(pipe_ends) == 0);
        pid_t child = fork();
        if (!child) {
            close(pipe_ends[0]);
            commit_until_killed(it, pipe_ends[1]);
        }
        close(pipe_ends[1]);
        nanosleep(&(struct timespec){ 0, (60 + 37 * round) * 1000000 }, NULL);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        EXPECT(WIFSIGNALED(status));
        uint64_t run_no;
        while (read(pipe_ends[0], &run_no, sizeof run_no) == sizeof run_no) {
            EXPECT_INT(run_no, acknowledged + 1);
            acknowledged = run_no;
        }
        close(pipe_ends[0]);

        REQUIRE(store_case_reopen(it));
        EXPECT(it->head.next_run_no > acknowledged);
        uint64_t there = it->head.next_run_no - 1;
        EXPECT_INT(it->head.position, 2 * there);                   /* whole batches: two records each */
        Answer count = ASK(it, QUERY_COUNT_OF_DEFINITION, text_cell("default"), text_cell("orders"), cell_null(), cell_null());
        EXPECT_INT(answer_cell(&count, 0, 0).integer, there);
        uint32_t findings = 0;
        Error err;
        EXPECT_OK(store_check(it->store, note_finding, &findings, &err), &err);
        EXPECT_INT(findings, 0);
        acknowledged = there;
        store_close(it->store);
        it->store = NULL;
    }
    EXPECT(acknowledged > 0);
}
