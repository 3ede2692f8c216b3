#include "rego/format_term.h"

#include "rego/lexer.h"
#include "rego/print.h"

/* How tightly operators bind, as far as a reader has to be told by parentheses. */
typedef enum OperatorClass {
    OPERATOR_NONE,          /* no operator: an operand of a call, an item */
    OPERATOR_ASSIGN,
    OPERATOR_MEMBER,
    OPERATOR_RELATION,
    OPERATOR_VALUE,         /* arithmetic, and that of sets */
} OperatorClass;

static const struct { Str name, sign; OperatorClass class; } operators[] = {
    { STR_INIT("assign"), STR_INIT(":="), OPERATOR_ASSIGN },   { STR_INIT("eq"), STR_INIT("="), OPERATOR_ASSIGN },
    { STR_INIT("internal"), STR_INIT("in"), OPERATOR_MEMBER },
    { STR_INIT("equal"), STR_INIT("=="), OPERATOR_RELATION },  { STR_INIT("neq"), STR_INIT("!="), OPERATOR_RELATION },
    { STR_INIT("lt"), STR_INIT("<"), OPERATOR_RELATION },      { STR_INIT("gt"), STR_INIT(">"), OPERATOR_RELATION },
    { STR_INIT("lte"), STR_INIT("<="), OPERATOR_RELATION },    { STR_INIT("gte"), STR_INIT(">="), OPERATOR_RELATION },
    { STR_INIT("or"), STR_INIT("|"), OPERATOR_VALUE },         { STR_INIT("and"), STR_INIT("&"), OPERATOR_VALUE },
    { STR_INIT("plus"), STR_INIT("+"), OPERATOR_VALUE },       { STR_INIT("minus"), STR_INIT("-"), OPERATOR_VALUE },
    { STR_INIT("mul"), STR_INIT("*"), OPERATOR_VALUE },        { STR_INIT("div"), STR_INIT("/"), OPERATOR_VALUE },
    { STR_INIT("rem"), STR_INIT("%"), OPERATOR_VALUE },
};
#define OPERATOR_UNION 9u       /* the row of `|` */

static void format_operand(FormatLines *lines, const RegoTerm *term, OperatorClass outer, bool leads);

/* --- lists: items on one line, or on the lines that the author gave them ----------------------------------------- */

typedef struct List {
    const RegoTerm *term;               /* of an object; NULL where there are items */
    RegoTerm *const *items;
    uint32_t count;
    const char *open, *close;
    uint32_t begin, end;                /* in the source: behind the opening sign or later, before the closing one */
    uint32_t row;                       /* on which every item begins that is not to make a line of its own */
} List;

static const RegoTerm *list_first(const List *list, uint32_t index)
{
    return list->term ? list->term->pairs[index].key : list->items[index];
}

static const RegoTerm *list_last(const List *list, uint32_t index)
{
    return list->term ? list->term->pairs[index].value : list->items[index];
}

static bool list_is_broken(const FormatLines *lines, const List *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (format_row_begin(lines, list_first(list, i)->loc) != list->row) return true;
    return format_has_comment(lines, list->begin, list->end);
}

static void format_item(FormatLines *lines, const List *list, uint32_t index)
{
    format_term(lines, list_first(list, index));
    if (!list->term) return;
    buf_text(lines->out, ": ");
    format_term(lines, list_last(list, index));
}

static void format_list_lines(FormatLines *lines, const List *list)
{
    uint32_t first = list->count ? list_first(list, 0)->loc.offset : list->end;
    uint32_t open_row = format_row(lines, list->begin);
    format_line_end(lines, open_row, first);
    lines->indent++;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t row = format_row_begin(lines, list_first(list, i)->loc);
        format_comments(lines, list_first(list, i)->loc.offset, /* is_end= */ false);
        format_line_begin(lines);
        format_item(lines, list, i);
        while (i + 1 < list->count && format_row_begin(lines, list_first(list, i + 1)->loc) == row) {
            buf_text(lines->out, ", ");
            format_item(lines, list, ++i);
        }
        buf_char(lines->out, ',');
        uint32_t next = i + 1 < list->count ? list_first(list, i + 1)->loc.offset : list->end;
        format_line_end(lines, format_row_end(lines, list_last(list, i)->loc), next);
    }
    format_comments(lines, list->end, /* is_end= */ true);
    lines->indent--;
    format_line_begin(lines);
}

static void format_list(FormatLines *lines, const List *list)
{
    buf_text(lines->out, list->open);
    if (list_is_broken(lines, list)) {
        format_list_lines(lines, list);
    } else {
        for (uint32_t i = 0; i < list->count; i++) {
            if (i) buf_text(lines->out, ", ");
            format_item(lines, list, i);
        }
    }
    buf_text(lines->out, list->close);
}

/* Operands may begin a line below their parenthesis without making lines: only among one another do rows count. */
void format_operands(FormatLines *lines, RegoTerm *const *items, uint32_t count, uint32_t begin, uint32_t end)
{
    List list = { .items = items, .count = count, .open = "(", .close = ")", .begin = begin, .end = end,
                  .row = format_row(lines, count ? items[0]->loc.offset : begin) };
    format_list(lines, &list);
}

static void format_collection(FormatLines *lines, const RegoTerm *term, const char *open, const char *close)
{
    bool is_object = term->kind == REGO_TERM_OBJECT;
    List list = { .term = is_object ? term : NULL, .items = is_object ? NULL : term->items, .count = term->count,
                  .open = open, .close = close, .begin = term->loc.offset, .end = format_end(term->loc) - 1,
                  .row = format_row_begin(lines, term->loc) };
    format_list(lines, &list);
}

/* --- bodies ------------------------------------------------------------------------------------------------------ */

void format_body_lines(FormatLines *lines, const RegoBody *body, uint32_t head_row, uint32_t end)
{
    format_line_end(lines, head_row, body->exprs[0]->loc.offset);
    lines->indent++;
    uint32_t row = 0;
    for (uint32_t i = 0; i < body->count; i++) {
        RegoLoc loc = body->exprs[i]->loc;
        bool has_comment = format_has_comment(lines, 0, loc.offset);
        if (i && (has_comment || format_row_begin(lines, loc) > row + 1)) format_line_blank(lines);
        format_comments(lines, loc.offset, /* is_end= */ false);
        format_line_begin(lines);
        format_expr(lines, body->exprs[i]);
        row = format_row_end(lines, loc);
        format_line_end(lines, row, i + 1 < body->count ? body->exprs[i + 1]->loc.offset : end);
    }
    format_comments(lines, end, /* is_end= */ true);
    lines->indent--;
    format_line_begin(lines);
}

static bool body_is_broken(const FormatLines *lines, const RegoBody *body, uint32_t row, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < body->count; i++)
        if (format_row_begin(lines, body->exprs[i]->loc) != row) return true;
    return format_has_comment(lines, begin, end);
}

static void format_body_inline(FormatLines *lines, const RegoBody *body)
{
    for (uint32_t i = 0; i < body->count; i++) {
        if (i) buf_text(lines->out, "; ");
        format_expr(lines, body->exprs[i]);
    }
}

/* A body in braces that ends at `end`, where the brace stands; `row` is that of what the braces belong to. */
static void format_braces(FormatLines *lines, const RegoBody *body, uint32_t row, uint32_t end)
{
    buf_char(lines->out, '{');
    if (body_is_broken(lines, body, row, body->exprs[0]->loc.offset, end)) {
        format_body_lines(lines, body, row, end);
    } else {
        buf_char(lines->out, ' ');
        format_body_inline(lines, body);
        buf_char(lines->out, ' ');
    }
    buf_char(lines->out, '}');
}

static uint32_t body_end(const FormatLines *lines, const RegoBody *body)
{
    return format_brace_after(lines, format_end(body->exprs[body->count - 1]->loc));
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

/* As it was written, where it was: escapes and digits are the author's. */
static void format_scalar(FormatLines *lines, const RegoTerm *term)
{
    Str written = rego_loc_text(lines->module->text, term->loc);
    bool is_quoted = written.len && (written.ptr[0] == '"' || written.ptr[0] == '`');
    bool is_word = rego_term_is_string(term) && written.len && !is_quoted;      /* behind a dot */
    if (written.len && !is_word && !(term->flags & (REGO_TERM_PARENS | REGO_TERM_GENERATED))) {
        buf_str(lines->out, written);
        return;
    }
    RegoTerm bare = *term;
    bare.flags &= (uint8_t)~REGO_TERM_PARENS;
    rego_print_term(lines->out, &bare, REGO_PRINT_SOURCE);
}

/* `.name` where it is a name, and where it is a keyword only if it was written so. */
static bool item_is_dotted(const FormatLines *lines, const RegoTerm *item)
{
    if (!rego_term_is_string(item)) return false;
    Str name = value_text(item->value);
    if (!name.len || ascii_is_digit(name.ptr[0])) return false;
    for (size_t i = 0; i < name.len; i++)
        if (!ascii_is_alnum(name.ptr[i]) && name.ptr[i] != '_') return false;
    uint32_t keyword = rego_keyword_find(name);
    if (keyword == REGO_TOKEN_KEYWORD_COUNT) return true;
    if (!((REGO_KEYWORDS_ALWAYS | REGO_KEYWORDS_V1) >> keyword & 1)) return true;
    Str written = rego_loc_text(lines->module->text, item->loc);
    return str_is(written, name);
}

void format_ref(FormatLines *lines, RegoTerm *const *items, uint32_t count)
{
    bool parens = items[0]->flags & REGO_TERM_PARENS && items[0]->kind != REGO_TERM_VAR;
    if (parens) buf_char(lines->out, '(');
    format_term(lines, items[0]);
    if (parens) buf_char(lines->out, ')');
    for (uint32_t i = 1; i < count; i++) {
        if (item_is_dotted(lines, items[i])) {
            buf_char(lines->out, '.');
            buf_str(lines->out, value_text(items[i]->value));
        } else {
            buf_char(lines->out, '[');
            format_term(lines, items[i]);
            buf_char(lines->out, ']');
        }
    }
}

static void format_comprehension(FormatLines *lines, const RegoTerm *term)
{
    const RegoComprehension *made = term->comprehension;
    bool is_array = term->kind == REGO_TERM_ARRAY_COMPREHENSION;
    RegoLoc head = made->key ? made->key->loc : made->value->loc;
    uint32_t end = format_end(term->loc) - 1;
    bool broken = body_is_broken(lines, &made->body, format_row_begin(lines, head), term->loc.offset, end);
    buf_char(lines->out, is_array ? '[' : '{');
    if (made->key) {
        format_term(lines, made->key);
        buf_text(lines->out, ": ");
    }
    format_term(lines, made->value);
    buf_text(lines->out, " |");
    if (broken) {
        format_body_lines(lines, &made->body, format_row_end(lines, made->value->loc), end);
    } else {
        buf_char(lines->out, ' ');
        format_body_inline(lines, &made->body);
    }
    buf_char(lines->out, is_array ? ']' : '}');
}

/* The text between the expressions of a template stays byte for byte; what stands in the braces is formatted. */
static void format_template(FormatLines *lines, const RegoTerm *term)
{
    Str text = lines->module->text;
    size_t at = term->loc.offset, end = format_end(term->loc);
    bool is_plain = term->loc.size && !(term->flags & REGO_TERM_PARENS)
                 && !format_has_comment(lines, term->loc.offset, format_end(term->loc));
    if (!is_plain) {
        RegoTerm bare = *term;
        bare.flags &= (uint8_t)~REGO_TERM_PARENS;
        rego_print_term(lines->out, &bare, REGO_PRINT_SOURCE);
        return;
    }
    for (uint32_t i = 0; i < term->count; i++) {
        const RegoExpr *expr = term->parts[i].expr;
        if (!expr) continue;
        size_t stop = expr->loc.offset;
        while (stop > at && ascii_is_space(text.ptr[stop - 1])) stop--;
        buf_str(lines->out, str_slice(text, at, stop));
        format_expr(lines, expr);
        at = format_end(expr->loc);
        while (at < end && ascii_is_space(text.ptr[at])) at++;
    }
    buf_str(lines->out, str_slice(text, at, end));
}

/* --- operators --------------------------------------------------------------------------------------------------- */

static size_t operator_row(const RegoTerm *call)
{
    size_t row = 0;
    const RegoTerm *name = call->items[0]->items[0];
    while (row + 1 < sizeof operators / sizeof *operators && !rego_term_is_var(name, operators[row].name)) row++;
    return row;
}

static OperatorClass operator_class(const RegoTerm *term)
{
    bool is_infix = term->kind == REGO_TERM_CALL && term->flags & REGO_TERM_INFIX;
    return is_infix ? operators[operator_row(term)].class : OPERATOR_NONE;
}

/* Whether a term begins with a name that is a keyword, which is a name at the beginning of an expression alone. */
static bool begins_with_keyword(const RegoTerm *term)
{
    while (term->kind == REGO_TERM_REF || term->kind == REGO_TERM_CALL)
        term = term->kind == REGO_TERM_CALL && term->flags & REGO_TERM_INFIX ? term->items[1] : term->items[0];
    return term->kind == REGO_TERM_VAR && rego_keyword_find(term->name) != REGO_TOKEN_KEYWORD_COUNT;
}

/* Whether an operand stands in parentheses. A union, and a membership with a key, may be read otherwise without those
 * that its author wrote: `[a | b]`, `[(a, b in c)]`. */
static bool needs_parens(const RegoTerm *term, OperatorClass outer, bool leads)
{
    OperatorClass inner = operator_class(term);
    bool written = term->flags & REGO_TERM_PARENS;
    if (inner == OPERATOR_NONE) return false;
    if (written && inner == OPERATOR_MEMBER && term->count > 3) return true;
    if (written && operator_row(term) == OPERATOR_UNION && (outer == OPERATOR_NONE || leads)) return true;
    if (outer == OPERATOR_NONE) return inner == OPERATOR_ASSIGN && written;
    if (outer == OPERATOR_ASSIGN) return inner == OPERATOR_ASSIGN;
    if (leads && !written && begins_with_keyword(term)) return false;
    return outer != OPERATOR_RELATION || inner != OPERATOR_VALUE;
}

static void format_infix(FormatLines *lines, const RegoTerm *call, bool leads)
{
    size_t row = operator_row(call);
    OperatorClass class = operators[row].class;
    RegoTerm *const *operands = call->items + 1;
    uint32_t last = call->count - 2;
    if (operands[0]->flags & REGO_TERM_GENERATED) {         /* -x */
        buf_str(lines->out, operators[row].sign);
        format_operand(lines, operands[1], class, /* leads= */ false);
        return;
    }
    for (uint32_t i = 0; i < last; i++) {
        if (i) buf_text(lines->out, ", ");
        format_operand(lines, operands[i], class, leads && i == 0);
    }
    buf_char(lines->out, ' ');
    buf_str(lines->out, operators[row].sign);
    buf_char(lines->out, ' ');
    format_operand(lines, operands[last], class, /* leads= */ false);
}

static void format_bare(FormatLines *lines, const RegoTerm *term, bool leads)
{
    switch ((RegoTermKind)term->kind) {
    case REGO_TERM_SCALAR:
        format_scalar(lines, term);
        break;
    case REGO_TERM_VAR:
        buf_str(lines->out, rego_var_is_wildcard(term->name) ? STR("_") : term->name);
        break;
    case REGO_TERM_REF:
        format_ref(lines, term->items, term->count);
        break;
    case REGO_TERM_CALL:
        if (term->flags & REGO_TERM_INFIX) {
            format_infix(lines, term, leads);
            break;
        }
        format_term(lines, term->items[0]);
        format_operands(lines, term->items + 1, term->count - 1, format_end(term->items[0]->loc),
                        format_end(term->loc) - 1);
        break;
    case REGO_TERM_ARRAY:
        format_collection(lines, term, "[", "]");
        break;
    case REGO_TERM_SET:
        if (term->count) format_collection(lines, term, "{", "}");
        else buf_text(lines->out, "set()");
        break;
    case REGO_TERM_OBJECT:
        format_collection(lines, term, "{", "}");
        break;
    case REGO_TERM_ARRAY_COMPREHENSION:
    case REGO_TERM_SET_COMPREHENSION:
    case REGO_TERM_OBJECT_COMPREHENSION:
        format_comprehension(lines, term);
        break;
    case REGO_TERM_TEMPLATE:
        format_template(lines, term);
        break;
    case REGO_TERM_KIND_COUNT:
        break;
    }
}

/* `leads`: the term stands first behind a brace, where a union would be read as a comprehension. */
static void format_operand(FormatLines *lines, const RegoTerm *term, OperatorClass outer, bool leads)
{
    bool parens = needs_parens(term, outer, leads);
    if (parens) buf_char(lines->out, '(');
    format_bare(lines, term, leads && !parens);
    if (parens) buf_char(lines->out, ')');
}

void format_term(FormatLines *lines, const RegoTerm *term)
{
    format_operand(lines, term, OPERATOR_NONE, /* leads= */ false);
}

/* --- expressions ------------------------------------------------------------------------------------------------- */

static void format_terms(FormatLines *lines, RegoTerm *const *terms, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) buf_text(lines->out, ", ");
        format_term(lines, terms[i]);
    }
}

static void format_each(FormatLines *lines, const RegoExpr *expr)
{
    const RegoEach *each = expr->each;
    buf_text(lines->out, expr->kind == REGO_EXPR_EVERY ? "every " : "some ");
    if (each->key) {
        format_term(lines, each->key);
        buf_text(lines->out, ", ");
    }
    format_term(lines, each->value);
    buf_text(lines->out, " in ");
    format_term(lines, each->domain);
    if (expr->kind != REGO_EXPR_EVERY) return;
    buf_char(lines->out, ' ');
    uint32_t row = format_row_begin(lines, expr->loc);
    uint32_t domain_row = format_row_end(lines, each->domain->loc);
    format_braces(lines, &each->body, domain_row > row ? UINT32_MAX : row, body_end(lines, &each->body));
}

/* Whether a side without braces has to stand in parentheses to stay the side it is. */
static bool side_needs_parens(const RegoBody *side, RegoExprKind outer, bool is_right)
{
    const RegoExpr *expr = side->exprs[0];
    if (expr->with_count) return true;
    if (expr->kind == REGO_EXPR_OR) return outer != REGO_EXPR_OR || is_right;
    return expr->kind == REGO_EXPR_AND && (outer == REGO_EXPR_NOT || (outer == REGO_EXPR_AND && is_right));
}

static void format_side(FormatLines *lines, const RegoBody *side, bool braces, bool parens)
{
    if (braces || side->count != 1) {
        format_braces(lines, side, format_row_begin(lines, side->exprs[0]->loc), body_end(lines, side));
        return;
    }
    if (parens) buf_char(lines->out, '(');
    format_expr(lines, side->exprs[0]);
    if (parens) buf_char(lines->out, ')');
}

static void format_logic(FormatLines *lines, const RegoExpr *expr)
{
    const RegoLogic *logic = expr->logic;
    RegoExprKind kind = (RegoExprKind)expr->kind;
    format_side(lines, &logic->left, logic->left_braces, side_needs_parens(&logic->left, kind, /* is_right= */ false));
    buf_text(lines->out, kind == REGO_EXPR_AND ? " and " : " or ");
    format_side(lines, &logic->right, logic->right_braces,
                side_needs_parens(&logic->right, kind, /* is_right= */ true));
}

static void format_not(FormatLines *lines, const RegoExpr *expr)
{
    const RegoBody *body = expr->not;
    buf_text(lines->out, "not ");
    if (expr->flags & REGO_EXPR_BRACES || body->count != 1) {
        format_braces(lines, body, format_row_begin(lines, expr->loc), body_end(lines, body));
        return;
    }
    bool parens = side_needs_parens(body, REGO_EXPR_NOT, false) || body->exprs[0]->kind == REGO_EXPR_NOT;
    format_side(lines, body, /* braces= */ false, parens);
}

static void format_with(FormatLines *lines, const RegoExpr *expr, const RegoWith *with)
{
    bool broken = format_row_begin(lines, with->loc) != format_row_begin(lines, expr->loc);
    lines->indent += broken;
    if (broken) {
        format_line_end(lines, format_row_begin(lines, with->loc) - 1, with->loc.offset);
        format_comments(lines, with->loc.offset, /* is_end= */ true);
        format_line_begin(lines);
    }
    buf_text(lines->out, broken ? "with " : " with ");
    format_term(lines, with->target);
    buf_text(lines->out, " as ");
    format_term(lines, with->value);
    lines->indent -= broken;
}

void format_expr(FormatLines *lines, const RegoExpr *expr)
{
    if (expr->flags & REGO_EXPR_NEGATED) buf_text(lines->out, "not ");
    switch ((RegoExprKind)expr->kind) {
    case REGO_EXPR_TERM:
    case REGO_EXPR_CALL:
        format_bare(lines, expr->term, /* leads= */ true);
        break;
    case REGO_EXPR_SOME:
        buf_text(lines->out, "some ");
        format_terms(lines, expr->some->vars, expr->some->count);
        break;
    case REGO_EXPR_SOME_IN:
    case REGO_EXPR_EVERY:
        format_each(lines, expr);
        break;
    case REGO_EXPR_NOT:
        format_not(lines, expr);
        break;
    case REGO_EXPR_AND:
    case REGO_EXPR_OR:
        format_logic(lines, expr);
        break;
    case REGO_EXPR_KIND_COUNT:
        break;
    }
    for (uint32_t i = 0; i < expr->with_count; i++) format_with(lines, expr, &expr->withs[i]);
}
