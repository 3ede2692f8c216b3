/* heap.c - the linker is told to take these in place of what they name (--wrap). */
#include "engine/heap.h"

#include <malloc.h>
#include <stdatomic.h>

static atomic_size_t live_size;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void  __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void  __wrap_free(void *block);

static void *count(void *block)
{
    atomic_fetch_add(&live_size, malloc_usable_size(block));
    return block;
}

void *__wrap_malloc(size_t size) { return count(__real_malloc(size)); }
void *__wrap_calloc(size_t number, size_t size) { return count(__real_calloc(number, size)); }

void *__wrap_realloc(void *block, size_t size)
{
    atomic_fetch_sub(&live_size, malloc_usable_size(block));
    return count(__real_realloc(block, size));
}

void __wrap_free(void *block)
{
    atomic_fetch_sub(&live_size, malloc_usable_size(block));
    __real_free(block);
}

size_t heap_size(void) { return atomic_load(&live_size); }
