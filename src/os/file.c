#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"

static Status refuse(Error *err, int reason, const char *path)
{
    Status status = reason == ENOENT || reason == ENOTDIR ? ERR_NOT_FOUND
                  : reason == EACCES || reason == EPERM   ? ERR_DENIED
                                                          : ERR_UNAVAILABLE;
    char text[128];
    return error_set(err, status, "%s: %s", path, strerror_r(reason, text, sizeof text));
}

static Status too_large(Error *err, const char *path, size_t size_max)
{
    return error_set(err, ERR_LIMIT, "%s: larger than %zu bytes", path, size_max);
}

static Status read_all(int fd, const char *path, size_t size_max, Buf *buf, Error *err)
{
    char piece[65536];
    for (;;) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return refuse(err, errno, path);
        if (got == 0) return OK;
        buf_bytes(buf, piece, (size_t)got);
        if (buf_overflowed(buf)) return too_large(err, path, size_max);
    }
}

Status file_read(Arena *arena, const char *path, size_t size_max, Str *out_text, Error *err)
{
    bool is_input = strcmp(path, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return refuse(err, errno, path);

    struct stat info;
    Buf buf;
    buf_init(&buf, size_max);
    Status status = OK;
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode))
        status = error_set(err, ERR_INVALID, "%s: is a directory", path);
    else if (S_ISREG(info.st_mode) && (uint64_t)info.st_size > size_max) status = too_large(err, path, size_max);
    if (!status) status = read_all(fd, path, size_max, &buf, err);
    if (!status) *out_text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    if (!is_input) close(fd);
    return status;
}

static Status write_all(int fd, Str text)
{
    while (text.len) {
        ssize_t put = write(fd, text.ptr, text.len);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return ERR_UNAVAILABLE;
        text = str_slice(text, (size_t)put, text.len);
    }
    return fsync(fd) == 0 ? OK : ERR_UNAVAILABLE;
}

/* `mask`: who may not. */
static Status write_new(const char *path, Str text, mode_t mask, Error *err)
{
    char beside[4096];
    int size = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    if (size < 0 || (size_t)size >= sizeof beside) return error_set(err, ERR_INVALID, "%s: the path is too long", path);
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0) return refuse(err, errno, path);
    bool is_fine = fchmod(fd, 0666 & ~mask) == 0 && write_all(fd, text) == OK;
    int reason = errno;
    is_fine = close(fd) == 0 && is_fine;
    if (is_fine && rename(beside, path) != 0) {
        reason = errno;
        is_fine = false;
    }
    if (is_fine) return file_sync_directory(path, err);
    unlink(beside);
    return refuse(err, reason, path);
}

Status file_write(const char *path, Str text, Error *err)
{
    mode_t mask = umask(0);
    umask(mask);
    return write_new(path, text, mask, err);
}

Status file_write_private(const char *path, Str text, Error *err) { return write_new(path, text, 077, err); }

Status file_sync_directory(const char *path, Error *err)
{
    char directory[4096];
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    if (size >= sizeof directory) return error_set(err, ERR_INVALID, "%s: the path is too long", path);
    memcpy(directory, path, size);
    directory[size] = '\0';
    int fd = open(!slash ? "." : size ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return refuse(err, errno, path);
    int reason = fsync(fd) ? errno : 0;
    close(fd);
    return reason ? refuse(err, reason, path) : OK;
}

/* A link, not a change of name: it refuses where the name is taken. */
Status file_publish(const char *part, const char *path, Error *err)
{
    int reason = link(part, path) ? errno : 0;
    (void)unlink(part);
    if (reason == EEXIST) return error_set(err, ERR_CONFLICT, "%s exists already", path);
    return reason ? refuse(err, reason, path) : file_sync_directory(path, err);
}

Status file_room(const char *path, size_t size, Error *err)
{
    char name[PATH_MAX], text[128];
    if (snprintf(name, sizeof name, "%s.XXXXXX", path) >= (int)sizeof name) return refuse(err, ENAMETOOLONG, path);
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0) return refuse(err, errno, path);
    unlink(name);
    int reason = posix_fallocate(fd, 0, (off_t)size);
    close(fd);
    if (!reason) return OK;
    return error_set(err, ERR_UNAVAILABLE, "%s: there is no room for %zu bytes beside it: %s", path, size,
                     strerror_r(reason, text, sizeof text));
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool file_is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool file_follow(const char *path, char *out, size_t size)
{
    if ((size_t)snprintf(out, size, "%s", path) >= size) return false;
    for (uint32_t i = 0; i < FILE_LINK_COUNT_MAX; i++) {
        char target[PATH_MAX + 1];
        ssize_t length = readlink(out, target, sizeof target - 1);
        if (length < 0) return true;
        target[length] = '\0';
        const char *slash = strrchr(out, '/');
        size_t at = target[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - out);     /* what is relative begins beside the link */
        if ((size_t)snprintf(out + at, size - at, "%s", target) >= size - at) return false;
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return str_compare(*(const Str *)a, *(const Str *)b);
}

Status directory_list(Arena *arena, const char *path, Str suffix, Str **out_names, size_t *out_count, Error *err)
{
    Str *names = NULL;
    size_t count = 0, capacity = 0;
    *out_names = NULL;
    *out_count = 0;
    DIR *directory = opendir(path);
    if (!directory && (errno == ENOENT || errno == ENOTDIR)) return OK;
    if (!directory) return refuse(err, errno, path);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        Str name = str_of(entry->d_name);
        if (name.ptr[0] == '.' || !str_ends(name, suffix)) continue;
        names = arena_grow(arena, names, sizeof *names, count, &capacity);
        names[count++] = arena_copy(arena, name);
    }
    closedir(directory);
    if (count) qsort(names, count, sizeof *names, by_name);
    *out_names = names;
    *out_count = count;
    return OK;
}

/* --- a whole tree ---------------------------------------------------------------------------------------------------- */

typedef struct Walk {
    Arena *arena;
    const char *root;
    size_t count_max;
    Str *names;
    size_t count, capacity;
} Walk;

static Status walk_directory(Walk *walk, Str below, uint32_t depth, Error *err);

/* What lies at that place: a file is noted, a directory entered, anything else passed over. */
static Status walk_entry(Walk *walk, Str name, bool is_hidden, uint32_t depth, Error *err)
{
    char path[4096];
    struct stat info;
    int size = snprintf(path, sizeof path, "%s/%.*s", walk->root, STR_ARG(name));
    if (size < 0 || (size_t)size >= sizeof path) return error_set(err, ERR_INVALID, "%s: a path in it is too long", walk->root);
    if (stat(path, &info) != 0) return OK;                      /* a link that leads nowhere, or gone meanwhile */
    if (S_ISDIR(info.st_mode)) return is_hidden ? OK : walk_directory(walk, name, depth + 1, err);
    if (!S_ISREG(info.st_mode)) return OK;
    if (walk->count == walk->count_max) return error_set(err, ERR_LIMIT, "%s: more than %zu files", walk->root, walk->count_max);
    walk->names = arena_grow(walk->arena, walk->names, sizeof *walk->names, walk->count, &walk->capacity);
    walk->names[walk->count++] = name;
    return OK;
}

static Status walk_directory(Walk *walk, Str below, uint32_t depth, Error *err)
{
    char path[4096];
    int size = snprintf(path, sizeof path, "%s%s%.*s", walk->root, below.len ? "/" : "", STR_ARG(below));
    if (size < 0 || (size_t)size >= sizeof path) return error_set(err, ERR_INVALID, "%s: a path in it is too long", walk->root);
    if (depth > DIRECTORY_DEPTH_MAX)
        return error_set(err, ERR_LIMIT, "%s: deeper than DIRECTORY_DEPTH_MAX (%u)", path, DIRECTORY_DEPTH_MAX);
    DIR *directory = opendir(path);
    if (!directory) return refuse(err, errno, path);
    Status status = OK;
    for (const struct dirent *entry; !status && (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        Str full = arena_format(walk->arena, "%.*s%s%s", STR_ARG(below), below.len ? "/" : "", name);
        status = walk_entry(walk, full, name[0] == '.', depth, err);
    }
    closedir(directory);
    return status;
}

Status directory_walk(Arena *arena, const char *path, size_t count_max, Str **out_names, size_t *out_count, Error *err)
{
    Walk walk = { .arena = arena, .root = path, .count_max = count_max };
    Status status = walk_directory(&walk, STR(""), 0, err);
    if (status) return status;
    if (walk.count) qsort(walk.names, walk.count, sizeof *walk.names, by_name);
    *out_names = walk.names;
    *out_count = walk.count;
    return OK;
}
