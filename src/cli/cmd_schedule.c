#include <inttypes.h>
#include <string.h>

#include "base/civil.h"
#include "base/limits.h"
#include "cli/grid.h"
#include "cli/human.h"
#include "cli/order.h"
#include "cli/revision_read.h"
#include "cli/schedule_read.h"

#define SCHEDULE_JSON_OPTION { "json", 0, NULL, NULL, "Prints JSON." }

static Str text_of(Value item, const char *name) { return value_get_string(item, name, STR("")); }

static void grid_time(Grid *grid, Str text)
{
    char storage[64];
    Buf cell = buf_on(storage, sizeof storage);
    int64_t ms;
    if (civil_read_ms(text, &ms)) human_time(&cell, ms);
    grid_buf(grid, &cell);
}

static void grid_number(Grid *grid, const Value *number)
{
    char storage[32];
    Buf cell = buf_on(storage, sizeof storage);
    if (number && number->kind == VALUE_INT) buf_format(&cell, "%" PRId64, number->integer);
    grid_buf(grid, &cell);
}

/* "blackout nights (Mon-Fri 22:00-04:00), freeze (Dec 25)"; what is overridden says by whom and why. */
static Str held_text(Arena *arena, Value time)
{
    Buf out;
    const Value *held = value_get_text(time, "held"), *override = value_get_text(time, "override");
    buf_init(&out, SIZE_MAX);
    for (uint32_t i = 0; held && i < held->count; i++) {
        Str name = text_of(held->items[i], "name"), window = text_of(held->items[i], "window");
        buf_format(&out, "%s%.*s", i ? ", " : "", STR_ARG(text_of(held->items[i], "by")));
        if (name.len) buf_format(&out, " %.*s", STR_ARG(name));
        if (window.len) buf_format(&out, " (%.*s)", STR_ARG(window));
    }
    if (override && override->kind == VALUE_OBJECT)
        buf_format(&out, "; overridden by %.*s: %.*s", STR_ARG(text_of(*override, "createdBy")), STR_ARG(text_of(*override, "reason")));
    Str text = arena_copy(arena, buf_peek(&out));
    buf_deinit(&out);
    return text;
}

/* --- list ------------------------------------------------------------------------------------------------------------------------- */

static ExitCode run_list(const Args *args)
{
    static const GridColumn columns[] = { { "WORKFLOW" }, { "TRIGGER", .is_number = true }, { "CRON" }, { "TIMEZONE" }, { "NEXT" },
                                          { "HELD BY", .is_cut = true }, { NULL } };
    Value items;
    ExitCode code = schedule_list(args, revision_tenant(args), STR(""), /* time_count= */ 1, &items);
    if (code) return code;
    if (args_flag(args, "json")) return print_document(items);
    if (!items.count) {
        print_note("no schedules\n");
        return EXIT_CODE_OK;
    }
    Grid grid = grid_begin(args->arena, columns);
    for (uint32_t i = 0; i < items.count; i++) {
        Value item = items.items[i];
        const Value *next = value_get_text(item, "next");
        Str unusable = text_of(item, "unusable");
        grid_cell(&grid, text_of(item, "workflowId"));
        grid_number(&grid, value_get_text(item, "trigger"));
        grid_cell(&grid, text_of(item, "cron"));
        grid_cell(&grid, text_of(item, "timezone"));
        if (next && next->count) grid_time(&grid, text_of(next->items[0], "at"));
        else grid_text(&grid, "never");
        grid_cell(&grid, unusable.len ? unusable : next && next->count ? held_text(args->arena, next->items[0]) : STR(""));
    }
    grid_print(&grid);
    return EXIT_CODE_OK;
}

static const Option list_options[] = { TENANT_OPTION, STORE_OPTION, SCHEDULE_JSON_OPTION, { NULL } };

const Verb command_schedule_list = {
    .name = "schedule list", .operands = "",
    .summary = "Lists the schedules of active revisions, and when each is due next.",
    .doc = "Beside a store, windows and calendars are those that --runners registers; a server knows its own.",
    .examples = "maestro schedule list\nmaestro schedule list --server https://maestro.example --json",
    .options = list_options, .run = run_list,
};

/* --- next ------------------------------------------------------------------------------------------------------------------------- */

static ExitCode run_next(const Args *args)
{
    static const GridColumn columns[] = { { "AT" }, { "TRIGGER", .is_number = true }, { "HELD BY", .is_cut = true }, { NULL } };
    Str workflow = str_of(args->operands[0]);
    uint64_t count;
    Value items;
    Error err;
    if (!args_number(args, "count", API_TIME_COUNT_DEFAULT, 1, API_TIME_COUNT_MAX, &count)) return EXIT_CODE_USAGE;
    ExitCode code = schedule_list(args, revision_tenant(args), workflow, count, &items);
    if (code) return code;
    if (!items.count) {
        error_set(&err, ERR_NOT_FOUND,
                  "there is no active workflow '%.*s' with a schedule; 'maestro schedule list' shows which there are",
                  STR_ARG(workflow));
        return fail(&err);
    }
    if (args_flag(args, "json")) return print_document(items);
    Grid grid = grid_begin(args->arena, columns);
    for (uint32_t i = 0; i < items.count; i++) {
        const Value *next = value_get_text(items.items[i], "next");
        Str unusable = text_of(items.items[i], "unusable");
        if (unusable.len) print_note("trigger %" PRId64 ": %.*s\n", value_get_text(items.items[i], "trigger")->integer, STR_ARG(unusable));
        for (uint32_t k = 0; next && k < next->count; k++) {
            grid_time(&grid, text_of(next->items[k], "at"));
            grid_number(&grid, value_get_text(items.items[i], "trigger"));
            grid_cell(&grid, held_text(args->arena, next->items[k]));
        }
    }
    grid_print(&grid);
    return EXIT_CODE_OK;
}

static const Option next_options[] = {
    { "count", 'n', "N", NULL, "So many times of each of its schedules; 5 by default." }, TENANT_OPTION, STORE_OPTION, SCHEDULE_JSON_OPTION, { NULL },
};

const Verb command_schedule_next = {
    .name = "schedule next", .operands = "WORKFLOW", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Shows when the schedules of a workflow are due, and what holds each time back.",
    .doc = "Times are UTC. What a freeze, a calendar, a blackout or a release window holds back starts nothing, unless it is overridden.",
    .examples = "maestro schedule next nightly-report --count 10",
    .options = next_options, .run = run_next,
};

/* --- override ---------------------------------------------------------------------------------------------------------------------- */

static bool read_at(const char *text, int64_t *out_ms)
{
    if (civil_read_time(str_of(text), out_ms)) return true;
    print_note("maestro: '%s' is no time; one is 2026-12-25T01:30:00Z, as 'maestro schedule next --json' shows it\n", text);
    return false;
}

static ExitCode list_overrides(const Args *args)
{
    static const GridColumn columns[] = { { "WORKFLOW" }, { "TRIGGER", .is_number = true }, { "AT" }, { "BY" },
                                          { "REASON", .is_cut = true }, { NULL } };
    Value items;
    ExitCode code = schedule_overrides(args, revision_tenant(args), &items);
    if (code) return code;
    if (args_flag(args, "json")) return print_document(items);
    Grid grid = grid_begin(args->arena, columns);
    for (uint32_t i = 0; i < items.count; i++) {
        grid_cell(&grid, text_of(items.items[i], "workflowId"));
        grid_number(&grid, value_get_text(items.items[i], "trigger"));
        grid_time(&grid, text_of(items.items[i], "at"));
        grid_cell(&grid, text_of(items.items[i], "createdBy"));
        grid_cell(&grid, text_of(items.items[i], "reason"));
    }
    if (items.count) grid_print(&grid);
    else print_note("nothing is overridden\n");
    return EXIT_CODE_OK;
}

static ExitCode run_override(const Args *args)
{
    const char *reason = args_value(args, "reason");
    bool is_removal = args_flag(args, "remove");
    OverrideWish wish = { .tenant = revision_tenant(args) };
    uint64_t trigger;
    Value item;
    if (args_flag(args, "list")) return list_overrides(args);
    if (args->operand_count != 2) {
        print_note("maestro schedule override: which occurrence? WORKFLOW TIME\n");
        return EXIT_CODE_USAGE;
    }
    if (!is_removal && (!reason || !str_trim(str_of(reason)).len)) {
        print_note("maestro schedule override: --reason is missing; an override needs one\n");
        return EXIT_CODE_USAGE;
    }
    wish.workflow = str_of(args->operands[0]);
    if (!read_at(args->operands[1], &wish.at_ms) || !args_number(args, "trigger", SCHEDULE_TRIGGER_ANY, 0, SCHEDULE_TRIGGER_ANY - 1, &trigger))
        return EXIT_CODE_USAGE;
    wish.trigger = (uint32_t)trigger;
    ExitCode code = schedule_override(args, &wish, is_removal, &item);
    if (code) return code;
    if (args_flag(args, "json")) return print_document(item);
    if (is_removal) print_format("%s of %.*s is not overridden any more\n", args->operands[1], STR_ARG(wish.workflow));
    else print_format("%.*s of %.*s starts, though something holds it\n", STR_ARG(text_of(item, "at")), STR_ARG(wish.workflow));
    return EXIT_CODE_OK;
}

static const Option override_options[] = {
    { "trigger", 0, "N", NULL, "Which trigger of the workflow the schedule is, from 0; needed where there are several." },
    { "remove", 0, NULL, NULL, "It does not start after all." },
    { "list", 0, NULL, NULL, "Shows what was overridden." },
    TENANT_OPTION,
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    SCHEDULE_JSON_OPTION,
    { NULL },
};

const Verb command_schedule_override = {
    .name = "schedule override", .operands = "[WORKFLOW TIME]", .operand_count_max = 2,
    .summary = "Starts one occurrence of a schedule though a freeze, a blackout or a release window holds it back.",
    .doc = "The time is an occurrence that lies ahead and is held: 'maestro schedule next' shows them. A reason is needed; who overrode it, and\n"
           "why, is recorded in the ledger, and the run that is started says so. It is for this occurrence alone, and a server that carries\n"
           "out the schedules of the store starts it. What a calendar leaves out cannot be overridden. Before it is due it can be removed.",
    .examples = "maestro schedule override nightly-report 2026-12-25T01:30:00Z --reason \"the auditors wait for it\"\n"
                "maestro schedule override nightly-report 2026-12-25T01:30:00Z --remove\n"
                "maestro schedule override --list",
    .options = override_options, .run = run_override,
};

static const Verb *const schedule_commands[] = { &command_schedule_list, &command_schedule_next, &command_schedule_override, NULL };

const Verb command_schedule = {
    .name = "schedule", .operands = "COMMAND",
    .summary = "Shows when schedules are due, and overrides what holds one occurrence back.",
    .doc = "A schedule is a trigger of the active revision of a workflow. 'maestro server' starts its runs.",
    .commands = schedule_commands,
};
