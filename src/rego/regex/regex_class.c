/* Which characters: bracket expressions, named classes and escapes. */
#include "base/str.h"
#include "base/utf8.h"
#include "rego/regex/regex_parser.h"
#include "rego/regex/unicode.h"

typedef struct NamedClass {
    const char *name;
    CharRange ranges[4];
    uint8_t range_count;
} NamedClass;

static const NamedClass posix_classes[] = {
    { "alnum", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } }, 3 },
    { "alpha", { { 'A', 'Z' }, { 'a', 'z' } }, 2 },
    { "ascii", { { 0, 0x7f } }, 1 },
    { "blank", { { '\t', '\t' }, { ' ', ' ' } }, 2 },
    { "cntrl", { { 0, 0x1f }, { 0x7f, 0x7f } }, 2 },
    { "digit", { { '0', '9' } }, 1 },
    { "graph", { { '!', '~' } }, 1 },
    { "lower", { { 'a', 'z' } }, 1 },
    { "print", { { ' ', '~' } }, 1 },
    { "punct", { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } }, 4 },
    { "space", { { '\t', '\r' }, { ' ', ' ' } }, 2 },
    { "upper", { { 'A', 'Z' } }, 1 },
    { "word", { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } }, 4 },
    { "xdigit", { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } }, 3 },
};

static const NamedClass perl_classes[] = {
    { "d", { { '0', '9' } }, 1 },
    { "s", { { '\t', '\n' }, { '\f', '\r' }, { ' ', ' ' } }, 3 },
    { "w", { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } }, 4 },
};

static const NamedClass *class_named(const NamedClass *classes, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_text(name, classes[i].name)) return &classes[i];
    return NULL;
}

/* Adds a class to the set, or all that is not in it. Case is folded before negating: (?i)\P{Lu} excludes small letters. */
static void set_add_class(Parser *parser, Charset *set, Charset *class, bool negated)
{
    if (parser->flags & FLAG_FOLD) charset_fold(class);
    else charset_normalise(class);
    if (negated) charset_negate(class);
    charset_add_set(set, class);
}

static void set_add_named(Parser *parser, Charset *set, const NamedClass *named, bool negated)
{
    Charset class = { .arena = parser->arena };
    for (uint8_t i = 0; i < named->range_count; i++) charset_add(&class, named->ranges[i].low, named->ranges[i].high);
    set_add_class(parser, set, &class, negated);
}

/* --- \p{...} ------------------------------------------------------------------------------------------------------ */

static bool unicode_named(Str name, Charset *class)
{
    UnicodeClass found;
    if (!unicode_class_find(name, &found)) return false;
    uint32_t low, high;
    while (unicode_class_next(&found, &low, &high)) charset_add(class, low, high);
    return true;
}

/* At "\p" or "\P": a letter, or a name in braces. */
static bool parse_unicode_class(Parser *parser, Charset *set)
{
    Str whole = parser_rest(parser);
    bool negated = whole.ptr[1] == 'P';
    parser->at += 2;
    if (parser_done(parser)) return parser_fail(parser, "invalid character class range", whole);
    size_t name_from = parser->at;
    Str name;
    if (parser_take(parser) != '{') {
        name = str_slice(parser->text, name_from, parser->at);
    } else {
        size_t close = str_find(parser->text, '}', parser->at);
        if (close == parser->text.len) return parser_fail(parser, "invalid character class range", whole);
        name = str_slice(parser->text, parser->at, close);
        parser->at = close + 1;
    }
    if (name.len > 0 && name.ptr[0] == '^') {
        negated = !negated;
        name = str_slice(name, 1, name.len);
    }
    Charset class = { .arena = parser->arena };
    if (name.len == 0 || !unicode_named(name, &class))
        return parser_fail(parser, "invalid character class range",
                           str_slice(whole, 0, whole.len - (parser->text.len - parser->at)));
    set_add_class(parser, set, &class, negated);
    return true;
}

/* --- escapes ------------------------------------------------------------------------------------------------------ */

/* Adds to the set; false without failing where the text begins otherwise. */
static bool add_escape(Parser *parser, Charset *set)
{
    Str rest = parser_rest(parser);
    if (rest.len < 2 || rest.ptr[0] != '\\') return false;
    if (rest.ptr[1] == 'p' || rest.ptr[1] == 'P') return parse_unicode_class(parser, set);
    char lower = ascii_to_lower(rest.ptr[1]);
    const NamedClass *named = class_named(perl_classes, sizeof perl_classes / sizeof perl_classes[0], (Str){ &lower, 1 });
    if (!named) return false;
    parser->at += 2;
    set_add_named(parser, set, named, rest.ptr[1] != lower);
    return true;
}

bool class_parse_escape(Parser *parser, Charset *out_set)
{
    *out_set = (Charset){ .arena = parser->arena };
    return add_escape(parser, out_set);
}

static int hex_digit(uint32_t c)
{
    if (c >= '0' && c <= '9') return (int)(c - '0');
    if (c >= 'a' && c <= 'f') return (int)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return (int)(c - 'A') + 10;
    return -1;
}

/* Behind "\x": two digits, or any number of them in braces. */
static bool parse_hex(Parser *parser, uint32_t *out_point)
{
    if (parser_done(parser)) return false;
    uint32_t c = parser_take(parser), point = 0;
    if (c != '{') {
        if (parser_done(parser)) return false;
        int high = hex_digit(c), low = hex_digit(parser_take(parser));
        if (high < 0 || low < 0) return false;
        *out_point = (uint32_t)(high * 16 + low);
        return true;
    }
    for (size_t digits = 0;; digits++) {
        if (parser_done(parser)) return false;
        c = parser_take(parser);
        if (c == '}') {
            *out_point = point;
            return digits > 0;
        }
        int digit = hex_digit(c);
        if (digit < 0) return false;
        point = point * 16 + (uint32_t)digit;
        if (point > UNICODE_POINT_MAX) return false;
    }
}

/* Up to three octal digits; a lone one but 0 would be a back-reference, which there are none of. */
static bool parse_octal(Parser *parser, uint32_t first, uint32_t *out_point)
{
    char next = parser_done(parser) ? 0 : parser->text.ptr[parser->at];
    if (first != '0' && (next < '0' || next > '7')) return false;
    uint32_t point = first - '0';
    for (int i = 1; i < 3 && !parser_done(parser); i++) {
        char c = parser->text.ptr[parser->at];
        if (c < '0' || c > '7') break;
        point = point * 8 + (uint32_t)(c - '0');
        parser->at++;
    }
    *out_point = point;
    return true;
}

bool class_parse_char_escape(Parser *parser, uint32_t *out_point)
{
    static const struct { char letter, meaning; } controls[] = {
        { 'a', '\a' }, { 'f', '\f' }, { 'n', '\n' }, { 'r', '\r' }, { 't', '\t' }, { 'v', '\v' },
    };
    size_t from = parser->at++;
    if (parser_done(parser)) return parser_fail(parser, "trailing backslash at end of expression", STR(""));
    uint32_t c = parser_take(parser);
    bool known = false;
    if (c >= '0' && c <= '7') {
        known = parse_octal(parser, c, out_point);
    } else if (c == 'x') {
        known = parse_hex(parser, out_point);
    } else if (c < 0x80 && !ascii_is_alnum((char)c)) {
        *out_point = c;
        known = true;
    } else {
        for (size_t i = 0; i < sizeof controls / sizeof controls[0]; i++) {
            if ((uint32_t)controls[i].letter != c) continue;
            *out_point = (uint32_t)controls[i].meaning;
            known = true;
        }
    }
    if (known) return true;
    return parser_fail(parser, "invalid escape sequence", str_slice(parser->text, from, parser->at));
}

/* --- [...] -------------------------------------------------------------------------------------------------------- */

/* [:alpha:] or [:^alpha:] inside brackets; false without failing where it is not closed and so means itself. */
static bool add_posix(Parser *parser, Charset *set)
{
    Str rest = parser_rest(parser);
    if (rest.len < 3 || rest.ptr[0] != '[' || rest.ptr[1] != ':') return false;
    for (size_t i = 2; i + 1 < rest.len; i++) {
        if (rest.ptr[i] != ':' || rest.ptr[i + 1] != ']') continue;
        bool negated = rest.ptr[2] == '^';
        Str name = str_slice(rest, negated ? 3 : 2, i);
        const NamedClass *named = class_named(posix_classes, sizeof posix_classes / sizeof posix_classes[0], name);
        if (!named) return parser_fail(parser, "invalid character class range", str_slice(rest, 0, i + 2));
        parser->at += i + 2;
        set_add_named(parser, set, named, negated);
        return true;
    }
    return false;
}

static bool parse_class_char(Parser *parser, Str whole, uint32_t *out_point)
{
    if (parser_done(parser)) return parser_fail(parser, "missing closing ]", whole);
    if (parser->text.ptr[parser->at] == '\\') return class_parse_char_escape(parser, out_point);
    *out_point = parser_take(parser);
    return true;
}

/* One character or a range of them. */
static bool add_range(Parser *parser, Str whole, Charset *set)
{
    size_t from = parser->at;
    uint32_t low, high;
    if (!parse_class_char(parser, whole, &low)) return false;
    high = low;
    Str rest = parser_rest(parser);
    if (rest.len >= 2 && rest.ptr[0] == '-' && rest.ptr[1] != ']') {
        parser->at++;
        if (!parse_class_char(parser, whole, &high)) return false;
        if (high < low)
            return parser_fail(parser, "invalid character class range", str_slice(parser->text, from, parser->at));
    }
    charset_add(set, low, high);
    return true;
}

bool class_parse_brackets(Parser *parser, Charset *out_set)
{
    Str whole = parser_rest(parser);
    Charset plain = { .arena = parser->arena };         /* characters as written: folded as a whole at the end */
    Charset classes = { .arena = parser->arena };       /* named classes, which were folded before any negation */
    parser->at++;
    bool negated = !parser_done(parser) && parser->text.ptr[parser->at] == '^';
    if (negated) parser->at++;
    for (bool first = true;; first = false) {
        if (!first && !parser_done(parser) && parser->text.ptr[parser->at] == ']') break;
        if (add_posix(parser, &classes) || add_escape(parser, &classes)) continue;
        if (parser->status) return false;
        if (!add_range(parser, whole, &plain)) return false;
    }
    parser->at++;
    if (parser->flags & FLAG_FOLD) charset_fold(&plain);
    charset_add_set(&plain, &classes);
    charset_normalise(&plain);
    if (negated) charset_negate(&plain);
    *out_set = plain;
    return true;
}
