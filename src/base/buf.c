#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

Buf buf_on(char *storage, size_t size)
{
    return (Buf){ .ptr = storage, .capacity = size, .size_max = size };
}

void buf_init(Buf *buf, size_t size_max)
{
    *buf = (Buf){ .size_max = size_max, .owned = true };
}

void buf_deinit(Buf *buf)
{
    if (buf->owned) free(buf->ptr);
    *buf = (Buf){ .size_max = buf->size_max, .owned = buf->owned };
}

void buf_clear(Buf *buf)
{
    buf->len = 0;
    buf->overflowed = false;
}

/* Room for `size` more bytes, or false with the overflow remembered. */
static bool buf_reserve(Buf *buf, size_t size)
{
    if (buf->overflowed) return false;
    if (size <= buf->capacity - buf->len) return true;
    if (!buf->owned || size > buf->size_max - buf->len) {
        buf->overflowed = true;
        return false;
    }
    size_t capacity = buf->capacity ? buf->capacity * 2 : 256;
    if (capacity < buf->len + size) capacity = buf->len + size;
    if (capacity > buf->size_max) capacity = buf->size_max;
    char *grown = realloc(buf->ptr, capacity);
    CHECK(grown != NULL);
    buf->ptr = grown;
    buf->capacity = capacity;
    return true;
}

void buf_bytes(Buf *buf, const void *bytes, size_t size)
{
    if (size == 0 || !buf_reserve(buf, size)) return;
    memcpy(buf->ptr + buf->len, bytes, size);
    buf->len += size;
}

void buf_str(Buf *buf, Str str)
{
    buf_bytes(buf, str.ptr, str.len);
}

void buf_text(Buf *buf, const char *text)
{
    buf_bytes(buf, text, strlen(text));
}

void buf_repeat(Buf *buf, char c, size_t count)
{
    if (count == 0 || !buf_reserve(buf, count)) return;
    memset(buf->ptr + buf->len, c, count);
    buf->len += count;
}

void buf_u64(Buf *buf, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    buf_bytes(buf, digits + at, sizeof digits - at);
}

void buf_i64(Buf *buf, int64_t number)
{
    if (number < 0) buf_char(buf, '-');
    buf_u64(buf, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void buf_hex(Buf *buf, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        buf_char(buf, digits[bytes[i] >> 4]);
        buf_char(buf, digits[bytes[i] & 15]);
    }
}

void buf_format(Buf *buf, const char *format, ...)
{
    char small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    CHECK(size >= 0);
    if ((size_t)size < sizeof small) {
        buf_bytes(buf, small, (size_t)size);
    } else if (buf_reserve(buf, (size_t)size)) {
        char *large = malloc((size_t)size + 1);     /* vsnprintf writes a NUL, for which there may be no room */
        CHECK(large != NULL);
        vsnprintf(large, (size_t)size + 1, format, again);
        buf_bytes(buf, large, (size_t)size);
        free(large);
    }
    va_end(again);
}
