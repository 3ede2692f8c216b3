#include "cli/service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/clock.h"

#define PORT_MAX 65535u
#define SOCKET_FIRST 3              /* sd_listen_fds(3): the first descriptor that is handed over */

static struct sockaddr_un manager;  /* set once, before there are threads */
static socklen_t manager_size;      /* 0: there is none */

/* --- the one who has started it ------------------------------------------------------------------------------------------------------ */

static void take_manager(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path && strlen(path) && strlen(path) < sizeof manager.sun_path) {
        manager.sun_family = AF_UNIX;
        memcpy(manager.sun_path, path, strlen(path) + 1);
        manager_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
        if (manager.sun_path[0] == '@') manager.sun_path[0] = '\0';        /* of the abstract kind */
    }
    unsetenv("NOTIFY_SOCKET");
}

Status service_begin(int *out_fd, Error *err)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    bool is_ours = pid && count && strtol(pid, NULL, 10) == (long)getpid() && strtol(count, NULL, 10) >= 1;
    bool is_one = is_ours && strtol(count, NULL, 10) == 1;
    take_manager();
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    *out_fd = -1;
    if (!is_ours) return OK;
    if (!is_one) return error_set(err, ERR_INVALID, "more than one socket was handed over: maestro.socket has one ListenStream=");
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(SOCKET_FIRST, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens)
        return error_set(err, ERR_INVALID, "what was handed over is no socket that listens: maestro.socket has ListenStream= and Accept=no");
    (void)fcntl(SOCKET_FIRST, F_SETFD, FD_CLOEXEC);
    (void)fcntl(SOCKET_FIRST, F_SETFL, fcntl(SOCKET_FIRST, F_GETFL) | O_NONBLOCK);
    *out_fd = SOCKET_FIRST;
    return OK;
}

void service_tell(const char *text)
{
    int fd = manager_size ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0) return;
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&manager, manager_size);
    close(fd);
}

void service_tell_reloading(void)
{
    char text[64];
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\n", clock_monotonic_ns() / 1000u);
    service_tell(text);
}

/* --- the socket ------------------------------------------------------------------------------------------------------------------------- */

/* ADDRESS:PORT, an IPv6 address in brackets; without an address the one of the loopback. */
static Status split_address(Arena *arena, const char *text, const char **out_host, const char **out_port, Error *err)
{
    Str whole = str_of(text);
    size_t colon = whole.len;
    while (colon && text[colon - 1] != ':') colon--;
    if (!colon || colon == whole.len)
        return error_set(err, ERR_INVALID, "--listen takes ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080, and not '%s'", text);
    Str host = str_slice(whole, 0, colon - 1), number = str_slice(whole, colon, whole.len);
    uint64_t wanted;
    if (!str_to_u64(number, &wanted) || wanted > PORT_MAX)
        return error_set(err, ERR_INVALID,
                         "--listen %s: a port is a number from 0 (any that is free) to %u, and not '%.*s'", text,
                         PORT_MAX, STR_ARG(number));
    if (host.len > 1 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']') host = str_slice(host, 1, host.len - 1);
    *out_host = host.len ? arena_copy(arena, host).ptr : "127.0.0.1";       /* whoever means every address writes it */
    *out_port = arena_copy(arena, number).ptr;
    return OK;
}

static Status find_address(Arena *arena, const char *text, struct addrinfo **out_found, Error *err)
{
    const char *host = "", *port = "";
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    Status status = split_address(arena, text, &host, &port, err);
    int failed = status ? 0 : getaddrinfo(host, port, &hints, out_found);
    return failed ? error_set(err, ERR_INVALID, "--listen %s: %s", text, gai_strerror(failed)) : status;
}

/* With any port that is free: whoever listens on the one that is meant is not in the way. */
static Status try_address(const char *text, const struct addrinfo *found, Error *err)
{
    struct sockaddr_storage address = { 0 };
    memcpy(&address, found->ai_addr, found->ai_addrlen);
    if (address.ss_family == AF_INET) ((struct sockaddr_in *)&address)->sin_port = 0;
    else ((struct sockaddr_in6 *)&address)->sin6_port = 0;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_usable = fd >= 0 && !bind(fd, (const struct sockaddr *)&address, found->ai_addrlen);
    int reason = errno;
    if (fd >= 0) close(fd);
    return is_usable ? OK : error_set(err, ERR_UNAVAILABLE, "cannot listen on %s: %s; --listen takes another address", text, strerror(reason));
}

Status service_check_address(Arena *arena, const char *text, Error *err)
{
    struct addrinfo *found;
    Status status = find_address(arena, text, &found, err);
    if (status) return status;
    status = try_address(text, found, err);
    freeaddrinfo(found);
    return status;
}

Status service_listen(Arena *arena, const char *text, int *out_fd, Error *err)
{
    struct addrinfo *found;
    Status status = find_address(arena, text, &found, err);
    if (status) return status;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    if (fd >= 0) (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, SOMAXCONN)) {
        status = error_set(err, ERR_UNAVAILABLE, "cannot listen on %s: %s; --listen takes another address", text, strerror(errno));
        if (fd >= 0) close(fd);
    } else {
        *out_fd = fd;
    }
    freeaddrinfo(found);
    return status;
}

bool service_is_loopback(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size)) return false;
    if (address.ss_family == AF_INET) return ntohl(((const struct sockaddr_in *)&address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (address.ss_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&address)->sin6_addr);
    return address.ss_family == AF_UNIX;
}

Str service_path(Arena *arena, int fd)
{
    struct sockaddr_un address = { 0 };
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) || address.sun_family != AF_UNIX) return STR("");
    if (!address.sun_path[0]) address.sun_path[0] = '@';                   /* of the abstract kind */
    return arena_format(arena, "%.*s", (int)sizeof address.sun_path, address.sun_path);
}

Str service_address(Arena *arena, int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
    if (service_path(arena, fd).len) return STR("");
    if (getsockname(fd, (struct sockaddr *)&address, &size)
        || getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
        return STR("a socket");
    return arena_format(arena, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}
