/* bench_server.c - a client of 'maestro server': runs started over HTTP, each answered when it has ended.
 *
 *   bench-server [--seconds S] [--runs N] [--connections N] [--look US] PORT KEY WORKFLOW
 *
 * Every connection starts its next run when the last one is answered, until the time is over or so many were started; what is under
 * way then is waited for. With --look the id comes first (POST, then GET with wait), and one more connection reads a run that is under
 * way every so many microseconds: on a thread of its own, since a look would else be measured together with the hundreds of answers that
 * this program reads before it comes to that one. Prints one JSON object: runs a second, how long they and the looks took, and its own
 * processor time.
 * Owns: its connections.     Fails: with a message and exit code 1, also where a run did not end well.     Thread: one, and the looker's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/histogram.h"
#include "base/str.h"
#include "os/clock.h"

#define ANSWER_SIZE (1u << 20)
#define REQUEST_SIZE 2048
#define ID_TEXT_SIZE 64u

typedef struct Link {
    int fd;
    size_t size;
    uint64_t began_ns;
    bool is_busy, is_waiting;       /* waiting: for the end of the run whose id it has */
    char id[ID_TEXT_SIZE];
    char *answer;
} Link;

typedef struct Load {
    uint64_t seconds, run_count_max, connection_count, look_us;
    uint16_t port;
    const char *key, *workflow;
    int epoll_fd;
    Link *links, looker;
    Histogram runs, looks;
    uint64_t begin_ns, started, failed;
    pthread_mutex_t mutex;          /* of what both threads use: ids of runs that are under way, failed, is_over */
    bool is_over;
} Load;

static int stop(const char *what)
{
    fprintf(stderr, "bench-server: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- one connection ---------------------------------------------------------------------------------------------------------- */

static void open_link(Load *load, Link *link)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(load->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int yes = 1;
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = link };
    *link = (Link){ .fd = socket(AF_INET, SOCK_STREAM, 0), .answer = malloc(ANSWER_SIZE) };
    if (!link->answer || link->fd < 0 || connect(link->fd, (struct sockaddr *)&address, sizeof address)
        || setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes)
        || (link != &load->looker && epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, link->fd, &event)))
        stop("connect");
}

static void ask(const Load *load, Link *link, const char *method, const char *path, const char *body)
{
    char text[REQUEST_SIZE];
    int size = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s", method, path, load->key,
                        *body ? "Content-Type: application/json\r\n" : "");
    size += snprintf(text + size, sizeof text - (size_t)size, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    link->size = 0;
    link->is_busy = true;
    if (size >= REQUEST_SIZE || send(link->fd, text, (size_t)size, MSG_NOSIGNAL) != (ssize_t)size) stop("send");
}

/* Whether the answer is there whole: its head says how long it is. */
static bool is_whole(const Link *link)
{
    const char *end = memmem(link->answer, link->size, "\r\n\r\n", 4), *length = memmem(link->answer, link->size, "Content-Length: ", 16);
    return end && length && link->size >= (size_t)(end + 4 - link->answer) + strtoul(length + 16, NULL, 10);
}

static bool take(Link *link)
{
    ssize_t got = recv(link->fd, link->answer + link->size, ANSWER_SIZE - link->size, 0);
    if (got <= 0) stop("the server hung up");
    link->size += (size_t)got;
    return is_whole(link);
}

static bool is_ok(const Link *link) { return str_starts((Str){ link->answer, link->size }, STR("HTTP/1.1 20")); }

/* Members are in order: the first status is the run's own. */
static bool is_completed(const Link *link)
{
    static const char done[] = "\"status\":\"COMPLETED\"";
    const char *status = memmem(link->answer, link->size, "\"status\":", 9);
    return is_ok(link) && status && (size_t)(link->answer + link->size - status) >= sizeof done && !memcmp(status, done, sizeof done - 1);
}

/* The first answer that is not what was wanted says why; the others are counted. */
static void fail(Load *load, const Link *link)
{
    pthread_mutex_lock(&load->mutex);
    bool is_first = !load->failed++;
    pthread_mutex_unlock(&load->mutex);
    if (is_first) fprintf(stderr, "bench-server: %.*s\n", (int)(link->size < 4096 ? link->size : 4096), link->answer);
}

/* --- runs ---------------------------------------------------------------------------------------------------------------------- */

static bool is_time(const Load *load)
{
    if (load->run_count_max) return load->started < load->run_count_max;
    return clock_monotonic_ns() < load->begin_ns + load->seconds * 1000000000u;
}

static void start_run(Load *load, Link *link)
{
    char body[512];
    pthread_mutex_lock(&load->mutex);
    link->is_busy = link->is_waiting = false;
    pthread_mutex_unlock(&load->mutex);
    if (!is_time(load)) return;
    load->started++;
    link->began_ns = clock_monotonic_ns();
    snprintf(body, sizeof body, "{\"workflowId\":\"%s\"}", load->workflow);
    ask(load, link, "POST", load->look_us ? "/api/executions" : "/api/executions?wait=30s", body);
}

static void wait_for(Load *load, Link *link)
{
    char path[128];
    const char *id = memmem(link->answer, link->size, "\"executionId\":\"", 15);
    size_t size = id ? strcspn(id + 15, "\"") : 0;
    if (!is_ok(link) || !size || size >= ID_TEXT_SIZE) stop("no id of the run");
    pthread_mutex_lock(&load->mutex);
    memcpy(link->id, id + 15, size);
    link->id[size] = '\0';
    link->is_waiting = true;
    pthread_mutex_unlock(&load->mutex);
    snprintf(path, sizeof path, "/api/executions/%s?wait=30s", link->id);
    ask(load, link, "GET", path, "");
}

static void take_run(Load *load, Link *link)
{
    if (!take(link)) return;
    if (load->look_us && !link->is_waiting) {
        wait_for(load, link);
        return;
    }
    if (!is_completed(link)) fail(load, link);
    histogram_add(&load->runs, (clock_monotonic_ns() - link->began_ns) / 1000u);
    start_run(load, link);
}

/* --- looks --------------------------------------------------------------------------------------------------------------------- */

/* The path of the next run that is under way, in turn; false where none is. */
static bool next_path(Load *load, uint64_t *at, char *path, size_t size)
{
    bool is_found = false;
    pthread_mutex_lock(&load->mutex);
    for (uint64_t i = 0; !is_found && i < load->connection_count; i++) {
        const Link *link = &load->links[(*at)++ % load->connection_count];
        is_found = link->is_waiting;
        if (is_found) snprintf(path, size, "/api/executions/%s", link->id);
    }
    pthread_mutex_unlock(&load->mutex);
    return is_found;
}

static bool is_over(Load *load)
{
    pthread_mutex_lock(&load->mutex);
    bool is_over = load->is_over;
    pthread_mutex_unlock(&load->mutex);
    return is_over;
}

static void *look(void *context)
{
    Load *load = context;
    Link *looker = &load->looker;
    uint64_t at = 0;
    struct timespec pause = { .tv_sec = (time_t)(load->look_us / 1000000u), .tv_nsec = (long)(load->look_us % 1000000u * 1000u) };
    while (!is_over(load)) {
        char path[128];
        nanosleep(&pause, NULL);
        if (!next_path(load, &at, path, sizeof path)) continue;
        uint64_t began_ns = clock_monotonic_ns();
        ask(load, looker, "GET", path, "");
        while (!take(looker)) {}
        if (!is_ok(looker)) fail(load, looker);
        histogram_add(&load->looks, (clock_monotonic_ns() - began_ns) / 1000u);
    }
    return NULL;
}

/* --- the whole ----------------------------------------------------------------------------------------------------------------- */

static bool is_under_way(const Load *load)
{
    for (uint64_t i = 0; i < load->connection_count; i++)
        if (load->links[i].is_busy) return true;
    return false;
}

static void carry_out(Load *load)
{
    load->begin_ns = clock_monotonic_ns();
    for (uint64_t i = 0; i < load->connection_count; i++) start_run(load, &load->links[i]);
    while (is_under_way(load)) {
        struct epoll_event events[64];
        int ready = epoll_wait(load->epoll_fd, events, 64, 1000);
        for (int i = 0; i < ready; i++) take_run(load, events[i].data.ptr);
    }
}

static void carry_out_looked_at(Load *load)
{
    pthread_t thread;
    open_link(load, &load->looker);
    if (pthread_create(&thread, NULL, look, load)) stop("thread");
    carry_out(load);
    pthread_mutex_lock(&load->mutex);
    load->is_over = true;
    pthread_mutex_unlock(&load->mutex);
    pthread_join(thread, NULL);
}

static double own_cpu_s(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static uint64_t number(const char *text) { return strtoull(text, NULL, 10); }

static bool read_options(Load *load, int argc, char **argv)
{
    static const struct option known[] = { { "seconds", required_argument, NULL, 's' }, { "runs", required_argument, NULL, 'r' },
                                           { "connections", required_argument, NULL, 'c' }, { "look", required_argument, NULL, 'l' },
                                           { 0 } };
    for (int word; (word = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (word == 's') load->seconds = number(optarg);
        else if (word == 'r') load->run_count_max = number(optarg);
        else if (word == 'c') load->connection_count = number(optarg);
        else if (word == 'l') load->look_us = number(optarg);
        else return false;
    }
    if (argc - optind != 3 || !load->connection_count || number(argv[optind]) > UINT16_MAX) return false;
    load->port = (uint16_t)number(argv[optind]);
    load->key = argv[optind + 1];
    load->workflow = argv[optind + 2];
    return true;
}

int main(int argc, char **argv)
{
    static Load load = { .seconds = 5, .connection_count = 64, .mutex = PTHREAD_MUTEX_INITIALIZER };
    if (!read_options(&load, argc, argv)) {
        fprintf(stderr, "usage: bench-server [--seconds S] [--runs N] [--connections N] [--look US] PORT KEY WORKFLOW\n");
        return 2;
    }
    load.links = calloc(load.connection_count, sizeof *load.links);
    load.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!load.links || load.epoll_fd < 0) stop("epoll");
    for (uint64_t i = 0; i < load.connection_count; i++) open_link(&load, &load.links[i]);
    if (load.look_us) carry_out_looked_at(&load);
    else carry_out(&load);
    double took = (double)(clock_monotonic_ns() - load.begin_ns) / 1e9;
    printf("{\"connections\":%" PRIu64 ",\"runs\":%" PRIu64 ",\"seconds\":%.3f,\"runs_per_s\":%.0f,\"p50_us\":%" PRIu64 ",\"p99_us\":%" PRIu64
           ",\"looks\":%" PRIu64 ",\"look_p50_us\":%" PRIu64 ",\"look_p99_us\":%" PRIu64 ",\"cpu_s\":%.3f,\"failed\":%" PRIu64 "}\n",
           load.connection_count, load.runs.count, took, (double)load.runs.count / took, histogram_quantile(&load.runs, 0.5),
           histogram_quantile(&load.runs, 0.99), load.looks.count, histogram_quantile(&load.looks, 0.5),
           histogram_quantile(&load.looks, 0.99), own_cpu_s(), load.failed);
    return load.failed ? 1 : 0;
}
