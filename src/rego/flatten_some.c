#include "rego/flatten.h"

/* What `some ... in` declares, before its own terms are made flat: the values of its `with` are evaluated first, and see its
 * variables. Beside those of its pattern, variables that index a document of its domain count as declared, in the pattern and
 * in `with` alike; so do other Rego tools, with which `some x in data.xs with input.n as data.ns[i]` goes through all i. */

typedef struct Declaring {
    Flattener *f;
    Map domain;             /* the names of the domain's variables */
    RegoLoc loc;
} Declaring;

/* --- names of terms ------------------------------------------------------------------------------------------------ */

static bool domain_add(void *context, RegoTerm **place)
{
    Declaring *d = context;
    if ((*place)->kind == REGO_TERM_VAR) map_add(&d->domain, flat_name_root(d->f, (*place)->name), 0, NULL);
    return true;
}

static bool is_of_domain(const Declaring *d, Str name)
{
    uint32_t index;
    return map_find(&d->domain, flat_name_root(d->f, name), &index);
}

static bool is_variable(const Declaring *d, Str name)
{
    Str root = flat_name_root(d->f, name);
    return str_is(root, name) && !str_is(name, STR("data")) && !str_is(name, STR("input")) && !rego_var_is_wildcard(name);
}

/* --- declaring ----------------------------------------------------------------------------------------------------- */

static void pattern_declare(Declaring *d, const RegoTerm *term)
{
    if (term->kind == REGO_TERM_VAR && !str_is(term->name, STR("data")) && !str_is(term->name, STR("input")))
        scope_declare(d->f, term->name, SCOPE_SOME_IN, d->loc);
    bool is_object = term->kind == REGO_TERM_OBJECT;
    if (!is_object && term->kind != REGO_TERM_ARRAY) return;
    for (uint32_t i = 0; i < term->count; i++) pattern_declare(d, is_object ? term->pairs[i].value : term->items[i]);
}

/* The items of a reference behind its head; the heads of references inside are no indexes. */
static bool item_declare(void *context, RegoTerm **place)
{
    Declaring *d = context;
    const RegoTerm *term = *place;
    const RegoWalk walk = { .context = d, .term = item_declare };
    if (term->kind == REGO_TERM_VAR && is_variable(d, term->name) && !is_of_domain(d, term->name))
        scope_declare(d->f, term->name, SCOPE_SOME_IN, d->loc);
    if (term->kind != REGO_TERM_REF) return true;
    for (uint32_t i = 1; i < term->count; i++) rego_walk_term(&walk, &term->items[i]);
    return false;
}

static bool index_declare(void *context, RegoTerm **place)
{
    Declaring *d = context;
    RegoTerm *term = *place;
    bool is_closed = term->kind == REGO_TERM_ARRAY_COMPREHENSION || term->kind == REGO_TERM_SET_COMPREHENSION
                  || term->kind == REGO_TERM_OBJECT_COMPREHENSION || term->kind == REGO_TERM_TEMPLATE;
    if (is_closed) return false;
    if (term->kind != REGO_TERM_REF) return true;
    if (term->items[0]->kind == REGO_TERM_VAR && !is_of_domain(d, term->items[0]->name)) return false;
    (void)item_declare(d, place);
    return true;
}

void flat_some_declare(Flattener *f, RegoExpr *expr)
{
    RegoEach *each = expr->each;
    const RegoEach *outer = f->each;
    Declaring declaring = { .f = f, .loc = f->expr_loc };
    const RegoWalk domain = { .context = &declaring, .term = domain_add };
    const RegoWalk indexes = { .context = &declaring, .term = index_declare };
    map_init(&declaring.domain, f->arena, 0);
    rego_walk_term(&domain, &each->domain);
    f->each = each;
    if (each->key) pattern_declare(&declaring, each->key);
    pattern_declare(&declaring, each->value);
    if (each->key) rego_walk_term(&indexes, &each->key);
    rego_walk_term(&indexes, &each->value);
    for (uint32_t i = 0; i < expr->with_count; i++) rego_walk_term(&indexes, &expr->withs[i].value);
    f->each = outer;
}
