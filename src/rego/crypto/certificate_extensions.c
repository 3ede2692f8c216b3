/* What the known extensions of a certificate say (RFC 5280, section 4.2). */
#include <string.h>

#include "rego/crypto/certificate_parts.h"
#include "rego/crypto/der.h"

#define REFUSE(err, text) error_set(err, ERR_INVALID, "%s", text)

typedef struct Target {
    Arena *arena;
    MemberList *members;
    Value *uri_strings;
    bool unhandled;         /* the extension is known but not what it says */
} Target;

static void add(Target *target, const char *name, Value value)
{
    member_list_add(target->members, str_of(name), value);
}

static Status key_usage_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value, content;
    if (!der_take(&der, DER_BITS, &content) || content.len == 0 || (uint8_t)content.ptr[0] > 7)
        return REFUSE(err, "x509: invalid key usage");
    int64_t usage = 0;
    size_t bits = 8 * (content.len - 1);
    if (bits) bits -= (uint8_t)content.ptr[0];
    for (size_t i = 0; i < 9 && i < bits; i++)
        if ((uint8_t)content.ptr[1 + i / 8] >> (7 - i % 8) & 1) usage |= INT64_C(1) << i;
    add(target, "KeyUsage", value_int(usage));
    return OK;
}

static Status basic_constraints_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value;
    bool is_ca = false;
    int64_t path_length = -1;
    if (!der_take(&der, DER_SEQUENCE, &der) || (der_peek(der, DER_BOOLEAN) && !der_take_boolean(&der, &is_ca))
        || (der_peek(der, DER_INTEGER) && (!der_take_small(&der, DER_INTEGER, &path_length) || path_length < 0)))
        return REFUSE(err, "x509: invalid basic constraints");
    add(target, "IsCA", value_bool(is_ca));
    add(target, "MaxPathLen", value_int(path_length));
    add(target, "MaxPathLenZero", value_bool(path_length == 0));
    add(target, "BasicConstraintsValid", value_bool(true));
    return OK;
}

static Status alt_names_extension_read(Target *target, const Extension *extension, Error *err)
{
    AltNames names;
    Status status = alt_names_read(target->arena, extension->value, &names, err);
    if (status) return status;
    add(target, "DNSNames", names.dns);
    add(target, "EmailAddresses", names.emails);
    add(target, "IPAddresses", names.addresses);
    add(target, "URIs", names.uris);
    *target->uri_strings = names.uri_strings;
    target->unhandled = !names.any;
    return OK;
}

/* --- constraints on names ----------------------------------------------------------------------------------------- */

static bool mask_is_valid(Str mask)
{
    bool ended = false;
    for (size_t i = 0; i < mask.len; i++)
        for (int bit = 7; bit >= 0; bit--) {
            bool set = (uint8_t)mask.ptr[i] >> bit & 1;
            if (set && ended) return false;
            if (!set) ended = true;
        }
    return true;
}

static bool range_value(Arena *arena, Str bytes, Value *out_value)
{
    if (bytes.len != 8 && bytes.len != 32) return false;
    Str address = str_slice(bytes, 0, bytes.len / 2), mask = str_slice(bytes, bytes.len / 2, bytes.len);
    if (!mask_is_valid(mask)) return false;
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("IP"), address_value(arena, address));
    member_list_add(&members, STR("Mask"), bytes_value(arena, mask));
    *out_value = member_list_object(&members);
    return true;
}

static bool is_ascii_text(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] >= 0x80) return false;
    return true;
}

/* One list of subtrees, as four members whose names begin with `prefix`. */
static Status subtrees_read(Target *target, Str list, const char *prefix, Error *err)
{
    static const struct { uint8_t tag; const char *suffix, *kind; } kinds[] = {
        { DER_CONTEXT(2), "DNSDomains", "dnsName" },
        { DER_CONTEXT(7), "IPRanges", "IP" },
        { DER_CONTEXT(1), "EmailAddresses", "rfc822Name" },
        { DER_CONTEXT(6), "URIDomains", "URI" },
    };
    enum { KIND_COUNT = 4, KIND_RANGE = 1, KIND_EMAIL = 2 };
    ValueList lists[KIND_COUNT];
    for (size_t i = 0; i < KIND_COUNT; i++) lists[i] = (ValueList){ .arena = target->arena };
    while (list.len > 0) {
        Str sequence, content;
        uint8_t tag;
        if (!der_take(&list, DER_SEQUENCE, &sequence) || !der_take_any(&sequence, &tag, &content, NULL))
            return REFUSE(err, "x509: invalid NameConstraints extension");
        size_t kind = 0;
        while (kind < KIND_COUNT && kinds[kind].tag != tag) kind++;
        if (kind == KIND_COUNT) {
            target->unhandled = true;
            continue;
        }
        Value value = value_string(content);
        bool is_mailbox = kind == KIND_EMAIL && str_find(content, '@', 0) < content.len;
        bool valid = kind == KIND_RANGE ? range_value(target->arena, content, &value)
                                        : is_ascii_text(content) && (is_mailbox || domain_is_valid(content, true));
        if (!valid)
            return error_set(err, ERR_INVALID, "x509: failed to parse %s constraint", kinds[kind].kind);
        value_list_add(&lists[kind], value);
    }
    for (size_t i = 0; i < KIND_COUNT; i++) {
        Str name = arena_format(target->arena, "%s%s", prefix, kinds[i].suffix);
        member_list_add(target->members, name, lists[i].count ? value_list_array(&lists[i]) : value_null());
    }
    return OK;
}

static Status name_constraints_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value, whole, permitted, excluded;
    if (!der_take(&der, DER_SEQUENCE, &whole) || der.len
        || !der_take_optional(&whole, DER_CONTEXT_CONSTRUCTED(0), &permitted, NULL)
        || !der_take_optional(&whole, DER_CONTEXT_CONSTRUCTED(1), &excluded, NULL) || whole.len)
        return REFUSE(err, "x509: invalid NameConstraints extension");
    if (!permitted.len && !excluded.len) return REFUSE(err, "x509: empty name constraints extension");
    Status status = subtrees_read(target, permitted, "Permitted", err);
    if (!status) status = subtrees_read(target, excluded, "Excluded", err);
    if (!status) add(target, "PermittedDNSDomainsCritical", value_bool(extension->critical));
    return status;
}

/* --- identifiers, places and policies ----------------------------------------------------------------------------- */

static Status crl_points_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value;
    ValueList uris = { .arena = target->arena };
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid CRL distribution points");
    while (der.len > 0) {
        Str point, name, uri;
        bool present;
        if (!der_take(&der, DER_SEQUENCE, &point)
            || !der_take_optional(&point, DER_CONTEXT_CONSTRUCTED(0), &name, &present)
            || (present && !der_take(&name, DER_CONTEXT_CONSTRUCTED(0), &name)))
            return REFUSE(err, "x509: invalid CRL distribution point");
        while (present && der_peek(name, DER_CONTEXT(6))) {
            if (!der_take(&name, DER_CONTEXT(6), &uri)) return REFUSE(err, "x509: invalid CRL distribution point");
            value_list_add(&uris, text_value(target->arena, uri));
        }
    }
    add(target, "CRLDistributionPoints", uris.count ? value_list_array(&uris) : value_null());
    return OK;
}

static Status authority_key_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value, id;
    if (extension->critical) return REFUSE(err, "x509: authority key identifier incorrectly marked critical");
    if (!der_take(&der, DER_SEQUENCE, &der) || !der_take_optional(&der, DER_CONTEXT(0), &id, NULL))
        return REFUSE(err, "x509: invalid authority key identifier");
    add(target, "AuthorityKeyId", bytes_value(target->arena, id));
    return OK;
}

static Status subject_key_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value, id;
    if (extension->critical) return REFUSE(err, "x509: subject key identifier incorrectly marked critical");
    if (!der_take(&der, DER_OCTETS, &id)) return REFUSE(err, "x509: invalid subject key identifier");
    add(target, "SubjectKeyId", bytes_value(target->arena, id));
    return OK;
}

static Status policy_constraints_read(Target *target, const Extension *extension, Error *err)
{
    static const char *const names[2][2] = {
        { "RequireExplicitPolicy", "RequireExplicitPolicyZero" },
        { "InhibitPolicyMapping", "InhibitPolicyMappingZero" },
    };
    Str der = extension->value;
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid policy constraints extension");
    for (uint8_t i = 0; i < 2; i++) {
        int64_t number;
        if (!der_peek(der, DER_CONTEXT(i))) continue;
        if (!der_take_small(&der, DER_CONTEXT(i), &number))
            return REFUSE(err, "x509: invalid policy constraints extension");
        add(target, names[i][0], value_int(number));
        add(target, names[i][1], value_bool(number == 0));
    }
    return OK;
}

static Status usages_read(Target *target, const Extension *extension, Error *err)
{
    static const char *const usages[] = {       /* in the order of Go's numbers */
        "2.5.29.37.0",         "1.3.6.1.5.5.7.3.1",       "1.3.6.1.5.5.7.3.2",       "1.3.6.1.5.5.7.3.3",
        "1.3.6.1.5.5.7.3.4",   "1.3.6.1.5.5.7.3.5",       "1.3.6.1.5.5.7.3.6",       "1.3.6.1.5.5.7.3.7",
        "1.3.6.1.5.5.7.3.8",   "1.3.6.1.5.5.7.3.9",       "1.3.6.1.4.1.311.10.3.3",  "2.16.840.1.113730.4.1",
        "1.3.6.1.4.1.311.2.1.22", "1.3.6.1.4.1.311.61.1.1",
    };
    Str der = extension->value, oid;
    ValueList known = { .arena = target->arena }, unknown = { .arena = target->arena };
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid extended key usages");
    while (der.len > 0) {
        if (!der_take_oid(&der, &oid)) return REFUSE(err, "x509: invalid extended key usages");
        size_t number = 0, count = sizeof usages / sizeof usages[0];
        while (number < count && !oid_is(oid, usages[number])) number++;
        if (number < count) value_list_add(&known, value_int((int64_t)number));
        else value_list_add(&unknown, oid_value(target->arena, oid));
    }
    add(target, "ExtKeyUsage", known.count ? value_list_array(&known) : value_null());
    add(target, "UnknownExtKeyUsage", unknown.count ? value_list_array(&unknown) : value_null());
    return OK;
}

static Value oid_text_value(Arena *arena, Str oid)
{
    char text[512];
    Buf buf = buf_on(text, sizeof text);
    oid_print(&buf, oid);
    return value_string(arena_copy(arena, buf_peek(&buf)));
}

static Status policies_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value;
    ValueList texts = { .arena = target->arena }, numbers = { .arena = target->arena };
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid certificate policies");
    while (der.len > 0) {
        Str policy, oid;
        if (!der_take(&der, DER_SEQUENCE, &policy) || !der_take_oid(&policy, &oid))
            return REFUSE(err, "x509: invalid certificate policies");
        Value text = oid_text_value(target->arena, oid);
        for (size_t i = 0; i < texts.count; i++)
            if (value_equals(texts.items[i], text)) return REFUSE(err, "x509: invalid certificate policies");
        value_list_add(&texts, text);
        value_list_add(&numbers, oid_value(target->arena, oid));
    }
    add(target, "Policies", texts.count ? value_list_array(&texts) : value_null());
    add(target, "PolicyIdentifiers", value_list_array(&numbers));
    return OK;
}

static Status policy_mappings_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value;
    ValueList mappings = { .arena = target->arena };
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid policy mappings extension");
    while (der.len > 0) {
        Str pair, issuer, subject;
        if (!der_take(&der, DER_SEQUENCE, &pair) || !der_take_oid(&pair, &issuer) || !der_take_oid(&pair, &subject))
            return REFUSE(err, "x509: invalid policy mappings extension");
        MemberList members = { .arena = target->arena };
        member_list_add(&members, STR("IssuerDomainPolicy"), oid_text_value(target->arena, issuer));
        member_list_add(&members, STR("SubjectDomainPolicy"), oid_text_value(target->arena, subject));
        value_list_add(&mappings, member_list_object(&members));
    }
    add(target, "PolicyMappings", mappings.count ? value_list_array(&mappings) : value_null());
    return OK;
}

static Status inhibit_any_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value;
    int64_t number;
    if (!der_take_small(&der, DER_INTEGER, &number)) return REFUSE(err, "x509: invalid inhibit any policy extension");
    add(target, "InhibitAnyPolicy", value_int(number));
    add(target, "InhibitAnyPolicyZero", value_bool(number == 0));
    return OK;
}

static Status authority_access_read(Target *target, const Extension *extension, Error *err)
{
    Str der = extension->value;
    ValueList servers = { .arena = target->arena }, issuers = { .arena = target->arena };
    if (extension->critical) return REFUSE(err, "x509: authority info access incorrectly marked critical");
    if (!der_take(&der, DER_SEQUENCE, &der)) return REFUSE(err, "x509: invalid authority info access");
    while (der.len > 0) {
        Str access, method, uri;
        if (!der_take(&der, DER_SEQUENCE, &access) || !der_take_oid(&access, &method))
            return REFUSE(err, "x509: invalid authority info access");
        if (!der_peek(access, DER_CONTEXT(6))) continue;
        if (!der_take(&access, DER_CONTEXT(6), &uri)) return REFUSE(err, "x509: invalid authority info access");
        if (oid_is(method, "1.3.6.1.5.5.7.48.1")) value_list_add(&servers, text_value(target->arena, uri));
        if (oid_is(method, "1.3.6.1.5.5.7.48.2")) value_list_add(&issuers, text_value(target->arena, uri));
    }
    add(target, "OCSPServer", servers.count ? value_list_array(&servers) : value_null());
    add(target, "IssuingCertificateURL", issuers.count ? value_list_array(&issuers) : value_null());
    return OK;
}

static const struct {
    const char *oid;
    Status (*read)(Target *target, const Extension *extension, Error *err);
} known_extensions[] = {
    { "2.5.29.14", subject_key_read },
    { "2.5.29.15", key_usage_read },
    { "2.5.29.17", alt_names_extension_read },
    { "2.5.29.19", basic_constraints_read },
    { "2.5.29.30", name_constraints_read },
    { "2.5.29.31", crl_points_read },
    { "2.5.29.32", policies_read },
    { "2.5.29.33", policy_mappings_read },
    { "2.5.29.35", authority_key_read },
    { "2.5.29.36", policy_constraints_read },
    { "2.5.29.37", usages_read },
    { "2.5.29.54", inhibit_any_read },
    { "1.3.6.1.5.5.7.1.1", authority_access_read },
};

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* Members of a certificate without extensions; what an extension says is added later, and the last one counts. */
static const char *const null_members[] = {
    "AuthorityKeyId", "CRLDistributionPoints", "DNSNames", "EmailAddresses", "ExcludedDNSDomains",
    "ExcludedEmailAddresses", "ExcludedIPRanges", "ExcludedURIDomains", "ExtKeyUsage", "ExtraExtensions", "IPAddresses",
    "IssuingCertificateURL", "OCSPServer", "PermittedDNSDomains", "PermittedEmailAddresses", "PermittedIPRanges",
    "PermittedURIDomains", "Policies", "PolicyIdentifiers", "PolicyMappings", "SubjectKeyId", "URIs",
    "UnknownExtKeyUsage",
};
static const char *const zero_members[] = {
    "InhibitAnyPolicy", "InhibitPolicyMapping", "KeyUsage", "MaxPathLen", "RequireExplicitPolicy",
};
static const char *const false_members[] = {
    "BasicConstraintsValid", "InhibitAnyPolicyZero", "InhibitPolicyMappingZero", "IsCA", "MaxPathLenZero",
    "PermittedDNSDomainsCritical", "RequireExplicitPolicyZero",
};

static void add_all(Target *target, const char *const *names, size_t count, Value value)
{
    for (size_t i = 0; i < count; i++) add(target, names[i], value);
}

Status extensions_read(Arena *arena, const Extension *extensions, size_t count, MemberList *members,
                       Value *out_uri_strings, Error *err)
{
    Target target = { .arena = arena, .members = members, .uri_strings = out_uri_strings };
    add_all(&target, null_members, sizeof null_members / sizeof null_members[0], value_null());
    add_all(&target, zero_members, sizeof zero_members / sizeof zero_members[0], value_int(0));
    add_all(&target, false_members, sizeof false_members / sizeof false_members[0], value_bool(false));
    ValueList unhandled = { .arena = arena };
    for (size_t i = 0; i < count; i++) {
        const Extension *extension = &extensions[i];
        size_t kind = 0, kinds = sizeof known_extensions / sizeof known_extensions[0];
        while (kind < kinds && !oid_is(extension->id, known_extensions[kind].oid)) kind++;
        target.unhandled = kind == kinds;
        Status status = kind < kinds ? known_extensions[kind].read(&target, extension, err) : OK;
        if (status) return status;
        if (extension->critical && target.unhandled) value_list_add(&unhandled, oid_value(arena, extension->id));
    }
    add(&target, "UnhandledCriticalExtensions", unhandled.count ? value_list_array(&unhandled) : value_null());
    return OK;
}
