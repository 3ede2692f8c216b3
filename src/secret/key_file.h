/* key_file.h - the master key: 32 random bytes in a file that only its owner may read.
 *
 * $MAESTRO_KEY_FILE names it; else it lies beside the store, PATH.key. It is made with the first secret, or the first
 * executor that gives out tokens, and never again: a file
 * that is lost is not replaced, since what was sealed with it would still not open. A backup of the store without this file has
 * no secrets; a backup of both has them all.
 *
 * Owns:   nothing.
 * Fails:  ERR_NOT_FOUND where it is not there; ERR_DENIED where others may read or write it, or this user may not; ERR_CORRUPT
 *         where it has another size; the text names the file and what to do.
 * Thread: any.
 */
#ifndef SECRET_KEY_FILE_H
#define SECRET_KEY_FILE_H

#include "secret/seal.h"

/* Where it is; NULL for a store without a file and no $MAESTRO_KEY_FILE. */
const char     *key_file_path(Arena *arena, const char *store_path);
MUST_USE Status key_file_read(const char *path, SealKey *out, Error *err);
/* The same; where it is not there, it is made. Two who do that at the same time get the same key. */
MUST_USE Status key_file_make(const char *path, SealKey *out, Error *err);

#endif
