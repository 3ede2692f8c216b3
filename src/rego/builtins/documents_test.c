/* GraphQL documents, JSON Schema, keys, certificates, tokens and identifiers as builtins. */
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "rego/builtins/rows_test.h"

TEST(graphql_documents_are_read_and_checked_as_in_opa, "") { rows_run("graphql"); }
TEST(schemas_describe_documents_as_in_opa, "") { rows_run("json_schema"); }
TEST(keys_and_certificates_are_read_as_in_opa, "") { rows_run("crypto"); }
TEST(tokens_are_read_and_verified_as_in_opa, "") { rows_run("jwt"); }
TEST(requests_are_signed_and_identifiers_read_as_in_opa, "") { rows_run("services"); }

TEST(what_is_cached_shows_in_neither_answer_nor_budget, "")
{
    static const struct { const char *name, *args; } cases[] = {
        { "graphql.parse", "[\"{ a }\",\"type Query { a: Int } type B { b: [Query!]! }\"]" },
        { "json.match_schema", "[{\"a\":\"x1\"},{\"properties\":{\"a\":{\"type\":\"integer\",\"pattern\":\"^x\"}}}]" },
        { "json.verify_schema", "[{\"properties\":{\"a\":{\"type\":\"integer\"}}}]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Call call;
        call_begin(&call);
        Value first, second;
        uint64_t before = call.steps;
        EXPECT_INT(call_run(&call, cases[i].name, cases[i].args), BUILTIN_OK);
        first = call.result;
        uint64_t spent = before - call.steps;
        before = call.steps;
        EXPECT_INT(call.cache.item_count, 1);
        EXPECT_INT(call_run(&call, cases[i].name, cases[i].args), BUILTIN_OK);
        second = call.result;
        EXPECT_INT(before - call.steps, spent);
        EXPECT_INT(call.cache.item_count, 1);
        EXPECT(value_equals(first, second));
        call_end(&call);
    }
}

TEST(answers_outlive_the_cache, "")
{
    Call call;
    call_begin(&call);
    EXPECT_INT(call_run(&call, "graphql.parse", "[\"{ a }\",\"type Query { a: Int }\"]"), BUILTIN_OK);
    Value copy = value_copy(&call.arena, call.result);
    builtin_cache_deinit(&call.cache);
    builtin_cache_init(&call.cache);
    EXPECT(value_equals(call.result, copy));
    call_end(&call);
}

TEST(a_schema_that_applies_itself_for_ever_is_refused, "")
{
    static const char *const schemas[] = {
        "[{},{\"$ref\":\"#\"}]",
        "[{},{\"allOf\":[{\"$ref\":\"#\"}]}]",
        "[{},{\"$ref\":\"#/definitions/a\",\"definitions\":{\"a\":{\"$ref\":\"#/definitions/b\"},"
        "\"b\":{\"$ref\":\"#/definitions/a\"}}}]",
    };
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        ROW(schemas[i]);
        Call call;
        call_begin(&call);
        EXPECT_INT(call_run(&call, "json.match_schema", schemas[i]), BUILTIN_HALT);
        EXPECT(strstr(call.err.text, "DRAFT_DEPTH_MAX") != NULL);
        call_end(&call);
    }
}

TEST(a_schema_that_explodes_is_stopped_by_the_budget, "")
{
    Call call;
    call_begin(&call);
    static char text[16 * 1024];
    Buf buf = buf_on(text, sizeof text - 1);
    buf_text(&buf, "[{},{\"$ref\":\"#/definitions/d0\",\"definitions\":{");
    for (int i = 0; i < 40; i++)
        buf_format(&buf, "\"d%d\":{\"anyOf\":[{\"$ref\":\"#/definitions/d%d\"},{\"$ref\":\"#/definitions/d%d\"}]},", i, i + 1,
                   i + 1);
    buf_text(&buf, "\"d40\":{\"type\":\"string\"}}}]");
    text[buf.len] = '\0';
    call.steps = 200000;
    EXPECT_INT(call_run(&call, "json.match_schema", text), BUILTIN_HALT);
    EXPECT_INT(call.steps, 0);
    call_end(&call);
}

TEST(the_network_is_refused_in_words, "")
{
    static const struct { const char *name, *args; } cases[] = {
        { "http.send", "[{\"method\":\"get\",\"url\":\"http://example.com\"}]" },
        { "net.lookup_ip_addr", "[\"example.com\"]" },
        { "json.match_schema", "[{},{\"$ref\":\"http://example.com/schema\"}]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].name);
        Call call;
        call_begin(&call);
        EXPECT_INT(call_run(&call, cases[i].name, cases[i].args), BUILTIN_ERROR);
        EXPECT(strstr(call.err.text, "no access to the network") != NULL);
        call_end(&call);
    }
    EXPECT(builtin_find(STR("http.send"))->flags & BUILTIN_NETWORK);
    EXPECT(builtin_find(STR("net.lookup_ip_addr"))->flags & BUILTIN_NETWORK);
}

TEST(chance_comes_from_the_seed_alone, "")
{
    Call call;
    call_begin(&call);
    Value first, second;
    call.context.seed = 1;
    EXPECT_INT(call_run(&call, "uuid.rfc4122", "[\"k\"]"), BUILTIN_OK);
    first = call.result;
    EXPECT_INT(call_run(&call, "uuid.rfc4122", "[\"k\"]"), BUILTIN_OK);
    second = call.result;
    EXPECT(value_equals(first, second));
    EXPECT_INT(first.count, 36);
    EXPECT(first.text[14] == '4');
    EXPECT(strchr("89ab", first.text[19]) != NULL);
    EXPECT_INT(call_run(&call, "uuid.rfc4122", "[\"l\"]"), BUILTIN_OK);
    second = call.result;
    EXPECT(!value_equals(first, second));
    call.context.seed = 2;
    EXPECT_INT(call_run(&call, "uuid.rfc4122", "[\"k\"]"), BUILTIN_OK);
    second = call.result;
    EXPECT(!value_equals(first, second));
    call_end(&call);
}

/* A header that says it holds a token, as often as asked. */
static Str nested_token(Buf *buf, int depth)
{
    static const char inner[] = "eyJhbGciOiJIUzI1NiJ9.e30.";
    char storage[2][8192];
    Str token = str_of(inner);
    for (int i = 0; i < depth; i++) {
        Buf next = buf_on(storage[i % 2], sizeof storage[0]);
        buf_text(&next, "eyJjdHkiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.");
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        for (size_t at = 0; at < token.len; at += 3) {
            uint32_t bits = 0;
            for (size_t j = 0; j < 3; j++) bits = bits << 8 | (at + j < token.len ? (unsigned char)token.ptr[at + j] : 0u);
            for (size_t j = 0; j < 4 && at + j <= token.len; j++) buf_char(&next, digits[bits >> (18 - 6 * j) & 63]);
        }
        buf_char(&next, '.');
        token = buf_peek(&next);
    }
    buf_str(buf, token);
    return buf_peek(buf);
}

TEST(tokens_inside_tokens_have_an_end, "")
{
    static const struct { int depth; BuiltinResult want; } cases[] = {
        { 0, BUILTIN_OK }, { 1, BUILTIN_OK }, { TOKEN_NESTING_MAX - 1, BUILTIN_OK }, { TOKEN_NESTING_MAX, BUILTIN_HALT },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Call call;
        call_begin(&call);
        static char text[8192];
        Buf buf = buf_on(text, sizeof text);
        Value args[] = { value_string(nested_token(&buf, cases[i].depth)) };
        EXPECT_INT(call_values(&call, "io.jwt.decode", args),
                   cases[i].want);
        call_end(&call);
    }
}
