/* head.h - whether the head of a request is one, by the rules that keep two readers of the same bytes from disagreeing.
 *
 * libmicrohttpd takes more than RFC 9112 permits: a second Content-Length, one beside Transfer-Encoding, no Host, names with spaces. A
 * proxy in front may read such a head in another way, and see two requests where the server sees one. So the head is looked at before
 * anything else is, and what is wrong with it is answered as problem details; the connection ends with that answer.
 *
 * Owns:   nothing; the reasons are constant.     Fails: by answering a reason.     Thread: pure, any.
 */
#ifndef API_HEAD_H
#define API_HEAD_H

#include "api/call.h"

typedef struct Head {
    Str method, version;                /* "GET", "HTTP/1.1" */
    const CallPair *headers;
    uint32_t header_count;
} Head;

/* What is wrong with it, for people; NULL: nothing is. */
const char *head_fault(const Head *head);
/* The path of a target that names scheme and host, too (http://host/path); any other one as it is. */
Str head_path(Str target);
/* With %41 replaced by A, copied; a percent sign that says nothing stays. */
Str head_decode(Arena *arena, Str text);

#endif
