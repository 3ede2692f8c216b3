#include "rego/builtins/url_escape.h"

#include <string.h>

#include "rego/builtins/text.h"

int hex_value(char c)
{
    if (ascii_is_digit(c)) return c - '0';
    char lower = ascii_to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Characters beside letters, digits and -_.~ that stand for themselves in a part. */
static const char *const plain_characters[] = {
    [URL_QUERY] = "", [URL_PATH] = "$&+,/:;=@",  [URL_FRAGMENT] = "$&+,/:;=?@!()*",
    [URL_USER] = "$&+,;=", [URL_HOST] = "!$&'()*+,;=:[]<>\"", [URL_ZONE] = "!$&'()*+,;=:[]<>\"",
};

static bool needs_escape(char c, UrlPart part)
{
    return !ascii_is_alnum(c) && !is_one_of(c, "-_.~") && !is_one_of(c, plain_characters[part]);
}

void url_escape(Buf *buf, Str text, UrlPart part)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == ' ' && part == URL_QUERY) {
            buf_char(buf, '+');
        } else if (needs_escape(c, part)) {
            buf_char(buf, '%');
            buf_char(buf, digits[(unsigned char)c >> 4]);
            buf_char(buf, digits[(unsigned char)c & 15]);
        } else {
            buf_char(buf, c);
        }
    }
}

static BuiltinResult refuse(Str text, const char *format, Error *err)
{
    char storage[64];
    Buf quoted = buf_on(storage, sizeof storage - 1);
    text_quote(&quoted, text);
    storage[quoted.len] = '\0';
    return builtin_error(err, format, storage);
}

/* In a host only bytes beyond ASCII may be escaped, and the % before a zone; in a zone also what could stand there as
 * it is, and the space. */
static bool is_allowed_escape(char byte, Str escape, UrlPart part)
{
    if (part == URL_HOST) return (unsigned char)byte >= 0x80 || str_is(escape, STR("%25"));
    if (part == URL_ZONE) return str_is(escape, STR("%25")) || byte == ' ' || !needs_escape(byte, URL_HOST);
    return true;
}

BuiltinResult url_unescape(BuiltinContext *context, Str text, UrlPart part, Value *out_text, Error *err)
{
    bool is_host = part == URL_HOST || part == URL_ZONE;
    char *plain = builtin_alloc(context, text.len, err);
    if (!plain) return BUILTIN_HALT;
    size_t size = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            Str escape = str_slice(text, i, i + 3);
            bool is_whole = escape.len == 3 && hex_value(escape.ptr[1]) >= 0 && hex_value(escape.ptr[2]) >= 0;
            if (!is_whole) return refuse(escape, "invalid URL escape %s", err);
            char byte = (char)(hex_value(escape.ptr[1]) << 4 | hex_value(escape.ptr[2]));
            if (!is_allowed_escape(byte, escape, part)) return refuse(escape, "invalid URL escape %s", err);
            plain[size++] = byte;
            i += 2;
        } else if (is_host && (unsigned char)c < 0x80 && needs_escape(c, part)) {
            return refuse(str_slice(text, i, i + 1), "invalid character %s in host name", err);
        } else {
            plain[size++] = c == '+' && part == URL_QUERY ? ' ' : c;
        }
    }
    *out_text = value_string((Str){ plain, size });
    return BUILTIN_OK;
}
