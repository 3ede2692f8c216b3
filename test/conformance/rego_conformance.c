/* rego-conformance [-v] PATH... - runs case files of the Rego conformance suite.
 *
 * A path is a case file or a directory; directories are searched, whatever is inside of them, for *.json, *.yaml and *.yml.
 * Below a directory of the name v0 modules are of the old syntax. Prints a line for each case that fails, with its note,
 * and one for each category, then one for each group of groups.json where there is one; the last line is "N of M". With -v
 * what was got and wanted is not cut. Exits with 1 where N < M, and with 2 where something cannot be read or there is no
 * case at all. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/limits.h"
#include "conformance/rego_suite.h"
#include "value/json.h"

#define GROUP_COUNT_MAX 64u
#define KEPT_ZONE_COUNT_MAX 64u
#define WHY_WIDTH_MAX 1000u         /* what is shown of a difference without -v */

typedef struct Group {
    char name[64];
    RegoSuiteCount count;
} Group;

typedef struct Runner {
    bool is_verbose;
    RegoSuiteCount total;
    Arena arena;
    Value groups;               /* of the suite under way; null: none */
    char suite[64], category[256];      /* the category under way, which several files may make up */
    RegoSuiteCount count;               /* its cases */
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

static void report(void *context, Str category, Str id, Str note, Str why)
{
    const Runner *runner = context;
    bool is_cut = !runner->is_verbose && why.len > WHY_WIDTH_MAX;
    printf("  FAIL %.*s: %.*s: %.*s: %.*s%s\n", STR_ARG(category), STR_ARG(id), STR_ARG(note),
           STR_ARG(str_slice(why, 0, is_cut ? WHY_WIDTH_MAX : why.len)), is_cut ? "..." : "");
}

static Str group_of(Value groups, Str category)
{
    for (uint32_t i = 0; groups.kind == VALUE_OBJECT && i < groups.count; i++) {
        Value categories = groups.members[i].value;
        for (uint32_t k = 0; categories.kind == VALUE_ARRAY && k < categories.count; k++) {
            bool is_text = categories.items[k].kind == VALUE_STRING;
            if (is_text && str_is(value_text(categories.items[k]), category)) return value_text(groups.members[i].key);
        }
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

/* The line of the category under way, where it has cases. */
static void category_end(Runner *runner)
{
    if (runner->count.case_count) {
        printf("%-8s %-40s %u of %u\n", runner->suite, runner->category, runner->count.pass_count, runner->count.case_count);
        sum_add(runner, runner->suite, str_of(runner->category), runner->count);
    }
    runner->count = (RegoSuiteCount){ 0 };
}

static void category_begin(Runner *runner, Str suite, Str category)
{
    if (str_is_text(suite, runner->suite) && str_is_text(category, runner->category)) return;
    category_end(runner);
    snprintf(runner->suite, sizeof runner->suite, "%.*s", STR_ARG(suite));
    snprintf(runner->category, sizeof runner->category, "%.*s", STR_ARG(category));
}

/* --- case files -------------------------------------------------------------------------------------------------- */

static Str last_part(Str path)
{
    size_t from = path.len;
    while (from > 0 && path.ptr[from - 1] != '/') from--;
    return str_slice(path, from, path.len);
}

static Str without_last_part(Str path)
{
    Str last = last_part(path);
    return str_slice(path, 0, path.len > last.len ? path.len - last.len - 1 : 0);
}

static bool has_part(Str path, Str part)
{
    for (; path.len; path = without_last_part(path))
        if (str_is(last_part(path), part)) return true;
    return false;
}

static bool is_yaml(Str name) { return str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml")); }

/* The file's own word for its category, else its name; test-*.yaml belong to the category of their directory. */
static Str category_of(Str path, Str told)
{
    if (told.len) return told;
    Str name = last_part(path);
    if (str_starts(name, STR("test-"))) return last_part(without_last_part(path));
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.') dot--;
    return str_slice(name, 0, dot ? dot - 1 : name.len);
}

static bool case_file_run(Runner *runner, const char *path)
{
    Str text, name = str_of(path), folder = without_last_part(name);
    if (!file_read(path, &text)) {
        fprintf(stderr, "%s cannot be read\n", path);
        return false;
    }
    const ZoneSource zones = { zone_read, NULL };
    const RegoSuiteOptions options = { .v0 = has_part(folder, STR("v0")), .is_yaml = is_yaml(name), .now_ns = now_ns(),
                                       .zones = &zones, .report = report, .reporter = runner };
    char told[sizeof runner->category];
    rego_suite_category(text, &options, told, sizeof told);
    Str category = category_of(name, str_of(told));
    Str suite = last_part(str_starts(last_part(name), STR("test-")) ? without_last_part(folder) : folder);
    category_begin(runner, suite, category);
    bool is_suite = rego_suite_run(text, category, &options, &runner->count);
    if (!is_suite) fprintf(stderr, "%s holds no cases\n", path);
    free((char *)text.ptr);
    return true;
}

/* --- directories ------------------------------------------------------------------------------------------------- */

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool groups_read(Runner *runner, const char *directory)
{
    char path[4096];
    Str text;
    Error err;
    snprintf(path, sizeof path, "%s/groups.json", directory);
    if (!file_read(path, &text)) return false;
    if (json_parse(&runner->arena, text, &runner->groups, &err)) runner->groups = value_null();
    free((char *)text.ptr);
    return true;
}

static int is_wanted(const struct dirent *entry)
{
    Str name = str_of(entry->d_name);
    return !str_starts(name, STR(".")) && !str_is(name, STR("groups.json")) && !str_is(name, STR("counts.json"));
}

static bool is_case_file(Str name) { return str_ends(name, STR(".json")) || is_yaml(name); }

static bool directory_run(Runner *runner, const char *directory, uint32_t depth)
{
    struct dirent **entries;
    int count = depth == DIRECTORY_DEPTH_MAX ? -1 : scandir(directory, &entries, is_wanted, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s cannot be read\n", directory);
        return false;
    }
    groups_read(runner, directory);
    bool is_read = true;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        if (is_directory(path)) is_read &= directory_run(runner, path, depth + 1);
        else if (is_case_file(str_of(path))) is_read &= case_file_run(runner, path);
        free(entries[i]);
    }
    free(entries);
    return is_read;
}

static bool path_run(Runner *runner, const char *given)
{
    char path[2048], above[4096];
    snprintf(path, sizeof path, "%s", given);
    for (size_t size = strlen(path); size > 1 && path[size - 1] == '/'; size--) path[size - 1] = 0;
    runner->groups = value_null();
    snprintf(above, sizeof above, "%s/..", path);
    bool is_folder = is_directory(path);
    if (is_folder) groups_read(runner, above);
    bool is_read = is_folder ? directory_run(runner, path, 0) : case_file_run(runner, path);
    category_end(runner);
    runner->suite[0] = runner->category[0] = 0;
    return is_read;
}

int main(int argc, char **argv)
{
    static Runner runner;
    arena_init(&runner.arena, SIZE_MAX);
    bool is_read = true, any = false;
    for (int i = 1; i < argc; i++) runner.is_verbose |= !strcmp(argv[i], "-v");
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v")) continue;
        any = true;
        is_read &= path_run(&runner, argv[i]);
    }
    if (!any) fprintf(stderr, "usage: rego-conformance [-v] PATH...\n");
    else if (!runner.total.case_count) fprintf(stderr, "there is no case\n");
    for (uint32_t i = 0; i < runner.sum_count; i++)
        printf("group    %-40s %u of %u\n", runner.sums[i].name, runner.sums[i].count.pass_count,
               runner.sums[i].count.case_count);
    printf("%u of %u\n", runner.total.pass_count, runner.total.case_count);
    arena_deinit(&runner.arena);
    return !is_read || !runner.total.case_count ? 2 : runner.total.pass_count < runner.total.case_count;
}
