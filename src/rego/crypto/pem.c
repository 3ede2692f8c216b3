#include "rego/crypto/pem.h"

#include <string.h>

#include "base/base64.h"

static const Str begin_mark = STR_INIT("-----BEGIN "), end_mark = STR_INIT("\n-----END "), dashes = STR_INIT("-----");

bool pem_begins(Str text)
{
    return str_starts(text, STR("-----BEGIN"));
}

static size_t find_text(Str text, Str wanted)
{
    const char *found = text.len ? memmem(text.ptr, text.len, wanted.ptr, wanted.len) : NULL;
    return found ? (size_t)(found - text.ptr) : text.len;
}

/* The last mark that begins a line; false where there is none. */
static bool find_begin(Str text, size_t *out_at)
{
    for (size_t at = text.len < begin_mark.len ? 0 : text.len - begin_mark.len + 1; at-- > 0;) {
        if (!str_starts(str_slice(text, at, text.len), begin_mark)) continue;
        *out_at = at;
        return at == 0 || text.ptr[at - 1] == '\n';
    }
    return false;
}

/* A line without its end and the spaces before that; *text is moved behind it. */
static Str take_line(Str *text)
{
    size_t end = str_find(*text, '\n', 0);
    Str line = str_slice(*text, 0, end);
    *text = str_slice(*text, end + 1, text->len);
    if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
    while (line.len && (line.ptr[line.len - 1] == ' ' || line.ptr[line.len - 1] == '\t')) line.len--;
    return line;
}

/* Base64 with spaces and tabs among it. */
static bool decode_body(Arena *arena, Str body, Str *out_bytes)
{
    char *packed = arena_alloc(arena, body.len + 1);
    size_t size = 0, wrong;
    for (size_t i = 0; i < body.len; i++)
        if (body.ptr[i] != ' ' && body.ptr[i] != '\t') packed[size++] = body.ptr[i];
    char *bytes = arena_alloc(arena, base64_decoded_size_max(size));
    out_bytes->ptr = bytes;
    return base64_decode((Str){ packed, size }, BASE64_STANDARD, bytes, &out_bytes->len, &wrong);
}

/* One block, from its BEGIN line to the END mark at `end`; `rest` becomes what lies behind the END line. */
static bool block_read(Arena *arena, Str text, size_t end, PemBlock *out_block, Str *rest)
{
    size_t begin;
    if (!find_begin(str_slice(text, 0, end), &begin)) return false;
    Str body = str_slice(text, begin + begin_mark.len, end + 1);
    Str type = take_line(&body);
    if (!str_ends(type, dashes)) return false;
    type.len -= dashes.len;
    for (;;) {                          /* headers, which mean nothing here */
        Str after = body, line = take_line(&after);
        if (str_find(line, ':', 0) == line.len) break;
        body = after;
    }
    Str trailer = str_slice(text, end + end_mark.len, text.len);
    Str line = take_line(&trailer);
    if (line.len != type.len + dashes.len || !str_starts(line, type) || !str_ends(line, dashes)) return false;
    if (!decode_body(arena, body, &out_block->bytes)) return false;
    out_block->type = type;
    *rest = trailer;
    return true;
}

bool pem_next(Arena *arena, Str *text, PemBlock *out_block)
{
    Str left = *text;
    for (;;) {
        size_t end = find_text(left, end_mark);
        if (end == left.len) return false;
        if (block_read(arena, left, end, out_block, text)) return true;
        left = str_slice(left, end + end_mark.len, left.len);
    }
}
