#include "api/log_out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "api/log.h"
#include "base/limits.h"

void log_out_init(LogOut *out, int fd)
{
    *out = (LogOut){ .fd = fd };
    buf_init(&out->waiting, HERALD_LINE_SIZE_MAX);
}

void log_out_deinit(LogOut *out) { buf_deinit(&out->waiting); }

void log_out_miss(LogOut *out, uint64_t count)
{
    out->dropped_count += count;
    out->untold_count += count;
}

/* What was written makes room. */
static void compact(LogOut *out)
{
    Buf *waiting = &out->waiting;
    if (!out->written) return;
    memmove(waiting->ptr, waiting->ptr + out->written, waiting->len - out->written);
    waiting->len -= out->written;
    out->written = 0;
}

void log_out_add(LogOut *out, Str line)
{
    if (out->waiting.len + line.len > HERALD_LINE_SIZE_MAX) compact(out);
    if (out->waiting.len + line.len > HERALD_LINE_SIZE_MAX) log_out_miss(out, 1);
    else buf_str(&out->waiting, line);
}

typedef enum Wrote { WROTE, WROTE_LATER, WROTE_NEVER } Wrote;

/* A pipe that can be written to has room for PIPE_BUF bytes, so that a write of no more does not wait. */
static Wrote write_some(int fd, Str text, size_t *out_size)
{
    struct pollfd polled = { .fd = fd, .events = POLLOUT };
    if (poll(&polled, 1, 0) <= 0) return WROTE_LATER;
    ssize_t size = write(fd, text.ptr, text.len < PIPE_BUF ? text.len : PIPE_BUF);
    if (size < 0) return errno == EINTR || errno == EAGAIN ? WROTE_LATER : WROTE_NEVER;
    *out_size = (size_t)size;
    return WROTE;
}

/* As many whole lines as fit into one write; one that is longer than that by itself. */
static Str next_lines(const LogOut *out)
{
    Str rest = str_slice(buf_peek(&out->waiting), out->written, out->waiting.len);
    size_t size = 0;
    for (size_t end; size < rest.len; size = end) {
        end = str_find(rest, '\n', size) + 1;
        if (end > PIPE_BUF) return str_slice(rest, 0, size ? size : end);
    }
    return rest;
}

/* The first line that waits, or what is left of it. */
static void drop_line(LogOut *out)
{
    Str waiting = buf_peek(&out->waiting);
    out->is_torn = out->is_torn || (out->written && waiting.ptr[out->written - 1] != '\n');
    out->written = str_find(waiting, '\n', out->written) + 1;
    log_out_miss(out, 1);
}

static Wrote tell_dropped(LogOut *out, int64_t now_ms)
{
    LogLine line = log_begin(LOG_WARNING, now_ms, "lines of this log were dropped: nobody took them");
    log_number(&line, "count", (int64_t)out->untold_count);
    Buf text;
    buf_init(&text, PIPE_BUF);
    if (out->is_torn) buf_char(&text, '\n');
    buf_str(&text, log_close(&line));
    size_t size = 0;
    Wrote wrote = write_some(out->fd, buf_peek(&text), &size);
    if (wrote == WROTE) {
        out->untold_count = 0;
        out->is_torn = size < text.len;
    }
    buf_deinit(&text);
    log_free(&line);
    return wrote;
}

bool log_out_turn(LogOut *out, int64_t now_ms)
{
    while (out->written < out->waiting.len) {
        bool is_between = !out->written || out->waiting.ptr[out->written - 1] == '\n';
        Wrote wrote = out->untold_count && is_between ? tell_dropped(out, now_ms) : WROTE;
        size_t size = 0;
        if (wrote == WROTE) wrote = write_some(out->fd, next_lines(out), &size);
        if (wrote == WROTE_LATER) return true;
        if (wrote == WROTE_NEVER) drop_line(out);
        else out->written += size;
    }
    buf_clear(&out->waiting);
    out->written = 0;
    return out->untold_count && tell_dropped(out, now_ms) == WROTE_LATER;
}
