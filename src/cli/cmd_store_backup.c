#include <stdio.h>
#include <sys/stat.h>

#include "cli/human.h"
#include "cli/server_order.h"
#include "cli/workplace.h"

static const Option options[] = {
    STORE_OPTION,
    { NULL },
};

static ExitCode run(const Args *args)
{
    Store *store;
    Error err;
    ExitCode code = server_refuse(args, "a backup is made");
    if (!code) code = store_open_existing(args, &store);
    if (code) return code;
    Status status = store_backup(store, str_of(args->operands[0]), &err);
    store_close(store);
    if (status) return fail(&err);
    struct stat info;
    char storage[64];
    Buf size = buf_on(storage, sizeof storage);
    if (stat(args->operands[0], &info) == 0) human_size(&size, (uint64_t)info.st_size);
    printf("%s: %.*s; 'maestro store verify --store %s' looks at it\n", args->operands[0], STR_ARG(buf_peek(&size)), args->operands[0]);
    return EXIT_CODE_OK;
}

const Verb command_store_backup = {
    .name = "store backup", .operands = "PATH", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Copies the store into a new file, while it is in use.",
    .doc = "The copy holds everything up to one moment, and is a store by itself: its runs can be shown, and carried on. A file that\n"
           "exists is not overwritten.",
    .examples = "maestro store backup /mnt/backups/orders-2026-11-16.db --store sqlite:orders.db",
    .options = options, .run = run,
};
