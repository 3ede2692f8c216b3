#include "base/base64.h"

#include <stdint.h>

static const char alphabets[2][65] = {
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

void base64_encode(Buf *buf, Str bytes, Base64Kind kind)
{
    const char *alphabet = alphabets[kind != BASE64_STANDARD];
    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        uint32_t bits = 0;
        for (size_t i = 0; i < 3; i++) bits = bits << 8 | (i < left ? (unsigned char)bytes.ptr[at + i] : 0u);
        for (size_t i = 0; i < 4; i++) {
            if (i <= left) buf_char(buf, alphabet[bits >> (18 - 6 * i) & 63]);
            else if (kind != BASE64_URL_BARE) buf_char(buf, '=');
        }
    }
}

static int digit_of(char c, Base64Kind kind)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    const char *last = alphabets[kind != BASE64_STANDARD] + 62;
    return c == last[0] ? 62 : c == last[1] ? 63 : -1;
}

static size_t skip_breaks(Str text, size_t at)
{
    while (at < text.len && (text.ptr[at] == '\n' || text.ptr[at] == '\r')) at++;
    return at;
}

/* At the first padding character, behind `digits` of a group: whether the text ends as it must. */
static bool padding_is_right(Str text, size_t at, size_t digits, size_t *out_wrong_at)
{
    *out_wrong_at = at;
    if (digits < 2) return false;
    size_t next = skip_breaks(text, at + 1);
    if (digits == 2) {
        if (next == text.len) {
            *out_wrong_at = text.len;
            return false;
        }
        *out_wrong_at = next - 1;
        if (text.ptr[next] != '=') return false;
        next = skip_breaks(text, next + 1);
    }
    *out_wrong_at = next;
    return next == text.len;
}

bool base64_decode(Str text, Base64Kind kind, char *out, size_t *out_size, size_t *out_wrong_at)
{
    size_t size = 0, at = 0;
    while (at < text.len) {
        uint32_t bits = 0;
        size_t digits = 0;
        bool ended = false;
        for (; digits < 4; digits++) {
            at = skip_breaks(text, at);
            if (at == text.len) {
                if (digits == 0) break;
                *out_wrong_at = at - digits;
                if (digits == 1 || kind != BASE64_URL_BARE) return false;
                break;
            }
            int digit = digit_of(text.ptr[at], kind);
            if (digit < 0) {
                *out_wrong_at = at;
                if (text.ptr[at] != '=' || kind == BASE64_URL_BARE) return false;
                if (!padding_is_right(text, at, digits, out_wrong_at)) return false;
                ended = true;
                break;
            }
            bits |= (uint32_t)digit << (18 - 6 * digits);
            at++;
        }
        for (size_t i = 1; i < digits; i++) out[size++] = (char)(bits >> (24 - 8 * i));
        if (ended) break;
    }
    *out_size = size;
    return true;
}
