/* sqlite_store.h - a store in one SQLite file: the default, for one machine.
 *
 * PATH is the database (write-ahead logging, every commit synced), PATH.lock says who owns it: one process at a time writes,
 * any number read. Commits are made by a thread of their own, which takes all batches that wait into one transaction; the
 * log of pages is written back by another beside it. A third answers store_read(); store_select() reads on the caller's
 * thread.
 *
 * Owns:   the file's connections and the lock, until store_close(), which completes what was submitted.
 * Fails:  sqlite_store_open() with ERR_NOT_FOUND (no file or an empty one, and it was not to be created), ERR_DENIED
 *         (permissions), ERR_INVALID (another program's database, or none), ERR_CORRUPT (damaged, its tables gone, the log of
 *         another store beside it), ERR_UNAVAILABLE (written by a newer maestro, disk full). Texts name the file and what to do.
 *         A file that is refused was not written to. One that cannot be written can be read.
 * Bounds: STORE_*_MAX.     Thread: as the port says.
 */
#ifndef STORE_SQLITE_SQLITE_STORE_H
#define STORE_SQLITE_SQLITE_STORE_H

#include "view/store.h"

typedef struct SqliteOptions {
    const char *path;
    bool is_created;                /* where it does not exist; else ERR_NOT_FOUND */
} SqliteOptions;

MUST_USE Status sqlite_store_open(const SqliteOptions *options, Store **out_store, Error *err);
/* Whether the file is a store that could be opened, by the same rules, of an older maestro as well; nothing is written, upgraded or locked. */
MUST_USE Status sqlite_store_look(const char *path, Error *err);

#endif
