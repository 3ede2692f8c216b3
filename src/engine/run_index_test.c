#include "engine/run_index.h"

#include <stdlib.h>

#include "harness/test.h"

TEST(what_was_put_is_found_until_it_is_removed, "")
{
    enum { COUNT = 5000 };
    RunIndex index = { 0 };
    bool *present = calloc(COUNT + 1, sizeof *present);
    uint64_t seed = 11;
    for (int round = 0; round < 100000; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t number = 1 + (seed >> 40) % COUNT;
        if (seed >> 63) {
            run_index_put(&index, number, (void *)(uintptr_t)(number * 8));
            present[number] = true;
        } else {
            run_index_remove(&index, number);
            present[number] = false;
        }
    }
    uint32_t count = 0;
    for (uint64_t number = 1; number <= COUNT; number++) {
        EXPECT(run_index_find(&index, number) == (present[number] ? (void *)(uintptr_t)(number * 8) : NULL));
        count += present[number];
    }
    EXPECT_INT(index.count, count);
    free(present);
    run_index_deinit(&index);
}
