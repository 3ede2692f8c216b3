#include "os/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define PATH_SIZE_MAX 4096u

static Status failed(const char *path, const char *what, Error *err)
{
    Status status = errno == EACCES || errno == EPERM ? ERR_DENIED : errno == EMFILE || errno == ENFILE ? ERR_LIMIT : ERR_UNAVAILABLE;
    return error_set(err, status, "%s cannot be %s: %s", path, what, strerror(errno));
}

/* An address has room for a short path. A longer one is named by its directory, opened: *out_directory is kept until the address
 * was used, -1 where that is not needed. */
static Status address_of(const char *path, struct sockaddr_un *out, int *out_directory, Error *err)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    *out_directory = -1;
    size_t size = strlen(path);
    if (size < sizeof out->sun_path) {
        memcpy(out->sun_path, path, size);
        return OK;
    }
    char directory[PATH_SIZE_MAX + 1];
    const char *slash = strrchr(path, '/');
    if (!slash || size > PATH_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the path %s is longer than a socket's may be (%zu)", path, sizeof out->sun_path - 1);
    memcpy(directory, path, (size_t)(slash - path) + 1);
    directory[slash - path + 1] = '\0';
    *out_directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*out_directory < 0) return failed(directory, "opened", err);
    int written = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d%s", *out_directory, slash);
    if (written > 0 && (size_t)written < sizeof out->sun_path) return OK;
    close(*out_directory);
    return error_set(err, ERR_LIMIT, "the name %s is longer than a socket's may be", slash + 1);
}

Status local_socket_listen(const char *path, int *out_fd, Error *err)
{
    struct sockaddr_un address;
    int directory;
    Status status = address_of(path, &address, &directory, err);
    if (status) return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        status = failed(path, "opened", err);
        if (directory >= 0) close(directory);
        return status;
    }
    (void)unlink(path);                     /* of an earlier owner; whoever owns the store now may listen */
    mode_t mask = umask(0177);
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (bound < 0 || listen(fd, BACKLOG) < 0) status = failed(path, "listened on", err);
    if (directory >= 0) close(directory);
    if (status) {
        close(fd);
        return status;
    }
    *out_fd = fd;
    return OK;
}

int local_socket_accept(int fd)
{
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

Status local_socket_connect(const char *path, int *out_fd, Error *err)
{
    struct sockaddr_un address;
    int directory;
    Status status = address_of(path, &address, &directory, err);
    if (status) return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) status = failed(path, "opened", err);
    else if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) status = failed(path, "reached", err);
    if (directory >= 0) close(directory);
    if (status) {
        if (fd >= 0) close(fd);
        return status;
    }
    *out_fd = fd;
    return OK;
}
