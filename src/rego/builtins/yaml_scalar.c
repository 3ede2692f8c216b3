#include "rego/builtins/yaml_scalar.h"

#include "rego/builtins/float_text.h"
#include "value/number.h"

static bool is_word(Str text, const char *const *words)
{
    for (; *words; words++)
        if (str_is_text(text, *words)) return true;
    return false;
}

static const char *const null_words[] = { "", "~", "null", "Null", "NULL", NULL };
static const char *const true_words[] = { "true", "True", "TRUE", NULL };
static const char *const false_words[] = { "false", "False", "FALSE", NULL };
static const char *const no_numbers[] = { ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
                                          "-.inf", "-.Inf", "-.INF", NULL };

/* --- numbers ----------------------------------------------------------------------------------------------------- */

static int digit_value(char c)
{
    if (ascii_is_digit(c)) return c - '0';
    return ascii_is_alpha(c) ? ascii_to_lower(c) - 'a' + 10 : 99;
}

/* The base that a prefix names, and the digits behind it. */
static int integer_base(Str *digits)
{
    if (digits->len > 1 && digits->ptr[0] == '0') {
        char letter = ascii_to_lower(digits->ptr[1]);
        int base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 0;
        *digits = str_slice(*digits, base ? 2 : 1, digits->len);
        return base ? base : 8;
    }
    return 10;
}

static bool read_integer(Str text, YamlScalar *out)
{
    bool has_sign = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+');
    Str digits = str_slice(text, has_sign, text.len);
    int base = integer_base(&digits);
    uint64_t magnitude = 0;
    if (digits.len == 0) return false;
    for (size_t i = 0; i < digits.len; i++) {
        int value = digit_value(digits.ptr[i]);
        if (value >= base || __builtin_mul_overflow(magnitude, (uint64_t)base, &magnitude)
            || __builtin_add_overflow(magnitude, (uint64_t)value, &magnitude))
            return false;
    }
    out->negative = has_sign && text.ptr[0] == '-';
    bool fits = out->negative ? magnitude <= UINT64_C(1) << 63 : !has_sign || magnitude <= INT64_MAX;
    out->kind = YAML_INTEGER;
    out->magnitude = magnitude;
    return fits;
}

static size_t skip_digits(Str text, size_t at)
{
    while (at < text.len && ascii_is_digit(text.ptr[at])) at++;
    return at;
}

/* [-+]? (. digits | digits (. digits?)?) ([eE] [-+]? digits)? */
static bool is_float(Str text)
{
    size_t at = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'), whole = at;
    at = skip_digits(text, at);
    bool has_whole = at > whole;
    if (at < text.len && text.ptr[at] == '.') {
        size_t fraction = at + 1;
        at = skip_digits(text, fraction);
        if (!has_whole && at == fraction) return false;
    } else if (!has_whole) {
        return false;
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        if (at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+')) at++;
        size_t exponent = at;
        at = skip_digits(text, at);
        if (at == exponent) return false;
    }
    return at == text.len;
}

/* The same number with the digits that JSON wants around the point, and no plus in front. */
static bool read_float(Str text, YamlScalar *out)
{
    if (!is_float(text)) return false;
    Buf json;
    buf_init(&json, text.len + 4);
    size_t at = text.ptr[0] == '+';
    if (text.ptr[at] == '-') buf_char(&json, text.ptr[at++]);
    while (at + 1 < text.len && text.ptr[at] == '0' && ascii_is_digit(text.ptr[at + 1])) at++;
    if (text.ptr[at] == '.') buf_char(&json, '0');
    for (; at < text.len; at++) {
        buf_char(&json, text.ptr[at]);
        bool is_bare = text.ptr[at] == '.' && (at + 1 == text.len || !ascii_is_digit(text.ptr[at + 1]));
        if (is_bare) buf_char(&json, '0');
    }
    Arena scratch;
    Value number;
    arena_init(&scratch, SIZE_MAX);
    Status status = number_read(&scratch, buf_peek(&json), &number, NULL);
    /* What has an exponent beyond ours is no double, or so small that the nearest one is 0: a scalar has few digits. */
    if (status == ERR_LIMIT && str_find(text, '-', 1) < text.len) {
        number = number_make(&scratch, text.ptr[0] == '-' ? STR("-0") : STR("0"));
        status = OK;
    }
    bool is_read = status == OK && double_read(number, &out->real);
    arena_deinit(&scratch);
    buf_deinit(&json);
    out->kind = YAML_FLOAT;
    return is_read;
}

static YamlScalar resolve_number(Str text)
{
    char storage[128];
    YamlScalar scalar = { .kind = YAML_TEXT };
    if (text.len > sizeof storage) return scalar;       /* a longer one is a text that happens to begin with a digit */
    Buf plain = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '_' || text.ptr[0] == '.') buf_char(&plain, text.ptr[i]);
    if (!read_integer(buf_peek(&plain), &scalar) && !read_float(buf_peek(&plain), &scalar)) scalar.kind = YAML_TEXT;
    return scalar;
}

/* --- words ------------------------------------------------------------------------------------------------------- */

/* 2001-01-01, and a time behind it. */
static bool is_time(Str text)
{
    static const char shape[] = "0000-";
    for (size_t i = 0; i < 5; i++)
        if (i >= text.len || (shape[i] == '0' ? !ascii_is_digit(text.ptr[i]) : text.ptr[i] != shape[i])) return false;
    size_t at = skip_digits(text, 5);
    if (at == 5 || at > 7 || at >= text.len || text.ptr[at] != '-') return false;
    size_t day = at + 1;
    at = skip_digits(text, day);
    if (at == day || at > day + 2) return false;
    if (at == text.len) return true;
    char c = text.ptr[at];
    return (c == 'T' || c == 't' || c == ' ') && at + 1 < text.len && ascii_is_digit(text.ptr[at + 1])
        && str_find(text, ':', at) < text.len;
}

YamlScalar yaml_resolve(Str text)
{
    if (is_word(text, null_words)) return (YamlScalar){ .kind = YAML_NULL };
    if (is_word(text, true_words)) return (YamlScalar){ .kind = YAML_BOOL, .truth = true };
    if (is_word(text, false_words)) return (YamlScalar){ .kind = YAML_BOOL };
    if (is_word(text, no_numbers)) return (YamlScalar){ .kind = YAML_NO_NUMBER };
    char first = text.ptr[0];
    if (!ascii_is_digit(first) && first != '+' && first != '-' && first != '.')
        return (YamlScalar){ .kind = YAML_TEXT };
    if (is_time(text)) return (YamlScalar){ .kind = YAML_TIME };
    return resolve_number(text);
}

/* digits (: [0-5]?[0-9])+ */
static bool is_base_60(Str text)
{
    size_t at = text.len && (text.ptr[0] == '-' || text.ptr[0] == '+');
    if (at >= text.len || !ascii_is_digit(text.ptr[at])) return false;
    while (at < text.len && (ascii_is_digit(text.ptr[at]) || text.ptr[at] == '_')) at++;
    uint32_t groups = 0;
    while (at < text.len && text.ptr[at] == ':') {
        size_t from = ++at;
        at = skip_digits(text, at);
        bool is_group = at - from == 1 || (at - from == 2 && text.ptr[from] <= '5');
        if (!is_group) return false;
        groups++;
    }
    if (at < text.len && text.ptr[at] == '.')
        for (at++; at < text.len && (ascii_is_digit(text.ptr[at]) || text.ptr[at] == '_');) at++;
    return groups && at == text.len;
}

bool yaml_is_ambiguous(Str text)
{
    static const char *const words[] = { "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO",
                                         "off", "Off", "OFF", NULL };
    return is_word(text, words) || is_base_60(text);
}

/* Plain from 10^-6 up to 10^21, else with an exponent that has no zero in front. */
void yaml_print_double(Buf *buf, Float number)
{
    Decimal decimal = decimal_shortest(number, SHORTEST_DOUBLE);
    bool is_plain = decimal.count == 0 || (decimal.point > -6 && decimal.point <= 21);
    decimal_free(&decimal);
    Buf text;
    buf_init(&text, 512);
    float_format(&text, number, is_plain ? 'f' : 'e', -1);
    Str shown = str_slice(buf_peek(&text), !number.negative, text.len);
    size_t size = shown.len;
    bool has_zero = !is_plain && size >= 4 && shown.ptr[size - 4] == 'e' && shown.ptr[size - 2] == '0';
    buf_str(buf, str_slice(shown, 0, has_zero ? size - 2 : size));
    if (has_zero) buf_char(buf, shown.ptr[size - 1]);
    buf_deinit(&text);
}
