#include "value/canonical.h"

#include <string.h>

#include "base/limits.h"
#include "harness/random_value.h"
#include "harness/test.h"
#include "value/json.h"

static Str canonical(Arena *arena, Value value)
{
    Buf text;
    Error err = { 0 };
    buf_init(&text, 1u << 24);
    EXPECT_OK(canonical_print(&text, value, &err), &err);
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

static Value parse(Arena *arena, Str text)
{
    Value value = value_null();
    Error err = { 0 };
    EXPECT_OK(json_parse(arena, text, &value, &err), &err);
    return value;
}

TEST(the_canonical_form_has_one_order_one_spacing_and_one_notation, "")
{
    static const struct { const char *name, *text, *want; } cases[] = {
        { "literals", " [ null , true , false ] ", "[null,true,false]" },
        { "empty containers", "[ { } , [ ] ]", "[{},[]]" },
        { "members sorted", "{\"b\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"b\":1}" },
        { "the last of equal names", "{\"a\":1,\"a\":2}", "{\"a\":2}" },
        { "names equal after decoding", "{\"\\u0061\":1,\"a\":2}", "{\"a\":2}" },
        { "numbers", "[1.0,1e1,4.50,2e-3,0.000000000000000000000000001,1E30,-0]", "[1,10,4.5,0.002,1e-27,1e+30,0]" },
        { "short escapes", "\"\\b\\t\\n\\f\\r\\\"\\\\\\/\"", "\"\\b\\t\\n\\f\\r\\\"\\\\/\"" },
        { "other control characters", "\"\\u0000\\u001F\\u007f\"", "\"\\u0000\\u001f\x7f\"" },
        { "what needs no escape has none", "\"\\u20ac\\ud83d\\ude00\\u2028\"", "\"\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x80\xa8\"" },
        /* RFC 8785, 3.2.2 and 3.2.4, but for a number there that a double cannot hold */
        { "the example of the RFC",
          "{\"numbers\":[333333333.3333333,1E30,4.50,2e-3,0.000000000000000000000000001],"
          "\"string\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\"literals\":[null,true,false]}",
          "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
          "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}" },
        /* RFC 8785, 3.2.3: by UTF-16 units a pair of surrogates comes before U+FB33 */
        { "the order of the RFC",
          "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\","
          "\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\","
          "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
          "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
          "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\",\"\xe2\x82\xac\":\"Euro Sign\","
          "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Str got = canonical(&arena, parse(&arena, str_of(cases[i].text)));
        EXPECT_STR(got, str_of(cases[i].want));
        EXPECT_STR(canonical(&arena, parse(&arena, got)), got);
    }
    arena_deinit(&arena);
}

/* The 16-bit units of valid UTF-8, by the definition. */
static size_t utf16_units(Str text, uint32_t units[])
{
    size_t count = 0;
    for (size_t at = 0; at < text.len;) {
        unsigned char lead = (unsigned char)text.ptr[at];
        size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        uint32_t point = size == 1 ? lead : lead & (0x7fu >> size);
        for (size_t i = 1; i < size; i++) point = point << 6 | ((unsigned char)text.ptr[at + i] & 0x3fu);
        at += size;
        if (point < 0x10000) {
            units[count++] = point;
        } else {
            units[count++] = 0xd800 + ((point - 0x10000) >> 10);
            units[count++] = 0xdc00 + ((point - 0x10000) & 0x3ff);
        }
    }
    return count;
}

static bool is_before_in_utf16(Str a, Str b)
{
    uint32_t x[64], y[64];
    size_t x_count = utf16_units(a, x), y_count = utf16_units(b, y);
    for (size_t i = 0; i < x_count && i < y_count; i++)
        if (x[i] != y[i]) return x[i] < y[i];
    return x_count < y_count;
}

TEST(member_names_are_ordered_by_utf16_units, "")
{
    Random random = { 61 };
    for (unsigned round = 0; round < 500; round++) {
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        MemberList list = { .arena = &arena };
        for (unsigned i = 0; i < 12; i++) {
            static const char *const parts[] = { "a", "\xc3\xa9", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbd",
                                                 "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf" };
            Str name = arena_format(&arena, "%s%s%s", parts[random_below(&random, 7)],
                                    parts[random_below(&random, 7)], random_below(&random, 2) ? "z" : "");
            member_list_add(&list, name, value_int(i));
        }
        Value object = member_list_object(&list);
        Str text = canonical(&arena, object), before = STR("");
        unsigned count = 0;
        for (size_t at = 0; (at = str_find(text, '"', at)) < text.len; count++) {       /* the names in their order */
            size_t end = str_find(text, '"', at + 1);
            Str name = str_slice(text, at + 1, end);
            if (count) EXPECT(is_before_in_utf16(before, name));
            before = name;
            at = end + 1;
        }
        EXPECT_INT(count, object.count);
        EXPECT(value_equals(parse(&arena, text), object));
        arena_deinit(&arena);
    }
}

/* Equal values have one form, different values never share one. Comparing is by value and printing by text, so the two
 * answer the question independently. */
TEST(two_values_are_equal_exactly_where_their_canonical_texts_are, "")
{
    Random random = { 71 };
    unsigned equal = 0;
    for (unsigned round = 0; round < 20000; round++) {
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Value a = random_value(&random, &arena, RANDOM_JSON, round % 3), b = random_value(&random, &arena, RANDOM_JSON, round % 3);
        Str text_a = canonical(&arena, a), text_b = canonical(&arena, b);
        bool same = value_equals(a, b);
        equal += same;
        test_expect(str_is(text_a, text_b) == same, __FILE__, __LINE__, "round %u: %s and %s", round, text_a.ptr, text_b.ptr);
        Value again = parse(&arena, text_a);
        EXPECT(value_equals(again, a));
        EXPECT_STR(canonical(&arena, again), text_a);
        arena_deinit(&arena);
    }
    EXPECT(equal > 200);
}

TEST(what_json_cannot_express_has_no_canonical_form, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value set = value_set(&arena, NULL, 0);
    Member *by_number = ARENA_ARRAY(&arena, Member, 1);
    by_number[0] = (Member){ value_int(1), value_null() };
    Member *holds_set = ARENA_ARRAY(&arena, Member, 1);
    holds_set[0] = (Member){ value_string(STR("a")), set };
    const struct { const char *name; Value value; const char *reason; } cases[] = {
        { "a set", set, "a set cannot be written as JSON" },
        { "a set in an array", value_array(&set, 1), "a set cannot be written as JSON" },
        { "a set in an object", value_object(&arena, holds_set, 1), "a set cannot be written as JSON" },
        { "a key that is a number", value_object(&arena, by_number, 1),
          "an object key of type number cannot be written as JSON" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Error err = { 0 };
        Digest digest = { { 42 } };
        EXPECT_INT(canonical_digest(cases[i].value, &digest, &err), ERR_INVALID);
        EXPECT_STR(str_of(err.text), str_of(cases[i].reason));
        EXPECT_INT(digest.bytes[0], 42);
    }
    arena_deinit(&arena);
}

TEST(a_form_that_does_not_fit_is_refused, "")
{
    Value value = value_string(STR("0123456789"));
    char storage[12];
    Buf fits = buf_on(storage, 12), small = buf_on(storage, 11);
    Error err = { 0 };
    EXPECT_OK(canonical_print(&fits, value, &err), &err);
    EXPECT_INT(canonical_print(&small, value, &err), ERR_LIMIT);
    EXPECT_STR(str_of(err.text), STR("a JSON text exceeds 11 bytes"));
}

TEST(a_digest_is_the_sha256_of_the_canonical_text, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "{}", "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a" },
        { " [ ] ", "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945" },
        { "null", "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        Digest digest;
        Error err = { 0 };
        char storage[DIGEST_TEXT_SIZE];
        Buf text = buf_on(storage, sizeof storage);
        EXPECT_OK(canonical_digest(parse(&arena, str_of(cases[i].text)), &digest, &err), &err);
        digest_print(&text, &digest);
        EXPECT(!buf_overflowed(&text));
        EXPECT_STR(buf_peek(&text), str_of(cases[i].want));
    }
    Digest a, b;
    Error err = { 0 };
    EXPECT_OK(canonical_digest(parse(&arena, STR("{\"x\":1.0,\"a\":[]}")), &a, &err), &err);
    EXPECT_OK(canonical_digest(parse(&arena, STR(" {\"a\" :[ ],\"x\":10e-1}")), &b, &err), &err);
    EXPECT(memcmp(&a, &b, sizeof a) == 0);
    EXPECT_OK(canonical_digest(parse(&arena, STR("{\"a\":[],\"x\":1.1}")), &b, &err), &err);
    EXPECT(memcmp(&a, &b, sizeof a) != 0);

    Digest empty = digest_of((Str){ NULL, 0 });
    char storage[DIGEST_TEXT_SIZE];
    Buf text = buf_on(storage, sizeof storage);
    digest_print(&text, &empty);
    EXPECT_STR(buf_peek(&text), STR("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    arena_deinit(&arena);
}
