/* tcp_socket.h - a connection to the server that an address names: "http://host:port/...".
 *
 * Owns:   the descriptor is the caller's.
 * Fails:  ERR_INVALID: no such address; ERR_UNAVAILABLE: nobody is there.     Thread: any.
 */
#ifndef OS_TCP_SOCKET_H
#define OS_TCP_SOCKET_H

#include "base/status.h"
#include "base/str.h"

MUST_USE Status tcp_connect(Str url, int *out_fd, Error *err);

#endif
