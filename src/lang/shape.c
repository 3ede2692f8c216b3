#include "lang/shape.h"

#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/utf8.h"
#include "lang/condition.h"
#include "lang/cron.h"
#include "lang/suggest.h"
#include "lang/template.h"
#include "value/number.h"
#include "value/schema.h"

#define NAME_SHOWN_SIZE 60u             /* of a name that is wrong, in bytes */

/* --- messages ---------------------------------------------------------------------------------------------------- */

static const char *type_what(const Type *type)
{
    static const char *const whats[] = {
        [TYPE_TEXT] = "a text", [TYPE_NAME] = "a name", [TYPE_BOOL] = "true or false", [TYPE_INT] = "a whole number",
        [TYPE_NUMBER] = "a number", [TYPE_MONEY] = "an amount of money", [TYPE_DURATION] = "a duration",
        [TYPE_RATE] = "a rate", [TYPE_ENUM] = "one of a list of words", [TYPE_CONDITION] = "a condition",
        [TYPE_TEMPLATE] = "a text", [TYPE_CRON] = "a cron expression", [TYPE_ANY] = "a value",
        [TYPE_SCHEMA] = "a JSON Schema or the name of one", [TYPE_LIST] = "a list", [TYPE_MAP] = "a mapping",
        [TYPE_OBJECT] = "a mapping", [TYPE_EITHER] = "another kind of value",
    };
    return type->what ? type->what : whats[type->kind];
}

static void refuse_kind(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    Diagnostic *diagnostic;
    if (node_is_scalar(node) && node->kind != NODE_NULL && node->count <= 60)
        diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "expected %s, found %s '%.*s'", type_what(type),
                              node_kind_name(node), STR_ARG(node_text(node)));
    else
        diagnostic =
            diagnose(diagnostics, SEVERITY_ERROR, node, "expected %s, found %s", type_what(type), node_kind_name(node));
    bool wants_text = type->kind == TYPE_TEXT || type->kind == TYPE_TEMPLATE || type->kind == TYPE_NAME;
    if (wants_text && (node->kind == NODE_NUMBER || node->kind == NODE_BOOL))
        diagnostic_help(diagnostics, diagnostic, "put it in quotes if it is a text");
    static const char *const yes_words[] = { "yes", "no", "on", "off", "Yes", "No", "On", "Off", NULL };
    for (const char *const *word = yes_words; type->kind == TYPE_BOOL && *word; word++)
        if (node->kind == NODE_TEXT && str_is_text(node_text(node), *word))
            diagnostic_help(diagnostics, diagnostic, "write true or false");
}

/* --- scalars ----------------------------------------------------------------------------------------------------- */

static bool kind_fits(const Node *node, const Type *type)
{
    switch (type->kind) {
    case TYPE_TEXT:
    case TYPE_NAME:
    case TYPE_RATE:
    case TYPE_ENUM:
    case TYPE_TEMPLATE:
    case TYPE_CRON:
        return node->kind == NODE_TEXT;
    case TYPE_BOOL:
        return node->kind == NODE_BOOL;
    case TYPE_INT:
    case TYPE_NUMBER:
    case TYPE_MONEY:
        return node->kind == NODE_NUMBER;
    case TYPE_DURATION:
        return node->kind == NODE_TEXT || node->kind == NODE_NUMBER;
    case TYPE_CONDITION:
        return node->kind == NODE_TEXT || node->kind == NODE_BOOL;
    case TYPE_ANY:
        return true;
    case TYPE_SCHEMA:
        return node->kind == NODE_TEXT || node->kind == NODE_MAP || node->kind == NODE_BOOL;
    case TYPE_LIST:
        return node->kind == NODE_LIST || (type->lone && kind_fits(node, type->item));
    case TYPE_MAP:
        return node->kind == NODE_MAP;
    case TYPE_OBJECT:
        return node->kind == NODE_MAP;
    case TYPE_EITHER:
        for (const Type *const *one = type->either; *one; one++)
            if (kind_fits(node, *one)) return true;
        return false;
    }
    return false;
}

static void check_text(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    int64_t most = type->max ? type->max : TEXT_SIZE_MAX;
    if (node->count > most)
        diagnose(diagnostics, SEVERITY_ERROR, node, "the text has %" PRIu32 " bytes, at most %" PRId64 " are allowed",
                 node->count, most);
    else if (type->min && str_trim(node_text(node)).len == 0)
        diagnose(diagnostics, SEVERITY_ERROR, node, "the text must not be empty");
}

static void check_name(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    if (name_is_valid(node_text(node), type->dotted)) return;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "'%.*s' is not %s",
                                      STR_ARG(utf8_head(node_text(node), NAME_SHOWN_SIZE)), type_what(type));
    diagnostic_help(diagnostics, diagnostic,
                    "letters, digits, '-'%s and '_', not more than %u, beginning with a letter, a digit or '_'",
                    type->dotted ? ", '.', '/'" : "", NAME_SIZE_MAX);
}

static void check_number(Diagnostics *diagnostics, const Node *node, const Type *type, Arena *arena)
{
    Value number = number_make(arena, node_text(node));
    int64_t integer, micro;
    if (type->kind == TYPE_MONEY) {
        if (!money_read(number, &micro))
            diagnose(diagnostics, SEVERITY_ERROR, node,
                     "%.*s is no amount of money: zero or more, at most six decimals", STR_ARG(node_text(node)));
        return;
    }
    if (type->kind == TYPE_NUMBER) {
        if (type->min && number_compare(number, value_int(0)) <= 0)
            diagnose(diagnostics, SEVERITY_ERROR, node, "%.*s is not more than 0", STR_ARG(node_text(node)));
        return;
    }
    if (!number_to_int64(number, &integer)) {
        diagnose(diagnostics, SEVERITY_ERROR, node, "expected a whole number, found %.*s", STR_ARG(node_text(node)));
    } else if (integer < type->min || (type->max && integer > type->max)) {
        Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "%" PRId64 " is out of range", integer);
        if (type->max) diagnostic_help(diagnostics, diagnostic, "from %" PRId64 " to %" PRId64, type->min, type->max);
        else diagnostic_help(diagnostics, diagnostic, "%" PRId64 " or more", type->min);
    }
}

static void check_duration(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    int64_t ms;
    uint64_t seconds;
    if (node->kind == NODE_NUMBER) {
        uint64_t most = type->seconds ? DURATION_MS_MAX / 1000 : DURATION_MS_MAX;
        bool may_be_bare = type->seconds || type->milliseconds;
        bool is_fine = may_be_bare && str_to_u64(node_text(node), &seconds) && seconds <= most;
        if (is_fine && (int64_t)seconds >= type->min) return;
        if (is_fine) {
            diagnose(diagnostics, SEVERITY_ERROR, node, "the duration must be longer than nothing");
            return;
        }
    } else if (duration_read(node_text(node), &ms)) {
        if (ms < type->min) diagnose(diagnostics, SEVERITY_ERROR, node, "the duration must be longer than nothing");
        return;
    }
    Diagnostic *diagnostic =
        diagnose(diagnostics, SEVERITY_ERROR, node, "'%.*s' is no duration", STR_ARG(node_text(node)));
    if (node->kind == NODE_NUMBER && !type->seconds)
        diagnostic_help(diagnostics, diagnostic, "a number needs its unit: %.*sms, %.*ss, %.*sm, %.*sh or %.*sd",
                        STR_ARG(node_text(node)), STR_ARG(node_text(node)), STR_ARG(node_text(node)),
                        STR_ARG(node_text(node)), STR_ARG(node_text(node)));
    else
        diagnostic_help(diagnostics, diagnostic,
                        "durations are written 500ms, 30s, 5m, 48h, 7d or 1h30m%s, up to ten years",
                        type->seconds ? "; a bare whole number is seconds" : "");
}

static void check_enum(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    if (enum_find(type, node_text(node))) return;
    Diagnostic *diagnostic =
        diagnose(diagnostics, SEVERITY_ERROR, node, "'%.*s' is not %s", STR_ARG(node_text(node)), type_what(type));
    char storage[512];
    Buf allowed = buf_on(storage, sizeof storage);
    Suggestion suggestion = suggest_begin(node_text(node));
    for (const EnumName *name = type->names; name->name; name++) {
        /* What people write is the lower-case spelling, where there are two. */
        const char *shown = name->also ? name->also : name->name;
        if (name != type->names) buf_text(&allowed, name[1].name ? ", " : " or ");
        buf_text(&allowed, shown);
        suggest_offer(&suggestion, str_of(shown));
    }
    Str list = buf_peek(&allowed);
    const char *verb = type->names[1].name ? "are" : "is";
    if (suggestion.best.len)
        diagnostic_help(diagnostics, diagnostic, "did you mean '%.*s'? allowed %s %.*s", STR_ARG(suggestion.best), verb,
                        STR_ARG(list));
    else
        diagnostic_help(diagnostics, diagnostic, "allowed %s %.*s", verb, STR_ARG(list));
}

static void check_rate(Diagnostics *diagnostics, const Node *node)
{
    int64_t count, per_ms;
    if (rate_read(node_text(node), &count, &per_ms)) return;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "'%.*s' is no rate", STR_ARG(node_text(node)));
    diagnostic_help(diagnostics, diagnostic, "a rate is a number of requests in a time: 50/s, 60/m or 1000/h");
}

/* A schema given in place is compiled, so that a mistake in it is found with the definition. */
static void check_schema(Diagnostics *diagnostics, const Node *node)
{
    if (node->kind == NODE_TEXT) {
        check_name(diagnostics, node, &(Type){ .kind = TYPE_NAME, .what = "the name of a schema", .dotted = true });
        return;
    }
    Arena scratch;
    Error err;
    const Schema *schema;
    Str place = STR("");
    arena_init(&scratch, SIZE_MAX);
    if (schema_compile(&scratch, node_to_value(&scratch, node), &schema, &place, &err))
        diagnose(diagnostics, SEVERITY_ERROR, node_at_pointer(node, place), "no JSON Schema: %s", err.text);
    arena_deinit(&scratch);
}

/* Texts anywhere inside a free value may hold ${paths}. */
static void check_any(Diagnostics *diagnostics, const Node *node)
{
    if (node->kind == NODE_TEXT) template_check(diagnostics, node);
    if (node_is_scalar(node)) return;
    uint32_t step = node->kind == NODE_MAP ? 2 : 1;
    for (uint32_t i = 0; i < node->count; i++) check_any(diagnostics, &node->items[i * step + (step - 1)]);
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static const Field *field_find(const Shape *shape, Str name)
{
    for (const Field *field = shape->fields; field->name; field++)
        if (str_is_text(name, field->name)) return field;
    return NULL;
}

static const char *field_target(const Field *field)
{
    return field->as ? field->as : field->name;
}

static void refuse_unknown(Diagnostics *diagnostics, const Node *key, const Shape *shape)
{
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, key, "unknown key '%.*s' in a%s %s",
                                      STR_ARG(utf8_head(node_text(key), NAME_SHOWN_SIZE)),
                                      strchr("aeiou", shape->name[0]) ? "n" : "", shape->name);
    Suggestion suggestion = suggest_begin(node_text(key));
    for (const Field *field = shape->fields; field->name; field++)
        if (!field->as) suggest_offer(&suggestion, str_of(field->name));
    if (suggestion.best.len) {
        diagnostic_help(diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
        return;
    }
    char storage[1024];
    Buf known = buf_on(storage, sizeof storage);
    for (const Field *field = shape->fields; field->name; field++) {
        if (field->as) continue;
        if (known.len) buf_text(&known, ", ");
        buf_text(&known, field->name);
    }
    diagnostic_help(diagnostics, diagnostic, "a %s has %.*s", shape->name, STR_ARG(buf_peek(&known)));
}

/* A key that stands twice, or beside its alias. `seen` has a place for each row of the shape: where its target was set. */
static void check_repeated(Diagnostics *diagnostics, const Node *key, const Field *field, const Shape *shape,
                           const Node **seen)
{
    const Field *target = shape->fields;
    while (strcmp(field_target(target), field_target(field)) != 0) target++;
    const Node **place = &seen[target - shape->fields];
    if (!*place) {
        *place = key;
        return;
    }
    if (str_is(node_text(*place), node_text(key)))
        diagnose(diagnostics, SEVERITY_ERROR, key, "the key '%s' stands here twice, first in line %u", field->name,
                 (*place)->line);
    else
        diagnose(diagnostics, SEVERITY_ERROR, key, "'%.*s' and '%s' say the same thing; keep one of them",
                 STR_ARG(node_text(*place)), field->name);
}

static bool has_target(const Node *map, const Shape *shape, const char *target)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const Field *field = field_find(shape, node_text(node_key(map, i)));
        if (field && strcmp(field_target(field), target) == 0) return true;
    }
    return false;
}

/* "a task", or "the artifact 'findings'" where the mapping has a name. */
static const char *shape_what(const Shape *shape, Str subject, Buf *out)
{
    if (subject.len) buf_format(out, "the %s '%.*s'", shape->name, STR_ARG(subject));
    else buf_format(out, "a%s %s", strchr("aeiou", shape->name[0]) ? "n" : "", shape->name);
    buf_char(out, '\0');
    return out->ptr;
}

static void check_exactly_one(Diagnostics *diagnostics, const Node *map, const Shape *shape, const char *what)
{
    char storage[256];
    Buf names = buf_on(storage, sizeof storage);
    unsigned count = 0;
    for (const char *const *name = shape->exactly_one; *name; name++) {
        if (name != shape->exactly_one) buf_text(&names, name[1] ? ", " : " or ");
        buf_format(&names, "'%s'", *name);
        count += has_target(map, shape, *name);
    }
    if (count == 1) return;
    if (count)
        diagnose(diagnostics, SEVERITY_ERROR, map, "%s has several of %.*s, exactly one belongs there", what,
                 STR_ARG(buf_peek(&names)));
    else diagnose(diagnostics, SEVERITY_ERROR, map, "%s needs %.*s", what, STR_ARG(buf_peek(&names)));
}

static void check_object(Diagnostics *diagnostics, const Node *node, const Shape *shape)
{
    char storage[NAME_SIZE_MAX + 64];
    Buf buf = buf_on(storage, sizeof storage);
    const char *what = shape_what(shape, str_slice(diagnostics->subject, 0, NAME_SIZE_MAX), &buf);
    diagnostics->subject = STR("");             /* what is inside has no name of its own */
    const Node *seen[SHAPE_FIELD_COUNT_MAX] = { NULL };
    for (uint32_t i = 0; i < node->count; i++) {
        const Node *key = node_key(node, i), *value = node_value(node, i);
        const Field *field = field_find(shape, node_text(key));
        if (!field) {
            refuse_unknown(diagnostics, key, shape);
            continue;
        }
        check_repeated(diagnostics, key, field, shape, seen);
        if (value->kind == NODE_NULL && field->type->kind != TYPE_ANY) {
            Diagnostic *diagnostic =
                diagnose(diagnostics, SEVERITY_ERROR, key, "the key '%s' has no value", field->name);
            diagnostic_help(diagnostics, diagnostic, "it takes %s; leave the key out where it has none",
                            type_what(field->type));
            continue;
        }
        shape_check(diagnostics, value, field->type);
    }
    for (const Field *field = shape->fields; field->name; field++)
        if ((field->flags & FIELD_REQUIRED) && !has_target(node, shape, field_target(field)))
            diagnose(diagnostics, SEVERITY_ERROR, node, "%s needs the key '%s'", what, field->name);
    if (shape->exactly_one) check_exactly_one(diagnostics, node, shape, what);
}

static void check_map(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    Map keys;
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    map_init(&keys, &scratch, node->count);
    if (node->count < type->min)
        diagnose(diagnostics, SEVERITY_ERROR, node, "%s must have at least one entry", type_what(type));
    for (uint32_t i = 0; i < node->count; i++) {
        const Node *key = node_key(node, i);
        uint32_t line;
        check_name(diagnostics, key, &(Type){ .kind = TYPE_NAME, .dotted = type->dotted });
        if (!map_add(&keys, node_text(key), key->line, &line))
            diagnose(diagnostics, SEVERITY_ERROR, key, "'%.*s' is defined twice, first in line %" PRIu32,
                     STR_ARG(node_text(key)), line);
        diagnostics->subject = node_text(key);
        shape_check(diagnostics, node_value(node, i), type->item);
        diagnostics->subject = STR("");
    }
    arena_deinit(&scratch);
}

static void check_list(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    if (node->kind != NODE_LIST) {
        shape_check(diagnostics, node, type->item);
        return;
    }
    if (node->count < type->min) diagnose(diagnostics, SEVERITY_ERROR, node, "the list must have at least one entry");
    for (uint32_t i = 0; i < node->count; i++) shape_check(diagnostics, &node->items[i], type->item);
}

static const Type *either_choose(const Node *node, const Type *type)
{
    for (const Type *const *one = type->either; *one; one++)
        if (kind_fits(node, *one)) return *one;
    return NULL;
}

void shape_check(Diagnostics *diagnostics, const Node *node, const Type *type)
{
    if (!kind_fits(node, type)) {
        refuse_kind(diagnostics, node, type);
        return;
    }
    switch (type->kind) {
    case TYPE_TEXT:
        check_text(diagnostics, node, type);
        break;
    case TYPE_NAME:
        check_name(diagnostics, node, type);
        break;
    case TYPE_INT:
    case TYPE_NUMBER:
    case TYPE_MONEY:
        check_number(diagnostics, node, type, diagnostics->arena);
        break;
    case TYPE_DURATION:
        check_duration(diagnostics, node, type);
        break;
    case TYPE_RATE:
        check_rate(diagnostics, node);
        break;
    case TYPE_ENUM:
        check_enum(diagnostics, node, type);
        break;
    case TYPE_CONDITION:
        condition_check_syntax(diagnostics, node);
        break;
    case TYPE_TEMPLATE:
        check_text(diagnostics, node, type);
        template_check(diagnostics, node);
        break;
    case TYPE_CRON:
        cron_check(diagnostics, node);
        break;
    case TYPE_ANY:
        check_any(diagnostics, node);
        break;
    case TYPE_SCHEMA:
        check_schema(diagnostics, node);
        break;
    case TYPE_LIST:
        check_list(diagnostics, node, type);
        break;
    case TYPE_MAP:
        check_map(diagnostics, node, type);
        break;
    case TYPE_OBJECT:
        check_object(diagnostics, node, type->shape);
        break;
    case TYPE_EITHER:
        shape_check(diagnostics, node, either_choose(node, type));
        break;
    case TYPE_BOOL:
        if (type->only_true && !node->truth)
            diagnose(diagnostics, SEVERITY_ERROR, node, "this can only be true; leave the key out, or choose another");
        break;
    }
}
