/* Schema documents to nodes: first all references are made absolute, then each keyword is read, in the order in which OPA
 * reads them, so that of several mistakes the same one is named. */
#include "rego/builtins/draft_schema.h"

#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "value/json_pointer.h"
#include "value/number.h"
#include "value/uri.h"

typedef struct Compiler {
    BuiltinContext *context;
    Arena *arena;
    Value root;
    Map document_places;            /* from an absolute identifier to its place in `documents` */
    Value *documents;
    size_t document_count, document_capacity;
    Map node_places;                /* from an absolute reference to its node */
    DraftNode **nodes;
    size_t node_count, node_capacity;
    size_t made;                    /* nodes in all */
    uint32_t depth;
    Error *err;
} Compiler;

typedef BuiltinResult (*KeywordReader)(Compiler *compiler, DraftNode *node, Value value);

static BuiltinResult node_read(Compiler *compiler, Value document, const DraftNode *parent, DraftNode **out_node);

/* --- words -------------------------------------------------------------------------------------------------------- */

static BuiltinResult invalid_type(Compiler *compiler, const char *expected, const char *given)
{
    return builtin_error(compiler->err, "Invalid type. Expected: %s, given: %s", expected, given);
}

static BuiltinResult must_be(Compiler *compiler, const char *keyword, const char *what)
{
    return builtin_error(compiler->err, "%s must be of %s", keyword, what);
}

static bool is_schema(Value value) { return value.kind == VALUE_OBJECT || value.kind == VALUE_BOOL; }

/* --- references --------------------------------------------------------------------------------------------------- */

/* The reference as seen from the base, without an empty fragment. */
static BuiltinResult absolute(Compiler *compiler, Str base, Str reference, Str *out_absolute)
{
    char text[SCHEMA_REF_SIZE_MAX];
    Buf buf = buf_on(text, sizeof text);
    uri_resolve(&buf, base, reference);
    if (buf_overflowed(&buf))
        return builtin_limit(compiler->err, "a reference exceeds SCHEMA_REF_SIZE_MAX (%u bytes)", SCHEMA_REF_SIZE_MAX);
    Str result = buf_peek(&buf);
    if (str_ends(result, STR("#"))) result.len--;
    *out_absolute = arena_copy(compiler->arena, result);
    return BUILTIN_OK;
}

static BuiltinResult document_add(Compiler *compiler, Str id, Value document)
{
    if (!map_add(&compiler->document_places, id, (uint32_t)compiler->document_count, NULL))
        return builtin_error(compiler->err, "Reference already exists: \"%.*s\"", STR_ARG(id));
    compiler->documents = arena_grow(compiler->arena, compiler->documents, sizeof *compiler->documents,
                                     compiler->document_count, &compiler->document_capacity);
    compiler->documents[compiler->document_count++] = document;
    return BUILTIN_OK;
}

static BuiltinResult resolve_value(Compiler *compiler, Str base, Value value, Value *out_value);

static bool holds_names(Str keyword)
{
    return str_is(keyword, STR("properties")) || str_is(keyword, STR("dependencies"))
        || str_is(keyword, STR("patternProperties"));
}

/* The members of an object, each a schema, without the object being one. */
static BuiltinResult resolve_members(Compiler *compiler, Str base, Value object, Value *out_object)
{
    if (object.kind != VALUE_OBJECT) {
        *out_object = object;
        return BUILTIN_OK;
    }
    Member *members = ARENA_ARRAY(compiler->arena, Member, object.count);
    for (uint32_t i = 0; i < object.count; i++) {
        members[i].key = object.members[i].key;
        BuiltinResult result = resolve_value(compiler, base, object.members[i].value, &members[i].value);
        if (result != BUILTIN_OK) return result;
    }
    *out_object = (Value){ .kind = VALUE_OBJECT, .count = object.count, .members = members };
    return BUILTIN_OK;
}

static BuiltinResult resolve_member(Compiler *compiler, Str base, const Member *member, Value *out_value)
{
    Str keyword = value_text(member->key);
    if (str_is(keyword, STR("const")) || str_is(keyword, STR("enum"))) {
        *out_value = member->value;
        return BUILTIN_OK;
    }
    if (str_is(keyword, STR("$ref")) && member->value.kind == VALUE_STRING) {
        Str reference;
        BuiltinResult result = absolute(compiler, base, value_text(member->value), &reference);
        *out_value = value_string(reference);
        return result;
    }
    if (holds_names(keyword)) return resolve_members(compiler, base, member->value, out_value);
    return resolve_value(compiler, base, member->value, out_value);
}

static BuiltinResult resolve_object(Compiler *compiler, Str base, Value object, Value *out_object)
{
    const Value *id = value_get_text(object, "id");
    if (!id) id = value_get_text(object, "$id");
    Member *members = ARENA_ARRAY(compiler->arena, Member, object.count);
    *out_object = (Value){ .kind = VALUE_OBJECT, .count = object.count, .members = members };
    BuiltinResult result = BUILTIN_OK;
    if (id && id->kind == VALUE_STRING) {
        result = absolute(compiler, base, value_text(*id), &base);
        if (result == BUILTIN_OK) result = document_add(compiler, base, *out_object);
    }
    for (uint32_t i = 0; i < object.count && result == BUILTIN_OK; i++) {
        members[i].key = object.members[i].key;
        result = resolve_member(compiler, base, &object.members[i], &members[i].value);
    }
    return result;
}

/* A copy in which every reference is absolute. */
static BuiltinResult resolve_value(Compiler *compiler, Str base, Value value, Value *out_value)
{
    if (!builtin_spend(compiler->context, 1, compiler->err)) return BUILTIN_HALT;
    if (value.kind == VALUE_OBJECT) return resolve_object(compiler, base, value, out_value);
    *out_value = value;
    if (value.kind != VALUE_ARRAY) return BUILTIN_OK;
    Value *items = ARENA_ARRAY(compiler->arena, Value, value.count);
    for (uint32_t i = 0; i < value.count; i++) {
        BuiltinResult result = resolve_value(compiler, base, value.items[i], &items[i]);
        if (result != BUILTIN_OK) return result;
    }
    *out_value = value_array(items, value.count);
    return BUILTIN_OK;
}

static BuiltinResult pointer_follow(Compiler *compiler, Value document, Str fragment, Value *out_document)
{
    char decoded_text[SCHEMA_REF_SIZE_MAX], token_text[SCHEMA_REF_SIZE_MAX];
    Buf decoded = buf_on(decoded_text, sizeof decoded_text), token = buf_on(token_text, sizeof token_text);
    *out_document = document;
    if (!uri_decode(&decoded, fragment) || buf_overflowed(&decoded) || !json_pointer_is_valid(buf_peek(&decoded)))
        return BUILTIN_OK;                      /* no pointer at all leads to the whole document */
    Str pointer = buf_peek(&decoded);
    while (json_pointer_next(&pointer, &token)) {
        const Value *next = json_pointer_step(*out_document, buf_peek(&token));
        if (!next && out_document->kind == VALUE_OBJECT)
            return builtin_error(compiler->err, "Object has no key '%.*s'", STR_ARG(buf_peek(&token)));
        if (!next) return builtin_error(compiler->err, "Invalid token reference '%.*s'", STR_ARG(buf_peek(&token)));
        *out_document = *next;
    }
    return BUILTIN_OK;
}

static bool document_find(const Compiler *compiler, Str id, Value *out_document)
{
    uint32_t place;
    if (map_find(&compiler->document_places, id, &place)) *out_document = compiler->documents[place];
    else if (id.len == 0) *out_document = compiler->root;
    else return false;
    return true;
}

/* What an absolute reference leads to. */
static BuiltinResult reference_follow(Compiler *compiler, Str reference, Value *out_document)
{
    Str rest, fragment = { 0 };
    if (document_find(compiler, reference, out_document)) return BUILTIN_OK;
    if (!uri_cut_fragment(reference, &rest, &fragment)) rest = reference;
    if (document_find(compiler, rest, out_document)) return pointer_follow(compiler, *out_document, fragment, out_document);
    size_t colon = str_find(rest, ':', 0);
    if (!str_starts(str_slice(rest, colon, rest.len), STR("://")))
        return builtin_error(compiler->err, "Reference %s%.*s must be canonical", str_starts(rest, STR("/")) ? "" : "/",
                             STR_ARG(reference));
    return builtin_error(compiler->err, "policies have no access to the network to read the schema %.*s", STR_ARG(rest));
}

/* --- keywords: helpers -------------------------------------------------------------------------------------------- */

static void nodes_add(Compiler *compiler, DraftNodes *nodes, DraftNode *node)
{
    nodes->items = arena_grow(compiler->arena, nodes->items, sizeof *nodes->items, nodes->count, &nodes->capacity);
    nodes->items[nodes->count++] = node;
}

static DraftMember *members_add(Compiler *compiler, DraftMembers *members, Str name)
{
    members->items = arena_grow(compiler->arena, members->items, sizeof *members->items, members->count,
                                &members->capacity);
    DraftMember *member = &members->items[members->count++];
    *member = (DraftMember){ .name = name };
    return member;
}

static BuiltinResult pattern_compile(Compiler *compiler, Str pattern, RegexMachine **out_machine)
{
    const Regex *regex;
    if (!builtin_spend(compiler->context, 1 + pattern.len / 8, compiler->err)) return BUILTIN_HALT;
    Status status = regex_compile(compiler->arena, pattern, &regex, compiler->err);
    if (status) return builtin_result(status);
    *out_machine = regex_machine_new(compiler->arena, regex);
    return *out_machine ? BUILTIN_OK : BUILTIN_HALT;
}

static BuiltinResult read_schema_list(Compiler *compiler, DraftNode *node, Value value, const char *keyword, DraftNodes *out)
{
    if (value.kind != VALUE_ARRAY) return must_be(compiler, keyword, "an array");
    for (uint32_t i = 0; i < value.count; i++) {
        DraftNode *child;
        BuiltinResult result = node_read(compiler, value.items[i], node, &child);
        if (result != BUILTIN_OK) return result;
        nodes_add(compiler, out, child);
    }
    return BUILTIN_OK;
}

static BuiltinResult read_rest(Compiler *compiler, DraftNode *node, Value value, const char *keyword, DraftRest *out)
{
    out->is_given = true;
    out->is_allowed = value_is_true(value);
    if (value.kind == VALUE_BOOL) return BUILTIN_OK;
    if (value.kind != VALUE_OBJECT) return invalid_type(compiler, "boolean/Valid Schema", keyword);
    return node_read(compiler, value, node, &out->node);
}

static BuiltinResult read_count(Compiler *compiler, Value value, const char *keyword, int64_t *out_count)
{
    if (value.kind != VALUE_INT) return must_be(compiler, keyword, "an integer");
    if (value.integer < 0) return builtin_error(compiler->err, "%s must be greater than or equal to 0", keyword);
    *out_count = value.integer;
    return BUILTIN_OK;
}

/* --- keywords ----------------------------------------------------------------------------------------------------- */

static BuiltinResult read_definitions(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_OBJECT) return invalid_type(compiler, "Array Of Schemas", "definitions");
    for (uint32_t i = 0; i < value.count; i++) {
        DraftNode *ignored;
        if (!is_schema(value.members[i].value)) return invalid_type(compiler, "Array Of Schemas", "definitions");
        BuiltinResult result = node_read(compiler, value.members[i].value, node, &ignored);
        if (result != BUILTIN_OK) return result;
    }
    return BUILTIN_OK;
}

static BuiltinResult read_title(Compiler *compiler, DraftNode *node, Value value)
{
    return value.kind == VALUE_STRING ? BUILTIN_OK : invalid_type(compiler, "string", "title");
}

static BuiltinResult read_description(Compiler *compiler, DraftNode *node, Value value)
{
    return value.kind == VALUE_STRING ? BUILTIN_OK : invalid_type(compiler, "string", "description");
}

static BuiltinResult read_type(Compiler *compiler, DraftNode *node, Value value)
{
    static const char *const known[] = { "array", "boolean", "integer", "number", "null", "object", "string" };
    Value *names = ARENA_ARRAY(compiler->arena, Value, value.kind == VALUE_ARRAY ? value.count : 1);
    uint32_t count = 0;
    if (value.kind == VALUE_STRING) value = value_array(memcpy(ARENA_NEW(compiler->arena, Value), &value, sizeof value), 1);
    if (value.kind != VALUE_ARRAY) return invalid_type(compiler, "type", "string/Array Of Strings");
    for (uint32_t i = 0; i < value.count; i++) {
        if (value.items[i].kind != VALUE_STRING) return invalid_type(compiler, "type", "string/Array Of Strings");
        Str name = value_text(value.items[i]);
        bool is_known = false;
        for (size_t j = 0; j < sizeof known / sizeof known[0]; j++)
            if (str_is_text(name, known[j])) is_known = true;
        if (!is_known)
            return builtin_error(compiler->err,
                                 "has a primitive type that is NOT VALID -- given: /%.*s/ Expected valid values are:"
                                 "[array boolean integer number null object string]",
                                 STR_ARG(name));
        for (uint32_t j = 0; j < count; j++)
            if (str_is(value_text(names[j]), name))
                return builtin_error(compiler->err, "%.*s type is duplicated", STR_ARG(name));
        names[count++] = value.items[i];
    }
    node->types = value_array(names, count);
    return BUILTIN_OK;
}

static BuiltinResult read_properties(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_OBJECT) return builtin_error(compiler->err, "Properties must be of type object");
    for (uint32_t i = 0; i < value.count; i++) {
        DraftNode *child;
        BuiltinResult result = node_read(compiler, value.members[i].value, node, &child);
        if (result != BUILTIN_OK) return result;
        members_add(compiler, &node->properties, value_text(value.members[i].key))->node = child;
    }
    return BUILTIN_OK;
}

static BuiltinResult read_additional_properties(Compiler *compiler, DraftNode *node, Value value)
{
    return read_rest(compiler, node, value, "additionalProperties", &node->additional_properties);
}

static BuiltinResult read_pattern_properties(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_OBJECT) return invalid_type(compiler, "Valid Schema", "patternProperties");
    for (uint32_t i = 0; i < value.count; i++) {
        Str pattern = value_text(value.members[i].key);
        RegexMachine *machine;
        DraftNode *child;
        BuiltinResult result = pattern_compile(compiler, pattern, &machine);
        if (result == BUILTIN_ERROR) return builtin_error(compiler->err, "Invalid regex pattern '%.*s'", STR_ARG(pattern));
        if (result == BUILTIN_OK) result = node_read(compiler, value.members[i].value, node, &child);
        if (result != BUILTIN_OK) return result;
        DraftMember *member = members_add(compiler, &node->pattern_properties, pattern);
        member->pattern = machine;
        member->node = child;
    }
    return BUILTIN_OK;
}

static BuiltinResult read_property_names(Compiler *compiler, DraftNode *node, Value value)
{
    if (node->draft < 6) return BUILTIN_OK;
    if (!is_schema(value)) return invalid_type(compiler, "Valid Schema", "patternProperties");
    return node_read(compiler, value, node, &node->property_names);
}

static BuiltinResult read_dependencies(Compiler *compiler, DraftNode *node, Value value)
{
    static const char wrong[] = "Dependency must be of type Schema Or Array Of Strings";
    if (value.kind != VALUE_OBJECT) return builtin_error(compiler->err, "dependencies must be of type object");
    for (uint32_t i = 0; i < value.count; i++) {
        Value dependency = value.members[i].value;
        DraftNode *child = NULL;
        if (is_schema(dependency)) {
            BuiltinResult result = node_read(compiler, dependency, node, &child);
            if (result != BUILTIN_OK) return result;
        } else if (dependency.kind != VALUE_ARRAY) {
            return builtin_error(compiler->err, "%s", wrong);
        }
        for (uint32_t j = 0; !child && j < dependency.count; j++)
            if (dependency.items[j].kind != VALUE_STRING) return builtin_error(compiler->err, "%s", wrong);
        DraftMember *member = members_add(compiler, &node->dependencies, value_text(value.members[i].key));
        member->node = child;
        member->names = child ? value_null() : dependency;
    }
    return BUILTIN_OK;
}

static BuiltinResult read_items(Compiler *compiler, DraftNode *node, Value value)
{
    node->items_are_single = is_schema(value);
    if (!node->items_are_single && value.kind != VALUE_ARRAY)
        return invalid_type(compiler, "Valid Schema/Array Of Schemas", "items");
    uint32_t count = node->items_are_single ? 1 : value.count;
    for (uint32_t i = 0; i < count; i++) {
        Value item = node->items_are_single ? value : value.items[i];
        DraftNode *child;
        if (!is_schema(item)) return invalid_type(compiler, "Valid Schema/Array Of Schemas", "items");
        BuiltinResult result = node_read(compiler, item, node, &child);
        if (result != BUILTIN_OK) return result;
        nodes_add(compiler, &node->items, child);
    }
    return BUILTIN_OK;
}

static BuiltinResult read_additional_items(Compiler *compiler, DraftNode *node, Value value)
{
    return read_rest(compiler, node, value, "additionalItems", &node->additional_items);
}

static BuiltinResult read_multiple_of(Compiler *compiler, DraftNode *node, Value value)
{
    if (!value_is_number(value)) return invalid_type(compiler, "Number", "multipleOf");
    if (number_compare(value, value_int(0)) <= 0)
        return builtin_error(compiler->err, "multipleOf must be strictly greater than 0");
    node->multiple_of = value;
    return divisor_make(compiler->arena, value, &node->divisor, compiler->err) ? BUILTIN_ERROR : BUILTIN_OK;
}

static BuiltinResult read_minimum(Compiler *compiler, DraftNode *node, Value value)
{
    if (!value_is_number(value)) return must_be(compiler, "minimum", "a Number");
    node->minimum = value;
    return BUILTIN_OK;
}

static BuiltinResult read_maximum(Compiler *compiler, DraftNode *node, Value value)
{
    if (!value_is_number(value)) return must_be(compiler, "maximum", "a Number");
    node->maximum = value;
    return BUILTIN_OK;
}

/* A boolean about the limit beside it in draft 4, a limit of its own later. */
static BuiltinResult read_exclusive(Compiler *compiler, DraftNode *node, Value value, const char *keyword,
                                    const char *beside, Value *limit, Value *exclusive)
{
    bool takes_flag = node->draft == 4 || node->draft == DRAFT_HYBRID, takes_number = node->draft != 4;
    if (takes_flag && value.kind == VALUE_BOOL) {
        if (limit->kind == VALUE_NULL)
            return builtin_error(compiler->err, "%s cannot be used without %s", keyword, beside);
        if (!value_is_true(value)) return BUILTIN_OK;
        *exclusive = *limit;
        *limit = value_null();
        return BUILTIN_OK;
    }
    if (!takes_number || !value_is_number(value))
        return invalid_type(compiler, !takes_flag ? "number" : takes_number ? "boolean/number" : "boolean", keyword);
    *exclusive = value;
    return BUILTIN_OK;
}

static BuiltinResult read_exclusive_minimum(Compiler *compiler, DraftNode *node, Value value)
{
    return read_exclusive(compiler, node, value, "exclusiveMinimum", "minimum", &node->minimum, &node->exclusive_minimum);
}

static BuiltinResult read_exclusive_maximum(Compiler *compiler, DraftNode *node, Value value)
{
    return read_exclusive(compiler, node, value, "exclusiveMaximum", "maximum", &node->maximum, &node->exclusive_maximum);
}

static BuiltinResult read_min_length(Compiler *compiler, DraftNode *node, Value value)
{
    return read_count(compiler, value, "minLength", &node->min_length);
}

static BuiltinResult read_max_length(Compiler *compiler, DraftNode *node, Value value)
{
    BuiltinResult result = read_count(compiler, value, "maxLength", &node->max_length);
    if (result != BUILTIN_OK || node->min_length <= node->max_length) return result;
    return builtin_error(compiler->err, "minLength cannot be greater than maxLength");
}

static BuiltinResult read_pattern(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_STRING) return invalid_type(compiler, "string", "pattern");
    node->pattern_text = value_text(value);
    BuiltinResult result = pattern_compile(compiler, node->pattern_text, &node->pattern);
    return result == BUILTIN_ERROR ? builtin_error(compiler->err, "pattern must be a valid regex") : result;
}

static BuiltinResult read_format(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_STRING) return invalid_type(compiler, "string", "format");
    node->format = value_text(value);
    return BUILTIN_OK;
}

static BuiltinResult read_min_properties(Compiler *compiler, DraftNode *node, Value value)
{
    return read_count(compiler, value, "minProperties", &node->min_properties);
}

static BuiltinResult read_max_properties(Compiler *compiler, DraftNode *node, Value value)
{
    BuiltinResult result = read_count(compiler, value, "maxProperties", &node->max_properties);
    if (result != BUILTIN_OK || node->min_properties <= node->max_properties) return result;
    return builtin_error(compiler->err, "minProperties cannot be greater than maxProperties");
}

static BuiltinResult read_required(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_ARRAY) return must_be(compiler, "required", "an array");
    Map seen;
    map_init(&seen, compiler->arena, value.count);
    for (uint32_t i = 0; i < value.count; i++) {
        if (value.items[i].kind != VALUE_STRING) return invalid_type(compiler, "string", "required");
        if (!map_add(&seen, value_text(value.items[i]), i, NULL))
            return builtin_error(compiler->err, "required items must be unique");
    }
    node->required = value;
    return BUILTIN_OK;
}

static BuiltinResult read_min_items(Compiler *compiler, DraftNode *node, Value value)
{
    return read_count(compiler, value, "minItems", &node->min_items);
}

static BuiltinResult read_max_items(Compiler *compiler, DraftNode *node, Value value)
{
    return read_count(compiler, value, "maxItems", &node->max_items);
}

static BuiltinResult read_unique_items(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_BOOL) return must_be(compiler, "uniqueItems", "a boolean");
    node->unique_items = value_is_true(value);
    return BUILTIN_OK;
}

static BuiltinResult read_contains(Compiler *compiler, DraftNode *node, Value value)
{
    return node->draft < 6 ? BUILTIN_OK : node_read(compiler, value, node, &node->contains);
}

static BuiltinResult read_const(Compiler *compiler, DraftNode *node, Value value)
{
    node->has_const = node->draft >= 6;
    node->constant_value = value;
    return BUILTIN_OK;
}

static BuiltinResult read_enum(Compiler *compiler, DraftNode *node, Value value)
{
    if (value.kind != VALUE_ARRAY) return must_be(compiler, "enum", "an array");
    /* As a set it is as long only where no choice is given twice. */
    Value *items = ARENA_ARRAY(compiler->arena, Value, value.count);
    if (value.count) memcpy(items, value.items, value.count * sizeof *items);
    if (value_set(compiler->arena, items, value.count).count < value.count)
        return builtin_error(compiler->err, "enum items must be unique");
    node->has_enum = true;
    node->choices = value;
    return BUILTIN_OK;
}

static BuiltinResult read_one_of(Compiler *compiler, DraftNode *node, Value value)
{
    return read_schema_list(compiler, node, value, "oneOf", &node->one_of);
}

static BuiltinResult read_any_of(Compiler *compiler, DraftNode *node, Value value)
{
    return read_schema_list(compiler, node, value, "anyOf", &node->any_of);
}

static BuiltinResult read_all_of(Compiler *compiler, DraftNode *node, Value value)
{
    return read_schema_list(compiler, node, value, "allOf", &node->all_of);
}

static BuiltinResult read_not(Compiler *compiler, DraftNode *node, Value value)
{
    return is_schema(value) ? node_read(compiler, value, node, &node->not) : must_be(compiler, "not", "an object");
}

static BuiltinResult read_if(Compiler *compiler, DraftNode *node, Value value)
{
    if (node->draft < 7) return BUILTIN_OK;
    return is_schema(value) ? node_read(compiler, value, node, &node->if_node) : must_be(compiler, "if", "an object");
}

static BuiltinResult read_then(Compiler *compiler, DraftNode *node, Value value)
{
    if (node->draft < 7) return BUILTIN_OK;
    return is_schema(value) ? node_read(compiler, value, node, &node->then_node) : must_be(compiler, "then", "an object");
}

static BuiltinResult read_else(Compiler *compiler, DraftNode *node, Value value)
{
    if (node->draft < 7) return BUILTIN_OK;
    return is_schema(value) ? node_read(compiler, value, node, &node->else_node) : must_be(compiler, "else", "an object");
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static const struct { const char *keyword; KeywordReader read; } keywords[] = {
    { "type", read_type },
    { "properties", read_properties },
    { "additionalProperties", read_additional_properties },
    { "patternProperties", read_pattern_properties },
    { "propertyNames", read_property_names },
    { "dependencies", read_dependencies },
    { "items", read_items },
    { "additionalItems", read_additional_items },
    { "multipleOf", read_multiple_of },
    { "minimum", read_minimum },
    { "exclusiveMinimum", read_exclusive_minimum },
    { "maximum", read_maximum },
    { "exclusiveMaximum", read_exclusive_maximum },
    { "minLength", read_min_length },
    { "maxLength", read_max_length },
    { "pattern", read_pattern },
    { "format", read_format },
    { "minProperties", read_min_properties },
    { "maxProperties", read_max_properties },
    { "required", read_required },
    { "minItems", read_min_items },
    { "maxItems", read_max_items },
    { "uniqueItems", read_unique_items },
    { "contains", read_contains },
    { "const", read_const },
    { "enum", read_enum },
    { "oneOf", read_one_of },
    { "anyOf", read_any_of },
    { "allOf", read_all_of },
    { "not", read_not },
    { "if", read_if },
    { "then", read_then },
    { "else", read_else },
};

static DraftNode *node_new(Compiler *compiler, uint8_t draft)
{
    DraftNode *node = ARENA_NEW(compiler->arena, DraftNode);
    node->draft = draft;
    node->min_length = node->max_length = node->min_items = node->max_items = -1;
    node->min_properties = node->max_properties = -1;
    return node;
}

/* Identifiers, definitions and words for people, which come before everything else. */
static BuiltinResult head_read(Compiler *compiler, DraftNode *node, Value document)
{
    static const struct { const char *keyword; KeywordReader read; } heads[] = {
        { "definitions", read_definitions }, { "title", read_title }, { "description", read_description },
    };
    const char *name = node->draft == 4 || (node->draft == DRAFT_HYBRID && value_get_text(document, "id")) ? "id" : "$id";
    const Value *id = value_get_text(document, name), *ref = value_get_text(document, "$ref");
    if (id && id->kind != VALUE_STRING) return invalid_type(compiler, "string", name);
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        const Value *value = value_get_text(document, heads[i].keyword);
        BuiltinResult result = value ? heads[i].read(compiler, node, *value) : BUILTIN_OK;
        if (result != BUILTIN_OK) return result;
    }
    return ref && ref->kind != VALUE_STRING ? invalid_type(compiler, "string", "$ref") : BUILTIN_OK;
}

/* The node that a reference leads to, made once; a schema may lead to itself. */
static BuiltinResult ref_read(Compiler *compiler, DraftNode *node, Str reference)
{
    uint32_t place;
    if (map_find(&compiler->node_places, reference, &place)) {
        node->ref = compiler->nodes[place];
        return BUILTIN_OK;
    }
    Value document;
    BuiltinResult result = reference_follow(compiler, reference, &document);
    if (result != BUILTIN_OK) return result;
    if (!is_schema(document)) return builtin_error(compiler->err, "Valid Schema must be of type object");
    DraftNode *target = node_new(compiler, node->draft);
    map_add(&compiler->node_places, reference, (uint32_t)compiler->node_count, NULL);
    compiler->nodes = arena_grow(compiler->arena, compiler->nodes, sizeof *compiler->nodes, compiler->node_count,
                                 &compiler->node_capacity);
    compiler->nodes[compiler->node_count++] = target;
    node->ref = target;
    DraftNode *read;
    result = node_read(compiler, document, node, &read);
    if (result == BUILTIN_OK) *target = *read;
    return result;
}

static BuiltinResult node_fill(Compiler *compiler, DraftNode *node, Value document)
{
    BuiltinResult result = head_read(compiler, node, document);
    const Value *ref = value_get_text(document, "$ref");
    if (result != BUILTIN_OK) return result;
    if (ref) return ref_read(compiler, node, value_text(*ref));
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0] && result == BUILTIN_OK; i++) {
        const Value *value = value_get_text(document, keywords[i].keyword);
        if (value) result = keywords[i].read(compiler, node, *value);
    }
    return result;
}

static BuiltinResult node_read(Compiler *compiler, Value document, const DraftNode *parent, DraftNode **out_node)
{
    if (!builtin_spend(compiler->context, 1, compiler->err)) return BUILTIN_HALT;
    if (compiler->depth == DRAFT_DEPTH_MAX)
        return builtin_limit(compiler->err, "the schema exceeds DRAFT_DEPTH_MAX (%u)", DRAFT_DEPTH_MAX);
    if (compiler->made++ == DRAFT_NODE_COUNT_MAX)
        return builtin_limit(compiler->err, "the schema exceeds DRAFT_NODE_COUNT_MAX (%u)", DRAFT_NODE_COUNT_MAX);
    DraftNode *node = node_new(compiler, parent->draft);
    *out_node = node;
    if (document.kind == VALUE_BOOL && node->draft >= 6) {
        node->is_constant = true;
        node->constant = value_is_true(document);
        return BUILTIN_OK;
    }
    if (document.kind != VALUE_OBJECT)
        return builtin_error(compiler->err, "Expected: Valid Schema, given: Invalid JSON");
    compiler->depth++;
    BuiltinResult result = node_fill(compiler, node, document);
    compiler->depth--;
    return result;
}

/* Which draft the schema names. */
static BuiltinResult draft_detect(Compiler *compiler, Value document, uint8_t *out_draft)
{
    static const struct { const char *uri; uint8_t draft; } drafts[] = {
        { "http://json-schema.org/draft-04/schema", 4 },
        { "http://json-schema.org/draft-06/schema", 6 },
        { "http://json-schema.org/draft-07/schema", 7 },
    };
    *out_draft = DRAFT_HYBRID;
    if (document.kind == VALUE_BOOL) return BUILTIN_OK;
    if (document.kind != VALUE_OBJECT) return builtin_error(compiler->err, "schema is invalid");
    const Value *uri = value_get_text(document, "$schema");
    if (!uri) return BUILTIN_OK;
    if (uri->kind != VALUE_STRING) return builtin_error(compiler->err, "$schema must be of type string");
    Str text = value_text(*uri);
    if (str_ends(text, STR("#"))) text.len--;
    for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++)
        if (str_is_text(text, drafts[i].uri)) *out_draft = drafts[i].draft;
    return BUILTIN_OK;
}

BuiltinResult draft_compile(BuiltinContext *context, Arena *arena, Value document, DraftSchema **out_schema, Error *err)
{
    Compiler compiler = { .context = context, .arena = arena, .err = err };
    map_init(&compiler.document_places, arena, 0);
    map_init(&compiler.node_places, arena, 0);
    DraftNode outside = { 0 };
    DraftSchema *schema = ARENA_NEW(arena, DraftSchema);
    BuiltinResult result = draft_detect(&compiler, document, &outside.draft);
    if (result == BUILTIN_OK) result = resolve_value(&compiler, STR(""), value_copy(arena, document), &compiler.root);
    if (result == BUILTIN_OK) result = node_read(&compiler, compiler.root, &outside, &schema->root);
    if (result != BUILTIN_OK) return result;
    *out_schema = schema;
    return BUILTIN_OK;
}
