#include "api/feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/document.h"
#include "base/check.h"
#include "base/limits.h"
#include "value/json.h"
#include "view/run_rows.h"

/* Whose a run is, of those that were looked at last: one run has many records. */
typedef struct Owned { uint64_t run_no; uint32_t size; char tenant[NAME_SIZE_MAX]; } Owned;

struct Feed {
    Store *store;
    FeedRecord records[FEED_RECORD_COUNT_MAX];  /* a ring of what was wanted, by position */
    uint32_t first, count;
    size_t size;                    /* of their texts */
    uint64_t from, to;              /* behind `from` all that was wanted is at hand; `to` was read last */
    Owned owned[FEED_RUN_COUNT];    /* by the number of the run */
    Arena arena;                    /* of one record */
    FeedStats stats;
};

Feed *feed_new(Store *store)
{
    Feed *feed = calloc(1, sizeof *feed);
    CHECK(feed);
    feed->store = store;
    arena_init(&feed->arena, SIZE_MAX);
    return feed;
}

static void drop_first(Feed *feed)
{
    FeedRecord *record = &feed->records[feed->first];
    feed->from = record->position;
    feed->size -= record->text.len;
    free((char *)record->text.ptr);
    feed->first = (feed->first + 1) % FEED_RECORD_COUNT_MAX;
    feed->count--;
}

void feed_free(Feed *feed)
{
    if (!feed) return;
    while (feed->count) drop_first(feed);
    arena_deinit(&feed->arena);
    free(feed);
}

FeedStats feed_stats(const Feed *feed) { return feed->stats; }

/* --- one record --------------------------------------------------------------------------------------------------------------------- */

static Status read_owner(Feed *feed, uint64_t run_no, Owned *out, Error *err)
{
    const Cell *row = NULL;
    QueryAsk ask = { .query = QUERY_RUN_TENANT, .params = { cell_int((int64_t)run_no) }, .param_count = 1 };
    Status status = row_select(&feed->arena, feed->store, &ask, &row, err);
    if (status) return status;
    Str tenant = row ? row[RUNS_tenant].text : (Str){ 0 };
    if (tenant.len > sizeof out->tenant) tenant = (Str){ 0 };
    *out = (Owned){ .run_no = run_no, .size = (uint32_t)tenant.len };
    if (tenant.len) memcpy(out->tenant, tenant.ptr, tenant.len);
    return OK;
}

/* Empty: of the log itself, or of a run that is not there any more. */
static Status find_tenant(Feed *feed, const Cell *cells, Str *out_tenant)
{
    Error err;
    uint64_t run_no = cells[LEDGER_run_no].kind == CELL_INT ? (uint64_t)cells[LEDGER_run_no].integer : 0;
    Owned *owned = &feed->owned[run_no % FEED_RUN_COUNT];
    *out_tenant = (Str){ 0 };
    arena_reset(&feed->arena);
    Status status = run_no && owned->run_no != run_no ? read_owner(feed, run_no, owned, &err) : OK;
    if (!status && run_no) *out_tenant = (Str){ owned->tenant, owned->size };
    return status;
}

/* In the feed's arena. */
static Str named_tenant(Feed *feed, const Cell *cells)
{
    arena_reset(&feed->arena);
    return document_named_tenant(&feed->arena, cells);
}

uint64_t feed_print(Feed *feed, const Cell *cells, uint32_t from, Buf *out)
{
    Record record;
    Error err;
    uint64_t last = 0;
    arena_reset(&feed->arena);
    if (cells[LEDGER_record].kind != CELL_BLOB || record_decode_any(&feed->arena, cells[LEDGER_record].text, &record, &err)) return 0;
    for (uint32_t i = from; i < record.event_count; i++) {
        const char *name = event_name(record.events[i].kind);
        buf_format(out, "id: %" PRIu64 ".%u\nevent: %s\ndata: ", record.head.position, i + 1, name ? name : "newer");
        if (json_print(out, document_event(&feed->arena, &record, i), JSON_COMPACT, &err)) buf_text(out, "{}");
        buf_text(out, "\n\n");
        last = record.head.first_event + i;
    }
    return last;
}

/* --- for all --------------------------------------------------------------------------------------------------------------------------- */

static bool take_head(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = cells[LOG_HEADS_position].kind == CELL_INT ? (uint64_t)cells[LOG_HEADS_position].integer : 0;
    return false;
}

void feed_begin(Feed *feed)
{
    Error err;
    uint64_t head = feed->to;
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    while (feed->count) drop_first(feed);
    if (store_select(feed->store, &ask, take_head, &head, &err)) return;       /* then it begins where it was */
    feed->from = feed->to = head;
}

static void keep(Feed *feed, uint64_t position, Str tenant, const Cell *cells)
{
    Buf text;
    buf_init(&text, SIZE_MAX);
    (void)feed_print(feed, cells, 0, &text);
    Str about = tenant.len ? tenant : named_tenant(feed, cells);
    while (feed->count && (feed->count == FEED_RECORD_COUNT_MAX || feed->size + text.len + about.len > FEED_SIZE_MAX)) drop_first(feed);
    char *bytes = malloc(text.len + about.len + 1);
    CHECK(bytes);
    if (text.len) memcpy(bytes, text.ptr, text.len);
    if (about.len) memcpy(bytes + text.len, about.ptr, about.len);
    feed->records[(feed->first + feed->count++) % FEED_RECORD_COUNT_MAX] =
        (FeedRecord){ .position = position, .text = { bytes, text.len }, .tenant = { bytes + text.len, tenant.len },
                      .about = { bytes + text.len, about.len } };
    feed->size += text.len;
    buf_deinit(&text);
}

typedef struct Reading { Feed *feed; uint32_t seen; bool (*wants)(void *context, Str tenant, uint64_t position); void *context; } Reading;

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Reading *reading = context;
    Feed *feed = reading->feed;
    uint64_t position = (uint64_t)cells[LEDGER_position].integer;
    Str tenant;
    (void)count;
    if (find_tenant(feed, cells, &tenant)) return false;
    if (reading->wants(reading->context, tenant, position)) keep(feed, position, tenant, cells);
    feed->to = position;
    reading->seen++;
    return true;
}

static void count_read(Feed *feed, uint32_t record_count)
{
    feed->stats.read_count++;
    feed->stats.record_count += record_count;
}

bool feed_read(Feed *feed, bool (*wants)(void *context, Str tenant, uint64_t position), void *context)
{
    Error err;
    Reading reading = { .feed = feed, .wants = wants, .context = context };
    QueryAsk ask = { .query = QUERY_RECORDS_BARE, .params = { cell_int((int64_t)feed->to + 1) }, .param_count = 1, .row_count_max = FEED_TURN_COUNT };
    Status status = store_select(feed->store, &ask, take_record, &reading, &err);
    count_read(feed, reading.seen);
    return !status && reading.seen == FEED_TURN_COUNT;
}

uint64_t feed_end(const Feed *feed) { return feed->to; }

bool feed_has(const Feed *feed, uint64_t position) { return position >= feed->from; }

const FeedRecord *feed_next(const Feed *feed, uint64_t position)
{
    uint32_t low = 0, high = feed->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (feed->records[(feed->first + middle) % FEED_RECORD_COUNT_MAX].position <= position) low = middle + 1;
        else high = middle;
    }
    return low < feed->count ? &feed->records[(feed->first + low) % FEED_RECORD_COUNT_MAX] : NULL;
}

/* --- for one that is behind ---------------------------------------------------------------------------------------------------------- */

typedef struct Walk { Feed *feed; const FeedFilter *filter; size_t size; FeedPlace *place; Buf *out; uint32_t seen; bool is_full, has_failed; } Walk;

static bool walk_record(void *context, const Cell *cells, uint32_t count)
{
    Walk *walk = context;
    FeedPlace *place = walk->place;
    uint64_t position = (uint64_t)cells[LEDGER_position].integer;
    const FeedFilter *filter = walk->filter;
    bool is_of_all = str_is_text(filter->tenant, "*"), is_told = is_of_all && !filter->shows;
    Str tenant;
    (void)count;
    if (!is_told && find_tenant(walk->feed, cells, &tenant)) {
        walk->has_failed = true;
        return false;
    }
    if (!is_told && is_of_all) is_told = filter->shows(filter->context, tenant.len ? tenant : named_tenant(walk->feed, cells));
    else if (!is_told) is_told = str_is(tenant, filter->tenant);
    if (is_told)
        (void)feed_print(walk->feed, cells, position == place->position ? place->event : 0, walk->out);
    *place = (FeedPlace){ position, UINT32_MAX };
    walk->seen++;
    walk->is_full = walk->out->len >= walk->size;
    return !walk->is_full;
}

FeedWalk feed_walk(Feed *feed, const FeedFilter *filter, size_t size, FeedPlace *place, Buf *out)
{
    Error err;
    Walk walk = { .feed = feed, .filter = filter, .size = size, .place = place, .out = out };
    uint64_t from = place->event == UINT32_MAX ? place->position + 1 : place->position;
    QueryAsk ask = { .query = QUERY_RECORDS_BARE, .params = { cell_int((int64_t)from) }, .param_count = 1, .row_count_max = FEED_TURN_COUNT };
    Status status = store_select(feed->store, &ask, walk_record, &walk, &err);
    count_read(feed, walk.seen);
    if (status || walk.has_failed) return FEED_FAILED;
    return walk.is_full || walk.seen == FEED_TURN_COUNT ? FEED_MORE : FEED_END;
}
