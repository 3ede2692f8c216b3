#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

Str str_of(const char *text)
{
    return (Str){ text, text ? strlen(text) : 0 };
}

bool str_is(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_is_text(Str a, const char *text)
{
    return str_is(a, str_of(text));
}

int str_compare(Str a, Str b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    if (shared && a.ptr[0] != b.ptr[0])         /* most names differ in their first byte: no call for them */
        return (unsigned char)a.ptr[0] - (unsigned char)b.ptr[0];
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;
    if (order) return order;
    return (a.len > b.len) - (a.len < b.len);
}

char *str_text_new(Str str)
{
    char *text = malloc(str.len + 1);
    CHECK(text);
    if (str.len) memcpy(text, str.ptr, str.len);
    text[str.len] = '\0';
    return text;
}

bool str_starts(Str str, Str prefix)
{
    return str.len >= prefix.len && str_is(str_slice(str, 0, prefix.len), prefix);
}

bool str_ends(Str str, Str suffix)
{
    return str.len >= suffix.len && str_is(str_slice(str, str.len - suffix.len, str.len), suffix);
}

size_t str_find(Str str, char byte, size_t from)
{
    if (from >= str.len) return str.len;
    const char *found = memchr(str.ptr + from, byte, str.len - from);
    return found ? (size_t)(found - str.ptr) : str.len;
}

Str str_trim(Str str)
{
    size_t from = 0, to = str.len;
    while (from < to && (str.ptr[from] == ' ' || str.ptr[from] == '\t')) from++;
    while (to > from && (str.ptr[to - 1] == ' ' || str.ptr[to - 1] == '\t')) to--;
    return str_slice(str, from, to);
}

bool str_to_u64(Str str, uint64_t *out_number)
{
    uint64_t number = 0;
    if (str.len == 0) return false;
    for (size_t i = 0; i < str.len; i++) {
        if (!ascii_is_digit(str.ptr[i])) return false;
        if (__builtin_mul_overflow(number, 10u, &number)) return false;
        if (__builtin_add_overflow(number, (uint64_t)(str.ptr[i] - '0'), &number)) return false;
    }
    *out_number = number;
    return true;
}
