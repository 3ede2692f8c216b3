/* heap.h - how many bytes this program has allocated, exactly: whatever it links statically allocates through here.
 *
 * The figures of libc count chunks that a thread keeps for its next allocation as used, and so cannot tell whose they are.
 *
 * Owns: nothing.     Fails: never.     Thread: any.
 */
#ifndef TEST_ENGINE_HEAP_H
#define TEST_ENGINE_HEAP_H

#include <stddef.h>

size_t heap_size(void);

#endif
