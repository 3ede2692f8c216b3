/* failing_vfs.h - files of SQLite whose syncs fail when a test wants it.
 *
 * It becomes the default of the process before the first case and is the system's own otherwise.     Thread: any.
 */
#ifndef TEST_CONFORMANCE_STORE_FAILING_VFS_H
#define TEST_CONFORMANCE_STORE_FAILING_VFS_H

#include <stdbool.h>

void failing_vfs_fail_syncs(bool is_failing);

#endif
