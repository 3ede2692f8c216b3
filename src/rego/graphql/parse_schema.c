/* Schema documents: types, directives, entry points, and extensions of them. */
#include "rego/graphql/parser.h"

/* A text before what it describes, and the comment before that. */
typedef struct Description {
    Str text;
    GqlComment *comment;
} Description;

static Description read_description(GqlParser *parser)
{
    Description description = { 0 };
    if (!gql_peek_is(parser, GQL_TOKEN_STRING) && !gql_peek_is(parser, GQL_TOKEN_BLOCK)) return description;
    description.comment = parser->comment;
    description.text = gql_next(parser).value;
    return description;
}

/* --- fields, arguments and values of enums ------------------------------------------------------------------------ */

static GqlField *field_begin(GqlParser *parser)
{
    GqlField *field = ARENA_NEW(parser->arena, GqlField);
    Description description = read_description(parser);
    if (description.text.len) {
        field->description = description.text;
        field->before = description.comment;
    }
    field->after = gql_comment(parser);
    field->place = gql_place(parser);
    field->name = gql_read_name(parser);
    return field;
}

static void read_argument_definition(GqlParser *parser, void *owner)
{
    GqlField *field = field_begin(parser);
    gql_expect(parser, GQL_TOKEN_COLON);
    field->type = gql_read_type(parser);
    if (gql_skip(parser, GQL_TOKEN_EQUALS)) field->default_value = gql_read_value(parser, true);
    gql_read_directives(parser, true, &field->directives);
    gql_list_add(parser->arena, owner, field);
}

static void read_argument_definitions(GqlParser *parser, GqlList *out_list)
{
    gql_some(parser, GQL_TOKEN_PAREN_OPEN, GQL_TOKEN_PAREN_CLOSE, read_argument_definition, out_list);
}

static void read_field_definition(GqlParser *parser, void *owner)
{
    GqlField *field = field_begin(parser);
    read_argument_definitions(parser, &field->arguments);
    gql_expect(parser, GQL_TOKEN_COLON);
    field->type = gql_read_type(parser);
    gql_read_directives(parser, true, &field->directives);
    gql_list_add(parser->arena, owner, field);
}

static void read_enum_value(GqlParser *parser, void *owner)
{
    GqlField *value = field_begin(parser);
    gql_read_directives(parser, true, &value->directives);
    gql_list_add(parser->arena, owner, value);
}

/* --- types -------------------------------------------------------------------------------------------------------- */

static void read_listed_name(GqlParser *parser, GqlNames *out_names)
{
    GqlPlace place = gql_place(parser);
    gql_names_add(parser->arena, out_names, gql_read_name(parser), place);
}

static void read_interfaces(GqlParser *parser, GqlNames *out_names)
{
    if (!gql_peek_word(parser, "implements")) return;
    gql_next(parser);
    gql_skip(parser, GQL_TOKEN_AMP);
    do read_listed_name(parser, out_names);
    while (gql_skip(parser, GQL_TOKEN_AMP) && !parser->status);
}

static void read_union_types(GqlParser *parser, GqlNames *out_names)
{
    if (!gql_skip(parser, GQL_TOKEN_EQUALS)) return;
    gql_skip(parser, GQL_TOKEN_PIPE);
    do read_listed_name(parser, out_names);
    while (gql_skip(parser, GQL_TOKEN_PIPE) && !parser->status);
}

typedef struct TypeWord {
    const char *word, *kind;
    bool has_interfaces;
    bool extends_interfaces;        /* an extension may name interfaces too */
    GqlItem item;                   /* of what stands in braces, NULL where there is nothing */
} TypeWord;

static const TypeWord type_words[] = {
    { "enum", "ENUM", false, false, read_enum_value },
    { "input", "INPUT_OBJECT", false, false, read_argument_definition },
    { "interface", "INTERFACE", true, false, read_field_definition },
    { "scalar", "SCALAR", false, false, NULL },
    { "type", "OBJECT", true, true, read_field_definition },
    { "union", "UNION", false, false, NULL },
};

static const TypeWord *type_word(GqlParser *parser)
{
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++)
        if (gql_peek_word(parser, type_words[i].word)) return &type_words[i];
    return NULL;
}

static GqlDefinition *read_type_definition(GqlParser *parser, const TypeWord *word, bool is_extension)
{
    GqlDefinition *definition = ARENA_NEW(parser->arena, GqlDefinition);
    gql_expect_keyword(parser, word->word);
    definition->place = gql_place(parser);
    definition->kind = str_of(word->kind);
    definition->name = gql_read_name(parser);
    if (is_extension ? word->extends_interfaces : word->has_interfaces) read_interfaces(parser, &definition->interfaces);
    bool is_input = str_is(definition->kind, STR("INPUT_OBJECT")), is_enum = str_is(definition->kind, STR("ENUM"));
    gql_read_directives(parser, !(is_extension && is_input), &definition->directives);
    if (str_is(definition->kind, STR("UNION"))) read_union_types(parser, &definition->types);
    if (word->item)
        definition->end = gql_some(parser, GQL_TOKEN_BRACE_OPEN, GQL_TOKEN_BRACE_CLOSE, word->item,
                                   is_enum ? &definition->enum_values : &definition->fields);
    return definition;
}

static bool extends_nothing(const GqlDefinition *definition)
{
    return !definition->interfaces.count && !definition->directives.count && !definition->fields.count
        && !definition->types.count && !definition->enum_values.count;
}

/* --- entry points and directives ---------------------------------------------------------------------------------- */

static void read_operation_type(GqlParser *parser, void *owner)
{
    static const char *const operations[] = { "mutation", "query", "subscription" };
    GqlOperationType *type = ARENA_NEW(parser->arena, GqlOperationType);
    type->place = gql_place(parser);
    type->comment = parser->comment;
    GqlToken token = gql_next(parser);
    bool known = false;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (str_is_text(token.value, operations[i])) known = true;
    if (!known) gql_unexpected(parser, token);
    type->operation = token.value;
    gql_expect(parser, GQL_TOKEN_COLON);
    type->type = gql_read_name(parser);
    gql_list_add(parser->arena, owner, type);
}

static GqlSchemaDefinition *read_schema(GqlParser *parser)
{
    GqlSchemaDefinition *schema = ARENA_NEW(parser->arena, GqlSchemaDefinition);
    gql_expect_keyword(parser, "schema");
    schema->place = gql_place(parser);
    gql_read_directives(parser, true, &schema->directives);
    schema->end = gql_some(parser, GQL_TOKEN_BRACE_OPEN, GQL_TOKEN_BRACE_CLOSE, read_operation_type,
                           &schema->operation_types);
    return schema;
}

static void read_location(GqlParser *parser, GqlNames *locations)
{
    static const char *const known[] = {
        "ARGUMENT_DEFINITION", "ENUM", "ENUM_VALUE", "FIELD", "FIELD_DEFINITION", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD",
        "INLINE_FRAGMENT", "INPUT_FIELD_DEFINITION", "INPUT_OBJECT", "INTERFACE", "MUTATION", "OBJECT", "QUERY", "SCALAR",
        "SCHEMA", "SUBSCRIPTION", "UNION", "VARIABLE_DEFINITION",
    };
    GqlToken token = gql_expect(parser, GQL_TOKEN_NAME);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!str_is_text(token.value, known[i])) continue;
        gql_names_add(parser->arena, locations, token.value, token.place);
        return;
    }
    gql_unexpected(parser, token);
}

static GqlDirectiveDefinition *read_directive_definition(GqlParser *parser)
{
    GqlDirectiveDefinition *definition = ARENA_NEW(parser->arena, GqlDirectiveDefinition);
    gql_expect_keyword(parser, "directive");
    gql_expect(parser, GQL_TOKEN_AT);
    definition->place = gql_place(parser);
    definition->name = gql_read_name(parser);
    read_argument_definitions(parser, &definition->arguments);
    if (gql_peek_is(parser, GQL_TOKEN_NAME) && gql_peek_word(parser, "repeatable")) {
        definition->is_repeatable = true;
        gql_next(parser);
    }
    gql_expect_keyword(parser, "on");
    gql_skip(parser, GQL_TOKEN_PIPE);
    do read_location(parser, &definition->locations);
    while (gql_skip(parser, GQL_TOKEN_PIPE) && !parser->status);
    return definition;
}

/* --- the document ------------------------------------------------------------------------------------------------- */

static void read_extension(GqlParser *parser, GqlSchemaDocument *document)
{
    GqlComment *comment = gql_comment(parser);
    gql_expect_keyword(parser, "extend");
    const TypeWord *word = type_word(parser);
    if (gql_peek_word(parser, "schema")) {
        GqlSchemaDefinition *schema = read_schema(parser);
        schema->after = comment;
        if (!schema->directives.count && !schema->operation_types.count) gql_unexpected(parser, gql_peek(parser));
        gql_list_add(parser->arena, &document->schema_extension, schema);
    } else if (word) {
        GqlDefinition *definition = read_type_definition(parser, word, /* is_extension= */ true);
        definition->after = comment;
        if (extends_nothing(definition)) gql_unexpected(parser, gql_peek(parser));
        gql_list_add(parser->arena, &document->extensions, definition);
    } else {
        gql_unexpected(parser, gql_peek(parser));
    }
}

static void read_definition(GqlParser *parser, GqlSchemaDocument *document)
{
    Description description = read_description(parser);
    if (!gql_peek_is(parser, GQL_TOKEN_NAME)) {
        gql_unexpected(parser, gql_peek(parser));
        return;
    }
    GqlComment *after = gql_comment(parser);
    const TypeWord *word = type_word(parser);
    if (word) {
        GqlDefinition *definition = read_type_definition(parser, word, /* is_extension= */ false);
        definition->description = description.text;
        definition->before = description.comment;
        definition->after = after;
        gql_list_add(parser->arena, &document->definitions, definition);
    } else if (gql_peek_word(parser, "schema")) {
        GqlSchemaDefinition *schema = read_schema(parser);
        schema->description = description.text;
        schema->before = description.comment;
        schema->after = after;
        gql_list_add(parser->arena, &document->schema, schema);
    } else if (gql_peek_word(parser, "directive")) {
        GqlDirectiveDefinition *definition = read_directive_definition(parser);
        definition->description = description.text;
        definition->before = description.comment;
        definition->after = after;
        gql_list_add(parser->arena, &document->directives, definition);
    } else if (gql_peek_word(parser, "extend")) {
        if (description.text.len) gql_unexpected(parser, parser->last);
        read_extension(parser, document);
    } else {
        gql_unexpected(parser, gql_peek(parser));
    }
}

Status graphql_schema_parse(Arena *arena, Str text, GqlSchemaDocument **out_document, Error *err)
{
    GqlParser parser;
    gql_parser_init(&parser, arena, text, err);
    GqlSchemaDocument *document = ARENA_NEW(arena, GqlSchemaDocument);
    while (!parser.status && !gql_peek_is(&parser, GQL_TOKEN_END)) read_definition(&parser, document);
    document->comment = parser.comment;
    if (!parser.status) *out_document = document;
    return parser.status;
}
