#include "os/clock.h"

#include "base/check.h"

#define NS_PER_S 1000000000
#define NS_PER_MS 1000000

int64_t clock_realtime_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int64_t clock_realtime_ms(void) { return clock_realtime_ns() / NS_PER_MS; }

int64_t clock_monotonic_ms(void) { return (int64_t)(clock_monotonic_ns() / NS_PER_MS); }

struct timespec clock_after(int64_t ms)
{
    struct timespec time;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &time) == 0);
    time.tv_sec += ms / 1000;
    time.tv_nsec += ms % 1000 * NS_PER_MS;
    if (time.tv_nsec >= NS_PER_S) {
        time.tv_sec++;
        time.tv_nsec -= NS_PER_S;
    }
    return time;
}
