/* Limits of ours inside builtins: whatever a builtin would answer otherwise, the evaluation ends and names the limit. */
#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "harness/test.h"
#include "rego/builtins/rows_test.h"

#define DEEP 1000u

/* `before`, then DEEP times `open`, `middle`, DEEP times `close`, `after`. */
static Value nested(Arena *arena, const char *const parts[5])
{
    Buf buf;
    buf_init(&buf, 1u << 20);
    buf_text(&buf, parts[0]);
    for (unsigned i = 0; i < DEEP; i++) buf_text(&buf, parts[1]);
    buf_text(&buf, parts[2]);
    for (unsigned i = 0; i < DEEP; i++) buf_text(&buf, parts[3]);
    buf_text(&buf, parts[4]);
    Value text = value_string(arena_copy(arena, buf_peek(&buf)));
    buf_deinit(&buf);
    return text;
}

static void expect_limit(Call *call, const char *name, const Value *args, const char *limit)
{
    ROW(name);
    EXPECT_INT(call_values(call, name, args), BUILTIN_HALT);
    EXPECT_INT(call->err.status, ERR_LIMIT);
    EXPECT(strstr(call->err.text, limit) != NULL);
}

TEST(texts_that_nest_too_deep_end_the_evaluation, "")
{
    static const struct { const char *name, *limit, *parts[5]; } cases[] = {
        { "json.unmarshal", "JSON_DEPTH_MAX", { "", "[", "", "]", "" } },
        { "json.is_valid", "JSON_DEPTH_MAX", { "", "{\"a\":", "1", "}", "" } },
        { "yaml.unmarshal", "JSON_DEPTH_MAX", { "", "[", "", "]", "" } },
        { "yaml.unmarshal", "JSON_DEPTH_MAX", { "", "- ", "1", "", "" } },
        { "yaml.is_valid", "JSON_DEPTH_MAX", { "", "- ", "1", "", "" } },
        { "json.verify_schema", "JSON_DEPTH_MAX", { "", "{\"not\":", "{}", "}", "" } },
        { "graphql.parse_query", "GRAPHQL_DEPTH_MAX", { "", "{a", "", "}", "" } },
        { "graphql.parse_query", "GRAPHQL_DEPTH_MAX", { "{a(x:", "[", "1", "]", ")}" } },
        { "graphql.parse_schema", "GRAPHQL_DEPTH_MAX", { "type Query { a(x:", "[", "Int", "]", "): Int }" } },
        { "graphql.schema_is_valid", "GRAPHQL_DEPTH_MAX", { "type Query { a(x:", "[", "Int", "]", "): Int }" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Call call;
        call_begin(&call);
        Value text = nested(&call.arena, cases[i].parts);
        expect_limit(&call, cases[i].name, &text, cases[i].limit);
        call_end(&call);
    }
}

TEST(so_do_those_that_are_one_of_two_operands, "")
{
    static const struct { const char *name, *limit, *parts[5], *other; bool is_second; } cases[] = {
        { "rego.parse_module", "REGO_DEPTH_MAX", { "package a\nx := ", "[", "", "]", "" }, "\"a.rego\"", true },
        { "graphql.is_valid", "GRAPHQL_DEPTH_MAX", { "", "{a", "", "}", "" }, "\"type Query { a: Int }\"", false },
        { "graphql.parse_and_verify", "GRAPHQL_DEPTH_MAX", { "", "{a", "", "}", "" }, "\"type Query { a: Int }\"", false },
        { "strings.render_template", "TEMPLATE_DEPTH_MAX", { "{{", "(", "1", ")", "}}" }, "{}", false },
        { "strings.render_template", "TEMPLATE_DEPTH_MAX", { "", "{{if true}}", "", "{{end}}", "" }, "{}", false },
        { "json.match_schema", "JSON_DEPTH_MAX", { "", "[", "", "]", "" }, "{}", false },
        { "json.match_schema", "JSON_DEPTH_MAX", { "", "{\"not\":", "{}", "}", "" }, "{}", true },
        { "regex.match", "REGEX_GROUP_COUNT_MAX", { "", "()", "()", "", "" }, "\"a\"", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Call call;
        call_begin(&call);
        Value args[2], other;
        EXPECT(tagged_read(&call.arena, str_of(cases[i].other), &other, &call.err));
        args[cases[i].is_second] = nested(&call.arena, cases[i].parts);
        args[!cases[i].is_second] = other;
        expect_limit(&call, cases[i].name, args, cases[i].limit);
        call_end(&call);
    }
}

TEST(globs_that_nest_too_deep_end_the_evaluation, "")
{
    Call call;
    call_begin(&call);
    Value args[3] = { nested(&call.arena, (const char *const[]){ "", "{", "a", "}", "" }), value_array(NULL, 0),
                      value_string(STR("a")) };
    expect_limit(&call, "glob.match", args, "GLOB_DEPTH_MAX");
    call_end(&call);
}

TEST(tokens_whose_parts_nest_too_deep_end_the_evaluation, "")
{
    Call call;
    call_begin(&call);
    Buf buf;
    buf_init(&buf, 1u << 20);
    base64_encode(&buf, STR("{\"alg\":\"none\"}"), BASE64_URL_BARE);
    buf_char(&buf, '.');
    base64_encode(&buf, value_text(nested(&call.arena, (const char *const[]){ "", "{\"a\":", "1", "}", "" })),
                  BASE64_URL_BARE);
    buf_text(&buf, ".aaaa");
    Value token = value_string(buf_peek(&buf));
    expect_limit(&call, "io.jwt.decode", &token, "JSON_DEPTH_MAX");
    buf_deinit(&buf);
    call_end(&call);
}

TEST(numbers_beyond_our_exponents_end_the_evaluation, "")
{
    static const struct { const char *name, *args; } cases[] = {
        { "json.unmarshal", "[\"1e20000\"]" },
        { "json.is_valid", "[\"[1e-20000]\"]" },
        { "to_number", "[\"1e-20000\"]" },
        { "to_number", "[\"0e20000\"]" },
        { "units.parse", "[\"1e20000\"]" },
        { "units.parse", "[\"1e-20000Ki\"]" },
        { "units.parse_bytes", "[\"1e20000\"]" },
        { "strings.render_template", "[\"{{1e-20000}}\",{}]" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].args);
        Call call;
        call_begin(&call);
        EXPECT_INT(call_run(&call, cases[i].name, cases[i].args), BUILTIN_HALT);
        EXPECT(strstr(call.err.text, "NUMBER_EXPONENT_MAX") != NULL);
        call_end(&call);
    }
}

TEST(what_the_language_itself_refuses_stays_undefined, "")
{
    static const struct { const char *name, *args, *text; } cases[] = {
        { "to_number", "[\"1e20000\"]", "value out of range" },
        { "to_number", "[\"-12.5e20000\"]", "value out of range" },
        { "to_number", "[\"1x\"]", "invalid syntax" },
        { "json.unmarshal", "[\"[1\"]", "unexpected EOF" },
        { "units.parse", "[\"1x\"]", "unit x not recognized" },
        { "units.parse", "[\"1e1000000\"]", "exponent too large" },
        { "units.parse_bytes", "[\"1e-0000001\"]", "exponent too large" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ROW(cases[i].args);
        Call call;
        call_begin(&call);
        EXPECT_INT(call_run(&call, cases[i].name, cases[i].args), BUILTIN_ERROR);
        EXPECT(strstr(call.err.text, cases[i].text) != NULL);
        call_end(&call);
    }
}

TEST(a_number_of_yaml_that_is_too_small_for_a_double_is_zero, "")
{
    Call call;
    call_begin(&call);
    EXPECT_INT(call_run(&call, "yaml.unmarshal", "[\"[1e-20000, -1.5e-99999, 1e20000]\"]"), BUILTIN_OK);
    Buf buf;
    buf_init(&buf, 256);
    tagged_print(&buf, call.result);
    EXPECT_STR(buf_peek(&buf), STR("[0,-0,\"1e20000\"]"));
    buf_deinit(&buf);
    call_end(&call);
}
