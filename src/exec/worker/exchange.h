/* exchange.h - what a worker's request says, read and checked before any of it is done.
 *
 * Everything is looked at first: a request that is wrong in one place does nothing at all, so that whoever sent it may send the rest of it
 * again. docs/worker-protocol.md and the schema `Exchange` of /openapi.json say the same.
 *
 * Owns:   nothing; what is read borrows from the request.
 * Fails:  exchange_check() with ERR_INVALID, and ERR_LIMIT for a list that is too long; the text begins with the JSON pointer of the place:
 *         "/heartbeats/1: a heartbeat is the `token` of a lease". ERR_LIMIT, too, for the message of a failure.
 * Bounds: WORKER_ITEM_COUNT_MAX items in each list, WORKER_OWN_NAME_SIZE_MAX.     Thread: pure, any.
 */
#ifndef EXEC_WORKER_EXCHANGE_H
#define EXEC_WORKER_EXCHANGE_H

#include "engine/executor.h"

MUST_USE Status exchange_check(Value request, Error *err);

const Value *exchange_list(Value request, const char *key);      /* NULL: it says nothing of the kind */
uint32_t     exchange_item_count(Value request, const char *key);
Str          exchange_token(Value item);                         /* the text that names its attempt */
bool         exchange_list_has(Value list, Str text);

#endif
