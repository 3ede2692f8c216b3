#include "rego/builtins/template.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "rego/builtins/runes.h"
#include "value/number.h"

typedef struct Scope {
    Str name;
    struct Scope *outer;
} Scope;

typedef struct Parser {
    BuiltinContext *context;
    Error *err;
    Str text;
    size_t at;
    bool in_action;
    bool trims_next;                /* the last action ended with a trim mark */
    Scope *variables;
    uint32_t range_depth;
    Template *template;
} Parser;

/* How a list of nodes ended. */
typedef enum ListEnd { END_OF_TEXT, END_ACTION, END_ELSE } ListEnd;

static BuiltinResult parse_list(Parser *parser, uint32_t depth, Node **out, ListEnd *out_end);
static BuiltinResult parse_pipeline(Parser *parser, const char *where, char close, uint32_t depth, Pipeline **out);

/* --- characters -------------------------------------------------------------------------------------------------- */

static uint32_t line_of(const Parser *parser)
{
    uint32_t line = 1;
    for (size_t i = 0; i < parser->at && i < parser->text.len; i++) line += parser->text.ptr[i] == '\n';
    return line;
}

static BuiltinResult fail(Parser *parser, const char *format, ...) PRINTF_LIKE(2, 3);

static BuiltinResult fail(Parser *parser, const char *format, ...)
{
    char text[ERROR_TEXT_SIZE / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return builtin_error(parser->err, "template: template:%u: %s", line_of(parser), text);
}

static Str rest(const Parser *parser)
{
    return str_slice(parser->text, parser->at, parser->text.len);
}

static char peek(const Parser *parser)
{
    return parser->at < parser->text.len ? parser->text.ptr[parser->at] : '\0';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_name_character(char c)
{
    return ascii_is_alnum(c) || c == '_' || (unsigned char)c >= 0x80;
}

static void skip_space(Parser *parser)
{
    while (is_space(peek(parser))) parser->at++;
}

static bool take(Parser *parser, const char *text)
{
    Str wanted = str_of(text);
    if (!str_starts(rest(parser), wanted)) return false;
    parser->at += wanted.len;
    return true;
}

static Str take_name(Parser *parser)
{
    size_t from = parser->at;
    while (is_name_character(peek(parser))) parser->at++;
    return str_slice(parser->text, from, parser->at);
}

/* A whole word, not the beginning of a longer one. */
static bool take_word(Parser *parser, const char *word)
{
    size_t from = parser->at;
    if (str_is_text(take_name(parser), word)) return true;
    parser->at = from;
    return false;
}

/* "}}", or "-}}" behind a space, which also takes the spaces that follow it. */
static bool at_close(const Parser *parser)
{
    Str left = rest(parser);
    if (str_starts(left, STR("}}"))) return true;
    return str_starts(left, STR("-}}")) && parser->at && is_space(parser->text.ptr[parser->at - 1]);
}

static BuiltinResult close_action(Parser *parser, const char *where)
{
    skip_space(parser);
    if (!at_close(parser)) {
        if (parser->at >= parser->text.len) return fail(parser, "unclosed action");
        return fail(parser, "unexpected \"%.*s\" in %s", 1, parser->text.ptr + parser->at, where);
    }
    parser->trims_next = take(parser, "-");
    take(parser, "}}");
    parser->in_action = false;
    return BUILTIN_OK;
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static Node *new_node(Parser *parser, NodeKind kind)
{
    Node *node = ARENA_NEW(parser->context->arena, Node);
    node->kind = kind;
    return node;
}

static void declare(Parser *parser, Str name)
{
    Scope *scope = ARENA_NEW(parser->context->arena, Scope);
    *scope = (Scope){ name, parser->variables };
    parser->variables = scope;
}

static bool is_declared(const Parser *parser, Str name)
{
    for (const Scope *scope = parser->variables; scope; scope = scope->outer)
        if (str_is(scope->name, name)) return true;
    return str_is(name, STR("$"));
}

/* --- operands ---------------------------------------------------------------------------------------------------- */

static BuiltinResult parse_fields(Parser *parser, FieldName **out)
{
    FieldName **end = out;
    while (peek(parser) == '.') {
        parser->at++;
        Str name = take_name(parser);
        if (name.len == 0 || ascii_is_digit(name.ptr[0])) {
            parser->at -= name.len;
            return fail(parser, "unexpected \".%.*s\" in operand", STR_ARG(name));
        }
        FieldName *field = ARENA_NEW(parser->context->arena, FieldName);
        field->name = name;
        *end = field;
        end = &field->next;
    }
    return BUILTIN_OK;
}

/* Escapes of Go's strings: \n \" \\ \x41 \u00e9 \U0001f600 \101. */
static bool take_escape(Parser *parser, Buf *buf, char quote)
{
    static const char letters[] = "abfnrtv\\", bytes[] = "\a\b\f\n\r\t\v\\";
    char c = peek(parser);
    parser->at++;
    for (size_t i = 0; i < sizeof letters - 1; i++) {
        if (letters[i] != c) continue;
        buf_char(buf, bytes[i]);
        return true;
    }
    if (c == quote) {
        buf_char(buf, c);
        return true;
    }
    uint32_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0, number = 0;
    if (!digits) return false;
    for (uint32_t i = 0; i < digits; i++, parser->at++) {
        char digit = ascii_to_lower(peek(parser));
        bool is_letter = digit >= 'a' && digit <= 'f';
        if (!ascii_is_digit(digit) && !is_letter) return false;
        number = number << 4 | (uint32_t)(is_letter ? digit - 'a' + 10 : digit - '0');
    }
    if (c == 'x') buf_char(buf, (char)number);
    else rune_print(buf, number);
    return true;
}

static BuiltinResult parse_quoted(Parser *parser, char quote, Term *operand)
{
    Buf buf;
    buf_init(&buf, REGO_VALUE_SIZE_MAX);
    BuiltinResult result = BUILTIN_OK;
    for (parser->at++; !result && peek(parser) != quote; ) {
        char c = peek(parser);
        if (parser->at >= parser->text.len || (c == '\n' && quote != '`')) {
            result = fail(parser, quote == '`' ? "unterminated raw quoted string" : "unterminated quoted string");
        } else if (c == '\\' && quote != '`') {
            parser->at++;
            if (!take_escape(parser, &buf, quote)) result = fail(parser, "invalid syntax");
        } else {
            buf_char(&buf, c);
            parser->at++;
        }
    }
    parser->at++;
    operand->kind = TERM_TEXT;
    operand->text = arena_copy(parser->context->arena, buf_peek(&buf));
    buf_deinit(&buf);
    if (!result && quote == '\'') {
        size_t size;
        operand->kind = TERM_INTEGER;
        operand->integer = operand->text.len ? (int64_t)rune_first(operand->text, &size) : 0;
    }
    return result;
}

/* Integers of Go (decimal, 0x, 0b, 0o, underscores), or decimal fractions. */
static BuiltinResult parse_number(Parser *parser, Term *operand)
{
    size_t from = parser->at;
    bool is_negative = take(parser, "-");
    if (!is_negative) take(parser, "+");
    size_t digits_at = parser->at;
    while (is_name_character(peek(parser)) || peek(parser) == '.'
           || ((peek(parser) == '-' || peek(parser) == '+') && ascii_to_lower(parser->text.ptr[parser->at - 1]) == 'e'))
        parser->at++;
    Str digits = str_slice(parser->text, digits_at, parser->at);
    int base = 10;
    if (digits.len > 2 && digits.ptr[0] == '0' && ascii_is_alpha(digits.ptr[1])) {
        char letter = ascii_to_lower(digits.ptr[1]);
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : letter == 'o' ? 8 : 0;
        digits = str_slice(digits, 2, digits.len);
    }
    uint64_t magnitude = 0;
    bool is_integer = base != 0 && digits.len > 0;
    for (size_t i = 0; i < digits.len && is_integer; i++) {
        if (digits.ptr[i] == '_') continue;
        char c = ascii_to_lower(digits.ptr[i]);
        int value = ascii_is_digit(c) ? c - '0' : ascii_is_alpha(c) ? c - 'a' + 10 : 99;
        is_integer = value < base && magnitude <= (INT64_MAX - (uint64_t)value) / (uint64_t)base;
        if (is_integer) magnitude = magnitude * (uint64_t)base + (uint64_t)value;
    }
    operand->kind = is_integer ? TERM_INTEGER : TERM_REAL;
    operand->integer = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
    Str source = str_slice(parser->text, from, parser->at);
    operand->text = str_starts(source, STR("+")) ? str_slice(source, 1, source.len) : source;
    if (is_integer) return BUILTIN_OK;
    BuiltinResult result = builtin_result(number_check(operand->text, parser->err));
    return result == BUILTIN_ERROR ? fail(parser, "bad number syntax: \"%.*s\"", STR_ARG(source)) : result;
}

static const char *const function_names[] = { "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len",
                                              "lt", "ne", "not", "or", "print", "printf", "println", "slice", "urlquery", NULL };

static BuiltinResult parse_word(Parser *parser, Term *operand)
{
    Str name = take_name(parser);
    operand->text = name;
    if (str_is(name, STR("true")) || str_is(name, STR("false"))) {
        operand->kind = TERM_TRUTH;
        operand->integer = name.len == 4;
        return BUILTIN_OK;
    }
    operand->kind = TERM_NIL;
    if (str_is(name, STR("nil"))) return BUILTIN_OK;
    operand->kind = TERM_FUNCTION;
    for (size_t i = 0; function_names[i]; i++)
        if (str_is_text(name, function_names[i])) return BUILTIN_OK;
    return fail(parser, "function \"%.*s\" not defined", STR_ARG(name));
}

static BuiltinResult parse_operand(Parser *parser, uint32_t depth, Term **out)
{
    if (!builtin_spend(parser->context, 1, parser->err)) return BUILTIN_HALT;
    Term *operand = ARENA_NEW(parser->context->arena, Term);
    size_t from = parser->at;
    char c = peek(parser), next = from + 1 < parser->text.len ? parser->text.ptr[from + 1] : '\0';
    BuiltinResult result;
    if (c == '.' && !ascii_is_digit(next)) {
        operand->kind = TERM_DOT;
        if (is_name_character(next)) result = parse_fields(parser, &operand->fields);
        else {
            parser->at++;
            result = BUILTIN_OK;
        }
    } else if (c == '$') {
        parser->at++;
        take_name(parser);
        operand->kind = TERM_VARIABLE;
        operand->text = str_slice(parser->text, from, parser->at);
        if (!is_declared(parser, operand->text))
            return fail(parser, "undefined variable \"%.*s\"", STR_ARG(operand->text));
        result = parse_fields(parser, &operand->fields);
    } else if (c == '(') {
        parser->at++;
        operand->kind = TERM_PIPELINE;
        result = parse_pipeline(parser, "parenthesized pipeline", ')', depth + 1, &operand->pipeline);
        if (!result) result = parse_fields(parser, &operand->fields);
    } else if (c == '"' || c == '`' || c == '\'') {
        result = parse_quoted(parser, c, operand);
    } else if (ascii_is_digit(c) || ((c == '-' || c == '+' || c == '.') && (ascii_is_digit(next) || next == '.'))) {
        result = parse_number(parser, operand);
    } else if (is_name_character(c)) {
        result = parse_word(parser, operand);
    } else {
        return fail(parser, "unexpected \"%c\" in operand", c);
    }
    operand->source = str_slice(parser->text, from, parser->at);
    *out = operand;
    return result;
}

/* --- pipelines --------------------------------------------------------------------------------------------------- */

/* Operands up to a bar, a closing parenthesis or the end of the action. */
static BuiltinResult parse_command(Parser *parser, uint32_t depth, Command **out)
{
    Command *command = ARENA_NEW(parser->context->arena, Command);
    Term **end = &command->operands;
    size_t from = parser->at;
    for (;;) {
        skip_space(parser);
        if (parser->at >= parser->text.len) return fail(parser, "unclosed action");
        if (peek(parser) == '|' || peek(parser) == ')' || at_close(parser)) break;
        BuiltinResult result = parse_operand(parser, depth, end);
        if (result) return result;
        command->source = str_slice(parser->text, from, parser->at);
        end = &(*end)->next;
    }
    *out = command;
    return BUILTIN_OK;
}

/* "$x :=", "$x =" or "$i, $e :=" in front. */
static BuiltinResult parse_variables(Parser *parser, Pipeline *pipeline, bool is_range)
{
    size_t from = parser->at;
    while (peek(parser) == '$' && pipeline->variable_count < 2) {
        size_t name_at = parser->at++;
        take_name(parser);
        pipeline->variables[pipeline->variable_count++] = str_slice(parser->text, name_at, parser->at);
        skip_space(parser);
        if (take(parser, ":=")) return BUILTIN_OK;
        if (peek(parser) == '=' ) {
            parser->at++;
            pipeline->is_assignment = true;
            for (uint32_t i = 0; i < pipeline->variable_count; i++)
                if (!is_declared(parser, pipeline->variables[i]))
                    return fail(parser, "undefined variable \"%.*s\"", STR_ARG(pipeline->variables[i]));
            return BUILTIN_OK;
        }
        if (!is_range || !take(parser, ",")) break;
        skip_space(parser);
    }
    parser->at = from;                          /* only operands, after all */
    pipeline->variable_count = 0;
    return BUILTIN_OK;
}

static BuiltinResult parse_pipeline(Parser *parser, const char *where, char close, uint32_t depth, Pipeline **out)
{
    if (depth > TEMPLATE_DEPTH_MAX)
        return builtin_limit(parser->err, "template: actions nest deeper than TEMPLATE_DEPTH_MAX (%u)", TEMPLATE_DEPTH_MAX);
    Pipeline *pipeline = ARENA_NEW(parser->context->arena, Pipeline);
    skip_space(parser);
    size_t from = parser->at;
    BuiltinResult result = parse_variables(parser, pipeline, str_is_text(STR("range"), where));
    if (result) return result;
    Command **end = &pipeline->commands;
    for (;;) {
        skip_space(parser);
        Command *command = NULL;
        result = parse_command(parser, depth, &command);
        if (result) return result;
        bool is_bar = peek(parser) == '|', is_first = end == &pipeline->commands;
        if (!command->operands) {
            if (is_bar) return fail(parser, "unexpected \"|\" in %s", where);
            if (is_first) return fail(parser, "missing value for %s", where);
        } else {
            *end = command;
            end = &command->next;
        }
        pipeline->source = str_slice(parser->text, from, parser->at);
        if (!is_bar) break;
        parser->at++;
    }
    if (!pipeline->is_assignment)
        for (uint32_t i = 0; i < pipeline->variable_count; i++) declare(parser, pipeline->variables[i]);
    *out = pipeline;
    if (close == ')') return take(parser, ")") ? BUILTIN_OK : fail(parser, "unclosed left paren");
    return peek(parser) == ')' ? fail(parser, "unexpected right paren") : close_action(parser, where);
}

/* --- actions ----------------------------------------------------------------------------------------------------- */

static BuiltinResult parse_else(Parser *parser, NodeKind kind, uint32_t depth, Node **out);

/* if, with and range: a pipeline, a body, perhaps an else. */
static BuiltinResult parse_control(Parser *parser, NodeKind kind, const char *name, uint32_t depth, Node **out)
{
    Scope *outer = parser->variables;
    Node *node = new_node(parser, kind);
    ListEnd end;
    BuiltinResult result = parse_pipeline(parser, name, '}', depth, &node->pipeline);
    parser->range_depth += kind == NODE_RANGE;
    if (!result) result = parse_list(parser, depth + 1, &node->body, &end);
    parser->range_depth -= kind == NODE_RANGE;
    if (!result && end == END_OF_TEXT) result = fail(parser, "unexpected EOF");
    if (!result && end == END_ELSE) result = parse_else(parser, kind, depth, &node->otherwise);
    parser->variables = outer;
    *out = node;
    return result;
}

/* Behind "else": "else if" and "else with" are a control of their own that takes the same end. */
static BuiltinResult parse_else(Parser *parser, NodeKind kind, uint32_t depth, Node **out)
{
    skip_space(parser);
    if (kind != NODE_RANGE && take_word(parser, kind == NODE_IF ? "if" : "with"))
        return parse_control(parser, kind, kind == NODE_IF ? "if" : "with", depth + 1, out);
    ListEnd end;
    BuiltinResult result = close_action(parser, "else");
    if (!result) result = parse_list(parser, depth + 1, out, &end);
    if (!result && end == END_OF_TEXT) return fail(parser, "unexpected EOF");
    if (!result && end == END_ELSE) return fail(parser, "expected end; found {{else}}");
    return result;
}

static BuiltinResult parse_template_name(Parser *parser, const char *where, Str *out)
{
    Term operand = { 0 };
    skip_space(parser);
    char c = peek(parser);
    if (c != '"' && c != '`') return fail(parser, "unexpected \"%c\" in %s", c ? c : ' ', where);
    BuiltinResult result = parse_quoted(parser, c, &operand);
    *out = operand.text;
    return result;
}

/* The body of define and block, a template of its own with its own variables. */
static BuiltinResult parse_named(Parser *parser, Str name, uint32_t depth)
{
    Scope *outer = parser->variables;
    uint32_t range_depth = parser->range_depth;
    parser->variables = NULL;
    parser->range_depth = 0;
    NamedTemplate *named = ARENA_NEW(parser->context->arena, NamedTemplate);
    ListEnd end;
    BuiltinResult result = parse_list(parser, depth + 1, &named->body, &end);
    if (!result && end == END_OF_TEXT) result = fail(parser, "unexpected EOF");
    if (!result && end == END_ELSE) result = fail(parser, "unexpected {{else}} in define clause");
    parser->variables = outer;
    parser->range_depth = range_depth;
    named->name = name;
    named->next = parser->template->named;
    parser->template->named = named;
    return result;
}

static BuiltinResult parse_call(Parser *parser, bool is_block, uint32_t depth, Node **out)
{
    const char *where = is_block ? "block clause" : "template clause";
    Node *node = new_node(parser, NODE_TEMPLATE);
    skip_space(parser);
    size_t from = parser->at;
    BuiltinResult result = parse_template_name(parser, where, &node->text);
    if (result) return result;
    node->source = str_slice(parser->text, from, parser->at);
    skip_space(parser);
    if (at_close(parser) && !is_block) result = close_action(parser, where);
    else result = parse_pipeline(parser, where, '}', depth, &node->pipeline);
    if (!result && is_block) result = parse_named(parser, node->text, depth);
    *out = node;
    return result;
}

static BuiltinResult parse_define(Parser *parser, uint32_t depth)
{
    Str name;
    BuiltinResult result = parse_template_name(parser, "define clause", &name);
    if (!result) result = close_action(parser, "define clause");
    return result ? result : parse_named(parser, name, depth);
}

static BuiltinResult parse_jump(Parser *parser, NodeKind kind, const char *name, Node **out)
{
    if (!parser->range_depth) return fail(parser, "{{%s}} outside {{range}}", name);
    *out = new_node(parser, kind);
    return close_action(parser, name);
}

/* The action whose braces were just opened. Sets *out_end where it ends the list. */
static BuiltinResult parse_action(Parser *parser, uint32_t depth, Node **out, bool *out_ends, ListEnd *out_end)
{
    skip_space(parser);
    *out = NULL;
    *out_ends = false;
    if (take_word(parser, "end")) {
        *out_ends = true;
        *out_end = END_ACTION;
        return close_action(parser, "end");
    }
    if (take_word(parser, "else")) {
        *out_ends = true;
        *out_end = END_ELSE;
        return BUILTIN_OK;
    }
    if (take_word(parser, "if")) return parse_control(parser, NODE_IF, "if", depth, out);
    if (take_word(parser, "with")) return parse_control(parser, NODE_WITH, "with", depth, out);
    if (take_word(parser, "range")) return parse_control(parser, NODE_RANGE, "range", depth, out);
    if (take_word(parser, "template")) return parse_call(parser, false, depth, out);
    if (take_word(parser, "block")) return parse_call(parser, true, depth, out);
    if (take_word(parser, "define")) return parse_define(parser, depth);
    if (take_word(parser, "break")) return parse_jump(parser, NODE_BREAK, "break", out);
    if (take_word(parser, "continue")) return parse_jump(parser, NODE_CONTINUE, "continue", out);
    *out = new_node(parser, NODE_ACTION);
    return parse_pipeline(parser, "command", '}', depth, &(*out)->pipeline);
}

/* The text up to the next action, without the spaces that trim marks take away; then the braces, and a comment. */
static BuiltinResult parse_text(Parser *parser, Node **out)
{
    if (parser->trims_next) skip_space(parser);
    parser->trims_next = false;
    size_t from = parser->at, open = text_find(parser->text, STR("{{"), from);
    if (open > parser->text.len) open = parser->text.len;
    Str text = str_slice(parser->text, from, open);
    parser->at = open;
    parser->in_action = take(parser, "{{");
    bool trims = parser->in_action && peek(parser) == '-' && parser->at + 1 < parser->text.len
              && is_space(parser->text.ptr[parser->at + 1]);
    if (trims) {
        parser->at += 2;
        while (text.len && is_space(text.ptr[text.len - 1])) text.len--;
    }
    if (text.len) {
        *out = new_node(parser, NODE_TEXT);
        (*out)->text = text;
    }
    if (!parser->in_action) return BUILTIN_OK;
    size_t before = parser->at;
    if (trims) skip_space(parser);
    if (!take(parser, "/*")) {
        parser->at = before;
        return BUILTIN_OK;
    }
    size_t close = text_find(parser->text, STR("*/"), parser->at);
    if (close > parser->text.len) return fail(parser, "unclosed comment");
    parser->at = close + 2;
    Str left = rest(parser);
    if (!str_starts(left, STR("}}")) && !str_starts(left, STR(" -}}")))
        return fail(parser, "comment ends before closing delimiter");
    skip_space(parser);
    return close_action(parser, "comment");
}

static BuiltinResult parse_list(Parser *parser, uint32_t depth, Node **out, ListEnd *out_end)
{
    if (depth > TEMPLATE_DEPTH_MAX)
        return builtin_limit(parser->err, "template: actions nest deeper than TEMPLATE_DEPTH_MAX (%u)", TEMPLATE_DEPTH_MAX);
    Node **end = out;
    *out = NULL;
    while (parser->at < parser->text.len) {
        if (!builtin_spend(parser->context, 1, parser->err)) return BUILTIN_HALT;
        Node *text = NULL, *action = NULL;
        BuiltinResult result = parse_text(parser, &text);
        if (result) return result;
        if (text) {
            *end = text;
            end = &text->next;
        }
        if (!parser->in_action) continue;
        bool ends;
        result = parse_action(parser, depth, &action, &ends, out_end);
        if (result || ends) return result;
        if (!action) continue;
        *end = action;
        while (*end) end = &(*end)->next;
    }
    *out_end = END_OF_TEXT;
    return BUILTIN_OK;
}

BuiltinResult template_read(BuiltinContext *context, Str text, Template *out_template, Error *err)
{
    *out_template = (Template){ .text = text };
    Parser parser = { .context = context, .err = err, .text = text, .template = out_template };
    ListEnd end = END_OF_TEXT;
    BuiltinResult result = parse_list(&parser, 0, &out_template->body, &end);
    if (result || end == END_OF_TEXT) return result;
    return fail(&parser, end == END_ELSE ? "unexpected {{else}}" : "unexpected {{end}}");
}
