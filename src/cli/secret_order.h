/* secret_order.h - changes of secrets, sealed here and given to whoever owns the store.
 *
 * The value leaves this process sealed alone: neither the socket nor the owner sees it. A server is given it as it is, over HTTP or
 * HTTPS: it has the key file, and seals it. Where two make the first key of a
 * tenant at the same time, the one who was late seals again under the other's key.
 *
 * Owns:   nothing; the value is the caller's to wipe.
 * Fails:  with the exit code after printing the reason.     Thread: the main one; no other may exist before.
 */
#ifndef CLI_SECRET_ORDER_H
#define CLI_SECRET_ORDER_H

#include "cli/command.h"

/* A store that does not exist is made. Without a name: the tenant gets its key, where it has none. */
ExitCode secret_store(const Args *args, Str tenant, Str name, Str value);
ExitCode secret_remove(const Args *args, Str tenant, Str name);

#endif
