#include "os/local_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

static Status address_of(const char *path, struct sockaddr_un *out, Error *err)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    size_t size = strlen(path);
    if (size >= sizeof out->sun_path)
        return error_set(err, ERR_LIMIT, "the path %s is longer than a socket's may be (%zu)", path, sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, size);
    return OK;
}

static Status failed(const char *path, const char *what, Error *err)
{
    Status status = errno == EACCES || errno == EPERM ? ERR_DENIED : errno == EMFILE || errno == ENFILE ? ERR_LIMIT : ERR_UNAVAILABLE;
    return error_set(err, status, "%s cannot be %s: %s", path, what, strerror(errno));
}

Status local_socket_listen(const char *path, int *out_fd, Error *err)
{
    struct sockaddr_un address;
    Status status = address_of(path, &address, err);
    if (status) return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return failed(path, "opened", err);
    (void)unlink(path);                     /* of an earlier owner; whoever owns the store now may listen */
    mode_t mask = umask(0177);
    int bound = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (bound < 0 || listen(fd, BACKLOG) < 0) {
        status = failed(path, "listened on", err);
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
    Status status = address_of(path, &address, err);
    if (status) return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return failed(path, "opened", err);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        status = failed(path, "reached", err);
        close(fd);
        return status;
    }
    *out_fd = fd;
    return OK;
}
