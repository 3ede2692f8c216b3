#include "cli/guardrails.h"

#include <string.h>

#include "cli/server_order.h"
#include "cli/stand_in_policies.h"

/* By the names that the stand-ins of the configuration have for them. */
static const RegoModuleText built_in[] = {
    { STR_INIT("policies/change-management.rego"), STR_INIT(STAND_IN_CHANGE_MANAGEMENT) },
    { STR_INIT("policies/data-sovereignty-eu.rego"), STR_INIT(STAND_IN_DATA_SOVEREIGNTY_EU) },
    { STR_INIT("policies/prod-guardrails.rego"), STR_INIT(STAND_IN_PROD_GUARDRAILS) },
    { STR_INIT("policies/sast-required.rego"), STR_INIT(STAND_IN_SAST_REQUIRED) },
};

ExitCode guardrails_refuse_client(const Args *args)
{
    if (!args_value(args, "policy") || !server_is_meant(args)) return EXIT_CODE_OK;
    print_note("maestro: --policy is for runs of this machine: those of a server are subject to its own policies ('maestro server --policy'); "
               "leave it out\n");
    return EXIT_CODE_USAGE;
}

ExitCode guardrails_open(const Args *args, const Catalog *catalog, const Plan *plan, Guard **out_guard)
{
    const char **paths = ARENA_ARRAY(args->arena, const char *, args->given_count + 1);
    GuardOptions options = { .catalog = catalog, .paths = paths, .built_in = built_in,
                             .built_in_count = sizeof built_in / sizeof *built_in };
    for (unsigned i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, "policy") == 0) paths[options.path_count++] = args->given[i].value;
    Guard *guard;
    Error err;
    if (guard_open(&options, &guard, &err)) return fail(&err);
    if (plan && guard_admit(guard, plan->document, &err)) {
        guard_close(guard);
        return fail(&err);
    }
    *out_guard = guard;
    return EXIT_CODE_OK;
}
