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

Str log_close(LogLine *line)
{
    buf_text(&line->text, "}\n");
    return buf_overflowed(&line->text) ? STR("") : buf_peek(&line->text);
}

void log_free(LogLine *line) { buf_deinit(&line->text); }
