/* audit.h - the books of a world that has come to rest: ledger, runs made again, rows made again.
 *
 * Owns: nothing.     Fails: through world_fail().     Thread: one.
 */
#ifndef TEST_SIM_AUDIT_H
#define TEST_SIM_AUDIT_H

#include "sim/world.h"

void audit(World *world);

#endif
