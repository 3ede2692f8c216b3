/* The last part of a layout: the x of every vertex, the order in each layer being settled.
 *
 * One layer at a time is moved to where its neighbours above, below or on both sides would have it. Each vertex names
 * the place it wants and how strongly; the layer then takes the places that deviate least from these wishes in total,
 * among all that keep the order and the distances. That is a regression under an order, solved by pooling: vertices
 * that would overlap form a block, which moves as one to the weighted median of its wishes. Medians and not means,
 * because a median is one of the wishes: whatever can stand exactly in line does.
 */
#include <string.h>

#include "base/limits.h"
#include "cli/draw/layout.h"

typedef struct Pull {
    int32_t at, weight;
} Pull;

typedef struct Block {
    uint32_t first, count;              /* vertices of the layer, by place */
    int32_t at;
} Block;

typedef struct Align {
    Layout *layout;
    const LayoutOptions *options;
    Pull *pulls, *merged;               /* of one layer, sorted inside of each block */
    Block *blocks;
    int32_t *offsets;                   /* of a vertex's centre, all standing as far left as they can */
    int32_t *neighbours;                /* of one vertex: where each of them wants its centre */
} Align;

enum { SIDE_ABOVE = 1, SIDE_BELOW = 2, SIDE_BOTH = 3 };

static void settle(Align *align, uint32_t layer, int side);
static void pack(Align *align);
static void gather(Align *align, uint32_t layer);
static void normalize(Layout *layout);

void layout_place(Layout *layout, const LayoutOptions *options, Arena *arena)
{
    if (layout->vertex_count == 0) return;
    uint32_t most = 0;
    for (uint32_t i = 0; i < layout->layer_count; i++) {
        uint32_t count = layout->layer_first[i + 1] - layout->layer_first[i];
        if (count > most) most = count;
    }
    Align align = {
        .layout = layout,
        .options = options,
        .pulls = ARENA_ARRAY(arena, Pull, most),
        .merged = ARENA_ARRAY(arena, Pull, most),
        .blocks = ARENA_ARRAY(arena, Block, most),
        .offsets = ARENA_ARRAY(arena, int32_t, most),
        .neighbours = ARENA_ARRAY(arena, int32_t, 2 * (size_t)layout->link_count),
    };
    pack(&align);
    uint32_t layer_count = layout->layer_count;
    for (uint32_t round = 0; round < LAYOUT_ALIGN_COUNT; round++) {
        for (uint32_t i = 1; i < layer_count; i++) settle(&align, i, SIDE_ABOVE);
        for (uint32_t i = layer_count - 1; i-- > 0;) settle(&align, i, SIDE_BELOW);
    }
    for (uint32_t i = 0; i < layer_count; i++) settle(&align, i, SIDE_BOTH);
    for (uint32_t i = layer_count; i-- > 0;) settle(&align, i, SIDE_BOTH);
    for (uint32_t i = 0; i < layer_count; i++) gather(&align, i);
    normalize(layout);
}

static LayoutVertex *vertex_at(Layout *layout, uint32_t layer, uint32_t place)
{
    return &layout->vertices[layout->order[layout->layer_first[layer] + place]];
}

static bool is_bend(const LayoutVertex *vertex) { return vertex->edge != LAYOUT_NONE; }
static bool is_alone(const LayoutVertex *vertex) { return vertex->in_count == 0 && vertex->out_count == 0; }
static void center_at(LayoutVertex *vertex, int32_t x) { vertex->x = x - (int32_t)(vertex->width / 2); }

/* How far the centres of two neighbours in a layer are apart at least. */
static int32_t distance(const Align *align, const LayoutVertex *left, const LayoutVertex *right)
{
    uint32_t gap = is_bend(left) || is_bend(right) ? align->options->bend_gap : align->options->gap;
    return (int32_t)(left->width - left->width / 2 + gap + right->width / 2);
}

static void pack(Align *align)
{
    Layout *layout = align->layout;
    for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
        uint32_t count = layout->layer_first[layer + 1] - layout->layer_first[layer];
        for (uint32_t i = 0; i < count; i++) {
            LayoutVertex *vertex = vertex_at(layout, layer, i);
            const LayoutVertex *left = i ? vertex_at(layout, layer, i - 1) : NULL;
            if (left) center_at(vertex, layout_center(left) + distance(align, left, vertex));
            else vertex->x = 0;
        }
    }
}

/* What has no links has no wishes either: it moves up to its neighbour, the left one where there is one. */
static void gather(Align *align, uint32_t layer)
{
    Layout *layout = align->layout;
    uint32_t count = layout->layer_first[layer + 1] - layout->layer_first[layer], leading = 0;
    while (leading < count && is_alone(vertex_at(layout, layer, leading))) leading++;
    if (leading == count) leading = 0;                      /* none to lean on but the first of them */
    for (uint32_t i = leading + 1; i < count; i++) {
        LayoutVertex *vertex = vertex_at(layout, layer, i);
        const LayoutVertex *left = vertex_at(layout, layer, i - 1);
        if (is_alone(vertex)) center_at(vertex, layout_center(left) + distance(align, left, vertex));
    }
    for (uint32_t i = leading; i-- > 0;) {
        LayoutVertex *vertex = vertex_at(layout, layer, i);
        const LayoutVertex *right = vertex_at(layout, layer, i + 1);
        center_at(vertex, layout_center(right) - distance(align, vertex, right));
    }
}

static void normalize(Layout *layout)
{
    int32_t least = INT32_MAX, most = 0;
    for (uint32_t i = 0; i < layout->vertex_count; i++)
        if (layout->vertices[i].x < least) least = layout->vertices[i].x;
    for (uint32_t i = 0; i < layout->vertex_count; i++) {
        LayoutVertex *vertex = &layout->vertices[i];
        vertex->x -= least;
        if (vertex->x + (int32_t)vertex->width > most) most = vertex->x + (int32_t)vertex->width;
    }
    layout->width = (uint32_t)most;
}

/* --- wishes ------------------------------------------------------------------------------------------------------ */

/* The parts of a long edge pull hardest, since a straight line is easy to follow. */
static int32_t link_weight(const LayoutVertex *a, const LayoutVertex *b)
{
    return is_bend(a) && is_bend(b) ? 8 : is_bend(a) || is_bend(b) ? 3 : 2;
}

/* Where a link meets a vertex. */
static int32_t meeting(const Align *align, const LayoutVertex *vertex, const LayoutLink *link)
{
    if (is_bend(vertex) || !align->layout->edges[link->edge].is_back) return layout_center(vertex);
    return vertex->x + (int32_t)(vertex->width - align->options->back_inset);
}

/* Adds where the vertex's centre would be if a neighbour had its way. */
static void add_neighbours(const Align *align, const LayoutVertex *vertex, bool above, uint32_t *count, int32_t *weight)
{
    const Layout *layout = align->layout;
    uint32_t link_count = above ? vertex->in_count : vertex->out_count;
    for (uint32_t i = 0; i < link_count; i++) {
        const LayoutLink *link = &layout->links[above ? layout->ins[vertex->in_first + i]
                                                      : layout->outs[vertex->out_first + i]];
        const LayoutVertex *other = &layout->vertices[above ? link->from : link->to];
        int32_t lean = meeting(align, vertex, link) - layout_center(vertex);
        align->neighbours[(*count)++] = meeting(align, other, link) - lean;
        *weight += link_weight(vertex, other);
    }
}

static void sort_numbers(int32_t *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {          /* neighbours come nearly sorted, which insertion is quick at */
        int32_t number = numbers[i];
        uint32_t at = i;
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

static int32_t middle(int32_t low, int32_t high) { return low + (high - low) / 2; }

/* Where the vertex wants its centre to be: at the median of its neighbours, or where it is. A bend between two places
 * takes the lower one, since in the middle the line would turn twice. */
static Pull wish(const Align *align, const LayoutVertex *vertex, int side)
{
    uint32_t count = 0;
    int32_t weight = 0;
    if (side == SIDE_BOTH && is_bend(vertex)) side = SIDE_BELOW;
    if (side & SIDE_ABOVE) add_neighbours(align, vertex, true, &count, &weight);
    if (side & SIDE_BELOW) add_neighbours(align, vertex, false, &count, &weight);
    if (count == 0) return (Pull){ .at = layout_center(vertex), .weight = 1 };
    sort_numbers(align->neighbours, count);
    return (Pull){ .at = middle(align->neighbours[(count - 1) / 2], align->neighbours[count / 2]), .weight = weight };
}

/* --- pooling ----------------------------------------------------------------------------------------------------- */

static int32_t weighted_median(const Pull *pulls, uint32_t count)
{
    int64_t total = 0, sum = 0;
    for (uint32_t i = 0; i < count; i++) total += pulls[i].weight;
    uint32_t low = 0;
    for (; low < count; low++) {
        sum += pulls[low].weight;
        if (2 * sum >= total) break;
    }
    uint32_t high = 2 * sum == total ? low + 1 : low;
    return middle(pulls[low].at, pulls[high].at);
}

/* Two adjacent blocks, each sorted, become one. */
static void merge_blocks(Align *align, Block *left, const Block *right)
{
    uint32_t a = left->first, a_end = a + left->count, b = right->first, b_end = b + right->count, count = 0;
    while (a < a_end || b < b_end) {
        bool from_left = b == b_end || (a < a_end && align->pulls[a].at <= align->pulls[b].at);
        align->merged[count++] = align->pulls[from_left ? a++ : b++];
    }
    memcpy(&align->pulls[left->first], align->merged, count * sizeof *align->merged);
    left->count = count;
    left->at = weighted_median(&align->pulls[left->first], count);
}

/* Into the width there is: as far left as the right end demands, and no further left than the left end allows. */
static int32_t clamp(const Align *align, int32_t at, int32_t left_room, int32_t right_room)
{
    if (align->options->width_max == 0) return at;
    int32_t most = (int32_t)align->options->width_max - right_room;
    if (at > most) at = most;
    return at < left_room ? left_room : at;
}

static void settle(Align *align, uint32_t layer, int side)
{
    Layout *layout = align->layout;
    uint32_t count = layout->layer_first[layer + 1] - layout->layer_first[layer], block_count = 0;
    if (count == 0) return;
    for (uint32_t i = 0; i < count; i++) {
        const LayoutVertex *vertex = vertex_at(layout, layer, i);
        align->offsets[i] = i ? align->offsets[i - 1] + distance(align, vertex_at(layout, layer, i - 1), vertex) : 0;
        align->pulls[i] = wish(align, vertex, side);
        align->pulls[i].at -= align->offsets[i];
        align->blocks[block_count++] = (Block){ .first = i, .count = 1, .at = align->pulls[i].at };
        for (; block_count > 1 && align->blocks[block_count - 2].at > align->blocks[block_count - 1].at; block_count--)
            merge_blocks(align, &align->blocks[block_count - 2], &align->blocks[block_count - 1]);
    }
    const LayoutVertex *first = vertex_at(layout, layer, 0), *last = vertex_at(layout, layer, count - 1);
    int32_t left_end = (int32_t)(first->width / 2), right_end = (int32_t)(last->width - last->width / 2);
    for (uint32_t b = 0; b < block_count; b++) {
        const Block *block = &align->blocks[b];
        for (uint32_t i = block->first; i < block->first + block->count; i++) {
            LayoutVertex *vertex = vertex_at(layout, layer, i);
            int32_t right_room = right_end + align->offsets[count - 1] - align->offsets[i];
            int32_t center = clamp(align, block->at + align->offsets[i], left_end + align->offsets[i], right_room);
            center_at(vertex, center);
        }
    }
}
