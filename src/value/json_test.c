#include "value/json.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "harness/random_value.h"
#include "harness/test.h"

/* --- what comes out of a text, however it was cut ---------------------------------------------------------------- */

/* A sink that writes down each event whole: two texts that were read alike have the same log. */
static Status log_event(void *context, const JsonEvent *event, Error *err)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",     [JSON_FALSE] = "false",     [JSON_TRUE] = "true",         [JSON_NUMBER] = "number",
        [JSON_STRING] = "string", [JSON_KEY] = "key",         [JSON_ARRAY_BEGIN] = "[",     [JSON_ARRAY_END] = "]",
        [JSON_OBJECT_BEGIN] = "{", [JSON_OBJECT_END] = "}",
    };
    (void)err;
    buf_format(context, "%u:%u+%u@%" PRIu64 " %s ", event->line, event->column, event->width, event->offset,
               names[event->token]);
    buf_str(context, event->text);
    buf_char(context, '\n');
    return OK;
}

/* Feeds the text in pieces: the first of `first` bytes, then of `then` bytes each, the last as long as it is. */
static Str read_in_pieces(Arena *arena, Str text, size_t first, size_t then, const JsonOptions *options)
{
    Buf log;
    buf_init(&log, SIZE_MAX / 2);
    JsonReader reader;
    json_reader_init(&reader, (JsonSink){ log_event, &log }, options);
    Error err = { 0 };
    Status status = OK;
    for (size_t at = 0; at < text.len && !status;) {
        size_t size = at == 0 && first ? first : then;
        if (size > text.len - at) size = text.len - at;
        char *piece = malloc(size);             /* a piece of its own: reading outside it is noticed */
        memcpy(piece, text.ptr + at, size);
        status = json_reader_feed(&reader, (Str){ piece, size }, &err);
        free(piece);
        at += size;
    }
    if (!status) status = json_reader_end(&reader, &err);
    buf_format(&log, "%s %u:%u %s", status_name(status), err.line, err.column, err.text);
    json_reader_deinit(&reader);
    Str result = arena_copy(arena, buf_peek(&log));
    buf_deinit(&log);
    return result;
}

static Str read_whole(Arena *arena, Str text, const JsonOptions *options)
{
    return read_in_pieces(arena, text, text.len, text.len, options);
}

static void expect_same_in_pieces(Str text, const JsonOptions *options)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str whole = arena_copy(&arena, read_whole(&arena, text, options));
    EXPECT_STR(read_in_pieces(&arena, text, 1, 1, options), whole);
    for (size_t cut = 1; cut < text.len && text.len < 2048; cut++)
        if (!EXPECT_STR(read_in_pieces(&arena, text, cut, text.len, options), whole)) break;
    static const size_t sizes[] = { 2, 3, 5, 7, 8, 9, 64, 4096 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        EXPECT_STR(read_in_pieces(&arena, text, sizes[i] - 1, sizes[i], options), whole);
    arena_deinit(&arena);
}

/* --- accepting --------------------------------------------------------------------------------------------------- */

static Str print(Arena *arena, Value value, JsonStyle style)
{
    Buf text;
    Error err = { 0 };
    buf_init(&text, 1u << 24);
    EXPECT_OK(json_print(&text, value, style, &err), &err);
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

TEST(json_texts_become_values, "")
{
    static const struct { const char *name; Str text; Str want; } cases[] = {
        { "null", STR_INIT("null"), STR_INIT("null") },
        { "booleans", STR_INIT("[true,false]"), STR_INIT("[true,false]") },
        { "a number alone", STR_INIT("42"), STR_INIT("42") },
        { "numbers as they were written", STR_INIT("[1.0,1E+2,-0,0.10,12345678901234567890]"),
          STR_INIT("[1.0,1E+2,-0,0.10,12345678901234567890]") },
        { "white space", STR_INIT(" \t\r\n[ \n1\t,\r2 ] \n"), STR_INIT("[1,2]") },
        { "members sorted", STR_INIT("{\"b\":{},\"a\":[]}"), STR_INIT("{\"a\":[],\"b\":{}}") },
        { "the last of equal names", STR_INIT("{\"a\":1,\"b\":2,\"a\":{\"a\":3}}"), STR_INIT("{\"a\":{\"a\":3},\"b\":2}") },
        { "short escapes", STR_INIT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), STR_INIT("\"\\\"\\\\/\\b\\f\\n\\r\\t\"") },
        { "a NUL", STR_INIT("\"a\\u0000b\""), STR_INIT("\"a\\u0000b\"") },
        { "escaped characters", STR_INIT("\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\\uffff\""),
          STR_INIT("\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\"") },
        { "the last character of all", STR_INIT("\"\\udbff\\udfff\""), STR_INIT("\"\xf4\x8f\xbf\xbf\"") },
        { "DEL and line separators as they are", STR_INIT("\"\x7f\xe2\x80\xa8\""), STR_INIT("\"\x7f\xe2\x80\xa8\"") },
        { "an escape at each end", STR_INIT("\"\\n01234567890123456789\\n\""), STR_INIT("\"\\n01234567890123456789\\n\"") },
        { "an empty name", STR_INIT("{\"\":\"\"}"), STR_INIT("{\"\":\"\"}") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Value value = value_null();
        Error err = { 0 };
        EXPECT_OK(json_parse(&arena, cases[i].text, &value, &err), &err);
        EXPECT_STR(print(&arena, value, JSON_COMPACT), cases[i].want);
        expect_same_in_pieces(cases[i].text, NULL);
        arena_deinit(&arena);
    }
}

TEST(a_value_does_not_borrow_the_text_it_was_read_from, "")
{
    char text[] = "{\"name\":[\"plain\",\"esc\\u0061ped\",1.5,123456789012345678901]}";
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value value;
    Error err = { 0 };
    REQUIRE_OK(json_parse(&arena, str_of(text), &value, &err), &err);
    memset(text, '#', sizeof text - 1);
    EXPECT_STR(print(&arena, value, JSON_COMPACT), STR("{\"name\":[\"plain\",\"escaped\",1.5,123456789012345678901]}"));
    arena_deinit(&arena);
}

TEST(a_sink_sees_each_token_with_its_place, "")
{
    static const char text[] = "{\n  \"k\\u00e9y\": [1.5, null],\n\t\"\xc3\xa9\xf0\x9f\x98\x80\": \"\xe2\x82\xac\", \"k\": true}";
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    EXPECT_STR(read_whole(&arena, str_of(text), NULL),
               STR("1:1+1@0 { \n"
                   "2:3+10@4 key k\xc3\xa9y\n"
                   "2:15+1@16 [ \n"
                   "2:16+3@17 number 1.5\n"
                   "2:21+4@22 null \n"
                   "2:25+1@26 ] \n"
                   "3:2+4@30 key \xc3\xa9\xf0\x9f\x98\x80\n"
                   "3:8+3@40 string \xe2\x82\xac\n"
                   "3:13+3@47 key k\n"
                   "3:18+4@52 true \n"
                   "3:22+1@56 } \n"
                   "ok 0:0 "));
    expect_same_in_pieces(str_of(text), NULL);
    EXPECT_STR(read_whole(&arena, STR("{\"a\":1,\"a\":2}"), NULL),      /* both of equal names: it may refuse them */
               STR("1:1+1@0 { \n1:2+3@1 key a\n1:6+1@5 number 1\n1:8+3@7 key a\n1:12+1@11 number 2\n1:13+1@12 } \nok 0:0 "));
    arena_deinit(&arena);
}

static Status refuse_numbers(void *context, const JsonEvent *event, Error *err)
{
    ++*(unsigned *)context;
    if (event->token != JSON_NUMBER) return OK;
    return error_at(err, ERR_DENIED, event->line, event->column, "no numbers here");
}

TEST(what_a_sink_refuses_ends_the_reading, "")
{
    unsigned count = 0;
    JsonReader reader;
    Error err = { 0 };
    json_reader_init(&reader, (JsonSink){ refuse_numbers, &count }, NULL);
    EXPECT_INT(json_reader_feed(&reader, STR("[\"a\",\n 7, null]"), &err), ERR_DENIED);
    EXPECT_INT(count, 3);
    EXPECT_INT(err.line, 2);
    EXPECT_INT(err.column, 2);
    EXPECT_STR(str_of(err.text), STR("no numbers here"));
    json_reader_deinit(&reader);
}

/* --- refusing ---------------------------------------------------------------------------------------------------- */

TEST(what_is_no_json_is_refused_at_its_first_wrong_character, "")
{
    static const struct { Str text; uint32_t line, column; const char *reason; } cases[] = {
        { STR_INIT(""), 1, 1, "the text ends where a value was expected" },
        { STR_INIT(" \n "), 2, 2, "the text ends where a value was expected" },
        { STR_INIT("["), 1, 2, "the text ends where a value or ']' was expected" },
        { STR_INIT("[1"), 1, 3, "the text ends where ',' or the end of the container was expected" },
        { STR_INIT("[1,"), 1, 4, "the text ends where a value was expected" },
        { STR_INIT("{"), 1, 2, "the text ends where a member name in double quotes or '}' was expected" },
        { STR_INIT("{\"a\""), 1, 5, "the text ends where ':' was expected" },
        { STR_INIT("{\"a\":"), 1, 6, "the text ends where a value was expected" },
        { STR_INIT("{\"a\":1,"), 1, 8, "the text ends where a member name in double quotes was expected" },
        { STR_INIT("[1,]"), 1, 4, "expected a value, found ']'" },
        { STR_INIT("[,1]"), 1, 2, "expected a value or ']', found ','" },
        { STR_INIT("[1 2]"), 1, 4, "expected ',' or the end of the container, found '2'" },
        { STR_INIT("{\"a\":1,}"), 1, 8, "expected a member name in double quotes, found '}'" },
        { STR_INIT("{a:1}"), 1, 2, "expected a member name in double quotes or '}', found 'a'" },
        { STR_INIT("{'a':1}"), 1, 2, "expected a member name in double quotes or '}', found '''" },
        { STR_INIT("{1:1}"), 1, 2, "expected a member name in double quotes or '}', found '1'" },
        { STR_INIT("{\"a\" 1}"), 1, 6, "expected ':', found '1'" },
        { STR_INIT("{\"a\"::1}"), 1, 6, "expected a value, found ':'" },
        { STR_INIT("[1}"), 1, 3, "expected ',' or the end of the container, found '}'" },
        { STR_INIT("{\"a\":1]"), 1, 7, "expected ',' or the end of the container, found ']'" },
        { STR_INIT("[1]]"), 1, 4, "expected nothing more, found ']'" },
        { STR_INIT("1 2"), 1, 3, "expected nothing more, found '2'" },
        { STR_INIT("{} \"\""), 1, 4, "expected nothing more, found '\"'" },
        { STR_INIT("[\n1,\n  x]"), 3, 3, "'x' is no JSON value; texts need double quotes" },
        { STR_INIT("[True]"), 1, 2, "'True' is no JSON value; texts need double quotes" },
        { STR_INIT("nul"), 1, 1, "'nul' is no JSON value; texts need double quotes" },
        { STR_INIT("nulls"), 1, 1, "'nulls' is no JSON value; texts need double quotes" },
        { STR_INIT("NaN"), 1, 1, "'NaN' is no JSON value; texts need double quotes" },
        { STR_INIT("abcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"), 1, 1,
          "'abcdefghijabcdefghijabcdefghijabcdefghij' is no JSON value; texts need double quotes" },
        { STR_INIT("[1,// no\n2]"), 1, 4, "expected a value, found '/'" },
        { STR_INIT("[-]"), 1, 3, "a number ends too early" },
        { STR_INIT("[01]"), 1, 3, "a number cannot go on with '1' here" },
        { STR_INIT("[1.e1]"), 1, 4, "a number cannot go on with 'e' here" },
        { STR_INIT("\n1.2.3"), 2, 4, "a number cannot go on with '.' here" },
        { STR_INIT("[1e99999]"), 1, 2, "the exponent of a number exceeds NUMBER_EXPONENT_MAX (10000)" },
        { STR_INIT("\"abc"), 1, 1, "the string that begins here has no end" },
        { STR_INIT("[\"a\\\"]"), 1, 2, "the string that begins here has no end" },
        { STR_INIT("\"a\tb\""), 1, 3, "a control character in a string must be escaped" },
        { STR_INIT("[\"\xc3\xa9\xc3\xa9\n\"]"), 1, 5, "a control character in a string must be escaped" },
        { STR_INIT("\"\x1f\""), 1, 2, "a control character in a string must be escaped" },
        { STR_INIT("\"a\0\""), 1, 3, "a control character in a string must be escaped" },
        { STR_INIT("\"\\x41\""), 1, 3, "there is no such escape in JSON" },
        { STR_INIT("\"\\'\""), 1, 3, "there is no such escape in JSON" },
        { STR_INIT("\"\\\0\""), 1, 3, "there is no such escape in JSON" },
        { STR_INIT("\"\\U0041\""), 1, 3, "there is no such escape in JSON" },
        { STR_INIT("\"\\\xc3\xa9\""), 1, 3, "there is no such escape in JSON" },
        { STR_INIT("\"\\u12\""), 1, 3, "\\u needs four hexadecimal digits" },
        { STR_INIT("\"\\u12g4\""), 1, 3, "\\u needs four hexadecimal digits" },
        { STR_INIT("\"\xe2\x82\xac\\u 123\""), 1, 4, "\\u needs four hexadecimal digits" },
        { STR_INIT("\"\\ud800\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"ab\\udc00\""), 1, 5, "a surrogate without its partner is no character" },
        { STR_INIT("\"\\ud800\\ud800\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"\\ud800\\n0000\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"\\ud800\\u12\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"\\udc00\\udc00\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"\\ud800\\uffff\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"\\udc00\\ud800\""), 1, 3, "a surrogate without its partner is no character" },
        { STR_INIT("\"a\xff\""), 1, 3, "the text is not UTF-8 here" },
        { STR_INIT("[\"\xc3\xa9\xc0\xaf\"]"), 1, 4, "the text is not UTF-8 here" },
        { STR_INIT("\"\xed\xa0\x80\""), 1, 2, "the text is not UTF-8 here" },
        { STR_INIT("\"\xe2\x82\""), 1, 2, "the text is not UTF-8 here" },
        { STR_INIT("{\"\xff\":1}"), 1, 3, "the text is not UTF-8 here" },
        { STR_INIT("\"\x01\xff\""), 1, 2, "a control character in a string must be escaped" },      /* the first mistake */
        { STR_INIT("\"\xff\x01\""), 1, 2, "the text is not UTF-8 here" },
        { STR_INIT("\"\\u00\xff\""), 1, 3, "\\u needs four hexadecimal digits" },
        { STR_INIT("\"\\\xff\""), 1, 3, "there is no such escape in JSON" },
        { STR_INIT("[\xff]"), 1, 2, "expected a value or ']', found byte 0xff" },
        { STR_INIT("[\x01]"), 1, 2, "expected a value or ']', found byte 0x01" },
        { STR_INIT("[1\0]"), 1, 3, "expected ',' or the end of the container, found byte 0x00" },
        { STR_INIT("[\xe2\x80\x9c" "a\"]"), 1, 2, "expected a value or ']', found byte 0xe2" },
        { STR_INIT("[1,\xc2\xa0" "2]"), 1, 4, "expected a value, found byte 0xc2" },
        { STR_INIT("[1,\f2]"), 1, 4, "expected a value, found byte 0x0c" },
        { STR_INIT("\xef\xbb\xbf{}"), 1, 1,
          "expected a value, found byte 0xef, perhaps a byte order mark, which JSON does not allow" },
        { STR_INIT("\xff\xfe[\0]\0"), 1, 1,
          "expected a value, found byte 0xff, perhaps a byte order mark, which JSON does not allow" },
        { STR_INIT(" \xef\xbb\xbf{}"), 1, 2, "expected a value, found byte 0xef" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text.ptr);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Error err = { 0 };
        Value value = value_int(42);
        EXPECT_INT(json_parse(&arena, cases[i].text, &value, &err),
                   strstr(cases[i].reason, "_MAX") ? ERR_LIMIT : ERR_INVALID);
        EXPECT_INT(value.integer, 42);
        EXPECT_INT(err.line, cases[i].line);
        EXPECT_INT(err.column, cases[i].column);
        EXPECT_STR(str_of(err.text), str_of(cases[i].reason));
        expect_same_in_pieces(cases[i].text, NULL);
        arena_deinit(&arena);
    }
}

/* `depth` containers inside one another: arrays, or objects by the name "a". */
static Str nested(Arena *arena, uint32_t depth, bool objects)
{
    Buf text;
    buf_init(&text, 1u << 24);
    for (uint32_t i = 0; i < depth; i++) buf_text(&text, !objects ? "[" : i + 1 < depth ? "{\"a\":" : "{");
    for (uint32_t i = 0; i < depth; i++) buf_char(&text, objects ? '}' : ']');
    Str copy = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return copy;
}

TEST(nesting_is_accepted_to_the_limit_and_refused_beyond_it, "")
{
    static const struct { const char *name; uint32_t depth, depth_max; bool objects; const char *reason; } cases[] = {
        { "arrays at the limit", JSON_DEPTH_MAX, 0, false, NULL },
        { "one array more", JSON_DEPTH_MAX + 1, 0, false, "arrays and objects nest deeper than JSON_DEPTH_MAX, 512 levels" },
        { "objects at the limit", JSON_DEPTH_MAX, 0, true, NULL },
        { "one object more", JSON_DEPTH_MAX + 1, 0, true, "arrays and objects nest deeper than JSON_DEPTH_MAX, 512 levels" },
        { "very many", 100000, 0, false, "arrays and objects nest deeper than JSON_DEPTH_MAX, 512 levels" },
        { "the caller's own limit", 3, 3, false, NULL },
        { "beyond the caller's limit", 4, 3, false, "arrays and objects nest deeper than 3 levels" },
        { "a caller cannot go beyond", JSON_DEPTH_MAX + 1, 100000, true,
          "arrays and objects nest deeper than JSON_DEPTH_MAX, 512 levels" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Str text = nested(&arena, cases[i].depth, cases[i].objects);
        JsonOptions options = { .depth_max = cases[i].depth_max };
        JsonBuilder builder;
        JsonReader reader;
        Error err = { 0 };
        json_builder_init(&builder, &arena);
        json_reader_init(&reader, json_builder_sink(&builder), &options);
        Status status = json_reader_feed(&reader, text, &err);
        EXPECT_INT(status, cases[i].reason ? ERR_LIMIT : OK);
        if (cases[i].reason) {
            uint32_t limit = cases[i].depth_max && cases[i].depth_max < JSON_DEPTH_MAX ? cases[i].depth_max : JSON_DEPTH_MAX;
            EXPECT_STR(str_of(err.text), str_of(cases[i].reason));
            EXPECT_INT(err.column, limit * (cases[i].objects ? 5 : 1) + 1);
        } else {
            EXPECT_OK(json_reader_end(&reader, &err), &err);
            EXPECT_STR(print(&arena, json_builder_take(&builder), JSON_COMPACT), text);
        }
        json_reader_deinit(&reader);
        json_builder_deinit(&builder);
        expect_same_in_pieces(text.len < 10000 ? text : str_slice(text, 0, 2000), &options);
        arena_deinit(&arena);
    }
}

/* Kinds of containers must not be mixed up at any depth, the borders of 64 among them. */
TEST(each_container_is_closed_by_its_own_bracket, "")
{
    Random random = { 81 };
    for (uint32_t depth = 1; depth <= JSON_DEPTH_MAX; depth += depth < 70 ? 1 : 61) {
        bool objects[JSON_DEPTH_MAX];
        Buf text;
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        buf_init(&text, 1u << 16);
        for (uint32_t i = 0; i < depth; i++) {
            objects[i] = random_below(&random, 2);
            buf_text(&text, objects[i] ? "{\"\":" : "[");
        }
        buf_char(&text, '0');
        for (uint32_t i = depth; i-- > 0;) buf_char(&text, objects[i] ? '}' : ']');
        Value value;
        Error err = { 0 };
        EXPECT_OK(json_parse(&arena, buf_peek(&text), &value, &err), &err);
        uint32_t wrong = random_below(&random, depth);
        char *bracket = &text.ptr[text.len - 1 - wrong];
        *bracket = *bracket == ']' ? '}' : ']';
        EXPECT_INT(json_parse(&arena, buf_peek(&text), &value, &err), ERR_INVALID);
        EXPECT_INT(err.column, text.len - wrong);
        arena_deinit(&arena);
        buf_deinit(&text);
    }
}

TEST(a_text_beyond_its_size_is_refused_wherever_it_was_cut, "")
{
    static const struct { const char *name; Str text; uint64_t size_max; const char *want; } cases[] = {
        { "exactly as long as allowed", STR_INIT("[1,22]"), 6, "ok 0:0 " },
        { "a byte too long", STR_INIT("[1,22]"), 5, "limit 1:4 the text exceeds 5 bytes" },
        { "inside a string", STR_INIT("\n[\"abc\"]"), 4, "limit 2:2 the text exceeds 4 bytes" },
        { "white space counts", STR_INIT("[]  "), 3, "limit 1:4 the text exceeds 3 bytes" },
        { "a mistake before the limit comes first", STR_INIT("[x ]]]]]]]]]"), 4,
          "invalid 1:2 'x' is no JSON value; texts need double quotes" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        JsonOptions options = { .size_max = cases[i].size_max };
        EXPECT(str_ends(read_whole(&arena, cases[i].text, &options), str_of(cases[i].want)));
        expect_same_in_pieces(cases[i].text, &options);
        arena_deinit(&arena);
    }
    Error err = { 0 };                                      /* by default the bound of the system */
    JsonReader reader;
    Buf log;
    buf_init(&log, 1u << 20);
    json_reader_init(&reader, (JsonSink){ log_event, &log }, NULL);
    EXPECT_INT(reader.options.size_max, JSON_SIZE_MAX);
    Buf spaces;
    buf_init(&spaces, 16u << 20);
    buf_repeat(&spaces, ' ', 16u << 20);
    for (uint32_t i = 0; i < JSON_SIZE_MAX / (16u << 20); i++) EXPECT_OK(json_reader_feed(&reader, buf_peek(&spaces), &err), &err);
    EXPECT_INT(json_reader_feed(&reader, STR(" "), &err), ERR_LIMIT);
    EXPECT_STR(str_of(err.text), STR("the text exceeds JSON_SIZE_MAX, 268435456 bytes"));
    json_reader_deinit(&reader);
    buf_deinit(&spaces);
    buf_deinit(&log);
}

TEST(values_that_do_not_fit_a_limited_arena_are_refused, "")
{
    static const struct { const char *name; Str text; } cases[] = {
        { "strings", STR_INIT("[\"0123456789012345678901234567890123456789\",\"0123456789012345678901234567890123456789\"]") },
        { "numbers", STR_INIT("[1e1,2e1,3e1,4e1,5e1,6e1,7e1,8e1,9e1,10e1,11e1,12e1]") },
        { "arrays", STR_INIT("[[[[1],2],3],4,5,6,7,8,9]") },
        { "objects", STR_INIT("{\"c\":1,\"b\":2,\"a\":{\"b\":3,\"a\":4}}") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        unsigned refused = 0;
        bool accepted = false;
        for (size_t size_max = 0; size_max < 600; size_max++) {
            Arena arena;
            arena_init(&arena, size_max);
            Value value;
            Error err = { 0 };
            Status status = json_parse(&arena, cases[i].text, &value, &err);
            EXPECT(status == OK || status == ERR_LIMIT);
            EXPECT(!accepted || status == OK);              /* what fits, fits into more */
            if (status) EXPECT(err.line == 1 && err.column >= 1 && strstr(err.text, "bytes of memory"));
            accepted = status == OK;
            refused += status != OK;
            arena_deinit(&arena);
        }
        EXPECT(accepted);
        EXPECT(refused > 50);
    }
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

TEST(many_small_values_are_refused_before_they_are_all_read, "")
{
    Arena arena;
    Value value;
    Error err;
    char text[8192];
    memset(text, '[', sizeof text);
    for (size_t i = 1; i + 1 < sizeof text; i++) text[i] = i % 2 ? '1' : ',';
    arena_init(&arena, 4096);
    EXPECT(json_parse(&arena, (Str){ text, sizeof text }, &value, &err) == ERR_LIMIT);
    EXPECT(err.column < 600);
    arena_deinit(&arena);
}

TEST(a_strict_reader_refuses_a_member_that_is_there_twice, "")
{
    static const struct { const char *text, *twice; } cases[] = {
        { "{\"a\":1,\"b\":2,\"a\":1}", "line 1, column 19: the object that ends here has 'a' twice" },
        { "[{\"x\":{\n\"\":1,\"\":2}}]", "line 2, column 10: the object that ends here has '' twice" },
        { "{\"a\":{\"a\":1},\"b\":{\"a\":2}}", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena;
        Value value;
        Error err;
        arena_init(&arena, SIZE_MAX);
        Status status = json_parse_strict(&arena, str_of(cases[i].text), &value, &err);
        EXPECT(status == (cases[i].twice ? ERR_INVALID : OK));
        if (status) EXPECT_STR(arena_format(&arena, "line %u, column %u: %s", err.line, err.column, err.text), str_of(cases[i].twice));
        EXPECT_OK(json_parse(&arena, str_of(cases[i].text), &value, &err), &err);
        arena_deinit(&arena);
    }
}

TEST(pretty_texts_have_a_line_for_each_member, "")
{
    static const struct { const char *text, *want; } cases[] = {
        { "{}", "{}" },
        { "[]", "[]" },
        { "[1]", "[\n  1\n]" },
        { "{\"b\":[1,{}],\"a\":{\"x\":[]},\"c\":null}",
          "{\n  \"a\": {\n    \"x\": []\n  },\n  \"b\": [\n    1,\n    {}\n  ],\n  \"c\": null\n}" },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        Value value;
        Error err = { 0 };
        EXPECT_OK(json_parse(&arena, str_of(cases[i].text), &value, &err), &err);
        EXPECT_STR(print(&arena, value, JSON_PRETTY), str_of(cases[i].want));
    }
    arena_deinit(&arena);
}

TEST(every_byte_of_a_string_is_printed_so_that_it_can_be_read, "")
{
    for (unsigned byte = 0; byte < 128; byte++) {
        for (unsigned before = 0; before < 10; before++) {      /* in each place of the eight that are looked at together */
            char raw[32];
            memset(raw, 'x', sizeof raw);
            raw[before] = (char)byte;
            Arena arena;
            arena_init(&arena, SIZE_MAX);
            Value value = value_null();
            Error err = { 0 };
            Str text = print(&arena, value_string((Str){ raw, 12 }), JSON_COMPACT);
            EXPECT_OK(json_parse(&arena, text, &value, &err), &err);
            EXPECT_STR(value_text(value), ((Str){ raw, 12 }));
            bool is_escaped = byte < 0x20 || byte == '"' || byte == '\\';
            EXPECT_INT(text.len == 14, !is_escaped);
            arena_deinit(&arena);
        }
    }
}

TEST(random_values_are_printed_and_read_again_as_they_were, "")
{
    Random random = { 91 };
    for (unsigned round = 0; round < 3000; round++) {
        Arena arena;
        arena_init(&arena, SIZE_MAX);
        Value value = random_value(&random, &arena, RANDOM_JSON, 4);
        for (unsigned style = JSON_COMPACT; style <= JSON_PRETTY; style++) {
            Str text = print(&arena, value, (JsonStyle)style);
            Value again = value_null();
            Error err = { 0 };
            EXPECT_OK(json_parse(&arena, text, &again, &err), &err);
            EXPECT(value_equals(value, again));
            EXPECT_STR(print(&arena, again, (JsonStyle)style), text);      /* numbers as they were written */
            EXPECT_INT(utf8_valid_size(text), text.len);
            if (round % 50 == 0) expect_same_in_pieces(text, NULL);
        }
        arena_deinit(&arena);
    }
}

TEST(what_json_cannot_express_is_not_printed, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value items[] = { value_int(1) };
    Value set = value_set(&arena, items, 1);
    Member *members = ARENA_ARRAY(&arena, Member, 2);
    members[0] = (Member){ value_string(STR("a")), value_int(1) };
    members[1] = (Member){ set, value_int(2) };
    const struct { const char *name; Value value; const char *reason; } cases[] = {
        { "a set", set, "a set cannot be written as JSON" },
        { "a set inside", value_array(&set, 1), "a set cannot be written as JSON" },
        { "a key that is a set", value_object(&arena, members, 2), "an object key of type set cannot be written as JSON" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        char storage[100];
        Buf text = buf_on(storage, sizeof storage);
        Error err = { 0 };
        EXPECT_INT(json_print(&text, cases[i].value, JSON_PRETTY, &err), ERR_INVALID);
        EXPECT_STR(str_of(err.text), str_of(cases[i].reason));
    }
    arena_deinit(&arena);
}

TEST(a_value_too_deep_or_too_large_is_not_printed, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (unsigned objects = 0; objects < 2; objects++) {
        Value value = objects ? value_object(&arena, NULL, 0) : value_array(NULL, 0);
        for (uint32_t depth = 1; depth <= JSON_DEPTH_MAX + 1; depth++) {       /* `value` has that many levels */
            Buf text;
            buf_init(&text, 1u << 20);
            Error err = { 0 };
            EXPECT_INT(json_print(&text, value, JSON_COMPACT, &err), depth <= JSON_DEPTH_MAX ? OK : ERR_LIMIT);
            if (depth > JSON_DEPTH_MAX)
                EXPECT_STR(str_of(err.text), STR("a value nests deeper than JSON_DEPTH_MAX, 512 levels"));
            buf_deinit(&text);
            Value *inner = ARENA_NEW(&arena, Value);
            Member *member = ARENA_NEW(&arena, Member);
            *inner = value;
            *member = (Member){ value_string(STR("a")), value };
            value = objects ? value_object(&arena, member, 1) : value_array(inner, 1);
        }
    }
    char storage[8];
    Value value = value_string(STR("1234567"));
    for (size_t size = 0; size <= sizeof storage; size++) {
        Buf text = buf_on(storage, size);
        Error err = { 0 };
        EXPECT_INT(json_print(&text, value, JSON_COMPACT, &err), ERR_LIMIT);
        EXPECT(strstr(err.text, "a JSON text exceeds") != NULL);
    }
    arena_deinit(&arena);
}

/* --- the published cases ----------------------------------------------------------------------------------------- */

/* Where RFC 8259 leaves the choice; README.md gives the reasons. Whatever is not named here is refused. */
static const char *const accepted_by_choice[] = {
    "i_number_double_huge_neg_exp.json", "i_number_neg_int_huge_exp.json",  "i_number_pos_double_huge_exp.json",
    "i_number_too_big_neg_int.json",     "i_number_too_big_pos_int.json",   "i_number_very_big_negative_int.json",
    "i_structure_500_nested_arrays.json",
};

static bool is_accepted_by_choice(const char *name)
{
    for (size_t i = 0; i < sizeof accepted_by_choice / sizeof *accepted_by_choice; i++)
        if (strcmp(accepted_by_choice[i], name) == 0) return true;
    return false;
}

static int is_case(const struct dirent *entry)
{
    return strchr("yni", entry->d_name[0]) && entry->d_name[1] == '_' && str_ends(str_of(entry->d_name), STR(".json"));
}

/* Calls `run` for each file of the suite and returns how many there were of each letter. */
static bool each_case(void (*run)(const char *name, Str text), unsigned counts[256])
{
    const char *folder = test_shared_dir("json-cases");
    if (!folder) return false;
    char path[4096], base[4096];
    snprintf(base, sizeof base, "%s", folder);
    struct dirent **entries = NULL;
    int count = scandir(base, &entries, is_case, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%.3800s/%s", base, entries[i]->d_name);
        ROW(entries[i]->d_name);
        run(entries[i]->d_name, test_read_file(path));
        counts[(unsigned char)entries[i]->d_name[0]]++;
        free(entries[i]);
    }
    free(entries);
    return true;
}

static void run_decision(const char *name, Str text)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value value;
    Error err = { 0 };
    Status status = json_parse(&arena, text, &value, &err);
    bool is_accepted = name[0] == 'y' || is_accepted_by_choice(name);
    test_expect((status == OK) == is_accepted, __FILE__, __LINE__, "%s: %s", status_name(status), err.text);
    if (status) EXPECT(err.line >= 1 && err.column >= 1 && err.text[0]);
    else EXPECT(print(&arena, value, JSON_COMPACT).len > 0);
    arena_deinit(&arena);
}

static void run_in_pieces(const char *name, Str text)
{
    (void)name;
    expect_same_in_pieces(text, NULL);
}

TEST(each_published_case_is_decided_as_it_says, "")
{
    unsigned counts[256] = { 0 };
    if (!each_case(run_decision, counts)) NOT_RUN("json-cases is not on this machine");
    EXPECT_INT(counts['y'], 95);
    EXPECT_INT(counts['n'], 188);
    EXPECT_INT(counts['i'], 35);
}

TEST(each_published_case_comes_out_the_same_however_it_is_cut, "")
{
    unsigned counts[256] = { 0 };
    if (!each_case(run_in_pieces, counts)) NOT_RUN("json-cases is not on this machine");
    EXPECT_INT(counts['y'] + counts['n'] + counts['i'], 318);
}
