#include "ledger/chain.h"

#include <string.h>

#include "harness/test.h"

static Str hex(const Digest *digest, char out[64])
{
    Buf buf = buf_on(out, 64);
    buf_hex(&buf, digest->bytes, DIGEST_SIZE);
    return buf_peek(&buf);
}

/* Computed by another implementation of BLAKE2b: Python's hashlib.blake2b(..., digest_size=32). */
TEST(links_are_the_hashes_that_the_documents_describe, "proves: F-097")
{
    Digest zero = { { 0 } };
    char text[64];
    Digest first = chain_record(&zero, STR("abc"));
    EXPECT_STR(hex(&first, text), STR("20ae111252b3f5b910b20ff16fcb488d7a80fb1f915260d1f0cdebc222796a4c"));
    Digest second = chain_record(&first, STR(""));
    EXPECT_STR(hex(&second, text), STR("a97483ec5a5b5a4b71bfa815838ad678a7bfb2a6f38d9a0ecb5c8b5210d51296"));
    Digest head = chain_log(&zero, &first);
    EXPECT_STR(hex(&head, text), STR("411198792f79d2d6b1a11029d5db0251555c4e3af5d2227324b32eb66b543743"));
    head = chain_log(&head, &second);
    EXPECT_STR(hex(&head, text), STR("9290e637a2b9b065671a37b37ae5d65dcf365fe0ef23d9a73f04cd691ad12fa8"));
}

TEST(a_link_depends_on_every_byte_before_it, "proves: F-097")
{
    Digest before = { { 0 } };
    char record[] = "a record of some bytes";
    Digest want = chain_record(&before, str_of(record));
    for (uint32_t bit = 0; bit < DIGEST_SIZE * 8; bit++) {
        Digest changed = before;
        changed.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        Digest got = chain_record(&changed, str_of(record));
        EXPECT(memcmp(&got, &want, sizeof got) != 0);
        got = chain_log(&changed, &want);
        Digest log = chain_log(&before, &want);
        EXPECT(memcmp(&got, &log, sizeof got) != 0);
    }
    Digest shorter = chain_record(&before, str_slice(str_of(record), 0, sizeof record - 2));
    EXPECT(memcmp(&shorter, &want, sizeof want) != 0);
}
