/* Trees to values and back, both by the same tables: for each kind of node its members, their names and where they lie. */
#include <stddef.h>
#include <string.h>

#include "base/limits.h"
#include "rego/graphql/node.h"
#include "value/number.h"

typedef enum MemberKind {
    MEMBER_TEXT,            /* shown even where it is empty */
    MEMBER_FLAG,            /* shown even where it is false */
    MEMBER_NUMBER,          /* a GqlValueKind */
    MEMBER_NODE,            /* left out where there is none */
    MEMBER_NODES,           /* left out where there are none, like the following */
    MEMBER_NAMES,
} MemberKind;

typedef struct NodeKind NodeKind;

typedef struct NodeMember {
    const char *name;
    MemberKind kind;
    size_t offset;
    const NodeKind *node;   /* of MEMBER_NODE and MEMBER_NODES */
} NodeMember;

struct NodeKind {
    size_t size;
    const NodeMember *members;
    size_t member_count;
};

#define NODE_KIND(name, Type, table) \
    static const NodeKind name = { sizeof(Type), table, sizeof table / sizeof table[0] }
#define TEXT(Type, shown, member) { shown, MEMBER_TEXT, offsetof(Type, member), NULL }
#define FLAG(Type, shown, member) { shown, MEMBER_FLAG, offsetof(Type, member), NULL }
#define NAMES(Type, shown, member) { shown, MEMBER_NAMES, offsetof(Type, member), NULL }
#define NODE(Type, shown, member, of) { shown, MEMBER_NODE, offsetof(Type, member), &(of) }
#define NODES(Type, shown, member, of) { shown, MEMBER_NODES, offsetof(Type, member), &(of) }

/* --- parts of both kinds of documents ----------------------------------------------------------------------------- */

static const NodeMember comment_line_members[] = { TEXT(GqlCommentLine, "Value", text) };
NODE_KIND(comment_line_kind, GqlCommentLine, comment_line_members);
static const NodeMember comment_members[] = { NODES(GqlComment, "List", lines, comment_line_kind) };
NODE_KIND(comment_kind, GqlComment, comment_members);

static const NodeKind type_kind, value_kind;
static const NodeMember type_members[] = {
    TEXT(GqlType, "NamedType", name), NODE(GqlType, "Elem", element, type_kind), FLAG(GqlType, "NonNull", non_null),
};
static const NodeKind type_kind = { sizeof(GqlType), type_members, sizeof type_members / sizeof type_members[0] };

static const NodeMember child_members[] = {
    TEXT(GqlChild, "Name", name), NODE(GqlChild, "Value", value, value_kind), NODE(GqlChild, "Comment", comment, comment_kind),
};
NODE_KIND(child_kind, GqlChild, child_members);
static const NodeMember value_members[] = {
    TEXT(GqlValue, "Raw", raw),
    NODES(GqlValue, "Children", children, child_kind),
    { "Kind", MEMBER_NUMBER, offsetof(GqlValue, kind), NULL },
    NODE(GqlValue, "Comment", comment, comment_kind),
    FLAG(GqlValue, "ExpectedTypeHasDefault", expected_has_default),
};
static const NodeKind value_kind = { sizeof(GqlValue), value_members, sizeof value_members / sizeof value_members[0] };

static const NodeMember argument_members[] = {
    TEXT(GqlArgument, "Name", name),
    NODE(GqlArgument, "Value", value, value_kind),
    NODE(GqlArgument, "Comment", comment, comment_kind),
};
NODE_KIND(argument_kind, GqlArgument, argument_members);
static const NodeMember directive_members[] = {
    TEXT(GqlDirective, "Name", name),
    NODES(GqlDirective, "Arguments", arguments, argument_kind),
    TEXT(GqlDirective, "Location", location),
};
NODE_KIND(directive_kind, GqlDirective, directive_members);

/* --- queries ------------------------------------------------------------------------------------------------------ */

static const NodeMember variable_members[] = {
    TEXT(GqlVariable, "Variable", name),
    NODE(GqlVariable, "Type", type, type_kind),
    NODE(GqlVariable, "DefaultValue", default_value, value_kind),
    NODES(GqlVariable, "Directives", directives, directive_kind),
    NODE(GqlVariable, "Comment", comment, comment_kind),
    FLAG(GqlVariable, "Used", is_used),
};
NODE_KIND(variable_kind, GqlVariable, variable_members);

/* What a selection shows depends on what it is; read back, it is always a field, as in OPA. */
static const NodeKind field_selection_kind;
static const NodeMember field_selection_members[] = {
    TEXT(GqlSelection, "Alias", alias),
    TEXT(GqlSelection, "Name", name),
    NODES(GqlSelection, "Arguments", arguments, argument_kind),
    NODES(GqlSelection, "Directives", directives, directive_kind),
    NODES(GqlSelection, "SelectionSet", selections, field_selection_kind),
    NODE(GqlSelection, "Comment", comment, comment_kind),
};
static const NodeKind field_selection_kind = {
    sizeof(GqlSelection), field_selection_members, sizeof field_selection_members / sizeof field_selection_members[0],
};
static const NodeMember spread_members[] = {
    TEXT(GqlSelection, "Name", name),
    NODES(GqlSelection, "Directives", directives, directive_kind),
    NODE(GqlSelection, "Comment", comment, comment_kind),
};
NODE_KIND(spread_kind, GqlSelection, spread_members);
static const NodeMember inline_members[] = {
    TEXT(GqlSelection, "TypeCondition", type_condition),
    NODES(GqlSelection, "Directives", directives, directive_kind),
    NODES(GqlSelection, "SelectionSet", selections, field_selection_kind),
    NODE(GqlSelection, "Comment", comment, comment_kind),
};
NODE_KIND(inline_kind, GqlSelection, inline_members);

static const NodeMember operation_members[] = {
    TEXT(GqlOperation, "Operation", operation),
    TEXT(GqlOperation, "Name", name),
    NODES(GqlOperation, "VariableDefinitions", variables, variable_kind),
    NODES(GqlOperation, "Directives", directives, directive_kind),
    NODES(GqlOperation, "SelectionSet", selections, field_selection_kind),
    NODE(GqlOperation, "Comment", comment, comment_kind),
};
NODE_KIND(operation_kind, GqlOperation, operation_members);
static const NodeMember fragment_members[] = {
    TEXT(GqlFragment, "Name", name),
    NODES(GqlFragment, "VariableDefinition", variables, variable_kind),
    TEXT(GqlFragment, "TypeCondition", type_condition),
    NODES(GqlFragment, "Directives", directives, directive_kind),
    NODES(GqlFragment, "SelectionSet", selections, field_selection_kind),
    NODE(GqlFragment, "Comment", comment, comment_kind),
};
NODE_KIND(fragment_kind, GqlFragment, fragment_members);
static const NodeMember query_members[] = {
    NODES(GqlQuery, "Operations", operations, operation_kind), NODES(GqlQuery, "Fragments", fragments, fragment_kind),
};
NODE_KIND(query_kind, GqlQuery, query_members);

/* --- schemas ------------------------------------------------------------------------------------------------------ */

#define DESCRIBED(Type) \
    NODE(Type, "BeforeDescriptionComment", before, comment_kind), NODE(Type, "AfterDescriptionComment", after, comment_kind)

static const NodeMember argument_definition_members[] = {
    TEXT(GqlField, "Description", description),
    TEXT(GqlField, "Name", name),
    NODE(GqlField, "DefaultValue", default_value, value_kind),
    NODE(GqlField, "Type", type, type_kind),
    NODES(GqlField, "Directives", directives, directive_kind),
    DESCRIBED(GqlField),
};
NODE_KIND(argument_definition_kind, GqlField, argument_definition_members);
static const NodeMember field_members[] = {
    TEXT(GqlField, "Description", description),
    TEXT(GqlField, "Name", name),
    NODES(GqlField, "Arguments", arguments, argument_definition_kind),
    NODE(GqlField, "DefaultValue", default_value, value_kind),
    NODE(GqlField, "Type", type, type_kind),
    NODES(GqlField, "Directives", directives, directive_kind),
    DESCRIBED(GqlField),
};
NODE_KIND(field_kind, GqlField, field_members);
static const NodeMember enum_value_members[] = {
    TEXT(GqlField, "Description", description),
    TEXT(GqlField, "Name", name),
    NODES(GqlField, "Directives", directives, directive_kind),
    DESCRIBED(GqlField),
};
NODE_KIND(enum_value_kind, GqlField, enum_value_members);
static const NodeMember directive_definition_members[] = {
    TEXT(GqlDirectiveDefinition, "Description", description),
    TEXT(GqlDirectiveDefinition, "Name", name),
    NODES(GqlDirectiveDefinition, "Arguments", arguments, argument_definition_kind),
    NAMES(GqlDirectiveDefinition, "Locations", locations),
    FLAG(GqlDirectiveDefinition, "IsRepeatable", is_repeatable),
    DESCRIBED(GqlDirectiveDefinition),
};
NODE_KIND(directive_definition_kind, GqlDirectiveDefinition, directive_definition_members);
static const NodeMember definition_members[] = {
    TEXT(GqlDefinition, "Kind", kind),
    TEXT(GqlDefinition, "Description", description),
    TEXT(GqlDefinition, "Name", name),
    NODES(GqlDefinition, "Directives", directives, directive_kind),
    NAMES(GqlDefinition, "Interfaces", interfaces),
    NODES(GqlDefinition, "Fields", fields, field_kind),
    NAMES(GqlDefinition, "Types", types),
    NODES(GqlDefinition, "EnumValues", enum_values, enum_value_kind),
    FLAG(GqlDefinition, "BuiltIn", is_builtin),
    DESCRIBED(GqlDefinition),
    NODE(GqlDefinition, "EndOfDefinitionComment", end, comment_kind),
};
NODE_KIND(definition_kind, GqlDefinition, definition_members);
static const NodeMember operation_type_members[] = {
    TEXT(GqlOperationType, "Operation", operation),
    TEXT(GqlOperationType, "Type", type),
    NODE(GqlOperationType, "Comment", comment, comment_kind),
};
NODE_KIND(operation_type_kind, GqlOperationType, operation_type_members);
static const NodeMember schema_definition_members[] = {
    TEXT(GqlSchemaDefinition, "Description", description),
    NODES(GqlSchemaDefinition, "Directives", directives, directive_kind),
    NODES(GqlSchemaDefinition, "OperationTypes", operation_types, operation_type_kind),
    DESCRIBED(GqlSchemaDefinition),
    NODE(GqlSchemaDefinition, "EndOfDefinitionComment", end, comment_kind),
};
NODE_KIND(schema_definition_kind, GqlSchemaDefinition, schema_definition_members);
static const NodeMember schema_document_members[] = {
    NODES(GqlSchemaDocument, "Schema", schema, schema_definition_kind),
    NODES(GqlSchemaDocument, "SchemaExtension", schema_extension, schema_definition_kind),
    NODES(GqlSchemaDocument, "Directives", directives, directive_definition_kind),
    NODES(GqlSchemaDocument, "Definitions", definitions, definition_kind),
    NODES(GqlSchemaDocument, "Extensions", extensions, definition_kind),
    NODE(GqlSchemaDocument, "Comment", comment, comment_kind),
};
NODE_KIND(schema_document_kind, GqlSchemaDocument, schema_document_members);

/* --- to values ---------------------------------------------------------------------------------------------------- */

static const NodeKind *kind_of(const NodeKind *kind, const void *node)
{
    if (kind != &field_selection_kind) return kind;
    const GqlSelection *selection = node;
    return selection->kind == GQL_SPREAD ? &spread_kind : selection->kind == GQL_INLINE ? &inline_kind : kind;
}

static Value node_value(Arena *arena, const NodeKind *kind, const void *node);

/* The member's value; false where it is left out. */
static bool member_value(Arena *arena, const NodeMember *member, const void *node, Value *out_value)
{
    const char *at = (const char *)node + member->offset;
    ValueList list = { .arena = arena };
    switch (member->kind) {
    case MEMBER_TEXT:
        *out_value = value_string(*(const Str *)at);
        return true;
    case MEMBER_FLAG:
        *out_value = value_bool(*(const bool *)at);
        return true;
    case MEMBER_NUMBER:
        *out_value = value_int(*(const int64_t *)at);
        return true;
    case MEMBER_NODE: {
        const void *inner = *(void *const *)at;
        if (!inner) return false;
        *out_value = node_value(arena, member->node, inner);
        return out_value->count > 0;
    }
    case MEMBER_NODES: {
        const GqlList *nodes = (const GqlList *)at;
        for (uint32_t i = 0; i < nodes->count; i++) value_list_add(&list, node_value(arena, member->node, nodes->items[i]));
        break;
    }
    case MEMBER_NAMES: {
        const GqlNames *names = (const GqlNames *)at;
        for (uint32_t i = 0; i < names->count; i++) value_list_add(&list, value_string(names->items[i]));
        break;
    }
    }
    *out_value = value_list_array(&list);
    return list.count > 0;
}

static Value node_value(Arena *arena, const NodeKind *kind, const void *node)
{
    MemberList members = { .arena = arena };
    kind = kind_of(kind, node);
    for (size_t i = 0; i < kind->member_count; i++) {
        Value value;
        if (member_value(arena, &kind->members[i], node, &value))
            member_list_add(&members, str_of(kind->members[i].name), value);
    }
    return member_list_object(&members);
}

Value graphql_query_value(Arena *arena, const GqlQuery *query)
{
    return node_value(arena, &query_kind, query);
}

Value graphql_schema_value(Arena *arena, const GqlSchemaDocument *document)
{
    return node_value(arena, &schema_document_kind, document);
}

/* --- from values -------------------------------------------------------------------------------------------------- */

typedef struct Reader {
    Arena *arena;
    uint32_t depth;
    Error *err;
} Reader;

static Status node_read(Reader *reader, const NodeKind *kind, Value value, void *node);

static Status refuse(const Reader *reader, const NodeMember *member, const char *wanted, Value value)
{
    return error_set(reader->err, ERR_INVALID, "json: cannot unmarshal %s into %s, which must be %s",
                     value_kind_name(value), member->name, wanted);
}

static Status nodes_read(Reader *reader, const NodeMember *member, Value value, GqlList *out_list)
{
    if (value.kind != VALUE_ARRAY && value.kind != VALUE_SET) return refuse(reader, member, "an array", value);
    for (uint32_t i = 0; i < value.count; i++) {
        void *node = arena_alloc(reader->arena, member->node->size);
        Status status = node_read(reader, member->node, value.items[i], node);
        if (status) return status;
        gql_list_add(reader->arena, out_list, node);
    }
    return OK;
}

static Status names_read(Reader *reader, const NodeMember *member, Value value, GqlNames *out_names)
{
    if (value.kind != VALUE_ARRAY && value.kind != VALUE_SET) return refuse(reader, member, "an array", value);
    for (uint32_t i = 0; i < value.count; i++) {
        if (value.items[i].kind != VALUE_STRING) return refuse(reader, member, "an array of strings", value.items[i]);
        gql_names_add(reader->arena, out_names, value_text(value.items[i]), (GqlPlace){ 0 });
    }
    return OK;
}

static Status member_read(Reader *reader, const NodeMember *member, Value value, void *node)
{
    char *at = (char *)node + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT:
        if (value.kind != VALUE_STRING) return refuse(reader, member, "a string", value);
        *(Str *)at = value_text(value);
        return OK;
    case MEMBER_FLAG:
        if (value.kind != VALUE_BOOL) return refuse(reader, member, "a boolean", value);
        *(bool *)at = value_is_true(value);
        return OK;
    case MEMBER_NUMBER:
        if (!value_is_number(value) || !number_to_int64(value, (int64_t *)at) || *(int64_t *)at < 0
            || *(int64_t *)at > GQL_OBJECT)
            return refuse(reader, member, "a kind of value", value);
        return OK;
    case MEMBER_NODE:
        *(void **)at = arena_alloc(reader->arena, member->node->size);
        return node_read(reader, member->node, value, *(void **)at);
    case MEMBER_NODES:
        return nodes_read(reader, member, value, (GqlList *)at);
    case MEMBER_NAMES:
        return names_read(reader, member, value, (GqlNames *)at);
    }
    return OK;
}

static Status node_read(Reader *reader, const NodeKind *kind, Value value, void *node)
{
    if (value.kind != VALUE_OBJECT)
        return error_set(reader->err, ERR_INVALID, "json: cannot unmarshal %s into an object", value_kind_name(value));
    if (reader->depth == JSON_DEPTH_MAX)
        return error_set(reader->err, ERR_LIMIT, "nested deeper than JSON_DEPTH_MAX (%u)", JSON_DEPTH_MAX);
    reader->depth++;
    for (size_t i = 0; i < kind->member_count; i++) {
        const Value *member = value_get_text(value, kind->members[i].name);
        if (!member || member->kind == VALUE_NULL) continue;
        Status status = member_read(reader, &kind->members[i], *member, node);
        if (status) return status;
    }
    reader->depth--;
    return OK;
}

/* --- what every tree has ------------------------------------------------------------------------------------------ */

/* Parts that the grammar promises may be absent from a value: they become empty ones. */
static void complete(Arena *arena, const NodeKind *kind, void *node)
{
    for (size_t i = 0; i < kind->member_count; i++) {
        const NodeMember *member = &kind->members[i];
        char *at = (char *)node + member->offset;
        bool is_promised = member->kind == MEMBER_NODE
                        && ((member->node == &value_kind && strcmp(member->name, "Value") == 0)
                            || (member->node == &type_kind && kind != &type_kind));
        if (is_promised && !*(void **)at) *(void **)at = arena_alloc(arena, member->node->size);
        if (member->kind == MEMBER_NODE && *(void **)at) complete(arena, member->node, *(void **)at);
        const GqlList *nodes = (const GqlList *)at;
        for (uint32_t j = 0; member->kind == MEMBER_NODES && j < nodes->count; j++)
            complete(arena, member->node, nodes->items[j]);
    }
}

Status graphql_query_read(Arena *arena, Value value, GqlQuery **out_query, Error *err)
{
    Reader reader = { .arena = arena, .err = err };
    GqlQuery *query = ARENA_NEW(arena, GqlQuery);
    Status status = node_read(&reader, &query_kind, value, query);
    if (status) return status;
    complete(arena, &query_kind, query);
    *out_query = query;
    return OK;
}

Status graphql_schema_read(Arena *arena, Value value, GqlSchemaDocument **out_document, Error *err)
{
    Reader reader = { .arena = arena, .err = err };
    GqlSchemaDocument *document = ARENA_NEW(arena, GqlSchemaDocument);
    Status status = node_read(&reader, &schema_document_kind, value, document);
    if (status) return status;
    complete(arena, &schema_document_kind, document);
    *out_document = document;
    return OK;
}
