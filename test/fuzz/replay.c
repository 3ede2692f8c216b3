/* Runs a fuzzer's function over its seeds, without a fuzzer: in every build and under every sanitizer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "harness/test.h"

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

TEST(the_seeds_and_what_was_once_found_hold, "")
{
    struct dirent **entries = NULL;
    int count = scandir(FUZZ_CORPUS, &entries, is_input, alphasort);
    EXPECT(count > 0);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", FUZZ_CORPUS, entries[i]->d_name);
        ROW(entries[i]->d_name);
        Str input = test_read_file(path);
        uint8_t *copy = malloc(input.len);          /* of its exact size: reading beyond it is noticed */
        if (input.len) memcpy(copy, input.ptr, input.len);
        EXPECT_INT(LLVMFuzzerTestOneInput(copy, input.len), 0);
        free(copy);
        free(entries[i]);
    }
    free(entries);
    EXPECT_INT(LLVMFuzzerTestOneInput((const uint8_t *)"", 0), 0);
}
