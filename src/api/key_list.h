/* key_list.h - which API keys there are, out of the store: for commands beside it and for the routes of the server alike.
 *
 * Keys lie among the secrets of their tenants (api-key/ID). A list goes from tenant to tenant and looks at keys alone, so that it costs
 * what there are of keys and tenants, whatever else is secret; looking for one costs what there are of tenants, and of one tenant nothing to
 * speak of. What is sealed of a key (role and end) is opened for those that are shown.
 *
 * Owns:   texts live in the arena given.     Fails: as store_select() and the vault do.
 * Bounds: KeyAsk.count_max.     Thread: that of the store and the vault.
 */
#ifndef API_KEY_LIST_H
#define API_KEY_LIST_H

#include "api/key.h"

typedef struct KeyRow { Str tenant, id; KeyFacts facts; int64_t created_ms, used_ms; Str created_by; } KeyRow;       /* used: 0: never */
typedef struct KeyRows { KeyRow *rows; size_t count, capacity; } KeyRows;

typedef struct KeyAsk {
    Str tenant;                     /* empty: of every one */
    Str id;                         /* of this id alone, which may be there in several tenants; empty: of every one */
    Str after_tenant, after_id;     /* behind that one; empty: from the first on */
    size_t count_max;               /* 0: all */
} KeyAsk;

/* In the order of tenants and ids; `facts` and `used_ms` are left out. */
MUST_USE Status key_rows_find(Arena *arena, Store *store, const KeyAsk *ask, KeyRows *out, Error *err);
MUST_USE Status key_rows_open(Arena *arena, Store *store, Vault *vault, KeyRows *rows, Error *err);

#endif
