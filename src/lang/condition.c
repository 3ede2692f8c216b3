#include "lang/condition.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "lang/suggest.h"
#include "rego/builtins/builtin.h"
#include "rego/parser.h"

static const struct { Str name; Root root; } roots[] = {
    { STR_INIT("params"), ROOT_PARAMS },   { STR_INIT("outputs"), ROOT_OUTPUTS }, { STR_INIT("output"), ROOT_OUTPUT },
    { STR_INIT("payload"), ROOT_PAYLOAD }, { STR_INIT("run"), ROOT_RUN },         { STR_INIT("poll"), ROOT_POLL },
    { STR_INIT("secrets"), ROOT_SECRETS },
};

#define CONDITION_ROOTS (ROOT_PARAMS | ROOT_OUTPUTS | ROOT_OUTPUT | ROOT_PAYLOAD | ROOT_RUN | ROOT_POLL)

Root root_find(Str name)
{
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
        if (str_is(roots[i].name, name)) return roots[i].root;
    return (Root)0;
}

const char *root_list(unsigned wanted, Buf *buf)
{
    unsigned left = (unsigned)__builtin_popcount(wanted);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        if (!(wanted & roots[i].root)) continue;
        buf_str(buf, roots[i].name);
        left--;
        if (left) buf_text(buf, left == 1 ? " and " : ", ");
    }
    buf_char(buf, '\0');
    return buf->ptr;
}

/* --- the walk: references with their places --------------------------------------------------------------------- */

typedef struct Walk {
    Arena *arena;
    const Node *node;
    Str text;
    Diagnostics *diagnostics;           /* NULL where paths alone are wanted */
    PathVisit visit;
    void *context;
    Str *locals;                        /* variables that the condition itself declares */
    size_t local_count, local_capacity;
} Walk;

static uint32_t char_offset(const Walk *walk, RegoLoc loc)
{
    return (uint32_t)utf8_count(str_slice(walk->text, 0, loc.offset));
}

static uint32_t char_width(const Walk *walk, RegoLoc loc)
{
    return (uint32_t)utf8_count(rego_loc_text(walk->text, loc));
}

static void local_add(Walk *walk, const RegoTerm *term)
{
    if (term->kind == REGO_TERM_ARRAY || term->kind == REGO_TERM_SET) {
        for (uint32_t i = 0; i < term->count; i++) local_add(walk, term->items[i]);
        return;
    }
    if (term->kind == REGO_TERM_OBJECT)
        for (uint32_t i = 0; i < term->count; i++) local_add(walk, term->pairs[i].value);
    if (term->kind != REGO_TERM_VAR || root_find(term->name)) return;
    walk->locals =
        arena_grow(walk->arena, walk->locals, sizeof *walk->locals, walk->local_count, &walk->local_capacity);
    walk->locals[walk->local_count++] = term->name;
}

/* Declarations: x := e, some x, some k, v in xs, every k, v in xs. */
static bool collect_expr(void *context, RegoExpr **place)
{
    Walk *walk = context;
    const RegoExpr *expr = *place;
    if (expr->kind == REGO_EXPR_SOME)
        for (uint32_t i = 0; i < expr->some->count; i++) local_add(walk, expr->some->vars[i]);
    if (expr->kind == REGO_EXPR_SOME_IN || expr->kind == REGO_EXPR_EVERY) {
        if (expr->each->key) local_add(walk, expr->each->key);
        local_add(walk, expr->each->value);
    }
    if (expr->kind == REGO_EXPR_CALL && (expr->term->flags & REGO_TERM_INFIX) && expr->term->count == 3
        && str_is(rego_call_name(walk->arena, expr->term), STR("assign")))
        local_add(walk, expr->term->items[1]);
    return true;
}

static bool is_local(const Walk *walk, Str name)
{
    for (size_t i = 0; i < walk->local_count; i++)
        if (str_is(walk->locals[i], name)) return true;
    return rego_var_is_wildcard(name);
}

static void refuse_name(Walk *walk, const RegoTerm *term)
{
    Diagnostic *diagnostic;
    uint32_t offset = char_offset(walk, term->loc), width = (uint32_t)term->name.len;
    if (str_is(term->name, STR("input")) || str_is(term->name, STR("data"))) {
        diagnostic = diagnose_inside(walk->diagnostics, walk->node, offset, width, "a condition cannot read '%.*s'",
                                     STR_ARG(term->name));
    } else {
        diagnostic = diagnose_inside(walk->diagnostics, walk->node, offset, width, "unknown name '%.*s' in a condition",
                                     STR_ARG(term->name));
        Suggestion suggestion = suggest_begin(term->name);
        for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
            if (roots[i].root & CONDITION_ROOTS) suggest_offer(&suggestion, roots[i].name);
        if (suggestion.best.len) {
            diagnostic_help(walk->diagnostics, diagnostic, "did you mean '%.*s'? a text needs double quotes",
                            STR_ARG(suggestion.best));
            return;
        }
    }
    char storage[128];
    Buf list = buf_on(storage, sizeof storage);
    diagnostic_help(walk->diagnostics, diagnostic, "a condition knows %s; a text needs double quotes",
                    root_list(CONDITION_ROOTS, &list));
}

static void check_call(Walk *walk, const RegoTerm *call)
{
    if ((call->flags & REGO_TERM_INFIX) || !walk->diagnostics) return;
    Str name = rego_call_name(walk->arena, call);
    const Builtin *builtin = builtin_find(name);
    uint32_t offset = char_offset(walk, call->items[0]->loc), width = char_width(walk, call->items[0]->loc);
    if (!builtin) {
        Diagnostic *diagnostic =
            diagnose_inside(walk->diagnostics, walk->node, offset, width, "there is no function '%.*s'", STR_ARG(name));
        Suggestion suggestion = suggest_begin(name);
        for (uint32_t i = 0; i < builtin_count(); i++) suggest_offer(&suggestion, str_of(builtin_at(i)->name));
        if (suggestion.best.len)
            diagnostic_help(walk->diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
    } else if (builtin->flags & (BUILTIN_NETWORK | BUILTIN_NONDETERMINISTIC)) {
        Diagnostic *diagnostic = diagnose_inside(walk->diagnostics, walk->node, offset, width,
                                                 "a condition cannot use '%.*s'", STR_ARG(name));
        diagnostic_help(walk->diagnostics, diagnostic,
                        "a condition must give the same answer on every replay: no network, clock or chance");
    } else if (call->count - 1 != builtin->arity) {
        diagnose_inside(walk->diagnostics, walk->node, offset, width, "'%.*s' takes %u operands, here are %u",
                        STR_ARG(name), builtin->arity, call->count - 1);
    }
}

/* The constant beginning of a reference. */
static Path ref_path(const Walk *walk, const RegoTerm *ref)
{
    Path path = { .offset = char_offset(walk, ref->loc), .width = char_width(walk, ref->loc) };
    path.parts[path.part_count++] = ref->items[0]->name;
    for (uint32_t i = 1; i < ref->count && path.part_count < PATH_PART_COUNT_MAX; i++) {
        const RegoTerm *item = ref->items[i];
        if (!rego_term_is_string(item)) break;
        path.parts[path.part_count++] = value_text(item->value);
    }
    return path;
}

static void take_name(Walk *walk, const RegoTerm *var, const Path *path)
{
    if (is_local(walk, var->name)) return;
    if (!(root_find(var->name) & CONDITION_ROOTS)) {
        if (walk->diagnostics) refuse_name(walk, var);
        return;
    }
    if (walk->visit) walk->visit(walk->context, walk->node, path);
}

static bool take_term(void *context, RegoTerm **place)
{
    Walk *walk = context;
    RegoTerm *term = *place;
    if (term->kind == REGO_TERM_CALL) {
        check_call(walk, term);
        RegoWalk operands = { .context = walk, .term = take_term };
        for (uint32_t i = 1; i < term->count; i++) rego_walk_term(&operands, &term->items[i]);
        return false;
    }
    if (term->kind == REGO_TERM_VAR) {
        Path path = { .offset = char_offset(walk, term->loc), .width = char_width(walk, term->loc) };
        path.parts[path.part_count++] = term->name;
        take_name(walk, term, &path);
        return false;
    }
    if (term->kind == REGO_TERM_REF && term->items[0]->kind == REGO_TERM_VAR) {
        Path path = ref_path(walk, term);
        take_name(walk, term->items[0], &path);
        RegoWalk inner = { .context = walk, .term = take_term };
        for (uint32_t i = 1; i < term->count; i++)
            if (!rego_term_is_string(term->items[i])) rego_walk_term(&inner, &term->items[i]);
        return false;
    }
    return true;
}

/* Declared names are skipped as terms by is_local; `some x` has nothing else to look at. */
static bool take_expr(void *context, RegoExpr **place)
{
    (void)context;
    return (*place)->kind != REGO_EXPR_SOME;
}

static void walk_condition(Walk *walk, RegoBody *body)
{
    RegoWalk collect = { .context = walk, .expr = collect_expr };
    rego_walk_body(&collect, body);
    RegoWalk take = { .context = walk, .term = take_term, .expr = take_expr };
    rego_walk_body(&take, body);
}

/* --- from the outside --------------------------------------------------------------------------------------------- */

static Status parse(Arena *arena, Str text, RegoBody *out_body, RegoErrors *errors)
{
    rego_errors_init(errors, arena);
    return rego_parse_query(arena, text, &(RegoParseOptions){ .keywords = REGO_KEYWORDS_CONDITION }, out_body, errors);
}

void condition_check_syntax(Diagnostics *diagnostics, const Node *node)
{
    if (node->kind == NODE_BOOL) return;
    Str text = node_text(node);
    if (text.len > CONDITION_SIZE_MAX) {
        diagnose(diagnostics, SEVERITY_ERROR, node, "the condition has %zu bytes, more than CONDITION_SIZE_MAX (%u)",
                 text.len, CONDITION_SIZE_MAX);
        return;
    }
    if (str_trim(text).len == 0) {
        diagnose(diagnostics, SEVERITY_ERROR, node, "the condition is empty");
        return;
    }
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    Walk walk = { .arena = &scratch, .node = node, .text = text, .diagnostics = diagnostics };
    RegoErrors errors;
    RegoBody body;
    if (parse(&scratch, text, &body, &errors)) {
        bool has_dash = str_find(text, '-', 0) < text.len;
        for (size_t i = 0; i < errors.count; i++) {
            Diagnostic *diagnostic = diagnose_inside(diagnostics, node, char_offset(&walk, errors.items[i].loc),
                            char_width(&walk, errors.items[i].loc), "no condition: %.*s",
                            STR_ARG(errors.items[i].text));
            if (has_dash)
                diagnostic_help(diagnostics, diagnostic, "a name with '-' stands in brackets: outputs[\"a-b\"].c");
        }
    } else {
        walk_condition(&walk, &body);
    }
    arena_deinit(&scratch);
}

void condition_paths(Arena *arena, const Node *node, PathVisit visit, void *context)
{
    if (node->kind != NODE_TEXT || node->count > CONDITION_SIZE_MAX) return;
    RegoErrors errors;
    RegoBody body;
    if (parse(arena, node_text(node), &body, &errors)) return;
    Walk walk = { .arena = arena, .node = node, .text = node_text(node), .visit = visit, .context = context };
    walk_condition(&walk, &body);
}

bool may_be_skipped(const Node *map)
{
    const Node *when = map->kind == NODE_MAP ? node_get(map, "when") : NULL;
    return when && !condition_is_always(when);
}

bool condition_is_always(const Node *node)
{
    if (node->kind == NODE_BOOL) return node->truth;
    return str_is(str_trim(node_text(node)), STR("true"));
}
