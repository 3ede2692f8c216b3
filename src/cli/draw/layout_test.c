#include "cli/draw/layout.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "harness/test.h"

typedef struct Case {
    Arena arena;
    Layout layout;
} Case;

static void case_begin(Case *test) { arena_init(&test->arena, SIZE_MAX); }
static void case_end(Case *test) { arena_deinit(&test->arena); }

static bool case_rank(Case *test, const LayoutEdge *edges, uint32_t edge_count, uint32_t node_count)
{
    arena_reset(&test->arena);
    return layout_rank(&test->layout, &(LayoutGraph){ edges, node_count, edge_count }, &test->arena);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static bool links_cross(const Layout *layout, const LayoutLink *a, const LayoutLink *b)
{
    const LayoutVertex *vertices = layout->vertices;
    if (vertices[a->from].layer != vertices[b->from].layer) return false;
    return (vertices[a->from].place < vertices[b->from].place && vertices[a->to].place > vertices[b->to].place)
        || (vertices[a->from].place > vertices[b->from].place && vertices[a->to].place < vertices[b->to].place);
}

static uint64_t crossings(const Layout *layout)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < layout->link_count; i++)
        for (uint32_t k = 0; k < i; k++) count += links_cross(layout, &layout->links[i], &layout->links[k]);
    return count;
}

static void expect_layout(const Layout *layout, const LayoutOptions *options)
{
    for (uint32_t i = 0; i < layout->link_count; i++)
        EXPECT_INT(layout->vertices[layout->links[i].to].layer, layout->vertices[layout->links[i].from].layer + 1);
    for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
        const LayoutVertex *left = NULL;
        for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
            const LayoutVertex *vertex = &layout->vertices[layout->order[i]];
            bool is_bend = vertex->edge != LAYOUT_NONE || (left && left->edge != LAYOUT_NONE);
            EXPECT_INT(vertex->layer, layer);
            EXPECT_INT(vertex->place, i - layout->layer_first[layer]);
            EXPECT(vertex->x >= 0 && vertex->x + (int32_t)vertex->width <= (int32_t)layout->width);
            uint32_t gap = is_bend ? options->bend_gap : options->gap;
            if (left) EXPECT(vertex->x >= left->x + (int32_t)(left->width + gap));
            left = vertex;
        }
    }
}

TEST(nodes_stand_below_all_that_leads_to_them, "")
{
    static const LayoutEdge edges[] = {
        { .from = 0, .to = 1 }, { .from = 1, .to = 2 }, { .from = 0, .to = 3 }, { .from = 2, .to = 3 },
    };
    Case test;
    case_begin(&test);
    REQUIRE(case_rank(&test, edges, 4, 4));
    for (uint32_t i = 0; i < 4; i++) EXPECT_INT(test.layout.vertices[i].layer, i);
    EXPECT_INT(test.layout.vertex_count, 6);               /* the edge from 0 to 3 passes two layers */
    EXPECT_INT(test.layout.link_count, 6);
    layout_place(&test.layout, &(LayoutOptions){ .gap = 2, .bend_gap = 1 }, &test.arena);
    EXPECT_INT(test.layout.vertices[4].x, test.layout.vertices[5].x);      /* and is straight */
    case_end(&test);
}

TEST(a_label_has_a_layer_between_the_ends_of_its_edge, "")
{
    static const LayoutEdge edges[] = { { .from = 0, .to = 1, .has_label = true }, { .from = 0, .to = 2 } };
    Case test;
    case_begin(&test);
    REQUIRE(case_rank(&test, edges, 2, 3));
    EXPECT_INT(test.layout.vertices[1].layer, 2);
    EXPECT_INT(test.layout.vertices[2].layer, 1);
    EXPECT_INT(test.layout.vertex_count, 4);
    EXPECT(test.layout.vertices[3].is_label);
    EXPECT_INT(test.layout.vertices[3].layer, 1);
    case_end(&test);
}

TEST(a_source_stands_right_above_what_needs_it, "")
{
    static const LayoutEdge edges[] = { { .from = 0, .to = 1 }, { .from = 1, .to = 2 }, { .from = 3, .to = 2 } };
    Case test;
    case_begin(&test);
    REQUIRE(case_rank(&test, edges, 3, 4));
    EXPECT_INT(test.layout.vertices[3].layer, 1);
    EXPECT_INT(test.layout.vertex_count, 4);
    case_end(&test);
}

TEST(trees_and_ladders_come_out_without_a_crossing, "")
{
    static const struct { const char *name; uint32_t ends[6][2], edge_count, node_count; } rows[] = {
        { "a tree", { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 4 }, { 1, 5 } }, 5, 6 },
        { "a ladder written crosswise", { { 0, 3 }, { 1, 2 } }, 2, 4 },
        { "a diamond", { { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 } }, 4, 4 },
        { "a child of two", { { 0, 2 }, { 0, 3 }, { 1, 2 } }, 3, 4 },
        { "rungs in the wrong order", { { 0, 5 }, { 1, 4 }, { 2, 3 } }, 3, 6 },
    };
    Case test;
    case_begin(&test);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        LayoutEdge edges[6];
        for (uint32_t k = 0; k < rows[i].edge_count; k++)
            edges[k] = (LayoutEdge){ .from = rows[i].ends[k][0], .to = rows[i].ends[k][1] };
        if (!EXPECT(case_rank(&test, edges, rows[i].edge_count, rows[i].node_count))) continue;
        EXPECT_INT(crossings(&test.layout), 0);
    }
    case_end(&test);
}

TEST(nothing_overlaps_and_the_width_holds, "")
{
    static LayoutEdge edges[4096];
    Case test;
    case_begin(&test);
    for (uint32_t seed = 0; seed < 200; seed++) {
        char row[32];
        snprintf(row, sizeof row, "seed %u", seed);
        ROW(row);
        uint64_t chance = seed;
        uint32_t node_count = 2 + next_random(&chance) % 60, edge_count = 0;
        uint32_t edge_max = node_count * (1 + next_random(&chance) % 3);
        for (; edge_count < edge_max; edge_count++) {
            LayoutEdge *edge = &edges[edge_count];
            edge->from = next_random(&chance) % (node_count - 1);
            edge->to = edge->from + 1 + next_random(&chance) % (node_count - edge->from - 1);
            edge->has_label = next_random(&chance) % 5 == 0;
            edge->is_back = next_random(&chance) % 9 == 0;
        }
        if (!EXPECT(case_rank(&test, edges, edge_count, node_count))) continue;
        for (uint32_t i = 0; i < test.layout.vertex_count; i++)
            test.layout.vertices[i].width = 3 + next_random(&chance) % 20;
        LayoutOptions options = { .gap = 2, .bend_gap = 1, .back_inset = 2 };
        layout_place(&test.layout, &options, &test.arena);
        expect_layout(&test.layout, &options);
        options.width_max = layout_width_min(&test.layout, &options) + next_random(&chance) % 10;
        layout_place(&test.layout, &options, &test.arena);
        expect_layout(&test.layout, &options);
        EXPECT(test.layout.width <= options.width_max);
    }
    case_end(&test);
}

TEST(a_graph_of_too_many_bends_is_refused, "")
{
    static LayoutEdge edges[2 * 400];
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < 400; i++) edges[count++] = (LayoutEdge){ .from = i, .to = i + 1 };
    for (uint32_t i = 0; i + 1 < 200; i++) edges[count++] = (LayoutEdge){ .from = i, .to = 399 - i };
    Case test;
    case_begin(&test);
    EXPECT(!case_rank(&test, edges, count, 400));          /* 199 edges over 200 layers on average */
    EXPECT(case_rank(&test, edges, 399 + 40, 400));
    static LayoutEdge none[1];
    EXPECT(!case_rank(&test, none, 0, LAYOUT_VERTEX_COUNT_MAX + 1));
    case_end(&test);
}
