#include "os/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/test.h"

static char directory[64];

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static bool make_directory(void)
{
    snprintf(directory, sizeof directory, "%s/maestro-test-XXXXXX", P_tmpdir);
    return mkdtemp(directory) != NULL;
}

TEST(a_written_file_reads_back, "")
{
    REQUIRE(make_directory());
    Arena arena;
    Error err;
    Str text;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(file_write(path_of("a"), STR("one"), &err), &err);
    EXPECT_OK(file_write(path_of("a"), STR("two\0three"), &err), &err);
    EXPECT_OK(file_read(&arena, path_of("a"), 100, &text, &err), &err);
    EXPECT_STR(text, STR("two\0three"));
    EXPECT(file_exists(path_of("a")));
    unlink(path_of("a"));
    EXPECT(!file_exists(path_of("a")));
    rmdir(directory);
    arena_deinit(&arena);
}

TEST(room_is_asked_for_and_nothing_is_left_of_it, "")
{
    REQUIRE(make_directory());
    Error err;
    struct rlimit before, tight;
    REQUIRE(!getrlimit(RLIMIT_FSIZE, &before));
    EXPECT_OK(file_room(path_of("room"), 1u << 20, &err), &err);
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    tight = (struct rlimit){ .rlim_cur = 1u << 16, .rlim_max = before.rlim_max };
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &tight));
    EXPECT_INT(file_room(path_of("room"), 1u << 20, &err), ERR_UNAVAILABLE);
    EXPECT_OK(file_room(path_of("room"), 1u << 12, &err), &err);
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &before));
    (void)signal(SIGXFSZ, was);
    EXPECT_INT(file_room(path_of("nowhere/room"), 1, &err), ERR_NOT_FOUND);
    EXPECT(!rmdir(directory));                  /* it is empty */
}

TEST(what_cannot_be_read_is_refused_by_name, "")
{
    REQUIRE(make_directory());
    Arena arena;
    Error err;
    Str text;
    arena_init(&arena, SIZE_MAX);
    EXPECT_INT(file_read(&arena, path_of("none"), 100, &text, &err), ERR_NOT_FOUND);
    EXPECT(str_starts(str_of(err.text), str_of(path_of("none"))));
    EXPECT_INT(file_read(&arena, directory, 100, &text, &err), ERR_INVALID);
    EXPECT_OK(file_write(path_of("big"), STR("0123456789"), &err), &err);
    EXPECT_INT(file_read(&arena, path_of("big"), 9, &text, &err), ERR_LIMIT);
    EXPECT_OK(file_read(&arena, path_of("big"), 10, &text, &err), &err);
    EXPECT_INT(file_write(path_of("no/such/place"), STR("x"), &err), ERR_NOT_FOUND);
    unlink(path_of("big"));
    rmdir(directory);
    arena_deinit(&arena);
}

TEST(a_directory_lists_its_files_in_order, "")
{
    REQUIRE(make_directory());
    Arena arena;
    Error err;
    Str *names;
    size_t count;
    arena_init(&arena, SIZE_MAX);
    static const char *const files[] = { "b.yaml", "a.yaml", "c.txt", ".hidden.yaml" };
    for (size_t i = 0; i < 4; i++) EXPECT_OK(file_write(path_of(files[i]), STR(""), &err), &err);
    EXPECT_OK(directory_list(&arena, directory, STR(".yaml"), &names, &count, &err), &err);
    EXPECT_INT(count, 2);
    if (count == 2) EXPECT_STR(names[0], STR("a.yaml"));
    EXPECT_OK(directory_list(&arena, path_of("none"), STR(""), &names, &count, &err), &err);
    EXPECT_INT(count, 0);
    for (size_t i = 0; i < 4; i++) unlink(path_of(files[i]));
    rmdir(directory);
    arena_deinit(&arena);
}

TEST(a_tree_is_walked_with_its_folders_and_without_hidden_ones, "")
{
    REQUIRE(make_directory());
    Arena arena;
    Error err;
    Str *names;
    size_t count;
    arena_init(&arena, SIZE_MAX);
    static const char *const folders[] = { "b", "b/c", ".git" };
    static const char *const files[] = { "b/c/data.json", "b/a.rego", ".manifest", "z", ".git/config" };
    static const char *const want[] = { ".manifest", "b/a.rego", "b/c/data.json", "z" };
    for (size_t i = 0; i < 3; i++) EXPECT(mkdir(path_of(folders[i]), 0700) == 0);
    for (size_t i = 0; i < 5; i++) EXPECT_OK(file_write(path_of(files[i]), STR(""), &err), &err);
    EXPECT_OK(directory_walk(&arena, directory, 4, &names, &count, &err), &err);
    EXPECT_INT(count, 4);
    for (size_t i = 0; i < count && i < 4; i++) EXPECT_STR(names[i], str_of(want[i]));
    EXPECT_INT(directory_walk(&arena, directory, 3, &names, &count, &err), ERR_LIMIT);
    EXPECT_INT(directory_walk(&arena, path_of("none"), 3, &names, &count, &err), ERR_NOT_FOUND);
    EXPECT(file_is_directory(directory));
    EXPECT(!file_is_directory(path_of("z")));
    EXPECT(!file_is_directory(path_of("none")));
    EXPECT(symlink("..", path_of("b/loop")) == 0);
    EXPECT_INT(directory_walk(&arena, directory, 1000, &names, &count, &err), ERR_LIMIT);
    unlink(path_of("b/loop"));
    for (size_t i = 0; i < 5; i++) unlink(path_of(files[i]));
    for (size_t i = 3; i > 0; i--) rmdir(path_of(folders[i - 1]));
    rmdir(directory);
    arena_deinit(&arena);
}

TEST(a_name_is_given_once_and_what_was_written_first_is_gone, "")
{
    char folder[64], part[80], path[80];
    Error err = { 0 };
    snprintf(folder, sizeof folder, "%s/maestro-test-XXXXXX", P_tmpdir);
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(part, sizeof part, "%s/a.part", folder);
    snprintf(path, sizeof path, "%s/a", folder);
    REQUIRE_OK(file_write(part, STR("one"), &err), &err);
    EXPECT_OK(file_publish(part, path, &err), &err);
    EXPECT(file_exists(path) && !file_exists(part));
    ROW("a name that is taken");
    REQUIRE_OK(file_write(part, STR("two"), &err), &err);
    EXPECT_INT(file_publish(part, path, &err), ERR_CONFLICT);
    EXPECT(!file_exists(part));
    ROW("nothing to give a name to");
    EXPECT_INT(file_publish(part, path, &err), ERR_NOT_FOUND);
    ROW("no such directory");
    EXPECT_INT(file_sync_directory("/nonexistent/a", &err), ERR_NOT_FOUND);
    unlink(path);
    rmdir(folder);
}

TEST(a_path_is_followed_to_the_file_that_it_means, "")
{
    REQUIRE(make_directory());
    char out[128], want[128], first[128];
    snprintf(want, sizeof want, "%s", path_of("file"));
    EXPECT(file_follow(want, out, sizeof out));                         /* nothing is there, and nothing has to be */
    EXPECT_STR(str_of(out), str_of(want));
    EXPECT_INT(symlink("file", path_of("relative")), 0);
    snprintf(first, sizeof first, "%s", path_of("relative"));
    EXPECT_INT(symlink(first, path_of("absolute")), 0);
    EXPECT(file_follow(path_of("absolute"), out, sizeof out));
    EXPECT_STR(str_of(out), str_of(want));
    EXPECT(!file_follow(path_of("absolute"), out, 8));
    EXPECT_INT(symlink("round", path_of("round")), 0);
    EXPECT(!file_follow(path_of("round"), out, sizeof out));
    static const char *const names[] = { "relative", "absolute", "round" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(path_of(names[i]));
    rmdir(directory);
}
