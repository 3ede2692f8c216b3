/* entropy.h - chance from the machine, for seeds, ids and salts.
 *
 * Fails: never; without randomness a system has not booted, and the process stops.     Thread: any.
 */
#ifndef OS_ENTROPY_H
#define OS_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

uint64_t entropy_seed(void);
/* Fit for ids and salts: asked of the system a page at a time, and each byte is given away once. */
void entropy_bytes(uint8_t *bytes, size_t size);

#endif
