#include "cli/order.h"

#include <time.h>

#include "api/petition.h"
#include "base/limits.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/load.h"
#include "cli/problem.h"
#include "cli/run_read.h"
#include "cli/shell_word.h"
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
    bool is_repeat;                         /* the same request was answered before: this is that answer */
    bool is_answered;                       /* by an engine: `after` is the state that the commit of this command made */
    bool is_over;                           /* it had ended for good before */
    OrderDesk *desk;                        /* of many orders; NULL: this is the only one */
    Status status;
    Error error;
    ProblemKind problem;                    /* what kind of refusal it is */
} Order;

/* --- nobody owns the store -------------------------------------------------------------------------------------------------- */

bool reason_is_given(const Args *args)
{
    const char *reason = args_value(args, "reason");
    if (reason && str_trim(str_of(reason)).len) return true;
    print_note("maestro: who approves or denies says why, and it is recorded: --reason TEXT\n");
    return false;
}

/* Of an id that it made itself this command alone asks again, after an owner that died. */
static bool is_named(const Order *order) { return args_value(order->args, "id") != NULL; }

static void take_reply(void *context, const EngineReply *reply)
{
    Order *order = context;
    order->is_answered = true;
    order->status = reply->status;
    order->is_noop = reply->is_noop;
    order->after = (RunState)reply->run_state;
    order->is_repeat = is_named(order) && reply->was_asked;
    if (reply->error) order->error = *reply->error;
    if (reply->status) order->problem = petition_problem(reply);
}

/* The run ends; of a cancelled job alone it may go on. */
static bool is_run_cancelled(const Order *order) { return order->command.kind == COMMAND_CANCEL && !order->command.job.len; }

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
    while (is_run_cancelled(order) && !order->status && !is_run_settled(order, place->store)
           && !engine_trouble(engine)
           && human_now_ms() < end_ms)
        host_turn(place->host, FOLLOW_POLL_MS_MIN);
    return OK;
}

/* The policies that are asked about what is ordered; NULL where none are. */
static ExitCode open_guard(const Order *order, Guard **out_guard)
{
    CommandKind kind = order->command.kind;
    if (kind != COMMAND_SIGNAL && kind != COMMAND_TRIGGER && kind != COMMAND_RESUME && kind != COMMAND_RESOLVE
        && kind != COMMAND_RETRY_FROM)
        return EXIT_CODE_OK;
    const Catalog *catalog;
    ExitCode code = load_catalog(order->args, "", &catalog);
    return code ? code : guardrails_open(order->args, catalog, /* plan= */ NULL, out_guard);
}

/* EXIT_CODE_TEMPORARY without a word where somebody owns it by now. */
static ExitCode desk_open(const Order *order, OrderDesk *desk)
{
    bool is_busy;
    ExitCode code = open_guard(order, &desk->guard);
    if (code) return code;
    desk->place = (Workplace){ .is_absent = true, .guard = desk->guard };
    code = workplace_open(order->args, NULL, &desk->place, &is_busy);
    desk->is_open = !code;
    if (!code) return code;
    guard_close(desk->guard);
    desk->guard = NULL;
    return code;
}

void order_desk_close(OrderDesk *desk)
{
    if (!desk->is_open) return;
    workplace_close(&desk->place);
    guard_close(desk->guard);
    *desk = (OrderDesk){ 0 };
}

static ExitCode order_as_owner(Order *order)
{
    OrderDesk own = { 0 }, *desk = order->desk ? order->desk : &own;
    Error err = { 0 };
    ExitCode code = desk->is_open ? EXIT_CODE_OK : desk_open(order, desk);
    if (code) return code;
    Status status = turn(order, &desk->place, &err);
    order_desk_close(&own);
    return status ? fail(&err) : EXIT_CODE_OK;
}

/* --- the story ------------------------------------------------------------------------------------------------------------ */

static ExitCode ask(Order *order)
{
    const char *path = control_path(order->args);
    if (order->desk && order->desk->is_open) return order_as_owner(order);
    for (int64_t end_ms = human_now_ms() + CONTROL_ANSWER_MS_MAX;;) {
        Error err = { 0 };
        ControlAnswer answer;
        Status status = errand_ask(order->errand, path, &answer, NULL, &err);
        if (!status) {
            order->has_owner = true;
            order->status = answer.status;
            order->error = answer.error;
            order->problem = answer.problem;
            order->is_repeat = is_named(order) && answer.was_asked;
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

typedef struct Waiting { Id ids[WAITING_SHOWN_COUNT]; uint32_t count; int64_t cursor; uint32_t seen; } Waiting;

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

void order_tell_waiting(Store *store)
{
    Waiting waiting = { 0 };
    Error err;
    do {
        waiting.seen = 0;
        QueryAsk ask_open = { .query = QUERY_RUNS_OPEN, .params = { cell_int(waiting.cursor) }, .param_count = 1 };
        if (store_select(store, &ask_open, take_waiting, &waiting, &err)) return;
    } while (waiting.seen);
    if (!waiting.count) return;
    print_note("No process carries out the runs of this store. %u %s for 'maestro resume RUN' or a 'maestro run':", waiting.count,
            waiting.count == 1 ? "waits" : "wait");
    for (uint32_t i = 0; i < waiting.count && i < WAITING_SHOWN_COUNT; i++) print_note(" %s", waiting.ids[i].text);
    print_note(waiting.count > WAITING_SHOWN_COUNT ? " ...\n" : "\n");
}

static const char *job_words(const Order *order)
{
    if (order->is_noop) return "nothing to do";
    return order->command.kind == COMMAND_PAUSE  ? "paused, none of its steps begins"
         : order->command.kind == COMMAND_RESUME ? "resumed" : "being cancelled";
}

static void tell(const Order *order)
{
    const char *before = run_state_name(order->before), *after = run_state_name(order->after);
    if (!args_flag(order->args, "json")) {
        if (order->is_repeat)
            print_format("run %s: this was asked before and answered then: %s; nothing was done now, the run is %s\n",
                         order->run_id.text, after, before);
        else if (order->command.job.len)
            print_format("run %s: %s, job %.*s: %s\n", order->run_id.text, after, STR_ARG(order->command.job), job_words(order));
        else if (order->is_noop) print_format("run %s: %s, nothing to do\n", order->run_id.text, after);
        else if (order->command.kind == COMMAND_SIGNAL) print_format("run %s: signal %.*s taken, %s -> %s\n", order->run_id.text,
                                                                STR_ARG(order->command.name), before, after);
        else if (order->before == order->after)
            print_format("run %s: %s, %s\n", order->run_id.text, after,
                   order->command.kind == COMMAND_CANCEL       ? "being cancelled"
                   : order->command.kind == COMMAND_REBIND     ? "what is placed next is placed by the new constraints"
                   : order->command.kind == COMMAND_COMPENSATE ? "about to be compensated" : "decided");
        else print_format("run %s: %s -> %s\n", order->run_id.text, before, after);
        if (order->command.kind == COMMAND_RESUME && order->has_owner && !order->is_repeat)
            print_note("another process carries it out: maestro watch %s\n", order->run_id.text);
        return;
    }
    Buf out;
    buf_init(&out, 4096);
    /* F-006: a program that asks again gets the first answer, but for the state before, which nobody keeps. */
    buf_format(&out, "{\"run\":\"%s\",", order->run_id.text);
    if (!order->is_repeat) buf_format(&out, "\"before\":\"%s\",", before);
    buf_format(&out, "\"after\":\"%s\",\"noop\":%s,\"repeat\":%s,\"command\":", after, order->is_noop ? "true" : "false",
               order->is_repeat ? "true" : "false");
    json_print_string(&out, order->errand->id);
    if (order->command.job.len) buf_text(&out, ",\"job\":");
    if (order->command.job.len) json_print_string(&out, order->command.job);
    buf_text(&out, "}\n");
    print_out(&out);
    buf_deinit(&out);
}

static void take_row(Order *order, const Cell *row)
{
    order->run_id = row_id(row);
    order->before = row_state(row);
    order->is_over = row_is_over(row);
}

/* Which run, and how it stands. */
static ExitCode look_before(Order *order)
{
    Store *store;
    const Cell *row;
    ExitCode code = store_open_existing(order->args, &store);
    if (code) return code;
    code = find_row(order->args, store, order->args->operands[0], &row);
    if (!code) take_row(order, row);
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
        if (status || order->is_repeat || !is_run_cancelled(order) || row_is_settled(row)
            || human_now_ms() > end_ms) break;
        nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_POLL_MS_MIN * 1000000L }, NULL);
    }
    if (!status) {
        if (is_run_cancelled(order)) order->after = row_state(row);
        if (!order->has_owner) order_tell_waiting(store);
    }
    store_close(store);
    return status ? fail(&err) : EXIT_CODE_OK;
}

void order_job(const Args *args, Errand *errand, Command *command)
{
    const char *job = args_value(args, "job");
    if (!job) return;
    command->job = str_of(job);
    errand_add(errand, "job", value_string(command->job));
}

/* What the core says, and for a run that is over what is left to do. */
static void explain(Order *order)
{
    char why[ERROR_TEXT_SIZE];
    if (order->status != ERR_CONFLICT || !order->is_over) return;
    Buf text = buf_on(why, sizeof why);
    buf_text(&text, order->error.text);
    error_set(&order->error, ERR_CONFLICT, "%.*s; '%.*s' shows how it went, and 'maestro run' starts another",
              STR_ARG(buf_peek(&text)), STR_ARG(shell_command(order->args, "show", order->run_id.text)));
}

static ExitCode give(Order *order)
{
    const char *reason = args_value(order->args, "reason");
    Errand *errand = order->errand;
    order->command.id = errand->id;
    order->command.actor = errand->actor;
    order->command.trace = errand->trace;
    if (reason) order->command.rationale = str_of(reason);
    order->command.report.output = value_null();
    errand_add(errand, "run", value_string(id_peek(&order->run_id)));
    if (order->command.rationale.len) errand_add(errand, "reason", value_string(order->command.rationale));
    ExitCode code = ask(order);
    if (!code) explain(order);
    return code;
}

static ExitCode carry_out(Order *order)
{
    ExitCode code = look_before(order);
    if (!code) code = give(order);
    if (code) return code;
    return order->status ? problem_report(order->problem, &order->error) : look_after(order);
}

ExitCode order(const Args *args, Errand *errand, Command command)
{
    Order order = { .args = args, .errand = errand, .command = command };
    ExitCode code = carry_out(&order);
    if (!code) tell(&order);
    return code;
}

static OrderAnswer answer_of(const Order *order)
{
    return (OrderAnswer){ .run_id = order->run_id, .status = order->status, .error = order->error, .before = order->before,
                          .after = order->after, .is_noop = order->is_noop || order->is_repeat, .is_repeat = order->is_repeat };
}

ExitCode order_untold(const Args *args, Errand *errand, Command command, OrderAnswer *out)
{
    Order order = { .args = args, .errand = errand, .command = command };
    ExitCode code = carry_out(&order);
    *out = answer_of(&order);
    return code;
}

ExitCode order_row(OrderDesk *desk, Store *store, const Cell *row, Errand *errand, Command command, OrderAnswer *out)
{
    Order order = { .args = errand->args, .errand = errand, .command = command, .desk = desk };
    take_row(&order, row);
    ExitCode code = give(&order);
    *out = answer_of(&order);
    return code;
}
