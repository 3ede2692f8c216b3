#include "cli/exit.h"

const ExitMeaning exit_meanings[EXIT_CODE_COUNT] = {
    { EXIT_CODE_OK, "Fine." },
    { EXIT_CODE_RUN_FAILED, "A run or a test failed, or the state of the run does not permit it." },
    { EXIT_CODE_USAGE, "Wrong usage." },
    { EXIT_CODE_DATA, "A definition, a policy or other data is wrong." },
    { EXIT_CODE_UNAVAILABLE, "A file, program, service or run that is needed is not there." },
    { EXIT_CODE_INTERNAL, "Internal error." },
    { EXIT_CODE_TEMPORARY, "May work later." },
    { EXIT_CODE_DENIED, "Denied." },
    { EXIT_CODE_UNREAD, "Who read standard output has gone." },
};

ExitCode exit_code_of(Status status)
{
    static const ExitCode codes[STATUS_COUNT] = {
        [OK] = EXIT_CODE_OK,
        [ERR_INVALID] = EXIT_CODE_DATA,
        [ERR_DENIED] = EXIT_CODE_DENIED,
        [ERR_NOT_FOUND] = EXIT_CODE_UNAVAILABLE,
        [ERR_CONFLICT] = EXIT_CODE_TEMPORARY,
        [ERR_LIMIT] = EXIT_CODE_DATA,
        [ERR_UNAVAILABLE] = EXIT_CODE_UNAVAILABLE,
        [ERR_CORRUPT] = EXIT_CODE_DATA,
    };
    return codes[status];
}
