#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "cli/attend.h"
#include "cli/load.h"
#include "cli/workplace.h"
#include "value/json.h"

static const Option options[] = {
    { "param", 'p', "NAME=VALUE", NULL, "A parameter of the run: a text, or JSON of the type it is declared with.",
      .repeats = true },
    { "key", 0, "KEY", NULL, "The idempotency key, in place of the definition's." },
    { "again", 0, NULL, NULL, "A new run, though one with the same key exists." },
    STORE_OPTION,
    { "runners", 0, "FILE", NULL, "What the definition finds by name." },
    { "json", 0, NULL, NULL, "Prints events as JSON, one a line, and the result." },
    { "quiet", 'q', NULL, NULL, "Prints nothing but the run's id and what went wrong." },
    { NULL },
};

/* --- parameters ---------------------------------------------------------------------------------------------------------- */

static Str declared_type(Value document, Str name)
{
    const Value *params = value_get_text(document, "params");
    for (uint32_t i = 0; params && i < params->count; i++)
        if (str_is(value_get_string(params->items[i], "name", STR("")), name))
            return value_get_string(params->items[i], "type", STR("string"));
    return STR("string");
}

/* A text is taken as it stands; anything else has to be JSON. What is wrong with it the engine says. */
static Value param_value(Arena *arena, Str type, Str text)
{
    Value value;
    Error err;
    if (str_is_text(type, "string") || json_parse(arena, text, &value, &err)) return value_string(text);
    return value;
}

static bool read_params(const Args *args, const Plan *plan, Value *out)
{
    MemberList members = { .arena = args->arena };
    for (unsigned i = 0; i < args->given_count; i++) {
        const ArgsGiven *given = &args->given[i];
        if (strcmp(given->option->name, "param") != 0) continue;
        Str text = str_of(given->value);
        size_t equals = str_find(text, '=', 0);
        if (equals == text.len || equals == 0) {
            fprintf(stderr, "maestro run: --param needs NAME=VALUE, and '%s' has none\n", given->value);
            return false;
        }
        Str name = str_slice(text, 0, equals);
        Str type = declared_type(plan->document, name);
        member_list_add(&members, name, param_value(args->arena, type, str_slice(text, equals + 1, text.len)));
    }
    *out = member_list_object(&members);
    return true;
}

/* --- the command --------------------------------------------------------------------------------------------------------- */

static ExitCode run_file(const Args *args)
{
    Loaded loaded;
    ExitCode code = load_plan(args, args->operands[0], &loaded);
    if (code) return code;
    const Plan *plan = &loaded.compiled.plan;
    const char *key = args_value(args, "key");
    AttendWish wish = { .catalog = loaded.catalog, .plan = plan, .key = str_of(key), .is_again = args_flag(args, "again") };
    if (!read_params(args, plan, &wish.params)) return EXIT_CODE_USAGE;
    Buf document;
    Error err;
    buf_init(&document, PLAN_SIZE_MAX);
    Status status = canonical_print(&document, plan->document, &err);
    wish.document = buf_peek(&document);
    code = status ? fail(&err) : attend(args, &wish);
    buf_deinit(&document);
    return code;
}

const Verb command_run = {
    .name = "run", .operands = "FILE", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Runs a definition, and shows how it goes.",
    .doc = "Starts a run of the definition and carries it out, step by step. Everything that happens is durable before the next\n"
           "step begins. On a terminal the steps are shown as a tree; otherwise as lines. Where the definition has an idempotency\n"
           "key, the same command again continues that run, or shows its result if it has ended; --again starts a new one.\n"
           "\n"
           "Ctrl-C pauses the run and lets the steps end that are under way; a second one ends these, too. After that, or a\n"
           "crash, 'maestro resume RUN' goes on where the run was. One process at a time carries out the runs of a store: where\n"
           "another one does, it is given this run, and this command shows how it goes and takes over when that process ends.",
    .examples = "maestro run hello.yaml --param who=Ana\n"
                "maestro run order.yaml -p order_id=17 --store sqlite:./orders.db",
    .options = options, .run = run_file,
};
