#include "os/wake.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"

Status wake_open(Wake *wake, Error *err)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return error_set(err, ERR_LIMIT, "no descriptor for waking a thread: %s", strerror(errno));
    wake->fd = fd;
    atomic_init(&wake->is_raised, false);
    return OK;
}

void wake_close(Wake *wake)
{
    close(wake->fd);
    wake->fd = -1;
}

void wake_raise(Wake *wake)
{
    if (atomic_exchange_explicit(&wake->is_raised, true, memory_order_acq_rel)) return;
    uint64_t one = 1;
    ssize_t written = write(wake->fd, &one, sizeof one);
    CHECK(written == sizeof one || errno == EAGAIN);
}

/* The descriptor before the flag: the other way round, a raise between the two would be emptied and yet count as made. */
void wake_lower(Wake *wake)
{
    if (!wake_is_raised(wake)) return;  /* someone looks without having been woken */
    uint64_t count;
    ssize_t got = read(wake->fd, &count, sizeof count);
    (void)got;                          /* nothing there: who raised the flag has yet to write, and will wake once more */
    atomic_exchange_explicit(&wake->is_raised, false, memory_order_acq_rel);
}
