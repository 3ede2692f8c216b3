#include "base/limits.h"
#include "base/map.h"
#include "rego/flatten.h"
#include "rego/print.h"

/* --- which annotations belong to a rule -------------------------------------------------------------------------- */

static bool rules_share_path(const RegoRule *a, const RegoRule *b)
{
    if (a->head.ref_count != b->head.ref_count || !str_is(a->head.ref[0]->name, b->head.ref[0]->name)) return false;
    for (uint32_t i = 1; i < a->head.ref_count; i++) {
        const RegoTerm *x = a->head.ref[i], *y = b->head.ref[i];
        if (rego_term_is_string(x) != rego_term_is_string(y)) return false;
        if (rego_term_is_string(x) && !value_equals(x->value, y->value)) return false;
    }
    return true;
}

static Value path_value(Arena *arena, const RegoModule *module, const RegoHead *head)
{
    ValueList list = { .arena = arena };
    value_list_add(&list, value_string(STR("data")));
    list.count = 0;
    for (uint32_t i = 1; i < module->package->count; i++) value_list_add(&list, module->package->items[i]->value);
    for (uint32_t i = 0; head && i < head->ref_count; i++) {
        const RegoTerm *item = head->ref[i];
        if (i > 0 && !rego_term_is_string(item)) break;
        value_list_add(&list, i == 0 ? value_string(item->name) : item->value);
    }
    return value_list_array(&list);
}

static void chain_add(Arena *arena, ValueList *chain, Value annotations, Value path)
{
    MemberList list = { .arena = arena };
    if (rego_is_defined(annotations)) member_list_add(&list, STR("annotations"), annotations);
    member_list_add(&list, STR("path"), path);
    value_list_add(chain, member_list_object(&list));
}

static const RegoAnnotation *annotation_find(const RegoModule *module, const RegoRule *rule, RegoScope scope)
{
    for (uint32_t i = 0; i < module->annotation_count; i++) {
        const RegoAnnotation *annotation = &module->annotations[i];
        if (annotation->scope != scope) continue;
        if (scope == REGO_SCOPE_RULE && annotation->rule == rule) return annotation;
        if (scope == REGO_SCOPE_DOCUMENT && annotation->rule && rules_share_path(annotation->rule, rule))
            return annotation;
        if (scope == REGO_SCOPE_PACKAGE) return annotation;
    }
    return NULL;
}

static bool same_package(const RegoModule *a, const RegoModule *b, uint32_t count)
{
    if (b->package->count != count) return false;
    for (uint32_t i = 1; i < count; i++)
        if (!value_equals(a->package->items[i]->value, b->package->items[i]->value)) return false;
    return true;
}

static void chain_add_packages(Flattener *f, ValueList *chain)
{
    const RegoModule *module = f->names->module;
    const RegoPolicy *policy = f->names->policy;
    for (uint32_t count = module->package->count; count >= 1; count--) {
        RegoTerm package = *module->package;
        package.count = count;
        const RegoModule shortened = { .package = &package };
        Value path = path_value(f->arena, &shortened, NULL);
        if (count == module->package->count) {
            for (uint32_t m = 0; m < policy->module_count; m++) {
                if (!same_package(module, policy->modules[m], count)) continue;
                const RegoAnnotation *found = annotation_find(policy->modules[m], NULL, REGO_SCOPE_PACKAGE);
                if (found) chain_add(f->arena, chain, found->value, path);
            }
        }
        for (uint32_t m = 0; m < policy->module_count; m++) {
            if (!same_package(module, policy->modules[m], count)) continue;
            for (uint32_t i = 0; i < policy->modules[m]->annotation_count; i++)
                if (policy->modules[m]->annotations[i].scope == REGO_SCOPE_SUBPACKAGES)
                    chain_add(f->arena, chain, policy->modules[m]->annotations[i].value, path);
        }
    }
}

/* --- whether there is one for each thing at most ----------------------------------------------------------------- */

/* What it belongs to, as a text that no other thing has; of a rule the part of its name that is known. */
static Str annotation_subject(Arena *arena, const RegoModule *module, const RegoAnnotation *annotation)
{
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    buf_format(&buf, "%s ", rego_scope_name(annotation->scope));
    rego_print_term(&buf, module->package, REGO_PRINT_CALLS);
    if (annotation->scope == REGO_SCOPE_DOCUMENT) {
        const RegoHead *head = &annotation->rule->head;
        uint32_t count = 1;
        while (count < head->ref_count && rego_term_is_ground(head->ref[count])) count++;
        buf_char(&buf, ' ');
        rego_print_ref(&buf, head->ref, count, REGO_PRINT_CALLS);
    }
    Str subject = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return subject;
}

void annotations_check(RegoPolicy *policy, RegoErrors *errors)
{
    typedef struct Declared { Str file; RegoLoc loc; } Declared;
    uint32_t count = 0;
    for (uint32_t m = 0; m < policy->module_count; m++) count += policy->modules[m]->annotation_count;
    Declared *declared = ARENA_ARRAY(&policy->arena, Declared, count + 1u);
    Map seen;
    map_init(&seen, &policy->arena, count);
    count = 0;
    for (uint32_t m = 0; m < policy->module_count; m++) {
        const RegoModule *module = policy->modules[m];
        for (uint32_t i = 0; i < module->annotation_count; i++) {
            const RegoAnnotation *annotation = &module->annotations[i];
            if (annotation->scope == REGO_SCOPE_RULE) continue;
            uint32_t first = 0;
            declared[count] = (Declared){ module->file, annotation->loc };
            bool is_new = map_add(&seen, annotation_subject(&policy->arena, module, annotation), count, &first);
            if (!is_new)
                rego_errors_add(errors, REGO_ERROR_TYPE, module->file, annotation->loc, "%s annotation redeclared: %.*s:%u",
                                rego_scope_name(annotation->scope), STR_ARG(declared[first].file), declared[first].loc.row);
            count++;
        }
    }
}

/* --- what a call gives ------------------------------------------------------------------------------------------- */

/* Those of the rule itself: an `else` has none. */
static const RegoAnnotation *annotation_own(const Flattener *f)
{
    return annotation_find(f->names->module, f->branch, REGO_SCOPE_RULE);
}

static Value metadata_chain(Flattener *f)
{
    const RegoModule *module = f->names->module;
    const RegoRule *rule = f->names->rule;
    ValueList chain = { .arena = f->arena };
    Value path = path_value(f->arena, module, &rule->head);
    const RegoAnnotation *own = annotation_own(f);
    chain_add(f->arena, &chain, own ? own->value : rego_undefined(), path);
    for (uint32_t m = 0; m < f->names->policy->module_count; m++) {
        const RegoModule *other = f->names->policy->modules[m];
        if (!same_package(module, other, module->package->count)) continue;
        const RegoAnnotation *document = annotation_find(other, rule, REGO_SCOPE_DOCUMENT);
        if (document) chain_add(f->arena, &chain, document->value, path);
    }
    chain_add_packages(f, &chain);
    return value_list_array(&chain);
}

static Value metadata_rule(Flattener *f)
{
    const RegoAnnotation *found = annotation_own(f);
    return found ? found->value : (Value){ .kind = VALUE_OBJECT };
}

/* Messages show the call, not what it answers. */
static FlatTerm *metadata_var(Flattener *f, const Builtin *builtin, Value value, RegoLoc loc)
{
    FlatTerm *var = flat_fresh(f, loc);
    FlatStmt *call = ARENA_NEW(f->arena, FlatStmt);
    *call = (FlatStmt){ .kind = FLAT_CALL, .builtin = builtin, .loc = loc };
    f->unit->vars[var->var].call = call;
    FlatStmt *stmt = flat_add(f, FLAT_UNIFY, loc);
    stmt->a = var;
    stmt->b = flat_const(f, value, loc);
    stmt->is_assign = true;
    return var;
}

FlatTerm *flat_metadata(Flattener *f, const RegoTerm *call)
{
    if (call->count != 1 || !f->names->rule || !f->names->module) return NULL;
    Str name = rego_call_name(f->arena, call);
    bool is_rule = str_is(name, STR("rego.metadata.rule"));
    if (!is_rule && !str_is(name, STR("rego.metadata.chain"))) return NULL;
    if (flat_name_is_taken(f, call->items[0]) || scope_declares(f, STR("rego"))) return NULL;
    return metadata_var(f, builtin_find(name), is_rule ? metadata_rule(f) : metadata_chain(f), call->loc);
}
