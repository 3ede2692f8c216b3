#include "rego/plan.h"

#include <string.h>

#include "value/number.h"

/* The usual step: a name in an object whose keys are all names. */
static const Value *member_by_name(const Value *object, Value key)
{
    uint32_t low = 0, high = object->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const Member *member = &object->members[middle];
        if (member->key.kind != VALUE_STRING) return value_lookup(*object, key);
        uint32_t size = member->key.count < key.count ? member->key.count : key.count;
        int order = size ? (unsigned char)*member->key.text - (unsigned char)*key.text : 0;
        if (order == 0) order = memcmp(member->key.text, key.text, size);   /* most names differ in their first byte */
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
