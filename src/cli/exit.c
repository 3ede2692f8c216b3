#include "cli/exit.h"

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
