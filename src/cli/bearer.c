#include "cli/bearer.h"

#include <stdlib.h>

#include "os/file.h"

#define TOKEN_FILE_SIZE_MAX 4096u

Status bearer_read(const Args *args, Str *out, Error *err)
{
    const char *path = args_value(args, "token-file"), *variable = getenv("MAESTRO_TOKEN");
    *out = variable ? str_of(variable) : STR("");
    if (!path) return OK;
    Status status = file_read(args->arena, path, TOKEN_FILE_SIZE_MAX, out, err);
    while (!status && out->len && (out->ptr[out->len - 1] == '\n' || out->ptr[out->len - 1] == '\r')) out->len--;
    return status;
}

uint32_t queues_read(const Args *args, Str out[WORKER_QUEUE_COUNT_MAX])
{
    uint32_t count = 0;
    for (unsigned i = 0; i < args->given_count; i++)
        if (str_is_text(str_of("queue"), args->given[i].option->name) && count < WORKER_QUEUE_COUNT_MAX) out[count++] = str_of(args->given[i].value);
    return count;
}
