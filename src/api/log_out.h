/* log_out.h - lines of the log on their way to whoever reads it.
 *
 * A pipe that nobody empties, or a terminal that was stopped, would hold up who writes to it. So lines wait here, and are written as far
 * as they are taken without waiting. Beyond a bound, and where writing fails, they are dropped and counted; as soon as writing works again
 * a line of its own says how many were.
 *
 * Owns:   lines that wait, until log_out_deinit(). Borrows the descriptor.
 * Fails:  never; see above.     Bounds: HERALD_LINE_SIZE_MAX bytes.     Thread: one.
 */
#ifndef API_LOG_OUT_H
#define API_LOG_OUT_H

#include "base/buf.h"

typedef struct LogOut {
    int fd;
    Buf waiting;                    /* lines, whole but for the first */
    size_t written;                 /* of these bytes */
    bool is_torn;                   /* the beginning of a line was written, and its end is lost */
    uint64_t dropped_count;
    uint64_t untold_count;          /* of these, that no line has told of yet */
} LogOut;

void log_out_init(LogOut *out, int fd);
void log_out_deinit(LogOut *out);

void log_out_add(LogOut *out, Str line);                /* ended by a line feed */
void log_out_miss(LogOut *out, uint64_t count);         /* so many were lost on the way here */
/* Writes what is taken at once. True: something waits until the descriptor can be written to. */
bool log_out_turn(LogOut *out, int64_t now_ms);

#endif
