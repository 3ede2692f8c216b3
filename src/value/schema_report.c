#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "value/json.h"
#include "value/json_pointer.h"
#include "value/schema_checker.h"

#define MESSAGE_SIZE_MAX 768u           /* room for three phrases: nothing is cut inside a character */
#define CHOICE_COUNT_MAX 8u             /* alternatives that a message lists */

bool checker_halt(Checker *checker, Status status, const char *format, ...)
{
    if (checker->status) return false;          /* the first reason is the one */
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    checker->status = error_set(checker->err, status, "%s", text);
    return false;
}

/* --- violations -------------------------------------------------------------------------------------------------- */

static void place_print(Buf *buf, const Place *place)
{
    const Place *chain[SCHEMA_DEPTH_MAX + 1];
    size_t count = 0;
    for (; place->parent; place = place->parent) chain[count++] = place;
    while (count) {
        place = chain[--count];
        if (place->is_index) json_pointer_add_index(buf, place->index);
        else json_pointer_add(buf, place->name);
    }
}

/* Moves the text to the checker's arena; an empty one where there is no room, and the check is over. */
static Str keep(Checker *checker, Buf *buf)
{
    char *copy = buf->len ? arena_try(checker->arena, buf->len) : NULL;
    if (buf->len && !copy) checker_halt(checker, ERR_LIMIT, "the report does not fit the memory granted to it");
    Str kept = { copy, copy ? buf->len : 0 };
    if (copy) memcpy(copy, buf->ptr, buf->len);
    buf_clear(buf);
    return kept;
}

static bool violation_add(Checker *checker, const Frame *frame, Violation violation, Str message)
{
    if (checker->violation_count == SCHEMA_ERROR_COUNT_MAX) {
        checker->is_cut = true;
        return false;
    }
    if (!checker->violations)
        checker->violations = arena_try(checker->arena, SCHEMA_ERROR_COUNT_MAX * sizeof *checker->violations);
    if (!checker->violations)
        return checker_halt(checker, ERR_LIMIT, "the report does not fit the memory granted to it");

    Buf buf;
    buf_init(&buf, SIZE_MAX / 2);
    buf_str(&buf, message);
    violation.message = keep(checker, &buf);
    place_print(&buf, frame->place);
    violation.instance = keep(checker, &buf);
    bool is_false = frame->node->source.kind == VALUE_BOOL;
    node_pointer_print(&buf, frame->node, is_false ? STR("") : violation.keyword, STR(""));
    violation.schema = keep(checker, &buf);
    buf_deinit(&buf);
    violation.found = frame->value;
    violation.level = checker->level;
    checker->violations[checker->violation_count++] = violation;
    return false;
}

bool checker_report(Checker *checker, const Frame *frame, const char *keyword, Str property, const char *format, ...)
{
    if (checker->quiet || checker->status) return false;
    char text[MESSAGE_SIZE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const Value *wanted = value_get_text(frame->node->source, keyword);
    Violation violation = { .keyword = str_of(keyword), .property = property };
    if (wanted) violation.wanted = *wanted;
    return violation_add(checker, frame, violation, str_of(text));
}

/* Why nothing is allowed somewhere depends on the keyword that leads there. */
static const struct { const char *keyword, *message; bool is_member; } refusals[] = {
    { "properties", "this property is not allowed", true },
    { "patternProperties", "this property is not allowed", true },
    { "additionalProperties", "this property is not allowed", true },
    { "unevaluatedProperties", "this property is not allowed", true },
    { "prefixItems", "this item is not allowed", false },
    { "items", "this item is not allowed", false },
    { "unevaluatedItems", "this item is not allowed", false },
};

bool checker_report_false(Checker *checker, const Frame *frame)
{
    if (checker->quiet || checker->status) return false;
    Violation violation = { .wanted = value_bool(false) };
    const char *message = "no value is allowed here";
    if (frame->node->set) violation.keyword = frame->node->set->keyword;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (!str_is_text(violation.keyword, refusals[i].keyword)) continue;
        message = refusals[i].message;
        if (refusals[i].is_member) violation.property = frame->place->name;
    }
    return violation_add(checker, frame, violation, str_of(message));
}

/* --- phrases ----------------------------------------------------------------------------------------------------- */

static Buf *phrase_begin(Phrase *phrase)
{
    phrase->buf = buf_on(phrase->storage, sizeof phrase->storage - 1);
    return &phrase->buf;
}

static const char *phrase_end(Phrase *phrase)
{
    phrase->storage[phrase->buf.len] = '\0';
    return phrase->storage;
}

const char *phrase_value(Phrase *phrase, Value value)
{
    value_describe(phrase_begin(phrase), value);
    return phrase_end(phrase);
}

const char *phrase_name(Phrase *phrase, Str name)
{
    return phrase_value(phrase, value_string(name));
}

const char *phrase_types(Phrase *phrase, uint32_t types)
{
    static const char *const names[TYPE_COUNT] = { "null", "a boolean", "an object", "an array",
                                                   "a number", "a string", "an integer" };
    Buf *buf = phrase_begin(phrase);
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        if (!(types >> i & 1)) continue;
        if (buf->len) buf_text(buf, " or ");
        buf_text(buf, names[i]);
    }
    return phrase_end(phrase);
}

const char *phrase_choices(Phrase *phrase, Value array)
{
    Buf *buf = phrase_begin(phrase);
    for (uint32_t i = 0; i < array.count; i++) {
        if (i) buf_text(buf, i + 1 == array.count ? " or " : ", ");
        if (i == CHOICE_COUNT_MAX || buf->len > sizeof phrase->storage / 2) {
            buf_format(buf, "%u more", array.count - i);
            break;
        }
        value_describe(buf, array.items[i]);
    }
    return phrase_end(phrase);
}
