#include "api/key.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/known.h"
#include "base/base64.h"
#include "base/check.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "lang/shape.h"
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

static void add_limit(Buf *text, const char *name, Value names)
{
    Error err;
    if (names.kind == VALUE_NULL) return;
    buf_format(text, ",\"%s\":", name);
    CHECK(json_print(text, names, JSON_COMPACT, &err) == OK);          /* a list of names, which was checked */
}

/* What is kept of a key. */
static Str document_of(Arena *arena, const KeyFacts *facts, Str hash)
{
    Buf text;
    buf_init(&text, SECRET_SIZE_MAX);
    buf_format(&text, "{\"expires\":%" PRId64 ",\"hash\":\"%.*s\",\"role\":\"%s\"", facts->expires_ms, STR_ARG(hash), key_role_names[facts->role]);
    add_limit(&text, "executors", facts->limits.executors);
    add_limit(&text, "queues", facts->limits.queues);
    buf_char(&text, '}');
    CHECK(!buf_overflowed(&text));
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
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
    Str shown = str_is_text(tenant, "*") ? STR(KEY_TENANT_ALL) : tenant;
    *out_key = arena_format(arena, "mk.%.*s.%.*s.%.*s", STR_ARG(shown), STR_ARG(*out_id), STR_ARG(secret_text));
    *out_document = document_of(arena, facts, hash_of(arena, secret_text));
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(storage, sizeof storage);
}

bool key_role_find(Str name, KeyRole *out)
{
    for (unsigned i = 0; i < ROLE_COUNT; i++) {
        if (!str_is_text(name, key_role_names[i])) continue;
        *out = (KeyRole)i;
        return true;
    }
    return false;
}

bool key_role_may_make(Str own, KeyRole role)
{
    if (str_is_text(own, key_role_names[ROLE_ADMIN]) || str_is_text(own, key_role_names[role])) return true;
    return role == ROLE_VIEWER && (str_is_text(own, key_role_names[ROLE_OPERATOR]) || str_is_text(own, key_role_names[ROLE_AUTHOR]));
}

Str key_secret_name(Arena *arena, Str id) { return arena_format(arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(id)); }

Status key_check_other_secret(Str name, Error *err)
{
    if (!str_starts(name, STR(KEY_SECRET_PREFIX))) return OK;
    return error_set(err, ERR_INVALID,
                     "'%.*s' is an API key and no secret: 'maestro key' makes and revokes them, and so does /api/keys",
                     STR_ARG(name));
}

Status key_check_tenant(Str tenant, Error *err)
{
    if (str_is_text(tenant, "*") || name_is_valid(tenant, /* dotted= */ false)) return OK;
    return error_set(err, ERR_INVALID,
                     "'%.*s' is no name of a tenant: as in definitions it has 1 to %u letters, digits, _ and -, the last not at its beginning",
                     STR_ARG(utf8_head(tenant, 100)), NAME_SIZE_MAX);
}

Status key_read_document(Arena *arena, Str document, KeyFacts *out, Error *err)
{
    Value value;
    Status status = json_parse(arena, document, &value, err);
    if (status) return status;
    out->expires_ms = value_get_int(value, "expires", 0);
    if (!key_role_find(value_get_string(value, "role", STR("")), &out->role)) return error_set(err, ERR_CORRUPT, "the key has no known role");
    out->limits = key_limits_of(value);
    return OK;
}

/* From the end: keys of tenants with points in their names were made once, and hold. */
static bool key_split(Str key, Str *out_tenant, Str *out_id, Str *out_secret)
{
    size_t last = key.len, middle;
    if (!str_starts(key, STR("mk.")) || key.len > 512) return false;
    while (last > 3 && key.ptr[last - 1] != '.') last--;
    middle = last ? last - 1 : 0;
    while (middle > 3 && key.ptr[middle - 1] != '.') middle--;
    if (last <= middle || middle <= 4) return false;
    *out_tenant = str_slice(key, 3, middle - 1);
    if (str_is_text(*out_tenant, KEY_TENANT_ALL)) *out_tenant = STR("*");
    *out_id = str_slice(key, middle, last - 1);
    *out_secret = str_slice(key, last, key.len);
    for (size_t i = 0; i < out_id->len; i++)
        if (!ascii_is_alnum(out_id->ptr[i]) && out_id->ptr[i] != '-' && out_id->ptr[i] != '_') return false;
    return out_id->len == KEY_ID_SIZE && out_tenant->len && out_tenant->len <= NAME_SIZE_MAX && out_secret->len;
}

Str key_claimed(Str key)
{
    Str tenant, id, secret;
    return key_split(key, &tenant, &id, &secret) ? id : (Str){ 0 };
}

/* --- who calls ------------------------------------------------------------------------------------------------------------------ */

struct KeyRing {
    Vault *vault;
    Callers callers;
    uint64_t version;               /* of the secrets: as of which all this is known */
};

KeyRing *keyring_new(Vault *vault, KeyRates rates)
{
    KeyRing *ring = calloc(1, sizeof *ring);
    CHECK(ring);
    ring->vault = vault;
    known_init(&ring->callers, rates);
    return ring;
}

void keyring_free(KeyRing *ring)
{
    if (!ring) return;
    known_deinit(&ring->callers);
    free(ring);
}

void keyring_refresh(KeyRing *ring, uint64_t version)
{
    ring->version = version;
}

/* What the store says of a key: its document, opened. What it is limited to is kept as text: few keys are, and the ring has no arena. */
static Status look_up(KeyRing *ring, Arena *arena, Str tenant, Str id, Known *known, Error *err)
{
    Str name = arena_format(arena, KEY_SECRET_PREFIX "%.*s", STR_ARG(id)), document;
    KeyFacts facts;
    Value value;
    Status status = vault_secret(ring->vault, tenant, name, &document, err);
    if (!status) status = json_parse(arena, document, &value, err);
    if (!status) status = key_read_document(arena, document, &facts, err);
    if (status) return status;
    known->hash = digest_of(value_get_string(value, "hash", STR("")));
    known->role = facts.role;
    known->expires_ms = facts.expires_ms;
    free(known->limits);
    known->limits = key_limits_are_some(&facts.limits) ? str_text_new(document) : NULL;
    return OK;
}

static Status check(KeyRing *ring, Arena *arena, Known *known, Str tenant, Str id, int64_t steady_ms, Error *err)
{
    bool is_fresh = known->looked_ms != INT64_MIN && steady_ms - known->looked_ms < API_KEY_FRESH_MS;
    if (is_fresh && known->looked_version == ring->version) return OK;
    Status status = look_up(ring, arena, tenant, id, known, err);
    if (status) return status;
    known->looked_ms = steady_ms;
    known->looked_version = ring->version;
    return OK;
}

Status keyring_take(KeyRing *ring, Str tenant, uint64_t *out_wait_s, Error *err)
{
    return known_pay_tenant(&ring->callers, tenant, clock_monotonic_ms(), out_wait_s, err);
}

/* What a key says of itself, and what is known of it: in its place, or where there is none for it, here. */
typedef struct Shown { Str tenant, id; Known *known, fresh; } Shown;

static void shown_end(Shown *shown) { free(shown->fresh.limits); }

/* Nobody is remembered who has not proved that the key is there: strangers do not fill the ring. */
static void remember(KeyRing *ring, Shown *shown, int64_t steady_ms)
{
    Known *place = known_add(&ring->callers.keys, shown->tenant, shown->id, ring->callers.rates.key_per_s, steady_ms);
    if (!place) return;
    place->hash = shown->fresh.hash;
    place->role = shown->fresh.role;
    place->expires_ms = shown->fresh.expires_ms;
    place->limits = shown->fresh.limits;
    place->looked_ms = shown->fresh.looked_ms;
    place->looked_version = shown->fresh.looked_version;
    shown->fresh.limits = NULL;
    shown->known = place;
}

/* shown_end() is called in either case. */
static Status prove(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Shown *out, Error *err)
{
    Str secret;
    int64_t steady_ms = clock_monotonic_ms();
    *out = (Shown){ .fresh.looked_ms = INT64_MIN };
    if (!key_split(key, &out->tenant, &out->id, &secret)) return error_set(err, ERR_DENIED, "no key looks like this");
    Known *place = known_find(&ring->callers.keys, out->tenant, out->id);
    out->known = place ? place : &out->fresh;
    Status status = check(ring, arena, out->known, out->tenant, out->id, steady_ms, err);
    if (status_is_failure(status)) return status;
    if (status) {
        out->known->looked_ms = INT64_MIN;
        return error_set(err, ERR_DENIED, "there is no key %.*s of tenant '%.*s'", STR_ARG(out->id), STR_ARG(out->tenant));
    }
    Digest given = digest_of(hash_of(arena, secret));
    if (sodium_memcmp(&given, &out->known->hash, sizeof given) != 0)
        return error_set(err, ERR_DENIED, "the secret of key %.*s is another", STR_ARG(out->id));
    if (out->known->expires_ms && out->known->expires_ms <= now_ms) return error_set(err, ERR_DENIED, "key %.*s has expired", STR_ARG(out->id));
    if (place) known_use(&ring->callers.keys, place, steady_ms);
    else remember(ring, out, steady_ms);
    return OK;
}

Status keyring_check(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Error *err)
{
    Shown shown;
    Status status = prove(ring, arena, key, now_ms, &shown, err);
    shown_end(&shown);
    return status;
}

/* When it is used is recorded once in a while, which takes a place to remember that. */
static bool is_use_due(Known *place, int64_t steady_ms)
{
    if (!place || (place->told_ms != INT64_MIN && steady_ms - place->told_ms < API_KEY_USE_MS)) return false;
    place->told_ms = steady_ms;
    return true;
}

Status keyring_find(KeyRing *ring, Arena *arena, Str key, int64_t now_ms, Caller *out, uint64_t *out_wait_s, Error *err)
{
    Shown shown;
    KeyFacts facts = { .limits = { value_null(), value_null() } };
    int64_t steady_ms = clock_monotonic_ms();
    Status status = prove(ring, arena, key, now_ms, &shown, err);
    if (!status) {
        Known *place = shown.known == &shown.fresh ? NULL : shown.known;
        if (shown.known->limits) CHECK(key_read_document(arena, str_of(shown.known->limits), &facts, err) == OK);      /* it was read before */
        *out = (Caller){ .key = arena_copy(arena, shown.id), .tenant = arena_copy(arena, shown.tenant),
                         .role = str_of(key_role_names[shown.known->role]),
                         .actor = arena_format(arena, "key:%.*s", STR_ARG(shown.id)),
                         .is_use_due = is_use_due(place, steady_ms), .limits = key_limits_copy(arena, &facts.limits) };
        status = known_pay(&ring->callers, place, shown.tenant, shown.id, steady_ms, out_wait_s, err);
    }
    shown_end(&shown);
    return status;
}
