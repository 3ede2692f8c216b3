#include "rego/type_error.h"

#include "base/limits.h"
#include "rego/print.h"

/* --- flat terms as trees ----------------------------------------------------------------------------------------- */

static RegoTerm *tree_of(const Names *names, const FlatUnit *unit, const FlatTerm *term, uint32_t depth);

static RegoTerm *tree_new(const Names *names, RegoTermKind kind, uint32_t count)
{
    RegoTerm *tree = ARENA_NEW(names->arena, RegoTerm);
    tree->kind = (uint8_t)kind;
    tree->count = count;
    tree->items = ARENA_ARRAY(names->arena, RegoTerm *, count + 1u);
    return tree;
}

static RegoTerm *tree_name(const Names *names, Str name)
{
    RegoTerm *tree = tree_new(names, REGO_TERM_VAR, 0);
    tree->name = name;
    return tree;
}

static RegoTerm *tree_items(const Names *names, const FlatUnit *unit, RegoTermKind kind, FlatTerm *const *items,
                            uint32_t count, uint32_t depth)
{
    RegoTerm *tree = tree_new(names, kind, count);
    for (uint32_t i = 0; i < count; i++) tree->items[i] = tree_of(names, unit, items[i], depth);
    return tree;
}

static RegoTerm *tree_object(const Names *names, const FlatUnit *unit, const FlatTerm *term, uint32_t depth)
{
    RegoTerm *tree = tree_new(names, REGO_TERM_OBJECT, term->count / 2);
    tree->pairs = ARENA_ARRAY(names->arena, RegoPair, tree->count + 1u);
    for (uint32_t i = 0; i < tree->count; i++)
        tree->pairs[i] = (RegoPair){ tree_of(names, unit, term->items[2 * i], depth),
                                     tree_of(names, unit, term->items[2 * i + 1], depth) };
    return tree;
}

static RegoTerm *tree_value(const Names *names, Value value)
{
    if (value.kind <= VALUE_STRING) {
        RegoTerm *tree = tree_new(names, REGO_TERM_SCALAR, 0);
        tree->value = value;
        return tree;
    }
    RegoTermKind kind = value.kind == VALUE_ARRAY ? REGO_TERM_ARRAY
                      : value.kind == VALUE_SET ? REGO_TERM_SET : REGO_TERM_OBJECT;
    RegoTerm *tree = tree_new(names, kind, value.count);
    if (kind == REGO_TERM_OBJECT) tree->pairs = ARENA_ARRAY(names->arena, RegoPair, value.count + 1u);
    for (uint32_t i = 0; i < value.count; i++) {
        if (kind == REGO_TERM_OBJECT)
            tree->pairs[i] = (RegoPair){ tree_value(names, value.members[i].key),
                                         tree_value(names, value.members[i].value) };
        else tree->items[i] = tree_value(names, value.items[i]);
    }
    return tree;
}

static RegoTerm *tree_call(const Names *names, const FlatUnit *unit, const FlatStmt *call, uint32_t depth)
{
    RegoTerm *tree = tree_new(names, REGO_TERM_CALL, call->arg_count + 1);
    Str name = call->builtin ? str_of(call->builtin->name) : tree_path_text(names->arena, call->group->node);
    tree->items[0] = tree_name(names, name);
    for (uint32_t i = 0; i < call->arg_count; i++) tree->items[i + 1] = tree_of(names, unit, call->args[i], depth);
    return tree;
}

/* What was taken out of the source is put back; a comprehension is shown as it was written. */
static RegoTerm *tree_of(const Names *names, const FlatUnit *unit, const FlatTerm *term, uint32_t depth)
{
    if (depth == 0) return tree_name(names, STR("..."));
    if (term->kind == FLAT_CONST && term->named) return tree_name(names, unit->vars[term->named - 1].name);
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST: return tree_value(names, term->value);
    case FLAT_INPUT: return tree_name(names, STR("input"));
    case FLAT_DATA: return tree_name(names, STR("data"));
    case FLAT_REF: return tree_items(names, unit, REGO_TERM_REF, term->items, term->count, depth - 1);
    case FLAT_ARRAY: return tree_items(names, unit, REGO_TERM_ARRAY, term->items, term->count, depth - 1);
    case FLAT_SET: return tree_items(names, unit, REGO_TERM_SET, term->items, term->count, depth - 1);
    case FLAT_OBJECT: return tree_object(names, unit, term, depth - 1);
    case FLAT_COMPREHENSION: return tree_name(names, rego_loc_text(names->text, term->loc));
    case FLAT_VAR: break;
    }
    const FlatVar *var = &unit->vars[term->var];
    if (var->subject) return tree_of(names, unit, var->subject, depth - 1);
    if (var->call) return tree_call(names, unit, var->call, depth - 1);
    return tree_name(names, var->name.len ? var->name : STR("_"));
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static Str ref_text(const Names *names, const RegoTerm *ref, uint32_t count)
{
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    if (count == 1) rego_print_term(&buf, ref->items[0], REGO_PRINT_CALLS);
    else rego_print_ref(&buf, ref->items, count, REGO_PRINT_CALLS);
    Str text = arena_copy(names->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static void line_begin(Buf *buf, size_t pad)
{
    buf_text(buf, "\n\t");
    buf_repeat(buf, ' ', pad);
}

static void error_end(const Names *names, RegoLoc loc, Buf *buf)
{
    rego_errors_add(names->errors, REGO_ERROR_TYPE, names->file, loc, "%.*s", STR_ARG(buf_peek(buf)));
    buf_deinit(buf);
}

void type_error_key(const Names *names, const FlatUnit *unit, const FlatTerm *ref, uint32_t position, const Type *have,
                    const Type *want, Value keys)
{
    RegoTerm *tree = tree_of(names, unit, ref, REGO_DEPTH_MAX);
    Str text = ref_text(names, tree, tree->count);
    size_t pad = ref_text(names, tree, position).len + 1;
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    buf_format(&buf, "undefined ref: %.*s\n\t%.*s", STR_ARG(text), STR_ARG(text));
    line_begin(&buf, pad);
    buf_char(&buf, '^');
    line_begin(&buf, pad);
    buf_text(&buf, have ? "have (type): " : "have: ");
    if (have) type_print(&buf, have);
    else rego_print_term(&buf, tree->items[position], REGO_PRINT_CALLS);
    line_begin(&buf, pad);
    if (!keys.count && want) {
        buf_text(&buf, "want (type): ");
        type_print(&buf, want);
    } else {
        buf_text(&buf, "want (one of): [");
        for (uint32_t i = 0; i < keys.count; i++) {
            if (i) buf_char(&buf, ' ');
            rego_print_term(&buf, tree_value(names, keys.items[i]), REGO_PRINT_CALLS);
        }
        buf_char(&buf, ']');
    }
    error_end(names, ref->loc, &buf);
}

void type_error_ref(const Names *names, const FlatUnit *unit, const FlatTerm *ref, uint32_t position, const Type *have)
{
    RegoTerm *tree = tree_of(names, unit, ref, REGO_DEPTH_MAX);
    Str text = ref_text(names, tree, tree->count);
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    if (have && have->kind == TYPE_FUNCTION)
        buf_format(&buf, "function %.*s used as reference, not called", STR_ARG(text));
    else buf_format(&buf, "undefined ref: %.*s", STR_ARG(text));
    buf_format(&buf, "\n\t%.*s\n\t", STR_ARG(text));
    buf_repeat(&buf, '^', ref_text(names, tree, position + 1).len);
    buf_text(&buf, "\n\thave: ");
    type_print(&buf, have);
    error_end(names, ref->loc, &buf);
}

void type_error_match(const Names *names, RegoLoc loc, const Type *left, const Type *right)
{
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    buf_text(&buf, "match error");
    type_print_match(&buf, left, right);
    error_end(names, loc, &buf);
}

void type_error_call(const Names *names, RegoLoc loc, Str function, const char *what, const TypeParam *have,
                     uint32_t have_count, const TypeParam *want, uint32_t want_count)
{
    Buf buf;
    buf_init(&buf, REGO_ERROR_TEXT_SIZE_MAX);
    buf_format(&buf, "%.*s: %s", STR_ARG(function), what);
    type_print_call(&buf, have, have_count, want, want_count);
    error_end(names, loc, &buf);
}
