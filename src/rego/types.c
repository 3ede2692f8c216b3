#include "rego/types.h"

#include <string.h>

#include "base/limits.h"

const Type rego_type_any = { TYPE_ANY }, rego_type_null = { TYPE_NULL }, rego_type_boolean = { TYPE_BOOLEAN };
const Type rego_type_number = { TYPE_NUMBER }, rego_type_string = { TYPE_STRING };

/* --- making ------------------------------------------------------------------------------------------------------ */

static const Type *type_new(Arena *arena, Type type)
{
    uint64_t weight = 1 + (type.rest ? type.rest->weight : 0) + (type.key ? type.key->weight : 0);
    bool is_unknown = false;
    for (uint32_t i = 0; i < type.count; i++) {
        weight += 1 + (type.items[i] ? type.items[i]->weight : 0);
        is_unknown |= type_is_unknown(type.items[i]);
    }
    if (type.kind == TYPE_ANY) is_unknown = false;
    if (type.kind == TYPE_ARRAY && type.rest) is_unknown |= type.rest->is_unknown;
    if (type.kind == TYPE_SET || type.kind == TYPE_FUNCTION) is_unknown |= type_is_unknown(type.rest);
    if (type.is_open) is_unknown |= type_is_unknown(type.key) || type_is_unknown(type.rest);
    if (weight > REGO_TYPE_WEIGHT_MAX && type.kind != TYPE_FUNCTION) {
        if (type.kind == TYPE_ANY) return &rego_type_any;
        type = (Type){ .kind = type.kind, .rest = &rego_type_any };
        if (type.kind == TYPE_OBJECT) type.key = &rego_type_any;
        type.is_open = type.kind == TYPE_OBJECT;
        is_unknown = false;
        weight = 1;
    }
    type.weight = (uint32_t)weight;
    type.is_unknown = is_unknown;
    return arena_copy_items(arena, &type, sizeof type);
}

const Type *type_array(Arena *arena, const Type **items, uint32_t count, const Type *rest)
{
    return type_new(arena, (Type){ .kind = TYPE_ARRAY, .count = count, .items = items, .rest = rest });
}

const Type *type_set(Arena *arena, const Type *rest)
{
    return type_new(arena, (Type){ .kind = TYPE_SET, .rest = rest });
}

const Type *type_function(Arena *arena, const Type **args, uint32_t count, const Type *answer)
{
    return type_new(arena, (Type){ .kind = TYPE_FUNCTION, .count = count, .items = args, .rest = answer });
}

const Type *type_object(Arena *arena, Value *keys, const Type **items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {      /* members mostly come sorted: moving one down is rare */
        Value key = keys[i];
        const Type *item = items[i];
        uint32_t to = i;
        for (; to > 0 && value_compare(keys[to - 1], key) > 0; to--) {
            keys[to] = keys[to - 1];
            items[to] = items[to - 1];
        }
        keys[to] = key;
        items[to] = item;
    }
    return type_new(arena, (Type){ .kind = TYPE_OBJECT, .count = count, .keys = keys, .items = items });
}

const Type *type_object_open(Arena *arena, const Type *object, const Type *key, const Type *rest)
{
    Type type = object ? *object : (Type){ .kind = TYPE_OBJECT };
    type.key = key;
    type.rest = rest;
    type.is_open = true;
    return type_new(arena, type);
}

static const Type *type_of_items(Arena *arena, Value value)
{
    const Type **items = ARENA_ARRAY(arena, const Type *, value.count + 1u);
    if (value.kind == VALUE_ARRAY) {
        for (uint32_t i = 0; i < value.count; i++) items[i] = type_of_value(arena, value.items[i]);
        return type_array(arena, items, value.count, NULL);
    }
    Value *keys = ARENA_ARRAY(arena, Value, value.count + 1u);
    for (uint32_t i = 0; i < value.count; i++) {
        keys[i] = value.members[i].key;
        items[i] = type_of_value(arena, value.members[i].value);
    }
    return type_object(arena, keys, items, value.count);
}

const Type *type_of_value(Arena *arena, Value value)
{
    bool is_long = value.count > REGO_TYPE_WEIGHT_MAX;
    switch ((ValueKind)value.kind) {
    case VALUE_NULL: return &rego_type_null;
    case VALUE_BOOL: return &rego_type_boolean;
    case VALUE_INT:
    case VALUE_DECIMAL: return &rego_type_number;
    case VALUE_STRING: return &rego_type_string;
    case VALUE_SET: {
        const Type *rest = is_long ? &rego_type_any : NULL;
        for (uint32_t i = 0; i < value.count && !is_long; i++)
            rest = type_or(arena, rest, type_of_value(arena, value.items[i]));
        return type_set(arena, rest);
    }
    case VALUE_ARRAY:
        return is_long ? type_array(arena, NULL, 0, &rego_type_any) : type_of_items(arena, value);
    case VALUE_OBJECT:
        return is_long ? type_object_open(arena, NULL, &rego_type_any, &rego_type_any) : type_of_items(arena, value);
    }
    return &rego_type_any;
}

/* --- unions ------------------------------------------------------------------------------------------------------ */

int type_compare(const Type *a, const Type *b)
{
    if (a == b) return 0;
    if (!a || !b) return a ? 1 : -1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    bool a_open = a->is_open || a->rest, b_open = b->is_open || b->rest;
    if (a->kind != TYPE_FUNCTION && a_open != b_open) return a_open ? 1 : -1;
    int order = type_compare(a->key, b->key);
    if (!order && a->kind != TYPE_FUNCTION) order = type_compare(a->rest, b->rest);
    if (a->kind == TYPE_FUNCTION && a->count != b->count) return a->count < b->count ? -1 : 1;
    uint32_t count = a->count < b->count ? a->count : b->count;
    for (uint32_t i = 0; !order && i < count; i++) {
        if (a->keys) order = value_compare(a->keys[i], b->keys[i]);
        if (!order) order = type_compare(a->items[i], b->items[i]);
    }
    if (!order && a->count != b->count) return a->count < b->count ? -1 : 1;
    return order || a->kind != TYPE_FUNCTION ? order : type_compare(a->rest, b->rest);
}

static uint32_t union_place(const Type *any, const Type *type, bool *out_found)
{
    uint32_t low = 0, high = any->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = type_compare(any->items[middle], type);
        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    *out_found = false;
    return low;
}

/* True where every value of `type` is one of `of`, as far as it is said by name. */
static bool type_contains(const Type *of, const Type *type)
{
    bool found;
    if (!of || of->kind != TYPE_ANY) return type_compare(of, type) == 0;
    if (!of->count) return true;
    (void)union_place(of, type, &found);
    return found;
}

static const Type *union_add(Arena *arena, const Type *any, const Type *type)
{
    bool found = true;
    uint32_t at = any->count ? union_place(any, type, &found) : 0;
    if (found) return any;
    const Type **items = ARENA_ARRAY(arena, const Type *, any->count + 1u);
    for (uint32_t i = 0; i < any->count; i++) items[i < at ? i : i + 1] = any->items[i];
    items[at] = type;
    return type_new(arena, (Type){ .kind = TYPE_ANY, .count = any->count + 1, .items = items });
}

static const Type *union_merge(Arena *arena, const Type *a, const Type *b)
{
    if (!a->count || !b->count) return &rego_type_any;
    const Type **items = ARENA_ARRAY(arena, const Type *, a->count + b->count);
    uint32_t i = 0, k = 0, count = 0;
    while (i < a->count || k < b->count) {
        int order = i == a->count ? 1 : k == b->count ? -1 : type_compare(a->items[i], b->items[k]);
        items[count++] = order <= 0 ? a->items[i] : b->items[k];
        i += order <= 0;
        k += order >= 0;
    }
    return type_new(arena, (Type){ .kind = TYPE_ANY, .count = count, .items = items });
}

static const Type *function_or(Arena *arena, const Type *a, const Type *b)
{
    if (a->kind != b->kind || a->count != b->count) return NULL;
    const Type **args = ARENA_ARRAY(arena, const Type *, a->count + 1u);
    for (uint32_t i = 0; i < a->count; i++) args[i] = type_or(arena, a->items[i], b->items[i]);
    return type_function(arena, args, a->count, type_or(arena, a->rest, b->rest));
}

const Type *type_or(Arena *arena, const Type *a, const Type *b)
{
    if (!a || !b) return a ? a : b;
    if (a->kind == TYPE_FUNCTION || b->kind == TYPE_FUNCTION) return function_or(arena, a, b);
    if (a->kind == TYPE_ANY && b->kind == TYPE_ANY) return union_merge(arena, a, b);
    if (a->kind == TYPE_ANY) return union_add(arena, a, b);
    if (b->kind == TYPE_ANY) return union_add(arena, b, a);
    int order = type_compare(a, b);
    if (order == 0) return a;
    const Type **items = ARENA_ARRAY(arena, const Type *, 2);
    items[0] = order < 0 ? a : b;
    items[1] = order < 0 ? b : a;
    return type_new(arena, (Type){ .kind = TYPE_ANY, .count = 2, .items = items });
}

/* An object of rules has no members that are known by name: these lie beside it in the tree of types. */
static bool is_plain_object(const Type *type)
{
    return type && type->kind == TYPE_OBJECT && !type->count;
}

static const Type *merge_into_union(Arena *arena, const Type *object, const Type *any)
{
    for (uint32_t i = 0; i < any->count; i++) {
        const Type *item = any->items[i];
        if (!is_plain_object(item) || !item->is_open) continue;
        const Type **items = ARENA_ARRAY(arena, const Type *, any->count);
        for (uint32_t k = 0; k < any->count; k++) items[k] = any->items[k];
        items[i] = type_object_open(arena, item, type_or(arena, item->key, object->key),
                                    type_or(arena, item->rest, object->rest));
        return type_new(arena, (Type){ .kind = TYPE_ANY, .count = any->count, .items = items });
    }
    return NULL;
}

const Type *type_merge(Arena *arena, const Type *a, const Type *b)
{
    if (!a || !b) return a ? a : b;
    if (a->kind == TYPE_ANY && b->kind != TYPE_ANY) {
        const Type *swapped = a;
        a = b;
        b = swapped;
    }
    if (is_plain_object(a) && is_plain_object(b)) {
        if (!a->is_open || !b->is_open) return a->is_open ? a : b;
        return type_object_open(arena, NULL, type_or(arena, a->key, b->key), type_merge(arena, a->rest, b->rest));
    }
    if (is_plain_object(a) && a->is_open && b->kind == TYPE_ANY) {
        const Type *merged = merge_into_union(arena, a, b);
        if (merged) return merged;
    }
    if (a->kind == TYPE_SET && b->kind == TYPE_SET) return type_set(arena, type_or(arena, a->rest, b->rest));
    return type_or(arena, a, b);
}

/* --- reading declarations ---------------------------------------------------------------------------------------- */

#define LIST_COUNT_MAX 16u      /* items of one array, object or union in a declaration */

static bool word_take(const char **at, const char *word)
{
    size_t size = strlen(word);
    while (**at == ' ') (*at)++;
    if (strncmp(*at, word, size)) return false;
    *at += size;
    return true;
}

/* "name: " before a type; empty where there is none. */
static Str name_take(const char **at)
{
    while (**at == ' ') (*at)++;
    const char *from = *at;
    size_t size = strcspn(from, ":<[,)>]");
    if (from[size] != ':') return (Str){ 0 };
    *at += size + 1;
    return (Str){ from, size };
}

static const Type *read_type(Arena *arena, const char **at);

static uint32_t read_list(Arena *arena, const char **at, const Type **items, Value *keys)
{
    uint32_t count = 0;
    while (count < LIST_COUNT_MAX && !word_take(at, ">")) {
        if (keys) keys[count] = value_string(name_take(at));
        items[count++] = read_type(arena, at);
        word_take(at, ",");
    }
    return count;
}

static const Type *read_container(Arena *arena, const char **at, TypeKind kind)
{
    Type type = { .kind = kind };
    if (word_take(at, "<")) {
        const Type **items = ARENA_ARRAY(arena, const Type *, LIST_COUNT_MAX);
        Value *keys = kind == TYPE_OBJECT ? ARENA_ARRAY(arena, Value, LIST_COUNT_MAX) : NULL;
        type.count = read_list(arena, at, items, keys);
        type.items = items;
        type.keys = keys;
    }
    if (word_take(at, "[")) {
        type.rest = read_type(arena, at);
        if (word_take(at, ":")) {
            type.key = type.rest;
            type.rest = read_type(arena, at);
        }
        type.is_open = kind == TYPE_OBJECT;
        word_take(at, "]");
    }
    return type_new(arena, type);
}

static const Type *read_type(Arena *arena, const char **at)
{
    static const struct { const char *word; const Type *type; } scalars[] = {
        { "null", &rego_type_null },
        { "boolean", &rego_type_boolean },
        { "number", &rego_type_number },
        { "string", &rego_type_string },
    };
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        if (word_take(at, scalars[i].word)) return scalars[i].type;
    if (word_take(at, "array")) return read_container(arena, at, TYPE_ARRAY);
    if (word_take(at, "object")) return read_container(arena, at, TYPE_OBJECT);
    if (word_take(at, "set")) return read_container(arena, at, TYPE_SET);
    if (word_take(at, "any<")) {
        const Type **items = ARENA_ARRAY(arena, const Type *, LIST_COUNT_MAX);
        uint32_t count = read_list(arena, at, items, NULL);
        return type_new(arena, (Type){ .kind = TYPE_ANY, .count = count, .items = items });
    }
    if (!word_take(at, "any") && **at) (*at)++;
    return &rego_type_any;
}

void type_of_signature(Arena *arena, const char *signature, TypeParam *out_params, uint32_t arg_count)
{
    const char *at = signature;
    word_take(&at, "(");
    for (uint32_t i = 0; i <= arg_count; i++) {
        if (i == arg_count) {
            word_take(&at, ")");
            word_take(&at, "->");
        }
        Str name = name_take(&at);
        out_params[i] = (TypeParam){ name, read_type(arena, &at) };
        word_take(&at, ",");
    }
}

/* --- asking ------------------------------------------------------------------------------------------------------ */

bool type_is_empty(const Type *type)
{
    if (!type || type->count) return false;
    return (type->kind == TYPE_OBJECT && !type->is_open) || (type->kind == TYPE_ARRAY && !type->rest)
        || (type->kind == TYPE_SET && !type->rest);
}

static const Type *object_member(Arena *arena, const Type *object, Value key)
{
    uint32_t low = 0, high = object->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = value_compare(object->keys[middle], key);
        if (order == 0) return object->items[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return object->is_open && type_contains(object->key, type_of_value(arena, key)) ? object->rest : NULL;
}

/* Where the key's type does not matter: whether an open object may have any member. */
static const Type *object_find(const Type *object, Value key)
{
    for (uint32_t i = 0; i < object->count; i++)
        if (value_equals(object->keys[i], key)) return object->items[i];
    static const Type *const of_kind[] = {
        [VALUE_NULL] = &rego_type_null,      [VALUE_BOOL] = &rego_type_boolean,  [VALUE_INT] = &rego_type_number,
        [VALUE_DECIMAL] = &rego_type_number, [VALUE_STRING] = &rego_type_string,
    };
    if (!object->is_open) return NULL;
    bool is_scalar = key.kind <= VALUE_STRING;
    return !is_scalar || type_contains(object->key, of_kind[key.kind]) ? object->rest : NULL;
}

static bool members_unify(const Type *a, const Type *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const Type *other = object_find(b, a->keys[i]);
        if (!other && ((a->is_open && a->rest) || (b->is_open && b->rest))) continue;
        if (!other || !type_unifies(a->items[i], other)) return false;
    }
    return true;
}

static bool items_unify(const Type *a, const Type *b)
{
    uint32_t count = a->count > b->count ? a->count : b->count;
    for (uint32_t i = 0; i < count; i++) {
        const Type *x = i < a->count ? a->items[i] : a->rest, *y = i < b->count ? b->items[i] : b->rest;
        if (!type_unifies(x, y)) return false;
    }
    return true;
}

static bool union_unifies(const Type *any, const Type *other)
{
    if (other->kind == TYPE_FUNCTION) return false;
    for (uint32_t i = 0; i < any->count; i++)
        if (type_unifies(any->items[i], other)) return true;
    return !any->count;
}

bool type_unifies(const Type *a, const Type *b)
{
    if (!a || !b) return false;
    if (a->kind == TYPE_ANY && union_unifies(a, b)) return true;
    if (b->kind == TYPE_ANY) return union_unifies(b, a);
    if (a->kind != b->kind) return false;
    bool rests_meet = !a->rest || !b->rest || type_unifies(a->rest, b->rest);
    switch (a->kind) {
    case TYPE_ARRAY: return items_unify(a, b) && rests_meet;
    case TYPE_OBJECT: return members_unify(a, b) && members_unify(b, a) && rests_meet;
    case TYPE_SET: return rests_meet;
    case TYPE_FUNCTION:
        for (uint32_t i = 0; i < a->count && a->count == b->count; i++)
            if (!type_unifies(a->items[i], b->items[i])) return false;
        return a->count == b->count;
    case TYPE_ANY:
    case TYPE_NULL:
    case TYPE_BOOLEAN:
    case TYPE_NUMBER:
    case TYPE_STRING: break;
    }
    return a->kind != TYPE_ANY;
}

const Type *type_select(Arena *arena, const Type *type, Value key)
{
    if (!type) return NULL;
    if (type_is_anything(type)) return &rego_type_any;
    const Type *result = NULL;
    switch (type->kind) {
    case TYPE_ARRAY:
        if (key.kind != VALUE_INT || key.integer < 0) return NULL;
        return key.integer < type->count ? type->items[key.integer] : type->rest;
    case TYPE_OBJECT: return object_member(arena, type, key);
    case TYPE_SET: {
        const Type *wanted = type_of_value(arena, key);
        if (type_compare(type->rest, wanted) == 0) return type->rest;
        return type->rest && type->rest->kind == TYPE_ANY && type_contains(type->rest, wanted) ? wanted : NULL;
    }
    case TYPE_ANY:
        for (uint32_t i = 0; i < type->count; i++)
            result = type_or(arena, type_select(arena, type->items[i], key), result);
        return result;
    case TYPE_NULL:
    case TYPE_BOOLEAN:
    case TYPE_NUMBER:
    case TYPE_STRING:
    case TYPE_FUNCTION: break;
    }
    return NULL;
}

const Type *type_keys(Arena *arena, const Type *type)
{
    if (!type) return NULL;
    if (type_is_anything(type)) return &rego_type_any;
    const Type *result = NULL;
    if (type->kind == TYPE_ARRAY) return &rego_type_number;
    if (type->kind == TYPE_SET) return type->rest;
    if (type->kind == TYPE_ANY)
        for (uint32_t i = 0; i < type->count; i++) result = type_or(arena, type_keys(arena, type->items[i]), result);
    if (type->kind != TYPE_OBJECT) return result;
    for (uint32_t i = 0; i < type->count; i++) {
        Value key = type->keys[i];
        if (key.kind == VALUE_SET) key.kind = VALUE_ARRAY;      /* a set that is a key counts as an array, here as elsewhere */
        result = type_or(arena, result, type_of_value(arena, key));
    }
    return type->is_open ? type_or(arena, result, type->key) : result;
}

const Type *type_values(Arena *arena, const Type *type)
{
    if (!type) return NULL;
    if (type_is_anything(type)) return &rego_type_any;
    const Type *result = NULL;
    if (type->kind == TYPE_SET) return type->rest;
    if (type->kind == TYPE_ANY)
        for (uint32_t i = 0; i < type->count; i++) result = type_or(arena, type_values(arena, type->items[i]), result);
    if (type->kind != TYPE_OBJECT && type->kind != TYPE_ARRAY) return result;
    for (uint32_t i = 0; i < type->count; i++) result = type_or(arena, result, type->items[i]);
    return type_or(arena, result, type->rest);
}

static void names_add(ValueList *list, const Type *type)
{
    if (type->kind == TYPE_OBJECT)
        for (uint32_t i = 0; i < type->count; i++) value_list_add(list, type->keys[i]);
    if (type->kind == TYPE_ANY)
        for (uint32_t i = 0; i < type->count; i++) names_add(list, type->items[i]);
}

Value type_known_keys(Arena *arena, const Type *type)
{
    ValueList list = { .arena = arena };
    names_add(&list, type);
    return value_set(arena, list.items, (uint32_t)list.count);
}
