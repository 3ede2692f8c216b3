
#include "cli/command.h"

static ExitCode run(const Args *args)
{
    (void)args;
    print_format("maestro %s\n", MAESTRO_VERSION);
    return EXIT_CODE_OK;
}

const Verb command_version = {
    .name = "version",
    .operands = "",
    .summary = "Prints the version.",
    .doc = "Also as maestro --version.",
    .run = run,
};
