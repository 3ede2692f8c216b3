#include "base/base64.h"

#include "harness/test.h"

TEST(base64_goes_both_ways, "")
{
    static const struct { const char *bytes, *standard, *url, *bare; } cases[] = {
        { "", "", "", "" },
        { "f", "Zg==", "Zg==", "Zg" },
        { "fo", "Zm8=", "Zm8=", "Zm8" },
        { "foo", "Zm9v", "Zm9v", "Zm9v" },
        { "foob", "Zm9vYg==", "Zm9vYg==", "Zm9vYg" },
        { "\xfb\xff\xfe", "+//+", "-__-", "-__-" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].standard);
        const char *const texts[] = { cases[i].standard, cases[i].url, cases[i].bare };
        for (int kind = BASE64_STANDARD; kind <= BASE64_URL_BARE; kind++) {
            char storage[32], decoded[32];
            Buf buf = buf_on(storage, sizeof storage);
            base64_encode(&buf, str_of(cases[i].bytes), (Base64Kind)kind);
            EXPECT_STR(buf_peek(&buf), str_of(texts[kind]));
            size_t size, wrong;
            EXPECT(base64_decode(str_of(texts[kind]), (Base64Kind)kind, decoded, &size, &wrong));
            EXPECT_STR(((Str){ decoded, size }), str_of(cases[i].bytes));
        }
    }
}

TEST(base64_skips_line_breaks_and_ignores_spare_bits, "")
{
    char decoded[32];
    size_t size, wrong;
    EXPECT(base64_decode(STR("Zm\r\n9v\nYg=\n="), BASE64_STANDARD, decoded, &size, &wrong));
    EXPECT_STR(((Str){ decoded, size }), STR("foob"));
    EXPECT(base64_decode(STR("Zh=="), BASE64_STANDARD, decoded, &size, &wrong));
    EXPECT_STR(((Str){ decoded, size }), STR("f"));
}

TEST(base64_tells_where_a_text_is_wrong, "")
{
    static const struct { const char *text; Base64Kind kind; size_t wrong; } cases[] = {
        { "foobar", BASE64_STANDARD, 4 },   { "Zg", BASE64_STANDARD, 0 },     { "Zg=", BASE64_STANDARD, 3 },
        { "Zg=a", BASE64_STANDARD, 2 },     { "Z===", BASE64_STANDARD, 1 },   { "Zg==Zg==", BASE64_STANDARD, 4 },
        { "Zm9v!", BASE64_STANDARD, 4 },    { "-__-", BASE64_STANDARD, 0 },   { "+//+", BASE64_URL, 0 },
        { "Zg==", BASE64_URL_BARE, 2 },     { "Z", BASE64_URL_BARE, 0 },      { "Zm9v=", BASE64_STANDARD, 4 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].text);
        char decoded[32];
        size_t size, wrong = SIZE_MAX;
        EXPECT(!base64_decode(str_of(cases[i].text), cases[i].kind, decoded, &size, &wrong));
        EXPECT_INT(wrong, cases[i].wrong);
    }
}
