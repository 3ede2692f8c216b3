#include "rego/graphql/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "rego/graphql/message.h"

/* --- budget ------------------------------------------------------------------------------------------------------- */

bool gql_check_spend(GqlCheck *check, uint64_t count)
{
    if (!check->status) check->status = gql_spend(check->budget, count, check->err);
    return !check->status;
}

bool gql_check_enter(GqlCheck *check)
{
    if (!check->status && check->depth == GRAPHQL_WALK_DEPTH_MAX)
        check->status = error_set(check->err, ERR_LIMIT, "a GraphQL query exceeds GRAPHQL_WALK_DEPTH_MAX (%u)",
                                  GRAPHQL_WALK_DEPTH_MAX);
    check->depth++;
    return !check->status;
}

void gql_check_leave(GqlCheck *check) { check->depth--; }

/* --- violations --------------------------------------------------------------------------------------------------- */

void gql_violation_begin(GqlCheck *check, GqlPlace place)
{
    buf_text(&check->messages, "input");
    if (place.line > 0) buf_format(&check->messages, ":%d:%d", place.line, place.column);
    buf_text(&check->messages, ": ");
    if (check->count++ > 0) return;
    check->first_place = place;
    check->first_size = check->messages.len;
}

void gql_violation_end(GqlCheck *check)
{
    buf_char(&check->messages, '\n');
}

void gql_violation(GqlCheck *check, GqlPlace place, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    gql_violation_begin(check, place);
    buf_text(&check->messages, text);
    gql_violation_end(check);
}

void gql_violation_suggest(GqlCheck *check, const char *prefix, Str typed, const Str *names, size_t count, bool quoted)
{
    if (!gql_check_spend(check, count)) return;
    Str *near = ARENA_ARRAY(check->arena, Str, count);
    size_t near_count = gql_suggest(typed, names, count, near);
    if (near_count == 0) return;
    buf_char(&check->messages, ' ');
    buf_text(&check->messages, prefix);
    buf_char(&check->messages, ' ');
    gql_or_list(&check->messages, near, near_count, quoted);
    buf_char(&check->messages, '?');
}

/* The words of OPA: where the first violation stands, then all of them, unless it has no place. */
static Status violations_report(GqlCheck *check)
{
    Str all = buf_peek(&check->messages);
    if (check->first_place.line == 0 || check->first_place.column < 0)
        return error_set(check->err, ERR_INVALID, "GraphQL parse error: %.*s", STR_ARG(all));
    Str text = str_slice(all, check->first_size, all.len);
    if (str_ends(text, STR(".\n"))) text.len -= 2;
    return error_set(check->err, ERR_INVALID, "%.*s in GraphQL string at location %d:%d", STR_ARG(text),
                     check->first_place.line, check->first_place.column);
}

/* --- helpers of rules --------------------------------------------------------------------------------------------- */

GqlFragment *gql_fragment_find(const GqlCheck *check, Str name)
{
    uint32_t place;
    return map_find(&check->fragment_places, name, &place) ? check->query->fragments.items[place] : NULL;
}

bool gql_type_is_compatible(const GqlType *type, const GqlType *other)
{
    if (!str_is(type->name, other->name)) return false;
    if (type->element && (!other->element || !gql_type_is_compatible(type->element, other->element))) return false;
    return !other->non_null || type->non_null;
}

Str *gql_field_names(Arena *arena, const GqlList *fields)
{
    Str *names = ARENA_ARRAY(arena, Str, fields->count);
    for (uint32_t i = 0; i < fields->count; i++) names[i] = ((const GqlField *)fields->items[i])->name;
    return names;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */

static void walk_value(GqlCheck *check, GqlValue *value);

static bool has_default(const GqlField *field)
{
    return field->default_value && field->default_value->kind != GQL_NULL;
}

/* What a value is expected to be, by the field or argument that it is given for. */
static void value_expect(GqlCheck *check, GqlValue *value, const GqlField *field)
{
    value->expected = field->type;
    value->expected_has_default = has_default(field);
    value->definition = gql_schema_type(check->schema, gql_type_name(field->type));
}

static GqlVariable *variable_find(const GqlOperation *operation, Str name)
{
    for (uint32_t i = 0; i < operation->variables.count; i++) {
        GqlVariable *variable = operation->variables.items[i];
        if (str_is(variable->name, name)) return variable;
    }
    return NULL;
}

static void walk_children(GqlCheck *check, GqlValue *value)
{
    for (uint32_t i = 0; i < value->children.count && !check->status; i++) {
        GqlChild *child = value->children.items[i];
        if (value->kind == GQL_OBJECT) {
            const GqlField *field = value->definition ? gql_field_find(&value->definition->fields, child->name) : NULL;
            if (field) value_expect(check, child->value, field);
        } else if (value->expected && value->expected->element) {
            child->value->expected = value->expected->element;
            child->value->definition = value->definition;
        }
        walk_value(check, child->value);
    }
}

static void walk_value(GqlCheck *check, GqlValue *value)
{
    if (!gql_check_spend(check, 1) || !gql_check_enter(check)) return;
    if (value->kind == GQL_VARIABLE && check->operation) {
        value->variable = variable_find(check->operation, value->raw);
        if (value->variable) value->variable->is_used = true;
    }
    if (value->kind == GQL_OBJECT || value->kind == GQL_LIST) walk_children(check, value);
    if (!check->status) gql_rules_value(check, value);
    gql_check_leave(check);
}

static void walk_arguments(GqlCheck *check, const GqlList *arguments, const GqlList *definitions)
{
    for (uint32_t i = 0; i < arguments->count && !check->status; i++) {
        GqlArgument *argument = arguments->items[i];
        const GqlField *definition = definitions ? gql_field_find(definitions, argument->name) : NULL;
        if (definition) value_expect(check, argument->value, definition);
        walk_value(check, argument->value);
    }
}

static void walk_directives(GqlCheck *check, const GqlList *directives, const char *location)
{
    for (uint32_t i = 0; i < directives->count && gql_check_spend(check, 1 + i); i++) {
        GqlDirective *directive = directives->items[i];
        directive->definition = gql_schema_directive(check->schema, directive->name);
        directive->location = str_of(location);
        walk_arguments(check, &directive->arguments, directive->definition ? &directive->definition->arguments : NULL);
        if (!check->status) gql_rules_directive(check, directive);
    }
    if (!check->status) gql_rules_directives(check, directives);
}

static void walk_selections(GqlCheck *check, const GqlDefinition *parent, const GqlList *selections);

static const GqlField typename_field = { .name = STR_INIT("__typename"),
                                         .type = &(GqlType){ .name = STR_INIT("String") } };

static void walk_field(GqlCheck *check, const GqlDefinition *parent, GqlSelection *field)
{
    field->parent = parent;
    field->field = NULL;
    if (str_is(field->name, typename_field.name)) field->field = &typename_field;
    else if (parent) field->field = gql_field_find(&parent->fields, field->name);
    const GqlDefinition *type = field->field ? gql_schema_type(check->schema, gql_type_name(field->field->type)) : NULL;
    walk_arguments(check, &field->arguments, field->field ? &field->field->arguments : NULL);
    walk_directives(check, &field->directives, "FIELD");
    walk_selections(check, type, &field->selections);
    if (!check->status) gql_rules_field(check, field);
}

static void walk_inline(GqlCheck *check, const GqlDefinition *parent, GqlSelection *fragment)
{
    fragment->parent = parent;
    const GqlDefinition *type = fragment->type_condition.len ? gql_schema_type(check->schema, fragment->type_condition)
                                                             : parent;
    walk_directives(check, &fragment->directives, "INLINE_FRAGMENT");
    walk_selections(check, type, &fragment->selections);
    if (!check->status) gql_rules_inline(check, fragment);
}

/* A fragment is walked where it is first used in an operation. */
static void walk_spread(GqlCheck *check, const GqlDefinition *parent, GqlSelection *spread)
{
    GqlFragment *fragment = gql_fragment_find(check, spread->name);
    spread->parent = parent;
    spread->fragment = fragment;
    walk_directives(check, &spread->directives, "FRAGMENT_SPREAD");
    if (fragment && fragment->walk != check->walk) {
        fragment->walk = check->walk;
        walk_directives(check, &fragment->directives, "FRAGMENT_DEFINITION");
        walk_selections(check, gql_schema_type(check->schema, fragment->type_condition), &fragment->selections);
    }
    if (!check->status) gql_rules_spread(check, spread);
}

static void walk_selections(GqlCheck *check, const GqlDefinition *parent, const GqlList *selections)
{
    static void (*const walkers[])(GqlCheck *check, const GqlDefinition *parent, GqlSelection *selection) = {
        [GQL_FIELD] = walk_field, [GQL_SPREAD] = walk_spread, [GQL_INLINE] = walk_inline,
    };
    uint64_t fields = parent ? parent->fields.count : 0;        /* a field is looked for among them */
    if (gql_check_enter(check))
        for (uint32_t i = 0; i < selections->count && gql_check_spend(check, 1 + fields / 8); i++) {
            GqlSelection *selection = selections->items[i];
            walkers[selection->kind](check, parent, selection);
        }
    gql_check_leave(check);
}

static void walk_operation(GqlCheck *check, GqlOperation *operation)
{
    check->operation = operation;
    check->walk++;
    for (uint32_t i = 0; i < operation->variables.count; i++) {
        GqlVariable *variable = operation->variables.items[i];
        variable->definition = gql_schema_type(check->schema, gql_type_name(variable->type));
        gql_rules_variable(check, variable);
        if (!variable->default_value) continue;
        variable->default_value->expected = variable->type;
        variable->default_value->definition = variable->definition;
    }
    for (uint32_t i = 0; i < operation->variables.count; i++) {
        GqlVariable *variable = operation->variables.items[i];
        if (variable->default_value) walk_value(check, variable->default_value);
        walk_directives(check, &variable->directives, "VARIABLE_DEFINITION");
    }
    bool is_mutation = str_is(operation->operation, STR("mutation"));
    bool is_subscription = str_is(operation->operation, STR("subscription"));
    walk_directives(check, &operation->directives, is_mutation ? "MUTATION" : is_subscription ? "SUBSCRIPTION" : "QUERY");
    walk_selections(check, gql_schema_root(check->schema, operation->operation), &operation->selections);
    if (!check->status) gql_rules_operation(check, operation);
    check->operation = NULL;
}

static void walk_fragment(GqlCheck *check, GqlFragment *fragment)
{
    check->walk++;
    fragment->definition = gql_schema_type(check->schema, fragment->type_condition);
    walk_directives(check, &fragment->directives, "FRAGMENT_DEFINITION");
    walk_selections(check, fragment->definition, &fragment->selections);
    if (!check->status) gql_rules_fragment(check, fragment);
}

Status graphql_query_check(Arena *arena, const GqlSchema *schema, GqlQuery *query, const GqlBudget *budget, Error *err)
{
    GqlCheck check = { .arena = arena, .schema = schema, .query = query, .budget = budget, .err = err };
    map_init(&check.fragment_places, arena, query->fragments.count);
    map_init(&check.fragments_seen, arena, query->fragments.count);
    map_init(&check.operations_seen, arena, query->operations.count);
    for (uint32_t i = 0; i < query->fragments.count; i++)
        map_add(&check.fragment_places, ((const GqlFragment *)query->fragments.items[i])->name, i, NULL);
    buf_init(&check.messages, 16 * ERROR_TEXT_SIZE);        /* more than an error can hold; the rest is left out */
    for (uint32_t i = 0; i < query->operations.count && !check.status; i++)
        walk_operation(&check, query->operations.items[i]);
    for (uint32_t i = 0; i < query->fragments.count && !check.status; i++)
        walk_fragment(&check, query->fragments.items[i]);
    if (!check.status && check.count > 0) check.status = violations_report(&check);
    buf_deinit(&check.messages);
    return check.status;
}
