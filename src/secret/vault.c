#include "secret/vault.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/check.h"
#include "base/limits.h"
#include "secret/key_file.h"
#include "view/run_rows.h"

typedef struct TenantKey {
    char tenant[NAME_SIZE_MAX];
    size_t tenant_size;
    SealKey key;
} TenantKey;

/* What sodium_malloc() gave: locked, between guard pages, left out of dumps. */
typedef struct Locked {
    SealKey master;
    TenantKey keys[VAULT_TENANT_COUNT_MAX];
    char value[SECRET_SIZE_MAX + SEAL_EXTRA_SIZE];
} Locked;

struct Vault {
    Store *store;
    char *key_path;
    Locked *locked;
    bool has_master;
    uint32_t key_count, next_key;       /* the place that is taken next once all are */
    size_t value_size;
    Arena arena;                        /* of one call: sealed bytes */
};

/* --- make ------------------------------------------------------------------------------------------------------------------ */

Vault *vault_new(Store *store, const char *key_path)
{
    Vault *vault = calloc(1, sizeof *vault);
    CHECK(vault && sodium_init() >= 0);
    vault->store = store;
    vault->key_path = key_path ? strdup(key_path) : NULL;
    vault->locked = sodium_malloc(sizeof *vault->locked);
    CHECK(vault->locked && (vault->key_path || !key_path));
    arena_init(&vault->arena, SIZE_MAX);
    return vault;
}

void vault_free(Vault *vault)
{
    if (!vault) return;
    sodium_free(vault->locked);             /* wipes it */
    arena_deinit(&vault->arena);
    free(vault->key_path);
    free(vault);
}

void vault_forget(Vault *vault)
{
    sodium_memzero(vault->locked->keys, sizeof vault->locked->keys);
    vault->key_count = vault->next_key = 0;
}

/* --- keys ------------------------------------------------------------------------------------------------------------------ */

static Status need_master(Vault *vault, bool is_made, Error *err)
{
    if (vault->has_master) return OK;
    if (!vault->key_path)
        return error_set(
            err, ERR_NOT_FOUND,
            "its key file is not here: secrets and API keys are kept where the file of the store is, with --store; or set MAESTRO_KEY_FILE");
    Status status = is_made ? key_file_make(vault->key_path, &vault->locked->master, err)
                            : key_file_read(vault->key_path, &vault->locked->master, err);
    vault->has_master = !status;
    return status;
}

/* Without its key file a store cannot open what it has: that is no secret that is not there. */
static Status refuse_lost(Error *err)
{
    error_prefix(err, "the store has secrets, and ");
    err->status = ERR_CORRUPT;
    return ERR_CORRUPT;
}

static const SealKey *key_find(const Vault *vault, Str tenant)
{
    for (uint32_t i = 0; i < vault->key_count; i++) {
        const TenantKey *key = &vault->locked->keys[i];
        if (str_is((Str){ key->tenant, key->tenant_size }, tenant)) return &key->key;
    }
    return NULL;
}

static TenantKey *key_place(Vault *vault)
{
    if (vault->key_count < VAULT_TENANT_COUNT_MAX) return &vault->locked->keys[vault->key_count++];
    TenantKey *place = &vault->locked->keys[vault->next_key];
    vault->next_key = (vault->next_key + 1) % VAULT_TENANT_COUNT_MAX;
    return place;
}

static Status read_key_row(Vault *vault, Str tenant, Str *out_sealed, Error *err)
{
    const Cell *row = NULL;
    QueryAsk ask = { .query = QUERY_TENANT_KEY, .params = { cell_text(tenant) }, .param_count = 1 };
    Status status = row_select(&vault->arena, vault->store, &ask, &row, err);
    *out_sealed = row && row[TENANT_KEYS_sealed].kind == CELL_BLOB ? row[TENANT_KEYS_sealed].text : (Str){ 0 };
    return status;
}

/* ERR_NOT_FOUND where the tenant has none. */
static Status need_key(Vault *vault, Str tenant, const SealKey **out, Error *err)
{
    Str sealed;
    SealKey key;
    *out = key_find(vault, tenant);
    if (*out) return OK;
    if (tenant.len > NAME_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the name of a tenant is longer than NAME_SIZE_MAX (%u)", NAME_SIZE_MAX);
    Status status = read_key_row(vault, tenant, &sealed, err);
    if (!status && !sealed.len) return error_set(err, ERR_NOT_FOUND, "tenant '%.*s' has no key yet", STR_ARG(tenant));
    if (!status) status = need_master(vault, /* is_made= */ false, err);
    if (status == ERR_NOT_FOUND) return refuse_lost(err);
    if (!status) status = tenant_key_open(&vault->locked->master, tenant, sealed, &key, err);
    if (status) return status;
    TenantKey *place = key_place(vault);
    memcpy(place->tenant, tenant.ptr, tenant.len);
    place->tenant_size = tenant.len;
    place->key = key;
    seal_key_wipe(&key);
    *out = &place->key;
    return OK;
}

/* --- opening --------------------------------------------------------------------------------------------------------------- */

static Status refuse_unknown(Str tenant, Str name, Error *err)
{
    bool is_default = str_is_text(tenant, "default");
    return error_set(err, ERR_NOT_FOUND, "tenant '%.*s' has no secret '%.*s': maestro secret set %.*s%s%.*s", STR_ARG(tenant),
                     STR_ARG(name), STR_ARG(name), is_default ? "" : " --tenant ", STR_ARG(is_default ? STR("") : tenant));
}

Status vault_secret(void *context, Str tenant, Str name, Str *out, Error *err)
{
    Vault *vault = context;
    const Cell *row = NULL;
    const SealKey *key;
    QueryAsk ask = { .query = QUERY_SECRET, .params = { cell_text(tenant), cell_text(name) }, .param_count = 2 };
    arena_reset(&vault->arena);
    sodium_memzero(vault->locked->value, vault->value_size);
    vault->value_size = 0;
    Status status = row_select(&vault->arena, vault->store, &ask, &row, err);
    if (!status && (!row || row[SECRETS_sealed].kind != CELL_BLOB)) return refuse_unknown(tenant, name, err);
    if (!status && row[SECRETS_sealed].text.len > sizeof vault->locked->value)
        status = error_set(err, ERR_CORRUPT, "the secret '%.*s' is larger than SECRET_SIZE_MAX (%u)", STR_ARG(name),
                           SECRET_SIZE_MAX);
    if (!status) status = need_key(vault, tenant, &key, err);
    if (!status) status = secret_open(key, tenant, name, row[SECRETS_sealed].text, vault->locked->value, &vault->value_size, err);
    if (!status) *out = (Str){ vault->locked->value, vault->value_size };
    return status;
}

Status vault_token(void *context, Str tenant, Str run_id, Str trigger, TriggerToken *out, Error *err)
{
    Vault *vault = context;
    const SealKey *key;
    arena_reset(&vault->arena);
    Status status = need_key(vault, tenant, &key, err);
    if (!status) trigger_token_make(key, run_id, trigger, out);
    return status;
}

Status vault_sign(Vault *vault, Str tenant, Str text, TriggerToken *out, Error *err)
{
    Status status = need_master(vault, /* is_made= */ false, err);
    if (!status) tenant_sign(&vault->locked->master, tenant, text, out);
    return status;
}

/* --- sealing --------------------------------------------------------------------------------------------------------------- */

static bool take_any(void *context, const Cell *cells, uint32_t count)
{
    (void)cells, (void)count;
    *(bool *)context = true;
    return false;
}

/* A key file that is lost while a tenant has a key is not made anew. */
static Status master_to_seal(Vault *vault, Error *err)
{
    bool has_keys = false;
    QueryAsk ask = { .query = QUERY_TENANT_KEYS, .params = { cell_text(STR("")) }, .param_count = 1, .row_count_max = 1 };
    Status status = store_select(vault->store, &ask, take_any, &has_keys, err);
    if (status) return status;
    status = need_master(vault, /* is_made= */ !has_keys, err);
    return status == ERR_NOT_FOUND && has_keys ? refuse_lost(err) : status;
}

Status vault_token_key(Vault *vault, SealKey *out, Error *err)
{
    if (!vault->key_path) {
        seal_key_make(out);
        return OK;
    }
    Status status = master_to_seal(vault, err);
    if (!status) token_key_make(&vault->locked->master, out);
    return status;
}

Status vault_seal(Vault *vault, Arena *arena, Str tenant, Str name, Str value, Sealed *out, Error *err)
{
    SealKey key;
    Str sealed;
    arena_reset(&vault->arena);
    if (tenant.len > NAME_SIZE_MAX || !tenant.len)
        return error_set(err, ERR_INVALID, "the name of a tenant has 1 to NAME_SIZE_MAX (%u) bytes", NAME_SIZE_MAX);
    Status status = master_to_seal(vault, err);
    if (!status) status = read_key_row(vault, tenant, &sealed, err);
    if (status) return status;
    if (sealed.len) {
        status = tenant_key_open(&vault->locked->master, tenant, sealed, &key, err);
        if (status) return status;
        sealed = arena_copy(arena, sealed);
    } else {
        seal_key_make(&key);
        sealed = tenant_key_seal(arena, &vault->locked->master, tenant, &key);
    }
    *out = (Sealed){ .tenant_key = sealed };
    if (name.len) out->bytes = secret_seal(arena, &key, tenant, name, value);
    seal_key_wipe(&key);
    return OK;
}
