#include "rego/builtins/format.h"
#include "rego/plan.h"
#include "rego/print.h"

/* Trees of statements as JSON, in the form in which other Rego tools write theirs: a term is {"type", "value"}, an
 * expression {"index", "terms"}, a rule {"head", "body"}. They are made where a policy is instrumented, and text is
 * made from them when somebody asks. */

typedef struct NodeMaker {
    Arena *arena;
    const Names *names;
    const FlatUnit *unit;
} NodeMaker;

/* --- places ------------------------------------------------------------------------------------------------------ */

RegoPlace *place_new(const Names *names, RegoPlaceKind kind, RegoLoc loc)
{
    PlaceList *list = names->places;
    if (!list || !loc.row) return NULL;
    RegoPlace *place = ARENA_NEW(names->arena, RegoPlace);
    *place = (RegoPlace){ .kind = kind, .is_query = !names->rule, .index = (uint32_t)list->count, .file = names->file,
                          .loc = loc };
    list->items = arena_grow(names->arena, list->items, sizeof *list->items, list->count, &list->capacity);
    list->items[list->count++] = place;
    return place;
}

RegoPlace *place_of_body(const Names *names, const FlatUnit *unit, const FlatBlock *block)
{
    if (!names->places || !block->count) return NULL;
    RegoPlace *place = place_new(names, REGO_PLACE_BODY, block->stmts[0]->loc);
    if (place) place->node = node_of_body(names, unit, block);
    return place;
}

/* --- small parts ------------------------------------------------------------------------------------------------- */

static Value term_of(const NodeMaker *m, const char *type, Value value)
{
    MemberList members = { .arena = m->arena };
    member_list_add(&members, STR("type"), value_string(str_of(type)));
    member_list_add(&members, STR("value"), value);
    return member_list_object(&members);
}

static Value var_of(const NodeMaker *m, Str name)
{
    return term_of(m, "var", value_string(name));
}

/* A wildcard, and what a query has taken out of its expressions, has no name that anybody could have written. */
Str node_var_name(const Names *names, const FlatUnit *unit, uint32_t var)
{
    const FlatVar *v = &unit->vars[var];
    bool is_hidden = v->flags & (FLAT_VAR_GENERATED | FLAT_VAR_WILDCARD);
    if (!is_hidden && v->name.len) return v->name;
    return arena_format(names->arena, names->rule ? "__local%u__" : "$term%u", unit->local_base + var);
}

static Value value_term(const NodeMaker *m, Value value)
{
    static const char *const types[] = { "null", "boolean", "number", "number", "string", "array", "object", "set" };
    ValueList list = { .arena = m->arena };
    if (value.kind < VALUE_ARRAY) return term_of(m, types[value.kind], value);
    for (uint32_t i = 0; i < value.count; i++) {
        if (value.kind != VALUE_OBJECT) {
            value_list_add(&list, value_term(m, value.items[i]));
            continue;
        }
        ValueList pair = { .arena = m->arena };
        value_list_add(&pair, value_term(m, value.members[i].key));
        value_list_add(&pair, value_term(m, value.members[i].value));
        value_list_add(&list, value_list_array(&pair));
    }
    return term_of(m, types[value.kind], value_list_array(&list));
}

/* --- terms ------------------------------------------------------------------------------------------------------- */

static Value term_node(const NodeMaker *m, const FlatTerm *term);

static Value document_var(const NodeMaker *m, const FlatTerm *term)
{
    return var_of(m, term->kind == FLAT_INPUT ? STR("input") : STR("data"));
}

static Value ref_node(const NodeMaker *m, const FlatTerm *ref)
{
    ValueList list = { .arena = m->arena };
    for (uint32_t i = 0; i < ref->count; i++) {
        const FlatTerm *item = ref->items[i];
        bool is_document = item->kind == FLAT_INPUT || item->kind == FLAT_DATA;
        value_list_add(&list, is_document ? document_var(m, item) : term_node(m, item));
    }
    return term_of(m, "ref", value_list_array(&list));
}

static Value items_node(const NodeMaker *m, const FlatTerm *term)
{
    bool is_object = term->kind == FLAT_OBJECT;
    ValueList list = { .arena = m->arena };
    for (uint32_t i = 0; i < term->count; i++) {
        if (!is_object) {
            value_list_add(&list, term_node(m, term->items[i]));
            continue;
        }
        ValueList pair = { .arena = m->arena };
        value_list_add(&pair, term_node(m, term->items[i]));
        value_list_add(&pair, term_node(m, term->items[++i]));
        value_list_add(&list, value_list_array(&pair));
    }
    return term_of(m, is_object ? "object" : term->kind == FLAT_SET ? "set" : "array", value_list_array(&list));
}

static Value comprehension_node(const NodeMaker *m, const FlatTerm *term)
{
    const FlatBlock *block = term->block;
    MemberList members = { .arena = m->arena };
    bool is_object = term->flavour == REGO_TERM_OBJECT_COMPREHENSION;
    if (is_object) member_list_add(&members, STR("key"), term_node(m, block->key));
    const FlatTerm *value = is_object || !block->key ? block->value : block->key;
    member_list_add(&members, is_object ? STR("value") : STR("term"), term_node(m, value));
    member_list_add(&members, STR("body"), node_of_body(m->names, m->unit, block));
    return term_of(m, is_object ? "objectcomprehension"
                      : term->flavour == REGO_TERM_SET_COMPREHENSION ? "setcomprehension" : "arraycomprehension",
                   member_list_object(&members));
}

static Value term_node(const NodeMaker *m, const FlatTerm *term)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_CONST: return value_term(m, term->value);
    case FLAT_VAR: return var_of(m, node_var_name(m->names, m->unit, term->var));
    case FLAT_INPUT:
    case FLAT_DATA: {
        ValueList head = { .arena = m->arena };
        value_list_add(&head, document_var(m, term));
        return term_of(m, "ref", value_list_array(&head));
    }
    case FLAT_REF: return ref_node(m, term);
    case FLAT_ARRAY:
    case FLAT_SET:
    case FLAT_OBJECT: return items_node(m, term);
    case FLAT_COMPREHENSION: return comprehension_node(m, term);
    }
    return value_null();
}

/* "internal.member_2": the first name is a variable, the others are its keys. */
static Value name_ref(const NodeMaker *m, Str name)
{
    ValueList list = { .arena = m->arena };
    for (size_t at = 0; at <= name.len;) {
        size_t end = str_find(name, '.', at);
        Str part = str_slice(name, at, end);
        value_list_add(&list, at ? term_of(m, "string", value_string(part)) : var_of(m, part));
        at = end + 1;
    }
    return term_of(m, "ref", value_list_array(&list));
}

static Value path_ref(const NodeMaker *m, const char *head, const Value *path, uint32_t count)
{
    ValueList list = { .arena = m->arena };
    value_list_add(&list, var_of(m, str_of(head)));
    for (uint32_t i = 0; i < count; i++) value_list_add(&list, value_term(m, path[i]));
    return term_of(m, "ref", value_list_array(&list));
}

/* --- statements -------------------------------------------------------------------------------------------------- */

static Value callee_node(const NodeMaker *m, const Builtin *builtin, const RuleGroup *group)
{
    return builtin ? name_ref(m, str_of(builtin->name)) : path_ref(m, "data", group->path, group->path_count);
}

static Value call_node(const NodeMaker *m, Value callee, FlatTerm *const *args, uint32_t count, const FlatTerm *out)
{
    ValueList list = { .arena = m->arena };
    value_list_add(&list, callee);
    for (uint32_t i = 0; i < count; i++) value_list_add(&list, term_node(m, args[i]));
    if (out) value_list_add(&list, term_node(m, out));
    return value_list_array(&list);
}

/* What a query has taken out stands behind what it was taken from, where others keep a name for it. */
static Value equal_node(const NodeMaker *m, const FlatStmt *stmt)
{
    FlatTerm *sides[] = { stmt->a, stmt->b };
    bool is_hidden = stmt->a->kind == FLAT_VAR && (m->unit->vars[stmt->a->var].flags & FLAT_VAR_GENERATED);
    if (!m->names->rule && is_hidden) {
        sides[0] = stmt->b;
        sides[1] = stmt->a;
    }
    return call_node(m, name_ref(m, STR("eq")), sides, 2, NULL);
}

static Value every_node(const NodeMaker *m, const FlatStmt *stmt)
{
    MemberList members = { .arena = m->arena };
    member_list_add(&members, STR("key"), stmt->args[0] ? term_node(m, stmt->args[0]) : value_null());
    member_list_add(&members, STR("value"), term_node(m, stmt->args[1]));
    member_list_add(&members, STR("domain"), term_node(m, stmt->a));
    member_list_add(&members, STR("body"), node_of_body(m->names, m->unit, stmt->block));
    return member_list_object(&members);
}

static Value logic_node(const NodeMaker *m, const FlatStmt *stmt)
{
    ValueList sides = { .arena = m->arena };
    value_list_add(&sides, node_of_body(m->names, m->unit, stmt->block));
    if (stmt->other) value_list_add(&sides, node_of_body(m->names, m->unit, stmt->other));
    return term_of(m, stmt->kind == FLAT_BOTH ? "and" : stmt->kind == FLAT_EITHER ? "or" : "not",
                   value_list_array(&sides));
}

static Value note_node(const NodeMaker *m, const FlatStmt *stmt)
{
    if (stmt->a) return call_node(m, name_ref(m, STR("trace")), &stmt->a, 1, NULL);
    FlatTerm list = { .kind = FLAT_ARRAY, .items = stmt->args, .count = stmt->arg_count };
    FlatTerm *args[] = { &list };
    return call_node(m, name_ref(m, STR("internal.print")), args, 1, NULL);
}

static Value terms_node(const NodeMaker *m, const FlatStmt *stmt)
{
    switch ((FlatStmtKind)stmt->kind) {
    case FLAT_TEST: return term_node(m, stmt->a);
    case FLAT_UNIFY:
    case FLAT_EQUAL: return equal_node(m, stmt);
    case FLAT_CALL:
        return call_node(m, callee_node(m, stmt->builtin, stmt->group), stmt->args, stmt->arg_count, stmt->out);
    case FLAT_NOT: return stmt->block->count == 1 ? terms_node(m, stmt->block->stmts[0]) : logic_node(m, stmt);
    case FLAT_BOTH:
    case FLAT_EITHER: return logic_node(m, stmt);
    case FLAT_EVERY: return every_node(m, stmt);
    case FLAT_NOTE: return note_node(m, stmt);
    }
    return value_null();
}

static Value target_node(const NodeMaker *m, const FlatTarget *target)
{
    Value value = target->value ? term_node(m, target->value) : callee_node(m, target->by_builtin, target->by_group);
    bool is_document = target->kind == FLAT_TARGET_INPUT || target->kind == FLAT_TARGET_DATA;
    const char *document = target->kind == FLAT_TARGET_INPUT ? "input" : "data";
    Value replaced = is_document ? path_ref(m, document, target->path, target->path_count)
                                 : callee_node(m, target->builtin, target->group);
    MemberList members = { .arena = m->arena };
    member_list_add(&members, STR("target"), replaced);
    member_list_add(&members, STR("value"), value);
    return member_list_object(&members);
}

static void withs_add(const NodeMaker *m, uint32_t with, ValueList *list)
{
    if (!with) return;
    const FlatWith *flat = &m->unit->withs[with];
    withs_add(m, flat->parent, list);
    for (uint32_t i = 0; i < flat->count; i++) value_list_add(list, target_node(m, &flat->targets[i]));
}

Value node_of_stmt(const Names *names, const FlatUnit *unit, const FlatStmt *stmt, size_t index)
{
    NodeMaker m = { names->arena, names, unit };
    MemberList members = { .arena = m.arena };
    ValueList withs = { .arena = m.arena };
    withs_add(&m, stmt->with, &withs);
    if (!stmt->is_main) member_list_add(&members, STR("generated"), value_bool(true));
    member_list_add(&members, STR("index"), value_int((int64_t)index));
    if (stmt->kind == FLAT_NOT) member_list_add(&members, STR("negated"), value_bool(true));
    member_list_add(&members, STR("terms"), terms_node(&m, stmt));
    if (withs.count) member_list_add(&members, STR("with"), value_list_array(&withs));
    return member_list_object(&members);
}

Value node_of_body(const Names *names, const FlatUnit *unit, const FlatBlock *block)
{
    ValueList list = { .arena = names->arena };
    for (size_t i = 0; i < block->count; i++) value_list_add(&list, node_of_stmt(names, unit, block->stmts[i], i));
    return value_list_array(&list);
}

Value node_of_branch(const Names *names, const FlatRule *flat, const FlatBranch *branch, const RegoRule *rule)
{
    NodeMaker m = { names->arena, names, &flat->unit };
    MemberList head = { .arena = m.arena }, members = { .arena = m.arena };
    ValueList args = { .arena = m.arena }, ref = { .arena = m.arena };
    const RegoHead *source = &rule->head;
    for (uint32_t i = 0; i < flat->arg_count; i++)
        value_list_add(&args, flat->args[i] ? term_node(&m, flat->args[i])
                                            : var_of(&m, node_var_name(names, &flat->unit, i)));
    uint32_t fixed = source->ref_count - branch->path_count;
    for (uint32_t i = 0; i < fixed; i++)
        value_list_add(&ref, i ? value_term(&m, source->ref[i]->value) : var_of(&m, source->ref[0]->name));
    for (uint32_t i = 0; i < branch->path_count; i++) value_list_add(&ref, term_node(&m, branch->path[i]));
    member_list_add(&head, STR("name"), value_string(source->ref[0]->name));
    if (args.count) member_list_add(&head, STR("args"), value_list_array(&args));
    if (branch->key) member_list_add(&head, STR("key"), term_node(&m, branch->key));
    if (branch->value) member_list_add(&head, STR("value"), term_node(&m, branch->value));
    if (source->flags & REGO_HEAD_ASSIGN) member_list_add(&head, STR("assign"), value_bool(true));
    member_list_add(&head, STR("ref"), value_list_array(&ref));
    if (rule->flags & REGO_RULE_DEFAULT) member_list_add(&members, STR("default"), value_bool(true));
    member_list_add(&members, STR("head"), member_list_object(&head));
    member_list_add(&members, STR("body"), node_of_body(names, &flat->unit, &branch->block));
    return member_list_object(&members);
}

/* --- as text ----------------------------------------------------------------------------------------------------- */

static void print_term(Buf *buf, Value term);

static Str type_of(Value term)
{
    return value_get_string(term, "type", (Str){ 0 });
}

static Value member_of(Value object, const char *name)
{
    const Value *found = value_get_text(object, name);
    return found ? *found : value_null();
}

static void print_list(Buf *buf, Value list, uint32_t from)
{
    for (uint32_t i = from; i < list.count; i++) {
        if (i > from) buf_text(buf, ", ");
        print_term(buf, list.items[i]);
    }
}

static void print_ref(Buf *buf, Value ref)
{
    for (uint32_t i = 0; i < ref.count; i++) {
        Value item = ref.items[i];
        Value value = member_of(item, "value");
        if (i == 0) {
            print_term(buf, item);
        } else if (str_is_text(type_of(item), "string") && rego_name_is_plain(value_text(value))) {
            buf_char(buf, '.');
            buf_str(buf, value_text(value));
        } else {
            buf_char(buf, '[');
            print_term(buf, item);
            buf_char(buf, ']');
        }
    }
}

static void print_pairs(Buf *buf, Value pairs)
{
    for (uint32_t i = 0; i < pairs.count; i++) {
        if (i) buf_text(buf, ", ");
        print_term(buf, pairs.items[i].items[0]);
        buf_text(buf, ": ");
        print_term(buf, pairs.items[i].items[1]);
    }
}

static void print_comprehension(Buf *buf, Value value)
{
    const Value *key = value_get_text(value, "key");
    if (key) {
        print_term(buf, *key);
        buf_text(buf, ": ");
    }
    print_term(buf, member_of(value, key ? "value" : "term"));
    Value body = member_of(value, "body");
    buf_text(buf, body.count ? " | " : " | true");
    rego_node_print(buf, body);
}

static void print_sides(Buf *buf, Value sides, Str sign)
{
    for (uint32_t i = 0; i < sides.count; i++) {
        if (i) buf_format(buf, " %.*s ", STR_ARG(sign));
        buf_text(buf, "{ ");
        rego_node_print(buf, sides.items[i]);
        buf_text(buf, " }");
    }
}

static void print_wrapped(Buf *buf, const char *signs, void (*print)(Buf *, Value), Value value)
{
    buf_char(buf, signs[0]);
    print(buf, value);
    buf_char(buf, signs[1]);
}

static void print_items(Buf *buf, Value items)
{
    print_list(buf, items, 0);
}

static void print_var(Buf *buf, Value name)
{
    Str text = value_text(name);
    buf_str(buf, text.len && text.ptr[0] == '$' ? STR("_") : text);
}

static void print_set(Buf *buf, Value items)
{
    if (items.count) print_wrapped(buf, "{}", print_items, items);
    else buf_text(buf, "set()");
}

static void print_term(Buf *buf, Value term)
{
    static const struct { const char *type; const char *signs; void (*print)(Buf *, Value); } printers[] = {
        { "var", NULL, print_var },
        { "ref", NULL, print_ref },
        { "array", "[]", print_items },
        { "set", NULL, print_set },
        { "object", "{}", print_pairs },
        { "arraycomprehension", "[]", print_comprehension },
        { "setcomprehension", "{}", print_comprehension },
        { "objectcomprehension", "{}", print_comprehension },
    };
    Str type = type_of(term);
    Value value = member_of(term, "value");
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++) {
        if (!str_is_text(type, printers[i].type)) continue;
        if (printers[i].signs) print_wrapped(buf, printers[i].signs, printers[i].print, value);
        else printers[i].print(buf, value);
        return;
    }
    if (str_is_text(type, "and") || str_is_text(type, "or") || str_is_text(type, "not")) print_sides(buf, value, type);
    else if (value.kind == VALUE_STRING) rego_print_quoted(buf, value_text(value));
    else format_value(buf, value);
}

static void print_every(Buf *buf, Value every)
{
    Value key = member_of(every, "key");
    buf_text(buf, "every ");
    if (key.kind != VALUE_NULL) {
        print_term(buf, key);
        buf_text(buf, ", ");
    }
    print_term(buf, member_of(every, "value"));
    buf_text(buf, " in ");
    print_term(buf, member_of(every, "domain"));
    buf_text(buf, " { ");
    rego_node_print(buf, member_of(every, "body"));
    buf_text(buf, " }");
}

static void print_call(Buf *buf, Value terms)
{
    Value callee = member_of(terms.items[0], "value");
    bool is_equality = callee.count == 1 && str_is_text(value_get_string(callee.items[0], "value", (Str){ 0 }), "eq");
    if (is_equality && terms.count == 3) {
        print_term(buf, terms.items[1]);
        buf_text(buf, " = ");
        print_term(buf, terms.items[2]);
        return;
    }
    print_ref(buf, callee);
    buf_char(buf, '(');
    print_list(buf, terms, 1);
    buf_char(buf, ')');
}

static void print_expr(Buf *buf, Value expr)
{
    Value terms = member_of(expr, "terms"), withs = member_of(expr, "with");
    if (value_get_bool(expr, "negated", false)) buf_text(buf, "not ");
    if (terms.kind == VALUE_ARRAY) print_call(buf, terms);
    else if (value_get_text(terms, "domain")) print_every(buf, terms);
    else print_term(buf, terms);
    for (uint32_t i = 0; withs.kind == VALUE_ARRAY && i < withs.count; i++) {
        buf_text(buf, " with ");
        print_term(buf, member_of(withs.items[i], "target"));
        buf_text(buf, " as ");
        print_term(buf, member_of(withs.items[i], "value"));
    }
}

void rego_node_print(Buf *buf, Value node)
{
    if (node.kind != VALUE_ARRAY) {
        print_expr(buf, node);
        return;
    }
    for (uint32_t i = 0; i < node.count; i++) {
        if (i) buf_text(buf, "; ");
        print_expr(buf, node.items[i]);
    }
}
