/* encoding.c - base64, base64url, hex and URL queries. */
#include "base/limits.h"
#include "rego/builtins/json_text.h"
#include "rego/builtins/operand.h"
#include "rego/builtins/runes.h"
#include "rego/builtins/url_escape.h"

/* The operand as text, its size spent. */
static BuiltinResult read_text(BuiltinContext *context, const Value *args, Str *out, Error *err)
{
    if (!operand_string(args, 0, out, err)) return BUILTIN_TYPE_ERROR;
    return builtin_spend(context, out->len / REGO_BYTES_PER_STEP, err) ? BUILTIN_OK : BUILTIN_HALT;
}

/* --- base64 ------------------------------------------------------------------------------------------------------ */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char alphabet_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static BuiltinResult encode(BuiltinContext *context, const char *letters, bool padded, const Value *args, Value *out,
                            Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    if (result) return result;
    Buf buf;
    builtin_text_begin(context, &buf);
    for (size_t at = 0; at < text.len; at += 3) {
        size_t size = text.len - at < 3 ? text.len - at : 3;
        uint32_t group = 0;
        for (size_t i = 0; i < 3; i++) group = group << 8 | (i < size ? (unsigned char)text.ptr[at + i] : 0);
        for (size_t i = 0; i < 4; i++) {
            if (i <= size) buf_char(&buf, letters[group >> (18 - 6 * i) & 63]);
            else if (padded) buf_char(&buf, '=');
        }
    }
    return builtin_text_end(context, &buf, out, err);
}

BuiltinResult builtin_base64_encode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return encode(context, alphabet, true, args, out_result, err);
}

BuiltinResult builtin_base64url_encode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return encode(context, alphabet_url, true, args, out_result, err);
}

BuiltinResult builtin_base64url_encode_no_pad(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    return encode(context, alphabet_url, false, args, out_result, err);
}

static int letter_value(const char *letters, char c)
{
    if (ascii_is_upper(c)) return c - 'A';
    if (ascii_is_lower(c)) return c - 'a' + 26;
    if (ascii_is_digit(c)) return c - '0' + 52;
    return c == letters[62] ? 62 : c == letters[63] ? 63 : -1;
}

static size_t skip_breaks(Str text, size_t at)
{
    while (at < text.len && (text.ptr[at] == '\n' || text.ptr[at] == '\r')) at++;
    return at;
}

/* Writes the decoded bytes; returns the place of the first wrong one, or text.len + 1 where all is well. Line breaks
 * are skipped. Bits of the last letter that no byte needs are not looked at. */
static size_t decode(Str text, const char *letters, Buf *buf)
{
    const size_t fine = text.len + 1;
    for (size_t at = 0;;) {
        uint32_t group = 0, count = 0;
        bool is_padded = false;
        while (count < 4 && !is_padded) {
            at = skip_breaks(text, at);
            if (at == text.len) return count ? at - count : fine;
            int value = letter_value(letters, text.ptr[at]);
            if (value >= 0) {
                group = group << 6 | (uint32_t)value;
                count++;
                at++;
                continue;
            }
            if (text.ptr[at] != '=' || count < 2) return at;
            at++;
            if (count == 2) {                           /* a second one has to follow */
                at = skip_breaks(text, at);
                if (at == text.len) return at;
                if (text.ptr[at] != '=') return at - 1;
                at++;
            }
            is_padded = true;
        }
        group <<= 6 * (4 - count);
        for (uint32_t i = 0; i + 1 < count; i++) buf_char(buf, (char)(group >> (16 - 8 * i)));
        if (!is_padded) continue;
        at = skip_breaks(text, at);
        return at < text.len ? at : fine;
    }
}

static BuiltinResult decode_text(BuiltinContext *context, Str text, const char *letters, Value *out, Error *err)
{
    Buf buf;
    builtin_text_begin(context, &buf);
    size_t wrong = decode(text, letters, &buf);
    if (wrong > text.len) return builtin_text_end(context, &buf, out, err);
    builtin_text_drop(&buf);
    return builtin_error(err, "illegal base64 data at input byte %zu", wrong);
}

BuiltinResult builtin_base64_decode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    return result ? result : decode_text(context, text, alphabet, out_result, err);
}

/* Padding may be left out; it is added here, so that places in messages count as if it had been written. */
BuiltinResult builtin_base64url_decode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    if (result) return result;
    if (text.len && text.ptr[text.len - 1] != '=' && text.len % 4) {
        if (text.len % 4 == 1) return builtin_error(err, "illegal base64url string: %.*s", STR_ARG(text));
        if (!builtin_fits(context, text.len, err)) return BUILTIN_HALT;
        text = arena_format(context->arena, "%.*s%s", STR_ARG(text), text.len % 4 == 2 ? "==" : "=");
    }
    return decode_text(context, text, alphabet_url, out_result, err);
}

BuiltinResult builtin_base64_is_valid(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Value ignored;
    BuiltinResult result = builtin_base64_decode(context, args, &ignored, err);
    if (result == BUILTIN_HALT) return result;
    *out_result = value_bool(result == BUILTIN_OK);
    return BUILTIN_OK;
}

/* --- hex --------------------------------------------------------------------------------------------------------- */

BuiltinResult builtin_hex_encode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    if (result) return result;
    Buf buf;
    builtin_text_begin(context, &buf);
    buf_hex(&buf, (const uint8_t *)text.ptr, text.len);
    return builtin_text_end(context, &buf, out_result, err);
}

static BuiltinResult refuse_byte(char byte, Error *err)
{
    char storage[8];
    Buf shown = buf_on(storage, sizeof storage);
    uint32_t rune = (unsigned char)byte;
    rune_print(&shown, rune);
    if (!rune_is_printable(rune)) return builtin_error(err, "encoding/hex: invalid byte: U+%04X", rune);
    return builtin_error(err, "encoding/hex: invalid byte: U+%04X '%.*s'", rune, STR_ARG(buf_peek(&shown)));
}

BuiltinResult builtin_hex_decode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    if (result) return result;
    for (size_t i = 0; i < text.len; i++)
        if (hex_value(text.ptr[i]) < 0) return refuse_byte(text.ptr[i], err);
    if (text.len % 2) return builtin_error(err, "encoding/hex: odd length hex string");
    char *bytes = builtin_alloc(context, text.len / 2, err);
    if (!bytes) return BUILTIN_HALT;
    for (size_t i = 0; i < text.len; i += 2)
        bytes[i / 2] = (char)(hex_value(text.ptr[i]) << 4 | hex_value(text.ptr[i + 1]));
    *out_result = value_string((Str){ bytes, text.len / 2 });
    return BUILTIN_OK;
}

/* --- URL queries ------------------------------------------------------------------------------------------------- */

BuiltinResult builtin_urlquery_encode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    if (result) return result;
    Buf buf;
    builtin_text_begin(context, &buf);
    url_escape(&buf, text, URL_QUERY);
    return builtin_text_end(context, &buf, out_result, err);
}

BuiltinResult builtin_urlquery_decode(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    return result ? result : url_unescape(context, text, URL_QUERY, out_result, err);
}

static bool is_encodable(Value value)
{
    if (value.kind == VALUE_STRING) return true;
    if (value.kind != VALUE_ARRAY && value.kind != VALUE_SET) return false;
    for (uint32_t i = 0; i < value.count; i++)
        if (value.items[i].kind != VALUE_STRING) return false;
    return true;
}

static void print_pair(Buf *buf, Str key, Value value)
{
    if (buf->len) buf_char(buf, '&');
    url_escape(buf, key, URL_QUERY);
    buf_char(buf, '=');
    url_escape(buf, value_text(value), URL_QUERY);
}

BuiltinResult builtin_urlquery_encode_object(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    if (!operand_is(args, 0, &OPERAND_OBJECT, err)) return BUILTIN_TYPE_ERROR;
    uint64_t weight;
    if (!builtin_weigh(context, args[0], &weight, err)) return BUILTIN_HALT;
    Value object = json_named_members(context->arena, args[0]);
    for (uint32_t i = 0; i < object.count; i++)
        if (!is_encodable(object.members[i].value))
            return operand_error(err, 0, "values must be string, array[string], or set[string]");
    Buf buf;
    builtin_text_begin(context, &buf);
    for (uint32_t i = 0; i < object.count; i++) {
        Str key = value_text(object.members[i].key);
        Value value = object.members[i].value;
        if (value.kind == VALUE_STRING) print_pair(&buf, key, value);
        else for (uint32_t j = 0; j < value.count; j++) print_pair(&buf, key, value.items[j]);
    }
    return builtin_text_end(context, &buf, out_result, err);
}

/* Pairs of one key lie side by side once they are sorted; their values become an array in the order of the text. */
static BuiltinResult group_pairs(BuiltinContext *context, ValueList *pairs, Value *out, Error *err)
{
    Value sorted;
    BuiltinResult result = builtin_list_set(context, pairs, &sorted, err);
    if (result) return result;
    Member *members = BUILTIN_ARRAY(context, Member, sorted.count, err);
    if (!members) return BUILTIN_HALT;
    uint32_t count = 0;
    for (uint32_t from = 0, to; from < sorted.count; from = to) {
        Value key = sorted.items[from].items[0];
        for (to = from; to < sorted.count && value_equals(sorted.items[to].items[0], key);) to++;
        Value *values = BUILTIN_ARRAY(context, Value, to - from, err);
        if (!values) return BUILTIN_HALT;
        for (uint32_t i = from; i < to; i++) values[i - from] = sorted.items[i].items[2];
        members[count++] = (Member){ key, value_array(values, to - from) };
    }
    *out = (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
    return BUILTIN_OK;
}

BuiltinResult builtin_urlquery_decode_object(BuiltinContext *context, const Value *args, Value *out_result, Error *err)
{
    Str text;
    BuiltinResult result = read_text(context, args, &text, err);
    if (result) return result;
    if (str_find(text, ';', 0) < text.len) return builtin_error(err, "invalid semicolon separator in query");
    ValueList pairs = { .arena = context->arena };      /* [key, number, value] */
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, '&', at);
        Str part = str_slice(text, at, end);
        at = end + 1;
        if (part.len == 0) continue;
        size_t equals = str_find(part, '=', 0);
        Value *pair = BUILTIN_ARRAY(context, Value, 3, err);
        if (!pair) return BUILTIN_HALT;
        result = url_unescape(context, str_slice(part, 0, equals), URL_QUERY, &pair[0], err);
        if (!result) result = url_unescape(context, str_slice(part, equals + 1, part.len), URL_QUERY, &pair[2], err);
        if (result) return result;
        pair[1] = value_int((int64_t)pairs.count);
        if (!builtin_list_add(context, &pairs, value_array(pair, 3), err)) return BUILTIN_HALT;
    }
    return group_pairs(context, &pairs, out_result, err);
}
