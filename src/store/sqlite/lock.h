/* lock.h - PATH.lock: who owns a SQLite file.
 *
 * The lock is the kernel's (flock): it ends with the process, however that ends. The file says for people which process it
 * is, and stays when the owner goes.
 *
 * Owns:   a descriptor, until lock_release().
 * Fails:  ERR_CONFLICT where another process has it, ERR_DENIED where the directory cannot be written.     Thread: any.
 */
#ifndef STORE_SQLITE_LOCK_H
#define STORE_SQLITE_LOCK_H

#include <stdbool.h>

#include "base/status.h"

typedef struct Lock { int fd; } Lock;
#define LOCK_NONE ((Lock){ -1 })

MUST_USE Status lock_take(Lock *lock, const char *store_path, int64_t wait_ms, Error *err);
/* Somebody owns the store, or is about to. Who may not even look does not know: false. */
bool lock_is_held(const char *store_path);
void lock_release(Lock *lock);              /* harmless where it was not taken */

#endif
