#include "engine/token.h"

#include <string.h>

#include "harness/test.h"

static const SealKey key = { { 1, 2, 3 } }, other_key = { { 1, 2, 4 } };
static const TokenScope here = { &key, STR_INIT("workers") };

TEST(token_comes_back_as_it_was, "proves: F-072")
{
    static const AttemptId ids[] = { { UINT64_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX }, { 1, 0, 0, 0, 0 }, { 7, 1, 2, 131076, 9 } };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char text[TOKEN_SIZE_MAX], again[TOKEN_SIZE_MAX];
        Token back;
        Str token = token_print(&here, &ids[i], UINT32_MAX, text);
        EXPECT(token_read(token, &back));
        EXPECT(token_is_genuine(&here, &back));
        EXPECT_INT(back.queue, UINT32_MAX);
        EXPECT_STR(token_print(&here, &back.id, back.queue, again), token);
    }
}

TEST(token_of_which_anything_was_changed_is_not_genuine, "proves: F-003 F-113")
{
    char text[TOKEN_SIZE_MAX], changed[TOKEN_SIZE_MAX + 1];
    AttemptId id = { 12, 3, 1, 131076, 45 };
    Str token = token_print(&here, &id, token_queue(STR("builds")), text);
    Token read;
    for (size_t i = 0; i < token.len; i++) {
        memcpy(changed, token.ptr, token.len);
        changed[i] = changed[i] == '7' ? '8' : '7';
        if (token_read((Str){ changed, token.len }, &read)) EXPECT(!token_is_genuine(&here, &read));
        if (i && token_read(str_slice(token, 0, i), &read)) EXPECT(!token_is_genuine(&here, &read));
    }
    memcpy(changed, token.ptr, token.len);
    changed[token.len] = '0';
    EXPECT(token_read((Str){ changed, token.len + 1 }, &read));
    EXPECT(!token_is_genuine(&here, &read));
    EXPECT(token_read(token, &read));
    EXPECT(!token_is_genuine(&(TokenScope){ &other_key, STR("workers") }, &read));
    EXPECT(!token_is_genuine(&(TokenScope){ &key, STR("worker") }, &read));
    EXPECT(token_is_genuine(&(TokenScope){ &key, STR("workers") }, &read));             /* of the next process */
}

TEST(token_without_its_code_is_one_that_is_not_genuine_and_other_texts_are_none, "")
{
    static const char *const bare[] = { "1.2.3.4.5", "1.2.3.4.5.", "1.2.3.4.5.6", "1.2.3.4.5.6.", "1.2.3.4.5.6.00", "1.2.3.4.5.x",
                                        "1.2.3.4.5.6.0123456789ABCDEF0123456789ABCDEF", "1.2.3.4.5.4294967296.00000000000000000000000000000000" };
    static const char *const wrong[] = { "", "1", "1.2.3.4", "0.1.1.1.1", "1.2.3.4.", "a.b.c.d.e", "1.99999999999.1.1.1", "1.2.3.4.5x",
                                         "99999999999999999999.1.1.1.1", "-1.1.1.1.1", " 1.1.1.1.1" };
    Token read;
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
        ROW(bare[i]);
        EXPECT(token_read(str_of(bare[i]), &read));
        EXPECT(!token_is_genuine(&here, &read));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ROW(wrong[i]);
        EXPECT(!token_read(str_of(wrong[i]), &read));
    }
}

TEST(token_names_the_queues_of_an_executor_apart, "")
{
    EXPECT(token_queue(STR("builds")) != token_queue(STR("deploys")));
    EXPECT(token_queue(STR("")) != 0);
}
