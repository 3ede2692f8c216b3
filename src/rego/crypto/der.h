/* der.h - reading DER, the one binary form of ASN.1 values (X.690).
 *
 * A reader is a slice that shrinks from its front: each call takes one element off it, or answers false and leaves it as
 * it was. Only the definite, shortest form of lengths and the low form of tags are taken, as DER demands.
 *
 * Owns:   nothing; contents are slices of the text, made values live in the arena.
 * Fails:  by returning false.
 * Bounds: der_integer_value() takes numbers of at most CRYPTO_INTEGER_SIZE_MAX bytes.     Thread: pure, any.
 */
#ifndef REGO_CRYPTO_DER_H
#define REGO_CRYPTO_DER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "value/value.h"

enum {
    DER_BOOLEAN = 0x01,
    DER_INTEGER = 0x02,
    DER_BITS = 0x03,
    DER_OCTETS = 0x04,
    DER_NULL = 0x05,
    DER_OID = 0x06,
    DER_UTF8 = 0x0c,
    DER_NUMERIC = 0x12,
    DER_PRINTABLE = 0x13,
    DER_T61 = 0x14,
    DER_IA5 = 0x16,
    DER_UTC_TIME = 0x17,
    DER_TIME = 0x18,
    DER_BMP = 0x1e,
    DER_SEQUENCE = 0x30,
    DER_SET = 0x31,
};
/* A tag of the context: [number], primitive or constructed. */
#define DER_CONTEXT(number) (0x80 | (number))
#define DER_CONTEXT_CONSTRUCTED(number) (0xa0 | (number))

bool der_peek(Str der, uint8_t tag);
/* Any element: its tag, what it holds, and itself as a whole. Each out may be NULL. */
bool der_take_any(Str *der, uint8_t *out_tag, Str *out_content, Str *out_element);
bool der_take(Str *der, uint8_t tag, Str *out_content);
/* The whole element, tag and length included. */
bool der_take_element(Str *der, uint8_t tag, Str *out_element);
/* True where the element is absent as well; out_present may be NULL. */
bool der_take_optional(Str *der, uint8_t tag, Str *out_content, bool *out_present);

bool der_take_boolean(Str *der, bool *out_truth);
/* The bytes of an integer, two's complement, shortest form. */
bool der_take_integer(Str *der, Str *out_bytes);
bool der_take_small(Str *der, uint8_t tag, int64_t *out_number);
bool der_take_oid(Str *der, Str *out_bytes);
/* Bytes of a bit string shifted so that the last bit is the lowest one of the last byte. */
bool der_take_bits(Str *der, Arena *arena, Str *out_bytes);
/* Seconds since 1970. */
bool der_take_time(Str *der, int64_t *out_seconds);

/* The number of an integer's bytes; false where it is too large to be a value. */
bool der_integer_value(Arena *arena, Str bytes, Value *out_value);
static inline bool der_integer_is_negative(Str bytes) { return bytes.len > 0 && (bytes.ptr[0] & 0x80); }

bool  oid_is(Str bytes, const char *dotted);
void  oid_print(Buf *buf, Str bytes);               /* 1.2.840.113549 */
Value oid_value(Arena *arena, Str bytes);           /* [1, 2, 840, 113549] */

#endif
