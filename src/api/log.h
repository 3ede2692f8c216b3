/* log.h - the log of a server: one JSON object a line, on standard error.
 *
 *   {"time":"2026-01-01T12:00:00.000Z","level":"info","message":"request","tenant":"acme","run":"...","trace":"...","requestId":"...",...}
 *
 * Texts are written as JSON has them, so that nothing that somebody sends can begin a line of its own. Lines are made here, in any
 * thread; herald_line() has them written.
 *
 * Owns:   a line owns its text from log_begin() to log_free().     Fails: never; a line beyond JSON_SIZE_MAX is none.
 * Thread: any.
 */
#ifndef API_LOG_H
#define API_LOG_H

#include "base/buf.h"
#include "base/trace.h"

typedef enum LogLevel { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG, LOG_LEVEL_COUNT } LogLevel;
extern const char *const log_level_names[];         /* ended by NULL, in that order */

typedef struct Log {
    LogLevel level;                 /* the last that is written */
    bool has_requests;              /* every request is written, whatever the level */
} Log;

typedef struct LogLine { Buf text; } LogLine;

static inline bool log_wants(const Log *log, LogLevel level) { return level <= log->level; }

LogLine log_begin(LogLevel level, int64_t now_ms, const char *message);
void log_text(LogLine *line, const char *name, Str text);          /* an empty one is left out */
void log_number(LogLine *line, const char *name, int64_t number);
void log_trace(LogLine *line, const Trace *trace);                  /* its id, and the span */
Str  log_close(LogLine *line);                                      /* it as text, with its line feed; lives as long as the line */
void log_free(LogLine *line);

#endif
