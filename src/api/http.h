/* http.h - HTTP in the server's own loop: sockets, TLS, requests in pieces, answers that wait.
 *
 * With own_words.h the only file that knows libmicrohttpd. It runs in the thread that calls http_turn(), in a loop of its caller: one epoll, no
 * thread of its own. Requests whose answer waits are suspended, cost nothing meanwhile, and are resumed all at once when commits
 * have answered them. How long a connection may take, and who has left, is link.h's. Bodies are taken of those alone who were let in by
 * their head, and of the share of their tenant (api/shares.h). Beyond that the answer is 503.
 *
 * Owns:   connections and calls until http_close(). The listening socket is taken.
 * Fails:  http_open() with ERR_UNAVAILABLE and the reason; ERR_INVALID for a certificate that cannot be used.
 * Bounds: API_CONNECTION_COUNT_MAX, API_BODY_SIZE_MAX; those of shares.h for what waits.     Thread: one.
 */
#ifndef API_HTTP_H
#define API_HTTP_H

#include "api/call.h"

typedef struct Http Http;

typedef struct HttpOptions {
    int fd;                         /* listens already */
    uint32_t connection_count_max;  /* API_CONNECTION_COUNT_MAX at most */
    const char *certificate, *key;  /* PEM; NULL: without TLS */
    Shares *shares;                 /* borrowed */
    /* The head of a request has come. False after answering: then nothing of its body is kept. Else call->caller is who sends it, and
     * its body takes of that one's share. */
    bool (*enter)(void *context, Call *call);
    /* A request has come whole. Answers, or calls call_wait(). */
    void (*handle)(void *context, Call *call);
    /* It is over: counted and logged. */
    void (*done)(void *context, const Call *call, uint64_t took_ns);
    void *context;
} HttpOptions;

typedef struct HttpStats { uint64_t accepted; uint32_t connection_count, waiting_count; uint64_t cut_count; } HttpStats;

MUST_USE Status http_open(const HttpOptions *options, Http **out_http, Error *err);
void http_close(Http *http);            /* NULL is permitted; cuts off what is left */

int  http_fd(const Http *http);         /* readable when there is something to do */
int64_t http_due_ms(Http *http);        /* how long it can wait at most; -1: for ever */
int  http_left_fd(const Http *http);    /* readable when clients of calls that are watched have left */
void http_take_left(Http *http);        /* tells these calls */
void http_turn(Http *http);
/* Takes no further connections, and closes each when its request is answered, of which the body may still have to come. True while none is
 * left that has one. */
bool http_drain(Http *http);
bool http_has_tls(const Http *http);
/* Reads certificate and key again; where they cannot be used, those before stay. Of HTTP without TLS there is nothing to read. */
MUST_USE Status http_reload(Http *http, Error *err);
HttpStats http_stats(const Http *http);

#endif
