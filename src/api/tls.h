/* tls.h - certificate and private key of the server, which can be replaced while it runs.
 *
 * Every handshake takes the pair that is there at its beginning; connections that are there already keep theirs. A pair that cannot be
 * used leaves the one before it in place.
 *
 * Owns:   the pair in use and the one before it, which a handshake under way may still hold.
 * Fails:  tls_load() with ERR_INVALID, ERR_NOT_FOUND or ERR_DENIED and the file.     Bounds: TLS_CHAIN_COUNT_MAX certificates.
 * Thread: the server's.
 */
#ifndef API_TLS_H
#define API_TLS_H

#include <gnutls/abstract.h>

#include "base/status.h"

#define TLS_CHAIN_COUNT_MAX 16u

typedef struct TlsPair {
    gnutls_pcert_st chain[TLS_CHAIN_COUNT_MAX];
    unsigned chain_count;
    gnutls_privkey_t key;           /* NULL: there is none */
} TlsPair;

typedef struct Tls { TlsPair pairs[2]; unsigned current; } Tls;

MUST_USE Status tls_load(Tls *tls, const char *certificate, const char *key, Error *err);
void tls_deinit(Tls *tls);              /* harmless on one that is zero */
const TlsPair *tls_peek(const Tls *tls);

#endif
