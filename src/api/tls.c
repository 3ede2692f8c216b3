#include "api/tls.h"

#include <string.h>

#include "base/arena.h"
#include "os/file.h"

#define PEM_SIZE_MAX (1u << 20)

static void pair_end(TlsPair *pair)
{
    for (unsigned i = 0; i < pair->chain_count; i++) gnutls_pcert_deinit(&pair->chain[i]);
    if (pair->key) gnutls_privkey_deinit(pair->key);
    memset(pair, 0, sizeof *pair);
}

void tls_deinit(Tls *tls)
{
    pair_end(&tls->pairs[0]);
    pair_end(&tls->pairs[1]);
}

const TlsPair *tls_peek(const Tls *tls) { return &tls->pairs[tls->current]; }

static gnutls_datum_t datum_of(Str text) { return (gnutls_datum_t){ (unsigned char *)(uintptr_t)text.ptr, (unsigned)text.len }; }

/* Files are replaced one after the other: who reads them between has one of each. */
static bool pair_belongs(const TlsPair *pair)
{
    unsigned char ids[2][64];
    size_t sizes[2] = { sizeof ids[0], sizeof ids[1] };
    gnutls_pubkey_t public;
    if (gnutls_pubkey_init(&public) < 0) return false;
    bool is_read = gnutls_pubkey_import_privkey(public, pair->key, 0, 0) >= 0
                && gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, ids[0], &sizes[0]) >= 0
                && gnutls_pubkey_get_key_id(pair->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, ids[1], &sizes[1]) >= 0;
    gnutls_pubkey_deinit(public);
    return is_read && sizes[0] == sizes[1] && memcmp(ids[0], ids[1], sizes[0]) == 0;
}

/* They are read by the thread that answers, which waits for nobody who may write into a pipe some day. */
static Status read_file(Arena *arena, const char *path, Str *out_text, Error *err)
{
    if (file_exists(path) && !file_is_regular(path)) return error_set(err, ERR_INVALID, "%s is no regular file", path);
    return file_read(arena, path, PEM_SIZE_MAX, out_text, err);
}

static Status read_pair(TlsPair *pair, Arena *arena, const char *certificate, const char *key, Error *err)
{
    Str chain_text, key_text;
    Status status = read_file(arena, certificate, &chain_text, err);
    if (!status) status = read_file(arena, key, &key_text, err);
    if (status) return status;
    gnutls_datum_t chain = datum_of(chain_text), secret = datum_of(key_text);
    pair->chain_count = TLS_CHAIN_COUNT_MAX;
    int failed = gnutls_pcert_list_import_x509_raw(pair->chain, &pair->chain_count, &chain, GNUTLS_X509_FMT_PEM, 0);
    if (failed < 0) {
        pair->chain_count = 0;
        return error_set(err, ERR_INVALID, "%s is no certificate chain in PEM: %s", certificate, gnutls_strerror(failed));
    }
    failed = gnutls_privkey_init(&pair->key);
    if (!failed) failed = gnutls_privkey_import_x509_raw(pair->key, &secret, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (failed < 0) return error_set(err, ERR_INVALID, "%s is no private key in PEM: %s", key, gnutls_strerror(failed));
    if (!pair_belongs(pair)) return error_set(err, ERR_INVALID, "%s is not the private key of %s", key, certificate);
    return OK;
}

Status tls_load(Tls *tls, const char *certificate, const char *key, Error *err)
{
    unsigned next = !tls->current;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    pair_end(&tls->pairs[next]);
    Status status = read_pair(&tls->pairs[next], &arena, certificate, key, err);
    if (status) pair_end(&tls->pairs[next]);
    else tls->current = next;
    arena_deinit(&arena);
    return status;
}
