#include <string.h>

#include "api/reviews.h"
#include "base/limits.h"
#include "cli/grid.h"
#include "cli/load.h"
#include "cli/order.h"
#include "cli/review_read.h"
#include "cli/revision_read.h"
#include "os/user.h"

static Str text_of(Value item, const char *name) { return value_get_string(item, name, STR("")); }

/* --- which there are ----------------------------------------------------------------------------------------------------------------- */

static ExitCode print_list(const Args *args, Value policies)
{
    static const GridColumn columns[] = { { "POLICY" }, { "VERSION", .is_cut = true }, { "REVIEW" }, { NULL } };
    if (args_flag(args, "json")) return print_document(policies);
    if (!policies.count) {
        print_note("no policies\n");
        return EXIT_CODE_OK;
    }
    Grid grid = grid_begin(args->arena, columns);
    for (uint32_t i = 0; i < policies.count; i++) {
        Str unusable = text_of(policies.items[i], "unusable"), standing;
        reviews_stand(args->arena, *value_get_text(policies.items[i], "reviews"), &standing);
        grid_cell(&grid, text_of(policies.items[i], "name"));
        grid_cell(&grid, text_of(policies.items[i], "digest"));
        grid_cell(&grid, unusable.len ? unusable : standing);
    }
    grid_print(&grid);
    return EXIT_CODE_OK;
}

/* --- a new one ----------------------------------------------------------------------------------------------------------------------- */

static Value only(const Args *args, Value policies, Str name)
{
    ValueList list = { .arena = args->arena };
    for (uint32_t i = 0; i < policies.count; i++)
        if (str_is(text_of(policies.items[i], "name"), name)) value_list_add(&list, policies.items[i]);
    return value_list_array(&list);
}

/* The version that is in force; where another is named, that is not what the reviewer has read. */
static ExitCode find_version(const Args *args, Value policies, ReviewWish *wish)
{
    const char *given = args_value(args, "digest");
    Value found = only(args, policies, wish->policy);
    Error err;
    if (!found.count)
        error_set(&err, ERR_NOT_FOUND, "there is no policy '%.*s'; 'maestro policy review' shows which there are",
                  STR_ARG(wish->policy));
    else if (!text_of(found.items[0], "digest").len)
        error_set(&err, ERR_CONFLICT, "policy '%.*s' cannot be used here: %.*s", STR_ARG(wish->policy), STR_ARG(text_of(found.items[0], "unusable")));
    else if (given && !str_is_text(text_of(found.items[0], "digest"), given))
        error_set(&err, ERR_CONFLICT, "the version of policy '%.*s' that is in force is %.*s: read that", STR_ARG(wish->policy),
                  STR_ARG(text_of(found.items[0], "digest")));
    else {
        wish->digest = text_of(found.items[0], "digest");
        return EXIT_CODE_OK;
    }
    return errand_refused(&err);
}

static ExitCode record(const Args *args, Value policies, const char *verdict)
{
    const char *reviewer = args_value(args, "reviewer"), *tenant = args_value(args, "tenant");
    ReviewWish wish = { .tenant = str_of(tenant), .policy = str_of(args->operands[0]), .verdict = str_of(verdict),
                        .reviewer = reviewer ? str_trim(str_of(reviewer)) : user_name(args->arena), .comment = str_of(args_value(args, "comment")) };
    if (!wish.reviewer.len || wish.reviewer.len > NAME_SIZE_MAX || memchr(wish.reviewer.ptr, '\n', wish.reviewer.len)) {
        print_note("maestro policy review: --reviewer has to name who has reviewed it, in one line of at most %u bytes\n", NAME_SIZE_MAX);
        return EXIT_CODE_USAGE;
    }
    ExitCode code = find_version(args, policies, &wish);
    if (!code) code = review_record(args, &wish);
    if (!code) print_format("%.*s of %.*s is %s by %.*s\n", STR_ARG(wish.digest), STR_ARG(wish.policy), verdict, STR_ARG(wish.reviewer));
    return code;
}

static ExitCode run(const Args *args)
{
    const char *verdict = args_value(args, "verdict");
    const Catalog *catalog;
    Value policies;
    if (verdict && !args->operand_count) {
        print_note("maestro policy review: which policy? Its name is missing\n");
        return EXIT_CODE_USAGE;
    }
    ExitCode code = load_catalog(args, "", &catalog);
    if (!code) code = review_list(args, catalog, revision_tenant(args), &policies);
    if (code) return code;
    if (verdict) return record(args, policies, verdict);
    return print_list(args, args->operand_count ? only(args, policies, str_of(args->operands[0])) : policies);
}

static const char *const verdicts[] = { "approved", "rejected", NULL };

static const Option options[] = {
    { "verdict", 0, "VERDICT", verdicts, "Records a review: approved, or rejected." },
    { "reviewer", 0, "NAME", NULL, "Who has reviewed it; by default $USER." },
    { "comment", 0, "TEXT", NULL, "What the reviewer has to say." },
    { "digest", 0, "DIGEST", NULL, "The version that was reviewed: it is refused where another one is in force." },
    { "tenant", 0, "NAME", NULL,
      "For whom a review counts, by default for all; whose reviews are shown, by default of the tenant of the key of --server, else of 'default'." },
    ID_OPTION,
    STORE_OPTION,
    { "json", 0, NULL, NULL, "Prints JSON." },
    { NULL },
};

const Verb command_policy_review = {
    .name = "policy review", .operands = "[NAME]", .operand_count_max = 1,
    .summary = "Shows which versions of policies were reviewed, and records a review.",
    .doc = "A version is a digest of what a policy says: where it is changed, nobody has reviewed it yet. A reviewer's last word about a version\n"
           "counts, and each is recorded in the ledger with who recorded it. A version stands reviewed where somebody has approved it and\n"
           "nobody rejects it: 'maestro check --production --store URL' or '--server URL' wants that of every policy that is attached.",
    .examples = "maestro policy review\n"
                "maestro policy review prod-guardrails --verdict approved --reviewer \"Ada Lovelace\" --comment \"as agreed\"",
    .options = options, .run = run,
};
