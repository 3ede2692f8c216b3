/* json_explain.c - why a text is no JSON, in the words of Go's decoder. Only texts that were refused come here. */
#include "base/limits.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/text.h"

typedef struct Explainer {
    Str text;
    size_t at;
    const char *why;                /* NULL: the text has ended too early */
} Explainer;

static void skip_space(Explainer *explainer)
{
    Str text = explainer->text;
    while (explainer->at < text.len && str_find(STR(" \t\r\n"), text.ptr[explainer->at], 0) < 4) explainer->at++;
}

static bool fail(Explainer *explainer, const char *why)
{
    explainer->why = explainer->at < explainer->text.len ? why : NULL;
    return false;
}

static bool expect(Explainer *explainer, char c, const char *why)
{
    if (explainer->at >= explainer->text.len || explainer->text.ptr[explainer->at] != c) return fail(explainer, why);
    explainer->at++;
    return true;
}

static bool is_hex(char c)
{
    char lower = ascii_to_lower(c);
    return ascii_is_digit(c) || (lower >= 'a' && lower <= 'f');
}

static bool read_string(Explainer *explainer)
{
    Str text = explainer->text;
    for (explainer->at++; explainer->at < text.len; explainer->at++) {
        char c = text.ptr[explainer->at];
        if ((unsigned char)c < 0x20) return fail(explainer, "in string literal");
        if (c == '"') {
            explainer->at++;
            return true;
        }
        if (c != '\\') continue;
        explainer->at++;
        char escape = explainer->at < text.len ? text.ptr[explainer->at] : '\0';
        if (escape != 'u') {
            if (str_find(STR("\"\\/bfnrt"), escape, 0) == 8) return fail(explainer, "in string escape code");
            continue;
        }
        for (int i = 0; i < 4; i++) {
            explainer->at++;
            if (explainer->at >= text.len || !is_hex(text.ptr[explainer->at]))
                return fail(explainer, "in \\u hexadecimal character escape");
        }
    }
    return fail(explainer, NULL);
}

static bool read_digits(Explainer *explainer, const char *why)
{
    size_t from = explainer->at;
    while (explainer->at < explainer->text.len && ascii_is_digit(explainer->text.ptr[explainer->at])) explainer->at++;
    return explainer->at > from || fail(explainer, why);
}

static char peek(const Explainer *explainer)
{
    return explainer->at < explainer->text.len ? explainer->text.ptr[explainer->at] : '\0';
}

static bool read_number(Explainer *explainer)
{
    bool is_negative = peek(explainer) == '-';
    explainer->at += is_negative;
    if (peek(explainer) == '0') explainer->at++;
    else if (!read_digits(explainer, "in numeric literal")) return false;
    if (peek(explainer) == '.') {
        explainer->at++;
        if (!read_digits(explainer, "after decimal point in numeric literal")) return false;
    }
    if (peek(explainer) == 'e' || peek(explainer) == 'E') {
        explainer->at++;
        if (peek(explainer) == '+' || peek(explainer) == '-') explainer->at++;
        if (!read_digits(explainer, "in exponent of numeric literal")) return false;
    }
    return true;
}

static bool read_word(Explainer *explainer)
{
    static const struct { const char *word, *why[4]; } words[] = {
        { "true", { "in literal true (expecting 'r')", "in literal true (expecting 'u')",
                    "in literal true (expecting 'e')" } },
        { "null", { "in literal null (expecting 'u')", "in literal null (expecting 'l')",
                    "in literal null (expecting 'l')" } },
        { "false", { "in literal false (expecting 'a')", "in literal false (expecting 'l')",
                     "in literal false (expecting 's')", "in literal false (expecting 'e')" } },
    };
    for (size_t i = 0; i < 3; i++) {
        if (peek(explainer) != words[i].word[0]) continue;
        explainer->at++;
        for (size_t j = 1; words[i].word[j]; j++)
            if (!expect(explainer, words[i].word[j], words[i].why[j - 1])) return false;
        return true;
    }
    return fail(explainer, "looking for beginning of value");
}

static bool read_value(Explainer *explainer, uint32_t depth);

static bool read_container(Explainer *explainer, bool is_object, uint32_t depth)
{
    char close = is_object ? '}' : ']';
    explainer->at++;
    skip_space(explainer);
    if (peek(explainer) == close) {
        explainer->at++;
        return true;
    }
    for (;;) {
        skip_space(explainer);
        if (is_object) {
            if (peek(explainer) != '"') return fail(explainer, "looking for beginning of object key string");
            if (!read_string(explainer)) return false;
            skip_space(explainer);
            if (!expect(explainer, ':', "after object key")) return false;
        }
        if (!read_value(explainer, depth + 1)) return false;
        skip_space(explainer);
        char c = peek(explainer);
        if (c != ',' && c != close)
            return fail(explainer, is_object ? "after object key:value pair" : "after array element");
        explainer->at++;
        if (c == close) return true;
    }
}

static bool read_value(Explainer *explainer, uint32_t depth)
{
    skip_space(explainer);
    char c = peek(explainer);
    if (depth > JSON_DEPTH_MAX) return true;            /* refused for another reason */
    if (c == '{' || c == '[') return read_container(explainer, c == '{', depth);
    if (c == '"') return read_string(explainer);
    if (c == '-' || ascii_is_digit(c)) return read_number(explainer);
    return read_word(explainer);
}

/* Something follows the value: the next token is named, or why there is none. True where it was named. */
static bool explain_rest(Explainer *explainer, Buf *buf)
{
    size_t from = explainer->at;
    char c = peek(explainer);
    Str token;
    if (c == '{' || c == '[') {
        token = str_slice(explainer->text, from, from + 1);
    } else {
        if (!read_value(explainer, 0)) return false;
        token = str_slice(explainer->text, from + (c == '"'), explainer->at - (c == '"'));
    }
    buf_text(buf, "error: invalid character '");
    buf_str(buf, token);
    buf_text(buf, "' after top-level value");
    return true;
}

bool json_explain(Buf *buf, Str text)
{
    Explainer explainer = { .text = text };
    skip_space(&explainer);
    if (explainer.at == text.len) {
        buf_text(buf, "EOF");
        return true;
    }
    if (read_value(&explainer, 0)) {
        skip_space(&explainer);
        if (explainer.at == text.len) return false;
        if (explain_rest(&explainer, buf)) return true;
    }
    if (!explainer.why) {
        buf_text(buf, "unexpected EOF");
        return true;
    }
    buf_text(buf, "invalid character ");
    rune_quote(buf, (unsigned char)text.ptr[explainer.at], false);
    buf_char(buf, ' ');
    buf_text(buf, explainer.why);
    return true;
}
