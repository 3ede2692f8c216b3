#include "cli/order.h"

#include <stdio.h>
#include <time.h>

#include "base/limits.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/run_read.h"
#include "cli/workplace.h"
#include "value/json.h"

#define CANCEL_LOOK_MS 5000                 /* how long the end of a cancelled run is waited for */
#define WAITING_SHOWN_COUNT 5u              /* runs named that wait for a process */

typedef struct Order {
    const Args *args;
    Errand *errand;
    Command command;
    Id run_id;
    RunState before, after;
    bool is_noop, has_owner;
    bool is_answered;                       /* by an engine: `after` is the state that the commit of this command made */
    Status status;
    Error error;
} Order;

/* --- nobody owns the store -------------------------------------------------------------------------------------------------- */

static void take_reply(void *context, const EngineReply *reply)
{
    Order *order = context;
    order->is_answered = true;
    order->status = reply->status;
    order->is_noop = reply->is_noop;
    order->after = (RunState)reply->run_state;
    if (reply->error) order->error = *reply->error;
}

static bool is_run_settled(Order *order, Store *store)
{
    const Cell *row = NULL;
    Error err;
    return run_row(order->args->arena, store, id_peek(&order->run_id), &row, &err) || !row || row_is_settled(row);
}

/* Until it is answered; a cancelled run, until it has ended: what was under way died with its owner. */
static Status turn(Order *order, Workplace *place, Error *err)
{
    EngineRequest request = { .run_id = order->run_id, .command = order->command, .reply = take_reply, .context = order };
    Engine *engine = host_engine(place->host);
    if (!engine_request(engine, &request)) return error_set(err, ERR_LIMIT, "the engine takes no further requests now");
    while (!order->is_answered && !engine_trouble(engine)) host_turn(place->host, STORE_RETRY_MS);
    if (!order->is_answered) {
        *err = *engine_trouble(engine);
        return err->status;
    }
    int64_t end_ms = human_now_ms() + CANCEL_LOOK_MS;
    while (order->command.kind == COMMAND_CANCEL && !order->status && !is_run_settled(order, place->store) && !engine_trouble(engine)
           && human_now_ms() < end_ms)
        host_turn(place->host, FOLLOW_POLL_MS_MIN);
    return OK;
}

/* The policies that are asked about what is ordered; NULL where none are. */
static ExitCode open_guard(const Order *order, Guard **out_guard)
{
    CommandKind kind = order->command.kind;
    if (kind != COMMAND_SIGNAL && kind != COMMAND_RESUME && kind != COMMAND_RESOLVE && kind != COMMAND_RETRY_FROM) return EXIT_CODE_OK;
    const Catalog *catalog;
    ExitCode code = load_catalog(order->args, "", &catalog);
    return code ? code : guardrails_open(order->args, catalog, /* plan= */ NULL, out_guard);
}

/* EXIT_CODE_TEMPORARY without a word where somebody owns it by now. */
static ExitCode order_as_owner(Order *order)
{
    Workplace place = { .is_absent = true };
    bool is_busy;
    Error err = { 0 };
    Guard *guard = NULL;
    ExitCode code = open_guard(order, &guard);
    if (code) return code;
    place.guard = guard;
    code = workplace_open(order->args, NULL, &place, &is_busy);
    if (code) {
        guard_close(guard);
        return code;
    }
    Status status = turn(order, &place, &err);
    workplace_close(&place);
    guard_close(guard);
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- the story --------------------------------------------------------------------------------------------------------------- */

static ExitCode ask(Order *order)
{
    const char *path = control_path(order->args);
    for (int64_t end_ms = human_now_ms() + CONTROL_ANSWER_MS_MAX;;) {
        Error err = { 0 };
        ControlAnswer answer;
        Status status = errand_ask(order->errand, path, &answer, NULL, &err);
        if (!status) {
            order->has_owner = true;
            order->status = answer.status;
            order->error = answer.error;
            order->is_noop = answer.is_noop;
            order->after = answer.state;
            order->is_answered = true;
            return EXIT_CODE_OK;
        }
        if (status != ERR_UNAVAILABLE) return fail(&err);
        ExitCode code = order_as_owner(order);
        if (code != EXIT_CODE_TEMPORARY) return code;
        if (human_now_ms() > end_ms) return fail(&err);
        nanosleep(&(struct timespec){ .tv_nsec = OWNER_RETRY_MS * 1000000L }, NULL);    /* the owner comes or goes */
    }
}

typedef struct Waiting { Arena *arena; Id ids[WAITING_SHOWN_COUNT]; uint32_t count; int64_t cursor; uint32_t seen; } Waiting;

static bool take_waiting(void *context, const Cell *cells, uint32_t count)
{
    Waiting *waiting = context;
    (void)count;
    waiting->seen++;
    waiting->cursor = cells[RUNS_run_no].integer;
    if (row_is_settled(cells) || row_state(cells) == RUN_PAUSED) return true;
    if (waiting->count < WAITING_SHOWN_COUNT) waiting->ids[waiting->count] = row_id(cells);
    waiting->count++;
    return true;
}

static void tell_waiting(Order *order, Store *store)
{
    Waiting waiting = { .arena = order->args->arena };
    Error err;
    do {
        waiting.seen = 0;
        QueryAsk ask_open = { .query = QUERY_RUNS_OPEN, .params = { cell_int(waiting.cursor) }, .param_count = 1 };
        if (store_select(store, &ask_open, take_waiting, &waiting, &err)) return;
    } while (waiting.seen);
    if (!waiting.count) return;
    fprintf(stderr, "No process carries out the runs of this store. %u %s for 'maestro resume RUN' or a 'maestro run':", waiting.count,
            waiting.count == 1 ? "waits" : "wait");
    for (uint32_t i = 0; i < waiting.count && i < WAITING_SHOWN_COUNT; i++) fprintf(stderr, " %s", waiting.ids[i].text);
    fputs(waiting.count > WAITING_SHOWN_COUNT ? " ...\n" : "\n", stderr);
}

static void tell(const Order *order)
{
    const char *before = run_state_name(order->before), *after = run_state_name(order->after);
    if (!args_flag(order->args, "json")) {
        if (order->is_noop) printf("run %s: %s, nothing to do\n", order->run_id.text, after);
        else if (order->command.kind == COMMAND_SIGNAL) printf("run %s: signal %.*s taken, %s -> %s\n", order->run_id.text,
                                                                STR_ARG(order->command.name), before, after);
        else if (order->before == order->after)
            printf("run %s: %s, %s\n", order->run_id.text, after,
                   order->command.kind == COMMAND_CANCEL       ? "being cancelled"
                   : order->command.kind == COMMAND_COMPENSATE ? "about to be compensated" : "decided");
        else printf("run %s: %s -> %s\n", order->run_id.text, before, after);
        return;
    }
    Buf out;
    buf_init(&out, 4096);
    buf_format(&out, "{\"run\":\"%s\",\"before\":\"%s\",\"after\":\"%s\",\"noop\":%s,\"command\":", order->run_id.text, before,
               after, order->is_noop ? "true" : "false");
    json_print_string(&out, order->errand->id);
    buf_text(&out, "}\n");
    print_out(&out);
    buf_deinit(&out);
}

/* Which run, and how it stands. */
static ExitCode look_before(Order *order)
{
    Store *store;
    const Cell *row;
    ExitCode code = store_open_existing(order->args, &store);
    if (code) return code;
    code = find_row(order->args, store, order->args->operands[0], &row);
    if (!code) {
        order->run_id = row_id(row);
        order->before = row_state(row);
    }
    store_close(store);
    return code;
}

/* The state after it. A cancelled run's programs take a moment to end, so the store is asked. Every other command is
 * told as its commit left the run. */
static ExitCode look_after(Order *order)
{
    Store *store;
    const Cell *row = NULL;
    Error err = { 0 };
    Status status;
    ExitCode code = store_open_existing(order->args, &store);
    if (code) return code;
    for (int64_t end_ms = human_now_ms() + CANCEL_LOOK_MS;;) {
        status = run_row(order->args->arena, store, id_peek(&order->run_id), &row, &err);
        if (!status && !row) status = error_set(&err, ERR_NOT_FOUND, "run %s is no longer in the store", order->run_id.text);
        if (status || order->command.kind != COMMAND_CANCEL || row_is_settled(row) || human_now_ms() > end_ms) break;
        nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_POLL_MS_MIN * 1000000L }, NULL);
    }
    if (!status) {
        if (order->command.kind == COMMAND_CANCEL) order->after = row_state(row);
        if (!order->has_owner) tell_waiting(order, store);
    }
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

ExitCode order(const Args *args, Errand *errand, Command command)
{
    const char *reason = args_value(args, "reason");
    Order order = { .args = args, .errand = errand, .command = command };
    ExitCode code = look_before(&order);
    if (code) return code;
    order.command.id = errand->id;
    order.command.actor = errand->actor;
    order.command.trace = errand->trace;
    order.command.rationale = str_of(reason);
    order.command.report.output = value_null();
    errand_add(errand, "run", value_string(id_peek(&order.run_id)));
    if (reason) errand_add(errand, "reason", value_string(str_of(reason)));
    code = ask(&order);
    if (code) return code;
    if (order.status) return errand_refused(&order.error);
    code = look_after(&order);
    if (!code) tell(&order);
    return code;
}
