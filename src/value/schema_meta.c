#include "base/check.h"
#include "value/json.h"
#include "value/schema_compiler.h"

/* The metaschema of 2020-12 as rows: which vocabulary declares a keyword, and what its value must be. From them the
 * documents are put together that a $ref to the metaschema or to one of its vocabularies expects to find, definitions
 * under their published names included, since a reference may name those too. */

#define BASE "https://json-schema.org/draft/2020-12/"

#define SCHEMA "{\"$dynamicRef\":\"#meta\"}"
#define SCHEMAS "{\"type\":\"object\",\"additionalProperties\":" SCHEMA "}"
#define STRING "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"number\"}"
#define BOOLEAN "{\"type\":\"boolean\"}"
#define DEF(name) "{\"$ref\":\"#/$defs/" name "\"}"

typedef struct MetaRow {
    const char *name, *schema;
} MetaRow;

typedef struct MetaDocument {
    const char *uri;
    bool is_whole;                      /* the metaschema itself, which is all vocabularies together */
    MetaRow keywords[24], definitions[5];
} MetaDocument;

static const MetaDocument documents[] = {
    { BASE "schema", true, {
        { "definitions", SCHEMAS },
        { "dependencies", "{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[" SCHEMA
                          ",{\"$ref\":\"meta/validation#/$defs/stringArray\"}]}}" },
        { "$recursiveAnchor", "{\"$ref\":\"meta/core#/$defs/anchorString\"}" },
        { "$recursiveRef", "{\"$ref\":\"meta/core#/$defs/uriReferenceString\"}" },
    }, { { 0 } } },
    { BASE "meta/core", false, {
        { "$id", "{\"$ref\":\"#/$defs/uriReferenceString\",\"pattern\":\"^[^#]*#?$\"}" },
        { "$schema", DEF("uriString") },
        { "$ref", DEF("uriReferenceString") },
        { "$anchor", DEF("anchorString") },
        { "$dynamicRef", DEF("uriReferenceString") },
        { "$dynamicAnchor", DEF("anchorString") },
        { "$vocabulary", "{\"type\":\"object\",\"propertyNames\":" DEF("uriString")
                         ",\"additionalProperties\":" BOOLEAN "}" },
        { "$comment", STRING },
        { "$defs", SCHEMAS },
    }, {
        { "anchorString", "{\"type\":\"string\",\"pattern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"}" },
        { "uriString", "{\"type\":\"string\",\"format\":\"uri\"}" },
        { "uriReferenceString", "{\"type\":\"string\",\"format\":\"uri-reference\"}" },
    } },
    { BASE "meta/applicator", false, {
        { "prefixItems", DEF("schemaArray") }, { "items", SCHEMA },             { "contains", SCHEMA },
        { "additionalProperties", SCHEMA },    { "properties", SCHEMAS },       { "dependentSchemas", SCHEMAS },
        { "propertyNames", SCHEMA },           { "if", SCHEMA },                { "then", SCHEMA },
        { "else", SCHEMA },                    { "allOf", DEF("schemaArray") }, { "anyOf", DEF("schemaArray") },
        { "oneOf", DEF("schemaArray") },       { "not", SCHEMA },
        { "patternProperties", "{\"type\":\"object\",\"additionalProperties\":" SCHEMA
                               ",\"propertyNames\":{\"format\":\"regex\"}}" },
    }, {
        { "schemaArray", "{\"type\":\"array\",\"minItems\":1,\"items\":" SCHEMA "}" },
    } },
    { BASE "meta/unevaluated", false, {
        { "unevaluatedItems", SCHEMA }, { "unevaluatedProperties", SCHEMA },
    }, { { 0 } } },
    { BASE "meta/validation", false, {
        { "type", "{\"anyOf\":[" DEF("simpleTypes") ",{\"type\":\"array\",\"items\":" DEF("simpleTypes")
                  ",\"minItems\":1,\"uniqueItems\":true}]}" },
        { "const", "true" },
        { "enum", "{\"type\":\"array\",\"items\":true}" },
        { "multipleOf", "{\"type\":\"number\",\"exclusiveMinimum\":0}" },
        { "maximum", NUMBER },
        { "exclusiveMaximum", NUMBER },
        { "minimum", NUMBER },
        { "exclusiveMinimum", NUMBER },
        { "maxLength", DEF("nonNegativeInteger") },
        { "minLength", DEF("nonNegativeIntegerDefault0") },
        { "pattern", "{\"type\":\"string\",\"format\":\"regex\"}" },
        { "maxItems", DEF("nonNegativeInteger") },
        { "minItems", DEF("nonNegativeIntegerDefault0") },
        { "uniqueItems", BOOLEAN },
        { "maxContains", DEF("nonNegativeInteger") },
        { "minContains", DEF("nonNegativeInteger") },
        { "maxProperties", DEF("nonNegativeInteger") },
        { "minProperties", DEF("nonNegativeIntegerDefault0") },
        { "required", DEF("stringArray") },
        { "dependentRequired", "{\"type\":\"object\",\"additionalProperties\":" DEF("stringArray") "}" },
    }, {
        { "nonNegativeInteger", "{\"type\":\"integer\",\"minimum\":0}" },
        { "nonNegativeIntegerDefault0", "{\"$ref\":\"#/$defs/nonNegativeInteger\",\"default\":0}" },
        { "simpleTypes", "{\"enum\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"object\",\"string\"]}" },
        { "stringArray", "{\"type\":\"array\",\"items\":" STRING ",\"uniqueItems\":true}" },
    } },
    { BASE "meta/meta-data", false, {
        { "title", STRING },       { "description", STRING }, { "default", "true" },
        { "deprecated", BOOLEAN }, { "readOnly", BOOLEAN },   { "writeOnly", BOOLEAN },
        { "examples", "{\"type\":\"array\",\"items\":true}" },
    }, { { 0 } } },
    { BASE "meta/format-annotation", false, { { "format", STRING } }, { { 0 } } },
    { BASE "meta/format-assertion", false, { { "format", STRING } }, { { 0 } } },
    { BASE "meta/content", false, {
        { "contentEncoding", STRING }, { "contentMediaType", STRING }, { "contentSchema", SCHEMA },
    }, { { 0 } } },
};

/* The vocabularies of the whole; format-assertion is one that a dialect of its own would choose. */
static const char *const vocabularies[] = { "core", "applicator", "unevaluated", "validation", "meta-data",
                                            "format-annotation", "content" };

static Value text_value(Arena *arena, const char *text)
{
    Value value;
    Status status = json_parse(arena, str_of(text), &value, NULL);
    CHECK(status == OK);
    return value;
}

/* The rows up to the first empty one: each table has room for more than it holds. */
static Value rows_value(Arena *arena, const MetaRow *rows)
{
    MemberList list = { .arena = arena };
    for (size_t i = 0; rows[i].name; i++)
        member_list_add(&list, str_of(rows[i].name), text_value(arena, rows[i].schema));
    return member_list_object(&list);
}

static Value vocabularies_value(Arena *arena)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++)
        value_list_add(&list, text_value(arena, arena_format(arena, "{\"$ref\":\"meta/%s\"}", vocabularies[i]).ptr));
    return value_list_array(&list);
}

static Value document_value(Arena *arena, const MetaDocument *document)
{
    MemberList list = { .arena = arena };
    member_list_add(&list, STR("$schema"), value_string(STR(SCHEMA_DIALECT)));
    member_list_add(&list, STR("$id"), value_string(str_of(document->uri)));
    member_list_add(&list, STR("$dynamicAnchor"), value_string(STR("meta")));
    member_list_add(&list, STR("type"), text_value(arena, "[\"object\",\"boolean\"]"));
    if (document->is_whole) member_list_add(&list, STR("allOf"), vocabularies_value(arena));
    member_list_add(&list, STR("properties"), rows_value(arena, document->keywords));
    member_list_add(&list, STR("$defs"), rows_value(arena, document->definitions));
    return member_list_object(&list);
}

bool schema_meta_find(Arena *arena, Str uri, Str *out_uri, Value *out_document)
{
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        if (!str_is_text(uri, documents[i].uri)) continue;
        *out_uri = str_of(documents[i].uri);
        *out_document = document_value(arena, &documents[i]);
        return true;
    }
    return false;
}
