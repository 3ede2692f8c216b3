/* buf.h - text written piece by piece into bounded space.
 *
 * A Buf is born with a maximum. Writing beyond it writes nothing more and is remembered (overflow is sticky), so a
 * sequence of writes needs one check, at its end.
 *
 * Owns:   buf_on(): nothing, the storage is the caller's. buf_init(): a heap block that grows up to the maximum, freed by
 *         buf_deinit(), which is harmless on the other kind.
 * Bounds: size_max.     Thread: one at a time.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

typedef struct Buf {
    char *ptr;
    size_t len, capacity, size_max;
    bool owned, overflowed;
} Buf;

Buf  buf_on(char *storage, size_t size);
void buf_init(Buf *buf, size_t size_max);
void buf_deinit(Buf *buf);
void buf_clear(Buf *buf);               /* empty again, overflow forgotten, memory kept */

void buf_bytes(Buf *buf, const void *bytes, size_t size);
void buf_str(Buf *buf, Str str);
void buf_text(Buf *buf, const char *text);
void buf_repeat(Buf *buf, char c, size_t count);
void buf_u64(Buf *buf, uint64_t number);
void buf_i64(Buf *buf, int64_t number);
void buf_hex(Buf *buf, const uint8_t *bytes, size_t size);
void buf_format(Buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Printers write one character at a time: the usual case stays in the caller. */
static inline void buf_char(Buf *buf, char c)
{
    if (buf->len < buf->capacity && !buf->overflowed) buf->ptr[buf->len++] = c;
    else buf_bytes(buf, &c, 1);
}

static inline bool buf_overflowed(const Buf *buf) { return buf->overflowed; }
static inline Str  buf_peek(const Buf *buf) { return (Str){ buf->ptr, buf->len }; }

#endif
