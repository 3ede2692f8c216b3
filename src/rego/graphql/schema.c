#include "rego/graphql/schema.h"

#include <inttypes.h>

/* What every schema has without saying so: the scalars, the directives, and the types that describe a schema to clients. */
static const char prelude[] =
    "scalar Int scalar Float scalar String scalar Boolean scalar ID\n"
    "directive @defer(if: Boolean = true, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT\n"
    "directive @include(if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT\n"
    "directive @skip(if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT\n"
    "directive @deprecated(reason: String = \"No longer supported\")\n"
    "  on FIELD_DEFINITION | ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION | ENUM_VALUE\n"
    "directive @specifiedBy(url: String!) on SCALAR\n"
    "directive @oneOf on INPUT_OBJECT\n"
    "type __Schema { description: String types: [__Type!]! queryType: __Type! mutationType: __Type\n"
    "  subscriptionType: __Type directives: [__Directive!]! }\n"
    "type __Type { kind: __TypeKind! name: String description: String specifiedByURL: String\n"
    "  fields(includeDeprecated: Boolean = false): [__Field!] interfaces: [__Type!] possibleTypes: [__Type!]\n"
    "  enumValues(includeDeprecated: Boolean = false): [__EnumValue!]\n"
    "  inputFields(includeDeprecated: Boolean = false): [__InputValue!] ofType: __Type isOneOf: Boolean }\n"
    "enum __TypeKind { SCALAR OBJECT INTERFACE UNION ENUM INPUT_OBJECT LIST NON_NULL }\n"
    "type __Field { name: String! description: String args(includeDeprecated: Boolean = false): [__InputValue!]!\n"
    "  type: __Type! isDeprecated: Boolean! deprecationReason: String }\n"
    "type __InputValue { name: String! description: String type: __Type! defaultValue: String isDeprecated: Boolean!\n"
    "  deprecationReason: String }\n"
    "type __EnumValue { name: String! description: String isDeprecated: Boolean! deprecationReason: String }\n"
    "type __Directive { name: String! description: String isRepeatable: Boolean! locations: [__DirectiveLocation!]!\n"
    "  args(includeDeprecated: Boolean = false): [__InputValue!]! }\n"
    "enum __DirectiveLocation { QUERY MUTATION SUBSCRIPTION FIELD FRAGMENT_DEFINITION FRAGMENT_SPREAD INLINE_FRAGMENT\n"
    "  VARIABLE_DEFINITION SCHEMA SCALAR OBJECT FIELD_DEFINITION ARGUMENT_DEFINITION INTERFACE UNION ENUM ENUM_VALUE\n"
    "  INPUT_OBJECT INPUT_FIELD_DEFINITION }\n";

Status gql_spend(const GqlBudget *budget, uint64_t count, Error *err)
{
    if (budget->stop && atomic_load_explicit(budget->stop, memory_order_relaxed))
        return error_set(err, ERR_LIMIT, "the evaluation was stopped");
    if (count > *budget->steps_left) {
        *budget->steps_left = 0;
        return error_set(err, ERR_LIMIT, "the evaluation took more than %" PRIu64 " steps", budget->step_count_max);
    }
    *budget->steps_left -= count;
    return OK;
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

GqlDefinition *gql_schema_type(const GqlSchema *schema, Str name)
{
    uint32_t place;
    return map_find(&schema->type_places, name, &place) ? schema->types.items[place] : NULL;
}

GqlDirectiveDefinition *gql_schema_directive(const GqlSchema *schema, Str name)
{
    uint32_t place;
    return map_find(&schema->directive_places, name, &place) ? schema->directives.items[place] : NULL;
}

const GqlDefinition *gql_schema_root(const GqlSchema *schema, Str operation)
{
    if (str_is(operation, STR("mutation"))) return schema->mutation;
    if (str_is(operation, STR("subscription"))) return schema->subscription;
    return operation.len == 0 || str_is(operation, STR("query")) ? schema->query : NULL;
}

bool gql_is_composite(const GqlDefinition *definition)
{
    return gql_is(definition, "OBJECT") || gql_is(definition, "INTERFACE") || gql_is(definition, "UNION");
}

bool gql_is_input(const GqlDefinition *definition)
{
    return gql_is(definition, "SCALAR") || gql_is(definition, "ENUM") || gql_is(definition, "INPUT_OBJECT");
}

bool gql_is_leaf(const GqlDefinition *definition)
{
    return gql_is(definition, "ENUM") || gql_is(definition, "SCALAR");
}

/* --- building ----------------------------------------------------------------------------------------------------- */

static Status types_add(GqlSchema *schema, const GqlList *definitions, Error *err)
{
    for (uint32_t i = 0; i < definitions->count; i++) {
        GqlDefinition *definition = definitions->items[i];
        if (!map_add(&schema->type_places, definition->name, schema->types.count, NULL))
            return gql_schema_refuse(err, definition->place, "Cannot redeclare type %.*s.", STR_ARG(definition->name));
        gql_list_add(schema->arena, &schema->types, definition);
    }
    return OK;
}

static Status extension_add(GqlSchema *schema, const GqlDefinition *extension, Error *err)
{
    GqlDefinition *base = gql_schema_type(schema, extension->name);
    if (!base) {            /* extending what nobody has defined defines it */
        base = ARENA_NEW(schema->arena, GqlDefinition);
        *base = (GqlDefinition){ .kind = extension->kind, .name = extension->name, .place = extension->place };
        map_add(&schema->type_places, base->name, schema->types.count, NULL);
        gql_list_add(schema->arena, &schema->types, base);
    }
    if (!str_is(base->kind, extension->kind))
        return gql_schema_refuse(err, extension->place, "Cannot extend type %.*s because the base type is a %.*s, not %.*s.",
                                 STR_ARG(extension->name), STR_ARG(base->kind), STR_ARG(extension->kind));
    gql_list_append(schema->arena, &base->directives, &extension->directives);
    gql_list_append(schema->arena, &base->fields, &extension->fields);
    gql_list_append(schema->arena, &base->enum_values, &extension->enum_values);
    for (uint32_t i = 0; i < extension->interfaces.count; i++)
        gql_names_add(schema->arena, &base->interfaces, extension->interfaces.items[i], extension->interfaces.places[i]);
    for (uint32_t i = 0; i < extension->types.count; i++)
        gql_names_add(schema->arena, &base->types, extension->types.items[i], extension->types.places[i]);
    return OK;
}

/* Which objects a value of each abstract type may be. */
static void possible_types_add(GqlSchema *schema, GqlDefinition *definition)
{
    for (uint32_t i = 0; gql_is(definition, "UNION") && i < definition->types.count; i++) {
        GqlDefinition *type = gql_schema_type(schema, definition->types.items[i]);
        if (type) gql_list_add(schema->arena, &definition->possible, type);
    }
    bool is_object = gql_is(definition, "OBJECT") || gql_is(definition, "INPUT_OBJECT");
    if (!is_object && !gql_is(definition, "INTERFACE")) return;
    for (uint32_t i = 0; i < definition->interfaces.count; i++) {
        GqlDefinition *type = gql_schema_type(schema, definition->interfaces.items[i]);
        if (type) gql_list_add(schema->arena, &type->possible, definition);
    }
    if (is_object) gql_list_add(schema->arena, &definition->possible, definition);
}

static bool may_be_redefined(Str directive)
{
    static const char *const names[] = { "include", "skip", "deprecated", "specifiedBy", "defer", "oneOf" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (str_is_text(directive, names[i])) return true;
    return false;
}

static Status directives_add(GqlSchema *schema, const GqlList *directives, Error *err)
{
    for (uint32_t i = 0; i < directives->count; i++) {
        GqlDirectiveDefinition *directive = directives->items[i];
        uint32_t place;
        if (map_add(&schema->directive_places, directive->name, schema->directives.count, &place)) {
            gql_list_add(schema->arena, &schema->directives, directive);
        } else {
            if (!may_be_redefined(directive->name))
                return gql_schema_refuse(err, directive->place, "Cannot redeclare directive %.*s.", STR_ARG(directive->name));
            schema->directives.items[place] = directive;
        }
    }
    return OK;
}

static Status roots_add(GqlSchema *schema, const GqlSchemaDefinition *definition, Error *err)
{
    for (uint32_t i = 0; i < definition->operation_types.count; i++) {
        const GqlOperationType *root = definition->operation_types.items[i];
        GqlDefinition *type = gql_schema_type(schema, root->type);
        if (!type)
            return gql_schema_refuse(err, root->place, "Schema root %.*s refers to a type %.*s that does not exist.",
                                     STR_ARG(root->operation), STR_ARG(root->type));
        if (str_is(root->operation, STR("query"))) schema->query = type;
        if (str_is(root->operation, STR("mutation"))) schema->mutation = type;
        if (str_is(root->operation, STR("subscription"))) schema->subscription = type;
    }
    return gql_directives_check(schema, &definition->directives, "SCHEMA", NULL, true, err);
}

static Status entry_points_add(GqlSchema *schema, const GqlSchemaDocument *document, Error *err)
{
    if (document->schema.count > 1) {
        const GqlSchemaDefinition *second = document->schema.items[1];
        return gql_schema_refuse(err, second->place,
                                 "Cannot have multiple schema entry points, consider schema extensions instead.");
    }
    Status status = OK;
    for (uint32_t i = 0; i < document->schema.count && !status; i++)
        status = roots_add(schema, document->schema.items[i], err);
    for (uint32_t i = 0; i < document->schema_extension.count && !status; i++)
        status = roots_add(schema, document->schema_extension.items[i], err);
    return status;
}

static GqlType *type_make(Arena *arena, const char *name, bool non_null)
{
    GqlType *type = ARENA_NEW(arena, GqlType);
    *type = (GqlType){ .name = str_of(name), .non_null = non_null };
    return type;
}

static GqlField *field_make(Arena *arena, const char *name, GqlType *type)
{
    GqlField *field = ARENA_NEW(arena, GqlField);
    *field = (GqlField){ .name = str_of(name), .type = type };
    return field;
}

/* Without entry points the types of the usual names are taken; and every query may ask about the schema itself. */
static void roots_finish(GqlSchema *schema, bool has_entry_points)
{
    if (!has_entry_points) {
        if (!schema->query) schema->query = gql_schema_type(schema, STR("Query"));
        if (!schema->mutation) schema->mutation = gql_schema_type(schema, STR("Mutation"));
        if (!schema->subscription) schema->subscription = gql_schema_type(schema, STR("Subscription"));
    }
    if (!schema->query) return;
    Arena *arena = schema->arena;
    gql_list_add(arena, &schema->query->fields, field_make(arena, "__schema", type_make(arena, "__Schema", true)));
    GqlField *by_name = field_make(arena, "__type", type_make(arena, "__Type", false));
    gql_list_add(arena, &by_name->arguments, field_make(arena, "name", type_make(arena, "String", true)));
    gql_list_add(arena, &schema->query->fields, by_name);
}

static Status schema_build(GqlSchema *schema, const GqlSchemaDocument *base, const GqlSchemaDocument *document, Error *err)
{
    Status status = types_add(schema, &base->definitions, err);
    if (!status) status = types_add(schema, &document->definitions, err);
    for (uint32_t i = 0; i < document->extensions.count && !status; i++)
        status = extension_add(schema, document->extensions.items[i], err);
    if (status) return status;
    for (uint32_t i = 0; i < schema->types.count; i++) possible_types_add(schema, schema->types.items[i]);
    status = directives_add(schema, &base->directives, err);
    if (!status) status = directives_add(schema, &document->directives, err);
    if (!status) status = entry_points_add(schema, document, err);
    if (!status) status = gql_schema_check(schema, err);
    if (!status) roots_finish(schema, document->schema.count > 0);
    return status;
}

Status graphql_schema_build(Arena *arena, GqlSchemaDocument *document, const GqlBudget *budget, GqlSchema **out_schema,
                            Error *err)
{
    GqlSchemaDocument *base;
    Status status = graphql_schema_parse(arena, str_of(prelude), &base, err);
    if (status) return status;
    for (uint32_t i = 0; i < base->definitions.count; i++) {
        GqlDefinition *definition = base->definitions.items[i];
        definition->is_builtin = true;
    }
    GqlSchema *schema = ARENA_NEW(arena, GqlSchema);
    schema->arena = arena;
    schema->budget = budget;
    map_init(&schema->type_places, arena, base->definitions.count + document->definitions.count);
    map_init(&schema->directive_places, arena, base->directives.count + document->directives.count);
    status = schema_build(schema, base, document, err);
    schema->budget = NULL;
    if (status == ERR_INVALID) error_prefix(err, "Error in gqlparser SchemaDocument to Schema conversion: ");
    if (!status) *out_schema = schema;
    return status;
}
