/* feed.h - the end of the ledger, read once for all event streams that wait for it.
 *
 * Streams of tenants that have come to the end all wait for the same records. Each record is read, and printed as they send it, once, and
 * only where somebody listens to its tenant; the newest of these are at hand, for readers that are not all equally fast. Who is further
 * behind walks the ledger by itself, a few records at a time (feed_walk()).
 *
 * Owns:   what is at hand. Borrows the store.
 * Fails:  what cannot be read now is read later.
 * Bounds: FEED_RECORD_COUNT_MAX records and FEED_SIZE_MAX bytes at hand; FEED_TURN_COUNT records are read at a time.
 * Thread: one.
 */
#ifndef API_FEED_H
#define API_FEED_H

#include "base/buf.h"
#include "view/store.h"

typedef struct Feed Feed;

typedef struct FeedRecord {
    uint64_t position;
    Str tenant;                     /* empty: of the log itself */
    Str about;                      /* the tenant, or of one of the log itself whom it tells of; empty: of nobody */
    Str text;                       /* its events, as streams send them */
} FeedRecord;

/* How often the ledger was read, and how many records that were. */
typedef struct FeedStats { uint64_t read_count, record_count; } FeedStats;

/* Where somebody is who walks. */
typedef struct FeedPlace {
    uint64_t position;              /* the record that was told last ... */
    uint32_t event;                 /* ... and how many of its events; UINT32_MAX: all */
} FeedPlace;

Feed *feed_new(Store *store);
void  feed_free(Feed *feed);            /* NULL is permitted */

void  feed_begin(Feed *feed);           /* from the end of the ledger as it is now; nothing is at hand */
/* Reads on. `wants` says whether somebody listens to the tenant. True where there is more to read. */
bool  feed_read(Feed *feed, bool (*wants)(void *context, Str tenant, uint64_t position), void *context);
uint64_t feed_end(const Feed *feed);    /* it has read up to that position */
/* Whether all that was wanted behind that position is at hand; then the first of it, or NULL. */
bool  feed_has(const Feed *feed, uint64_t position);
const FeedRecord *feed_next(const Feed *feed, uint64_t position);

typedef enum FeedWalk { FEED_MORE, FEED_END, FEED_FAILED } FeedWalk;
/* What of the ledger is told: what is of the tenant, or with "*" of all whom it `shows` (NULL: all), and of the log itself what is about these. */
typedef struct FeedFilter { Str tenant; bool (*shows)(void *context, Str tenant); void *context; } FeedFilter;
/* Prints what comes behind the place and is told, until `size` is reached or FEED_TURN_COUNT records were looked at, or the
 * ledger has come to its end. */
FeedWalk feed_walk(Feed *feed, const FeedFilter *filter, size_t size, FeedPlace *place, Buf *out);
/* The events of a record of the ledger, from the one with that index on; the number of the last of them, 0 where there is none. */
uint64_t feed_print(Feed *feed, const Cell *cells, uint32_t from, Buf *out);
FeedStats feed_stats(const Feed *feed);

#endif
