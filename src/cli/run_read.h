/* run_read.h - the run and the step that a person means.
 *
 * Whoever names a run may give its id, the beginning of one, "last" for the newest, or the file of a definition for the newest
 * run of that. What the store says about it is read by view/run_rows.h.
 *
 * Owns:   rows live in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason.
 * Bounds: RUN_PREFIX_SCAN_COUNT runs are looked at for the beginning of an id.     Thread: the main one.
 */
#ifndef CLI_RUN_READ_H
#define CLI_RUN_READ_H

#include "cli/command.h"
#include "view/run_rows.h"

/* The run that the operand names; prints what is wrong otherwise. */
ExitCode find_row(const Args *args, Store *store, const char *operand, const Cell **out_row);
/* The step of that id, of that name where only one has it, or of that index; prints what is wrong otherwise. */
bool plan_find_step(const Plan *plan, const char *text, uint32_t *out_step);

#endif
