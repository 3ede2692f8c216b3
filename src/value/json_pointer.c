#include "value/json_pointer.h"

void json_pointer_add(Buf *buf, Str token)
{
    buf_char(buf, '/');
    size_t from = 0;
    for (size_t i = 0; i < token.len; i++) {
        char c = token.ptr[i];
        if (c != '~' && c != '/') continue;
        buf_str(buf, str_slice(token, from, i));
        buf_text(buf, c == '~' ? "~0" : "~1");
        from = i + 1;
    }
    buf_str(buf, str_slice(token, from, token.len));
}

void json_pointer_add_index(Buf *buf, uint32_t index)
{
    buf_char(buf, '/');
    buf_u64(buf, index);
}

Str json_pointer_below(Arena *arena, Str place, Str token)
{
    size_t size = place.len + 1 + 2 * token.len;        /* where every character is escaped */
    Buf buf = buf_on(arena_bytes(arena, size), size);
    buf_str(&buf, place);
    json_pointer_add(&buf, token);
    return buf_peek(&buf);
}

bool json_pointer_is_valid(Str pointer)
{
    if (pointer.len && pointer.ptr[0] != '/') return false;
    for (size_t i = str_find(pointer, '~', 0); i < pointer.len; i = str_find(pointer, '~', i + 1))
        if (i + 1 == pointer.len || (pointer.ptr[i + 1] != '0' && pointer.ptr[i + 1] != '1')) return false;
    return true;
}

bool json_pointer_next(Str *pointer, Buf *token)
{
    if (pointer->len == 0) return false;
    buf_clear(token);
    size_t end = str_find(*pointer, '/', 1);
    for (size_t i = 1; i < end; i++) {
        char c = pointer->ptr[i];
        if (c == '~') c = pointer->ptr[++i] == '0' ? '~' : '/';
        buf_char(token, c);
    }
    *pointer = str_slice(*pointer, end, pointer->len);
    return true;
}

const Value *json_pointer_step(Value container, Str token)
{
    if (container.kind == VALUE_OBJECT) return value_get(container, token);
    uint64_t index;
    bool is_padded = token.len > 1 && token.ptr[0] == '0';
    if (container.kind != VALUE_ARRAY || is_padded || !str_to_u64(token, &index)) return NULL;
    return index < container.count ? &container.items[index] : NULL;
}
