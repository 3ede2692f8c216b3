/* head.h - whether the head of a request is one, by the rules that keep two readers of the same bytes from disagreeing.
 *
 * libmicrohttpd takes more than RFC 9112 permits: a second Content-Length, one beside Transfer-Encoding, no Host, names with spaces. A
 * proxy in front may read such a head in another way, and see two requests where the server sees one. So the head is looked at before
 * anything else is, and what is wrong with it is answered as problem details; the connection ends with that answer.
 *
 * And it skips what it does not understand: of a value what comes after a NUL, of a header the lines that it goes on in, the spaces around
 * a target. What was skipped is seen by where the words lie, since they are read in place: a NUL is written where each of them ends, and
 * they are handed out as pointers to where they came.
 *
 *     GET /a HTTP/1.1\r\nHost: x\r\n\r\n    as it was sent; 0: a NUL
 *     GET0/a0HTTP/1.1 0 0Host0 x 0 0 0 0    as it is left: each word begins where the one before it and its NULs end
 *
 * So a head is whole where its words fill it, from the method to the empty line.
 *
 * Owns:   nothing; the reasons are constant.     Fails: by answering a reason.     Thread: pure, any.
 */
#ifndef API_HEAD_H
#define API_HEAD_H

#include "api/call.h"

typedef struct Head {
    Str bytes;                          /* all of it, as it is left; the words below lie in it */
    Str method, target, version;        /* "GET", "/a?b=c", "HTTP/1.1" */
    const CallPair *headers;
    uint32_t header_count;
} Head;

/* What is wrong with its words, for people; NULL: nothing is. */
const char *head_fault(const Head *head);
/* What was sent beside its words, for people; NULL: nothing was. Compares addresses, and reads nothing outside of `bytes`. */
const char *head_gap(const Head *head);
/* Why it is no target, for people; NULL: it is one. Visible from its first character to its last, a path or a whole URL, without a fragment. */
const char *head_target_fault(Str text);
/* The path of a target that names scheme and host, too (http://host/path); any other one as it is. */
Str head_path(Str target);
/* With %41 replaced by A, copied; a percent sign that says nothing stays, and so does a text with a %00: no name has a
 * NUL, and what is told of it would end there. */
Str head_decode(Arena *arena, Str text);

#endif
