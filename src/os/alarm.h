/* alarm.h - a flag that rises when a time is over, for work that looks at a flag now and then.
 *
 * There is one alarm in a process; it is for commands that do one thing at a time.
 *
 * Fails: never.     Thread: set and ended by one thread; the flag may be read by any.
 */
#ifndef OS_ALARM_H
#define OS_ALARM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

const atomic_bool *alarm_begin(uint64_t timeout_ms);      /* lowers the flag, and raises it when the time is over */
void alarm_end(void);

#endif
