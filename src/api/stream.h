/* stream.h - what happens, as it happens: server-sent events.
 *
 *   id: 1234.2                     the ledger's position and the event in its record: Last-Event-ID goes on behind it
 *   event: step-succeeded
 *   data: {"event":"step-succeeded","executionId":"...",...}
 *
 *   id: 77                         of a stream of log lines: the number of the line
 *   event: line
 *   data: {"line":77,"step":"build.make","text":"...",...}
 *
 * A stream reads the ledger, or the log lines of its execution, from its own place on, a page at a time, whenever the engine has
 * news: nothing is lost however slow its reader is, and nothing is kept for it but the piece that is on its way; a reader that
 * takes nothing for API_STREAM_SLOW_MS is cut off. Streams of tenants have one reader together (api/feed.h), and only those are
 * woken that there is something for; one that is behind walks by itself, with a turn for others after every FEED_TURN_COUNT
 * records. The stream of one execution ends with it, and says so: `event: end`; who comes back behind the last of it is answered
 * 204. Only what is durable is told. Of other tenants nothing is.
 *
 * Owns:   a Stream lives in its call's arena, and is in a list of Streams until the call is over.
 * Fails:  by answers.     Bounds: SHARE_STREAMS of shares.h.     Thread: the server's.
 */
#ifndef API_STREAM_H
#define API_STREAM_H

#include "api/api.h"
#include "api/feed.h"

typedef struct Streams Streams;

Streams *streams_new(Store *store);
void streams_free(Streams *streams);                    /* NULL is permitted; after the last of them */
FeedStats streams_stats(const Streams *streams);

/* Whether, of an address that has both, the stream is meant and not the list: by Accept: text/event-stream. False after answering: what is
 * said of the other one is not passed over. */
bool stream_is_meant(Call *call, bool *out_is_stream);
void stream_of_execution(Call *call, const Cell *row);
void stream_of_tenant(Call *call, Str tenant);          /* "*": every one */
void stream_of_lines(Call *call, const Cell *row, Cell step);       /* what its steps write; `step`: the index of one alone, or null */
void stream_news(Api *api, uint64_t run_no, bool is_log);           /* 0: of every one */
/* Reads on for streams of tenants, and lets one that is behind go on. True where there is more to do. */
bool streams_turn(Api *api);

#endif
