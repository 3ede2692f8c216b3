/* start_key.h - a start whose idempotency key belongs to a run already: is it the same start?
 *
 * The same key is the same run, so a start with a key that is taken is answered with the run that has it. Whoever gives other
 * parameters means another run: that is refused, with what differs, before anything is done.
 *
 * Parameters that are not given now and have a default count as given with it, unless the definition has changed since: then they
 * are what the run has.
 *
 * Owns:   nothing that outlives the call.
 * Fails:  with the exit code, after printing the reason: cli/problem.h.     Thread: the main one.
 */
#ifndef CLI_START_KEY_H
#define CLI_START_KEY_H

#include "cli/command.h"
#include "core/plan.h"
#include "value/value.h"

ExitCode start_key_check(const Args *args, const Plan *plan, Str key, Value params);

#endif
