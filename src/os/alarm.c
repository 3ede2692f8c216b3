#include "os/alarm.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/check.h"

static atomic_bool is_over;

static void raise_flag(int signal_number)
{
    (void)signal_number;
    is_over = true;
}

static void set_timer(uint64_t timeout_ms)
{
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_sec = (time_t)(timeout_ms / 1000);
    timer.it_value.tv_usec = (suseconds_t)(timeout_ms % 1000 * 1000);
    CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

const atomic_bool *alarm_begin(uint64_t timeout_ms)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = raise_flag;
    action.sa_flags = SA_RESTART;
    is_over = false;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    set_timer(timeout_ms ? timeout_ms : 1);
    return &is_over;
}

void alarm_end(void)
{
    set_timer(0);
}
