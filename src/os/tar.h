/* tar.h - the files inside a tar archive, in memory, compressed by gzip or not.
 *
 * For bundles of policies, which travel as one .tar.gz. Nothing is written anywhere: an entry is a name and its bytes. Names
 * are normalised ("./a//b" is "a/b"); one that leads above the archive's root is refused. Directories, links and devices
 * are passed over. Understood are the ustar form, GNU's long names and the paths of pax headers.
 *
 * Owns:   nothing; names and, where the archive was compressed, bytes live in the arena, else bytes point into the archive.
 * Fails:  ERR_INVALID for what is no archive, is cut off or contradicts itself; ERR_LIMIT beyond a bound.
 * Bounds: TAR_SIZE_MAX when uncompressed, so a small file cannot unfold to more; TAR_FILE_COUNT_MAX; TAR_NAME_SIZE_MAX.
 * Thread: any.
 */
#ifndef OS_TAR_H
#define OS_TAR_H

#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct TarFile {
    Str name;                   /* "roles/data.json": no slash at the beginning, no empty part */
    Str bytes;
} TarFile;

/* In the order of the archive; of files with equal names, all. */
MUST_USE Status tar_read(Arena *arena, Str archive, TarFile **out_files, uint32_t *out_count, Error *err);

#endif
