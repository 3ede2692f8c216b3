/* chain.h - whether a certificate can be trusted because another one is.
 *
 * The first certificate is the trusted one, the last one is asked about, and those between may link the two. The rules are
 * those of Go's Verify: signatures by SHA-1 and MD5 do not count, a certificate of version 3 signs others only where it says
 * so, and every certificate of the chain that limits its use has to allow one of the uses asked for.
 *
 * Owns:   nothing.
 * Fails:  by answering no.     Thread: pure, any; the time comes in as an argument.
 */
#ifndef REGO_CRYPTO_CHAIN_H
#define REGO_CRYPTO_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "rego/crypto/certificate.h"

typedef struct ChainOptions {
    int64_t now_s;                  /* seconds since 1970 */
    Str host;                       /* a name or address that the last certificate must be good for; empty: any */
    const int64_t *usages;          /* Go's numbers of extended key usages; none means servers (1), and 0 is any */
    size_t usage_count;
} ChainOptions;

/* Fills `out_order` with the places of the chain's certificates, the one asked about first, and their number. `out_order`
 * has room for `count`. */
bool chain_is_trusted(const Certificate *certificates, size_t count, const ChainOptions *options, size_t *out_order,
                      size_t *out_count);

#endif
