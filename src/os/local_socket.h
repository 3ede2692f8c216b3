/* local_socket.h - a socket in the file system, for processes of one user on one machine.
 *
 * Owns:   descriptors are the caller's.
 * Fails:  ERR_UNAVAILABLE where nobody listens, ERR_DENIED, ERR_LIMIT (a path that is too long among them).
 * Thread: any.
 */
#ifndef OS_LOCAL_SOCKET_H
#define OS_LOCAL_SOCKET_H

#include "base/status.h"

/* Takes the place of a socket file that nobody listens on; the file is readable and writable by its owner alone. */
MUST_USE Status local_socket_listen(const char *path, int *out_fd, Error *err);
/* -1 where nobody has called; the connection does not block. */
int local_socket_accept(int fd);
MUST_USE Status local_socket_connect(const char *path, int *out_fd, Error *err);

#endif
