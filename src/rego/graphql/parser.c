#include "rego/graphql/parser.h"

#include "base/limits.h"
#include "rego/graphql/message.h"

void gql_parser_init(GqlParser *parser, Arena *arena, Str text, Error *err)
{
    *parser = (GqlParser){ .arena = arena, .err = err, .lexer = { .arena = arena, .text = text, .line = 1 } };
}

static void fail(GqlParser *parser, GqlPlace place, const char *text)
{
    if (parser->status) return;
    if (place.column >= 0)
        parser->status = error_set(parser->err, ERR_INVALID, "%s in GraphQL string at location %d:%d", text, place.line,
                                   place.column);
    else
        parser->status = error_set(parser->err, ERR_INVALID, "GraphQL parse error: input:%d:%d: %s", place.line,
                                   place.column, text);
}

/* `Name "x"`, or the kind alone where the token has no text. */
static void token_print(Buf *buf, GqlToken token)
{
    buf_text(buf, gql_token_kind_name(token.kind));
    if (!token.value.len || token.kind == GQL_TOKEN_INVALID) return;
    buf_char(buf, ' ');
    gql_quote(buf, token.value);
}

void gql_unexpected(GqlParser *parser, GqlToken token)
{
    char text[ERROR_TEXT_SIZE];
    Buf buf = buf_on(text, sizeof text - 1);
    buf_text(&buf, "Unexpected ");
    token_print(&buf, token);
    text[buf.len] = '\0';
    fail(parser, token.place, text);
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

GqlToken gql_peek(GqlParser *parser)
{
    if (parser->status) return parser->last;
    if (parser->has_ahead) return parser->ahead;
    GqlComment *comment = NULL;
    for (;;) {
        parser->ahead = gql_lexer_next(&parser->lexer);
        if (parser->ahead.kind != GQL_TOKEN_COMMENT) break;
        if (!comment) comment = ARENA_NEW(parser->arena, GqlComment);
        GqlCommentLine *line = ARENA_NEW(parser->arena, GqlCommentLine);
        line->text = parser->ahead.value;
        gql_list_add(parser->arena, &comment->lines, line);
    }
    parser->comment = comment;
    parser->has_ahead = true;
    return parser->ahead;
}

GqlToken gql_next(GqlParser *parser)
{
    if (parser->status) return parser->last;
    parser->last = gql_peek(parser);
    parser->has_ahead = false;
    parser->comment = NULL;
    if (parser->last.kind == GQL_TOKEN_INVALID) {
        char text[ERROR_TEXT_SIZE];
        Buf buf = buf_on(text, sizeof text - 1);
        buf_str(&buf, parser->last.value);
        text[buf.len] = '\0';
        fail(parser, parser->last.place, text);
    }
    return parser->last;
}

bool gql_peek_is(GqlParser *parser, GqlTokenKind kind)
{
    return gql_peek(parser).kind == kind;
}

bool gql_peek_word(GqlParser *parser, const char *word)
{
    GqlToken token = gql_peek(parser);
    return token.kind != GQL_TOKEN_INVALID && str_is_text(token.value, word);
}

bool gql_skip(GqlParser *parser, GqlTokenKind kind)
{
    if (parser->status || !gql_peek_is(parser, kind)) return false;
    gql_next(parser);
    return true;
}

GqlToken gql_expect(GqlParser *parser, GqlTokenKind kind)
{
    GqlToken token = gql_peek(parser);
    if (token.kind == kind) return gql_next(parser);
    char text[64];
    Buf buf = buf_on(text, sizeof text - 1);
    buf_format(&buf, "Expected %s, found %s", gql_token_kind_name(kind), gql_token_kind_name(token.kind));
    text[buf.len] = '\0';
    fail(parser, token.place, text);
    return token;
}

void gql_expect_keyword(GqlParser *parser, const char *keyword)
{
    GqlToken token = gql_peek(parser);
    if (token.kind == GQL_TOKEN_NAME && str_is_text(token.value, keyword)) {
        gql_next(parser);
        return;
    }
    char text[ERROR_TEXT_SIZE];
    Buf buf = buf_on(text, sizeof text - 1);
    buf_format(&buf, "Expected \"%s\", found ", keyword);
    token_print(&buf, token);
    text[buf.len] = '\0';
    fail(parser, token.place, text);
}

GqlPlace gql_place(GqlParser *parser) { return gql_peek(parser).place; }

GqlComment *gql_comment(GqlParser *parser)
{
    gql_peek(parser);
    return parser->comment;
}

GqlComment *gql_some(GqlParser *parser, GqlTokenKind open, GqlTokenKind close, GqlItem item, void *owner)
{
    if (!gql_skip(parser, open)) return NULL;
    bool found = false;
    while (!gql_peek_is(parser, close) && !parser->status) {
        found = true;
        item(parser, owner);
    }
    if (!found) {
        char text[64];
        Buf buf = buf_on(text, sizeof text - 1);
        buf_format(&buf, "expected at least one definition, found %s", gql_token_kind_name(gql_peek(parser).kind));
        text[buf.len] = '\0';
        fail(parser, gql_place(parser), text);
        return NULL;
    }
    GqlComment *comment = parser->comment;
    gql_next(parser);
    return comment;
}

/* As gql_some(), but may be empty. */
static void read_many(GqlParser *parser, GqlTokenKind open, GqlTokenKind close, GqlItem item, void *owner)
{
    if (!gql_skip(parser, open)) return;
    while (!gql_peek_is(parser, close) && !parser->status) item(parser, owner);
    gql_next(parser);
}

bool gql_enter(GqlParser *parser)
{
    if (parser->depth == GRAPHQL_DEPTH_MAX && !parser->status)
        parser->status = error_set(parser->err, ERR_LIMIT, "a GraphQL text nests deeper than GRAPHQL_DEPTH_MAX (%u)",
                                   GRAPHQL_DEPTH_MAX);
    parser->depth++;
    return !parser->status;
}

void gql_leave(GqlParser *parser) { parser->depth--; }

/* --- parts -------------------------------------------------------------------------------------------------------- */

Str gql_read_name(GqlParser *parser)
{
    return gql_expect(parser, GQL_TOKEN_NAME).value;
}

GqlType *gql_read_type(GqlParser *parser)
{
    GqlType *type = ARENA_NEW(parser->arena, GqlType);
    if (!gql_enter(parser)) return type;
    if (gql_skip(parser, GQL_TOKEN_BRACKET_OPEN)) {
        type->place = gql_place(parser);
        type->element = gql_read_type(parser);
        gql_expect(parser, GQL_TOKEN_BRACKET_CLOSE);
    } else {
        type->place = gql_place(parser);
        type->name = gql_read_name(parser);
    }
    type->non_null = gql_skip(parser, GQL_TOKEN_BANG);
    gql_leave(parser);
    return type;
}

typedef struct ValueOwner {
    GqlValue *value;
    bool is_constant;
} ValueOwner;

static void read_item(GqlParser *parser, void *owner)
{
    ValueOwner *list = owner;
    GqlChild *child = ARENA_NEW(parser->arena, GqlChild);
    child->value = gql_read_value(parser, list->is_constant);
    gql_list_add(parser->arena, &list->value->children, child);
}

static void read_member(GqlParser *parser, void *owner)
{
    ValueOwner *object = owner;
    GqlChild *child = ARENA_NEW(parser->arena, GqlChild);
    child->place = gql_place(parser);
    child->comment = parser->comment;
    child->name = gql_read_name(parser);
    gql_expect(parser, GQL_TOKEN_COLON);
    child->value = gql_read_value(parser, object->is_constant);
    gql_list_add(parser->arena, &object->value->children, child);
}

static void read_container(GqlParser *parser, GqlValue *value, bool is_constant)
{
    ValueOwner owner = { value, is_constant };
    value->comment = gql_comment(parser);
    if (!gql_enter(parser)) return;
    if (value->kind == GQL_LIST) read_many(parser, GQL_TOKEN_BRACKET_OPEN, GQL_TOKEN_BRACKET_CLOSE, read_item, &owner);
    else read_many(parser, GQL_TOKEN_BRACE_OPEN, GQL_TOKEN_BRACE_CLOSE, read_member, &owner);
    gql_leave(parser);
}

static GqlValueKind kind_of_name(Str name)
{
    if (str_is(name, STR("true")) || str_is(name, STR("false"))) return GQL_BOOLEAN;
    return str_is(name, STR("null")) ? GQL_NULL : GQL_ENUM;
}

GqlValue *gql_read_value(GqlParser *parser, bool is_constant)
{
    GqlToken token = gql_peek(parser);
    GqlValue *value = ARENA_NEW(parser->arena, GqlValue);
    value->place = token.place;
    static const struct { GqlTokenKind token; GqlValueKind kind; } plain[] = {
        { GQL_TOKEN_INT, GQL_INT }, { GQL_TOKEN_FLOAT, GQL_FLOAT }, { GQL_TOKEN_STRING, GQL_STRING },
        { GQL_TOKEN_BLOCK, GQL_BLOCK }, { GQL_TOKEN_NAME, GQL_ENUM },
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (token.kind != plain[i].token || parser->status) continue;
        value->kind = token.kind == GQL_TOKEN_NAME ? kind_of_name(token.value) : plain[i].kind;
        value->raw = token.value;
        gql_next(parser);
        return value;
    }
    if (token.kind == GQL_TOKEN_BRACKET_OPEN || token.kind == GQL_TOKEN_BRACE_OPEN) {
        value->kind = token.kind == GQL_TOKEN_BRACKET_OPEN ? GQL_LIST : GQL_OBJECT;
        read_container(parser, value, is_constant);
    } else if (token.kind == GQL_TOKEN_DOLLAR && !is_constant) {
        gql_next(parser);
        value->kind = GQL_VARIABLE;
        value->raw = gql_read_name(parser);
    } else {
        gql_unexpected(parser, token);
    }
    return value;
}

typedef struct ArgumentOwner {
    GqlList *arguments;
    bool is_constant;
} ArgumentOwner;

static void read_argument(GqlParser *parser, void *owner)
{
    ArgumentOwner *list = owner;
    GqlArgument *argument = ARENA_NEW(parser->arena, GqlArgument);
    argument->place = gql_place(parser);
    argument->comment = parser->comment;
    argument->name = gql_read_name(parser);
    gql_expect(parser, GQL_TOKEN_COLON);
    argument->value = gql_read_value(parser, list->is_constant);
    gql_list_add(parser->arena, list->arguments, argument);
}

void gql_read_arguments(GqlParser *parser, bool is_constant, GqlList *out_list)
{
    ArgumentOwner owner = { out_list, is_constant };
    gql_some(parser, GQL_TOKEN_PAREN_OPEN, GQL_TOKEN_PAREN_CLOSE, read_argument, &owner);
}

void gql_read_directives(GqlParser *parser, bool is_constant, GqlList *out_list)
{
    while (!parser->status && gql_skip(parser, GQL_TOKEN_AT)) {
        GqlDirective *directive = ARENA_NEW(parser->arena, GqlDirective);
        directive->place = gql_place(parser);
        directive->name = gql_read_name(parser);
        gql_read_arguments(parser, is_constant, &directive->arguments);
        gql_list_add(parser->arena, out_list, directive);
    }
}
