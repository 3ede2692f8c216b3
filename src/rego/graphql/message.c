#include "rego/graphql/message.h"

#include <string.h>

#include "base/limits.h"

void gql_quote(Buf *buf, Str text)
{
    static const struct { char c; const char *escape; } escapes[] = {
        { '"', "\\\"" }, { '\\', "\\\\" }, { '\a', "\\a" }, { '\b', "\\b" }, { '\f', "\\f" },
        { '\n', "\\n" }, { '\r', "\\r" },  { '\t', "\\t" }, { '\v', "\\v" },
    };
    buf_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        const char *escape = NULL;
        for (size_t j = 0; j < sizeof escapes / sizeof escapes[0]; j++)
            if (escapes[j].c == c) escape = escapes[j].escape;
        if (escape) buf_text(buf, escape);
        else if ((unsigned char)c < 0x20 || c == 0x7f) buf_format(buf, "\\x%02x", (unsigned char)c);
        else buf_char(buf, c);
    }
    buf_char(buf, '"');
}

void gql_type_print(Buf *buf, const GqlType *type)
{
    if (type->name.len || !type->element) {
        buf_str(buf, type->name);
    } else {
        buf_char(buf, '[');
        gql_type_print(buf, type->element);
        buf_char(buf, ']');
    }
    if (type->non_null) buf_char(buf, '!');
}

void gql_value_print(Buf *buf, const GqlValue *value)
{
    bool is_object = value->kind == GQL_OBJECT;
    if (value->kind == GQL_STRING || value->kind == GQL_BLOCK) {
        gql_quote(buf, value->raw);
    } else if (value->kind == GQL_LIST || is_object) {
        buf_char(buf, is_object ? '{' : '[');
        for (uint32_t i = 0; i < value->children.count; i++) {
            const GqlChild *child = value->children.items[i];
            if (i) buf_char(buf, ',');
            if (is_object) {
                buf_str(buf, child->name);
                buf_char(buf, ':');
            }
            gql_value_print(buf, child->value);
        }
        buf_char(buf, is_object ? '}' : ']');
    } else {
        if (value->kind == GQL_VARIABLE) buf_char(buf, '$');
        buf_str(buf, value->raw);
    }
}

void gql_or_list(Buf *buf, const Str *names, size_t count, bool quoted)
{
    if (count > 5) count = 5;
    for (size_t i = 0; i < count; i++) {
        if (i) buf_text(buf, count == 2 ? " or " : i + 1 == count ? ", or " : ", ");
        if (quoted) buf_char(buf, '"');
        buf_str(buf, names[i]);
        if (quoted) buf_char(buf, '"');
    }
}

/* --- suggestions -------------------------------------------------------------------------------------------------- */

static bool same_letters(Str a, Str b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_to_lower(a.ptr[i]) != ascii_to_lower(b.ptr[i])) return false;
    return true;
}

/* How many letters have to be changed, added or taken away; beyond a limit only that it is beyond. */
static size_t distance(Str a, Str b)
{
    if (str_is(a, b)) return 0;
    if (same_letters(a, b)) return 1;
    if (a.len > GRAPHQL_NAME_SUGGEST_MAX || b.len > GRAPHQL_NAME_SUGGEST_MAX) return SIZE_MAX;
    size_t row[GRAPHQL_NAME_SUGGEST_MAX + 1];
    for (size_t j = 0; j <= b.len; j++) row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = diagonal + (ascii_to_lower(a.ptr[i - 1]) != ascii_to_lower(b.ptr[j - 1]));
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[b.len];
}

size_t gql_suggest(Str typed, const Str *names, size_t count, Str *out_names)
{
    size_t threshold = typed.len * 2 / 5 + 1, found = 0;
    /* Kept in order by inserting: names that are equally near stay as they came. */
    for (size_t i = 0; i < count; i++) {
        size_t far = distance(typed, names[i]);
        if (far > threshold) continue;
        size_t at = found++;
        while (at > 0 && distance(typed, out_names[at - 1]) > far) {
            out_names[at] = out_names[at - 1];
            at--;
        }
        out_names[at] = names[i];
    }
    return found;
}
