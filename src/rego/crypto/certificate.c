#include "rego/crypto/certificate.h"

#include "base/base64.h"
#include "base/civil.h"
#include "base/utf8.h"
#include "rego/crypto/certificate_parts.h"
#include "rego/crypto/der.h"

#define REFUSE(err, text) error_set(err, ERR_INVALID, "%s", text)

Value bytes_value(Arena *arena, Str bytes)
{
    if (!bytes.ptr) return value_null();
    size_t size = bytes.len / 3 * 4 + 4;
    char *text = arena_bytes(arena, size);
    Buf buf = buf_on(text, size);
    base64_encode(&buf, bytes, BASE64_STANDARD);
    return value_string(buf_peek(&buf));
}

Value text_value(Arena *arena, Str text)
{
    size_t valid = utf8_valid_size(text);
    if (valid == text.len) return value_string(text);
    size_t size = 3 * text.len;
    char *clean = arena_bytes(arena, size);
    Buf buf = buf_on(clean, size);
    while (text.len > 0) {
        valid = utf8_valid_size(text);
        buf_str(&buf, str_slice(text, 0, valid));
        if (valid < text.len) buf_text(&buf, "\xef\xbf\xbd");
        text = str_slice(text, valid + 1, text.len);
    }
    return value_string(buf_peek(&buf));
}

static Value time_value(Arena *arena, int64_t seconds)
{
    CivilTime time = civil_time(seconds);
    return value_string(arena_format(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", (int)time.date.year, time.date.month,
                                     time.date.day, time.hour, time.minute, time.second));
}

/* --- certificates ------------------------------------------------------------------------------------------------- */

/* What is left to be read of the two levels of a certificate. */
typedef struct Source {
    Arena *arena;
    Str outer, inner;
    MemberList members;
    int64_t version;
} Source;

static void add(Source *source, const char *name, Value value)
{
    member_list_add(&source->members, str_of(name), value);
}

static Status read_head(Source *source, Error *err)
{
    Str version, serial, inner_algorithm, outer_algorithm;
    bool present;
    if (!der_take_optional(&source->inner, DER_CONTEXT_CONSTRUCTED(0), &version, &present)
        || (present && !der_take_small(&version, DER_INTEGER, &source->version)) || source->version < 0)
        return REFUSE(err, "x509: malformed version");
    source->version++;                  /* counted from one where it is shown */
    if (source->version > 3) return REFUSE(err, "x509: invalid version");
    add(source, "Version", value_int(source->version));

    Value number;
    if (!der_take_integer(&source->inner, &serial) || !der_integer_value(source->arena, serial, &number))
        return REFUSE(err, "x509: malformed serial number");
    if (der_integer_is_negative(serial)) return REFUSE(err, "x509: negative serial number");
    add(source, "SerialNumber", number);

    if (!der_take(&source->inner, DER_SEQUENCE, &inner_algorithm))
        return REFUSE(err, "x509: malformed signature algorithm identifier");
    if (!der_take(&source->outer, DER_SEQUENCE, &outer_algorithm))
        return REFUSE(err, "x509: malformed algorithm identifier");
    if (!str_is(inner_algorithm, outer_algorithm))
        return REFUSE(err, "x509: inner and outer signature algorithm identifiers don't match");
    add(source, "SignatureAlgorithm", value_int(signature_algorithm(inner_algorithm)));
    return OK;
}

static Status read_name(Source *source, const char *member, const char *raw_member, Error *err)
{
    Str element;
    Value name;
    if (!der_take_element(&source->inner, DER_SEQUENCE, &element)) return REFUSE(err, "x509: malformed issuer");
    Status status = name_read(source->arena, element, &name, err);
    if (status) return status;
    add(source, member, name);
    add(source, raw_member, bytes_value(source->arena, element));
    return OK;
}

static Status read_validity(Source *source, Error *err)
{
    static const char *const names[] = { "NotBefore", "NotAfter" };
    Str validity;
    if (!der_take(&source->inner, DER_SEQUENCE, &validity)) return REFUSE(err, "x509: malformed validity");
    for (int i = 0; i < 2; i++) {
        int64_t seconds;
        bool utc = der_peek(validity, DER_UTC_TIME);
        if (!utc && !der_peek(validity, DER_TIME)) return REFUSE(err, "x509: unsupported time format");
        if (!der_take_time(&validity, &seconds))
            return REFUSE(err, utc ? "x509: malformed UTCTime" : "x509: malformed GeneralizedTime");
        add(source, names[i], time_value(source->arena, seconds));
    }
    return OK;
}

static Status read_extensions(Source *source, Value *out_uri_strings, Error *err)
{
    Str skipped, list = { 0 };
    bool present = false;
    if (source->version > 1 && !der_take_optional(&source->inner, DER_CONTEXT(1), &skipped, NULL))
        return REFUSE(err, "x509: malformed issuerUniqueID");
    if (source->version > 1 && !der_take_optional(&source->inner, DER_CONTEXT(2), &skipped, NULL))
        return REFUSE(err, "x509: malformed subjectUniqueID");
    if (source->version == 3
        && (!der_take_optional(&source->inner, DER_CONTEXT_CONSTRUCTED(3), &list, &present)
            || (present && !der_take(&list, DER_SEQUENCE, &list))))
        return REFUSE(err, "x509: malformed extensions");

    size_t count = 0, capacity = 0;
    Extension *extensions = NULL;
    ValueList values = { .arena = source->arena };
    while (list.len > 0) {
        Extension extension;
        Status status = extension_next(&list, &extension, err);
        if (status) return status;
        for (size_t i = 0; i < count; i++) {
            if (!str_is(extensions[i].id, extension.id)) continue;
            char dotted[96];
            Buf buf = buf_on(dotted, sizeof dotted);
            oid_print(&buf, extension.id);
            return error_set(err, ERR_INVALID, "x509: certificate contains duplicate extension with OID \"%.*s\"",
                             STR_ARG(buf_peek(&buf)));
        }
        extensions = arena_grow(source->arena, extensions, sizeof *extensions, count, &capacity);
        extensions[count++] = extension;
        value_list_add(&values, extension_value(source->arena, &extension));
    }
    add(source, "Extensions", count ? value_list_array(&values) : value_null());
    return extensions_read(source->arena, extensions, count, &source->members, out_uri_strings, err);
}

Status certificate_read(Arena *arena, Str *der, Certificate *out_certificate, Error *err)
{
    Source source = { .arena = arena, .members = { .arena = arena } };
    Certificate certificate = { .uri_strings = value_null() };
    Str tbs, signature;
    if (!der_take_element(der, DER_SEQUENCE, &certificate.raw)) return REFUSE(err, "x509: malformed certificate");
    source.outer = certificate.raw;
    if (!der_take(&source.outer, DER_SEQUENCE, &source.outer)) return REFUSE(err, "x509: malformed certificate");
    if (!der_take_element(&source.outer, DER_SEQUENCE, &tbs)) return REFUSE(err, "x509: malformed tbs certificate");
    source.inner = tbs;
    if (!der_take(&source.inner, DER_SEQUENCE, &source.inner)) return REFUSE(err, "x509: malformed tbs certificate");

    Status status = read_head(&source, err);
    if (!status) status = read_name(&source, "Issuer", "RawIssuer", err);
    if (!status) status = read_validity(&source, err);
    if (!status) status = read_name(&source, "Subject", "RawSubject", err);
    if (status) return status;
    if (!der_take_element(&source.inner, DER_SEQUENCE, &certificate.public_key))
        return REFUSE(err, "x509: malformed spki");
    status = public_key_read(arena, certificate.public_key, &source.members, err);
    if (!status) status = read_extensions(&source, &certificate.uri_strings, err);
    if (status) return status;
    if (!der_take_bits(&source.outer, arena, &signature)) return REFUSE(err, "x509: malformed signature");

    add(&source, "Raw", bytes_value(arena, certificate.raw));
    add(&source, "RawTBSCertificate", bytes_value(arena, tbs));
    add(&source, "RawSubjectPublicKeyInfo", bytes_value(arena, certificate.public_key));
    add(&source, "Signature", bytes_value(arena, signature));
    certificate.value = member_list_object(&source.members);
    *out_certificate = certificate;
    return OK;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* A value of any type, as far as Go's decoder gives one to JSON. */
static Value any_value(Arena *arena, uint8_t tag, Str content)
{
    Value number;
    switch (tag) {
    case DER_PRINTABLE:
    case DER_NUMERIC:
    case DER_IA5:
    case DER_T61:
    case DER_UTF8:
        return text_value(arena, content);
    case DER_OCTETS:
        return bytes_value(arena, content);
    case DER_OID:
        return oid_value(arena, content);
    case DER_BOOLEAN:
        return content.len == 1 ? value_bool(content.ptr[0] != 0) : value_null();
    case DER_INTEGER:
        return der_integer_value(arena, content, &number) ? number : value_null();
    default:
        return value_null();
    }
}

/* One set of attributes as [{Type, Value}, ...]; false where it is none. */
static bool attributes_value(Arena *arena, Str list, Value *out_value)
{
    ValueList values = { .arena = arena };
    while (list.len > 0) {
        Str pair, id, content;
        uint8_t tag;
        if (!der_take(&list, DER_SEQUENCE, &pair) || !der_take_oid(&pair, &id)
            || !der_take_any(&pair, &tag, &content, NULL))
            return false;
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("Type"), oid_value(arena, id));
        member_list_add(&members, STR("Value"), any_value(arena, tag, content));
        value_list_add(&values, member_list_object(&members));
    }
    *out_value = value_list_array(&values);
    return true;
}

/* One attribute of a request as {Type, Value: [[...], ...]}; false where its values are no attributes themselves. */
static bool request_attribute_value(Arena *arena, Str id, Str set, Value *out_value)
{
    ValueList values = { .arena = arena };
    while (set.len > 0) {
        Str list;
        Value inner;
        if (!der_take(&set, DER_SEQUENCE, &list) || !attributes_value(arena, list, &inner)) return false;
        value_list_add(&values, inner);
    }
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("Type"), oid_value(arena, id));
    member_list_add(&members, STR("Value"), value_list_array(&values));
    *out_value = member_list_object(&members);
    return true;
}

/* The extensions that a request asks for. */
static Status read_requested(Arena *arena, Str set, ValueList *extensions, AltNames *names, Error *err)
{
    Str list;
    if (!der_take(&set, DER_SEQUENCE, &list)) return REFUSE(err, "asn1: structure error: extensions are no sequence");
    while (list.len > 0) {
        Extension extension;
        Status status = extension_next(&list, &extension, err);
        if (status) return status;
        value_list_add(extensions, extension_value(arena, &extension));
        if (!oid_is(extension.id, "2.5.29.17")) continue;
        status = alt_names_read(arena, extension.value, names, err);
        if (status) return status;
    }
    return OK;
}

static Status read_attributes(Arena *arena, Str attributes, MemberList *members, Error *err)
{
    ValueList shown = { .arena = arena }, extensions = { .arena = arena };
    AltNames names = { 0 };
    while (attributes.len > 0) {
        Str attribute, id, set;
        if (!der_take(&attributes, DER_SEQUENCE, &attribute))
            return REFUSE(err, "asn1: structure error: an attribute is no sequence");
        if (!der_take_oid(&attribute, &id) || !der_take(&attribute, DER_SET, &set)) continue;
        Value value;
        if (request_attribute_value(arena, id, set, &value)) value_list_add(&shown, value);
        if (!oid_is(id, "1.2.840.113549.1.9.14")) continue;
        Status status = read_requested(arena, set, &extensions, &names, err);
        if (status) return status;
    }
    member_list_add(members, STR("Attributes"), shown.count ? value_list_array(&shown) : value_null());
    member_list_add(members, STR("Extensions"), extensions.count ? value_list_array(&extensions) : value_null());
    member_list_add(members, STR("ExtraExtensions"), value_null());
    member_list_add(members, STR("DNSNames"), names.dns);
    member_list_add(members, STR("EmailAddresses"), names.emails);
    member_list_add(members, STR("IPAddresses"), names.addresses);
    member_list_add(members, STR("URIs"), names.uris);
    return OK;
}

Status certificate_request_read(Arena *arena, Str der, Value *out_value, Error *err)
{
    MemberList members = { .arena = arena };
    Str raw, outer, tbs, inner, subject, key, attributes, algorithm, signature;
    int64_t version;
    if (!der_take_element(&der, DER_SEQUENCE, &raw) || (outer = raw, !der_take(&outer, DER_SEQUENCE, &outer)))
        return REFUSE(err, "asn1: structure error: a certificate request is no sequence");
    if (der.len > 0) return REFUSE(err, "asn1: syntax error: trailing data");
    if (!der_take_element(&outer, DER_SEQUENCE, &tbs) || (inner = tbs, !der_take(&inner, DER_SEQUENCE, &inner))
        || !der_take_small(&inner, DER_INTEGER, &version) || !der_take_element(&inner, DER_SEQUENCE, &subject)
        || !der_take_element(&inner, DER_SEQUENCE, &key)
        || !der_take_optional(&inner, DER_CONTEXT_CONSTRUCTED(0), &attributes, NULL)
        || !der_take(&outer, DER_SEQUENCE, &algorithm) || !der_take_bits(&outer, arena, &signature))
        return REFUSE(err, "asn1: structure error: a part of the certificate request is missing");

    Value name;
    Status status = public_key_read(arena, key, &members, err);
    if (!status) status = name_read(arena, subject, &name, err);
    if (!status) status = read_attributes(arena, attributes, &members, err);
    if (status) return status;
    member_list_add(&members, STR("Version"), value_int(version));
    member_list_add(&members, STR("Subject"), name);
    member_list_add(&members, STR("Raw"), bytes_value(arena, raw));
    member_list_add(&members, STR("RawSubject"), bytes_value(arena, subject));
    member_list_add(&members, STR("RawSubjectPublicKeyInfo"), bytes_value(arena, key));
    member_list_add(&members, STR("RawTBSCertificateRequest"), bytes_value(arena, tbs));
    member_list_add(&members, STR("Signature"), bytes_value(arena, signature));
    member_list_add(&members, STR("SignatureAlgorithm"), value_int(signature_algorithm(algorithm)));
    *out_value = member_list_object(&members);
    return OK;
}
