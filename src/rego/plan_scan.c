#include <string.h>

#include "base/limits.h"
#include "rego/planner.h"

#define WALK_COUNT_MAX 64u          /* instructions behind a scan that are looked at */
#define PATH_COUNT_MAX 8u           /* keys between an item and what is tested of it */
#define PART_COUNT_MAX 16u          /* parts of an item that are followed */

/* A register that holds an item of the scan, or a part of one. */
typedef struct Part {
    int32_t at;
    uint32_t parent;                /* a part; the item is its own */
    Operand key;
} Part;

typedef struct Walk {
    const Planner *p;
    uint32_t scan;                  /* its place */
    Part parts[PART_COUNT_MAX];
    uint32_t part_count;
    bool is_base;
} Walk;

/* --- what may stand between a scan and its test ------------------------------------------------------------------ */

/* They hold or fail for any two values, and fail in no other way. */
static bool is_comparison(const Builtin *builtin)
{
    static const char *const signs[] = { "<", "<=", ">", ">=", "!=" };
    for (size_t i = 0; builtin->infix && i < sizeof signs / sizeof *signs; i++)
        if (!strcmp(builtin->infix, signs[i])) return true;
    return false;
}

/* Neither an answer nor an error is lost where such an instruction is left out, or is made earlier. */
static bool is_plain(const Op *op)
{
    static const bool plain[OP_COUNT] = {
        [OP_COPY] = true,  [OP_INPUT] = true, [OP_DATA] = true,     [OP_GET] = true,
        [OP_EQUAL] = true, [OP_TRUE] = true,  [OP_IS_ARRAY] = true, [OP_IS_OBJECT] = true, [OP_IS_LIKE] = true,
    };
    return plain[op->code] || (op->code == OP_BUILTIN && is_comparison(op->builtin));
}

/* The first instruction behind the scan that is not plain, or a bound. */
static uint32_t plain_end(const Planner *p, uint32_t scan)
{
    uint32_t at = scan + 1;
    while (at < p->op_count && at - scan <= WALK_COUNT_MAX && is_plain(&p->ops[at])) at++;
    return at;
}

/* Known before the scan: no instruction from it up to `to` writes it. */
static bool is_known(const Planner *p, Operand operand, uint32_t scan, uint32_t to)
{
    if (operand < 0) return true;
    const Op *op = &p->ops[scan];
    if (op->b == operand || op->c == operand) return false;
    for (; op < &p->ops[to]; op++)
        if (op->dst == operand) return false;
    return true;
}

/* --- what does not change during a scan -------------------------------------------------------------------------- */

static bool can_move(const Planner *p, uint32_t scan, uint32_t at)
{
    const Op *op = &p->ops[at];
    if (op->scope && op->scope != p->ops[scan].scope) return false;     /* a `with` that may be made behind it */
    if (op->code == OP_INPUT || op->code == OP_DATA) return true;
    return op->code == OP_GET && is_known(p, op->a, scan, at) && is_known(p, op->b, scan, at);
}

static void move_before(Planner *p, uint32_t scan, uint32_t at)
{
    Op op = p->ops[at];
    op.fail = p->ops[scan].fail;
    memmove(&p->ops[scan + 1], &p->ops[scan], (at - scan) * sizeof op);
    p->ops[scan] = op;
    /* The scan has moved by one; up to the next choice point, and that one too, all go back to it. */
    for (uint32_t i = scan + 1; i < p->op_count; i++) {
        if (p->ops[i].fail == scan) p->ops[i].fail = scan + 1;
        if (i > at && (p->ops[i].code == OP_SCAN || p->ops[i].code == OP_TREE_SCAN)) break;
    }
}

/* Reads once what would be read for each item. */
static void reads_move(Planner *p, uint32_t scan)
{
    for (uint32_t at = scan + 1; at < plain_end(p, scan); at++)
        if (can_move(p, scan, at)) move_before(p, scan++, at);
}

/* --- tests ------------------------------------------------------------------------------------------------------- */

static bool part_find(const Walk *walk, Operand operand, uint32_t *out_part)
{
    for (uint32_t i = 0; i < walk->part_count; i++) {
        if (walk->parts[i].at != operand) continue;
        *out_part = i;
        return true;
    }
    return false;
}

static void part_add(Walk *walk, int32_t at, uint32_t parent, Operand key)
{
    if (walk->part_count < PART_COUNT_MAX) walk->parts[walk->part_count++] = (Part){ at, parent, key };
}

static void part_follow(Walk *walk, const Op *op)
{
    uint32_t parent;
    if (!part_find(walk, op->a, &parent)) return;
    if (op->code == OP_COPY) {
        Part same = walk->parts[parent];
        part_add(walk, op->dst, same.parent, same.key);
    } else if (op->code == OP_GET && op->b < 0) {
        if (walk->part_count == 1) walk->is_base = op->is_base;
        if (op->is_base == walk->is_base) part_add(walk, op->dst, parent, op->b);
    }
}

static bool path_make(const Walk *walk, uint32_t part, ScanPath *out_path)
{
    uint32_t count = 0;
    for (uint32_t i = part; walk->parts[i].key < 0; i = walk->parts[i].parent) count++;
    if (count > PATH_COUNT_MAX) return false;
    Value *keys = ARENA_ARRAY(walk->p->arena, Value, count + 1u);
    for (uint32_t i = part, k = count; k-- > 0; i = walk->parts[i].parent)
        keys[k] = walk->p->consts[~walk->parts[i].key];
    *out_path = (ScanPath){ keys, count, walk->is_base };
    return true;
}

/* One side is a part of the item, the other one is known. */
static bool test_read(const Walk *walk, const Op *op, uint32_t at, uint32_t *out_part, Operand *out_wanted)
{
    for (uint32_t side = 0; side < 2; side++) {
        Operand tested = side ? op->b : op->a, wanted = side ? op->a : op->b;
        if (!part_find(walk, tested, out_part) || !is_known(walk->p, wanted, walk->scan, at)) continue;
        *out_wanted = wanted;
        return true;
    }
    return false;
}

/* The test that leaves the fewest items, most likely: one with a value that varies rather than with a constant. */
static bool test_find(Walk *walk, uint32_t *out_part, Operand *out_wanted)
{
    const Planner *p = walk->p;
    bool has_test = false;
    for (uint32_t at = walk->scan + 1, end = plain_end(p, walk->scan); at < end; at++) {
        const Op *op = &p->ops[at];
        uint32_t part;
        Operand wanted;
        part_follow(walk, op);
        if (op->code != OP_EQUAL || !test_read(walk, op, at, &part, &wanted)) continue;
        if (has_test && wanted < 0) continue;
        *out_part = part;
        *out_wanted = wanted;
        if (wanted >= 0) return true;
        has_test = true;
    }
    return has_test;
}

/* --- indexes of base data ---------------------------------------------------------------------------------------- */

static const Value *container_known(const Planner *p, uint32_t scan)
{
    Operand container = p->ops[scan].a;
    if (container < 0) return &p->consts[~container];
    for (uint32_t at = scan; at-- > 0 && scan - at <= WALK_COUNT_MAX;)
        if (p->ops[at].dst == container) return p->ops[at].code == OP_DATA ? p->ops[at].value : NULL;
    return NULL;
}

static bool is_container(Value value)
{
    return value.kind == VALUE_ARRAY || value.kind == VALUE_OBJECT || value.kind == VALUE_SET;
}

/* The policy's own indexes are shared by its rules and queries. */
static const ScanIndex *index_of(const Planner *p, Value container, ScanPath path)
{
    const RegoPolicy *policy = p->names->policy;
    for (size_t i = 0; i < policy->scans.count; i++) {
        const ScanIndex *index = policy->scans.items[i];
        if (scan_index_is_of(index, container) && scan_path_equals(index->path, path)) return index;
    }
    return NULL;
}

static const ScanIndex *index_make(const Planner *p, Value container, ScanPath path)
{
    Arena *arena = p->arena;
    RegoPolicy *policy = p->names->policy;
    bool is_rule = arena == &policy->arena;         /* a query must not write to its policy */
    size_t size = scan_index_size(container.count);
    if (size > REGO_SCAN_INDEX_SIZE_MAX - (is_rule ? policy->scans.size : 0)) return NULL;
    ScanIndex *index = ARENA_NEW(arena, ScanIndex);
    scan_index_make(container, path, arena_alloc(arena, size), index);
    if (!is_rule) return index;
    ScanList *list = &policy->scans;
    list->items = arena_grow(arena, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = index;
    list->size += size;
    return index;
}

static const ScanIndex *base_index(const Planner *p, uint32_t scan, ScanPath path)
{
    const Value *container = container_known(p, scan);
    if (!container || !is_container(*container) || container->count < SCAN_INDEX_COUNT_MIN) return NULL;
    const ScanIndex *index = index_of(p, *container, path);
    return index ? index : index_make(p, *container, path);
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static void scan_plan(Planner *p, uint32_t scan)
{
    Op *op = &p->ops[scan];
    Walk walk = { .p = p, .scan = scan, .parts = { { .at = op->dst } }, .part_count = 1 };
    uint32_t part;
    Operand wanted;
    ScanPath path;
    if (!test_find(&walk, &part, &wanted) || !path_make(&walk, part, &path)) return;
    ScanTest *test = ARENA_NEW(p->arena, ScanTest);
    *test = (ScanTest){ .path = path, .wanted = wanted, .number = p->scan_count++,
                        .base = base_index(p, scan, path) };
    op->test = test;
}

void plan_scans(Planner *p)
{
    if (p->names->policy->options.instrument) return;      /* whoever watches wants to see every item tried */
    for (uint32_t at = (uint32_t)p->op_count; at-- > 0;)
        if (p->ops[at].code == OP_SCAN) reads_move(p, at);
    for (uint32_t at = 0; at < p->op_count; at++)
        if (p->ops[at].code == OP_SCAN) scan_plan(p, at);
}
