#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const status_names[STATUS_COUNT] = {
    [OK] = "ok",
    [ERR_INVALID] = "invalid",
    [ERR_DENIED] = "denied",
    [ERR_NOT_FOUND] = "not-found",
    [ERR_CONFLICT] = "conflict",
    [ERR_LIMIT] = "limit",
    [ERR_UNAVAILABLE] = "unavailable",
    [ERR_CORRUPT] = "corrupt",
};

const char *status_name(Status status)
{
    return (unsigned)status < STATUS_COUNT ? status_names[status] : "unknown";
}

/* A reason that was cut says so; a reader would otherwise take the fragment for the whole. The cut is made before a
 * character, never inside one: the text ends up in JSON, which has to be UTF-8. */
static void mark_cut(char *text, int wanted)
{
    static const char mark[] = "...";
    if (wanted < (int)ERROR_TEXT_SIZE) return;
    size_t at = ERROR_TEXT_SIZE - sizeof mark;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) at--;
    memcpy(text + at, mark, sizeof mark);
}

static Status error_write(Error *err, Status status, uint32_t line, uint32_t column, const char *format, va_list args)
{
    if (!err) return status;
    err->status = status;
    err->line = line;
    err->column = column;
    mark_cut(err->text, vsnprintf(err->text, sizeof err->text, format, args));
    return status;
}

Status error_set(Error *err, Status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_write(err, status, 0, 0, format, args);
    va_end(args);
    return status;
}

Status error_at(Error *err, Status status, uint32_t line, uint32_t column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_write(err, status, line, column, format, args);
    va_end(args);
    return status;
}

void error_prefix(Error *err, const char *format, ...)
{
    if (!err) return;
    char joined[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(joined, sizeof joined, format, args);
    va_end(args);
    if (size < 0) return;
    if (size < (int)sizeof joined) size += snprintf(joined + size, sizeof joined - (size_t)size, "%s", err->text);
    mark_cut(joined, size);
    memcpy(err->text, joined, sizeof joined);
}
