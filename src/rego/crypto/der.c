#include "rego/crypto/der.h"

#include <gmp.h>
#include <string.h>

#include "base/civil.h"
#include "base/limits.h"
#include "value/number.h"

bool der_peek(Str der, uint8_t tag)
{
    return der.len > 0 && (uint8_t)der.ptr[0] == tag;
}

/* The length behind the tag, in its shortest form, and how many bytes it takes. */
static bool length_read(Str der, size_t *out_length, size_t *out_size)
{
    if (der.len < 2) return false;
    uint8_t first = (uint8_t)der.ptr[1];
    if (first < 0x80) {
        *out_length = first;
        *out_size = 1;
        return true;
    }
    size_t bytes = first & 0x7f;
    if (bytes == 0 || bytes > 4 || der.len < 2 + bytes) return false;
    uint32_t length = 0;
    for (size_t i = 0; i < bytes; i++) length = length << 8 | (uint8_t)der.ptr[2 + i];
    if (length < 0x80 || length >> (8 * (bytes - 1)) == 0) return false;
    *out_length = length;
    *out_size = 1 + bytes;
    return true;
}

bool der_take_any(Str *der, uint8_t *out_tag, Str *out_content, Str *out_element)
{
    size_t length, size;
    if (!length_read(*der, &length, &size)) return false;
    if (((uint8_t)der->ptr[0] & 0x1f) == 0x1f) return false;
    size_t header = 1 + size;
    if (length > der->len - header) return false;
    Str element = str_slice(*der, 0, header + length);
    *der = str_slice(*der, header + length, der->len);
    /* Last, since `der` itself may be what the content is wanted in. */
    if (out_tag) *out_tag = (uint8_t)element.ptr[0];
    if (out_content) *out_content = str_slice(element, header, element.len);
    if (out_element) *out_element = element;
    return true;
}

bool der_take(Str *der, uint8_t tag, Str *out_content)
{
    return der_peek(*der, tag) && der_take_any(der, NULL, out_content, NULL);
}

bool der_take_element(Str *der, uint8_t tag, Str *out_element)
{
    return der_peek(*der, tag) && der_take_any(der, NULL, NULL, out_element);
}

bool der_take_optional(Str *der, uint8_t tag, Str *out_content, bool *out_present)
{
    bool present = der_peek(*der, tag);
    if (out_present) *out_present = present;
    if (!present) {
        *out_content = (Str){ 0 };
        return true;
    }
    return der_take(der, tag, out_content);
}

bool der_take_boolean(Str *der, bool *out_truth)
{
    Str content;
    if (!der_take(der, DER_BOOLEAN, &content) || content.len != 1) return false;
    uint8_t byte = (uint8_t)content.ptr[0];
    *out_truth = byte == 0xff;
    return byte == 0 || byte == 0xff;
}

static bool integer_is_shortest(Str bytes)
{
    if (bytes.len == 0) return false;
    if (bytes.len == 1) return true;
    uint8_t first = (uint8_t)bytes.ptr[0], second = (uint8_t)bytes.ptr[1];
    return !((first == 0 && second < 0x80) || (first == 0xff && second >= 0x80));
}

bool der_take_integer(Str *der, Str *out_bytes)
{
    return der_take(der, DER_INTEGER, out_bytes) && integer_is_shortest(*out_bytes);
}

bool der_take_small(Str *der, uint8_t tag, int64_t *out_number)
{
    Str bytes;
    if (!der_take(der, tag, &bytes) || !integer_is_shortest(bytes) || bytes.len > 8) return false;
    uint64_t number = der_integer_is_negative(bytes) ? UINT64_MAX : 0;
    for (size_t i = 0; i < bytes.len; i++) number = number << 8 | (uint8_t)bytes.ptr[i];
    *out_number = (int64_t)number;
    return true;
}

bool der_take_bits(Str *der, Arena *arena, Str *out_bytes)
{
    Str content;
    if (!der_take(der, DER_BITS, &content) || content.len == 0) return false;
    uint8_t spare = (uint8_t)content.ptr[0];
    Str bytes = str_slice(content, 1, content.len);
    if (spare > 7 || (bytes.len == 0 && spare)) return false;
    if (bytes.len && ((uint8_t)bytes.ptr[bytes.len - 1] & ((1u << spare) - 1))) return false;
    if (spare == 0) {
        *out_bytes = bytes;
        return true;
    }
    char *shifted = arena_bytes(arena, bytes.len);
    uint32_t carry = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        uint32_t byte = (uint8_t)bytes.ptr[i];
        shifted[i] = (char)(carry | byte >> spare);
        carry = byte << (8 - spare) & 0xff;
    }
    *out_bytes = (Str){ shifted, bytes.len };
    return true;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static bool two_digits(Str text, size_t at, int32_t *out_number)
{
    if (at + 2 > text.len || !ascii_is_digit(text.ptr[at]) || !ascii_is_digit(text.ptr[at + 1])) return false;
    *out_number = (text.ptr[at] - '0') * 10 + (text.ptr[at + 1] - '0');
    return true;
}

/* YYMMDDhhmmssZ, seconds optional, or YYYYMMDDhhmmssZ. */
bool der_take_time(Str *der, int64_t *out_seconds)
{
    bool full = der_peek(*der, DER_TIME);
    Str text;
    if (!der_take(der, full ? DER_TIME : DER_UTC_TIME, &text)) return false;
    int32_t century = 0, year, month, day, hour, minute, second = 0;
    size_t at = full ? 2 : 0;
    if (full && !two_digits(text, 0, &century)) return false;
    if (!two_digits(text, at, &year) || !two_digits(text, at + 2, &month) || !two_digits(text, at + 4, &day)
        || !two_digits(text, at + 6, &hour) || !two_digits(text, at + 8, &minute))
        return false;
    at += 10;
    bool has_seconds = two_digits(text, at, &second);
    if (has_seconds) at += 2;
    if ((full && !has_seconds) || at + 1 != text.len || text.ptr[at] != 'Z') return false;
    int64_t whole_year = full ? century * 100 + year : year < 50 ? 2000 + year : 1900 + year;
    if (month < 1 || month > 12 || day < 1 || day > civil_month_days(whole_year, month) || hour > 23 || minute > 59
        || second > 59)
        return false;
    *out_seconds = civil_seconds(&(CivilTime){ { whole_year, month, day }, hour, minute, second });
    return true;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

bool der_integer_value(Arena *arena, Str bytes, Value *out_value)
{
    if (bytes.len > CRYPTO_INTEGER_SIZE_MAX) return false;
    mpz_t number;
    mpz_init(number);
    mpz_import(number, bytes.len, 1, 1, 1, 0, bytes.ptr);
    if (der_integer_is_negative(bytes)) {       /* two's complement: less 2 to the power of its bits */
        mpz_t modulus;
        mpz_init_set_ui(modulus, 1);
        mpz_mul_2exp(modulus, modulus, 8 * bytes.len);
        mpz_sub(number, number, modulus);
        mpz_clear(modulus);
    }
    char *text = arena_alloc(arena, mpz_sizeinbase(number, 10) + 2);
    mpz_get_str(text, 10, number);
    mpz_clear(number);
    return number_read(arena, str_of(text), out_value, NULL) == OK;
}

/* --- object identifiers ------------------------------------------------------------------------------------------- */

/* The next part of an identifier; false at the end, or where it does not fit 31 bits. */
static bool part_next(Str *bytes, uint32_t *out_part)
{
    uint64_t part = 0;
    for (size_t i = 0; i < bytes->len && i < 5; i++) {
        uint8_t byte = (uint8_t)bytes->ptr[i];
        if (i == 0 && byte == 0x80) return false;
        part = part << 7 | (byte & 0x7f);
        if (byte & 0x80) continue;
        *bytes = str_slice(*bytes, i + 1, bytes->len);
        *out_part = (uint32_t)part;
        return part <= INT32_MAX;
    }
    return false;
}

bool der_take_oid(Str *der, Str *out_bytes)
{
    Str content;
    if (!der_take(der, DER_OID, &content) || content.len == 0) return false;
    *out_bytes = content;
    uint32_t part;
    while (content.len > 0)
        if (!part_next(&content, &part)) return false;
    return true;
}

/* The first part holds two: 40 times the first (which is at most 2) and the second. */
static uint32_t first_of(uint32_t part) { return part < 80 ? part / 40 : 2; }

void oid_print(Buf *buf, Str bytes)
{
    uint32_t part;
    if (!part_next(&bytes, &part)) return;
    buf_format(buf, "%u.%u", first_of(part), part - 40 * first_of(part));
    while (part_next(&bytes, &part)) buf_format(buf, ".%u", part);
}

Value oid_value(Arena *arena, Str bytes)
{
    ValueList parts = { .arena = arena };
    uint32_t part;
    if (part_next(&bytes, &part)) {
        value_list_add(&parts, value_int(first_of(part)));
        value_list_add(&parts, value_int(part - 40 * first_of(part)));
        while (part_next(&bytes, &part)) value_list_add(&parts, value_int(part));
    }
    return value_list_array(&parts);
}

bool oid_is(Str bytes, const char *dotted)
{
    char text[128];
    Buf buf = buf_on(text, sizeof text);
    oid_print(&buf, bytes);
    return !buf_overflowed(&buf) && str_is_text(buf_peek(&buf), dotted);
}
