#include "api/log.h"

#include <inttypes.h>

#include "base/civil.h"
#include "base/limits.h"
#include "value/json.h"

const char *const log_level_names[] = { "error", "warning", "info", "debug", NULL };

LogLine log_begin(LogLevel level, int64_t now_ms, const char *message)
{
    LogLine line;
    buf_init(&line.text, JSON_SIZE_MAX);
    buf_text(&line.text, "{\"time\":\"");
    civil_print_ms(&line.text, now_ms);
    buf_format(&line.text, "\",\"level\":\"%s\",\"message\":", log_level_names[level]);
    json_print_string(&line.text, str_of(message));
    return line;
}

void log_text(LogLine *line, const char *name, Str text)
{
    if (!text.len) return;
    buf_format(&line->text, ",\"%s\":", name);
    json_print_string(&line->text, text);
}

void log_number(LogLine *line, const char *name, int64_t number) { buf_format(&line->text, ",\"%s\":%" PRId64, name, number); }

void log_trace(LogLine *line, const Trace *trace)
{
    buf_text(&line->text, ",\"trace\":\"");
    buf_hex(&line->text, trace->id, sizeof trace->id);
    buf_text(&line->text, "\",\"span\":\"");
    buf_hex(&line->text, trace->span, sizeof trace->span);
    buf_char(&line->text, '"');
}

typedef struct Break { Str bytes; const char *escape; } Break;

/* What Unicode has as a break of lines beside those that JSON escapes anyway; NULL where there is none. */
static const Break *break_at(Str text)
{
    static const Break breaks[] = {
        { STR_INIT("\xc2\x85"), "\\u0085" }, { STR_INIT("\xe2\x80\xa8"), "\\u2028" }, { STR_INIT("\xe2\x80\xa9"), "\\u2029" },
    };
    if (!text.len || (unsigned char)text.ptr[0] < 0x80) return NULL;
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        if (str_starts(text, breaks[i].bytes)) return &breaks[i];
    return NULL;
}

/* JSON lets them stand as they are, and many a reader of lines ends one there. They lie inside texts alone. */
static void escape_breaks(Buf *text)
{
    Str rest = buf_peek(text);
    size_t plain = 0;
    while (plain < rest.len && !break_at(str_slice(rest, plain, rest.len))) plain++;
    if (plain == rest.len) return;
    Buf escaped;
    buf_init(&escaped, JSON_SIZE_MAX);
    while (rest.len) {
        const Break *found = break_at(rest);
        if (found) buf_text(&escaped, found->escape);
        else buf_char(&escaped, rest.ptr[0]);
        rest = str_slice(rest, found ? found->bytes.len : 1, rest.len);
    }
    buf_deinit(text);
    *text = escaped;
}

Str log_close(LogLine *line)
{
    buf_text(&line->text, "}\n");
    if (!buf_overflowed(&line->text)) escape_breaks(&line->text);
    return buf_overflowed(&line->text) ? STR("") : buf_peek(&line->text);
}

void log_free(LogLine *line) { buf_deinit(&line->text); }
