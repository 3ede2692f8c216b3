/* str.h - borrowed slices of bytes, the only string inside the system.
 *
 * A Str does not own its bytes and is not NUL-terminated; NUL-terminated text exists at the edge of libc alone. An empty
 * Str may have any pointer, a null one included.
 *
 * Owns: nothing; str_text_new() gives its copy away.     Fails: never.     Thread: pure, any.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Str {
    const char *ptr;
    size_t len;
} Str;

/* A literal as a slice; STR_INIT is its form for static tables. */
#define STR(literal) ((Str){ "" literal, sizeof(literal) - 1 })
#define STR_INIT(literal) { "" literal, sizeof(literal) - 1 }
/* For printf's "%.*s". */
#define STR_ARG(str) (int)(str).len, (str).ptr

Str str_of(const char *text);                       /* up to the NUL; a null pointer gives an empty slice */
/* Bytes from..to, both clipped to the slice. */
static inline Str str_slice(Str str, size_t from, size_t to)
{
    if (to > str.len) to = str.len;
    if (from > to) from = to;
    return (Str){ from ? str.ptr + from : str.ptr, to - from };     /* NULL has no bytes, and nothing is added to it */
}

bool str_is(Str a, Str b);
bool str_is_text(Str a, const char *text);
int  str_compare(Str a, Str b);                     /* by bytes, a prefix first: the order of UTF-8 code points */
bool str_starts(Str str, Str prefix);
bool str_ends(Str str, Str suffix);
/* The first place of a byte at or after `from`, or str.len. */
size_t str_find(Str str, char byte, size_t from);
Str  str_trim(Str str);                             /* without spaces and tabs at both ends */
/* A copy on the heap with a NUL behind it, for the edge of libc and for what outlives every arena; the caller frees it. */
char *str_text_new(Str str);

/* Decimal digits alone, no sign, no spaces; false where there is none, a stranger, or an overflow. */
bool str_to_u64(Str str, uint64_t *out_number);

/* ASCII classes: the locale has no say in what a name is. */
static inline bool ascii_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool ascii_is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline bool ascii_is_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool ascii_is_alpha(char c) { return ascii_is_upper(c) || ascii_is_lower(c); }
static inline bool ascii_is_alnum(char c) { return ascii_is_alpha(c) || ascii_is_digit(c); }
static inline bool ascii_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline char ascii_to_lower(char c) { return ascii_is_upper(c) ? (char)(c + ('a' - 'A')) : c; }

#endif
