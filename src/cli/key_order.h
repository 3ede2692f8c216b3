/* key_order.h - API keys, made, listed and revoked by commands: sealed here and given to whoever owns the store, or asked of a server.
 *
 * Owns:   texts live in the arena of the arguments.     Fails: with the exit code, after printing the reason.
 * Thread: the main one; no other may exist before.
 */
#ifndef CLI_KEY_ORDER_H
#define CLI_KEY_ORDER_H

#include "api/key_list.h"
#include "cli/command.h"

/* A new key, stored; the text is shown once and is nowhere else. */
ExitCode key_store(const Args *args, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key);
/* The key of the first start: where no key of the store is of an admin, one for every tenant is made and written to a file that its owner
 * alone may read, before it is stored: what is stored can be found. *out_path is that file; empty: it is not there any more, or its key does
 * not hold any more. */
ExitCode key_first(const Args *args, Str *out_path);

ExitCode key_list(const Args *args, Str tenant, KeyRows *out);      /* an empty tenant: of every one that the caller may see */
ExitCode key_revoke(const Args *args, Str tenant, Str id);

#endif
