#include "api/link.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"

#define LEFT_COUNT 64u              /* taken at a time of those that have left */

/* --- make, end ------------------------------------------------------------------------------------------------------------------------- */

Status links_open(Links *links, Error *err)
{
    *links = (Links){ .left_fd = epoll_create1(EPOLL_CLOEXEC) };
    return links->left_fd < 0 ? error_set(err, ERR_UNAVAILABLE, "connections cannot be watched") : OK;
}

void links_close(Links *links)
{
    if (links->left_fd >= 0) close(links->left_fd);
    links->left_fd = -1;
}

Link *link_new(Links *links, void *owner, int fd, gnutls_session_t session)
{
    Link *link = calloc(1, sizeof *link);
    CHECK(link);
    *link = (Link){ .links = links, .owner = owner, .fd = fd, .session = session, .since_ms = clock_monotonic_ms(), .patience_ms = API_REQUEST_MS_MAX,
                    .is_fresh = true, .next = links->first };
    if (links->first) links->first->prev = link;
    links->first = link;
    return link;
}

void link_free(Link *link)
{
    Links *links = link->links;
    if (link->is_watched) (void)epoll_ctl(links->left_fd, EPOLL_CTL_DEL, link->fd, NULL);
    if (link->prev) link->prev->next = link->next;
    else links->first = link->next;
    if (link->next) link->next->prev = link->prev;
    free(link);
}

/* --- a request on it -------------------------------------------------------------------------------------------------------------------- */

void link_begin(Link *link)
{
    if (!link) return;
    link->since_ms = clock_monotonic_ms();
    link->patience_ms = API_REQUEST_MS_MAX;
}

void link_answer(Link *link)
{
    if (link) link->patience_ms = 0;
}

void link_stream(Link *link, bool is_sent)
{
    if (!link) return;
    link->is_streaming = true;
    link->sent_ms = is_sent ? clock_monotonic_ms() : 0;
}

void link_rest(Link *link)
{
    if (!link) return;
    link->since_ms = clock_monotonic_ms();
    link->patience_ms = API_IDLE_S * 1000;
    link->call = link->watched = NULL;
    link->is_streaming = false;
    link->is_fresh = true;
    link->sent_ms = 0;
}

/* --- clients that leave ----------------------------------------------------------------------------------------------------------------- */

/* Where it has been watched before, that it has left already is seen anew. */
void link_watch(Link *link, Call *call)
{
    if (!link || link->fd < 0) return;
    struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = link };
    if (epoll_ctl(link->links->left_fd, link->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, link->fd, &event)) return;
    link->is_watched = true;
    link->watched = call;
}

bool link_has_left(const Link *link)
{
    struct pollfd fd = { .fd = link ? link->fd : -1, .events = POLLRDHUP };
    return poll(&fd, 1, 0) > 0;
}

void links_take_left(Links *links)
{
    struct epoll_event events[LEFT_COUNT];
    int count = epoll_wait(links->left_fd, events, LEFT_COUNT, 0);
    for (int i = 0; i < count; i++) {
        Call *call = ((Link *)events[i].data.ptr)->watched;
        if (call && call->is_waiting) call->left(call, /* is_broken= */ events[i].events & (EPOLLHUP | EPOLLERR));
    }
}

/* --- times ------------------------------------------------------------------------------------------------------------------------------ */

static void shut(const Link *link) { (void)shutdown(link->fd, SHUT_RDWR); }

/* The call says so when it is over, so that its log line names the reason. */
static void cut_off(Link *link)
{
    link->call->is_cut = true;
    link->links->cut_count++;
    link->sent_ms = 0;
    shut(link);
}

static bool is_shaking_hands(Link *link)
{
    if (!link->session || link->is_secure) return false;
    char *description = gnutls_session_get_desc(link->session);         /* there is none before */
    gnutls_free(description);
    link->is_secure = description;
    return !link->is_secure;
}

/* Its client has gone: what is missing of a body does not come, nor a further request. libmicrohttpd is not told of an end that came with the
 * last bytes that it read, and would wait for more. Of one that comes later it is told, so that a link that rests is looked at once. */
static bool is_broken_off(Link *link)
{
    char byte;
    if (!link->patience_ms || (!link->call && !link->is_fresh)) return false;
    link->is_fresh = false;
    if (link->session && gnutls_record_check_pending(link->session)) return false;
    return recv(link->fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Each handshake that is not over costs some of every turn: the more there are, the less patience there is with them. */
void links_look(Links *links, int64_t now_ms)
{
    if (now_ms < links->look_ms) return;
    int64_t handshake_ms = links->handshake_count > API_HANDSHAKE_COUNT_MAX ? API_HANDSHAKE_CROWD_MS : API_HANDSHAKE_MS_MAX;
    links->look_ms = now_ms + LINK_LOOK_MS;
    links->handshake_count = 0;
    for (Link *link = links->first; link; link = link->next) {
        bool is_shaking = is_shaking_hands(link);
        int64_t patience_ms = is_shaking ? handshake_ms : link->patience_ms;
        links->handshake_count += is_shaking;
        if ((patience_ms && link->since_ms + patience_ms <= now_ms) || is_broken_off(link)) shut(link);
        else if (link->is_streaming && link->sent_ms && link->sent_ms + API_STREAM_SLOW_MS <= now_ms) cut_off(link);
    }
}

/* Of a body, and of an answer, pieces are handed over one by one: these are no question. */
bool links_have_unread(const Links *links)
{
    for (const Link *link = links->first; link; link = link->next)
        if (link->session && !link->call && gnutls_record_check_pending(link->session)) return true;
    return false;
}

bool links_are_quiet(const Links *links, int64_t now_ms)
{
    for (const Link *link = links->first; link; link = link->next)
        if (link->call || now_ms - link->since_ms < API_DRAIN_GRACE_MS) return false;
    return true;
}
