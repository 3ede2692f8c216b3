#include "os/entropy.h"

#include <errno.h>
#include <sys/random.h>

#include "base/check.h"

uint64_t entropy_seed(void)
{
    uint64_t seed = 0;
    ssize_t got;
    do got = getrandom(&seed, sizeof seed, 0);
    while (got < 0 && errno == EINTR);
    CHECK(got == (ssize_t)sizeof seed);
    return seed;
}
