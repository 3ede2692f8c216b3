/* schema-conformance DIR... - runs every *.json of the directories as cases of the JSON Schema Test Suite.
 *
 * Prints a line for each case that fails and one for each file; the last line is "N of M". Exits with 1 where N < M,
 * and with 2 where a directory or file cannot be read. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/schema_suite.h"

static void print_failure(const char *file, Str group, Str test, Str why)
{
    printf("  %s: %.*s: %.*s: %.*s\n", file, STR_ARG(group), STR_ARG(test), STR_ARG(why));
}

static bool file_read(const char *path, char **out_text, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    FILE *memory = open_memstream(out_text, out_size);
    char piece[65536];
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;) fwrite(piece, 1, got, memory);
    bool is_read = !ferror(file);
    fclose(memory);
    fclose(file);
    return is_read;
}

static bool file_run(const char *directory, const char *name, SuiteCount *total)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    char *text = NULL;
    size_t size = 0;
    if (!file_read(path, &text, &size)) {
        fprintf(stderr, "%s cannot be read\n", path);
        return false;
    }
    SuiteCount count = { 0 };
    schema_suite_run(name, (Str){ text, size }, print_failure, &count);
    free(text);
    printf("%-32s %u of %u", name, count.pass_count, count.case_count);
    if (count.remote_count) printf(" (%u of them refused, since they need a remote document)", count.remote_count);
    putchar('\n');
    total->pass_count += count.pass_count;
    total->case_count += count.case_count;
    return true;
}

static int is_json(const struct dirent *entry)
{
    return str_ends(str_of(entry->d_name), STR(".json"));
}

static bool directory_run(const char *directory, SuiteCount *total)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, is_json, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s cannot be read\n", directory);
        return false;
    }
    bool is_read = true;
    for (int i = 0; i < count; i++) {
        is_read &= file_run(directory, entries[i]->d_name, total);
        free(entries[i]);
    }
    free(entries);
    return is_read;
}

int main(int argc, char **argv)
{
    SuiteCount total = { 0 };
    bool is_read = argc > 1;
    if (!is_read) fprintf(stderr, "usage: schema-conformance DIR...\n");
    for (int i = 1; i < argc; i++) is_read &= directory_run(argv[i], &total);
    printf("%u of %u\n", total.pass_count, total.case_count);
    return !is_read ? 2 : total.pass_count < total.case_count;
}
