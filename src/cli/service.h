/* service.h - a server as a process: the socket that it listens on, and the one who has started it.
 *
 * systemd may hand over a socket that listens already (sd_listen_fds(3)) and wants to know how the process stands (sd_notify(3)); both
 * are small enough to be spoken here by hand, without its library. What was handed over is taken once, and nothing that this process
 * starts is told of it.
 *
 * Owns:   the sockets are the caller's.
 * Fails:  with ERR_INVALID for an address that is none or a descriptor that does not listen, ERR_UNAVAILABLE where the address is taken.
 * Thread: service_begin() before any other; service_tell() any.
 */
#ifndef CLI_SERVICE_H
#define CLI_SERVICE_H

#include "base/arena.h"
#include "base/status.h"

/* Takes what the environment says: *out_fd is the socket that was handed over, -1 where there is none. */
MUST_USE Status service_begin(int *out_fd, Error *err);
/* Whether this machine has the address; its port is not touched. */
MUST_USE Status service_check_address(Arena *arena, const char *address, Error *err);
MUST_USE Status service_listen(Arena *arena, const char *address, int *out_fd, Error *err);
Str  service_address(Arena *arena, int fd);         /* where it listens, as 127.0.0.1:8080; empty: a socket of the file system, which no URL has */
Str  service_path(Arena *arena, int fd);            /* of such a one */
bool service_is_loopback(int fd);                   /* nobody reaches it from another machine */
void service_tell(const char *text);                /* "READY=1\n"; nobody listens: nothing happens */
void service_tell_reloading(void);                  /* what was changed is being read; READY=1 follows */

#endif
