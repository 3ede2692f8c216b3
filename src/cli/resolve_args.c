#include "cli/resolve_args.h"

#include <string.h>

#include "api/petition.h"
#include "cli/order.h"

const char *const scope_words[] = { "full", "partial", "from-step", NULL };
const char *const mode_words[] = { "retry-only", "compensate-then-retry", NULL };

static bool word_find(Str word, const char *const *words, unsigned *out)
{
    for (*out = 0; words[*out]; (*out)++)
        if (str_is_text(word, words[*out])) return true;
    return false;
}

/* The steps of --step, as often as it was given. */
static Value steps_of(const Args *args)
{
    ValueList list = { .arena = args->arena };
    for (unsigned i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, "step") == 0) value_list_add(&list, value_string(str_of(args->given[i].value)));
    return list.count ? value_list_array(&list) : value_null();
}

static bool wrong(const char *text)
{
    print_note("maestro: %s\n", text);
    return false;
}

static bool read_scope(const Args *args, Command *command)
{
    const char *scope = args_value(args, "scope"), *from = args_value(args, "from");
    command->value = steps_of(args);
    bool has_steps = command->value.kind != VALUE_NULL;
    if (from) command->name = str_of(from);
    if (from && has_steps) return wrong("--step and --from do not go together");
    command->scope = has_steps ? SCOPE_PARTIAL : from ? SCOPE_FROM_STEP : SCOPE_FULL;
    if (!scope) return true;
    CompensationScope wanted;
    if (!compensation_scope_find(str_of(scope), &wanted)) return wrong("there is no such scope");
    bool fits = wanted == SCOPE_FULL ? !has_steps && !from : wanted == SCOPE_PARTIAL ? has_steps : from != NULL;
    command->scope = wanted;
    return fits || wrong("--scope partial needs --step, --scope from-step needs --from, --scope full takes neither");
}

static bool read_revision(const Args *args, Command *command)
{
    const char *text = args_value(args, "revision");
    uint64_t number = 0;
    if (!text) return true;
    if (!str_to_u64(str_of(text), &number) || !number || number > UINT32_MAX)
        return wrong("--revision takes the number of a revision: see 'maestro revisions'");
    command->revision = (uint32_t)number;
    return true;
}

/* Which options a decision takes. One that it does not take would be left out, and something else done than was meant. Of --revision
 * whoever decides says so. */
#define TAKEN_BY(decision) (1u << (decision))

static const struct { const char *option; unsigned decisions; } taken[] = {
    { "scope", TAKEN_BY(DECISION_COMPENSATE) },
    { "step", TAKEN_BY(DECISION_COMPENSATE) },
    { "from", TAKEN_BY(DECISION_COMPENSATE) | TAKEN_BY(DECISION_RETRY_FROM_STEP) },
    { "mode", TAKEN_BY(DECISION_RETRY_FROM_STEP) },
    { "include-step", TAKEN_BY(DECISION_RETRY_FROM_STEP) },
    { "unknown-effects", TAKEN_BY(DECISION_COMPENSATE) | TAKEN_BY(DECISION_RETRY_FROM_STEP) },
};

bool resolve_fits(const Args *args)
{
    const char *word = args_value(args, "decision");
    DecisionKind decision;
    if (!word || !decision_kind_find(str_of(word), &decision)) return true;         /* which it is, is asked for */
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        if (!args_flag(args, taken[i].option) || (taken[i].decisions & TAKEN_BY(decision))) continue;
        bool means_from = strcmp(taken[i].option, "step") == 0 && decision == DECISION_RETRY_FROM_STEP;
        print_note("maestro: --decision %s does not take --%s%s\n", word, taken[i].option, means_from ? "; --from says from which step on" : "");
        return false;
    }
    return true;
}

bool resolve_args(const Args *args, Command *command, Errand *errand)
{
    const char *decision = args_value(args, "decision"), *mode = args_value(args, "mode");
    const char *unknown = args_value(args, "unknown-effects");
    unsigned found;
    if (decision && !decision_kind_find(str_of(decision), &command->decision)) return wrong("there is no such decision");
    if (!read_scope(args, command)) return false;
    if (mode && !retry_mode_find(str_of(mode), &command->mode)) return wrong("there is no such mode");
    if (unknown && word_find(str_of(unknown), petition_unknown_words, &found)) command->unknown = (UnknownEffect)found;
    if (args_flag(args, "include-step") && command->mode != COMPENSATE_THEN_RETRY)
        return wrong("--include-step needs --mode compensate-then-retry: nothing is undone without");
    command->includes = args_flag(args, "include-step") || args_flag(args, "remaining");
    if (args_flag(args, "compensate") && args_flag(args, "no-compensate")) return wrong("--compensate and --no-compensate do not go together");
    if (args_flag(args, "compensate")) command->undo = CANCEL_COMPENSATES;
    if (args_flag(args, "no-compensate")) command->undo = CANCEL_LEAVES;
    if (!read_revision(args, command)) return false;
    if (args->operand_count > 1) command->name = str_of(args->operands[1]);
    resolve_put(errand, command);
    return true;
}

void resolve_put(Errand *errand, const Command *command)
{
    errand_add(errand, "decision", value_string(str_of(decision_kind_name(command->decision))));
    errand_add(errand, "scope", value_string(str_of(compensation_scope_name(command->scope))));
    errand_add(errand, "mode", value_string(str_of(retry_mode_name(command->mode))));
    errand_add(errand, "unknown", value_string(str_of(petition_unknown_words[command->unknown])));
    errand_add(errand, "undo", value_string(str_of(petition_undo_words[command->undo])));
    errand_add(errand, "includes", value_bool(command->includes));
    if (command->revision) errand_add(errand, "revision", value_int(command->revision));
    if (command->name.len) errand_add(errand, "name", value_string(command->name));
    if (command->value.kind != VALUE_NULL) errand_add(errand, "payload", command->value);
}

ExitCode resolve_order(const Args *args, CommandKind kind, const char *verb)
{
    Command command = { .kind = kind, .value = value_null() };
    Errand errand = errand_begin(args, verb);
    if (!resolve_args(args, &command, &errand)) return EXIT_CODE_USAGE;
    if (kind == COMMAND_CANCEL) order_job(args, &errand, &command);
    return order(args, &errand, command);
}
