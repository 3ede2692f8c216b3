/* human.h - times and durations as people read and write them.
 *
 * Times are UTC: what one person pastes, another one understands.
 *
 * Owns: nothing.     Fails: never, but for reading.     Thread: any.
 */
#ifndef CLI_HUMAN_H
#define CLI_HUMAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

int64_t human_now_ms(void);

void human_duration(Buf *buf, int64_t ms);                      /* "240ms", "3.2s", "4m05s", "2h03m", "3d04h" */
/* "02:15:07" on the same day, "11-15 02:15" in the same year, "2025-11-15" else. */
void human_time_short(Buf *buf, int64_t ms, int64_t now_ms);
void human_time(Buf *buf, int64_t ms);                          /* "2026-11-16 02:15:07" */
void human_size(Buf *buf, uint64_t size);                       /* "12 KB", "3.4 GB" */

/* "1h", "30m", "7d" before now, or a time "2026-11-16T02:15:07.000Z", or a date. */
bool human_since(Str text, int64_t now_ms, int64_t *out_ms);

#endif
