#include "api/body.h"

#include <stdarg.h>

#include "api/api.h"
#include "value/json_pointer.h"
#include "value/number.h"

#define FINDING_SHOWN_COUNT 3u      /* in the one sentence; the list has them all */

/* --- what it says ------------------------------------------------------------------------------------------------------------------------- */

/* What the engine tells requests apart by is made of the whole body, too. */
void body_read_beside(Call *copy)
{
    Value body;
    Error err;
    bool has_id = call_has_header(copy, "Idempotency-Key") || copy->route->access == ROUTE_TRIGGER;
    if (!call_parse(copy, &body, &err) && has_id) copy->asked = api_asked(copy);
}

void body_read(Call *call, AsideDone done)
{
    if (call->body.len > API_HERE_SIZE_MAX) aside_begin(call, body_read_beside, done);
    else done(call, /* copy= */ NULL);
}

/* --- what is wrong with it ---------------------------------------------------------------------------------------------------------------- */

static void note(BodyFindings *found, Str pointer, const char *format, va_list args)
{
    if (body_is_full(found)) return;
    found->fields[found->count++] = (ProblemField){ .pointer = pointer, .detail = arena_format_args(&found->call->arena, format, args) };
}

void body_find(BodyFindings *found, Str pointer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(found, pointer, format, args);
    va_end(args);
}

void body_find_word(BodyFindings *found, Value body, const char *name, const char *const *words)
{
    char storage[256];
    Buf known = buf_on(storage, sizeof storage);
    if (!value_get_text(body, name)) return;
    for (size_t i = 0; words[i]; i++) {
        if (str_is_text(value_get_string(body, name, STR("")), words[i])) return;
        buf_format(&known, "%s%s", i ? ", " : "", words[i]);
    }
    body_find(found, arena_format(&found->call->arena, "/%s", name), "is one of %.*s", STR_ARG(buf_peek(&known)));
}

bool body_is_full(const BodyFindings *found) { return found->count == API_FINDING_COUNT_MAX; }

bool body_is_right(const BodyFindings *found)
{
    Arena *arena = &found->call->arena;
    Buf detail;
    if (!found->count) return true;
    buf_init(&detail, SIZE_MAX);
    for (uint32_t i = 0; i < found->count && i < FINDING_SHOWN_COUNT; i++) {
        Str place = found->fields[i].pointer;
        buf_format(&detail, "%s'%.*s' %.*s", i ? "; " : "", STR_ARG(str_slice(place, 1, place.len)), STR_ARG(found->fields[i].detail));
    }
    if (found->count > FINDING_SHOWN_COUNT)
        buf_format(&detail, "; and %s%u more", body_is_full(found) ? "at least " : "", found->count - FINDING_SHOWN_COUNT);
    Str text = arena_copy(arena, buf_peek(&detail));
    buf_deinit(&detail);
    call_problem_fields(found->call, PROBLEM_INVALID, text, found->fields, found->count);
    return false;
}

bool body_refuse(Call *call, const char *name, const char *format, ...)
{
    BodyFindings found = { .call = call };
    va_list args;
    va_start(args, format);
    note(&found, arena_format(&call->arena, "/%s", name), format, args);
    va_end(args);
    return body_is_right(&found);
}

void body_error(Call *call, const char *name, const Error *err)
{
    ProblemField field = { .pointer = arena_format(&call->arena, "/%s", name), .detail = str_of(err->text) };
    call_problem_fields(call, problem_of(err->status), field.detail, &field, 1);
}

static bool has_nul(Str text) { return str_find(text, '\0', 0) < text.len; }

static const char *text_fault(const BodyMember *list, Value item)
{
    if (item.kind != VALUE_STRING) return "has to be of the type string";
    if (!value_text(item).len) return "is empty";
    if (has_nul(value_text(item))) return "has a character U+0000, which no name has here";
    return list->item_size_max && value_text(item).len > list->item_size_max ? "is too long" : NULL;
}

static void look_at_texts(BodyFindings *found, const BodyMember *list, Str pointer, Value texts)
{
    Arena *arena = &found->call->arena;
    if (list->item_count_max && (texts.count < list->item_count_min || texts.count > list->item_count_max)) {
        body_find(found, pointer, "has to have from %u to %s (%u) items, and has %u", list->item_count_min, list->item_limit, list->item_count_max,
                  texts.count);
        return;
    }
    if (texts.count < list->item_count_min) body_find(found, pointer, "has no items");
    for (uint32_t i = 0; i < texts.count && !body_is_full(found); i++) {
        const char *fault = text_fault(list, texts.items[i]);
        if (fault) body_find(found, arena_format(arena, "%.*s/%u", STR_ARG(pointer), i), "%s", fault);
    }
}

/* 1.0 and 1e0 are integers as 1 is. */
static bool has_kind(const BodyMember *member, Value value)
{
    int64_t number;
    return member->kind == VALUE_NULL || (member->kind == VALUE_INT ? number_to_int64(value, &number) : value.kind == member->kind);
}

static void look_at(BodyFindings *found, const BodyMember *member, Str name, Value value)
{
    Str pointer = json_pointer_below(&found->call->arena, STR(""), name);
    if (!member) body_find(found, pointer, "is not known here");
    else if (!has_kind(member, value))
        body_find(found, pointer, "has to be of the type %s",
                  member->kind == VALUE_INT ? "integer" : value_kind_name((Value){ .kind = member->kind }));
    else if (member->kind == VALUE_STRING && !member->is_raw && has_nul(value_text(value)))
        body_find(found, pointer, "has a character U+0000, which no name and no text has here");
    else if (member->is_texts) look_at_texts(found, member, pointer, value);
}

bool body_check(Call *call, Value body, const BodyMember *known, uint32_t count)
{
    BodyFindings found = { .call = call };
    for (uint32_t i = 0; i < body.count && !body_is_full(&found); i++) {
        Str name = value_text(body.members[i].key);
        const BodyMember *member = NULL;
        for (uint32_t k = 0; k < count && !member; k++)
            if (str_is_text(name, known[k].name)) member = &known[k];
        look_at(&found, member, name, body.members[i].value);
    }
    for (uint32_t k = 0; k < count; k++)
        if (known[k].is_required && !value_get_text(body, known[k].name))
            body_find(&found, arena_format(&call->arena, "/%s", known[k].name), "is missing");
    return body_is_right(&found);
}
