/* Query documents: operations and fragments. */
#include "rego/graphql/parser.h"

static void read_selection(GqlParser *parser, void *owner);

static void read_selections(GqlParser *parser, GqlList *out_list)
{
    if (!gql_enter(parser)) return;
    gql_some(parser, GQL_TOKEN_BRACE_OPEN, GQL_TOKEN_BRACE_CLOSE, read_selection, out_list);
    gql_leave(parser);
}

static void read_required_selections(GqlParser *parser, GqlList *out_list)
{
    if (!gql_peek_is(parser, GQL_TOKEN_BRACE_OPEN)) gql_expect(parser, GQL_TOKEN_BRACE_OPEN);
    else read_selections(parser, out_list);
}

static void read_field(GqlParser *parser, GqlSelection *field)
{
    field->kind = GQL_FIELD;
    field->place = gql_place(parser);
    field->comment = parser->comment;
    field->alias = field->name = gql_read_name(parser);
    if (gql_skip(parser, GQL_TOKEN_COLON)) field->name = gql_read_name(parser);
    gql_read_arguments(parser, false, &field->arguments);
    gql_read_directives(parser, false, &field->directives);
    if (gql_peek_is(parser, GQL_TOKEN_BRACE_OPEN)) read_selections(parser, &field->selections);
}

/* Behind three dots: the name of a fragment, or one written in place. */
static void read_fragment_use(GqlParser *parser, GqlSelection *selection)
{
    GqlToken token = gql_peek(parser);
    selection->place = token.place;
    if (token.kind == GQL_TOKEN_NAME && !str_is(token.value, STR("on"))) {
        selection->kind = GQL_SPREAD;
        selection->name = gql_read_name(parser);
        gql_read_directives(parser, false, &selection->directives);
        return;
    }
    selection->kind = GQL_INLINE;
    if (gql_peek_word(parser, "on")) {
        gql_next(parser);
        selection->type_condition = gql_read_name(parser);
    }
    gql_read_directives(parser, false, &selection->directives);
    read_required_selections(parser, &selection->selections);
}

static void read_selection(GqlParser *parser, void *owner)
{
    GqlSelection *selection = ARENA_NEW(parser->arena, GqlSelection);
    selection->comment = gql_comment(parser);
    if (gql_skip(parser, GQL_TOKEN_SPREAD)) read_fragment_use(parser, selection);
    else read_field(parser, selection);
    gql_list_add(parser->arena, owner, selection);
}

static void read_variable(GqlParser *parser, void *owner)
{
    GqlVariable *variable = ARENA_NEW(parser->arena, GqlVariable);
    variable->place = gql_place(parser);
    variable->comment = parser->comment;
    gql_expect(parser, GQL_TOKEN_DOLLAR);
    variable->name = gql_read_name(parser);
    gql_expect(parser, GQL_TOKEN_COLON);
    variable->type = gql_read_type(parser);
    if (gql_skip(parser, GQL_TOKEN_EQUALS)) variable->default_value = gql_read_value(parser, true);
    gql_read_directives(parser, false, &variable->directives);
    gql_list_add(parser->arena, owner, variable);
}

static void read_variables(GqlParser *parser, GqlList *out_list)
{
    gql_some(parser, GQL_TOKEN_PAREN_OPEN, GQL_TOKEN_PAREN_CLOSE, read_variable, out_list);
}

static void read_operation(GqlParser *parser, GqlQuery *query)
{
    GqlOperation *operation = ARENA_NEW(parser->arena, GqlOperation);
    operation->place = gql_place(parser);
    operation->operation = STR("query");
    if (!gql_peek_is(parser, GQL_TOKEN_BRACE_OPEN)) {       /* a query in short form has no comment of its own */
        operation->comment = parser->comment;
        operation->operation = gql_next(parser).value;
        if (gql_peek_is(parser, GQL_TOKEN_NAME)) operation->name = gql_next(parser).value;
        read_variables(parser, &operation->variables);
        gql_read_directives(parser, false, &operation->directives);
    }
    read_required_selections(parser, &operation->selections);
    gql_list_add(parser->arena, &query->operations, operation);
}

static void read_fragment(GqlParser *parser, GqlQuery *query)
{
    GqlFragment *fragment = ARENA_NEW(parser->arena, GqlFragment);
    fragment->place = gql_place(parser);
    fragment->comment = parser->comment;
    gql_expect_keyword(parser, "fragment");
    if (gql_peek_word(parser, "on")) gql_unexpected(parser, gql_peek(parser));
    fragment->name = gql_read_name(parser);
    read_variables(parser, &fragment->variables);
    gql_expect_keyword(parser, "on");
    fragment->type_condition = gql_read_name(parser);
    gql_read_directives(parser, false, &fragment->directives);
    read_required_selections(parser, &fragment->selections);
    gql_list_add(parser->arena, &query->fragments, fragment);
}

static bool begins_operation(GqlToken token)
{
    if (token.kind == GQL_TOKEN_BRACE_OPEN) return true;
    return token.kind == GQL_TOKEN_NAME
        && (str_is(token.value, STR("query")) || str_is(token.value, STR("mutation"))
            || str_is(token.value, STR("subscription")));
}

Status graphql_query_parse(Arena *arena, Str text, GqlQuery **out_query, Error *err)
{
    GqlParser parser;
    gql_parser_init(&parser, arena, text, err);
    GqlQuery *query = ARENA_NEW(arena, GqlQuery);
    while (!parser.status && !gql_peek_is(&parser, GQL_TOKEN_END)) {
        GqlToken token = gql_peek(&parser);
        if (begins_operation(token)) read_operation(&parser, query);
        else if (token.kind == GQL_TOKEN_NAME && str_is(token.value, STR("fragment"))) read_fragment(&parser, query);
        else gql_unexpected(&parser, token);
    }
    if (!parser.status) *out_query = query;
    return parser.status;
}
