/* openssl.h - what the files of this folder share of OpenSSL. Private to this folder: no other header shows its types. */
#ifndef REGO_CRYPTO_OPENSSL_H
#define REGO_CRYPTO_OPENSSL_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "rego/crypto/hash.h"

/* Before the first use: keeps the library from reading a configuration file. May be called any number of times. */
static inline void openssl_begin(void)
{
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

const EVP_MD *hash_method(HashKind kind);

#endif
