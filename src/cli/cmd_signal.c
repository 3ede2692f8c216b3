
#include "cli/guardrails.h"
#include "cli/order.h"
#include "cli/workplace.h"
#include "value/json.h"

static const char *const kinds[] = { "health", "anomaly", "milestone", "approval", "operator", NULL };
static const Option options[] = {
    { "kind", 0, "KIND", kinds, "What it is: health, anomaly, milestone, approval or operator; by default operator." },
    { "payload", 0, "JSON", NULL, "What it brings." },
    { "deny", 0, NULL, NULL, "A denial: what waits for it fails." },
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    POLICY_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static ExitCode run(const Args *args)
{
    const char *kind = args_value(args, "kind"), *payload = args_value(args, "payload");
    Command command = { .kind = COMMAND_SIGNAL, .name = str_of(args->operands[1]), .is_denial = args_flag(args, "deny"),
                        .sort = SIGNAL_OPERATOR, .value = value_null() };
    Error err;
    ExitCode code = guardrails_refuse_client(args);
    if (code) return code;
    if (kind && !signal_kind_find(str_of(kind), &command.sort)) return EXIT_CODE_USAGE;
    if (payload && json_parse(args->arena, str_of(payload), &command.value, &err)) {
        print_note("maestro: --payload is no JSON: %s (column %u); a text needs quotes: '\"text\"'\n", err.text, err.column);
        return EXIT_CODE_DATA;
    }
    if ((command.is_denial || command.sort == SIGNAL_APPROVAL) && !reason_is_given(args)) return EXIT_CODE_USAGE;
    Errand errand = errand_begin(args, "signal");
    errand_add(&errand, "name", value_string(command.name));
    errand_add(&errand, "kind", value_string(str_of(signal_kind_name(command.sort))));
    errand_add(&errand, "payload", command.value);
    errand_add(&errand, "denial", value_bool(command.is_denial));
    return order(args, &errand, command);
}

const Verb command_signal = {
    .name = "signal", .operands = "RUN NAME", .operand_count_min = 2, .operand_count_max = 2,
    .summary = "Sends a signal to a run.",
    .doc = "A step that waits for a signal of that name goes on, or fails where the signal is a denial; one that comes to\n"
           "wait for it later finds it there. The process that owns the store is told; where none does, the signal is kept\n"
           "in the store itself. An approval and a denial need their --reason.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the\n"
           "run has ended, and nothing was changed.",
    .examples = "maestro signal last quality-gate-pass --kind approval --reason checked --payload '{\"by\": \"ana\"}'\n"
                "maestro signal last release --deny --reason \"tests fail\"",
    .options = options, .run = run,
};
