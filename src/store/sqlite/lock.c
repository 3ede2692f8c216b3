#include "store/sqlite/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "os/clock.h"

static Status taken(int fd, const char *store_path, Error *err)
{
    char holder[32] = "";
    ssize_t size = pread(fd, holder, sizeof holder - 1, 0);
    if (size < 0) size = 0;
    holder[size] = 0;
    holder[strcspn(holder, "\n")] = 0;
    return error_set(err, ERR_CONFLICT, "%s: process %s has it; use that one, or end it first", store_path,
                     holder[0] ? holder : "(unknown)");
}

Status lock_take(Lock *lock, const char *store_path, int64_t wait_ms, Error *err)
{
    char path[STORE_PATH_SIZE_MAX + 16];
    struct stat info;
    if (stat(store_path, &info) == 0 && !S_ISREG(info.st_mode))         /* nothing is left beside what is no store */
        return error_set(err, ERR_INVALID, "%s: it is a %s, and a store is a file", store_path,
                         S_ISDIR(info.st_mode) ? "directory" : "special file");
    /* Under each of its names it would have another lock, and another write-ahead log. */
    if (stat(store_path, &info) == 0 && info.st_nlink > 1)
        return error_set(err, ERR_INVALID, "%s: the file has %lu names (hard links), and a store has one: remove the others, or copy it "
                         "with 'maestro store backup'", store_path, (unsigned long)info.st_nlink);
    snprintf(path, sizeof path, "%s.lock", store_path);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        Status status = errno == EMFILE || errno == ENFILE || errno == ENOSPC ? ERR_UNAVAILABLE : ERR_DENIED;
        return error_set(err, status, "%s: it cannot be written: %s cannot be made: %s", store_path, path, strerror(errno));
    }

    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)wait_ms * 1000000;
    while (flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            Status status = error_set(err, ERR_UNAVAILABLE, "%s cannot be locked: %s", path, strerror(errno));
            close(fd);
            return status;
        }
        if (clock_monotonic_ns() >= until_ns) {
            Status status = taken(fd, store_path, err);
            close(fd);
            return status;
        }
        nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    }
    char holder[32];
    int size = snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, holder, (size_t)size, 0) != size) {
        /* Only the name of the process is missing from a later message: the lock itself holds. */
    }
    lock->fd = fd;
    return OK;
}

bool lock_is_held(const char *store_path)
{
    char path[STORE_PATH_SIZE_MAX + 16];
    snprintf(path, sizeof path, "%s.lock", store_path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return is_held;
}

void lock_release(Lock *lock)
{
    if (lock->fd >= 0) {
        (void)flock(lock->fd, LOCK_UN);         /* a child that was forked meanwhile has a copy, until it has closed it */
        close(lock->fd);
    }
    *lock = LOCK_NONE;
}
