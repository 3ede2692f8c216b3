#include <string.h>

#include "cli/policy_report.h"

static const char *const formats[] = { "pretty", "json", NULL };

static const Option options[] = {
    { "bundle", 'b', NULL, NULL, "Takes the paths as bundles." },
    { "strict", 'S', NULL, NULL, "Unused variables and imports, deprecated builtins and shadowed names are mistakes." },
    { "v0", 0, NULL, NULL, "Reads the old syntax, before Rego v1." },
    { "format", 'f', "FORM", formats, "How mistakes are printed: pretty or json." },
    { NULL },
};

static ExitCode run(const Args *args)
{
    PolicySet set;
    Error err;
    RegoPolicy *policy;
    policy_set_init(&set, args->arena);
    if (policy_add_operands(&set, args, &err)) return policy_refuse_load(args, &err);
    RegoCompileOptions compile = { .v0 = args_flag(args, "v0"), .strict = args_flag(args, "strict"), .keep_print = true,
                                   .check_data = true };
    ExitCode code = policy_compile(args, &set, compile, &policy);
    if (code) return code;
    rego_policy_free(policy);
    return policy_wants_json(args) ? print_document((Value){ .kind = VALUE_OBJECT }) : EXIT_CODE_OK;
}

const Verb command_policy_check = {
    .name = "policy check", .operands = "PATH...", .operand_count_min = 1, .operand_count_max = ARGS_OPERAND_COUNT_MAX,
    .summary = "Looks for mistakes in policies without evaluating anything.",
    .doc = "Reads and compiles modules, with the data beside them, and reports every mistake with its place. Without\n"
           "mistakes it says nothing. The exit code is 65 where there is one.",
    .examples = "  maestro policy check policies\n"
                "  maestro policy check --strict --format json policies | jq '.errors[].message'",
    .options = options, .run = run,
};
