/* transfer.h - one HTTP request on behalf of an attempt, from its making to its report.
 *
 * Two kinds of runner end here:
 *   `http`, built in:  input {method, url, headers, body}; the output is the answer {status, headers, body}.
 *   a runner with a `url` in runners.yaml: the attempt's document is posted there; the output is the answer's body.
 *
 * A runner with a `url` may say `auth: {bearer_env: NAME}` or `{hmac_env: NAME}` in its settings: a token, or the key of a signature as
 * triggers have it (secret/trigger_auth.h), in that variable of this process.
 *
 * Every request carries `traceparent` and `Idempotency-Key`. A body that is a text is sent as it is, anything else as
 * JSON. In an answer the names of headers are in lower case and equal ones are joined by commas; the body is a value where
 * its type says JSON, a text where it is UTF-8, else {"base64": text}.
 *
 *   2xx                    success; but 202 where the document had a `callback`: the report comes later
 *   408 425 429 5xx        transient, as are connections that fail
 *   anything else          permanent; the answer is the detail of the failure
 *
 * Owns:   all of it, until transfer_free().
 * Fails:  never by itself: what goes wrong is the report.
 * Bounds: OUTPUT_SIZE_MAX of an answer, HTTP_HEADER_SIZE_MAX, HTTP_HEADER_COUNT_MAX, HTTP_REDIRECT_COUNT_MAX.
 * Thread: transfer_new() the engine's, then that of the executor.
 */
#ifndef EXEC_HTTP_TRANSFER_H
#define EXEC_HTTP_TRANSFER_H

#include <curl/curl.h>

#include "base/arena.h"
#include "base/buf.h"
#include "engine/executor.h"

struct Callback;

typedef struct Transfer {
    struct Transfer *next;
    Arena arena;
    Attempt attempt;
    CURL *easy;                         /* NULL: it is not under way */
    struct curl_slist *headers;
    Buf sent, head, body;               /* what is sent; what came */
    bool is_posting;                    /* a runner with a url */
    struct Callback *callback;          /* the executor's; NULL: the answer is the end */
    Str callback_text;                  /* `callback` of the document, JSON */
    int64_t due_ms;                     /* of one that is called back: until when, by the monotonic clock */
    bool is_too_large;
    char error[CURL_ERROR_SIZE];
    Report report;
    bool has_report;
} Transfer;

Transfer *transfer_new(const Attempt *attempt);
void      transfer_free(Transfer *transfer);
/* Makes the request ready to go; false where it cannot be made, then it has its report. */
bool      transfer_begin(Transfer *transfer);
void      transfer_finish(Transfer *transfer, CURLcode code);       /* makes the report, unless it comes later */
void      transfer_rest(Transfer *transfer);                        /* lets go of what only a request needs */
void      transfer_report(Transfer *transfer, const Report *report);        /* of a service that called back; copied */
void      transfer_expire(Transfer *transfer);                      /* nobody called back in time */
void      transfer_cancel(Transfer *transfer);                      /* the report of one that was ended */

#endif
