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
 *   400 402 409 410 412 413 414 415 422    the input is wrong
 *   anything else          permanent; the answer is the detail of the failure
 *
 * A request on behalf of an `effect-recorded` step is an effect: whoever got it may have acted. It is announced before it is sent,
 * by the executor, unless its service does so itself (`announces: true`, which takes a callback). What became of it then is `fate`:
 *
 *   nothing was sent; 4xx, 503     it did not take place
 *   2xx                            it did, also where the answer cannot be read
 *   anything else                  nobody knows: the failure is never called transient, by which it would be tried again
 *
 * Such a request follows no connection of before, on which libcurl would send it a second time by itself, and an answer behind a
 * redirect says nothing about the first of the two services.
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

/* What became of an effect that the executor announced. */
typedef enum EffectFate { FATE_UNKNOWN, FATE_NONE, FATE_DONE } EffectFate;

typedef struct Transfer {
    struct Transfer *next;
    Arena arena;
    Attempt attempt;
    CURL *easy;                         /* NULL: it is not under way */
    struct curl_slist *headers;
    Buf sent, head, body;               /* what is sent; what came */
    bool is_posting;                    /* a runner with a url */
    struct Callback *callback;          /* the executor's; NULL: the answer is the end */
    bool is_earlier;                    /* of an attempt that an earlier process sent: there is its report alone */
    Str callback_text;                  /* `callback` of the document, JSON */
    int64_t due_ms;                     /* of one that is called back: until when, by the monotonic clock */
    bool owes_beat;                     /* its service has just taken it: its lease begins anew with that */
    bool is_announced;                  /* the request is an effect, which is recorded before it is sent */
    bool is_announcing;                 /* the engine was told, and has not answered yet */
    EffectFate fate;                    /* to be told before the report; FATE_UNKNOWN: nothing is */
    bool is_too_large;
    char error[CURL_ERROR_SIZE];
    Report report;
    bool has_report;
} Transfer;

Transfer *transfer_new(const Attempt *attempt);
Value     transfer_effect(Transfer *transfer);                      /* what is recorded of the request, before it is sent */
Transfer *transfer_earlier(const AttemptId *id, const Report *report);      /* which was called back */
void      transfer_free(Transfer *transfer);
/* Makes the request ready to go; false where it cannot be made, then it has its report. */
bool      transfer_begin(Transfer *transfer);
void      transfer_finish(Transfer *transfer, CURLcode code);       /* makes the report, unless it comes later */
void      transfer_rest(Transfer *transfer);                        /* lets go of what only a request needs */
void      transfer_report(Transfer *transfer, const Report *report);        /* of a service that called back; copied */
void      transfer_expire(Transfer *transfer);                      /* nobody called back in time */
void      transfer_cancel(Transfer *transfer);                      /* the report of one that was ended */

#endif
