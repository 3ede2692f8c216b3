/* bearer.h - as whom a worker or a cell comes to a server, and which of its queues it pulls from: options that both have.
 *
 * Owns:   texts live in the arena of the arguments.     Fails: bearer_read() with the file's reason.     Thread: the main one.
 */
#ifndef CLI_BEARER_H
#define CLI_BEARER_H

#include "base/limits.h"
#include "cli/command.h"

/* Of --token-file, else $MAESTRO_TOKEN, else empty. */
MUST_USE Status bearer_read(const Args *args, Str *out, Error *err);
/* Every --queue; how many there are. */
uint32_t queues_read(const Args *args, Str out[WORKER_QUEUE_COUNT_MAX]);

#endif
