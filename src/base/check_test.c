#include "base/check.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "harness/test.h"

/* Runs the act in a child and tells whether it was stopped by a CHECK; *out_said is what it printed. */
static bool is_stopped(void (*act)(void), Str *out_said)
{
    static char said[4096];
    int channel[2];
    size_t size = 0;
    if (pipe(channel) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        signal(SIGABRT, SIG_DFL);
        dup2(channel[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(channel[1]);
    for (ssize_t got; (got = read(channel[0], said + size, sizeof said - size)) > 0;) size += (size_t)got;
    close(channel[0]);
    int status = 0;
    waitpid(child, &status, 0);
    *out_said = (Str){ said, size };
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void break_a_check(void)
{
    int lease_count = 2;
    CHECK(lease_count == 1);
}

static void keep_a_check(void)
{
    int lease_count = 1;
    CHECK(lease_count == 1);
}

static void allocate_beyond_the_limit(void)
{
    Arena arena;
    arena_init(&arena, 1000);
    arena_alloc(&arena, 1000);
}

static void copy_beyond_the_limit(void)
{
    Arena arena;
    arena_init(&arena, 20);
    arena_copy(&arena, STR("longer than four bytes"));
}

static void allocate_the_impossible(void)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    arena_alloc(&arena, SIZE_MAX - 8);
}

static bool has_part(Str text, Str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++)
        if (str_is(str_slice(text, at, at + part.len), part)) return true;
    return false;
}

TEST(a_check_that_fails_stops_the_process_and_says_where, "")
{
    Str said;
    EXPECT(is_stopped(break_a_check, &said));
    EXPECT(has_part(said, STR("lease_count == 1")));
    EXPECT(has_part(said, STR("check_test.c:")));
    EXPECT(!is_stopped(keep_a_check, &said));
    EXPECT_INT(said.len, 0);
}

TEST(an_arena_stops_the_process_rather_than_answer_null, "")
{
    static const struct { const char *name; void (*act)(void); } cases[] = {
        { "an allocation beyond the limit", allocate_beyond_the_limit },
        { "a copy beyond the limit", copy_beyond_the_limit },
        { "a size that overflows", allocate_the_impossible },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Str said;
        EXPECT(is_stopped(cases[i].act, &said));
        EXPECT(has_part(said, STR("internal error")));
    }
}
