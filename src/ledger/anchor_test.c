#include "ledger/anchor.h"

#include <string.h>

#include "harness/test.h"

static const uint8_t seed[ANCHOR_SEED_SIZE] = { 1, 2, 3, 4, 5 };
static const LedgerHead head = { 1, 42, { { 0xAA, 0xBB, 0xCC } } };

TEST(an_anchor_is_printed_read_and_checked, "proves: F-097")
{
    char storage[ANCHOR_TEXT_SIZE_MAX];
    Buf buf = buf_on(storage, sizeof storage);
    AnchorKey key = anchor_key(seed);
    Anchor anchor = anchor_make(&head, INT64_C(1763251200123), &key), again;
    Error err;
    EXPECT_OK(anchor_check(&anchor, key.public_key, &err), &err);
    anchor_print(&buf, &anchor);
    REQUIRE(!buf_overflowed(&buf));
    REQUIRE_OK(anchor_read(buf_peek(&buf), &again, &err), &err);
    EXPECT_INT(again.at.log, 1);
    EXPECT_INT(again.at.position, 42);
    EXPECT(memcmp(&again.at.head, &head.head, sizeof head.head) == 0);
    EXPECT_INT(again.now_ms, INT64_C(1763251200123));
    EXPECT_OK(anchor_check(&again, key.public_key, &err), &err);
    EXPECT_OK(anchor_check(&again, NULL, &err), &err);
}

TEST(an_anchor_by_another_key_is_refused, "")
{
    static const uint8_t other_seed[ANCHOR_SEED_SIZE] = { 9 };
    AnchorKey key = anchor_key(seed), other = anchor_key(other_seed);
    Anchor anchor = anchor_make(&head, 0, &key);
    Error err;
    EXPECT_INT(anchor_check(&anchor, other.public_key, &err), ERR_DENIED);
}

/* Whatever is changed in its text, it is no anchor any more, or one whose signature is wrong. */
TEST(every_changed_bit_of_an_anchor_is_found, "proves: F-097")
{
    char storage[ANCHOR_TEXT_SIZE_MAX];
    Buf buf = buf_on(storage, sizeof storage);
    AnchorKey key = anchor_key(seed);
    Anchor anchor = anchor_make(&head, INT64_C(1763251200123), &key), again;
    Error err;
    anchor_print(&buf, &anchor);
    size_t size = buf.len - 1;                  /* the line's end is not part of it */
    for (size_t bit = 0; bit < size * 8; bit++) {
        storage[bit / 8] = (char)(storage[bit / 8] ^ (1 << bit % 8));
        Status status = anchor_read(buf_peek(&buf), &again, &err);
        if (status == OK) status = anchor_check(&again, key.public_key, &err);
        if (!EXPECT(status != OK)) break;
        storage[bit / 8] = (char)(storage[bit / 8] ^ (1 << bit % 8));
    }
    EXPECT_OK(anchor_read(buf_peek(&buf), &again, &err), &err);
}

TEST(what_is_no_anchor_is_refused_with_the_reason, "")
{
    static const struct { const char *text, *why; } cases[] = {
        { "", "" },
        { "[]", "this is no anchor: \"format\" is not \"maestro-anchor/1\"" },
        { "{\"format\":\"maestro-anchor/2\"}", "this is no anchor: \"format\" is not \"maestro-anchor/1\"" },
        { "{\"format\":\"maestro-anchor/1\"}", "the anchor has no \"log\"" },
        { "{\"format\":\"maestro-anchor/1\",\"log\":1}", "the anchor has no \"position\"" },
        { "{\"format\":\"maestro-anchor/1\",\"log\":1,\"position\":2,\"time\":\"now\"}",
          "\"time\" of the anchor is no UTC time with milliseconds" },
        { "{\"format\":\"maestro-anchor/1\",\"log\":1,\"position\":2,\"time\":\"2025-11-16T00:00:00.123Z\",\"head\":\"AA\"}",
          "\"head\" of the anchor is not 64 hexadecimal digits" },
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Anchor anchor;
        Error err = { 0 };
        ROW(cases[i].text);
        EXPECT_INT(anchor_read(str_of(cases[i].text), &anchor, &err), ERR_INVALID);
        if (cases[i].why[0]) EXPECT_STR(str_of(err.text), str_of(cases[i].why));
    }
}

TEST(keys_are_read_as_people_keep_them, "")
{
    uint8_t key[ANCHOR_PUBLIC_SIZE];
    Error err;
    EXPECT_OK(anchor_read_key(STR("  000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"), key, &err), &err);
    EXPECT_INT(key[31], 31);
    EXPECT_INT(anchor_read_key(STR("00"), key, &err), ERR_INVALID);
    EXPECT_INT(anchor_read_key(STR("zz0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"), key, &err), ERR_INVALID);
}
