/* The engine's side: opening, asking, closing. */
#include "exec/process/spawner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "exec/process/spawner_wire.h"
#include "os/clock.h"

#define LOCK_TRY_MS 20                  /* flock() has no time limit of its own, so it is tried again and again */
#define SOCKET_SIZE (1 << 20)

static Status lock_take(const char *path, int64_t wait_ms, int *out_fd, Error *err);
static _Noreturn void child_live(int fd, int lock_fd, const char *scratch);

Status spawner_open(Spawner *spawner, const SpawnerOptions *options, Error *err)
{
    int lock_fd = -1;
    if (options->lock_path) {
        Status status = lock_take(options->lock_path, options->lock_wait_ms, &lock_fd, err);
        if (status) return status;
    }
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        int error = errno;
        if (lock_fd >= 0) close(lock_fd);
        return error_set(err, ERR_UNAVAILABLE, "no socket for starting processes: %s", strerror(error));
    }
    int size = SOCKET_SIZE;             /* the system may give less; a request fits what it gives at least */
    for (int i = 0; i < 2; i++) setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);

    fflush(NULL);                       /* text waiting in our streams would be in the child's as well */
    pid_t pid = fork();
    int error = errno;
    if (pid == 0) child_live(ends[1], lock_fd, options->scratch);
    close(ends[1]);
    if (lock_fd >= 0) close(lock_fd);   /* the spawner has it: the lock is free when the spawner is gone */
    if (pid < 0) {
        close(ends[0]);
        return error_set(err, ERR_UNAVAILABLE, "no process for starting processes: %s", strerror(error));
    }
    *spawner = (Spawner){ .fd = ends[0], .pid = pid };
    return OK;
}

static Status lock_take(const char *path, int64_t wait_ms, int *out_fd, Error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return error_set(err, ERR_UNAVAILABLE, "%s cannot be opened: %s", path, strerror(errno));
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        if (error == EINTR) continue;
        if (error != EWOULDBLOCK || clock_monotonic_ns() >= end_ns) {
            close(fd);
            if (error != EWOULDBLOCK)
                return error_set(err, ERR_UNAVAILABLE, "%s cannot be locked: %s", path, strerror(error));
            return error_set(err, ERR_UNAVAILABLE, "processes of an earlier owner are still running (%s is locked)", path);
        }
        poll(NULL, 0, LOCK_TRY_MS);
    }
    *out_fd = fd;
    return OK;
}

static void keep_only(int fd, int lock_fd)
{
    int low = fd < lock_fd || lock_fd < 0 ? fd : lock_fd;
    int high = fd > lock_fd ? fd : lock_fd;
    if (low > 0) close_range(0, (unsigned)low - 1, 0);
    if (high > low + 1) close_range((unsigned)low + 1, (unsigned)high - 1, 0);
    close_range((unsigned)high + 1, ~0U, 0);
}

/* Nothing of the engine stays open here: no store, no lock, no terminal. The low numbers are taken, so that descriptors
 * that come for a program never stand where the program's own will be. */
static _Noreturn void child_live(int fd, int lock_fd, const char *scratch)
{
    keep_only(fd, lock_fd);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (null >= 0 && null < 2 * SPAWNER_FD_COUNT) null = fcntl(null, F_DUPFD_CLOEXEC, 0);
    setsid();                           /* what a terminal sends to the engine's group is for the engine */
    spawner_live(fd, scratch);
    _exit(0);
}

void spawner_close(Spawner *spawner)
{
    close(spawner->fd);
    while (waitpid(spawner->pid, NULL, 0) < 0 && errno == EINTR) continue;
    *spawner = (Spawner){ .fd = -1 };
}

static Status message_send(Spawner *spawner, struct msghdr *message, Error *err)
{
    ssize_t sent;
    do sent = sendmsg(spawner->fd, message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0) return OK;
    /* Too many descriptors on their way is a full socket, too. */
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS)
        return error_set(err, ERR_UNAVAILABLE, "the spawner is busy");
    return error_set(err, ERR_LIMIT, "the spawner does not take it: %s", strerror(errno));
}

Status spawner_start(Spawner *spawner, const SpawnRequest *request, const int fds[SPAWNER_FD_COUNT], Error *err)
{
    WireRequest wire = { .kind = WIRE_START, .slot = request->slot, .arg_count = request->arg_count,
                         .variable_count = request->variable_count, .has_directory = request->has_directory,
                         .memory_size_max = request->memory_size_max, .cpu_s_max = request->cpu_s_max };
    struct iovec parts[2] = { { &wire, sizeof wire }, { (void *)(uintptr_t)request->texts.ptr, request->texts.len } };
    union { char bytes[CMSG_SPACE(SPAWNER_FD_COUNT * sizeof(int))]; struct cmsghdr align; } control = { { 0 } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    struct cmsghdr *beside = CMSG_FIRSTHDR(&message);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(SPAWNER_FD_COUNT * sizeof(int));
    memcpy(CMSG_DATA(beside), fds, SPAWNER_FD_COUNT * sizeof(int));
    return message_send(spawner, &message, err);
}

Status spawner_signal(Spawner *spawner, uint32_t slot, int signal, Error *err)
{
    WireRequest wire = { .kind = WIRE_SIGNAL, .slot = slot, .signal = signal };
    struct iovec part = { &wire, sizeof wire };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    return message_send(spawner, &message, err);
}

bool spawner_take(Spawner *spawner, SpawnAnswer *out_answer, bool *out_is_gone)
{
    *out_is_gone = false;
    ssize_t got;
    do got = recv(spawner->fd, out_answer, sizeof *out_answer, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got > 0) return true;
    *out_is_gone = got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    return false;
}

void spawner_scratch_remove(const char *scratch)
{
    DIR *directory = opendir(scratch);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (unlinkat(dirfd(directory), entry->d_name, 0) != 0) unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
    }
    closedir(directory);
    rmdir(scratch);
}
