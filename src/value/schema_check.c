#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "value/number.h"
#include "value/schema_checker.h"

typedef bool (*RuleCheck)(Checker *checker, const Frame *frame, const Rule *rule);

static bool check_type(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_const(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_enum(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_limit(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_multiple(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_count(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_pattern(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_unique(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_required(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_dependent_required(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_property_names(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_members(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_items(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_contains(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_ref(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_dynamic_ref(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_all(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_any(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_one(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_not(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_condition(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_dependents(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_unevaluated_items(Checker *checker, const Frame *frame, const Rule *rule);
static bool check_unevaluated_members(Checker *checker, const Frame *frame, const Rule *rule);

enum {
    ON_NUMBER = 1u << VALUE_INT | 1u << VALUE_DECIMAL,
    ON_STRING = 1u << VALUE_STRING,
    ON_ARRAY = 1u << VALUE_ARRAY,
    ON_OBJECT = 1u << VALUE_OBJECT,
    ON_ANY = ~0u >> 1,
};

/* To which values a rule applies, and how it is checked. */
static const struct { uint32_t kinds; RuleCheck check; } rules[RULE_COUNT] = {
    [RULE_TYPE] = { ON_ANY, check_type },
    [RULE_CONST] = { ON_ANY, check_const },
    [RULE_ENUM] = { ON_ANY, check_enum },
    [RULE_MINIMUM] = { ON_NUMBER, check_limit },
    [RULE_MAXIMUM] = { ON_NUMBER, check_limit },
    [RULE_EXCLUSIVE_MINIMUM] = { ON_NUMBER, check_limit },
    [RULE_EXCLUSIVE_MAXIMUM] = { ON_NUMBER, check_limit },
    [RULE_MULTIPLE_OF] = { ON_NUMBER, check_multiple },
    [RULE_MIN_LENGTH] = { ON_STRING, check_count },
    [RULE_MAX_LENGTH] = { ON_STRING, check_count },
    [RULE_PATTERN] = { ON_STRING, check_pattern },
    [RULE_MIN_ITEMS] = { ON_ARRAY, check_count },
    [RULE_MAX_ITEMS] = { ON_ARRAY, check_count },
    [RULE_UNIQUE_ITEMS] = { ON_ARRAY, check_unique },
    [RULE_MIN_PROPERTIES] = { ON_OBJECT, check_count },
    [RULE_MAX_PROPERTIES] = { ON_OBJECT, check_count },
    [RULE_REQUIRED] = { ON_OBJECT, check_required },
    [RULE_DEPENDENT_REQUIRED] = { ON_OBJECT, check_dependent_required },
    [RULE_PROPERTY_NAMES] = { ON_OBJECT, check_property_names },
    [RULE_MEMBERS] = { ON_OBJECT, check_members },
    [RULE_ITEMS] = { ON_ARRAY, check_items },
    [RULE_CONTAINS] = { ON_ARRAY, check_contains },
    [RULE_REF] = { ON_ANY, check_ref },
    [RULE_DYNAMIC_REF] = { ON_ANY, check_dynamic_ref },
    [RULE_ALL_OF] = { ON_ANY, check_all },
    [RULE_ANY_OF] = { ON_ANY, check_any },
    [RULE_ONE_OF] = { ON_ANY, check_one },
    [RULE_NOT] = { ON_ANY, check_not },
    [RULE_CONDITION] = { ON_ANY, check_condition },
    [RULE_DEPENDENT_SCHEMAS] = { ON_OBJECT, check_dependents },
    [RULE_UNEVALUATED_ITEMS] = { ON_ARRAY, check_unevaluated_items },
    [RULE_UNEVALUATED_PROPERTIES] = { ON_OBJECT, check_unevaluated_members },
};

static bool node_check(Checker *checker, Frame frame);

static Status run(Checker *checker, const Schema *schema, Value instance)
{
    static const Place root;
    pattern_matcher_init(&checker->matcher, checker->arena);
    node_check(checker, (Frame){ .node = schema->root, .place = &root, .value = instance, .marks = NO_MARKS });
    return checker->status;
}

Status schema_check(const Schema *schema, Value instance, Arena *arena, SchemaReport *out_report, Error *err)
{
    Checker checker = { .arena = arena, .err = err };
    Status status = run(&checker, schema, instance);
    if (status) return status;
    *out_report = (SchemaReport){ checker.violations, checker.violation_count, checker.is_cut };
    return OK;
}

Status schema_require(const Schema *schema, Value instance, Arena *scratch, Error *err)
{
    Checker checker = { .arena = scratch, .err = err, .first_only = true };
    Status status = run(&checker, schema, instance);
    if (status || !checker.violation_count) return status;
    const Violation *first = &checker.violations[0];
    if (!first->instance.len) return error_set(err, ERR_INVALID, "%.*s", STR_ARG(first->message));
    return error_set(err, ERR_INVALID, "%.*s: %.*s", STR_ARG(first->instance), STR_ARG(first->message));
}

/* --- budget ------------------------------------------------------------------------------------------------------ */

static bool charge(Checker *checker, uint64_t steps)
{
    if (checker->status) return false;
    checker->step_count += steps;
    if (checker->step_count <= SCHEMA_STEP_COUNT_MAX) return true;
    return checker_halt(checker, ERR_LIMIT, "checking the value takes more than SCHEMA_STEP_COUNT_MAX (%u) steps",
                        SCHEMA_STEP_COUNT_MAX);
}

/* What reading a text once costs. */
static uint64_t text_cost(Value text) { return 1 + text.count / 64; }

static void *scratch_try(Checker *checker, size_t size)
{
    void *block = arena_try(checker->arena, size);
    if (!block) checker_halt(checker, ERR_LIMIT, "checking the value takes more memory than granted");
    return block;
}

/* --- marks ------------------------------------------------------------------------------------------------------- */

static size_t mark_words(Value value) { return ((size_t)value.count + 63) / 64; }

/* Bits for every item or member of the value, all clear, on top of the stack. NO_MARKS where there is no room. */
static size_t marks_push(Checker *checker, Value value)
{
    size_t first = checker->mark_count, count = mark_words(value);
    if (!charge(checker, count)) return NO_MARKS;
    if (first + count > SCHEMA_MARK_COUNT_MAX / 64) {
        checker_halt(checker, ERR_LIMIT, "unevaluatedItems or unevaluatedProperties track more than "
                     "SCHEMA_MARK_COUNT_MAX (%u) places", SCHEMA_MARK_COUNT_MAX);
        return NO_MARKS;
    }
    if (first + count > checker->mark_capacity) {
        size_t capacity = 2 * (first + count) + 16;
        uint64_t *grown = scratch_try(checker, capacity * sizeof *grown);
        if (!grown) return NO_MARKS;
        if (first) memcpy(grown, checker->marks, first * sizeof *grown);
        checker->marks = grown;
        checker->mark_capacity = capacity;
    }
    if (count) memset(checker->marks + first, 0, count * sizeof *checker->marks);
    checker->mark_count = first + count;
    return first;
}

/* Takes the topmost marks off again, and adds them to others where these exist. */
static void marks_pop(Checker *checker, Value value, size_t marks, size_t into)
{
    if (marks == NO_MARKS) return;
    if (into != NO_MARKS)
        for (size_t i = 0; i < mark_words(value); i++) checker->marks[into + i] |= checker->marks[marks + i];
    checker->mark_count = marks;
}

static void mark(Checker *checker, const Frame *frame, uint32_t index)
{
    if (frame->marks != NO_MARKS) checker->marks[frame->marks + index / 64] |= UINT64_C(1) << (index % 64);
}

/* Looking at a mark is cheap, but there may be many of them. */
#define MARKS_PER_STEP 16u

static bool is_marked(const Checker *checker, const Frame *frame, uint32_t index)
{
    return checker->marks[frame->marks + index / 64] >> (index % 64) & 1;
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static bool is_json(Value value)
{
    if (value.kind == VALUE_SET) return false;
    if (value.kind != VALUE_OBJECT || value.count == 0) return true;
    /* Keys are sorted by type first, so the outermost two stand for all. */
    return value.members[0].key.kind == VALUE_STRING && value.members[value.count - 1].key.kind == VALUE_STRING;
}

static bool rules_check(Checker *checker, const Frame *frame)
{
    Value value = frame->value;
    uint64_t cost = value.kind == VALUE_STRING || value.kind == VALUE_DECIMAL ? text_cost(value) : 1;
    bool holds = true;
    for (uint32_t i = 0; i < frame->node->rule_count; i++) {
        const Rule *rule = &frame->node->rules[i];
        if (!(rules[rule->kind].kinds >> value.kind & 1)) continue;
        if (!charge(checker, cost)) return false;
        if (rules[rule->kind].check(checker, frame, rule)) continue;
        holds = false;
        if (checker_stops(checker)) return false;
    }
    return holds;
}

static bool node_enter(Checker *checker, const Frame *frame)
{
    if (checker->depth < SCHEMA_DEPTH_MAX) {
        checker->depth++;
        return true;
    }
    Buf buf;
    buf_init(&buf, SIZE_MAX / 2);
    node_pointer_print(&buf, frame->node, STR(""), STR(""));
    Phrase phrase;
    checker_halt(checker, ERR_LIMIT, "subschemas apply inside one another deeper than SCHEMA_DEPTH_MAX (%u), at %s",
                 SCHEMA_DEPTH_MAX, phrase_name(&phrase, buf_peek(&buf)));
    buf_deinit(&buf);
    return false;
}

/* Applies the frame's node to its value. */
static bool node_check(Checker *checker, Frame frame)
{
    const SchemaNode *node = frame.node;
    if (!charge(checker, 1)) return false;
    if (!is_json(frame.value))
        return checker_halt(checker, ERR_INVALID, "the value holds a set or a key that is no string: it is no JSON");
    if (node->source.kind == VALUE_BOOL) return node->source.count || checker_report_false(checker, &frame);
    if (!node_enter(checker, &frame)) return false;

    Scope scope = { frame.scope, node->resource };
    if (!frame.scope || frame.scope->resource != node->resource) frame.scope = &scope;
    bool is_container = frame.value.kind == VALUE_ARRAY || frame.value.kind == VALUE_OBJECT;
    size_t marks_around = frame.marks, marks_own = NO_MARKS;
    if (node->has_unevaluated && is_container) frame.marks = marks_own = marks_push(checker, frame.value);

    bool holds = !checker->status && rules_check(checker, &frame);
    /* The marks of a frame that fails are kept as well. Whoever drops failures drops them too; anybody else fails with
     * it, and would only add that a property is not allowed, where the true reason is the property's value. */
    marks_pop(checker, frame.value, marks_own, marks_around);
    checker->depth--;
    return holds;
}

/* Another subschema for the same place. */
static bool apply(Checker *checker, const Frame *frame, const SchemaNode *node)
{
    Frame same = *frame;
    same.node = node;
    return node_check(checker, same);
}

/* The same, with what it marks dropped if it fails, and without a report. */
static bool apply_branch(Checker *checker, const Frame *frame, const SchemaNode *node)
{
    Frame branch = *frame;
    branch.node = node;
    if (frame->marks != NO_MARKS) branch.marks = marks_push(checker, frame->value);
    checker->quiet++;
    bool holds = !checker->status && node_check(checker, branch);
    checker->quiet--;
    if (frame->marks != NO_MARKS) marks_pop(checker, frame->value, branch.marks, holds ? frame->marks : NO_MARKS);
    return holds;
}

/* Only the report: why a subschema does not hold for that value. */
static void explain(Checker *checker, const Frame *frame, const SchemaNode *node, Value value)
{
    if (checker_stops(checker)) return;
    Frame again = *frame;
    again.node = node;
    again.value = value;
    again.marks = NO_MARKS;
    checker->level++;
    node_check(checker, again);
    checker->level--;
}

static bool apply_member(Checker *checker, const Frame *frame, uint32_t index, const SchemaNode *node)
{
    const Member *member = &frame->value.members[index];
    Place place = { .parent = frame->place, .name = value_text(member->key) };
    return node_check(checker, (Frame){ node, &place, frame->scope, member->value, NO_MARKS });
}

static bool apply_item(Checker *checker, const Frame *frame, uint32_t index, const SchemaNode *node)
{
    Place place = { .parent = frame->place, .is_index = true, .index = index };
    return node_check(checker, (Frame){ node, &place, frame->scope, frame->value.items[index], NO_MARKS });
}

/* --- values ------------------------------------------------------------------------------------------------------ */

static bool check_type(Checker *checker, const Frame *frame, const Rule *rule)
{
    static const uint32_t bits[] = {
        [VALUE_NULL] = TYPE_NULL,     [VALUE_BOOL] = TYPE_BOOLEAN,  [VALUE_INT] = TYPE_NUMBER | TYPE_INTEGER,
        [VALUE_DECIMAL] = TYPE_NUMBER, [VALUE_STRING] = TYPE_STRING, [VALUE_ARRAY] = TYPE_ARRAY,
        [VALUE_OBJECT] = TYPE_OBJECT,
    };
    Value value = frame->value;
    if (rule->types & bits[value.kind]) return true;
    bool wants_integer = rule->types & TYPE_INTEGER;
    if (wants_integer && value.kind == VALUE_DECIMAL && number_is_integer(value)) return true;
    if (checker->quiet) return false;
    Phrase wanted, found;
    /* Of a number the type is not what is wrong with it where integers are wanted. */
    bool shows_value = value.kind == VALUE_DECIMAL && wants_integer;
    return checker_report(checker, frame, "type", STR(""), "must be %s, is %s", phrase_types(&wanted, rule->types),
                          shows_value ? phrase_value(&found, value)
                                      : phrase_types(&found, bits[value.kind] & ~(uint32_t)TYPE_INTEGER));
}

static bool check_const(Checker *checker, const Frame *frame, const Rule *rule)
{
    if (!charge(checker, rule->constant.weight)) return false;
    if (value_equals(frame->value, rule->constant.value)) return true;
    if (checker->quiet) return false;
    Phrase wanted, found;
    return checker_report(checker, frame, "const", STR(""), "must be %s, is %s",
                          phrase_value(&wanted, rule->constant.value), phrase_value(&found, frame->value));
}

static bool check_enum(Checker *checker, const Frame *frame, const Rule *rule)
{
    if (!charge(checker, rule->constant.weight)) return false;
    if (value_set_has(rule->constant.value, frame->value)) return true;
    if (checker->quiet) return false;
    Phrase wanted, found;
    Value choices = *value_get_text(frame->node->source, "enum");
    if (choices.count == 0) return checker_report(checker, frame, "enum", STR(""), "no value is allowed here");
    return checker_report(checker, frame, "enum", STR(""), "must be %s%s, is %s", choices.count > 1 ? "one of " : "",
                          phrase_choices(&wanted, choices), phrase_value(&found, frame->value));
}

static bool check_limit(Checker *checker, const Frame *frame, const Rule *rule)
{
    static const struct { const char *keyword, *text; bool takes_less, takes_equal, takes_more; } limits[] = {
        [RULE_MINIMUM] = { "minimum", "at least", false, true, true },
        [RULE_MAXIMUM] = { "maximum", "at most", true, true, false },
        [RULE_EXCLUSIVE_MINIMUM] = { "exclusiveMinimum", "greater than", false, false, true },
        [RULE_EXCLUSIVE_MAXIMUM] = { "exclusiveMaximum", "less than", true, false, false },
    };
    int order = number_compare(frame->value, rule->limit);
    bool holds = order < 0 ? limits[rule->kind].takes_less
               : order > 0 ? limits[rule->kind].takes_more : limits[rule->kind].takes_equal;
    if (holds || checker->quiet) return holds;
    Phrase wanted, found;
    return checker_report(checker, frame, limits[rule->kind].keyword, STR(""), "must be %s %s, is %s",
                          limits[rule->kind].text, phrase_value(&wanted, rule->limit),
                          phrase_value(&found, frame->value));
}

static bool check_multiple(Checker *checker, const Frame *frame, const Rule *rule)
{
    if (!charge(checker, divisor_weight(rule->divisor, frame->value))) return false;
    if (divisor_divides(rule->divisor, frame->value)) return true;
    if (checker->quiet) return false;
    Phrase wanted, found;
    return checker_report(checker, frame, "multipleOf", STR(""), "must be a multiple of %s, is %s",
                          phrase_value(&wanted, *value_get_text(frame->node->source, "multipleOf")),
                          phrase_value(&found, frame->value));
}

static bool check_count(Checker *checker, const Frame *frame, const Rule *rule)
{
    static const struct { const char *keyword, *one, *many; bool is_min; } counts[] = {
        [RULE_MIN_LENGTH] = { "minLength", "character", "characters", true },
        [RULE_MAX_LENGTH] = { "maxLength", "character", "characters", false },
        [RULE_MIN_ITEMS] = { "minItems", "item", "items", true },
        [RULE_MAX_ITEMS] = { "maxItems", "item", "items", false },
        [RULE_MIN_PROPERTIES] = { "minProperties", "property", "properties", true },
        [RULE_MAX_PROPERTIES] = { "maxProperties", "property", "properties", false },
    };
    Value value = frame->value;
    uint64_t count = value.kind == VALUE_STRING ? utf8_count(value_text(value)) : value.count;
    bool is_min = counts[rule->kind].is_min;
    if (is_min ? count >= rule->count : count <= rule->count) return true;
    return checker_report(checker, frame, counts[rule->kind].keyword, STR(""),
                          "must have at %s %" PRIu64 " %s, has %" PRIu64, is_min ? "least" : "most", rule->count,
                          rule->count == 1 ? counts[rule->kind].one : counts[rule->kind].many, count);
}

static bool matches(Checker *checker, const Pattern *pattern, Str text)
{
    bool found = false;
    Status status = pattern_match(&checker->matcher, pattern, text, &found, checker->err);
    if (status) checker->status = status;
    uint64_t cost = text_cost(value_string(text)) + checker->matcher.step_count;
    return !status && charge(checker, cost) && found;
}

static bool check_pattern(Checker *checker, const Frame *frame, const Rule *rule)
{
    if (matches(checker, rule->pattern, value_text(frame->value))) return true;
    if (checker->quiet) return false;
    Phrase wanted, found;
    return checker_report(checker, frame, "pattern", STR(""), "must match the pattern %s, is %s",
                          phrase_value(&wanted, *value_get_text(frame->node->source, "pattern")),
                          phrase_value(&found, frame->value));
}

/* --- arrays ------------------------------------------------------------------------------------------------------ */

static int order_items(const void *a, const void *b)
{
    const Value *x = *(const Value *const *)a, *y = *(const Value *const *)b;
    int order = value_compare(*x, *y);
    return order ? order : (x > y) - (x < y);       /* equal ones by place: the report is always the same */
}

static uint64_t bit_count(uint64_t number)
{
    return number ? 64 - (uint64_t)__builtin_clzll(number) : 0;
}

/* Sorting brings equal items side by side. */
static bool check_unique(Checker *checker, const Frame *frame, const Rule *rule)
{
    Value array = frame->value;
    if (!rule->count || array.count < 2) return true;
    uint64_t weight = value_weight(array, SCHEMA_STEP_COUNT_MAX);
    if (!charge(checker, weight * bit_count(array.count))) return false;
    const Value **order = scratch_try(checker, array.count * sizeof *order);
    if (!order) return false;
    for (uint32_t i = 0; i < array.count; i++) order[i] = &array.items[i];
    qsort(order, array.count, sizeof *order, order_items);
    for (uint32_t i = 1; i < array.count; i++) {
        if (!value_equals(*order[i - 1], *order[i])) continue;
        return checker_report(checker, frame, "uniqueItems", STR(""),
                              "must have different items, items %td and %td are equal",
                              order[i - 1] - array.items, order[i] - array.items);
    }
    return true;
}

static bool check_items(Checker *checker, const Frame *frame, const Rule *rule)
{
    const NodeSet *prefix = rule->items.prefix;
    uint32_t prefix_count = prefix ? prefix->count : 0;
    bool holds = true;
    for (uint32_t i = 0; i < frame->value.count; i++) {
        const SchemaNode *node = i < prefix_count ? prefix->items[i].node : rule->items.rest;
        if (!node) break;
        holds &= apply_item(checker, frame, i, node);
        mark(checker, frame, i);
        if (!holds && checker_stops(checker)) return false;
    }
    return holds;
}

static bool report_contains(Checker *checker, const Frame *frame, const Rule *rule, uint64_t count)
{
    bool is_few = count < rule->contains.min;
    uint64_t wanted = is_few ? rule->contains.min : rule->contains.max;
    const char *keyword = !is_few ? "maxContains" : wanted > 1 ? "minContains" : "contains";
    return checker_report(checker, frame, keyword, STR(""),
                          "must contain at %s %" PRIu64 " matching item%s, contains %s%" PRIu64,
                          is_few ? "least" : "most", wanted, wanted == 1 ? "" : "s", is_few ? "" : "at least ", count);
}

static bool check_contains(Checker *checker, const Frame *frame, const Rule *rule)
{
    if (!rule->contains.node) return true;          /* the bounds alone mean nothing */
    uint64_t count = 0;
    bool has_max = rule->contains.max != UINT64_MAX, counts_all = has_max || frame->marks != NO_MARKS;
    for (uint32_t i = 0; i < frame->value.count; i++) {
        if (!counts_all && count >= rule->contains.min) break;
        if (count > rule->contains.max) break;
        checker->quiet++;
        bool holds = apply_item(checker, frame, i, rule->contains.node);
        checker->quiet--;
        if (checker->status) return false;
        if (holds) mark(checker, frame, i);
        count += holds;
    }
    if (count >= rule->contains.min && count <= rule->contains.max) return true;
    return report_contains(checker, frame, rule, count);
}

static bool check_unevaluated_items(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    if (!charge(checker, frame->value.count / MARKS_PER_STEP)) return false;
    for (uint32_t i = 0; i < frame->value.count; i++) {
        if (is_marked(checker, frame, i)) continue;
        holds &= apply_item(checker, frame, i, rule->node);
        mark(checker, frame, i);
        if (!holds && checker_stops(checker)) return false;
    }
    return holds;
}

/* --- objects ----------------------------------------------------------------------------------------------------- */

static bool check_required(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    for (uint32_t i = 0; i < rule->names.count; i++) {
        Str name = value_text(rule->names.items[i]);
        if (!charge(checker, text_cost(rule->names.items[i]))) return false;
        if (value_get(frame->value, name)) continue;
        Phrase phrase;
        holds = checker->quiet ? false : checker_report(checker, frame, "required", name, "must have the property %s",
                                                        phrase_name(&phrase, name));
        if (checker_stops(checker)) return false;
    }
    return holds;
}

static bool check_dependent_required(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    for (uint32_t i = 0; i < rule->names.count; i++) {
        const Member *member = &rule->names.members[i];
        if (!charge(checker, text_cost(member->key))) return false;
        if (!value_lookup(frame->value, member->key)) continue;
        for (uint32_t j = 0; j < member->value.count; j++) {
            Str name = value_text(member->value.items[j]);
            if (!charge(checker, text_cost(member->value.items[j]))) return false;
            if (value_get(frame->value, name)) continue;
            Phrase wanted, present;
            holds = checker_report(checker, frame, "dependentRequired", name,
                                   "must have the property %s, since it has %s",
                                   phrase_name(&wanted, name), phrase_value(&present, member->key));
            if (checker_stops(checker)) return false;
        }
    }
    return holds;
}

static bool check_property_names(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    for (uint32_t i = 0; i < frame->value.count; i++) {
        Value name = frame->value.members[i].key;
        checker->quiet++;
        bool fits = node_check(checker, (Frame){ rule->node, frame->place, frame->scope, name, NO_MARKS });
        checker->quiet--;
        if (checker->status) return false;
        if (fits) continue;
        Phrase phrase;
        holds = checker_report(checker, frame, "propertyNames", value_text(name), "must not have a property named %s",
                               phrase_value(&phrase, name));
        if (checker_stops(checker)) return false;
        explain(checker, frame, rule->node, name);
    }
    return holds;
}

/* All that the node says about one member; false in `out_known` where it says nothing. */
static bool check_member(Checker *checker, const Frame *frame, const Rule *rule, uint32_t index, bool *out_known)
{
    Str name = value_text(frame->value.members[index].key);
    const NodeSet *named = rule->members.named, *patterned = rule->members.patterned;
    const NodeChild *child = named ? node_set_find(named, name) : NULL;
    bool holds = true;
    *out_known = child != NULL;
    if (child) holds &= apply_member(checker, frame, index, child->node);
    for (uint32_t i = 0; patterned && i < patterned->count; i++) {
        if (!holds && checker_stops(checker)) return false;
        if (!matches(checker, rule->members.patterns[i], name)) {
            if (checker->status) return false;
            continue;
        }
        *out_known = true;
        holds &= apply_member(checker, frame, index, patterned->items[i].node);
    }
    if (*out_known || !rule->members.rest) return holds;
    *out_known = true;
    return apply_member(checker, frame, index, rule->members.rest);
}

static bool check_members(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    for (uint32_t i = 0; i < frame->value.count; i++) {
        bool is_known;
        if (!charge(checker, text_cost(frame->value.members[i].key))) return false;
        holds &= check_member(checker, frame, rule, i, &is_known);
        if (is_known) mark(checker, frame, i);
        if (!holds && checker_stops(checker)) return false;
    }
    return holds;
}

static bool check_dependents(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    for (uint32_t i = 0; i < rule->set->count; i++) {
        Str name = rule->set->items[i].name;
        if (!charge(checker, text_cost(value_string(name)))) return false;
        if (!value_get(frame->value, name)) continue;
        holds &= apply(checker, frame, rule->set->items[i].node);
        if (!holds && checker_stops(checker)) return false;
    }
    return holds;
}

static bool check_unevaluated_members(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    if (!charge(checker, frame->value.count / MARKS_PER_STEP)) return false;
    for (uint32_t i = 0; i < frame->value.count; i++) {
        if (is_marked(checker, frame, i)) continue;
        holds &= apply_member(checker, frame, i, rule->node);
        mark(checker, frame, i);
        if (!holds && checker_stops(checker)) return false;
    }
    return holds;
}

/* --- references and combinations --------------------------------------------------------------------------------- */

static bool check_ref(Checker *checker, const Frame *frame, const Rule *rule)
{
    return apply(checker, frame, rule->node);
}

/* Of all resources entered on the way here, the outermost that has a dynamic anchor of that name decides. */
static bool check_dynamic_ref(Checker *checker, const Frame *frame, const Rule *rule)
{
    const SchemaNode *node = rule->dynamic.node;
    uint64_t steps = 0;
    for (const Scope *scope = frame->scope; scope && rule->dynamic.name; scope = scope->outer) {
        for (const AnchorPlace *place = rule->dynamic.name->dynamic; place; place = place->next, steps++)
            if (place->resource == scope->resource) node = place->node;
    }
    return charge(checker, steps) && apply(checker, frame, node);
}

static bool check_all(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = true;
    for (uint32_t i = 0; i < rule->set->count; i++) {
        holds &= apply(checker, frame, rule->set->items[i].node);
        if (!holds && checker_stops(checker)) return false;
    }
    return holds;
}

static void explain_all(Checker *checker, const Frame *frame, const NodeSet *set)
{
    for (uint32_t i = 0; i < set->count; i++) explain(checker, frame, set->items[i].node, frame->value);
}

static bool check_any(Checker *checker, const Frame *frame, const Rule *rule)
{
    bool holds = false;
    for (uint32_t i = 0; i < rule->set->count; i++) {
        holds |= apply_branch(checker, frame, rule->set->items[i].node);
        if (checker->status) return false;
        if (holds && frame->marks == NO_MARKS) return true;
    }
    if (holds || checker->quiet) return holds;
    checker_report(checker, frame, "anyOf", STR(""), "must match at least one of %u schemas, matches none",
                   rule->set->count);
    explain_all(checker, frame, rule->set);
    return false;
}

static bool check_one(Checker *checker, const Frame *frame, const Rule *rule)
{
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < rule->set->count; i++) {
        bool holds = apply_branch(checker, frame, rule->set->items[i].node);
        if (checker->status) return false;
        if (holds && ++count == 1) first = i;
        if (count < 2) continue;
        return checker_report(checker, frame, "oneOf", STR(""),
                              "must match exactly one of %u schemas, matches %u and %u",
                              rule->set->count, first, i);
    }
    if (count == 1 || checker->quiet) return count == 1;
    checker_report(checker, frame, "oneOf", STR(""), "must match exactly one of %u schemas, matches none",
                   rule->set->count);
    explain_all(checker, frame, rule->set);
    return false;
}

static bool check_not(Checker *checker, const Frame *frame, const Rule *rule)
{
    Frame inner = *frame;
    inner.marks = NO_MARKS;                         /* what is refused has evaluated nothing */
    if (!apply_branch(checker, &inner, rule->node)) return true;
    return checker_report(checker, frame, "not", STR(""), "must not match the schema, does match");
}

static bool check_condition(Checker *checker, const Frame *frame, const Rule *rule)
{
    if (!rule->branch.condition) return true;       /* then and else alone mean nothing */
    bool holds = apply_branch(checker, frame, rule->branch.condition);
    if (checker->status) return false;
    const SchemaNode *next = holds ? rule->branch.then : rule->branch.otherwise;
    return !next || apply(checker, frame, next);
}
