/* wal_check.h - is the write-ahead log beside a file the file's own?
 *
 * SQLite applies whatever log lies there under the right name: that of another store, put there by a copy or a restore gone
 * wrong, would be mixed into this one without a word. A ledger row never changes its hash, so the file read alone, without its
 * log, has to agree with the file read through it: the row at which the file's own log ended then, and the first one.
 *
 * What cannot be told (nothing in the file yet, a checkpoint that was interrupted) is no reason to refuse.
 *
 * Owns:   nothing.     Fails: ERR_CORRUPT where it is of another store.     Thread: any, while nobody writes to the file.
 */
#ifndef STORE_SQLITE_WAL_CHECK_H
#define STORE_SQLITE_WAL_CHECK_H

#include "base/status.h"

MUST_USE Status wal_check(const char *path, Error *err);

#endif
