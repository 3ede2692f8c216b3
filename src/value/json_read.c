#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "value/json.h"
#include "value/number.h"

/* What may come next. */
enum {
    EXPECT_VALUE,               /* a value, nothing else */
    EXPECT_VALUE_OR_END,        /* just behind [ */
    EXPECT_KEY,                 /* behind a comma in an object */
    EXPECT_KEY_OR_END,          /* just behind { */
    EXPECT_COLON,
    EXPECT_COMMA_OR_END,
    EXPECT_NOTHING,             /* the text's value is whole */
};

enum { MODE_BETWEEN, MODE_STRING, MODE_NUMBER, MODE_WORD };

static const char *const expectations[] = {
    [EXPECT_VALUE] = "a value",
    [EXPECT_VALUE_OR_END] = "a value or ']'",
    [EXPECT_KEY] = "a member name in double quotes",
    [EXPECT_KEY_OR_END] = "a member name in double quotes or '}'",
    [EXPECT_COLON] = "':'",
    [EXPECT_COMMA_OR_END] = "',' or the end of the container",
    [EXPECT_NOTHING] = "nothing more",
};

void json_reader_init(JsonReader *reader, JsonSink sink, const JsonOptions *options)
{
    *reader = (JsonReader){ .sink = sink, .line = 1, .column = 1 };
    if (options) reader->options = *options;
    if (!reader->options.depth_max || reader->options.depth_max > JSON_DEPTH_MAX)
        reader->options.depth_max = JSON_DEPTH_MAX;
    if (!reader->options.size_max) reader->options.size_max = JSON_SIZE_MAX;
    buf_init(&reader->cut, reader->options.size_max);
    buf_init(&reader->decoded, reader->options.size_max);
}

void json_reader_deinit(JsonReader *reader)
{
    buf_deinit(&reader->cut);
    buf_deinit(&reader->decoded);
}

/* --- tokens ------------------------------------------------------------------------------------------------------ */

static Status emit(JsonReader *reader, JsonToken token, Str text, uint32_t width, Error *err)
{
    JsonEvent event = { token, text, reader->token_line, reader->token_column, width, reader->token_offset };
    return reader->sink.event(reader->sink.context, &event, err);
}

static bool in_object(const JsonReader *reader)
{
    uint32_t top = reader->depth - 1;
    return reader->is_object[top / 64] >> (top % 64) & 1;
}

static void expect_after_value(JsonReader *reader)
{
    reader->expect = reader->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static Status unexpected(const JsonReader *reader, char c, Error *err)
{
    const char *wanted = expectations[reader->expect];
    if (c > ' ' && c < 127)
        return error_at(err, ERR_INVALID, reader->line, reader->column, "expected %s, found '%c'", wanted, c);
    return error_at(err, ERR_INVALID, reader->line, reader->column, "expected %s, found byte 0x%02x", wanted,
                    (unsigned char)c);
}

static Status open_container(JsonReader *reader, bool is_object, Error *err)
{
    if (reader->depth == reader->options.depth_max)
        return error_at(err, ERR_LIMIT, reader->line, reader->column,
                        "arrays and objects nest deeper than JSON_DEPTH_MAX (%u)", reader->options.depth_max);
    uint64_t bit = UINT64_C(1) << (reader->depth % 64);
    if (is_object) reader->is_object[reader->depth / 64] |= bit;
    else reader->is_object[reader->depth / 64] &= ~bit;
    reader->depth++;
    reader->expect = is_object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return emit(reader, is_object ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN, STR(""), 1, err);
}

static Status close_container(JsonReader *reader, bool is_object, Error *err)
{
    bool may_end = reader->expect == EXPECT_COMMA_OR_END
                || reader->expect == (is_object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END);
    if (!may_end || !reader->depth || in_object(reader) != is_object) return unexpected(reader, is_object ? '}' : ']', err);
    Status status = emit(reader, is_object ? JSON_OBJECT_END : JSON_ARRAY_END, STR(""), 1, err);
    reader->depth--;
    expect_after_value(reader);
    return status;
}

static Status string_error(const JsonReader *reader, Str raw, size_t at, Status status, const char *what, Error *err)
{
    uint32_t column = reader->token_column + 1 + (uint32_t)utf8_count(str_slice(raw, 0, at));
    return error_at(err, status, reader->token_line, column, "%s", what);
}

static int hex4(Str raw, size_t at)
{
    if (raw.len - at < 4) return -1;
    int number = 0;
    for (size_t i = at; i < at + 4; i++) {
        char c = ascii_to_lower(raw.ptr[i]);
        if (ascii_is_digit(c)) number = number * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f') number = number * 16 + (c - 'a' + 10);
        else return -1;
    }
    return number;
}

/* Replaces the escape that begins at *at (behind its backslash) and steps over it. */
static Status decode_escape(JsonReader *reader, Str raw, size_t *at, Error *err)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = *at < raw.len ? raw.ptr[*at] : '\0';
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        buf_char(&reader->decoded, to[found - from]);
        (*at)++;
        return OK;
    }
    if (c != 'u') return string_error(reader, raw, *at, ERR_INVALID, "there is no such escape in JSON", err);
    int unit = hex4(raw, *at + 1);
    if (unit < 0) return string_error(reader, raw, *at, ERR_INVALID, "\\u needs four hexadecimal digits", err);
    size_t begin = *at;
    *at += 5;
    uint32_t point = (uint32_t)unit;
    if (unit >= 0xd800 && unit <= 0xdfff) {
        bool paired = unit < 0xdc00 && raw.len - *at >= 6 && raw.ptr[*at] == '\\' && raw.ptr[*at + 1] == 'u';
        int low = paired ? hex4(raw, *at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return string_error(reader, raw, begin, ERR_INVALID, "a surrogate without its partner is no character", err);
        point = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
        *at += 6;
    }
    char bytes[4];
    buf_bytes(&reader->decoded, bytes, utf8_encode(point, bytes));
    return OK;
}

/* Checks and decodes what stands between the quotes. */
static Status finish_string(JsonReader *reader, Str raw, Error *err)
{
    size_t valid = utf8_valid_size(raw);
    if (valid < raw.len) return string_error(reader, raw, valid, ERR_INVALID, "the text is not UTF-8 here", err);

    Str text = raw;
    size_t at = 0;
    while (at < raw.len && raw.ptr[at] != '\\' && (unsigned char)raw.ptr[at] >= 0x20) at++;
    if (at < raw.len) {
        buf_clear(&reader->decoded);
        buf_bytes(&reader->decoded, raw.ptr, at);
        while (at < raw.len) {
            size_t from = at;
            while (at < raw.len && raw.ptr[at] != '\\' && (unsigned char)raw.ptr[at] >= 0x20) at++;
            buf_bytes(&reader->decoded, raw.ptr + from, at - from);
            if (at == raw.len) break;
            if (raw.ptr[at] != '\\')
                return string_error(reader, raw, at, ERR_INVALID, "a control character in a string must be escaped", err);
            at++;
            Status status = decode_escape(reader, raw, &at, err);
            if (status) return status;
        }
        text = buf_peek(&reader->decoded);
    }

    uint32_t width = (uint32_t)utf8_count(raw) + 2;
    reader->column = reader->token_column + width;
    Status status = emit(reader, reader->is_key ? JSON_KEY : JSON_STRING, text, width, err);
    if (reader->is_key) reader->expect = EXPECT_COLON;
    else expect_after_value(reader);
    return status;
}

static Status finish_number(JsonReader *reader, Str text, Error *err)
{
    Error wrong;
    Status status = number_check(text, &wrong);
    if (status)
        return error_at(err, status, reader->token_line, reader->token_column + wrong.column - 1, "%s", wrong.text);
    reader->column += (uint32_t)text.len;
    expect_after_value(reader);
    return emit(reader, JSON_NUMBER, text, (uint32_t)text.len, err);
}

static Status finish_word(JsonReader *reader, Str text, Error *err)
{
    static const struct { Str word; JsonToken token; } words[] = {
        { STR_INIT("null"), JSON_NULL }, { STR_INIT("false"), JSON_FALSE }, { STR_INIT("true"), JSON_TRUE },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!str_is(words[i].word, text)) continue;
        reader->column += (uint32_t)text.len;
        expect_after_value(reader);
        return emit(reader, words[i].token, STR(""), (uint32_t)text.len, err);
    }
    if (text.len > 40) text.len = 40;
    return error_at(err, ERR_INVALID, reader->token_line, reader->token_column,
                    "'%.*s' is no JSON value; texts need double quotes", STR_ARG(text));
}

/* --- characters -------------------------------------------------------------------------------------------------- */

static bool is_number_char(char c)
{
    return ascii_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* How far the token under way reaches into the piece; *out_whole tells whether its end was seen. */
static size_t token_end(JsonReader *reader, Str piece, size_t at, bool *out_whole)
{
    size_t end = at;
    if (reader->mode == MODE_STRING) {
        for (; end < piece.len; end++) {
            char c = piece.ptr[end];
            if (reader->escaped) reader->escaped = false;
            else if (c == '\\') reader->escaped = true;
            else if (c == '"') break;
        }
    } else if (reader->mode == MODE_NUMBER) {
        while (end < piece.len && is_number_char(piece.ptr[end])) end++;
    } else {
        while (end < piece.len && ascii_is_alnum(piece.ptr[end])) end++;
    }
    *out_whole = end < piece.len;
    return end;
}

static Status finish_token(JsonReader *reader, Str text, Error *err)
{
    uint8_t mode = reader->mode;
    reader->mode = MODE_BETWEEN;
    if (mode == MODE_STRING) return finish_string(reader, text, err);
    if (mode == MODE_NUMBER) return finish_number(reader, text, err);
    return finish_word(reader, text, err);
}

/* Goes on with the token under way; moves *at behind what was read of it. */
static Status continue_token(JsonReader *reader, Str piece, size_t *at, Error *err)
{
    bool whole;
    size_t end = token_end(reader, piece, *at, &whole);
    Str part = str_slice(piece, *at, end);
    bool is_string = reader->mode == MODE_STRING;
    *at = whole && is_string ? end + 1 : end;       /* a string's end is its quote, another's is what follows it */
    if (!whole || reader->cut.len) {
        buf_str(&reader->cut, part);
        part = buf_peek(&reader->cut);
    }
    if (!whole) return OK;
    Status status = finish_token(reader, part, err);
    buf_clear(&reader->cut);
    return status;
}

static Status begin_value(JsonReader *reader, uint8_t mode, size_t *at)
{
    reader->mode = mode;
    if (mode == MODE_STRING) {
        reader->escaped = false;
        (*at)++;
    }
    return OK;
}

static Status punctuation(JsonReader *reader, char c, Error *err)
{
    Status status = OK;
    switch (c) {
    case '[':
    case '{':
        if (reader->expect != EXPECT_VALUE && reader->expect != EXPECT_VALUE_OR_END) return unexpected(reader, c, err);
        status = open_container(reader, c == '{', err);
        break;
    case ']':
    case '}':
        status = close_container(reader, c == '}', err);
        break;
    case ':':
        if (reader->expect != EXPECT_COLON) return unexpected(reader, c, err);
        reader->expect = EXPECT_VALUE;
        break;
    case ',':
        if (reader->expect != EXPECT_COMMA_OR_END) return unexpected(reader, c, err);
        reader->expect = in_object(reader) ? EXPECT_KEY : EXPECT_VALUE;
        break;
    default:
        return unexpected(reader, c, err);
    }
    reader->column++;
    return status;
}

/* One character between tokens, which may begin one. */
static Status step(JsonReader *reader, Str piece, size_t *at, Error *err)
{
    char c = piece.ptr[*at];
    if (c == '\n') {
        reader->line++;
        reader->column = 1;
        (*at)++;
        return OK;
    }
    if (c == ' ' || c == '\t' || c == '\r') {
        reader->column++;
        (*at)++;
        return OK;
    }
    reader->token_line = reader->line;
    reader->token_column = reader->column;
    reader->token_offset = reader->offset + *at;
    bool wants_value = reader->expect == EXPECT_VALUE || reader->expect == EXPECT_VALUE_OR_END;
    bool wants_key = reader->expect == EXPECT_KEY || reader->expect == EXPECT_KEY_OR_END;
    if (c == '"' && (wants_value || wants_key)) {
        reader->is_key = wants_key;
        return begin_value(reader, MODE_STRING, at);
    }
    if (wants_value && (ascii_is_digit(c) || c == '-')) return begin_value(reader, MODE_NUMBER, at);
    if (wants_value && ascii_is_alpha(c)) return begin_value(reader, MODE_WORD, at);
    Status status = punctuation(reader, c, err);
    (*at)++;
    return status;
}

Status json_reader_feed(JsonReader *reader, Str piece, Error *err)
{
    if (piece.len > reader->options.size_max || reader->offset > reader->options.size_max - piece.len)
        return error_at(err, ERR_LIMIT, reader->line, reader->column, "the text exceeds JSON_SIZE_MAX (%" PRIu64 " bytes)",
                        reader->options.size_max);
    if (reader->offset == 0 && reader->mode == MODE_BETWEEN && str_starts(piece, STR("\xef\xbb\xbf")))
        return error_at(err, ERR_INVALID, 1, 1, "the text begins with a byte order mark, which JSON does not allow");
    size_t at = 0;
    while (at < piece.len) {
        Status status = reader->mode == MODE_BETWEEN ? step(reader, piece, &at, err)
                                                     : continue_token(reader, piece, &at, err);
        if (status) return status;
    }
    reader->offset += piece.len;
    return OK;
}

Status json_reader_end(JsonReader *reader, Error *err)
{
    if (reader->mode == MODE_STRING)
        return error_at(err, ERR_INVALID, reader->token_line, reader->token_column, "the string that begins here has no end");
    if (reader->mode != MODE_BETWEEN) {
        Status status = finish_token(reader, buf_peek(&reader->cut), err);
        if (status) return status;
    }
    if (reader->expect == EXPECT_NOTHING) return OK;
    return error_at(err, ERR_INVALID, reader->line, reader->column, "the text ends where %s was expected",
                    expectations[reader->expect]);
}
