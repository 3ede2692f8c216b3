#include "secret/credential.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/test.h"
#include "secret/key_file.h"

#define NOW_MS INT64_C(1766000000000)

typedef struct Desk { Arena arena; Vault *vault, *other; char paths[2][64]; } Desk;

static void desk_open(Desk *desk)
{
    Error err;
    SealKey key;
    arena_init(&desk->arena, SIZE_MAX);
    for (int i = 0; i < 2; i++) {
        snprintf(desk->paths[i], sizeof desk->paths[i], "%s/maestro-credential-%ld-%d", P_tmpdir, (long)getpid(), i);
        REQUIRE_OK(key_file_make(desk->paths[i], &key, &err), &err);
    }
    desk->vault = vault_new(NULL, desk->paths[0]);
    desk->other = vault_new(NULL, desk->paths[1]);
}

static void desk_close(Desk *desk)
{
    vault_free(desk->vault);
    vault_free(desk->other);
    unlink(desk->paths[0]);
    unlink(desk->paths[1]);
    arena_deinit(&desk->arena);
}

static const Credential facts = { .tenant = STR_INIT("acme"), .run_id = STR_INIT("abcdefghijklmnopqrstu"), .step = STR_INIT("build.compile"),
                                  .run_no = 17, .holder = (UINT64_C(3) << 16) | 2, .attempt = 4, .expires_ms = NOW_MS + 1000 };

TEST(a_credential_says_whose_attempt_it_is_of_until_its_time_is_over, "proves: F-102")
{
    Desk desk;
    Credential read;
    Error err;
    Str text;
    desk_open(&desk);
    REQUIRE_OK(credential_make(desk.vault, &desk.arena, &facts, &text, &err), &err);
    EXPECT(str_starts(text, STR("ma.")));
    REQUIRE_OK(credential_read(desk.vault, &desk.arena, text, NOW_MS, &read, &err), &err);
    EXPECT_STR(read.tenant, facts.tenant);
    EXPECT_STR(read.run_id, facts.run_id);
    EXPECT_STR(read.step, facts.step);
    EXPECT_INT(read.run_no, facts.run_no);
    EXPECT_INT(read.holder, facts.holder);
    EXPECT_INT(read.attempt, facts.attempt);
    EXPECT_INT(read.expires_ms, facts.expires_ms);
    EXPECT_INT(credential_read(desk.vault, &desk.arena, text, facts.expires_ms, &read, &err), ERR_DENIED);
    EXPECT_INT(credential_read(desk.other, &desk.arena, text, NOW_MS, &read, &err), ERR_DENIED);
    desk_close(&desk);
}

/* Whatever is changed, added or cut: nothing of it is believed. */
TEST(a_credential_that_was_changed_is_none, "proves: F-102")
{
    Desk desk;
    Credential read;
    Error err;
    Str text, other;
    Credential foreign = facts;
    foreign.tenant = STR("other");
    desk_open(&desk);
    REQUIRE_OK(credential_make(desk.vault, &desk.arena, &facts, &text, &err), &err);
    REQUIRE_OK(credential_make(desk.vault, &desk.arena, &foreign, &other, &err), &err);
    for (size_t i = 0; i < text.len; i++) {
        Str changed = arena_copy(&desk.arena, text);
        ((char *)changed.ptr)[i] = changed.ptr[i] == 'A' ? 'B' : 'A';
        /* The last character of base64 has bits that say nothing: reading it is not what is asked here, its text is compared. */
        EXPECT_INT(credential_read(desk.vault, &desk.arena, changed, NOW_MS, &read, &err), ERR_DENIED);
        EXPECT_INT(credential_read(desk.vault, &desk.arena, str_slice(text, 0, i), NOW_MS, &read, &err), ERR_DENIED);
    }
    size_t point = text.len - TRIGGER_TOKEN_SIZE, other_point = other.len - TRIGGER_TOKEN_SIZE;
    Str mixed = arena_format(&desk.arena, "%.*s%.*s", STR_ARG(str_slice(other, 0, other_point)), STR_ARG(str_slice(text, point, text.len)));
    EXPECT_INT(credential_read(desk.vault, &desk.arena, mixed, NOW_MS, &read, &err), ERR_DENIED);
    desk_close(&desk);
}
