#include "cli/live/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"

#define CURSOR_HIDE "\033[?25l"
#define CURSOR_SHOW "\033[?25h"
#define WRAP_OFF "\033[?7l"                     /* a line that was made for a wider terminal is cut, also while its size changes */
#define WRAP_ON "\033[?7h"
#define SYNC_BEGIN "\033[?2026h"                /* ignored where it is not known */
#define SYNC_END "\033[?2026l"
#define ERASE_LINE_END "\033[K"
#define ERASE_SCREEN_END "\033[J"
#define CLEAR_SCREEN "\033[H\033[2J"

/* --- what signals need ----------------------------------------------------------------------------------------------------
 * A handler has no argument, so this is the one place of the program's own state: which terminal to put in order. */
static struct {
    int fd;
    bool has_modes;
    struct termios before, during;
    volatile sig_atomic_t is_on, is_touched;
} terminal;

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            (void)poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 1000);
        } else if (written < 0 && errno != EINTR) {
            return;                             /* nobody reads any more: the run goes on without being seen */
        }
    }
}

/* Changing modes from the background would stop the process. */
static bool is_foreground(void) { return tcgetpgrp(terminal.fd) == getpgrp(); }

static void terminal_take(void)
{
    if (terminal.has_modes && is_foreground()) tcsetattr(terminal.fd, TCSADRAIN, &terminal.during);
    write_all(terminal.fd, CURSOR_HIDE WRAP_OFF, strlen(CURSOR_HIDE WRAP_OFF));
}

static void terminal_give_back(void)
{
    write_all(terminal.fd, WRAP_ON CURSOR_SHOW, strlen(WRAP_ON CURSOR_SHOW));
    if (terminal.has_modes && is_foreground()) tcsetattr(terminal.fd, TCSADRAIN, &terminal.before);
}

static void on_resize(int number)
{
    (void)number;
    terminal.is_touched = 1;
}

static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Puts the terminal in order, then does what the signal does by itself. */
static void on_end(int number)
{
    int saved = errno;
    if (terminal.is_on) terminal_give_back();
    set_handler(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);       /* ends, or stops, here */
    if (number == SIGTSTP) {
        set_handler(SIGTSTP, on_end);
        if (terminal.is_on) terminal_take();
        terminal.is_touched = 1;
    }
    errno = saved;
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTSTP };

/* Also where something calls exit(). */
static void on_exit_of_process(void)
{
    if (terminal.is_on) terminal_give_back();
    terminal.is_on = 0;
}

/* --- open and close ------------------------------------------------------------------------------------------------------ */

static bool read_size(Screen *screen)
{
    struct winsize size;
    if (ioctl(screen->fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return false;
    screen->width = size.ws_col < LIVE_WIDTH_MAX ? size.ws_col : LIVE_WIDTH_MAX;
    screen->height = size.ws_row < LIVE_ROW_COUNT_MAX ? size.ws_row : LIVE_ROW_COUNT_MAX;
    return true;
}

bool screen_open(Screen *screen, int fd)
{
    const char *kind = getenv("TERM");
    *screen = (Screen){ .fd = fd };
    if (!isatty(fd) || !kind || !*kind || strcmp(kind, "dumb") == 0 || !read_size(screen)) return false;
    static bool is_registered;
    if (!is_registered) atexit(on_exit_of_process);
    is_registered = true;
    terminal.fd = fd;
    terminal.has_modes = tcgetattr(fd, &terminal.before) == 0;
    terminal.during = terminal.before;
    terminal.during.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
    terminal.is_touched = 0;
    terminal.is_on = 1;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) set_handler(ending[i], on_end);
    set_handler(SIGWINCH, on_resize);
    terminal_take();
    screen->drawn_width = screen->width;
    buf_init(&screen->above, SIZE_MAX);
    buf_init(&screen->out, SIZE_MAX);
    screen->history = calloc(LIVE_ABOVE_COUNT_MAX, sizeof *screen->history);
    CHECK(screen->history);
    screen->is_open = true;
    return true;
}

void screen_close(Screen *screen)
{
    if (!screen->is_open) return;
    if (screen->frame_count) write_all(screen->fd, "\r\n", 2);
    terminal_give_back();
    terminal.is_on = 0;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) set_handler(ending[i], SIG_DFL);
    set_handler(SIGWINCH, SIG_DFL);
    for (uint32_t i = 0; i < LIVE_ABOVE_COUNT_MAX; i++) free(screen->history[i]);
    free(screen->history);
    buf_deinit(&screen->above);
    buf_deinit(&screen->out);
    screen->is_open = false;
}

bool screen_look(Screen *screen)
{
    if (!terminal.is_touched) return false;
    terminal.is_touched = 0;
    (void)read_size(screen);                    /* else it stays as it was */
    return true;
}

/* --- drawing ------------------------------------------------------------------------------------------------------------- */

static void remember(Screen *screen, Str line)
{
    char **place = &screen->history[screen->history_count++ % LIVE_ABOVE_COUNT_MAX];
    free(*place);
    *place = malloc(line.len + 1);
    CHECK(*place);
    memcpy(*place, line.ptr, line.len);
    (*place)[line.len] = '\0';
}

void screen_above(Screen *screen, Str lines)
{
    buf_str(&screen->above, lines);
    for (size_t at = 0; at < lines.len;) {
        size_t end = str_find(lines, '\n', at);
        remember(screen, str_slice(lines, at, end));
        at = end + 1;
    }
}

static uint32_t line_count(Str lines)
{
    uint32_t count = 0;
    for (size_t i = 0; i < lines.len; i++) count += lines.ptr[i] == '\n';
    return count;
}

/* Lines, each of which takes the place of what stood there; the last one without its end, so that nothing scrolls. */
static void put_lines(Buf *out, Str lines, bool is_last_open)
{
    for (size_t at = 0; at < lines.len;) {
        size_t end = str_find(lines, '\n', at);
        buf_str(out, str_slice(lines, at, end));
        buf_text(out, ERASE_LINE_END);
        at = end + 1;
        if (at < lines.len || !is_last_open) buf_text(out, "\r\n");
    }
}

/* Lines above that were cut for a wider terminal are cut by this one; they are not drawn again by halves. */
static void put_history(Screen *screen, uint32_t room)
{
    uint64_t held = screen->history_count < LIVE_ABOVE_COUNT_MAX ? screen->history_count : LIVE_ABOVE_COUNT_MAX;
    uint64_t count = held < room ? held : room;
    for (uint64_t i = screen->history_count - count; i < screen->history_count; i++) {
        buf_text(&screen->out, screen->history[i % LIVE_ABOVE_COUNT_MAX]);
        buf_text(&screen->out, "\r\n");
    }
}

void screen_draw(Screen *screen, Str frame)
{
    Buf *out = &screen->out;
    uint32_t count = line_count(frame);
    buf_clear(out);
    buf_text(out, SYNC_BEGIN);
    if (screen->width < screen->drawn_width) {
        buf_text(out, CLEAR_SCREEN);
        put_history(screen, screen->height > count ? screen->height - count : 0);
    } else {
        if (screen->frame_count > 1) buf_format(out, "\033[%uA", screen->frame_count - 1);
        if (screen->frame_count) buf_char(out, '\r');
        put_lines(out, buf_peek(&screen->above), false);
    }
    put_lines(out, frame, true);
    buf_text(out, ERASE_SCREEN_END SYNC_END);
    write_all(screen->fd, out->ptr, out->len);
    buf_clear(&screen->above);
    screen->frame_count = count;
    screen->drawn_width = screen->width;
}
