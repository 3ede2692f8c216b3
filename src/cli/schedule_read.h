/* schedule_read.h - schedules of a store or of a server, as the same documents, and overrides of their occurrences.
 *
 * A server knows the windows and calendars that it was given, and is asked by its routes. Beside a store this process reads the schedules
 * itself, with those that --runners registers (cli/load.h).
 *
 * Owns:   documents live in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason.     Thread: the main one; no other may exist before.
 */
#ifndef CLI_SCHEDULE_READ_H
#define CLI_SCHEDULE_READ_H

#include "api/schedules.h"
#include "cli/command.h"

/* Of one workflow, or with an empty name of all of the tenant: each with so many of its next times. */
ExitCode schedule_list(const Args *args, Str tenant, Str workflow, uint64_t time_count, Value *out_items);
/* What was overridden, of a tenant. */
ExitCode schedule_overrides(const Args *args, Str tenant, Value *out_items);
/* Overrides an occurrence, or does not any more. *out_item: the override as it is now; null where it is gone. */
ExitCode schedule_override(const Args *args, OverrideWish *wish, bool is_removal, Value *out_item);

#endif
