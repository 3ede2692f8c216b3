/* Runs every registered case: test-x [--report FILE] [NAME-PART]... */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/test.h"

#define FILES_PER_CASE_MAX 4096

static TestCase *cases;
static const TestCase *current_case;
static const char *current_row;
static const char *not_run_why;
static unsigned failures_of_case;
static char *files[FILES_PER_CASE_MAX];
static unsigned file_count;

void test_register(TestCase *test_case)
{
    test_case->next = cases;
    cases = test_case;
}

void test_row(const char *name)
{
    current_row = name;
}

void test_not_run(const char *why)
{
    not_run_why = why;
}

bool test_expect(bool holds, const char *file, int line, const char *format, ...)
{
    if (holds) return true;
    failures_of_case++;
    if (failures_of_case > 20) return false;        /* the first ones tell enough */
    fprintf(stderr, "  %s:%d: ", file, line);
    if (current_row) fprintf(stderr, "[%s] ", current_row);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

bool test_expect_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
    return test_expect(got == want, file, line, "%s: got %lld, want %lld", what, (long long)got, (long long)want);
}

bool test_expect_str(Str got, Str want, const char *what, const char *file, int line)
{
    return test_expect(str_is(got, want), file, line, "%s:\n    got  '%.*s'\n    want '%.*s'", what, STR_ARG(got),
                       STR_ARG(want));
}

bool test_expect_ok(Status status, const Error *err, const char *what, const char *file, int line)
{
    return test_expect(status == OK, file, line, "%s: %s: %s", what, status_name(status), err ? err->text : "");
}

const TestCase *test_current(void)
{
    return current_case;
}

const char *test_source_path(const char *path)
{
    static char absolute[4096];
    snprintf(absolute, sizeof absolute, "%s/%s", SOURCE_ROOT, path);
    return absolute;
}

const char *test_shared_dir(const char *name)
{
    static char path[4096];
    const char *base = getenv("MAESTRO_SHARED");
    snprintf(path, sizeof path, "%s/%s", base ? base : SOURCE_ROOT "/../shared", name);
    struct stat info;
    return stat(path, &info) == 0 ? path : NULL;
}

Str test_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!test_expect(file != NULL, path, 0, "cannot be read")) return STR("");
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    char piece[65536];
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;) fwrite(piece, 1, got, memory);
    fclose(memory);
    fclose(file);
    if (file_count < FILES_PER_CASE_MAX) files[file_count++] = text;
    return (Str){ text, size };
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_selected(const TestCase *test_case, int count, char **parts)
{
    for (int i = 0; i < count; i++)
        if (strstr(test_case->name, parts[i])) return true;
    return count == 0;
}

/* Registration order is not file order: sort by name so that two runs read alike. */
static int by_place(const void *a, const void *b)
{
    const TestCase *x = *(TestCase *const *)a, *y = *(TestCase *const *)b;
    int order = strcmp(x->file, y->file);
    return order ? order : strcmp(x->name, y->name);
}

static const char *suite_name(const char *program)
{
    const char *slash = strrchr(program, '/');
    return slash ? slash + 1 : program;
}

int main(int argc, char **argv)
{
    FILE *report = NULL;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--report") == 0) {
        report = fopen(argv[2], "a");
        first = 3;
    }
    /* Line by line, so that a case that crashes takes along nothing of what was said before it. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (report) setvbuf(report, NULL, _IOLBF, 0);
    unsigned count = 0, passed = 0, failed = 0;
    for (TestCase *c = cases; c; c = c->next) count++;
    TestCase **order = calloc(count ? count : 1, sizeof *order);
    count = 0;
    for (TestCase *c = cases; c; c = c->next) order[count++] = c;
    qsort(order, count, sizeof *order, by_place);

    for (unsigned i = 0; i < count; i++) {
        if (!is_selected(order[i], argc - first, argv + first)) continue;
        failures_of_case = 0;
        current_row = not_run_why = NULL;
        double begin = now_s();
        current_case = order[i];
        order[i]->run();
        for (; file_count; file_count--) free(files[file_count - 1]);
        const char *result = failures_of_case ? "fail" : not_run_why ? "not-run" : "pass";
        if (failures_of_case || not_run_why) failed++;
        else passed++;
        printf("%-8s %s%s%s\n", result, order[i]->name, not_run_why ? ": " : "", not_run_why ? not_run_why : "");
        if (report)
            fprintf(report, "{\"suite\":\"%s\",\"case\":\"%s\",\"proves\":\"%s\",\"result\":\"%s\",\"seconds\":%.3f}\n",
                    suite_name(argv[0]), order[i]->name, order[i]->proves, result, now_s() - begin);
    }
    printf("%u passed, %u failed\n", passed, failed);
    if (report) fclose(report);
    free(order);
    return failed ? 1 : 0;
}
