#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "value/json.h"
#include "value/json_scan.h"
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

/* Tells the sink of a token and steps over it. No token spans lines. */
static Status emit(JsonReader *reader, JsonToken token, Str text, uint32_t width, Error *err)
{
    JsonEvent event = { token, text, reader->line, reader->column, width, reader->token_offset };
    reader->column += width;
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

/* A byte order mark may be cut anywhere, so the hint rests on its first byte alone. */
static const char *unexpected_hint(const JsonReader *reader, char c)
{
    bool may_be_mark = c == '\xef' || c == '\xfe' || c == '\xff';
    return reader->token_offset == 0 && may_be_mark ? ", perhaps a byte order mark, which JSON does not allow" : "";
}

static Status unexpected(const JsonReader *reader, char c, Error *err)
{
    const char *wanted = expectations[reader->expect];
    if (c > ' ' && c < 127)
        return error_at(err, ERR_INVALID, reader->line, reader->column, "expected %s, found '%c'", wanted, c);
    return error_at(err, ERR_INVALID, reader->line, reader->column, "expected %s, found byte 0x%02x%s", wanted,
                    (unsigned char)c, unexpected_hint(reader, c));
}

static Status open_container(JsonReader *reader, bool is_object, Error *err)
{
    if (reader->depth == reader->options.depth_max)
        return error_at(err, ERR_LIMIT, reader->line, reader->column, "arrays and objects nest deeper than %s%u levels",
                        reader->options.depth_max == JSON_DEPTH_MAX ? "JSON_DEPTH_MAX, " : "", reader->options.depth_max);
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
    if (!may_end || !reader->depth || in_object(reader) != is_object)
        return unexpected(reader, is_object ? '}' : ']', err);
    Status status = emit(reader, is_object ? JSON_OBJECT_END : JSON_ARRAY_END, STR(""), 1, err);
    reader->depth--;
    expect_after_value(reader);
    return status;
}

static Status string_error(const JsonReader *reader, Str raw, size_t at, const char *what, Error *err)
{
    uint32_t column = reader->column + 1 + (uint32_t)utf8_count(str_slice(raw, 0, at));
    return error_at(err, ERR_INVALID, reader->line, column, "%s", what);
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
    if (c != 'u') return string_error(reader, raw, *at, "there is no such escape in JSON", err);
    int unit = hex4(raw, *at + 1);
    if (unit < 0) return string_error(reader, raw, *at, "\\u needs four hexadecimal digits", err);
    size_t begin = *at;
    *at += 5;
    uint32_t point = (uint32_t)unit;
    if (unit >= 0xd800 && unit <= 0xdfff) {
        bool paired = unit < 0xdc00 && raw.len - *at >= 6 && raw.ptr[*at] == '\\' && raw.ptr[*at + 1] == 'u';
        int low = paired ? hex4(raw, *at + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return string_error(reader, raw, begin, "a surrogate without its partner is no character", err);
        point = 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
        *at += 6;
    }
    char bytes[4];
    buf_bytes(&reader->decoded, bytes, utf8_encode(point, bytes));
    return OK;
}

/* Replaces the escapes of what stands between the quotes. */
static Status decode_string(JsonReader *reader, Str raw, Error *err)
{
    buf_clear(&reader->decoded);
    for (size_t at = 0; at < raw.len;) {
        size_t from = at;
        at = json_plain_end(raw, at, &reader->bits);
        buf_bytes(&reader->decoded, raw.ptr + from, at - from);
        if (at == raw.len) break;
        if (raw.ptr[at] != '\\')
            return string_error(reader, raw, at, "a control character in a string must be escaped", err);
        at++;
        Status status = decode_escape(reader, raw, &at, err);
        if (status) return status;
    }
    return OK;
}

/* Checks and decodes what stands between the quotes. The first mistake is reported, so escapes are looked at up to the
 * first byte that is not UTF-8. */
static Status finish_string(JsonReader *reader, Str raw, Error *err)
{
    bool is_ascii = !(reader->bits & JSON_SCAN_HIGH);
    size_t valid = is_ascii ? raw.len : utf8_valid_size(raw);
    Status status = reader->has_special ? decode_string(reader, str_slice(raw, 0, valid), err) : OK;
    if (status) return status;
    if (valid < raw.len) return string_error(reader, raw, valid, "the text is not UTF-8 here", err);

    Str text = reader->has_special ? buf_peek(&reader->decoded) : raw;
    uint32_t width = (uint32_t)(is_ascii ? raw.len : utf8_count(raw)) + 2;
    status = emit(reader, reader->is_key ? JSON_KEY : JSON_STRING, text, width, err);
    if (reader->is_key) reader->expect = EXPECT_COLON;
    else expect_after_value(reader);
    return status;
}

static Status finish_number(JsonReader *reader, Str text, Error *err)
{
    Error wrong;
    Status status = number_check(text, &wrong);
    if (status)
        return error_at(err, status, reader->line, reader->column + wrong.column - 1, "%s", wrong.text);
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
        expect_after_value(reader);
        return emit(reader, words[i].token, STR(""), (uint32_t)text.len, err);
    }
    if (text.len > 40) text.len = 40;
    return error_at(err, ERR_INVALID, reader->line, reader->column,
                    "'%.*s' is no JSON value; texts need double quotes", STR_ARG(text));
}

/* --- characters -------------------------------------------------------------------------------------------------- */

static bool is_number_char(char c)
{
    return ascii_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The closing quote at or after `at`, or piece.len. */
static size_t string_end(JsonReader *reader, Str piece, size_t at)
{
    while (at < piece.len) {
        if (reader->escaped) at++;              /* whatever it is: it is looked at when the escape is decoded */
        reader->escaped = false;
        at = json_plain_end(piece, at, &reader->bits);
        if (at == piece.len || piece.ptr[at] == '"') return at;
        reader->has_special = true;
        reader->escaped = piece.ptr[at++] == '\\';
    }
    return at;
}

/* How far the token under way reaches into the piece. */
static size_t token_end(JsonReader *reader, Str piece, size_t at)
{
    if (reader->mode == MODE_STRING) return string_end(reader, piece, at);
    if (reader->mode == MODE_NUMBER) {
        while (at < piece.len && is_number_char(piece.ptr[at])) at++;
    } else {
        while (at < piece.len && ascii_is_alnum(piece.ptr[at])) at++;
    }
    return at;
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
    size_t end = token_end(reader, piece, *at);
    bool whole = end < piece.len;
    Str part = str_slice(piece, *at, end);
    bool is_string = reader->mode == MODE_STRING;
    *at = whole && is_string ? end + 1 : end;       /* a string's end is its quote, another's is what follows it */
    if (whole && !reader->cut.len) return finish_token(reader, part, err);      /* the usual case copies nothing */
    buf_str(&reader->cut, part);
    if (!whole) return OK;
    Status status = finish_token(reader, buf_peek(&reader->cut), err);
    buf_clear(&reader->cut);
    return status;
}

static Status punctuation(JsonReader *reader, char c, Error *err)
{
    switch (c) {
    case '[':
    case '{':
        if (reader->expect != EXPECT_VALUE && reader->expect != EXPECT_VALUE_OR_END) return unexpected(reader, c, err);
        return open_container(reader, c == '{', err);
    case ']':
    case '}':
        return close_container(reader, c == '}', err);
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
    return OK;
}

static void skip_space(JsonReader *reader, Str piece, size_t *at)
{
    for (; *at < piece.len; (*at)++) {
        char c = piece.ptr[*at];
        if (c == ' ' || c == '\t' || c == '\r') {
            reader->column++;
        } else if (c == '\n') {
            reader->line++;
            reader->column = 1;
        } else {
            return;
        }
    }
}

/* Steps to the next character that begins a token, or is one. */
static Status begin_token(JsonReader *reader, Str piece, size_t *at, Error *err)
{
    skip_space(reader, piece, at);
    if (*at == piece.len) return OK;
    char c = piece.ptr[*at];
    reader->token_offset = reader->offset + *at;
    bool wants_value = reader->expect == EXPECT_VALUE || reader->expect == EXPECT_VALUE_OR_END;
    bool wants_key = reader->expect == EXPECT_KEY || reader->expect == EXPECT_KEY_OR_END;
    if (c == '"' && (wants_value || wants_key)) {
        reader->mode = MODE_STRING;
        reader->is_key = wants_key;
        reader->has_special = false;
        reader->bits = 0;
        (*at)++;
        return OK;
    }
    if (wants_value && (ascii_is_alnum(c) || c == '-')) {
        reader->mode = ascii_is_alpha(c) ? MODE_WORD : MODE_NUMBER;
        return OK;
    }
    (*at)++;
    return punctuation(reader, c, err);
}

/* A text that is too long is read up to the limit: a mistake before it is reported first, however the text was cut. */
Status json_reader_feed(JsonReader *reader, Str piece, Error *err)
{
    uint64_t left = reader->options.size_max - reader->offset;
    bool is_too_long = piece.len > left;
    if (is_too_long) piece.len = (size_t)left;
    for (size_t at = 0; at < piece.len;) {
        Status status = reader->mode == MODE_BETWEEN ? begin_token(reader, piece, &at, err)
                                                     : continue_token(reader, piece, &at, err);
        if (status) return status;
    }
    reader->offset += piece.len;
    if (!is_too_long) return OK;
    return error_at(err, ERR_LIMIT, reader->line, reader->column, "the text exceeds %s%" PRIu64 " bytes",
                    reader->options.size_max == JSON_SIZE_MAX ? "JSON_SIZE_MAX, " : "", reader->options.size_max);
}

Status json_reader_end(JsonReader *reader, Error *err)
{
    if (reader->mode == MODE_STRING)
        return error_at(err, ERR_INVALID, reader->line, reader->column, "the string that begins here has no end");
    if (reader->mode != MODE_BETWEEN) {
        Status status = finish_token(reader, buf_peek(&reader->cut), err);
        if (status) return status;
    }
    if (reader->expect == EXPECT_NOTHING) return OK;
    return error_at(err, ERR_INVALID, reader->line, reader->column, "the text ends where %s was expected",
                    expectations[reader->expect]);
}
