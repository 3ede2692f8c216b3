#include "api/known.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

#define BURST_MS ((int64_t)API_RATE_BURST_S * 1000)

/* --- who was heard --------------------------------------------------------------------------------------------------------------- */

/* Twice as many buckets as there may be: chains are short. */
static void set_init(KnownSet *set, uint32_t count_max)
{
    *set = (KnownSet){ .count_max = count_max, .bucket_count = 2 };
    while (set->bucket_count < 2 * count_max) set->bucket_count *= 2;
    set->buckets = calloc(set->bucket_count, sizeof *set->buckets);
    CHECK(set->buckets);
}

static void set_deinit(KnownSet *set)
{
    for (Known *known = set->first, *after; known; known = after) {
        after = known->after;
        free(known->limits);
        free(known);
    }
    free(set->buckets);
}

void known_init(Callers *callers, KeyRates rates)
{
    callers->rates = rates;
    set_init(&callers->keys, API_KEY_COUNT_MAX);
    set_init(&callers->tenants, API_TENANT_COUNT_MAX);
}

void known_deinit(Callers *callers)
{
    set_deinit(&callers->keys);
    set_deinit(&callers->tenants);
}

/* Of names that stand in the store already: nobody chooses them for where they fall. */
static Known **bucket_of(const KnownSet *set, Str tenant, Str id)
{
    static const unsigned char key[crypto_shorthash_KEYBYTES];
    unsigned char text[NAME_SIZE_MAX + KEY_ID_SIZE], out[crypto_shorthash_BYTES];
    uint64_t hash;
    memcpy(text, tenant.ptr, tenant.len);
    if (id.len) memcpy(text + tenant.len, id.ptr, id.len);              /* ids have one size: no two names are the same text */
    crypto_shorthash(out, text, tenant.len + id.len, key);
    memcpy(&hash, out, sizeof hash);
    return &set->buckets[hash & (set->bucket_count - 1)];
}

Known *known_find(const KnownSet *set, Str tenant, Str id)
{
    if (tenant.len > NAME_SIZE_MAX || id.len > KEY_ID_SIZE) return NULL;
    Known *known = *bucket_of(set, tenant, id);
    while (known && !(str_is_text(id, known->id) && str_is_text(tenant, known->tenant))) known = known->chain;
    return known;
}

static void leave_order(KnownSet *set, Known *known)
{
    *(known->before ? &known->before->after : &set->first) = known->after;
    *(known->after ? &known->after->before : &set->last) = known->before;
}

static void join_order(KnownSet *set, Known *known)
{
    known->before = set->last;
    known->after = NULL;
    *(set->last ? &set->last->after : &set->first) = known;
    set->last = known;
}

void known_use(KnownSet *set, Known *known, int64_t now_ms)
{
    known->used_ms = now_ms;
    if (set->last == known) return;
    leave_order(set, known);
    join_order(set, known);
}

static void forget(KnownSet *set, Known *known)
{
    Known **link = bucket_of(set, str_of(known->tenant), str_of(known->id));
    while (*link != known) link = &(*link)->chain;
    *link = known->chain;
    leave_order(set, known);
    set->count--;
    free(known->limits);
    free(known);
}

Known *known_add(KnownSet *set, Str tenant, Str id, uint64_t per_s, int64_t now_ms)
{
    CHECK(tenant.len <= NAME_SIZE_MAX);
    CHECK(id.len <= KEY_ID_SIZE);
    if (set->count == set->count_max) {
        if (now_ms - set->first->used_ms < BURST_MS) return NULL;
        forget(set, set->first);
    }
    Known *known = calloc(1, sizeof *known), **bucket = bucket_of(set, tenant, id);
    CHECK(known);
    memcpy(known->tenant, tenant.ptr, tenant.len);
    if (id.len) memcpy(known->id, id.ptr, id.len);
    known->used_ms = now_ms;
    known->looked_ms = known->told_ms = INT64_MIN;
    known->rate = (Rate){ (int64_t)per_s * BURST_MS, now_ms };
    known->chain = *bucket;
    *bucket = known;
    join_order(set, known);
    set->count++;
    return known;
}

/* --- what is left of a rate --------------------------------------------------------------------------------------------------------- */

static bool rate_take(uint64_t rate_per_s, Rate *rate, int64_t now_ms, uint64_t *out_wait_s)
{
    int64_t per_s = (int64_t)rate_per_s, full = per_s * BURST_MS, passed_ms = now_ms - rate->at_ms;
    if (passed_ms > 0) {
        int64_t gained = passed_ms > BURST_MS ? full : passed_ms * per_s;
        rate->milli = rate->milli + gained > full ? full : rate->milli + gained;
        rate->at_ms = now_ms;
    }
    if (rate->milli >= 1000) {
        rate->milli -= 1000;
        return true;
    }
    *out_wait_s = 1;
    return false;
}

static Status find_tenant(Callers *callers, Str tenant, int64_t now_ms, Known **out, uint64_t *out_wait_s, Error *err)
{
    Known *known = known_find(&callers->tenants, tenant, STR(""));
    if (known) {
        known_use(&callers->tenants, known, now_ms);
    } else {
        known = known_add(&callers->tenants, tenant, STR(""), callers->rates.tenant_per_s, now_ms);
        if (known) known->rest = (Rate){ (int64_t)callers->rates.key_per_s * BURST_MS, now_ms };
    }
    *out = known;
    if (known) return OK;
    *out_wait_s = API_RATE_BURST_S;
    return error_set(err, ERR_LIMIT, "more than API_TENANT_COUNT_MAX (%u) tenants have sent requests within %u s",
                     API_TENANT_COUNT_MAX, API_RATE_BURST_S);
}

static Status take_tenant(const Callers *callers, Known *tenant, int64_t now_ms, uint64_t *out_wait_s, Error *err)
{
    if (rate_take(callers->rates.tenant_per_s, &tenant->rate, now_ms, out_wait_s)) return OK;
    return error_set(err, ERR_LIMIT, "tenant '%s' has sent more than %" PRIu64 " requests a second", tenant->tenant, callers->rates.tenant_per_s);
}

Status known_pay_tenant(Callers *callers, Str tenant, int64_t now_ms, uint64_t *out_wait_s, Error *err)
{
    Known *whole;
    Status status = find_tenant(callers, tenant, now_ms, &whole, out_wait_s, err);
    return status ? status : take_tenant(callers, whole, now_ms, out_wait_s, err);
}

Status known_pay(Callers *callers, Known *key, Str tenant, Str id, int64_t now_ms, uint64_t *out_wait_s, Error *err)
{
    Known *whole;
    Status status = find_tenant(callers, tenant, now_ms, &whole, out_wait_s, err);
    if (status) return status;
    if (rate_take(callers->rates.key_per_s, key ? &key->rate : &whole->rest, now_ms, out_wait_s))
        return take_tenant(callers, whole, now_ms, out_wait_s, err);
    return error_set(err, ERR_LIMIT, "key %.*s has sent more than %" PRIu64 " requests a second%s", STR_ARG(id), callers->rates.key_per_s,
                     key ? "" : ", with others of its tenant: more than API_KEY_COUNT_MAX keys are in use");
}
