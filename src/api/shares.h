/* shares.h - how much of what the server has to give is held by whom: bodies, answers, requests that wait, streams, starts that are held
 * back, decisions about many.
 *
 * Everything that can be held for long is bounded three times: for the server, for each tenant, and for each key of it, so that whoever
 * takes all that it may have leaves the others theirs. A key of every tenant has its own share and none of a tenant. Whoever sends no
 * key shares with all others like that, and before these with those of its address; of such there are bodies and answers alone.
 *
 * Owns:   the names of those who hold something at the moment, until shares_free(). A ShareHold belongs to its holder, who gives it back.
 * Fails:  share_take() with the bound that is reached: nothing is taken then.
 * Bounds: the table in shares.c, by limits.h.     Thread: one.
 */
#ifndef API_SHARES_H
#define API_SHARES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

typedef enum ShareKind {
    SHARE_BODIES,                   /* bytes */
    SHARE_READS,                    /* bytes of the values of bodies that are large */
    SHARE_ANSWERS,                  /* bytes, of those that are large, until they are sent */
    SHARE_WAITS,                    /* requests that wait for an execution, or for work */
    SHARE_STREAMS,
    SHARE_STARTS,                   /* that a debouncing holds back */
    SHARE_BULKS,                    /* decisions about many executions that are not all carried out */
    SHARE_KIND_COUNT,
} ShareKind;

typedef enum ShareBound { SHARE_FREE, SHARE_OF_KEY, SHARE_OF_TENANT, SHARE_OF_ADDRESS, SHARE_OF_STRANGERS, SHARE_OF_SERVER } ShareBound;

typedef struct Shares Shares;
/* What somebody holds of one kind. All zero: nothing. */
typedef struct ShareHold { struct Share *tenant, *key; size_t amount; ShareKind kind; } ShareHold;
/* Who holds it: a tenant, "*" of every one, empty where none is known; and which of its keys, as the ledger names it, or of a stranger its
 * address. That is never empty. */
typedef struct ShareOwner { Str tenant, actor; } ShareOwner;

Shares *shares_new(void);
void    shares_free(Shares *shares);        /* NULL is permitted */

/* So much more, on top of what `hold` has already; it has to be of that kind and owner then. */
ShareBound share_take(Shares *shares, ShareKind kind, ShareOwner owner, size_t amount, ShareHold *hold);
/* All of it is of another one from now on. Where that is refused, nobody holds it any more. */
ShareBound share_move(Shares *shares, ShareOwner owner, ShareHold *hold);
void   share_give_back(Shares *shares, ShareHold *hold);    /* all of it; nothing where it holds nothing */
size_t share_bound(ShareKind kind, ShareBound bound);       /* how much that is */
size_t share_taken(const Shares *shares, ShareKind kind);   /* by all together */
const char *share_holder(ShareBound bound);                 /* for people: "this key" */
const char *share_name(ShareKind kind);                     /* "event streams" */

#endif
