#include "cli/command.h"

static const Verb *const policy_commands[] = {
    &command_policy_eval, &command_policy_test, &command_policy_check, &command_policy_fmt, &command_policy_bench,
    &command_policy_review, NULL,
};

const Verb command_policy = {
    .name = "policy", .operands = "COMMAND",
    .summary = "Evaluates, tests, checks and formats policies; records reviews of them.",
    .doc = "Policies are written in Rego. These commands read them from files, directories and bundles; nothing has to\n"
           "run. What reviewers say of those that are registered is kept in a store, or by a server.",
    .examples = "  maestro policy eval -d policies -i input.json data.deploy.allow\n  maestro policy test policies",
    .commands = policy_commands,
};
