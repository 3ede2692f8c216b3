/* Definitions as data: each file of test/cases/definition is a case. README.md beside this file says what its comments
 * mean; adding a case needs no C. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "lang/compile.h"
#include "value/json.h"
#include "value/json_pointer.h"

#define DIRECTORY "test/cases/definition"

/* The configuration the cases find: the one of the examples. */
static void load_catalog(Catalog *catalog, Arena *arena)
{
    Diagnostics diagnostics;
    Error err;
    Node *root;
    Str text = arena_copy(arena, test_read_file(test_source_path("examples/runners.yaml")));
    catalog_init(catalog, arena);
    diagnostics_init(&diagnostics, arena, STR("runners.yaml"), text);
    if (EXPECT_OK(node_read(arena, text, TEXT_YAML, &root, &err), &err))
        catalog_add_config(catalog, &diagnostics, root);
    EXPECT_INT(diagnostics.error_count, 0);
}

/* The next comment line that begins so; moves *at behind it. */
static bool next_line(Str text, const char *mark, size_t *at, Str *out)
{
    while (*at < text.len) {
        size_t end = str_find(text, '\n', *at);
        Str line = str_slice(text, *at, end);
        *at = end + 1;
        if (!str_starts(line, str_of(mark))) continue;
        *out = str_trim(str_slice(line, strlen(mark), line.len));
        return true;
    }
    return false;
}

static bool str_has(Str text, Str part)
{
    for (size_t i = 0; i + part.len <= text.len; i++)
        if (str_is(str_slice(text, i, i + part.len), part)) return true;
    return part.len == 0;
}

/* Every diagnostic of a severity against the lines of its mark, in order: "LINE:COLUMN: part of the message". */
static void check_diagnostics(const Diagnostics *diagnostics, Severity severity, const char *mark)
{
    size_t at = 0, seen = 0;
    Str wanted;
    for (size_t i = 0; i < diagnostics->count; i++) {
        const Diagnostic *got = &diagnostics->items[i];
        if (got->severity != severity) continue;
        char place[32];
        snprintf(place, sizeof place, "%u:%u:", got->line, got->column);
        bool is_wanted = next_line(diagnostics->text, mark, &at, &wanted);
        bool matches = is_wanted && str_starts(wanted, str_of(place))
                    && (str_has(got->message, str_trim(str_slice(wanted, strlen(place), wanted.len)))
                        || str_has(got->help, str_trim(str_slice(wanted, strlen(place), wanted.len))));
        test_expect(matches, DIRECTORY, (int)got->line, "got  %s %.*s [%.*s]\n    want %.*s", place,
                    STR_ARG(got->message), STR_ARG(got->help), is_wanted ? (int)wanted.len : 7,
                    is_wanted ? wanted.ptr : "nothing");
        seen++;
    }
    while (next_line(diagnostics->text, mark, &at, &wanted))
        test_expect(false, DIRECTORY, (int)seen, "got nothing\n    want %.*s", STR_ARG(wanted));
}

static const Value *follow(const Value *value, Str pointer)
{
    char storage[1024];
    Buf token = buf_on(storage, sizeof storage);
    while (value && json_pointer_next(&pointer, &token)) value = json_pointer_step(*value, buf_peek(&token));
    return value;
}

/* "#= /pointer JSON": what the plan has there; "#- /pointer": that it has nothing there. */
static void check_plan(const Compiled *compiled, Arena *arena)
{
    size_t at = 0;
    Str line;
    while (next_line(compiled->diagnostics.text, "#=", &at, &line)) {
        size_t space = str_find(line, ' ', 0);
        Str pointer = str_slice(line, 0, space), json = str_trim(str_slice(line, space, line.len));
        Value want;
        Error err;
        Buf got;
        if (!EXPECT_OK(json_parse(arena, json, &want, &err), &err)) continue;
        const Value *found = compiled->is_valid ? follow(&compiled->plan.document, pointer) : NULL;
        buf_init(&got, 1u << 20);
        if (found) EXPECT_OK(json_print(&got, *found, JSON_COMPACT, &err), &err);
        test_expect(found && value_equals(*found, want), DIRECTORY, 0, "%.*s\n    got  %.*s\n    want %.*s",
                    STR_ARG(pointer), STR_ARG(buf_peek(&got)), STR_ARG(json));
        buf_deinit(&got);
    }
    at = 0;
    while (next_line(compiled->diagnostics.text, "#-", &at, &line))
        test_expect(compiled->is_valid && !follow(&compiled->plan.document, line), DIRECTORY, 0,
                    "%.*s should not be there", STR_ARG(line));
}

static void run_case(void)
{
    char relative[512];
    snprintf(relative, sizeof relative, DIRECTORY "/%s", test_current()->name);
    Arena arena;
    Catalog catalog;
    Compiled first, second;
    arena_init(&arena, SIZE_MAX);
    load_catalog(&catalog, &arena);
    Str text = arena_copy(&arena, test_read_file(test_source_path(relative)));
    CompileOptions options = { .file = str_of(relative),
                               .format = text_format_of(str_of(relative)),
                               .catalog = &catalog };
    compile(&arena, text, &options, &first);
    check_diagnostics(&first.diagnostics, SEVERITY_ERROR, "#!");
    check_diagnostics(&first.diagnostics, SEVERITY_WARNING, "#?");
    EXPECT(first.is_valid == (first.diagnostics.error_count == 0));
    check_plan(&first, &arena);
    compile(&arena, text, &options, &second);
    if (first.is_valid) EXPECT(memcmp(&first.plan.digest, &second.plan.digest, sizeof first.plan.digest) == 0);
    arena_deinit(&arena);
}

/* "# proves: F-012 K-003" of the first lines. */
static char *read_proves(const char *name)
{
    char path[512], line[512];
    snprintf(path, sizeof path, DIRECTORY "/%s", name);
    FILE *file = fopen(test_source_path(path), "r");
    char *proves = NULL;
    while (file && !proves && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "# proves:", 9) == 0) proves = strdup(line + 2);
    }
    if (file) fclose(file);
    return proves ? proves : strdup("");
}

__attribute__((constructor)) static void register_files(void)
{
    DIR *directory = opendir(test_source_path(DIRECTORY));
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.' || !(strstr(entry->d_name, ".yaml") || strstr(entry->d_name, ".json"))) continue;
        TestCase *test_case = calloc(1, sizeof *test_case);
        *test_case = (TestCase){ strdup(entry->d_name), read_proves(entry->d_name), DIRECTORY, run_case, NULL };
        test_register(test_case);
    }
    if (directory) closedir(directory);
}
