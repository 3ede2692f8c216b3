#include "value/value_diff.h"

#include "value/json_pointer.h"

static void tell(ValueDiff *diff, Str pointer, const Value *left, const Value *right)
{
    MemberList members = { .arena = diff->list.arena };
    diff->total++;
    if (diff->list.count >= diff->count_max) return;
    member_list_add(&members, STR("pointer"), value_string(pointer));
    if (left) member_list_add(&members, STR("left"), *left);
    if (right) member_list_add(&members, STR("right"), *right);
    value_list_add(&diff->list, member_list_object(&members));
}

static Str below(ValueDiff *diff, Str pointer, const Value *key, uint32_t index)
{
    size_t size = pointer.len + 2 * (key ? key->count : 10u) + 2;
    Buf buf = buf_on(arena_bytes(diff->list.arena, size), size);
    buf_str(&buf, pointer);
    if (key) json_pointer_add(&buf, value_text(*key));
    else json_pointer_add_index(&buf, index);
    return buf_peek(&buf);
}

static void diff_parts(ValueDiff *diff, Str pointer, const Value *left, const Value *right)
{
    if (left && right) value_diff(diff, pointer, *left, *right);
    else tell(diff, pointer, left, right);
}

static void diff_objects(ValueDiff *diff, Str pointer, Value left, Value right)
{
    uint32_t l = 0, r = 0;
    while (l < left.count || r < right.count) {         /* members are in the order of their keys */
        int order = l == left.count ? 1 : r == right.count ? -1 : value_compare(left.members[l].key, right.members[r].key);
        const Member *first = order <= 0 ? &left.members[l] : NULL, *second = order >= 0 ? &right.members[r] : NULL;
        Str place = below(diff, pointer, first ? &first->key : &second->key, 0);
        diff_parts(diff, place, first ? &first->value : NULL, second ? &second->value : NULL);
        l += order <= 0;
        r += order >= 0;
    }
}

static void diff_arrays(ValueDiff *diff, Str pointer, Value left, Value right)
{
    for (uint32_t i = 0; i < left.count || i < right.count; i++)
        diff_parts(diff, below(diff, pointer, NULL, i), i < left.count ? &left.items[i] : NULL, i < right.count ? &right.items[i] : NULL);
}

void value_diff(ValueDiff *diff, Str pointer, Value left, Value right)
{
    if (value_equals(left, right)) return;
    if (left.kind == VALUE_OBJECT && right.kind == VALUE_OBJECT) diff_objects(diff, pointer, left, right);
    else if (left.kind == VALUE_ARRAY && right.kind == VALUE_ARRAY) diff_arrays(diff, pointer, left, right);
    else tell(diff, pointer, &left, &right);
}
