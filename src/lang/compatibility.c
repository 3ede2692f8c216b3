#include "lang/compatibility.h"

#include "base/map.h"
#include "value/json_pointer.h"

typedef struct Comparison {
    Arena *arena;
    const Plan *before, *after;
    Compatibility *out;
} Comparison;

/* What is compared: in words, and as a place. */
typedef struct Subject { Str text, pointer; } Subject;

static void report(const Comparison *comparison, Subject subject, Str what)
{
    Compatibility *out = comparison->out;
    out->total++;
    if (out->count < COMPATIBILITY_COUNT_MAX) out->findings[out->count++] = (Incompatibility){ subject.text, subject.pointer, what };
}

static Value array_of(Value object, const char *key)
{
    const Value *found = value_get_text(object, key);
    return found && found->kind == VALUE_ARRAY ? *found : value_array(NULL, 0);
}

static Value object_of(Value object, const char *key)
{
    const Value *found = value_get_text(object, key);
    return found && found->kind == VALUE_OBJECT ? *found : value_object(NULL, NULL, 0);
}

static Str type_change(const Comparison *comparison, Str before, Str after)
{
    return arena_format(comparison->arena, "was of type %.*s and is now of type %.*s", STR_ARG(before), STR_ARG(after));
}

/* --- parameters ---------------------------------------------------------------------------------------------------------- */

static const Value *param_find(Value params, Str name)
{
    for (uint32_t i = 0; i < params.count; i++)
        if (str_is(value_get_string(params.items[i], "name", STR("")), name)) return &params.items[i];
    return NULL;
}

/* A start has to give it: without it, it is refused. */
static bool param_is_demanded(Value param)
{
    return value_get_bool(param, "required", true) && !value_get_text(param, "default");
}

static Subject param_subject(const Comparison *comparison, Value param)
{
    Str name = value_get_string(param, "name", STR(""));
    return (Subject){ arena_format(comparison->arena, "parameter '%.*s'", STR_ARG(name)),
                      json_pointer_below(comparison->arena, STR("/parameters"), name) };
}

static void compare_param(const Comparison *comparison, Value before, const Value *after)
{
    Subject subject = param_subject(comparison, before);
    if (!after) {
        report(comparison, subject, STR("was removed"));        /* a start that gives it is refused */
        return;
    }
    Str old = value_get_string(before, "type", STR("")), now = value_get_string(*after, "type", STR(""));
    bool is_wider = str_is_text(old, "integer") && str_is_text(now, "number");
    if (!str_is(old, now) && !is_wider) report(comparison, subject, type_change(comparison, old, now));
    if (param_is_demanded(*after) && !param_is_demanded(before))
        report(comparison, subject, STR("could be left out and is now required"));
}

static void compare_params(const Comparison *comparison)
{
    Value before = array_of(comparison->before->document, "params"), after = array_of(comparison->after->document, "params");
    for (uint32_t i = 0; i < before.count; i++)
        compare_param(comparison, before.items[i], param_find(after, value_get_string(before.items[i], "name", STR(""))));
    for (uint32_t i = 0; i < after.count; i++)
        if (param_is_demanded(after.items[i]) && !param_find(before, value_get_string(after.items[i], "name", STR(""))))
            report(comparison, param_subject(comparison, after.items[i]), STR("is new and has no default"));
}

/* --- outputs ------------------------------------------------------------------------------------------------------------- */

static Subject step_subject(const Comparison *comparison, Str step)
{
    return (Subject){ arena_format(comparison->arena, "step '%.*s'", STR_ARG(step)), json_pointer_below(comparison->arena, STR("/steps"), step) };
}

static void compare_output(const Comparison *comparison, Subject step, Member before, Value after)
{
    Arena *arena = comparison->arena;
    Str name = value_text(before.key);
    Subject subject = { arena_format(arena, "output '%.*s' of %.*s", STR_ARG(name), STR_ARG(step.text)),
                        json_pointer_below(arena, json_pointer_below(arena, step.pointer, STR("outputs")), name) };
    const Value *found = value_get(after, name);
    if (!found || found->kind != VALUE_STRING || before.value.kind != VALUE_STRING) {
        if (!found) report(comparison, subject, STR("was removed"));
        return;
    }
    Str old = value_text(before.value), now = value_text(*found);
    bool is_narrower = str_is_text(old, "number") && str_is_text(now, "integer");
    if (!str_is(old, now) && !is_narrower) report(comparison, subject, type_change(comparison, old, now));
}

static void compare_step(const Comparison *comparison, const PlanStep *before, const PlanStep *after)
{
    Value outputs = object_of(before->settings, "outputs");
    const Value *schema = value_get_text(before->settings, "output_schema");
    if (!outputs.count && !schema) return;                      /* it promised nothing */
    Subject subject = step_subject(comparison, before->id);
    if (!after) {
        report(comparison, subject, STR("was removed, and with it the outputs that it declares"));
        return;
    }
    for (uint32_t i = 0; i < outputs.count; i++)
        compare_output(comparison, subject, outputs.members[i], object_of(after->settings, "outputs"));
    const Value *now = value_get_text(after->settings, "output_schema");
    subject.pointer = json_pointer_below(comparison->arena, subject.pointer, STR("output_schema"));
    if (schema && !now) report(comparison, subject, STR("no longer declares the schema of its output"));
    else if (schema && !value_equals(*schema, *now)) report(comparison, subject, STR("declares another schema for its output"));
}

static void compare_steps(const Comparison *comparison)
{
    const Plan *before = comparison->before, *after = comparison->after;
    Map steps;
    map_init(&steps, comparison->arena, after->step_count);
    for (uint32_t i = 0; i < after->step_count; i++) map_add(&steps, after->steps[i].id, i, NULL);
    for (uint32_t i = 0; i < before->step_count; i++) {
        uint32_t found;
        bool is_there = map_find(&steps, before->steps[i].id, &found);
        compare_step(comparison, &before->steps[i], is_there ? &after->steps[found] : NULL);
    }
}

void compatibility_compare(Arena *arena, const Plan *before, const Plan *after, Compatibility *out)
{
    out->count = out->total = 0;
    Comparison comparison = { arena, before, after, out };
    compare_params(&comparison);
    compare_steps(&comparison);
}

void compatibility_print(const Compatibility *compatibility, Buf *out)
{
    for (uint32_t i = 0; i < compatibility->count; i++) {
        const Incompatibility *finding = &compatibility->findings[i];
        buf_format(out, "  %.*s %.*s\n", STR_ARG(finding->subject), STR_ARG(finding->what));
    }
    uint32_t rest = compatibility->total - compatibility->count;
    if (rest) buf_format(out, "  ... and %u more\n", rest);
}

Value compatibility_list(Arena *arena, const Compatibility *compatibility)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < compatibility->count; i++) {
        const Incompatibility *finding = &compatibility->findings[i];
        value_list_add(&list, value_string(arena_format(arena, "%.*s %.*s", STR_ARG(finding->subject), STR_ARG(finding->what))));
    }
    return value_list_array(&list);
}
