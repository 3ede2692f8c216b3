#include "view/row_key.h"

#include <string.h>

bool cell_is(const Cell *a, const Cell *b)
{
    if (a->kind != b->kind || a->kind == CELL_NULL) return a->kind == b->kind;
    return a->kind == CELL_INT ? a->integer == b->integer : str_is(a->text, b->text);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

uint64_t row_key_hash(Table table, const Cell *key)
{
    uint64_t hash = mix(0, table + 1u);
    for (uint32_t i = 0; i < table_info(table)->key_count; i++) {
        if (key[i].kind == CELL_INT) {
            hash = mix(hash, (uint64_t)key[i].integer);
            continue;
        }
        Str text = key[i].kind == CELL_NULL ? (Str){ 0 } : key[i].text;
        for (; text.len >= 8; text = str_slice(text, 8, SIZE_MAX)) {
            uint64_t word;
            memcpy(&word, text.ptr, 8);
            hash = mix(hash, word);
        }
        for (size_t b = 0; b < text.len; b++) hash = mix(hash, (uint8_t)text.ptr[b]);
    }
    return hash;
}

bool row_key_is(Table table, const Cell *a, const Cell *b)
{
    for (uint32_t i = 0; i < table_info(table)->key_count; i++)
        if (!cell_is(&a[i], &b[i])) return false;
    return true;
}
