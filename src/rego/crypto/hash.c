#include "rego/crypto/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/check.h"
#include "rego/crypto/openssl.h"

const EVP_MD *hash_method(HashKind kind)
{
    static const EVP_MD *(*const methods[])(void) = {
        [HASH_MD5] = EVP_md5,       [HASH_SHA1] = EVP_sha1,     [HASH_SHA256] = EVP_sha256,
        [HASH_SHA384] = EVP_sha384, [HASH_SHA512] = EVP_sha512,
    };
    openssl_begin();
    return methods[kind]();
}

Hash hash_of(HashKind kind, Str message)
{
    Hash hash = { 0 };
    CHECK(EVP_Digest(message.ptr, message.len, hash.bytes, &hash.size, hash_method(kind), NULL) == 1);
    return hash;
}

/* RFC 2104, out of digests: OpenSSL's own needs a context on the heap for each call. */
Hash hash_hmac(HashKind kind, Str key, Str message)
{
    const EVP_MD *method = hash_method(kind);
    size_t block = (size_t)EVP_MD_get_block_size(method);
    uint8_t inner[128] = { 0 }, outer[128];
    Hash hash = { 0 };
    if (key.len > block) {
        hash = hash_of(kind, key);
        memcpy(inner, hash.bytes, hash.size);
    } else if (key.len) {
        memcpy(inner, key.ptr, key.len);
    }
    for (size_t i = 0; i < block; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    CHECK(context != NULL);
    bool done = EVP_DigestInit_ex(context, method, NULL) && EVP_DigestUpdate(context, inner, block)
             && EVP_DigestUpdate(context, message.ptr, message.len) && EVP_DigestFinal_ex(context, hash.bytes, &hash.size)
             && EVP_DigestInit_ex(context, method, NULL) && EVP_DigestUpdate(context, outer, block)
             && EVP_DigestUpdate(context, hash.bytes, hash.size)
             && EVP_DigestFinal_ex(context, hash.bytes, &hash.size);
    EVP_MD_CTX_free(context);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(outer, sizeof outer);
    CHECK(done);
    return hash;
}

bool hash_equals(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0);
}
