#include "rego/regex/charset.h"

#include <stdlib.h>
#include <string.h>

#include "rego/regex/unicode.h"

void charset_add(Charset *set, uint32_t low, uint32_t high)
{
    if (set->failed) return;
    if (set->count > 0) {       /* most classes are written in order: grow the last range where it touches */
        CharRange *last = &set->ranges[set->count - 1];
        if (low >= last->low && low <= last->high + 1) {
            if (high > last->high) last->high = high;
            return;
        }
    }
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? 2 * set->capacity : 8;
        CharRange *ranges = arena_try(set->arena, capacity * sizeof *ranges);
        if (!ranges) {
            set->failed = true;
            return;
        }
        if (set->count) memcpy(ranges, set->ranges, set->count * sizeof *ranges);
        set->ranges = ranges;
        set->capacity = capacity;
    }
    set->ranges[set->count++] = (CharRange){ low, high };
}

void charset_add_set(Charset *set, const Charset *other)
{
    for (size_t i = 0; i < other->count; i++) charset_add(set, other->ranges[i].low, other->ranges[i].high);
    if (other->failed) set->failed = true;
}

static int order_ranges(const void *a, const void *b)
{
    const CharRange *left = a, *right = b;
    if (left->low != right->low) return left->low < right->low ? -1 : 1;
    return left->high < right->high ? -1 : left->high > right->high;
}

void charset_normalise(Charset *set)
{
    if (set->failed || set->count < 2) return;
    qsort(set->ranges, set->count, sizeof *set->ranges, order_ranges);
    size_t kept = 1;
    for (size_t i = 1; i < set->count; i++) {
        CharRange *last = &set->ranges[kept - 1];
        if (set->ranges[i].low <= last->high + 1) {
            if (set->ranges[i].high > last->high) last->high = set->ranges[i].high;
        } else {
            set->ranges[kept++] = set->ranges[i];
        }
    }
    set->count = kept;
}

/* Adds the successors in their rings of the characters low..high. */
static void add_successors(Charset *set, uint32_t low, uint32_t high)
{
    const UnicodeFoldRun *end;
    for (const UnicodeFoldRun *run = unicode_fold_from(low, &end); run < end && run->first <= high; run++) {
        if (run->last < low) continue;
        uint32_t from = low > run->first ? low : run->first;
        uint32_t to = high < run->last ? high : run->last;
        from += (run->step - (from - run->first) % run->step) % run->step;
        if (run->step == 1) {
            charset_add(set, (uint32_t)((int64_t)from + run->delta), (uint32_t)((int64_t)to + run->delta));
            continue;
        }
        for (uint32_t point = from; point <= to; point += run->step) {
            uint32_t other = (uint32_t)((int64_t)point + run->delta);
            charset_add(set, other, other);
        }
    }
}

void charset_fold(Charset *set)
{
    charset_normalise(set);
    /* Each round goes one step further round the rings. */
    for (unsigned round = 1; round < UNICODE_FOLD_RING_MAX && !set->failed; round++) {
        Charset more = { .arena = set->arena };
        for (size_t i = 0; i < set->count; i++) add_successors(&more, set->ranges[i].low, set->ranges[i].high);
        if (more.count == 0) return;
        charset_add_set(set, &more);
        charset_normalise(set);
    }
}

void charset_negate(Charset *set)
{
    Charset result = { .arena = set->arena };
    uint32_t next = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->ranges[i].low > next) charset_add(&result, next, set->ranges[i].low - 1);
        next = set->ranges[i].high + 1;
    }
    if (next <= UNICODE_POINT_MAX) charset_add(&result, next, UNICODE_POINT_MAX);
    result.failed = result.failed || set->failed;
    *set = result;
}

bool charset_has(const CharRange *ranges, size_t count, uint32_t point)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (point < ranges[middle].low) high = middle;
        else if (point > ranges[middle].high) low = middle + 1;
        else return true;
    }
    return false;
}
