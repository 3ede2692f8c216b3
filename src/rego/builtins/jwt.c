/* jwt.c - JSON Web Tokens in policies: decoding, verifying, and both under constraints. */
#include <string.h>

#include "base/limits.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/token.h"
#include "rego/crypto/hash.h"
#include "rego/crypto/signature.h"
#include "value/number.h"

#define VERIFY_STEPS 1000u          /* charged for each signature checked */

/* --- decode ------------------------------------------------------------------------------------------------------- */

static bool is_quote(char c) { return c == '"' || c == '\''; }

/* Without quotes around it: a token inside a token is often written as a JSON string. */
static Str unquoted(Str text)
{
    while (text.len && is_quote(text.ptr[0])) text = str_slice(text, 1, text.len);
    while (text.len && is_quote(text.ptr[text.len - 1])) text.len--;
    return text;
}

static BuiltinResult decoded_value(BuiltinContext *context, const Token *token, Value header, Str payload, Value *out,
                                   Error *err)
{
    Value *parts = BUILTIN_ARRAY(context, Value, 3, err);
    if (!parts) return BUILTIN_HALT;
    parts[0] = header;
    BuiltinResult result = token_object(context, payload, &parts[1], err);
    if (result != BUILTIN_OK) return result;
    Str signature;
    result = token_signature(context, token, &signature, err);
    if (result == BUILTIN_ERROR) error_prefix(err, "JWT signature had invalid encoding: ");
    if (result != BUILTIN_OK) return result;
    Buf buf;
    builtin_text_begin(context, &buf);
    buf_hex(&buf, (const uint8_t *)signature.ptr, signature.len);
    result = builtin_text_end(context, &buf, &parts[2], err);
    *out = value_array(parts, 3);
    return result;
}

BuiltinResult builtin_io_jwt_decode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text, payload;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    for (unsigned depth = 0; depth < TOKEN_NESTING_MAX; depth++) {
        Token token;
        Value header;
        BuiltinResult result = token_split(context, text, &token, err);
        if (result == BUILTIN_OK) result = token_header(context, &token, &header, err);
        if (result == BUILTIN_OK) result = token_payload(context, &token, &payload, err);
        if (result != BUILTIN_OK) return result;
        if (!str_is(value_get_string(header, "cty", STR("")), STR("JWT")))
            return decoded_value(context, &token, header, payload, out_result, err);
        text = unquoted(payload);
    }
    return builtin_limit(err, "tokens are nested deeper than TOKEN_NESTING_MAX (%u)", TOKEN_NESTING_MAX);
}

/* --- verify ------------------------------------------------------------------------------------------------------- */

typedef struct Question {
    BuiltinContext *context;
    const SignatureAlgorithm *algorithm;    /* NULL where nobody knows the one that the header names */
    const Token *token;
    const TokenHeader *header;
    Str signature;
} Question;

static BuiltinResult key_verifies(const Question *question, const Key *key, bool *out_valid, Error *err)
{
    size_t size = question->token->signed_part.len;
    if (!builtin_spend(question->context, VERIFY_STEPS + size / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    *out_valid = question->algorithm
              && signature_is_valid(question->algorithm, key, question->token->signed_part, question->signature);
    return BUILTIN_OK;
}

/* The key that the header names decides alone; else any that suits may. */
static BuiltinResult keys_verify(const Question *question, const Keys *keys, bool *out_valid, Error *err)
{
    Str id = question->header->key_id;
    *out_valid = false;
    for (size_t i = 0; id.len && i < keys->count; i++)
        if (str_is(keys->keys[i].id, id)) return key_verifies(question, &keys->keys[i], out_valid, err);
    for (size_t i = 0; i < keys->count && !*out_valid; i++) {
        const Key *key = &keys->keys[i];
        if (key->algorithm.len && !str_is(key->algorithm, question->header->algorithm)) continue;
        BuiltinResult result = key_verifies(question, key, out_valid, err);
        if (result != BUILTIN_OK) return result;
    }
    return BUILTIN_OK;
}

static BuiltinResult verify_with_keys(BuiltinContext *context, const SignatureAlgorithm *algorithm, const Token *token,
                                      const Keys *keys, bool *out_valid, Error *err)
{
    Question question = { .context = context, .algorithm = algorithm, .token = token };
    Value header;
    TokenHeader parts;
    BuiltinResult result = token_signature(context, token, &question.signature, err);
    if (result == BUILTIN_OK) result = token_header(context, token, &header, err);
    if (result == BUILTIN_OK) result = token_header_read(header, &parts, err);
    if (result != BUILTIN_OK) return result;
    question.header = &parts;
    return keys_verify(&question, keys, out_valid, err);
}

/* A private key is no key to verify with. */
static void keys_hide_private(Keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        if (keys->keys[i].is_private) keys->keys[i].kind = KEY_OTHER;
}

static BuiltinResult verify(BuiltinContext *context, const Value *args, const char *algorithm, Value *out, Error *err)
{
    Str text, key_text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    Token token;
    BuiltinResult result = token_split(context, text, &token, err);
    if (result != BUILTIN_OK) return result;
    if (!operand_string(args, 1, &key_text, err)) return BUILTIN_TYPE_ERROR;
    Keys keys;
    result = token_keys_read(context, key_text, &keys, err);
    if (result != BUILTIN_OK) return result;
    keys_hide_private(&keys);
    bool valid;
    result = verify_with_keys(context, signature_algorithm_find(str_of(algorithm)), &token, &keys, &valid, err);
    keys_deinit(&keys);
    if (result == BUILTIN_OK) *out = value_bool(valid);
    return result;
}

static BuiltinResult verify_secret(BuiltinContext *context, const Value *args, const char *algorithm, Value *out, Error *err)
{
    Str text, secret, signature;
    if (!operand_string(args, 0, &text, err) || !operand_string(args, 1, &secret, err)) return BUILTIN_TYPE_ERROR;
    Token token;
    BuiltinResult result = token_split(context, text, &token, err);
    if (result == BUILTIN_OK) result = token_signature(context, &token, &signature, err);
    if (result != BUILTIN_OK) return result;
    Key key = { .kind = KEY_SECRET, .secret = secret };
    *out = value_bool(signature_is_valid(signature_algorithm_find(str_of(algorithm)), &key, token.signed_part, signature));
    return BUILTIN_OK;
}

#define VERIFY(function, how, algorithm) \
    BuiltinResult function(BuiltinContext *context, const Value *args, Value *out_result, Error *err) \
    { \
        return how(context, args, algorithm, out_result, err); \
    }

VERIFY(builtin_io_jwt_verify_rs256, verify, "RS256")
VERIFY(builtin_io_jwt_verify_rs384, verify, "RS384")
VERIFY(builtin_io_jwt_verify_rs512, verify, "RS512")
VERIFY(builtin_io_jwt_verify_ps256, verify, "PS256")
VERIFY(builtin_io_jwt_verify_ps384, verify, "PS384")
VERIFY(builtin_io_jwt_verify_ps512, verify, "PS512")
VERIFY(builtin_io_jwt_verify_es256, verify, "ES256")
VERIFY(builtin_io_jwt_verify_es384, verify, "ES384")
VERIFY(builtin_io_jwt_verify_es512, verify, "ES512")
VERIFY(builtin_io_jwt_verify_eddsa, verify, "EdDSA")
VERIFY(builtin_io_jwt_verify_hs256, verify_secret, "HS256")
VERIFY(builtin_io_jwt_verify_hs384, verify_secret, "HS384")
VERIFY(builtin_io_jwt_verify_hs512, verify_secret, "HS512")

/* --- constraints -------------------------------------------------------------------------------------------------- */

typedef struct Constraints {
    Keys keys;
    bool has_keys;
    Str secret, algorithm, issuer, audience;
    Value time_ns;
} Constraints;

static BuiltinResult constraint_text(Value value, const char *name, Str *out_text, Error *err)
{
    if (value.kind != VALUE_STRING) return builtin_error(err, "%s constraint: must be a string", name);
    *out_text = value_text(value);
    return BUILTIN_OK;
}

static BuiltinResult constraint_read(BuiltinContext *context, Str name, Value value, Constraints *constraints, Error *err)
{
    const struct { const char *name; Str *text; } texts[] = {
        { "secret", &constraints->secret }, { "alg", &constraints->algorithm },
        { "iss", &constraints->issuer },    { "aud", &constraints->audience },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (str_is_text(name, texts[i].name)) return constraint_text(value, texts[i].name, texts[i].text, err);
    if (str_is(name, STR("time"))) {
        if (!value_is_number(value)) return builtin_error(err, "token time constraint: must be a number");
        if (number_compare(value, value_int(0)) < 0)
            return builtin_error(err, "token time constraint: must not be negative");
        constraints->time_ns = value;
        return BUILTIN_OK;
    }
    if (!str_is(name, STR("cert")))
        return builtin_error(err, "unknown token validation constraint: %.*s", STR_ARG(name));
    Str text;
    BuiltinResult result = constraint_text(value, "cert", &text, err);
    if (result == BUILTIN_OK) result = token_keys_read(context, text, &constraints->keys, err);
    constraints->has_keys = result == BUILTIN_OK;
    return result;
}

/* Whatever the answer, constraints->keys are to be ended by the caller. */
static BuiltinResult constraints_read(BuiltinContext *context, Value object, Constraints *constraints, Error *err)
{
    *constraints = (Constraints){ .time_ns = value_int(context->now_ns) };
    for (uint32_t i = 0; i < object.count; i++) {
        Value key = object.members[i].key;
        Str name = key.kind == VALUE_STRING ? value_text(key) : STR("");
        BuiltinResult result = constraint_read(context, name, object.members[i].value, constraints, err);
        if (result != BUILTIN_OK) return result;
    }
    if (constraints->has_keys && constraints->secret.len) return builtin_error(err, "duplicate key constraints");
    if (!constraints->has_keys && !constraints->secret.len) return builtin_error(err, "no key constraint");
    return BUILTIN_OK;
}

/* --- decode and verify -------------------------------------------------------------------------------------------- */

static BuiltinResult constraints_verify(BuiltinContext *context, const Constraints *constraints, const Token *token,
                                        const TokenHeader *header, bool *out_valid, Error *err)
{
    Question question = { .context = context, .algorithm = signature_algorithm_find(header->algorithm), .token = token,
                          .header = header };
    BuiltinResult result = token_signature(context, token, &question.signature, err);
    if (result != BUILTIN_OK) return result;
    if (constraints->has_keys) return keys_verify(&question, &constraints->keys, out_valid, err);
    Key secret = { .kind = KEY_SECRET, .secret = constraints->secret };
    return key_verifies(&question, &secret, out_valid, err);
}

typedef struct Verified {
    Value header;
    Str payload;
} Verified;

static bool is_nested(Str content_type)
{
    return content_type.len == 3 && ascii_to_lower(content_type.ptr[0]) == 'j' && ascii_to_lower(content_type.ptr[1]) == 'w'
        && ascii_to_lower(content_type.ptr[2]) == 't';
}

/* Follows tokens inside tokens, each of which has to be verified, to the innermost one. */
static BuiltinResult verify_nested(BuiltinContext *context, const Constraints *constraints, Str text, Verified *out,
                                   bool *out_valid, Error *err)
{
    *out_valid = false;
    for (unsigned depth = 0; depth < TOKEN_NESTING_MAX; depth++) {
        Token token;
        TokenHeader header;
        BuiltinResult result = token_split(context, text, &token, err);
        if (result == BUILTIN_OK) result = token_header(context, &token, &out->header, err);
        if (result == BUILTIN_OK) result = token_header_read(out->header, &header, err);
        if (result != BUILTIN_OK) return result;
        if (!header.algorithm.len || header.has_unknown_critical) return BUILTIN_OK;
        if (constraints->algorithm.len && !str_is(constraints->algorithm, header.algorithm)) return BUILTIN_OK;
        bool valid;
        result = constraints_verify(context, constraints, &token, &header, &valid, err);
        if (result != BUILTIN_OK || !valid) return result;
        result = token_payload(context, &token, &out->payload, err);
        if (result != BUILTIN_OK) return result;
        if (!is_nested(header.content_type)) {
            *out_valid = true;
            return BUILTIN_OK;
        }
        text = out->payload;
    }
    return builtin_limit(err, "tokens are nested deeper than TOKEN_NESTING_MAX (%u)", TOKEN_NESTING_MAX);
}

static bool audience_is_right(const Constraints *constraints, Value payload)
{
    const Value *audience = value_get_text(payload, "aud");
    if (!audience) return constraints->audience.len == 0;
    if (audience->kind == VALUE_STRING) return str_is(value_text(*audience), constraints->audience);
    for (uint32_t i = 0; audience->kind == VALUE_ARRAY && i < audience->count; i++)
        if (audience->items[i].kind == VALUE_STRING && str_is(value_text(audience->items[i]), constraints->audience))
            return true;
    return false;
}

static bool issuer_is_right(const Constraints *constraints, Value payload)
{
    return constraints->issuer.len == 0
        || str_is(value_get_string(payload, "iss", STR("")), constraints->issuer);
}

/* A number times 10^9, exactly. */
static Value in_nanoseconds(Arena *arena, Value seconds)
{
    Number number;
    number_parts(seconds, &number);
    if (number.digit_count == 0) return value_int(0);
    Str digits = number.digits;
    size_t point = str_find(digits, '.', 0);
    Str rest = point < digits.len ? str_slice(digits, point + 1, digits.len) : STR("");
    Str head = str_slice(digits, 0, point);
    /* d.ddd x 10^e is dddd x 10^(e - digits behind the first). */
    Str text = arena_format(arena, "%s%.*s%.*se%d", number.negative ? "-" : "", STR_ARG(head), STR_ARG(rest),
                            number.exponent + 9 - (int32_t)(number.digit_count - 1));
    return number_make(arena, text);
}

/* Whether the time lies where the member allows; `late` is the answer of number_compare() that makes it too late or early. */
static BuiltinResult time_is_right(BuiltinContext *context, const Constraints *constraints, Value payload, const char *name,
                                   bool must_be_before, bool *out_right, Error *err)
{
    const Value *limit = value_get_text(payload, name);
    *out_right = true;
    if (!limit) return BUILTIN_OK;
    if (!value_is_number(*limit)) return builtin_error(err, "%s value must be a number", name);
    int order = number_compare(constraints->time_ns, in_nanoseconds(context->arena, *limit));
    *out_right = must_be_before ? order < 0 : order >= 0;
    return BUILTIN_OK;
}

static BuiltinResult claims_check(BuiltinContext *context, const Constraints *constraints, Value payload, bool *out_right,
                                  Error *err)
{
    *out_right = issuer_is_right(constraints, payload) && audience_is_right(constraints, payload);
    if (!*out_right) return BUILTIN_OK;
    BuiltinResult result = time_is_right(context, constraints, payload, "exp", true, out_right, err);
    if (result != BUILTIN_OK || !*out_right) return result;
    return time_is_right(context, constraints, payload, "nbf", false, out_right, err);
}

static BuiltinResult decode_verify(BuiltinContext *context, const Constraints *constraints, Str text, Value *parts, Error *err)
{
    Verified verified;
    bool valid;
    BuiltinResult result = verify_nested(context, constraints, text, &verified, &valid, err);
    if (result != BUILTIN_OK || !valid) return result;
    Value payload;
    result = token_object(context, verified.payload, &payload, err);
    if (result == BUILTIN_OK) result = claims_check(context, constraints, payload, &valid, err);
    if (result != BUILTIN_OK || !valid) return result;
    parts[0] = value_bool(true);
    parts[1] = verified.header;
    parts[2] = payload;
    return BUILTIN_OK;
}

BuiltinResult builtin_io_jwt_decode_verify(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_is(args, 1, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    Value *parts = BUILTIN_ARRAY(context, Value, 3, err);
    if (!parts) return BUILTIN_HALT;
    parts[0] = value_bool(false);
    parts[1] = parts[2] = value_object(context->arena, NULL, 0);
    Constraints constraints;
    BuiltinResult result = constraints_read(context, args[1], &constraints, err);
    if (result == BUILTIN_OK && !operand_string(args, 0, &text, err)) result = BUILTIN_TYPE_ERROR;
    if (result == BUILTIN_OK) result = decode_verify(context, &constraints, text, parts, err);
    keys_deinit(&constraints.keys);
    *out_result = value_array(parts, 3);
    return result;
}
