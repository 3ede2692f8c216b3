/* Names, keys, algorithms and the list of extensions, as certificates and requests both have them. */
#include "rego/crypto/certificate_parts.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

#include "base/utf8.h"
#include "rego/crypto/der.h"

#define REFUSE(err, text) error_set(err, ERR_INVALID, "%s", text)

/* --- names -------------------------------------------------------------------------------------------------------- */

static bool is_printable(char c)
{
    return ascii_is_alnum(c) || (c != '\0' && strchr(" '()+,-./:=?*&", c) != NULL);
}

static bool all_of(Str text, bool (*is)(char))
{
    for (size_t i = 0; i < text.len; i++)
        if (!is(text.ptr[i])) return false;
    return true;
}

static bool is_ascii(char c) { return (unsigned char)c < 0x80; }
static bool is_numeric(char c) { return ascii_is_digit(c) || c == ' '; }

/* Latin-1 or two bytes a character, as UTF-8. */
static bool wide_text(Arena *arena, Str bytes, size_t width, Str *out_text)
{
    if (bytes.len % width) return false;
    if (width == 2 && bytes.len >= 2 && !bytes.ptr[bytes.len - 1] && !bytes.ptr[bytes.len - 2]) bytes.len -= 2;
    char *text = arena_bytes(arena, bytes.len * 2 + 1);
    size_t size = 0;
    for (size_t i = 0; i < bytes.len; i += width) {
        uint32_t point = (uint8_t)bytes.ptr[i];
        if (width == 2) point = point << 8 | (uint8_t)bytes.ptr[i + 1];
        if (point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) || (point >= 0xd800 && point <= 0xdfff)) return false;
        size += utf8_encode(point, text + size);
    }
    *out_text = (Str){ text, size };
    return true;
}

/* The text of a string of one of ASN.1's types; NULL, or why it is none. A type that is no string has no text. */
static const char *string_read(Arena *arena, uint8_t tag, Str bytes, Str *out_text)
{
    *out_text = bytes;
    switch (tag) {
    case DER_PRINTABLE:
        return all_of(bytes, is_printable) ? NULL : "invalid PrintableString";
    case DER_UTF8:
        return utf8_valid_size(bytes) == bytes.len ? NULL : "invalid UTF-8 string";
    case DER_IA5:
        return all_of(bytes, is_ascii) ? NULL : "invalid IA5String";
    case DER_NUMERIC:
        return all_of(bytes, is_numeric) ? NULL : "invalid NumericString";
    case DER_T61:
        return wide_text(arena, bytes, 1, out_text) ? NULL : "invalid T61String";
    case DER_BMP:
        return wide_text(arena, bytes, 2, out_text) ? NULL : "invalid BMPString";
    default:
        out_text->ptr = NULL;
        return "";
    }
}

/* The attributes 2.5.4.x that have a member of their own; those that are a single text come first. */
enum { NAME_SINGLE_COUNT = 2, NAME_PART_COUNT = 9 };
static const struct { uint8_t arc; const char *member; } name_parts[NAME_PART_COUNT] = {
    { 3, "CommonName" },   { 5, "SerialNumber" }, { 6, "Country" },       { 7, "Locality" },            { 8, "Province" },
    { 9, "StreetAddress" }, { 10, "Organization" }, { 11, "OrganizationalUnit" }, { 17, "PostalCode" },
};

typedef struct NameLists {
    ValueList parts[NAME_PART_COUNT], all;
} NameLists;

static void name_add(Arena *arena, NameLists *lists, Str id, Str text)
{
    MemberList pair = { .arena = arena };
    member_list_add(&pair, STR("Type"), oid_value(arena, id));
    member_list_add(&pair, STR("Value"), value_string(text));
    value_list_add(&lists->all, member_list_object(&pair));
    bool is_common = id.len == 3 && memcmp(id.ptr, "\x55\x04", 2) == 0;     /* 2.5.4 */
    for (size_t i = 0; is_common && i < NAME_PART_COUNT; i++)
        if ((uint8_t)id.ptr[2] == name_parts[i].arc) value_list_add(&lists->parts[i], value_string(text));
}

static Status name_attribute_read(Arena *arena, Str *set, NameLists *lists, Error *err)
{
    Str pair, id, content, text;
    uint8_t tag;
    if (!der_take(set, DER_SEQUENCE, &pair)) return REFUSE(err, "x509: invalid RDNSequence: invalid attribute");
    if (!der_take_oid(&pair, &id)) return REFUSE(err, "x509: invalid RDNSequence: invalid attribute type");
    if (!der_take_any(&pair, &tag, &content, NULL))
        return REFUSE(err, "x509: invalid RDNSequence: invalid attribute value");
    const char *wrong = string_read(arena, tag, content, &text);
    if (!text.ptr)
        return error_set(err, ERR_INVALID,
                         "x509: invalid RDNSequence: invalid attribute value: unsupported string type: %u", tag);
    if (wrong) return error_set(err, ERR_INVALID, "x509: invalid RDNSequence: invalid attribute value: %s", wrong);
    name_add(arena, lists, id, text);
    return OK;
}

Status name_read(Arena *arena, Str der, Value *out_value, Error *err)
{
    NameLists lists = { .all = { .arena = arena } };
    for (size_t i = 0; i < NAME_PART_COUNT; i++) lists.parts[i].arena = arena;
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid RDNSequence");
    while (der.len > 0) {
        Str set;
        if (!der_take(&der, DER_SET, &set)) return REFUSE(err, "x509: invalid RDNSequence");
        while (set.len > 0) {
            Status status = name_attribute_read(arena, &set, &lists, err);
            if (status) return status;
        }
    }
    MemberList members = { .arena = arena };
    for (size_t i = 0; i < NAME_PART_COUNT; i++) {
        const ValueList *list = &lists.parts[i];
        Value value = list->count ? value_list_array(list) : value_null();
        if (i < NAME_SINGLE_COUNT) value = list->count ? list->items[list->count - 1] : value_string(STR(""));
        member_list_add(&members, str_of(name_parts[i].member), value);
    }
    member_list_add(&members, STR("Names"), lists.all.count ? value_list_array(&lists.all) : value_null());
    member_list_add(&members, STR("ExtraNames"), value_null());
    *out_value = member_list_object(&members);
    return OK;
}

/* --- algorithms --------------------------------------------------------------------------------------------------- */

static const struct { const char *oid; int64_t number; } signature_algorithms[] = {
    { "1.2.840.113549.1.1.4", 2 },      /* MD5 with RSA */
    { "1.2.840.113549.1.1.5", 3 },      /* SHA-1 with RSA */
    { "1.3.14.3.2.29", 3 },             /* the same under its other name */
    { "1.2.840.113549.1.1.11", 4 },     /* SHA-256, 384, 512 with RSA */
    { "1.2.840.113549.1.1.12", 5 },
    { "1.2.840.113549.1.1.13", 6 },
    { "1.2.840.10040.4.3", 7 },         /* DSA with SHA-1, SHA-256 */
    { "2.16.840.1.101.3.4.3.2", 8 },
    { "1.2.840.10045.4.1", 9 },         /* ECDSA with SHA-1, SHA-256, 384, 512 */
    { "1.2.840.10045.4.3.2", 10 },
    { "1.2.840.10045.4.3.3", 11 },
    { "1.2.840.10045.4.3.4", 12 },
};

/* An AlgorithmIdentifier whose parameters are absent or NULL. */
static bool plain_algorithm_take(Str *der, Str *out_oid)
{
    Str sequence, content;
    if (!der_take(der, DER_SEQUENCE, &sequence) || !der_take_oid(&sequence, out_oid)) return false;
    return sequence.len == 0 || (der_take(&sequence, DER_NULL, &content) && content.len == 0);
}

/* RSA-PSS says in its parameters which hash it uses; only the common combinations have a number. */
static int64_t pss_algorithm(Str der)
{
    static const struct { const char *oid; int64_t salt_size, number; } hashes[] = {
        { "2.16.840.1.101.3.4.2.1", 32, 13 },
        { "2.16.840.1.101.3.4.2.2", 48, 14 },
        { "2.16.840.1.101.3.4.2.3", 64, 15 },
    };
    Str parameters, part, hash, mask, mask_oid, mask_hash;
    int64_t salt_size, trailer = 1;
    if (!der_take(&der, DER_SEQUENCE, &parameters)) return 0;
    if (!der_take(&parameters, DER_CONTEXT_CONSTRUCTED(0), &part) || !plain_algorithm_take(&part, &hash)) return 0;
    if (!der_take(&parameters, DER_CONTEXT_CONSTRUCTED(1), &part) || !der_take(&part, DER_SEQUENCE, &mask)
        || !der_take_oid(&mask, &mask_oid) || !oid_is(mask_oid, "1.2.840.113549.1.1.8")
        || !plain_algorithm_take(&mask, &mask_hash) || !str_is(mask_hash, hash))
        return 0;
    if (!der_take(&parameters, DER_CONTEXT_CONSTRUCTED(2), &part) || !der_take_small(&part, DER_INTEGER, &salt_size))
        return 0;
    bool has_trailer;
    if (!der_take_optional(&parameters, DER_CONTEXT_CONSTRUCTED(3), &part, &has_trailer)
        || (has_trailer && !der_take_small(&part, DER_INTEGER, &trailer)) || trailer != 1)
        return 0;
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++)
        if (oid_is(hash, hashes[i].oid) && salt_size == hashes[i].salt_size) return hashes[i].number;
    return 0;
}

int64_t signature_algorithm(Str der)
{
    Str oid;
    if (!der_take_oid(&der, &oid)) return 0;
    if (oid_is(oid, "1.3.101.112")) return der.len == 0 ? 16 : 0;       /* Ed25519 */
    if (oid_is(oid, "1.2.840.113549.1.1.10")) return pss_algorithm(der);
    for (size_t i = 0; i < sizeof signature_algorithms / sizeof signature_algorithms[0]; i++)
        if (oid_is(oid, signature_algorithms[i].oid)) return signature_algorithms[i].number;
    return 0;
}

/* --- public keys -------------------------------------------------------------------------------------------------- */

typedef struct KeySource {
    Arena *arena;
    Str whole;              /* SubjectPublicKeyInfo */
    Str parameters;         /* of the algorithm */
    Str key;
} KeySource;

static bool number_take(Arena *arena, Str *der, MemberList *members, const char *name)
{
    Str bytes;
    Value value;
    if (!der_take_integer(der, &bytes) || der_integer_is_negative(bytes) || !der_integer_value(arena, bytes, &value))
        return false;
    if (bytes.len == 1 && bytes.ptr[0] == 0) return false;
    member_list_add(members, str_of(name), value);
    return true;
}

static const char *rsa_read(KeySource *source, MemberList *members)
{
    Str parameters = source->parameters, content, sequence;
    if (!der_take(&parameters, DER_NULL, &content) || content.len || parameters.len)
        return "x509: RSA key missing NULL parameters";
    if (!der_take(&source->key, DER_SEQUENCE, &sequence)) return "x509: invalid RSA public key";
    if (!number_take(source->arena, &sequence, members, "N")) return "x509: invalid RSA modulus";
    if (!number_take(source->arena, &sequence, members, "E")) return "x509: invalid RSA public exponent";
    return NULL;
}

static const char *ec_read(KeySource *source, MemberList *members)
{
    static const struct { const char *oid; size_t size; const char *refusal; } curves[] = {
        { "1.3.132.0.33", 28, "P224 point not on curve" },
        { "1.2.840.10045.3.1.7", 32, "P256 point not on curve" },
        { "1.3.132.0.34", 48, "P384 point not on curve" },
        { "1.3.132.0.35", 66, "P521 point not on curve" },
    };
    Str parameters = source->parameters, oid;
    if (!der_take_oid(&parameters, &oid)) return "x509: invalid ECDSA parameters";
    size_t curve = 0, curve_count = sizeof curves / sizeof curves[0];
    while (curve < curve_count && !oid_is(oid, curves[curve].oid)) curve++;
    if (curve == curve_count) return "x509: unsupported elliptic curve";
    size_t size = curves[curve].size;
    const unsigned char *der = (const unsigned char *)source->whole.ptr;
    EVP_PKEY *key = d2i_PUBKEY(NULL, &der, (long)source->whole.len);     /* knows whether the point is on the curve */
    ERR_clear_error();
    EVP_PKEY_free(key);
    Str point = source->key;
    if (!key || point.len != 1 + 2 * size || point.ptr[0] != 4) return curves[curve].refusal;
    static const char *const names[] = { "X", "Y" };
    for (size_t i = 0; i < 2; i++) {
        char padded[67] = { 0 };            /* a zero before it, so that it is no negative number */
        memcpy(padded + 1, point.ptr + 1 + i * size, size);
        Value value;
        if (!der_integer_value(source->arena, (Str){ padded, size + 1 }, &value)) return "x509: invalid ECDSA public key";
        member_list_add(members, str_of(names[i]), value);
    }
    member_list_add(members, STR("Curve"), value_object(source->arena, NULL, 0));
    return NULL;
}

static const char *dsa_read(KeySource *source, MemberList *members)
{
    if (!number_take(source->arena, &source->key, members, "Y")) return "x509: invalid DSA public key";
    Str parameters;
    if (!der_take(&source->parameters, DER_SEQUENCE, &parameters)
        || !number_take(source->arena, &parameters, members, "P") || !number_take(source->arena, &parameters, members, "Q")
        || !number_take(source->arena, &parameters, members, "G"))
        return "x509: invalid DSA parameters";
    return NULL;
}

Status public_key_read(Arena *arena, Str spki, MemberList *members, Error *err)
{
    static const struct {
        const char *oid;
        int64_t number;
        const char *(*read)(KeySource *source, MemberList *members);
    } kinds[] = {
        { "1.2.840.113549.1.1.1", 1, rsa_read },
        { "1.2.840.10040.4.1", 2, dsa_read },
        { "1.2.840.10045.2.1", 3, ec_read },
    };
    KeySource source = { .arena = arena, .whole = spki };
    Str algorithm, oid;
    if (!der_take(&spki, DER_SEQUENCE, &spki)) return REFUSE(err, "x509: malformed spki");
    if (!der_take(&spki, DER_SEQUENCE, &algorithm))
        return REFUSE(err, "x509: malformed public key algorithm identifier");
    if (!der_take_oid(&algorithm, &oid)) return REFUSE(err, "x509: malformed OID");
    source.parameters = algorithm;
    if (!der_take_bits(&spki, arena, &source.key)) return REFUSE(err, "x509: malformed subjectPublicKey");

    Value key = value_null();
    int64_t number = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!oid_is(oid, kinds[i].oid)) continue;
        number = kinds[i].number;
        MemberList parts = { .arena = arena };
        const char *wrong = kinds[i].read(&source, &parts);
        if (wrong) return REFUSE(err, wrong);
        key = member_list_object(&parts);
    }
    if (oid_is(oid, "1.3.101.112")) {
        if (algorithm.len) return REFUSE(err, "x509: Ed25519 key encoded with illegal parameters");
        if (source.key.len != 32) return REFUSE(err, "x509: wrong Ed25519 public key size");
        number = 4;
        key = bytes_value(arena, source.key);
    }
    member_list_add(members, STR("PublicKey"), key);
    member_list_add(members, STR("PublicKeyAlgorithm"), value_int(number));
    return OK;
}

/* --- extensions --------------------------------------------------------------------------------------------------- */

Status extension_next(Str *list, Extension *out_extension, Error *err)
{
    Str sequence;
    *out_extension = (Extension){ 0 };
    if (!der_take(list, DER_SEQUENCE, &sequence)) return REFUSE(err, "x509: malformed extension");
    if (!der_take_oid(&sequence, &out_extension->id)) return REFUSE(err, "x509: malformed extension OID field");
    if (der_peek(sequence, DER_BOOLEAN) && !der_take_boolean(&sequence, &out_extension->critical))
        return REFUSE(err, "x509: malformed extension critical field");
    if (!der_take(&sequence, DER_OCTETS, &out_extension->value))
        return REFUSE(err, "x509: malformed extension value field");
    return OK;
}

Value extension_value(Arena *arena, const Extension *extension)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("Id"), oid_value(arena, extension->id));
    member_list_add(&members, STR("Critical"), value_bool(extension->critical));
    member_list_add(&members, STR("Value"), bytes_value(arena, extension->value));
    return member_list_object(&members);
}
