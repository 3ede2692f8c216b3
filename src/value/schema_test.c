#include "value/schema.h"

#include <pthread.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

/* A schema and the arena of everything about it. */
typedef struct Subject {
    Arena arena;
    const Schema *schema;
    Str place;
    Error err;
} Subject;

static Value parse(Subject *subject, Str text)
{
    Value value = value_null();
    test_expect_ok(json_parse(&subject->arena, text, &value, &subject->err), &subject->err, "json_parse", __FILE__, __LINE__);
    return value;
}

static Status subject_init(Subject *subject, Str text)
{
    arena_init(&subject->arena, SIZE_MAX);
    subject->place = STR("unset");
    return schema_compile(&subject->arena, parse(subject, text), &subject->schema, &subject->place, &subject->err);
}

static void subject_deinit(Subject *subject)
{
    arena_deinit(&subject->arena);
}

static Status subject_check(Subject *subject, Str text, SchemaReport *out_report)
{
    return schema_check(subject->schema, parse(subject, text), &subject->arena, out_report, &subject->err);
}

static void expect_contains(const char *text, const char *part)
{
    test_expect(strstr(text, part) != NULL, __FILE__, __LINE__, "got '%s', want '%s' in it", text, part);
}

/* --- what is wrong, and where ------------------------------------------------------------------------------------ */

static const struct { const char *schema, *instance, *place, *keyword_place, *keyword, *message; } messages[] = {
    { "{\"type\":\"string\"}", "2", "", "/type", "type", "must be a string, is a number" },
    { "{\"type\":[\"string\",\"null\"]}", "[]", "", "/type", "type", "must be null or a string, is an array" },
    { "{\"type\":\"integer\"}", "1.5", "", "/type", "type", "must be an integer, is 1.5" },
    { "{\"const\":{\"a\":1}}", "[1,2]", "", "/const", "const", "must be an object of 1 member, is an array of 2 items" },
    { "{\"const\":\"a\\nb\"}", "null", "", "/const", "const", "must be \"a\\nb\", is null" },
    { "{\"enum\":[1,\"x\",true]}", "{}", "", "/enum", "enum", "must be one of 1, \"x\" or true, is an empty object" },
    { "{\"enum\":[7]}", "8", "", "/enum", "enum", "must be 7, is 8" },
    { "{\"enum\":[1,2,3,4,5,6,7,8,9,10,11]}", "0", "", "/enum", "enum",
      "must be one of 1, 2, 3, 4, 5, 6, 7, 8, 3 more, is 0" },
    { "{\"enum\":[]}", "8", "", "/enum", "enum", "no value is allowed here" },
    { "{\"minimum\":3}", "2", "", "/minimum", "minimum", "must be at least 3, is 2" },
    { "{\"maximum\":3.5}", "3.50001", "", "/maximum", "maximum", "must be at most 3.5, is 3.50001" },
    { "{\"exclusiveMinimum\":3}", "3.0", "", "/exclusiveMinimum", "exclusiveMinimum", "must be greater than 3, is 3.0" },
    { "{\"exclusiveMaximum\":-3}", "-3", "", "/exclusiveMaximum", "exclusiveMaximum", "must be less than -3, is -3" },
    { "{\"multipleOf\":0.01}", "0.005", "", "/multipleOf", "multipleOf", "must be a multiple of 0.01, is 0.005" },
    { "{\"minLength\":2}", "\"\xf0\x9f\x98\x80\"", "", "/minLength", "minLength", "must have at least 2 characters, has 1" },
    { "{\"maxLength\":1}", "\"ab\"", "", "/maxLength", "maxLength", "must have at most 1 character, has 2" },
    { "{\"pattern\":\"^a\"}", "\"b\"", "", "/pattern", "pattern", "must match the pattern \"^a\", is \"b\"" },
    { "{\"minItems\":1}", "[]", "", "/minItems", "minItems", "must have at least 1 item, has 0" },
    { "{\"maxItems\":0}", "[1]", "", "/maxItems", "maxItems", "must have at most 0 items, has 1" },
    { "{\"uniqueItems\":true}", "[3,1,2,1.0]", "", "/uniqueItems", "uniqueItems",
      "must have different items, items 1 and 3 are equal" },
    { "{\"minProperties\":1}", "{}", "", "/minProperties", "minProperties", "must have at least 1 property, has 0" },
    { "{\"maxProperties\":1}", "{\"a\":1,\"b\":2}", "", "/maxProperties", "maxProperties",
      "must have at most 1 property, has 2" },
    { "{\"required\":[\"a\",\"b\"]}", "{\"a\":1}", "", "/required", "required", "must have the property \"b\"" },
    { "{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", "", "/dependentRequired", "dependentRequired",
      "must have the property \"b\", since it has \"a\"" },
    { "{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}", "", "/propertyNames", "propertyNames",
      "must not have a property named \"ab\"" },
    { "{\"properties\":{\"a\":{\"items\":{\"minimum\":0}}}}", "{\"a\":[1,-1]}", "/a/1", "/properties/a/items/minimum",
      "minimum", "must be at least 0, is -1" },
    { "{\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}", "{\"x/~y\":1}", "/x~1~0y", "/patternProperties/^x/type",
      "type", "must be null, is a number" },
    { "{\"additionalProperties\":false}", "{\"a\":1}", "/a", "/additionalProperties", "additionalProperties",
      "this property is not allowed" },
    { "{\"prefixItems\":[true],\"items\":false}", "[1,2]", "/1", "/items", "items", "this item is not allowed" },
    { "{\"unevaluatedProperties\":false}", "{\"a\":1}", "/a", "/unevaluatedProperties", "unevaluatedProperties",
      "this property is not allowed" },
    { "{\"contains\":{\"type\":\"null\"}}", "[1]", "", "/contains", "contains",
      "must contain at least 1 matching item, contains 0" },
    { "{\"contains\":{\"type\":\"null\"},\"minContains\":2}", "[null]", "", "/minContains", "minContains",
      "must contain at least 2 matching items, contains 1" },
    { "{\"contains\":{\"type\":\"null\"},\"maxContains\":1}", "[null,null,null]", "", "/maxContains", "maxContains",
      "must contain at most 1 matching item, contains at least 2" },
    { "{\"not\":{\"type\":\"null\"}}", "null", "", "/not", "not", "must not match the schema, does match" },
    { "{\"oneOf\":[{\"type\":\"null\"},true,{\"minimum\":1}]}", "1", "", "/oneOf", "oneOf",
      "must match exactly one of 3 schemas, matches 1 and 2" },
    { "{\"if\":{\"minimum\":1},\"then\":{\"maximum\":5},\"else\":{\"minimum\":-5}}", "-6", "", "/else/minimum", "minimum",
      "must be at least -5, is -6" },
    { "{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":1}", "", "/dependentSchemas/a/required", "required",
      "must have the property \"b\"" },
    { "{\"$ref\":\"#/$defs/a%25b\",\"$defs\":{\"a%b\":{\"type\":\"null\"}}}", "1", "", "/$defs/a%b/type", "type",
      "must be null, is a number" },
    { "{\"$ref\":\"#/x/0\",\"x\":[{\"type\":\"null\"}]}", "1", "", "/x/0/type", "type", "must be null, is a number" },
    { "{\"allOf\":[true,{\"$ref\":\"https://json-schema.org/draft/2020-12/meta/validation#/$defs/stringArray\"}]}", "3", "",
      "https://json-schema.org/draft/2020-12/meta/validation#/$defs/stringArray/type", "type",
      "must be an array, is a number" },
    { "false", "1", "", "", "", "no value is allowed here" },
};

TEST(a_violation_says_where_which_keyword_and_what_was_found, "")
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        ROW(messages[i].schema);
        Subject subject;
        SchemaReport report = { 0 };
        EXPECT_OK(subject_init(&subject, str_of(messages[i].schema)), &subject.err);
        EXPECT_OK(subject_check(&subject, str_of(messages[i].instance), &report), &subject.err);
        if (EXPECT(report.count >= 1)) {
            EXPECT_STR(report.items[0].instance, str_of(messages[i].place));
            EXPECT_STR(report.items[0].schema, str_of(messages[i].keyword_place));
            EXPECT_STR(report.items[0].keyword, str_of(messages[i].keyword));
            EXPECT_STR(report.items[0].message, str_of(messages[i].message));
            EXPECT_INT(report.items[0].level, 0);
            EXPECT(!report.is_cut);
        }
        subject_deinit(&subject);
    }
}

TEST(all_violations_are_reported_with_their_values_for_programs, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"required\":[\"id\",\"n\"],\"properties\":{\"n\":{\"minimum\":3}},"
                                          "\"additionalProperties\":false}")), &subject.err);
    SchemaReport report;
    REQUIRE_OK(subject_check(&subject, STR("{\"n\":2,\"extra\":[true]}"), &report), &subject.err);
    REQUIRE(report.count == 3);
    EXPECT_STR(report.items[0].property, STR("id"));
    EXPECT_STR(report.items[0].keyword, STR("required"));
    EXPECT_INT(report.items[0].wanted.count, 2);
    EXPECT_STR(report.items[1].property, STR("extra"));
    EXPECT(report.items[1].wanted.kind == VALUE_BOOL);
    EXPECT(report.items[1].found.kind == VALUE_ARRAY);
    EXPECT_STR(report.items[2].instance, STR("/n"));
    EXPECT_INT(report.items[2].wanted.integer, 3);
    EXPECT_INT(report.items[2].found.integer, 2);
    subject_deinit(&subject);
}

TEST(why_no_alternative_matched_is_told_one_level_below, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"anyOf\":[{\"type\":\"string\"},{\"oneOf\":[{\"minimum\":5}]}]}")), &subject.err);
    SchemaReport report;
    REQUIRE_OK(subject_check(&subject, STR("3"), &report), &subject.err);
    static const struct { const char *schema; uint32_t level; } want[] = {
        { "/anyOf", 0 }, { "/anyOf/0/type", 1 }, { "/anyOf/1/oneOf", 1 }, { "/anyOf/1/oneOf/0/minimum", 2 },
    };
    REQUIRE(report.count == 4);
    for (uint32_t i = 0; i < 4; i++) {
        EXPECT_STR(report.items[i].schema, str_of(want[i].schema));
        EXPECT_INT(report.items[i].level, want[i].level);
    }
    subject_deinit(&subject);
}

TEST(a_wrong_value_is_not_reported_as_a_property_that_is_not_allowed, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}}}],"
                                          "\"unevaluatedProperties\":false}")), &subject.err);
    SchemaReport report;
    REQUIRE_OK(subject_check(&subject, STR("{\"a\":1}"), &report), &subject.err);
    EXPECT_INT(report.count, 1);
    EXPECT_STR(report.items[0].keyword, STR("type"));
    subject_deinit(&subject);
}

TEST(a_report_ends_at_its_bound_and_says_so, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"items\":{\"type\":\"string\"}}")), &subject.err);
    char text[4 * SCHEMA_ERROR_COUNT_MAX] = "[1";
    for (uint32_t i = 1; i < SCHEMA_ERROR_COUNT_MAX; i++) memcpy(text + 2 * i, ",1", 2);
    size_t size = 2 * SCHEMA_ERROR_COUNT_MAX;
    SchemaReport report;
    text[size] = ']';
    REQUIRE_OK(subject_check(&subject, (Str){ text, size + 1 }, &report), &subject.err);
    EXPECT_INT(report.count, SCHEMA_ERROR_COUNT_MAX);
    EXPECT(!report.is_cut);
    memcpy(text + size, ",1]", 3);
    REQUIRE_OK(subject_check(&subject, (Str){ text, size + 3 }, &report), &subject.err);
    EXPECT_INT(report.count, SCHEMA_ERROR_COUNT_MAX);
    EXPECT(report.is_cut);
    EXPECT_STR(report.items[SCHEMA_ERROR_COUNT_MAX - 1].instance, STR("/63"));
    subject_deinit(&subject);
}

TEST(requiring_a_valid_instance_fails_with_the_first_violation, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"type\":\"object\",\"properties\":{\"a\":{\"minimum\":3}}}")), &subject.err);
    Error err = { 0 };
    EXPECT_OK(schema_require(subject.schema, parse(&subject, STR("{\"a\":3}")), &subject.arena, &err), &err);
    EXPECT_INT(schema_require(subject.schema, parse(&subject, STR("{\"a\":2}")), &subject.arena, &err), ERR_INVALID);
    EXPECT_STR(str_of(err.text), STR("/a: must be at least 3, is 2"));
    EXPECT_INT(schema_require(subject.schema, parse(&subject, STR("[]")), &subject.arena, &err), ERR_INVALID);
    EXPECT_STR(str_of(err.text), STR("must be an object, is an array"));
    EXPECT_INT(schema_require(subject.schema, value_null(), &subject.arena, NULL), ERR_INVALID);
    subject_deinit(&subject);
}

/* --- verdicts ---------------------------------------------------------------------------------------------------- */

static const struct { const char *schema, *instance; bool want; } verdicts[] = {
    /* Numbers are exact and compare by value. */
    { "{\"type\":\"integer\"}", "1.0", true },
    { "{\"type\":\"integer\"}", "12345678901234567890123.0", true },
    { "{\"type\":\"integer\"}", "1e-1", false },
    { "{\"const\":1}", "1.0e0", true },
    { "{\"enum\":[[1,{\"a\":2}]]}", "[1.0,{\"a\":2.00}]", true },
    { "{\"enum\":[[1,{\"a\":2}]]}", "[1,{\"a\":true}]", false },
    { "{\"maximum\":9007199254740992}", "9007199254740993", false },
    { "{\"exclusiveMaximum\":1e10000}", "9.99e9999", true },
    { "{\"minimum\":0.1}", "0.09999999999999999999999999", false },
    { "{\"uniqueItems\":true}", "[1,true]", true },
    { "{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1.0}]", false },
    { "{\"uniqueItems\":false}", "[1,1]", true },
    { "{\"maxLength\":2.0}", "\"abc\"", false },
    { "{\"maxLength\":1e300}", "\"abc\"", true },
    { "{\"minItems\":99999999999999999999}", "[]", false },
    /* Bounds without what they bound, and branches without their condition, mean nothing. */
    { "{\"minContains\":5}", "[]", true },
    { "{\"then\":false,\"else\":false}", "1", true },
    { "{\"contains\":false,\"minContains\":0}", "[]", true },
    /* Annotations refuse nothing. */
    { "{\"format\":\"ipv4\",\"contentEncoding\":\"base64\",\"contentSchema\":false,\"x-unknown\":{\"type\":7}}", "\"?\"", true },
    { "{\"$defs\":{\"a\":false},\"definitions\":{\"b\":false}}", "1", true },
    /* Places. */
    { "{\"$ref\":\"#/definitions/a\",\"definitions\":{\"a\":{\"type\":\"null\"}}}", "1", false },
    { "{\"$ref\":\"#x\",\"definitions\":{\"a\":{\"$anchor\":\"x\",\"type\":\"null\"}}}", "1", false },
    { "{\"$id\":\"http://h/a/b\",\"$ref\":\"../c\",\"$defs\":{\"c\":{\"$id\":\"/c\",\"type\":\"null\"}}}", "1", false },
    { "{\"$id\":\"http://h/a#\",\"$ref\":\"http://h/a#/$defs/c\",\"$defs\":{\"c\":{\"type\":\"null\"}}}", "1", false },
    { "{\"$defs\":{\"c\":{\"$id\":\"#\",\"type\":\"null\"}},\"$ref\":\"#/$defs/c\"}", "1", false },
    { "{\"$ref\":\"#/unknown/deep/1/allOf/0\",\"unknown\":{\"deep\":[1,{\"allOf\":[{\"type\":\"null\"}]}]}}", "1", false },
    { "{\"$ref\":\"#/examples/0\",\"examples\":[{\"$ref\":\"#/examples/1\"},{\"type\":\"null\"}]}", "null", true },
    { "{\"$ref\":\"#/$defs/~0~1%20x\",\"$defs\":{\"~/ x\":{\"type\":\"null\"}}}", "1", false },
    { "{\"enum\":[{\"$id\":\"#not-an-id\",\"$ref\":\"nowhere\"}]}", "{\"$id\":\"#not-an-id\",\"$ref\":\"nowhere\"}", true },
    { "{\"const\":{\"$anchor\":\"x\"},\"$defs\":{\"a\":{\"$anchor\":\"x\"}}}", "{\"$anchor\":\"x\"}", true },
    { "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema#\",\"type\":\"null\"}", "null", true },
    /* A recursive schema: each level of the list is a $ref further. */
    { "{\"$id\":\"list\",\"properties\":{\"next\":{\"$ref\":\"list\"},\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}",
      "{\"n\":1,\"next\":{\"n\":2,\"next\":{\"n\":3}}}", true },
    { "{\"$id\":\"list\",\"properties\":{\"next\":{\"$ref\":\"list\"},\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}",
      "{\"n\":1,\"next\":{\"n\":2,\"next\":{}}}", false },
    /* Unevaluated keywords see through everything that holds, and through nothing else. */
    { "{\"anyOf\":[{\"properties\":{\"a\":true}},{\"properties\":{\"b\":true}}],\"unevaluatedProperties\":false}",
      "{\"a\":1,\"b\":2}", true },
    { "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"null\"}}},{\"properties\":{\"b\":true}}],\"unevaluatedProperties\":false}",
      "{\"a\":1,\"b\":2}", false },
    { "{\"if\":{\"properties\":{\"a\":true}},\"unevaluatedProperties\":false}", "{\"a\":1}", true },
    { "{\"not\":{\"not\":{\"properties\":{\"a\":true}}},\"unevaluatedProperties\":false}", "{\"a\":1}", false },
    { "{\"contains\":{\"type\":\"null\"},\"unevaluatedItems\":{\"type\":\"number\"}}", "[1,null,2]", true },
    { "{\"contains\":{\"type\":\"null\"},\"unevaluatedItems\":{\"type\":\"number\"}}", "[1,null,\"x\"]", false },
    { "{\"allOf\":[{\"unevaluatedItems\":{\"type\":\"number\"}}],\"unevaluatedItems\":false}", "[1,2]", true },
};

TEST(instances_get_the_verdict_of_the_standard, "")
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        ROW(verdicts[i].schema);
        Subject subject;
        SchemaReport report = { 0 };
        EXPECT_OK(subject_init(&subject, str_of(verdicts[i].schema)), &subject.err);
        EXPECT_OK(subject_check(&subject, str_of(verdicts[i].instance), &report), &subject.err);
        EXPECT_INT(report.count == 0, verdicts[i].want);
        subject_deinit(&subject);
    }
}

TEST(the_built_in_metaschema_accepts_schemas_and_refuses_what_is_none, "")
{
    static const struct { const char *schema; bool want; } rows[] = {
        { "true", true },
        { "{}", true },
        { "{\"$id\":\"a\",\"$defs\":{\"x\":{\"$anchor\":\"b\",\"type\":[\"null\",\"string\"]}}}", true },
        { "{\"properties\":{\"a\":{\"items\":{\"not\":{\"minLength\":0}}}}}", true },
        { "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"type\":\"null\"}}}", true },
        { "{\"unknown\":{\"type\":5}}", true },
        { "5", false },
        { "{\"$id\":\"#x\"}", false },
        { "{\"$anchor\":\"1\"}", false },
        { "{\"type\":\"strnig\"}", false },
        { "{\"type\":[]}", false },
        { "{\"type\":[\"null\",\"null\"]}", false },
        { "{\"minLength\":-1}", false },
        { "{\"minContains\":1.5}", false },
        { "{\"multipleOf\":0}", false },
        { "{\"uniqueItems\":1}", false },
        { "{\"required\":[1]}", false },
        { "{\"required\":[\"a\",\"a\"]}", false },
        { "{\"dependentRequired\":{\"a\":\"b\"}}", false },
        { "{\"dependencies\":{\"a\":3}}", false },
        { "{\"allOf\":[]}", false },
        { "{\"properties\":{\"a\":{\"items\":{\"not\":{\"minLength\":-1}}}}}", false },
        { "{\"patternProperties\":{\"a\":[]}}", false },
        { "{\"unevaluatedItems\":3}", false },
        { "{\"contentSchema\":3}", false },
        { "{\"format\":3}", false },
        { "{\"title\":3}", false },
        { "{\"examples\":{}}", false },
        { "{\"$vocabulary\":{\"a\":1}}", false },
    };
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}")), &subject.err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].schema);
        SchemaReport report = { 0 };
        EXPECT_OK(subject_check(&subject, str_of(rows[i].schema), &report), &subject.err);
        EXPECT_INT(report.count == 0, rows[i].want);
    }
    subject_deinit(&subject);
}

TEST(a_schema_of_ones_own_extends_the_metaschema_through_its_dynamic_anchor, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"$id\":\"http://h/strict\",\"$dynamicAnchor\":\"meta\","
                                          "\"$ref\":\"https://json-schema.org/draft/2020-12/schema\","
                                          "\"required\":[\"title\"]}")), &subject.err);
    SchemaReport report;
    REQUIRE_OK(subject_check(&subject, STR("{\"title\":\"a\",\"items\":{\"title\":\"b\"}}"), &report), &subject.err);
    EXPECT_INT(report.count, 0);
    REQUIRE_OK(subject_check(&subject, STR("{\"title\":\"a\",\"items\":{\"not\":{\"title\":\"b\"}}}"), &report), &subject.err);
    REQUIRE(report.count == 1);
    EXPECT_STR(report.items[0].instance, STR("/items"));
    subject_deinit(&subject);
}

/* --- schemas that are none --------------------------------------------------------------------------------------- */

static const struct { const char *schema, *place, *text; } refusals[] = {
    { "5", "", "must be an object" },
    { "{\"properties\":{\"a\":{\"not\":null}}}", "/properties/a/not", "must be an object" },
    { "{\"type\":\"strnig\"}", "/type", "\"strnig\"" },
    { "{\"type\":[\"string\",5]}", "/type", "must be a type's name" },
    { "{\"type\":[]}", "/type", "is an empty array" },
    { "{\"type\":[\"null\",\"null\"]}", "/type", "different" },
    { "{\"properties\":{\"a/b\":{\"minimum\":\"x\"}}}", "/properties/a~1b/minimum", "must be a number, is \"x\"" },
    { "{\"multipleOf\":0}", "/multipleOf", "greater than 0" },
    { "{\"multipleOf\":\"2\"}", "/multipleOf", "must be a number" },
    { "{\"allOf\":[{},{\"minLength\":-1}]}", "/allOf/1/minLength", "must be a whole number that is not negative, is -1" },
    { "{\"maxContains\":1.5}", "/maxContains", "is 1.5" },
    { "{\"uniqueItems\":\"yes\"}", "/uniqueItems", "must be a boolean" },
    { "{\"enum\":{}}", "/enum", "must be an array" },
    { "{\"required\":\"a\"}", "/required", "different names" },
    { "{\"required\":[\"a\",\"a\"]}", "/required", "different names" },
    { "{\"dependentRequired\":[]}", "/dependentRequired", "must be an object" },
    { "{\"dependentRequired\":{\"a\":[\"b\",\"b\"]}}", "/dependentRequired/a", "different names" },
    { "{\"properties\":[]}", "/properties", "must be an object of schemas" },
    { "{\"allOf\":[]}", "/allOf", "at least one" },
    { "{\"oneOf\":{}}", "/oneOf", "at least one" },
    { "{\"prefixItems\":true}", "/prefixItems", "at least one" },
    { "{\"items\":[{}]}", "/items", "must be an object" },
    { "{\"pattern\":\"a(\"}", "/pattern", "no usable regular expression" },
    { "{\"pattern\":7}", "/pattern", "must be a string" },
    { "{\"patternProperties\":{\"[a\":true}}", "/patternProperties/[a", "no usable regular expression" },
    { "{\"title\":7}", "/title", "must be a string" },
    { "{\"deprecated\":7}", "/deprecated", "must be a boolean" },
    { "{\"examples\":7}", "/examples", "must be an array" },
    { "{\"contentSchema\":7}", "/contentSchema", "must be an object" },
    { "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", "/$schema", "\"http://json-schema.org/draft-07/schema#\"" },
    { "{\"$schema\":7}", "/$schema", "must be a string" },
    { "{\"$id\":7}", "/$id", "must be a string" },
    { "{\"$id\":\"http://h/a#b\"}", "/$id", "must not have a fragment" },
    { "{\"$defs\":{\"a\":{\"$id\":\"x\"},\"b\":{\"$id\":\"./x\"}}}", "/$defs/b/$id", "\"x\" is the $id of another part" },
    { "{\"$anchor\":\"a b\"}", "/$anchor", "must be a letter" },
    { "{\"$dynamicAnchor\":7}", "/$dynamicAnchor", "must be a name" },
    { "{\"$anchor\":\"a\",\"not\":{\"$dynamicAnchor\":\"a\"}}", "/not/$dynamicAnchor", "\"a\" is the anchor of another place" },
    { "{\"$ref\":7}", "/$ref", "must be a string" },
    { "{\"items\":{\"$ref\":\"#/$defs/none\"}}", "/items/$ref", "\"#/$defs/none\" leads to no place" },
    { "{\"$ref\":\"#none\"}", "/$ref", "\"#none\" leads to no place" },
    { "{\"$ref\":\"#/%zz\"}", "/$ref", "leads to no place" },
    { "{\"$ref\":\"#/~2\"}", "/$ref", "leads to no place" },
    { "{\"$ref\":\"#/allOf/01\",\"allOf\":[{},{}]}", "/$ref", "leads to no place" },
    { "{\"$ref\":\"#/maximum\",\"maximum\":3}", "/maximum", "must be an object" },
    { "{\"$ref\":\"#/x\",\"x\":{\"items\":{\"type\":7}}}", "/x/items/type", "must be a type's name" },
    { "{\"$dynamicRef\":\"#none\"}", "/$dynamicRef", "leads to no place" },
    { "{\"$ref\":\"http://other/x.json\"}", "/$ref", "\"http://other/x.json\" is not part of this schema" },
    { "{\"$id\":\"http://h/a/b\",\"not\":{\"$ref\":\"c#d\"}}", "/not/$ref", "\"c#d\" (\"http://h/a/c#d\")" },
    { "{\"$ref\":\"https://json-schema.org/draft/2019-09/schema\"}", "/$ref", "draft/2019-09/schema" },
    { "{\"$ref\":\"https://json-schema.org/draft/2020-12/meta/core#/$defs/none\"}", "/$ref", "leads to no place" },
    { "{\"$ref\":\"#\"}", "", "without end" },
    { "{\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"not\":{\"$ref\":\"#/$defs/a\"}}}}", "/$defs/a",
      "without end" },
    { "{\"if\":{\"anyOf\":[true,{\"oneOf\":[{\"$ref\":\"#\"}]}]}}", "", "without end" },
};

TEST(a_document_that_is_no_schema_is_refused_at_the_place_that_is_wrong, "")
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        ROW(refusals[i].schema);
        Subject subject;
        EXPECT_INT(subject_init(&subject, str_of(refusals[i].schema)), ERR_INVALID);
        EXPECT_STR(subject.place, str_of(refusals[i].place));
        expect_contains(subject.err.text, refusals[i].text);
        EXPECT(str_starts(str_of(subject.err.text), refusals[i].place[0] ? str_of(refusals[i].place) : STR("the schema: ")));
        subject_deinit(&subject);
    }
}

TEST(refusing_needs_neither_an_error_nor_a_place_to_write_to, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    const Schema *schema = NULL;
    EXPECT_INT(schema_compile(&arena, value_int(5), &schema, NULL, NULL), ERR_INVALID);
    EXPECT(schema == NULL);
    arena_deinit(&arena);
}

TEST(a_long_place_is_shown_by_its_end, "")
{
    Subject subject;
    char text[1024];
    Buf buf = buf_on(text, sizeof text);
    buf_text(&buf, "{\"properties\":{\"");
    buf_repeat(&buf, 'x', 700);
    buf_text(&buf, "\":{\"type\":7}}}");
    EXPECT_INT(subject_init(&subject, buf_peek(&buf)), ERR_INVALID);
    EXPECT_INT(subject.place.len, strlen("/properties/") + 700 + strlen("/type"));
    EXPECT(str_starts(str_of(subject.err.text), STR("...xxx")));
    expect_contains(subject.err.text, "xxx/type: must be");
    subject_deinit(&subject);
}

/* --- what JSON has not ------------------------------------------------------------------------------------------- */

TEST(values_that_json_has_not_are_refused_and_not_misread, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"properties\":{\"a\":{\"items\":true}}}")), &subject.err);
    SchemaReport report;
    Member odd[] = { { value_int(1), value_null() } };
    Value object = value_object(&subject.arena, odd, 1);
    EXPECT_INT(schema_check(subject.schema, object, &subject.arena, &report, &subject.err), ERR_INVALID);
    Member mixed[] = { { value_string(STR("a")), value_null() }, { value_array(NULL, 0), value_null() } };
    object = value_object(&subject.arena, mixed, 2);
    EXPECT_INT(schema_check(subject.schema, object, &subject.arena, &report, &subject.err), ERR_INVALID);
    Value item = value_int(1), set = value_set(&subject.arena, &item, 1);
    Member nested[] = { { value_string(STR("a")), set } };
    object = value_object(&subject.arena, nested, 1);
    EXPECT_INT(schema_check(subject.schema, object, &subject.arena, &report, &subject.err), ERR_INVALID);
    EXPECT_INT(schema_require(subject.schema, object, &subject.arena, &subject.err), ERR_INVALID);
    const Schema *schema;
    EXPECT_INT(schema_compile(&subject.arena, value_object(&subject.arena, odd, 1), &schema, NULL, NULL), ERR_INVALID);
    EXPECT_INT(schema_compile(&subject.arena, set, &schema, NULL, NULL), ERR_INVALID);
    subject_deinit(&subject);
}

/* --- hostile input ----------------------------------------------------------------------------------------------- */

/* `before` count times, then `middle`, then `behind` count times. */
static Str nested(Arena *arena, const char *before, const char *middle, const char *behind, int count)
{
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);
    for (int i = 0; i < count; i++) buf_text(&buf, before);
    buf_text(&buf, middle);
    for (int i = 0; i < count; i++) buf_text(&buf, behind);
    Str copy = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return copy;
}

static void expect_compile_limit(Str schema, const char *limit)
{
    ROW(limit);
    Subject subject;
    EXPECT_INT(subject_init(&subject, schema), ERR_LIMIT);
    expect_contains(subject.err.text, limit);
    subject_deinit(&subject);
}

TEST(a_schema_beyond_a_bound_is_refused_by_the_name_of_the_bound, "")
{
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);

    buf_text(&buf, "{\"allOf\":[true");
    for (uint32_t i = 0; i < SCHEMA_NODE_COUNT_MAX; i++) buf_text(&buf, ",true");
    buf_text(&buf, "]}");
    expect_compile_limit(buf_peek(&buf), "SCHEMA_NODE_COUNT_MAX");

    buf_clear(&buf);
    buf_text(&buf, "{\"$defs\":{\"\":true");
    for (uint32_t i = 0; i <= SCHEMA_RESOURCE_COUNT_MAX; i++) buf_format(&buf, ",\"%u\":{\"$id\":\"a%u\"}", i, i);
    buf_text(&buf, "}}");
    expect_compile_limit(buf_peek(&buf), "SCHEMA_RESOURCE_COUNT_MAX");

    buf_clear(&buf);
    buf_text(&buf, "{\"x\":[true");
    for (uint32_t i = 0; i <= SCHEMA_STRAY_COUNT_MAX; i++) buf_text(&buf, ",true");
    buf_text(&buf, "],\"items\":{\"allOf\":[true");
    for (uint32_t i = 0; i <= SCHEMA_STRAY_COUNT_MAX; i++) buf_format(&buf, ",{\"$ref\":\"#/x/%u\"}", i);
    buf_text(&buf, "]}}");
    expect_compile_limit(buf_peek(&buf), "SCHEMA_STRAY_COUNT_MAX");

    buf_clear(&buf);
    buf_text(&buf, "{\"enum\":[0");
    for (uint32_t i = 0; i < SCHEMA_WEIGHT_MAX; i++) buf_text(&buf, ",0");
    buf_text(&buf, "]}");
    expect_compile_limit(buf_peek(&buf), "SCHEMA_WEIGHT_MAX");

    buf_clear(&buf);
    buf_text(&buf, "{\"$ref\":\"#/");
    buf_repeat(&buf, 'x', SCHEMA_REF_SIZE_MAX);
    buf_text(&buf, "\"}");
    expect_compile_limit(buf_peek(&buf), "SCHEMA_REF_SIZE_MAX");

    buf_clear(&buf);
    buf_text(&buf, "{\"pattern\":\"");
    buf_repeat(&buf, 'x', PATTERN_SIZE_MAX + 1);
    buf_text(&buf, "\"}");
    expect_compile_limit(buf_peek(&buf), "PATTERN_SIZE_MAX");

    buf_clear(&buf);
    buf_text(&buf, "{\"patternProperties\":{\"\":true");
    for (uint32_t i = 0; i < 4000; i++) buf_format(&buf, ",\"((abc){20}%u){20}\":true", i);
    buf_text(&buf, "}}");
    expect_compile_limit(buf_peek(&buf), "memory");

    buf_deinit(&buf);
}

TEST(a_schema_nested_deeper_than_any_json_is_refused, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value schema = value_bool(true);
    const Schema *compiled;
    Error err = { 0 };
    for (uint32_t i = 0; i < JSON_DEPTH_MAX + 1; i++) {
        Member *members = ARENA_ARRAY(&arena, Member, 1);
        members[0] = (Member){ value_string(STR("not")), schema };
        schema = value_object(&arena, members, 1);
        if (i == JSON_DEPTH_MAX - 2) EXPECT_OK(schema_compile(&arena, schema, &compiled, NULL, &err), &err);
    }
    EXPECT_INT(schema_compile(&arena, schema, &compiled, NULL, &err), ERR_LIMIT);
    expect_contains(err.text, "JSON_DEPTH_MAX");
    arena_deinit(&arena);
}

TEST(a_recursive_schema_reaches_the_bottom_of_the_deepest_instance, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"properties\":{\"n\":{\"anyOf\":[{\"$ref\":\"#\"}]}},\"type\":\"object\"}")),
               &subject.err);
    SchemaReport report;
    Str deep = nested(&subject.arena, "{\"n\":", "{}", "}", (int)JSON_DEPTH_MAX - 1);
    REQUIRE_OK(subject_check(&subject, deep, &report), &subject.err);
    EXPECT_INT(report.count, 0);
    Str wrong = nested(&subject.arena, "{\"n\":", "[]", "}", (int)JSON_DEPTH_MAX - 1);
    REQUIRE_OK(subject_check(&subject, wrong, &report), &subject.err);
    EXPECT(report.count > 0);
    subject_deinit(&subject);
}

TEST(a_loop_that_only_shows_while_checking_ends_at_the_depth_bound, "")
{
    static const char *const rows[] = {
        "{\"$dynamicAnchor\":\"x\",\"$dynamicRef\":\"#x\"}",
        "{\"if\":true,\"then\":{\"$ref\":\"#\"}}",
        "{\"dependentSchemas\":{\"a\":{\"$ref\":\"#\"}},\"unevaluatedProperties\":false}",
        ("{\"propertyNames\":{\"$dynamicRef\":\"#s\"},"
         "\"$defs\":{\"s\":{\"$dynamicAnchor\":\"s\",\"if\":true,\"then\":{\"$ref\":\"#s\"}}}}"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i]);
        Subject subject;
        SchemaReport report;
        EXPECT_OK(subject_init(&subject, str_of(rows[i])), &subject.err);
        EXPECT_INT(subject_check(&subject, STR("{\"a\":1}"), &report), ERR_LIMIT);
        expect_contains(subject.err.text, "SCHEMA_DEPTH_MAX");
        subject_deinit(&subject);
    }
}

TEST(an_exponential_schema_ends_at_the_step_bound, "")
{
    Subject subject;
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);
    buf_text(&buf, "{\"$ref\":\"#/$defs/d40\",\"$defs\":{\"d0\":{\"type\":\"null\"}");
    for (int i = 1; i <= 40; i++)
        buf_format(&buf, ",\"d%d\":{\"oneOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", i, i - 1, i - 1);
    buf_text(&buf, "}}");
    SchemaReport report;
    REQUIRE_OK(subject_init(&subject, buf_peek(&buf)), &subject.err);
    EXPECT_INT(subject_check(&subject, STR("1"), &report), ERR_LIMIT);
    expect_contains(subject.err.text, "SCHEMA_STEP_COUNT_MAX");
    buf_deinit(&buf);
    subject_deinit(&subject);
}

TEST(work_hidden_in_one_keyword_counts_as_many_steps, "")
{
    /* One node, many references to it, a large value: each row would take minutes if a keyword were one step. */
    static const struct { const char *keyword; char item; } rows[] = {
        { "\"uniqueItems\":true", '[' }, { "\"minLength\":1", '"' }, { "\"not\":{\"pattern\":\"[bc]\"}", '"' },
        { "\"not\":{\"multipleOf\":0.123456789123456789123456789}", '1' },
        { "\"unevaluatedItems\":true", '[' }, { "\"additionalProperties\":true", '{' },
    };
    enum { REF_COUNT = 20000, SIZE = 4000000 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].keyword);
        Buf buf;
        buf_init(&buf, JSON_SIZE_MAX);
        buf_format(&buf, "{\"$defs\":{\"a\":{%s}},\"allOf\":[true", rows[i].keyword);
        for (int j = 0; j < REF_COUNT; j++) buf_text(&buf, ",{\"$ref\":\"#/$defs/a\"}");
        buf_text(&buf, "]}");
        Subject subject;
        EXPECT_OK(subject_init(&subject, buf_peek(&buf)), &subject.err);
        buf_clear(&buf);
        if (rows[i].item == '[') {
            buf_text(&buf, "[0");
            for (int j = 1; j < SIZE / 8; j++) buf_format(&buf, ",%d", j);
            buf_text(&buf, "]");
        } else {
            buf_text(&buf, rows[i].item == '1' ? "0." : rows[i].item == '{' ? "{\"" : "\"");
            buf_repeat(&buf, '1', SIZE);
            buf_text(&buf, rows[i].item == '1' ? "" : rows[i].item == '{' ? "\":0}" : "\"");
        }
        SchemaReport report;
        EXPECT_INT(subject_check(&subject, buf_peek(&buf), &report), ERR_LIMIT);
        expect_contains(subject.err.text, "SCHEMA_STEP_COUNT_MAX");
        buf_deinit(&buf);
        subject_deinit(&subject);
    }
}

TEST(a_constant_that_shares_its_parts_is_weighed_and_not_walked_for_ever, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Value shared = value_int(1);
    for (int i = 0; i < 60; i++) {
        Value *pair = ARENA_ARRAY(&arena, Value, 2);
        pair[0] = pair[1] = shared;
        shared = value_array(pair, 2);
    }
    Member *members = ARENA_ARRAY(&arena, Member, 1);
    members[0] = (Member){ value_string(STR("const")), shared };
    const Schema *schema;
    Error err = { 0 };
    EXPECT_INT(schema_compile(&arena, value_object(&arena, members, 1), &schema, NULL, &err), ERR_LIMIT);
    expect_contains(err.text, "SCHEMA_WEIGHT_MAX");

    Subject subject;
    SchemaReport report;
    REQUIRE_OK(subject_init(&subject, STR("{\"uniqueItems\":true}")), &subject.err);
    EXPECT_INT(schema_check(subject.schema, shared, &subject.arena, &report, &subject.err), ERR_LIMIT);
    subject_deinit(&subject);
    arena_deinit(&arena);
}

TEST(a_spent_pattern_is_a_limit_and_not_a_verdict, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"not\":{\"pattern\":\"^(a+)+$\"}}")), &subject.err);
    SchemaReport report;
    EXPECT_INT(subject_check(&subject, STR("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\""), &report), ERR_LIMIT);
    expect_contains(subject.err.text, "PATTERN_STEP_COUNT_MAX");
    subject_deinit(&subject);
}

TEST(more_marks_than_granted_are_a_limit, "")
{
    /* 250 sets of marks, one inside the other, for an array of 600,000 items. */
    Subject subject;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str schema = nested(&arena, "{\"unevaluatedItems\":true,\"allOf\":[", "true", "]}", 250);
    REQUIRE_OK(subject_init(&subject, schema), &subject.err);
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);
    buf_text(&buf, "[0");
    for (int i = 0; i < 600000; i++) buf_text(&buf, ",0");
    buf_text(&buf, "]");
    SchemaReport report;
    EXPECT_INT(subject_check(&subject, buf_peek(&buf), &report), ERR_LIMIT);
    expect_contains(subject.err.text, "SCHEMA_MARK_COUNT_MAX");
    buf_deinit(&buf);
    subject_deinit(&subject);
    arena_deinit(&arena);
}

TEST(large_arrays_and_objects_are_checked_in_little_time, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"uniqueItems\":true,\"items\":{\"type\":\"string\",\"maxLength\":10},"
                                          "\"additionalProperties\":{\"type\":\"integer\"},\"unevaluatedItems\":false}")),
               &subject.err);
    Buf buf;
    buf_init(&buf, JSON_SIZE_MAX);
    SchemaReport report;
    buf_text(&buf, "[\"x\"");
    for (int i = 0; i < 300000; i++) buf_format(&buf, ",\"%d\"", i);
    buf_text(&buf, "]");
    REQUIRE_OK(subject_check(&subject, buf_peek(&buf), &report), &subject.err);
    EXPECT_INT(report.count, 0);
    buf.len--;
    buf_text(&buf, ",\"777\"]");
    REQUIRE_OK(subject_check(&subject, buf_peek(&buf), &report), &subject.err);
    REQUIRE(report.count == 1);
    EXPECT_STR(report.items[0].message, STR("must have different items, items 778 and 300001 are equal"));
    buf_clear(&buf);
    buf_text(&buf, "{\"x\":0");
    for (int i = 0; i < 300000; i++) buf_format(&buf, ",\"%d\":%d", i, i);
    buf_text(&buf, "}");
    REQUIRE_OK(subject_check(&subject, buf_peek(&buf), &report), &subject.err);
    EXPECT_INT(report.count, 0);
    buf_deinit(&buf);
    subject_deinit(&subject);
}

TEST(whatever_memory_is_granted_the_answer_is_right_or_a_limit, "")
{
    Subject subject;
    arena_init(&subject.arena, SIZE_MAX);
    Str text = STR("{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"a\",\"$anchor\":\"q\","
                   "\"properties\":{\"x\":{\"pattern\":\"^a\"},\"y\":{\"enum\":[1,2]}},\"required\":[\"z\"],"
                   "\"uniqueItems\":true,\"multipleOf\":3,\"unevaluatedProperties\":false}");
    Value document = parse(&subject, text);
    Value instance = parse(&subject, STR("{\"x\":\"b\",\"y\":3,\"type\":\"nope\"}"));
    size_t compiled_at = 0, checked_at = 0;
    for (size_t size = 0; size < 600000 && !checked_at; size += size < 70000 ? 97 : 4001) {
        Arena arena;
        arena_init(&arena, size);
        const Schema *schema;
        Error err;
        Status status = schema_compile(&arena, document, &schema, NULL, &err);
        if (status) EXPECT_INT(status, ERR_LIMIT);
        else if (!compiled_at) compiled_at = size;
        for (size_t more = 0; !status && more < 70000; more += 1999) {
            Arena scratch;
            arena_init(&scratch, more);
            SchemaReport report;
            Status checked = schema_check(schema, instance, &scratch, &report, &err);
            if (checked) EXPECT_INT(checked, ERR_LIMIT);
            else EXPECT(report.count > 3);
            if (!checked) checked_at = more;
            arena_deinit(&scratch);
        }
        arena_deinit(&arena);
    }
    EXPECT(compiled_at > 0);
    EXPECT(checked_at > 0);
    subject_deinit(&subject);
}

/* --- threads ----------------------------------------------------------------------------------------------------- */

static void *check_often(void *context)
{
    const Schema *schema = context;
    uintptr_t wrong = 0;
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (int i = 0; i < 2000; i++) {
        arena_reset(&arena);
        Value value;
        SchemaReport report;
        Str text = i % 2 ? STR("{\"a\":\"abc\"}") : STR("{\"a\":\"ABC\"}");
        if (json_parse(&arena, text, &value, NULL) || schema_check(schema, value, &arena, &report, NULL)) wrong++;
        else wrong += report.count != (i % 2 ? 0u : 1u);
    }
    arena_deinit(&arena);
    return (void *)wrong;
}

TEST(one_schema_serves_many_threads_at_once, "")
{
    Subject subject;
    REQUIRE_OK(subject_init(&subject, STR("{\"properties\":{\"a\":{\"pattern\":\"^[a-z]+$\"}}}")), &subject.err);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) REQUIRE(pthread_create(&threads[i], NULL, check_often, (void *)subject.schema) == 0);
    for (size_t i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        EXPECT_INT((uintptr_t)wrong, 0);
    }
    subject_deinit(&subject);
}
