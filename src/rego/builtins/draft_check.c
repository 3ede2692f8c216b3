/* Instances against nodes. Of schemas of which one has to match, the violations of the one that came nearest are shown; how
 * near is a score: a point for each part that was checked, two off for each violation. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "rego/builtins/draft_schema.h"
#include "rego/builtins/json_text.h"
#include "value/number.h"

#define DIVIDE_STEPS 10u                /* for a division however short its numbers are */

/* Where in the instance, from the inside out. */
typedef struct Place {
    const struct Place *outer;
    Str name;                       /* of a member; empty with `is_item` for an item */
    uint32_t index;
    bool is_item;
} Place;

typedef struct Outcome {
    ValueList errors;
    int64_t score;
} Outcome;

typedef struct Checker {
    BuiltinContext *context;
    uint32_t depth;
    BuiltinResult result;           /* sticky: BUILTIN_HALT or BUILTIN_ERROR ends everything */
    Error *err;
} Checker;

static void check_node(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome);

/* --- violations --------------------------------------------------------------------------------------------------- */

static void place_print(Buf *buf, const Place *place)
{
    if (!place->outer) {
        buf_text(buf, "(Root)");
        return;
    }
    if (place->outer->outer) {          /* the root is not named before others */
        place_print(buf, place->outer);
        buf_char(buf, '.');
    }
    if (place->is_item) buf_u64(buf, place->index);
    else buf_str(buf, place->name);
}

static Str place_text(Checker *checker, const Place *place)
{
    Buf buf;
    buf_init(&buf, REGO_VALUE_SIZE_MAX);
    place_print(&buf, place);
    Str text = arena_copy(checker->context->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* Takes the description. */
static void violation_add(Checker *checker, Outcome *outcome, const Place *place, const char *type, Str description)
{
    Arena *arena = checker->context->arena;
    Str field = place_text(checker, place);
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("type"), value_string(str_of(type)));
    member_list_add(&members, STR("field"), value_string(field));
    member_list_add(&members, STR("desc"), value_string(description));
    Str error = arena_format(arena, "%.*s: %.*s", STR_ARG(field), STR_ARG(description));
    member_list_add(&members, STR("error"), value_string(error));
    value_list_add(&outcome->errors, member_list_object(&members));
    outcome->score -= 2;
}

#define VIOLATION(checker, outcome, place, type, ...) \
    violation_add(checker, outcome, place, type, arena_format((checker)->context->arena, __VA_ARGS__))

static bool is_valid(const Outcome *outcome) { return outcome->errors.count == 0; }

static void outcome_merge(Outcome *outcome, const Outcome *other)
{
    for (size_t i = 0; i < other->errors.count; i++) value_list_add(&outcome->errors, other->errors.items[i]);
    outcome->score += other->score;
}

static Outcome check_apart(Checker *checker, const DraftNode *node, Value value, const Place *place)
{
    Outcome outcome = { .errors = { .arena = checker->context->arena } };
    check_node(checker, node, value, place, &outcome);
    return outcome;
}

/* --- texts of values ---------------------------------------------------------------------------------------------- */

/* JSON with numbers in their shortest form, as they are compared. */
static void plain_print(Buf *buf, Value value)
{
    if (value.kind == VALUE_DECIMAL) {
        number_print_canonical(buf, value);
    } else if (value.kind == VALUE_ARRAY) {
        buf_char(buf, '[');
        for (uint32_t i = 0; i < value.count; i++) {
            if (i) buf_char(buf, ',');
            plain_print(buf, value.items[i]);
        }
        buf_char(buf, ']');
    } else if (value.kind == VALUE_OBJECT) {
        buf_char(buf, '{');
        for (uint32_t i = 0; i < value.count; i++) {
            if (i) buf_char(buf, ',');
            json_text_print(buf, value.members[i].key);
            buf_char(buf, ':');
            plain_print(buf, value.members[i].value);
        }
        buf_char(buf, '}');
    } else {
        json_text_print(buf, value);
    }
}

static Str plain_text(Checker *checker, const Value *values, size_t count)
{
    Buf buf;
    buf_init(&buf, REGO_VALUE_SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        if (i) buf_text(&buf, ", ");
        plain_print(&buf, values[i]);
    }
    Str text = arena_copy(checker->context->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* A limit as Go prints a float: all its digits, with an exponent from a million on and below a ten-thousandth. */
static Str limit_text(Checker *checker, Value limit)
{
    Number number;
    number_parts(limit, &number);
    if (number.digit_count == 0) return STR("0");
    Buf buf;
    buf_init(&buf, REGO_VALUE_SIZE_MAX);
    char digits[1024];
    size_t count = 0;
    for (size_t i = 0; i < number.digits.len && count < sizeof digits; i++)
        if (number.digits.ptr[i] != '.') digits[count++] = number.digits.ptr[i];
    Str all = { digits, count };
    if (number.negative) buf_char(&buf, '-');
    int32_t exponent = number.exponent;
    if (exponent < -4 || exponent >= 6) {
        buf_str(&buf, str_slice(all, 0, 1));
        if (count > 1) buf_char(&buf, '.');
        buf_str(&buf, str_slice(all, 1, count));
        buf_format(&buf, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
    } else if (exponent < 0) {
        buf_text(&buf, "0.");
        buf_repeat(&buf, '0', (size_t)(-exponent - 1));
        buf_str(&buf, all);
    } else {
        size_t whole = (size_t)exponent + 1;
        buf_str(&buf, str_slice(all, 0, whole));
        if (whole > count) buf_repeat(&buf, '0', whole - count);
        if (whole < count) buf_char(&buf, '.');
        buf_str(&buf, str_slice(all, whole, count));
    }
    Str text = arena_copy(checker->context->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* --- schemas inside schemas --------------------------------------------------------------------------------------- */

static void check_any_of(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    Outcome best = { 0 };
    for (size_t i = 0; i < node->any_of.count && !checker->result; i++) {
        Outcome part = check_apart(checker, node->any_of.items[i], value, place);
        if (is_valid(&part)) return;
        if (i == 0 || part.score > best.score) best = part;
    }
    VIOLATION(checker, outcome, place, "number_any_of", "Must validate at least one schema (anyOf)");
    outcome_merge(outcome, &best);
}

static void check_one_of(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    Outcome best = { 0 };
    size_t valid = 0;
    bool has_best = false;
    for (size_t i = 0; i < node->one_of.count && !checker->result; i++) {
        Outcome part = check_apart(checker, node->one_of.items[i], value, place);
        if (is_valid(&part)) {
            valid++;
        } else if (valid == 0 && (!has_best || part.score > best.score)) {
            best = part;
            has_best = true;
        }
    }
    if (valid == 1) return;
    VIOLATION(checker, outcome, place, "number_one_of", "Must validate one and only one schema (oneOf)");
    if (valid == 0) outcome_merge(outcome, &best);
}

static void check_all_of(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    size_t valid = 0;
    for (size_t i = 0; i < node->all_of.count && !checker->result; i++) {
        Outcome part = check_apart(checker, node->all_of.items[i], value, place);
        valid += is_valid(&part);
        outcome_merge(outcome, &part);
    }
    if (valid != node->all_of.count)
        VIOLATION(checker, outcome, place, "number_all_of", "Must validate all the schemas (allOf)");
}

static void check_dependencies(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    for (size_t i = 0; i < node->dependencies.count && !checker->result; i++) {
        const DraftMember *dependency = &node->dependencies.items[i];
        if (!value_get(value, dependency->name)) continue;
        if (dependency->node) {
            check_node(checker, dependency->node, value, place, outcome);
            continue;
        }
        for (uint32_t j = 0; j < dependency->names.count; j++) {
            Str name = value_text(dependency->names.items[j]);
            if (!value_get(value, name))
                VIOLATION(checker, outcome, place, "missing_dependency", "Has a dependency on %.*s", STR_ARG(name));
        }
    }
}

static void check_condition(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    Outcome condition = check_apart(checker, node->if_node, value, place);
    bool holds = is_valid(&condition);
    const DraftNode *next = holds ? node->then_node : node->else_node;
    if (!next) return;
    Outcome part = check_apart(checker, next, value, place);
    if (is_valid(&part)) return;
    if (holds) VIOLATION(checker, outcome, place, "condition_then", "Must validate \"then\" as \"if\" was valid");
    else VIOLATION(checker, outcome, place, "condition_else", "Must validate \"else\" as \"if\" was not valid");
    outcome_merge(outcome, &part);
}

static void check_schemas(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    if (node->any_of.count) check_any_of(checker, node, value, place, outcome);
    if (node->one_of.count) check_one_of(checker, node, value, place, outcome);
    if (node->all_of.count) check_all_of(checker, node, value, place, outcome);
    if (node->not) {
        Outcome part = check_apart(checker, node->not, value, place);
        if (is_valid(&part)) VIOLATION(checker, outcome, place, "number_not", "Must not validate the schema (not)");
    }
    check_dependencies(checker, node, value, place, outcome);
    if (node->if_node) check_condition(checker, node, value, place, outcome);
    outcome->score++;
}

/* --- any value ---------------------------------------------------------------------------------------------------- */

static bool is_choice(Value choices, Value value)
{
    for (uint32_t i = 0; i < choices.count; i++)
        if (value_equals(choices.items[i], value)) return true;
    return false;
}

static void check_common(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    if (node->has_const && !value_equals(node->constant_value, value))
        VIOLATION(checker, outcome, place, "const", "%.*s does not match: %.*s", STR_ARG(place_text(checker, place)),
                  STR_ARG(plain_text(checker, &node->constant_value, 1)));
    if (node->has_enum && !is_choice(node->choices, value))
        VIOLATION(checker, outcome, place, "enum", "%.*s must be one of the following: %.*s",
                  STR_ARG(place_text(checker, place)),
                  STR_ARG(plain_text(checker, node->choices.items, node->choices.count)));
    bool matches = true;
    if (node->format.len && value.kind == VALUE_STRING && !checker->result)
        checker->result = draft_format_check(checker->context, node->format, value_text(value), &matches, checker->err);
    if (!matches)
        VIOLATION(checker, outcome, place, "format", "Does not match format '%.*s'", STR_ARG(node->format));
    outcome->score++;
}

/* --- numbers and strings ------------------------------------------------------------------------------------------ */

static void check_number(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    if (node->divisor) {
        if (!builtin_spend(checker->context, DIVIDE_STEPS + divisor_weight(node->divisor, value) / 8, checker->err))
            checker->result = BUILTIN_HALT;
        else if (!divisor_divides(node->divisor, value))
            VIOLATION(checker, outcome, place, "multiple_of", "Must be a multiple of %.*s",
                      STR_ARG(limit_text(checker, node->multiple_of)));
    }
    const struct { Value limit; int sign; bool is_exclusive; const char *type, *words; } limits[] = {
        { node->maximum, 1, false, "number_lte", "less than or equal to" },
        { node->exclusive_maximum, 1, true, "number_lt", "less than" },
        { node->minimum, -1, false, "number_gte", "greater than or equal to" },
        { node->exclusive_minimum, -1, true, "number_gt", "greater than" },
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (limits[i].limit.kind == VALUE_NULL) continue;
        int order = number_compare(value, limits[i].limit) * limits[i].sign;
        if (order > 0 || (order == 0 && limits[i].is_exclusive))
            VIOLATION(checker, outcome, place, limits[i].type, "Must be %s %.*s", limits[i].words,
                      STR_ARG(limit_text(checker, limits[i].limit)));
    }
    outcome->score++;
}

static bool pattern_matches(Checker *checker, RegexMachine *machine, Str text)
{
    RegexBudget budget = { checker->context->steps_left, checker->context->stop };
    RegexResult found = regex_matches(machine, text, &budget);
    if (found == REGEX_HALT && !checker->result) {
        if (builtin_spend(checker->context, 1, checker->err))
            error_set(checker->err, ERR_LIMIT, "no memory is left for a regular expression (of %zu bytes)",
                      checker->context->arena_size_max);
        checker->result = BUILTIN_HALT;
    }
    return found == REGEX_FOUND;
}

static void check_string(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    Str text = value_text(value);
    int64_t length = node->min_length >= 0 || node->max_length >= 0 ? (int64_t)utf8_count(text) : 0;
    if (node->min_length >= 0 && length < node->min_length)
        VIOLATION(checker, outcome, place, "string_gte", "String length must be greater than or equal to %lld",
                  (long long)node->min_length);
    if (node->max_length >= 0 && length > node->max_length)
        VIOLATION(checker, outcome, place, "string_lte", "String length must be less than or equal to %lld",
                  (long long)node->max_length);
    if (node->pattern && !pattern_matches(checker, node->pattern, text) && !checker->result)
        VIOLATION(checker, outcome, place, "pattern", "Does not match pattern '%.*s'", STR_ARG(node->pattern_text));
    outcome->score++;
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

static Outcome check_item(Checker *checker, const DraftNode *node, Value array, uint32_t index, const Place *place)
{
    Place inner = { .outer = place, .index = index, .is_item = true };
    return check_apart(checker, node, array.items[index], &inner);
}

static void check_items(Checker *checker, const DraftNode *node, Value array, const Place *place, Outcome *outcome)
{
    const DraftRest *rest = &node->additional_items;
    size_t count = node->items.count;
    if (count == 0) return;
    for (uint32_t i = 0; i < array.count && !checker->result; i++) {
        const DraftNode *item = node->items_are_single ? node->items.items[0] : i < count ? node->items.items[i] : rest->node;
        if (!item) break;
        Outcome part = check_item(checker, item, array, i, place);
        outcome_merge(outcome, &part);
    }
    bool is_longer = !node->items_are_single && array.count > count;
    if (is_longer && rest->is_given && !rest->node && !rest->is_allowed)
        VIOLATION(checker, outcome, place, "array_no_additional_items", "No additional items allowed on array");
}

typedef struct Indexed {
    Value value;
    uint32_t index;
} Indexed;

static int order_indexed(const void *a, const void *b)
{
    const Indexed *left = a, *right = b;
    int order = value_compare(left->value, right->value);
    return order ? order : left->index < right->index ? -1 : left->index > right->index;
}

static int order_pairs(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return left[1] < right[1] ? -1 : left[1] > right[1];
}

/* Equal items lie side by side once they are sorted; reported in the order of the array. */
static void check_unique(Checker *checker, Value array, const Place *place, Outcome *outcome)
{
    if (array.count < 2) return;
    Indexed *sorted = BUILTIN_ARRAY(checker->context, Indexed, array.count, checker->err);
    uint32_t(*pairs)[2] = builtin_alloc(checker->context, array.count * sizeof *pairs, checker->err);
    if (!sorted || !pairs || !builtin_spend(checker->context, array.count, checker->err)) {
        checker->result = BUILTIN_HALT;
        return;
    }
    for (uint32_t i = 0; i < array.count; i++) sorted[i] = (Indexed){ array.items[i], i };
    qsort(sorted, array.count, sizeof *sorted, order_indexed);
    uint32_t count = 0;
    for (uint32_t i = 1; i < array.count; i++) {
        if (!value_equals(sorted[i - 1].value, sorted[i].value)) continue;
        pairs[count][0] = sorted[i - 1].index;
        pairs[count++][1] = sorted[i].index;
    }
    qsort(pairs, count, sizeof *pairs, order_pairs);
    for (uint32_t i = 0; i < count; i++)
        VIOLATION(checker, outcome, place, "unique", "array items[%u,%u] must be unique", pairs[i][0], pairs[i][1]);
}

static void check_contains(Checker *checker, const DraftNode *node, Value array, const Place *place, Outcome *outcome)
{
    Outcome best = { 0 };
    for (uint32_t i = 0; i < array.count && !checker->result; i++) {
        Outcome part = check_item(checker, node->contains, array, i, place);
        if (is_valid(&part)) return;
        if (i == 0 || part.score > best.score) best = part;
    }
    VIOLATION(checker, outcome, place, "contains", "At least one of the items must match");
    outcome_merge(outcome, &best);
}

static void check_array(Checker *checker, const DraftNode *node, Value array, const Place *place, Outcome *outcome)
{
    check_items(checker, node, array, place, outcome);
    if (node->min_items >= 0 && array.count < node->min_items)
        VIOLATION(checker, outcome, place, "array_min_items", "Array must have at least %lld items",
                  (long long)node->min_items);
    if (node->max_items >= 0 && array.count > node->max_items)
        VIOLATION(checker, outcome, place, "array_max_items", "Array must have at most %lld items",
                  (long long)node->max_items);
    if (node->unique_items) check_unique(checker, array, place, outcome);
    if (node->contains) check_contains(checker, node, array, place, outcome);
    outcome->score++;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

static bool has_property(const DraftNode *node, Str name)
{
    size_t low = 0, high = node->properties.count;          /* sorted, as members of an object are */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(node->properties.items[middle].name, name);
        if (order == 0) return true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

/* Against each pattern that the name matches; false where it matches none. */
static bool check_pattern_properties(Checker *checker, const DraftNode *node, const Member *member, const Place *place,
                                     Outcome *outcome)
{
    bool matched = false;
    Place inner = { .outer = place, .name = value_text(member->key) };
    for (size_t i = 0; i < node->pattern_properties.count && !checker->result; i++) {
        const DraftMember *property = &node->pattern_properties.items[i];
        if (!pattern_matches(checker, property->pattern, inner.name)) continue;
        matched = true;
        Outcome part = check_apart(checker, property->node, member->value, &inner);
        outcome_merge(outcome, &part);
    }
    if (matched) outcome->score++;
    return matched;
}

static void check_additional_property(Checker *checker, const DraftNode *node, const Member *member, const Place *place,
                                      Outcome *outcome)
{
    const DraftRest *rest = &node->additional_properties;
    Place inner = { .outer = place, .name = value_text(member->key) };
    if (!rest->is_given) return;
    if (rest->node) {
        Outcome part = check_apart(checker, rest->node, member->value, &inner);
        outcome_merge(outcome, &part);
    } else if (!rest->is_allowed) {
        VIOLATION(checker, outcome, place, "additional_property_not_allowed", "Additional property %.*s is not allowed",
                  STR_ARG(inner.name));
    }
}

static void check_property_names(Checker *checker, const DraftNode *node, Value object, const Place *place, Outcome *outcome)
{
    for (uint32_t i = 0; i < object.count && !checker->result; i++) {
        Value name = object.members[i].key;
        Outcome part = check_apart(checker, node->property_names, name, place);
        if (is_valid(&part)) continue;
        VIOLATION(checker, outcome, place, "invalid_property_name", "Property name of \"%.*s\" does not match",
                  STR_ARG(value_text(name)));
        outcome_merge(outcome, &part);
    }
}

static void check_required(Checker *checker, const DraftNode *node, Value object, const Place *place, Outcome *outcome)
{
    for (uint32_t i = 0; i < node->required.count; i++) {
        Str name = value_text(node->required.items[i]);
        if (value_get(object, name)) outcome->score++;
        else VIOLATION(checker, outcome, place, "required", "%.*s is required", STR_ARG(name));
    }
}

static void check_object(Checker *checker, const DraftNode *node, Value object, const Place *place, Outcome *outcome)
{
    if (node->min_properties >= 0 && object.count < node->min_properties)
        VIOLATION(checker, outcome, place, "array_min_properties", "Must have at least %lld properties",
                  (long long)node->min_properties);
    if (node->max_properties >= 0 && object.count > node->max_properties)
        VIOLATION(checker, outcome, place, "array_max_properties", "Must have at most %lld properties",
                  (long long)node->max_properties);
    check_required(checker, node, object, place, outcome);
    for (uint32_t i = 0; i < object.count && !checker->result; i++) {
        const Member *member = &object.members[i];
        bool matched = check_pattern_properties(checker, node, member, place, outcome);
        if (!matched && !has_property(node, value_text(member->key)))
            check_additional_property(checker, node, member, place, outcome);
    }
    if (node->property_names) check_property_names(checker, node, object, place, outcome);
    outcome->score++;
}

static void check_properties(Checker *checker, const DraftNode *node, Value object, const Place *place, Outcome *outcome)
{
    for (size_t i = 0; i < node->properties.count && !checker->result; i++) {
        const DraftMember *property = &node->properties.items[i];
        const Value *value = value_get(object, property->name);
        Place inner = { .outer = place, .name = property->name };
        if (value) check_node(checker, property->node, *value, &inner, outcome);
    }
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static bool has_type(const DraftNode *node, const char *name)
{
    for (uint32_t i = 0; i < node->types.count; i++)
        if (str_is_text(value_text(node->types.items[i]), name)) return true;
    return false;
}

/* False, with a violation, where the value is of none of the types. */
static bool check_type(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    const char *given = value_kind_name(value);
    bool is_integer = value_is_number(value) && number_is_integer(value);
    if (is_integer) given = "integer";
    if (node->types.count == 0 || has_type(node, given) || (is_integer && has_type(node, "number"))) return true;
    char expected[128];
    Buf buf = buf_on(expected, sizeof expected);
    if (node->types.count > 1) buf_char(&buf, '[');
    for (uint32_t i = 0; i < node->types.count; i++) {
        if (i) buf_char(&buf, ',');
        buf_str(&buf, value_text(node->types.items[i]));
    }
    if (node->types.count > 1) buf_char(&buf, ']');
    VIOLATION(checker, outcome, place, "invalid_type", "Invalid type. Expected: %.*s, given: %s", STR_ARG(buf_peek(&buf)),
              given);
    return false;
}

static void check_value(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    if (!check_type(checker, node, value, place, outcome)) return;
    check_schemas(checker, node, value, place, outcome);
    if (value_is_number(value)) check_number(checker, node, value, place, outcome);
    if (value.kind == VALUE_ARRAY) check_array(checker, node, value, place, outcome);
    if (value.kind == VALUE_OBJECT) check_object(checker, node, value, place, outcome);
    check_common(checker, node, value, place, outcome);
    if (value.kind == VALUE_STRING) check_string(checker, node, value, place, outcome);
    if (value.kind == VALUE_OBJECT) check_properties(checker, node, value, place, outcome);
    outcome->score++;
}

static void check_node(Checker *checker, const DraftNode *node, Value value, const Place *place, Outcome *outcome)
{
    if (!outcome->errors.arena) outcome->errors.arena = checker->context->arena;
    uint32_t hops = 0;
    while (node->ref && hops++ < DRAFT_DEPTH_MAX) node = node->ref;
    if (checker->result || !builtin_spend(checker->context, 1, checker->err)) {
        if (!checker->result) checker->result = BUILTIN_HALT;
        return;
    }
    if (node->ref || checker->depth == DRAFT_DEPTH_MAX) {
        checker->result = builtin_limit(checker->err, "the schema is applied inside itself beyond DRAFT_DEPTH_MAX (%u)",
                                        DRAFT_DEPTH_MAX);
        return;
    }
    checker->depth++;
    if (!node->is_constant) check_value(checker, node, value, place, outcome);
    else if (!node->constant) VIOLATION(checker, outcome, place, "false", "False always fails validation");
    checker->depth--;
}

BuiltinResult draft_check(BuiltinContext *context, const DraftSchema *schema, Value instance, Value *out_errors, Error *err)
{
    Checker checker = { .context = context, .err = err };
    Outcome outcome = { .errors = { .arena = context->arena } };
    Place root = { 0 };
    check_node(&checker, schema->root, instance, &root, &outcome);
    *out_errors = value_list_array(&outcome.errors);
    return checker.result;
}
