#include "rego/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/number.h"

#define BUILTIN_HEIGHT 2u       /* containers that a builtin may put around its arguments */

/* Makes instructions of one unit, block by block. */
typedef struct Planner {
    const Names *names;
    Arena *arena;
    const FlatUnit *unit;
    uint8_t *bound;             /* by variable */
    uint32_t *log;              /* variables in the order in which they were bound */
    size_t log_count, log_capacity;
    uint8_t *with_made;         /* by FlatWith */
    Value *consts;
    size_t const_count, const_capacity;
    RegoLoc *locs;
    uint32_t *places;
    size_t loc_count, loc_capacity, place_capacity;
    uint32_t register_count;
    Op *ops;                    /* of the block under way */
    size_t op_count, op_capacity;
    uint32_t choice;            /* the nearest choice point of that block */
    uint16_t scope;
    uint32_t place;             /* last one that was marked */
    uint32_t *heights;          /* by register: how many containers its value has around what came from outside, at most */
    size_t height_capacity;
    uint32_t height_max;        /* of what was yielded */
} Planner;

/* --- small parts ------------------------------------------------------------------------------------------------- */

static int32_t register_new(Planner *p, uint32_t count)
{
    int32_t first = (int32_t)p->register_count;
    p->register_count += count;
    if (p->register_count > REGO_REGISTER_COUNT_MAX) {
        if (!p->names->errors->count)
            rego_errors_add(p->names->errors, REGO_ERROR_COMPILE, p->names->file, (RegoLoc){ 0 },
                            "a rule needs more than REGO_REGISTER_COUNT_MAX (%u) values", REGO_REGISTER_COUNT_MAX);
        p->register_count = (uint32_t)p->unit->var_count;       /* what is made now is never run */
    }
    return first;
}

/* --- how deep values get ------------------------------------------------------------------------------------------ */

static uint32_t height_of(const Planner *p, Operand operand)
{
    return operand >= 0 && (size_t)operand < p->height_capacity ? p->heights[operand] : 0;
}

/* Rules are planned behind those they need, so the bound holds for the whole policy. Recursion over values relies on it. */
static void height_set(Planner *p, int32_t dst, uint32_t height)
{
    if (!height) return;
    if ((size_t)dst >= p->height_capacity) {
        size_t capacity = 2 * (size_t)dst + 16;
        uint32_t *heights = ARENA_ARRAY(p->arena, uint32_t, capacity);
        if (p->height_capacity) memcpy(heights, p->heights, p->height_capacity * sizeof *heights);
        p->heights = heights;
        p->height_capacity = capacity;
    }
    if (height > REGO_HEIGHT_MAX) {
        height = REGO_HEIGHT_MAX;
        if (!p->names->errors->count)
            rego_errors_add(p->names->errors, REGO_ERROR_COMPILE, p->names->file, p->locs[p->loc_count - 1],
                            "this value may have more than REGO_HEIGHT_MAX (%u) containers inside one another",
                            REGO_HEIGHT_MAX);
    }
    if (height > p->heights[dst]) p->heights[dst] = height;
}

static uint32_t height_highest(const Planner *p, const Operand *operands, uint32_t count)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (height_of(p, operands[i]) > highest) highest = height_of(p, operands[i]);
    return highest;
}

static Operand const_operand(Planner *p, Value value)
{
    p->consts = arena_grow(p->arena, p->consts, sizeof *p->consts, p->const_count, &p->const_capacity);
    p->consts[p->const_count] = value;
    return ~(Operand)p->const_count++;
}

static Op *emit(Planner *p, OpCode code)
{
    p->ops = arena_grow(p->arena, p->ops, sizeof *p->ops, p->op_count, &p->op_capacity);
    Op *op = &p->ops[p->op_count++];
    *op = (Op){ .code = (uint8_t)code, .scope = p->scope, .fail = p->choice, .dst = -1, .a = -1, .b = -1, .c = -1,
                .row = (uint32_t)p->loc_count - 1 };
    return op;
}

static Op *emit_choice(Planner *p, OpCode code)
{
    Op *op = emit(p, code);
    p->choice = (uint32_t)p->op_count - 1;
    return op;
}

static void loc_begin(Planner *p, RegoLoc loc, uint32_t place)
{
    p->locs = arena_grow(p->arena, p->locs, sizeof *p->locs, p->loc_count, &p->loc_capacity);
    if (p->place_capacity != p->loc_capacity) {
        uint32_t *places = ARENA_ARRAY(p->arena, uint32_t, p->loc_capacity);
        if (p->loc_count) memcpy(places, p->places, p->loc_count * sizeof *places);
        p->places = places;
        p->place_capacity = p->loc_capacity;
    }
    p->places[p->loc_count] = place;
    p->locs[p->loc_count++] = loc;
}

static void var_bind(Planner *p, uint32_t var)
{
    if (p->bound[var]) return;
    p->bound[var] = 1;
    p->log = arena_grow(p->arena, p->log, sizeof *p->log, p->log_count, &p->log_capacity);
    p->log[p->log_count++] = var;
}

static bool term_is_bound(const Planner *p, const FlatTerm *term)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_VAR: return p->bound[term->var];
    case FLAT_REF:
    case FLAT_ARRAY:
    case FLAT_SET:
    case FLAT_OBJECT:
        for (uint32_t i = 0; i < term->count; i++)
            if (!term_is_bound(p, term->items[i])) return false;
        return true;
    case FLAT_CONST:
    case FLAT_INPUT:
    case FLAT_DATA:
    case FLAT_COMPREHENSION: return true;
    }
    return true;
}

static bool term_is_value(const Planner *p, const FlatTerm *term)
{
    return term->kind == FLAT_REF || term->kind == FLAT_COMPREHENSION || term_is_bound(p, term);
}

/* The usual step: a name in an object whose keys are all names. */
static const Value *member_by_name(const Value *object, Value key)
{
    uint32_t low = 0, high = object->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const Member *member = &object->members[middle];
        if (member->key.kind != VALUE_STRING) return value_lookup(*object, key);
        uint32_t size = member->key.count < key.count ? member->key.count : key.count;
        int order = memcmp(member->key.text, key.text, size);
        if (order == 0 && member->key.count == key.count) return &member->value;
        if (order < 0 || (order == 0 && member->key.count < key.count)) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

const Value *plan_step(const Value *container, Value key)
{
    switch ((ValueKind)container->kind) {
    case VALUE_OBJECT:
        return key.kind == VALUE_STRING && key.count ? member_by_name(container, key) : value_lookup(*container, key);
    case VALUE_ARRAY: {
        int64_t index;
        if (!value_is_number(key) || !number_to_int64(key, &index)) return NULL;
        return index >= 0 && index < container->count ? &container->items[index] : NULL;
    }
    case VALUE_SET: {
        uint32_t low = 0, high = container->count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            int order = value_compare(container->items[middle], key);
            if (order == 0) return &container->items[middle];
            if (order < 0) low = middle + 1;
            else high = middle;
        }
        return NULL;
    }
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_DECIMAL:
    case VALUE_STRING: return NULL;
    }
    return NULL;
}

/* Base data is addressed by paths, whose keys are texts: data.a[2] is also the member "2", data.b["1"] also an item. */
const Value *plan_step_base(const Value *container, Value key)
{
    const Value *found = plan_step(container, key);
    if (found) return found;
    if (container->kind == VALUE_OBJECT && key.kind == VALUE_INT) {
        char storage[24];
        Buf buf = buf_on(storage, sizeof storage);
        buf_i64(&buf, key.integer);
        return value_get(*container, buf_peek(&buf));
    }
    uint64_t index;
    if (container->kind == VALUE_ARRAY && key.kind == VALUE_STRING && str_to_u64(value_text(key), &index)
        && index < container->count)
        return &container->items[index];
    return NULL;
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static Operand plan_term(Planner *p, const FlatTerm *term, int32_t target);
static void plan_match(Planner *p, Operand value, const FlatTerm *pattern);
static void plan_stmts(Planner *p, const FlatBlock *block);

static Operand plan_items(Planner *p, const FlatTerm *term, int32_t target)
{
    Operand *operands = ARENA_ARRAY(p->arena, Operand, term->count + 1u);
    for (uint32_t i = 0; i < term->count; i++) operands[i] = plan_term(p, term->items[i], -1);
    int32_t dst = target >= 0 ? target : register_new(p, 1);
    Op *op = emit(p, term->kind == FLAT_ARRAY ? OP_ARRAY : term->kind == FLAT_SET ? OP_SET : OP_OBJECT);
    op->dst = dst;
    op->operands = operands;
    op->count = term->count;
    height_set(p, dst, 1 + height_highest(p, operands, term->count));
    return dst;
}

/* A nested block, which yields key and value where they are given. What it binds is forgotten behind it. */
static const Block *block_of(Planner *p, const FlatBlock *flat, const FlatTerm *key, const FlatTerm *value)
{
    Planner outer = *p;
    p->ops = NULL;
    p->op_count = p->op_capacity = 0;
    p->choice = OP_NO_CHOICE;
    plan_stmts(p, flat);
    Operand *operands = ARENA_ARRAY(p->arena, Operand, 2);
    uint32_t count = 0;
    if (key) operands[count++] = plan_term(p, key, -1);
    if (value) operands[count++] = plan_term(p, value, -1);
    Op *op = emit(p, OP_YIELD);
    op->operands = operands;
    op->count = count;
    p->height_max = height_highest(p, operands, count);
    Block *block = ARENA_NEW(p->arena, Block);
    *block = (Block){ p->ops, (uint32_t)p->op_count };
    while (p->log_count > outer.log_count) p->bound[p->log[--p->log_count]] = 0;
    p->ops = outer.ops;
    p->op_count = outer.op_count;
    p->op_capacity = outer.op_capacity;
    p->choice = outer.choice;
    p->scope = outer.scope;
    p->place = outer.place;
    return block;
}

static Operand plan_comprehension(Planner *p, const FlatTerm *term, int32_t target)
{
    const Block *block = block_of(p, term->block, term->block->key, term->block->value);
    uint32_t height = 1 + p->height_max;
    Op *op = emit(p, OP_COLLECT);
    op->dst = target >= 0 ? target : register_new(p, 1);
    height_set(p, op->dst, height);
    op->c = term->flavour;
    op->block = block;
    return op->dst;
}

/* The steps of a reference behind its head. */
static Operand plan_steps(Planner *p, const FlatTerm *ref, uint32_t from, Operand at, int32_t target, bool is_base)
{
    for (uint32_t i = from; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        int32_t dst = i + 1 == ref->count && target >= 0 ? target : register_new(p, 1);
        if (term_is_bound(p, item)) {
            Operand key = plan_term(p, item, -1);
            Op *op = emit(p, OP_GET);
            op->dst = dst;
            op->a = at;
            op->b = key;
            op->is_base = is_base;
        } else {
            int32_t key = item->kind == FLAT_VAR ? (int32_t)item->var : register_new(p, 1);
            int32_t place = register_new(p, 1);
            Op *op = emit_choice(p, OP_SCAN);
            op->dst = dst;
            op->a = at;
            op->b = place;
            op->c = key;
            height_set(p, key, height_of(p, at));
            if (item->kind == FLAT_VAR) var_bind(p, item->var);
            else plan_match(p, key, item);
        }
        height_set(p, dst, height_of(p, at));
        at = dst;
    }
    return at;
}

/* Steps through nodes that are packages: what lies there is known at run time alone. */
static Operand plan_tree_steps(Planner *p, const FlatTerm *ref, uint32_t from, const TreeNode *node, int32_t target)
{
    int32_t at = register_new(p, 2);
    Op *enter = emit(p, OP_TREE_ENTER);
    enter->dst = at;
    enter->node = (TreeNode *)node;
    Value *keys = ARENA_ARRAY(p->arena, Value, node->depth + 1u);
    for (const TreeNode *n = node; n->parent; n = n->parent) keys[n->depth - 1] = n->key;
    enter->keys = keys;
    enter->count = node->depth;
    for (uint32_t i = from; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        int32_t dst = register_new(p, 2);
        if (term_is_bound(p, item)) {
            Operand key = plan_term(p, item, -1);
            Op *op = emit(p, OP_TREE_GET);
            op->dst = dst;
            op->a = at;
            op->b = key;
        } else {
            int32_t key = item->kind == FLAT_VAR ? (int32_t)item->var : register_new(p, 1);
            int32_t place = register_new(p, 2);
            Op *op = emit_choice(p, OP_TREE_SCAN);
            op->dst = dst;
            op->a = at;
            op->b = place;
            op->c = key;
            if (item->kind == FLAT_VAR) var_bind(p, item->var);
            else plan_match(p, key, item);
        }
        at = dst;
    }
    Op *op = emit(p, OP_TREE_VALUE);
    op->dst = target >= 0 ? target : register_new(p, 1);
    op->a = at;
    height_set(p, op->dst, p->names->policy->height_max);
    return op->dst;
}

static uint32_t const_run(const FlatTerm *ref, uint32_t from)
{
    uint32_t i = from;
    while (i < ref->count && ref->items[i]->kind == FLAT_CONST) i++;
    return i;
}

static const Value *keys_of(Planner *p, const FlatTerm *ref, uint32_t from, uint32_t to)
{
    Value *keys = ARENA_ARRAY(p->arena, Value, to - from + 1u);
    for (uint32_t i = from; i < to; i++) keys[i - from] = ref->items[i]->value;
    return keys;
}

static int32_t step_target(Planner *p, const FlatTerm *ref, uint32_t done, int32_t target)
{
    return done == ref->count && target >= 0 ? target : register_new(p, 1);
}

static Operand plan_input(Planner *p, const FlatTerm *ref, int32_t target)
{
    uint32_t to = const_run(ref, 1);
    int32_t dst = step_target(p, ref, to, target);
    const Value *keys = keys_of(p, ref, 1, to);
    Op *op = emit(p, OP_INPUT);
    op->dst = dst;
    op->keys = keys;
    op->count = to - 1;
    return plan_steps(p, ref, to, dst, target, false);
}

static const Value *base_value(const RegoPolicy *policy, const Value *keys, uint32_t count)
{
    const Value *at = &policy->data;
    for (uint32_t i = 0; at && i < count; i++) at = plan_step_base(at, keys[i]);
    return at;
}

static Operand plan_base(Planner *p, const FlatTerm *ref, int32_t target)
{
    uint32_t to = const_run(ref, 1);
    int32_t dst = step_target(p, ref, to, target);
    const Value *keys = keys_of(p, ref, 1, to);
    Op *op = emit(p, OP_DATA);
    op->dst = dst;
    op->keys = keys;
    op->count = to - 1;
    op->value = base_value(p->names->policy, keys, to - 1);
    return plan_steps(p, ref, to, dst, target, true);
}

static Operand plan_group(Planner *p, const FlatTerm *ref, uint32_t from, RuleGroup *group, int32_t target)
{
    bool by_key = from < ref->count && (group->kind == GROUP_SET || group->kind == GROUP_OBJECT)
               && term_is_bound(p, ref->items[from]);
    if (group->kind == GROUP_FUNCTION) {
        emit(p, OP_FAIL);
        return step_target(p, ref, ref->count, target);
    }
    Operand key = by_key ? plan_term(p, ref->items[from], -1) : 0;
    uint32_t done = by_key ? from + 1 : from;
    int32_t dst = step_target(p, ref, done, target);
    Op *op = emit(p, by_key ? OP_LOOKUP : OP_RULE);
    op->dst = dst;
    op->b = key;
    op->group = group;
    height_set(p, dst, group->height);
    return plan_steps(p, ref, done, dst, target, false);
}

static Operand plan_data(Planner *p, const FlatTerm *ref, int32_t target)
{
    const TreeNode *node = p->names->policy->root;
    uint32_t i = 1;
    for (; i < ref->count && !node->group; i++) {
        if (ref->items[i]->kind != FLAT_CONST) return plan_tree_steps(p, ref, i, node, target);
        const TreeNode *child = tree_child(node, ref->items[i]->value);
        if (!child) return plan_base(p, ref, target);
        node = child;
    }
    return node->group ? plan_group(p, ref, i, node->group, target) : plan_tree_steps(p, ref, i, node, target);
}

static Operand plan_ref(Planner *p, const FlatTerm *ref, int32_t target)
{
    const FlatTerm *head = ref->items[0];
    if (head->kind == FLAT_INPUT) return plan_input(p, ref, target);
    if (head->kind == FLAT_DATA) return plan_data(p, ref, target);
    return plan_steps(p, ref, 1, plan_term(p, head, -1), target, false);
}

/* The value of a term: where a target is given, in that register if it is not a known operand already. */
static Operand plan_term(Planner *p, const FlatTerm *term, int32_t target)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST: return const_operand(p, term->value);
    case FLAT_VAR: return (Operand)term->var;
    case FLAT_REF: return plan_ref(p, term, target);
    case FLAT_ARRAY:
    case FLAT_SET:
    case FLAT_OBJECT: return plan_items(p, term, target);
    case FLAT_COMPREHENSION: return plan_comprehension(p, term, target);
    case FLAT_INPUT:
    case FLAT_DATA: break;
    }
    check_failed("a term of a plan", __FILE__, __LINE__);
}

/* --- matching ---------------------------------------------------------------------------------------------------- */

static void plan_equal(Planner *p, Operand a, Operand b)
{
    Op *op = emit(p, OP_EQUAL);
    op->a = a;
    op->b = b;
}

static void match_items(Planner *p, Operand value, const FlatTerm *pattern)
{
    bool is_object = pattern->kind == FLAT_OBJECT;
    Op *check = emit(p, is_object ? OP_IS_OBJECT : OP_IS_ARRAY);
    check->a = value;
    check->c = (int32_t)(is_object ? pattern->count / 2 : pattern->count);
    for (uint32_t i = 0; i < pattern->count; i += is_object ? 2 : 1) {
        Operand key = is_object ? plan_term(p, pattern->items[i], -1) : const_operand(p, value_int(i));
        const FlatTerm *item = pattern->items[is_object ? i + 1 : i];
        bool is_fresh = item->kind == FLAT_VAR && !p->bound[item->var];
        int32_t dst = is_fresh ? (int32_t)item->var : register_new(p, 1);
        Op *op = emit(p, OP_GET);
        op->dst = dst;
        op->a = value;
        op->b = key;
        height_set(p, dst, height_of(p, value));
        if (is_fresh) var_bind(p, item->var);
        else plan_match(p, dst, item);
    }
}

/* Compares a value with what is known of the pattern and binds the rest. */
static void plan_match(Planner *p, Operand value, const FlatTerm *pattern)
{
    if (pattern->kind == FLAT_VAR && !p->bound[pattern->var]) {
        Op *op = emit(p, OP_COPY);
        op->dst = (int32_t)pattern->var;
        op->a = value;
        height_set(p, op->dst, height_of(p, value));
        var_bind(p, pattern->var);
        return;
    }
    bool is_open = (pattern->kind == FLAT_ARRAY || pattern->kind == FLAT_OBJECT) && !term_is_bound(p, pattern);
    if (is_open) {
        match_items(p, value, pattern);
        return;
    }
    Operand other = plan_term(p, pattern, -1);
    plan_equal(p, value, other);
}

static void plan_unify(Planner *p, const FlatTerm *a, const FlatTerm *b);

static const FlatTerm *pair_value(const FlatTerm *object, const FlatTerm *key)
{
    for (uint32_t k = 0; k < object->count; k += 2) {
        const FlatTerm *other = object->items[k];
        if (key->kind == FLAT_CONST && other->kind == FLAT_CONST && value_equals(key->value, other->value))
            return object->items[k + 1];
        if (key->kind == FLAT_VAR && other->kind == FLAT_VAR && key->var == other->var) return object->items[k + 1];
    }
    return NULL;
}

static bool is_unbound_var(const Planner *p, const FlatTerm *term)
{
    return term->kind == FLAT_VAR && !p->bound[term->var];
}

/* Two containers, each with unknown variables: item by item, those first that have a known side. */
static void unify_items(Planner *p, const FlatTerm *a, const FlatTerm *b)
{
    if (a->kind != b->kind || a->count != b->count) {
        emit(p, OP_FAIL);
        return;
    }
    uint32_t step = a->kind == FLAT_OBJECT ? 2 : 1, left = a->count / step;
    uint8_t *done = ARENA_ARRAY(p->arena, uint8_t, a->count + 1u);
    for (bool progress = true; progress && left;) {
        progress = false;
        for (uint32_t i = step - 1; i < a->count; i += step) {
            if (done[i]) continue;
            const FlatTerm *x = a->items[i], *y = step == 1 ? b->items[i] : pair_value(b, a->items[i - 1]);
            if (!y) {
                emit(p, OP_FAIL);
                return;
            }
            if (is_unbound_var(p, x) && !term_is_value(p, y)) continue;
            if (is_unbound_var(p, y) && !term_is_value(p, x)) continue;
            plan_unify(p, x, y);
            done[i] = 1;
            left--;
            progress = true;
        }
    }
}

static void plan_unify(Planner *p, const FlatTerm *a, const FlatTerm *b)
{
    if (!term_is_value(p, a)) {
        if (!term_is_value(p, b)) {
            unify_items(p, a, b);
            return;
        }
        const FlatTerm *other = a;
        a = b;
        b = other;
    }
    /* a is a value now; the answer goes straight to where it is wanted. */
    if (b->kind == FLAT_REF && a->kind == FLAT_REF && term_is_bound(p, b) && !term_is_bound(p, a)) {
        Operand known = plan_term(p, b, -1);
        plan_equal(p, plan_term(p, a, -1), known);
        return;
    }
    bool is_fresh = is_unbound_var(p, b);
    Operand value = plan_term(p, a, is_fresh ? (int32_t)b->var : -1);
    if (is_fresh && value == (Operand)b->var) var_bind(p, b->var);
    else plan_match(p, value, b);
}

/* --- statements -------------------------------------------------------------------------------------------------- */

static void plan_with(Planner *p, uint32_t with)
{
    if (!with || p->with_made[with]) return;
    const FlatWith *flat = &p->unit->withs[with];
    plan_with(p, flat->parent);
    p->with_made[with] = 1;
    p->scope = (uint16_t)flat->parent;
    WithTarget *targets = ARENA_ARRAY(p->arena, WithTarget, flat->count + 1u);
    for (uint32_t i = 0; i < flat->count; i++) {
        const FlatTarget *source = &flat->targets[i];
        WithTarget target = { .kind = source->kind, .path = source->path, .path_count = source->path_count,
                              .builtin = source->builtin, .by_builtin = source->by_builtin, .group = source->group,
                              .by_group = source->by_group };
        if (source->kind == FLAT_TARGET_DATA) {
            const TreeNode *node = p->names->policy->root;
            for (uint32_t k = 0; node && k < source->path_count; k++) node = tree_child(node, source->path[k]);
            target.node = node;
        }
        if (source->value) target.value = plan_term(p, source->value, -1);
        targets[i] = target;
    }
    Op *op = emit(p, OP_WITH);
    op->c = (int32_t)with;
    op->targets = targets;
    op->count = flat->count;
}

static void plan_call(Planner *p, const FlatStmt *stmt)
{
    Operand *operands = ARENA_ARRAY(p->arena, Operand, stmt->arg_count + 1u);
    for (uint32_t i = 0; i < stmt->arg_count; i++) operands[i] = plan_term(p, stmt->args[i], -1);
    bool is_relation = stmt->builtin && (stmt->builtin->flags & BUILTIN_RELATION);
    bool is_fresh = stmt->out && is_unbound_var(p, stmt->out);
    int32_t dst = is_fresh && !is_relation ? (int32_t)stmt->out->var : register_new(p, 1);
    Op *op = emit(p, stmt->builtin ? OP_BUILTIN : OP_CALL);
    op->dst = dst;
    op->operands = operands;
    op->count = stmt->arg_count;
    op->is_relation = is_relation;
    if (stmt->builtin) op->builtin = stmt->builtin;
    else op->group = stmt->group;
    uint32_t height = height_highest(p, operands, stmt->arg_count);
    height += stmt->group ? stmt->group->height : height ? BUILTIN_HEIGHT : 0;
    height_set(p, dst, height);
    if (is_relation) {
        int32_t key = register_new(p, 3);
        Op *scan = emit_choice(p, OP_SCAN);
        scan->a = dst;
        scan->c = key;
        scan->b = key + 1;
        scan->dst = dst = is_fresh ? (int32_t)stmt->out->var : key + 2;
        height_set(p, dst, height);
    }
    if (is_fresh) {
        var_bind(p, stmt->out->var);
    } else if (stmt->out) {
        plan_match(p, dst, stmt->out);
    } else {
        emit(p, OP_TRUE)->a = dst;
    }
}

static void plan_every(Planner *p, const FlatStmt *stmt)
{
    Operand domain = plan_term(p, stmt->a, -1);
    size_t log = p->log_count;
    int32_t registers[2] = { -1, -1 };
    for (uint32_t i = 0; i < 2; i++) {
        if (!stmt->args[i]) continue;
        registers[i] = (int32_t)stmt->args[i]->var;
        height_set(p, registers[i], height_of(p, domain));
        var_bind(p, stmt->args[i]->var);
    }
    const Block *block = block_of(p, stmt->block, NULL, NULL);
    while (p->log_count > log) p->bound[p->log[--p->log_count]] = 0;
    Op *op = emit(p, OP_EVERY);
    op->a = domain;
    op->b = registers[0];
    op->c = registers[1];
    op->block = block;
}

static void plan_note(Planner *p, const FlatStmt *stmt)
{
    if (!stmt->a && !p->names->policy->options.keep_print) return;
    uint32_t count = stmt->a ? 1 : stmt->arg_count;
    Operand *operands = ARENA_ARRAY(p->arena, Operand, count + 1u);
    for (uint32_t i = 0; i < count; i++) operands[i] = plan_term(p, stmt->a ? stmt->a : stmt->args[i], -1);
    Op *op = emit(p, OP_NOTE);
    op->operands = operands;
    op->count = count;
    op->is_text = stmt->a != NULL;
}

static void plan_nested(Planner *p, const FlatStmt *stmt)
{
    const Block *block = block_of(p, stmt->block, NULL, NULL);
    const Block *other = stmt->other ? block_of(p, stmt->other, NULL, NULL) : NULL;
    Op *op = emit(p, stmt->kind == FLAT_NOT ? OP_NOT : stmt->kind == FLAT_EITHER ? OP_EITHER : OP_EXISTS);
    op->block = block;
    if (stmt->kind == FLAT_EITHER) op->other = other;
    if (stmt->kind == FLAT_BOTH) emit(p, OP_EXISTS)->block = other;
}

static void plan_stmt(Planner *p, const FlatStmt *stmt)
{
    switch ((FlatStmtKind)stmt->kind) {
    case FLAT_TEST: {
        Operand value = plan_term(p, stmt->a, -1);
        emit(p, OP_TRUE)->a = value;
        break;
    }
    case FLAT_UNIFY: plan_unify(p, stmt->a, stmt->b); break;
    case FLAT_EQUAL: {
        /* Both have to be defined; a known side is compared as soon as possible. */
        Operand a = plan_term(p, stmt->a, -1);
        Operand b = plan_term(p, stmt->b, -1);
        plan_equal(p, a, b);
        break;
    }
    case FLAT_CALL: plan_call(p, stmt); break;
    case FLAT_NOT:
    case FLAT_BOTH:
    case FLAT_EITHER: plan_nested(p, stmt); break;
    case FLAT_EVERY: plan_every(p, stmt); break;
    case FLAT_NOTE: plan_note(p, stmt); break;
    }
}

static void plan_stmts(Planner *p, const FlatBlock *block)
{
    for (size_t i = 0; i < block->count; i++) {
        const FlatStmt *stmt = block->stmts[i];
        uint16_t scope = p->scope;
        loc_begin(p, stmt->loc, stmt->place);
        if (stmt->place && stmt->place != p->place) {
            emit(p, OP_MARK)->c = (int32_t)stmt->place - 1;
            p->place = stmt->place;
        }
        plan_with(p, stmt->with);
        p->scope = (uint16_t)stmt->with;
        plan_stmt(p, stmt);
        p->scope = scope;
    }
}

/* --- rules and queries ------------------------------------------------------------------------------------------- */

static void planner_begin(Planner *p, const Names *names, const FlatUnit *unit)
{
    *p = (Planner){ .names = names, .arena = names->arena, .unit = unit, .choice = OP_NO_CHOICE };
    p->bound = ARENA_ARRAY(p->arena, uint8_t, unit->var_count + 1);
    p->with_made = ARENA_ARRAY(p->arena, uint8_t, unit->with_count + 1);
    p->register_count = (uint32_t)unit->var_count;
    loc_begin(p, (RegoLoc){ 0 }, 0);
    if (unit->with_count > UINT16_MAX)
        rego_errors_add(names->errors, REGO_ERROR_COMPILE, names->file, (RegoLoc){ 0 }, "a rule has more than %u `with`",
                        UINT16_MAX);
}

static Unit planner_end(const Planner *p)
{
    return (Unit){ .file = p->names->file, .consts = p->consts, .locs = p->locs, .places = p->places,
                   .register_count = p->register_count + 1,
                   .scope_count = p->unit->with_count ? (uint32_t)p->unit->with_count : 1 };
}

/* `key` >= 0: a register that the first yield has to be equal to; what is bound by that is a check in the body. */
static Block plan_branch(Planner *p, const FlatRule *flat, const FlatBranch *branch, FlatTerm *const *yields, uint32_t count,
                         int32_t key)
{
    p->ops = NULL;
    p->op_count = p->op_capacity = 0;
    p->choice = OP_NO_CHOICE;
    p->log_count = 0;
    p->place = 0;
    memset(p->bound, 0, p->unit->var_count);
    for (uint32_t i = 0; i < flat->arg_count; i++) p->bound[i] = 1;
    for (uint32_t i = 0; i < flat->arg_count; i++)
        if (flat->args[i]) plan_match(p, (Operand)i, flat->args[i]);
    if (key >= 0) plan_match(p, key, yields[0]);
    plan_stmts(p, &branch->block);
    Operand *operands = ARENA_ARRAY(p->arena, Operand, count + 1u);
    for (uint32_t i = 0; i < count; i++) operands[i] = plan_term(p, yields[i], -1);
    p->height_max = height_highest(p, operands, count);
    if (branch->place) emit(p, OP_MARK)->c = (int32_t)branch->place - 1;
    Op *op = emit(p, OP_YIELD);
    op->operands = operands;
    op->count = count;
    return (Block){ p->ops, (uint32_t)p->op_count };
}

static bool is_input_path(const FlatTerm *term)
{
    return term->kind == FLAT_REF && term->items[0]->kind == FLAT_INPUT && const_run(term, 1) == term->count;
}

/* A test of the body, which needs no other one to be made before it: such rules can be passed over without being run. */
static void plan_guard(Planner *p, const FlatRule *flat, PlanRule *rule)
{
    if (flat->branch_count != 1) return;
    const FlatBlock *block = &flat->branches[0].block;
    for (size_t i = 0; i < block->count; i++) {
        const FlatStmt *stmt = block->stmts[i];
        if ((stmt->kind != FLAT_EQUAL && stmt->kind != FLAT_UNIFY) || stmt->with) continue;
        const FlatTerm *ref = is_input_path(stmt->a) ? stmt->a : stmt->b, *other = ref == stmt->a ? stmt->b : stmt->a;
        if (!is_input_path(ref) || other->kind != FLAT_CONST) continue;
        rule->guard = (PlanGuard){ .is_present = true, .keys = keys_of(p, ref, 1, ref->count), .key_count = ref->count - 1,
                                   .value = other->value };
        return;
    }
}

void plan_rule(const Names *names, RuleGroup *group, const FlatRule *flat, PlanRule *out_rule)
{
    Planner p;
    planner_begin(&p, names, &flat->unit);
    bool has_lookup = (group->kind == GROUP_SET || group->kind == GROUP_OBJECT) && flat->branch_count == 1;
    out_rule->key_register = has_lookup ? register_new(&p, 1) : -1;
    out_rule->branches = ARENA_ARRAY(names->arena, PlanBranch, flat->branch_count);
    out_rule->branch_count = flat->branch_count;
    const RegoRule *rule = out_rule->source;
    for (uint32_t i = 0; i < flat->branch_count; i++, rule = rule->otherwise) {
        const FlatBranch *branch = &flat->branches[i];
        FlatTerm **yields = ARENA_ARRAY(names->arena, FlatTerm *, branch->path_count + 1u);
        if (branch->path_count) memcpy(yields, branch->path, branch->path_count * sizeof *yields);
        FlatTerm *value = branch->key ? branch->key : branch->value;
        yields[branch->path_count] = value;
        PlanBranch *planned = &out_rule->branches[i];
        memset(p.with_made, 0, flat->unit.with_count);
        planned->block = plan_branch(&p, flat, branch, yields, branch->path_count + 1, -1);
        planned->loc = rule->loc;
        uint32_t height = p.height_max + branch->path_count + (branch->key ? 1 : 0);
        if (height > group->height) group->height = height;
        if (height + 1 > names->policy->height_max) names->policy->height_max = height + 1;
        planned->is_constant = value->kind == FLAT_CONST;
        if (planned->is_constant) planned->constant = value->value;
        out_rule->path_count = branch->path_count;
        out_rule->is_set = branch->key != NULL;
        if (!has_lookup) continue;
        memset(p.with_made, 0, flat->unit.with_count);
        out_rule->lookup = plan_branch(&p, flat, branch, yields, branch->path_count + 1, out_rule->key_register);
    }
    plan_guard(&p, flat, out_rule);
    out_rule->unit = planner_end(&p);
}

/* --- which rules of a group may hold ----------------------------------------------------------------------------- */

static bool guards_share_path(const PlanGuard *a, const PlanGuard *b)
{
    if (!a->is_present || !b->is_present || a->key_count != b->key_count) return false;
    for (uint32_t i = 0; i < a->key_count; i++)
        if (!value_equals(a->keys[i], b->keys[i])) return false;
    return true;
}

static int row_order(const void *a, const void *b)
{
    const IndexRow *x = a, *y = b;
    int order = value_compare(x->value, y->value);
    return order ? order : x->rule < y->rule ? -1 : 1;
}

void plan_index(Arena *arena, RuleGroup *group)
{
    const PlanGuard *best = NULL;
    uint32_t best_count = INDEX_RULE_COUNT_MIN - 1;
    for (uint32_t i = 0; i < group->rule_count && i < INDEX_RULE_COUNT_MIN; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < group->rule_count; k++)
            count += guards_share_path(&group->rules[i].guard, &group->rules[k].guard);
        if (count <= best_count) continue;
        best = &group->rules[i].guard;
        best_count = count;
    }
    if (!best) return;
    RuleIndex *index = ARENA_NEW(arena, RuleIndex);
    index->guard = *best;
    index->rows = ARENA_ARRAY(arena, IndexRow, best_count);
    index->rest = ARENA_ARRAY(arena, uint32_t, group->rule_count + 1u);
    for (uint32_t i = 0; i < group->rule_count; i++) {
        if (guards_share_path(best, &group->rules[i].guard))
            index->rows[index->row_count++] = (IndexRow){ group->rules[i].guard.value, i };
        else index->rest[index->rest_count++] = i;
    }
    qsort(index->rows, index->row_count, sizeof *index->rows, row_order);
    group->rule_index = index;
}

void plan_query(const Names *names, const FlatRule *flat, FlatTerm *const *yields, uint32_t yield_count, Unit *out_unit,
                Block *out_block)
{
    Planner p;
    planner_begin(&p, names, &flat->unit);
    *out_block = plan_branch(&p, flat, &flat->branches[0], yields, yield_count, -1);
    *out_unit = planner_end(&p);
}
