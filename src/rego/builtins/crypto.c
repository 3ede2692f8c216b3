/* crypto.c - digests, message authentication codes and private keys in policies. */
#include "base/base64.h"
#include "base/limits.h"
#include "rego/builtins/operand.h"
#include "rego/crypto/hash.h"
#include "rego/crypto/key.h"
#include "rego/crypto/pem.h"

#define HASH_BYTES_PER_STEP 4u          /* of a message that is hashed: slower than reading it */

static BuiltinResult hash_result(BuiltinContext *context, const Hash *hash, Value *out, Error *err)
{
    char text[2 * HASH_SIZE_MAX];
    Buf buf = buf_on(text, sizeof text);
    buf_hex(&buf, hash->bytes, hash->size);
    if (!builtin_fits(context, buf.len, err)) return BUILTIN_HALT;
    *out = value_string(arena_copy(context->arena, buf_peek(&buf)));
    return BUILTIN_OK;
}

static BuiltinResult digest(BuiltinContext *context, const Value *args, HashKind kind, Value *out, Error *err)
{
    Str message;
    if (!operand_string(args, 0, &message, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, message.len / HASH_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    Hash hash = hash_of(kind, message);
    return hash_result(context, &hash, out, err);
}

static BuiltinResult hmac(BuiltinContext *context, const Value *args, HashKind kind, Value *out, Error *err)
{
    Str message, key;
    if (!operand_string(args, 0, &message, err) || !operand_string(args, 1, &key, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, (message.len + key.len) / HASH_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    Hash hash = hash_hmac(kind, key, message);
    return hash_result(context, &hash, out, err);
}

#define DIGEST(function, make, kind) \
    BuiltinResult function(BuiltinContext *context, const Value *args, Value *out_result, Error *err) \
    { \
        return make(context, args, kind, out_result, err); \
    }

DIGEST(builtin_crypto_md5, digest, HASH_MD5)
DIGEST(builtin_crypto_sha1, digest, HASH_SHA1)
DIGEST(builtin_crypto_sha256, digest, HASH_SHA256)
DIGEST(builtin_crypto_hmac_md5, hmac, HASH_MD5)
DIGEST(builtin_crypto_hmac_sha1, hmac, HASH_SHA1)
DIGEST(builtin_crypto_hmac_sha256, hmac, HASH_SHA256)
DIGEST(builtin_crypto_hmac_sha512, hmac, HASH_SHA512)

BuiltinResult builtin_crypto_hmac_equal(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str a, b;
    if (!operand_string(args, 0, &a, err) || !operand_string(args, 1, &b, err)) return BUILTIN_TYPE_ERROR;
    if (!builtin_spend(context, a.len / REGO_BYTES_PER_STEP, err)) return BUILTIN_HALT;
    *out_result = value_bool(hash_equals(a, b));
    return BUILTIN_OK;
}

/* --- private keys ------------------------------------------------------------------------------------------------- */

/* The keys in a text of PEM blocks; blocks of other types are passed over. */
static BuiltinResult keys_read(BuiltinContext *context, Str text, Keys *out_keys, Error *err)
{
    Arena *arena = context->arena;
    Keys keys = { .keys = BUILTIN_ARRAY(context, Key, CRYPTO_CERTIFICATE_COUNT_MAX, err) };
    if (!keys.keys) return BUILTIN_HALT;
    PemBlock block;
    while (pem_next(arena, &text, &block)) {
        bool is_key = str_is(block.type, STR("PRIVATE KEY")) || str_is(block.type, STR("RSA PRIVATE KEY"))
                   || str_is(block.type, STR("EC PRIVATE KEY"));
        if (!is_key) continue;
        if (keys.count == CRYPTO_CERTIFICATE_COUNT_MAX) {
            keys_deinit(&keys);
            return builtin_limit(err, "more than CRYPTO_CERTIFICATE_COUNT_MAX (%u) keys", CRYPTO_CERTIFICATE_COUNT_MAX);
        }
        bool spent = builtin_spend(context, 1000, err);
        if (spent && key_read_private(block.type, block.bytes, &keys.keys[keys.count], err) == OK) {
            keys.count++;
            continue;
        }
        keys_deinit(&keys);
        return spent ? BUILTIN_ERROR : BUILTIN_HALT;
    }
    *out_keys = keys;
    return BUILTIN_OK;
}

/* A text that may be base64 of what is meant: decoded where it can be, else as it is. */
static Str decoded_or_plain(Arena *arena, Str text)
{
    char *bytes = arena_alloc(arena, base64_decoded_size_max(text.len));
    size_t size, wrong;
    return base64_decode(text, BASE64_STANDARD, bytes, &size, &wrong) ? (Str){ bytes, size } : text;
}

BuiltinResult builtin_crypto_parse_private_keys(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    *out_result = value_null();
    if (text.len == 0) return BUILTIN_OK;
    if (!builtin_spend(context, text.len, err)) return BUILTIN_HALT;
    Keys keys;
    BuiltinResult result = keys_read(context, decoded_or_plain(context->arena, text), &keys, err);
    if (result != BUILTIN_OK) return result;
    ValueList values = { .arena = context->arena };
    for (size_t i = 0; i < keys.count && result == BUILTIN_OK; i++) {
        Value value;
        if (key_value(context->arena, &keys.keys[i], &value, err)) result = BUILTIN_ERROR;
        else value_list_add(&values, value);
    }
    keys_deinit(&keys);
    *out_result = value_list_array(&values);
    return result;
}

BuiltinResult builtin_crypto_x509_parse_rsa_private_key(BuiltinContext *context, const Value *args, Value *out_result,
                                                        Error *err)
{
    Str text;
    if (!operand_string(args, 0, &text, err)) return BUILTIN_TYPE_ERROR;
    if (text.len == 0) return builtin_error(err, "input PEM data was empty");
    if (!builtin_spend(context, text.len, err)) return BUILTIN_HALT;
    if (!pem_begins(text)) {
        char *bytes = arena_alloc(context->arena, base64_decoded_size_max(text.len));
        size_t size, wrong;
        if (!base64_decode(text, BASE64_STANDARD, bytes, &size, &wrong))
            return builtin_error(err, "illegal base64 data at input byte %zu", wrong);
        text = (Str){ bytes, size };
    }
    Keys keys;
    BuiltinResult result = keys_read(context, decoded_or_plain(context->arena, text), &keys, err);
    if (result != BUILTIN_OK) return result;
    *out_result = value_null();
    if (keys.count > 0 && key_jwk_value(context->arena, &keys.keys[0], out_result, err)) result = BUILTIN_ERROR;
    keys_deinit(&keys);
    return result;
}
