/* jwt_sign.c - JSON Web Tokens made by policies. */
#include "base/base64.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/token.h"
#include "rego/crypto/signature.h"
#include "value/json.h"

#define SIGN_STEPS 10000u           /* charged for a signature */

/* What OPA's reader of headers takes for a number, and so for a header that names nothing. */
static bool looks_like_number(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (str_find(STR("0123456789+-.eE"), text.ptr[i], 0) == 15) return false;
    return text.len > 0;
}

/* Which algorithm the header names. */
static BuiltinResult algorithm_read(BuiltinContext *context, Str header, Value *out_header,
                                    const SignatureAlgorithm **out_algorithm, Error *err)
{
    if (header.len == 0)
        return builtin_error(err, "missing or invalid 'alg' header: cannot parse JSON: cannot parse empty string; "
                                  "unparsed tail: \"\"");
    *out_header = value_null();
    Status status = looks_like_number(header) ? OK : json_parse(context->arena, header, out_header, err);
    if (status) {
        error_prefix(err, "missing or invalid 'alg' header: cannot parse JSON: ");
        return builtin_result(status);
    }
    const Value *name = value_get_text(*out_header, "alg");
    if (!name || name->kind != VALUE_STRING)
        return builtin_error(err, "missing or invalid 'alg' header: jwsbb: header \"alg\" not found");
    *out_algorithm = signature_algorithm_find(value_text(*name));
    if (!*out_algorithm) return builtin_error(err, "unknown JWS algorithm: %.*s", STR_ARG(value_text(*name)));
    return BUILTIN_OK;
}

/* The text "header.payload.signature", all three in base64. */
static BuiltinResult token_make(BuiltinContext *context, const SignatureAlgorithm *algorithm, const Key *key, Str header,
                                Str payload, Value *out, Error *err)
{
    if (!builtin_spend(context, SIGN_STEPS, err)) return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(context, &buf);
    base64_encode(&buf, header, BASE64_URL_BARE);
    buf_char(&buf, '.');
    base64_encode(&buf, payload, BASE64_URL_BARE);
    Str signature;
    if (!buf_overflowed(&buf)) {
        if (signature_make(context->arena, algorithm, key, buf_peek(&buf), context->seed, &signature, err)) {
            builtin_text_drop(&buf);
            return BUILTIN_ERROR;
        }
        buf_char(&buf, '.');
        base64_encode(&buf, signature, BASE64_URL_BARE);
    }
    return builtin_text_end(context, &buf, out, err);
}

static BuiltinResult sign(BuiltinContext *context, Str header, Str payload, Value jwk, Value *out, Error *err)
{
    Keys keys;
    Status status = keys_read_jwk(context->arena, jwk, &keys, err);
    if (status) return builtin_result(status);
    const SignatureAlgorithm *algorithm;
    Value header_object, ignored;
    BuiltinResult result = keys.count ? BUILTIN_OK : builtin_error(err, "no keys found in JWK set");
    if (result == BUILTIN_OK) result = algorithm_read(context, header, &header_object, &algorithm, err);
    if (result == BUILTIN_OK) {
        Str type = value_get_string(header_object, "typ", STR("JWT"));
        status = str_is(type, STR("JWT")) ? json_parse(context->arena, payload, &ignored, err) : OK;
        result = builtin_result(status);
        if (result == BUILTIN_ERROR) result = builtin_error(err, "type is JWT but payload is not JSON");
    }
    if (result == BUILTIN_OK) result = token_make(context, algorithm, &keys.keys[0], header, payload, out, err);
    keys_deinit(&keys);
    return result;
}

BuiltinResult builtin_io_jwt_encode_sign_raw(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str header, payload, key;
    if (!operand_string(args, 2, &key, err) || !operand_string(args, 0, &header, err)
        || !operand_string(args, 1, &payload, err))
        return BUILTIN_TYPE_ERROR;
    Value jwk;
    Status status = json_parse(context->arena, key, &jwk, err);
    if (status) {
        error_prefix(err, "failed to parse JWK: ");
        return builtin_result(status);
    }
    return sign(context, header, payload, jwk, out_result, err);
}

BuiltinResult builtin_io_jwt_encode_sign(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value texts[3];
    for (int i = 0; i < 3; i++) {
        BuiltinResult result = builtin_json_marshal(context, &args[i], &texts[i], err);
        if (result != BUILTIN_OK) return result;
    }
    Value jwk;
    Status status = json_parse(context->arena, value_text(texts[2]), &jwk, err);
    if (status) return builtin_result(status);
    return sign(context, value_text(texts[0]), value_text(texts[1]), jwk, out_result, err);
}
