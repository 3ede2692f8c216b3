/* entropy.h - chance from the machine, for seeds: everything behind a seed is computed.
 *
 * Fails: never; without randomness a system has not booted, and the process stops.     Thread: any.
 */
#ifndef OS_ENTROPY_H
#define OS_ENTROPY_H

#include <stdint.h>

uint64_t entropy_seed(void);

#endif
