/* id.h - public identifiers: 21 URL-safe characters.
 *
 * Two forms of one length. A plain id is a NanoID: 126 bits out of a cryptographic generator. A run id begins with eight
 * characters of milliseconds whose byte order is their time order, so that a unique index over run ids grows at its end,
 * and has 78 random bits behind them. Chance comes in as an argument: this file asks no generator.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"

typedef struct Id {
    char text[ID_SIZE + 1];             /* NUL-terminated for the edge of libc */
} Id;

Id   id_make(const uint8_t random[ID_SIZE]);
Id   id_make_run(uint64_t now_ms, const uint8_t random[ID_SIZE]);
bool id_is_valid(Str text);
bool id_read(Str text, Id *out_id);         /* false where it is no id; nothing is written then */
static inline Str id_peek(const Id *id) { return (Str){ id->text, ID_SIZE }; }

#endif
