#include "api/stream.h"

#include <inttypes.h>
#include <string.h>

#include "api/document.h"
#include "api/routes.h"
#include "base/limits.h"
#include "value/json.h"

#define RECORD_COUNT 128u           /* read at a time */

typedef struct Stream {
    struct Stream *next, *prev;
    Call *call;
    uint64_t run_no;                /* 0: every one of the tenant */
    Str tenant;                     /* "*": every one */
    uint64_t position;              /* the record that was told last ... */
    uint32_t event;                 /* ... and how many of its events */
    uint64_t told;                  /* the number of the last event of that record; of one execution */
    bool is_beat, is_over;
    Arena arena;                    /* of one record */
} Stream;

bool stream_is_wanted(const Call *call)
{
    Str accepted = call_header(call, "Accept");
    return accepted.len && memmem(accepted.ptr, accepted.len, "text/event-stream", 17);
}

/* --- what to tell ---------------------------------------------------------------------------------------------------------------------- */

static void print_event(Stream *stream, const Record *record, uint32_t index, Buf *out)
{
    Error err;
    const char *name = event_name(record->events[index].kind);
    buf_format(out, "id: %" PRIu64 ".%u\nevent: %s\ndata: ", record->head.position, index + 1, name ? name : "newer");
    if (json_print(out, document_event(&stream->arena, record, index), JSON_COMPACT, &err)) buf_text(out, "{}");
    buf_text(out, "\n\n");
}

typedef struct Reading { Stream *stream; Buf *out; uint32_t seen; bool is_full; } Reading;

static bool is_seen(Stream *stream, const Cell *cells)
{
    const Cell *row = NULL;
    Error err;
    bool is_of_log = cells[LEDGER_run_no].kind != CELL_INT || !cells[LEDGER_run_no].integer;
    if (stream->run_no) return !is_of_log && (uint64_t)cells[LEDGER_run_no].integer == stream->run_no;
    if (str_is_text(stream->tenant, "*")) return true;
    if (is_of_log) return false;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cells[LEDGER_run_no] }, .param_count = 1 };
    return !row_select(&stream->arena, stream->call->api->store, &ask, &row, &err) && row && str_is(row[RUNS_tenant].text, stream->tenant);
}

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Reading *reading = context;
    Stream *stream = reading->stream;
    Record record;
    Error err;
    uint64_t position = (uint64_t)cells[LEDGER_position].integer;
    (void)count;
    arena_reset(&stream->arena);
    uint32_t from = position == stream->position ? stream->event : 0;
    if (is_seen(stream, cells) && cells[LEDGER_record].kind == CELL_BLOB
        && !record_decode_any(&stream->arena, cells[LEDGER_record].text, &record, &err))
        for (uint32_t i = from; i < record.event_count; i++) {
            print_event(stream, &record, i, reading->out);
            stream->told = record.head.first_event + i;
        }
    stream->position = position;
    stream->event = UINT32_MAX;
    reading->seen++;
    reading->is_full = reading->out->len >= API_STREAM_PIECE_SIZE;
    return !reading->is_full;
}

/* Of one execution its own records are walked; of a tenant all of the ledger behind the place of the stream. */
static void read_execution(Stream *stream, Buf *out)
{
    StepRows records;
    const Cell *row = NULL;
    Error err;
    Reading reading = { .stream = stream, .out = out };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)stream->run_no) }, .param_count = 1 };
    Status status = row_select(&arena, stream->call->api->store, &ask, &row, &err);
    if (!status && row && (uint64_t)row[RUNS_last_position].integer > stream->position)
        status = run_records(&arena, stream->call->api->store, row, stream->told, /* has_payloads= */ false, &records, &err);
    else records.count = 0;
    for (size_t i = 0; !status && i < records.count && !reading.is_full; i++) {
        uint64_t position = (uint64_t)records.rows[i][LEDGER_position].integer;
        if (position > stream->position || (position == stream->position && stream->event != UINT32_MAX))
            (void)take_record(&reading, records.rows[i], LEDGER_record + 1);
    }
    stream->is_over = !status && (!row || row_is_over(row)) && !reading.is_full;
    arena_deinit(&arena);
}

static void read_tenant(Stream *stream, Buf *out)
{
    Error err;
    for (Reading reading = { .stream = stream, .out = out, .seen = RECORD_COUNT }; reading.seen == RECORD_COUNT && !reading.is_full;) {
        uint64_t from = stream->event == UINT32_MAX ? stream->position + 1 : stream->position;
        QueryAsk ask = { .query = QUERY_RECORDS, .params = { cell_int((int64_t)from) }, .param_count = 1, .row_count_max = RECORD_COUNT };
        reading.seen = 0;
        if (store_select(stream->call->api->store, &ask, take_record, &reading, &err)) return;
    }
}

static bool next_piece(void *context, Buf *out)
{
    Stream *stream = context;
    if (stream->is_over) return false;
    if (stream->run_no) read_execution(stream, out);
    else read_tenant(stream, out);
    if (!out->len && stream->is_beat) buf_text(out, ": beat\n\n");
    stream->is_beat = false;
    return !stream->call->api->is_draining;
}

/* --- its life ---------------------------------------------------------------------------------------------------------------------------- */

static void end(void *context)
{
    Stream *stream = context;
    Api *api = stream->call->api;
    if (stream->prev) stream->prev->next = stream->next;
    else api->streams = stream->next;
    if (stream->next) stream->next->prev = stream->prev;
    api->stream_count--;
    bridge_listen(api->bridge, -1);
    arena_deinit(&stream->arena);
}

static void beat(Call *call)
{
    Stream *stream = call->state;
    stream->is_beat = true;
    call->deadline_ms += API_STREAM_BEAT_MS;
    call_wake(call);
}

/* "1234.2": behind that one. */
static bool read_place(Call *call, Stream *stream)
{
    Str text = call_header(call, "Last-Event-ID");
    if (!text.len) text = call_query(call, "lastEventId");
    if (!text.len) return true;
    size_t point = str_find(text, '.', 0);
    uint64_t position, event;
    if (point < text.len && str_to_u64(str_slice(text, 0, point), &position) && str_to_u64(str_slice(text, point + 1, text.len), &event)
        && position <= INT64_MAX && event < UINT32_MAX) {
        stream->position = position;
        stream->event = (uint32_t)event;
        return true;
    }
    call_problem(call, PROBLEM_INVALID, "Last-Event-ID is the id of an event that this server sent, as 1234.2");
    return false;
}

static void begin(Call *call, Stream *stream)
{
    Api *api = call->api;
    if (api->stream_count >= API_STREAM_COUNT_MAX) {
        call_problem(call, PROBLEM_UNAVAILABLE, "there are %u event streams already", API_STREAM_COUNT_MAX);
        return;
    }
    if (!read_place(call, stream)) return;
    arena_init(&stream->arena, SIZE_MAX);
    stream->call = call;
    stream->next = api->streams;
    if (stream->next) stream->next->prev = stream;
    api->streams = stream;
    api->stream_count++;
    call->state = stream;
    bridge_listen(api->bridge, 1);
    call_add_header(call, "Cache-Control", STR("no-store"));
    call_add_header(call, "X-Accel-Buffering", STR("no"));
    call_wait(call, API_STREAM_BEAT_MS, beat, NULL);
    call_stream(call, "text/event-stream", (CallSource){ .next = next_piece, .end = end, .context = stream });
}

void stream_of_execution(Call *call, const Cell *row)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    *stream = (Stream){ .run_no = (uint64_t)row[RUNS_run_no].integer, .event = UINT32_MAX };
    begin(call, stream);
}

static bool take_last(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    *(uint64_t *)context = cells[LOG_HEADS_position].kind == CELL_INT ? (uint64_t)cells[LOG_HEADS_position].integer : 0;
    return false;
}

void stream_of_tenant(Call *call, Str tenant)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    Error err;
    *stream = (Stream){ .tenant = arena_copy(&call->arena, tenant), .event = UINT32_MAX };
    /* Without a place it begins with what happens from now on. */
    QueryAsk ask = { .query = QUERY_LOG_HEAD, .params = { cell_int(1) }, .param_count = 1 };
    if (store_select(call->api->store, &ask, take_last, &stream->position, &err)) call_error(call, &err);
    else begin(call, stream);
}

void stream_news(Api *api, uint64_t run_no)
{
    for (Stream *stream = api->streams; stream; stream = stream->next)
        if (!run_no || !stream->run_no || stream->run_no == run_no) call_wake(stream->call);
}

void route_events(Call *call)
{
    Str given = call_query(call, "namespace");
    Str tenant = given.len ? given : call->caller.tenant;
    if (api_may(call, tenant, PROBLEM_NOT_FOUND)) stream_of_tenant(call, tenant);
}
