/* params_read.h - parameters of runs as a person types them, NAME=VALUE, and those that a run has.
 *
 * A text is taken as it stands where the parameter is declared as one; else it is JSON. The parameters that a run has are those
 * of its start, or the last that a retry gave it.
 *
 * Owns:   values live in the arena of the arguments.
 * Fails:  params_read() with false after printing what is wrong; the others with the store's reason.     Thread: the main one.
 */
#ifndef CLI_PARAMS_READ_H
#define CLI_PARAMS_READ_H

#include "cli/command.h"
#include "view/run_rows.h"

/* Those of an option that repeats: an object, empty where it was not given. */
bool params_read(const Args *args, const char *option, const Plan *plan, Value *out);
/* {"params", "payload"} as the run has them after all its events so far. */
MUST_USE Status params_now(Arena *arena, Store *store, const Cell *row, Value *out, Error *err);
/* "amount: 5 -> 7; note: none -> \"x\"": what edits change. */
Str params_difference(Arena *arena, Value before, Value edits);

#endif
