#include "api/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/bearer.h"
#include "api/document.h"
#include "api/routes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "os/clock.h"
#include "value/json.h"

/* Without it a reader cannot tell the end from a cut, and comes back for ever. It has no id: that of the last event holds. */
#define END "event: end\ndata: {}\n\n"

typedef struct Stream {
    struct Stream *next, *prev;     /* of those of its run, or of its audience */
    struct Stream *walk_next, *walk_prev;
    Call *call;
    uint64_t run_no;                /* 0: every one of the tenant */
    struct Audience *audience;      /* of a stream of a tenant */
    FeedPlace place;                /* what was told last; of lines `position` is the line */
    uint64_t told;                  /* the number of the last event of that record; of one execution */
    uint64_t since;                 /* of a tenant: what the feed has at hand up to there was not read for it */
    bool is_in_step;                /* of a tenant: all was told that the feed has read for it */
    bool is_walking;                /* it has further to go, and waits for its turn */
    bool has_place;                 /* whoever asked said what it had last */
    bool is_beat, is_over;
    bool is_of_lines;
    bool is_settled;                /* its execution is; what is still being stored is looked for once more */
    Cell step;                      /* of lines: of one step run alone; null: of all */
    LineNames names;
    Arena arena;                    /* of one line, or one look at its key */
} Stream;

/* All streams of one tenant. */
typedef struct Audience {
    struct Audience *next;
    struct Audience *due_next;      /* of those that there is something new for */
    bool is_due;
    Stream *streams;
    size_t size;
    char tenant[];                  /* "*": every one */
} Audience;

struct Streams {
    Feed *feed;
    Stream *of_runs[API_STREAM_BUCKET_COUNT];
    Audience *audiences[API_STREAM_BUCKET_COUNT];
    uint32_t audience_count;
    Audience *due;
    Stream *walk_first, *walk_last;
    bool has_news;                  /* the feed has something to read, as far as is known */
};

Streams *streams_new(Store *store)
{
    Streams *streams = calloc(1, sizeof *streams);
    CHECK(streams);
    streams->feed = feed_new(store);
    return streams;
}

void streams_free(Streams *streams)
{
    if (!streams) return;
    feed_free(streams->feed);
    free(streams);
}

FeedStats streams_stats(const Streams *streams) { return feed_stats(streams->feed); }

bool stream_is_meant(Call *call, bool *out_is_stream)
{
    static const char *const of_lists[] = { "cursor", "limit" };
    *out_is_stream = call_takes(call, "Accept", "text/event-stream");
    for (size_t i = 0; *out_is_stream && i < sizeof of_lists / sizeof *of_lists; i++) {
        if (!call_has_query(call, of_lists[i])) continue;
        call_problem(call, PROBLEM_INVALID, "'%s' of the query is for lists; a stream goes on behind lastEventId", of_lists[i]);
        return false;
    }
    if (*out_is_stream || !call_has_query(call, "lastEventId")) return true;
    call_problem(call, PROBLEM_INVALID, "'lastEventId' of the query is for streams: Accept: text/event-stream; a list goes on behind cursor");
    return false;
}

/* --- what to tell ---------------------------------------------------------------------------------------------------------------------- */

typedef struct Reading { Stream *stream; Buf *out; uint32_t seen; bool is_full; } Reading;

static void tell_record(Reading *reading, const Cell *cells)
{
    Stream *stream = reading->stream;
    uint64_t position = (uint64_t)cells[LEDGER_position].integer;
    uint64_t told = feed_print(stream->call->api->streams->feed, cells, position == stream->place.position ? stream->place.event : 0, reading->out);
    if (told) stream->told = told;
    stream->place = (FeedPlace){ position, UINT32_MAX };
    reading->is_full = reading->out->len >= API_STREAM_PIECE_SIZE;
}

/* Of one execution its own records are walked. */
static void read_execution(Stream *stream, Buf *out)
{
    StepRows records = { 0 };
    RecordPlace place = { .event = stream->told, .position = stream->place.position };
    bool has_more = false;
    const Cell *row = NULL;
    Error err;
    Reading reading = { .stream = stream, .out = out };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)stream->run_no) }, .param_count = 1 };
    Status status = row_select(&arena, stream->call->api->store, &ask, &row, &err);
    uint64_t last = !status && row ? (uint64_t)row[RUNS_last_position].integer : 0;
    if (last > stream->place.position || (last && last == stream->place.position && stream->place.event != UINT32_MAX))
        status = run_records_next(&arena, stream->call->api->store, row, &place, &records, &has_more, &err);
    for (size_t i = 0; !status && i < records.count && !reading.is_full; i++) {
        uint64_t position = (uint64_t)records.rows[i][LEDGER_position].integer;
        if (position > stream->place.position || (position == stream->place.position && stream->place.event != UINT32_MAX))
            tell_record(&reading, records.rows[i]);
    }
    if (has_more && !reading.is_full) {                     /* to the end of what was looked at; what is sent has the next read follow */
        stream->place = (FeedPlace){ place.position - 1, UINT32_MAX };
        if (!out->len) buf_text(out, ": on\n\n");
    }
    stream->is_over = !status && (!row || row_is_over(row)) && !reading.is_full && !has_more;
    if (stream->is_over) buf_text(out, END);
    arena_deinit(&arena);
}

static void walk_add(Streams *streams, Stream *stream)
{
    if (stream->is_walking) return;
    stream->is_walking = true;
    stream->walk_next = NULL;
    stream->walk_prev = streams->walk_last;
    *(streams->walk_last ? &streams->walk_last->walk_next : &streams->walk_first) = stream;
    streams->walk_last = stream;
}

static void walk_remove(Streams *streams, Stream *stream)
{
    if (!stream->is_walking) return;
    stream->is_walking = false;
    *(stream->walk_prev ? &stream->walk_prev->walk_next : &streams->walk_first) = stream->walk_next;
    *(stream->walk_next ? &stream->walk_next->walk_prev : &streams->walk_last) = stream->walk_prev;
}

static Str tenant_of(const Stream *stream) { return (Str){ stream->audience->tenant, stream->audience->size }; }

/* Of every tenant: what the access policy lets the caller have of each. */
static bool shows(void *context, Str tenant)
{
    Stream *stream = context;
    return !tenant.len || api_shows(stream->call, stream->call->route->verb, tenant);
}

/* What the feed has read for its audience since. */
static void read_feed(Stream *stream, Buf *out)
{
    const Feed *feed = stream->call->api->streams->feed;
    bool is_of_all = str_is_text(tenant_of(stream), "*");
    const FeedRecord *record;
    while ((record = feed_next(feed, stream->place.position)) && out->len < API_STREAM_PIECE_SIZE) {
        if (is_of_all ? shows(stream, record->about) : str_is(record->tenant, tenant_of(stream))) buf_str(out, record->text);
        stream->place.position = record->position;
    }
    stream->is_in_step = !record;
}

/* One that is further behind than what is at hand walks the ledger, and lets others have their turn in between. */
static void read_tenant(Stream *stream, Buf *out)
{
    Streams *streams = stream->call->api->streams;
    bool is_at_hand = stream->place.event == UINT32_MAX && stream->place.position >= stream->since && feed_has(streams->feed, stream->place.position);
    if (stream->is_in_step) return;
    if (is_at_hand) {
        read_feed(stream, out);
        return;
    }
    FeedFilter filter = { .tenant = tenant_of(stream), .shows = api_shows_by_tenant(stream->call) ? shows : NULL, .context = stream };
    FeedWalk walk = feed_walk(streams->feed, &filter, API_STREAM_PIECE_SIZE, &stream->place, out);
    stream->is_in_step = walk == FEED_END;
    if (walk == FEED_MORE && !out->len) walk_add(streams, stream);         /* one that failed is tried again with the next beat */
}

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Reading *reading = context;
    Stream *stream = reading->stream;
    Error err;
    (void)count;
    arena_reset(&stream->arena);
    stream->place.position = (uint64_t)cells[LOGS_line_no].integer;
    buf_format(reading->out, "id: %" PRIu64 "\nevent: line\ndata: ", stream->place.position);
    if (json_print(reading->out, document_line(&stream->arena, stream->call->api->store, &stream->names, cells), JSON_COMPACT, &err))
        buf_text(reading->out, "{}");
    buf_text(reading->out, "\n\n");
    reading->seen++;
    reading->is_full = reading->out->len >= API_STREAM_PIECE_SIZE;
    return !reading->is_full;
}

static void beat(Call *call);

/* Lines are stored a moment after their step has ended: when the execution is settled they are looked for once more. */
static void read_lines(Stream *stream, Buf *out)
{
    Error err;
    Arena arena;
    const Cell *row = NULL;
    Reading reading = { .stream = stream, .out = out, .seen = 1 };
    Store *store = stream->call->api->store;
    QueryAsk about = { .query = QUERY_RUN, .params = { cell_int((int64_t)stream->run_no) }, .param_count = 1 };
    bool was_settled = stream->is_settled && stream->is_beat;
    arena_init(&arena, SIZE_MAX);
    bool is_settled = !row_select(&arena, store, &about, &row, &err) && (!row || row_is_settled(row));
    arena_deinit(&arena);
    while (reading.seen && !reading.is_full) {
        QueryAsk ask = { .query = QUERY_LOG_LINES, .param_count = 3,
                         .params = { about.params[0], cell_int((int64_t)stream->place.position), stream->step } };
        reading.seen = 0;
        if (store_select(store, &ask, take_line, &reading, &err)) return;
    }
    if (reading.is_full || !is_settled) return;
    if (was_settled) {
        buf_text(out, END);
        stream->is_over = true;
    } else if (!stream->is_settled) {
        call_wait(stream->call, 2 * LOG_DELAY_MS, beat, NULL);
    }
    stream->is_settled = true;
}

static bool next_piece(void *context, Buf *out)
{
    Stream *stream = context;
    if (stream->is_over || !bearer_holds(stream->call, &stream->arena, clock_realtime_ms())) return false;
    if (stream->is_of_lines) read_lines(stream, out);
    else if (stream->run_no) read_execution(stream, out);
    else read_tenant(stream, out);
    if (!out->len && stream->is_beat) buf_text(out, ": beat\n\n");
    stream->is_beat = false;
    arena_deinit(&stream->arena);           /* there may be many that wait */
    return !stream->call->api->is_draining;
}

/* --- its life ---------------------------------------------------------------------------------------------------------------------------- */

static uint32_t bucket_of_tenant(Str tenant) { return (uint32_t)(hash_text(HASH_SEED, tenant) % API_STREAM_BUCKET_COUNT); }

static Audience **audience_find(Streams *streams, Str tenant)
{
    Audience **at = &streams->audiences[bucket_of_tenant(tenant)];
    while (*at && !str_is((Str){ (*at)->tenant, (*at)->size }, tenant)) at = &(*at)->next;
    return at;
}

/* While nobody listens the feed stands still: for the first it begins at the end. */
static void audience_join(Streams *streams, Stream *stream, Str tenant)
{
    Audience **at = audience_find(streams, tenant);
    if (!*at) {
        Audience *audience = malloc(sizeof *audience + tenant.len);
        CHECK(audience);
        *audience = (Audience){ .size = tenant.len };
        memcpy(audience->tenant, tenant.ptr, tenant.len);
        *at = audience;
        if (!streams->audience_count++) feed_begin(streams->feed);
    }
    stream->audience = *at;
    stream->since = feed_end(streams->feed);
}

static void audience_leave(Streams *streams, Stream *stream)
{
    Audience **at = audience_find(streams, tenant_of(stream)), *audience = *at;
    if (audience->streams) return;
    *at = audience->next;
    streams->audience_count--;
    free(audience);
}

static Stream **list_of(Streams *streams, const Stream *stream)
{
    return stream->audience ? &stream->audience->streams : &streams->of_runs[stream->run_no % API_STREAM_BUCKET_COUNT];
}

static void end(void *context)
{
    Stream *stream = context;
    Api *api = stream->call->api;
    walk_remove(api->streams, stream);
    if (stream->prev) stream->prev->next = stream->next;
    else *list_of(api->streams, stream) = stream->next;
    if (stream->next) stream->next->prev = stream->prev;
    if (stream->audience) audience_leave(api->streams, stream);
    bridge_listen(api->bridge, -1);
    arena_deinit(&stream->arena);
}

/* News tell of what the engine has in memory; the feed looks now and then whether there is something that they did not tell of. */
static void beat(Call *call)
{
    Stream *stream = call->state;
    stream->is_beat = true;
    call->api->streams->has_news = true;
    call->deadline_ms += API_STREAM_BEAT_MS;
    call_wake(call);
}

/* A beat shows whether somebody still reads: of a client that is gone the connection breaks by it. */
static void leave_client(Call *call, bool is_broken)
{
    (void)is_broken;
    ((Stream *)call->state)->is_beat = true;
    call_wake(call);
}

static bool take_last(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = cells[LOG_HEADS_position].kind == CELL_INT ? (uint64_t)cells[LOG_HEADS_position].integer : 0;
    return false;
}

static bool take_last_line(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = (uint64_t)cells[LOGS_line_no].integer;
    return false;
}

/* What was never sent cannot be gone on behind: a client that has it saw another store, or this one before it was restored. */
static bool is_behind_head(Call *call, const Stream *stream)
{
    Error err;
    uint64_t head = 0;
    QueryAsk ask = stream->is_of_lines ? (QueryAsk){ .query = QUERY_LOG_LINE_LAST }
                                       : (QueryAsk){ .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    if (store_select(call->api->store, &ask, stream->is_of_lines ? take_last_line : take_last, &head, &err)) {
        call_error(call, &err);
        return false;
    }
    if (stream->place.position <= head) return true;
    call_problem(call, PROBLEM_CONFLICT,
                 "Last-Event-ID is of something that this server has not sent: it has come to %" PRIu64
                 ". Ask without it, and begin anew", head);
    return false;
}

/* "1234.2": behind that one. */
static bool read_place(Call *call, Stream *stream)
{
    Str text = call_header(call, "Last-Event-ID");
    if (!text.len) text = call_query(call, "lastEventId");
    if (!text.len) return true;
    stream->has_place = true;
    size_t point = str_find(text, '.', 0);
    uint64_t position, event;
    if (stream->is_of_lines) {
        if (str_to_u64(text, &position) && position <= INT64_MAX) {
            stream->place.position = position;
            return is_behind_head(call, stream);
        }
        call_problem(call, PROBLEM_INVALID, "Last-Event-ID is the number of a line that this server sent, as 77");
        return false;
    }
    if (point < text.len && str_to_u64(str_slice(text, 0, point), &position) && str_to_u64(str_slice(text, point + 1, text.len), &event)
        && position <= INT64_MAX && event < UINT32_MAX) {
        stream->place = (FeedPlace){ position, (uint32_t)event };
        return is_behind_head(call, stream);
    }
    call_problem(call, PROBLEM_INVALID, "Last-Event-ID is the id of an event that this server sent, as 1234.2");
    return false;
}

static bool take_any(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    *(bool *)context = true;
    return false;
}

/* Whether a caller that says what it had last has had all that there will be of an execution. */
static bool is_told(Call *call, const Stream *stream, const Cell *row)
{
    Error err;
    bool has_further = false;
    if (!stream->has_place) return false;
    if (stream->is_of_lines) {                  /* the last are stored a moment after the end */
        bool is_long_over = row_is_settled(row) && row[RUNS_completed_ms].kind == CELL_INT
                         && call->now_ms - row[RUNS_completed_ms].integer > 2 * LOG_DELAY_MS;
        QueryAsk ask = { .query = QUERY_LOG_LINES, .param_count = 3, .row_count_max = 1,
                         .params = { row[RUNS_run_no], cell_int((int64_t)stream->place.position), stream->step } };
        return is_long_over && !store_select(call->api->store, &ask, take_any, &has_further, &err) && !has_further;
    }
    uint64_t last = (uint64_t)row[RUNS_last_position].integer;
    if (!row_is_over(row) || stream->place.position < last) return false;
    if (stream->place.position > last) return true;
    const Cell *record = NULL;
    QueryAsk ask = { .query = QUERY_RECORD_HASHES, .params = { cell_int((int64_t)last) }, .param_count = 1, .row_count_max = 1 };
    return !row_select(&call->arena, call->api->store, &ask, &record, &err) && record && stream->place.event >= record[LEDGER_event_count].integer;
}

/* `tenant`: of whose executions; empty: of one alone, of which `row` is. */
static void begin(Call *call, Stream *stream, Str tenant, const Cell *row)
{
    Api *api = call->api;
    if (!read_place(call, stream)) return;
    if (row && is_told(call, stream, row)) {
        call_empty(call, 204);                  /* a browser does not come back after that */
        return;
    }
    if (!call_hold(call, SHARE_STREAMS)) return;
    arena_init(&stream->arena, SIZE_MAX);
    stream->call = call;
    api_listen(api);                        /* before looking: what happens after it is told */
    if (tenant.len) audience_join(api->streams, stream, tenant);
    Stream **list = list_of(api->streams, stream);
    stream->next = *list;
    if (stream->next) stream->next->prev = stream;
    *list = stream;
    call->state = stream;
    call_add_header(call, "Cache-Control", STR("no-store"));
    call_add_header(call, "X-Accel-Buffering", STR("no"));
    call_wait(call, API_STREAM_BEAT_MS, beat, NULL);
    call_watch(call, leave_client);
    call_stream(call, "text/event-stream", (CallSource){ .next = next_piece, .end = end, .context = stream });
}

void stream_of_execution(Call *call, const Cell *row)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    *stream = (Stream){ .run_no = (uint64_t)row[RUNS_run_no].integer, .place.event = UINT32_MAX };
    begin(call, stream, (Str){ 0 }, row);
}

void stream_of_lines(Call *call, const Cell *row, Cell step)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    *stream = (Stream){ .run_no = (uint64_t)row[RUNS_run_no].integer, .is_of_lines = true, .step = step };
    begin(call, stream, (Str){ 0 }, row);
}

void stream_of_tenant(Call *call, Str tenant)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    Error err;
    *stream = (Stream){ .place.event = UINT32_MAX };
    /* Without a place it begins with what happens from now on. */
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    if (store_select(call->api->store, &ask, take_last, &stream->place.position, &err)) call_error(call, &err);
    else begin(call, stream, tenant, /* row= */ NULL);
}

/* --- news ---------------------------------------------------------------------------------------------------------------------------------- */

static void wake_list(Stream *first)
{
    for (Stream *stream = first; stream; stream = stream->next) call_wake(stream->call);
}

void stream_news(Api *api, uint64_t run_no, bool is_log)
{
    Streams *streams = api->streams;
    if (!is_log) streams->has_news = true;
    for (Stream *stream = streams->of_runs[run_no % API_STREAM_BUCKET_COUNT]; run_no && stream; stream = stream->next)
        if (stream->run_no == run_no && (!is_log || stream->is_of_lines)) call_wake(stream->call);      /* an event may have settled it */
    for (uint32_t i = 0; !run_no && i < API_STREAM_BUCKET_COUNT; i++) {
        wake_list(streams->of_runs[i]);
        for (const Audience *audience = streams->audiences[i]; audience; audience = audience->next) wake_list(audience->streams);
    }
}

/* What lies between what a stream in step was told last and this record is of others. */
static bool audience_is_told(Streams *streams, Str tenant, uint64_t position)
{
    Audience *audience = *audience_find(streams, tenant);
    if (!audience || audience->is_due) return audience;
    audience->is_due = true;
    audience->due_next = streams->due;
    streams->due = audience;
    for (Stream *stream = audience->streams; stream; stream = stream->next) {
        if (!stream->is_in_step) continue;
        stream->is_in_step = false;
        if (stream->place.position < position - 1) stream->place.position = position - 1;
    }
    return true;
}

static bool is_wanted(void *context, Str tenant, uint64_t position)
{
    Streams *streams = context;
    bool is_of_all = audience_is_told(streams, STR("*"), position);
    return (tenant.len && audience_is_told(streams, tenant, position)) || is_of_all;
}

bool streams_turn(Api *api)
{
    Streams *streams = api->streams;
    streams->has_news = streams->has_news && streams->audience_count && feed_read(streams->feed, is_wanted, streams);
    for (Audience *audience; (audience = streams->due);) {
        streams->due = audience->due_next;
        audience->is_due = false;
        wake_list(audience->streams);
    }
    Stream *walker = streams->walk_first;
    if (walker) {
        walk_remove(streams, walker);
        call_wake(walker->call);
    }
    return streams->has_news || streams->walk_first;
}

void route_events(Call *call)
{
    Str given = call_query(call, "namespace");
    Str tenant = given.len ? given : call->caller.tenant;
    if (api_may(call, tenant, PROBLEM_NOT_FOUND)) stream_of_tenant(call, tenant);
}
