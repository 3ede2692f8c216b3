#include "rego/builtins/format.h"

#include <gmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "rego/builtins/float_text.h"
#include "rego/builtins/runes.h"
#include "rego/builtins/text.h"

typedef struct Flags {
    bool plus, minus, sharp, space, zero;
    bool plus_v, sharp_v;                       /* %+v and %#v */
    bool has_width, has_precision;
    int64_t width, precision;
} Flags;

/* What an argument is to fmt. */
typedef enum ArgKind {
    ARG_INTEGER, ARG_BIG, ARG_FLOAT, ARG_TEXT,
    ARG_NUMBER, ARG_BOOL, ARG_NIL, ARG_LIST, ARG_MAP,   /* of data */
} ArgKind;

typedef struct Arg {
    ArgKind kind;
    int64_t integer;
    Float real;
    Str text;                                   /* of a string or big integer; owned where `owned` is set */
    Buf owned;
} Arg;

typedef struct Printer {
    Buf *buf;
    Str format;
    size_t at;
    const Value *args;
    const bool *literals;                       /* by argument; NULL: nothing is data */
    uint32_t count, next;                       /* the argument that the next verb takes */
    bool reordered;                             /* an index was used: arguments left over are no mistake */
    bool is_good_index;
    Flags flags;
} Printer;

static void print_arg(Printer *printer, Value value, uint32_t verb, bool of_data);

/* --- arguments --------------------------------------------------------------------------------------------------- */

static bool is_plain_integer(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_digit(text.ptr[i]) && !(i == 0 && text.ptr[i] == '-')) return false;
    return true;
}

static const ArgKind data_kinds[] = {
    [VALUE_NULL] = ARG_NIL,     [VALUE_BOOL] = ARG_BOOL,  [VALUE_INT] = ARG_NUMBER, [VALUE_DECIMAL] = ARG_NUMBER,
    [VALUE_STRING] = ARG_TEXT,  [VALUE_ARRAY] = ARG_LIST, [VALUE_SET] = ARG_LIST,   [VALUE_OBJECT] = ARG_MAP,
};

static void arg_read(Value value, bool of_data, Arg *out)
{
    *out = (Arg){ .kind = ARG_TEXT };
    if (of_data && value.kind != VALUE_STRING) {
        out->kind = data_kinds[value.kind];
        if (out->kind == ARG_LIST || out->kind == ARG_MAP) return;
        buf_init(&out->owned, REGO_VALUE_SIZE_MAX);
        value_print(&out->owned, value);
        out->text = buf_peek(&out->owned);
    } else if (value.kind == VALUE_INT) {
        out->kind = ARG_INTEGER;
        out->integer = value.integer;
    } else if (value.kind == VALUE_STRING) {
        out->text = value_text(value);
    } else if (value.kind == VALUE_DECIMAL) {
        out->text = value_text(value);
        if (str_is(out->text, STR("-0"))) out->kind = ARG_INTEGER;
        else if (is_plain_integer(out->text)) out->kind = ARG_BIG;
        else if (double_read(value, &out->real)) out->kind = ARG_FLOAT;
    } else {
        buf_init(&out->owned, REGO_VALUE_SIZE_MAX);
        value_print(&out->owned, value);
        out->text = buf_peek(&out->owned);
    }
}

static void arg_free(Arg *arg)
{
    buf_deinit(&arg->owned);
}

static const char *arg_type(const Printer *printer, ArgKind kind)
{
    static const char *const names[] = { "int64", "*big.Int", "float64", "string", "json.Number", "bool", "<nil>",
                                         "[]interface {}", "map[string]interface {}" };
    return kind == ARG_INTEGER && printer->literals ? "int" : names[kind];
}

static bool is_data(const Printer *printer, uint32_t index)
{
    return printer->literals && !printer->literals[index];
}

/* --- padding ----------------------------------------------------------------------------------------------------- */

static void pad(Printer *printer, Str text)
{
    int64_t width = (int64_t)runes_count(text), missing = printer->flags.has_width ? printer->flags.width - width : 0;
    size_t padding = missing > 0 ? (size_t)missing : 0;
    bool to_left = printer->flags.minus;
    if (!to_left) buf_repeat(printer->buf, printer->flags.zero ? '0' : ' ', padding);
    buf_str(printer->buf, text);
    if (to_left) buf_repeat(printer->buf, ' ', padding);
}

static void pad_spaces(Printer *printer, Str text)
{
    bool zero = printer->flags.zero;
    printer->flags.zero = false;
    pad(printer, text);
    printer->flags.zero = zero;
}

/* --- integers ---------------------------------------------------------------------------------------------------- */

typedef struct Base {
    char verb;
    int base;
    const char *prefix;                         /* with # */
} Base;

static const Base bases[] = { { 'd', 10, "" }, { 'v', 10, "" },   { 'b', 2, "0b" },  { 'o', 8, "0" },
                              { 'O', 8, "0" }, { 'x', 16, "0x" }, { 'X', 16, "0X" } };

static const Base *base_find(uint32_t verb)
{
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        if ((uint32_t)bases[i].verb == verb) return &bases[i];
    return NULL;
}

static size_t print_digits(char *end, uint64_t number, const Base *base)
{
    const char *digits = base->verb == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char *at = end;
    do *--at = digits[number % (unsigned)base->base];
    while (number /= (unsigned)base->base);
    return (size_t)(end - at);
}

static void print_integer(Printer *printer, int64_t integer, const Base *base)
{
    const Flags *flags = &printer->flags;
    bool negative = integer < 0, has_sign = negative || flags->plus || flags->space;
    int64_t precision = 0;
    if (flags->has_precision) {
        precision = flags->precision;
        if (precision == 0 && integer == 0) {
            pad_spaces(printer, STR(""));
            return;
        }
    } else if (flags->zero && !flags->minus && flags->has_width) {
        precision = flags->width - has_sign;            /* zeros go behind the sign */
    }
    char digits[64];
    size_t count = print_digits(digits + sizeof digits, negative ? 0 - (uint64_t)integer : (uint64_t)integer, base);
    const char *first = digits + sizeof digits - count;
    Buf text;
    buf_init(&text, REGO_VALUE_SIZE_MAX);
    if (has_sign) buf_char(&text, negative ? '-' : flags->plus ? '+' : ' ');
    size_t zeros = precision > (int64_t)count ? (size_t)precision - count : 0;
    if (base->verb == 'O') buf_text(&text, "0o");
    if (flags->sharp && !(base->base == 8 && (zeros || *first == '0'))) buf_text(&text, base->prefix);
    buf_repeat(&text, '0', zeros);
    buf_bytes(&text, first, count);
    pad_spaces(printer, buf_peek(&text));
    buf_deinit(&text);
}

static void print_big(Printer *printer, Str text, const Base *base)
{
    const Flags *flags = &printer->flags;
    mpz_t number;
    mpz_init(number);
    char *decimal = malloc(text.len + 1);
    CHECK(decimal != NULL);
    memcpy(decimal, text.ptr, text.len);
    decimal[text.len] = '\0';
    mpz_set_str(number, decimal, 10);
    free(decimal);
    bool negative = mpz_sgn(number) < 0;
    mpz_abs(number, number);
    char *digits = malloc(mpz_sizeinbase(number, base->base) + 2);
    CHECK(digits != NULL);
    mpz_get_str(digits, base->verb == 'X' ? -base->base : base->base, number);
    mpz_clear(number);

    Buf whole;
    buf_init(&whole, REGO_VALUE_SIZE_MAX);
    if (negative || flags->plus || flags->plus_v || flags->space)
        buf_char(&whole, negative ? '-' : flags->plus || flags->plus_v ? '+' : ' ');
    if (base->verb == 'O') buf_text(&whole, "0o");
    else if (flags->sharp || flags->sharp_v) buf_text(&whole, base->prefix);
    int64_t count = (int64_t)strlen(digits), zeros = 0;
    if (flags->has_precision) zeros = flags->precision - count;
    else if (flags->zero && !flags->minus && flags->has_width) zeros = flags->width - count - (int64_t)whole.len;
    if (zeros > 0) buf_repeat(&whole, '0', (size_t)zeros);
    buf_text(&whole, digits);
    pad_spaces(printer, buf_peek(&whole));
    buf_deinit(&whole);
    free(digits);
}

static uint32_t rune_of(int64_t integer)
{
    bool is_scalar = integer >= 0 && integer <= 0x10ffff && !(integer >= 0xd800 && integer <= 0xdfff);
    return is_scalar ? (uint32_t)integer : RUNE_INVALID;
}

static void print_character(Printer *printer, int64_t integer, bool quoted)
{
    char storage[16];
    Buf text = buf_on(storage, sizeof storage);
    if (quoted) rune_quote(&text, rune_of(integer), printer->flags.plus);
    else rune_print(&text, rune_of(integer));
    pad(printer, buf_peek(&text));
}

/* U+0041, and with # the character itself behind it. */
static void print_code_point(Printer *printer, int64_t integer)
{
    static const Base upper = { 'X', 16, "" };
    char digits[64];
    size_t count = print_digits(digits + sizeof digits, (uint64_t)integer, &upper);
    int64_t precision = printer->flags.has_precision && printer->flags.precision > 4 ? printer->flags.precision : 4;
    Buf text;
    buf_init(&text, REGO_VALUE_SIZE_MAX);
    buf_text(&text, "U+");
    if (precision > (int64_t)count) buf_repeat(&text, '0', (size_t)precision - count);
    buf_bytes(&text, digits + sizeof digits - count, count);
    if (printer->flags.sharp && integer >= 0 && integer <= 0x10ffff && rune_is_printable((uint32_t)integer)) {
        buf_text(&text, " '");
        rune_print(&text, (uint32_t)integer);
        buf_char(&text, '\'');
    }
    pad_spaces(printer, buf_peek(&text));
    buf_deinit(&text);
}

/* --- floats ------------------------------------------------------------------------------------------------------ */

/* With # a point is always printed, and %g keeps its zeros. */
static void keep_zeros(Buf *text, char verb, int64_t precision)
{
    int64_t missing = verb == 'g' || verb == 'G' || verb == 'x' ? (precision < 0 ? 6 : precision) : 0;
    Str whole = buf_peek(text);
    size_t end = whole.len;
    bool has_point = false, is_significant = false;
    for (size_t i = 1; i < end; i++) {
        char c = whole.ptr[i], lower = ascii_to_lower(c);
        bool is_hexadecimal = verb == 'x' || verb == 'X';
        if (c == '.') {
            has_point = true;
        } else if (lower == 'p' || (lower == 'e' && !is_hexadecimal)) {
            end = i;
        } else {                                        /* the x of 0x counts as a digit, too */
            is_significant = is_significant || c != '0';
            missing -= is_significant;
        }
    }
    char tail[16];
    size_t tail_size = whole.len - end;
    CHECK(tail_size <= sizeof tail);
    memcpy(tail, whole.ptr + end, tail_size);
    if (!has_point && end == 2 && whole.ptr[1] == '0') missing--;
    text->len = end;
    if (!has_point) buf_char(text, '.');
    if (missing > 0) buf_repeat(text, '0', (size_t)missing);
    buf_bytes(text, tail, tail_size);
}

static void print_float(Printer *printer, Float real, char verb, int64_t precision)
{
    const Flags *flags = &printer->flags;
    if (flags->has_precision) precision = flags->precision;
    Buf text;
    buf_init(&text, REGO_VALUE_SIZE_MAX);
    float_format(&text, real, verb, precision);
    if (flags->sharp && verb != 'b') keep_zeros(&text, verb, precision);
    if (flags->space && !flags->plus && text.ptr[0] == '+') text.ptr[0] = ' ';
    bool has_sign = flags->plus || text.ptr[0] != '+';
    Str shown = str_slice(buf_peek(&text), !has_sign, text.len);
    if (has_sign && flags->zero && !flags->minus && flags->has_width && flags->width > (int64_t)text.len) {
        buf_char(printer->buf, text.ptr[0]);
        buf_repeat(printer->buf, '0', (size_t)flags->width - text.len);
        buf_str(printer->buf, str_slice(shown, 1, shown.len));
    } else {
        pad(printer, shown);
    }
    buf_deinit(&text);
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

static Str truncate_text(const Printer *printer, Str text)
{
    if (!printer->flags.has_precision) return text;
    return str_slice(text, 0, runes_offset(text, (size_t)printer->flags.precision));
}

/* A text that stands between back quotes as it is: one line, no back quote, no byte order mark. */
static bool can_back_quote(Str text)
{
    for (size_t at = 0, size; at < text.len; at += size) {
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size);
        if (rune == '`' || rune == 0x7f || rune == 0xfeff || (rune < ' ' && rune != '\t')) return false;
        if (rune == RUNE_INVALID && size == 1) return false;
    }
    return true;
}

static void print_quoted(Printer *printer, Str text)
{
    text = truncate_text(printer, text);
    Buf quoted;
    buf_init(&quoted, REGO_VALUE_SIZE_MAX);
    if (printer->flags.sharp && can_back_quote(text)) {
        buf_char(&quoted, '`');
        buf_str(&quoted, text);
        buf_char(&quoted, '`');
    } else if (printer->flags.plus) {
        text_quote_ascii(&quoted, text);
    } else {
        text_quote(&quoted, text);
    }
    pad(printer, buf_peek(&quoted));
    buf_deinit(&quoted);
}

static void print_bytes(Printer *printer, Str text, bool upper)
{
    const Flags *flags = &printer->flags;
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    if (flags->has_precision) text = str_slice(text, 0, (size_t)flags->precision);
    Buf hex;
    buf_init(&hex, REGO_VALUE_SIZE_MAX);
    for (size_t i = 0; i < text.len; i++) {
        if (i && flags->space) buf_char(&hex, ' ');
        if (flags->sharp && (i == 0 || flags->space)) buf_text(&hex, upper ? "0X" : "0x");
        buf_char(&hex, digits[(unsigned char)text.ptr[i] >> 4]);
        buf_char(&hex, digits[(unsigned char)text.ptr[i] & 15]);
    }
    pad(printer, buf_peek(&hex));
    buf_deinit(&hex);
}

/* --- one argument ------------------------------------------------------------------------------------------------ */

static void print_mistake(Printer *printer, uint32_t verb, const char *why)
{
    buf_text(printer->buf, "%!");
    rune_print(printer->buf, verb);
    buf_text(printer->buf, why);
}

/* %!d(string=x): the verb does not fit; the flags still hold for the value. */
static void print_bad_verb(Printer *printer, const Arg *arg, Value value, uint32_t verb, bool of_data)
{
    print_mistake(printer, verb, "(");
    buf_text(printer->buf, arg->kind == ARG_BIG ? "big.Int" : arg_type(printer, arg->kind));
    if (arg->kind != ARG_NIL) {
        buf_char(printer->buf, '=');
        Flags flags = printer->flags;
        if (arg->kind == ARG_BIG) printer->flags = (Flags){ 0 };
        print_arg(printer, value, 'v', of_data);
        printer->flags = flags;
    }
    buf_char(printer->buf, ')');
}

static void print_item(Printer *printer, Value item, uint32_t verb)
{
    if (item.kind == VALUE_NULL) buf_text(printer->buf, "<nil>");
    else print_arg(printer, item, verb, /* of_data= */ true);
}

static void print_container(Printer *printer, Value value, uint32_t verb)
{
    bool is_map = value.kind == VALUE_OBJECT;
    buf_text(printer->buf, is_map ? "map[" : "[");
    for (uint32_t i = 0; i < value.count && !buf_overflowed(printer->buf); i++) {
        if (i) buf_char(printer->buf, ' ');
        if (is_map) {
            print_item(printer, value.members[i].key, verb);
            buf_char(printer->buf, ':');
        }
        print_item(printer, is_map ? value.members[i].value : value.items[i], verb);
    }
    buf_char(printer->buf, ']');
}

static bool print_as_integer(Printer *printer, int64_t integer, uint32_t verb)
{
    const Base *base = base_find(verb);
    if (base) print_integer(printer, integer, base);
    else if (verb == 'c' || verb == 'q') print_character(printer, integer, verb == 'q');
    else if (verb == 'U') print_code_point(printer, integer);
    else return false;
    return true;
}

static bool print_as_float(Printer *printer, Float real, uint32_t verb)
{
    static const struct { char verb, notation; int8_t precision; } notations[] = {
        { 'v', 'g', -1 }, { 'e', 'e', 6 }, { 'E', 'E', 6 },  { 'f', 'f', 6 },  { 'F', 'f', 6 },
        { 'g', 'g', -1 }, { 'G', 'G', -1 }, { 'b', 'b', -1 }, { 'x', 'x', -1 }, { 'X', 'X', -1 },
    };
    for (size_t i = 0; i < sizeof notations / sizeof notations[0]; i++) {
        if ((uint32_t)notations[i].verb != verb) continue;
        print_float(printer, real, notations[i].notation, notations[i].precision);
        return true;
    }
    return false;
}

static bool print_as_text(Printer *printer, Str text, uint32_t verb)
{
    if (verb == 'v' && printer->flags.sharp_v) print_quoted(printer, text);
    else if (verb == 'v' || verb == 's') pad(printer, truncate_text(printer, text));
    else if (verb == 'q') print_quoted(printer, text);
    else if (verb == 'x' || verb == 'X') print_bytes(printer, text, verb == 'X');
    else return false;
    return true;
}

static bool print_as_big(Printer *printer, Str text, uint32_t verb)
{
    const Base *base = base_find(verb == 's' ? 'd' : verb);
    if (base) print_big(printer, text, base);
    return base != NULL;
}

static void print_arg(Printer *printer, Value value, uint32_t verb, bool of_data)
{
    Arg arg;
    arg_read(value, of_data, &arg);
    bool is_printed = false;
    if (verb == 'T') {
        pad(printer, truncate_text(printer, str_of(arg_type(printer, arg.kind))));
        is_printed = true;
    } else if (arg.kind == ARG_LIST || arg.kind == ARG_MAP) {
        print_container(printer, value, verb);
        is_printed = true;
    } else if (arg.kind == ARG_BOOL || arg.kind == ARG_NIL) {
        is_printed = verb == 'v' || (verb == 't' && arg.kind == ARG_BOOL);
        if (is_printed) pad(printer, arg.kind == ARG_NIL ? STR("<nil>") : arg.text);
    } else if (arg.kind == ARG_INTEGER) {
        is_printed = print_as_integer(printer, arg.integer, verb);
    } else if (arg.kind == ARG_BIG) {
        is_printed = print_as_big(printer, arg.text, verb);
    } else if (arg.kind == ARG_FLOAT) {
        is_printed = print_as_float(printer, arg.real, verb);
    } else {
        is_printed = print_as_text(printer, arg.text, verb);
    }
    if (!is_printed) print_bad_verb(printer, &arg, value, verb, of_data);
    arg_free(&arg);
}

/* --- the format -------------------------------------------------------------------------------------------------- */

static char peek(const Printer *printer)
{
    return printer->at < printer->format.len ? printer->format.ptr[printer->at] : '\0';
}

static bool next_is(Printer *printer, char c)
{
    if (printer->at >= printer->format.len || printer->format.ptr[printer->at] != c) return false;
    printer->at++;
    return true;
}

/* Digits up to `end`. A number that is too large is none, and takes the rest of the format with it. */
static bool read_number(Str format, size_t *at, size_t end, int64_t *out)
{
    bool has_digits = false;
    *out = 0;
    while (*at < end && ascii_is_digit(format.ptr[*at])) {
        if (*out > FORMAT_WIDTH_MAX) {
            *out = 0;
            *at = end;
            return false;
        }
        *out = *out * 10 + (format.ptr[(*at)++] - '0');
        has_digits = true;
    }
    return has_digits;
}

/* [3]: the next verb, width or precision takes that argument. True where there was one, right or wrong. */
static bool read_index(Printer *printer)
{
    if (peek(printer) != '[') return false;
    printer->reordered = true;
    size_t from = printer->at, end = str_find(printer->format, ']', from + 1);
    int64_t index = 0;
    size_t at = from + 1;
    if (end == printer->format.len) {
        printer->at = from + 1;
        printer->is_good_index = false;
        return false;
    }
    bool is_number = read_number(printer->format, &at, end, &index) && at == end;
    printer->at = end + 1;
    if (is_number && index >= 1 && index <= printer->count) {
        printer->next = (uint32_t)index - 1;
        return true;
    }
    printer->is_good_index = false;
    return is_number;
}

/* A width or precision from an argument. */
static bool read_star(Printer *printer, int64_t *out)
{
    if (printer->next >= printer->count) return false;
    Arg arg;
    uint32_t index = printer->next++;
    arg_read(printer->args[index], is_data(printer, index), &arg);
    bool is_usable = arg.kind == ARG_INTEGER && arg.integer <= FORMAT_WIDTH_MAX && arg.integer >= -FORMAT_WIDTH_MAX;
    *out = is_usable ? arg.integer : 0;
    arg_free(&arg);
    return is_usable;
}

static void read_flags(Printer *printer)
{
    Flags *flags = &printer->flags;
    *flags = (Flags){ 0 };
    for (;; printer->at++) {
        switch (peek(printer)) {
        case '#': flags->sharp = true; break;
        case '0': flags->zero = true; break;
        case '+': flags->plus = true; break;
        case '-': flags->minus = true; break;
        case ' ': flags->space = true; break;
        default: return;
        }
    }
}

static bool read_width(Printer *printer, bool has_index)
{
    Flags *flags = &printer->flags;
    if (!next_is(printer, '*')) {
        flags->has_width = read_number(printer->format, &printer->at, printer->format.len, &flags->width);
        if (has_index && flags->has_width) printer->is_good_index = false;
        return has_index;
    }
    flags->has_width = read_star(printer, &flags->width);
    if (!flags->has_width) buf_text(printer->buf, "%!(BADWIDTH)");
    if (flags->width < 0) {
        flags->width = -flags->width;
        flags->minus = true;
    }
    return false;
}

static bool read_precision(Printer *printer, bool has_index)
{
    Flags *flags = &printer->flags;
    if (printer->at + 1 >= printer->format.len || !next_is(printer, '.')) return has_index;
    if (has_index) printer->is_good_index = false;
    has_index = read_index(printer);
    if (next_is(printer, '*')) {
        flags->has_precision = read_star(printer, &flags->precision);
        if (flags->precision < 0) {
            flags->precision = 0;
            flags->has_precision = false;
        }
        if (!flags->has_precision) buf_text(printer->buf, "%!(BADPREC)");
        return false;
    }
    flags->has_precision = true;
    if (!read_number(printer->format, &printer->at, printer->format.len, &flags->precision)) flags->precision = 0;
    return has_index;
}

static void print_verb(Printer *printer, uint32_t verb)
{
    if (verb == '%') {
        buf_char(printer->buf, '%');
        return;
    }
    if (!printer->is_good_index) {
        print_mistake(printer, verb, "(BADINDEX)");
        return;
    }
    if (printer->next >= printer->count) {
        print_mistake(printer, verb, "(MISSING)");
        return;
    }
    Flags *flags = &printer->flags;
    if (verb == 'v' || verb == 'w') {
        flags->sharp_v = flags->sharp;
        flags->sharp = false;
        flags->plus_v = flags->plus;
        flags->plus = false;
    }
    uint32_t index = printer->next++;
    print_arg(printer, printer->args[index], verb, is_data(printer, index));
}

static void print_extra(Printer *printer)
{
    printer->flags = (Flags){ 0 };
    buf_text(printer->buf, "%!(EXTRA ");
    for (uint32_t i = printer->next; i < printer->count; i++) {
        Arg arg;
        if (i > printer->next) buf_text(printer->buf, ", ");
        arg_read(printer->args[i], is_data(printer, i), &arg);
        buf_text(printer->buf, arg_type(printer, arg.kind));
        arg_free(&arg);
        if (arg.kind == ARG_NIL) continue;
        buf_char(printer->buf, '=');
        print_arg(printer, printer->args[i], 'v', is_data(printer, i));
    }
    buf_char(printer->buf, ')');
}

/* Steps for printing one argument once. What is inside a container was spent when this is known. */
static bool arg_weigh(BuiltinContext *context, Value arg, uint64_t *out_weight, Error *err)
{
    if (!builtin_weigh(context, arg, out_weight, err)) return false;
    if (arg.kind == VALUE_STRING) *out_weight = 1 + 2 * (uint64_t)arg.count / REGO_BYTES_PER_STEP;
    if (arg.kind == VALUE_DECIMAL) *out_weight = NUMBER_PRINT_TIMES * number_cost(arg);
    return true;
}

/* Every verb may name any argument ("%[1]d"), so each is charged for the heaviest one. */
bool format_spend(BuiltinContext *context, Str format, const Value *args, uint32_t count, Error *err)
{
    uint64_t verbs = 0, heaviest = 1;
    if (!builtin_spend(context, format.len / REGO_BYTES_PER_STEP + count, err)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t weight;
        if (!arg_weigh(context, args[i], &weight, err)) return false;
        if (weight > heaviest) heaviest = weight;
    }
    for (size_t at = str_find(format, '%', 0); at < format.len; at = str_find(format, '%', at + 1)) verbs++;
    return builtin_spend(context, verbs * heaviest, err);
}

void format_print(Buf *buf, Str format, const Value *args, uint32_t count)
{
    format_print_data(buf, format, args, /* literals= */ NULL, count);
}

void format_print_data(Buf *buf, Str format, const Value *args, const bool *literals, uint32_t count)
{
    Printer printer = { .buf = buf, .format = format, .args = args, .literals = literals, .count = count };
    while (printer.at < format.len && !buf_overflowed(buf)) {
        size_t end = str_find(format, '%', printer.at);
        buf_str(buf, str_slice(format, printer.at, end));
        printer.at = end + 1;
        if (end == format.len) break;
        printer.is_good_index = true;
        read_flags(&printer);
        bool has_index = read_index(&printer);
        has_index = read_width(&printer, has_index);
        has_index = read_precision(&printer, has_index);
        if (!has_index) read_index(&printer);
        if (printer.at >= format.len) {
            buf_text(buf, "%!(NOVERB)");
            break;
        }
        size_t size;
        uint32_t verb = rune_first(str_slice(format, printer.at, format.len), &size);
        printer.at += size;
        print_verb(&printer, verb);
    }
    if (!printer.reordered && printer.next < count) print_extra(&printer);
}

void format_value(Buf *buf, Value value)
{
    format_print(buf, STR("%v"), &value, 1);
}
