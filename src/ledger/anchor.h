/* anchor.h - a log's head, signed, to be kept where whoever can write the store cannot write.
 *
 * A chain of hashes finds every change that leaves its heads alone. Whoever rewrites the ledger and all its heads is found
 * by nobody, unless an earlier head was kept elsewhere: that is an anchor. It is a small JSON document,
 *
 *   {"format":"maestro-anchor/1","log":1,"position":42,"head":"...","time":"2026-11-16T01:25:00.123Z",
 *    "publicKey":"...","signature":"..."}
 *
 * with hexadecimal texts, and an Ed25519 signature over "maestro anchor", log, position, head and time (the numbers as
 * eight bytes each, least significant first; the time as its 24 characters).
 *
 * Owns: nothing.
 * Fails: anchor_read() with ERR_INVALID; anchor_check() with ERR_DENIED for another key, ERR_CORRUPT for a wrong signature.
 * Thread: pure, any.
 */
#ifndef LEDGER_ANCHOR_H
#define LEDGER_ANCHOR_H

#include "base/buf.h"
#include "base/status.h"
#include "ledger/verify.h"

#define ANCHOR_SEED_SIZE 32u
#define ANCHOR_PUBLIC_SIZE 32u
#define ANCHOR_SECRET_SIZE 64u
#define ANCHOR_SIGNATURE_SIZE 64u
#define ANCHOR_TEXT_SIZE_MAX 1024u

typedef struct AnchorKey { uint8_t public_key[ANCHOR_PUBLIC_SIZE], secret_key[ANCHOR_SECRET_SIZE]; } AnchorKey;

typedef struct Anchor {
    LedgerHead at;
    int64_t now_ms;
    uint8_t public_key[ANCHOR_PUBLIC_SIZE], signature[ANCHOR_SIGNATURE_SIZE];
} Anchor;

AnchorKey anchor_key(const uint8_t seed[ANCHOR_SEED_SIZE]);        /* the seed is the secret: 32 random bytes, kept in a file */
Anchor    anchor_make(const LedgerHead *head, int64_t now_ms, const AnchorKey *key);
/* `public_key` says whose signature is wanted; NULL: the anchor's own, which proves nothing about who made it. */
MUST_USE Status anchor_check(const Anchor *anchor, const uint8_t *public_key, Error *err);

void            anchor_print(Buf *buf, const Anchor *anchor);       /* one line */
MUST_USE Status anchor_read(Str text, Anchor *out_anchor, Error *err);
/* A public key or seed as people keep it: 64 hexadecimal digits, spaces and line ends around them allowed. */
MUST_USE Status anchor_read_key(Str text, uint8_t out_key[ANCHOR_PUBLIC_SIZE], Error *err);

#endif
