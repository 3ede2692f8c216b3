#include "base/limits.h"
#include "cli/ask.h"
#include "cli/draw/plain.h"
#include "cli/guardrails.h"
#include "cli/human.h"
#include "cli/order.h"
#include "cli/run_read.h"
#include "cli/trigger_order.h"
#include "value/json.h"

static const Option options[] = {
    { "key", 0, "KEY", NULL, "The trigger; by default the one that the run awaits." },
    { "deny", 0, NULL, NULL, "A denial: the run fails." },
    { "payload", 0, "JSON", NULL, "What is answered: JSON, @FILE, or - for standard input; by default {\"approved\": true}." },
    ACTOR_OPTION,
    REASON_OPTION,
    { "yes", 'y', NULL, NULL, "Does not ask." },
    ID_OPTION,
    STORE_OPTION,
    POLICY_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static void print_json_line(const char *label, Value value)
{
    Buf text;
    Error err;
    if (value.kind == VALUE_NULL) return;
    buf_init(&text, JSON_SIZE_MAX);
    if (!json_print(&text, value, JSON_COMPACT, &err)) print_format("%-9s %.*s\n", label, STR_ARG(buf_peek(&text)));
    buf_deinit(&text);
}

static void print_moment(const char *label, const Cell *cell)
{
    if (cell->kind == CELL_TEXT) print_format("%-9s %.*s\n", label, STR_ARG(cell->text));
}

/* What the person decides about. */
static void show(const Args *args, const Cell *row, const Plan *plan, const TriggerWish *wish)
{
    bool is_awaited = row[RUNS_awaiting_trigger_key].kind == CELL_TEXT && str_is(row[RUNS_awaiting_trigger_key].text, wish->key);
    const PauseTerms *pause = plan->terms ? trigger_terms(plan->terms, wish->key) : NULL;
    print_format("run %.*s of %.*s is %s\n", STR_ARG(row[RUNS_id].text), STR_ARG(row[RUNS_definition_key].text),
                 run_state_name(row_state(row)));
    print_format("%-9s %.*s%s\n", "awaits", STR_ARG(plain_text(args->arena, wish->key, PLAIN_LINE)),
                 is_awaited ? "" : " (not yet: the answer is kept for its pause)");
    if (is_awaited) print_moment("since", &row[RUNS_trigger_registered_at]);
    if (is_awaited) print_moment("until", &row[RUNS_trigger_timeout_at]);
    if (is_awaited) print_moment("goes on", &row[RUNS_scheduled_resume_at]);
    if (pause) print_json_line("schema", pause->payload_schema);
    if (pause && plan->terms && pause->resume_when != CONDITION_NONE)
        print_format("%-9s %.*s\n", "condition", STR_ARG(plan->terms->conditions[pause->resume_when].text));
    if (wish->is_denial) print_format("%-9s a denial: the run fails\n", "answer");
    else print_json_line("answer", wish->payload);
}

/* The key, and whether the person means it. */
static ExitCode choose(const Args *args, Store *store, const Cell *row, TriggerWish *wish)
{
    const char *key = args_value(args, "key");
    const Cell *awaited = &row[RUNS_awaiting_trigger_key];
    Error err = { 0 };
    if (key) wish->key = str_of(key);
    else if (awaited->kind == CELL_TEXT) wish->key = arena_copy(args->arena, awaited->text);
    else {
        error_set(&err, ERR_CONFLICT, "the run is %s: it awaits no trigger%s; 'maestro show %.*s' says how it stands",
                  run_state_name(row_state(row)), row_is_settled(row) ? " any more" : ", and --key names one that is still ahead",
                  STR_ARG(row[RUNS_id].text));
        return errand_refused(&err);
    }
    if (!ask_is_possible() || args_flag(args, "json") || args_flag(args, "yes")) return EXIT_CODE_OK;
    Plan plan;
    if (run_plan(args->arena, store, row, &plan, &err)) return fail(&err);
    show(args, row, &plan, wish);
    if (!args_value(args, "reason") && !ask_text(args->arena, "why (it is recorded): ", &wish->reason))
        wish->reason = (Str){ 0 };
    if (ask_yes(args->arena, wish->is_denial ? "Deny it? [y/N] " : "Approve it? [y/N] ")) return EXIT_CODE_OK;
    print_note("nothing was decided, and nothing was changed\n");
    return EXIT_CODE_RUN_FAILED;
}

static ExitCode run(const Args *args)
{
    TriggerWish wish = { .is_denial = args_flag(args, "deny") };
    Store *store;
    const Cell *row;
    Error err;
    ExitCode code = guardrails_refuse_client(args);
    if (!code) code = trigger_payload(args, &wish.payload);
    if (!code && !args_value(args, "payload") && !wish.is_denial
        && json_parse(args->arena, STR("{\"approved\":true}"), &wish.payload, &err)) code = fail(&err);
    if (!code) code = store_open_existing(args, &store);
    if (code) return code;
    code = find_row(args, store, args->operands[0], &row);
    if (!code) code = choose(args, store, row, &wish);
    store_close(store);
    if (!code && !wish.reason.len && !reason_is_given(args)) code = EXIT_CODE_USAGE;
    return code ? code : trigger_order(args, &wish);
}

const Verb command_approve = {
    .name = "approve", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Approves what a paused run awaits, or denies it.",
    .doc = "Answers the trigger that the run awaits, with {\"approved\": true} unless --payload says something else; with\n"
           "--deny the pause ends as denied, and the run fails. On a terminal it shows what is awaited, since and until when,\n"
           "and what the payload has to look like, and asks; --yes does not ask. Who answers says why: --reason, where nobody is asked. 'maestro trigger' says the\n"
           "same with a key.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit codes: 1 the\n"
           "run awaits nothing, or its condition does not hold; 65 the payload does not fit.",
    .examples = "maestro approve last --reason \"within the budget\"\n"
                "maestro approve last --deny --reason \"too expensive\"\n"
                "maestro approve last --yes --reason checked --payload '{\"approved\": true, \"limit\": 5000}'",
    .options = options, .run = run,
};
