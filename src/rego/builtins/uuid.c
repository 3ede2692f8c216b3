/* uuid.c - universally unique identifiers (RFC 4122), made and taken apart. */
#include <string.h>

#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/url_escape.h"
#include "rego/crypto/hash.h"

/* --- make --------------------------------------------------------------------------------------------------------- */

/* Out of the seed of the evaluation and the key, so that one key stands for one identifier throughout it. */
BuiltinResult builtin_uuid_rfc4122(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Buf buf;
    builtin_text_begin(context, &buf);
    buf_bytes(&buf, &context->seed, sizeof context->seed);
    json_text_print(&buf, args[0]);
    if (buf_overflowed(&buf)) return builtin_text_end(context, &buf, out_result, err);
    Hash hash = hash_of(HASH_SHA256, buf_peek(&buf));
    builtin_text_drop(&buf);

    uint8_t *b = hash.bytes;
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);         /* version 4: by chance */
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);         /* the variant of the RFC */
    builtin_text_begin(context, &buf);
    static const uint8_t group_ends[] = { 4, 6, 8, 10, 16 };
    for (size_t i = 0, at = 0; i < sizeof group_ends; at = group_ends[i++]) {
        if (i) buf_char(&buf, '-');
        buf_hex(&buf, b + at, group_ends[i] - at);
    }
    return builtin_text_end(context, &buf, out_result, err);
}

/* --- take apart --------------------------------------------------------------------------------------------------- */

static bool is_urn(Str text)
{
    static const char prefix[] = "urn:uuid:";
    for (size_t i = 0; i < sizeof prefix - 1; i++)
        if (ascii_to_lower(text.ptr[i]) != prefix[i]) return false;
    return true;
}

/* 36 characters with hyphens, perhaps behind "urn:uuid:" or inside a character at each side; or 32 digits alone. */
static bool uuid_read(Str text, uint8_t out[16])
{
    enum { PLAIN = 36, WRAPPED = 38, URN = 45, BARE = 32 };
    bool hyphens = text.len != BARE;
    if (text.len == URN && is_urn(text)) text = str_slice(text, 9, text.len);
    else if (text.len == WRAPPED) text = str_slice(text, 1, 37);
    else if (text.len != PLAIN && text.len != BARE) return false;
    size_t at = 0;
    for (size_t i = 0; i < 16; i++) {
        bool before_hyphen = hyphens && (i == 4 || i == 6 || i == 8 || i == 10);
        if (before_hyphen && text.ptr[at++] != '-') return false;
        int high = hex_value(text.ptr[at]), low = hex_value(text.ptr[at + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    return true;
}

static const char *variant_name(uint8_t byte)
{
    if ((byte & 0xc0) == 0x80) return "RFC4122";
    if ((byte & 0xe0) == 0xc0) return "Microsoft";
    if ((byte & 0xe0) == 0xe0) return "Future";
    return "Reserved";
}

static uint64_t big_endian(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) number = number << 8 | bytes[i];
    return number;
}

/* Hundreds of nanoseconds since 1582, as nanoseconds since 1970. */
static int64_t time_of(const uint8_t b[16])
{
    uint64_t ticks = big_endian(b, 4) | big_endian(b + 4, 2) << 32 | (big_endian(b + 6, 2) & 0xfff) << 48;
    uint64_t since_1970 = ticks - UINT64_C(122192928000000000);
    return (int64_t)(since_1970 * 100);             /* wraps around as Go's does for times before 1678 */
}

static Value mac_value(Arena *arena, const uint8_t node[6])
{
    return value_string(arena_format(arena, "%02x-%02x-%02x-%02x-%02x-%02x", node[0], node[1], node[2], node[3], node[4],
                                     node[5]));
}

/* Versions 1 and 2 tell when and where they were made; version 2 for whom as well. */
static void add_origin(Arena *arena, const uint8_t b[16], uint8_t version, MemberList *members)
{
    static const char *const macs[] = { "global:unicast", "global:multicast", "local:unicast", "local:multicast" };
    static const char *const domains[] = { "Person", "Group", "Org" };
    member_list_add(members, STR("time"), value_int(time_of(b)));
    member_list_add(members, STR("nodeid"), mac_value(arena, b + 10));
    member_list_add(members, STR("macvariables"), value_string(str_of(macs[b[10] & 3])));
    member_list_add(members, STR("clocksequence"), value_int((int64_t)(big_endian(b + 8, 2) & 0x3fff)));
    if (version != 2) return;
    member_list_add(members, STR("id"), value_int((int64_t)big_endian(b, 4)));
    Str domain = b[9] < 3 ? str_of(domains[b[9]]) : arena_format(arena, "Domain%u", b[9]);
    member_list_add(members, STR("domain"), value_string(domain));
}

BuiltinResult builtin_uuid_parse(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    uint8_t b[16];
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!uuid_read(text, b)) return BUILTIN_UNDEFINED;
    uint8_t version = b[6] >> 4;
    MemberList members = { .arena = context->arena };
    member_list_add(&members, STR("version"), value_int(version));
    member_list_add(&members, STR("variant"), value_string(str_of(variant_name(b[8]))));
    if (version == 1 || version == 2) add_origin(context->arena, b, version, &members);
    *out_result = member_list_object(&members);
    return BUILTIN_OK;
}
