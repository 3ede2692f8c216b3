#include "api/key.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/id.h"
#include "base/limits.h"
#include "os/clock.h"
#include "os/entropy.h"
#include "value/canonical.h"
#include "value/json.h"

#define SECRET_BYTES 32u

const char *const key_role_names[] = { "viewer", "operator", "author", "admin", "worker", NULL };

/* --- how one looks ------------------------------------------------------------------------------------------------------------- */

static Str hash_of(Arena *arena, Str secret)
{
    Digest digest = digest_of(secret);
    char storage[128];
    Buf text = buf_on(storage, sizeof storage);
    digest_print(&text, &digest);
    return arena_copy(arena, buf_peek(&text));
}

void key_make(Arena *arena, Str tenant, const KeyFacts *facts, Str *out_id, Str *out_key, Str *out_document)
{
    uint8_t chance[ID_SIZE], secret[SECRET_BYTES];
    char storage[256];
    Buf text = buf_on(storage, sizeof storage);
    do entropy_bytes(chance, sizeof chance);
    while (!ascii_is_alnum(id_make(chance).text[0]));
    Id id = id_make(chance);
    entropy_bytes(secret, sizeof secret);
    base64_encode(&text, (Str){ (const char *)secret, sizeof secret }, BASE64_URL_BARE);
    Str secret_text = arena_copy(arena, buf_peek(&text));
    *out_id = arena_copy(arena, (Str){ id.text, KEY_ID_SIZE });
    *out_key = arena_format(arena, "mk.%.*s.%.*s.%.*s", STR_ARG(tenant), STR_ARG(*out_id), STR_ARG(secret_text));
    *out_document = arena_format(arena, "{\"expires\":%" PRId64 ",\"hash\":\"%.*s\",\"role\":\"%s\"}", facts->expires_ms,
                                 STR_ARG(hash_of(arena, secret_text)), key_role_names[facts->role]);
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(storage, sizeof storage);
}

static bool role_find(Str name, KeyRole *out)
{
    for (unsigned i = 0; i < ROLE_COUNT; i++) {
        if (!str_is_text(name, key_role_names[i])) continue;
        *out = (KeyRole)i;
        return true;
    }
    return false;
}

Status key_read_document(Arena *arena, Str document, KeyFacts *out, Error *err)
{
    Value value;
    Status status = json_parse(arena, document, &value, err);
    if (status) return status;
    out->expires_ms = value_get_int(value, "expires", 0);
    if (!role_find(value_get_string(value, "role", STR("")), &out->role)) return error_set(err, ERR_CORRUPT, "the key has no known role");
    return OK;
}

/* Tenants may have points in their names: the last two parts are the id and the secret. */
static bool key_split(Str key, Str *out_tenant, Str *out_id, Str *out_secret)
{
    size_t last = key.len, middle;
    if (!str_starts(key, STR("mk.")) || key.len > 512) return false;
    while (last > 3 && key.ptr[last - 1] != '.') last--;
    middle = last ? last - 1 : 0;
    while (middle > 3 && key.ptr[middle - 1] != '.') middle--;
    if (last <= middle || middle <= 4) return false;
    *out_tenant = str_slice(key, 3, middle - 1);
    *out_id = str_slice(key, middle, last - 1);
    *out_secret = str_slice(key, last, key.len);
    for (size_t i = 0; i < out_id->len; i++)
        if (!ascii_is_alnum(out_id->ptr[i]) && out_id->ptr[i] != '-' && out_id->ptr[i] != '_') return false;
    return out_id->len == KEY_ID_SIZE && out_tenant->len && out_tenant->len <= NAME_SIZE_MAX && out_secret->len;
}

/* --- who calls ------------------------------------------------------------------------------------------------------------------ */

/* A bucket that fills with time: how many thousandths of a request there is room for. */
typedef struct Rate { int64_t milli, at_ms; } Rate;

typedef struct Known {
    char tenant[NAME_SIZE_MAX + 1], id[KEY_ID_SIZE + 1];       /* an empty id: of a tenant as a whole */
    Digest hash;                    /* of the secret */
    KeyFacts facts;
    int64_t looked_ms, used_ms;
    Rate rate;
} Known;

struct KeyRing {
    Vault *vault;
    int64_t rate_per_s;
    Known *known;
    uint32_t count;
};

KeyRing *keyring_new(Vault *vault, uint64_t rate_per_s)
{
    KeyRing *ring = calloc(1, sizeof *ring);
    CHECK(ring);
    ring->vault = vault;
    ring->rate_per_s = (int64_t)rate_per_s;
    return ring;
}

void keyring_free(KeyRing *ring)
{
    if (!ring) return;
    free(ring->known);
    free(ring);
}

static Known *known_find(KeyRing *ring, Str tenant, Str id)
{
    for (uint32_t i = 0; i < ring->count; i++)
        if (str_is_text(id, ring->known[i].id) && str_is_text(tenant, ring->known[i].tenant)) return &ring->known[i];
    return NULL;
}

/* A place for it; where there is none left, that of the one that was used least recently. */
static Known *known_add(KeyRing *ring, Str tenant, Str id, int64_t now_ms)
{
    Known *place = NULL;
    if (ring->count < API_KEY_COUNT_MAX) {
        if (!(ring->count & (ring->count - 1))) {
            ring->known = realloc(ring->known, sizeof *ring->known * (ring->count ? 2u * ring->count : 1u));
            CHECK(ring->known);
        }
        place = &ring->known[ring->count++];
    } else {
        place = &ring->known[0];
        for (uint32_t i = 1; i < ring->count; i++)
            if (ring->known[i].used_ms < place->used_ms) place = &ring->known[i];
    }
    *place = (Known){ .looked_ms = INT64_MIN, .rate = { ring->rate_per_s * 1000 * API_RATE_BURST_S, now_ms } };
    memcpy(place->tenant, tenant.ptr, tenant.len);
    memcpy(place->id, id.ptr, id.len);
    return place;
}

static bool rate_take(const KeyRing *ring, Rate *rate, int64_t now_ms, uint64_t *out_wait_s)
{
    int64_t full = ring->rate_per_s * 1000 * API_RATE_BURST_S, passed_ms = now_ms - rate->at_ms;
    if (passed_ms > 0) {
        int64_t gained = passed_ms > full / ring->rate_per_s ? full : passed_ms * ring->rate_per_s;
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

/* What the store says of a key: its document, opened. */
static Status look_up(KeyRing *ring, Arena *arena, Str tenant, Str id, Digest *out_hash, KeyFacts *out_facts, Error *err)
{
    Str name = arena_format(arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(id)), document;
    Value value;
    Status status = vault_secret(ring->vault, tenant, name, &document, err);
    if (!status) status = json_parse(arena, document, &value, err);
    if (!status) status = key_read_document(arena, document, out_facts, err);
    if (status) return status;
    Str hash = value_get_string(value, "hash", STR(""));
    *out_hash = digest_of(hash);
    return OK;
}

static Status check(KeyRing *ring, Arena *arena, Known *known, Str tenant, Str id, int64_t steady_ms, Error *err)
{
    if (known->looked_ms != INT64_MIN && steady_ms - known->looked_ms < API_KEY_FRESH_MS) return OK;
    Status status = look_up(ring, arena, tenant, id, &known->hash, &known->facts, err);
    if (!status) known->looked_ms = steady_ms;
    return status;
}

Status keyring_find(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Caller *out, uint64_t *out_wait_s, Error *err)
{
    Str tenant, id, secret;
    int64_t steady_ms = (int64_t)(clock_monotonic_ns() / 1000000u);
    if (!key_split(key, &tenant, &id, &secret)) return error_set(err, ERR_DENIED, "no key looks like this");
    Known *known = known_find(ring, tenant, id), fresh = { .looked_ms = INT64_MIN };
    /* Nobody is remembered who has not proved that the key is there: strangers do not fill the ring. */
    Status status = check(ring, arena, known ? known : &fresh, tenant, id, steady_ms, err);
    if (status == ERR_UNAVAILABLE) return status;
    if (status) {
        if (known) known->looked_ms = INT64_MIN;
        return error_set(err, ERR_DENIED, "there is no key %.*s of tenant '%.*s'", STR_ARG(id), STR_ARG(tenant));
    }
    const Known *facts = known ? known : &fresh;
    Digest given = digest_of(hash_of(arena, secret));
    if (sodium_memcmp(&given, &facts->hash, sizeof given))
        return error_set(err, ERR_DENIED, "the secret of key %.*s is another", STR_ARG(id));
    if (facts->facts.expires_ms && facts->facts.expires_ms <= now_ms)
        return error_set(err, ERR_DENIED, "key %.*s has expired", STR_ARG(id));
    KeyRole role = facts->facts.role;
    if (!known) {
        known = known_add(ring, tenant, id, steady_ms);
        known->hash = fresh.hash;
        known->facts = fresh.facts;
        known->looked_ms = fresh.looked_ms;
    }
    known->used_ms = steady_ms;
    bool is_taken = rate_take(ring, &known->rate, steady_ms, out_wait_s);
    Known *whole = known_find(ring, tenant, STR(""));
    if (!whole) whole = known_add(ring, tenant, STR(""), steady_ms);
    whole->used_ms = steady_ms;
    if (!is_taken || !rate_take(ring, &whole->rate, steady_ms, out_wait_s))
        return error_set(err, ERR_LIMIT, "key %.*s has sent more than %" PRId64 " requests a second", STR_ARG(id), ring->rate_per_s);
    *out = (Caller){ .key = arena_copy(arena, id), .tenant = arena_copy(arena, tenant), .role = str_of(key_role_names[role]),
                     .actor = arena_format(arena, "key:%.*s", STR_ARG(id)) };
    return OK;
}
