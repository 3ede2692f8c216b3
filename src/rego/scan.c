#include "rego/scan.h"

#include "rego/hash.h"
#include "rego/plan.h"
#include "value/number.h"

#define TEXT_SIZE_HASHED 64u        /* of longer texts the rest makes no difference here */

/* Equal values have equal hashes: 1 and 1.0 too. */
static uint64_t value_hash(Value value)
{
    uint64_t hash = hash_mix(0, value.kind);
    switch ((ValueKind)value.kind) {
    case VALUE_NULL: return hash;
    case VALUE_BOOL: return hash_mix(hash, value.count);
    case VALUE_INT:
    case VALUE_DECIMAL: {
        int64_t integer;
        return number_to_int64(value, &integer) ? hash_mix(0, (uint64_t)integer) : 0;
    }
    case VALUE_STRING:
        return hash_text(hash_mix(hash, value.count), str_slice(value_text(value), 0, TEXT_SIZE_HASHED));
    case VALUE_ARRAY:
    case VALUE_OBJECT:
    case VALUE_SET: return hash_mix(hash, value.count);
    }
    return hash;
}

bool scan_path_equals(ScanPath a, ScanPath b)
{
    if (a.count != b.count || a.is_base != b.is_base) return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (!value_equals(a.keys[i], b.keys[i])) return false;
    return true;
}

static const Value *path_value(const Value *item, ScanPath path)
{
    for (uint32_t i = 0; item && i < path.count; i++)
        item = path.is_base ? plan_step_base(item, path.keys[i]) : plan_step(item, path.keys[i]);
    return item;
}

static uint32_t slot_count(uint32_t count)
{
    uint32_t slots = 1;
    while (slots < count) slots *= 2;
    return slots;
}

size_t scan_index_size(uint32_t count)
{
    return ((size_t)slot_count(count) + count) * sizeof(uint32_t);
}

void scan_index_make(Value container, ScanPath path, void *memory, ScanIndex *out_index)
{
    uint32_t slots = slot_count(container.count);
    *out_index = (ScanIndex){ .items = container.items, .count = container.count, .path = path, .mask = slots - 1,
                              .first = memory, .next = (uint32_t *)memory + slots };
    for (uint32_t i = 0; i < slots; i++) out_index->first[i] = SCAN_END;
    for (uint32_t i = container.count; i-- > 0;) {
        const Value *item = container.kind == VALUE_OBJECT ? &container.members[i].value : &container.items[i];
        const Value *value = path_value(item, path);
        if (!value) continue;                           /* the test behind the scan could never hold */
        uint32_t *first = &out_index->first[value_hash(*value) & out_index->mask];
        out_index->next[i] = *first;
        *first = i;
    }
}

uint32_t scan_index_first(const ScanIndex *index, Value wanted)
{
    return index->first[value_hash(wanted) & index->mask];
}
