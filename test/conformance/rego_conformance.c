/* rego-conformance [-v] DIR... - runs every *.json of the directories as cases of the Rego conformance suite.
 *
 * A directory may hold case files, or the directories v1, v0 and compile that do; in one of the name v0 modules are of the
 * old syntax. Prints a line for each category, with -v each case that fails, then a line for each group of groups.json
 * where there is one; the last line is "N of M". Exits with 1 where N < M, and with 2 where something cannot be read. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "conformance/rego_suite.h"
#include "value/json.h"

#define GROUP_COUNT_MAX 64u
#define KEPT_ZONE_COUNT_MAX 64u

typedef struct Group {
    char name[64];
    RegoSuiteCount count;
} Group;

typedef struct Runner {
    bool is_verbose;
    RegoSuiteCount total;
    Arena arena;
    Value groups;               /* of the suite under way; null: none */
    Group sums[GROUP_COUNT_MAX];
    uint32_t sum_count;
} Runner;

/* --- files ------------------------------------------------------------------------------------------------------- */

static bool file_read(const char *path, Str *out_text)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    char *text;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    char piece[65536];
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;) fwrite(piece, 1, got, memory);
    bool is_read = !ferror(file);
    fclose(memory);
    fclose(file);
    *out_text = (Str){ text, size };
    if (!is_read) free(text);
    return is_read;
}

/* Zones stay as long as the program. */
static Str zone_read(void *owner, Str name)
{
    static struct { char name[128]; Str bytes; } zones[KEPT_ZONE_COUNT_MAX];
    static uint32_t count;
    for (uint32_t i = 0; i < count; i++)
        if (str_is_text(name, zones[i].name)) return zones[i].bytes;
    char path[256];
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%.*s", STR_ARG(name));
    Str bytes;
    if (count == KEPT_ZONE_COUNT_MAX || name.len >= sizeof zones[0].name || !file_read(path, &bytes)) return (Str){ 0 };
    snprintf(zones[count].name, sizeof zones[count].name, "%.*s", STR_ARG(name));
    zones[count++].bytes = bytes;
    return bytes;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- counting ---------------------------------------------------------------------------------------------------- */

static void report(Str category, Str id, Str note, Str why)
{
    printf("  %.*s: %.*s: %.*s: %.*s\n", STR_ARG(category), STR_ARG(id), STR_ARG(note), STR_ARG(why));
}

static Str group_of(Value groups, Str category)
{
    for (uint32_t i = 0; groups.kind == VALUE_OBJECT && i < groups.count; i++) {
        Value categories = groups.members[i].value;
        for (uint32_t k = 0; categories.kind == VALUE_ARRAY && k < categories.count; k++)
            if (str_is(value_text(categories.items[k]), category)) return value_text(groups.members[i].key);
    }
    return (Str){ 0 };
}

static void sum_add(Runner *runner, const char *suite, Str category, RegoSuiteCount count)
{
    runner->total.pass_count += count.pass_count;
    runner->total.case_count += count.case_count;
    Str group = group_of(runner->groups, category);
    if (!group.len) return;
    char name[64];
    snprintf(name, sizeof name, "%s %.*s", suite, STR_ARG(group));
    uint32_t at = 0;
    while (at < runner->sum_count && strcmp(runner->sums[at].name, name)) at++;
    if (at == GROUP_COUNT_MAX) return;
    if (at == runner->sum_count) snprintf(runner->sums[runner->sum_count++].name, sizeof name, "%s", name);
    runner->sums[at].count.pass_count += count.pass_count;
    runner->sums[at].count.case_count += count.case_count;
}

static bool case_file_run(Runner *runner, const char *path, const char *suite, const char *name)
{
    Str text;
    if (!file_read(path, &text)) {
        fprintf(stderr, "%s cannot be read\n", path);
        return false;
    }
    const ZoneSource zones = { zone_read, NULL };
    const RegoSuiteOptions options = { .v0 = !strcmp(suite, "v0"), .now_ns = now_ns(), .zones = &zones,
                                       .report = runner->is_verbose ? report : NULL };
    RegoSuiteCount count = { 0 };
    rego_suite_run(text, &options, &count);
    free((char *)text.ptr);
    Str category = str_slice(str_of(name), 0, strlen(name) - strlen(".json"));
    printf("%-8s %-40.*s %u of %u\n", suite, STR_ARG(category), count.pass_count, count.case_count);
    sum_add(runner, suite, category, count);
    return true;
}

/* --- directories ------------------------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void groups_read(Runner *runner, const char *directory)
{
    char path[4096];
    Str text;
    Error err;
    snprintf(path, sizeof path, "%s/groups.json", directory);
    if (!file_read(path, &text)) return;
    if (json_parse(&runner->arena, text, &runner->groups, &err)) runner->groups = value_null();
    free((char *)text.ptr);
}

static int is_case_file(const struct dirent *entry)
{
    Str name = str_of(entry->d_name);
    return str_ends(name, STR(".json")) && !str_is(name, STR("groups.json")) && !str_is(name, STR("counts.json"));
}

static bool cases_run(Runner *runner, const char *directory)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_case_file, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s cannot be read\n", directory);
        return false;
    }
    const char *slash = strrchr(directory, '/');
    bool is_read = true;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        is_read &= case_file_run(runner, path, slash ? slash + 1 : directory, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return is_read;
}

static bool directory_run(Runner *runner, const char *given)
{
    static const char *const suites[] = { "v1", "v0", "compile" };
    char directory[2048], path[4096];
    snprintf(directory, sizeof directory, "%s", given);
    for (size_t size = strlen(directory); size > 1 && directory[size - 1] == '/'; size--) directory[size - 1] = 0;
    bool has_suites = false, is_read = true;
    runner->groups = value_null();
    groups_read(runner, directory);
    for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, suites[i]);
        if (!is_directory(path)) continue;
        has_suites = true;
        is_read &= cases_run(runner, path);
    }
    if (has_suites) return is_read;
    snprintf(path, sizeof path, "%s/..", directory);
    groups_read(runner, path);
    return cases_run(runner, directory);
}

int main(int argc, char **argv)
{
    static Runner runner;
    arena_init(&runner.arena, SIZE_MAX);
    bool is_read = true, any = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v")) {
            runner.is_verbose = true;
            continue;
        }
        any = true;
        is_read &= directory_run(&runner, argv[i]);
    }
    if (!any) fprintf(stderr, "usage: rego-conformance [-v] DIR...\n");
    for (uint32_t i = 0; i < runner.sum_count; i++)
        printf("group    %-40s %u of %u\n", runner.sums[i].name, runner.sums[i].count.pass_count,
               runner.sums[i].count.case_count);
    printf("%u of %u\n", runner.total.pass_count, runner.total.case_count);
    arena_deinit(&runner.arena);
    return !any || !is_read ? 2 : runner.total.pass_count < runner.total.case_count;
}
