/* stream.h - what a program writes to one of its descriptors, cut into lines.
 *
 * Lines are handed out one at a time to a function that may refuse one for now; then reading stops, the pipe fills, and the
 * program waits: a log that nobody can take slows down who writes it. A line that is too long is handed out cut, with
 * a note, and the rest of it is passed over.
 *
 * Owns:   the descriptor and a buffer, until stream_close().
 * Bounds: line_size_max.     Thread: one at a time.
 */
#ifndef EXEC_PROCESS_STREAM_H
#define EXEC_PROCESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

typedef struct Stream {
    int fd;                         /* -1: closed */
    char *bytes;                    /* line_size_max and one more; made when the first byte comes */
    size_t start, end, line_size_max;
    bool is_passing;                /* inside a line whose beginning was handed out as cut */
} Stream;

typedef enum StreamState {
    STREAM_EMPTY,                   /* nothing to read now */
    STREAM_MORE,                    /* it has more; others come first */
    STREAM_REFUSED,                 /* a line was not taken: try again later */
    STREAM_ENDED,                   /* nobody writes to it any more, and everything was handed out */
} StreamState;

/* `is_cut`: the line was longer. False: not now. */
typedef bool (*StreamLine)(void *context, Str line, bool is_cut);

void stream_init(Stream *stream, int fd, size_t line_size_max);
void stream_close(Stream *stream);
StreamState stream_read(Stream *stream, StreamLine take, void *context);
/* A last line without its end, once the writer is gone; false where it was refused. */
bool stream_finish(Stream *stream, StreamLine take, void *context);

#endif
