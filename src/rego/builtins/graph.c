/* graph.c - what can be reached in a graph, and walk: every value inside a value. */
#include <stddef.h>

#include "rego/builtins/operand.h"

/* --- nodes ------------------------------------------------------------------------------------------------------- */

/* A graph is an object: from each node to the array or set of those its edges lead to. Anything else has no edges. */
static bool node_find(Value graph, Value node, uint32_t *out_index)
{
    const Value *edges = value_lookup(graph, node);
    if (!edges) return false;
    const char *member = (const char *)edges - offsetof(Member, value);
    *out_index = (uint32_t)((const Member *)(const void *)member - graph.members);
    return true;
}

static uint32_t edge_count(Value graph, uint32_t index)
{
    Value edges = graph.members[index].value;
    return edges.kind == VALUE_ARRAY || edges.kind == VALUE_SET ? edges.count : 0;
}

static bool read_operands(const Value *args, Error *err)
{
    static const OperandType array_or_set = { KIND(VALUE_ARRAY) | KIND(VALUE_SET), "{array, set}" };
    return operand_is(args, 0, &OPERAND_OBJECT, err) && operand_is(args, 1, &array_or_set, err);
}

/* --- reachable --------------------------------------------------------------------------------------------------- */

BuiltinResult builtin_graph_reachable(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!read_operands(args, err)) return BUILTIN_TYPE_ERROR;
    Value graph = args[0];
    bool *is_reached = builtin_alloc(context, graph.count, err);
    uint32_t *queue = is_reached ? BUILTIN_ARRAY(context, uint32_t, graph.count, err) : NULL;
    if (!queue) return BUILTIN_HALT;
    ValueList reached = { .arena = context->arena };
    uint32_t head = 0, tail = 0;
    for (Value nodes = args[1];; nodes = graph.members[queue[head++]].value) {
        bool has_nodes = nodes.kind == VALUE_ARRAY || nodes.kind == VALUE_SET;
        for (uint32_t i = 0; has_nodes && i < nodes.count; i++) {
            uint32_t index;
            if (!builtin_spend(context, 1, err)) return BUILTIN_HALT;
            if (!node_find(graph, nodes.items[i], &index) || is_reached[index]) continue;
            is_reached[index] = true;
            queue[tail++] = index;
            if (!builtin_list_add(context, &reached, nodes.items[i], err)) return BUILTIN_HALT;
        }
        if (head == tail) break;
    }
    return builtin_list_set(context, &reached, out_result, err);
}

/* --- paths ------------------------------------------------------------------------------------------------------- */

/* One node of the path under way, and which of its edges comes next. */
typedef struct Stop {
    Value name;
    uint32_t index, next;
} Stop;

typedef struct Paths {
    BuiltinContext *context;
    Error *err;
    Value graph;
    Stop *stops;
    size_t count, capacity;
    ValueList found;
} Paths;

static bool push_stop(Paths *paths, Value name, uint32_t index)
{
    if (!builtin_spend(paths->context, 1, paths->err)) return false;
    paths->stops = arena_grow(paths->context->arena, paths->stops, sizeof *paths->stops, paths->count,
                              &paths->capacity);
    paths->stops[paths->count++] = (Stop){ name, index, 0 };
    return true;
}

static bool record_path(Paths *paths)
{
    Value *names = BUILTIN_ARRAY(paths->context, Value, paths->count, paths->err);
    if (!names || !builtin_spend(paths->context, paths->count, paths->err)) return false;
    for (size_t i = 0; i < paths->count; i++) names[i] = paths->stops[i].name;
    return builtin_list_add(paths->context, &paths->found, value_array(names, (uint32_t)paths->count), paths->err);
}

/* A path does not come back to one of its nodes; only the first may follow itself, at once. */
static bool has_passed(const Paths *paths, uint32_t index)
{
    for (size_t i = 0; i < paths->count && paths->count > 1; i++)
        if (paths->stops[i].index == index) return true;
    return false;
}

/* Depth first, without recursion. A path ends where no edge leads on: at a node without edges, or with an edge that
 * leads out of the graph or back. */
static bool find_paths(Paths *paths)
{
    while (paths->count) {
        Stop *stop = &paths->stops[paths->count - 1];
        uint32_t edges = edge_count(paths->graph, stop->index);
        if (stop->next == edges) {
            if (edges == 0 && !record_path(paths)) return false;
            paths->count--;
            continue;
        }
        Value target = paths->graph.members[stop->index].value.items[stop->next++];
        uint32_t index;
        if (!builtin_spend(paths->context, 1 + paths->count / 16, paths->err)) return false;
        bool leads_on = node_find(paths->graph, target, &index) && !has_passed(paths, index);
        if (leads_on ? !push_stop(paths, target, index) : !record_path(paths)) return false;
    }
    return true;
}

BuiltinResult builtin_graph_reachable_paths(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!read_operands(args, err)) return BUILTIN_TYPE_ERROR;
    Paths paths = { .context = context, .err = err, .graph = args[0], .found = { .arena = context->arena } };
    for (uint32_t i = 0; i < args[1].count; i++) {
        uint32_t index;
        if (!node_find(args[0], args[1].items[i], &index)) continue;
        if (!push_stop(&paths, args[1].items[i], index) || !find_paths(&paths)) return BUILTIN_HALT;
    }
    return builtin_list_set(context, &paths.found, out_result, err);
}

/* --- walk -------------------------------------------------------------------------------------------------------- */

typedef struct Walk {
    BuiltinContext *context;
    Error *err;
    ValueList answers;
    ValueList path;
} Walk;

static bool walk_add(Walk *walk, Value value)
{
    size_t count = walk->path.count;
    Value *memory = BUILTIN_ARRAY(walk->context, Value, count + 2, walk->err);
    if (!memory) return false;
    for (size_t i = 0; i < count; i++) memory[2 + i] = walk->path.items[i];
    memory[0] = value_array(memory + 2, (uint32_t)count);
    memory[1] = value;
    return builtin_list_add(walk->context, &walk->answers, value_array(memory, 2), walk->err);
}

/* The value itself, then those inside it, with the keys, indexes or items that lead to each. */
static bool walk_value(Walk *walk, Value value)
{
    if (!walk_add(walk, value)) return false;
    bool is_list = value.kind == VALUE_ARRAY || value.kind == VALUE_SET;
    if (!is_list && value.kind != VALUE_OBJECT) return true;
    for (uint32_t i = 0; i < value.count; i++) {
        Value key = value.kind == VALUE_ARRAY ? value_int(i)
                  : value.kind == VALUE_SET   ? value.items[i] : value.members[i].key;
        value_list_add(&walk->path, key);
        bool goes_on = walk_value(walk, is_list ? value.items[i] : value.members[i].value);
        walk->path.count--;
        if (!goes_on) return false;
    }
    return true;
}

BuiltinResult builtin_walk(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Walk walk = { context, err, { .arena = context->arena }, { .arena = context->arena } };
    if (!walk_value(&walk, args[0])) return BUILTIN_HALT;
    *out_result = value_list_array(&walk.answers);
    return BUILTIN_OK;
}
