#include "rego/builtins/text.h"

#include "rego/builtins/runes.h"

/* --- quoting ----------------------------------------------------------------------------------------------------- */

static void escape_hex(Buf *buf, char letter, uint32_t number, uint32_t digits)
{
    static const char hex[] = "0123456789abcdef";
    buf_char(buf, '\\');
    buf_char(buf, letter);
    for (uint32_t i = digits; i--;) buf_char(buf, hex[number >> (4 * i) & 15]);
}

static void print_escaped(Buf *buf, uint32_t rune, char quote, bool ascii_only)
{
    static const char letters[14] = { ['\a'] = 'a', ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n',
                                      ['\v'] = 'v', ['\f'] = 'f', ['\r'] = 'r' };
    if (rune == (uint32_t)quote || rune == '\\') {
        buf_char(buf, '\\');
        buf_char(buf, (char)rune);
    } else if (rune < sizeof letters && letters[rune]) {
        buf_char(buf, '\\');
        buf_char(buf, letters[rune]);
    } else if (rune < 0x20 || rune == 0x7f) {
        escape_hex(buf, 'x', rune, 2);
    } else if (rune < 0x7f || (!ascii_only && rune_is_printable(rune))) {
        rune_print(buf, rune);
    } else if (rune < 0x10000) {
        escape_hex(buf, 'u', rune, 4);
    } else {
        escape_hex(buf, 'U', rune, 8);
    }
}

size_t text_print_plain(Buf *buf, Str text, size_t at)
{
    size_t end = at;
    while (end < text.len && text.ptr[end] >= ' ' && text.ptr[end] <= '~' && text.ptr[end] != '"' && text.ptr[end] != '\\')
        end++;
    buf_bytes(buf, text.ptr + at, end - at);
    return end - at;
}

static void quote(Buf *buf, Str text, bool ascii_only)
{
    buf_char(buf, '"');
    for (size_t at = 0, size; at < text.len; at += size) {
        size = text_print_plain(buf, text, at);
        if (size) continue;
        uint32_t rune = rune_first(str_slice(text, at, text.len), &size);
        bool is_broken = rune == RUNE_INVALID && size == 1;
        if (is_broken) escape_hex(buf, 'x', (unsigned char)text.ptr[at], 2);
        else print_escaped(buf, rune, '"', ascii_only);
    }
    buf_char(buf, '"');
}

void text_quote(Buf *buf, Str text)
{
    quote(buf, text, false);
}

void text_quote_ascii(Buf *buf, Str text)
{
    quote(buf, text, true);
}

void text_quote_bytes(Buf *buf, Str text)
{
    buf_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\') buf_char(buf, '\\');
        if (c >= 0x20 && c < 0x80) buf_char(buf, (char)c);
        else escape_hex(buf, 'x', c, 2);
    }
    buf_char(buf, '"');
}

void rune_quote(Buf *buf, uint32_t rune, bool ascii_only)
{
    buf_char(buf, '\'');
    print_escaped(buf, rune, '\'', ascii_only);
    buf_char(buf, '\'');
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static void print_items(Buf *buf, const Value *items, uint32_t count)
{
    for (uint32_t i = 0; i < count && !buf_overflowed(buf); i++) {
        if (i) buf_text(buf, ", ");
        value_print(buf, items[i]);
    }
}

void value_print(Buf *buf, Value value)
{
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
        buf_text(buf, "null");
        return;
    case VALUE_BOOL:
        buf_text(buf, value.count ? "true" : "false");
        return;
    case VALUE_INT:
        buf_i64(buf, value.integer);
        return;
    case VALUE_DECIMAL:
        buf_str(buf, value_text(value));
        return;
    case VALUE_STRING:
        text_quote(buf, value_text(value));
        return;
    case VALUE_ARRAY:
        buf_char(buf, '[');
        print_items(buf, value.items, value.count);
        buf_char(buf, ']');
        return;
    case VALUE_SET:
        buf_text(buf, value.count ? "{" : "set()");
        print_items(buf, value.items, value.count);
        if (value.count) buf_char(buf, '}');
        return;
    case VALUE_OBJECT:
        buf_char(buf, '{');
        for (uint32_t i = 0; i < value.count && !buf_overflowed(buf); i++) {
            if (i) buf_text(buf, ", ");
            value_print(buf, value.members[i].key);
            buf_text(buf, ": ");
            value_print(buf, value.members[i].value);
        }
        buf_char(buf, '}');
        return;
    }
}
