#include "failing_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

static atomic_bool syncs_fail;
static int (*real_open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
static int (*real_sync)(sqlite3_file *, int);

/* The system has a table of methods for each way of locking: each gets its counterpart here. */
static struct { const sqlite3_io_methods *real; sqlite3_io_methods failing; } tables[8];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void failing_vfs_fail_syncs(bool is_failing) { atomic_store(&syncs_fail, is_failing); }

static int failing_sync(sqlite3_file *file, int flags)
{
    return atomic_load(&syncs_fail) ? SQLITE_IOERR_FSYNC : real_sync(file, flags);
}

static const sqlite3_io_methods *counterpart(const sqlite3_io_methods *real)
{
    pthread_mutex_lock(&mutex);
    int i = 0;
    while (tables[i].real && tables[i].real != real) i++;
    if (!tables[i].real) {
        tables[i].real = real;
        tables[i].failing = *real;
        tables[i].failing.xSync = failing_sync;
        real_sync = real->xSync;
    }
    pthread_mutex_unlock(&mutex);
    return &tables[i].failing;
}

/* The system's file with one method replaced. */
static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
    int code = real_open(vfs, name, file, flags, out_flags);
    if (code || !file->pMethods || !file->pMethods->xSync) return code;
    file->pMethods = counterpart(file->pMethods);
    return code;
}

__attribute__((constructor)) static void install(void)
{
    static sqlite3_vfs vfs;
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);         /* before the first use, as the adapter does it */
    vfs = *sqlite3_vfs_find(NULL);
    real_open = vfs.xOpen;
    vfs.xOpen = failing_open;
    vfs.zName = "failing";
    vfs.pNext = NULL;
    sqlite3_vfs_register(&vfs, /* makeDflt= */ 1);
}
