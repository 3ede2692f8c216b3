#include "exec/process/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

#define READ_COUNT_MAX 8                /* reads in a row before others have their turn */

void stream_init(Stream *stream, int fd, size_t line_size_max)
{
    *stream = (Stream){ .fd = fd, .line_size_max = line_size_max };
}

void stream_close(Stream *stream)
{
    if (stream->fd >= 0) close(stream->fd);
    free(stream->bytes);
    *stream = (Stream){ .fd = -1 };
}

/* Hands out the whole lines that are in the buffer; false where one was refused. */
static bool lines_take(Stream *stream, StreamLine take, void *context)
{
    while (stream->start < stream->end) {
        Str rest = { stream->bytes + stream->start, stream->end - stream->start };
        size_t newline = str_find(rest, '\n', 0);
        bool is_whole = newline < rest.len;
        if (!is_whole && (stream->is_passing || newline <= stream->line_size_max)) {
            if (stream->is_passing) stream->start = stream->end;
            break;
        }
        size_t size = newline < stream->line_size_max ? newline : stream->line_size_max;
        if (!stream->is_passing && !take(context, str_slice(rest, 0, size), size < newline || !is_whole)) return false;
        stream->is_passing = !is_whole;
        stream->start += is_whole ? newline + 1 : rest.len;
    }
    memmove(stream->bytes, stream->bytes + stream->start, stream->end - stream->start);
    stream->end -= stream->start;
    stream->start = 0;
    return true;
}

StreamState stream_read(Stream *stream, StreamLine take, void *context)
{
    if (stream->fd < 0) return STREAM_ENDED;
    if (stream->bytes && !lines_take(stream, take, context)) return STREAM_REFUSED;
    for (int i = 0; i < READ_COUNT_MAX; i++) {
        char probe[512];                /* most programs say nothing: no buffer for those */
        bool is_first = stream->bytes == NULL;
        char *into = is_first ? probe : stream->bytes + stream->end;
        size_t room = is_first ? sizeof probe : stream->line_size_max + 1 - stream->end;
        if (is_first && room > stream->line_size_max) room = stream->line_size_max;
        ssize_t got = read(stream->fd, into, room);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return STREAM_EMPTY;
        if (got <= 0) {
            if (!stream_finish(stream, take, context)) return STREAM_REFUSED;
            stream_close(stream);
            return STREAM_ENDED;
        }
        if (is_first) {
            stream->bytes = malloc(stream->line_size_max + 1);
            CHECK(stream->bytes != NULL);
            memcpy(stream->bytes, probe, (size_t)got);
        }
        stream->end += (size_t)got;
        if (!lines_take(stream, take, context)) return STREAM_REFUSED;
    }
    return STREAM_MORE;
}

bool stream_finish(Stream *stream, StreamLine take, void *context)
{
    if (stream->fd < 0 || !stream->bytes) return true;
    if (!lines_take(stream, take, context)) return false;
    Str rest = { stream->bytes, stream->end };
    if (rest.len && !stream->is_passing && !take(context, rest, /* is_cut= */ false)) return false;
    stream->end = 0;
    return true;
}
