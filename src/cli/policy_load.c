#include "cli/policy_load.h"

#include <string.h>

Status policy_add_operands(PolicySet *set, const Args *args, Error *err)
{
    bool is_bundle = args_flag(args, "bundle");
    for (unsigned i = 0; i < args->operand_count; i++) {
        const char *path = args->operands[i];
        Status status = is_bundle ? policy_add_bundle(set, path, err) : policy_add_path(set, path, err);
        if (status) return status;
    }
    return OK;
}

Status policy_add_options(PolicySet *set, const Args *args, Error *err)
{
    Status status = OK;
    for (unsigned i = 0; !status && i < args->given_count; i++) {
        const ArgsGiven *given = &args->given[i];
        if (strcmp(given->option->name, "data") == 0) status = policy_add_path(set, given->value, err);
        else if (strcmp(given->option->name, "bundle") == 0) status = policy_add_bundle(set, given->value, err);
    }
    return status;
}
