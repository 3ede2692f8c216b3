#include "os/tcp_socket.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_SIZE_MAX 255u

/* "https://host:443/x" to host and port. */
static bool split(Str url, char host[HOST_SIZE_MAX + 1], char port[6])
{
    bool is_secure = str_starts(url, STR("https://"));
    Str rest = str_slice(url, is_secure ? 8 : 7, url.len);
    rest = str_slice(rest, 0, str_find(rest, '/', 0));
    size_t end = rest.len && rest.ptr[0] == '[' ? str_find(rest, ']', 0) : 0, colon = str_find(rest, ':', end);
    Str name = str_slice(rest, 0, colon), number = str_slice(rest, colon < rest.len ? colon + 1 : colon, rest.len);
    if (end && name.len > 2) name = str_slice(name, 1, name.len - 1);
    if (!number.len) number = is_secure ? STR("443") : STR("80");
    if (!str_starts(url, STR("http")) || !name.len || name.len > HOST_SIZE_MAX || number.len > 5) return false;
    memcpy(host, name.ptr, name.len);
    host[name.len] = '\0';
    memcpy(port, number.ptr, number.len);
    port[number.len] = '\0';
    return true;
}

Status tcp_connect(Str url, int *out_fd, Error *err)
{
    char host[HOST_SIZE_MAX + 1], port[6];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    if (!split(url, host, port)) return error_set(err, ERR_INVALID, "'%.*s' is no address of a server", STR_ARG(url));
    int failed = getaddrinfo(host, port, &hints, &found), fd = -1;
    if (failed) return error_set(err, ERR_UNAVAILABLE, "%.*s: %s", STR_ARG(url), gai_strerror(failed));
    for (struct addrinfo *place = found; place && fd < 0; place = place->ai_next) {
        fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, place->ai_addr, place->ai_addrlen)) {
            failed = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    if (fd < 0) return error_set(err, ERR_UNAVAILABLE, "nobody serves %.*s: %s", STR_ARG(url), strerror(failed));
    *out_fd = fd;
    return OK;
}
