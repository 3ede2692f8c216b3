#include "secret/seal.h"

#include <assert.h>

#include <sodium.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"

#define NONCE_SIZE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_SIZE crypto_aead_xchacha20poly1305_ietf_ABYTES
static_assert(SEAL_KEY_SIZE == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "a key of XChaCha20-Poly1305");
static_assert(SEAL_EXTRA_SIZE == NONCE_SIZE + TAG_SIZE, "what sealing adds");
static_assert(SEAL_KEY_SIZE <= crypto_generichash_KEYBYTES_MAX, "a tenant's key makes tokens, too");

void seal_key_make(SealKey *out) { randombytes_buf(out->bytes, sizeof out->bytes); }

void seal_key_wipe(SealKey *key) { sodium_memzero(key, sizeof *key); }

/* --- sealing --------------------------------------------------------------------------------------------------------------- */

/* What is bound to the bytes: the kind of thing, then each text behind its size, so that no two names make the same. */
static void bind(Buf *buf, const char *kind, Str first, Str second)
{
    buf_text(buf, kind);
    buf_format(buf, "\n%zu:", first.len);
    buf_str(buf, first);
    buf_format(buf, "\n%zu:", second.len);
    buf_str(buf, second);
    CHECK(!buf_overflowed(buf));
}

static Str seal(Arena *arena, const SealKey *key, const Buf *bound, Str bytes)
{
    unsigned long long size = 0;
    uint8_t *sealed = arena_alloc(arena, bytes.len + SEAL_EXTRA_SIZE);
    randombytes_buf(sealed, NONCE_SIZE);
    int failed = crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + NONCE_SIZE, &size, (const uint8_t *)bytes.ptr, bytes.len,
                                                            (const uint8_t *)bound->ptr, bound->len, NULL, sealed, key->bytes);
    CHECK(!failed);
    return (Str){ (const char *)sealed, NONCE_SIZE + (size_t)size };
}

static bool open_sealed(const SealKey *key, const Buf *bound, Str sealed, uint8_t *out, size_t *out_size)
{
    unsigned long long size = 0;
    const uint8_t *bytes = (const uint8_t *)sealed.ptr;
    if (sealed.len < SEAL_EXTRA_SIZE) return false;
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(out, &size, NULL, bytes + NONCE_SIZE, sealed.len - NONCE_SIZE,
                                                   (const uint8_t *)bound->ptr, bound->len, bytes, key->bytes)) return false;
    *out_size = (size_t)size;
    return true;
}

/* --- keys of tenants ------------------------------------------------------------------------------------------------------- */

static const char key_kind[] = "maestro tenant key 1", secret_kind[] = "maestro secret 1",
    token_kind[] = "maestro trigger token 1", sign_kind[] = "maestro seal of a tenant 1",
    attempt_kind[] = "maestro tokens of attempts 1";

Str tenant_key_seal(Arena *arena, const SealKey *master, Str tenant, const SealKey *key)
{
    Buf bound;
    buf_init(&bound, SIZE_MAX);
    bind(&bound, key_kind, tenant, STR(""));
    Str sealed = seal(arena, master, &bound, (Str){ (const char *)key->bytes, sizeof key->bytes });
    buf_deinit(&bound);
    return sealed;
}

Status tenant_key_open(const SealKey *master, Str tenant, Str sealed, SealKey *out, Error *err)
{
    Buf bound;
    SealKey key;
    size_t size = 0;
    buf_init(&bound, SIZE_MAX);
    bind(&bound, key_kind, tenant, STR(""));
    bool is_open = sealed.len == SEAL_EXTRA_SIZE + SEAL_KEY_SIZE && open_sealed(master, &bound, sealed, key.bytes, &size);
    buf_deinit(&bound);
    if (is_open) *out = key;
    seal_key_wipe(&key);
    return is_open ? OK : error_set(err, ERR_CORRUPT,
                                    "the key file does not open the key of tenant '%.*s': it is another file than "
                                                      "the secrets were sealed with, or the store was changed", STR_ARG(tenant));
}

/* --- secrets --------------------------------------------------------------------------------------------------------------- */

Str secret_seal(Arena *arena, const SealKey *key, Str tenant, Str name, Str value)
{
    Buf bound;
    buf_init(&bound, SIZE_MAX);
    bind(&bound, secret_kind, tenant, name);
    Str sealed = seal(arena, key, &bound, value);
    buf_deinit(&bound);
    return sealed;
}

Status secret_open(const SealKey *key, Str tenant, Str name, Str sealed, char *out, size_t *out_size, Error *err)
{
    Buf bound;
    buf_init(&bound, SIZE_MAX);
    bind(&bound, secret_kind, tenant, name);
    bool is_open = open_sealed(key, &bound, sealed, (uint8_t *)out, out_size);
    buf_deinit(&bound);
    return is_open ? OK : error_set(err, ERR_CORRUPT, "the secret '%.*s' of tenant '%.*s' does not open: the store was changed",
                                    STR_ARG(name), STR_ARG(tenant));
}

/* As text; the bytes are wiped. */
static void token_print(uint8_t hash[32], TriggerToken *out)
{
    Buf text = buf_on(out->text, sizeof out->text);
    base64_encode(&text, (Str){ (const char *)hash, 32 }, BASE64_URL_BARE);
    buf_char(&text, 0);
    CHECK(!buf_overflowed(&text));
    sodium_memzero(hash, 32);
}

void trigger_token_make(const SealKey *key, Str run_id, Str trigger, TriggerToken *out)
{
    Buf bound;
    uint8_t hash[32];
    buf_init(&bound, SIZE_MAX);
    bind(&bound, token_kind, run_id, trigger);
    int failed = crypto_generichash(hash, sizeof hash, (const uint8_t *)bound.ptr, bound.len, key->bytes, sizeof key->bytes);
    CHECK(!failed);
    buf_deinit(&bound);
    token_print(hash, out);
}

void tenant_sign(const SealKey *master, Str tenant, Str text, TriggerToken *out)
{
    Buf bound;
    SealKey own;
    uint8_t hash[32];
    buf_init(&bound, SIZE_MAX);
    bind(&bound, sign_kind, tenant, STR(""));
    int failed = crypto_generichash(own.bytes, sizeof own.bytes, (const uint8_t *)bound.ptr, bound.len, master->bytes, sizeof master->bytes);
    if (!failed) failed = crypto_generichash(hash, sizeof hash, (const uint8_t *)text.ptr, text.len, own.bytes, sizeof own.bytes);
    CHECK(!failed);
    buf_deinit(&bound);
    seal_key_wipe(&own);
    token_print(hash, out);
}

/* --- codes ----------------------------------------------------------------------------------------------------------------- */

void token_key_make(const SealKey *master, SealKey *out)
{
    int failed = crypto_generichash(out->bytes, sizeof out->bytes, (const uint8_t *)attempt_kind,
                                    sizeof attempt_kind - 1, master->bytes, sizeof master->bytes);
    CHECK(!failed);
}

static_assert(SEAL_CODE_SIZE >= crypto_generichash_BYTES_MIN, "a code of BLAKE2b");

void code_make(const SealKey *key, Str bytes, uint8_t out[SEAL_CODE_SIZE])
{
    int failed = crypto_generichash(out, SEAL_CODE_SIZE, (const uint8_t *)bytes.ptr, bytes.len, key->bytes, sizeof key->bytes);
    CHECK(!failed);
}

bool code_is(const uint8_t right[SEAL_CODE_SIZE], const uint8_t given[SEAL_CODE_SIZE]) { return sodium_memcmp(right, given, SEAL_CODE_SIZE) == 0; }

/* --- what there may be ----------------------------------------------------------------------------------------------------- */

Status secret_check_name(Str name, Error *err)
{
    bool is_name = name.len && (ascii_is_alnum(name.ptr[0]) || name.ptr[0] == '_');
    for (size_t i = 1; is_name && i < name.len; i++) {
        char c = name.ptr[i];
        is_name = ascii_is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '/';
    }
    if (!is_name)
        return error_set(err, ERR_INVALID, "'%.*s' is no name of a secret: letters, digits, and _ - . / behind the first",
                         STR_ARG(utf8_head(name, 100)));
    if (name.len > SECRET_NAME_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the name of a secret is longer than SECRET_NAME_SIZE_MAX (%u)", SECRET_NAME_SIZE_MAX);
    return OK;
}

Status secret_check_value(Str value, Error *err)
{
    if (!value.len) return error_set(err, ERR_INVALID, "a secret cannot be empty");
    if (value.len > SECRET_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "a secret is larger than SECRET_SIZE_MAX (%u bytes)", SECRET_SIZE_MAX);
    if (utf8_valid_size(value) != value.len || str_find(value, '\0', 0) < value.len)
        return error_set(err, ERR_INVALID, "a secret is text in UTF-8; bytes of another kind can be set as base64");
    return OK;
}

Str sealed_text(Arena *arena, Str sealed)
{
    Buf text;
    buf_init(&text, SIZE_MAX);
    base64_encode(&text, sealed, BASE64_STANDARD);
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}
