#include "rego/builtins/token.h"

#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "rego/builtins/json_text.h"
#include "rego/crypto/certificate.h"
#include "rego/crypto/pem.h"
#include "rego/crypto/signature.h"
#include "value/json.h"

/* --- taking apart ------------------------------------------------------------------------------------------------- */

BuiltinResult token_split(BuiltinContext *context, Str text, Token *out_token, Error *err)
{
    if (!builtin_spend(context, text.len / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    size_t dots = 0, places[2] = { 0 };
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '.') continue;
        if (dots < 2) places[dots] = i;
        dots++;
    }
    if (dots == 0) return builtin_error(err, "encoded JWT had no period separators");
    if (dots != 2) return builtin_error(err, "encoded JWT must have 3 sections, found %zu", dots + 1);
    *out_token = (Token){
        .header = str_slice(text, 0, places[0]),
        .payload = str_slice(text, places[0] + 1, places[1]),
        .signature = str_slice(text, places[1] + 1, text.len),
        .signed_part = str_slice(text, 0, places[1]),
    };
    return BUILTIN_OK;
}

/* Base64 for URLs, whose padding may be absent as a whole: it is put back first, so that places are counted as OPA does. */
static BuiltinResult section_decode(BuiltinContext *context, Str text, Str *out_bytes, Error *err)
{
    size_t missing = str_ends(text, STR("=")) ? 0 : (4 - text.len % 4) % 4;
    if (missing == 3) return builtin_error(err, "illegal base64url string: %.*s", STR_ARG(text));
    char *padded = builtin_alloc(context, text.len + missing, err);
    char *bytes = builtin_alloc(context, base64_decoded_size_max(text.len + missing), err);
    if (!padded || !bytes) return BUILTIN_HALT;
    if (text.len) memcpy(padded, text.ptr, text.len);
    memset(padded + text.len, '=', missing);
    size_t size, wrong;
    if (!base64_decode((Str){ padded, text.len + missing }, BASE64_URL, bytes, &size, &wrong))
        return builtin_error(err, "illegal base64 data at input byte %zu", wrong);
    *out_bytes = (Str){ bytes, size };
    return BUILTIN_OK;
}

BuiltinResult token_object(BuiltinContext *context, Str text, Value *out_object, Error *err)
{
    if (!builtin_spend(context, text.len / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    BuiltinResult result = json_text_parse(context, text, out_object, err);
    if (result == BUILTIN_ERROR) error_prefix(err, "invalid JSON: ");
    if (result != BUILTIN_OK) return result;
    if (out_object->kind != VALUE_OBJECT) return builtin_error(err, "decoded JSON type was not an Object");
    return BUILTIN_OK;
}

BuiltinResult token_header(BuiltinContext *context, const Token *token, Value *out_header, Error *err)
{
    Str text;
    BuiltinResult result = section_decode(context, token->header, &text, err);
    if (result == BUILTIN_ERROR) error_prefix(err, "JWT header had invalid encoding: ");
    if (result != BUILTIN_OK) return result;
    result = token_object(context, text, out_header, err);
    if (result == BUILTIN_ERROR) error_prefix(err, "bad JWT header: ");
    if (result != BUILTIN_OK) return result;
    if (value_get_text(*out_header, "enc")) return builtin_error(err, "JWT is a JWE object, which is not supported");
    return BUILTIN_OK;
}

BuiltinResult token_payload(BuiltinContext *context, const Token *token, Str *out_bytes, Error *err)
{
    BuiltinResult result = section_decode(context, token->payload, out_bytes, err);
    if (result == BUILTIN_ERROR) error_prefix(err, "JWT payload had invalid encoding: ");
    return result;
}

BuiltinResult token_signature(BuiltinContext *context, const Token *token, Str *out_bytes, Error *err)
{
    return section_decode(context, token->signature, out_bytes, err);
}

/* --- headers ------------------------------------------------------------------------------------------------------ */

static bool is_known_member(Str name)
{
    static const char *const names[] = { "alg", "kid", "typ", "cty", "crit" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is_text(name, names[i])) return true;
    return false;
}

static BuiltinResult critical_read(Value header, TokenHeader *out_header, Error *err)
{
    const Value *list = value_get_text(header, "crit");
    if (!list) return BUILTIN_OK;
    if (list->kind != VALUE_ARRAY) return builtin_error(err, "crit: must be a list");
    uint32_t count = 0;
    for (; count < list->count && list->items[count].kind == VALUE_STRING; count++) {
        Str name = value_text(list->items[count]);
        if (!is_known_member(name) && value_get(header, name)) out_header->has_unknown_critical = true;
    }
    return count ? BUILTIN_OK : builtin_error(err, "crit: must be a nonempty list");
}

BuiltinResult token_header_read(Value header, TokenHeader *out_header, Error *err)
{
    static const char *const texts[] = { "alg", "cty", "kid", "typ" };
    *out_header = (TokenHeader){ 0 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const Value *member = value_get_text(header, texts[i]);
        if (member && member->kind != VALUE_STRING) return builtin_error(err, "%s: must be a string", texts[i]);
    }
    out_header->algorithm = value_get_string(header, "alg", STR(""));
    out_header->content_type = value_get_string(header, "cty", STR(""));
    out_header->key_id = value_get_string(header, "kid", STR(""));
    return critical_read(header, out_header, err);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static BuiltinResult pem_key_read(BuiltinContext *context, const PemBlock *block, Key *out_key, Error *err)
{
    Str der = block->bytes;
    if (str_is(block->type, STR("CERTIFICATE"))) {
        Certificate certificate;
        Status status = certificate_read(context->arena, &der, &certificate, err);
        if (!status && der.len > 0) status = error_set(err, ERR_INVALID, "x509: trailing data");
        if (!status) status = key_read_public(certificate.public_key, out_key, err);
        if (!status) return BUILTIN_OK;
        error_prefix(err, "failed to parse a PEM certificate: ");
        return BUILTIN_ERROR;
    }
    if (!str_is(block->type, STR("PUBLIC KEY")))
        return builtin_error(err, "failed to extract a Key from the PEM certificate");
    if (key_read_public(der, out_key, err) == OK) return BUILTIN_OK;
    error_prefix(err, "failed to parse a PEM public key: ");
    return BUILTIN_ERROR;
}

/* Keys for algorithms that tokens do not use are left out. */
static void keys_filter(Keys *keys)
{
    size_t kept = 0;
    for (size_t i = 0; i < keys->count; i++) {
        Key *key = &keys->keys[i];
        if (key->algorithm.len && !signature_algorithm_find(key->algorithm)) key_deinit(key);
        else keys->keys[kept++] = *key;
    }
    keys->count = kept;
}

BuiltinResult token_keys_read(BuiltinContext *context, Str text, Keys *out_keys, Error *err)
{
    if (!builtin_spend(context, 500 + text.len / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    PemBlock block;
    Str rest = text;
    if (pem_next(context->arena, &rest, &block)) {
        if (rest.len > 0) return builtin_error(err, "extra data after a PEM certificate block");
        *out_keys = (Keys){ BUILTIN_ARRAY(context, Key, 1, err), 1 };
        if (!out_keys->keys) return BUILTIN_HALT;
        return pem_key_read(context, &block, &out_keys->keys[0], err);
    }
    Value jwk;
    Status status = json_parse(context->arena, text, &jwk, err);
    if (!status) status = keys_read_jwk(context->arena, jwk, out_keys, err);
    if (status) {
        error_prefix(err, "failed to parse a JWK key (set): jwk.ParseString: failed to parse string: ");
        return builtin_result(status);
    }
    keys_filter(out_keys);
    return BUILTIN_OK;
}
