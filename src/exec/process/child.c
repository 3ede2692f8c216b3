#include "exec/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/utf8.h"
#include "engine/message.h"
#include "exec/process/outcome.h"

static const size_t line_sizes[CHILD_ACKS] = { LOG_LINE_SIZE_MAX, LOG_LINE_SIZE_MAX, RUNNER_LINE_SIZE_MAX };

static bool take_out(void *context, Str line, bool is_cut);
static bool take_err(void *context, Str line, bool is_cut);
static bool take_event(void *context, Str line, bool is_cut);
static const StreamLine takers[CHILD_ACKS] = { take_out, take_err, take_event };

static bool ends_open(Child *child, Error *err);
static void fail(Child *child, Cause cause, const char *text);

void child_begin(Child *child, ChildHost *host, Request *request)
{
    *child = (Child){ .host = host, .request = request, .slot = child->slot, .acks_fd = -1 };
    for (int i = 0; i < SPAWNER_FD_COUNT; i++) child->given[i] = -1;
    for (int i = 0; i < CHILD_ACKS; i++) stream_init(&child->streams[i], -1, line_sizes[i]);
    arena_init(&child->arena, SIZE_MAX);
    request->spawn.slot = child->slot;
    Error err;
    if (request->cause) fail(child, request->cause, request->error.text);
    else if (!ends_open(child, &err)) fail(child, CAUSE_TRANSIENT, err.text);
    else child->must_start = true;
}

static void fail(Child *child, Cause cause, const char *text)
{
    child->report = (Report){ .cause = cause, .message = arena_copy(&child->arena, str_of(text)) };
    child->has_report = true;
    child->must_start = false;
}

/* --- descriptors ------------------------------------------------------------------------------------------------- */

/* Our ends do not block; the program's do, as programs expect. */
static bool pipe_open(int *out_ours, int *out_theirs, bool we_read)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    *out_ours = ends[we_read ? 0 : 1];
    *out_theirs = ends[we_read ? 1 : 0];
    return fcntl(*out_ours, F_SETFL, O_NONBLOCK | (we_read ? O_RDONLY : O_WRONLY)) == 0;
}

/* A file in memory and not a pipe: it takes a document of any size at once, and nobody has to wait until it is read. */
static int document_open(const Request *request)
{
    int fd = memfd_create("maestro-document", MFD_CLOEXEC);
    Str text = buf_peek(&request->document);
    for (size_t at = 0; fd >= 0 && at < text.len;) {
        ssize_t written = pwrite(fd, text.ptr + at, text.len - at, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            close(fd);
            return -1;
        }
        at += (size_t)written;
    }
    return fd;
}

static bool ends_open(Child *child, Error *err)
{
    child->given[0] = document_open(child->request);
    bool is_open = child->given[0] >= 0;
    for (int i = 0; i < CHILD_ACKS && is_open; i++) {
        int ours = -1;
        is_open = pipe_open(&ours, &child->given[i + 1], /* we_read= */ true);
        stream_init(&child->streams[i], ours, line_sizes[i]);
        struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = child_token(child->slot, (ChildStream)i) };
        is_open = is_open && epoll_ctl(child->host->epoll_fd, EPOLL_CTL_ADD, ours, &event) == 0;
    }
    is_open = is_open && pipe_open(&child->acks_fd, &child->given[PROCESS_ACKS_FD], /* we_read= */ false);
    if (!is_open) error_set(err, ERR_LIMIT, "no descriptors for its process: %s", strerror(errno));
    buf_deinit(&child->request->document);
    return is_open;
}

static void given_close(Child *child)
{
    for (int i = 0; i < SPAWNER_FD_COUNT; i++) {
        if (child->given[i] >= 0) close(child->given[i]);
        child->given[i] = -1;
    }
}

void child_release(Child *child)
{
    given_close(child);
    for (int i = 0; i < CHILD_ACKS; i++) stream_close(&child->streams[i]);
    if (child->acks_fd >= 0) close(child->acks_fd);
    arena_deinit(&child->arena);
    request_free(child->request);
    child->request = NULL;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static bool start_send(Child *child)
{
    Error err;
    Status status = spawner_start(&child->host->spawner, &child->request->spawn, child->given, &err);
    if (status == ERR_UNAVAILABLE) return false;
    given_close(child);
    child->must_start = false;
    buf_deinit(&child->request->texts);
    if (status) fail(child, CAUSE_TRANSIENT, err.text);
    return true;
}

static bool signal_send(Child *child)
{
    Error err;
    if (spawner_signal(&child->host->spawner, child->slot, child->must_signal, &err) == ERR_UNAVAILABLE) return false;
    child->must_signal = 0;
    return true;
}

/* An acknowledgement that does not fit waits until the program has read some. */
static void acks_write(Child *child)
{
    while (child->acks_fd >= 0 && child->ack_count_written < child->ack_count) {
        char storage[64];
        Buf line = buf_on(storage, sizeof storage);
        buf_text(&line, "{\"acknowledged\":");
        buf_u64(&line, child->ack_count_written + 1);
        buf_text(&line, "}\n");
        ssize_t written = write(child->acks_fd, line.ptr, line.len);        /* whole or not at all: it is short */
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN) {
            struct epoll_event event = { .events = EPOLLOUT | EPOLLET, .data.u64 = child_token(child->slot, CHILD_ACKS) };
            if (!child->is_acks_watched) epoll_ctl(child->host->epoll_fd, EPOLL_CTL_ADD, child->acks_fd, &event);
            child->is_acks_watched = true;
            return;
        }
        if (written < 0) return;                                            /* it has closed its end: it wants none */
        child->ack_count_written++;
    }
}

static ChildState streams_read(Child *child)
{
    ChildState state = CHILD_WAITS;
    for (int i = 0; i < CHILD_ACKS; i++) {
        StreamState stream = stream_read(&child->streams[i], takers[i], child);
        if (stream == STREAM_REFUSED) state = CHILD_STALLED;
        if (stream == STREAM_MORE && state == CHILD_WAITS) state = CHILD_MORE;
    }
    return state;
}

static bool streams_finish(Child *child)
{
    for (int i = 0; i < CHILD_ACKS; i++)
        if (!stream_finish(&child->streams[i], takers[i], child)) return false;
    return true;
}

static ChildState report_send(Child *child)
{
    if (!child->has_report) {
        Outcome outcome = { .answer = &child->answer, .output_path = child->request->output_path,
                            .ended_by = child->ended_by, .is_runtime = child->request->is_runtime,
                            .said = { child->said, child->said_size } };
        child->report = outcome_report(&child->arena, &outcome);
        child->has_report = true;
    }
    Notice notice = { .kind = NOTICE_REPORT, .id = child->request->id, .report = child->report };
    bool is_taken = child->host->sink.notice(child->host->sink.context, &notice);
    return is_taken || child->host->is_closing ? CHILD_DONE : CHILD_STALLED;
}

ChildState child_work(Child *child)
{
    if (child->must_start && !start_send(child)) return CHILD_STALLED;
    if (child->must_signal && !child->has_answer && !signal_send(child)) return CHILD_STALLED;
    if (child->has_report) return report_send(child);
    acks_write(child);
    ChildState state = streams_read(child);
    if (!child->has_answer || (state != CHILD_WAITS && !child->host->is_closing)) return state;
    if (!streams_finish(child) && !child->host->is_closing) return CHILD_STALLED;
    return report_send(child);
}

void child_end(Child *child, Cause cause, int signal)
{
    if (!child->ended_by) child->ended_by = cause;
    child->must_signal = signal;
}

void child_acknowledge(Child *child)
{
    child->ack_count++;
}

void child_answer(Child *child, const SpawnAnswer *answer)
{
    child->answer = *answer;
    child->has_answer = true;
}

void child_lost(Child *child)
{
    if (!child->has_report && !child->has_answer) fail(child, CAUSE_TRANSIENT, "the process that starts processes is gone");
    child->must_signal = 0;
}

/* --- lines ------------------------------------------------------------------------------------------------------- */

/* A log is text: what is no UTF-8 is shown as such. */
static void line_clean(Buf *out, Str line)
{
    buf_clear(out);
    if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
    while (line.len) {
        size_t valid = utf8_valid_size(line);
        buf_str(out, str_slice(line, 0, valid));
        if (valid < line.len) buf_text(out, "\xEF\xBF\xBD");
        line = str_slice(line, valid + 1, line.len);
    }
}

static bool log_send(Child *child, Str line, bool is_error)
{
    Notice notice = { .kind = NOTICE_LOG, .id = child->request->id, .text = line, .is_error = is_error };
    return child->host->sink.notice(child->host->sink.context, &notice);
}

static bool log_take(Child *child, Str line, bool is_cut, bool is_error)
{
    if (child->is_log_full) return true;
    Buf *clean = &child->host->line;
    if (child->log_size + line.len + 1 > child->host->log_size_max) {
        buf_clear(clean);
        buf_format(clean, "[the log is cut here: it exceeds %llu bytes]", (unsigned long long)child->host->log_size_max);
        child->is_log_full = log_send(child, buf_peek(clean), is_error);
        return child->is_log_full;
    }
    line_clean(clean, line);
    if (is_cut) buf_format(clean, " [cut: the line exceeds LOG_LINE_SIZE_MAX (%u bytes)]", LOG_LINE_SIZE_MAX);
    if (!log_send(child, buf_peek(clean), is_error)) return false;
    child->log_size += line.len + 1;
    return true;
}

static bool take_out(void *context, Str line, bool is_cut)
{
    return log_take(context, line, is_cut, /* is_error= */ false);
}

/* Keeps the last lines, whole ones, for the message of a failure. */
static void said_add(Child *child, Str line)
{
    Buf *clean = &child->host->line;
    line_clean(clean, str_slice(line, 0, sizeof child->said / 4));
    Str text = buf_peek(clean);
    if (text.len + 1 > sizeof child->said) return;
    while (child->said_size && child->said_size + 1 + text.len > sizeof child->said) {
        Str said = { child->said, child->said_size };
        size_t first = str_find(said, '\n', 0) + 1;
        if (first > said.len) first = said.len;
        memmove(child->said, child->said + first, said.len - first);
        child->said_size = said.len - first;
    }
    if (child->said_size) child->said[child->said_size++] = '\n';
    memcpy(child->said + child->said_size, text.ptr, text.len);
    child->said_size += text.len;
}

static bool take_err(void *context, Str line, bool is_cut)
{
    if (!log_take(context, line, is_cut, /* is_error= */ true)) return false;
    if (line.len) said_add(context, line);
    return true;
}

/* A message that is not understood is told in the log: the program goes on, and waits for what it is not given. */
static bool take_event(void *context, Str line, bool is_cut)
{
    Child *child = context;
    if (str_trim(line).len == 0) return true;
    Error err;
    Notice notice;
    arena_reset(&child->host->scratch);
    Status status = is_cut ? error_set(&err, ERR_LIMIT, "it exceeds RUNNER_LINE_SIZE_MAX (%u bytes)", RUNNER_LINE_SIZE_MAX)
                           : message_read(&child->host->scratch, line, &notice, &err);
    if (status) {
        error_prefix(&err, "a message on MAESTRO_EVENTS is not understood: ");
        return log_send(child, str_of(err.text), /* is_error= */ true);
    }
    notice.id = child->request->id;
    return child->host->sink.notice(child->host->sink.context, &notice);
}
