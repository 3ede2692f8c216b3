#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "value/json_pointer.h"
#include "value/number.h"
#include "value/schema_compiler.h"

typedef struct Keyword Keyword;

/* One keyword of one subschema. */
typedef struct Site {
    SchemaNode *node;
    const Keyword *keyword;
    Str name;
    Rule *rule;                         /* NULL for a keyword that demands nothing */
    Value value;
} Site;

struct Keyword {
    const char *name;
    Status (*compile)(Compiler *compiler, const Site *site);
    RuleKind rule;
    size_t slot;                        /* where in the rule the result goes */
};

static Status keyword_types(Compiler *compiler, const Site *site);
static Status keyword_const(Compiler *compiler, const Site *site);
static Status keyword_enum(Compiler *compiler, const Site *site);
static Status keyword_limit(Compiler *compiler, const Site *site);
static Status keyword_divisor(Compiler *compiler, const Site *site);
static Status keyword_count(Compiler *compiler, const Site *site);
static Status keyword_unique(Compiler *compiler, const Site *site);
static Status keyword_pattern(Compiler *compiler, const Site *site);
static Status keyword_names(Compiler *compiler, const Site *site);
static Status keyword_dependent_names(Compiler *compiler, const Site *site);
static Status keyword_node(Compiler *compiler, const Site *site);
static Status keyword_list(Compiler *compiler, const Site *site);
static Status keyword_map(Compiler *compiler, const Site *site);
static Status keyword_pattern_map(Compiler *compiler, const Site *site);
static Status keyword_ref(Compiler *compiler, const Site *site);
static Status keyword_anchor(Compiler *compiler, const Site *site);
static Status keyword_dynamic_anchor(Compiler *compiler, const Site *site);
static Status keyword_dialect(Compiler *compiler, const Site *site);
static Status keyword_text(Compiler *compiler, const Site *site);
static Status keyword_flag(Compiler *compiler, const Site *site);
static Status keyword_array(Compiler *compiler, const Site *site);

#define SLOT(field) offsetof(Rule, field)

/* Every keyword of 2020-12 that is checked when a document is compiled. Any other name is an annotation, and so are the
 * ones without a rule, which are here because their values hold subschemas or have a type. $id comes before all of them
 * (node_compile). */
static const Keyword keywords[] = {
    { "type", keyword_types, RULE_TYPE, 0 },
    { "const", keyword_const, RULE_CONST, 0 },
    { "enum", keyword_enum, RULE_ENUM, 0 },
    { "minimum", keyword_limit, RULE_MINIMUM, 0 },
    { "maximum", keyword_limit, RULE_MAXIMUM, 0 },
    { "exclusiveMinimum", keyword_limit, RULE_EXCLUSIVE_MINIMUM, 0 },
    { "exclusiveMaximum", keyword_limit, RULE_EXCLUSIVE_MAXIMUM, 0 },
    { "multipleOf", keyword_divisor, RULE_MULTIPLE_OF, 0 },
    { "minLength", keyword_count, RULE_MIN_LENGTH, SLOT(count) },
    { "maxLength", keyword_count, RULE_MAX_LENGTH, SLOT(count) },
    { "pattern", keyword_pattern, RULE_PATTERN, 0 },
    { "minItems", keyword_count, RULE_MIN_ITEMS, SLOT(count) },
    { "maxItems", keyword_count, RULE_MAX_ITEMS, SLOT(count) },
    { "uniqueItems", keyword_unique, RULE_UNIQUE_ITEMS, 0 },
    { "minProperties", keyword_count, RULE_MIN_PROPERTIES, SLOT(count) },
    { "maxProperties", keyword_count, RULE_MAX_PROPERTIES, SLOT(count) },
    { "required", keyword_names, RULE_REQUIRED, 0 },
    { "dependentRequired", keyword_dependent_names, RULE_DEPENDENT_REQUIRED, 0 },
    { "propertyNames", keyword_node, RULE_PROPERTY_NAMES, SLOT(node) },
    { "properties", keyword_map, RULE_MEMBERS, SLOT(members.named) },
    { "patternProperties", keyword_pattern_map, RULE_MEMBERS, SLOT(members.patterned) },
    { "additionalProperties", keyword_node, RULE_MEMBERS, SLOT(members.rest) },
    { "prefixItems", keyword_list, RULE_ITEMS, SLOT(items.prefix) },
    { "items", keyword_node, RULE_ITEMS, SLOT(items.rest) },
    { "contains", keyword_node, RULE_CONTAINS, SLOT(contains.node) },
    { "minContains", keyword_count, RULE_CONTAINS, SLOT(contains.min) },
    { "maxContains", keyword_count, RULE_CONTAINS, SLOT(contains.max) },
    { "$ref", keyword_ref, RULE_REF, 0 },
    { "$dynamicRef", keyword_ref, RULE_DYNAMIC_REF, 0 },
    { "allOf", keyword_list, RULE_ALL_OF, SLOT(set) },
    { "anyOf", keyword_list, RULE_ANY_OF, SLOT(set) },
    { "oneOf", keyword_list, RULE_ONE_OF, SLOT(set) },
    { "not", keyword_node, RULE_NOT, SLOT(node) },
    { "if", keyword_node, RULE_CONDITION, SLOT(branch.condition) },
    { "then", keyword_node, RULE_CONDITION, SLOT(branch.then) },
    { "else", keyword_node, RULE_CONDITION, SLOT(branch.otherwise) },
    { "dependentSchemas", keyword_map, RULE_DEPENDENT_SCHEMAS, SLOT(set) },
    { "unevaluatedItems", keyword_node, RULE_UNEVALUATED_ITEMS, SLOT(node) },
    { "unevaluatedProperties", keyword_node, RULE_UNEVALUATED_PROPERTIES, SLOT(node) },
    { "$schema", keyword_dialect, RULE_NONE, 0 },
    { "$anchor", keyword_anchor, RULE_NONE, 0 },
    { "$dynamicAnchor", keyword_dynamic_anchor, RULE_NONE, 0 },
    { "$defs", keyword_map, RULE_NONE, 0 },
    { "definitions", keyword_map, RULE_NONE, 0 },           /* the name of $defs in earlier drafts, still reserved */
    { "contentSchema", keyword_node, RULE_NONE, 0 },
    { "contentEncoding", keyword_text, RULE_NONE, 0 },
    { "contentMediaType", keyword_text, RULE_NONE, 0 },
    { "format", keyword_text, RULE_NONE, 0 },
    { "$comment", keyword_text, RULE_NONE, 0 },
    { "title", keyword_text, RULE_NONE, 0 },
    { "description", keyword_text, RULE_NONE, 0 },
    { "deprecated", keyword_flag, RULE_NONE, 0 },
    { "readOnly", keyword_flag, RULE_NONE, 0 },
    { "writeOnly", keyword_flag, RULE_NONE, 0 },
    { "examples", keyword_array, RULE_NONE, 0 },
};
#define KEYWORD_COUNT (sizeof keywords / sizeof *keywords)

static_assert(RULE_COUNT <= 32, "the kinds of a node's rules are collected in 32 bits");

Status schema_compile(Arena *arena, Value document, const Schema **out_schema, Str *place, Error *err)
{
    Error unread;
    if (place) *place = STR("");
    Compiler compiler = { .arena = arena, .patterns = { .arena = arena, .size_max = SCHEMA_PATTERN_SIZE_MAX },
                          .place = place, .err = err ? err : &unread };
    arena_init(&compiler.scratch, SIZE_MAX);
    map_init(&compiler.keywords, &compiler.scratch, KEYWORD_COUNT);
    map_init(&compiler.resources, &compiler.scratch, 0);
    map_init(&compiler.anchors, &compiler.scratch, 0);
    for (uint32_t i = 0; i < KEYWORD_COUNT; i++) map_add(&compiler.keywords, str_of(keywords[i].name), i, NULL);

    SchemaNode *root = NULL;
    Schema *schema = compiler_alloc(&compiler, sizeof *schema);
    Status status = schema ? OK : ERR_LIMIT;
    if (!status) status = compiler_add_document(&compiler, document, STR(""), &root);
    if (!status) status = compiler_resolve_refs(&compiler);
    if (!status) status = compiler_refuse_loops(&compiler);
    arena_deinit(&compiler.scratch);
    if (status) return status;
    schema->root = root;
    *out_schema = schema;
    return OK;
}

/* --- refusals ---------------------------------------------------------------------------------------------------- */

void *compiler_alloc(Compiler *compiler, size_t size)
{
    void *block = arena_try(compiler->arena, size);
    if (!block) error_set(compiler->err, ERR_LIMIT, "the schema does not fit the memory granted to it");
    return block;
}

/* An error's text is short and a pointer may be long: its end says more than its beginning. */
#define PLACE_TEXT_MAX 200u

Status compiler_refuse_at(Compiler *compiler, const SchemaNode *node, Str keyword, Str token, Status status)
{
    Buf buf;
    buf_init(&buf, SIZE_MAX / 2);
    node_pointer_print(&buf, node, keyword, token);
    Str pointer = buf_peek(&buf);
    bool is_cut = pointer.len > PLACE_TEXT_MAX;
    Str shown = is_cut ? str_slice(pointer, pointer.len - PLACE_TEXT_MAX, pointer.len) : pointer;
    while (is_cut && shown.len && ((unsigned char)shown.ptr[0] & 0xc0) == 0x80) shown = str_slice(shown, 1, shown.len);
    if (pointer.len) error_prefix(compiler->err, "%s%.*s: ", is_cut ? "..." : "", STR_ARG(shown));
    else error_prefix(compiler->err, "the schema: ");
    if (compiler->place) {
        char *copy = arena_try(compiler->arena, pointer.len + 1);
        if (copy && pointer.len) memcpy(copy, pointer.ptr, pointer.len);
        *compiler->place = copy ? (Str){ copy, pointer.len } : STR("");
    }
    buf_deinit(&buf);
    return status;
}

Status compiler_refuse(Compiler *compiler, const SchemaNode *node, Str keyword, Str token, Status status,
                       const char *format, ...)
{
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(compiler->err, status, "%s", text);
    return compiler_refuse_at(compiler, node, keyword, token, status);
}

Status compiler_charge(Compiler *compiler, const SchemaNode *node, Str keyword, uint64_t weight)
{
    compiler->weight += weight;
    if (compiler->weight <= SCHEMA_WEIGHT_MAX) return OK;
    return compiler_refuse(compiler, node, keyword, STR(""), ERR_LIMIT,
                           "the schema holds more than SCHEMA_WEIGHT_MAX (%u) keywords, names and constants",
                           SCHEMA_WEIGHT_MAX);
}

static Status refuse(Compiler *compiler, const Site *site, const char *wanted)
{
    char storage[256];
    Buf found = buf_on(storage, sizeof storage);
    value_describe(&found, site->value);
    return compiler_refuse(compiler, site->node, site->name, STR(""), ERR_INVALID, "must be %s, is %.*s", wanted,
                           STR_ARG(buf_peek(&found)));
}

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static Status node_compile(Compiler *compiler, SchemaNode *node);

static Status node_add(Compiler *compiler, SchemaNode node, SchemaNode **out_node)
{
    SchemaNode *added = compiler_alloc(compiler, sizeof *added);
    if (!added) return ERR_LIMIT;
    *added = node;
    added->depth = node.parent ? node.parent->depth + 1 : 0;
    if (node.parent) added->resource = node.parent->resource;
    if (compiler->node_count == SCHEMA_NODE_COUNT_MAX)
        return compiler_refuse(compiler, added, STR(""), STR(""), ERR_LIMIT,
                               "the schema has more than SCHEMA_NODE_COUNT_MAX (%u) subschemas", SCHEMA_NODE_COUNT_MAX);
    compiler->nodes = arena_grow(&compiler->scratch, compiler->nodes, sizeof *compiler->nodes, compiler->node_count,
                                 &compiler->node_capacity);
    compiler->nodes[compiler->node_count++] = added;
    if (added->depth >= JSON_DEPTH_MAX)
        return compiler_refuse(compiler, added, STR(""), STR(""), ERR_LIMIT,
                               "subschemas nest deeper than JSON_DEPTH_MAX (%u)", JSON_DEPTH_MAX);
    *out_node = added;
    return OK;
}

Status compiler_add_document(Compiler *compiler, Value document, Str uri, SchemaNode **out_root)
{
    Status status = node_add(compiler, (SchemaNode){ .source = document }, out_root);
    if (!status) status = compiler_add_resource(compiler, *out_root, uri, uri);
    return status ? status : node_compile(compiler, *out_root);
}

Status compiler_add_stray(Compiler *compiler, SchemaNode *parent, Str pointer, Value source, SchemaNode **out_node)
{
    Status status = node_add(compiler, (SchemaNode){ .parent = parent, .stray = pointer, .source = source }, out_node);
    return status ? status : node_compile(compiler, *out_node);
}

static const Keyword *keyword_find(const Compiler *compiler, Value name)
{
    uint32_t row;
    return map_find(&compiler->keywords, value_text(name), &row) ? &keywords[row] : NULL;
}

/* Rules lie in the order of their kinds, and are not moved once made: references point to them. */
static Status rules_make(Compiler *compiler, SchemaNode *node)
{
    uint32_t kinds = 0, count = 0;
    for (uint32_t i = 0; i < node->source.count; i++) {
        const Keyword *keyword = keyword_find(compiler, node->source.members[i].key);
        if (keyword && keyword->rule != RULE_NONE) kinds |= UINT32_C(1) << keyword->rule;
    }
    for (uint32_t kind = 0; kind < RULE_COUNT; kind++) count += kinds >> kind & 1;
    node->rules = compiler_alloc(compiler, count * sizeof *node->rules);
    if (!node->rules && count) return ERR_LIMIT;
    for (uint32_t kind = 0; kind < RULE_COUNT; kind++)
        if (kinds >> kind & 1) node->rules[node->rule_count++].kind = (RuleKind)kind;
    return OK;
}

static Rule *rule_find(const SchemaNode *node, RuleKind kind)
{
    for (uint32_t i = 0; i < node->rule_count; i++)
        if (node->rules[i].kind == kind) return &node->rules[i];
    return NULL;
}

/* What a keyword means that is not there, where that is not zero. */
static void rules_preset(SchemaNode *node)
{
    Rule *contains = rule_find(node, RULE_CONTAINS);
    if (contains) {
        contains->contains.min = 1;
        contains->contains.max = UINT64_MAX;
    }
    node->has_unevaluated = rule_find(node, RULE_UNEVALUATED_ITEMS) || rule_find(node, RULE_UNEVALUATED_PROPERTIES);
}

static bool has_string_keys(Value object)
{
    /* Keys are sorted by type first, so the outermost two stand for all. */
    return object.count == 0
        || (object.members[0].key.kind == VALUE_STRING && object.members[object.count - 1].key.kind == VALUE_STRING);
}

static Status node_refuse(Compiler *compiler, const SchemaNode *node)
{
    char storage[256];
    Buf found = buf_on(storage, sizeof storage);
    value_describe(&found, node->source);
    return compiler_refuse(compiler, node, STR(""), STR(""), ERR_INVALID,
                           "a schema must be an object with names as keys, or a boolean; this is %.*s",
                           STR_ARG(buf_peek(&found)));
}

static Status node_compile(Compiler *compiler, SchemaNode *node)
{
    Value source = node->source;
    if (source.kind == VALUE_BOOL) return OK;
    if (source.kind != VALUE_OBJECT || !has_string_keys(source)) return node_refuse(compiler, node);
    Status status = compiler_charge(compiler, node, STR(""), source.count);
    if (status) return status;
    const Value *id = value_get_text(source, "$id");
    if (id) status = compiler_add_id(compiler, node, *id);
    if (!status) status = rules_make(compiler, node);
    if (status) return status;
    rules_preset(node);
    for (uint32_t i = 0; i < source.count; i++) {
        const Keyword *keyword = keyword_find(compiler, source.members[i].key);
        if (!keyword) continue;
        Site site = { node, keyword, str_of(keyword->name), rule_find(node, keyword->rule), source.members[i].value };
        status = keyword->compile(compiler, &site);
        if (status) return status;
    }
    return OK;
}

/* --- keywords that hold subschemas ------------------------------------------------------------------------------- */

static void slot_write(const Site *site, const void *pointer)
{
    if (site->rule) memcpy((char *)site->rule + site->keyword->slot, &pointer, sizeof pointer);
}

static Status set_add(Compiler *compiler, const Site *site, SetShape shape, uint32_t count, NodeSet **out_set)
{
    if (count > SCHEMA_NODE_COUNT_MAX - compiler->node_count)
        return compiler_refuse(compiler, site->node, site->name, STR(""), ERR_LIMIT,
                               "the schema has more than SCHEMA_NODE_COUNT_MAX (%u) subschemas", SCHEMA_NODE_COUNT_MAX);
    NodeSet *set = compiler_alloc(compiler, sizeof *set);
    NodeChild *items = set ? compiler_alloc(compiler, count * sizeof *items) : NULL;
    if (!items && (count || !set)) return ERR_LIMIT;
    *set = (NodeSet){ .keyword = site->name, .shape = shape, .count = count, .items = items, .next = site->node->sets };
    site->node->sets = set;
    *out_set = set;
    return OK;
}

static Status set_fill(Compiler *compiler, const Site *site, NodeSet *set, uint32_t index, Value source)
{
    SchemaNode *node = NULL;
    Status status = node_add(compiler, (SchemaNode){ .parent = site->node, .set = set, .set_index = index,
                                                     .source = source }, &node);
    if (status) return status;
    set->items[index].node = node;
    return node_compile(compiler, node);
}

static Status keyword_node(Compiler *compiler, const Site *site)
{
    NodeSet *set;
    Status status = set_add(compiler, site, SET_SINGLE, 1, &set);
    if (!status) status = set_fill(compiler, site, set, 0, site->value);
    if (!status) slot_write(site, set->items[0].node);
    return status;
}

static Status keyword_list(Compiler *compiler, const Site *site)
{
    if (site->value.kind != VALUE_ARRAY || site->value.count == 0)
        return refuse(compiler, site, "an array of at least one schema");
    NodeSet *set;
    Status status = set_add(compiler, site, SET_LIST, site->value.count, &set);
    for (uint32_t i = 0; i < site->value.count && !status; i++)
        status = set_fill(compiler, site, set, i, site->value.items[i]);
    if (!status) slot_write(site, set);
    return status;
}

static Status map_compile(Compiler *compiler, const Site *site, NodeSet **out_set)
{
    if (site->value.kind != VALUE_OBJECT || !has_string_keys(site->value))
        return refuse(compiler, site, "an object of schemas");
    NodeSet *set;
    Status status = set_add(compiler, site, SET_MAP, site->value.count, &set);
    for (uint32_t i = 0; i < site->value.count && !status; i++) {
        set->items[i].name = value_text(site->value.members[i].key);
        status = set_fill(compiler, site, set, i, site->value.members[i].value);
    }
    if (!status) slot_write(site, set);
    *out_set = set;
    return status;
}

static Status keyword_map(Compiler *compiler, const Site *site)
{
    NodeSet *set;
    return map_compile(compiler, site, &set);
}

static Status pattern_add(Compiler *compiler, const Site *site, Str text, Str token, const Pattern **out_pattern)
{
    Status status = pattern_compile(&compiler->patterns, text, out_pattern, compiler->err);
    if (!status) return OK;
    error_prefix(compiler->err, "is no usable regular expression: ");
    return compiler_refuse_at(compiler, site->node, site->name, token, status);
}

static Status keyword_pattern_map(Compiler *compiler, const Site *site)
{
    NodeSet *set;
    Status status = map_compile(compiler, site, &set);
    if (status) return status;
    const Pattern **patterns = compiler_alloc(compiler, set->count * sizeof *patterns);
    if (!patterns && set->count) return ERR_LIMIT;
    for (uint32_t i = 0; i < set->count && !status; i++)
        status = pattern_add(compiler, site, set->items[i].name, set->items[i].name, &patterns[i]);
    site->rule->members.patterns = patterns;
    return status;
}

/* --- keywords about places --------------------------------------------------------------------------------------- */

static Status keyword_ref(Compiler *compiler, const Site *site)
{
    if (site->value.kind != VALUE_STRING) return refuse(compiler, site, "a string that names a schema");
    return compiler_add_ref(compiler, site->node, site->rule, value_text(site->value));
}

static Status anchor_compile(Compiler *compiler, const Site *site, bool is_dynamic)
{
    if (site->value.kind != VALUE_STRING) return refuse(compiler, site, "a name");
    return compiler_add_anchor(compiler, site->node, site->name, value_text(site->value), is_dynamic);
}

static Status keyword_anchor(Compiler *compiler, const Site *site)
{
    return anchor_compile(compiler, site, /* is_dynamic= */ false);
}

static Status keyword_dynamic_anchor(Compiler *compiler, const Site *site)
{
    return anchor_compile(compiler, site, /* is_dynamic= */ true);
}

static Status keyword_dialect(Compiler *compiler, const Site *site)
{
    if (site->value.kind != VALUE_STRING) return refuse(compiler, site, "a string");
    Str dialect = value_text(site->value);
    if (str_is(dialect, STR(SCHEMA_DIALECT)) || str_is(dialect, STR(SCHEMA_DIALECT "#"))) return OK;
    return compiler_refuse(compiler, site->node, site->name, STR(""), ERR_INVALID,
                           "\"%.*s\" is not known; only \"" SCHEMA_DIALECT "\" is supported", STR_ARG(dialect));
}

/* --- keywords about values --------------------------------------------------------------------------------------- */

static uint32_t type_bit(Value name)
{
    static const struct { const char *name; uint32_t bit; } types[TYPE_COUNT] = {
        { "null", TYPE_NULL },     { "boolean", TYPE_BOOLEAN }, { "object", TYPE_OBJECT },   { "array", TYPE_ARRAY },
        { "number", TYPE_NUMBER }, { "string", TYPE_STRING },   { "integer", TYPE_INTEGER },
    };
    for (size_t i = 0; i < TYPE_COUNT && name.kind == VALUE_STRING; i++)
        if (str_is_text(value_text(name), types[i].name)) return types[i].bit;
    return 0;
}

static Status types_refuse(Compiler *compiler, const Site *site, Value name)
{
    static const char choice[] = "null, boolean, object, array, number, string, integer";
    if (name.kind != VALUE_STRING) return refuse(compiler, site, "a type's name or an array of different ones");
    return compiler_refuse(compiler, site->node, site->name, STR(""), ERR_INVALID, "must be one of %s, is \"%.*s\"",
                           choice, STR_ARG(value_text(name)));
}

static Status keyword_types(Compiler *compiler, const Site *site)
{
    bool is_list = site->value.kind == VALUE_ARRAY;
    const Value *names = is_list ? site->value.items : &site->value;
    uint32_t count = is_list ? site->value.count : 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bit = type_bit(names[i]);
        if (!bit) return types_refuse(compiler, site, names[i]);
        if (site->rule->types & bit) return refuse(compiler, site, "a type's name or an array of different ones");
        site->rule->types |= bit;
    }
    return count ? OK : refuse(compiler, site, "a type's name or an array of at least one");
}

static Status keyword_const(Compiler *compiler, const Site *site)
{
    site->rule->constant.value = site->value;
    site->rule->constant.weight = value_weight(site->value, SCHEMA_WEIGHT_MAX);
    return compiler_charge(compiler, site->node, site->name, site->rule->constant.weight);
}

/* The choices are kept sorted: finding one takes as many comparisons as their number has bits. */
static Status keyword_enum(Compiler *compiler, const Site *site)
{
    if (site->value.kind != VALUE_ARRAY) return refuse(compiler, site, "an array");
    Status status = compiler_charge(compiler, site->node, site->name, value_weight(site->value, SCHEMA_WEIGHT_MAX));
    if (status) return status;
    uint32_t count = site->value.count;
    Value *items = compiler_alloc(compiler, count * sizeof *items);
    if (!items && count) return ERR_LIMIT;
    if (count) memcpy(items, site->value.items, count * sizeof *items);
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t weight = value_weight(items[i], SCHEMA_WEIGHT_MAX);
        if (weight > largest) largest = weight;
    }
    site->rule->constant.value = value_set(&compiler->scratch, items, count);
    site->rule->constant.weight = largest;
    return OK;
}

static Status keyword_limit(Compiler *compiler, const Site *site)
{
    if (!value_is_number(site->value)) return refuse(compiler, site, "a number");
    site->rule->limit = site->value;
    return OK;
}

static Status keyword_divisor(Compiler *compiler, const Site *site)
{
    if (!value_is_number(site->value)) return refuse(compiler, site, "a number");
    Status status = divisor_make(compiler->arena, site->value, &site->rule->divisor, compiler->err);
    return status ? compiler_refuse_at(compiler, site->node, site->name, STR(""), status) : OK;
}

/* A count may be written as 2.0 and may be larger than any length there is. */
static Status keyword_count(Compiler *compiler, const Site *site)
{
    bool is_count = value_is_number(site->value) && number_is_integer(site->value)
                 && number_compare(site->value, value_int(0)) >= 0;
    if (!is_count) return refuse(compiler, site, "a whole number that is not negative");
    int64_t integer;
    uint64_t count = number_to_int64(site->value, &integer) ? (uint64_t)integer : UINT64_MAX;
    memcpy((char *)site->rule + site->keyword->slot, &count, sizeof count);
    return OK;
}

static Status keyword_unique(Compiler *compiler, const Site *site)
{
    if (site->value.kind != VALUE_BOOL) return refuse(compiler, site, "a boolean");
    site->rule->count = site->value.count;
    return OK;
}

static Status keyword_pattern(Compiler *compiler, const Site *site)
{
    if (site->value.kind != VALUE_STRING) return refuse(compiler, site, "a string");
    return pattern_add(compiler, site, value_text(site->value), STR(""), &site->rule->pattern);
}

static bool are_different_strings(Compiler *compiler, Value array)
{
    if (array.kind != VALUE_ARRAY) return false;
    Value *copy = ARENA_ARRAY(&compiler->scratch, Value, array.count);
    for (uint32_t i = 0; i < array.count; i++) {
        if (array.items[i].kind != VALUE_STRING) return false;
        copy[i] = array.items[i];
    }
    return value_set(&compiler->scratch, copy, array.count).count == array.count;
}

static Status keyword_names(Compiler *compiler, const Site *site)
{
    Status status = compiler_charge(compiler, site->node, site->name, value_weight(site->value, SCHEMA_WEIGHT_MAX));
    if (status) return status;
    if (!are_different_strings(compiler, site->value)) return refuse(compiler, site, "an array of different names");
    site->rule->names = site->value;
    return OK;
}

static Status keyword_dependent_names(Compiler *compiler, const Site *site)
{
    Status status = compiler_charge(compiler, site->node, site->name, value_weight(site->value, SCHEMA_WEIGHT_MAX));
    if (status) return status;
    if (site->value.kind != VALUE_OBJECT || !has_string_keys(site->value))
        return refuse(compiler, site, "an object of arrays of names");
    for (uint32_t i = 0; i < site->value.count; i++) {
        const Member *member = &site->value.members[i];
        if (!are_different_strings(compiler, member->value))
            return compiler_refuse(compiler, site->node, site->name, value_text(member->key), ERR_INVALID,
                                   "must be an array of different names");
    }
    site->rule->names = site->value;
    return OK;
}

/* --- annotations ------------------------------------------------------------------------------------------------- */

static Status keyword_text(Compiler *compiler, const Site *site)
{
    return site->value.kind == VALUE_STRING ? OK : refuse(compiler, site, "a string");
}

static Status keyword_flag(Compiler *compiler, const Site *site)
{
    return site->value.kind == VALUE_BOOL ? OK : refuse(compiler, site, "a boolean");
}

static Status keyword_array(Compiler *compiler, const Site *site)
{
    return site->value.kind == VALUE_ARRAY ? OK : refuse(compiler, site, "an array");
}
