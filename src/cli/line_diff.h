/* line_diff.h - what has to be done to the lines of one text to get another, in the unified form that patch reads.
 *
 * Equal lines at both ends are set aside; what is left between is compared by the longest common sequence where it is small,
 * and shown as removed and added as a whole where it is not.
 *
 * Fails:  by the buffer's sticky overflow.
 * Bounds: DIFF_CELL_COUNT_MAX comparisons.     Thread: any.
 */
#ifndef CLI_LINE_DIFF_H
#define CLI_LINE_DIFF_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

void line_diff(Buf *out, Arena *scratch, Str name, Str before, Str after, bool color);

#endif
