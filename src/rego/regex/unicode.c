#include "rego/regex/unicode.h"

#include <assert.h>

#define CLASS_NAME_SIZE_MAX 32u

struct ClassRow {
    const char *name;
    uint16_t offset, count;
};
/* class_data, class_rows and fold_runs. */
#include "rego/regex/unicode_tables.inc"

static_assert(sizeof class_data <= UINT16_MAX, "offsets of classes are 16 bits wide");

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Without what does not count; 0 where the name is longer than any that is known. */
static size_t name_normalise(Str name, char out[CLASS_NAME_SIZE_MAX])
{
    size_t size = 0;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (c == ' ' || c == '-' || c == '_') continue;
        if (size == CLASS_NAME_SIZE_MAX) return 0;
        out[size++] = ascii_to_lower(c);
    }
    return size;
}

bool unicode_class_find(Str name, UnicodeClass *out_class)
{
    char normal[CLASS_NAME_SIZE_MAX];
    Str wanted = { normal, name_normalise(name, normal) };
    size_t low = 0, high = COUNT_OF(class_rows);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(str_of(class_rows[middle].name), wanted);
        if (order == 0) {
            *out_class = (UnicodeClass){ class_data + class_rows[middle].offset, class_rows[middle].count, 0 };
            return true;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

static uint32_t varint_take(const uint8_t **data)
{
    uint32_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*data)++;
        number |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return number;
    }
}

bool unicode_class_next(UnicodeClass *class, uint32_t *out_low, uint32_t *out_high)
{
    if (class->ranges_left == 0) return false;
    class->ranges_left--;
    *out_low = class->next + varint_take(&class->data);
    *out_high = *out_low + varint_take(&class->data);
    class->next = *out_high + 1;
    return true;
}

bool unicode_is(Str name, uint32_t point)
{
    UnicodeClass class;
    if (!unicode_class_find(name, &class)) return false;
    uint32_t low, high;
    while (unicode_class_next(&class, &low, &high))
        if (point <= high) return point >= low;
    return false;
}

const UnicodeFoldRun *unicode_fold_from(uint32_t point, const UnicodeFoldRun **out_end)
{
    *out_end = fold_runs + COUNT_OF(fold_runs);
    size_t low = 0, high = COUNT_OF(fold_runs);
    while (low < high) {                        /* the first run that begins behind the point ... */
        size_t middle = low + (high - low) / 2;
        if (fold_runs[middle].first <= point) low = middle + 1;
        else high = middle;
    }
    return fold_runs + (low < 2 ? 0 : low - 2); /* ... and the two before it, which may reach it */
}

uint32_t unicode_fold_next(uint32_t point)
{
    const UnicodeFoldRun *end;
    for (const UnicodeFoldRun *run = unicode_fold_from(point, &end); run < end && run->first <= point; run++)
        if (point <= run->last && (point - run->first) % run->step == 0)
            return (uint32_t)((int64_t)point + run->delta);
    return point;
}
