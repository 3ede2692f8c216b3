#include "base/ring.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/test.h"

TEST(ring_gives_what_was_put_in_its_order, "")
{
    Ring ring;
    ring_init(&ring, 8);
    int items[20];
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 5; i++) EXPECT(ring_put(&ring, &items[(round + i) % 20]));
        for (int i = 0; i < 5; i++) EXPECT(ring_take(&ring) == &items[(round + i) % 20]);
        EXPECT(ring_take(&ring) == NULL);
    }
    ring_deinit(&ring);
}

TEST(ring_that_is_full_refuses_and_takes_again_once_there_is_room, "")
{
    Ring ring;
    ring_init(&ring, 4);
    int items[5];
    for (int i = 0; i < 4; i++) EXPECT(ring_put(&ring, &items[i]));
    EXPECT(!ring_put(&ring, &items[4]));
    EXPECT(ring_take(&ring) == &items[0]);
    EXPECT(ring_put(&ring, &items[4]));
    EXPECT(!ring_put(&ring, &items[0]));
    for (int i = 1; i < 5; i++) EXPECT(ring_take(&ring) == &items[i]);
    EXPECT(ring_take(&ring) == NULL);
    ring_deinit(&ring);
}

TEST(ring_capacity_is_rounded_up_to_a_power_of_two, "")
{
    static const struct { const char *name; uint32_t capacity; int room; } cases[] = {
        { "one becomes two", 1, 2 }, { "three becomes four", 3, 4 }, { "a power stays", 16, 16 }, { "one more", 17, 32 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ROW(cases[c].name);
        Ring ring;
        ring_init(&ring, cases[c].capacity);
        int item, room = 0;
        while (ring_put(&ring, &item)) room++;
        EXPECT_INT(room, cases[c].room);
        ring_deinit(&ring);
    }
}

/* Pages of the cells that are in memory, without the first and last, which others may use. */
static size_t pages_resident(const Ring *ring, size_t *out_count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = (ring->mask + 1) * sizeof *ring->cells / page - 1, resident = 0;
    unsigned char *seen = calloc(count, 1);
    char *begin = (char *)(((uintptr_t)ring->cells + page) & ~(uintptr_t)(page - 1));
    EXPECT(seen && mincore(begin, count * page, seen) == 0);
    for (size_t i = 0; i < count; i++) resident += seen[i] & 1;
    free(seen);
    *out_count = count;
    return resident;
}

TEST(ring_for_many_takes_memory_as_it_is_used, "")
{
    Ring ring;
    ring_init(&ring, UINT32_C(1) << 20);                    /* large enough for pages of its own */
    int item;
    size_t count;
    for (int i = 0; i < 10; i++) EXPECT(ring_put(&ring, &item));
    for (int i = 0; i < 10; i++) EXPECT(ring_take(&ring) == &item);
    EXPECT(pages_resident(&ring, &count) < count / 4);      /* a large page at the most */
    while (ring_put(&ring, &item)) continue;
    EXPECT(pages_resident(&ring, &count) == count);
    ring_deinit(&ring);
}
