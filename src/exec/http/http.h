/* http.h - the executor that sends HTTP requests: the built-in runner `http`, and runners that are services.
 *
 * transfer.h says what is sent and what an answer means. All requests are under way at the same time in one thread, which
 * keeps connections open for the next one.
 *
 * A runner with a `url` may complete later where the executor has a `callback`, the address of the server: the document that is posted
 * has `callback: {url, token}`, an answer 202 ends nothing, and http_callback() brings the report. The token is of this attempt
 * alone and unguessable; it ends with the attempt: by its report, its deadline, its cancellation. Attempts of such an executor outlive
 * this process, as those of workers do: they have a lease, which this process keeps alive while it is sending the request, and which has one
 * full term from a 202, from each thing that the service says, and from the end of this process. A token is that of
 * engine/token.h, which the next process knows, too.
 *
 * While it works a service says by the same address what every runner may say (engine/message.h): each message is answered when it is
 * durable, also to the next process.
 *
 * Owns:   one thread and its connections. libcurl begins with the first request: a server that sends none has none of it in memory.
 * Fails:  http_executor_open() with ERR_LIMIT. execute() answers false at the capacity; NOTICE_ROOM follows.
 *         http_callback() with ERR_NOT_FOUND for a token of no attempt that is under way, ERR_CONFLICT for one that is being reported,
 *         ERR_INVALID for what is neither a report nor a message, ERR_UNAVAILABLE where the inbox is full; nothing happens then,
 *         and done() is not called.
 * Bounds: HTTP_COUNT_MAX requests at a time, those included that are called back.
 * Thread: as the port says; libcurl begins in the engine's thread, whatever others do with it meanwhile (that is safe since
 *         7.84). Closing gives up what is under way; the other side may have acted all the same, and learns by the idempotency
 *         key that it is asked again.
 */
#ifndef EXEC_HTTP_HTTP_H
#define EXEC_HTTP_HTTP_H

#include "engine/executor.h"
#include "secret/seal.h"

typedef struct HttpOptions {
    Str name;
    uint32_t capacity;              /* requests at a time; 0: 64 */
    Str callback;                   /* where services reach the server, without a path; empty: none is called back */
    const SealKey *token_key;       /* of the tokens, filled in before the first attempt; needed where there is a callback */
    int64_t lease_ms;               /* how long a service has after this process is gone; 0: LEASE_MS_DEFAULT */
    NoticeSink sink;
} HttpOptions;

MUST_USE Status http_executor_open(const HttpOptions *options, Executor **out_executor, Error *err);
bool executor_is_http(const Executor *executor);

/* `request`: {"output"} or {"failure"}, as message_report() reads it, or a message, as message_of() does. done() is told whether it was
 * taken, once that is durable; null: this process ends and does not know. Thread: the engine's, done() included. */
typedef void (*HttpDone)(void *context, Value is_taken);
MUST_USE Status http_callback(Executor *executor, Str token, Value request, HttpDone done, void *context, Error *err);

#endif
