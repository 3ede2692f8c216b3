/* How many processes a second the process executor carries, beside a bare loop that starts and awaits them.
 *
 *     bench-process [--json] [SECONDS]
 *
 * Both keep 64 at a time and run the same program, which does nothing. The bare loop has no pipes, no log, no output and no
 * limits: it is what the machine can do at most.
 */
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/notice_ring.h"
#include "exec/process/process.h"
#include "os/clock.h"
#include "value/json.h"

#define AT_A_TIME 64
#define PROGRAM "/bin/true"

static double since_s(uint64_t start_ns)
{
    return (double)(clock_monotonic_ns() - start_ns) / 1e9;
}

static double bare_rate(double seconds)
{
    static char program[] = PROGRAM;
    char *args[] = { program, NULL }, *variables[] = { NULL };
    uint64_t start_ns = clock_monotonic_ns(), count = 0;
    int active = 0;
    while (since_s(start_ns) < seconds || active > 0) {
        pid_t pid;
        while (active < AT_A_TIME && since_s(start_ns) < seconds) {
            if (posix_spawn(&pid, PROGRAM, NULL, NULL, args, variables) != 0) exit(1);
            active++;
        }
        if (waitpid(-1, NULL, 0) > 0) {
            active--;
            count++;
        }
    }
    return (double)count / since_s(start_ns);
}

static double executor_rate(Executor *executor, NoticeRing *ring, double seconds)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Error err;
    Attempt attempt = { .run_id = STR("run"), .tenant = STR("default"), .definition = STR("bench"), .step_id = STR("step"),
                        .runner = STR("true"), .key = STR("key") };
    if (json_parse(&arena, STR("{\"command\":[\"" PROGRAM "\"]}"), &attempt.settings, &err)) exit(1);
    uint64_t start_ns = clock_monotonic_ns(), count = 0, failed = 0;
    int active = 0;
    while (since_s(start_ns) < seconds || active > 0) {
        while (active < AT_A_TIME && since_s(start_ns) < seconds) {
            attempt.id = (AttemptId){ .run_no = count + (uint64_t)active, .attempt = 1, .holder = 1 };
            if (!executor->ops->execute(executor, &attempt)) break;
            active++;
        }
        struct pollfd wait = { .fd = notice_ring_fd(ring), .events = POLLIN };
        poll(&wait, 1, 1000);
        notice_ring_lower(ring);
        for (Notice notice; notice_ring_take(ring, &notice);) {
            if (notice.kind != NOTICE_REPORT) continue;
            active--;
            count++;
            if (notice.report.cause) failed++;
        }
    }
    arena_deinit(&arena);
    if (failed) {
        fprintf(stderr, "%llu attempts failed\n", (unsigned long long)failed);
        exit(1);
    }
    return (double)count / since_s(start_ns);
}

int main(int argc, char **argv)
{
    bool is_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    double seconds = argc > 1 + is_json ? strtod(argv[1 + is_json], NULL) : 0.5;
    Error err;
    NoticeRing *ring;
    Executor *executor;
    if (notice_ring_open(0, &ring, &err)) return 1;
    ProcessOptions options = { .name = STR("local"), .capacity = AT_A_TIME, .sink = notice_ring_sink(ring) };
    if (process_executor_open(&options, &executor, &err) || process_executor_start(executor, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    /* The two by turns, so that what else the machine does hits both. */
    enum { ROUNDS = 3 };
    double bare = 0, ours = 0;
    for (int i = 0; i < ROUNDS; i++) {
        bare += bare_rate(seconds) / ROUNDS;
        ours += executor_rate(executor, ring, seconds) / ROUNDS;
    }
    executor->ops->close(executor);
    notice_ring_close(ring);
    if (is_json) printf("{\"bare_per_s\":%.0f,\"executor_per_s\":%.0f,\"ratio\":%.3f}\n", bare, ours, ours / bare);
    else printf("%-28s %8.0f a second\n%-28s %8.0f a second\n%-28s %8.2f\n", "a bare loop of " PROGRAM, bare,
                "the process executor", ours, "ratio", ours / bare);
    return 0;
}
