#include "ledger/chain.h"

#include <sodium/crypto_generichash.h>

static Digest chain_link(Str prefix, const Digest *before, Str bytes)
{
    crypto_generichash_state state;
    Digest hash;
    crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
    crypto_generichash_update(&state, (const unsigned char *)prefix.ptr, prefix.len);
    crypto_generichash_update(&state, before->bytes, DIGEST_SIZE);
    crypto_generichash_update(&state, (const unsigned char *)bytes.ptr, bytes.len);
    crypto_generichash_final(&state, hash.bytes, DIGEST_SIZE);
    return hash;
}

Digest chain_record(const Digest *run_before, Str record)
{
    return chain_link(STR("maestro record"), run_before, record);
}

Digest chain_log(const Digest *head_before, const Digest *record_hash)
{
    return chain_link(STR("maestro log"), head_before, (Str){ (const char *)record_hash->bytes, DIGEST_SIZE });
}
