/* yaml_print.c - yaml.marshal: a value as YAML, the way Go's writer lays it out.
 *
 * libyaml's own emitter is not used: it begins a sequence inside a mapping without indentation, where Go indents it.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "rego/builtins/float_text.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"
#include "rego/builtins/text.h"
#include "rego/builtins/yaml_scalar.h"

#define INDENT 2u
#define NODE_STEPS 4u                       /* for each value: its form is found out before it is written */
#define SIMPLE_KEY_SIZE_MAX 128u            /* a longer key has to be marked with ? */

/* --- what a text may look like ----------------------------------------------------------------------------------- */

typedef struct Looks {
    bool may_be_plain, may_be_single, may_be_block;
    bool has_breaks;
} Looks;

static bool is_break(uint32_t rune)
{
    return rune == '\n' || rune == '\r' || rune == 0x85 || rune == 0x2028 || rune == 0x2029;
}

static bool is_printable(uint32_t rune)
{
    return rune == '\n' || (rune >= 0x20 && rune <= 0x7e) || rune == 0x85
        || (rune >= 0xa0 && rune < 0x10000 && rune != 0xfeff);
}

static bool is_one_of(uint32_t rune, const char *set)
{
    for (; *set; set++)
        if ((uint32_t)*set == rune) return true;
    return false;
}

/* Characters that would be read as something else than text, by where they stand. */
static bool is_indicator(uint32_t rune, bool is_first, bool after_space, bool before_space)
{
    if (is_first) {
        if (is_one_of(rune, "#,[]{}&*!|>'\"%@`")) return true;
        return before_space && is_one_of(rune, "?:-");
    }
    return (rune == ':' && before_space) || (rune == '#' && after_space);
}

static Looks analyze(Str text)
{
    Looks looks = { true, true, true, false };
    bool is_special = false, has_tab = false, edge_space = false, edge_break = false, trailing_space = false;
    bool space_before_break = false, space_after_break = false;
    bool after_space = true, was_space = false, was_break = false;
    if (str_starts(text, STR("---")) || str_starts(text, STR("..."))) looks.may_be_plain = false;
    for (size_t at = 0, size; at < text.len; at += size) {
        if (ascii_is_alnum(text.ptr[at])) {             /* never special, and most of most texts */
            size = 1;
            after_space = was_space = was_break = false;
            continue;
        }
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size), next = ' ';
        size_t next_size;
        bool is_last = at + size == text.len;
        if (!is_last) next = rune_first(str_slice(text, at + size, text.len), &next_size);
        bool before_space = next == ' ' || next == '\t' || is_break(next);
        if (is_indicator(rune, at == 0, after_space, before_space)) looks.may_be_plain = false;
        if (rune == '\t') has_tab = true;
        else if (!is_printable(rune) || rune == '\r') is_special = true;
        if (is_break(rune)) {
            looks.has_breaks = true;
            edge_break = edge_break || at == 0 || is_last;
            space_before_break = space_before_break || was_space;
        } else if (rune == ' ') {
            edge_space = edge_space || at == 0 || is_last;
            trailing_space = is_last;
            space_after_break = space_after_break || was_break;
        }
        was_space = rune == ' ';
        was_break = is_break(rune);
        after_space = was_space || was_break || rune == '\t';
    }
    if (edge_space || edge_break || looks.has_breaks || space_after_break) looks.may_be_plain = false;
    if (space_after_break) looks.may_be_single = false;
    if (space_before_break || has_tab || is_special) looks.may_be_plain = looks.may_be_single = false;
    if (trailing_space || space_before_break || is_special) looks.may_be_block = false;
    return looks;
}

/* --- scalars ----------------------------------------------------------------------------------------------------- */

static void print_single(Buf *buf, Str text)
{
    buf_char(buf, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'') buf_char(buf, '\'');
        buf_char(buf, text.ptr[i]);
    }
    buf_char(buf, '\'');
}

static void print_escape(Buf *buf, uint32_t rune)
{
    static const struct { uint32_t rune; char letter; } letters[] = {
        { 0, '0' },      { 7, 'a' },    { 8, 'b' },    { 9, 't' },      { 10, 'n' },     { 11, 'v' },   { 12, 'f' },
        { 13, 'r' },     { 27, 'e' },   { '"', '"' },  { '\\', '\\' },  { 0x85, 'N' },   { 0xa0, '_' }, { 0x2028, 'L' },
        { 0x2029, 'P' },
    };
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (letters[i].rune != rune) continue;
        buf_char(buf, '\\');
        buf_char(buf, letters[i].letter);
        return;
    }
    if (rune < 0x100) buf_format(buf, "\\x%02X", rune);
    else if (rune < 0x10000) buf_format(buf, "\\u%04X", rune);
    else buf_format(buf, "\\U%08X", rune);
}

static void print_double(Buf *buf, Str text)
{
    buf_char(buf, '"');
    for (size_t at = 0, size; at < text.len; at += size) {
        size = text_print_plain(buf, text, at);
        if (size) continue;
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size);
        if (!is_printable(rune) || is_break(rune) || rune == '"' || rune == '\\') print_escape(buf, rune);
        else rune_print(buf, rune);
    }
    buf_char(buf, '"');
}

/* Line by line; what stands at the end says whether the last breaks belong to the text. */
static void print_block(Buf *buf, Str text, uint32_t indent)
{
    buf_char(buf, '|');
    bool ends_with_break = text.ptr[text.len - 1] == '\n';
    if (text.ptr[0] == ' ' || text.ptr[0] == '\n') buf_u64(buf, INDENT);
    if (!ends_with_break) buf_char(buf, '-');
    else if (text.len == 1 || text.ptr[text.len - 2] == '\n') buf_char(buf, '+');
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, '\n', at);
        buf_char(buf, '\n');
        if (end > at) buf_repeat(buf, ' ', indent);
        buf_str(buf, str_slice(text, at, end));
        at = end + 1;
    }
}

static void print_text(Buf *buf, Str text, uint32_t indent, bool is_simple_key)
{
    Looks looks = analyze(text);
    bool has_newline = str_find(text, '\n', 0) < text.len;
    YamlKind kind = yaml_resolve(text).kind;
    bool means_text = kind == YAML_TEXT && !yaml_is_ambiguous(text);
    if (has_newline && looks.may_be_block && !is_simple_key) print_block(buf, text, indent);
    else if (has_newline || !means_text || !looks.may_be_single) print_double(buf, text);
    else if (looks.may_be_plain) buf_str(buf, text);
    else print_single(buf, text);
}

/* A number as YAML's readers understand it: integers of 64 bits, else a double, else its own text. */
static void print_number(Buf *buf, Value number)
{
    Float real;
    Str text = number.kind == VALUE_INT ? STR("") : value_text(number);
    YamlKind kind = number.kind == VALUE_INT ? YAML_INTEGER : yaml_resolve(text).kind;
    if (kind == YAML_FLOAT && double_read(number, &real)) {
        Buf general;
        buf_init(&general, 64);
        float_format(&general, real, 'g', -1);
        buf_str(buf, str_slice(buf_peek(&general), !real.negative, general.len));
        buf_deinit(&general);
    } else if (str_is(text, STR("-0"))) {
        buf_char(buf, '0');
    } else {
        value_print(buf, number);
    }
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static void print_node(Buf *buf, Value value, uint32_t indent);

static bool is_block(Value value)
{
    return (value.kind == VALUE_ARRAY || value.kind == VALUE_SET || value.kind == VALUE_OBJECT) && value.count;
}

/* Scripts, without the blocks of punctuation and symbols between them. */
static bool is_letter(uint32_t rune)
{
    if (rune < 0x80) return ascii_is_alpha((char)rune);
    bool is_symbol = (rune >= 0x2000 && rune < 0x2c00) || (rune >= 0x3000 && rune < 0x3040)
                  || (rune >= 0x1f000 && rune < 0x20000)
                  || rune >= 0xe0000 || rune == 0xd7 || rune == 0xf7 || rune < 0xaa;
    return !is_symbol && rune_is_printable(rune);
}

static bool rune_is_digit(uint32_t rune)
{
    return rune < 0x80 && ascii_is_digit((char)rune);
}

static uint64_t number_at(Str text, size_t at, uint64_t start, size_t *out_end)
{
    uint64_t number = start;
    for (; at < text.len && ascii_is_digit(text.ptr[at]); at++) number = number * 10 + (uint64_t)(text.ptr[at] - '0');
    *out_end = at;
    return number;
}

/* Where two names differ first: letters come after all else (but before, behind a digit), and numbers by their
 * value. */
static int compare_difference(Str a, Str b, size_t at, bool after_digit)
{
    size_t size;
    uint32_t x = rune_first(str_slice(a, at, a.len), &size), y = rune_first(str_slice(b, at, b.len), &size);
    if (is_letter(x) && is_letter(y)) return x < y ? -1 : 1;
    if (is_letter(x) || is_letter(y)) return is_letter(x) == after_digit ? -1 : 1;
    uint64_t start = 0;
    if (x == '0' || y == '0')
        for (size_t i = at; i && ascii_is_digit(a.ptr[i - 1]); i--)
            if (a.ptr[i - 1] != '0') start = 1;
    size_t end_a, end_b;
    uint64_t number_a = number_at(a, at, start, &end_a), number_b = number_at(b, at, start, &end_b);
    if (number_a != number_b) return number_a < number_b ? -1 : 1;
    if (end_a != end_b) return end_a < end_b ? -1 : 1;
    return x < y ? -1 : 1;
}

static int compare_names(const void *left, const void *right)
{
    Str a = value_text((*(const Member *const *)left)->key), b = value_text((*(const Member *const *)right)->key);
    bool after_digit = false;
    for (size_t at = 0, size; at < a.len && at < b.len; at += size) {
        size_t size_b;
        uint32_t x = rune_first(str_slice(a, at, a.len), &size), y = rune_first(str_slice(b, at, b.len), &size_b);
        if (x != y) return compare_difference(a, b, at, after_digit);
        after_digit = rune_is_digit(x);
    }
    return (a.len > b.len) - (a.len < b.len);
}

static void print_pair(Buf *buf, const Member *member, uint32_t indent)
{
    Str name = value_text(member->key);
    bool is_simple = name.len <= SIMPLE_KEY_SIZE_MAX && !analyze(name).has_breaks;
    if (!is_simple) buf_text(buf, "? ");
    print_text(buf, name, indent + INDENT, is_simple);
    if (!is_simple) {
        buf_char(buf, '\n');
        buf_repeat(buf, ' ', indent);
    }
    buf_char(buf, ':');
    if (is_block(member->value) && is_simple) {
        buf_char(buf, '\n');
        buf_repeat(buf, ' ', indent + INDENT);
    } else {
        buf_char(buf, ' ');
    }
    print_node(buf, member->value, indent + INDENT);
}

static void print_mapping(Buf *buf, Value object, uint32_t indent)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    object = json_named_members(&scratch, object);
    const Member **order = ARENA_ARRAY(&scratch, const Member *, object.count);
    for (uint32_t i = 0; i < object.count; i++) order[i] = &object.members[i];
    qsort(order, object.count, sizeof *order, compare_names);
    for (uint32_t i = 0; i < object.count; i++) {
        if (i) {
            buf_char(buf, '\n');
            buf_repeat(buf, ' ', indent);
        }
        print_pair(buf, order[i], indent);
    }
    arena_deinit(&scratch);
}

static void print_sequence(Buf *buf, Value list, uint32_t indent)
{
    for (uint32_t i = 0; i < list.count; i++) {
        if (i) {
            buf_char(buf, '\n');
            buf_repeat(buf, ' ', indent);
        }
        buf_text(buf, "- ");
        print_node(buf, list.items[i], indent + INDENT);
    }
}

/* The cursor stands where the node begins; nothing is written behind it. */
static void print_node(Buf *buf, Value value, uint32_t indent)
{
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
    case VALUE_BOOL:
        value_print(buf, value);
        return;
    case VALUE_INT:
    case VALUE_DECIMAL:
        print_number(buf, value);
        return;
    case VALUE_STRING:
        print_text(buf, value_text(value), indent, false);
        return;
    case VALUE_ARRAY:
    case VALUE_SET:
        if (value.count) print_sequence(buf, value, indent);
        else buf_text(buf, "[]");
        return;
    case VALUE_OBJECT:
        if (value.count) print_mapping(buf, value, indent);
        else buf_text(buf, "{}");
        return;
    }
}

/* A number is read and printed again; a text is looked at character by character, and then printed. */
static bool spend_scalars(BuiltinContext *context, Value value, Error *err)
{
    if (value.kind == VALUE_DECIMAL) return builtin_spend(context, NUMBER_PRINT_TIMES * number_cost(value), err);
    if (value.kind == VALUE_STRING) return builtin_spend(context, 2 * (uint64_t)value.count / REGO_BYTES_PER_STEP, err);
    if (!is_block(value)) return true;
    bool is_object = value.kind == VALUE_OBJECT;
    for (uint32_t i = 0; i < value.count; i++)
        if (!spend_scalars(context, is_object ? value.members[i].value : value.items[i], err)) return false;
    return true;
}

BuiltinResult builtin_yaml_marshal(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    uint64_t weight;
    if (!builtin_weigh(context, args[0], &weight, err) || !builtin_spend(context, NODE_STEPS * weight, err)
        || !spend_scalars(context, args[0], err))
        return BUILTIN_HALT;
    Buf buf;
    builtin_text_begin(context, &buf);
    bool is_container = args[0].kind == VALUE_ARRAY || args[0].kind == VALUE_SET || args[0].kind == VALUE_OBJECT;
    print_node(&buf, args[0], is_container ? 0 : INDENT);
    buf_char(&buf, '\n');
    return builtin_text_end(context, &buf, out_result, err);
}
