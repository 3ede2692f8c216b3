/* link.h - connections: how long each may take, and who wants to know that its client has gone.
 *
 * A request waits, streams or comes slowly; the connection under it is what ends by time. Who sends slowly on purpose is cut off: a handshake of
 * TLS, a head and a body have their times, a connection without a request is closed after API_IDLE_S, and who reads a stream too slowly
 * after API_STREAM_SLOW_MS. Connections of requests that wait are looked at by nobody else: those that somebody wants to know of are in a
 * set of their own, which costs nothing until one of them is closed.
 *
 * Owns:   links, from link_new() to link_free(), and the set. Sockets and sessions are borrowed.
 * Fails:  links_open() with ERR_UNAVAILABLE.     Bounds: those of whoever accepts connections.     Thread: the server's.
 */
#ifndef API_LINK_H
#define API_LINK_H

#include <gnutls/gnutls.h>

#include "api/call.h"

/* One connection. */
typedef struct Link {
    struct Link *next, *prev;
    struct Links *links;
    void *owner;                    /* of the one who accepted it */
    int fd;
    gnutls_session_t session;       /* NULL: without TLS */
    bool is_secure;                 /* of TLS: the handshake is known to be over */
    int64_t since_ms;               /* from when on it has no request that came whole */
    int64_t patience_ms;            /* 0: a request is being answered */
    Call *call;                     /* under way on it; NULL: none */
    bool is_fresh;                  /* since it was made, or rests, nobody has looked whether its client has gone meanwhile */
    bool is_streaming;              /* a piece of a stream is on its way to it ... */
    int64_t sent_ms;                /* ... since then; 0: its reader has taken all that there was */
    Call *watched;                  /* the call whose end, by its client, somebody wants to know of; NULL: none */
    bool is_watched;                /* it is in the set; so it stays for its other requests */
    Str target;                     /* of the request whose head comes, where it lies in the memory of the connection ... */
    const char *target_fault;       /* ... and why it was none before that memory was written to; NULL: it was one */
} Link;

typedef struct Links {
    Link *first;
    int left_fd;                    /* the set of links that are watched, edge-triggered: hang-ups alone; -1: none */
    uint32_t handshake_count;       /* that were not over when links were looked at last */
    uint64_t cut_count;             /* streams whose readers were too slow */
    int64_t look_ms;                /* when to look again */
} Links;

#define LINK_LOOK_MS 1000           /* how often their times are looked at */

MUST_USE Status links_open(Links *links, Error *err);
void links_close(Links *links);

Link *link_new(Links *links, void *owner, int fd, gnutls_session_t session);
void  link_free(Link *link);

/* All of these take NULL for a link that is not known. */
void  link_begin(Link *link);           /* a head has come: the rest has its time */
void  link_answer(Link *link);          /* the request is whole */
void  link_stream(Link *link, bool is_sent);        /* its reader has taken all that was sent before; something was sent now */
void  link_rest(Link *link);            /* it has no request any more */
void  link_watch(Link *link, Call *call);           /* see call_watch() */
bool  link_has_left(const Link *link);  /* the client has closed its side, or the connection is broken */

void  links_take_left(Links *links);    /* tells calls that are watched, and wait, that their clients have left */
void  links_look(Links *links, int64_t now_ms);     /* cuts off whose time is over */
/* Something of a head has been decrypted, and not read: that goes on without a word from the socket. */
bool  links_have_unread(const Links *links);
/* None has a request, nor is one on its way as far as can be told: it came, or rests, for a moment only (API_DRAIN_GRACE_MS). */
bool  links_are_quiet(const Links *links, int64_t now_ms);

#endif
