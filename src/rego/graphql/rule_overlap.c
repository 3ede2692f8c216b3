/* Fields that would stand under one name in the answer have to be the same field with the same arguments, since only one of
 * them could be shown.
 *
 * Each selection set is collected once: its fields by their name in the answer, those of inline fragments among them, and
 * the fragments it spreads. Fields are compared within a set, with those of the fragments it spreads, and between each two
 * of these; two fields that agree are compared further by what they select. */
#include <string.h>

#include "rego/graphql/check.h"
#include "rego/graphql/message.h"

typedef struct FieldGroup {
    Str name;                       /* in the answer */
    GqlList fields;                 /* of GqlSelection */
} FieldGroup;

typedef struct FieldSet {
    GqlList groups;                 /* of FieldGroup, in the order of their first field */
    Map group_places;
    GqlList spreads;                /* of GqlSelection */
} FieldSet;

/* A conflict, with what follows "conflict because". */
typedef struct Conflict {
    Str name, reason;
    GqlPlace place;
} Conflict;

struct GqlOverlap {
    GqlCheck *check;
    Map sets;                       /* from the address of a selection set to its place in `collected` */
    GqlList collected;              /* of FieldSet */
    Map pairs;                      /* fragments compared with one another, "a\nb", exclusive or not */
    Map *compared;                  /* fragments compared with the set under way */
};

typedef struct Conflicts {
    GqlList list;                   /* of Conflict */
} Conflicts;

static void compare_subsets(GqlOverlap *overlap, bool exclusive, const GqlList *a, const GqlList *b, Conflicts *out);

/* --- collecting --------------------------------------------------------------------------------------------------- */

static void set_collect(GqlOverlap *overlap, const GqlList *selections, FieldSet *set)
{
    GqlCheck *check = overlap->check;
    if (gql_check_enter(check))
        for (uint32_t i = 0; i < selections->count && gql_check_spend(check, 1); i++) {
            GqlSelection *selection = selections->items[i];
            if (selection->kind == GQL_INLINE) {
                set_collect(overlap, &selection->selections, set);
                continue;
            }
            if (selection->kind == GQL_SPREAD) {
                gql_list_add(check->arena, &set->spreads, selection);
                continue;
            }
            Str name = selection->alias.len ? selection->alias : selection->name;
            uint32_t place = set->groups.count;
            if (map_add(&set->group_places, name, place, &place)) {
                FieldGroup *group = ARENA_NEW(check->arena, FieldGroup);
                group->name = name;
                gql_list_add(check->arena, &set->groups, group);
            }
            FieldGroup *group = set->groups.items[place];
            gql_list_add(check->arena, &group->fields, selection);
        }
    gql_check_leave(check);
}

static const FieldSet *set_of(GqlOverlap *overlap, const GqlList *selections)
{
    Arena *arena = overlap->check->arena;
    Str key = { (const char *)&selections, sizeof selections };
    uint32_t place;
    if (map_find(&overlap->sets, key, &place)) return overlap->collected.items[place];
    FieldSet *set = ARENA_NEW(arena, FieldSet);
    map_init(&set->group_places, arena, selections->count);
    set_collect(overlap, selections, set);
    map_add(&overlap->sets, arena_copy(arena, key), overlap->collected.count, NULL);
    gql_list_add(arena, &overlap->collected, set);
    return set;
}

/* --- two fields --------------------------------------------------------------------------------------------------- */

static bool same_value(GqlCheck *check, const GqlValue *a, const GqlValue *b)
{
    if (a->kind != b->kind || !str_is(a->raw, b->raw) || a->children.count != b->children.count) return false;
    if (!gql_check_spend(check, 1 + a->children.count)) return true;
    for (uint32_t i = 0; i < a->children.count; i++) {
        const GqlChild *child = a->children.items[i], *other = b->children.items[i];
        for (uint32_t j = 0; a->kind == GQL_OBJECT && j < b->children.count; j++) {     /* members in any order */
            other = b->children.items[j];
            if (str_is(other->name, child->name)) break;
        }
        if (!str_is(child->name, other->name) || !same_value(check, child->value, other->value)) return false;
    }
    return true;
}

static bool same_arguments(GqlCheck *check, const GqlList *a, const GqlList *b)
{
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count && gql_check_spend(check, 1 + b->count / 8); i++) {
        const GqlArgument *argument = a->items[i];
        bool matched = false;
        for (uint32_t j = 0; j < b->count && !matched; j++) {
            const GqlArgument *other = b->items[j];
            matched = str_is(argument->name, other->name) && same_value(check, argument->value, other->value);
        }
        if (!matched) return false;
    }
    return true;
}

static bool types_conflict(const GqlCheck *check, const GqlType *a, const GqlType *b)
{
    while (a->element && b->element) {
        a = a->element;
        b = b->element;
    }
    if (a->element || b->element || a->non_null != b->non_null) return true;
    const GqlDefinition *first = gql_schema_type(check->schema, a->name), *second = gql_schema_type(check->schema, b->name);
    return first && second && gql_is_leaf(first) && gql_is_leaf(second) && !str_is(first->name, second->name);
}

/* The reasons of what lies below, joined: subfields "x" conflict because ... and subfields "y" conflict because ... */
static Str joined_reasons(Arena *arena, const Conflicts *conflicts)
{
    char text[ERROR_TEXT_SIZE];
    Buf buf = buf_on(text, sizeof text);
    for (uint32_t i = 0; i < conflicts->list.count; i++) {
        const Conflict *conflict = conflicts->list.items[i];
        if (i) buf_text(&buf, " and ");
        buf_text(&buf, "subfields \"");
        buf_str(&buf, conflict->name);
        buf_text(&buf, "\" conflict because ");
        buf_str(&buf, conflict->reason);
    }
    return arena_copy(arena, buf_peek(&buf));
}

/* Why the two cannot both be shown; an empty text where they can. */
static Str conflict_reason(GqlOverlap *overlap, bool exclusive, const GqlSelection *a, const GqlSelection *b)
{
    GqlCheck *check = overlap->check;
    Arena *arena = check->arena;
    if (!exclusive && !str_is(a->name, b->name))
        return arena_format(arena, "\"%.*s\" and \"%.*s\" are different fields", STR_ARG(a->name), STR_ARG(b->name));
    if (!exclusive && !same_arguments(check, &a->arguments, &b->arguments)) return STR("they have differing arguments");
    if (a->field && b->field && types_conflict(check, a->field->type, b->field->type)) {
        char text[ERROR_TEXT_SIZE];
        Buf buf = buf_on(text, sizeof text);
        buf_text(&buf, "they return conflicting types \"");
        gql_type_print(&buf, a->field->type);
        buf_text(&buf, "\" and \"");
        gql_type_print(&buf, b->field->type);
        buf_char(&buf, '"');
        return arena_copy(arena, buf_peek(&buf));
    }
    Conflicts below = { 0 };
    compare_subsets(overlap, exclusive, &a->selections, &b->selections, &below);
    return below.list.count ? joined_reasons(arena, &below) : STR("");
}

static void compare_fields(GqlOverlap *overlap, bool exclusive, const GqlSelection *a, const GqlSelection *b, Conflicts *out)
{
    GqlCheck *check = overlap->check;
    if (!a->parent || !b->parent || !gql_check_spend(check, 1) || !gql_check_enter(check)) return;
    /* An object is of one type only, so fields of different objects never meet. */
    bool apart = !str_is(a->parent->name, b->parent->name) && gql_is(a->parent, "OBJECT") && gql_is(b->parent, "OBJECT")
              && a->field && b->field;
    Str reason = conflict_reason(overlap, exclusive || apart, a, b);
    if (reason.len) {
        Conflict *conflict = ARENA_NEW(check->arena, Conflict);
        *conflict = (Conflict){ a->alias.len ? a->alias : a->name, reason, b->place };
        gql_list_add(check->arena, &out->list, conflict);
    }
    gql_check_leave(check);
}

/* --- sets of fields ----------------------------------------------------------------------------------------------- */

static void compare_within(GqlOverlap *overlap, const FieldSet *set, Conflicts *out)
{
    for (uint32_t i = 0; i < set->groups.count; i++) {
        const FieldGroup *group = set->groups.items[i];
        for (uint32_t j = 0; j < group->fields.count; j++)
            for (uint32_t k = j + 1; k < group->fields.count && !overlap->check->status; k++)
                compare_fields(overlap, false, group->fields.items[j], group->fields.items[k], out);
    }
}

static void compare_between(GqlOverlap *overlap, bool exclusive, const FieldSet *a, const FieldSet *b, Conflicts *out)
{
    for (uint32_t i = 0; i < a->groups.count && gql_check_spend(overlap->check, 1); i++) {
        const FieldGroup *group = a->groups.items[i], *other;
        uint32_t place;
        if (!map_find(&b->group_places, group->name, &place)) continue;
        other = b->groups.items[place];
        for (uint32_t j = 0; j < group->fields.count; j++)
            for (uint32_t k = 0; k < other->fields.count && !overlap->check->status; k++)
                compare_fields(overlap, exclusive, group->fields.items[j], other->fields.items[k], out);
    }
}

static void compare_with_fragment(GqlOverlap *overlap, bool exclusive, const FieldSet *set, const GqlSelection *spread,
                                  Conflicts *out)
{
    GqlCheck *check = overlap->check;
    if (!map_add(overlap->compared, spread->name, 0, NULL) || !spread->fragment) return;
    const FieldSet *other = set_of(overlap, &spread->fragment->selections);
    if (other == set || (!set->groups.count && !other->groups.count)) return;
    if (!gql_check_enter(check)) return;
    compare_between(overlap, exclusive, set, other, out);
    for (uint32_t i = 0; i < other->spreads.count && !check->status; i++) {
        const GqlSelection *inner = other->spreads.items[i];
        if (!str_is(inner->name, spread->name)) compare_with_fragment(overlap, exclusive, set, inner, out);
    }
    gql_check_leave(check);
}

/* Notes that two fragments are compared; false where they have been, under the same or the stricter view. */
static bool pair_note(GqlOverlap *overlap, Str a, Str b, bool exclusive)
{
    Arena *arena = overlap->check->arena;
    bool swapped = str_compare(a, b) > 0;
    Str first = swapped ? b : a, second = swapped ? a : b;
    Str strict = arena_format(arena, "%.*s\n%.*s\n0", STR_ARG(first), STR_ARG(second));
    Str loose = arena_format(arena, "%.*s\n%.*s\n1", STR_ARG(first), STR_ARG(second));
    uint32_t ignored;
    if (map_find(&overlap->pairs, strict, &ignored)) return false;
    if (exclusive && map_find(&overlap->pairs, loose, &ignored)) return false;
    map_add(&overlap->pairs, exclusive ? loose : strict, 0, NULL);
    return true;
}

static void compare_fragments(GqlOverlap *overlap, bool exclusive, const GqlSelection *a, const GqlSelection *b,
                              Conflicts *out)
{
    GqlCheck *check = overlap->check;
    if (str_is(a->name, b->name) || !gql_check_spend(check, 1) || !pair_note(overlap, a->name, b->name, exclusive)) return;
    if (!a->fragment || !b->fragment) return;
    const FieldSet *first = set_of(overlap, &a->fragment->selections), *second = set_of(overlap, &b->fragment->selections);
    if (!gql_check_enter(check)) return;
    compare_between(overlap, exclusive, first, second, out);
    for (uint32_t i = 0; i < second->spreads.count && !check->status; i++)
        compare_fragments(overlap, exclusive, a, second->spreads.items[i], out);
    for (uint32_t i = 0; i < first->spreads.count && !check->status; i++)
        compare_fragments(overlap, exclusive, first->spreads.items[i], b, out);
    gql_check_leave(check);
}

/* Forgets which fragments the set under way was compared with. A set further out goes on with what its fields left here, as
 * the rule in OPA does. */
static void compared_begin(GqlOverlap *overlap)
{
    overlap->compared = ARENA_NEW(overlap->check->arena, Map);
    map_init(overlap->compared, overlap->check->arena, 0);
}

/* What two fields that agree select. */
static void compare_subsets(GqlOverlap *overlap, bool exclusive, const GqlList *a, const GqlList *b, Conflicts *out)
{
    GqlCheck *check = overlap->check;
    if (!a->count || !b->count) return;
    const FieldSet *first = set_of(overlap, a), *second = set_of(overlap, b);
    compare_between(overlap, exclusive, first, second, out);
    for (uint32_t i = 0; i < second->spreads.count && !check->status; i++) {
        compared_begin(overlap);
        compare_with_fragment(overlap, exclusive, first, second->spreads.items[i], out);
    }
    for (uint32_t i = 0; i < first->spreads.count && !check->status; i++) {
        compared_begin(overlap);
        compare_with_fragment(overlap, exclusive, second, first->spreads.items[i], out);
    }
    for (uint32_t i = 0; i < first->spreads.count; i++)
        for (uint32_t j = 0; j < second->spreads.count && !check->status; j++)
            compare_fragments(overlap, exclusive, first->spreads.items[i], second->spreads.items[j], out);
}

/* --- the rule ----------------------------------------------------------------------------------------------------- */

static GqlOverlap *overlap_of(GqlCheck *check)
{
    if (!check->overlap) {
        check->overlap = ARENA_NEW(check->arena, GqlOverlap);
        check->overlap->check = check;
        map_init(&check->overlap->sets, check->arena, 0);
        map_init(&check->overlap->pairs, check->arena, 0);
    }
    return check->overlap;
}

void gql_rule_overlapping_fields(GqlCheck *check, const GqlList *selections)
{
    if (!selections->count) return;
    GqlOverlap *overlap = overlap_of(check);
    Conflicts conflicts = { 0 };
    const FieldSet *set = set_of(overlap, selections);
    compare_within(overlap, set, &conflicts);
    compared_begin(overlap);
    for (uint32_t i = 0; i < set->spreads.count && !check->status; i++) {
        compare_with_fragment(overlap, false, set, set->spreads.items[i], &conflicts);
        for (uint32_t j = i + 1; j < set->spreads.count && !check->status; j++)
            compare_fragments(overlap, false, set->spreads.items[i], set->spreads.items[j], &conflicts);
    }
    for (uint32_t i = 0; i < conflicts.list.count && !check->status; i++) {
        const Conflict *conflict = conflicts.list.items[i];
        gql_violation(check, conflict->place,
                      "Fields \"%.*s\" conflict because %.*s. Use different aliases on the fields to fetch both if this was "
                      "intentional.",
                      STR_ARG(conflict->name), STR_ARG(conflict->reason));
    }
}
