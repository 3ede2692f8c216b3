#include "cli/human.h"

#include <inttypes.h>

#include "base/civil.h"
#include "lang/shape.h"
#include "os/clock.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

int64_t human_now_ms(void)
{
    return clock_realtime_ms();
}

void human_duration(Buf *buf, int64_t ms)
{
    if (ms < 0) ms = 0;
    if (ms < SECOND_MS) buf_format(buf, "%" PRId64 "ms", ms);
    else if (ms < MINUTE_MS) buf_format(buf, "%" PRId64 ".%" PRId64 "s", ms / SECOND_MS, ms % SECOND_MS / 100);
    else if (ms < HOUR_MS) buf_format(buf, "%" PRId64 "m%02" PRId64 "s", ms / MINUTE_MS, ms % MINUTE_MS / SECOND_MS);
    else if (ms < DAY_MS) buf_format(buf, "%" PRId64 "h%02" PRId64 "m", ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS);
    else buf_format(buf, "%" PRId64 "d%02" PRId64 "h", ms / DAY_MS, ms % DAY_MS / HOUR_MS);
}

void human_time_short(Buf *buf, int64_t ms, int64_t now_ms)
{
    CivilTime time = civil_time(floor_div(ms, SECOND_MS)), now = civil_time(floor_div(now_ms, SECOND_MS));
    bool is_same_year = time.date.year == now.date.year;
    if (is_same_year && time.date.month == now.date.month && time.date.day == now.date.day)
        buf_format(buf, "%02d:%02d:%02d", time.hour, time.minute, time.second);
    else if (is_same_year)
        buf_format(buf, "%02d-%02d %02d:%02d", time.date.month, time.date.day, time.hour, time.minute);
    else
        buf_format(buf, "%04" PRId64 "-%02d-%02d", time.date.year, time.date.month, time.date.day);
}

void human_time(Buf *buf, int64_t ms)
{
    CivilTime time = civil_time(floor_div(ms, SECOND_MS));
    buf_format(buf, "%04" PRId64 "-%02d-%02d %02d:%02d:%02d", time.date.year, time.date.month, time.date.day, time.hour,
               time.minute, time.second);
}

void human_size(Buf *buf, uint64_t size)
{
    static const char *const units[] = { "bytes", "KB", "MB", "GB", "TB" };
    unsigned unit = 0;
    uint64_t tenths = size * 10;
    while (tenths >= 10240 && unit < 4) {
        tenths /= 1024;
        unit++;
    }
    if (!unit || tenths >= 100) buf_format(buf, "%" PRIu64 " %s", tenths / 10, units[unit]);
    else buf_format(buf, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[unit]);
}

/* "2026-11-16": its first moment. */
static bool read_date(Str text, int64_t *out_ms)
{
    char whole[32];
    Buf buf = buf_on(whole, sizeof whole);
    buf_str(&buf, text);
    buf_text(&buf, "T00:00:00.000Z");
    return text.len == 10 && civil_read_ms(buf_peek(&buf), out_ms);
}

bool human_since(Str text, int64_t now_ms, int64_t *out_ms)
{
    int64_t ago;
    if (duration_read(text, &ago)) {
        *out_ms = now_ms - ago;
        return true;
    }
    return civil_read_time(text, out_ms) || read_date(text, out_ms);
}
