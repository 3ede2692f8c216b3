#include "secret/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

const char *key_file_path(Arena *arena, const char *store_path)
{
    const char *given = getenv("MAESTRO_KEY_FILE");
    if (given && given[0]) return given;
    return store_path ? arena_format(arena, "%s.key", store_path).ptr : NULL;
}

/* --- reading --------------------------------------------------------------------------------------------------------------- */

static Status refuse(Error *err, int reason, const char *path)
{
    if (reason == ENOENT) return error_set(err, ERR_NOT_FOUND, "the key file %s is not there", path);
    if (reason == EACCES || reason == EPERM)
        return error_set(err, ERR_DENIED, "the key file %s may not be read by this user", path);
    return error_set(err, ERR_UNAVAILABLE, "the key file %s: %s", path, strerror(reason));
}

static Status check(const char *path, const struct stat *info, Error *err)
{
    if (!S_ISREG(info->st_mode)) return error_set(err, ERR_INVALID, "the key file %s is no file", path);
    if (info->st_mode & 077)
        return error_set(err, ERR_DENIED, "the key file %s is open to others (mode %04o): chmod 600 %s", path,
                         (unsigned)(info->st_mode & 07777), path);
    if (info->st_size != SEAL_KEY_SIZE)
        return error_set(err, ERR_CORRUPT, "the key file %s has %lld bytes, and a key has %u", path, (long long)info->st_size,
                         SEAL_KEY_SIZE);
    return OK;
}

static bool read_all(int fd, uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, bytes + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

Status key_file_read(const char *path, SealKey *out, Error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return refuse(err, errno, path);
    Status status = fstat(fd, &info) ? refuse(err, errno, path) : check(path, &info, err);
    if (!status && !read_all(fd, out->bytes, sizeof out->bytes))
        status = error_set(err, ERR_UNAVAILABLE, "the key file %s cannot be read", path);
    close(fd);
    return status;
}

/* --- making ---------------------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, bytes + done, size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        done += (size_t)put;
    }
    return fsync(fd) == 0;
}

/* Written whole under another name first: nobody reads half a key. mkostemp() makes it readable by its owner alone. */
static Status write_new(const char *path, const SealKey *key, Error *err)
{
    char part[4096];
    int size = snprintf(part, sizeof part, "%s.XXXXXX", path);
    if (size < 0 || (size_t)size >= sizeof part)
        return error_set(err, ERR_INVALID, "the path of the key file is too long: %s", path);
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0) return error_set(err, ERR_UNAVAILABLE, "the key file %s cannot be made: %s", path, strerror(errno));
    int reason = write_all(fd, key->bytes, sizeof key->bytes) ? 0 : errno;
    close(fd);
    if (!reason) return file_publish(part, path, err);
    (void)unlink(part);
    return error_set(err, ERR_UNAVAILABLE, "the key file %s cannot be made: %s", path, strerror(reason));
}

Status key_file_make(const char *path, SealKey *out, Error *err)
{
    SealKey key;
    Status status = key_file_read(path, out, err);
    if (status != ERR_NOT_FOUND) return status;
    seal_key_make(&key);
    status = write_new(path, &key, err);
    if (!status) *out = key;
    seal_key_wipe(&key);
    return status == ERR_CONFLICT ? key_file_read(path, out, err) : status;      /* another was first */
}
