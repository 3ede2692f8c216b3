/* clock.h - the two clocks of the machine.
 *
 * What happens inside is given its time as a value; this is where such values are read, once, at the edge.
 *
 * Fails: never.     Thread: any.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t  clock_realtime_ns(void);       /* since 1970 in UTC; may jump when someone sets the clock */
uint64_t clock_monotonic_ns(void);      /* since some moment; never goes back */
int64_t  clock_realtime_ms(void);       /* the same two in milliseconds */
int64_t  clock_monotonic_ms(void);
struct timespec clock_after(int64_t ms);     /* a moment of the monotonic clock, for waits that end there */

#endif
