/* known.h - callers that were heard lately: what is known of a key, and how much of its rate, and of its tenant's, is left.
 *
 * Keys are found by tenant and id, tenants by their names, both by a hash. Who was not heard for the longest time is forgotten for the next
 * one, and only after API_RATE_BURST_S seconds of silence: by then its rate is whole again, so that to be forgotten gives nobody more
 * requests than to be remembered. Where all that are remembered were heard within that time
 *
 *   - a further key is not remembered: all such keys of a tenant have the rate of one key together;
 *   - a further tenant is refused for the moment.
 *
 * Owns:   what it remembers, until known_deinit(). A Known stays where it is until another takes its place, in known_add().
 * Fails:  known_pay() with ERR_LIMIT: a rate is used up, or there is no place for the tenant; *out_wait_s is after how long to come again.
 * Bounds: API_KEY_COUNT_MAX keys and API_TENANT_COUNT_MAX tenants, about 350 bytes each.     Thread: one.
 */
#ifndef API_KNOWN_H
#define API_KNOWN_H

#include "api/key.h"
#include "value/canonical.h"

/* A bucket that fills with time: how many thousandths of a request there is room for. */
typedef struct Rate { int64_t milli, at_ms; } Rate;

typedef struct Known {
    struct Known *chain;            /* the next one of the same bucket */
    struct Known *before, *after;   /* in the order in which they were heard */
    char tenant[NAME_SIZE_MAX + 1], id[KEY_ID_SIZE + 1];       /* an empty id: of a tenant as a whole */
    int64_t used_ms;
    Rate rate;
    Rate rest;                      /* of a tenant: that of its keys which have no place */
    /* Of a key, for whoever looked it up: */
    Digest hash;                    /* of the secret */
    KeyRole role;
    int64_t expires_ms;
    char *limits;                   /* its document, where that limits it; NULL: it does not. Its own */
    int64_t looked_ms;              /* INT64_MIN: it has to be looked up again */
    uint64_t looked_version;        /* of the secrets, when that was */
    int64_t told_ms;                /* when its use was last recorded; INT64_MIN: never */
} Known;

typedef struct KnownSet {
    Known **buckets;
    Known *first, *last;            /* who was not heard for the longest time, and who was heard last */
    uint32_t count, count_max, bucket_count;
} KnownSet;

typedef struct Callers {
    KnownSet keys, tenants;
    KeyRates rates;
} Callers;

void known_init(Callers *callers, KeyRates rates);
void known_deinit(Callers *callers);

Known *known_find(const KnownSet *set, Str tenant, Str id);
/* A place for it, with a whole rate. NULL: all that there are were heard within API_RATE_BURST_S. It must not be there. */
Known *known_add(KnownSet *set, Str tenant, Str id, uint64_t per_s, int64_t now_ms);
void   known_use(KnownSet *set, Known *known, int64_t now_ms);      /* it was heard */

/* One request of a key and of its tenant. `key` is NULL for a key that has no place. */
MUST_USE Status known_pay(Callers *callers, Known *key, Str tenant, Str id, int64_t now_ms, uint64_t *out_wait_s, Error *err);
/* One request of somebody of the tenant who has no key. */
MUST_USE Status known_pay_tenant(Callers *callers, Str tenant, int64_t now_ms, uint64_t *out_wait_s, Error *err);

#endif
