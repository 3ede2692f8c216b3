#include "rego/eval.h"

#include <string.h>

#include "base/limits.h"
#include "rego/hash.h"

#define TABLE_CAPACITY_MIN 8u
#define TRIAL_COUNT 64u             /* after so many answers at least one in HIT_SHARE must have been found again */
#define HIT_SHARE 8u
#define TEXT_SIZE_HASHED 64u        /* longer texts are the same only where they are the very same */

typedef struct MemoSlot {
    uint64_t hash;
    Value *args;                    /* NULL: free */
    Value value;
} MemoSlot;

struct MemoTable {
    MemoSlot *slots;
    uint32_t count, capacity;       /* capacity is a power of two */
    uint64_t hit_count;
};

static bool is_by_content(Value value)
{
    return value.kind == VALUE_STRING && value.count <= TEXT_SIZE_HASHED;
}

static uint64_t hash_value(uint64_t hash, Value value)
{
    hash = hash_mix(hash, (uint64_t)value.count << 8 | value.kind);
    if (!is_by_content(value)) {
        bool has_word = value.kind != VALUE_NULL && value.kind != VALUE_BOOL;
        return has_word ? hash_mix(hash, (uint64_t)value.integer) : hash;
    }
    return hash_text(hash, value_text(value));
}

uint64_t memo_hash(const Value *args, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) hash = hash_value(hash, args[i]);
    return hash;
}

static bool is_same(Value a, Value b)
{
    if (a.kind != b.kind || a.count != b.count) return false;
    if (a.kind == VALUE_NULL || a.kind == VALUE_BOOL || a.integer == b.integer) return true;
    return is_by_content(a) && !memcmp(a.text, b.text, a.count);
}

Value *memo_find(MemoTable *table, const Value *args, uint32_t count, uint64_t hash)
{
    if (!table) return NULL;
    for (uint32_t at = (uint32_t)hash & (table->capacity - 1);; at = (at + 1) & (table->capacity - 1)) {
        MemoSlot *slot = &table->slots[at];
        if (!slot->args) return NULL;
        if (slot->hash != hash) continue;
        uint32_t i = 0;
        while (i < count && is_same(slot->args[i], args[i])) i++;
        if (i < count) continue;
        table->hit_count++;
        return &slot->value;
    }
}

static void slot_put(MemoTable *table, MemoSlot slot)
{
    uint32_t at = (uint32_t)slot.hash & (table->capacity - 1);
    while (table->slots[at].args) at = (at + 1) & (table->capacity - 1);
    table->slots[at] = slot;
    table->count++;
}

static bool table_grow(Eval *e, MemoTable *table)
{
    MemoTable old = *table;
    table->capacity = old.capacity ? 2 * old.capacity : TABLE_CAPACITY_MIN;
    table->slots = eval_alloc(e, table->capacity * sizeof *table->slots);
    if (!table->slots) return false;
    table->count = 0;
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.slots[i].args) slot_put(table, old.slots[i]);
    return true;
}

bool memo_add(Eval *e, MemoTable **place, const Value *args, uint32_t count, uint64_t hash, Value value)
{
    if (!*place && !(*place = eval_alloc(e, sizeof **place))) return false;
    MemoTable *table = *place;
    if (table->count >= REGO_MEMO_COUNT_MAX) return true;
    if (2 * table->count >= table->capacity && !table_grow(e, table)) return false;
    Value *copy = eval_alloc(e, count * sizeof *copy);
    if (!copy) return false;
    memcpy(copy, args, count * sizeof *copy);
    slot_put(table, (MemoSlot){ hash, copy, value });
    return true;
}

bool memo_is_useful(const MemoTable *table)
{
    return !table || table->count < TRIAL_COUNT || table->hit_count >= table->count / HIT_SHARE;
}
