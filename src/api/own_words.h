/* own_words.h - what libmicrohttpd refuses itself is said in our words.
 *
 * A line or a header that cannot be read, a chunk that is none: libmicrohttpd answers these before there is a request, with a page of
 * HTML, and offers no way to say it otherwise. But it hands its answer to MHD_queue_response(), as everybody does, and a function that the
 * program defines takes the place of a library's own. So that function is defined here: what arrives by that name comes from inside
 * libmicrohttpd, and the server says what is sent instead; what the server sends goes by own_words_queue() to the one of the library.
 * docs/decisions/0004 has what else was weighed. Where libmicrohttpd were linked so that this does not hold, its own page would be sent.
 *
 * Owns:   nothing.     Fails: never; a library without that function ends the process at own_words_begin().     Thread: that of the server.
 */
#ifndef API_OWN_WORDS_H
#define API_OWN_WORDS_H

#include <microhttpd.h>

#include "api/call.h"

/* Answers in place of libmicrohttpd, which would answer with that status. MHD_NO: the connection is closed, without a further word. */
typedef enum MHD_Result (*OwnWords)(struct MHD_Connection *connection, unsigned status);

void own_words_begin(OwnWords answer);
enum MHD_Result own_words_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);
/* Writes the whole answer to the socket of a connection that is to be closed. libmicrohttpd's own way sends the head of an answer twice
 * where a Content-Length cannot be read. */
void own_words_send(struct MHD_Connection *connection, const Call *call);
/* Takes what else came of a connection that is closed now: closing over it would take the answer back. */
void own_words_discard(struct MHD_Connection *connection);

#endif
