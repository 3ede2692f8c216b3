#include "rego/crypto/der.h"

#include "harness/test.h"
#include "rego/crypto/certificate.h"
#include "rego/crypto/pem.h"
#include "value/json.h"

TEST(only_the_one_form_of_der_is_read, "")
{
    static const struct { const char *name; Str bytes; bool is_read; } cases[] = {
        { "a short length", STR_INIT("\x04\x01x"), true },
        { "an empty content", STR_INIT("\x04\x00"), true },
        { "nothing", STR_INIT(""), false },
        { "a tag alone", STR_INIT("\x04"), false },
        { "cut short", STR_INIT("\x04\x02x"), false },
        { "a long form for a short length", STR_INIT("\x04\x81\x01x"), false },
        { "an indefinite length", STR_INIT("\x04\x80x\x00\x00"), false },
        { "a length of five bytes", STR_INIT("\x04\x85\x00\x00\x00\x00\x01x"), false },
        { "a length beyond the text", STR_INIT("\x04\x84\xff\xff\xff\xff"), false },
        { "a tag in the high form", STR_INIT("\x1f\x04\x00"), false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Str der = cases[i].bytes, content;
        EXPECT(der_take_any(&der, NULL, &content, NULL) == cases[i].is_read);
        if (!cases[i].is_read) EXPECT_STR(der, cases[i].bytes);
    }
}

TEST(integers_keep_their_sign_and_size, "")
{
    static const struct { Str bytes; const char *want; } cases[] = {
        { STR_INIT("\x00"), "0" },         { STR_INIT("\x7f"), "127" },   { STR_INIT("\x00\x80"), "128" },
        { STR_INIT("\x80"), "-128" },      { STR_INIT("\xff\x7f"), "-129" },
        { STR_INIT("\x01\x00\x00\x00\x00\x00\x00\x00\x00"), "18446744073709551616" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].want);
        Value value;
        char text[64];
        Buf buf = buf_on(text, sizeof text);
        Error err;
        if (!EXPECT(der_integer_value(&arena, cases[i].bytes, &value))) continue;
        EXPECT_OK(json_print(&buf, value, JSON_COMPACT, &err), &err);
        EXPECT_STR(buf_peek(&buf), str_of(cases[i].want));
    }
    Str padded = STR("\x02\x02\x00\x01"), bytes;
    EXPECT(!der_take_integer(&padded, &bytes));
    arena_deinit(&arena);
}

TEST(times_must_exist, "")
{
    static const struct { const char *text; uint8_t tag; bool is_read; int64_t seconds; } cases[] = {
        { "700101000000Z", DER_UTC_TIME, true, 0 },
        { "491231235959Z", DER_UTC_TIME, true, 2524607999 },
        { "500101000000Z", DER_UTC_TIME, true, -631152000 },
        { "7001010000Z", DER_UTC_TIME, true, 0 },
        { "20000229120000Z", DER_TIME, true, 951825600 },
        { "20010229120000Z", DER_TIME, false, 0 },
        { "20001301120000Z", DER_TIME, false, 0 },
        { "20000101240000Z", DER_TIME, false, 0 },
        { "20000101120000", DER_TIME, false, 0 },
        { "200001011200Z", DER_TIME, false, 0 },
        { "x00101000000Z", DER_UTC_TIME, false, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].text);
        char bytes[32];
        Buf buf = buf_on(bytes, sizeof bytes);
        buf_char(&buf, (char)cases[i].tag);
        buf_char(&buf, (char)str_of(cases[i].text).len);
        buf_text(&buf, cases[i].text);
        Str der = buf_peek(&buf);
        int64_t seconds = 0;
        EXPECT(der_take_time(&der, &seconds) == cases[i].is_read);
        if (cases[i].is_read) EXPECT_INT(seconds, cases[i].seconds);
    }
}

TEST(identifiers_are_shown_in_both_forms, "")
{
    Str bytes = STR("\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b");
    EXPECT(oid_is(bytes, "1.2.840.113549.1.1.11"));
    EXPECT(!oid_is(bytes, "1.2.840.113549.1.1.1"));
    EXPECT(oid_is(STR("\x55\x1d\x11"), "2.5.29.17"));
    Str open = STR("\x06\x02\x2a\x86"), padded = STR("\x06\x03\x2a\x80\x01");
    Str large = STR("\x06\x06\x2a\x90\x80\x80\x80\x00"), out;
    EXPECT(!der_take_oid(&open, &out));
    EXPECT(!der_take_oid(&padded, &out));
    EXPECT(!der_take_oid(&large, &out));
}

TEST(pem_blocks_are_found_among_other_text, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str text = STR("noise\n-----BEGIN A-----\nHeader: x\n\nZm9v\n-----END A-----\nmore\n"
                   "-----BEGIN B-----\nYmFy\n-----END B-----\n");
    PemBlock block;
    REQUIRE(pem_next(&arena, &text, &block));
    EXPECT_STR(block.type, STR("A"));
    EXPECT_STR(block.bytes, STR("foo"));
    REQUIRE(pem_next(&arena, &text, &block));
    EXPECT_STR(block.type, STR("B"));
    EXPECT_STR(block.bytes, STR("bar"));
    EXPECT(!pem_next(&arena, &text, &block));
    static const char *const broken[] = {
        "-----BEGIN A-----\nZm9v\n-----END B-----\n", "-----BEGIN A-----\nZ!9v\n-----END A-----\n",
        "-----BEGIN A-----\nZm9v\n", "x-----BEGIN A-----\nZm9v\n-----END A-----\n",
        "-----BEGIN A-----\nZm9v\n-----END A----- x\n",
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        ROW(broken[i]);
        Str rest = str_of(broken[i]);
        EXPECT(!pem_next(&arena, &rest, &block));
    }
    arena_deinit(&arena);
}

TEST(a_certificate_cut_anywhere_is_refused, "")
{
    /* A whole one, cut after each byte: never read beyond its end, never taken for whole. */
    static const char base64[] =
        "-----BEGIN CERTIFICATE-----\n"
        "MIIBcDCCARagAwIBAgIJAMZmuGSIfvgzMAoGCCqGSM49BAMCMBMxETAPBgNVBAMM\n"
        "CHdoYXRldmVyMB4XDTE4MDgxMDE0Mjg1NFoXDTE4MDkwOTE0Mjg1NFowEzERMA8G\n"
        "A1UEAwwId2hhdGV2ZXIwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATPwn3WCEXL\n"
        "mjp/bFniDwuwsfu7bASlPae2PyWhqGeWwe23Xlyx+tSqxlkXYe4pZ23BkAAscpGj\n"
        "yn5gXHExyDlKo1MwUTAdBgNVHQ4EFgQUElRjSoVgKjUqY5AXz2o74cLzzS8wHwYD\n"
        "VR0jBBgwFoAUElRjSoVgKjUqY5AXz2o74cLzzS8wDwYDVR0TAQH/BAUwAwEB/zAK\n"
        "BggqhkjOPQQDAgNIADBFAiEA4yQ/88ZrUX68c6kOe9G11u8NUaUzd8pLOtkKhniN\n"
        "OHoCIHmNX37JOqTcTzGn2u9+c8NlnvZ0uDvsd1BmKPaUmjmm\n"
        "-----END CERTIFICATE-----\n";
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str text = str_of(base64);
    PemBlock block;
    REQUIRE(pem_next(&arena, &text, &block));
    Certificate certificate;
    Error err;
    for (size_t size = 0; size < block.bytes.len; size++) {
        Str cut = arena_copy(&arena, str_slice(block.bytes, 0, size));
        EXPECT_INT(certificate_read(&arena, &cut, &certificate, &err), ERR_INVALID);
    }
    Str whole = block.bytes;
    EXPECT_OK(certificate_read(&arena, &whole, &certificate, &err), &err);
    EXPECT_INT(whole.len, 0);
    EXPECT_STR(value_get_string(*value_get_text(certificate.value, "Subject"), "CommonName", STR("")), STR("whatever"));
    arena_deinit(&arena);
}
