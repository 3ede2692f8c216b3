#include "cli/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/petition.h"
#include "base/check.h"
#include "base/limits.h"
#include "os/local_socket.h"
#include "os/tcp_socket.h"
#include "value/json.h"

/* --- the owner ------------------------------------------------------------------------------------------------------------ */

typedef struct Client {
    ControlServer *server;
    int fd;                         /* -1: gone, while answers for it may still come */
    uint32_t asked;                 /* requests that are not answered yet */
    Buf in;
    size_t seen;                    /* bytes of it in which no line ends */
} Client;

struct ControlServer {
    Host *host;
    OfferScope scope;
    const char *path;
    int fd;
    Client *clients[CONTROL_CLIENT_COUNT_MAX];
};

static void client_free(Client *client)
{
    ControlServer *server = client->server;
    for (uint32_t i = 0; i < CONTROL_CLIENT_COUNT_MAX; i++)
        if (server->clients[i] == client) server->clients[i] = NULL;
    buf_deinit(&client->in);
    free(client);
}

static void client_hang_up(Client *client)
{
    if (client->fd >= 0) {
        host_unwatch(client->server->host, client->fd);
        close(client->fd);
        client->fd = -1;
    }
    if (!client->asked) client_free(client);
}

static void send_value(int fd, Value answer)
{
    if (fd < 0) return;
    Buf out;
    buf_init(&out, CONTROL_LINE_SIZE_MAX);
    Error err;
    CHECK(json_print(&out, answer, JSON_COMPACT, &err) == OK);
    buf_char(&out, '\n');
    /* An answer fits the socket's buffer; a caller that lets them pile up does not want them. */
    (void)send(fd, out.ptr, out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_deinit(&out);
}

static void send_reply(int fd, const EngineReply *reply, bool is_stalled)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    MemberList members = { .arena = &arena };
    member_list_add(&members, STR("status"), value_string(str_of(reply->status ? status_name(reply->status) : "ok")));
    if (reply->status) member_list_add(&members, STR("error"), value_string(str_of(reply->error->text)));
    if (reply->run_id.text[0]) member_list_add(&members, STR("run"), value_string(id_peek(&reply->run_id)));
    member_list_add(&members, STR("state"), value_string(str_of(run_state_name((RunState)reply->run_state))));
    member_list_add(&members, STR("noop"), value_bool(reply->is_noop));
    member_list_add(&members, STR("repeat"), value_bool(reply->is_repeat));
    if (reply->status) member_list_add(&members, STR("problem"), value_string(str_of(problem_info(petition_problem(reply))->type)));
    if (reply->was_asked) member_list_add(&members, STR("asked"), value_bool(true));
    if (is_stalled) member_list_add(&members, STR("stalled"), value_bool(true));
    send_value(fd, member_list_object(&members));
    arena_deinit(&arena);
}

static void take_reply(void *context, const EngineReply *reply)
{
    Client *client = context;
    bool is_stalled = reply->status == ERR_UNAVAILABLE && engine_stats(host_engine(client->server->host)).stall_count;
    send_reply(client->fd, reply, is_stalled);
    client->asked--;
    if (client->fd < 0 && !client->asked) client_free(client);
}

static void refuse(Client *client, Status status, const Error *err)
{
    client->asked++;
    take_reply(client, &(EngineReply){ .status = status, .error = err });
}

/* A run is carried out as the one who started it means it, or not by this process. */
static Status check_offers(const Client *client, Value request, Error *err)
{
    Str wanted = value_get_string(request, "offers", STR(""));
    Arena arena;
    Value document;
    arena_init(&arena, SIZE_MAX);
    Status status = json_parse(&arena, value_get_string(request, "plan", STR("")), &document, err);
    if (!status && !str_is(wanted, offers_digest(&arena, document, &client->server->scope)))
        status = error_set(err, ERR_UNAVAILABLE, "the process that owns the store works with other runners or policies");
    arena_deinit(&arena);
    return status;
}

static Status send_command(Client *client, Value request, Error *err)
{
    Engine *engine = host_engine(client->server->host);
    bool is_start = str_is_text(value_get_string(request, "verb", STR("")), "start");
    Status status = is_start ? check_offers(client, request, err) : OK;
    return status ? status : petition_send(engine, request, take_reply, client, err);
}

static void take_line(Client *client, Str line)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value request;
    Error err;
    Status status = json_parse(&arena, line, &request, &err);
    if (!status) status = send_command(client, request, &err);
    if (status) refuse(client, status, &err);
    else client->asked++;
    arena_deinit(&arena);
}

static void take_bytes(void *context, int fd)
{
    Client *client = context;
    char bytes[65536];
    ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) buf_bytes(&client->in, bytes, (size_t)got);
    if (got <= 0 || buf_overflowed(&client->in)) {
        client_hang_up(client);
        return;
    }
    size_t begin = 0, from = client->seen;
    for (size_t end; (end = str_find(buf_peek(&client->in), '\n', from)) < client->in.len; from = begin = end + 1)
        take_line(client, str_slice(buf_peek(&client->in), begin, end));
    memmove(client->in.ptr, client->in.ptr + begin, client->in.len - begin);
    client->in.len -= begin;
    client->seen = client->in.len;
}

static void take_caller(void *context, int fd)
{
    ControlServer *server = context;
    int caller = local_socket_accept(fd);
    if (caller < 0) return;
    for (uint32_t i = 0; i < CONTROL_CLIENT_COUNT_MAX; i++) {
        if (server->clients[i]) continue;
        Client *client = calloc(1, sizeof *client);
        CHECK(client);
        client->server = server;
        client->fd = caller;
        buf_init(&client->in, CONTROL_LINE_SIZE_MAX);
        Error err;
        if (host_watch(server->host, caller, take_bytes, client, &err)) {
            buf_deinit(&client->in);
            free(client);
            break;
        }
        server->clients[i] = client;
        return;
    }
    Error full = { 0 };                     /* the caller tries again later */
    error_set(&full, ERR_UNAVAILABLE, "the process that owns the store has too many callers");
    send_reply(caller, &(EngineReply){ .status = ERR_UNAVAILABLE, .error = &full }, /* is_stalled= */ false);
    close(caller);
}

Status control_listen(const char *path, Host *host, const OfferScope *scope, ControlServer **out_server, Error *err)
{
    ControlServer *server = calloc(1, sizeof *server);
    CHECK(server);
    server->host = host;
    server->scope = *scope;
    server->path = path;
    Status status = local_socket_listen(path, &server->fd, err);
    if (!status) status = host_watch(host, server->fd, take_caller, server, err);
    if (status) {
        free(server);
        return status;
    }
    *out_server = server;
    return OK;
}

bool control_is_quiet(const ControlServer *server)
{
    for (uint32_t i = 0; server && i < CONTROL_CLIENT_COUNT_MAX; i++)
        if (server->clients[i] && server->clients[i]->asked) return false;
    return true;
}

void control_stop(ControlServer *server)
{
    if (!server) return;
    (void)unlink(server->path);
    host_unwatch(server->host, server->fd);
    close(server->fd);
    for (uint32_t i = 0; i < CONTROL_CLIENT_COUNT_MAX; i++)
        if (server->clients[i]) client_hang_up(server->clients[i]);
}

void control_free(ControlServer *server)
{
    for (uint32_t i = 0; server && i < CONTROL_CLIENT_COUNT_MAX; i++)
        if (server->clients[i]) client_free(server->clients[i]);
    free(server);
}

/* --- the caller ----------------------------------------------------------------------------------------------------------- */

static Status send_all(int fd, Str text, Error *err)
{
    for (size_t sent = 0; sent < text.len;) {
        ssize_t count = send(fd, text.ptr + sent, text.len - sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return error_set(err, ERR_UNAVAILABLE, "the owner of the store has gone");
        sent += (size_t)count;
    }
    return OK;
}

static Status receive_line(int fd, Buf *buf, Error *err)
{
    while (str_find(buf_peek(buf), '\n', 0) == buf->len) {
        char bytes[4096];
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN)
            return error_set(err, ERR_CONFLICT, "the process that owns the store has not answered for %d seconds; what was "
                                                "asked may still happen",
                             CONTROL_ANSWER_MS_MAX / 1000);
        if (got <= 0 || buf_overflowed(buf)) return error_set(err, ERR_UNAVAILABLE, "the owner of the store has gone");
        buf_bytes(buf, bytes, (size_t)got);
    }
    return OK;
}

void control_read_answer(Value value, ControlAnswer *out)
{
    *out = (ControlAnswer){ .is_noop = value_get_bool(value, "noop", false),
                            .is_repeat = value_get_bool(value, "repeat", false),
                            .was_asked = value_get_bool(value, "asked", false),
                            .is_stalled = value_get_bool(value, "stalled", false) };
    Str status = value_get_string(value, "status", STR("")), error = value_get_string(value, "error", STR(""));
    id_read(value_get_string(value, "run", STR("")), &out->run_id);
    run_state_find(value_get_string(value, "state", STR("")), &out->state);
    for (int i = 1; i < STATUS_COUNT && !str_is_text(status, "ok"); i++)
        if (str_is_text(status, status_name((Status)i))) out->status = error_set(&out->error, (Status)i, "%.*s", STR_ARG(error));
    if (out->status && !problem_find(value_get_string(value, "problem", STR("")), &out->problem)) out->problem = problem_of(out->status);
}

Status control_connect(const char *path, int *out_fd, Error *err)
{
    bool is_server = str_starts(str_of(path), STR("http"));
    Status status = is_server ? tcp_connect(str_of(path), out_fd, err) : local_socket_connect(path, out_fd, err);
    struct timeval limit = { .tv_sec = CONTROL_ANSWER_MS_MAX / 1000 };
    if (!status) (void)setsockopt(*out_fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return status;
}

Status control_ask(Arena *arena, int fd, Value request, ControlAnswer *out_answer, Error *err)
{
    Buf text;
    buf_init(&text, CONTROL_LINE_SIZE_MAX);
    Status status = json_print(&text, request, JSON_COMPACT, err);
    buf_char(&text, '\n');
    if (!status && buf_overflowed(&text))
        status = error_set(err, ERR_LIMIT, "the request is larger than CONTROL_LINE_SIZE_MAX (%u)", CONTROL_LINE_SIZE_MAX);
    if (!status) status = send_all(fd, buf_peek(&text), err);
    buf_clear(&text);
    if (!status) status = receive_line(fd, &text, err);
    Value answer;
    if (!status) status = json_parse(arena,
                                     arena_copy(arena, str_slice(buf_peek(&text), 0, str_find(buf_peek(&text), '\n', 0))),
                                         &answer, err);
    if (!status) control_read_answer(answer, out_answer);
    buf_deinit(&text);
    return status;
}
