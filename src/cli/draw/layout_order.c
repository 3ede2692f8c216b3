/* The second half of a layout's combinatorics: which vertex stands left of which, so that few links cross. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "cli/draw/layout.h"

/* Where a vertex wants to stand: the median of its neighbours, doubled so that the middle of two is whole. */
typedef struct Wish {
    uint32_t median, place, vertex;
} Wish;

typedef struct Order {
    Layout *layout;
    Wish *wishes;
    uint32_t *places;                   /* of the neighbours of one vertex */
    uint32_t *slots;                    /* of one layer, those whose vertices have neighbours */
    uint32_t *tree;                     /* counts of places, as sums over ranges */
    uint32_t *best;                     /* the order with the fewest crossings so far */
} Order;

static void sweep(Order *order, bool is_down);
static void exchange(Order *order);
static uint64_t count_crossings(Order *order);
static void set_places(Layout *layout);

void layout_order(Layout *layout, Arena *arena)
{
    Order order = {
        .layout = layout,
        .wishes = ARENA_ARRAY(arena, Wish, layout->vertex_count),
        .places = ARENA_ARRAY(arena, uint32_t, layout->link_count),
        .slots = ARENA_ARRAY(arena, uint32_t, layout->vertex_count),
        .tree = ARENA_ARRAY(arena, uint32_t, layout->vertex_count + 1),
        .best = ARENA_ARRAY(arena, uint32_t, layout->vertex_count),
    };
    size_t size = layout->vertex_count * sizeof *order.best;
    uint64_t fewest = count_crossings(&order);
    if (size) memcpy(order.best, layout->order, size);
    for (uint32_t i = 0; i < LAYOUT_SWEEP_COUNT && fewest > 0; i++) {
        sweep(&order, i % 2 == 0);
        exchange(&order);
        uint64_t count = count_crossings(&order);
        if (count >= fewest) continue;
        fewest = count;
        memcpy(order.best, layout->order, size);
    }
    if (size) memcpy(layout->order, order.best, size);
    set_places(layout);
}

static void set_places(Layout *layout)
{
    for (uint32_t layer = 0; layer < layout->layer_count; layer++)
        for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++)
            layout->vertices[layout->order[i]].place = i - layout->layer_first[layer];
}

/* The places of a vertex's neighbours above or below; returns how many. */
static uint32_t neighbour_places(const Layout *layout, const LayoutVertex *vertex, bool above, uint32_t *out_places)
{
    uint32_t count = above ? vertex->in_count : vertex->out_count;
    for (uint32_t i = 0; i < count; i++) {
        const LayoutLink *link = &layout->links[above ? layout->ins[vertex->in_first + i]
                                                      : layout->outs[vertex->out_first + i]];
        out_places[i] = layout->vertices[above ? link->from : link->to].place;
    }
    return count;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int by_wish(const void *a, const void *b)
{
    const Wish *x = a, *y = b;
    if (x->median != y->median) return (x->median > y->median) - (x->median < y->median);
    return (x->place > y->place) - (x->place < y->place);
}

/* --- medians ----------------------------------------------------------------------------------------------------- */

/* Sorts one layer by the medians of its neighbours in the layer before; who has none keeps its slot. */
static void sort_layer(Order *order, uint32_t layer, bool above)
{
    Layout *layout = order->layout;
    uint32_t first = layout->layer_first[layer], end = layout->layer_first[layer + 1], count = 0;
    for (uint32_t i = first; i < end; i++) {
        const LayoutVertex *vertex = &layout->vertices[layout->order[i]];
        uint32_t near = neighbour_places(layout, vertex, above, order->places);
        if (near == 0) continue;
        qsort(order->places, near, sizeof *order->places, by_number);
        order->slots[count] = i;
        order->wishes[count++] = (Wish){ .median = order->places[near / 2] + order->places[(near - 1) / 2],
                                         .place = vertex->place, .vertex = layout->order[i] };
    }
    qsort(order->wishes, count, sizeof *order->wishes, by_wish);
    for (uint32_t i = 0; i < count; i++) layout->order[order->slots[i]] = order->wishes[i].vertex;
    for (uint32_t i = first; i < end; i++) layout->vertices[layout->order[i]].place = i - first;
}

static void sweep(Order *order, bool is_down)
{
    uint32_t layer_count = order->layout->layer_count;
    for (uint32_t i = 1; i < layer_count; i++) sort_layer(order, is_down ? i : layer_count - 1 - i, is_down);
}

/* --- exchanges --------------------------------------------------------------------------------------------------- */

/* Crossings among the links of two vertices on one side, with `left` standing left. */
static uint32_t count_between(const Layout *layout, const LayoutVertex *left, const LayoutVertex *right, bool above)
{
    const uint32_t *links = above ? layout->ins : layout->outs;
    uint32_t left_first = above ? left->in_first : left->out_first;
    uint32_t left_count = above ? left->in_count : left->out_count;
    uint32_t right_first = above ? right->in_first : right->out_first;
    uint32_t right_count = above ? right->in_count : right->out_count, count = 0;
    for (uint32_t i = 0; i < left_count; i++) {
        const LayoutLink *a = &layout->links[links[left_first + i]];
        uint32_t place = layout->vertices[above ? a->from : a->to].place;
        for (uint32_t j = 0; j < right_count; j++) {
            const LayoutLink *b = &layout->links[links[right_first + j]];
            count += layout->vertices[above ? b->from : b->to].place < place;
        }
    }
    return count;
}

static bool is_worth_counting(const LayoutVertex *left, const LayoutVertex *right)
{
    uint64_t pairs = (uint64_t)left->in_count * right->in_count + (uint64_t)left->out_count * right->out_count;
    return pairs <= LAYOUT_EXCHANGE_PAIR_COUNT_MAX;
}

/* Two neighbours in a layer change places where that saves crossings; a few rounds, as long as one helps. */
static void exchange(Order *order)
{
    Layout *layout = order->layout;
    bool helped = true;
    for (uint32_t round = 0; round < LAYOUT_EXCHANGE_COUNT && helped; round++) {
        helped = false;
        for (uint32_t layer = 0; layer < layout->layer_count; layer++) {
            for (uint32_t i = layout->layer_first[layer] + 1; i < layout->layer_first[layer + 1]; i++) {
                uint32_t left_index = layout->order[i - 1], right_index = layout->order[i];
                LayoutVertex *left = &layout->vertices[left_index], *right = &layout->vertices[right_index];
                if (!is_worth_counting(left, right)) continue;
                uint32_t now = count_between(layout, left, right, true) + count_between(layout, left, right, false);
                if (now == 0) continue;
                uint32_t then = count_between(layout, right, left, true) + count_between(layout, right, left, false);
                if (then >= now) continue;
                layout->order[i - 1] = right_index;
                layout->order[i] = left_index;
                left->place++;
                right->place--;
                helped = true;
            }
        }
    }
}

/* --- counting ---------------------------------------------------------------------------------------------------- */

/* Links whose lower ends stand right of `place`, of those noted so far. */
static uint32_t count_right_of(const uint32_t *tree, uint32_t place, uint32_t noted)
{
    uint32_t sum = 0;
    for (uint32_t i = place + 1; i > 0; i -= i & -i) sum += tree[i];
    return noted - sum;
}

static void note_place(uint32_t *tree, uint32_t size, uint32_t place)
{
    for (uint32_t i = place + 1; i <= size; i += i & -i) tree[i]++;
}

/* Two links cross when the one that begins further left ends further right: counted layer by layer, from the left, with
 * the ends seen so far in a tree of sums. */
static uint64_t count_crossings(Order *order)
{
    const Layout *layout = order->layout;
    uint64_t crossings = 0;
    for (uint32_t layer = 0; layer + 1 < layout->layer_count; layer++) {
        uint32_t size = layout->layer_first[layer + 2] - layout->layer_first[layer + 1], noted = 0;
        memset(order->tree, 0, (size + 1) * sizeof *order->tree);
        for (uint32_t i = layout->layer_first[layer]; i < layout->layer_first[layer + 1]; i++) {
            const LayoutVertex *vertex = &layout->vertices[layout->order[i]];
            uint32_t count = neighbour_places(layout, vertex, /* above= */ false, order->places);
            for (uint32_t k = 0; k < count; k++) crossings += count_right_of(order->tree, order->places[k], noted);
            for (uint32_t k = 0; k < count; k++) note_place(order->tree, size, order->places[k]);
            noted += count;
        }
    }
    return crossings;
}
