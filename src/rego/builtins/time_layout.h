/* time_layout.h - times as text, by the layouts of Go: an example of how the reference time would be written.
 *
 * The reference time is Mon Jan 2 15:04:05 MST 2006; "02 Jan 06 15:04 -0700" therefore asks for day, month, year, hour,
 * minute and zone in that order. A few layouts have names (RFC3339).
 *
 * Owns: nothing.     Fails: time_layout_read() with BUILTIN_ERROR in Go's words.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_TIME_LAYOUT_H
#define REGO_BUILTINS_TIME_LAYOUT_H

#include "base/buf.h"
#include "base/timezone.h"
#include "rego/builtins/builtin.h"

/* An instant: seconds since 1970 and nanoseconds behind them, 0 to 999999999. */
typedef struct Instant {
    int64_t seconds;
    int32_t nanoseconds;
} Instant;

/* The layout that a name stands for, or the text itself. */
Str           time_layout_named(Str name);
BuiltinResult time_layout_read(Str layout, Str text, Instant *out_instant, Error *err);
void          time_layout_print(Buf *buf, Str layout, Instant instant, const Timezone *zone);
extern const char *const weekday_names[7];

#endif
