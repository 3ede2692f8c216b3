#include "api/debounce.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/aside.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "value/canonical.h"
#include "value/json.h"

#define RETRY_MS 1000               /* after an engine or a store that took nothing */

/* What waits. One that is being started, or has been, is told from one that later events still change. */
typedef struct Waiting {
    struct Waiting *next;
    Debounces *debounces;
    Arena arena;                    /* of its texts; that of the last event is made anew with each */
    Str tenant, workflow, trigger;  /* trigger: with its kind, "webhook:order" */
    int64_t since_ms, due_ms;
    uint64_t count;                 /* events that are durable; 0: none is yet, and nothing is started */
    uint32_t asked_count;           /* that the engine has not answered: nothing is started meanwhile */
    uint64_t number;                /* of the newest that was asked ... */
    uint64_t last_number;           /* ... and of the last that is durable */
    Arena last;                     /* of the last event: */
    Str actor, trace;
    size_t payload_size;            /* the payload itself lies in the store */
    ShareHold hold;                 /* of whoever sent the first event */
    bool is_starting, is_settled;
    Id run_id;                      /* that was started; empty text: none */
    Error why;                      /* none was; of no text: one was */
} Waiting;

struct Debounces {
    Api *api;
    Waiting *first;
    size_t starting_size;           /* of the payloads of those that are being started */
};

/* --- what waits ----------------------------------------------------------------------------------------------------------------------- */

static Waiting *waiting_new(Debounces *debounces, Str tenant, Str workflow, Str trigger)
{
    Waiting *waiting = calloc(1, sizeof *waiting);
    CHECK(waiting);
    waiting->debounces = debounces;
    arena_init(&waiting->arena, SIZE_MAX);
    arena_init(&waiting->last, SIZE_MAX);
    waiting->tenant = arena_copy(&waiting->arena, tenant);
    waiting->workflow = arena_copy(&waiting->arena, workflow);
    waiting->trigger = arena_copy(&waiting->arena, trigger);
    waiting->next = debounces->first;
    debounces->first = waiting;
    return waiting;
}

static void waiting_free(Waiting *waiting)
{
    share_give_back(waiting->debounces->api->shares, &waiting->hold);
    arena_deinit(&waiting->arena);
    arena_deinit(&waiting->last);
    free(waiting);
}

static void waiting_remove(Waiting *waiting)
{
    Waiting **place = &waiting->debounces->first;
    while (*place != waiting) place = &(*place)->next;
    *place = waiting->next;
    waiting_free(waiting);
}

static void waiting_take(Waiting *waiting, Str actor, Str trace, size_t payload_size)
{
    arena_reset(&waiting->last);
    waiting->actor = arena_copy(&waiting->last, actor);
    waiting->trace = arena_copy(&waiting->last, trace);
    waiting->payload_size = payload_size;
}

/* As its row has it: the traceparent, and behind a space the tracestate that came with it. */
static Str trace_of(Call *call)
{
    char traced[TRACE_TEXT_SIZE];
    Str trace = trace_print(&call->trace, traced);
    return arena_format(&call->arena, call->tracestate.len ? "%.*s %.*s" : "%.*s%.*s", STR_ARG(trace), STR_ARG(call->tracestate));
}

static EngineKeep keep_of(const Waiting *waiting, KeepKind kind)
{
    return (EngineKeep){ .kind = kind, .tenant = waiting->tenant, .name = waiting->workflow, .key = waiting->trigger,
                         .since_ms = waiting->since_ms, .due_ms = waiting->due_ms, .count = waiting->count,
                         .command = { .actor = waiting->actor, .trace = waiting->trace, .value = value_null(),
                                      .report.output = value_null() } };
}

static Str text_of(const Cell *cell) { return cell->kind == CELL_TEXT ? cell->text : (Str){ 0 }; }

static QueryAsk rows_beyond(const Waiting *waiting, int64_t since_ms)
{
    return (QueryAsk){ .query = QUERY_WAITING_STARTS, .param_count = 4,
                       .params = { cell_text(waiting->tenant), cell_text(waiting->workflow), cell_text(waiting->trigger), cell_int(since_ms) } };
}

typedef struct Loading { Debounces *debounces; uint32_t seen; } Loading;

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Loading *loading = context;
    (void)count;
    loading->seen++;
    Waiting *waiting = waiting_new(loading->debounces, cells[WAITING_STARTS_tenant].text, cells[WAITING_STARTS_workflow_id].text,
                                   cells[WAITING_STARTS_trigger_key].text);
    waiting->since_ms = cells[WAITING_STARTS_since_ms].integer;
    waiting->due_ms = cells[WAITING_STARTS_due_ms].integer;
    waiting->count = (uint64_t)cells[WAITING_STARTS_event_count].integer;
    /* What an earlier process took stays, be it beyond a share that is smaller today: then there is no room for further ones. */
    (void)share_take(loading->debounces->api->shares, SHARE_STARTS,
                     (ShareOwner){ waiting->tenant, text_of(&cells[WAITING_STARTS_actor]) }, 1, &waiting->hold);
    waiting_take(waiting, text_of(&cells[WAITING_STARTS_actor]), text_of(&cells[WAITING_STARTS_trace]),
                 text_of(&cells[WAITING_STARTS_payload]).len);
    return true;
}

Status debounces_open(Api *api, Debounces **out_debounces, Error *err)
{
    Debounces *debounces = calloc(1, sizeof *debounces);
    CHECK(debounces);
    debounces->api = api;
    Loading loading = { .debounces = debounces };
    Status status;
    do {
        const Waiting *last = debounces->first;
        QueryAsk ask = last ? rows_beyond(last, last->since_ms)
                            : (QueryAsk){ .query = QUERY_WAITING_STARTS, .param_count = 4,
                                          .params = { cell_text(STR("")), cell_text(STR("")), cell_text(STR("")), cell_int(0) } };
        loading.seen = 0;
        status = store_select(api->store, &ask, take_row, &loading, err);
    } while (!status && loading.seen);
    if (status) debounces_free(debounces);
    else *out_debounces = debounces;
    return status;
}

void debounces_free(Debounces *debounces)
{
    if (!debounces) return;
    for (Waiting *waiting = debounces->first, *next; waiting; waiting = next) {
        next = waiting->next;
        waiting_free(waiting);
    }
    free(debounces);
}

/* --- events ----------------------------------------------------------------------------------------------------------------------------- */

typedef struct Adding { Call *call; Waiting *waiting; uint64_t number; Str trace; size_t payload_size; } Adding;

/* Only what is durable counts: who was told that his event was not taken sends it again, or does not want it any more. */
static void event_settled(const Adding *adding, bool is_taken)
{
    Waiting *waiting = adding->waiting;
    waiting->asked_count--;
    if (is_taken) waiting->count++;
    if (is_taken && adding->number > waiting->last_number) {
        waiting->last_number = adding->number;
        waiting_take(waiting, adding->call->caller.actor, adding->trace, adding->payload_size);
    }
    if (!waiting->count && !waiting->asked_count) waiting_remove(waiting);
}

static void added(void *context, const BridgeAnswer *answer)
{
    Adding *adding = context;
    Call *call = adding->call;
    if (!call->is_gone && !call->status) {
        if (answer->status) {
            api_refuse(call, answer);
        } else {
            MemberList members = { .arena = &call->arena };
            Cell due = cell_int(adding->waiting->due_ms);
            add_member(&members, "accepted", value_bool(true));
            add_member(&members, "startsAt", cell_time(&call->arena, &due));
            call_value(call, 202, member_list_object(&members));
        }
    }
    event_settled(adding, !answer->status);
    call_release(call);
}

static void be_late(Call *call)
{
    call_problem(call, PROBLEM_UNAVAILABLE, "the engine has not answered for %d s", API_ANSWER_MS_MAX / 1000);
}

/* NULL after answering: too many wait. */
static Waiting *waiting_for(Call *call, const DebounceEvent *event)
{
    Debounces *debounces = call->api->debounces;
    ShareHold hold = { 0 };
    int64_t since_ms = call->now_ms;
    for (Waiting *waiting = debounces->first; waiting; waiting = waiting->next) {
        bool is_same = str_is(waiting->tenant, event->tenant) && str_is(waiting->workflow, event->workflow)
                    && str_is(waiting->trigger, event->source);
        if (is_same && !waiting->is_starting && !waiting->is_settled) return waiting;
        if (is_same && waiting->since_ms >= since_ms) since_ms = waiting->since_ms + 1;        /* its row has a key of its own */
    }
    ShareBound bound = share_take(call->api->shares, SHARE_STARTS, (ShareOwner){ event->tenant, call->caller.actor }, 1, &hold);
    if (bound != SHARE_FREE) {
        call_refuse_share(call, SHARE_STARTS, bound);
        return NULL;
    }
    Waiting *waiting = waiting_new(debounces, event->tenant, event->workflow, event->source);
    waiting->hold = hold;
    waiting->since_ms = since_ms;
    waiting->due_ms = since_ms + event->span_ms;
    return waiting;
}

static void answer_repeat(Call *call)
{
    MemberList members = { .arena = &call->arena };
    add_member(&members, "accepted", value_bool(true));
    add_member(&members, "repeated", value_bool(true));
    call_value(call, 202, member_list_object(&members));
}

static void repeated(void *context, const BridgeAnswer *answer)
{
    Call *call = context;
    if (!call->is_gone && !call->status) {
        if (answer->status) api_refuse(call, answer);
        else answer_repeat(call);
    }
    call_release(call);
}

/* False after answering: `done` is not called. */
static bool send_keep(Call *call, const EngineKeep *keep, BridgeDone done, void *context)
{
    if (!bridge_keep(call->api->bridge, keep, done, context)) {
        call_problem(call, PROBLEM_UNAVAILABLE, "the engine takes no further requests now");
        return false;
    }
    call->use_count++;
    call_wait(call, API_ANSWER_MS_MAX, be_late, NULL);
    return true;
}

/* Was it taken before? False after answering. One that was signed anew is known by its new signature, too, from then on: the engine, which
 * knows the event, does nothing else. */
static bool is_new(Call *call, const DebounceEvent *event)
{
    const Cell *row;
    Error err;
    if (api_request_row(call, event->tenant, event->id, &row, &err)) {
        call_error(call, &err);
        return false;
    }
    if (!row) return true;
    EngineKeep keep = { .kind = KEEP_WAITING, .tenant = event->tenant, .name = event->workflow, .key = event->source,
                        .payload = event->payload, .since_ms = call->now_ms, .due_ms = call->now_ms + event->span_ms, .count = 1,
                        .command = { .id = event->id, .alias = event->alias, .actor = call->caller.actor, .value = value_null(),
                                     .report.output = value_null() } };
    if (event->alias.len) (void)send_keep(call, &keep, repeated, call);
    else answer_repeat(call);
    return false;
}

void debounce_add(Call *call, const DebounceEvent *event)
{
    if (!is_new(call, event)) return;
    Waiting *waiting = waiting_for(call, event);
    if (!waiting) return;
    Adding *adding = ARENA_NEW(&call->arena, Adding);
    *adding = (Adding){ call, waiting, ++waiting->number, trace_of(call), event->payload.len };
    EngineKeep keep = keep_of(waiting, KEEP_WAITING);
    keep.count = waiting->count + ++waiting->asked_count;
    keep.payload = event->payload;
    keep.command.actor = call->caller.actor;
    keep.command.trace = adding->trace;
    keep.command.id = event->id;
    keep.command.alias = event->alias;
    keep.command.origin = call->source;
    if (!send_keep(call, &keep, added, adding)) event_settled(adding, /* is_taken= */ false);
}

/* --- starting --------------------------------------------------------------------------------------------------------------------------- */

static void put_off(Waiting *waiting)
{
    waiting->is_starting = false;
    waiting->due_ms = clock_realtime_ms() + RETRY_MS;
}

static void settled(void *context, const BridgeAnswer *answer)
{
    Waiting *waiting = context;
    if (!answer->status) {
        waiting_remove(waiting);
        return;
    }
    put_off(waiting);
}

/* The run is there, or never will be: nothing waits any more. */
static void settle(Waiting *waiting)
{
    EngineKeep keep = keep_of(waiting, KEEP_SETTLED);
    keep.run = waiting->run_id.text[0] ? id_peek(&waiting->run_id) : (Str){ 0 };
    keep.text = str_of(waiting->why.text);
    waiting->is_settled = waiting->is_starting = true;
    if (!bridge_keep(waiting->debounces->api->bridge, &keep, settled, waiting)) put_off(waiting);
}

/* It is not being started any more: it is tried again where that may help, and else given up. */
static void not_started(Waiting *waiting, const Error *err)
{
    waiting->debounces->starting_size -= waiting->payload_size;
    put_off(waiting);
    if (err->status == ERR_UNAVAILABLE || err->status == ERR_LIMIT) return;
    waiting->why = *err;
    settle(waiting);
}

static void started(void *context, const BridgeAnswer *answer)
{
    Waiting *waiting = context;
    if (answer->status) {
        Error err = answer->error;
        err.status = answer->status;
        not_started(waiting, &err);
        return;
    }
    waiting->debounces->starting_size -= waiting->payload_size;
    waiting->run_id = answer->run_id;
    settle(waiting);
}

/* The same for the same that waited, whichever process starts it. */
static Str id_of(Arena *arena, const Waiting *waiting)
{
    char storage[128];
    Buf text = buf_on(storage, sizeof storage);
    Str what = arena_format(arena, "%.*s%c%.*s%c%.*s%c%" PRId64, STR_ARG(waiting->tenant), 0, STR_ARG(waiting->workflow), 0,
                            STR_ARG(waiting->trigger), 0, waiting->since_ms);
    Digest digest = digest_of(what);
    buf_text(&text, "debounce/");
    digest_print(&text, &digest);
    return arena_copy(arena, buf_peek(&text));
}

static Status find_active(Debounces *debounces, Arena *arena, const Waiting *waiting, const Cell **out_row, Error *err)
{
    QueryAsk ask = { .query = QUERY_REVISION_ACTIVE, .param_count = 3,
                     .params = { cell_text(waiting->tenant), cell_text(waiting->workflow), cell_int(1) } };
    *out_row = NULL;
    Status status = row_select(arena, debounces->api->store, &ask, out_row, err);
    if (status || *out_row) return status;
    return error_set(err, ERR_NOT_FOUND, "no revision of workflow '%.*s' is active", STR_ARG(waiting->workflow));
}

/* Its values live in the arena given. */
static Status read_payload(Store *store, Arena *arena, const Waiting *waiting, Value *out, Error *err)
{
    const Cell *row;
    QueryAsk ask = rows_beyond(waiting, waiting->since_ms - 1);
    Status status = row_select(arena, store, &ask, &row, err);
    if (status) return status;
    if (!row || row[WAITING_STARTS_since_ms].integer != waiting->since_ms)
        return error_set(err, ERR_CORRUPT, "what waits for trigger '%.*s' of workflow '%.*s' is not in the store", STR_ARG(waiting->trigger),
                         STR_ARG(waiting->workflow));
    Str text = text_of(&row[WAITING_STARTS_payload]);
    return text.len ? json_parse(arena, text, out, err) : OK;
}

static Status ask_start(Waiting *waiting, Arena *arena, Value payload, Error *err)
{
    const Cell *revision;
    Digest digest;
    char storage[128];
    Buf text = buf_on(storage, sizeof storage);
    MemberList members = { .arena = arena };
    Status status = find_active(waiting->debounces, arena, waiting, &revision, err);
    if (status) return status;
    memcpy(digest.bytes, revision[REVISIONS_digest].text.ptr, DIGEST_SIZE);
    digest_print(&text, &digest);
    add_member(&members, "verb", value_string(STR("start")));
    add_member(&members, "digest", value_string(arena_copy(arena, buf_peek(&text))));
    add_member(&members, "tenant", value_string(waiting->tenant));
    add_member(&members, "payload", payload);
    add_member(&members, "source", value_string(waiting->trigger));
    add_member(&members, "revision", cell_value(&revision[REVISIONS_version]));
    add_member(&members, "actor", value_string(waiting->actor));
    add_member(&members, "id", value_string(id_of(arena, waiting)));
    add_member(&members, "reason", value_string(arena_format(arena, "%" PRIu64 " events within the time of its debouncing", waiting->count)));
    size_t behind = str_find(waiting->trace, ' ', 0);
    if (behind) add_member(&members, "trace", value_string(str_slice(waiting->trace, 0, behind)));
    if (behind < waiting->trace.len) add_member(&members, "tracestate", value_string(str_slice(waiting->trace, behind + 1, waiting->trace.len)));
    if (bridge_ask(waiting->debounces->api->bridge, member_list_object(&members), started, waiting)) return OK;
    return error_set(err, ERR_UNAVAILABLE, "the engine takes no further requests now");
}

static void read_beside(Call *copy)
{
    Error err;
    if (read_payload(copy->api->store, &copy->arena, copy->state, &copy->read, &err))
        copy->read_error = arena_copy_items(&copy->arena, &err, sizeof err);
}

static void have_read(void *context, Call *copy)
{
    Waiting *waiting = context;
    Error err;
    if (copy->read_error) not_started(waiting, copy->read_error);
    else if (ask_start(waiting, &copy->arena, copy->read, &err)) not_started(waiting, &err);
}

/* Reading a large payload takes long, and is done beside the server's thread. */
static void start(Waiting *waiting, Arena *arena)
{
    Api *api = waiting->debounces->api;
    Value payload = value_null();
    Status status;
    Error err;
    waiting->is_starting = true;
    waiting->debounces->starting_size += waiting->payload_size;
    if (waiting->payload_size > API_HERE_SIZE_MAX) {
        if (aside_send(api->aside, waiting->tenant, read_beside, have_read, waiting)) return;
        status = error_set(&err, ERR_UNAVAILABLE, "too much that takes long waits already");
    } else {
        status = read_payload(api->store, arena, waiting, &payload, &err);
        if (!status) status = ask_start(waiting, arena, payload, &err);
    }
    if (status) not_started(waiting, &err);
}

/* Many may be due at once, as those that waited while no server was there: large ones go one after the other. */
static bool is_busy(const Waiting *waiting)
{
    bool has_turn = waiting->is_settled || waiting->debounces->starting_size < API_DEBOUNCE_STARTING_SIZE;
    return waiting->is_starting || waiting->asked_count || !has_turn;
}

void debounces_turn(Debounces *debounces, int64_t now_ms)
{
    Arena arena;
    if (debounces_due_ms(debounces, now_ms)) return;
    arena_init(&arena, SIZE_MAX);
    for (Waiting *waiting = debounces->first; waiting; waiting = waiting->next) {
        if (is_busy(waiting) || waiting->due_ms > now_ms) continue;
        if (waiting->is_settled) settle(waiting);
        else start(waiting, &arena);
        arena_reset(&arena);
    }
    arena_deinit(&arena);
}

int64_t debounces_due_ms(const Debounces *debounces, int64_t now_ms)
{
    int64_t due_ms = INT64_MAX;
    for (const Waiting *waiting = debounces->first; waiting; waiting = waiting->next)
        if (!is_busy(waiting) && waiting->due_ms < due_ms) due_ms = waiting->due_ms;
    return due_ms == INT64_MAX ? -1 : due_ms > now_ms ? due_ms - now_ms : 0;
}
