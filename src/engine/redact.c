#include "engine/redact.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "value/json.h"

#define MARK "***"
/* From this size on a text may have been cut by whoever took it: see REPORT_TEXT_SIZE_MAX. */
#define CUT_SIZE_MIN (REPORT_TEXT_SIZE_MAX - 8u)

typedef struct Needle {
    struct Needle *next;
    size_t size;
    char bytes[];
} Needle;

struct Redaction {
    Needle *first;
    bool begins[256];                   /* the bytes that any of them begins with */
};

/* --- what is looked for -------------------------------------------------------------------------------------------------- */

static void add_needle(Redaction **redaction, Str bytes)
{
    if (bytes.len < SECRET_REDACT_SIZE_MIN) return;
    if (!*redaction) *redaction = calloc(1, sizeof **redaction);
    CHECK(*redaction);
    for (const Needle *other = (*redaction)->first; other; other = other->next)
        if (other->size == bytes.len && memcmp(other->bytes, bytes.ptr, bytes.len) == 0) return;
    Needle *needle = malloc(sizeof *needle + bytes.len);
    CHECK(needle);
    *needle = (Needle){ .next = (*redaction)->first, .size = bytes.len };
    memcpy(needle->bytes, bytes.ptr, bytes.len);
    (*redaction)->first = needle;
    (*redaction)->begins[(uint8_t)bytes.ptr[0]] = true;
}

static void add_lines(Redaction **redaction, Str value)
{
    for (size_t begin = 0, end; begin < value.len; begin = end + 1) {
        end = str_find(value, '\n', begin);
        Str line = str_slice(value, begin, end);
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        if (line.len < value.len) add_needle(redaction, line);
    }
}

void redaction_add(Redaction **redaction, Str value)
{
    Buf quoted;
    add_needle(redaction, value);
    if (value.len < SECRET_REDACT_SIZE_MIN) return;
    add_lines(redaction, value);
    buf_init(&quoted, 6 * (size_t)SECRET_SIZE_MAX + 2);
    json_print_string(&quoted, value);
    if (!buf_overflowed(&quoted)) add_needle(redaction, str_slice(buf_peek(&quoted), 1, quoted.len - 1));
    if (quoted.ptr) explicit_bzero(quoted.ptr, quoted.len);
    buf_deinit(&quoted);
}

void redaction_free(Redaction *redaction)
{
    for (Needle *needle = redaction ? redaction->first : NULL, *next; needle; needle = next) {
        next = needle->next;
        explicit_bzero(needle->bytes, needle->size);
        free(needle);
    }
    free(redaction);
}

/* --- looking for it -------------------------------------------------------------------------------------------------------- */

static bool is_cut_at(Str text, size_t at)
{
    static const Str marks[] = { STR_INIT(" [cut: "), STR_INIT("\xEF\xBF\xBD [cut: ") };
    Str rest = str_slice(text, at, text.len);
    return text.len >= CUT_SIZE_MIN && (!rest.len || str_starts(rest, marks[0]) || str_starts(rest, marks[1]));
}

/* How many bytes at that place are a value, or what a cut has left of one; 0: none. */
static size_t match_at(const Redaction *redaction, Str text, size_t at)
{
    size_t longest = 0;
    if (!redaction->begins[(uint8_t)text.ptr[at]]) return 0;
    for (const Needle *needle = redaction->first; needle; needle = needle->next) {
        size_t room = text.len - at < needle->size ? text.len - at : needle->size, same = 0;
        while (same < room && text.ptr[at + same] == needle->bytes[same]) same++;
        bool is_part = same >= SECRET_REDACT_SIZE_MIN && same < needle->size && is_cut_at(text, at + same);
        if ((same == needle->size || is_part) && same > longest) longest = same;
    }
    return longest;
}

Str redact_text(const Redaction *redaction, Arena *arena, Str text)
{
    Buf clean;
    size_t copied = 0;
    if (!redaction) return text;
    buf_init(&clean, SIZE_MAX);
    for (size_t at = 0; at < text.len;) {
        size_t size = match_at(redaction, text, at);
        if (size) {
            buf_str(&clean, str_slice(text, copied, at));
            buf_text(&clean, MARK);
            copied = at + size;
        }
        at += size ? size : 1;
    }
    if (copied) {
        buf_str(&clean, str_slice(text, copied, text.len));
        text = arena_copy(arena, buf_peek(&clean));
    }
    buf_deinit(&clean);
    return text;
}

/* A number that holds a value is no number any more. */
static Value redact_number(const Redaction *redaction, Arena *arena, Value value)
{
    char storage[32];
    Buf text = buf_on(storage, sizeof storage);
    Str written = value.kind == VALUE_DECIMAL ? value_text(value) : (buf_i64(&text, value.integer), buf_peek(&text));
    Str clean = redact_text(redaction, arena, written);
    return clean.ptr == written.ptr ? value : value_string(clean);
}

static Value redact_items(const Redaction *redaction, Arena *arena, Value value)
{
    Value *items = ARENA_ARRAY(arena, Value, value.count + 1);
    for (uint32_t i = 0; i < value.count; i++) items[i] = redact_value(redaction, arena, value.items[i]);
    return value_array(items, value.count);
}

static Value redact_members(const Redaction *redaction, Arena *arena, Value value)
{
    MemberList members = { .arena = arena };
    for (uint32_t i = 0; i < value.count; i++)
        member_list_add(&members, redact_text(redaction, arena, value_text(value.members[i].key)),
                        redact_value(redaction, arena, value.members[i].value));
    return member_list_object(&members);
}

Value redact_value(const Redaction *redaction, Arena *arena, Value value)
{
    if (!redaction) return value;
    switch ((ValueKind)value.kind) {
    case VALUE_INT:
    case VALUE_DECIMAL: return redact_number(redaction, arena, value);
    case VALUE_STRING: return value_string(redact_text(redaction, arena, value_text(value)));
    case VALUE_ARRAY: return redact_items(redaction, arena, value);
    case VALUE_OBJECT: return redact_members(redaction, arena, value);
    case VALUE_NULL:
    case VALUE_BOOL:
    case VALUE_SET: break;              /* a runner's word is JSON, which has no sets */
    }
    return value;
}

Notice redact_notice(const Redaction *redaction, Arena *arena, const Notice *notice)
{
    Notice clean = *notice;
    clean.text = redact_text(redaction, arena, notice->text);
    clean.name = redact_text(redaction, arena, notice->name);
    bool has_value = notice->kind == NOTICE_EFFECT || notice->kind == NOTICE_SIGNAL;
    if (has_value) clean.value = redact_value(redaction, arena, notice->value);
    if (notice->kind != NOTICE_REPORT) return clean;
    clean.report.message = redact_text(redaction, arena, notice->report.message);
    clean.report.output = redact_value(redaction, arena, notice->report.output);
    return clean;
}
