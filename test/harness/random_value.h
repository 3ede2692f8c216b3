/* random_value.h - values by chance, for the properties that every value has.
 *
 * Small alphabets on purpose: equal strings, numbers of equal value in different notation and equal containers must come
 * up often, since mistakes hide where two things are nearly the same.
 */
#ifndef TEST_HARNESS_RANDOM_VALUE_H
#define TEST_HARNESS_RANDOM_VALUE_H

#include "base/arena.h"
#include "base/buf.h"
#include "harness/random.h"
#include "value/number.h"
#include "value/value.h"

/* The text of a JSON number; its written exponent is within +-exponent_max, which may be 0. */
static inline Str random_number_text(Random *random, Arena *arena, uint32_t exponent_max)
{
    char storage[128];
    Buf text = buf_on(storage, sizeof storage);
    static const char digits[] = "0001259";
    if (random_below(random, 3) == 0) buf_char(&text, '-');
    uint32_t whole = random_below(random, 5) ? random_below(random, 3) : random_below(random, 25);
    if (whole) buf_char(&text, digits[3 + random_below(random, 4)]);
    else buf_char(&text, '0');
    for (uint32_t i = 1; i < whole; i++) buf_char(&text, digits[random_below(random, 7)]);
    if (random_below(random, 2)) {
        buf_char(&text, '.');
        uint32_t fraction = 1 + random_below(random, random_below(random, 5) ? 3 : 25);
        for (uint32_t i = 0; i < fraction; i++) buf_char(&text, digits[random_below(random, 7)]);
    }
    if (exponent_max && random_below(random, 2)) {
        static const char *const marks[] = { "e", "E", "e+", "E+", "e-", "E-" };
        buf_text(&text, marks[random_below(random, 6)]);
        uint32_t limit = random_below(random, 3) ? 4 : exponent_max;
        buf_u64(&text, random_below(random, (limit < exponent_max ? limit : exponent_max) + 1));
    }
    return arena_copy(arena, buf_peek(&text));
}

static inline Str random_text(Random *random, Arena *arena)
{
    static const char *const parts[] = { "a", "b", "ab", "\"", "\\", "/", "\n", "\x01", "\x7f", " ", "key",
                                         "\xc3\xa9", "\xe2\x82\xac", "\xef\xac\xb3", "\xee\x80\x80", "\xf0\x9f\x98\x80" };
    char storage[128];
    Buf text = buf_on(storage, sizeof storage);
    uint32_t count = random_below(random, 4) ? random_below(random, 3) : random_below(random, 12);
    for (uint32_t i = 0; i < count; i++) buf_text(&text, parts[random_below(random, sizeof parts / sizeof *parts)]);
    if (random_below(random, 40) == 0) buf_char(&text, '\0');
    return arena_copy(arena, buf_peek(&text));
}

typedef enum RandomKinds {
    RANDOM_JSON,                /* what JSON can express */
    RANDOM_ANY,                 /* sets and keys that are no strings, too */
} RandomKinds;

static inline Value random_value(Random *random, Arena *arena, RandomKinds kinds, uint32_t depth)
{
    uint32_t kind = random_below(random, depth ? (kinds == RANDOM_ANY ? 9 : 8) : 5);
    uint32_t count = random_below(random, 10) ? random_below(random, 4) : random_below(random, 40);
    switch (kind) {
    case 0: return value_null();
    case 1: return value_bool(random_below(random, 2) == 0);
    case 2: return value_int((int64_t)random_below(random, 7) - 3);
    case 3: return number_make(arena, random_number_text(random, arena, 30));
    case 4: return value_string(random_text(random, arena));
    case 5:
    case 8: {
        Value *items = ARENA_ARRAY(arena, Value, count);
        for (uint32_t i = 0; i < count; i++) items[i] = random_value(random, arena, kinds, depth - 1);
        return kind == 5 ? value_array(items, count) : value_set(arena, items, count);
    }
    default: {
        Member *members = ARENA_ARRAY(arena, Member, count);
        for (uint32_t i = 0; i < count; i++) {
            bool any_key = kinds == RANDOM_ANY && random_below(random, 3) == 0;
            members[i].key = any_key ? random_value(random, arena, kinds, depth - 1)
                                     : value_string(random_text(random, arena));
            members[i].value = random_value(random, arena, kinds, depth - 1);
        }
        return value_object(arena, members, count);
    }
    }
}

#endif
