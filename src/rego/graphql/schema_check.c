/* Whether a schema is consistent: every name refers to something of the right kind, and types keep what they promise. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "rego/graphql/message.h"
#include "rego/graphql/schema.h"

#define TYPE_TEXT_SIZE 256u

Status gql_schema_refuse(Error *err, GqlPlace place, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    bool is_read = place.line > 0;
    return error_set(err, ERR_INVALID, "input:%d:%d: %s", is_read ? place.line : -1, is_read ? place.column : -1, text);
}

static const char *type_text(const GqlType *type, char text[TYPE_TEXT_SIZE])
{
    Buf buf = buf_on(text, TYPE_TEXT_SIZE - 1);
    gql_type_print(&buf, type);
    text[buf.len] = '\0';
    return text;
}

static Status name_check(GqlPlace place, Str name, Error *err)
{
    if (!str_starts(name, STR("__"))) return OK;
    return gql_schema_refuse(err, place,
                             "Name \"%.*s\" must not begin with \"__\", which is reserved by GraphQL introspection.",
                             STR_ARG(name));
}

/* --- directives --------------------------------------------------------------------------------------------------- */

static Status directive_arguments_check(const GqlDirective *directive, const GqlDirectiveDefinition *definition, Error *err)
{
    for (uint32_t i = 0; i < directive->arguments.count; i++) {
        const GqlArgument *argument = directive->arguments.items[i];
        if (!gql_field_find(&definition->arguments, argument->name))
            return gql_schema_refuse(err, argument->place, "Undefined argument %.*s for directive %.*s.",
                                     STR_ARG(argument->name), STR_ARG(directive->name));
    }
    for (uint32_t i = 0; i < definition->arguments.count; i++) {
        const GqlField *wanted = definition->arguments.items[i];
        if (!wanted->type->non_null || wanted->default_value) continue;
        const GqlArgument *argument = gql_argument_find(&directive->arguments, wanted->name);
        if (!argument || argument->value->kind == GQL_NULL)
            return gql_schema_refuse(err, directive->place, "Argument %.*s for directive %.*s cannot be null.",
                                     STR_ARG(wanted->name), STR_ARG(directive->name));
    }
    return OK;
}

static bool is_repeated(const GqlList *directives, uint32_t at)
{
    const GqlDirective *directive = directives->items[at];
    for (uint32_t i = 0; i < at; i++)
        if (str_is(((const GqlDirective *)directives->items[i])->name, directive->name)) return true;
    return false;
}

Status gql_directives_check(const GqlSchema *schema, const GqlList *directives, const char *location,
                            const GqlDirectiveDefinition *inside, bool is_single, Error *err)
{
    for (uint32_t i = 0; i < directives->count; i++) {
        const GqlDirective *directive = directives->items[i];
        Status status = gql_spend(schema->budget, 1 + i, err);
        if (!status) status = name_check(directive->place, directive->name, err);
        if (status) return status;
        if (inside && str_is(inside->name, directive->name))
            return gql_schema_refuse(err, directive->place, "Directive %.*s cannot refer to itself.", STR_ARG(inside->name));
        const GqlDirectiveDefinition *definition = gql_schema_directive(schema, directive->name);
        if (!definition)
            return gql_schema_refuse(err, directive->place, "Undefined directive %.*s.", STR_ARG(directive->name));
        if (is_single && !definition->is_repeatable && is_repeated(directives, i))
            return gql_schema_refuse(err, directive->place, "The directive %.*s can only be used once at this location.",
                                     STR_ARG(directive->name));
        if (!gql_names_have(&definition->locations, str_of(location)))
            return gql_schema_refuse(err, directive->place, "Directive %.*s is not applicable on %s.",
                                     STR_ARG(directive->name), location);
        status = directive_arguments_check(directive, definition, err);
        if (status) return status;
    }
    return OK;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

static Status type_check(const GqlSchema *schema, const GqlType *type, Error *err)
{
    Str name = gql_type_name(type);
    if (gql_schema_type(schema, name)) return OK;
    return gql_schema_refuse(err, type->place, "Undefined type %.*s.", STR_ARG(name));
}

static Status arguments_check(const GqlSchema *schema, const GqlList *arguments, const GqlDirectiveDefinition *inside,
                              Error *err)
{
    for (uint32_t i = 0; i < arguments->count; i++) {
        const GqlField *argument = arguments->items[i];
        Status status = name_check(argument->place, argument->name, err);
        if (!status) status = type_check(schema, argument->type, err);
        if (status) return status;
        const GqlDefinition *type = gql_schema_type(schema, gql_type_name(argument->type));
        char text[TYPE_TEXT_SIZE];
        if (!gql_is_input(type))
            return gql_schema_refuse(err, argument->place,
                                     "cannot use %s as argument %.*s because %.*s is not a valid input type",
                                     type_text(argument->type, text), STR_ARG(argument->name), STR_ARG(type->kind));
        status = gql_directives_check(schema, &argument->directives, "ARGUMENT_DEFINITION", inside, true, err);
        if (status) return status;
    }
    return OK;
}

static Status fields_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    const char *location = gql_is(definition, "INPUT_OBJECT") ? "INPUT_FIELD_DEFINITION" : "FIELD_DEFINITION";
    for (uint32_t i = 0; i < definition->fields.count; i++) {
        const GqlField *field = definition->fields.items[i];
        Status status = name_check(field->place, field->name, err);
        if (!status) status = type_check(schema, field->type, err);
        if (!status) status = arguments_check(schema, &field->arguments, NULL, err);
        if (!status) status = gql_directives_check(schema, &field->directives, location, NULL, true, err);
        if (status) return status;
    }
    return OK;
}

/* --- promises ----------------------------------------------------------------------------------------------------- */

/* Whether a field of type `actual` keeps a promise of `required`. */
static bool is_covariant(const GqlSchema *schema, const GqlType *required, const GqlType *actual)
{
    for (;;) {
        if (required->non_null && !actual->non_null) return false;
        if (required->name.len) break;
        if (!required->element || !actual->element) return false;
        required = required->element;
        actual = actual->element;
    }
    if (str_is(required->name, actual->name)) return true;
    const GqlDefinition *type = gql_schema_type(schema, required->name);
    for (uint32_t i = 0; type && i < type->possible.count; i++)
        if (str_is(((const GqlDefinition *)type->possible.items[i])->name, actual->name)) return true;
    return false;
}

static bool is_compatible(const GqlType *type, const GqlType *other)
{
    if (!str_is(type->name, other->name)) return false;
    if (type->element && (!other->element || !is_compatible(type->element, other->element))) return false;
    return !other->non_null || type->non_null;
}

static Status promised_arguments_check(const GqlDefinition *definition, const GqlDefinition *interface,
                                       const GqlField *required, const GqlField *found, Error *err)
{
    for (uint32_t i = 0; i < required->arguments.count; i++) {
        const GqlField *wanted = required->arguments.items[i], *given = gql_field_find(&found->arguments, wanted->name);
        if (!given)
            return gql_schema_refuse(err, found->place,
                                     "For %.*s to implement %.*s the field %.*s must have the same arguments but it is "
                                     "missing %.*s.",
                                     STR_ARG(definition->name), STR_ARG(interface->name), STR_ARG(required->name),
                                     STR_ARG(wanted->name));
        if (!is_compatible(wanted->type, given->type))
            return gql_schema_refuse(err, given->place,
                                     "For %.*s to implement %.*s the field %.*s must have the same arguments but %.*s has "
                                     "the wrong type.",
                                     STR_ARG(definition->name), STR_ARG(interface->name), STR_ARG(required->name),
                                     STR_ARG(wanted->name));
    }
    for (uint32_t i = 0; i < found->arguments.count; i++) {
        const GqlField *given = found->arguments.items[i];
        if (gql_field_find(&required->arguments, given->name) || !given->type->non_null || given->default_value) continue;
        return gql_schema_refuse(err, given->place,
                                 "For %.*s to implement %.*s any additional arguments on %.*s must be optional or have a "
                                 "default value but %.*s is required.",
                                 STR_ARG(definition->name), STR_ARG(interface->name), STR_ARG(found->name),
                                 STR_ARG(given->name));
    }
    return OK;
}

static Status promised_fields_check(const GqlSchema *schema, const GqlDefinition *definition,
                                    const GqlDefinition *interface, Error *err)
{
    for (uint32_t i = 0; i < interface->fields.count; i++) {
        const GqlField *required = interface->fields.items[i], *found = gql_field_find(&definition->fields, required->name);
        if (!found)
            return gql_schema_refuse(err, definition->place,
                                     "For %.*s to implement %.*s it must have a field called %.*s.",
                                     STR_ARG(definition->name), STR_ARG(interface->name), STR_ARG(required->name));
        char text[TYPE_TEXT_SIZE];
        if (!is_covariant(schema, required->type, found->type))
            return gql_schema_refuse(err, found->place, "For %.*s to implement %.*s the field %.*s must have type %s.",
                                     STR_ARG(definition->name), STR_ARG(interface->name), STR_ARG(required->name),
                                     type_text(required->type, text));
        Status status = promised_arguments_check(definition, interface, required, found, err);
        if (status) return status;
    }
    return OK;
}

static Status interface_check(const GqlSchema *schema, const GqlDefinition *definition, Str name, Error *err)
{
    const GqlDefinition *interface = gql_schema_type(schema, name);
    uint64_t pairs = interface ? (uint64_t)interface->fields.count * definition->fields.count : 0;
    if (gql_spend(schema->budget, pairs, err)) return ERR_LIMIT;
    if (!interface) return gql_schema_refuse(err, definition->place, "Undefined type \"%.*s\".", STR_ARG(name));
    if (!gql_is(interface, "INTERFACE"))
        return gql_schema_refuse(err, definition->place, "\"%.*s\" is a non interface type %.*s.", STR_ARG(name),
                                 STR_ARG(interface->kind));
    Status status = promised_fields_check(schema, definition, interface, err);
    for (uint32_t i = 0; i < interface->interfaces.count && !status; i++) {
        Str further = interface->interfaces.items[i];
        if (gql_names_have(&definition->interfaces, further)) continue;
        if (str_is(further, definition->name))
            status = gql_schema_refuse(err, definition->place,
                                       "Type %.*s cannot implement %.*s because it would create a circular reference.",
                                       STR_ARG(definition->name), STR_ARG(name));
        else
            status = gql_schema_refuse(err, definition->place,
                                       "Type %.*s must implement %.*s because it is implemented by %.*s.",
                                       STR_ARG(definition->name), STR_ARG(further), STR_ARG(name));
    }
    return status;
}

/* --- types -------------------------------------------------------------------------------------------------------- */

static Status union_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    for (uint32_t i = 0; i < definition->types.count; i++) {
        Str name = definition->types.items[i];
        const GqlDefinition *type = gql_schema_type(schema, name);
        if (!type) return gql_schema_refuse(err, definition->place, "Undefined type \"%.*s\".", STR_ARG(name));
        if (!gql_is(type, "OBJECT"))
            return gql_schema_refuse(err, definition->place, "%.*s type \"%.*s\" must be OBJECT.", STR_ARG(definition->kind),
                                     STR_ARG(name));
    }
    return OK;
}

static Status object_kind_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    if (!definition->fields.count)
        return gql_schema_refuse(err, definition->place, "%.*s %.*s: must define one or more fields.",
                                 STR_ARG(definition->kind), STR_ARG(definition->name));
    for (uint32_t i = 0; i < definition->fields.count; i++) {
        const GqlField *field = definition->fields.items[i];
        const GqlDefinition *type = gql_schema_type(schema, gql_type_name(field->type));
        if (type && gql_is(type, "INPUT_OBJECT"))
            return gql_schema_refuse(err, field->place,
                                     "%.*s %.*s: field must be one of SCALAR, OBJECT, INTERFACE, UNION, ENUM.",
                                     STR_ARG(definition->kind), STR_ARG(definition->name));
    }
    return OK;
}

static Status input_kind_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    if (!definition->fields.count)
        return gql_schema_refuse(err, definition->place, "%.*s %.*s: must define one or more input fields.",
                                 STR_ARG(definition->kind), STR_ARG(definition->name));
    for (uint32_t i = 0; i < definition->fields.count; i++) {
        const GqlField *field = definition->fields.items[i];
        const GqlDefinition *type = gql_schema_type(schema, gql_type_name(field->type));
        if (type && !gql_is_input(type))
            return gql_schema_refuse(err, field->place, "%.*s %.*s: field must be one of SCALAR, ENUM, INPUT_OBJECT.",
                                     STR_ARG(type->kind), STR_ARG(field->name));
    }
    return OK;
}

static Status enum_kind_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    if (!definition->enum_values.count)
        return gql_schema_refuse(err, definition->place, "%.*s %.*s: must define one or more unique enum values.",
                                 STR_ARG(definition->kind), STR_ARG(definition->name));
    for (uint32_t i = 0; i < definition->enum_values.count; i++) {
        const GqlField *value = definition->enum_values.items[i];
        if (str_is(value->name, STR("true")) || str_is(value->name, STR("false")) || str_is(value->name, STR("null")))
            return gql_schema_refuse(err, definition->place, "%.*s %.*s: non-enum value %.*s.", STR_ARG(definition->kind),
                                     STR_ARG(definition->name), STR_ARG(value->name));
        Status status = gql_directives_check(schema, &value->directives, "ENUM_VALUE", NULL, true, err);
        if (status) return status;
    }
    return OK;
}

static Status kind_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    static const struct {
        const char *kind;
        Status (*check)(const GqlSchema *schema, const GqlDefinition *definition, Error *err);
    } checks[] = {
        { "OBJECT", object_kind_check }, { "INTERFACE", object_kind_check }, { "ENUM", enum_kind_check },
        { "INPUT_OBJECT", input_kind_check },
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (gql_is(definition, checks[i].kind)) return checks[i].check(schema, definition, err);
    return OK;
}

/* Names within one type are unique. */
static Status unique_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    const struct { const GqlList *list; const char *noun; } lists[] = {
        { &definition->fields, "Field" }, { &definition->enum_values, "Enum value" },
    };
    Map seen;
    for (size_t k = 0; k < 2; k++) {
        map_init(&seen, schema->arena, lists[k].list->count);
        for (uint32_t i = 0; i < lists[k].list->count; i++) {
            const GqlField *field = lists[k].list->items[i];
            if (!map_add(&seen, field->name, i, NULL))
                return gql_schema_refuse(err, field->place, "%s %.*s.%.*s can only be defined once.", lists[k].noun,
                                         STR_ARG(definition->name), STR_ARG(field->name));
        }
    }
    map_init(&seen, schema->arena, definition->types.count);
    for (uint32_t i = 0; i < definition->types.count; i++)
        if (!map_add(&seen, definition->types.items[i], i, NULL))
            return gql_schema_refuse(err, definition->types.places[i], "Union type %.*s can only include type %.*s once.",
                                     STR_ARG(definition->name), STR_ARG(definition->types.items[i]));
    return OK;
}

static Status definition_check(const GqlSchema *schema, const GqlDefinition *definition, Error *err)
{
    Status status = gql_spend(schema->budget, 1 + definition->fields.count + definition->enum_values.count, err);
    if (!status) status = fields_check(schema, definition, err);
    if (!status) status = union_check(schema, definition, err);
    for (uint32_t i = 0; i < definition->interfaces.count && !status; i++)
        status = interface_check(schema, definition, definition->interfaces.items[i], err);
    if (!status) status = kind_check(schema, definition, err);
    if (!status) status = unique_check(schema, definition, err);
    if (!status && !definition->is_builtin) status = name_check(definition->place, definition->name, err);
    char kind[32];
    Buf buf = buf_on(kind, sizeof kind - 1);
    buf_str(&buf, definition->kind);
    kind[buf.len] = '\0';
    if (!status) status = gql_directives_check(schema, &definition->directives, kind, NULL, false, err);
    return status;
}

/* --- input objects that need themselves --------------------------------------------------------------------------- */

typedef struct Cycle {
    const GqlSchema *schema;
    const GqlDefinition **path;         /* the types on the way */
    const GqlField **fields;            /* the field that led from each to the next */
    uint32_t depth;
    Map visited;
} Cycle;

static Status cycle_refuse(const Cycle *cycle, uint32_t from, const GqlDefinition *type, Error *err)
{
    char names[ERROR_TEXT_SIZE];
    Buf buf = buf_on(names, sizeof names);
    for (uint32_t i = from; i < cycle->depth; i++) {
        if (i > from) buf_char(&buf, '.');
        buf_str(&buf, cycle->fields[i]->name);
    }
    return gql_schema_refuse(err, cycle->fields[from]->place,
                             "Cannot reference Input Object \"%.*s\" within itself through a series of non-null fields: "
                             "\"%.*s\".",
                             STR_ARG(type->name), STR_ARG(buf_peek(&buf)));
}

/* Goes down through fields that must be given. */
static Status cycle_find(Cycle *cycle, const GqlDefinition *definition, Error *err)
{
    if (!map_add(&cycle->visited, definition->name, 0, NULL)) return OK;
    if (cycle->depth == GRAPHQL_WALK_DEPTH_MAX)
        return error_set(err, ERR_LIMIT, "input objects inside one another exceed GRAPHQL_WALK_DEPTH_MAX (%u)",
                         GRAPHQL_WALK_DEPTH_MAX);
    cycle->path[cycle->depth++] = definition;
    for (uint32_t i = 0; i < definition->fields.count; i++) {
        const GqlField *field = definition->fields.items[i];
        if (!field->type->non_null || !field->type->name.len) continue;
        const GqlDefinition *type = gql_schema_type(cycle->schema, field->type->name);
        if (!type || !gql_is(type, "INPUT_OBJECT")) continue;
        cycle->fields[cycle->depth - 1] = field;
        for (uint32_t j = 0; j < cycle->depth; j++)
            if (cycle->path[j] == type) return cycle_refuse(cycle, j, type, err);
        Status status = cycle_find(cycle, type, err);
        if (status) return status;
    }
    cycle->depth--;
    return OK;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static int order_types(const void *a, const void *b)
{
    return str_compare((*(GqlDefinition *const *)a)->name, (*(GqlDefinition *const *)b)->name);
}

static int order_directives(const void *a, const void *b)
{
    return str_compare((*(GqlDirectiveDefinition *const *)a)->name, (*(GqlDirectiveDefinition *const *)b)->name);
}

/* A copy in the order of names, in which violations are found. */
static GqlList sorted(Arena *arena, const GqlList *list, int (*order)(const void *a, const void *b))
{
    GqlList copy = { 0 };
    gql_list_append(arena, &copy, list);
    if (copy.count) qsort(copy.items, copy.count, sizeof *copy.items, order);
    return copy;
}

Status gql_schema_check(const GqlSchema *schema, Error *err)
{
    Arena *arena = schema->arena;
    GqlList types = sorted(arena, &schema->types, order_types);
    GqlList directives = sorted(arena, &schema->directives, order_directives);
    Status status = OK;
    for (uint32_t i = 0; i < types.count && !status; i++) status = definition_check(schema, types.items[i], err);
    Cycle cycle = { .schema = schema };
    cycle.path = ARENA_ARRAY(arena, const GqlDefinition *, types.count);
    cycle.fields = ARENA_ARRAY(arena, const GqlField *, types.count);
    map_init(&cycle.visited, arena, types.count);
    for (uint32_t i = 0; i < types.count && !status; i++)
        if (gql_is(types.items[i], "INPUT_OBJECT")) status = cycle_find(&cycle, types.items[i], err);
    for (uint32_t i = 0; i < directives.count && !status; i++) {
        const GqlDirectiveDefinition *directive = directives.items[i];
        status = name_check(directive->place, directive->name, err);
        if (!status) status = arguments_check(schema, &directive->arguments, directive, err);
    }
    return status;
}
