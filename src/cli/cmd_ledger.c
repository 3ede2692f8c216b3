#include "cli/command.h"

static const Verb *const ledger_commands[] = { &command_ledger_verify, &command_ledger_show, &command_ledger_export,
                                               &command_ledger_anchor, &command_ledger_erase, NULL };

const Verb command_ledger = {
    .name = "ledger", .operands = "",
    .summary = "Verifies, shows, exports and anchors the ledger of a store; erases payloads.",
    .doc = "The ledger holds everything that happened to runs, in records chained by hashes: what was changed, removed or cut off is\n"
           "found. docs/ledger.md says what that proves, and what only an anchor that is kept elsewhere does.",
    .commands = ledger_commands,
};
