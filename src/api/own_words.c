#include "api/own_words.h"

#include <assert.h>
#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "base/civil.h"

#define REST_COUNT_MAX 16u          /* pieces that are taken of what else came */

typedef enum MHD_Result (*Queue)(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);

/* One process serves one address, and the name of a function is the process's, too. */
static OwnWords own_words;
static Queue library_queue;

void own_words_begin(OwnWords answer)
{
    void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
    CHECK(found);
    static_assert(sizeof found == sizeof library_queue, "a function is found by its address");
    memcpy(&library_queue, &found, sizeof found);
    own_words = answer;
}

enum MHD_Result own_words_queue(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    return library_queue(connection, status, response);
}

/* Called by libmicrohttpd alone. Its answer is its own to let go of. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    (void)response;
    return own_words(connection, status);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static void print_date(Buf *out, int64_t now_ms)
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    int64_t now_s = floor_div(now_ms, 1000);
    CivilTime time = civil_time(now_s);
    buf_format(out, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[civil_weekday(floor_div(now_s, CIVIL_DAY_S))], time.date.day,
               months[time.date.month - 1], (int)time.date.year, time.hour, time.minute, time.second);
}

static void print_answer(Buf *out, const Call *call)
{
    buf_format(out, "HTTP/1.1 %u %s\r\n", call->status, MHD_get_reason_phrase_for(call->status));
    print_date(out, call->now_ms);
    for (uint32_t i = 0; i < call->answer_count; i++)
        buf_format(out, "%.*s: %.*s\r\n", STR_ARG(call->answer[i].name), STR_ARG(call->answer[i].value));
    buf_format(out, "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n", call->type, call->out.len);
    buf_str(out, buf_peek(&call->out));
}

void own_words_send(struct MHD_Connection *connection, const Call *call)
{
    const union MHD_ConnectionInfo *tls = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    Buf answer;
    if (!socket) return;
    buf_init(&answer, SIZE_MAX);            /* a problem names the path, which has its bound */
    print_answer(&answer, call);
    /* The answers before it are sent, and nothing else is: it fits. A client that left meanwhile is none of ours. */
    if (tls && tls->tls_session) (void)gnutls_record_send(tls->tls_session, answer.ptr, answer.len);
    else (void)send(socket->connect_fd, answer.ptr, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)shutdown(socket->connect_fd, SHUT_WR);
    buf_deinit(&answer);
}

void own_words_discard(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char rest[4096];
    for (unsigned i = 0; socket && i < REST_COUNT_MAX && recv(socket->connect_fd, rest, sizeof rest, MSG_DONTWAIT) > 0; i++) continue;
}
