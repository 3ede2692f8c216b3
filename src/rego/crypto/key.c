#include "rego/crypto/key.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

#include "base/base64.h"
#include "rego/crypto/certificate_parts.h"
#include "rego/crypto/der.h"
#include "rego/crypto/openssl.h"

void key_deinit(Key *key)
{
    EVP_PKEY_free(key->handle);
    *key = (Key){ .kind = KEY_OTHER };
}

void keys_deinit(Keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) key_deinit(&keys->keys[i]);
    keys->count = 0;
}

static KeyKind kind_of(const EVP_PKEY *handle)
{
    switch (EVP_PKEY_get_base_id(handle)) {
    case EVP_PKEY_RSA:
        return KEY_RSA;
    case EVP_PKEY_EC:
        return KEY_EC;
    case EVP_PKEY_ED25519:
        return KEY_ED25519;
    default:
        return KEY_OTHER;
    }
}

Status key_read_public(Str der, Key *out_key, Error *err)
{
    openssl_begin();
    const unsigned char *at = (const unsigned char *)der.ptr;
    EVP_PKEY *handle = d2i_PUBKEY(NULL, &at, (long)der.len);
    ERR_clear_error();
    if (!handle) return error_set(err, ERR_INVALID, "x509: the public key cannot be read");
    *out_key = (Key){ .kind = kind_of(handle), .handle = handle };
    return OK;
}

static EVP_PKEY *pkcs8_read(Str der)
{
    const unsigned char *at = (const unsigned char *)der.ptr;
    PKCS8_PRIV_KEY_INFO *info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &at, (long)der.len);
    EVP_PKEY *handle = info ? EVP_PKCS82PKEY(info) : NULL;
    PKCS8_PRIV_KEY_INFO_free(info);
    return handle;
}

Status key_read_private(Str pem_type, Str der, Key *out_key, Error *err)
{
    openssl_begin();
    const unsigned char *at = (const unsigned char *)der.ptr;
    EVP_PKEY *handle = NULL;
    if (str_is(pem_type, STR("RSA PRIVATE KEY"))) handle = d2i_PrivateKey(EVP_PKEY_RSA, NULL, &at, (long)der.len);
    else if (str_is(pem_type, STR("EC PRIVATE KEY"))) handle = d2i_PrivateKey(EVP_PKEY_EC, NULL, &at, (long)der.len);
    else handle = pkcs8_read(der);
    ERR_clear_error();
    if (!handle) return error_set(err, ERR_INVALID, "x509: failed to parse private key");
    *out_key = (Key){ .kind = kind_of(handle), .handle = handle, .is_private = true };
    return OK;
}

bool key_matches(const Key *public_key, const Key *private_key)
{
    return EVP_PKEY_eq(public_key->handle, private_key->handle) == 1;
}

/* --- as values ---------------------------------------------------------------------------------------------------- */

/* The bytes of one number of the key, with a zero before them so that they are positive as an integer of DER. */
static bool number_bytes(Arena *arena, const Key *key, const char *parameter, Str *out_bytes)
{
    BIGNUM *number = NULL;
    if (EVP_PKEY_get_bn_param(key->handle, parameter, &number) != 1) {
        ERR_clear_error();
        return false;
    }
    size_t size = (size_t)BN_num_bytes(number);
    char *bytes = arena_alloc(arena, size + 1);
    BN_bn2bin(number, (unsigned char *)bytes + 1);
    BN_clear_free(number);
    *out_bytes = (Str){ bytes, size + 1 };
    return true;
}

static bool number_add(Arena *arena, const Key *key, const char *parameter, MemberList *members, const char *name)
{
    Str bytes;
    Value value;
    if (!number_bytes(arena, key, parameter, &bytes) || !der_integer_value(arena, bytes, &value)) return false;
    member_list_add(members, str_of(name), value);
    return true;
}

static bool number_list_value(Arena *arena, const Key *key, const char *const parameters[2], Value *out_value)
{
    ValueList list = { .arena = arena };
    for (int i = 0; i < 2; i++) {
        Str bytes;
        Value value;
        if (!number_bytes(arena, key, parameters[i], &bytes) || !der_integer_value(arena, bytes, &value)) return false;
        value_list_add(&list, value);
    }
    *out_value = value_list_array(&list);
    return true;
}

static bool rsa_value(Arena *arena, const Key *key, Value *out_value)
{
    static const char *const primes[] = { OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2 };
    MemberList members = { .arena = arena }, more = { .arena = arena };
    Value prime_list;
    if (!number_add(arena, key, OSSL_PKEY_PARAM_RSA_N, &members, "N")
        || !number_add(arena, key, OSSL_PKEY_PARAM_RSA_E, &members, "E")
        || !number_add(arena, key, OSSL_PKEY_PARAM_RSA_D, &members, "D")
        || !number_list_value(arena, key, primes, &prime_list)
        || !number_add(arena, key, OSSL_PKEY_PARAM_RSA_EXPONENT1, &more, "Dp")
        || !number_add(arena, key, OSSL_PKEY_PARAM_RSA_EXPONENT2, &more, "Dq")
        || !number_add(arena, key, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, &more, "Qinv"))
        return false;
    member_list_add(&more, STR("CRTValues"), value_array(NULL, 0));
    member_list_add(&members, STR("Primes"), prime_list);
    member_list_add(&members, STR("Precomputed"), member_list_object(&more));
    *out_value = member_list_object(&members);
    return true;
}

static bool ec_value(Arena *arena, const Key *key, Value *out_value)
{
    MemberList members = { .arena = arena };
    if (!number_add(arena, key, OSSL_PKEY_PARAM_EC_PUB_X, &members, "X")
        || !number_add(arena, key, OSSL_PKEY_PARAM_EC_PUB_Y, &members, "Y")
        || !number_add(arena, key, OSSL_PKEY_PARAM_PRIV_KEY, &members, "D"))
        return false;
    member_list_add(&members, STR("Curve"), value_object(arena, NULL, 0));
    *out_value = member_list_object(&members);
    return true;
}

/* The two halves of an Ed25519 key, 32 bytes each. */
static bool edwards_bytes(const Key *key, uint8_t seed[32], uint8_t point[32])
{
    size_t seed_size = 32, point_size = 32;
    return EVP_PKEY_get_raw_private_key(key->handle, seed, &seed_size) == 1
        && EVP_PKEY_get_raw_public_key(key->handle, point, &point_size) == 1;
}

Status key_value(Arena *arena, const Key *key, Value *out_value, Error *err)
{
    uint8_t both[64];
    bool done = false;
    if (key->kind == KEY_RSA) {
        done = rsa_value(arena, key, out_value);
    } else if (key->kind == KEY_EC) {
        done = ec_value(arena, key, out_value);
    } else if (key->kind == KEY_ED25519) {
        done = edwards_bytes(key, both, both + 32);
        *out_value = bytes_value(arena, (Str){ (const char *)both, sizeof both });
    }
    return done ? OK : error_set(err, ERR_INVALID, "x509: the private key is of a kind that cannot be shown");
}

/* --- as JSON Web Keys --------------------------------------------------------------------------------------------- */

static Value base64url_value(Arena *arena, Str bytes)
{
    size_t size = bytes.len / 3 * 4 + 4;
    char *text = arena_bytes(arena, size);
    Buf buf = buf_on(text, size);
    base64_encode(&buf, bytes, BASE64_URL_BARE);
    return value_string(buf_peek(&buf));
}

/* A number as bytes in base64, at least `size_min` of them. */
static bool jwk_number_add(Arena *arena, const Key *key, const char *parameter, size_t size_min, MemberList *members,
                           const char *name)
{
    Str bytes;
    if (!number_bytes(arena, key, parameter, &bytes)) return false;
    bytes = str_slice(bytes, 1, bytes.len);
    if (bytes.len < size_min) {
        char *padded = arena_alloc(arena, size_min);
        memcpy(padded + size_min - bytes.len, bytes.ptr, bytes.len);
        bytes = (Str){ padded, size_min };
    }
    member_list_add(members, str_of(name), base64url_value(arena, bytes));
    return true;
}

static const struct { const char *name, *group; size_t size; } curves[] = {
    { "P-256", "prime256v1", 32 },
    { "P-384", "secp384r1", 48 },
    { "P-521", "secp521r1", 66 },
};

static bool rsa_jwk_value(Arena *arena, const Key *key, MemberList *members)
{
    static const struct { const char *name, *parameter; } parts[] = {
        { "n", OSSL_PKEY_PARAM_RSA_N },          { "e", OSSL_PKEY_PARAM_RSA_E },
        { "d", OSSL_PKEY_PARAM_RSA_D },          { "p", OSSL_PKEY_PARAM_RSA_FACTOR1 },
        { "q", OSSL_PKEY_PARAM_RSA_FACTOR2 },    { "dp", OSSL_PKEY_PARAM_RSA_EXPONENT1 },
        { "dq", OSSL_PKEY_PARAM_RSA_EXPONENT2 }, { "qi", OSSL_PKEY_PARAM_RSA_COEFFICIENT1 },
    };
    member_list_add(members, STR("kty"), value_string(STR("RSA")));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!jwk_number_add(arena, key, parts[i].parameter, 0, members, parts[i].name)) return false;
    return true;
}

static bool ec_jwk_value(Arena *arena, const Key *key, MemberList *members)
{
    char group[64];
    if (EVP_PKEY_get_utf8_string_param(key->handle, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group, NULL) != 1)
        return false;
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
        if (strcmp(curves[i].group, group) != 0) continue;
        member_list_add(members, STR("kty"), value_string(STR("EC")));
        member_list_add(members, STR("crv"), value_string(str_of(curves[i].name)));
        return jwk_number_add(arena, key, OSSL_PKEY_PARAM_EC_PUB_X, curves[i].size, members, "x")
            && jwk_number_add(arena, key, OSSL_PKEY_PARAM_EC_PUB_Y, curves[i].size, members, "y")
            && jwk_number_add(arena, key, OSSL_PKEY_PARAM_PRIV_KEY, curves[i].size, members, "d");
    }
    return false;
}

static bool edwards_jwk_value(Arena *arena, const Key *key, MemberList *members)
{
    uint8_t seed[32], point[32];
    if (!edwards_bytes(key, seed, point)) return false;
    member_list_add(members, STR("kty"), value_string(STR("OKP")));
    member_list_add(members, STR("crv"), value_string(STR("Ed25519")));
    member_list_add(members, STR("x"), base64url_value(arena, (Str){ (const char *)point, sizeof point }));
    member_list_add(members, STR("d"), base64url_value(arena, (Str){ (const char *)seed, sizeof seed }));
    return true;
}

Status key_jwk_value(Arena *arena, const Key *key, Value *out_value, Error *err)
{
    MemberList members = { .arena = arena };
    bool done = key->kind == KEY_RSA       ? rsa_jwk_value(arena, key, &members)
              : key->kind == KEY_EC        ? ec_jwk_value(arena, key, &members)
              : key->kind == KEY_ED25519   ? edwards_jwk_value(arena, key, &members)
                                           : false;
    ERR_clear_error();
    if (!done) return error_set(err, ERR_INVALID, "the private key is of a kind that JSON Web Keys do not have");
    *out_value = member_list_object(&members);
    return OK;
}
