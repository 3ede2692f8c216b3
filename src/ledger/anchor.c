#include "ledger/anchor.h"

#include <sodium/crypto_sign_ed25519.h>
#include <string.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/civil.h"
#include "ledger/hex.h"
#include "value/json.h"

static_assert(ANCHOR_SEED_SIZE == crypto_sign_ed25519_SEEDBYTES, "a seed of Ed25519");
static_assert(ANCHOR_PUBLIC_SIZE == crypto_sign_ed25519_PUBLICKEYBYTES, "a key of Ed25519");
static_assert(ANCHOR_SECRET_SIZE == crypto_sign_ed25519_SECRETKEYBYTES, "a key of Ed25519");
static_assert(ANCHOR_SIGNATURE_SIZE == crypto_sign_ed25519_BYTES, "a signature of Ed25519");

#define FORMAT "maestro-anchor/1"
#define PREFIX "maestro anchor"
#define TIME_SIZE 24u               /* as text: 2026-11-16T01:25:00.123Z */
#define SIGNED_SIZE (sizeof PREFIX - 1 + 8 + 8 + DIGEST_SIZE + TIME_SIZE)

static uint8_t *put_u64(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++, number >>= 8) *at++ = (uint8_t)number;
    return at;
}

/* What is signed: of fixed size, so that no two anchors share their bytes. */
static void signed_bytes(const Anchor *anchor, uint8_t out[SIGNED_SIZE])
{
    memcpy(out, PREFIX, sizeof PREFIX - 1);
    uint8_t *at = put_u64(out + sizeof PREFIX - 1, anchor->at.log);
    at = put_u64(at, anchor->at.position);
    memcpy(at, anchor->at.head.bytes, DIGEST_SIZE);
    Buf time = buf_on((char *)at + DIGEST_SIZE, TIME_SIZE);
    civil_print_ms(&time, anchor->now_ms);
    CHECK(time.len == TIME_SIZE);               /* years of four digits */
}

AnchorKey anchor_key(const uint8_t seed[ANCHOR_SEED_SIZE])
{
    AnchorKey key;
    crypto_sign_ed25519_seed_keypair(key.public_key, key.secret_key, seed);
    return key;
}

Anchor anchor_make(const LedgerHead *head, int64_t now_ms, const AnchorKey *key)
{
    Anchor anchor = { .at = *head, .now_ms = now_ms };
    uint8_t bytes[SIGNED_SIZE];
    memcpy(anchor.public_key, key->public_key, sizeof anchor.public_key);
    signed_bytes(&anchor, bytes);
    crypto_sign_ed25519_detached(anchor.signature, NULL, bytes, sizeof bytes, key->secret_key);
    return anchor;
}

Status anchor_check(const Anchor *anchor, const uint8_t *public_key, Error *err)
{
    uint8_t bytes[SIGNED_SIZE];
    if (public_key && memcmp(public_key, anchor->public_key, sizeof anchor->public_key) != 0)
        return error_set(err, ERR_DENIED, "the anchor was signed by another key than the one given");
    signed_bytes(anchor, bytes);
    if (crypto_sign_ed25519_verify_detached(anchor->signature, bytes, sizeof bytes, anchor->public_key) != 0)
        return error_set(err, ERR_CORRUPT, "the signature of the anchor is wrong");
    return OK;
}

void anchor_print(Buf *buf, const Anchor *anchor)
{
    buf_text(buf, "{\"format\":\"" FORMAT "\",\"log\":");
    buf_u64(buf, anchor->at.log);
    buf_text(buf, ",\"position\":");
    buf_u64(buf, anchor->at.position);
    buf_text(buf, ",\"head\":\"");
    buf_hex(buf, anchor->at.head.bytes, DIGEST_SIZE);
    buf_text(buf, "\",\"time\":\"");
    civil_print_ms(buf, anchor->now_ms);
    buf_text(buf, "\",\"publicKey\":\"");
    buf_hex(buf, anchor->public_key, sizeof anchor->public_key);
    buf_text(buf, "\",\"signature\":\"");
    buf_hex(buf, anchor->signature, sizeof anchor->signature);
    buf_text(buf, "\"}\n");
}

static Status anchor_of_value(Value value, Anchor *out_anchor, Error *err)
{
    static const Str none = { NULL, 0 };
    Anchor anchor = { 0 };
    int64_t log = value_get_int(value, "log", -1), position = value_get_int(value, "position", -1);
    if (!str_is(value_get_string(value, "format", none), STR(FORMAT)))
        return error_set(err, ERR_INVALID, "this is no anchor: \"format\" is not \"" FORMAT "\"");
    if (log < 0) return error_set(err, ERR_INVALID, "the anchor has no \"log\"");
    if (position < 0) return error_set(err, ERR_INVALID, "the anchor has no \"position\"");
    anchor.at.log = (uint64_t)log;
    anchor.at.position = (uint64_t)position;
    if (!civil_read_ms(value_get_string(value, "time", none), &anchor.now_ms))
        return error_set(err, ERR_INVALID, "\"time\" of the anchor is no UTC time with milliseconds");
    const struct { const char *name; uint8_t *bytes; size_t size; } texts[] = {
        { "head", anchor.at.head.bytes, DIGEST_SIZE },
        { "publicKey", anchor.public_key, sizeof anchor.public_key },
        { "signature", anchor.signature, sizeof anchor.signature },
    };
    for (uint32_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!hex_read(value_get_string(value, texts[i].name, none), texts[i].bytes, texts[i].size))
            return error_set(err, ERR_INVALID, "\"%s\" of the anchor is not %zu hexadecimal digits", texts[i].name,
                             texts[i].size * 2);
    *out_anchor = anchor;
    return OK;
}

Status anchor_read(Str text, Anchor *out_anchor, Error *err)
{
    Arena arena;
    Value value;
    if (text.len > ANCHOR_TEXT_SIZE_MAX)
        return error_set(err, ERR_INVALID, "this is no anchor: it has %zu bytes", text.len);
    arena_init(&arena, SIZE_MAX);
    Status status = json_parse(&arena, text, &value, err);
    if (!status) status = anchor_of_value(value, out_anchor, err);
    arena_deinit(&arena);
    return status;
}

Status anchor_read_key(Str text, uint8_t out_key[ANCHOR_PUBLIC_SIZE], Error *err)
{
    uint8_t key[ANCHOR_PUBLIC_SIZE];
    while (text.len > 0 && ascii_is_space(text.ptr[0])) text = str_slice(text, 1, text.len);
    while (text.len > 0 && ascii_is_space(text.ptr[text.len - 1])) text.len--;
    if (!hex_read(text, key, sizeof key)) return error_set(err, ERR_INVALID, "a key has 64 hexadecimal digits");
    memcpy(out_key, key, sizeof key);
    return OK;
}
