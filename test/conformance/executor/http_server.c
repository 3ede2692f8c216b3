#include "conformance/executor/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/limits.h"
#include "harness/test.h"
#include "os/thread.h"
#include "value/json.h"

#define HELD_COUNT_MAX 64

typedef struct Server {
    int fd;
    Thread thread;
    atomic_bool must_end;
    int held[HELD_COUNT_MAX];           /* requests that get no answer */
    int held_count;
} Server;

static Server server;
uint16_t http_server_port;
atomic_uint http_server_count;
const char *(*http_server_look)(const char *request, bool *out_is_later);

static const struct { const char *path, *status, *headers, *body; } answers[] = {
    { "/ok", "200 OK", "Content-Type: application/json\r\nX-Two: a\r\nX-Two: b\r\n", "{\"answer\":42}" },
    { "/text", "200 OK", "Content-Type: text/plain\r\n", "plain" },
    { "/bytes", "200 OK", "Content-Type: application/octet-stream\r\n", "\xff\xfe" },
    { "/empty", "204 No Content", "", "" },
    { "/lie", "200 OK", "Content-Type: application/json; charset=utf-8\r\n", "{no" },
    { "/problem", "422 Unprocessable", "Content-Type: application/problem+json\r\n", "{\"title\":\"no\"}" },
    { "/404", "404 Not Found", "", "none" },
    { "/403", "403 Forbidden", "", "" },
    { "/408", "408 Timeout", "", "" },
    { "/425", "425 Early", "", "" },
    { "/429", "429 Many", "", "" },
    { "/500", "500 Wrong", "", "" },
    { "/503", "503 Busy", "", "" },
    { "/304", "304 Same", "", "" },
    { "/moved", "302 Found", "Location: /ok\r\n", "" },
    { "/circle", "302 Found", "Location: /circle\r\n", "" },
    { "/file", "302 Found", "Location: file:///etc/passwd\r\n", "" },
};

static void answer(int fd, const char *status, const char *headers, Str body)
{
    dprintf(fd, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n", status, headers, body.len);
    for (size_t at = 0; at < body.len;) {
        ssize_t sent = send(fd, body.ptr + at, body.len - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += (size_t)sent;
    }
}

/* The head and as much of the body as Content-Length says. */
static size_t request_read(int fd, char *text, size_t room)
{
    size_t size = 0, wanted = SIZE_MAX;
    while (size < wanted && size < room - 1) {
        ssize_t got = recv(fd, text + size, room - 1 - size, 0);
        if (got <= 0) break;
        size += (size_t)got;
        text[size] = '\0';
        char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
        if (end) wanted = (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
    }
    text[size] = '\0';
    return size;
}

static void echo_request(int fd, const char *request)
{
    Buf body;
    buf_init(&body, 1 << 20);
    buf_text(&body, "{\"request\":");
    json_print_string(&body, str_of(request));
    buf_char(&body, '}');
    answer(fd, "200 OK", "Content-Type: application/json\r\n", buf_peek(&body));
    buf_deinit(&body);
}

bool http_server_is_path(const char *request, const char *path)
{
    const char *space = strchr(request, ' ');
    size_t size = strlen(path);
    return space && strncmp(space + 1, path, size) == 0 && (space[1 + size] == ' ' || space[1 + size] == '?');
}

static void serve_one(int fd)
{
    static char request[1 << 20];
    request_read(fd, request, sizeof request);
    atomic_fetch_add(&http_server_count, 1);
    bool is_later = false;
    const char *fault = http_server_look ? http_server_look(request, &is_later) : NULL;
    if (fault || is_later) {
        answer(fd, fault ? "400 Wrong" : "202 Accepted", "", str_of(fault ? fault : ""));
        shutdown(fd, SHUT_WR);
        close(fd);
        return;
    }
    if (http_server_is_path(request, "/hold") && server.held_count < HELD_COUNT_MAX) {
        server.held[server.held_count++] = fd;
        return;
    }
    if (http_server_is_path(request, "/echo")) echo_request(fd, request);
    else if (http_server_is_path(request, "/large")) {
        size_t size = (size_t)OUTPUT_SIZE_MAX + 1;
        char *large = calloc(1, size);
        answer(fd, "200 OK", "", (Str){ large, size });
        free(large);
    } else if (!http_server_is_path(request, "/drop")) {                /* a dropped connection gets nothing at all */
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
            if (http_server_is_path(request, answers[i].path))
                answer(fd, answers[i].status, answers[i].headers, str_of(answers[i].body));
    }
    shutdown(fd, SHUT_WR);
    close(fd);
}

static void serve(void *context)
{
    while (!atomic_load(&server.must_end)) {
        struct pollfd wait = { .fd = server.fd, .events = POLLIN };
        if (poll(&wait, 1, 20) != 1) continue;
        int fd = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) serve_one(fd);
    }
    for (int i = 0; i < server.held_count; i++) close(server.held[i]);
    server.held_count = 0;
}

void http_server_start(void)
{
    setenv("no_proxy", "127.0.0.1", 1);
    int yes = 1;
    server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(server.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    EXPECT_INT(bind(server.fd, (struct sockaddr *)&address, size), 0);
    EXPECT_INT(getsockname(server.fd, (struct sockaddr *)&address, &size), 0);
    http_server_port = ntohs(address.sin_port);
    EXPECT_INT(listen(server.fd, 128), 0);
    atomic_store(&server.must_end, false);
    Error err;
    EXPECT_OK(thread_start(&server.thread, "server", serve, NULL, &err), &err);
}

void http_server_stop(void)
{
    atomic_store(&server.must_end, true);
    thread_join(&server.thread);
    close(server.fd);
}
