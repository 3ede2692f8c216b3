/* pem.h - blocks of base64 between -----BEGIN X----- and -----END X----- (RFC 7468).
 *
 * Owns:   nothing; the bytes of a block live in the arena.
 * Fails:  by returning false: there is no whole block (any more).     Thread: pure, any.
 */
#ifndef REGO_CRYPTO_PEM_H
#define REGO_CRYPTO_PEM_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct PemBlock {
    Str type;               /* "CERTIFICATE" */
    Str bytes;
} PemBlock;

/* The next whole block; *text is moved behind it. What is no block is skipped. */
bool pem_next(Arena *arena, Str *text, PemBlock *out_block);
bool pem_begins(Str text);      /* looks like PEM rather than bare base64 */

#endif
