#include "value/pattern_read.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

#define REPEAT_MAX 65535u               /* the matching library counts no further */

/* WhiteSpace and LineTerminator of ECMA-262, and everything else. */
#define SPACE \
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NOT_SPACE \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" \
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
#define DIGIT "0-9"
#define NOT_DIGIT "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}"
#define WORD "0-9A-Z_a-z"
#define NOT_WORD "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}"
#define NOT_LINE_END "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]"

/* The sets that one letter stands for, as ranges: the library has escapes of the same names, but gives some of them
 * other members, and does not negate all of them rightly inside a class that holds a property too. */
static const struct { char letter; const char *ranges; } sets[] = {
    { 'd', DIGIT }, { 'D', NOT_DIGIT }, { 'w', WORD }, { 'W', NOT_WORD }, { 's', SPACE }, { 'S', NOT_SPACE },
};

/* The long names and aliases of general categories; the library knows the short ones. */
static const struct { const char *name, *category; } categories[] = {
    { "Letter", "L" },             { "Cased_Letter", "L&" },       { "LC", "L&" },
    { "Uppercase_Letter", "Lu" },  { "Lowercase_Letter", "Ll" },   { "Titlecase_Letter", "Lt" },
    { "Modifier_Letter", "Lm" },   { "Other_Letter", "Lo" },       { "Mark", "M" },
    { "Combining_Mark", "M" },     { "Nonspacing_Mark", "Mn" },    { "Spacing_Mark", "Mc" },
    { "Enclosing_Mark", "Me" },    { "Number", "N" },              { "Decimal_Number", "Nd" },
    { "digit", "Nd" },             { "Letter_Number", "Nl" },      { "Other_Number", "No" },
    { "Symbol", "S" },             { "Math_Symbol", "Sm" },        { "Currency_Symbol", "Sc" },
    { "Modifier_Symbol", "Sk" },   { "Other_Symbol", "So" },       { "Punctuation", "P" },
    { "punct", "P" },              { "Connector_Punctuation", "Pc" }, { "Dash_Punctuation", "Pd" },
    { "Open_Punctuation", "Ps" },  { "Close_Punctuation", "Pe" },  { "Initial_Punctuation", "Pi" },
    { "Final_Punctuation", "Pf" }, { "Other_Punctuation", "Po" },  { "Separator", "Z" },
    { "Space_Separator", "Zs" },   { "Line_Separator", "Zl" },     { "Paragraph_Separator", "Zp" },
    { "Other", "C" },              { "Control", "Cc" },            { "cntrl", "Cc" },
    { "Format", "Cf" },            { "Surrogate", "Cs" },          { "Private_Use", "Co" },
    { "Unassigned", "Cn" },
};

typedef struct Reader {
    Str text;
    size_t at;                          /* the next byte */
    size_t item_at;                     /* where the item under way begins */
    Buf *buf;
    PatternText *out;
    uint32_t group_count;               /* of the whole expression */
    uint32_t group_opened;              /* so far */
    uint32_t depth;
    bool is_assertion[PATTERN_DEPTH_MAX];
    bool can_repeat;                    /* a quantifier may follow */
    Error *err;
} Reader;

/* What a backslash and the following may stand for. */
typedef enum EscapeKind { ESCAPE_POINT, ESCAPE_SET, ESCAPE_BOUNDARY, ESCAPE_REFERENCE } EscapeKind;

typedef struct Escape {
    EscapeKind kind;
    uint32_t point;                     /* or the number of the group */
    const char *set;                    /* as it stands inside a class of the library */
    char property[64];                  /* where a set that is a property stands */
} Escape;

/* --- places and pieces ------------------------------------------------------------------------------------------- */

static Status refuse(const Reader *reader, size_t at, const char *what)
{
    return error_set(reader->err, ERR_INVALID, "%s at character %zu", what,
                     utf8_count(str_slice(reader->text, 0, at)) + 1);
}

static bool at_end(const Reader *reader) { return reader->at >= reader->text.len; }
static char peek(const Reader *reader) { return at_end(reader) ? '\0' : reader->text.ptr[reader->at]; }

static bool next_is(const Reader *reader, const char *text)
{
    return str_starts(str_slice(reader->text, reader->at, reader->text.len), str_of(text));
}

static bool take(Reader *reader, const char *text)
{
    if (!next_is(reader, text)) return false;
    reader->at += strlen(text);
    return true;
}

static uint32_t take_point(Reader *reader)
{
    uint32_t point = 0;
    size_t size = utf8_decode(str_slice(reader->text, reader->at, reader->text.len), &point);
    reader->at += size ? size : 1;
    return point;
}

/* Letters and digits as themselves, all else by number: nothing of it can be taken for syntax. */
static void write_point(Buf *buf, uint32_t point)
{
    if (point < 128 && ascii_is_alnum((char)point)) buf_char(buf, (char)point);
    else buf_format(buf, "\\x{%x}", point);
}

/* --- groups ------------------------------------------------------------------------------------------------------ */

static bool is_name_point(uint32_t point, bool is_first)
{
    if (point >= 128 || point == '_' || point == '$') return true;
    return is_first ? ascii_is_alpha((char)point) : ascii_is_alnum((char)point);
}

/* The name up to '>', which is taken too; empty where it is none. */
static Str take_name(Reader *reader)
{
    size_t from = reader->at;
    while (!at_end(reader) && peek(reader) != '>') {
        bool is_first = reader->at == from;
        if (!is_name_point(take_point(reader), is_first)) return STR("");
    }
    Str name = str_slice(reader->text, from, reader->at);
    return take(reader, ">") ? name : STR("");
}

/* Walks the expression from its start, counting groups that capture; stops at the one of that name, if a name is given.
 * Returns the number reached. Names are few and expressions short: no table is kept. */
static uint32_t count_groups(Str text, Str name, bool *out_found)
{
    uint32_t count = 0;
    bool in_class = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\\') i++;
        else if (c == '[') in_class = true;
        else if (c == ']') in_class = false;
        if (c != '(' || in_class) continue;
        Str rest = str_slice(text, i + 1, text.len);
        bool is_named = str_starts(rest, STR("?<")) && rest.len > 2 && rest.ptr[2] != '=' && rest.ptr[2] != '!';
        if (str_starts(rest, STR("?")) && !is_named) continue;
        count++;
        Str found = is_named ? str_slice(rest, 2, str_find(rest, '>', 2)) : STR("");
        if (name.len && str_is(found, name)) {
            *out_found = true;
            return count;
        }
    }
    *out_found = false;
    return count;
}

/* Whether \1 or \k occurs; else no group needs to capture, which saves the memory of captures at each choice. */
static bool has_reference(Str text)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] != '\\') continue;
        char c = text.ptr[++i];
        if (c == 'k' || (c >= '1' && c <= '9')) return true;
    }
    return false;
}

static Status open_capture(Reader *reader, Str name)
{
    reader->group_opened++;
    bool found;
    if (name.len && count_groups(reader->text, name, &found) != reader->group_opened)
        return refuse(reader, reader->item_at, "a group has the name of an earlier one");
    buf_text(reader->buf, reader->out->has_reference ? "(" : "(?:");
    return OK;
}

static Status read_open(Reader *reader)
{
    static const struct { const char *text; bool is_assertion; } openings[] = {
        { "?:", false }, { "?=", true }, { "?!", true }, { "?<=", true }, { "?<!", true },
    };
    reader->at++;
    if (reader->depth == PATTERN_DEPTH_MAX)
        return error_set(reader->err, ERR_LIMIT, "groups nest deeper than PATTERN_DEPTH_MAX (%u)", PATTERN_DEPTH_MAX);
    bool *is_assertion = &reader->is_assertion[reader->depth++];
    *is_assertion = false;
    reader->can_repeat = false;
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        if (!take(reader, openings[i].text)) continue;
        *is_assertion = openings[i].is_assertion;
        buf_char(reader->buf, '(');
        buf_text(reader->buf, openings[i].text);
        return OK;
    }
    Str name = STR("");
    if (take(reader, "?<")) {
        name = take_name(reader);
        if (name.len == 0) return refuse(reader, reader->item_at, "a group's name is not an identifier");
    } else if (next_is(reader, "?")) {
        return refuse(reader, reader->item_at, "there is no such kind of group");
    }
    return open_capture(reader, name);
}

static Status read_close(Reader *reader)
{
    reader->at++;
    if (reader->depth == 0) return refuse(reader, reader->item_at, "a closing parenthesis has no opening one");
    reader->can_repeat = !reader->is_assertion[--reader->depth];
    buf_char(reader->buf, ')');
    return OK;
}

/* --- quantifiers ------------------------------------------------------------------------------------------------- */

/* Decimal digits, held at one beyond the limit. */
static bool take_count(Reader *reader, uint32_t *out_count)
{
    size_t from = reader->at;
    uint32_t count = 0;
    while (ascii_is_digit(peek(reader))) {
        count = count * 10 + (uint32_t)(peek(reader) - '0');
        if (count > REPEAT_MAX) count = REPEAT_MAX + 1;
        reader->at++;
    }
    *out_count = count;
    return reader->at > from;
}

/* {n}, {n,} or {n,m}; anything else behind a brace makes the brace a character. */
static bool take_braces(Reader *reader, uint32_t *out_min, uint32_t *out_max, bool *out_open)
{
    size_t from = reader->at;
    *out_open = false;
    bool holds = take(reader, "{") && take_count(reader, out_min);
    *out_max = *out_min;
    if (holds && take(reader, ",")) *out_open = !take_count(reader, out_max);
    if (holds && take(reader, "}")) return true;
    reader->at = from;
    return false;
}

static Status write_quantifier(Reader *reader, const char *quantifier)
{
    if (!reader->can_repeat) return refuse(reader, reader->item_at, "there is nothing to repeat");
    buf_text(reader->buf, quantifier);
    if (take(reader, "?")) buf_char(reader->buf, '?');
    reader->can_repeat = false;
    return OK;
}

static Status read_braces(Reader *reader)
{
    uint32_t min = 0, max = 0;
    bool is_open;
    if (!take_braces(reader, &min, &max, &is_open)) {
        reader->at++;
        write_point(reader->buf, '{');
        reader->can_repeat = true;
        return OK;
    }
    if (min > REPEAT_MAX || max > REPEAT_MAX)
        return error_set(reader->err, ERR_LIMIT, "a count of repetitions is above %u", REPEAT_MAX);
    if (!is_open && min > max) return refuse(reader, reader->item_at, "a smallest count is above the largest");
    if (min > reader->out->repeat_min) reader->out->repeat_min = min;
    char quantifier[32];
    if (is_open) snprintf(quantifier, sizeof quantifier, "{%u,}", min);
    else snprintf(quantifier, sizeof quantifier, "{%u,%u}", min, max);
    return write_quantifier(reader, quantifier);
}

/* --- escapes ----------------------------------------------------------------------------------------------------- */

static bool take_hex(Reader *reader, size_t digits, uint32_t *out_number)
{
    uint32_t number = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = ascii_to_lower(peek(reader));
        if (ascii_is_digit(c)) number = number * 16 + (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f') number = number * 16 + (uint32_t)(c - 'a') + 10;
        else return false;
        reader->at++;
    }
    *out_number = number;
    return true;
}

/* Behind \u: four digits, two times four that are a surrogate pair, or any number in braces. */
static Status read_unicode(Reader *reader, uint32_t *out_point)
{
    uint32_t point = 0, low = 0;
    bool holds = true;
    if (take(reader, "{")) {
        size_t end = str_find(reader->text, '}', reader->at);
        size_t zeros = 0;
        while (zeros < end - reader->at && reader->text.ptr[reader->at + zeros] == '0') zeros++;
        size_t digits = end - reader->at - zeros;
        reader->at += zeros;
        holds = digits + zeros > 0 && digits <= 6 && take_hex(reader, digits, &point) && take(reader, "}");
    } else {
        holds = take_hex(reader, 4, &point);
        size_t from = reader->at;
        bool is_pair = holds && point >= 0xd800 && point < 0xdc00 && take(reader, "\\u") && take_hex(reader, 4, &low)
                    && low >= 0xdc00 && low < 0xe000;
        if (is_pair) point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        else reader->at = from;
    }
    if (!holds || point > 0x10ffff) return refuse(reader, reader->item_at, "\\u is not followed by a code point");
    if (point >= 0xd800 && point <= 0xdfff)
        return refuse(reader, reader->item_at, "half of a surrogate pair is no character");
    *out_point = point;
    return OK;
}

/* Puts a property of ECMA-262 into the library's words. The library refuses names it does not know. */
static Status write_property(Reader *reader, Str name, bool is_negated, Escape *out)
{
    static const struct { const char *from, *to; } prefixes[] = {
        { "General_Category=", "" }, { "gc=", "" },
        { "Script=", "sc:" }, { "sc=", "sc:" }, { "Script_Extensions=", "scx:" }, { "scx=", "scx:" },
    };
    const char *prefix = "";
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        Str from = str_of(prefixes[i].from);
        if (!str_starts(name, from)) continue;
        prefix = prefixes[i].to;
        name = str_slice(name, from.len, name.len);
        break;
    }
    if (name.len == 0 || name.len > 40) return refuse(reader, reader->item_at, "\\p is not followed by a property");
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && name.ptr[i] != '_')
            return refuse(reader, reader->item_at, "\\p is not followed by a property");
    if (str_is(name, STR("Assigned"))) {
        is_negated = !is_negated;
        name = STR("Cn");
    }
    for (size_t i = 0; i < sizeof categories / sizeof *categories && !*prefix; i++)
        if (str_is_text(name, categories[i].name)) name = str_of(categories[i].category);
    out->kind = ESCAPE_SET;
    out->set = out->property;
    snprintf(out->property, sizeof out->property, "\\%c{%s%.*s}", is_negated ? 'P' : 'p', prefix, STR_ARG(name));
    return OK;
}

static Status read_property(Reader *reader, bool is_negated, Escape *out)
{
    size_t end = str_find(reader->text, '}', reader->at);
    if (!take(reader, "{") || end == reader->text.len)
        return refuse(reader, reader->item_at, "\\p is not followed by a property in braces");
    Str name = str_slice(reader->text, reader->at, end);
    reader->at = end + 1;
    return write_property(reader, name, is_negated, out);
}

static Status read_reference(Reader *reader, Escape *out)
{
    out->kind = ESCAPE_REFERENCE;
    if (take(reader, "k")) {
        bool found = false;
        Str name = take(reader, "<") ? take_name(reader) : STR("");
        if (name.len) out->point = count_groups(reader->text, name, &found);
        return found ? OK : refuse(reader, reader->item_at, "\\k does not name a group of the expression");
    }
    take_count(reader, &out->point);
    if (out->point > reader->group_count)
        return refuse(reader, reader->item_at, "a backslash and a number do not name a group of the expression");
    return OK;
}

/* The single characters behind a backslash that have one meaning everywhere. */
static bool take_simple(Reader *reader, Escape *out)
{
    static const char names[] = "tnvfr", points[] = "\t\n\v\f\r";
    char c = peek(reader);
    const char *found = c ? strchr(names, c) : NULL;
    if (found) out->point = (uint32_t)points[found - names];
    else if (c >= ' ' && c < 127 && !ascii_is_alnum(c)) out->point = (uint32_t)c;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (c && c == sets[i].letter) out->set = sets[i].ranges;
    if (out->set) out->kind = ESCAPE_SET;
    if (!out->point && !out->set) return false;
    reader->at++;
    return true;
}

/* `reader->at` is behind the backslash. `out` must not be moved, since a set may stand in it. */
static Status read_escape(Reader *reader, bool in_class, Escape *out)
{
    *out = (Escape){ .kind = ESCAPE_POINT };
    if (take_simple(reader, out)) return OK;
    char c = peek(reader);
    if (c == 'u' || c == 'x' || c == 'c' || c == 'p' || c == 'P' || c == '0') reader->at++;
    switch (c) {
    case 'u': return read_unicode(reader, &out->point);
    case 'p':
    case 'P': return read_property(reader, c == 'P', out);
    case 'x':
        if (take_hex(reader, 2, &out->point)) return OK;
        return refuse(reader, reader->item_at, "\\x is not followed by two hexadecimal digits");
    case 'c':
        if (!ascii_is_alpha(peek(reader))) return refuse(reader, reader->item_at, "\\c is not followed by a letter");
        out->point = take_point(reader) % 32;
        return OK;
    case '0':
        if (ascii_is_digit(peek(reader))) return refuse(reader, reader->item_at, "there are no octal escapes");
        return OK;
    case 'b':
    case 'B':
        if (in_class && c == 'B') break;
        reader->at++;
        out->kind = in_class ? ESCAPE_POINT : ESCAPE_BOUNDARY;
        out->point = in_class ? '\b' : (uint32_t)c;
        return OK;
    default:
        if (!in_class && (c == 'k' || ascii_is_digit(c))) return read_reference(reader, out);
        break;
    }
    return refuse(reader, reader->item_at, "there is no such escape");
}

static Status read_backslash(Reader *reader)
{
    reader->at++;
    reader->can_repeat = true;
    Escape escape;
    Status status = read_escape(reader, /* in_class= */ false, &escape);
    if (status) return status;
    switch (escape.kind) {
    case ESCAPE_POINT:
        write_point(reader->buf, escape.point);
        break;
    case ESCAPE_SET:
        buf_format(reader->buf, "[%s]", escape.set);
        break;
    case ESCAPE_BOUNDARY:
        buf_format(reader->buf, "\\%c", (char)escape.point);
        reader->can_repeat = false;
        break;
    case ESCAPE_REFERENCE:
        buf_format(reader->buf, "\\g{%u}", escape.point);
        break;
    }
    return OK;
}

/* --- classes ----------------------------------------------------------------------------------------------------- */

/* One member of a class: a character or a set. */
static Status read_class_atom(Reader *reader, Escape *out)
{
    *out = (Escape){ .kind = ESCAPE_POINT };
    reader->item_at = reader->at;
    if (at_end(reader)) return refuse(reader, reader->item_at, "a class is not closed");
    if (take(reader, "\\")) return read_escape(reader, /* in_class= */ true, out);
    out->point = take_point(reader);
    return OK;
}

static void write_class_atom(Buf *buf, const Escape *atom)
{
    if (atom->kind == ESCAPE_SET) buf_text(buf, atom->set);
    else write_point(buf, atom->point);
}

/* One atom, or two with a hyphen between; the hyphen beside a set is only itself. */
static Status read_class_range(Reader *reader)
{
    Escape first, last;
    size_t from = reader->at;
    Status status = read_class_atom(reader, &first);
    if (status) return status;
    write_class_atom(reader->buf, &first);
    bool is_range = next_is(reader, "-") && !next_is(reader, "-]") && reader->at + 1 < reader->text.len;
    if (!is_range) return OK;
    reader->at++;
    status = read_class_atom(reader, &last);
    if (status) return status;
    bool has_set = first.kind == ESCAPE_SET || last.kind == ESCAPE_SET;
    if (!has_set && first.point > last.point) return refuse(reader, from, "a range runs backwards");
    buf_text(reader->buf, has_set ? "\\x{2d}" : "-");
    write_class_atom(reader->buf, &last);
    return OK;
}

static Status read_class(Reader *reader)
{
    size_t from = reader->at++;
    reader->can_repeat = true;
    bool is_negated = take(reader, "^");
    if (take(reader, "]")) {                /* nothing, or anything: the library has no such class */
        buf_text(reader->buf, is_negated ? "[\\x{0}-\\x{10ffff}]" : "(?!)");
        return OK;
    }
    buf_text(reader->buf, is_negated ? "[^" : "[");
    while (!take(reader, "]")) {
        if (at_end(reader)) return refuse(reader, from, "a class is not closed");
        Status status = read_class_range(reader);
        if (status) return status;
    }
    buf_char(reader->buf, ']');
    return OK;
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static Status write_fixed(Reader *reader, const char *text, bool can_repeat)
{
    reader->at++;
    buf_text(reader->buf, text);
    reader->can_repeat = can_repeat;
    return OK;
}

static Status read_item(Reader *reader)
{
    reader->item_at = reader->at;
    switch (peek(reader)) {
    case '^': return write_fixed(reader, "^", false);
    case '$': return write_fixed(reader, "\\z", false);
    case '|': return write_fixed(reader, "|", false);
    case '.': return write_fixed(reader, NOT_LINE_END, true);
    case '(': return read_open(reader);
    case ')': return read_close(reader);
    case '[': return read_class(reader);
    case '{': return read_braces(reader);
    case '\\': return read_backslash(reader);
    case '*':
    case '+':
    case '?': {
        char quantifier[2] = { peek(reader) };
        reader->at++;
        return write_quantifier(reader, quantifier);
    }
    default:
        write_point(reader->buf, take_point(reader));
        reader->can_repeat = true;
        return OK;
    }
}

Status pattern_rewrite(Str text, PatternText *out, Error *err)
{
    bool found;
    out->has_reference = has_reference(text);
    Reader reader = { .text = text, .buf = out->buf, .out = out, .err = err,
                      .group_count = count_groups(text, STR(""), &found) };
    while (!at_end(&reader)) {
        Status status = read_item(&reader);
        if (status) return status;
    }
    if (reader.depth) return refuse(&reader, text.len, "a group is not closed");
    if (buf_overflowed(out->buf))
        return error_set(err, ERR_LIMIT, "the expression takes too much memory once rewritten");
    return OK;
}
