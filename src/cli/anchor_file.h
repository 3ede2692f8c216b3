/* anchor_file.h - anchors and keys as files.
 *
 * A key file holds 64 hexadecimal digits: the seed (then it signs), or a public key (then it says whose signature is wanted).
 * A seed is made where there is none, readable by its user alone; its public key lies beside it in FILE.pub.
 *
 * Owns:   nothing.     Fails: by Status, with texts for people.     Thread: any.
 */
#ifndef CLI_ANCHOR_FILE_H
#define CLI_ANCHOR_FILE_H

#include "base/arena.h"
#include "ledger/anchor.h"

/* Makes the key where there is none; ERR_DENIED where others may read it. */
MUST_USE Status anchor_key_open(Arena *arena, const char *path, AnchorKey *out_key, bool *out_is_new, Error *err);
/* The anchors of a file, one a line, their signatures checked: by that key, or (NULL) by what they state themselves. */
MUST_USE Status anchors_read(Arena *arena, const char *path, const uint8_t *public_key, Anchor **out_anchors, uint32_t *out_count,
                             Error *err);
/* A public key: 64 digits, or a file that holds them. */
MUST_USE Status anchor_public_key(Arena *arena, const char *text, uint8_t out_key[ANCHOR_PUBLIC_SIZE], Error *err);

#endif
