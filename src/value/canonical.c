#include "value/canonical.h"

#include <sodium/crypto_hash_sha256.h>

#include "base/limits.h"

static_assert(DIGEST_SIZE == crypto_hash_sha256_BYTES, "a digest is a SHA-256");

Digest digest_of(Str bytes)
{
    Digest digest;
    crypto_hash_sha256(digest.bytes, (const unsigned char *)bytes.ptr, bytes.len);
    return digest;
}

Status canonical_digest(Value value, Digest *out_digest, Error *err)
{
    Buf text;
    buf_init(&text, PLAN_SIZE_MAX);
    Status status = canonical_print(&text, value, err);
    if (!status) *out_digest = digest_of(buf_peek(&text));
    buf_deinit(&text);
    return status;
}

void digest_print(Buf *buf, const Digest *digest)
{
    buf_text(buf, "sha256:");
    buf_hex(buf, digest->bytes, sizeof digest->bytes);
}

Value digest_value(Arena *arena, const Digest *digest)
{
    Buf text = buf_on(arena_bytes(arena, DIGEST_TEXT_SIZE), DIGEST_TEXT_SIZE);
    digest_print(&text, digest);
    return value_string(buf_peek(&text));
}
