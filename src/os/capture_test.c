#include "os/capture.h"

#include "harness/test.h"

static Status run_shell(Arena *arena, const char *script, const CaptureLimits *limits, Captured *out, Error *err)
{
    char *args[] = { (char *)"sh", (char *)"-c", (char *)script, NULL }, *variables[] = { (char *)"PATH=/usr/bin:/bin", NULL };
    ProcessSpec spec = { .args = args, .variables = variables, .search_path = "/usr/bin:/bin" };
    return capture_run(arena, &spec, limits, out, err);
}

TEST(both_outputs_and_the_exit_status_are_told, "")
{
    static const CaptureLimits limits = { 600000, 1 << 20, 1 << 20 };
    static const struct { const char *name, *script, *out, *err; int exit_status; } cases[] = {
        { "it prints on both", "echo out; echo err >&2; exit 3", "out\n", "err\n", 3 },
        { "it prints nothing", "exit 0", "", "", 0 },
        { "it has nothing to read", "cat; echo end", "end\n", "", 0 },
        { "a signal ends it", "kill -TERM $$", "", "", 128 + 15 },
        { "it closes its outputs before it ends", "exec >&- 2>&-; exit 4", "", "", 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        Error err;
        Captured got = { 0 };
        arena_init(&arena, SIZE_MAX);
        ROW(cases[i].name);
        EXPECT_OK(run_shell(&arena, cases[i].script, &limits, &got, &err), &err);
        EXPECT_STR(got.out, str_of(cases[i].out));
        EXPECT_STR(got.err, str_of(cases[i].err));
        EXPECT_INT(got.exit_status, cases[i].exit_status);
        arena_deinit(&arena);
    }
}

TEST(what_is_too_long_or_too_late_is_ended, "")
{
    static const struct { const char *name, *script, *text; CaptureLimits limits; } cases[] = {
        { "too much on standard output", "while :; do echo x; done", "it printed more than 1000 bytes", { 600000, 1000, 1000 } },
        { "too much on standard error", "while :; do echo x >&2; done", "it printed more than 900 bytes", { 600000, 1000, 900 } },
        { "it never ends", "sleep 1000000", "not done after 0 s", { 50, 1000, 1000 } },
        { "what it started never ends", "sleep 1000000 & exit 0", "not done after 0 s", { 50, 1000, 1000 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        Error err = { 0 };
        Captured got;
        arena_init(&arena, SIZE_MAX);
        ROW(cases[i].name);
        EXPECT_INT(run_shell(&arena, cases[i].script, &cases[i].limits, &got, &err), ERR_LIMIT);
        EXPECT_STR(str_of(err.text), str_of(cases[i].text));
        arena_deinit(&arena);
    }
}

TEST(a_program_that_is_not_there_is_told, "")
{
    char *args[] = { (char *)"no-such-program", NULL }, *variables[] = { NULL };
    ProcessSpec spec = { .args = args, .variables = variables, .search_path = "/usr/bin" };
    Arena arena;
    Error err;
    Captured got;
    arena_init(&arena, SIZE_MAX);
    EXPECT_INT(capture_run(&arena, &spec, &(CaptureLimits){ 600000, 10, 10 }, &got, &err), ERR_NOT_FOUND);
    arena_deinit(&arena);
}
