#include "exec/process/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "value/json.h"

/* The codes of sysexits.h that mean something here. */
static const struct { int code; Cause cause; const char *text; } codes[] = {
    { 65, CAUSE_INPUT_INVALID, "its input is wrong" },
    { 75, CAUSE_TRANSIENT, "a failure that may pass" },
    { 77, CAUSE_POLICY, "a policy forbids it" },
};

static Report failure(Arena *arena, const Outcome *outcome);
static Report not_started(Arena *arena, const SpawnAnswer *answer);
static Status output_read(Arena *arena, const char *path, Value *out_value, Error *err);

Report outcome_report(Arena *arena, const Outcome *outcome)
{
    if (!outcome->answer->has_started) return not_started(arena, outcome->answer);
    int status = outcome->answer->wait_status;
    bool is_success = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !outcome->ended_by;
    Value output = value_null();
    Error err;
    Status read = output_read(arena, outcome->output_path, &output, &err);
    if (is_success && read)
        return (Report){ .cause = CAUSE_OUTPUT_INVALID, .message = arena_copy(arena, str_of(err.text)) };
    if (is_success) return (Report){ .output = output };
    Report report = failure(arena, outcome);
    report.output = read ? value_null() : output;
    return report;
}

/* A program that is not there will not be there in a second; a machine without room may have some. */
static Report not_started(Arena *arena, const SpawnAnswer *answer)
{
    Cause cause = answer->why == ERR_UNAVAILABLE ? CAUSE_TRANSIENT : CAUSE_PERMANENT;
    return (Report){ .cause = cause, .message = arena_format(arena, "cannot be started: %.*s", (int)sizeof answer->text, answer->text) };
}

static Report failure(Arena *arena, const Outcome *outcome)
{
    int status = outcome->answer->wait_status;
    Cause cause = outcome->ended_by ? outcome->ended_by : CAUSE_ERROR;
    char storage[256];
    Buf how = buf_on(storage, sizeof storage);
    if (outcome->ended_by == CAUSE_TIMEOUT)
        buf_text(&how, outcome->is_runtime ? "the runtime of its job is over; " : "its time is over; ");
    else if (outcome->ended_by) buf_text(&how, "it was ended on request; ");
    if (WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        buf_format(&how, "killed by signal %d (%s%s)", WTERMSIG(status), name ? "SIG" : "real-time", name ? name : "");
        if (WTERMSIG(status) == SIGXCPU) buf_text(&how, ": its processor time is used up");
    } else {
        buf_format(&how, "exit code %d", WEXITSTATUS(status));
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            if (codes[i].code != WEXITSTATUS(status)) continue;
            buf_format(&how, ": %s", codes[i].text);
            if (!outcome->ended_by) cause = codes[i].cause;
        }
    }
    Str text = buf_peek(&how);
    Report report = { .cause = cause };
    report.message = outcome->said.len ? arena_format(arena, "%.*s\n%.*s", STR_ARG(text), STR_ARG(outcome->said))
                                       : arena_copy(arena, text);
    return report;
}

/* --- output ------------------------------------------------------------------------------------------------------ */

static Status file_take(Arena *arena, int fd, Str *out_text, Error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return error_set(err, ERR_INVALID, "what it put at MAESTRO_OUTPUT is no file");
    if (info.st_size > OUTPUT_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "its output has %lld bytes and exceeds OUTPUT_SIZE_MAX (%u)",
                         (long long)info.st_size, OUTPUT_SIZE_MAX);
    char *bytes = arena_bytes(arena, (size_t)info.st_size + 1);
    size_t size = 0;
    while (size < (size_t)info.st_size) {
        ssize_t got = read(fd, bytes + size, (size_t)info.st_size - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_set(err, ERR_UNAVAILABLE, "its output cannot be read: %s", strerror(errno));
        if (got == 0) break;
        size += (size_t)got;
    }
    *out_text = (Str){ bytes, size };
    return OK;
}

static bool is_blank(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_space(text.ptr[i])) return false;
    return true;
}

/* The program may put anything there: no link is followed and no pipe waited for. */
static Status output_read(Arena *arena, const char *path, Value *out_value, Error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT) return OK;
    if (fd < 0) {
        int error = errno;
        if (unlink(path) != 0) rmdir(path);
        return error_set(err, ERR_INVALID, "what it put at MAESTRO_OUTPUT cannot be read: %s", strerror(error));
    }
    Str text;
    Status status = file_take(arena, fd, &text, err);
    close(fd);
    if (unlink(path) != 0) rmdir(path);
    if (status || is_blank(text)) return status;
    status = json_parse(arena, text, out_value, err);
    if (status && err->line) error_prefix(err, "its output is no JSON: line %u, column %u: ", err->line, err->column);
    else if (status) error_prefix(err, "its output is no JSON: ");
    return status;
}
