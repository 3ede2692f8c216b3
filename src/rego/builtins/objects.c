/* objects.c - object.get, keys, filter, remove, union, union_n and subset. */
#include <stdlib.h>

#include "rego/builtins/operand.h"
#include "value/number.h"

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* One step of a path: a key of an object, an index of an array, an item of a set. */
static const Value *child(const Value *value, const Value *key)
{
    int64_t index;
    if (value->kind == VALUE_OBJECT) return value_lookup(*value, *key);
    if (value->kind == VALUE_SET) return value_set_has(*value, *key) ? key : NULL;
    if (value->kind != VALUE_ARRAY || !value_is_number(*key) || !number_to_int64(*key, &index)) return NULL;
    return index >= 0 && index < value->count ? &value->items[index] : NULL;
}

/* An array as key is a path; it never means a key that is an array. */
BuiltinResult builtin_object_get(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    const Value *found = &args[0];
    if (args[1].kind == VALUE_ARRAY) {
        if (!builtin_spend(context, args[1].count, err)) return BUILTIN_HALT;
        for (uint32_t i = 0; i < args[1].count && found; i++) found = child(found, &args[1].items[i]);
    } else {
        found = value_lookup(args[0], args[1]);
    }
    *out_result = found ? *found : args[2];
    return BUILTIN_OK;
}

BuiltinResult builtin_object_keys(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    uint32_t count = args[0].count;
    if (!builtin_spend(context, count, err)) return BUILTIN_HALT;
    Value *items = BUILTIN_ARRAY(context, Value, count, err);
    if (!items) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++) items[i] = args[0].members[i].key;
    *out_result = (Value){ .kind = VALUE_SET, .count = count, .items = items };      /* keys lie sorted */
    return BUILTIN_OK;
}

/* --- choosing members -------------------------------------------------------------------------------------------- */

/* The keys named by an array, a set or the keys of an object, as a set. */
static BuiltinResult key_set(BuiltinContext *context, Value keys, Value *out_set, Error *err)
{
    if (keys.kind == VALUE_SET) {
        *out_set = keys;
        return BUILTIN_OK;
    }
    ValueList list = { .arena = context->arena };
    for (uint32_t i = 0; i < keys.count; i++) {
        Value key = keys.kind == VALUE_ARRAY ? keys.items[i] : keys.members[i].key;
        if (!builtin_list_add(context, &list, key, err)) return BUILTIN_HALT;
    }
    return builtin_list_set(context, &list, out_set, err);
}

static BuiltinResult choose(BuiltinContext *context, const Value *args, bool wanted, Value *out, Error *err)
{
    static const OperandType collection = { KIND(VALUE_ARRAY) | KIND(VALUE_OBJECT) | KIND(VALUE_SET),
                                            "one of {object, set, array}" };
    if (!operand_is(args, 0, &OPERAND_OBJECT, err) || !operand_is(args, 1, &collection, err))
        return BUILTIN_TYPE_ERROR;
    Value keys;
    BuiltinResult result = key_set(context, args[1], &keys, err);
    if (result) return result;
    if (!builtin_spend(context, args[0].count, err)) return BUILTIN_HALT;
    Member *members = BUILTIN_ARRAY(context, Member, args[0].count, err);
    if (!members) return BUILTIN_HALT;
    uint32_t count = 0;
    for (uint32_t i = 0; i < args[0].count; i++)
        if (value_set_has(keys, args[0].members[i].key) == wanted) members[count++] = args[0].members[i];
    *out = (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
    return BUILTIN_OK;
}

BuiltinResult builtin_object_filter(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return choose(context, args, true, out_result, err);
}

BuiltinResult builtin_object_remove(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return choose(context, args, false, out_result, err);
}

/* --- union ------------------------------------------------------------------------------------------------------- */

/* A member of one of several objects, and which one. */
typedef struct Ranked {
    Member member;
    uint32_t index;
} Ranked;

static int by_key_then_index(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    int order = value_compare(x->member.key, y->member.key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static BuiltinResult unite(BuiltinContext *context, const Value *objects, uint32_t count, Value *out, Error *err);

/* What stands under a key that several objects have: the last value, or the union of the objects at the end of the
 * row. */
static BuiltinResult unite_group(BuiltinContext *context, const Ranked *group, uint32_t count, Value *out, Error *err)
{
    uint32_t first = count;
    while (first && group[first - 1].member.value.kind == VALUE_OBJECT) first--;
    if (count - first < 2) {
        *out = group[count - 1].member.value;
        return BUILTIN_OK;
    }
    Value *objects = BUILTIN_ARRAY(context, Value, count - first, err);
    if (!objects) return BUILTIN_HALT;
    for (uint32_t i = first; i < count; i++) objects[i - first] = group[i].member.value;
    return unite(context, objects, count - first, out, err);
}

/* All members are sorted by key and, for each key, by object: so each is looked at once, however many objects there
 * are. */
static BuiltinResult unite(BuiltinContext *context, const Value *objects, uint32_t count, Value *out, Error *err)
{
    uint64_t total = 0, filled = 0;
    for (uint32_t i = 0; i < count; i++) total += objects[i].count;
    if (!builtin_spend(context, count + 2 * total, err)) return BUILTIN_HALT;
    Ranked *ranked = BUILTIN_ARRAY(context, Ranked, total, err);
    Member *members = ranked ? BUILTIN_ARRAY(context, Member, total, err) : NULL;
    if (!members) return BUILTIN_HALT;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < objects[i].count; j++) ranked[filled++] = (Ranked){ objects[i].members[j], i };
    if (count > 1) qsort(ranked, total, sizeof *ranked, by_key_then_index);

    uint32_t united = 0;
    for (uint64_t from = 0, to; from < total; from = to) {
        for (to = from + 1; to < total && value_equals(ranked[to].member.key, ranked[from].member.key);) to++;
        Member *member = &members[united++];
        member->key = ranked[from].member.key;
        BuiltinResult result = unite_group(context, ranked + from, (uint32_t)(to - from), &member->value, err);
        if (result) return result;
    }
    *out = (Value){ .kind = VALUE_OBJECT, .count = united, .members = members };
    return BUILTIN_OK;
}

BuiltinResult builtin_object_union(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_OBJECT, err) || !operand_is(args, 1, &OPERAND_OBJECT, err))
        return BUILTIN_TYPE_ERROR;
    return unite(context, args, 2, out_result, err);
}

BuiltinResult builtin_object_union_n(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_ARRAY, err)) return BUILTIN_TYPE_ERROR;
    for (uint32_t i = 0; i < args[0].count; i++)
        if (args[0].items[i].kind != VALUE_OBJECT)
            return operand_error(err, 0, "must be array of objects but got array containing %s",
                                 value_kind_name(args[0].items[i]));
    return unite(context, args[0].items, args[0].count, out_result, err);
}

/* --- subset ------------------------------------------------------------------------------------------------------ */

/* The walk spends as it goes; once the budget is spent it only finds its way out. */
typedef struct Search {
    BuiltinContext *context;
    Error *err;
    bool is_spent;
} Search;

static bool search_goes_on(Search *search, uint64_t count)
{
    search->is_spent = search->is_spent || !builtin_spend(search->context, 2 * count, search->err);
    return !search->is_spent;
}

static bool object_holds(Search *search, Value object, Value part);

static bool set_holds(Search *search, Value set, Value part)
{
    if (!search_goes_on(search, part.count)) return false;
    for (uint32_t i = 0; i < part.count; i++)
        if (!value_set_has(set, part.items[i])) return false;
    return true;
}

/* The part lies in the array without gaps. */
static bool array_holds(Search *search, Value array, Value part)
{
    for (uint32_t at = 0; (uint64_t)at + part.count <= array.count; at++) {
        uint32_t same = 0;
        while (same < part.count && value_equals(array.items[at + same], part.items[same])) same++;
        if (!search_goes_on(search, same + 1)) return false;
        if (same == part.count) return true;
    }
    return false;
}

/* Nothing is a part of an empty array here, not even an empty set: so OPA answers. */
static bool array_has_all(Search *search, Value array, Value set)
{
    if (array.count == 0) return false;
    for (uint32_t i = 0; i < set.count; i++) {
        if (!search_goes_on(search, array.count)) return false;
        bool is_found = false;
        for (uint32_t j = 0; j < array.count && !is_found; j++) is_found = value_equals(array.items[j], set.items[i]);
        if (!is_found) return false;
    }
    return true;
}

/* Inside an object collections of one kind may again be parts; anything else has to be equal. */
static bool member_holds(Search *search, Value value, Value part)
{
    if (value.kind == VALUE_OBJECT && part.kind == VALUE_OBJECT) return object_holds(search, value, part);
    if (value.kind == VALUE_SET && part.kind == VALUE_SET) return set_holds(search, value, part);
    if (value.kind == VALUE_ARRAY && part.kind == VALUE_ARRAY) return array_holds(search, value, part);
    return value_equals(value, part);
}

static bool object_holds(Search *search, Value object, Value part)
{
    if (!search_goes_on(search, part.count)) return false;
    for (uint32_t i = 0; i < part.count; i++) {
        const Value *found = value_lookup(object, part.members[i].key);
        if (!found || !member_holds(search, *found, part.members[i].value)) return false;
    }
    return true;
}

BuiltinResult builtin_object_subset(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Search search = { context, err, false };
    bool holds;
    if (args[0].kind == VALUE_OBJECT && args[1].kind == VALUE_OBJECT) {
        holds = object_holds(&search, args[0], args[1]);
    } else if (args[0].kind == VALUE_SET && args[1].kind == VALUE_SET) {
        holds = set_holds(&search, args[0], args[1]);
    } else if (args[0].kind == VALUE_ARRAY && args[1].kind == VALUE_ARRAY) {
        holds = array_holds(&search, args[0], args[1]);
    } else if (args[0].kind == VALUE_ARRAY && args[1].kind == VALUE_SET) {
        holds = array_has_all(&search, args[0], args[1]);
    } else {
        error_set(err, ERR_INVALID, "both arguments object.subset must be of the same type or array and set");
        return BUILTIN_TYPE_ERROR;
    }
    if (search.is_spent) return BUILTIN_HALT;
    *out_result = value_bool(holds);
    return BUILTIN_OK;
}
