#include "os/poll_set.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define READY_COUNT_MAX 64u

Status poll_open(Poll *poll, Error *err)
{
    poll->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poll->fd < 0) return error_set(err, ERR_LIMIT, "no descriptor is left to wait with: %s", strerror(errno));
    return OK;
}

void poll_close(Poll *poll)
{
    if (poll->fd >= 0) close(poll->fd);
    poll->fd = -1;
}

Status poll_add(Poll *poll, int fd, uint64_t token, Error *err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = token };
    if (epoll_ctl(poll->fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_set(err, ERR_LIMIT, "descriptor %d cannot be waited for: %s", fd, strerror(errno));
    return OK;
}

void poll_remove(Poll *poll, int fd)
{
    (void)epoll_ctl(poll->fd, EPOLL_CTL_DEL, fd, NULL);         /* one that is closed is gone already */
}

uint32_t poll_wait(Poll *poll, int64_t timeout_ms, uint64_t *out_tokens, uint32_t count_max)
{
    struct epoll_event events[READY_COUNT_MAX];
    int timeout = timeout_ms < 0 ? -1 : timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
    int count = epoll_wait(poll->fd, events, (int)(count_max < READY_COUNT_MAX ? count_max : READY_COUNT_MAX), timeout);
    for (int i = 0; i < count; i++) out_tokens[i] = events[i].data.u64;
    return count < 0 ? 0 : (uint32_t)count;
}
