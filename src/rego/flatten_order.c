#include <stdlib.h>
#include <string.h>

#include "rego/flatten.h"

/* In what order the parts of an expression are evaluated shows where one of them fails and another is undefined: whichever
 * comes first decides. Other Rego tools take calls out of an expression first and references second, go through sets and
 * objects in their order of terms, and policies are written and tested with them. */

/* --- calls before references --------------------------------------------------------------------------------------- */

void flat_settle(Flattener *f, size_t from, size_t to)
{
    FlatStmt **stmts = f->block->stmts;
    size_t kept = from, late_count = 0;
    FlatStmt **late = NULL;
    for (size_t i = from; i < to; i++) {
        if (stmts[i]->level != f->level + 1) {
            stmts[kept++] = stmts[i];
            continue;
        }
        if (!late) late = ARENA_ARRAY(f->arena, FlatStmt *, to - i);
        late[late_count++] = stmts[i];
    }
    if (late_count) memcpy(stmts + kept, late, late_count * sizeof *late);
}

/* --- sets and objects in the order of their terms ------------------------------------------------------------------ */

enum { RANK_SCALAR, RANK_VAR, RANK_REF, RANK_FIRST_CONTAINER, RANK_CALL = RANK_FIRST_CONTAINER + 6 };

typedef struct TermRank {
    uint32_t rank, index;
    Value value;                /* of a scalar */
    Str name;                   /* of a variable */
    struct TermRank *items;     /* of a container, a reference or a call, in their order */
    uint32_t item_count;
} TermRank;

static int rank_order(const void *left, const void *right)
{
    const TermRank *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    int order = a->rank == RANK_SCALAR ? value_compare(a->value, b->value) : str_compare(a->name, b->name);
    for (uint32_t i = 0; !order && i < a->item_count && i < b->item_count; i++)
        order = rank_order(&a->items[i], &b->items[i]);
    if (!order && a->item_count != b->item_count) order = a->item_count < b->item_count ? -1 : 1;
    return order;
}

static int rank_order_stable(const void *left, const void *right)
{
    const TermRank *a = left, *b = right;
    int order = rank_order(a, b);
    return order ? order : a->index < b->index ? -1 : 1;
}

static TermRank term_rank(Flattener *f, const RegoTerm *term, uint32_t index);

/* Items of a container, keys of an object; sorted where their order means nothing. */
static TermRank *ranks_new(Flattener *f, const RegoTerm *term, uint32_t *out_count)
{
    bool is_object = term->kind == REGO_TERM_OBJECT;
    TermRank *ranks = ARENA_ARRAY(f->arena, TermRank, term->count + 1u);
    for (uint32_t i = 0; i < term->count; i++) ranks[i] = term_rank(f, is_object ? term->pairs[i].key : term->items[i], i);
    if (is_object || term->kind == REGO_TERM_SET) qsort(ranks, term->count, sizeof *ranks, rank_order_stable);
    *out_count = term->count;
    return ranks;
}

/* A name or reference: the variable it begins with and the keys behind, once rules and imports are resolved. A variable alone
 * is none. */
static void rank_path(Flattener *f, const RegoTerm *term, TermRank *rank)
{
    const RegoTerm *head = term->kind == REGO_TERM_REF ? term->items[0] : term;
    bool is_name = head->kind == REGO_TERM_VAR;
    uint32_t rest = term->kind == REGO_TERM_REF ? term->count - 1 : 0;
    Value *keys = NULL;
    uint32_t count = is_name ? flat_name_path(f, head->name, &keys) : 0;
    TermRank first = is_name ? (TermRank){ .rank = RANK_VAR, .name = flat_name_root(f, head->name) } : term_rank(f, head, 0);
    if (term->kind == REGO_TERM_VAR && str_is(first.name, head->name)) {
        first.index = rank->index;
        *rank = first;
        return;
    }
    rank->rank = RANK_REF;
    rank->items = ARENA_ARRAY(f->arena, TermRank, 1u + count + rest);
    rank->items[rank->item_count++] = first;
    for (uint32_t i = 0; i < count; i++) rank->items[rank->item_count++] = (TermRank){ .rank = RANK_SCALAR, .value = keys[i] };
    for (uint32_t i = 1; i <= rest; i++) rank->items[rank->item_count++] = term_rank(f, term->items[i], 0);
}

/* The function, as a reference, and its arguments. */
static void rank_call(Flattener *f, const RegoTerm *call, TermRank *rank)
{
    rank->items = ARENA_ARRAY(f->arena, TermRank, call->count + 1u);
    rank->item_count = call->count;
    rank_path(f, call->items[0], &rank->items[0]);
    for (uint32_t i = 1; i < call->count; i++) rank->items[i] = term_rank(f, call->items[i], 0);
}

static void rank_items(Flattener *f, const RegoTerm *term, TermRank *rank)
{
    rank->items = ranks_new(f, term, &rank->item_count);
    if (term->kind != REGO_TERM_OBJECT) return;
    TermRank *pairs = ARENA_ARRAY(f->arena, TermRank, 2u * rank->item_count + 1u);
    for (uint32_t i = 0; i < rank->item_count; i++) {
        pairs[2 * i] = rank->items[i];
        pairs[2 * i + 1] = term_rank(f, term->pairs[rank->items[i].index].value, 0);
    }
    rank->items = pairs;
    rank->item_count *= 2;
}

static TermRank term_rank(Flattener *f, const RegoTerm *term, uint32_t index)
{
    static const uint32_t ranks[REGO_TERM_KIND_COUNT] = {
        [REGO_TERM_SCALAR] = RANK_SCALAR,
        [REGO_TERM_VAR] = RANK_VAR,
        [REGO_TERM_REF] = RANK_REF,
        [REGO_TERM_ARRAY] = RANK_FIRST_CONTAINER,
        [REGO_TERM_OBJECT] = RANK_FIRST_CONTAINER + 1,
        [REGO_TERM_SET] = RANK_FIRST_CONTAINER + 2,
        [REGO_TERM_ARRAY_COMPREHENSION] = RANK_FIRST_CONTAINER + 3,
        [REGO_TERM_OBJECT_COMPREHENSION] = RANK_FIRST_CONTAINER + 4,
        [REGO_TERM_SET_COMPREHENSION] = RANK_FIRST_CONTAINER + 5,
        [REGO_TERM_CALL] = RANK_CALL,
        [REGO_TERM_TEMPLATE] = RANK_CALL + 1,
    };
    TermRank rank = { .rank = ranks[term->kind], .index = index };
    if (term->kind == REGO_TERM_SCALAR) rank.value = term->value;
    if (term->kind == REGO_TERM_VAR || term->kind == REGO_TERM_REF) rank_path(f, term, &rank);
    if (term->kind == REGO_TERM_CALL) rank_call(f, term, &rank);
    bool has_items = term->kind == REGO_TERM_ARRAY || term->kind == REGO_TERM_OBJECT || term->kind == REGO_TERM_SET;
    if (has_items) rank_items(f, term, &rank);
    return rank;
}

uint32_t *flat_order(Flattener *f, const RegoTerm *term)
{
    bool is_object = term->kind == REGO_TERM_OBJECT;
    bool is_open = false;               /* something has to be taken out */
    uint32_t *order = ARENA_ARRAY(f->arena, uint32_t, term->count + 1u);
    for (uint32_t i = 0; i < term->count; i++) {
        order[i] = i;
        is_open |= (is_object ? term->pairs[i].value : term->items[i])->kind != REGO_TERM_SCALAR
                || (is_object && term->pairs[i].key->kind != REGO_TERM_SCALAR);
    }
    if (!is_open || term->kind == REGO_TERM_ARRAY) return order;
    uint32_t count;
    const TermRank *ranks = ranks_new(f, term, &count);
    for (uint32_t i = 0; i < count; i++) order[i] = ranks[i].index;
    return order;
}

/* --- of equal keys the last stays ---------------------------------------------------------------------------------- */

/* By the time that others build an object, calls, comprehensions and references are variables, made in this order; those that
 * an author did not declare have kept their names, and come behind. */
static uint32_t key_class(Flattener *f, const RegoTerm *key)
{
    enum { CLASS_SCALAR, CLASS_DECLARED, CLASS_TEMPLATE, CLASS_CALL, CLASS_COMPREHENSION, CLASS_REF, CLASS_VAR, CLASS_CONTAINER };
    static const uint32_t classes[REGO_TERM_KIND_COUNT] = {
        [REGO_TERM_SCALAR] = CLASS_SCALAR,
        [REGO_TERM_VAR] = CLASS_VAR,
        [REGO_TERM_REF] = CLASS_REF,
        [REGO_TERM_ARRAY] = CLASS_CONTAINER,
        [REGO_TERM_OBJECT] = CLASS_CONTAINER,
        [REGO_TERM_SET] = CLASS_CONTAINER,
        [REGO_TERM_ARRAY_COMPREHENSION] = CLASS_COMPREHENSION,
        [REGO_TERM_OBJECT_COMPREHENSION] = CLASS_COMPREHENSION,
        [REGO_TERM_SET_COMPREHENSION] = CLASS_COMPREHENSION,
        [REGO_TERM_CALL] = CLASS_CALL,
        [REGO_TERM_TEMPLATE] = CLASS_TEMPLATE,
    };
    if (key->kind != REGO_TERM_VAR) return classes[key->kind];
    if (scope_declares(f, key->name)) return CLASS_DECLARED;
    return str_is(flat_name_root(f, key->name), key->name) ? CLASS_VAR : CLASS_REF;
}

static int class_order(const void *left, const void *right)
{
    const TermRank *a = left, *b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

uint32_t *flat_places(Flattener *f, const RegoTerm *object, const uint32_t *order)
{
    uint32_t *places = ARENA_ARRAY(f->arena, uint32_t, object->count + 1u);
    TermRank *ranks = ARENA_ARRAY(f->arena, TermRank, object->count + 1u);
    for (uint32_t i = 0; i < object->count; i++)
        ranks[i] = (TermRank){ .rank = key_class(f, object->pairs[order[i]].key), .index = i };
    qsort(ranks, object->count, sizeof *ranks, class_order);
    for (uint32_t i = 0; i < object->count; i++) places[ranks[i].index] = i;
    return places;
}
