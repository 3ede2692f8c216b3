#include "api/shares.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"

#define BUCKET_COUNT 1024u          /* as many names as there are holders: API_WAITING_COUNT_MAX keys and tenants at most */

static const struct { const char *name; size_t bounds[SHARE_OF_SERVER + 1]; } kinds[SHARE_KIND_COUNT] = {
    [SHARE_BODIES] = { "bytes of bodies", { [SHARE_OF_KEY] = API_BODY_SHARE_MAX, [SHARE_OF_TENANT] = API_BODY_SHARE_MAX,
                                            [SHARE_OF_ADDRESS] = API_STRANGER_ADDRESS_MAX, [SHARE_OF_STRANGERS] = API_STRANGER_SHARE_MAX,
                                            [SHARE_OF_SERVER] = API_WAITING_SIZE_MAX } },
    [SHARE_READS] = { "bytes of values of bodies", { [SHARE_OF_KEY] = API_READ_SHARE_MAX, [SHARE_OF_TENANT] = API_READ_SHARE_MAX,
                                                     [SHARE_OF_ADDRESS] = API_BODY_READ_SIZE_MAX, [SHARE_OF_STRANGERS] = API_BODY_READ_SIZE_MAX,
                                                     [SHARE_OF_SERVER] = API_READ_SIZE_MAX } },
    [SHARE_ANSWERS] = { "bytes of answers that nobody reads", { [SHARE_OF_KEY] = API_ANSWER_SHARE_MAX, [SHARE_OF_TENANT] = API_ANSWER_SHARE_MAX,
                                                                [SHARE_OF_ADDRESS] = API_ANSWER_ADDRESS_MAX,
                                                                [SHARE_OF_STRANGERS] = API_ANSWER_STRANGER_MAX,
                                                                [SHARE_OF_SERVER] = API_ANSWER_SIZE_MAX } },
    [SHARE_WAITS] = { "requests that wait", { [SHARE_OF_KEY] = API_WAITING_KEY_MAX, [SHARE_OF_TENANT] = API_WAITING_TENANT_MAX,
                                              [SHARE_OF_SERVER] = API_WAITING_COUNT_MAX } },
    [SHARE_STREAMS] = { "event streams", { [SHARE_OF_KEY] = API_STREAM_KEY_MAX, [SHARE_OF_TENANT] = API_STREAM_TENANT_MAX,
                                           [SHARE_OF_SERVER] = API_STREAM_COUNT_MAX } },
    [SHARE_STARTS] = { "starts that are held back", { [SHARE_OF_KEY] = API_DEBOUNCE_KEY_MAX, [SHARE_OF_TENANT] = API_DEBOUNCE_TENANT_MAX,
                                                      [SHARE_OF_SERVER] = API_DEBOUNCE_COUNT_MAX } },
    [SHARE_BULKS] = { "decisions about many executions", { [SHARE_OF_KEY] = API_BULK_KEY_MAX, [SHARE_OF_TENANT] = API_BULK_TENANT_MAX,
                                                           [SHARE_OF_SERVER] = API_BULK_REQUEST_COUNT_MAX } },
};

static const char *const holders[] = { [SHARE_FREE] = "nobody", [SHARE_OF_KEY] = "this key", [SHARE_OF_TENANT] = "this tenant",
                                       [SHARE_OF_ADDRESS] = "this address", [SHARE_OF_STRANGERS] = "all who send no key",
                                       [SHARE_OF_SERVER] = "the server" };

/* One who holds something: a tenant, or a key of it, or an address. Senders of different tenants may have the same name. */
typedef struct Share {
    struct Share *next;
    uint32_t bucket, use_count;
    size_t taken[SHARE_KIND_COUNT];
    ShareOwner owner;               /* of no actor: the tenant itself */
    char names[];
} Share;

struct Shares { Share *buckets[BUCKET_COUNT]; size_t taken[SHARE_KIND_COUNT]; };

Shares *shares_new(void)
{
    Shares *shares = calloc(1, sizeof *shares);
    CHECK(shares);
    return shares;
}

void shares_free(Shares *shares)
{
    for (uint32_t i = 0; shares && i < BUCKET_COUNT; i++)
        for (Share *share = shares->buckets[i], *next; share; share = next) {
            next = share->next;
            free(share);
        }
    free(shares);
}

/* Names are given by who makes keys: one who piles them up in one place slows itself down. */
static Share *share_use(Shares *shares, ShareOwner owner)
{
    uint32_t bucket = (uint32_t)(hash_text(hash_part(HASH_SEED, owner.tenant), owner.actor) % BUCKET_COUNT);
    Share *share = shares->buckets[bucket];
    while (share && (!str_is(share->owner.tenant, owner.tenant) || !str_is(share->owner.actor, owner.actor))) share = share->next;
    if (!share) {
        share = malloc(sizeof *share + owner.tenant.len + owner.actor.len);
        CHECK(share);
        *share = (Share){ .next = shares->buckets[bucket], .bucket = bucket,
                          .owner = { { share->names, owner.tenant.len },
                                     { share->names + owner.tenant.len, owner.actor.len } } };
        if (owner.tenant.len) memcpy(share->names, owner.tenant.ptr, owner.tenant.len);
        if (owner.actor.len) memcpy(share->names + owner.tenant.len, owner.actor.ptr, owner.actor.len);
        shares->buckets[bucket] = share;
    }
    share->use_count++;
    return share;
}

static void share_leave(Shares *shares, Share *share)
{
    if (!share || --share->use_count) return;
    Share **at = &shares->buckets[share->bucket];
    while (*at != share) at = &(*at)->next;
    *at = share->next;
    free(share);
}

static void add(Shares *shares, ShareHold *hold, size_t amount)
{
    hold->amount += amount;
    shares->taken[hold->kind] += amount;
    if (hold->tenant) hold->tenant->taken[hold->kind] += amount;
    hold->key->taken[hold->kind] += amount;
}

static ShareBound bound_of(const Shares *shares, const ShareHold *hold, size_t amount)
{
    const size_t *bounds = kinds[hold->kind].bounds;
    bool is_stranger = !hold->key->owner.tenant.len;
    ShareBound key = is_stranger ? SHARE_OF_ADDRESS : SHARE_OF_KEY, tenant = is_stranger ? SHARE_OF_STRANGERS : SHARE_OF_TENANT;
    if (hold->key->taken[hold->kind] + amount > bounds[key]) return key;
    if (hold->tenant && hold->tenant->taken[hold->kind] + amount > bounds[tenant]) return tenant;
    return shares->taken[hold->kind] + amount > bounds[SHARE_OF_SERVER] ? SHARE_OF_SERVER : SHARE_FREE;
}

ShareBound share_take(Shares *shares, ShareKind kind, ShareOwner owner, size_t amount, ShareHold *hold)
{
    if (!hold->key) {
        hold->kind = kind;
        if (!str_is_text(owner.tenant, "*")) hold->tenant = share_use(shares, (ShareOwner){ .tenant = owner.tenant });
        hold->key = share_use(shares, owner);
    }
    CHECK(hold->kind == kind);
    ShareBound bound = bound_of(shares, hold, amount);
    if (bound == SHARE_FREE) add(shares, hold, amount);
    else if (!hold->amount) share_give_back(shares, hold);
    return bound;
}

void share_give_back(Shares *shares, ShareHold *hold)
{
    if (!hold->key) return;
    shares->taken[hold->kind] -= hold->amount;
    if (hold->tenant) hold->tenant->taken[hold->kind] -= hold->amount;
    hold->key->taken[hold->kind] -= hold->amount;
    share_leave(shares, hold->tenant);
    share_leave(shares, hold->key);
    *hold = (ShareHold){ 0 };
}

ShareBound share_move(Shares *shares, ShareOwner owner, ShareHold *hold)
{
    ShareKind kind = hold->kind;
    size_t amount = hold->amount;
    share_give_back(shares, hold);
    return amount ? share_take(shares, kind, owner, amount, hold) : SHARE_FREE;
}

size_t share_bound(ShareKind kind, ShareBound bound) { return kinds[kind].bounds[bound]; }

size_t share_taken(const Shares *shares, ShareKind kind) { return shares->taken[kind]; }

const char *share_holder(ShareBound bound) { return holders[bound]; }

const char *share_name(ShareKind kind) { return kinds[kind].name; }
