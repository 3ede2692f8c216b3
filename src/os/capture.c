#include "os/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/clock.h"

#define NS_PER_MS 1000000u
#define READ_SIZE 65536u

enum { INPUT, OUTPUT, ERRORS, FD_COUNT };

typedef struct Capture {
    int given[FD_COUNT];            /* the program's ends */
    int ours[FD_COUNT];             /* -1: none, or at its end */
    Buf texts[FD_COUNT];
} Capture;

/* The program's descriptors are put to 0, 1 and 2, so none of ours may be there. */
static int fd_above(int fd)
{
    if (fd < 0 || fd >= FD_COUNT) return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FD_COUNT);
    close(fd);
    return moved;
}

static bool ends_open(Capture *capture)
{
    capture->given[INPUT] = fd_above(open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (int i = OUTPUT; i < FD_COUNT; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return false;
        capture->ours[i] = fd_above(ends[0]);
        capture->given[i] = fd_above(ends[1]);
        if (capture->ours[i] < 0 || capture->given[i] < 0) return false;
    }
    return capture->given[INPUT] >= 0;
}

static void fds_close(int fds[FD_COUNT])
{
    for (int i = 0; i < FD_COUNT; i++) {
        if (fds[i] >= 0) close(fds[i]);
        fds[i] = -1;
    }
}

static void read_some(Capture *capture, int index)
{
    char bytes[READ_SIZE];
    ssize_t size = read(capture->ours[index], bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) return;
    if (size > 0) {
        buf_bytes(&capture->texts[index], bytes, (size_t)size);
        return;
    }
    close(capture->ours[index]);
    capture->ours[index] = -1;
}

static bool is_open(const Capture *capture)
{
    return capture->ours[OUTPUT] >= 0 || capture->ours[ERRORS] >= 0;
}

/* Both outputs up to their ends, the end of time, or a bound. */
static Status read_all(Capture *capture, const CaptureLimits *limits, Error *err)
{
    uint64_t end_ns = clock_monotonic_ns() + limits->timeout_ms * NS_PER_MS;
    while (is_open(capture)) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= end_ns)
            return error_set(err, ERR_LIMIT, "not done after %llu s", (unsigned long long)limits->timeout_ms / 1000);
        struct pollfd fds[] = { { capture->ours[OUTPUT], POLLIN, 0 }, { capture->ours[ERRORS], POLLIN, 0 } };
        if (poll(fds, 2, (int)((end_ns - now_ns) / NS_PER_MS + 1)) < 0 && errno != EINTR)
            return error_set(err, ERR_UNAVAILABLE, "its output cannot be awaited: %s", strerror(errno));
        for (int i = 0; i < 2; i++)
            if (fds[i].fd >= 0 && fds[i].revents) read_some(capture, OUTPUT + i);
        for (int i = OUTPUT; i < FD_COUNT; i++)
            if (buf_overflowed(&capture->texts[i]))
                return error_set(err, ERR_LIMIT, "it printed more than %zu bytes", capture->texts[i].size_max);
    }
    return OK;
}

/* Closing both outputs is its last act; one that closes them and goes on would be waited for without an end. */
static int end_and_wait(pid_t pid)
{
    int status = 0;
    kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A program that has closed its outputs is given the rest of its time to leave by itself. */
static int wait_until(pid_t pid, uint64_t timeout_ms)
{
    uint64_t end_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    siginfo_t info;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid) break;
        if (clock_monotonic_ns() >= end_ns) break;
        poll(NULL, 0, 1);
    }
    return end_and_wait(pid);
}

Status capture_run(Arena *arena, const ProcessSpec *spec, const CaptureLimits *limits, Captured *out, Error *err)
{
    Capture capture = { .given = { -1, -1, -1 }, .ours = { -1, -1, -1 } };
    buf_init(&capture.texts[INPUT], 0);
    buf_init(&capture.texts[OUTPUT], limits->out_size_max);
    buf_init(&capture.texts[ERRORS], limits->err_size_max);
    ProcessSpec whole = *spec;
    whole.fds = capture.given;
    whole.fd_count = FD_COUNT;
    pid_t pid = -1;
    Status status = ends_open(&capture) ? process_start(&whole, &pid, err)
                                        : error_set(err, ERR_UNAVAILABLE, "no descriptors: %s", strerror(errno));
    fds_close(capture.given);
    if (!status) {
        status = read_all(&capture, limits, err);
        int exit_status = status ? end_and_wait(pid) : wait_until(pid, limits->timeout_ms);
        if (!status)
            *out = (Captured){ exit_status, arena_copy(arena, buf_peek(&capture.texts[OUTPUT])),
                               arena_copy(arena, buf_peek(&capture.texts[ERRORS])) };
    }
    fds_close(capture.ours);
    for (int i = 0; i < FD_COUNT; i++) buf_deinit(&capture.texts[i]);
    return status;
}
