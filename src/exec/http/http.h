/* http.h - the executor that sends HTTP requests: the built-in runner `http`, and runners that are services.
 *
 * transfer.h says what is sent and what an answer means. All requests are under way at the same time in one thread, which
 * keeps connections open for the next one.
 *
 * Owns:   one thread and its connections.
 * Fails:  http_executor_open() with ERR_LIMIT. execute() answers false at the capacity; NOTICE_ROOM follows.
 * Bounds: HTTP_COUNT_MAX requests at a time.
 * Thread: as the port says. http_executor_open() before other threads use libcurl. Closing gives up what is under way; the
 *         other side may have acted all the same, and learns by the idempotency key that it is asked again.
 */
#ifndef EXEC_HTTP_HTTP_H
#define EXEC_HTTP_HTTP_H

#include "engine/executor.h"

typedef struct HttpOptions {
    Str name;
    uint32_t capacity;              /* requests at a time; 0: 64 */
    NoticeSink sink;
} HttpOptions;

MUST_USE Status http_executor_open(const HttpOptions *options, Executor **out_executor, Error *err);

#endif
