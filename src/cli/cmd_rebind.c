#include "cli/order.h"
#include "cli/workplace.h"

static const Option options[] = {
    { "region", 0, "NAME", NULL, "A region in which what has not begun may run.", .repeats = true },
    { "cloud", 0, "NAME", NULL, "A cloud in which it may run.", .repeats = true },
    { "requires", 0, "NAME", NULL, "A capability that its executor must have.", .repeats = true },
    { "as-defined", 0, NULL, NULL, "Takes all of that back: the constraints of the definition hold again." },
    ORDER_OPTIONS,
    { NULL },
};

static Value names_of(const Args *args, const char *option)
{
    ValueList names = { .arena = args->arena };
    for (unsigned i = 0; i < args->given_count; i++)
        if (str_is_text(str_of(args->given[i].option->name), option)) value_list_add(&names, value_string(str_of(args->given[i].value)));
    return value_list_array(&names);
}

static ExitCode run(const Args *args)
{
    static const struct { const char *option, *key; } lists[] = { { "region", "regions" }, { "cloud", "clouds" }, { "requires", "requires" } };
    MemberList bound = { .arena = args->arena };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        Value names = names_of(args, lists[i].option);
        if (names.count) member_list_add(&bound, str_of(lists[i].key), names);
    }
    if ((bound.count == 0) != args_flag(args, "as-defined")) {
        print_note("maestro: %s\n", bound.count ? "--as-defined takes constraints back: it does not go with --region, --cloud or --requires"
                                               : "where to? --region, --cloud and --requires say it, --as-defined takes it back");
        return EXIT_CODE_USAGE;
    }
    Errand errand = errand_begin(args, "rebind");
    Value value = member_list_object(&bound);
    errand_add(&errand, "payload", value);
    return order(args, &errand, (Command){ .kind = COMMAND_REBIND, .value = value });
}

const Verb command_rebind = {
    .name = "rebind", .operands = "RUN", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Binds what has not begun in a run to other places.",
    .doc = "The regions, clouds or capabilities that are given take the place of those in the definition, for the workflow and\n"
           "all its jobs; what is not given stays as defined, and where data may be (data_sovereignty) always does. Attempts\n"
           "that are under way stay where they are. The next that is placed is placed by these; the ledger has who bound it, and\n"
           "why.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit code 1: the run\n"
           "has ended, and nothing was changed.",
    .examples = "maestro rebind last --region eu-central --reason \"eu-west is down\"\n"
                "maestro rebind last --as-defined",
    .options = options, .run = run,
};
