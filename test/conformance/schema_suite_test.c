/* The JSON Schema Test Suite, where it lies on this machine. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "conformance/schema_suite.h"
#include "harness/test.h"

static void expect_pass(const char *file, Str group, Str test, Str why)
{
    test_expect(false, file, 0, "%.*s: %.*s: %.*s", STR_ARG(group), STR_ARG(test), STR_ARG(why));
}

static int is_json(const struct dirent *entry)
{
    return str_ends(str_of(entry->d_name), STR(".json"));
}

TEST(every_published_schema_case_gives_the_published_verdict, "")
{
    const char *directory = test_shared_dir("json-schema-cases");
    if (!directory) NOT_RUN("the JSON Schema cases are not on this machine");
    struct dirent **entries;
    int count = scandir(directory, &entries, is_json, alphasort);
    REQUIRE(count > 0);
    SuiteCount total = { 0 };
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
        Str text = test_read_file(path);
        SuiteCount file = { 0 };
        schema_suite_run(entries[i]->d_name, text, expect_pass, &file);
        bool is_remote = str_is_text(str_of(entries[i]->d_name), "refRemote.json")
                      || str_is_text(str_of(entries[i]->d_name), "vocabulary.json");
        if (is_remote) EXPECT_INT(file.remote_count, file.case_count);
        total.case_count += file.case_count;
        total.pass_count += file.pass_count;
        free(entries[i]);
    }
    free(entries);
    EXPECT(total.case_count > 1000);
    EXPECT_INT(total.pass_count, total.case_count);
}
