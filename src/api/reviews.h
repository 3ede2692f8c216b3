/* reviews.h - what reviewers said of versions of policies (F-178): for the routes of the server and for commands beside a store alike.
 *
 * A version of a policy is its digest: where one letter of it changes, nobody has reviewed it yet. A reviewer has one word about a version,
 * the last; the ledger has those before it. A review counts for one tenant, or for every one ('*'). A version stands reviewed where
 * somebody approved it and nobody rejects it.
 *
 * Owns:   everything lives in the arena given.     Fails: as store_select() does.
 * Thread: that of the store.
 */
#ifndef API_REVIEWS_H
#define API_REVIEWS_H

#include "value/value.h"
#include "view/store.h"

#define REVIEW_TENANT_ALL "*"

/* A row as a document, without links. */
Value review_value(Arena *arena, const Cell *row);
/* What counts for a tenant of a version of a policy: an array of documents. */
MUST_USE Status reviews_find(Arena *arena, Store *store, Str tenant, Str policy, Str digest, Value *out_reviews, Error *err);
/* Policies as guard_describe() has them, each with `reviews` of its version. */
MUST_USE Status reviews_add(Arena *arena, Store *store, Str tenant, Value policies, Value *out_policies, Error *err);
/* Whether such an array makes it stand reviewed. *out_text: by whom, or why not. */
bool  reviews_stand(Arena *arena, Value reviews, Str *out_text);

#endif
