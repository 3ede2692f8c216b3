#include "value/value.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/number.h"

/* --- containers -------------------------------------------------------------------------------------------------- */

#define INSERTION_COUNT_MAX 16u         /* up to here moving items costs less than a second array for them */

typedef int (*Order)(const void *a, const void *b);

static int order_members(const void *a, const void *b)
{
    Value x = ((const Member *)a)->key, y = ((const Member *)b)->key;
    if (x.kind == VALUE_STRING && y.kind == VALUE_STRING) return str_compare(value_text(x), value_text(y));
    return value_compare(x, y);
}

static int order_items(const void *a, const void *b)
{
    return value_compare(*(const Value *)a, *(const Value *)b);
}

static bool is_strictly_sorted(const char *items, size_t size, uint32_t count, Order order)
{
    for (uint32_t i = 1; i < count; i++)
        if (order(items + (i - 1) * size, items + i * size) >= 0) return false;
    return true;
}

/* Both sorts are stable, so that equals stay in the order they were written in, and do without recursion. */
static void insertion_sort(char *items, size_t size, uint32_t count, Order order)
{
    char moved[sizeof(Member)];
    for (uint32_t i = 1; i < count; i++) {
        uint32_t to = i;
        while (to > 0 && order(items + (to - 1) * size, items + i * size) > 0) to--;
        if (to == i) continue;
        memcpy(moved, items + i * size, size);
        memmove(items + (to + 1) * size, items + to * size, (i - to) * size);
        memcpy(items + to * size, moved, size);
    }
}

static void merge_sort(char *items, char *spare, size_t size, uint32_t count, Order order)
{
    for (uint64_t width = 1; width < count; width *= 2) {
        for (uint64_t low = 0; low < count; low += 2 * width) {
            uint64_t middle = low + width < count ? low + width : count;
            uint64_t high = low + 2 * width < count ? low + 2 * width : count;
            uint64_t left = low, right = middle;
            for (uint64_t to = low; to < high; to++) {
                bool take_left = left < middle
                              && (right >= high || order(items + left * size, items + right * size) <= 0);
                memcpy(spare + to * size, items + (take_left ? left++ : right++) * size, size);
            }
        }
        memcpy(items, spare, count * size);
    }
}

/* Sorts and keeps one of equals: what `merge` makes of the first and a later one, or the first. Returns how many are left. */
static uint32_t sort_unique(Arena *scratch, void *array, size_t size, uint32_t count, Order order,
                            void (*merge)(void *first, const void *later))
{
    char *items = array;
    if (is_strictly_sorted(items, size, count, order)) return count;
    if (count <= INSERTION_COUNT_MAX) insertion_sort(items, size, count, order);
    else merge_sort(items, arena_alloc(scratch, count * size), size, count, order);
    uint32_t kept = 1;                  /* a list of none is sorted */
    for (uint32_t i = 1; i < count; i++) {
        char *last = items + (kept - 1) * size, *item = items + i * size;
        if (order(last, item) == 0) {
            if (merge) merge(last, item);
            continue;
        }
        if (kept != i) memcpy(items + kept * size, item, size);
        kept++;
    }
    return kept;
}

/* 1 and 1.0 are one key: it stays as it was written first, its value is the last one. */
static void merge_members(void *first, const void *later)
{
    ((Member *)first)->value = ((const Member *)later)->value;
}

Value value_object(Arena *scratch, Member *members, uint32_t count)
{
    count = sort_unique(scratch, members, sizeof *members, count, order_members, merge_members);
    return (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
}

Value value_set(Arena *scratch, Value *items, uint32_t count)
{
    count = sort_unique(scratch, items, sizeof *items, count, order_items, NULL);
    return (Value){ .kind = VALUE_SET, .count = count, .items = items };
}

void value_list_add(ValueList *list, Value item)
{
    list->items = arena_grow(list->arena, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = item;
}

Value value_list_array(const ValueList *list)
{
    CHECK(list->count <= VALUE_COUNT_MAX);
    return value_array(list->items, (uint32_t)list->count);
}

void member_list_add(MemberList *list, Str key, Value value)
{
    list->members = arena_grow(list->arena, list->members, sizeof *list->members, list->count, &list->capacity);
    list->members[list->count++] = (Member){ value_string(key), value };
}

Value member_list_object(const MemberList *list)
{
    CHECK(list->count <= VALUE_COUNT_MAX);
    return value_object(list->arena, list->members, (uint32_t)list->count);
}

Value value_copy(Arena *arena, Value value)
{
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
        return value;
    case VALUE_DECIMAL:
    case VALUE_STRING:
        value.text = arena_copy(arena, value_text(value)).ptr;
        return value;
    case VALUE_ARRAY:
    case VALUE_SET: {
        Value *items = arena_copy_items(arena, value.items, value.count * sizeof *items);
        for (uint32_t i = 0; i < value.count; i++) items[i] = value_copy(arena, items[i]);
        value.items = items;
        return value;
    }
    case VALUE_OBJECT: {
        Member *members = arena_copy_items(arena, value.members, value.count * sizeof *members);
        for (uint32_t i = 0; i < value.count; i++) {
            members[i].key = value_copy(arena, members[i].key);
            members[i].value = value_copy(arena, members[i].value);
        }
        value.members = members;
        return value;
    }
    }
    check_failed("a kind of value", __FILE__, __LINE__);
}

size_t value_copy_size(Value value)
{
    size_t size = VALUE_COPY_EXTRA;
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_INT:
        return 0;
    case VALUE_DECIMAL:
    case VALUE_STRING:
        return size + value.count;
    case VALUE_ARRAY:
    case VALUE_SET:
        for (uint32_t i = 0; i < value.count; i++) size += sizeof(Value) + value_copy_size(value.items[i]);
        return size;
    case VALUE_OBJECT:
        for (uint32_t i = 0; i < value.count; i++)
            size += sizeof(Member) + value_copy_size(value.members[i].key) + value_copy_size(value.members[i].value);
        return size;
    }
    check_failed("a kind of value", __FILE__, __LINE__);
}

/* --- read -------------------------------------------------------------------------------------------------------- */

const char *value_kind_name(Value value)
{
    static const char *const names[] = {
        [VALUE_NULL] = "null",     [VALUE_BOOL] = "boolean", [VALUE_INT] = "number",    [VALUE_DECIMAL] = "number",
        [VALUE_STRING] = "string", [VALUE_ARRAY] = "array",  [VALUE_OBJECT] = "object", [VALUE_SET] = "set",
    };
    return names[value.kind];
}

const Value *value_lookup(Value object, Value key)
{
    if (object.kind != VALUE_OBJECT) return NULL;
    uint32_t low = 0, high = object.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = value_compare(object.members[middle].key, key);
        if (order == 0) return &object.members[middle].value;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

const Value *value_get(Value object, Str key)
{
    return value_lookup(object, value_string(key));
}

const Value *value_get_text(Value object, const char *key)
{
    return value_get(object, str_of(key));
}

bool value_set_has(Value set, Value item)
{
    if (set.kind != VALUE_SET) return false;
    uint32_t low = 0, high = set.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = value_compare(set.items[middle], item);
        if (order == 0) return true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

Str value_get_string(Value object, const char *key, Str otherwise)
{
    const Value *member = value_get_text(object, key);
    return member && member->kind == VALUE_STRING ? value_text(*member) : otherwise;
}

int64_t value_get_int(Value object, const char *key, int64_t otherwise)
{
    const Value *member = value_get_text(object, key);
    int64_t integer;
    return member && value_is_number(*member) && number_to_int64(*member, &integer) ? integer : otherwise;
}

bool value_get_bool(Value object, const char *key, bool otherwise)
{
    const Value *member = value_get_text(object, key);
    return member && member->kind == VALUE_BOOL ? member->count != 0 : otherwise;
}

/* --- compare ----------------------------------------------------------------------------------------------------- */

/* The two kinds of number share a rank: they compare by value. */
static int kind_rank(Value value)
{
    return value.kind == VALUE_DECIMAL ? VALUE_INT : value.kind;
}

static int compare_counts(Value a, Value b)
{
    return (a.count > b.count) - (a.count < b.count);
}

int value_compare(Value a, Value b)
{
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) return str_compare(value_text(a), value_text(b));
    if (kind_rank(a) != kind_rank(b)) return kind_rank(a) - kind_rank(b);
    switch ((ValueKind)a.kind) {
    case VALUE_NULL:
        return 0;
    case VALUE_BOOL:
        return compare_counts(a, b);
    case VALUE_INT:
    case VALUE_DECIMAL:
        return number_compare(a, b);
    case VALUE_STRING:
        return str_compare(value_text(a), value_text(b));
    case VALUE_ARRAY:
    case VALUE_SET:
        if (a.items == b.items) return compare_counts(a, b);    /* parts of one document are often the very same */
        for (uint32_t i = 0; i < a.count && i < b.count; i++) {
            int order = value_compare(a.items[i], b.items[i]);
            if (order) return order;
        }
        return compare_counts(a, b);
    case VALUE_OBJECT:
        if (a.members == b.members) return compare_counts(a, b);
        for (uint32_t i = 0; i < a.count && i < b.count; i++) {
            int order = value_compare(a.members[i].key, b.members[i].key);
            if (order == 0) order = value_compare(a.members[i].value, b.members[i].value);
            if (order) return order;
        }
        return compare_counts(a, b);
    }
    check_failed("a kind of value", __FILE__, __LINE__);
}

bool value_equals(Value a, Value b)
{
    if (a.kind == b.kind && a.kind >= VALUE_STRING && a.count != b.count) return false;
    return value_compare(a, b) == 0;
}
