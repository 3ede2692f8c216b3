#include "rego/builtins/ip.h"

#include <string.h>

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Four numbers up to 255, no zeros in front. */
bool ip_read_v4(Str text, Ip *out_ip)
{
    Ip ip = { .size = 4 };
    size_t at = 0;
    for (uint32_t i = 0; i < 4; i++) {
        if (i && (at >= text.len || text.ptr[at++] != '.')) return false;
        size_t from = at;
        uint32_t number = 0;
        while (at < text.len && ascii_is_digit(text.ptr[at]) && at - from < 4)
            number = number * 10 + (uint32_t)(text.ptr[at++] - '0');
        bool has_zero = at - from > 1 && text.ptr[from] == '0';
        if (at == from || number > 255 || has_zero) return false;
        ip.bytes[i] = (uint8_t)number;
    }
    if (at != text.len) return false;
    *out_ip = ip;
    return true;
}

static int hex_digit(char c)
{
    if (ascii_is_digit(c)) return c - '0';
    char lower = ascii_to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Up to eight groups of four digits; one run of zero groups may be "::"; the last two groups may be an IPv4 address. */
bool ip_read_v6(Str text, Ip *out_ip)
{
    uint8_t bytes[16] = { 0 };
    size_t filled = 0, gap = 17, at = 0;
    if (text.len >= 2 && text.ptr[0] == ':' && text.ptr[1] == ':') {
        gap = 0;
        at = 2;
    }
    while (at < text.len) {
        if (filled == 16) return false;
        size_t from = at;
        uint32_t group = 0;
        while (at < text.len && hex_digit(text.ptr[at]) >= 0 && at - from < 5)
            group = group << 4 | (uint32_t)hex_digit(text.ptr[at++]);
        if (at == from || at - from > 4) return false;
        if (at < text.len && text.ptr[at] == '.') {
            Ip tail;
            if (filled > 12 || (gap == 17 && filled != 12) || !ip_read_v4(str_slice(text, from, text.len), &tail))
                return false;
            memcpy(bytes + filled, tail.bytes, 4);
            filled += 4;
            at = text.len;
            break;
        }
        bytes[filled++] = (uint8_t)(group >> 8);
        bytes[filled++] = (uint8_t)group;
        if (at == text.len) break;
        if (text.ptr[at++] != ':' || at == text.len) return false;
        if (text.ptr[at] == ':') {
            if (gap < 17) return false;
            gap = filled;
            at++;
        }
    }
    if (filled == 16 ? gap < 17 : gap == 17) return false;
    Ip ip = { .size = 16 };
    size_t front = gap < 17 ? gap : 16;
    memcpy(ip.bytes, bytes, front);
    memcpy(ip.bytes + 16 - (filled - (gap < 17 ? gap : filled)), bytes + front, filled - (gap < 17 ? gap : filled));
    *out_ip = ip;
    return true;
}

bool ip_read(Str text, Ip *out_ip)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    if (ip_read_v4(text, out_ip)) return true;
    Ip ip;
    if (!ip_read_v6(text, &ip)) return false;
    if (memcmp(ip.bytes, mapped, sizeof mapped) == 0) {
        memmove(ip.bytes, ip.bytes + 12, 4);
        ip.size = 4;
    }
    *out_ip = ip;
    return true;
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

static uint32_t group_at(const Ip *ip, uint32_t index)
{
    return (uint32_t)ip->bytes[2 * index] << 8 | ip->bytes[2 * index + 1];
}

/* The longest run of two zero groups or more is left out, the first of equal ones. */
static void print_v6(Buf *buf, const Ip *ip)
{
    uint32_t best = 8, best_count = 1;
    for (uint32_t i = 0; i < 8;) {
        uint32_t count = 0;
        while (i + count < 8 && group_at(ip, i + count) == 0) count++;
        if (count > best_count) {
            best = i;
            best_count = count;
        }
        i += count ? count : 1;
    }
    for (uint32_t i = 0; i < 8; i++) {
        if (i == best) {
            buf_text(buf, "::");
            i += best_count - 1;
            continue;
        }
        if (i && i != best + best_count) buf_char(buf, ':');
        buf_format(buf, "%x", group_at(ip, i));
    }
}

void ip_print(Buf *buf, const Ip *ip)
{
    if (ip->size == 16) {
        print_v6(buf, ip);
        return;
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (i) buf_char(buf, '.');
        buf_u64(buf, ip->bytes[i]);
    }
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

int ip_compare(const Ip *a, const Ip *b)
{
    return memcmp(a->bytes, b->bytes, a->size);
}

bool ip_next(Ip *ip)
{
    for (uint32_t i = ip->size; i--;)
        if (++ip->bytes[i]) return true;
    return false;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static uint8_t mask_byte(uint32_t prefix, uint32_t index)
{
    if (prefix >= 8 * (index + 1)) return 0xff;
    return (uint8_t)(prefix <= 8 * index ? 0u : 0xff00u >> (prefix - 8 * index));
}

bool cidr_read(Str text, Cidr *out_cidr, Ip *out_ip)
{
    size_t slash = str_find(text, '/', 0);
    Str digits = str_slice(text, slash + 1, text.len);
    uint64_t prefix;
    Ip ip;
    if (slash == text.len || !str_to_u64(digits, &prefix)) return false;
    if (!ip_read_v4(str_slice(text, 0, slash), &ip) && !ip_read_v6(str_slice(text, 0, slash), &ip)) return false;
    if (prefix > 8u * ip.size) return false;
    if (out_ip) *out_ip = ip;
    *out_cidr = (Cidr){ .first = ip, .prefix = (uint8_t)prefix };
    for (uint32_t i = 0; i < ip.size; i++) out_cidr->first.bytes[i] &= mask_byte((uint32_t)prefix, i);
    return true;
}

bool cidr_has(const Cidr *cidr, const Ip *ip)
{
    if (cidr->first.size != ip->size) return false;
    for (uint32_t i = 0; i < ip->size; i++)
        if ((ip->bytes[i] & mask_byte(cidr->prefix, i)) != cidr->first.bytes[i]) return false;
    return true;
}

Ip cidr_last(const Cidr *cidr)
{
    Ip last = cidr->first;
    for (uint32_t i = 0; i < last.size; i++) last.bytes[i] |= (uint8_t)~mask_byte(cidr->prefix, i);
    return last;
}

void cidr_print(Buf *buf, const Cidr *cidr)
{
    ip_print(buf, &cidr->first);
    buf_char(buf, '/');
    buf_u64(buf, cidr->prefix);
}
