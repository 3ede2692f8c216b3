#include "os/entropy.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"

#define POOL_SIZE 4096u

static void fill(uint8_t *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t count = getrandom(bytes + got, size - got, 0);
        CHECK(count >= 0 || errno == EINTR);
        if (count > 0) got += (size_t)count;
    }
}

uint64_t entropy_seed(void)
{
    uint64_t seed = 0;
    fill((uint8_t *)&seed, sizeof seed);
    return seed;
}

void entropy_bytes(uint8_t *bytes, size_t size)
{
    static _Thread_local uint8_t pool[POOL_SIZE];
    static _Thread_local size_t left;
    if (size > POOL_SIZE / 4) {
        fill(bytes, size);
        return;
    }
    if (left < size) {
        fill(pool, POOL_SIZE);
        left = POOL_SIZE;
    }
    left -= size;
    memcpy(bytes, pool + left, size);
    memset(pool + left, 0, size);
}
