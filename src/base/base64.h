/* base64.h - bytes as text of 64 characters (RFC 4648), and back.
 *
 * Decoding takes what Go's decoder takes, since policies compare the two: line breaks are skipped anywhere, bits that no
 * byte needs may be anything, and padding is demanded or forbidden, never optional.
 *
 * Owns: nothing.     Fails: base64_decode() by telling where.     Thread: pure, any.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

typedef enum Base64Kind {
    BASE64_STANDARD,        /* with + and / and padding */
    BASE64_URL,             /* with - and _ and padding */
    BASE64_URL_BARE,        /* with - and _ and no padding */
} Base64Kind;

void base64_encode(Buf *buf, Str bytes, Base64Kind kind);

/* Room that base64_decode() needs at most. */
static inline size_t base64_decoded_size_max(size_t text_size) { return text_size / 4 * 3 + 3; }
/* Writes the bytes and their number; or false and the place of the first byte that does not belong. */
bool base64_decode(Str text, Base64Kind kind, char *out, size_t *out_size, size_t *out_wrong_at);

#endif
