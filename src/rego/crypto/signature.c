#include "rego/crypto/signature.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <string.h>

#include "rego/crypto/openssl.h"

#define RSA_BITS_MIN 1024
#define RSA_SIZE_MAX 2048u          /* bytes of a signature: 16,384 bits */

static const SignatureAlgorithm algorithms[] = {
    { "ES256", SIGNATURE_EC, HASH_SHA256 },      { "ES384", SIGNATURE_EC, HASH_SHA384 },
    { "ES512", SIGNATURE_EC, HASH_SHA512 },      { "EdDSA", SIGNATURE_EDWARDS, HASH_SHA512 },
    { "HS256", SIGNATURE_SECRET, HASH_SHA256 },  { "HS384", SIGNATURE_SECRET, HASH_SHA384 },
    { "HS512", SIGNATURE_SECRET, HASH_SHA512 },  { "PS256", SIGNATURE_PSS, HASH_SHA256 },
    { "PS384", SIGNATURE_PSS, HASH_SHA384 },     { "PS512", SIGNATURE_PSS, HASH_SHA512 },
    { "RS256", SIGNATURE_RSA, HASH_SHA256 },     { "RS384", SIGNATURE_RSA, HASH_SHA384 },
    { "RS512", SIGNATURE_RSA, HASH_SHA512 },
};

const SignatureAlgorithm *signature_algorithm_find(Str name)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
        if (str_is_text(name, algorithms[i].name)) return &algorithms[i];
    return NULL;
}

/* Which kind of key each scheme needs. */
static const KeyKind scheme_keys[] = {
    [SIGNATURE_RSA] = KEY_RSA,         [SIGNATURE_PSS] = KEY_RSA,       [SIGNATURE_EC] = KEY_EC,
    [SIGNATURE_EDWARDS] = KEY_ED25519, [SIGNATURE_SECRET] = KEY_SECRET,
};

static bool key_suits(const SignatureAlgorithm *algorithm, const Key *key)
{
    if (key->kind != scheme_keys[algorithm->scheme]) return false;
    if (key->kind != KEY_RSA) return true;
    int bits = EVP_PKEY_get_bits(key->handle);
    return bits >= RSA_BITS_MIN && bits <= (int)(8 * RSA_SIZE_MAX);
}

/* --- verify ------------------------------------------------------------------------------------------------------- */

static bool rsa_is_valid(const SignatureAlgorithm *algorithm, const Key *key, Str message, Str signature)
{
    Hash hash = hash_of(algorithm->hash, message);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key->handle, NULL);
    bool pss = algorithm->scheme == SIGNATURE_PSS;
    bool valid = context && EVP_PKEY_verify_init(context) == 1
              && EVP_PKEY_CTX_set_rsa_padding(context, pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) == 1
              && EVP_PKEY_CTX_set_signature_md(context, hash_method(algorithm->hash)) == 1
              && (!pss || EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_AUTO) == 1)
              && EVP_PKEY_verify(context, (const unsigned char *)signature.ptr, signature.len, hash.bytes, hash.size) == 1;
    EVP_PKEY_CTX_free(context);
    return valid;
}

/* The two numbers as the sequence of DER that the library wants. */
static bool ec_is_valid(const SignatureAlgorithm *algorithm, const Key *key, Str message, Str signature)
{
    size_t half = signature.len / 2;
    if (half == 0 || signature.len > 2 * 80) return false;
    const unsigned char *bytes = (const unsigned char *)signature.ptr;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes, (int)half, NULL), *s = BN_bin2bn(bytes + half, (int)(signature.len - half), NULL);
    if (!pair || !r || !s || ECDSA_SIG_set0(pair, r, s) != 1) {
        BN_free(r);
        BN_free(s);
        ECDSA_SIG_free(pair);
        return false;
    }
    unsigned char *der = NULL;
    int size = i2d_ECDSA_SIG(pair, &der);
    Hash hash = hash_of(algorithm->hash, message);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key->handle, NULL);
    bool valid = size > 0 && context && EVP_PKEY_verify_init(context) == 1
              && EVP_PKEY_verify(context, der, (size_t)size, hash.bytes, hash.size) == 1;
    EVP_PKEY_CTX_free(context);
    OPENSSL_free(der);
    ECDSA_SIG_free(pair);
    return valid;
}

static bool edwards_is_valid(const Key *key, Str message, Str signature)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool valid = context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->handle) == 1
              && EVP_DigestVerify(context, (const unsigned char *)signature.ptr, signature.len,
                                  (const unsigned char *)message.ptr, message.len) == 1;
    EVP_MD_CTX_free(context);
    return valid;
}

bool signature_is_valid(const SignatureAlgorithm *algorithm, const Key *key, Str message, Str signature)
{
    if (!key_suits(algorithm, key)) return false;
    bool valid = false;
    switch (algorithm->scheme) {
    case SIGNATURE_RSA:
    case SIGNATURE_PSS:
        valid = rsa_is_valid(algorithm, key, message, signature);
        break;
    case SIGNATURE_EC:
        valid = ec_is_valid(algorithm, key, message, signature);
        break;
    case SIGNATURE_EDWARDS:
        valid = edwards_is_valid(key, message, signature);
        break;
    case SIGNATURE_SECRET: {
        Hash code = hash_hmac(algorithm->hash, key->secret, message);
        return hash_equals(hash_peek(&code), signature);
    }
    }
    ERR_clear_error();
    return valid;
}

/* --- RSA ---------------------------------------------------------------------------------------------------------- */

/* The private operation on `input`, which is padded as said. */
static bool rsa_sign(const Key *key, int padding, const EVP_MD *method, Str input, uint8_t *out, size_t *size)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key->handle, NULL);
    bool done = context && EVP_PKEY_sign_init(context) == 1 && EVP_PKEY_CTX_set_rsa_padding(context, padding) == 1
             && (!method || EVP_PKEY_CTX_set_signature_md(context, method) == 1)
             && EVP_PKEY_sign(context, out, size, (const unsigned char *)input.ptr, input.len) == 1;
    EVP_PKEY_CTX_free(context);
    return done;
}

/* The mask generation function of RFC 8017, B.2.1, laid over `out`. */
static void mask_over(HashKind kind, Str seed, uint8_t *out, size_t size)
{
    uint8_t input[HASH_SIZE_MAX + 4];
    memcpy(input, seed.ptr, seed.len);
    for (uint32_t counter = 0; size > 0; counter++) {
        for (int i = 0; i < 4; i++) input[seed.len + (size_t)i] = (uint8_t)(counter >> (24 - 8 * i));
        Hash block = hash_of(kind, (Str){ (const char *)input, seed.len + 4 });
        size_t part = size < block.size ? size : block.size;
        for (size_t i = 0; i < part; i++) *out++ ^= block.bytes[i];
        size -= part;
    }
}

/* EMSA-PSS-ENCODE of RFC 8017, 9.1.1, with a salt as long as the hash. */
static bool pss_encode(HashKind kind, Str message, Str salt, size_t bits, uint8_t *out, size_t *out_size)
{
    Hash digest = hash_of(kind, message);
    size_t size = (bits + 7) / 8, hash_size = digest.size;
    if (size > RSA_SIZE_MAX || size < 2 * hash_size + 2) return false;
    uint8_t input[8 + 2 * HASH_SIZE_MAX] = { 0 };
    memcpy(input + 8, digest.bytes, hash_size);
    memcpy(input + 8 + hash_size, salt.ptr, salt.len);
    Hash hash = hash_of(kind, (Str){ (const char *)input, 8 + hash_size + salt.len });
    size_t masked = size - hash_size - 1;
    memset(out, 0, masked);
    out[masked - salt.len - 1] = 1;
    memcpy(out + masked - salt.len, salt.ptr, salt.len);
    mask_over(kind, hash_peek(&hash), out, masked);
    out[0] = (uint8_t)(out[0] & (0xff >> (8 * size - bits)));
    memcpy(out + masked, hash.bytes, hash_size);
    out[size - 1] = 0xbc;
    *out_size = size;
    return true;
}

static bool pss_sign(const SignatureAlgorithm *algorithm, const Key *key, Str message, uint64_t seed, uint8_t *out,
                     size_t *size)
{
    size_t bits = (size_t)EVP_PKEY_get_bits(key->handle) - 1;
    size_t key_size = (size_t)EVP_PKEY_get_size(key->handle);
    uint8_t seed_bytes[8], encoded[RSA_SIZE_MAX + 1] = { 0 };
    for (int i = 0; i < 8; i++) seed_bytes[i] = (uint8_t)(seed >> (56 - 8 * i));
    Hash salt = hash_hmac(algorithm->hash, (Str){ (const char *)seed_bytes, sizeof seed_bytes }, message);
    size_t encoded_size;
    uint8_t *at = encoded + 1;
    if (!pss_encode(algorithm->hash, message, hash_peek(&salt), bits, at, &encoded_size)) return false;
    if (encoded_size < key_size) at--;          /* a modulus of 8n + 1 bits: one zero byte before */
    return rsa_sign(key, RSA_NO_PADDING, NULL, (Str){ (const char *)at, key_size }, out, size);
}

/* --- ECDSA -------------------------------------------------------------------------------------------------------- */

/* A group and the numbers that signing in it needs. */
typedef struct Curve {
    EC_GROUP *group;
    const BIGNUM *order;
    size_t order_bits, order_size;
    BN_CTX *context;
    BIGNUM *secret;
} Curve;

static bool curve_open(const Key *key, Curve *curve)
{
    char name[64];
    *curve = (Curve){ 0 };
    if (EVP_PKEY_get_utf8_string_param(key->handle, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, NULL) != 1) return false;
    curve->group = EC_GROUP_new_by_curve_name(OBJ_txt2nid(name));
    curve->context = BN_CTX_secure_new();
    if (!curve->group || !curve->context) return false;
    if (EVP_PKEY_get_bn_param(key->handle, OSSL_PKEY_PARAM_PRIV_KEY, &curve->secret) != 1) return false;
    curve->order = EC_GROUP_get0_order(curve->group);
    curve->order_bits = (size_t)BN_num_bits(curve->order);
    curve->order_size = (curve->order_bits + 7) / 8;
    return curve->order_size <= 80;
}

static void curve_close(Curve *curve)
{
    BN_clear_free(curve->secret);
    BN_CTX_free(curve->context);
    EC_GROUP_free(curve->group);
}

/* The leftmost bits of the bytes, as many as the order has (bits2int of RFC 6979). */
static bool bits_to_number(const Curve *curve, const uint8_t *bytes, size_t size, BIGNUM *out)
{
    if (!BN_bin2bn(bytes, (int)size, out)) return false;
    size_t bits = 8 * size;
    return bits <= curve->order_bits || BN_rshift(out, out, (int)(bits - curve->order_bits)) == 1;
}

/* The generator of nonces of RFC 6979, 3.2. */
typedef struct Nonces {
    HashKind kind;
    Hash k, v;
} Nonces;

static void nonces_stir(Nonces *nonces, uint8_t separator, Str data)
{
    uint8_t input[HASH_SIZE_MAX + 1 + 2 * 80];
    memcpy(input, nonces->v.bytes, nonces->v.size);
    input[nonces->v.size] = separator;
    if (data.len) memcpy(input + nonces->v.size + 1, data.ptr, data.len);
    Str whole = { (const char *)input, nonces->v.size + 1 + data.len };
    nonces->k = hash_hmac(nonces->kind, hash_peek(&nonces->k), whole);
    nonces->v = hash_hmac(nonces->kind, hash_peek(&nonces->k), hash_peek(&nonces->v));
    OPENSSL_cleanse(input, sizeof input);
}

static bool nonces_begin(Nonces *nonces, const Curve *curve, HashKind kind, const BIGNUM *digest)
{
    uint8_t seed[2 * 80];
    size_t size = curve->order_size;
    *nonces = (Nonces){ .kind = kind };
    nonces->k.size = nonces->v.size = hash_of(kind, STR("")).size;
    memset(nonces->v.bytes, 1, nonces->v.size);
    if (BN_bn2binpad(curve->secret, seed, (int)size) < 0 || BN_bn2binpad(digest, seed + size, (int)size) < 0) return false;
    Str both = { (const char *)seed, 2 * size };
    nonces_stir(nonces, 0, both);
    nonces_stir(nonces, 1, both);
    OPENSSL_cleanse(seed, sizeof seed);
    return true;
}

static bool nonces_next(Nonces *nonces, const Curve *curve, BIGNUM *out)
{
    uint8_t bytes[80 + HASH_SIZE_MAX];
    size_t size = 0;
    while (size < curve->order_size) {
        nonces->v = hash_hmac(nonces->kind, hash_peek(&nonces->k), hash_peek(&nonces->v));
        memcpy(bytes + size, nonces->v.bytes, nonces->v.size);
        size += nonces->v.size;
    }
    bool made = bits_to_number(curve, bytes, curve->order_size, out);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return made;
}

/* One try with a nonce: r and s, or false where either would be zero. */
static bool ec_try(const Curve *curve, const BIGNUM *nonce, const BIGNUM *digest, BIGNUM *r, BIGNUM *s)
{
    EC_POINT *point = EC_POINT_new(curve->group);
    BIGNUM *inverse = BN_CTX_get(curve->context);
    bool made = point && inverse && EC_POINT_mul(curve->group, point, nonce, NULL, NULL, curve->context) == 1
             && EC_POINT_get_affine_coordinates(curve->group, point, r, NULL, curve->context) == 1
             && BN_nnmod(r, r, curve->order, curve->context) == 1
             && BN_mod_inverse(inverse, nonce, curve->order, curve->context) != NULL
             && BN_mod_mul(s, r, curve->secret, curve->order, curve->context) == 1
             && BN_mod_add(s, s, digest, curve->order, curve->context) == 1
             && BN_mod_mul(s, s, inverse, curve->order, curve->context) == 1;
    EC_POINT_free(point);
    return made && !BN_is_zero(r) && !BN_is_zero(s);
}

static bool ec_make(const Curve *curve, HashKind kind, Str message, uint8_t *out, size_t *size)
{
    BIGNUM *digest = BN_CTX_get(curve->context), *nonce = BN_CTX_get(curve->context);
    BIGNUM *r = BN_CTX_get(curve->context), *s = BN_CTX_get(curve->context);
    Hash hash = hash_of(kind, message);
    if (!s || !bits_to_number(curve, hash.bytes, hash.size, digest)
        || BN_nnmod(digest, digest, curve->order, curve->context) != 1)
        return false;
    BN_set_flags(nonce, BN_FLG_CONSTTIME);
    Nonces nonces;
    if (!nonces_begin(&nonces, curve, kind, digest)) return false;
    for (int tries = 0; tries < 64; tries++) {          /* each fails with a chance of 2^-32 at the most */
        if (!nonces_next(&nonces, curve, nonce)) return false;
        bool in_range = !BN_is_zero(nonce) && BN_cmp(nonce, curve->order) < 0;
        if (in_range && ec_try(curve, nonce, digest, r, s)) {
            *size = 2 * curve->order_size;
            return BN_bn2binpad(r, out, (int)curve->order_size) > 0
                && BN_bn2binpad(s, out + curve->order_size, (int)curve->order_size) > 0;
        }
        nonces_stir(&nonces, 0, STR(""));
    }
    return false;
}

static bool ec_sign(const SignatureAlgorithm *algorithm, const Key *key, Str message, uint8_t *out, size_t *size)
{
    Curve curve;
    bool made = false;
    if (curve_open(key, &curve)) {
        BN_CTX_start(curve.context);
        made = ec_make(&curve, algorithm->hash, message, out, size);
        BN_CTX_end(curve.context);
    }
    curve_close(&curve);
    return made;
}

/* --- sign --------------------------------------------------------------------------------------------------------- */

static bool edwards_sign(const Key *key, Str message, uint8_t *out, size_t *size)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool done = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key->handle) == 1
             && EVP_DigestSign(context, out, size, (const unsigned char *)message.ptr, message.len) == 1;
    EVP_MD_CTX_free(context);
    return done;
}

static bool sign(const SignatureAlgorithm *algorithm, const Key *key, Str message, uint64_t seed, uint8_t *out, size_t *size)
{
    switch (algorithm->scheme) {
    case SIGNATURE_RSA: {
        Hash hash = hash_of(algorithm->hash, message);
        return rsa_sign(key, RSA_PKCS1_PADDING, hash_method(algorithm->hash), hash_peek(&hash), out, size);
    }
    case SIGNATURE_PSS:
        return pss_sign(algorithm, key, message, seed, out, size);
    case SIGNATURE_EC:
        return ec_sign(algorithm, key, message, out, size);
    case SIGNATURE_EDWARDS:
        return edwards_sign(key, message, out, size);
    case SIGNATURE_SECRET: {
        Hash code = hash_hmac(algorithm->hash, key->secret, message);
        memcpy(out, code.bytes, code.size);
        *size = code.size;
        return true;
    }
    }
    return false;
}

Status signature_make(Arena *arena, const SignatureAlgorithm *algorithm, const Key *key, Str message, uint64_t seed,
                      Str *out_signature, Error *err)
{
    if (!key_suits(algorithm, key) || (key->kind != KEY_SECRET && !key->is_private))
        return error_set(err, ERR_INVALID, "the key does not suit the algorithm %s", algorithm->name);
    uint8_t signature[RSA_SIZE_MAX];
    size_t size = sizeof signature;
    bool done = sign(algorithm, key, message, seed, signature, &size);
    ERR_clear_error();
    if (!done) return error_set(err, ERR_INVALID, "the key cannot sign with %s", algorithm->name);
    *out_signature = arena_copy(arena, (Str){ (const char *)signature, size });
    return OK;
}
