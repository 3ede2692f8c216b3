/* x509.c - certificates in policies. */
#include "base/base64.h"
#include "base/limits.h"
#include "rego/builtins/operand.h"
#include "rego/crypto/certificate.h"
#include "rego/crypto/chain.h"
#include "rego/crypto/key.h"
#include "rego/crypto/pem.h"
#include "value/number.h"

#define CERTIFICATE_STEPS 1000u     /* charged for each certificate read, and for each signature checked */

typedef struct Certificates {
    Certificate *certificates;
    size_t count;
} Certificates;

/* What bare base64 holds. */
static BuiltinResult base64_read(BuiltinContext *context, Str text, Str *out_bytes, Error *err)
{
    if (!builtin_spend(context, text.len / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    char *bytes = builtin_alloc(context, base64_decoded_size_max(text.len), err);
    if (!bytes) return BUILTIN_HALT;
    size_t size, wrong;
    if (!base64_decode(text, BASE64_STANDARD, bytes, &size, &wrong))
        return builtin_error(err, "illegal base64 data at input byte %zu", wrong);
    *out_bytes = (Str){ bytes, size };
    return BUILTIN_OK;
}

static BuiltinResult certificate_add(BuiltinContext *context, Str *der, Certificates *list, Error *err)
{
    if (!builtin_spend(context, CERTIFICATE_STEPS, err)) return BUILTIN_HALT;
    if (list->count == CRYPTO_CERTIFICATE_COUNT_MAX)
        return builtin_limit(err, "more than CRYPTO_CERTIFICATE_COUNT_MAX (%u) certificates", CRYPTO_CERTIFICATE_COUNT_MAX);
    if (certificate_read(context->arena, der, &list->certificates[list->count], err)) return BUILTIN_ERROR;
    list->count++;
    return BUILTIN_OK;
}

/* PEM, or base64 of PEM or of DER. */
static BuiltinResult certificates_read(BuiltinContext *context, Str text, Certificates *out_list, Error *err)
{
    *out_list = (Certificates){ BUILTIN_ARRAY(context, Certificate, CRYPTO_CERTIFICATE_COUNT_MAX, err), 0 };
    if (!out_list->certificates) return BUILTIN_HALT;
    BuiltinResult result = BUILTIN_OK;
    if (!pem_begins(text)) {
        result = base64_read(context, text, &text, err);
        if (result == BUILTIN_OK && !pem_begins(text))
            while (text.len > 0 && result == BUILTIN_OK) result = certificate_add(context, &text, out_list, err);
    }
    PemBlock block;
    while (result == BUILTIN_OK && pem_begins(text) && pem_next(context->arena, &text, &block)) {
        if (!str_is(block.type, STR("CERTIFICATE")))
            return builtin_error(err, "PEM block type is '%.*s', expected CERTIFICATE", STR_ARG(block.type));
        while (block.bytes.len > 0 && result == BUILTIN_OK) result = certificate_add(context, &block.bytes, out_list, err);
    }
    return result;
}

/* With the URIs as text beside them, which OPA adds. */
static Value extended_value(Arena *arena, const Certificate *certificate)
{
    Value value = certificate->value;
    Member *members = ARENA_ARRAY(arena, Member, value.count + 1);
    for (uint32_t i = 0; i < value.count; i++) members[i] = value.members[i];
    members[value.count] = (Member){ value_string(STR("URIStrings")), certificate->uri_strings };
    return value_object(arena, members, value.count + 1);
}

BuiltinResult builtin_crypto_x509_parse_certificates(BuiltinContext *context, const Value *args, Value *out_result,
                                                     Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    Certificates list;
    BuiltinResult result = certificates_read(context, text, &list, err);
    if (result != BUILTIN_OK) return result;
    ValueList values = { .arena = context->arena };
    for (size_t i = 0; i < list.count; i++)
        value_list_add(&values, extended_value(context->arena, &list.certificates[i]));
    *out_result = value_list_array(&values);
    return BUILTIN_OK;
}

/* --- verify ------------------------------------------------------------------------------------------------------- */

/* [true, chain], or [false, []] for whatever reason. */
static Value verdict(Arena *arena, bool trusted, Value chain)
{
    Value *pair = ARENA_ARRAY(arena, Value, 2);
    pair[0] = value_bool(trusted);
    pair[1] = trusted ? chain : value_array(NULL, 0);
    return value_array(pair, 2);
}

static BuiltinResult verify(BuiltinContext *context, const Certificates *list, const ChainOptions *options, bool extended,
                            Value *out, Error *err)
{
    if (!builtin_spend(context, list->count * CERTIFICATE_STEPS, err)) return BUILTIN_HALT;
    size_t *order = BUILTIN_ARRAY(context, size_t, list->count, err), count = 0;
    if (!order) return BUILTIN_HALT;
    bool trusted = chain_is_trusted(list->certificates, list->count, options, order, &count);
    ValueList chain = { .arena = context->arena };
    for (size_t i = 0; trusted && i < count; i++) {
        const Certificate *certificate = &list->certificates[order[i]];
        value_list_add(&chain, extended ? extended_value(context->arena, certificate) : certificate->value);
    }
    *out = verdict(context->arena, trusted, value_list_array(&chain));
    return BUILTIN_OK;
}

static ChainOptions default_options(const BuiltinContext *context)
{
    return (ChainOptions){ .now_s = context->now_ns / 1000000000 };
}

BuiltinResult builtin_crypto_x509_parse_and_verify_certificates(BuiltinContext *context, const Value *args,
                                                                Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    Certificates list;
    BuiltinResult result = certificates_read(context, text, &list, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = verdict(context->arena, false, value_null());
    if (result != BUILTIN_OK) return BUILTIN_OK;
    ChainOptions options = default_options(context);
    return verify(context, &list, &options, /* extended= */ true, out_result, err);
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static const char *const usage_names[] = {      /* in the order of Go's numbers */
    "KeyUsageAny", "KeyUsageServerAuth", "KeyUsageClientAuth", "KeyUsageCodeSigning", "KeyUsageEmailProtection",
    "KeyUsageIPSECEndSystem", "KeyUsageIPSECTunnel", "KeyUsageIPSECUser", "KeyUsageTimeStamping", "KeyUsageOCSPSigning",
    "KeyUsageMicrosoftServerGatedCrypto", "KeyUsageNetscapeServerGatedCrypto",
    "KeyUsageMicrosoftCommercialCodeSigning", "KeyUsageMicrosoftKernelCodeSigning",
};

static BuiltinResult option_usages(BuiltinContext *context, Value value, ChainOptions *options, Error *err)
{
    if (value.kind != VALUE_ARRAY && value.kind != VALUE_SET)
        return builtin_error(err, "'KeyUsages' should be an Array or Set");
    int64_t *usages = BUILTIN_ARRAY(context, int64_t, value.count, err);
    if (!usages) return BUILTIN_HALT;
    char unknown[256];
    Buf buf = buf_on(unknown, sizeof unknown);
    for (uint32_t i = 0; i < value.count; i++) {
        if (value.items[i].kind != VALUE_STRING) continue;
        size_t number = 0, count = sizeof usage_names / sizeof usage_names[0];
        while (number < count && !str_is_text(value_text(value.items[i]), usage_names[number])) number++;
        if (number < count) {
            usages[options->usage_count++] = (int64_t)number;
            continue;
        }
        if (buf.len) buf_char(&buf, ' ');
        buf_str(&buf, value_text(value.items[i]));
    }
    options->usages = usages;
    if (!buf.len && !buf_overflowed(&buf)) return BUILTIN_OK;
    return builtin_error(err, "invalid entries for 'KeyUsages' found: [%.*s]", STR_ARG(buf_peek(&buf)));
}

static BuiltinResult option_host(BuiltinContext *context, Value value, ChainOptions *options, Error *err)
{
    if (value.kind != VALUE_STRING) return builtin_error(err, "'DNSName' should be a string");
    Str host = value_text(value);
    while (host.len && host.ptr[0] == '"') host = str_slice(host, 1, host.len);
    while (host.len && host.ptr[host.len - 1] == '"') host.len--;
    options->host = host;
    return BUILTIN_OK;
}

static BuiltinResult option_time(BuiltinContext *context, Value value, ChainOptions *options, Error *err)
{
    int64_t time_ns;
    if (!value_is_number(value)) return builtin_error(err, "'CurrentTime' should be a number");
    if (!number_to_int64(value, &time_ns)) return builtin_error(err, "'CurrentTime' should be a valid int64 number");
    options->now_s = time_ns / 1000000000;
    return BUILTIN_OK;
}

/* How many constraints are compared at most: the library has its own bound. */
static BuiltinResult option_comparisons(BuiltinContext *context, Value value, ChainOptions *options, Error *err)
{
    int64_t count;
    if (!value_is_number(value)) return builtin_error(err, "'MaxConstraintComparisons' should be a number");
    if (!number_to_int64(value, &count)) return builtin_error(err, "'MaxConstraintComparisons' should be a valid number");
    return BUILTIN_OK;
}

static BuiltinResult options_read(BuiltinContext *context, Value object, ChainOptions *options, Error *err)
{
    static const struct {
        const char *name;
        BuiltinResult (*read)(BuiltinContext *context, Value value, ChainOptions *options, Error *err);
    } readers[] = {
        { "DNSName", option_host },
        { "CurrentTime", option_time },
        { "MaxConstraintComparisons", option_comparisons },
        { "KeyUsages", option_usages },
    };
    for (uint32_t i = 0; i < object.count; i++) {
        if (object.members[i].key.kind != VALUE_STRING) continue;
        size_t reader = 0, count = sizeof readers / sizeof readers[0];
        while (reader < count && !str_is_text(value_text(object.members[i].key), readers[reader].name)) reader++;
        if (reader == count) return builtin_error(err, "invalid key option");
        BuiltinResult result = readers[reader].read(context, object.members[i].value, options, err);
        if (result != BUILTIN_OK) return result;
    }
    return BUILTIN_OK;
}

BuiltinResult builtin_crypto_x509_parse_and_verify_certificates_with_options(BuiltinContext *context, const Value *args,
                                                                             Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err) || !operand_is(args, 1, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    Certificates list;
    BuiltinResult result = certificates_read(context, text, &list, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = verdict(context->arena, false, value_null());
    if (result != BUILTIN_OK) return BUILTIN_OK;
    ChainOptions options = default_options(context);
    result = options_read(context, args[1], &options, err);
    if (result != BUILTIN_OK) return result;
    return verify(context, &list, &options, /* extended= */ false, out_result, err);
}

/* --- requests and key pairs --------------------------------------------------------------------------------------- */

BuiltinResult builtin_crypto_x509_parse_certificate_request(BuiltinContext *context, const Value *args, Value *out_result,
                                                            Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    if (!str_starts(text, STR("-----BEGIN CERTIFICATE REQUEST-----"))) {
        BuiltinResult result = base64_read(context, text, &text, err);
        if (result != BUILTIN_OK) return result;
    }
    PemBlock block;
    Str rest = text;
    if (pem_next(context->arena, &rest, &block)) {
        if (!str_is(block.type, STR("CERTIFICATE REQUEST")))
            return builtin_error(err, "invalid PEM-encoded certificate signing request");
        text = block.bytes;
    }
    if (!builtin_spend(context, CERTIFICATE_STEPS, err)) return BUILTIN_HALT;
    return certificate_request_read(context->arena, text, out_result, err) ? BUILTIN_ERROR : BUILTIN_OK;
}

/* Certificates of a pair: blocks of other types are passed over, each certificate must be whole. */
static BuiltinResult pair_certificates(BuiltinContext *context, Str text, Certificates *list, ValueList *raw, Error *err)
{
    *list = (Certificates){ BUILTIN_ARRAY(context, Certificate, CRYPTO_CERTIFICATE_COUNT_MAX, err), 0 };
    if (!list->certificates) return BUILTIN_HALT;
    if (!pem_begins(text)) {                    /* bare DER */
        BuiltinResult result = certificate_add(context, &text, list, err);
        if (result == BUILTIN_OK) value_list_add(raw, *value_get_text(list->certificates[0].value, "Raw"));
        return result;
    }
    PemBlock block;
    while (pem_next(context->arena, &text, &block)) {
        if (!str_is(block.type, STR("CERTIFICATE"))) continue;
        BuiltinResult result = certificate_add(context, &block.bytes, list, err);
        if (result != BUILTIN_OK) return result;
        value_list_add(raw, *value_get_text(list->certificates[list->count - 1].value, "Raw"));
    }
    if (list->count == 0) return builtin_error(err, "tls: failed to find any PEM data in certificate input");
    return BUILTIN_OK;
}

static BuiltinResult pair_key(BuiltinContext *context, Str text, Key *out_key, Error *err)
{
    if (!pem_begins(text))
        return key_read_private(STR("PRIVATE KEY"), text, out_key, err) ? BUILTIN_ERROR : BUILTIN_OK;
    PemBlock block;
    while (pem_next(context->arena, &text, &block)) {
        if (!str_ends(block.type, STR("PRIVATE KEY"))) continue;
        return key_read_private(block.type, block.bytes, out_key, err) ? BUILTIN_ERROR : BUILTIN_OK;
    }
    return builtin_error(err, "tls: failed to find any PEM data in key input");
}

static BuiltinResult pair_check(const Certificate *certificate, const Key *key, Error *err)
{
    Key public_key;
    if (key_read_public(certificate->public_key, &public_key, err)) return BUILTIN_ERROR;
    bool matches = key_matches(&public_key, key);
    key_deinit(&public_key);
    return matches ? BUILTIN_OK : builtin_error(err, "tls: private key does not match public key");
}

BuiltinResult builtin_crypto_x509_parse_keypair(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str texts[2];
    for (uint32_t i = 0; i < 2; i++) {
        if (!operand_string(args + i, 0, &texts[i], err)) return BUILTIN_TYPE_ERROR;       /* OPA calls both operand 1 */
        if (pem_begins(texts[i])) continue;
        BuiltinResult result = base64_read(context, texts[i], &texts[i], err);
        if (result != BUILTIN_OK) return result;
    }
    Certificates list;
    ValueList raw = { .arena = context->arena };
    BuiltinResult result = pair_certificates(context, texts[0], &list, &raw, err);
    if (result != BUILTIN_OK) return result;
    Key key;
    result = pair_key(context, texts[1], &key, err);
    if (result != BUILTIN_OK) return result;
    Value key_shown;
    result = pair_check(&list.certificates[0], &key, err);
    if (result == BUILTIN_OK && key_value(context->arena, &key, &key_shown, err)) result = BUILTIN_ERROR;
    key_deinit(&key);
    if (result != BUILTIN_OK) return result;
    MemberList members = { .arena = context->arena };
    member_list_add(&members, STR("Certificate"), value_list_array(&raw));
    member_list_add(&members, STR("Leaf"), list.certificates[0].value);
    member_list_add(&members, STR("PrivateKey"), key_shown);
    member_list_add(&members, STR("OCSPStaple"), value_null());
    member_list_add(&members, STR("SignedCertificateTimestamps"), value_null());
    member_list_add(&members, STR("SupportedSignatureAlgorithms"), value_null());
    *out_result = member_list_object(&members);
    return BUILTIN_OK;
}
