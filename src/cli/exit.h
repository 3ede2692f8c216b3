/* exit.h - exit codes: those of sysexits where it has one, 1 for a run that failed, 2 for wrong usage.
 *
 * docs/exit-codes.md is the same table for people.
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include "base/status.h"

typedef enum ExitCode {
    EXIT_CODE_OK = 0,
    EXIT_CODE_RUN_FAILED = 1,
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_DATA = 65,            /* a definition or other data is wrong */
    EXIT_CODE_UNAVAILABLE = 69,     /* a file, program or service that is needed is not there */
    EXIT_CODE_INTERNAL = 70,
    EXIT_CODE_TEMPORARY = 75,       /* may work later */
    EXIT_CODE_DENIED = 77,
    EXIT_CODE_UNREAD = 141,         /* who read standard output has gone: what shells say of a process that SIGPIPE ended */
} ExitCode;

/* For help and the manual page: each code and what it means, in growing order. */
typedef struct ExitMeaning { ExitCode code; const char *text; } ExitMeaning;
#define EXIT_CODE_COUNT 9
extern const ExitMeaning exit_meanings[EXIT_CODE_COUNT];

ExitCode exit_code_of(Status status);

#endif
