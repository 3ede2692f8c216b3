/* file.h - whole files and directories, for those who may touch them.
 *
 * Owns:   what file_read() gives lives in the arena.
 * Fails:  ERR_NOT_FOUND, ERR_DENIED, ERR_LIMIT (larger than the caller permits), ERR_UNAVAILABLE; the text names the path.
 * Thread: any.
 */
#ifndef OS_FILE_H
#define OS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

/* "-" is standard input. Refuses by the size before reading where the file has one. */
MUST_USE Status file_read(Arena *arena, const char *path, size_t size_max, Str *out_text, Error *err);
/* A new file beside it takes its place at once: a reader sees the old or the new text, never half of one. */
MUST_USE Status file_write(const char *path, Str text, Error *err);
/* The same for its owner alone: nobody else has it open either, whatever was there before. */
MUST_USE Status file_write_private(const char *path, Str text, Error *err);
/* What was written under one name and synced gets its own, which must not be taken: ERR_CONFLICT. `part` is gone afterwards, even
 * where that fails; the directory is synced. */
MUST_USE Status file_publish(const char *part, const char *path, Error *err);
/* Makes durable what was made, renamed or removed beside that path. */
MUST_USE Status file_sync_directory(const char *path, Error *err);
/* Whether there is room for a file of so many bytes beside that path, within every quota and limit: ERR_UNAVAILABLE where there is none.
 * One is made for that, and is gone at once. */
MUST_USE Status file_room(const char *path, size_t size, Error *err);
bool file_exists(const char *path);
bool file_is_directory(const char *path);
bool file_is_regular(const char *path);             /* and no pipe, or else somebody that is waited for */
/* The file that a path means: what its links lead to, where its last name is a symbolic one, though nothing may be there yet. What
 * lies beside a file, such as its lock, has to lie beside that one. False where they lead in a circle, or it is too long. */
bool file_follow(const char *path, char *out, size_t size);
/* The names in a directory that end so, in byte order; none where it does not exist. */
MUST_USE Status directory_list(Arena *arena, const char *path, Str suffix, Str **out_names, size_t *out_count, Error *err);
/* The files below a directory, as paths relative to it ("a/b.json"), in byte order. Directories whose name begins with a
 * point are not entered. ERR_NOT_FOUND where the directory does not exist, ERR_LIMIT beyond count_max or
 * DIRECTORY_DEPTH_MAX. */
MUST_USE Status directory_walk(Arena *arena, const char *path, size_t count_max, Str **out_names, size_t *out_count, Error *err);

#endif
