#include "base/heap.h"

#include "harness/test.h"

TEST(heap_gives_the_earliest_first_and_equal_times_by_slot, "")
{
    Heap heap;
    heap_init(&heap);
    HeapItem first = { 0 };
    EXPECT(!heap_peek(&heap, &first));
    static const int64_t dues[] = { 50, 10, 40, 10, -5, 60 };
    for (uint32_t i = 0; i < 6; i++) heap_put(&heap, i, dues[i]);
    static const uint32_t want[] = { 4, 1, 3, 2, 0, 5 };
    for (uint32_t i = 0; i < 6; i++) {
        REQUIRE(heap_peek(&heap, &first));
        EXPECT_INT(first.slot, want[i]);
        EXPECT_INT(first.due, dues[want[i]]);
        EXPECT(heap_remove(&heap, first.slot));
    }
    EXPECT(!heap_peek(&heap, &first));
    EXPECT(!heap_remove(&heap, 3));
    EXPECT(!heap_remove(&heap, 100000));
    heap_deinit(&heap);
}

/* Against a plain array that is searched: puts, moves and removals at places a small generator chooses. */
TEST(heap_agrees_with_a_searched_array_over_many_changes, "")
{
    enum { SLOTS = 200, STEPS = 20000 };
    Heap heap;
    heap_init(&heap);
    bool inside[SLOTS] = { false };
    int64_t due[SLOTS] = { 0 };
    uint64_t seed = 12345;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t slot = (uint32_t)(seed >> 33) % SLOTS;
        if ((seed >> 20) % 3 == 0) {
            EXPECT(heap_remove(&heap, slot) == inside[slot]);
            inside[slot] = false;
        } else {
            due[slot] = (int64_t)(seed >> 40) % 50;
            inside[slot] = true;
            heap_put(&heap, slot, due[slot]);
        }
        int want = -1;
        for (int i = 0; i < SLOTS; i++)
            if (inside[i] && (want < 0 || due[i] < due[want])) want = i;
        HeapItem first = { 0 };
        bool has = heap_peek(&heap, &first);
        REQUIRE(has == (want >= 0));
        if (has) REQUIRE((int)first.slot == want);
    }
    heap_deinit(&heap);
}
