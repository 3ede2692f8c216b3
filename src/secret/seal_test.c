#include "secret/seal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "harness/test.h"
#include "secret/key_file.h"

TEST(what_is_sealed_opens_with_its_key_and_name_alone, "proves: F-103")
{
    static const struct { const char *name, *tenant, *secret; bool is_other_key, is_open; int flip, cut; } rows[] = {
        { "as it was sealed", "acme", "TOKEN", false, true, -1, 0 },
        { "another key", "acme", "TOKEN", true, false, -1, 0 },
        { "another tenant", "other", "TOKEN", false, false, -1, 0 },
        { "another name", "acme", "TOKEN2", false, false, -1, 0 },
        { "the same letters, parted elsewhere", "acmeT", "OKEN", false, false, -1, 0 },
        { "a changed nonce", "acme", "TOKEN", false, false, 3, 0 },
        { "a changed byte", "acme", "TOKEN", false, false, 30, 0 },
        { "a byte less", "acme", "TOKEN", false, false, -1, 1 },
        { "nothing of it", "acme", "TOKEN", false, false, -1, 1000 },
    };
    Arena arena;
    SealKey key, other;
    arena_init(&arena, SIZE_MAX);
    seal_key_make(&key);
    seal_key_make(&other);
    EXPECT(memcmp(&key, &other, sizeof key) != 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        char out[64] = "";
        size_t size = 0;
        Error err;
        Str sealed = secret_seal(&arena, &key, STR("acme"), STR("TOKEN"), STR("hunter22"));
        EXPECT_INT(sealed.len, 8 + SEAL_EXTRA_SIZE);
        EXPECT(memmem(sealed.ptr, sealed.len, "hunter22", 8) == NULL);
        if (rows[i].flip >= 0) ((char *)sealed.ptr)[rows[i].flip] ^= 1;
        sealed.len -= (size_t)rows[i].cut < sealed.len ? (size_t)rows[i].cut : sealed.len;
        Status status = secret_open(rows[i].is_other_key ? &other : &key, str_of(rows[i].tenant), str_of(rows[i].secret),
                                    sealed, out, &size, &err);
        EXPECT_INT(status, rows[i].is_open ? OK : ERR_CORRUPT);
        if (!status) EXPECT_STR(((Str){ out, size }), STR("hunter22"));
        else EXPECT(memmem(out, sizeof out, "hunter22", 8) == NULL);
    }
    Str one = secret_seal(&arena, &key, STR("acme"), STR("TOKEN"), STR("hunter22"));
    Str two = secret_seal(&arena, &key, STR("acme"), STR("TOKEN"), STR("hunter22"));
    EXPECT(!str_is(one, two));                  /* who sets the same value again does not show it */
    arena_deinit(&arena);
}

TEST(the_key_of_a_tenant_opens_with_the_key_file_it_was_sealed_with, "proves: F-103")
{
    Arena arena;
    SealKey master, other, key, got = { { 0 } };
    Error err;
    arena_init(&arena, SIZE_MAX);
    seal_key_make(&master);
    seal_key_make(&other);
    seal_key_make(&key);
    Str sealed = tenant_key_seal(&arena, &master, STR("acme"), &key);
    REQUIRE_OK(tenant_key_open(&master, STR("acme"), sealed, &got, &err), &err);
    EXPECT(memcmp(&got, &key, sizeof key) == 0);
    EXPECT_INT(tenant_key_open(&master, STR("acme2"), sealed, &got, &err), ERR_CORRUPT);
    EXPECT_INT(tenant_key_open(&other, STR("acme"), sealed, &got, &err), ERR_CORRUPT);
    EXPECT(strstr(err.text, "another file") != NULL);
    EXPECT_INT(tenant_key_open(&master, STR("acme"), str_slice(sealed, 0, sealed.len - 1), &got, &err), ERR_CORRUPT);
    /* A tenant's key opens nothing of another tenant. */
    SealKey neighbour;
    seal_key_make(&neighbour);
    Str secret = secret_seal(&arena, &key, STR("acme"), STR("A"), STR("value"));
    char out[64];
    size_t size;
    EXPECT_INT(secret_open(&neighbour, STR("acme"), STR("A"), secret, out, &size, &err), ERR_CORRUPT);
    arena_deinit(&arena);
}

TEST(a_token_is_of_one_trigger_of_one_run, "proves: A-198")
{
    static const struct { const char *name, *run, *trigger; bool is_other_key, is_same; } rows[] = {
        { "the same", "run-1", "approval", false, true },
        { "another run", "run-2", "approval", false, false },
        { "another trigger", "run-1", "approval2", false, false },
        { "the same letters, parted elsewhere", "run-1a", "pproval", false, false },
        { "another tenant", "run-1", "approval", true, false },
    };
    SealKey key, other;
    TriggerToken first, token;
    seal_key_make(&key);
    seal_key_make(&other);
    trigger_token_make(&key, STR("run-1"), STR("approval"), &first);
    EXPECT_INT(strlen(first.text), TRIGGER_TOKEN_SIZE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        trigger_token_make(rows[i].is_other_key ? &other : &key, str_of(rows[i].run), str_of(rows[i].trigger), &token);
        EXPECT_INT(strcmp(token.text, first.text) == 0, rows[i].is_same);
    }
}

TEST(names_and_values_of_secrets_are_checked, "")
{
    static const struct { const char *name; Status want; } names[] = {
        { "TOKEN", OK }, { "_a", OK }, { "definition/order-fulfillment", OK }, { "tls.key-1", OK }, { "", ERR_INVALID },
        { "-x", ERR_INVALID }, { "/x", ERR_INVALID }, { "a b", ERR_INVALID }, { "a\nb", ERR_INVALID },
        { "\xC3\xA9", ERR_INVALID },
    };
    Error err;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ROW(names[i].name);
        EXPECT_INT(secret_check_name(str_of(names[i].name), &err), names[i].want);
    }
    char *large = malloc(SECRET_SIZE_MAX + 1);
    memset(large, 'x', SECRET_SIZE_MAX + 1);
    EXPECT_INT(secret_check_name((Str){ large, SECRET_NAME_SIZE_MAX }, &err), OK);
    EXPECT_INT(secret_check_name((Str){ large, SECRET_NAME_SIZE_MAX + 1 }, &err), ERR_LIMIT);
    EXPECT_INT(secret_check_value((Str){ large, SECRET_SIZE_MAX }, &err), OK);
    EXPECT_INT(secret_check_value((Str){ large, SECRET_SIZE_MAX + 1 }, &err), ERR_LIMIT);
    EXPECT_INT(secret_check_value(STR(""), &err), ERR_INVALID);
    EXPECT_INT(secret_check_value(STR("a\xFF"), &err), ERR_INVALID);
    EXPECT_INT(secret_check_value((Str){ "a\0b", 3 }, &err), ERR_INVALID);
    EXPECT_INT(secret_check_value(STR("a\nb\xC3\xA9"), &err), OK);
    free(large);
}

/* --- the key file ---------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, size_t size, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char bytes[64] = "0123456789abcdefghijklmnopqrstuv";
    EXPECT(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && fchmod(fd, mode) == 0);
    if (fd >= 0) close(fd);
}

TEST(a_key_file_is_made_once_and_for_its_owner_alone, "")
{
    char directory[] = "key-file-test-XXXXXX", path[64];
    REQUIRE(mkdtemp(directory) != NULL);
    snprintf(path, sizeof path, "%s/key", directory);
    SealKey key, again;
    struct stat info;
    Error err;
    EXPECT_INT(key_file_read(path, &key, &err), ERR_NOT_FOUND);
    EXPECT(strstr(err.text, path) != NULL);
    REQUIRE_OK(key_file_make(path, &key, &err), &err);
    EXPECT(stat(path, &info) == 0 && (info.st_mode & 07777) == 0600 && info.st_size == SEAL_KEY_SIZE);
    EXPECT_OK(key_file_make(path, &again, &err), &err);
    EXPECT(memcmp(&key, &again, sizeof key) == 0);
    EXPECT_OK(key_file_read(path, &again, &err), &err);
    EXPECT(memcmp(&key, &again, sizeof key) == 0);
    unlink(path);
    snprintf(path, sizeof path, "%s/no/key", directory);
    EXPECT_INT(key_file_make(path, &key, &err), ERR_UNAVAILABLE);
    rmdir(directory);
}

TEST(a_key_file_lies_beside_its_store_or_where_the_environment_says, "")
{
    Arena arena;
    arena_init(&arena, 1 << 16);
    char *before = getenv("MAESTRO_KEY_FILE"), kept[4096] = "";
    if (before) snprintf(kept, sizeof kept, "%s", before);
    unsetenv("MAESTRO_KEY_FILE");
    EXPECT(strcmp(key_file_path(&arena, "a/store.db"), "a/store.db.key") == 0);
    EXPECT(key_file_path(&arena, NULL) == NULL);
    setenv("MAESTRO_KEY_FILE", "", 1);
    EXPECT(strcmp(key_file_path(&arena, "store.db"), "store.db.key") == 0);
    setenv("MAESTRO_KEY_FILE", "elsewhere/key", 1);
    EXPECT(strcmp(key_file_path(&arena, "a/store.db"), "elsewhere/key") == 0);
    EXPECT(strcmp(key_file_path(&arena, NULL), "elsewhere/key") == 0);
    unsetenv("MAESTRO_KEY_FILE");
    if (kept[0]) setenv("MAESTRO_KEY_FILE", kept, 1);
    arena_deinit(&arena);
}

TEST(a_path_that_no_key_file_can_have_is_refused, "")
{
    char path[5000];
    SealKey key;
    Error err = { 0 };
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    EXPECT_INT(key_file_read(path, &key, &err), ERR_UNAVAILABLE);
    EXPECT(strstr(err.text, "the key file") != NULL);
    path[4092] = '\0';                      /* it fits, the name under which it is written first does not */
    for (size_t i = 200; i < 4092; i += 200) path[i] = '/';
    EXPECT_INT(key_file_make(path, &key, &err), ERR_INVALID);
    EXPECT(strstr(err.text, "too long") != NULL);
}

TEST(codes_depend_on_key_and_bytes_and_their_key_on_the_master_key_alone, "proves: F-003")
{
    SealKey master = { { 1 } }, other_master = { { 2 } }, key, again, other;
    uint8_t code[SEAL_CODE_SIZE], same[SEAL_CODE_SIZE], changed[SEAL_CODE_SIZE];
    token_key_make(&master, &key);
    token_key_make(&master, &again);
    token_key_make(&other_master, &other);
    EXPECT(memcmp(&key, &again, sizeof key) == 0);
    EXPECT(memcmp(&key, &other, sizeof key) != 0);
    EXPECT(memcmp(&key, &master, sizeof key) != 0);
    code_make(&key, STR("an attempt"), code);
    code_make(&again, STR("an attempt"), same);
    EXPECT(code_is(code, same));
    code_make(&key, STR("an attempu"), changed);
    EXPECT(!code_is(code, changed));
    code_make(&other, STR("an attempt"), changed);
    EXPECT(!code_is(code, changed));
}

TEST(a_key_file_that_others_may_open_or_of_another_size_is_refused, "")
{
    static const struct { const char *name; size_t size; mode_t mode; Status want; const char *text; } rows[] = {
        { "as it should be", 32, 0600, OK, "" },
        { "for reading alone", 32, 0400, OK, "" },
        { "its group may read it", 32, 0640, ERR_DENIED, "chmod 600" },
        { "others may read it", 32, 0604, ERR_DENIED, "mode 0604" },
        { "others may write it", 32, 0602, ERR_DENIED, "chmod 600" },
        { "too short", 31, 0600, ERR_CORRUPT, "31 bytes" },
        { "too long", 33, 0600, ERR_CORRUPT, "33 bytes" },
        { "empty", 0, 0600, ERR_CORRUPT, "0 bytes" },
    };
    char path[] = "key-file-test-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        SealKey key;
        Error err = { 0 };
        write_file(path, rows[i].size, rows[i].mode);
        EXPECT_INT(key_file_read(path, &key, &err), rows[i].want);
        EXPECT_INT(key_file_make(path, &key, &err), rows[i].want);
        EXPECT(strstr(err.text, rows[i].text) != NULL);
        unlink(path);
    }
    Error err;
    SealKey key;
    EXPECT_INT(key_file_read(".", &key, &err), ERR_INVALID);
}
