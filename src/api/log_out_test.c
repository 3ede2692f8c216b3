#include "api/log_out.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "harness/test.h"

typedef struct Pipe { int reader, writer; Buf read; LogOut out; } Pipe;

static void pipe_open(Pipe *it)
{
    int fds[2];
    CHECK(!pipe(fds));
    *it = (Pipe){ .reader = fds[0], .writer = fds[1] };
    CHECK(!fcntl(it->reader, F_SETFL, O_NONBLOCK));
    buf_init(&it->read, SIZE_MAX);
    log_out_init(&it->out, it->writer);
}

static void pipe_end(Pipe *it)
{
    if (it->reader >= 0) close(it->reader);
    close(it->writer);
    buf_deinit(&it->read);
    log_out_deinit(&it->out);
}

static void pipe_read(Pipe *it)
{
    char bytes[65536];
    for (ssize_t size; (size = read(it->reader, bytes, sizeof bytes)) > 0;) buf_bytes(&it->read, bytes, (size_t)size);
}

static uint32_t line_count(Str text)
{
    uint32_t count = 0;
    for (size_t i = 0; i < text.len; i++) count += text.ptr[i] == '\n';
    return count;
}

static bool has(Str text, const char *part) { return text.len && memmem(text.ptr, text.len, part, strlen(part)); }

TEST(lines_arrive_in_their_order_however_long_they_are, "")
{
    static const size_t sizes[] = { 10, 4096, 4095, 4097, 1, 100000, 30, 9000 };
    Pipe it;
    Buf want;
    pipe_open(&it);
    buf_init(&want, SIZE_MAX);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Buf line;
        buf_init(&line, SIZE_MAX);
        buf_repeat(&line, (char)('a' + i), sizes[i] - 1);
        buf_char(&line, '\n');
        buf_str(&want, buf_peek(&line));
        log_out_add(&it.out, buf_peek(&line));
        buf_deinit(&line);
    }
    EXPECT(log_out_turn(&it.out, 0));           /* more than a pipe takes */
    for (int i = 0; i < 10; i++) {
        pipe_read(&it);
        (void)log_out_turn(&it.out, 0);
    }
    pipe_read(&it);
    EXPECT(!log_out_turn(&it.out, 0));
    EXPECT(str_is(buf_peek(&it.read), buf_peek(&want)));
    EXPECT_INT(it.out.dropped_count, 0);
    buf_deinit(&want);
    pipe_end(&it);
}

TEST(what_nobody_reads_is_dropped_beyond_the_bound_and_told_when_somebody_reads_again, "")
{
    enum { COUNT = 40000 };
    Pipe it;
    char line[100];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    pipe_open(&it);
    for (uint32_t i = 0; i < COUNT; i++) {
        log_out_add(&it.out, (Str){ line, sizeof line });
        (void)log_out_turn(&it.out, 0);
        REQUIRE(it.out.waiting.len <= HERALD_LINE_SIZE_MAX);
    }
    EXPECT(it.out.dropped_count > 0);
    log_out_miss(&it.out, 5);                   /* on the way here */
    for (bool waits = true; waits;) {
        pipe_read(&it);
        waits = log_out_turn(&it.out, 0);
    }
    pipe_read(&it);
    EXPECT_INT(line_count(buf_peek(&it.read)), COUNT + 5 - it.out.dropped_count + 1);
    EXPECT(has(buf_peek(&it.read), "were dropped"));
    EXPECT_INT(it.out.untold_count, 0);
    pipe_end(&it);
}

TEST(a_reader_that_is_gone_costs_lines_and_nothing_else, "")
{
    Pipe it;
    pipe_open(&it);
    (void)signal(SIGPIPE, SIG_IGN);
    close(it.reader);
    it.reader = -1;
    log_out_add(&it.out, STR("one\n"));
    log_out_add(&it.out, STR("two\n"));
    EXPECT(!log_out_turn(&it.out, 0));
    EXPECT_INT(it.out.dropped_count, 2);
    EXPECT_INT(it.out.waiting.len, 0);
    pipe_end(&it);
}
