/* Whether values are what their places expect. */
#include "rego/graphql/check.h"
#include "rego/graphql/message.h"
#include "value/number.h"

static bool is_named(const GqlDefinition *definition, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_text(definition->name, names[i])) return true;
    return false;
}
#define IS_NAMED(definition, ...) \
    is_named(definition, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))

/* Whether the integer fits that many bits, sign included. */
static bool integer_fits(Str text, int64_t low, int64_t high)
{
    Value number;
    int64_t integer;
    char storage[64];
    if (text.len > sizeof storage) return false;
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    bool fits = number_read(&scratch, text, &number, NULL) == OK && number_to_int64(number, &integer) && integer >= low
             && integer <= high;
    arena_deinit(&scratch);
    return fits;
}

/* Whether the number lies below the largest that a double holds. */
static bool float_fits(Arena *arena, Str text)
{
    Value number, limit = number_make(arena, STR("1.797693134862315808e308"));
    Error err;
    Status status = number_read(arena, text, &number, &err);
    if (status) {           /* an exponent beyond all bounds: a small number is none too large */
        size_t at = 0;
        while (at < text.len && text.ptr[at] != 'e' && text.ptr[at] != 'E') at++;
        return at + 1 < text.len && text.ptr[at + 1] == '-';
    }
    Str digits = value_text(number);
    if (number.kind == VALUE_INT) return true;
    if (digits.ptr[0] == '-') number = number_make(arena, str_slice(digits, 1, digits.len));
    return number_compare(number, limit) < 0;
}

/* Whether it can be turned into a number of the machine, where it is written as one. */
static bool is_readable(GqlCheck *check, const GqlValue *value)
{
    if (value->kind == GQL_INT) return integer_fits(value->raw, INT64_MIN, INT64_MAX);
    if (value->kind == GQL_FLOAT) return float_fits(check->arena, value->raw);
    if (value->kind != GQL_LIST && value->kind != GQL_OBJECT) return true;
    for (uint32_t i = 0; i < value->children.count; i++)
        if (!is_readable(check, ((const GqlChild *)value->children.items[i])->value)) return false;
    return true;
}

/* "Int cannot represent non-integer value: ..." and its like. */
static void print_unexpected(GqlCheck *check, const GqlValue *value)
{
    static const struct { const char *type, *reason; } reasons[] = {
        { "Int", "Int cannot represent non-integer value: " },
        { "String", "String cannot represent a non string value: " },
        { "Boolean", "Boolean cannot represent a non boolean value: " },
        { "Float", "Float cannot represent non numeric value: " },
        { "ID", "ID cannot represent a non-string and non-integer value: " },
    };
    Buf *out = &check->messages;
    const GqlType *type = value->expected;
    bool is_text_list = type->element && !type->non_null && !type->element->non_null
                     && str_is(type->element->name, STR("String"));
    Str name = is_text_list ? STR("String") : type->name;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        if (!str_is_text(name, reasons[i].type)) continue;
        bool is_large = i == 0 && value->kind == GQL_INT && !integer_fits(value->raw, INT32_MIN, INT32_MAX);
        buf_text(out, is_large ? "Int cannot represent non 32-bit signed integer value: " : reasons[i].reason);
        gql_value_print(out, value);
        return;
    }
    bool is_enum = gql_is(value->definition, "ENUM");
    buf_text(out, is_enum ? "Enum \"" : "Expected value of type \"");
    gql_type_print(out, type);
    buf_text(out, is_enum ? "\" cannot represent non-enum value: " : "\", found ");
    gql_value_print(out, value);
    buf_char(out, '.');
}

static void report_unexpected(GqlCheck *check, const GqlValue *value)
{
    gql_violation_begin(check, value->place);
    print_unexpected(check, value);
    gql_violation_end(check);
}

static void suggest_enum(GqlCheck *check, const GqlValue *value, bool quoted)
{
    const GqlDefinition *definition = value->definition;
    size_t count = gql_is(definition, "ENUM") ? definition->enum_values.count : 0;
    gql_violation_suggest(check, "Did you mean the enum value", value->raw,
                          gql_field_names(check->arena, &definition->enum_values), count, quoted);
}

static void check_text(GqlCheck *check, const GqlValue *value)
{
    if (gql_is(value->definition, "ENUM")) {
        gql_violation_begin(check, value->place);
        buf_text(&check->messages, "Enum \"");
        gql_type_print(&check->messages, value->expected);
        buf_text(&check->messages, "\" cannot represent non-enum value: ");
        gql_value_print(&check->messages, value);
        buf_char(&check->messages, '.');
        suggest_enum(check, value, true);
        gql_violation_end(check);
    } else if (!IS_NAMED(value->definition, "String", "ID")) {
        report_unexpected(check, value);
    }
}

static void check_enum(GqlCheck *check, const GqlValue *value)
{
    bool is_enum = gql_is(value->definition, "ENUM");
    if (is_enum && gql_field_find(&value->definition->enum_values, value->raw)) return;
    gql_violation_begin(check, value->place);
    if (is_enum) {
        buf_format(&check->messages, "Value \"%.*s\" does not exist in \"", STR_ARG(value->raw));
        gql_type_print(&check->messages, value->expected);
        buf_text(&check->messages, "\" enum.");
    } else {
        print_unexpected(check, value);
    }
    suggest_enum(check, value, is_enum);
    gql_violation_end(check);
}

static GqlValue *child_find(const GqlValue *value, Str name)
{
    for (uint32_t i = 0; i < value->children.count; i++) {
        const GqlChild *child = value->children.items[i];
        if (str_is(child->name, name)) return child->value;
    }
    return NULL;
}

static void check_required_fields(GqlCheck *check, const GqlValue *value)
{
    const GqlDefinition *definition = value->definition;
    for (uint32_t i = 0; i < definition->fields.count; i++) {
        const GqlField *field = definition->fields.items[i];
        if (!field->type->non_null || field->default_value || child_find(value, field->name)) continue;
        gql_violation_begin(check, value->place);
        buf_format(&check->messages, "Field \"%.*s.%.*s\" of required type \"", STR_ARG(definition->name),
                   STR_ARG(field->name));
        gql_type_print(&check->messages, field->type);
        buf_text(&check->messages, "\" was not provided.");
        gql_violation_end(check);
    }
}

static void check_one_of(GqlCheck *check, const GqlValue *value)
{
    const GqlDefinition *definition = value->definition;
    if (value->children.count != 1) {
        gql_violation(check, value->place, "OneOf Input Object \"%.*s\" must specify exactly one key.",
                      STR_ARG(definition->name));
        return;
    }
    const GqlValue *only = ((const GqlChild *)value->children.items[0])->value;
    if (only->kind != GQL_NULL || !definition->fields.count) return;
    const GqlField *first = definition->fields.items[0];
    gql_violation(check, only->place, "Field \"%.*s.%.*s\" must be non-null.", STR_ARG(definition->name),
                  STR_ARG(first->name));
}

static void check_object(GqlCheck *check, const GqlValue *value)
{
    const GqlDefinition *definition = value->definition;
    if (!gql_check_spend(check, (uint64_t)definition->fields.count * (1 + value->children.count) / 8)) return;
    check_required_fields(check, value);
    for (uint32_t i = 0; i < definition->directives.count; i++)
        if (str_is(((const GqlDirective *)definition->directives.items[i])->name, STR("oneOf"))) check_one_of(check, value);
    for (uint32_t i = 0; i < value->children.count; i++) {
        const GqlChild *child = value->children.items[i];
        if (gql_field_find(&definition->fields, child->name)) continue;
        gql_violation_begin(check, child->place);
        buf_format(&check->messages, "Field \"%.*s\" is not defined by type \"%.*s\".", STR_ARG(child->name),
                   STR_ARG(definition->name));
        gql_violation_suggest(check, "Did you mean", child->name, gql_field_names(check->arena, &definition->fields),
                              definition->fields.count, true);
        gql_violation_end(check);
    }
}

void gql_rule_values_of_correct_type(GqlCheck *check, GqlValue *value)
{
    if (!value->definition || !value->expected) return;
    if (value->kind == GQL_NULL && value->expected->non_null) {
        gql_violation_begin(check, value->place);
        buf_text(&check->messages, "Expected value of type \"");
        gql_type_print(&check->messages, value->expected);
        buf_text(&check->messages, "\", found ");
        gql_value_print(&check->messages, value);
        buf_char(&check->messages, '.');
        gql_violation_end(check);
    }
    /* What scalars of the schema's own take is known to nobody here. */
    if (gql_is(value->definition, "SCALAR") && !IS_NAMED(value->definition, "Int", "Float", "String", "Boolean", "ID"))
        return;
    if (!is_readable(check, value)) report_unexpected(check, value);
    switch (value->kind) {
    case GQL_LIST:
        if (!value->expected->element) report_unexpected(check, value);
        break;
    case GQL_INT:
        if (!IS_NAMED(value->definition, "Int", "Float", "ID")) report_unexpected(check, value);
        break;
    case GQL_FLOAT:
        if (!IS_NAMED(value->definition, "Float")) report_unexpected(check, value);
        break;
    case GQL_STRING:
    case GQL_BLOCK:
        check_text(check, value);
        break;
    case GQL_ENUM:
        check_enum(check, value);
        break;
    case GQL_BOOLEAN:
        if (!IS_NAMED(value->definition, "Boolean")) report_unexpected(check, value);
        break;
    case GQL_OBJECT:
        check_object(check, value);
        break;
    default:        /* a variable is checked by its type, and null is checked above */
        break;
    }
}
