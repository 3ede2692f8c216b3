#include "rego/format.h"

#include <stdlib.h>

#include "rego/format_term.h"
#include "rego/lexer.h"
#include "rego/print.h"

/* What a module permits, which decides how heads and bodies are spelled. */
typedef struct Formatter {
    FormatLines lines;
    const RegoModule *module;
    bool has_if, has_contains;
    bool has_paths;                 /* a rule's name is a path of several parts, so all of them are written as paths */
} Formatter;

/* --- the statements of a module, in the order of the text -------------------------------------------------------- */

typedef struct Statement {
    const RegoImport *import;       /* one of the two */
    const RegoRule *rule;
    RegoLoc loc;
    uint32_t end_row;
    uint32_t comment;               /* of an import: the one behind it, */
    bool has_comment;               /* if there is one */
} Statement;

static int by_offset(const void *a, const void *b)
{
    const Statement *x = a, *y = b;
    return x->loc.offset < y->loc.offset ? -1 : x->loc.offset > y->loc.offset;
}

/* `p contains x`, where it was written so or may be: a keyword is a name before a dot or bracket alone. */
static bool key_by_word(const Formatter *formatter, const RegoHead *head)
{
    if (head->flags & REGO_HEAD_CONTAINS) return true;
    bool is_keyword = head->ref_count == 1 && rego_keyword_find(head->ref[0]->name) != REGO_TOKEN_KEYWORD_COUNT;
    return formatter->has_contains && !is_keyword;
}

/* p[x] with a body is a set in v0, and with `if` before that body it is none: the word may not be added. */
static bool rule_has_if(const Formatter *formatter, const RegoRule *rule)
{
    return formatter->has_if && (!rule->head.key || key_by_word(formatter, &rule->head));
}

static bool rule_is_plain(const Formatter *formatter, const Statement *statement)
{
    const RegoRule *rule = statement->rule;
    return rule && rule_has_if(formatter, rule) && !(rule->flags & REGO_RULE_DEFAULT) && !rule->otherwise
        && rule->body.count <= 1;
}

/* Short rules on neighbouring lines stay neighbours; everything else has a blank line around it. */
static bool are_neighbours(const Formatter *formatter, const Statement *before, const Statement *after)
{
    return rule_is_plain(formatter, before) && rule_is_plain(formatter, after)
        && format_row_begin(&formatter->lines, after->loc) == format_row_begin(&formatter->lines, before->loc) + 1
        && before->end_row < format_row_begin(&formatter->lines, after->loc)
        && !format_has_comment(&formatter->lines, 0, after->loc.offset);
}

/* --- imports ----------------------------------------------------------------------------------------------------- */

static void print_import(Formatter *formatter, const RegoImport *import)
{
    buf_text(formatter->lines.out, "import ");
    format_term(&formatter->lines, import->path);
    if (!import->alias.len) return;
    buf_text(formatter->lines.out, " as ");
    buf_str(formatter->lines.out, import->alias);
}

static int by_path(const void *a, const void *b)
{
    const RegoImport *x = ((const Statement *)a)->import, *y = ((const Statement *)b)->import;
    for (uint32_t i = 0; i < x->path->count && i < y->path->count; i++) {
        const RegoTerm *p = x->path->items[i], *q = y->path->items[i];
        int order = str_compare(i ? value_text(p->value) : p->name, i ? value_text(q->value) : q->name);
        if (order) return order;
    }
    if (x->path->count != y->path->count) return x->path->count < y->path->count ? -1 : 1;
    int order = str_compare(x->alias, y->alias);
    return order ? order : by_offset(a, b);
}

/* Gives each import of a group the comment that stands behind it. Returns the first comment behind the group. */
static uint32_t comments_assign(const FormatLines *lines, Statement *statements, uint32_t group)
{
    uint32_t next = lines->comment;
    for (uint32_t i = 0; i < group; i++) {
        const RegoComment *comment = next < lines->module->comment_count ? &lines->module->comments[next] : NULL;
        bool is_before_next = comment && (i + 1 == group || comment->loc.offset < statements[i + 1].loc.offset);
        statements[i].has_comment = is_before_next && format_row_begin(lines, comment->loc) <= statements[i].end_row;
        statements[i].comment = next;
        next += statements[i].has_comment;
    }
    return next;
}

/* Imports on neighbouring lines are one group, which is sorted; comments behind them go with them. */
static uint32_t format_imports(Formatter *formatter, Statement *statements, uint32_t count)
{
    FormatLines *lines = &formatter->lines;
    uint32_t group = 1;
    while (group < count && statements[group].import
           && format_row_begin(lines, statements[group].loc) <= statements[group - 1].end_row + 1)
        group++;
    uint32_t behind = comments_assign(lines, statements, group);
    qsort(statements, group, sizeof *statements, by_path);
    for (uint32_t i = 0; i < group; i++) {
        print_import(formatter, statements[i].import);
        lines->comment = statements[i].comment;
        format_line_end(lines, statements[i].end_row, statements[i].has_comment ? UINT32_MAX : 0);
    }
    lines->comment = behind;
    return group;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

static bool is_true(const RegoBody *body)
{
    const RegoExpr *expr = body->exprs[0];
    return body->count == 1 && expr->kind == REGO_EXPR_TERM && !expr->flags && !expr->with_count
        && expr->term->kind == REGO_TERM_SCALAR && value_is_true(expr->term->value);
}

/* A body that says nothing: none was written, or `true`. */
static bool body_is_empty(const Formatter *formatter, const RegoRule *rule)
{
    if (rule->flags & (REGO_RULE_BODY_GENERATED | REGO_RULE_DEFAULT)) return true;
    if (!is_true(&rule->body) || rule->otherwise) return false;
    uint32_t end = format_brace_after(&formatter->lines, format_end(rule->body.exprs[0]->loc));
    return !format_has_comment(&formatter->lines, rule->loc.offset, end);
}

static void format_head_value(Formatter *formatter, const RegoRule *rule)
{
    Buf *out = formatter->lines.out;
    const RegoHead *head = &rule->head;
    if (!head->value) return;
    bool is_true_value = head->value->kind == REGO_TERM_SCALAR && value_is_true(head->value->value);
    bool is_empty = body_is_empty(formatter, rule);
    bool left_out = head->flags & REGO_HEAD_VALUE_GENERATED || (is_true_value && !(rule->flags & REGO_RULE_DEFAULT));
    bool is_bare = !(head->flags & REGO_HEAD_VALUE_GENERATED) && head->value->flags & REGO_TERM_GENERATED;
    if (is_bare || (left_out && !is_empty)) return;
    bool assign = head->flags & REGO_HEAD_ASSIGN || formatter->module->is_v1;
    buf_text(out, assign ? " := " : " = ");
    if (head->flags & REGO_HEAD_VALUE_GENERATED) buf_text(out, "true");
    else format_term(&formatter->lines, head->value);
}

/* p["a"] names a key of p, a.b.c a place in a tree: with two parts alone the other rules tell which is meant. */
static void format_head_ref(Formatter *formatter, const RegoHead *head)
{
    FormatLines *lines = &formatter->lines;
    if (formatter->has_paths || head->ref_count != 2 || !rego_term_is_string(head->ref[1])) {
        format_ref(lines, head->ref, head->ref_count);
        return;
    }
    format_term(lines, head->ref[0]);
    buf_char(lines->out, '[');
    rego_print_term(lines->out, head->ref[1], REGO_PRINT_SOURCE);
    buf_char(lines->out, ']');
}

static void format_head(Formatter *formatter, const RegoRule *rule)
{
    FormatLines *lines = &formatter->lines;
    const RegoHead *head = &rule->head;
    if (rule->flags & REGO_RULE_DEFAULT) buf_text(lines->out, "default ");
    format_head_ref(formatter, head);
    if (head->flags & REGO_HEAD_FUNCTION) {
        uint32_t begin = format_end(head->ref[head->ref_count - 1]->loc);
        uint32_t end = head->arg_count ? format_end(head->args[head->arg_count - 1]->loc) : begin;
        format_operands(lines, head->args, head->arg_count, begin, end);
    }
    if (head->key) {
        bool by_word = key_by_word(formatter, head);
        buf_text(lines->out, by_word ? " contains " : "[");
        format_term(lines, head->key);
        if (!by_word) buf_char(lines->out, ']');
    }
    format_head_value(formatter, rule);
}

static uint32_t head_end_row(const FormatLines *lines, const RegoRule *rule)
{
    const RegoHead *head = &rule->head;
    if (head->value && !(head->value->flags & REGO_TERM_GENERATED)) return format_row_end(lines, head->value->loc);
    if (head->key) return format_row_end(lines, head->key->loc);
    if (rule->loc.offset > head->ref[0]->loc.offset) return format_row_begin(lines, rule->loc);         /* else */
    if (head->arg_count) return format_row_end(lines, head->args[head->arg_count - 1]->loc);
    return format_row_end(lines, head->ref[head->ref_count - 1]->loc);
}

/* Writes the body and returns whether it stands in braces; *out_row is the row of the source where it ends. */
static bool format_rule_body(Formatter *formatter, const RegoRule *rule, uint32_t *out_row)
{
    FormatLines *lines = &formatter->lines;
    RegoLoc first = rule->body.count ? rule->body.exprs[0]->loc : rule->head.loc;
    uint32_t head_row = head_end_row(lines, rule);
    if (rule->flags & (REGO_RULE_BODY_GENERATED | REGO_RULE_DEFAULT)) {
        *out_row = head_row;
        return false;
    }
    uint32_t end = format_brace_after(lines, format_end(rule->body.exprs[rule->body.count - 1]->loc));
    *out_row = format_row(lines, end);
    if (body_is_empty(formatter, rule)) return false;
    bool has_if = rule_has_if(formatter, rule);
    bool is_short = has_if && rule->body.count == 1 && format_row_begin(lines, first) == head_row
                 && !format_has_comment(lines, rule->loc.offset, first.offset);
    if (is_short) {
        buf_text(lines->out, " if ");
        format_expr(lines, rule->body.exprs[0]);
        return false;
    }
    buf_text(lines->out, has_if ? " if {" : " {");
    format_body_lines(lines, &rule->body, head_row, end);
    buf_char(lines->out, '}');
    return true;
}

/* `} else` stays on one line where it was written so; elsewhere a branch begins a paragraph. */
static void format_rule(Formatter *formatter, const RegoRule *rule, uint32_t next)
{
    FormatLines *lines = &formatter->lines;
    uint32_t row;
    format_head(formatter, rule);
    bool braces = format_rule_body(formatter, rule, &row);
    for (const RegoRule *branch = rule->otherwise; branch; rule = branch, branch = branch->otherwise) {
        uint32_t branch_row = format_row_begin(lines, branch->loc);
        bool joins = braces && branch_row == row && row != format_row_begin(lines, rule->loc)
                  && !format_has_comment(lines, 0, branch->loc.offset);
        if (joins) {
            buf_char(lines->out, ' ');
        } else {
            format_line_end(lines, row, branch->loc.offset);
            format_line_blank(lines);
            format_comments(lines, branch->loc.offset, /* is_end= */ false);
        }
        buf_text(lines->out, "else");
        format_head_value(formatter, branch);
        braces = format_rule_body(formatter, branch, &row);
    }
    format_line_end(lines, row, next);
}

/* --- modules ----------------------------------------------------------------------------------------------------- */

static bool import_is(const RegoImport *import, Str first, Str second, Str third)
{
    const RegoTerm *path = import->path;
    uint32_t count = third.len ? 3 : 2;
    return path->count == count && rego_term_is_var(path->items[0], first)
        && str_is(value_text(path->items[1]->value), second)
        && (count == 2 || str_is(value_text(path->items[2]->value), third));
}

static bool module_has(const RegoModule *module, Str keyword)
{
    if (module->is_v1) return true;
    for (uint32_t i = 0; i < module->import_count; i++)
        if (import_is(&module->imports[i], STR("future"), STR("keywords"), STR(""))
            || import_is(&module->imports[i], STR("future"), STR("keywords"), keyword))
            return true;
    return false;
}

static bool module_has_paths(const RegoModule *module)
{
    for (uint32_t i = 0; i < module->rule_count; i++) {
        const RegoHead *head = &module->rules[i]->head;
        bool is_value = !head->key && !(head->flags & REGO_HEAD_FUNCTION);
        if (head->ref_count > 2 || (head->ref_count == 2 && !is_value)) return true;
    }
    return false;
}

static Statement *collect(const Formatter *formatter, Arena *scratch, uint32_t *out_count)
{
    const RegoModule *module = formatter->module;
    uint32_t count = 0;
    Statement *statements = ARENA_ARRAY(scratch, Statement, (size_t)module->import_count + module->rule_count + 1);
    for (uint32_t i = 0; i < module->import_count; i++)
        statements[count++] = (Statement){ .import = &module->imports[i], .loc = module->imports[i].loc };
    for (uint32_t i = 0; i < module->rule_count; i++)
        statements[count++] = (Statement){ .rule = module->rules[i], .loc = module->rules[i]->loc };
    for (uint32_t i = 0; i < count; i++) statements[i].end_row = format_row_end(&formatter->lines, statements[i].loc);
    if (count) qsort(statements, count, sizeof *statements, by_offset);
    *out_count = count;
    return statements;
}

static void format_package(Formatter *formatter, uint32_t next)
{
    FormatLines *lines = &formatter->lines;
    const RegoTerm *package = formatter->module->package;
    format_comments(lines, formatter->module->package_loc.offset, /* is_end= */ false);
    buf_text(lines->out, "package ");
    RegoTerm name = { .kind = REGO_TERM_VAR, .name = value_text(package->items[1]->value) };
    RegoTerm *first = &name;
    format_ref(lines, &first, 1);
    for (uint32_t i = 2; i < package->count; i++) {
        RegoTerm *tail[2] = { &(RegoTerm){ .kind = REGO_TERM_VAR }, package->items[i] };
        format_ref(lines, tail, 2);
    }
    format_line_end(lines, format_row_end(lines, formatter->module->package_loc), next);
}

void rego_format_module(Arena *scratch, const RegoModule *module, Buf *out)
{
    Formatter formatter = { .module = module, .has_if = module_has(module, STR("if")),
                            .has_contains = module_has(module, STR("contains")),
                            .has_paths = module_has_paths(module) };
    FormatLines *lines = &formatter.lines;
    format_lines_init(lines, scratch, module, out);
    uint32_t count, end = (uint32_t)module->text.len;
    Statement *statements = collect(&formatter, scratch, &count);
    format_package(&formatter, count ? statements[0].loc.offset : end);
    for (uint32_t i = 0; i < count;) {
        if (i == 0 || !are_neighbours(&formatter, &statements[i - 1], &statements[i])) format_line_blank(lines);
        format_comments(lines, statements[i].loc.offset, /* is_end= */ false);
        if (statements[i].import) {
            i += format_imports(&formatter, statements + i, count - i);
            continue;
        }
        format_rule(&formatter, statements[i].rule, i + 1 < count ? statements[i + 1].loc.offset : end);
        i++;
    }
    if (!format_has_comment(lines, 0, end)) return;
    format_line_blank(lines);
    format_comments(lines, end, /* is_end= */ true);
}
