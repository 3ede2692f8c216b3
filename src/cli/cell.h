/* cell.h - a server as a cell: what it is told of the central one, and the plan by which it carries out a lease.
 *
 * exec/worker/edge.h does the work; docs/cells.md is the manual for people.
 *
 * Owns:   nothing beyond the arena of the arguments.
 * Fails:  with the exit code, after printing the reason.     Thread: the main one; the plan is made in the engine's.
 */
#ifndef CLI_CELL_H
#define CLI_CELL_H

#include "cli/workplace.h"

#define CELL_OPTIONS \
    { "cell", 0, "NAME", NULL, "This server is a cell: it carries out leases of a central one, also while that is away." }, \
    { "central", 0, "URL", NULL, "Of a cell: the central server." }, \
    { "executor", 0, "ID", NULL, "Of a cell: the worker executor of the central server; the name of the cell where it is left out." }, \
    { "queue", 0, "NAME", NULL, "Of a cell: a queue to take work from; all of the executor where none is given.", .repeats = true }, \
    { "capacity", 0, "N", NULL, "Of a cell: how many leases it holds at a time; 64 where it is left out." }, \
    { "token-file", 0, "FILE", NULL, "Of a cell: its credential at the central server; $MAESTRO_TOKEN where it is left out." }

/* Whether the options fit together; before anything is made. The catalog gets the runner that tells the central server. */
ExitCode cell_check(const Args *args, Catalog *catalog);
/* Takes up what it has, and begins to pull. `place` was opened with is_cell; nothing where the server is no cell. */
ExitCode cell_begin(const Args *args, const Catalog *catalog, Workplace *place);

#endif
