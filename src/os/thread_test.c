#include "os/thread.h"

#include <signal.h>
#include <string.h>
#include <sys/poll.h>         /* <poll.h> would be os/poll.h here */

#include "base/ring.h"
#include "harness/test.h"
#include "os/wake.h"

typedef struct Seen {
    char name[16];
    int blocked;
} Seen;

static void look(void *context)
{
    Seen *seen = context;
    pthread_getname_np(pthread_self(), seen->name, sizeof seen->name);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    seen->blocked = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGPIPE);
}

TEST(thread_has_its_name_and_takes_no_signals, "")
{
    Error err;
    Thread thread;
    Seen seen = { 0 };
    REQUIRE_OK(thread_start(&thread, "a-name-that-is-too-long", look, &seen, &err), &err);
    thread_join(&thread);
    EXPECT_STR(str_of(seen.name), STR("a-name-that-is-"));
    EXPECT(seen.blocked);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    EXPECT(!sigismember(&mask, SIGTERM));                   /* the one that started it is as before */
}

static bool is_readable(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

TEST(wake_raised_often_is_lowered_once, "")
{
    Error err;
    Wake wake;
    REQUIRE_OK(wake_open(&wake, &err), &err);
    EXPECT(!is_readable(wake_fd(&wake)));
    for (int i = 0; i < 10; i++) wake_raise(&wake);
    EXPECT(is_readable(wake_fd(&wake)));
    wake_lower(&wake);
    EXPECT(!is_readable(wake_fd(&wake)));
    wake_lower(&wake);                                      /* looking without having been woken does no harm */
    wake_raise(&wake);
    EXPECT(is_readable(wake_fd(&wake)));
    wake_close(&wake);
}

/* Four threads put numbers, one takes them, sleeping whenever there is none: nothing is lost, doubled, or out of the
 * order of its thread, and nobody sleeps for ever. */
enum { PUTTERS = 4, NUMBERS = 20000 };

typedef struct Station {
    Ring ring;
    Wake wake;
    uint32_t numbers[PUTTERS][NUMBERS];
    atomic_uint next_putter;
} Station;

static void put_numbers(void *context)
{
    Station *station = context;
    uint32_t me = atomic_fetch_add(&station->next_putter, 1);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        station->numbers[me][i] = i;
        while (!ring_put(&station->ring, &station->numbers[me][i])) sched_yield();
        wake_raise(&station->wake);
    }
}

TEST(ring_and_wake_carry_everything_between_threads, "")
{
    static Station station;
    Error err;
    ring_init(&station.ring, 64);
    REQUIRE_OK(wake_open(&station.wake, &err), &err);
    Thread threads[PUTTERS];
    for (int i = 0; i < PUTTERS; i++)
        REQUIRE_OK(thread_start(&threads[i], "putter", put_numbers, &station, &err), &err);

    uint32_t next[PUTTERS] = { 0 }, count = 0, wrong = 0;
    while (count < PUTTERS * NUMBERS) {
        struct pollfd one = { .fd = wake_fd(&station.wake), .events = POLLIN };
        if (poll(&one, 1, 10000) != 1) break;
        wake_lower(&station.wake);
        for (uint32_t *number; (number = ring_take(&station.ring)); count++) {
            size_t putter = (size_t)(number - &station.numbers[0][0]) / NUMBERS;
            if (*number != next[putter]++) wrong++;
        }
    }
    EXPECT_INT(count, PUTTERS * NUMBERS);
    EXPECT_INT(wrong, 0);
    for (int i = 0; i < PUTTERS; i++) thread_join(&threads[i]);
    wake_close(&station.wake);
    ring_deinit(&station.ring);
}
