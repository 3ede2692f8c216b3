/* bench_server.c - a client of 'maestro server': one-step runs started over HTTP, each answered when it has ended.
 *
 *   bench-server PORT KEY WORKFLOW [SECONDS [CONNECTIONS]]
 *
 * Every connection sends its next request when the last one is answered. Prints requests a second and how long they took.
 * Owns: its connections.     Fails: with a message and exit code 1.     Thread: one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/histogram.h"
#include "base/str.h"
#include "os/clock.h"

#define ANSWER_SIZE 65536u

typedef struct Link { int fd; size_t size; uint64_t began_ns; char answer[ANSWER_SIZE]; } Link;

static char request[4096];
static size_t request_size;

static int stop(const char *what)
{
    fprintf(stderr, "bench-server: %s: %s\n", what, strerror(errno));
    return 1;
}

static bool send_request(Link *link)
{
    link->size = 0;
    link->began_ns = clock_monotonic_ns();
    return send(link->fd, request, request_size, MSG_NOSIGNAL) == (ssize_t)request_size;
}

/* Whether the answer is there whole: its head says how long it is. */
static bool is_whole(const Link *link)
{
    const char *end = memmem(link->answer, link->size, "\r\n\r\n", 4), *length = memmem(link->answer, link->size, "Content-Length: ", 16);
    return end && length && link->size >= (size_t)(end + 4 - link->answer) + strtoul(length + 16, NULL, 10);
}

static bool is_done(const Link *link)
{
    return str_starts((Str){ link->answer, link->size }, STR("HTTP/1.1 20")) && memmem(link->answer, link->size, "\"COMPLETED\"", 11);
}

static bool open_link(Link *link, int epoll_fd, uint16_t port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int yes = 1;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = link };
    link->fd = socket(AF_INET, SOCK_STREAM, 0);
    return link->fd >= 0 && !connect(link->fd, (struct sockaddr *)&address, sizeof address)
        && !setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) && !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, link->fd, &event);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench-server PORT KEY WORKFLOW [SECONDS [CONNECTIONS]]\n");
        return 2;
    }
    uint64_t seconds = argc > 4 ? strtoul(argv[4], NULL, 10) : 5, count = argc > 5 ? strtoul(argv[5], NULL, 10) : 64;
    char body[512];
    int body_size = snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", argv[3]);
    request_size = (size_t)snprintf(request, sizeof request,
        "POST /api/executions?wait=30s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"
        "Content-Length: %d\r\n\r\n%s", argv[2], body_size, body);
    Link *links = calloc(count, sizeof *links);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!links || epoll_fd < 0) return stop("epoll");
    for (uint64_t i = 0; i < count; i++)
        if (!open_link(&links[i], epoll_fd, (uint16_t)strtoul(argv[1], NULL, 10)) || !send_request(&links[i])) return stop("connect");
    static Histogram times;
    uint64_t begin_ns = clock_monotonic_ns(), end_ns = begin_ns + seconds * 1000000000u, failed = 0;
    while (clock_monotonic_ns() < end_ns) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll_fd, events, 64, 100);
        for (int i = 0; i < ready; i++) {
            Link *link = events[i].data.ptr;
            ssize_t got = recv(link->fd, link->answer + link->size, ANSWER_SIZE - link->size, 0);
            if (got <= 0) return stop("the server hung up");
            link->size += (size_t)got;
            if (!is_whole(link)) continue;
            failed += !is_done(link);
            histogram_add(&times, (clock_monotonic_ns() - link->began_ns) / 1000u);
            if (!send_request(link)) return stop("send");
        }
    }
    double took = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    printf("{\"connections\":%" PRIu64 ",\"runs_per_s\":%.0f,\"p50_us\":%" PRIu64 ",\"p99_us\":%" PRIu64 ",\"failed\":%" PRIu64 "}\n", count,
           (double)times.count / took, histogram_quantile(&times, 0.5), histogram_quantile(&times, 0.99), failed);
    return failed ? 1 : 0;
}
