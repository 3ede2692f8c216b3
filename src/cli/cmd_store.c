#include "cli/command.h"

static const Verb *const store_commands[] = { &command_store_backup, &command_store_verify, &command_store_archive, NULL };

const Verb command_store = {
    .name = "store", .operands = "",
    .summary = "Copies a store, looks for damage, and moves old runs out of it.",
    .doc = "A store is one file, PATH, with PATH-wal and PATH-shm beside it while it is in use. Copy it with 'maestro store backup', not\n"
           "with cp: what was committed last may still lie in PATH-wal.",
    .commands = store_commands,
};
