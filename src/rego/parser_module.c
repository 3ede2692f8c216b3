#include "base/limits.h"
#include "rego/parser_state.h"

typedef enum StatementKind { STATEMENT_PACKAGE, STATEMENT_IMPORT, STATEMENT_RULE, STATEMENT_BODY } StatementKind;

typedef struct Statement {
    StatementKind kind;
    RegoLoc loc;
    union {
        RegoTerm *package;
        RegoImport import;
        RegoRule *rule;
        RegoBody body;
    };
} Statement;

typedef struct StatementList {
    Statement *items;
    size_t count, capacity;
} StatementList;

static void add_statement(RegoParser *p, StatementList *list, Statement statement)
{
    list->items = arena_grow(&p->scratch, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = statement;
}

static bool has_errors(const RegoParser *p)
{
    return p->errors->count > p->error_base || p->errors->dropped;
}

/* --- package ----------------------------------------------------------------------------------------------------- */

/* A path of names: a variable, or a reference whose items are strings. NULL after an error. */
static RegoTerm *parse_path(RegoParser *p)
{
    if (!parser_at(p, REGO_TOKEN_IDENT) && !rego_token_kind_is_keyword(p->token.kind)) {
        parser_unexpected(p, "%s", "");
        return NULL;
    }
    p->token.kind = REGO_TOKEN_IDENT;               /* keywords are allowed in paths */
    RegoTerm *path = parse_term(p);
    if (!path) return NULL;
    if (path->kind == REGO_TERM_VAR) return parser_ref_of(p, path);
    if (path->kind != REGO_TERM_REF) {
        parser_error(p, path->loc, "unexpected %s token: expected path", rego_term_kind_name(path));
        return NULL;
    }
    if (path->items[0]->kind != REGO_TERM_VAR) {
        parser_error(p, path->items[0]->loc, "unexpected %s token: expecting var", rego_term_kind_name(path->items[0]));
        return NULL;
    }
    for (uint32_t i = 1; i < path->count; i++) {
        if (rego_term_is_string(path->items[i])) continue;
        parser_error(p, path->items[i]->loc, "unexpected %s token: expecting string",
                     rego_term_kind_name(path->items[i]));
        return NULL;
    }
    return path;
}

/* A trailing minus is part of no path, and would otherwise become the sign of what follows. */
static bool refuse_minus(RegoParser *p)
{
    if (!parser_at(p, REGO_TOKEN_MINUS)) return true;
    parser_unexpected(p, "%s", "");
    return false;
}

/* At `package`: the path below data. */
static bool parse_package(RegoParser *p, StatementList *statements)
{
    RegoLoc loc = p->token.loc;
    parser_advance(p);
    const RegoTerm *path = parse_path(p);
    if (!path) return false;
    RegoTermList list = { 0 };
    const RegoTerm *name = path->items[0];
    parser_list_term(p, &list, parser_var(p, name->loc, STR("data")));
    parser_list_term(p, &list, parser_string(p, name->loc, name->name));
    for (uint32_t i = 1; i < path->count; i++) parser_list_term(p, &list, path->items[i]);
    RegoTerm *package = parser_items(p, REGO_TERM_REF, path->loc, &list);
    add_statement(p, statements, (Statement){ STATEMENT_PACKAGE, parser_span(p, loc), .package = package });
    return refuse_minus(p);
}

/* --- import ------------------------------------------------------------------------------------------------------ */

static bool is_keyword_of_version(const RegoParser *p, Str name)
{
    uint32_t keyword = rego_keyword_find(name);
    uint32_t keywords = REGO_KEYWORDS_ALWAYS | (p->options.v0 ? 0 : REGO_KEYWORDS_V1);
    return keyword < REGO_TOKEN_KEYWORD_COUNT && keywords >> keyword & 1;
}

/* Keywords are on from here. The token behind the import was read before: it may have become one. */
static void switch_on(RegoParser *p, uint32_t keywords)
{
    if (keywords & REGO_KEYWORD(EVERY)) keywords |= REGO_KEYWORD(IN);
    if (keywords & REGO_KEYWORD(NOT)) p->has_not_bodies = true;
    p->lexer.keywords |= keywords;
    uint32_t keyword = parser_at(p, REGO_TOKEN_IDENT) ? rego_keyword_find(p->token.text) : REGO_TOKEN_KEYWORD_COUNT;
    if (keyword < REGO_TOKEN_KEYWORD_COUNT && p->lexer.keywords >> keyword & 1) p->token.kind = (uint8_t)keyword;
}

static bool import_future(RegoParser *p, const RegoImport *import, RegoLoc alias_loc)
{
    const RegoTerm *path = import->path;
    const uint32_t all = REGO_KEYWORDS_V1 | REGO_KEYWORDS_LOGICAL | REGO_KEYWORD(NOT);
    if (path->count == 1 || !str_is(value_text(path->items[1]->value), STR("keywords"))) {
        parser_error(p, path->loc, "invalid import, must be `future.keywords`");
        return false;
    }
    if (import->alias.len) {
        parser_error(p, alias_loc, "`future` imports cannot be aliased");
        return false;
    }
    if (path->count == 2) {
        switch_on(p, all);
        return true;
    }
    uint32_t keyword = rego_keyword_find(value_text(path->items[2]->value));
    if (path->count > 3 || keyword == REGO_TOKEN_KEYWORD_COUNT || !(all >> keyword & 1)) {
        parser_error(p, path->loc, "unexpected keyword, must be one of [and contains every if in not or]");
        return false;
    }
    switch_on(p, UINT32_C(1) << keyword);
    return true;
}

static bool import_rego(RegoParser *p, const RegoImport *import, RegoLoc alias_loc)
{
    const RegoTerm *path = import->path;
    Str version = path->count == 2 ? value_text(path->items[1]->value) : STR("");
    bool is_v1 = str_is(version, STR("v1")), is_v2 = str_is(version, STR("v2"));
    if (!is_v1 && !is_v2) {
        parser_error(p, path->loc, "invalid import `%.*s`, must be one of: `rego.v1`, `rego.v2`",
                     STR_ARG(parser_text(p, path->loc)));
        return false;
    }
    if (import->alias.len) {
        parser_error(p, alias_loc, "`rego` imports cannot be aliased");
        return false;
    }
    switch_on(p, REGO_KEYWORDS_V1 | (is_v2 ? REGO_KEYWORDS_LOGICAL | REGO_KEYWORD(NOT) : 0));
    return true;
}

/* At `as`. */
static bool parse_alias(RegoParser *p, Str *out_alias, RegoLoc *out_loc)
{
    parser_advance(p);
    if (!parser_at(p, REGO_TOKEN_IDENT)) {
        parser_unexpected(p, "expected var");
        return false;
    }
    RegoToken name = p->token;
    const RegoTerm *alias = parse_term(p);
    if (!alias) return false;
    if (alias->kind == REGO_TERM_REF && alias->count == 1) {
        parser_error(p, alias->loc, "unexpected import alias, must not be a reserved name, got: %.*s",
                     STR_ARG(name.text));
        return false;
    }
    if (alias->kind != REGO_TERM_VAR) {
        parser_unexpected(p, "expected var");
        return false;
    }
    *out_alias = name.text;
    *out_loc = alias->loc;
    return true;
}

/* Without an alias the last name of the path becomes a variable. */
static bool check_last_name(RegoParser *p, const RegoTerm *path)
{
    const RegoTerm *last = path->items[path->count - 1];
    Str name = last->kind == REGO_TERM_VAR ? last->name : value_text(last->value);
    if (!is_keyword_of_version(p, name)) return true;
    parser_hint(p, "import a different path or use an alias");
    parser_error(p, last->loc, "unexpected import path, must not end with a keyword, got: %.*s", STR_ARG(name));
    return false;
}

/* At `import`. */
static bool parse_import(RegoParser *p, StatementList *statements)
{
    RegoImport import = { .loc = p->token.loc };
    parser_advance(p);
    import.path = parse_path(p);
    if (!import.path) return false;
    Str root = import.path->items[0]->name;
    bool is_future = str_is(root, STR("future")), is_rego = str_is(root, STR("rego"));
    if (!is_future && !is_rego && !str_is(root, STR("data")) && !str_is(root, STR("input"))) {
        parser_error(p, import.path->loc,
                     "unexpected import path, must begin with one of: {data, future, input, rego}, got: %.*s",
                     STR_ARG(root));
        return false;
    }
    bool has_alias = parser_at(p, REGO_TOKEN_AS);
    RegoLoc alias_loc = import.path->loc;
    if (has_alias && !parse_alias(p, &import.alias, &alias_loc)) return false;
    if (!has_alias && !is_future && !check_last_name(p, import.path)) return false;
    if (is_future && !import_future(p, &import, alias_loc)) return false;
    if (is_rego && !import_rego(p, &import, alias_loc)) return false;
    import.loc = parser_span(p, import.loc);
    add_statement(p, statements, (Statement){ STATEMENT_IMPORT, import.loc, .import = import });
    return refuse_minus(p);
}

/* --- statements -------------------------------------------------------------------------------------------------- */

static bool parse_rule_statement(RegoParser *p, StatementList *statements)
{
    RegoMark mark = parser_mark(p);
    RegoRuleList rules = { 0 };
    if (parse_rules(p, &rules)) {
        for (size_t i = 0; i < rules.count; i++)
            add_statement(p, statements, (Statement){ STATEMENT_RULE, rules.items[i]->loc, .rule = rules.items[i] });
        return true;
    }
    if (p->errors->count > mark.error_count) return false;
    parser_return(p, &mark);

    RegoExprList list = { 0 };
    for (;;) {
        RegoExpr *expr = parse_literal(p);
        if (!expr) return false;
        parser_list_expr(p, &list, expr);
        if (!parser_at(p, REGO_TOKEN_SEMICOLON)) break;
        parser_advance(p);
    }
    RegoBody body = { list.items, (uint32_t)list.count };
    add_statement(p, statements, (Statement){ STATEMENT_BODY, list.items[0]->loc, .body = body });
    return true;
}

static bool parse_statement(RegoParser *p, StatementList *statements)
{
    if (parse_keyword_rule_name(p, /* is_default= */ false)) return false;
    bool is_name = parser_keyword_is_name(p);
    if (parser_at(p, REGO_TOKEN_PACKAGE) && !is_name) return parse_package(p, statements);
    if (parser_at(p, REGO_TOKEN_IMPORT) && !is_name) return parse_import(p, statements);
    return parse_rule_statement(p, statements);
}

static bool begins_statement(const RegoParser *p)
{
    bool is_word = parser_at(p, REGO_TOKEN_IDENT) || rego_token_kind_is_keyword(p->token.kind);
    return is_word && p->token.loc.col == 1;
}

/* After a mistake in the statement that began at `offset`: on to the next word that begins a line, where a statement
 * most likely does. */
static void skip_statement(RegoParser *p, uint32_t offset)
{
    while (!parser_at(p, REGO_TOKEN_END) && (p->token.loc.offset == offset || !begins_statement(p))) parser_advance(p);
}

/* --- modules ----------------------------------------------------------------------------------------------------- */

/* In v0 `p if { ... }` without the import is an expression `p` and a rule named `if`. */
static void hint_head_keyword(RegoParser *p, const Statement *statement, const Statement *next)
{
    if (!next || next->loc.row != statement->loc.row) return;
    const RegoTerm *name = NULL;
    if (next->kind == STATEMENT_RULE) name = next->rule->head.ref[0];
    else if (next->kind == STATEMENT_BODY && next->body.exprs[0]->kind == REGO_EXPR_TERM)
        name = next->body.exprs[0]->term;
    if (!name) return;
    if (rego_term_is_var(name, STR("if"))) parser_hint(p, "`import future.keywords.if` for `p if { ... }` rules");
    if (rego_term_is_var(name, STR("contains")))
        parser_hint(p, "`import future.keywords.contains` for `p contains x` rules");
}

static bool raises_to_v1(const RegoImport *import)
{
    return rego_term_is_var(import->path->items[0], STR("rego"));
}

static void count_statements(const StatementList *statements, RegoModule *module)
{
    for (size_t i = 0; i < statements->count; i++) {
        const Statement *statement = &statements->items[i];
        if (statement->kind == STATEMENT_IMPORT) module->import_count++;
        if (statement->kind == STATEMENT_RULE || statement->kind == STATEMENT_BODY) module->rule_count++;
    }
}

static void take_statement(RegoParser *p, RegoModule *module, const StatementList *statements, size_t index)
{
    const Statement *statement = &statements->items[index];
    RegoRule *rule = NULL;
    switch (statement->kind) {
    case STATEMENT_PACKAGE:
        if (index > 0) parser_error(p, statement->loc, "unexpected package");
        module->package = statement->package;
        module->package_loc = statement->loc;
        break;
    case STATEMENT_IMPORT:
        module->imports[module->import_count++] = statement->import;
        if (raises_to_v1(&statement->import)) module->is_v1 = true;
        break;
    case STATEMENT_RULE:
        rule = statement->rule;
        break;
    case STATEMENT_BODY:
        if (!module->is_v1)
            hint_head_keyword(p, statement, index + 1 < statements->count ? statement + 1 : NULL);
        rule = rule_from_body(p, &statement->body);
        p->hint[0] = '\0';
        break;
    }
    if (rule) module->rules[module->rule_count++] = rule;
}

static void assemble(RegoParser *p, RegoModule *module, const StatementList *statements)
{
    if (!statements->count) {
        parser_error(p, (RegoLoc){ 0 }, "empty module");
        return;
    }
    if (statements->items[0].kind != STATEMENT_PACKAGE) parser_error(p, statements->items[0].loc, "package expected");
    count_statements(statements, module);
    module->imports = parser_alloc(p, sizeof *module->imports * module->import_count);
    module->rules = parser_alloc(p, sizeof *module->rules * module->rule_count);
    module->import_count = module->rule_count = 0;
    module->is_v1 = !p->options.v0;
    for (size_t i = 0; i < statements->count; i++) take_statement(p, module, statements, i);
    if (!module->is_v1) return;
    for (uint32_t i = 0; i < module->rule_count; i++)
        for (const RegoRule *rule = module->rules[i]; rule; rule = rule->otherwise) rule_check_v1(p, rule);
}

void parse_module(RegoParser *p, RegoModule *module)
{
    StatementList statements = { 0 };
    while (!parser_at(p, REGO_TOKEN_END)) {
        parser_memo_clear(p);
        uint32_t offset = p->token.loc.offset;
        if (!parse_statement(p, &statements)) skip_statement(p, offset);
    }
    module->file = p->options.file;
    module->text = p->text;
    if (!has_errors(p)) assemble(p, module, &statements);
    module->comments = p->comments;
    module->comment_count = (uint32_t)p->comment_count;
    if (!has_errors(p) && p->options.read_yaml) annotations_read(p, module);
}
