/* resolve_bulk.h - the same decision about many failed runs.
 *
 * The runs that fit --where are found first, then each is decided on by itself: an entry of the ledger, an answer and a line a
 * run. One that is refused does not keep the others from being decided. --dry-run shows what is chosen and what would be refused
 * (cli/what_if.h), and changes nothing.
 *
 * Owns:   nothing that outlives the call.
 * Fails:  with the exit code after printing the reason; 1 where some were refused.
 * Bounds: BULK_RUN_COUNT_MAX runs.     Thread: the main one; no other may exist before.
 */
#ifndef CLI_RESOLVE_BULK_H
#define CLI_RESOLVE_BULK_H

#include "cli/command.h"

ExitCode resolve_bulk(const Args *args);

#endif
