/* The rules for queries, but for the two that have a file of their own. In each table they stand in the order of the names
 * that they have in the specification. */
#include <string.h>

#include "rego/graphql/check.h"
#include "rego/graphql/message.h"

#define TYPE_TEXT_SIZE 256u

static const char *type_text(const GqlType *type, char text[TYPE_TEXT_SIZE])
{
    Buf buf = buf_on(text, TYPE_TEXT_SIZE - 1);
    gql_type_print(&buf, type);
    text[buf.len] = '\0';
    return text;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

typedef struct TypeCount {
    Str name;
    uint32_t uses;
} TypeCount;

/* Interfaces that are used more often come first, then the order of names. */
static void type_count_insert(TypeCount *types, uint32_t *count, TypeCount type)
{
    uint32_t at = (*count)++;
    while (at > 0 && (types[at - 1].uses < type.uses
                      || (types[at - 1].uses == type.uses && str_compare(types[at - 1].name, type.name) > 0))) {
        types[at] = types[at - 1];
        at--;
    }
    types[at] = type;
}

/* The types among those possible here that have the field; false where none has. */
static bool suggest_types(GqlCheck *check, const GqlDefinition *parent, Str name)
{
    bool is_abstract = gql_is(parent, "INTERFACE") || gql_is(parent, "UNION");
    if (!is_abstract || !gql_check_spend(check, parent->possible.count)) return false;
    TypeCount *interfaces = ARENA_ARRAY(check->arena, TypeCount, 64), *sorted = ARENA_ARRAY(check->arena, TypeCount, 128);
    uint32_t interface_count = 0, count = 0;
    for (uint32_t i = 0; i < parent->possible.count; i++) {
        const GqlDefinition *possible = parent->possible.items[i];
        if (!gql_field_find(&possible->fields, name)) continue;
        if (count < 64) type_count_insert(sorted, &count, (TypeCount){ possible->name, 0 });
        for (uint32_t j = 0; j < possible->interfaces.count; j++) {
            Str interface_name = possible->interfaces.items[j];
            const GqlDefinition *interface = gql_schema_type(check->schema, interface_name);
            if (!interface || !gql_field_find(&interface->fields, name)) continue;
            uint32_t k = 0;
            while (k < interface_count && !str_is(interfaces[k].name, interface_name)) k++;
            if (k == 64) continue;
            if (k == interface_count) interfaces[interface_count++] = (TypeCount){ interface_name, 0 };
            interfaces[k].uses++;
        }
    }
    /* A type that is itself one of the interfaces counts as often as that one. */
    TypeCount *all = ARENA_ARRAY(check->arena, TypeCount, 128);
    uint32_t all_count = 0;
    for (uint32_t i = 0; i < interface_count; i++) type_count_insert(all, &all_count, interfaces[i]);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < interface_count; k++)
            if (str_is(interfaces[k].name, sorted[i].name)) sorted[i].uses = interfaces[k].uses;
        type_count_insert(all, &all_count, sorted[i]);
    }
    if (all_count == 0) return false;
    Str names[5];
    for (uint32_t i = 0; i < all_count && i < 5; i++) names[i] = all[i].name;
    buf_text(&check->messages, " Did you mean to use an inline fragment on ");
    gql_or_list(&check->messages, names, all_count, true);
    buf_char(&check->messages, '?');
    return true;
}

static void rule_fields_on_correct_type(GqlCheck *check, GqlSelection *field)
{
    if (!field->parent || field->field) return;
    const GqlDefinition *parent = field->parent;
    gql_violation_begin(check, field->place);
    buf_format(&check->messages, "Cannot query field \"%.*s\" on type \"%.*s\".", STR_ARG(field->name),
               STR_ARG(parent->name));
    if (!suggest_types(check, parent, field->name) && (gql_is(parent, "OBJECT") || gql_is(parent, "INTERFACE")))
        gql_violation_suggest(check, "Did you mean", field->name, gql_field_names(check->arena, &parent->fields),
                              parent->fields.count, true);
    gql_violation_end(check);
}

static void rule_known_field_arguments(GqlCheck *check, GqlSelection *field)
{
    if (!field->field || !field->parent) return;
    for (uint32_t i = 0; i < field->arguments.count; i++) {
        const GqlArgument *argument = field->arguments.items[i];
        if (gql_field_find(&field->field->arguments, argument->name)) continue;
        gql_violation_begin(check, field->place);
        buf_format(&check->messages, "Unknown argument \"%.*s\" on field \"%.*s.%.*s\".", STR_ARG(argument->name),
                   STR_ARG(field->parent->name), STR_ARG(field->name));
        gql_violation_suggest(check, "Did you mean", argument->name,
                              gql_field_names(check->arena, &field->field->arguments), field->field->arguments.count, true);
        gql_violation_end(check);
    }
}

/* Lists inside lists of the description of a schema, fragments followed; a fragment does not count inside itself. */
static bool introspection_is_deep(GqlCheck *check, const GqlSelection *selection, unsigned lists)
{
    static const char *const names[] = { "fields", "interfaces", "possibleTypes", "inputFields" };
    enum { LISTS_MAX = 3 };
    static const GqlList nothing = { 0 };
    const GqlList *inner = &selection->selections;
    GqlFragment *fragment = NULL;
    if (!gql_check_spend(check, 1) || !gql_check_enter(check)) return false;
    bool deep = false;
    if (selection->kind == GQL_FIELD) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (str_is_text(selection->name, names[i])) lists++;
        deep = lists >= LISTS_MAX;
    } else if (selection->kind == GQL_SPREAD) {
        fragment = selection->fragment;
        inner = fragment && !fragment->is_in_cycle_search ? &fragment->selections : &nothing;
    }
    bool entered = fragment && !fragment->is_in_cycle_search;
    if (entered) fragment->is_in_cycle_search = true;
    for (uint32_t i = 0; i < inner->count && !deep && !check->status; i++)
        deep = introspection_is_deep(check, inner->items[i], lists);
    if (entered) fragment->is_in_cycle_search = false;
    gql_check_leave(check);
    return deep;
}

static void rule_max_introspection_depth(GqlCheck *check, GqlSelection *field)
{
    if (!str_is(field->name, STR("__schema")) && !str_is(field->name, STR("__type"))) return;
    if (introspection_is_deep(check, field, 0)) gql_violation(check, field->place, "Maximum introspection depth exceeded");
}

static void rule_field_overlaps(GqlCheck *check, GqlSelection *field)
{
    /* Fragments are looked at by themselves; from an operation their fields would be met twice. */
    if (check->operation) gql_rule_overlapping_fields(check, &field->selections);
}

/* Calls for each argument that has to be given and is not. */
static void required_arguments(GqlCheck *check, const GqlList *definitions, const GqlList *arguments, const char *noun,
                               Str name, GqlPlace place)
{
    for (uint32_t i = 0; i < definitions->count; i++) {
        const GqlField *definition = definitions->items[i];
        if (!definition->type->non_null || definition->default_value || gql_argument_find(arguments, definition->name))
            continue;
        char text[TYPE_TEXT_SIZE];
        gql_violation(check, place, "%s%.*s\" argument \"%.*s\" of type \"%s\" is required, but it was not provided.", noun,
                      STR_ARG(name), STR_ARG(definition->name), type_text(definition->type, text));
    }
}

static void rule_required_field_arguments(GqlCheck *check, GqlSelection *field)
{
    if (field->field)
        required_arguments(check, &field->field->arguments, &field->arguments, "Field \"", field->name, field->place);
}

static void rule_scalar_leafs(GqlCheck *check, GqlSelection *field)
{
    const GqlDefinition *type = field->field ? gql_schema_type(check->schema, gql_type_name(field->field->type)) : NULL;
    if (!type) return;
    char text[TYPE_TEXT_SIZE];
    bool is_leaf = gql_is_leaf(type), is_empty = field->selections.count == 0;
    if (is_leaf && !is_empty)
        gql_violation(check, field->place, "Field \"%.*s\" must not have a selection since type \"%.*s\" has no subfields.",
                      STR_ARG(field->name), STR_ARG(type->name));
    if (!is_leaf && is_empty)
        gql_violation(check, field->place,
                      "Field \"%.*s\" of type \"%s\" must have a selection of subfields. Did you mean \"%.*s { ... }\"?",
                      STR_ARG(field->name), type_text(field->field->type, text), STR_ARG(field->name));
}

static void unique_arguments(GqlCheck *check, const GqlList *arguments)
{
    for (uint32_t i = 0; i < arguments->count && gql_check_spend(check, 1 + i / 8); i++) {
        const GqlArgument *argument = arguments->items[i];
        uint32_t before = 0;
        for (uint32_t j = 0; j < i; j++)
            before += str_is(((const GqlArgument *)arguments->items[j])->name, argument->name);
        if (before == 1)        /* said once, however often it is repeated */
            gql_violation(check, argument->place, "There can be only one argument named \"%.*s\".", STR_ARG(argument->name));
    }
}

static void rule_unique_field_arguments(GqlCheck *check, GqlSelection *field)
{
    unique_arguments(check, &field->arguments);
}

/* --- fragments ---------------------------------------------------------------------------------------------------- */

static void rule_inline_on_composite_type(GqlCheck *check, GqlSelection *fragment)
{
    const GqlDefinition *type = gql_schema_type(check->schema, fragment->type_condition);
    if (type && !gql_is_composite(type))
        gql_violation(check, fragment->place, "Fragment cannot condition on non composite type \"%.*s\".",
                      STR_ARG(fragment->type_condition));
}

static void rule_known_inline_type(GqlCheck *check, GqlSelection *fragment)
{
    if (fragment->type_condition.len && !gql_schema_type(check->schema, fragment->type_condition))
        gql_violation(check, fragment->place, "Unknown type \"%.*s\".", STR_ARG(fragment->type_condition));
}

static void rule_inline_overlaps(GqlCheck *check, GqlSelection *fragment)
{
    gql_rule_overlapping_fields(check, &fragment->selections);
}

/* Whether an object of the parent type may be of the fragment's type. What is unknown is reported elsewhere. */
static bool is_possible(GqlCheck *check, const GqlDefinition *parent, Str type_name)
{
    const GqlDefinition *type = gql_schema_type(check->schema, type_name);
    if (!parent || !gql_is_composite(parent) || !type || !gql_is_composite(type)) return true;
    const GqlList *parents = &parent->possible;
    if (!gql_check_spend(check, 1 + (uint64_t)type->possible.count * parents->count / 8)) return true;
    for (uint32_t i = 0; i < type->possible.count; i++)
        for (uint32_t j = 0; j < parents->count; j++)
            if (type->possible.items[i] == parents->items[j]) return true;
    return false;
}

static void rule_possible_inline(GqlCheck *check, GqlSelection *fragment)
{
    if (!is_possible(check, fragment->parent, fragment->type_condition))
        gql_violation(check, fragment->place,
                      "Fragment cannot be spread here as objects of type \"%.*s\" can never be of type \"%.*s\".",
                      STR_ARG(fragment->parent->name), STR_ARG(fragment->type_condition));
}

static void rule_known_fragment_names(GqlCheck *check, GqlSelection *spread)
{
    if (!spread->fragment) gql_violation(check, spread->place, "Unknown fragment \"%.*s\".", STR_ARG(spread->name));
}

static void rule_note_used_fragment(GqlCheck *check, GqlSelection *spread)
{
    if (!check->in_fragments && spread->fragment) spread->fragment->is_used = true;
}

static void rule_possible_spread(GqlCheck *check, GqlSelection *spread)
{
    if (spread->fragment && !is_possible(check, spread->parent, spread->fragment->type_condition))
        gql_violation(check, spread->place,
                      "Fragment \"%.*s\" cannot be spread here as objects of type \"%.*s\" can never be of type \"%.*s\".",
                      STR_ARG(spread->name), STR_ARG(spread->parent->name), STR_ARG(spread->fragment->type_condition));
}

static void rule_fragment_on_composite_type(GqlCheck *check, GqlFragment *fragment)
{
    if (fragment->definition && fragment->type_condition.len && !gql_is_composite(fragment->definition))
        gql_violation(check, fragment->place, "Fragment \"%.*s\" cannot condition on non composite type \"%.*s\".",
                      STR_ARG(fragment->name), STR_ARG(fragment->type_condition));
}

static void rule_known_fragment_type(GqlCheck *check, GqlFragment *fragment)
{
    if (gql_schema_type(check->schema, fragment->type_condition)) return;
    const GqlList *types = &check->schema->types;
    Str *names = ARENA_ARRAY(check->arena, Str, types->count);
    for (uint32_t i = 0; i < types->count; i++) names[i] = ((const GqlDefinition *)types->items[i])->name;
    gql_violation_begin(check, fragment->place);
    buf_format(&check->messages, "Unknown type \"%.*s\".", STR_ARG(fragment->type_condition));
    gql_violation_suggest(check, "Did you mean", fragment->type_condition, names, types->count, true);
    gql_violation_end(check);
}

/* The spreads of a fragment. Sets are taken from the last to the first, as the rule in OPA does. */
static GqlList spreads_of(GqlCheck *check, const GqlList *selections)
{
    GqlList spreads = { 0 }, sets = { 0 };
    gql_list_add(check->arena, &sets, (void *)selections);
    while (sets.count > 0 && gql_check_spend(check, 1)) {
        const GqlList *set = sets.items[--sets.count];
        for (uint32_t i = 0; i < set->count; i++) {
            GqlSelection *selection = set->items[i];
            if (selection->kind == GQL_SPREAD) gql_list_add(check->arena, &spreads, selection);
            else gql_list_add(check->arena, &sets, &selection->selections);
        }
    }
    return spreads;
}

typedef struct CycleSearch {
    GqlCheck *check;
    Map visited;                        /* names of fragments searched before */
    const GqlFragment **path;           /* fragments on the way */
    const GqlSelection **spreads;       /* the spread that led from each to the next */
    uint32_t depth;
} CycleSearch;

static void cycle_report(CycleSearch *search, uint32_t from, const GqlSelection *spread)
{
    GqlCheck *check = search->check;
    gql_violation_begin(check, spread->place);
    buf_format(&check->messages, "Cannot spread fragment \"%.*s\" within itself", STR_ARG(spread->name));
    for (uint32_t i = from; i + 1 < search->depth; i++)
        buf_format(&check->messages, "%s\"%.*s\"", i == from ? " via " : ", ", STR_ARG(search->spreads[i]->name));
    buf_char(&check->messages, '.');
    gql_violation_end(check);
}

static void cycle_search(CycleSearch *search, const GqlFragment *fragment)
{
    GqlCheck *check = search->check;
    if (!map_add(&search->visited, fragment->name, 0, NULL)) return;
    GqlList spreads = spreads_of(check, &fragment->selections);
    if (!spreads.count || !gql_check_enter(check)) return;
    search->path[search->depth++] = fragment;
    for (uint32_t i = 0; i < spreads.count && gql_check_spend(check, 1 + search->depth); i++) {
        const GqlSelection *spread = spreads.items[i];
        search->spreads[search->depth - 1] = spread;
        uint32_t at = 0;
        while (at < search->depth && !str_is(search->path[at]->name, spread->name)) at++;
        const GqlFragment *next = gql_fragment_find(check, spread->name);
        if (at < search->depth) cycle_report(search, at, spread);
        else if (next) cycle_search(search, next);
    }
    search->depth--;
    gql_check_leave(check);
}

/* One search for all fragments: what one has visited, the next passes over. */
static CycleSearch *cycle_search_of(GqlCheck *check)
{
    if (!check->cycles) {
        CycleSearch *search = ARENA_NEW(check->arena, CycleSearch);
        search->check = check;
        map_init(&search->visited, check->arena, check->query->fragments.count);
        search->path = ARENA_ARRAY(check->arena, const GqlFragment *, check->query->fragments.count + 1);
        search->spreads = ARENA_ARRAY(check->arena, const GqlSelection *, check->query->fragments.count + 1);
        check->cycles = search;
    }
    return check->cycles;
}

static void rule_no_fragment_cycles(GqlCheck *check, GqlFragment *fragment)
{
    cycle_search(cycle_search_of(check), fragment);
}

static void rule_no_unused_fragments(GqlCheck *check, GqlFragment *fragment)
{
    check->in_fragments = true;
    const GqlFragment *first = gql_fragment_find(check, fragment->name);
    if (!first->is_used) gql_violation(check, fragment->place, "Fragment \"%.*s\" is never used.", STR_ARG(fragment->name));
}

static void rule_fragment_overlaps(GqlCheck *check, GqlFragment *fragment)
{
    gql_rule_overlapping_fields(check, &fragment->selections);
}

static void rule_unique_fragment_names(GqlCheck *check, GqlFragment *fragment)
{
    if (!map_add(&check->fragments_seen, fragment->name, 0, NULL))
        gql_violation(check, fragment->place, "There can be only one fragment named \"%.*s\".", STR_ARG(fragment->name));
}

/* --- directives --------------------------------------------------------------------------------------------------- */

static void rule_known_directive_arguments(GqlCheck *check, GqlDirective *directive)
{
    const GqlDirectiveDefinition *definition = directive->definition;
    for (uint32_t i = 0; definition && i < directive->arguments.count; i++) {
        const GqlArgument *argument = directive->arguments.items[i];
        if (gql_field_find(&definition->arguments, argument->name)) continue;
        gql_violation_begin(check, directive->place);
        buf_format(&check->messages, "Unknown argument \"%.*s\" on directive \"@%.*s\".", STR_ARG(argument->name),
                   STR_ARG(directive->name));
        gql_violation_suggest(check, "Did you mean", argument->name, gql_field_names(check->arena, &definition->arguments),
                              definition->arguments.count, true);
        gql_violation_end(check);
    }
}

static void rule_known_directives(GqlCheck *check, GqlDirective *directive)
{
    if (!directive->definition) {
        gql_violation(check, directive->place, "Unknown directive \"@%.*s\".", STR_ARG(directive->name));
        return;
    }
    if (gql_names_have(&directive->definition->locations, directive->location) || directive->is_reported) return;
    directive->is_reported = true;
    gql_violation(check, directive->place, "Directive \"@%.*s\" may not be used on %.*s.", STR_ARG(directive->name),
                  STR_ARG(directive->location));
}

static void rule_required_directive_arguments(GqlCheck *check, GqlDirective *directive)
{
    if (directive->definition)
        required_arguments(check, &directive->definition->arguments, &directive->arguments, "Directive \"@",
                           directive->name, directive->place);
}

static void rule_unique_directive_arguments(GqlCheck *check, GqlDirective *directive)
{
    unique_arguments(check, &directive->arguments);
}

void gql_rules_directives(GqlCheck *check, const GqlList *directives)
{
    for (uint32_t i = 0; i < directives->count; i++) {
        const GqlDirective *directive = directives->items[i];
        if (directive->definition && directive->definition->is_repeatable) continue;
        for (uint32_t j = 0; j < i; j++) {
            if (!str_is(((const GqlDirective *)directives->items[j])->name, directive->name)) continue;
            gql_violation(check, directive->place, "The directive \"@%.*s\" can only be used once at this location.",
                          STR_ARG(directive->name));
            break;
        }
    }
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static void rule_no_undefined_variables(GqlCheck *check, GqlValue *value)
{
    if (!check->operation || value->kind != GQL_VARIABLE || value->variable) return;
    Str name = check->operation->name;
    if (name.len)
        gql_violation(check, value->place, "Variable \"$%.*s\" is not defined by operation \"%.*s\".", STR_ARG(value->raw),
                      STR_ARG(name));
    else
        gql_violation(check, value->place, "Variable \"$%.*s\" is not defined.", STR_ARG(value->raw));
}

static void rule_unique_input_field_names(GqlCheck *check, GqlValue *value)
{
    if (value->kind != GQL_OBJECT) return;
    for (uint32_t i = 0; i < value->children.count && gql_check_spend(check, 1 + i / 8); i++) {
        const GqlChild *child = value->children.items[i];
        for (uint32_t j = 0; j < i; j++) {
            if (!str_is(((const GqlChild *)value->children.items[j])->name, child->name)) continue;
            gql_violation(check, child->place, "There can be only one input field named \"%.*s\".", STR_ARG(child->name));
            break;
        }
    }
}

static void rule_variable_in_allowed_position(GqlCheck *check, GqlValue *value)
{
    if (value->kind != GQL_VARIABLE || !value->expected || !value->variable || !check->operation) return;
    const GqlVariable *variable = value->variable;
    GqlType expected = *value->expected;
    bool has_default = variable->default_value && variable->default_value->kind != GQL_NULL;
    if (has_default || value->expected_has_default) expected.non_null = false;
    if (gql_type_is_compatible(variable->type, &expected)) return;
    char own[TYPE_TEXT_SIZE], wanted[TYPE_TEXT_SIZE];
    gql_violation(check, value->place, "Variable \"$%.*s\" of type \"%s\" used in position expecting type \"%s\".",
                  STR_ARG(value->raw), type_text(variable->type, own), type_text(value->expected, wanted));
}

static bool is_one_of(const GqlDefinition *definition)
{
    for (uint32_t i = 0; i < definition->directives.count; i++)
        if (str_is(((const GqlDirective *)definition->directives.items[i])->name, STR("oneOf"))) return true;
    return false;
}

static void rule_variable_in_one_of(GqlCheck *check, GqlValue *value)
{
    if (value->kind != GQL_OBJECT || !value->definition || !is_one_of(value->definition)) return;
    for (uint32_t i = 0; i < value->children.count; i++) {
        const GqlValue *inner = ((const GqlChild *)value->children.items[i])->value;
        if (inner->kind != GQL_VARIABLE || !inner->variable || inner->variable->type->non_null) continue;
        char text[TYPE_TEXT_SIZE];
        gql_violation(check, inner->variable->place,
                      "Variable \"$%.*s\" is of type \"%s\" but must be non-nullable to be used for OneOf Input Object "
                      "\"%.*s\".",
                      STR_ARG(inner->raw), type_text(inner->variable->type, text), STR_ARG(value->definition->name));
    }
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static void rule_known_root_type(GqlCheck *check, GqlOperation *operation)
{
    if (!gql_schema_root(check->schema, operation->operation))
        gql_violation(check, operation->place, "Schema does not support operation type \"%.*s\"",
                      STR_ARG(operation->operation));
}

static void rule_lone_anonymous_operation(GqlCheck *check, GqlOperation *operation)
{
    if (!operation->name.len && check->query->operations.count > 1)
        gql_violation(check, operation->place, "This anonymous operation must be the only defined operation.");
}

static void rule_no_unused_variables(GqlCheck *check, GqlOperation *operation)
{
    for (uint32_t i = 0; i < operation->variables.count; i++) {
        const GqlVariable *variable = operation->variables.items[i];
        if (variable->is_used) continue;
        if (operation->name.len)
            gql_violation(check, variable->place, "Variable \"$%.*s\" is never used in operation \"%.*s\".",
                          STR_ARG(variable->name), STR_ARG(operation->name));
        else
            gql_violation(check, variable->place, "Variable \"$%.*s\" is never used.", STR_ARG(variable->name));
    }
}

static void rule_operation_overlaps(GqlCheck *check, GqlOperation *operation)
{
    gql_rule_overlapping_fields(check, &operation->selections);
}

/* Fields at the top of a subscription, fragments followed once each; a fragment that nobody knows ends its level. */
static void top_fields(GqlCheck *check, const GqlList *selections, Map *seen_fragments, Map *seen_names, GqlList *out_fields)
{
    if (gql_check_enter(check))
        for (uint32_t i = 0; i < selections->count && gql_check_spend(check, 1); i++) {
            GqlSelection *selection = selections->items[i];
            if (selection->kind == GQL_FIELD) {
                if (map_add(seen_names, selection->name, 0, NULL)) gql_list_add(check->arena, out_fields, selection);
            } else if (selection->kind == GQL_INLINE) {
                top_fields(check, &selection->selections, seen_fragments, seen_names, out_fields);
            } else if (!selection->fragment) {
                break;
            } else if (map_add(seen_fragments, selection->fragment->name, 0, NULL)) {
                top_fields(check, &selection->fragment->selections, seen_fragments, seen_names, out_fields);
            }
        }
    gql_check_leave(check);
}

static void rule_single_field_subscriptions(GqlCheck *check, GqlOperation *operation)
{
    if (!check->schema->subscription || !str_is(operation->operation, STR("subscription"))) return;
    Map fragments, names;
    GqlList fields = { 0 };
    map_init(&fragments, check->arena, 0);
    map_init(&names, check->arena, 0);
    top_fields(check, &operation->selections, &fragments, &names, &fields);
    char title[128];
    Buf buf = buf_on(title, sizeof title - 1);
    buf_text(&buf, operation->name.len ? "Subscription " : "Anonymous Subscription");
    if (operation->name.len) gql_quote(&buf, operation->name);
    title[buf.len] = '\0';
    if (fields.count > 1)
        gql_violation(check, ((const GqlSelection *)fields.items[1])->place, "%s must select only one top level field.",
                      title);
    for (uint32_t i = 0; i < fields.count; i++) {
        const GqlSelection *field = fields.items[i];
        if (str_starts(field->name, STR("__")))
            gql_violation(check, field->place, "%s must not select an introspection top level field.", title);
    }
}

static void rule_unique_operation_names(GqlCheck *check, GqlOperation *operation)
{
    if (!map_add(&check->operations_seen, operation->name, 0, NULL))
        gql_violation(check, operation->place, "There can be only one operation named \"%.*s\".", STR_ARG(operation->name));
}

static void rule_unique_variable_names(GqlCheck *check, GqlOperation *operation)
{
    for (uint32_t i = 0; i < operation->variables.count && gql_check_spend(check, 1 + i / 8); i++) {
        const GqlVariable *variable = operation->variables.items[i];
        uint32_t before = 0;
        for (uint32_t j = 0; j < i; j++)
            before += str_is(((const GqlVariable *)operation->variables.items[j])->name, variable->name);
        if (before == 1)
            gql_violation(check, variable->place, "There can be only one variable named \"$%.*s\".", STR_ARG(variable->name));
    }
}

static void rule_variables_are_input_types(GqlCheck *check, GqlOperation *operation)
{
    for (uint32_t i = 0; i < operation->variables.count; i++) {
        const GqlVariable *variable = operation->variables.items[i];
        char text[TYPE_TEXT_SIZE];
        if (variable->definition && !gql_is_input(variable->definition))
            gql_violation(check, variable->place, "Variable \"$%.*s\" cannot be non-input type \"%s\".",
                          STR_ARG(variable->name), type_text(variable->type, text));
    }
}

/* --- who looks at what -------------------------------------------------------------------------------------------- */

#define CALL_ALL(rules, node) \
    for (size_t rule = 0; rule < sizeof rules / sizeof rules[0] && !check->status; rule++) rules[rule](check, node)

void gql_rules_operation(GqlCheck *check, GqlOperation *operation)
{
    static void (*const rules[])(GqlCheck *check, GqlOperation *operation) = {
        rule_known_root_type, rule_lone_anonymous_operation, rule_no_unused_variables, rule_operation_overlaps,
        rule_single_field_subscriptions, rule_unique_operation_names, rule_unique_variable_names,
        rule_variables_are_input_types,
    };
    CALL_ALL(rules, operation);
}

void gql_rules_variable(GqlCheck *check, GqlVariable *variable)
{
    Str name = gql_type_name(variable->type);
    if (!gql_schema_type(check->schema, name)) gql_violation(check, variable->place, "Unknown type \"%.*s\".", STR_ARG(name));
}

void gql_rules_fragment(GqlCheck *check, GqlFragment *fragment)
{
    static void (*const rules[])(GqlCheck *check, GqlFragment *fragment) = {
        rule_fragment_on_composite_type, rule_known_fragment_type, rule_no_fragment_cycles, rule_no_unused_fragments,
        rule_fragment_overlaps, rule_unique_fragment_names,
    };
    CALL_ALL(rules, fragment);
}

void gql_rules_field(GqlCheck *check, GqlSelection *field)
{
    static void (*const rules[])(GqlCheck *check, GqlSelection *field) = {
        rule_fields_on_correct_type, rule_known_field_arguments, rule_max_introspection_depth, rule_field_overlaps,
        rule_required_field_arguments, rule_scalar_leafs, rule_unique_field_arguments,
    };
    CALL_ALL(rules, field);
}

void gql_rules_inline(GqlCheck *check, GqlSelection *fragment)
{
    static void (*const rules[])(GqlCheck *check, GqlSelection *fragment) = {
        rule_inline_on_composite_type, rule_known_inline_type, rule_inline_overlaps, rule_possible_inline,
    };
    CALL_ALL(rules, fragment);
}

void gql_rules_spread(GqlCheck *check, GqlSelection *spread)
{
    static void (*const rules[])(GqlCheck *check, GqlSelection *spread) = {
        rule_known_fragment_names, rule_note_used_fragment, rule_possible_spread,
    };
    CALL_ALL(rules, spread);
}

void gql_rules_directive(GqlCheck *check, GqlDirective *directive)
{
    static void (*const rules[])(GqlCheck *check, GqlDirective *directive) = {
        rule_known_directive_arguments, rule_known_directives, rule_required_directive_arguments,
        rule_unique_directive_arguments,
    };
    CALL_ALL(rules, directive);
}

void gql_rules_value(GqlCheck *check, GqlValue *value)
{
    static void (*const rules[])(GqlCheck *check, GqlValue *value) = {
        rule_no_undefined_variables, rule_unique_input_field_names, gql_rule_values_of_correct_type,
        rule_variable_in_allowed_position, rule_variable_in_one_of,
    };
    CALL_ALL(rules, value);
}
