#include "api/stream.h"

#include <inttypes.h>
#include <string.h>

#include "api/bearer.h"
#include "api/document.h"
#include "api/routes.h"
#include "base/limits.h"
#include "os/clock.h"
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
    bool is_of_lines;               /* then `position` is the line that was told last */
    bool is_settled;                /* its execution is; what is still being stored is looked for once more */
    Cell step;                      /* of lines: of one step run alone; null: of all */
    LineNames names;
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
    StepRows records = { 0 };
    RecordPlace place = { .event = stream->told, .position = stream->position };
    bool has_more = false;
    const Cell *row = NULL;
    Error err;
    Reading reading = { .stream = stream, .out = out };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int((int64_t)stream->run_no) }, .param_count = 1 };
    Status status = row_select(&arena, stream->call->api->store, &ask, &row, &err);
    if (!status && row && (uint64_t)row[RUNS_last_position].integer > stream->position)
        status = run_records_next(&arena, stream->call->api->store, row, &place, &records, &has_more, &err);
    for (size_t i = 0; !status && i < records.count && !reading.is_full; i++) {
        uint64_t position = (uint64_t)records.rows[i][LEDGER_position].integer;
        if (position > stream->position || (position == stream->position && stream->event != UINT32_MAX))
            (void)take_record(&reading, records.rows[i], LEDGER_record + 1);
    }
    if (has_more && !reading.is_full) {                     /* to the end of what was looked at; what is sent has the next read follow */
        stream->position = place.position - 1;
        stream->event = UINT32_MAX;
        if (!out->len) buf_text(out, ": on\n\n");
    }
    stream->is_over = !status && (!row || row_is_over(row)) && !reading.is_full && !has_more;
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

static bool take_line(void *context, const Cell *cells, uint32_t count)
{
    Reading *reading = context;
    Stream *stream = reading->stream;
    Error err;
    (void)count;
    arena_reset(&stream->arena);
    stream->position = (uint64_t)cells[LOGS_line_no].integer;
    buf_format(reading->out, "id: %" PRIu64 "\nevent: line\ndata: ", stream->position);
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
                         .params = { about.params[0], cell_int((int64_t)stream->position), stream->step } };
        reading.seen = 0;
        if (store_select(store, &ask, take_line, &reading, &err)) return;
    }
    if (reading.is_full || !is_settled) return;
    if (was_settled) {
        buf_text(out, "event: end\ndata: {}\n\n");
        stream->is_over = true;
    } else if (!stream->is_settled) {
        call_wait(stream->call, 2 * LOG_DELAY_MS, beat, NULL);
    }
    stream->is_settled = true;
}

static bool next_piece(void *context, Buf *out)
{
    Stream *stream = context;
    arena_reset(&stream->arena);
    if (stream->is_over || !bearer_holds(stream->call, &stream->arena, clock_realtime_ns() / 1000000)) return false;
    if (stream->is_of_lines) read_lines(stream, out);
    else if (stream->run_no) read_execution(stream, out);
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
    if (stream->position <= head) return true;
    call_problem(call, PROBLEM_CONFLICT, "Last-Event-ID is of something that this server has not sent: it has come to %" PRIu64 ". Ask without it, and begin anew", head);
    return false;
}

/* "1234.2": behind that one. */
static bool read_place(Call *call, Stream *stream)
{
    Str text = call_header(call, "Last-Event-ID");
    if (!text.len) text = call_query(call, "lastEventId");
    if (!text.len) return true;
    size_t point = str_find(text, '.', 0);
    uint64_t position, event;
    if (stream->is_of_lines) {
        if (str_to_u64(text, &position) && position <= INT64_MAX) {
            stream->position = position;
            return is_behind_head(call, stream);
        }
        call_problem(call, PROBLEM_INVALID, "Last-Event-ID is the number of a line that this server sent, as 77");
        return false;
    }
    if (point < text.len && str_to_u64(str_slice(text, 0, point), &position) && str_to_u64(str_slice(text, point + 1, text.len), &event)
        && position <= INT64_MAX && event < UINT32_MAX) {
        stream->position = position;
        stream->event = (uint32_t)event;
        return is_behind_head(call, stream);
    }
    call_problem(call, PROBLEM_INVALID, "Last-Event-ID is the id of an event that this server sent, as 1234.2");
    return false;
}

static void begin(Call *call, Stream *stream)
{
    Api *api = call->api;
    if (!read_place(call, stream) || !call_hold(call, SHARE_STREAMS)) return;
    arena_init(&stream->arena, SIZE_MAX);
    stream->call = call;
    stream->next = api->streams;
    if (stream->next) stream->next->prev = stream;
    api->streams = stream;
    call->state = stream;
    api_listen(api);
    call_add_header(call, "Cache-Control", STR("no-store"));
    call_add_header(call, "X-Accel-Buffering", STR("no"));
    call_wait(call, API_STREAM_BEAT_MS, beat, NULL);
    call_watch(call, leave_client);
    call_stream(call, "text/event-stream", (CallSource){ .next = next_piece, .end = end, .context = stream });
}

void stream_of_execution(Call *call, const Cell *row)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    *stream = (Stream){ .run_no = (uint64_t)row[RUNS_run_no].integer, .event = UINT32_MAX };
    begin(call, stream);
}

void stream_of_lines(Call *call, const Cell *row, Cell step)
{
    Stream *stream = ARENA_NEW(&call->arena, Stream);
    *stream = (Stream){ .run_no = (uint64_t)row[RUNS_run_no].integer, .is_of_lines = true, .step = step };
    begin(call, stream);
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

void stream_news(Api *api, uint64_t run_no, bool is_log)
{
    for (Stream *stream = api->streams; stream; stream = stream->next) {
        if (is_log && !stream->is_of_lines) continue;       /* an event of the execution may have settled it */
        if (!run_no || !stream->run_no || stream->run_no == run_no) call_wake(stream->call);
    }
}

void route_events(Call *call)
{
    Str given = call_query(call, "namespace");
    Str tenant = given.len ? given : call->caller.tenant;
    if (api_may(call, tenant, PROBLEM_NOT_FOUND)) stream_of_tenant(call, tenant);
}
