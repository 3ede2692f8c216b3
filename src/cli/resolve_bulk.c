#include "cli/resolve_bulk.h"

#include <inttypes.h>

#include "base/limits.h"
#include "cli/ask.h"
#include "cli/human.h"
#include "cli/order.h"
#include "cli/resolve_args.h"
#include "cli/run_list.h"
#include "cli/run_read.h"
#include "cli/what_if.h"
#include "value/json.h"

typedef struct Bulk {
    const Args *args;
    Store *store;
    OrderDesk desk;
    StepRows rows;
    uint64_t decided, refused;
    bool is_json, is_dry;
} Bulk;

/* --- telling ---------------------------------------------------------------------------------------------------------------- */

static void add_text(MemberList *members, Str name, Str text)
{
    if (text.len) member_list_add(members, name, value_string(text));
}

static void tell_json(const Bulk *bulk, const Cell *row, const OrderAnswer *answer)
{
    Arena arena;
    Buf out;
    Error err;
    arena_init(&arena, SIZE_MAX);
    buf_init(&out, JSON_SIZE_MAX);
    MemberList members = { .arena = &arena };
    add_text(&members, STR("run"), row[RUNS_id].text);
    add_text(&members, STR("workflow"), row[RUNS_definition_key].text);
    if (!answer->is_repeat) add_text(&members, STR("before"), str_of(run_state_name(answer->before)));
    if (!answer->status && !bulk->is_dry) add_text(&members, STR("after"), str_of(run_state_name(answer->after)));
    member_list_add(&members, STR("refused"), value_bool(answer->status != OK));
    if (answer->is_repeat) member_list_add(&members, STR("repeat"), value_bool(true));
    if (bulk->is_dry) member_list_add(&members, STR("dryRun"), value_bool(true));
    if (answer->status) add_text(&members, STR("detail"), str_of(answer->error.text));
    if (!json_print(&out, member_list_object(&members), JSON_COMPACT, &err)) buf_char(&out, '\n');
    print_out(&out);
    buf_deinit(&out);
    arena_deinit(&arena);
}

static void tell(const Bulk *bulk, const Cell *row, const OrderAnswer *answer)
{
    Str id = row[RUNS_id].text, step = row[RUNS_failed_step_key].kind == CELL_TEXT ? row[RUNS_failed_step_key].text : STR("");
    const char *before = run_state_name(answer->before);
    if (bulk->is_json) tell_json(bulk, row, answer);
    else if (answer->status) print_format("run %.*s: %srefused: %s\n", STR_ARG(id), bulk->is_dry ? "would be " : "",
                                          answer->error.text);
    else if (bulk->is_dry)
        print_format("run %.*s: %s%s%.*s, would be decided: %s\n", STR_ARG(id), before, step.len ? " at " : "", STR_ARG(step),
                     args_value(bulk->args, "decision"));
    else if (answer->is_noop) print_format("run %.*s: %s, nothing to do\n", STR_ARG(id), before);
    else if (answer->before == answer->after) print_format("run %.*s: %s, decided\n", STR_ARG(id), before);
    else print_format("run %.*s: %s -> %s\n", STR_ARG(id), before, run_state_name(answer->after));
}

static void tell_sum(const Bulk *bulk)
{
    const char *would = bulk->is_dry ? "would be " : "";
    uint64_t count = bulk->decided + bulk->refused;
    if (bulk->is_json)
        print_format("{\"summary\":{\"chosen\":%zu,\"decided\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"dryRun\":%s}}\n",
                     bulk->rows.count,
                     bulk->decided, bulk->refused, bulk->is_dry ? "true" : "false");
    else if (!bulk->rows.count) print_note("no run fits\n");
    else print_note("%" PRIu64 " run%s: %" PRIu64 " %sdecided, %" PRIu64 " %srefused\n", count, count == 1 ? "" : "s",
                    bulk->decided, would,
                    bulk->refused, would);
}

/* --- deciding --------------------------------------------------------------------------------------------------------------- */

/* Each run has a request of its own: of an id that was given, with the run's behind it. */
static bool make(const Bulk *bulk, const Cell *row, Errand *out_errand, Command *out_command)
{
    const Args *args = bulk->args;
    *out_command = (Command){ .kind = COMMAND_RESOLVE, .value = value_null() };
    *out_errand = errand_begin_as(args, "resolve", args_value(args, "id") ? row[RUNS_id].text : STR(""));
    return resolve_args(args, out_command, out_errand);
}

/* What would become of it: by the same rules, with nothing done. */
static void look(const Bulk *bulk, const Cell *row, const Command *command, OrderAnswer *out)
{
    Follow follow = { 0 };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    *out = (OrderAnswer){ .before = row_state(row) };
    out->status = what_if_open(&follow, bulk->store, row, &out->error);
    if (!out->status) out->status = what_if(&arena, &follow, row, &follow.plan, command, &out->error);
    follow_close(&follow);
    arena_deinit(&arena);
}

static ExitCode decide_each(Bulk *bulk)
{
    for (size_t i = 0; i < bulk->rows.count && !print_is_unread(); i++) {
        const Cell *row = bulk->rows.rows[i];
        OrderAnswer answer;
        Errand errand;
        Command command;
        if (!make(bulk, row, &errand, &command)) return EXIT_CODE_USAGE;
        if (bulk->is_dry) look(bulk, row, &command, &answer);
        else {
            ExitCode code = order_row(&bulk->desk, bulk->store, row, &errand, command, &answer);
            if (code) return code;
        }
        if (answer.status) bulk->refused++;
        else bulk->decided++;
        tell(bulk, row, &answer);
    }
    return bulk->refused ? EXIT_CODE_RUN_FAILED : EXIT_CODE_OK;
}

static bool is_meant(const Bulk *bulk)
{
    if (bulk->is_dry || bulk->is_json || !bulk->rows.count || !ask_is_possible()) return true;
    Str question = arena_format(bulk->args->arena, "%s: %zu run%s. Do it? [y/N] ", args_value(bulk->args, "decision"),
                                bulk->rows.count,
                                bulk->rows.count == 1 ? "" : "s");
    if (ask_yes(bulk->args->arena, question.ptr)) return true;
    print_note("nothing was changed\n");
    return false;
}

static ExitCode choose_and_decide(Bulk *bulk, const RunFilter *filter)
{
    Error err = { 0 };
    if (run_list(bulk->args->arena, bulk->store, filter, BULK_RUN_COUNT_MAX + 1u, &bulk->rows, &err)) return fail(&err);
    if (bulk->rows.count > BULK_RUN_COUNT_MAX) {
        error_set(&err, ERR_LIMIT, "more than BULK_RUN_COUNT_MAX (%u) runs fit; choose fewer at a time", BULK_RUN_COUNT_MAX);
        return fail(&err);
    }
    if (!is_meant(bulk)) return EXIT_CODE_RUN_FAILED;
    ExitCode code = decide_each(bulk);
    bool is_alone = bulk->desk.is_open;
    order_desk_close(&bulk->desk);
    tell_sum(bulk);
    if (is_alone) order_tell_waiting(bulk->store);
    return code;
}

ExitCode resolve_bulk(const Args *args)
{
    static Bulk bulk;
    RunFilter filter;
    Error err = { 0 };
    bulk = (Bulk){ .args = args, .is_json = args_flag(args, "json"), .is_dry = args_flag(args, "dry-run") };
    if (run_filter_read(str_of(args_value(args, "where")), human_now_ms(), &filter, &err)) {
        error_prefix(&err, "--where: ");
        (void)fail(&err);
        return EXIT_CODE_USAGE;
    }
    if (!args_flag(args, "decision")) {
        print_note("maestro: --where needs --decision: what is decided about all of them; --dry-run shows which they are\n");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = store_open_existing(args, &bulk.store);
    if (code) return code;
    code = choose_and_decide(&bulk, &filter);
    store_close(bulk.store);
    return code;
}
