/* test.h - unit tests: a case is a function, its name a sentence, its requirements declared.
 *
 *   TEST(retry_stops_at_the_last_attempt, "proves: F-061")
 *   {
 *       EXPECT_INT(retry_count(...), 3);
 *   }
 *
 * Cases register themselves; test_main.c runs them. A failed expectation is reported with its place, got and want, and
 * the case goes on. ROW(name) labels the row of a table that the following expectations belong to. REQUIRE ends the case
 * where going on makes no sense. A case whose data is not on this machine calls NOT_RUN(why), which counts as failed in
 * CI. With --report FILE each case appends one JSON line, from which tools/trace counts the requirements proved.
 */
#ifndef TEST_HARNESS_TEST_H
#define TEST_HARNESS_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef struct TestCase {
    const char *name, *proves, *file;
    void (*run)(void);
    struct TestCase *next;
} TestCase;

void test_register(TestCase *test_case);
void test_row(const char *name);
void test_not_run(const char *why);
bool test_expect(bool holds, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool test_expect_int(int64_t got, int64_t want, const char *what, const char *file, int line);
bool test_expect_str(Str got, Str want, const char *what, const char *file, int line);
bool test_expect_ok(Status status, const Error *err, const char *what, const char *file, int line);
/* The case that is running: for cases that are data, which register themselves one a file and share a function. */
const TestCase *test_current(void);
/* A path below the root of the sources. */
const char *test_source_path(const char *path);
/* Where data from outside the repository lies: the directory of that name beside it, or NULL. */
const char *test_shared_dir(const char *name);
/* A whole file, NUL-terminated, or a failed expectation and an empty slice; freed at the end of the case. */
Str test_read_file(const char *path);

#define TEST(case_name, case_proves) \
    static void case_##case_name(void); \
    static TestCase registration_##case_name = { #case_name, case_proves, __FILE__, case_##case_name, 0 }; \
    __attribute__((constructor)) static void register_##case_name(void) { test_register(&registration_##case_name); } \
    static void case_##case_name(void)

#define EXPECT(condition) test_expect(condition, __FILE__, __LINE__, "%s", #condition)
#define EXPECT_INT(got, want) test_expect_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define EXPECT_STR(got, want) test_expect_str(got, want, #got, __FILE__, __LINE__)
#define EXPECT_OK(call, err) test_expect_ok(call, err, #call, __FILE__, __LINE__)
#define REQUIRE(condition) do { if (!EXPECT(condition)) return; } while (0)
#define REQUIRE_OK(call, err) do { if (!EXPECT_OK(call, err)) return; } while (0)
#define ROW(name) test_row(name)
#define NOT_RUN(why) do { test_not_run(why); return; } while (0)

#endif
