#include "lang/graph.h"

#include <string.h>

#include "harness/random.h"
#include "harness/test.h"

typedef struct Found {
    uint32_t nodes[8][16], counts[8], count;
} Found;

static void take_cycle(void *context, const uint32_t *nodes, uint32_t count)
{
    Found *found = context;
    if (found->count == 8 || count > 16) return;
    memcpy(found->nodes[found->count], nodes, count * sizeof *nodes);
    found->counts[found->count++] = count;
}

TEST(each_knot_gives_its_shortest_cycle, "proves: F-026 K-027")
{
    Arena arena;
    Graph graph;
    Found found = { .count = 0 };
    static const GraphEdge edges[] = { { 0, 1 }, { 1, 2 }, { 2, 0 }, { 2, 3 }, { 3, 4 }, { 4, 3 }, { 5, 5 }, { 4, 5 } };
    arena_init(&arena, SIZE_MAX);
    graph_build(&graph, &arena, 7, edges, 8);
    EXPECT_INT(graph_cycles(&graph, take_cycle, &found), 3);
    EXPECT_INT(found.counts[0], 3);
    EXPECT_INT(found.nodes[0][0], 0);
    EXPECT_INT(found.nodes[0][1], 1);
    EXPECT_INT(found.counts[1], 2);
    EXPECT_INT(found.counts[2], 1);
    arena_deinit(&arena);
}

/* Against the plain closure, over random graphs without cycles. */
TEST(ancestry_is_what_the_closure_says, "proves: F-031")
{
    enum { N = 24 };
    Random random = { 7 };
    for (unsigned round = 0; round < 300; round++) {
        bool reaches[N][N] = { 0 };
        GraphEdge edges[N * 4];
        uint32_t count = 0, label[N];
        for (uint32_t i = 0; i < N; i++) label[i] = i;
        for (uint32_t i = N - 1; i > 0; i--) {
            uint32_t j = random_below(&random, i + 1), swap = label[i];
            label[i] = label[j];
            label[j] = swap;
        }
        for (uint32_t e = 0; e < N + round % (2 * N); e++) {
            uint32_t a = random_below(&random, N), b = random_below(&random, N);
            if (a == b) continue;
            uint32_t low = a < b ? a : b, high = a < b ? b : a;
            edges[count++] = (GraphEdge){ label[low], label[high] };
            reaches[label[low]][label[high]] = true;
        }
        for (unsigned k = 0; k < N; k++)
            for (unsigned i = 0; i < N; i++)
                for (unsigned j = 0; j < N; j++) reaches[i][j] = reaches[i][j] || (reaches[i][k] && reaches[k][j]);
        Arena arena;
        Graph graph;
        arena_init(&arena, SIZE_MAX);
        graph_build(&graph, &arena, N, edges, count);
        EXPECT_INT(graph_cycles(&graph, NULL, NULL), 0);
        graph_sort(&graph);
        for (uint32_t i = 0; i < N; i++)
            for (uint32_t j = 0; j < N; j++) EXPECT(graph_reaches(&graph, i, j) == reaches[i][j]);
        for (uint32_t e = 0; e < count; e++) EXPECT(graph.place[edges[e].from] < graph.place[edges[e].to]);
        arena_deinit(&arena);
    }
}
