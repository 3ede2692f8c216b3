#include "cli/print.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/draw/plain.h"
#include "cli/problem.h"
#include "value/json.h"

#define ESCAPE '\033'

/* The first failure of standard output, an errno; 0: none. A process has one standard output, and so this has one state. */
static int output_error;
static bool is_json_wanted;

/* What is opened next would take the place of a stream that is closed, and get what is meant for that: a socket, a file of the store. In its place
 * lies something that can be neither read nor written, as nothing could. */
static void keep_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void print_begin(void)
{
    keep_places();
    (void)signal(SIGPIPE, SIG_IGN);         /* programs of steps begin with the signals as they are by default */
    (void)signal(SIGXFSZ, SIG_IGN);         /* a limit on the size of files is a full disk: whoever writes says so */
}

static void write_bytes(FILE *file, const char *bytes, size_t size)
{
    if (file == stdout && output_error) return;
    bool is_written = (!size || fwrite(bytes, 1, size, file) == size) && fflush(file) == 0;
    if (!is_written && file == stdout) output_error = errno ? errno : EIO;
}

/* The size of the colour that begins here, 0 where none does: ESC [ numbers m. */
static size_t colour_size(Str text)
{
    size_t at = 2;
    if (text.len < 3 || text.ptr[0] != ESCAPE || text.ptr[1] != '[') return 0;
    while (at < text.len && (ascii_is_digit(text.ptr[at]) || text.ptr[at] == ';')) at++;
    return at < text.len && text.ptr[at] == 'm' ? at + 1 : 0;
}

static void print_plain(FILE *file, Str text, bool is_tinted)
{
    Buf out;
    buf_init(&out, SIZE_MAX);
    for (size_t at = 0; at < text.len;) {
        size_t next = is_tinted ? str_find(text, ESCAPE, at) : text.len;
        plain_put(&out, str_slice(text, at, next), PLAIN_LINES);
        at = next;
        if (at == text.len) break;
        size_t size = colour_size(str_slice(text, at, text.len));
        if (size) buf_bytes(&out, text.ptr + at, size);
        else plain_put(&out, str_slice(text, at, at + 1), PLAIN_LINES);
        at += size ? size : 1;
    }
    write_bytes(file, out.ptr, out.len);
    buf_deinit(&out);
}

void print_out(const Buf *buf) { print_plain(stdout, buf_peek(buf), false); }
void print_err(const Buf *buf) { print_plain(stderr, buf_peek(buf), false); }
void print_tinted(const Buf *buf) { print_plain(stdout, buf_peek(buf), true); }
void print_err_tinted(const Buf *buf) { print_plain(stderr, buf_peek(buf), true); }
void print_bytes(const Buf *buf) { write_bytes(stdout, buf->ptr, buf->len); }

void print_file(const Buf *buf)
{
    if (isatty(STDOUT_FILENO)) print_out(buf);
    else print_bytes(buf);
}

static void print_args(FILE *file, const char *format, va_list args)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    print_plain(file, arena_format_args(&arena, format, args), false);
    arena_deinit(&arena);
}

void print_format(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_args(stdout, format, args);
    va_end(args);
}

Status print_json(Value value, Error *err)
{
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    Status status = json_print(&out, value, JSON_PRETTY, err);
    buf_char(&out, '\n');
    if (!status) print_out(&out);
    buf_deinit(&out);
    return status;
}

ExitCode print_document(Value value)
{
    Error err;
    return print_json(value, &err) ? fail(&err) : EXIT_CODE_OK;
}

void print_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_args(stderr, format, args);
    va_end(args);
}

void print_want_json(void) { is_json_wanted = true; }
bool print_wants_json(void) { return is_json_wanted; }

ExitCode fail(const Error *err)
{
    if (is_json_wanted) problem_print(problem_of(err->status), err);
    print_note("maestro: %s\n", err->text);
    return exit_code_of(err->status);
}

/* --- what became of it ---------------------------------------------------------------------------------------------------- */

bool print_is_unread(void) { return output_error == EPIPE; }

/* A reader that has gone has what it wanted: no word about it. A disk that is full must not look like success. */
ExitCode print_end(ExitCode code)
{
    write_bytes(stdout, NULL, 0);
    if (!output_error && ferror(stdout)) output_error = EIO;
    if (!output_error) return code;
    bool is_fine = code == EXIT_CODE_OK || code == EXIT_CODE_TEMPORARY;
    if (output_error == EPIPE) return is_fine ? EXIT_CODE_UNREAD : code;
    print_note("maestro: standard output cannot be written: %s\n", strerror(output_error));
    return is_fine ? EXIT_CODE_UNAVAILABLE : code;
}
