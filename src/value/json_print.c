#include <stdlib.h>

#include "base/check.h"
#include "value/canonical.h"
#include "value/json.h"
#include "value/json_scan.h"
#include "value/number.h"

/* The short escapes of RFC 8259, the ones RFC 8785 demands; other control characters are written as \u00xx. */
static void print_escape(Buf *buf, unsigned char c)
{
    static const char short_escapes[32] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
    buf_char(buf, '\\');
    if (c >= 0x20) {
        buf_char(buf, (char)c);
    } else if (short_escapes[c]) {
        buf_char(buf, short_escapes[c]);
    } else {
        buf_str(buf, STR("u00"));
        buf_hex(buf, &c, 1);
    }
}

void json_print_string(Buf *buf, Str text)
{
    uint64_t bits = 0;
    buf_char(buf, '"');
    for (size_t at = 0; at < text.len;) {
        size_t from = at;
        at = json_plain_end(text, at, &bits);
        buf_bytes(buf, text.ptr + from, at - from);
        if (at < text.len) print_escape(buf, (unsigned char)text.ptr[at++]);
    }
    buf_char(buf, '"');
}

typedef struct Printer {
    Buf *buf;
    JsonStyle style;
    bool canonical;
} Printer;

static void print_break(const Printer *printer, uint32_t depth)
{
    if (printer->style != JSON_PRETTY) return;
    buf_char(printer->buf, '\n');
    buf_repeat(printer->buf, ' ', (size_t)depth * 2);
}

static Status print_value(const Printer *printer, Value value, uint32_t depth, Error *err);

static Status print_array(const Printer *printer, Value array, uint32_t depth, Error *err)
{
    buf_char(printer->buf, '[');
    for (uint32_t i = 0; i < array.count; i++) {
        if (i) buf_char(printer->buf, ',');
        print_break(printer, depth + 1);
        Status status = print_value(printer, array.items[i], depth + 1, err);
        if (status) return status;
    }
    if (array.count) print_break(printer, depth);
    buf_char(printer->buf, ']');
    return OK;
}

/* RFC 8785 sorts member names by UTF-16 units, where a surrogate pair (above U+FFFF) comes before U+E000..U+FFFF. In
 * UTF-8 that is the byte order but for the lead bytes 0xEE, 0xEF against 0xF0..0xF4. */
static int compare_utf16(Str a, Str b)
{
    size_t shared = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < shared; i++) {
        unsigned char x = (unsigned char)a.ptr[i], y = (unsigned char)b.ptr[i];
        if (x == y) continue;
        bool x_is_pair = x >= 0xf0, y_is_pair = y >= 0xf0;
        if (x_is_pair && !y_is_pair && y >= 0xee) return -1;
        if (y_is_pair && !x_is_pair && x >= 0xee) return 1;
        return x < y ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

static bool needs_utf16_order(Value object)
{
    bool has_high = false, has_pair = false;
    for (uint32_t i = 0; i < object.count; i++) {
        Str key = value_text(object.members[i].key);
        for (size_t j = 0; j < key.len; j++) {
            unsigned char c = (unsigned char)key.ptr[j];
            has_high |= c == 0xee || c == 0xef;
            has_pair |= c >= 0xf0;
        }
    }
    return has_high && has_pair;
}

static Status print_member(const Printer *printer, const Member *member, uint32_t depth, bool is_first, Error *err)
{
    if (!is_first) buf_char(printer->buf, ',');
    print_break(printer, depth + 1);
    json_print_string(printer->buf, value_text(member->key));
    buf_char(printer->buf, ':');
    if (printer->style == JSON_PRETTY) buf_char(printer->buf, ' ');
    return print_value(printer, member->value, depth + 1, err);
}

static int order_utf16(const void *a, const void *b)
{
    return compare_utf16(value_text((*(const Member *const *)a)->key), value_text((*(const Member *const *)b)->key));
}

static Status print_members_utf16(const Printer *printer, Value object, uint32_t depth, Error *err)
{
    const Member **order = malloc(object.count * sizeof *order);
    CHECK(order != NULL);
    for (uint32_t i = 0; i < object.count; i++) order[i] = &object.members[i];
    qsort(order, object.count, sizeof *order, order_utf16);
    Status status = OK;
    for (uint32_t i = 0; i < object.count && !status; i++) status = print_member(printer, order[i], depth, i == 0, err);
    free(order);
    return status;
}

static Status print_object(const Printer *printer, Value object, uint32_t depth, Error *err)
{
    for (uint32_t i = 0; i < object.count; i++)
        if (object.members[i].key.kind != VALUE_STRING)
            return error_set(err, ERR_INVALID, "an object key of type %s cannot be written as JSON",
                             value_kind_name(object.members[i].key));
    buf_char(printer->buf, '{');
    Status status = OK;
    if (printer->canonical && needs_utf16_order(object)) {
        status = print_members_utf16(printer, object, depth, err);
    } else {
        for (uint32_t i = 0; i < object.count && !status; i++)
            status = print_member(printer, &object.members[i], depth, i == 0, err);
    }
    if (status) return status;
    if (object.count) print_break(printer, depth);
    buf_char(printer->buf, '}');
    return OK;
}

static Status print_value(const Printer *printer, Value value, uint32_t depth, Error *err)
{
    bool is_container = value.kind == VALUE_ARRAY || value.kind == VALUE_OBJECT;
    if (is_container && depth == JSON_DEPTH_MAX)
        return error_set(err, ERR_LIMIT, "a value nests deeper than JSON_DEPTH_MAX, %u levels", JSON_DEPTH_MAX);
    switch ((ValueKind)value.kind) {
    case VALUE_NULL:
        buf_str(printer->buf, STR("null"));
        return OK;
    case VALUE_BOOL:
        buf_str(printer->buf, value.count ? STR("true") : STR("false"));
        return OK;
    case VALUE_INT:
        buf_i64(printer->buf, value.integer);
        return OK;
    case VALUE_DECIMAL:
        if (printer->canonical) number_print_canonical(printer->buf, value);
        else buf_str(printer->buf, value_text(value));
        return OK;
    case VALUE_STRING:
        json_print_string(printer->buf, value_text(value));
        return OK;
    case VALUE_ARRAY:
        return print_array(printer, value, depth, err);
    case VALUE_OBJECT:
        return print_object(printer, value, depth, err);
    case VALUE_SET:
        break;
    }
    return error_set(err, ERR_INVALID, "a set cannot be written as JSON");
}

static Status print_checked(const Printer *printer, Value value, Error *err)
{
    Status status = print_value(printer, value, 0, err);
    if (status) return status;
    if (buf_overflowed(printer->buf))
        return error_set(err, ERR_LIMIT, "a JSON text exceeds %zu bytes", printer->buf->size_max);
    return OK;
}

Status json_print(Buf *buf, Value value, JsonStyle style, Error *err)
{
    return print_checked(&(Printer){ .buf = buf, .style = style }, value, err);
}

Status canonical_print(Buf *buf, Value value, Error *err)
{
    return print_checked(&(Printer){ .buf = buf, .style = JSON_COMPACT, .canonical = true }, value, err);
}
