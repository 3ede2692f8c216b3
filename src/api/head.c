#include "api/head.h"

#include <string.h>
#include <strings.h>

#include "value/uri.h"

static bool is_token(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_alnum(text.ptr[i]) && !(text.ptr[i] && strchr("!#$%&'*+-.^_`|~", text.ptr[i]))) return false;
    return text.len > 0;
}

/* Visible, a space or a tab, or part of a character beyond ASCII. */
static bool is_field(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\t') || text.ptr[i] == 0x7f) return false;
    return true;
}

static bool is_host(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_alnum(text.ptr[i]) && !(text.ptr[i] && strchr("-._~%!$&'()*+,;=:[]", text.ptr[i]))) return false;
    return true;
}

static bool is_named(const CallPair *pair, const char *name)
{
    return pair->name.len == strlen(name) && strncasecmp(pair->name.ptr, name, pair->name.len) == 0;
}

/* How many headers have that name, and the value of one of them. */
static uint32_t count_of(const Head *head, const char *name, Str *out_value)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < head->header_count; i++) {
        if (!is_named(&head->headers[i], name)) continue;
        *out_value = head->headers[i].value;
        count++;
    }
    return count;
}

const char *head_fault(const Head *head)
{
    Str host = STR(""), length = STR(""), coding = STR(""), given;
    if (!is_token(head->method)) return "its method is no word";
    for (uint32_t i = 0; i < head->header_count; i++) {
        if (!is_token(head->headers[i].name)) return "the name of a header is no word";
        if (!is_field(head->headers[i].value)) return "the value of a header has a control character in it";
    }
    uint32_t host_count = count_of(head, "Host", &host), length_count = count_of(head, "Content-Length", &length);
    uint32_t coding_count = count_of(head, "Transfer-Encoding", &coding);
    if (host_count > 1) return "it has more than one Host";
    if (!host_count && !str_is_text(head->version, "HTTP/1.0")) return "it has no Host";
    if (!is_host(host)) return "its Host is none";
    if (count_of(head, "Authorization", &given) > 1) return "it has more than one Authorization";
    if (count_of(head, "Content-Type", &given) > 1) return "it has more than one Content-Type";
    if (length_count > 1) return "it has more than one Content-Length";
    if (length_count && coding_count) return "it has both Content-Length and Transfer-Encoding";
    if (coding_count && str_is_text(head->version, "HTTP/1.0")) return "HTTP/1.0 has no Transfer-Encoding";
    if (coding_count > 1 || (coding_count && (coding.len != 7 || strncasecmp(coding.ptr, "chunked", 7) != 0)))
        return "its Transfer-Encoding is not 'chunked'";
    return NULL;
}

/* That word is what comes next, and a NUL ends it. */
static bool take_word(Str *rest, Str word)
{
    if (word.ptr != rest->ptr || word.len >= rest->len || rest->ptr[word.len]) return false;
    *rest = str_slice(*rest, word.len + 1, rest->len);
    return true;
}

static bool take_header(Str *rest, const CallPair *header)
{
    if (rest->len && !rest->ptr[0]) *rest = str_slice(*rest, 1, rest->len);         /* the line before it ended with CR and LF */
    if (!take_word(rest, header->name)) return false;
    while (rest->len && (rest->ptr[0] == ' ' || rest->ptr[0] == '\t')) *rest = str_slice(*rest, 1, rest->len);
    return take_word(rest, header->value);
}

/* Of the last line an LF may be left, and of the empty one there are CR and LF, or LF alone. */
static bool is_empty_line(Str rest)
{
    for (size_t i = 0; i < rest.len; i++)
        if (rest.ptr[i]) return false;
    return rest.len >= 1 && rest.len <= 3;
}

const char *head_gap(const Head *head)
{
    static const char *const gap = "a header goes on in a second line, or has a NUL in it";
    Str rest = head->bytes;
    if (!take_word(&rest, head->method) || !take_word(&rest, head->target) || !take_word(&rest, head->version))
        return "its line is not a method, a target and a version with one space between them";
    for (uint32_t i = 0; i < head->header_count; i++)
        if (!take_header(&rest, &head->headers[i])) return gap;
    return is_empty_line(rest) ? NULL : gap;
}

static size_t scheme_size(Str target) { return str_starts(target, STR("http://")) ? 7 : str_starts(target, STR("https://")) ? 8 : 0; }

const char *head_target_fault(Str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= ' ' || text.ptr[i] == 0x7f) return "its target has a space or a control character in it";
    if (str_find(text, '#', 0) < text.len) return "its target has a fragment, which is none of a server's business";
    if (!str_starts(text, STR("/")) && !scheme_size(text) && !str_is_text(text, "*")) return "its target is no path";
    return NULL;
}

Str head_path(Str target)
{
    size_t scheme = scheme_size(target);
    size_t slash = scheme ? str_find(target, '/', scheme) : 0;
    return scheme && slash == target.len ? STR("/") : str_slice(target, slash, target.len);
}

Str head_decode(Arena *arena, Str text)
{
    if (str_find(text, '%', 0) == text.len) return arena_copy(arena, text);
    Buf decoded = buf_on(arena_bytes(arena, text.len + 1), text.len + 1);
    bool is_decoded = uri_decode(&decoded, text) && str_find(buf_peek(&decoded), '\0', 0) == buf_peek(&decoded).len;
    return is_decoded ? buf_peek(&decoded) : arena_copy(arena, text);
}
