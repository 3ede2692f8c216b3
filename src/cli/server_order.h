/* server_order.h - a request to a route of a server, for commands that have nothing to do beside a store: keys, secrets, tokens.
 *
 * What a command does with the key file of a store, a server does for it (--server, $MAESTRO_SERVER): it is asked by its routes, as
 * every other client asks, and refusals are told in the words that the command has beside a store.
 *
 * Owns:   answers live in the arena of the arguments.
 * Fails:  with the exit code, after printing the reason.     Thread: the main one.
 */
#ifndef CLI_SERVER_ORDER_H
#define CLI_SERVER_ORDER_H

#include "cli/adapters.h"
#include "cli/command.h"

bool     server_is_meant(const Args *args);
/* With --id as the Idempotency-Key. *out_answer is null where there is none. */
ExitCode server_order(const Args *args, const ServerCall *call, Value *out_answer);

/* Whose things a command means: --tenant says it; else of a server it is the tenant of the key, for which it is asked once, and beside a store,
 * or with a key of every tenant, 'default'. */
Str      server_tenant(const Args *args);

/* What is no matter of a client: `what` is done by whoever is at the machine that has the store. EXIT_CODE_OK where no server is meant. */
ExitCode server_refuse(const Args *args, const char *what);

/* Parts of addresses: escaped; and --reason, behind a query or as a member of a body. */
Str      server_word(Arena *arena, Str text);
Str      server_reason(const Args *args, Str path);
void     server_add_reason(const Args *args, MemberList *body);

#endif
