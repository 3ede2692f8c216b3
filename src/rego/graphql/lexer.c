#include "rego/graphql/lexer.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"

const char *gql_token_kind_name(GqlTokenKind kind)
{
    static const char *const names[] = {
        [GQL_TOKEN_INVALID] = "<Invalid>", [GQL_TOKEN_END] = "<EOF>",          [GQL_TOKEN_BANG] = "!",
        [GQL_TOKEN_DOLLAR] = "$",          [GQL_TOKEN_AMP] = "&",              [GQL_TOKEN_PAREN_OPEN] = "(",
        [GQL_TOKEN_PAREN_CLOSE] = ")",     [GQL_TOKEN_SPREAD] = "...",         [GQL_TOKEN_COLON] = ":",
        [GQL_TOKEN_EQUALS] = "=",          [GQL_TOKEN_AT] = "@",               [GQL_TOKEN_BRACKET_OPEN] = "[",
        [GQL_TOKEN_BRACKET_CLOSE] = "]",   [GQL_TOKEN_BRACE_OPEN] = "{",       [GQL_TOKEN_BRACE_CLOSE] = "}",
        [GQL_TOKEN_PIPE] = "|",            [GQL_TOKEN_NAME] = "Name",          [GQL_TOKEN_INT] = "Int",
        [GQL_TOKEN_FLOAT] = "Float",       [GQL_TOKEN_STRING] = "String",      [GQL_TOKEN_BLOCK] = "BlockString",
        [GQL_TOKEN_COMMENT] = "Comment",
    };
    return names[kind];
}

static const struct { char c; GqlTokenKind kind; } punctuation[] = {
    { '!', GQL_TOKEN_BANG },        { '$', GQL_TOKEN_DOLLAR },        { '&', GQL_TOKEN_AMP },
    { '(', GQL_TOKEN_PAREN_OPEN },  { ')', GQL_TOKEN_PAREN_CLOSE },   { ':', GQL_TOKEN_COLON },
    { '=', GQL_TOKEN_EQUALS },      { '@', GQL_TOKEN_AT },            { '[', GQL_TOKEN_BRACKET_OPEN },
    { ']', GQL_TOKEN_BRACKET_CLOSE }, { '{', GQL_TOKEN_BRACE_OPEN },  { '}', GQL_TOKEN_BRACE_CLOSE },
    { '|', GQL_TOKEN_PIPE },
};

static char peek(const GqlLexer *lexer, size_t ahead)
{
    return lexer->at + ahead < lexer->text.len ? lexer->text.ptr[lexer->at + ahead] : '\0';
}

static bool is_over(const GqlLexer *lexer) { return lexer->at >= lexer->text.len; }
static Str rest(const GqlLexer *lexer) { return str_slice(lexer->text, lexer->at, lexer->text.len); }

/* Over characters of one byte. */
static void advance(GqlLexer *lexer, size_t count)
{
    lexer->at += count;
    lexer->end += (int32_t)count;
}

/* Over one character of any size; what is no UTF-8 counts byte by byte. */
static Str advance_char(GqlLexer *lexer)
{
    uint32_t point;
    size_t size = utf8_decode(rest(lexer), &point);
    Str text = size ? str_slice(rest(lexer), 0, size) : STR("\xef\xbf\xbd");
    lexer->at += size ? size : 1;
    lexer->end++;
    return text;
}

static void new_line(GqlLexer *lexer)
{
    lexer->line++;
    lexer->line_start = lexer->end;
}

static GqlToken token_make(const GqlLexer *lexer, GqlTokenKind kind, Str value)
{
    return (GqlToken){ kind, value, { lexer->line, lexer->start - lexer->line_start + 1 } };
}

static GqlToken token_refuse(const GqlLexer *lexer, const char *format, Str detail)
{
    Str reason = arena_format(lexer->arena, format, STR_ARG(detail));
    return (GqlToken){ GQL_TOKEN_INVALID, reason, { lexer->line, lexer->end - lexer->line_start + 1 } };
}

static void skip_ignored(GqlLexer *lexer)
{
    while (!is_over(lexer)) {
        char c = peek(lexer, 0);
        if (c == '\t' || c == ' ' || c == ',') {
            advance(lexer, 1);
        } else if (c == '\n' || c == '\r') {
            advance(lexer, 1);
            new_line(lexer);
            if (c == '\r' && peek(lexer, 0) == '\n') advance(lexer, 1);
        } else if (str_starts(rest(lexer), STR("\xef\xbb\xbf"))) {
            lexer->at += 3;                     /* a byte order mark */
            lexer->end++;
        } else {
            return;
        }
    }
}

static GqlToken read_comment(GqlLexer *lexer, size_t from)
{
    while (!is_over(lexer) && ((unsigned char)peek(lexer, 0) > 0x1f || peek(lexer, 0) == '\t')) advance_char(lexer);
    return token_make(lexer, GQL_TOKEN_COMMENT, str_slice(lexer->text, from, lexer->at));
}

static GqlToken read_name(GqlLexer *lexer, size_t from)
{
    while (ascii_is_alnum(peek(lexer, 0)) || peek(lexer, 0) == '_') advance(lexer, 1);
    return token_make(lexer, GQL_TOKEN_NAME, str_slice(lexer->text, from, lexer->at));
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static size_t accept_digits(GqlLexer *lexer)
{
    size_t count = 0;
    while (ascii_is_digit(peek(lexer, count))) count++;
    advance(lexer, count);
    return count;
}

static Str describe_next(GqlLexer *lexer)
{
    return is_over(lexer) ? STR("<EOF>") : arena_format(lexer->arena, "\"%c\"", peek(lexer, 0));
}

static GqlToken read_number(GqlLexer *lexer, size_t from)
{
    static const char wanted[] = "Invalid number, expected digit but got: %.*s.";
    bool is_float = false;
    if (peek(lexer, 0) == '-') advance(lexer, 1);
    if (peek(lexer, 0) == '0') {
        advance(lexer, 1);
        if (ascii_is_digit(peek(lexer, 0)))
            return token_refuse(lexer, "Invalid number, unexpected digit after 0: %.*s.", describe_next(lexer));
    } else if (!accept_digits(lexer)) {
        return token_refuse(lexer, wanted, describe_next(lexer));
    }
    if (peek(lexer, 0) == '.') {
        is_float = true;
        advance(lexer, 1);
        if (!accept_digits(lexer)) return token_refuse(lexer, wanted, describe_next(lexer));
    }
    if (peek(lexer, 0) == 'e' || peek(lexer, 0) == 'E') {
        is_float = true;
        advance(lexer, 1);
        if (peek(lexer, 0) == '-' || peek(lexer, 0) == '+') advance(lexer, 1);
        if (!accept_digits(lexer)) return token_refuse(lexer, wanted, describe_next(lexer));
    }
    return token_make(lexer, is_float ? GQL_TOKEN_FLOAT : GQL_TOKEN_INT, str_slice(lexer->text, from, lexer->at));
}

/* --- strings ------------------------------------------------------------------------------------------------------ */

static int hex_of(char c)
{
    if (ascii_is_digit(c)) return c - '0';
    char lower = ascii_to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* At a backslash: writes what it stands for; false where it stands for nothing. */
static bool read_escape(GqlLexer *lexer, Buf *buf)
{
    static const struct { char letter, meaning; } escapes[] = {
        { '"', '"' }, { '/', '/' }, { '\\', '\\' }, { 'b', '\b' }, { 'f', '\f' }, { 'n', '\n' }, { 'r', '\r' }, { 't', '\t' },
    };
    char letter = peek(lexer, 1);
    if (letter == 'u') {
        uint32_t point = 0;
        for (size_t i = 2; i < 6; i++) {
            int digit = hex_of(peek(lexer, i));
            if (digit < 0 || lexer->at + 6 >= lexer->text.len) return false;
            point = point << 4 | (uint32_t)digit;
        }
        if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
        char bytes[4];
        buf_bytes(buf, bytes, utf8_encode(point, bytes));
        advance(lexer, 6);
        return true;
    }
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (escapes[i].letter != letter) continue;
        buf_char(buf, escapes[i].meaning);
        advance(lexer, 2);
        return true;
    }
    return false;
}

static GqlToken refuse_control(const GqlLexer *lexer)
{
    char code[8];
    snprintf(code, sizeof code, "%04x", (unsigned char)peek(lexer, 0));
    return token_refuse(lexer, "Invalid character within String: \"\\u%.*s\".", str_of(code));
}

/* Behind the opening quote. Places of strings count from their first character, not from the quote. */
static GqlToken read_string(GqlLexer *lexer, Buf *buf)
{
    lexer->start++;
    while (!is_over(lexer)) {
        char c = peek(lexer, 0);
        if (c == '\n' || c == '\r') break;
        if ((unsigned char)c < 0x20 && c != '\t') return refuse_control(lexer);
        if (c == '"') {
            GqlToken token = token_make(lexer, GQL_TOKEN_STRING, arena_copy(lexer->arena, buf_peek(buf)));
            advance(lexer, 1);
            return token;
        }
        if (c != '\\') {
            buf_str(buf, advance_char(lexer));
        } else if (!read_escape(lexer, buf)) {
            advance(lexer, 1);
            return token_refuse(lexer, "Invalid character escape sequence: \\%.*s.", str_slice(rest(lexer), 0, 1));
        }
    }
    return token_refuse(lexer, "Unterminated string.%.*s", STR(""));
}

/* Where a line's first character stands that is no white space; SIZE_MAX where there is none. */
static size_t indent_of(Str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t') return i;
    return SIZE_MAX;
}

static Str line_at(Str text, size_t from, size_t *out_next)
{
    size_t end = str_find(text, '\n', from);
    *out_next = end + 1;
    return str_slice(text, from, end);
}

/* The text without the indentation that its lines share, and without empty lines at both ends. */
static Str block_value(Arena *arena, Str raw)
{
    size_t indent = SIZE_MAX, next;
    for (size_t at = 0; at <= raw.len; at = next) {
        size_t own = indent_of(line_at(raw, at, &next));
        if (own < indent) indent = own;
    }
    char *text = arena_bytes(arena, raw.len + 1);
    Buf buf = buf_on(text, raw.len + 1);
    size_t kept = 0;                    /* up to the last line that is not empty */
    bool begun = false;
    for (size_t at = 0; at <= raw.len; at = next) {
        Str line = line_at(raw, at, &next);
        if (at > 0 && indent != SIZE_MAX) line = line.len < indent ? STR("") : str_slice(line, indent, line.len);
        bool is_empty = indent_of(line) == SIZE_MAX;
        if (!begun && is_empty) continue;
        if (begun) buf_char(&buf, '\n');
        buf_str(&buf, line);
        begun = true;
        if (!is_empty) kept = buf.len;
    }
    return (Str){ text, kept };
}

/* Behind the three opening quotes. */
static GqlToken read_block(GqlLexer *lexer, Buf *buf)
{
    lexer->start += 3;
    advance(lexer, 2);
    while (!is_over(lexer)) {
        char c = peek(lexer, 0);
        size_t quotes = 0;
        while (peek(lexer, quotes) == '"') quotes++;
        if (quotes >= 3) {
            buf_repeat(buf, '"', quotes - 3);
            GqlToken token = token_make(lexer, GQL_TOKEN_BLOCK, block_value(lexer->arena, buf_peek(buf)));
            advance(lexer, quotes);
            return token;
        }
        if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r') return refuse_control(lexer);
        if (str_starts(rest(lexer), STR("\\\"\"\""))) {
            buf_text(buf, "\"\"\"");
            advance(lexer, 4);
        } else if (c == '\n' || c == '\r') {
            advance(lexer, c == '\r' && peek(lexer, 1) == '\n' ? 2 : 1);
            buf_char(buf, '\n');
            new_line(lexer);
        } else {
            buf_str(buf, advance_char(lexer));
        }
    }
    return token_refuse(lexer, "Unterminated string.%.*s", STR(""));
}

static GqlToken read_quoted(GqlLexer *lexer)
{
    Buf buf;
    buf_init(&buf, lexer->text.len * 3 + 1);
    bool is_block = peek(lexer, 0) == '"' && peek(lexer, 1) == '"';
    GqlToken token = is_block ? read_block(lexer, &buf) : read_string(lexer, &buf);
    buf_deinit(&buf);
    return token;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static GqlToken refuse_char(const GqlLexer *lexer)
{
    char code[8], c = peek(lexer, 0);
    if ((unsigned char)c < 0x20) {
        snprintf(code, sizeof code, "%04x", (unsigned char)c);
        return token_refuse(lexer, "Cannot contain the invalid character \"\\u%.*s\"", str_of(code));
    }
    if (c == '\'')
        return token_refuse(lexer, "Unexpected single quote character ('), did you mean to use a double quote (\")?%.*s",
                            STR(""));
    size_t size = utf8_encode((unsigned char)c, code);      /* the byte as a character of Latin-1 */
    return token_refuse(lexer, "Cannot parse the unexpected character \"%.*s\".", (Str){ code, size });
}

GqlToken gql_lexer_next(GqlLexer *lexer)
{
    skip_ignored(lexer);
    lexer->start = lexer->end;
    size_t from = lexer->at;
    if (is_over(lexer)) return token_make(lexer, GQL_TOKEN_END, STR(""));
    char c = peek(lexer, 0);
    for (size_t i = 0; i < sizeof punctuation / sizeof punctuation[0]; i++) {
        if (punctuation[i].c != c) continue;
        advance(lexer, 1);
        return token_make(lexer, punctuation[i].kind, STR(""));
    }
    if (str_starts(rest(lexer), STR("..."))) {
        advance(lexer, 3);
        return token_make(lexer, GQL_TOKEN_SPREAD, STR(""));
    }
    if (ascii_is_alpha(c) || c == '_') return read_name(lexer, from);
    if (ascii_is_digit(c) || c == '-') return read_number(lexer, from);
    if (c != '#' && c != '"') return refuse_char(lexer);
    advance(lexer, 1);
    return c == '#' ? read_comment(lexer, from) : read_quoted(lexer);
}
