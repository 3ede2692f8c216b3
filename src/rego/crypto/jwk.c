/* JSON Web Keys (RFC 7517, 7518, 8037) to keys. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "rego/crypto/key.h"
#include "rego/crypto/openssl.h"

/* The bytes of a member; an empty slice with a null pointer where it is absent. */
static Status member_bytes(Arena *arena, Value jwk, const char *name, Str *out_bytes, Error *err)
{
    *out_bytes = (Str){ 0 };
    const Value *member = value_get_text(jwk, name);
    if (!member) return OK;
    if (member->kind != VALUE_STRING)
        return error_set(err, ERR_INVALID, "jwk.ParseKey: the value of \"%s\" must be a string", name);
    Str text = value_text(*member);
    Base64Kind kind = BASE64_URL_BARE;
    if (str_find(text, '+', 0) < text.len || str_find(text, '/', 0) < text.len) kind = BASE64_STANDARD;
    else while (text.len && text.ptr[text.len - 1] == '=') text.len--;
    char *bytes = arena_alloc(arena, base64_decoded_size_max(text.len));
    size_t size, wrong;
    if (!base64_decode(text, kind, bytes, &size, &wrong))
        return error_set(err, ERR_INVALID, "jwk.ParseKey: failed to decode \"%s\": illegal base64 data at input byte %zu",
                         name, wrong);
    *out_bytes = (Str){ bytes, size };
    return OK;
}

/* Numbers that a key is made of, kept until it is made. */
typedef struct Parts {
    OSSL_PARAM_BLD *builder;
    BIGNUM *numbers[8];
    size_t number_count;
} Parts;

static bool parts_add(Parts *parts, const char *parameter, Str bytes)
{
    BIGNUM *number = BN_bin2bn((const unsigned char *)bytes.ptr, (int)bytes.len, NULL);
    if (!number) return false;
    parts->numbers[parts->number_count++] = number;
    return OSSL_PARAM_BLD_push_BN(parts->builder, parameter, number) == 1;
}

static void parts_deinit(Parts *parts)
{
    for (size_t i = 0; i < parts->number_count; i++) BN_clear_free(parts->numbers[i]);
    OSSL_PARAM_BLD_free(parts->builder);
}

/* NULL where the parts make no key. */
static EVP_PKEY *parts_key(Parts *parts, const char *algorithm, bool is_private)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(parts->builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, algorithm, NULL);
    bool made = params && context && EVP_PKEY_fromdata_init(context) == 1
             && EVP_PKEY_fromdata(context, &key, is_private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) == 1;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    ERR_clear_error();
    return made ? key : NULL;
}

static Status rsa_read(Arena *arena, Value jwk, Key *key, Error *err)
{
    static const struct { const char *name, *parameter; } members[] = {
        { "n", OSSL_PKEY_PARAM_RSA_N },          { "e", OSSL_PKEY_PARAM_RSA_E },
        { "d", OSSL_PKEY_PARAM_RSA_D },          { "p", OSSL_PKEY_PARAM_RSA_FACTOR1 },
        { "q", OSSL_PKEY_PARAM_RSA_FACTOR2 },    { "dp", OSSL_PKEY_PARAM_RSA_EXPONENT1 },
        { "dq", OSSL_PKEY_PARAM_RSA_EXPONENT2 }, { "qi", OSSL_PKEY_PARAM_RSA_COEFFICIENT1 },
    };
    enum { NEEDED_COUNT = 2 };
    Parts parts = { .builder = OSSL_PARAM_BLD_new() };
    Status status = OK;
    for (size_t i = 0; i < sizeof members / sizeof members[0] && !status; i++) {
        Str bytes;
        status = member_bytes(arena, jwk, members[i].name, &bytes, err);
        if (!status && i < NEEDED_COUNT && !bytes.len)
            status = error_set(err, ERR_INVALID, "jwk.ParseKey: the value of \"%s\" is missing", members[i].name);
        if (!status && bytes.len > CRYPTO_INTEGER_SIZE_MAX)
            status = error_set(err, ERR_INVALID, "jwk.ParseKey: \"%s\" exceeds CRYPTO_INTEGER_SIZE_MAX (%u bytes)",
                               members[i].name, CRYPTO_INTEGER_SIZE_MAX);
        if (!status && bytes.len) parts_add(&parts, members[i].parameter, bytes);
    }
    key->is_private = value_get_text(jwk, "d") != NULL;
    if (!status) key->handle = parts_key(&parts, "RSA", key->is_private);
    parts_deinit(&parts);
    if (!status && !key->handle) status = error_set(err, ERR_INVALID, "jwk.ParseKey: the members make no RSA key");
    key->kind = KEY_RSA;
    return status;
}

static const struct { const char *name, *group; size_t size; } curves[] = {
    { "P-256", "prime256v1", 32 },
    { "P-384", "secp384r1", 48 },
    { "P-521", "secp521r1", 66 },
};

/* Writes the coordinate right-aligned; false where it is too long. */
static bool coordinate_write(uint8_t *out, size_t size, Str bytes)
{
    while (bytes.len > size && bytes.ptr[0] == 0) bytes = str_slice(bytes, 1, bytes.len);
    if (bytes.len > size) return false;
    memset(out, 0, size);
    if (bytes.len) memcpy(out + size - bytes.len, bytes.ptr, bytes.len);
    return true;
}

static Status ec_read(Arena *arena, Value jwk, Key *key, Error *err)
{
    Str name = value_get_string(jwk, "crv", STR("")), x, y, d;
    size_t curve = 0, curve_count = sizeof curves / sizeof curves[0];
    while (curve < curve_count && !str_is_text(name, curves[curve].name)) curve++;
    if (curve == curve_count)
        return error_set(err, ERR_INVALID, "jwk.ParseKey: invalid curve name (%.*s)", STR_ARG(name));
    Status status = member_bytes(arena, jwk, "x", &x, err);
    if (!status) status = member_bytes(arena, jwk, "y", &y, err);
    if (!status) status = member_bytes(arena, jwk, "d", &d, err);
    if (status) return status;
    uint8_t point[1 + 2 * 66] = { 4 };
    size_t size = curves[curve].size;
    if (!x.len || !y.len || !coordinate_write(point + 1, size, x) || !coordinate_write(point + 1 + size, size, y))
        return error_set(err, ERR_INVALID, "jwk.ParseKey: \"x\" and \"y\" are no point of %s", curves[curve].name);
    Parts parts = { .builder = OSSL_PARAM_BLD_new() };
    OSSL_PARAM_BLD_push_utf8_string(parts.builder, OSSL_PKEY_PARAM_GROUP_NAME, curves[curve].group, 0);
    OSSL_PARAM_BLD_push_octet_string(parts.builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * size);
    if (d.len && d.len <= CRYPTO_INTEGER_SIZE_MAX) parts_add(&parts, OSSL_PKEY_PARAM_PRIV_KEY, d);
    key->is_private = d.len > 0;
    key->handle = parts_key(&parts, "EC", key->is_private);
    parts_deinit(&parts);
    key->kind = KEY_EC;
    if (!key->handle) return error_set(err, ERR_INVALID, "jwk.ParseKey: the members make no EC key");
    return OK;
}

static Status okp_read(Arena *arena, Value jwk, Key *key, Error *err)
{
    Str name = value_get_string(jwk, "crv", STR("")), x, d;
    if (!str_is(name, STR("Ed25519")))
        return error_set(err, ERR_INVALID, "jwk.ParseKey: invalid curve name (%.*s)", STR_ARG(name));
    Status status = member_bytes(arena, jwk, "x", &x, err);
    if (!status) status = member_bytes(arena, jwk, "d", &d, err);
    if (status) return status;
    key->kind = KEY_ED25519;
    key->is_private = d.len > 0;
    if (d.len) {
        key->handle = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)d.ptr, d.len);
    } else if (x.len) {
        key->handle = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)x.ptr, x.len);
    }
    ERR_clear_error();
    if (!key->handle) return error_set(err, ERR_INVALID, "jwk.ParseKey: the members make no Ed25519 key");
    return OK;
}

static Status secret_read(Arena *arena, Value jwk, Key *key, Error *err)
{
    key->kind = KEY_SECRET;
    Status status = member_bytes(arena, jwk, "k", &key->secret, err);
    if (!status && !key->secret.len) status = error_set(err, ERR_INVALID, "jwk.ParseKey: the value of \"k\" is missing");
    return status;
}

static Status jwk_read(Arena *arena, Value jwk, Key *out_key, Error *err)
{
    static const struct {
        const char *type;
        Status (*read)(Arena *arena, Value jwk, Key *key, Error *err);
    } types[] = { { "RSA", rsa_read }, { "EC", ec_read }, { "OKP", okp_read }, { "oct", secret_read } };
    Str type = value_get_string(jwk, "kty", STR(""));
    Key key = {
        .kind = KEY_OTHER,
        .algorithm = value_get_string(jwk, "alg", STR("")),
        .id = value_get_string(jwk, "kid", STR("")),
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!str_is_text(type, types[i].type)) continue;
        Status status = types[i].read(arena, jwk, &key, err);
        if (status) key_deinit(&key);
        else *out_key = key;
        return status;
    }
    return error_set(err, ERR_INVALID, "jwk.ParseKey: invalid key type from JSON (%.*s)", STR_ARG(type));
}

Status keys_read_jwk(Arena *arena, Value jwk, Keys *out_keys, Error *err)
{
    openssl_begin();
    const Value *list = value_get_text(jwk, "keys");
    uint32_t count = list && list->kind == VALUE_ARRAY ? list->count : 1;
    if (jwk.kind != VALUE_OBJECT) return error_set(err, ERR_INVALID, "jwk.Parse: a key (set) must be an object");
    if (list && list->kind != VALUE_ARRAY) return error_set(err, ERR_INVALID, "jwk.Parse: \"keys\" must be an array");
    if (count > CRYPTO_CERTIFICATE_COUNT_MAX)
        return error_set(err, ERR_INVALID, "jwk.Parse: more than CRYPTO_CERTIFICATE_COUNT_MAX (%u) keys",
                         CRYPTO_CERTIFICATE_COUNT_MAX);
    Keys keys = { .keys = ARENA_ARRAY(arena, Key, count) };
    for (uint32_t i = 0; i < count; i++) {
        Status status = jwk_read(arena, list ? list->items[i] : jwk, &keys.keys[i], err);
        if (status) {
            error_prefix(err, "jwk.Parse: failed to parse %s: ", list ? "a key of the set" : "sole key");
            keys_deinit(&keys);
            return status;
        }
        keys.count++;
    }
    *out_keys = keys;
    return OK;
}
