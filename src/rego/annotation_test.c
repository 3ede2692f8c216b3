#include "harness/test.h"
#include "rego/builtins/yaml_read.h"
#include "rego/parser.h"
#include "value/json.h"

static Arena arena;
static RegoErrors errors;

static const RegoModule *read_module(const char *text)
{
    rego_errors_init(&errors, &arena);
    RegoModule *module = NULL;
    const RegoParseOptions options = { .read_yaml = yaml_metadata_read };
    return rego_parse_module(&arena, str_of(text), &options, &module, &errors) == OK ? module : NULL;
}

static Str value_of(const RegoAnnotation *annotation)
{
    Buf buf = buf_on(arena_alloc(&arena, 1024), 1024);
    Error err;
    EXPECT_OK(json_print(&buf, annotation->value, JSON_COMPACT, &err), &err);
    return buf_peek(&buf);
}

TEST(blocks_belong_to_what_follows, "")
{
    arena_init(&arena, SIZE_MAX);
    const RegoModule *module = read_module("# METADATA\n# title: all\n# scope: subpackages\npackage a\n\nimport data.b\n\n"
                                           "# METADATA\n# title: one\n\n# another comment\np := 1\n\n"
                                           "# METADATA\n# entrypoint: true\nq := 2\n");
    REQUIRE(module != NULL);
    REQUIRE(module->annotation_count == 3);
    EXPECT_INT(module->annotations[0].scope, REGO_SCOPE_SUBPACKAGES);
    EXPECT(module->annotations[0].rule == NULL);
    EXPECT_INT(module->annotations[1].scope, REGO_SCOPE_RULE);
    EXPECT(module->annotations[1].rule == module->rules[0]);
    EXPECT_STR(value_of(&module->annotations[1]), STR("{\"scope\":\"rule\",\"title\":\"one\"}"));
    EXPECT_INT(module->annotations[2].scope, REGO_SCOPE_DOCUMENT);
    EXPECT(module->annotations[2].is_entrypoint);
    EXPECT(module->annotations[2].rule == module->rules[1]);
    EXPECT_STR(rego_loc_text(module->text, module->annotations[2].loc), STR("# METADATA\n# entrypoint: true"));
    arena_deinit(&arena);
}

TEST(members_take_the_form_that_policies_see, "")
{
    static const struct { const char *yaml, *want; } cases[] = {
        { "# title: 1.50\n", "{\"scope\":\"rule\",\"title\":\"1.50\"}" },
        { "# description: |\n#  a\n#  b\n", "{\"description\":\"a\\nb\\n\",\"scope\":\"rule\"}" },
        { "# authors:\n# - Ann Author <ann@example.com>\n# - name: Bob\n#   email: bob@example.com\n# - Carl\n",
          "{\"authors\":[{\"email\":\"ann@example.com\",\"name\":\"Ann Author\"},{\"email\":\"bob@example.com\",\"name\":"
          "\"Bob\"},{\"name\":\"Carl\"}],\"scope\":\"rule\"}" },
        { "# related_resources:\n# - https://example.com\n# - ref: https://example.org\n#   description: more\n",
          "{\"related_resources\":[{\"ref\":\"https://example.com\"},{\"description\":\"more\",\"ref\":"
          "\"https://example.org\"}],\"scope\":\"rule\"}" },
        { "# schemas:\n# - input: schema.in\n# - data.x: {type: string}\n",
          "{\"schemas\":[{\"path\":[\"input\"],\"schema\":[\"schema\",\"in\"]},{\"definition\":{\"type\":\"string\"},\"path\":"
          "[\"data\",\"x\"]}],\"scope\":\"rule\"}" },
        { "# custom:\n#   a: [1, {b: c}]\n# organizations: [x]\n# unknown: 1\n",
          "{\"custom\":{\"a\":[1,{\"b\":\"c\"}]},\"organizations\":[\"x\"],\"scope\":\"rule\"}" },
        { "# title: ''\n", "{\"scope\":\"rule\"}" },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].yaml);
        const RegoModule *module = read_module(arena_format(&arena, "package a\n# METADATA\n%sp := 1\n", cases[i].yaml).ptr);
        EXPECT_STR(errors.count ? errors.items[0].text : STR(""), STR(""));
        if (module && EXPECT_INT(module->annotation_count, 1))
            EXPECT_STR(value_of(&module->annotations[0]), str_of(cases[i].want));
    }
    arena_deinit(&arena);
}

TEST(wrong_blocks_are_refused, "")
{
    static const struct { const char *text; uint32_t row; const char *want; } cases[] = {
        { "package a\n# METADATA\n#\np := 1", 2, "expected METADATA block, found whitespace" },
        { "package a\n# METADATA\n# scope: x\np := 1", 2, "invalid annotation scope 'x'. Use one of 'rule', 'document', "
          "'package', or 'subpackages'" },
        { "package a\n# METADATA\n# scope: package\np := 1", 2, "annotation scope 'package' must be applied to package (have "
          "rule)" },
        { "package a\n# METADATA\n# title: x\nimport data.b", 2, "invalid annotation scope 'import'. Use one of 'rule', "
          "'document', 'package', or 'subpackages'" },
        { "package a\n# METADATA\n# scope: rule", 2, "annotation scope 'rule' must be applied to rule" },
        { "package a\n# METADATA\n# scope: rule\n# entrypoint: true\np := 1", 2, "annotation entrypoint applied to non-document "
          "or package scope 'rule'" },
        { "package a\n# METADATA\n# title: [x]\np := 1", 3, "annotation title must be a string" },
        { "package a\n# METADATA\n# description: d\n# custom: 1\np := 1", 4, "annotation custom must be an object" },
        { "package a\n# METADATA\n# scope: 3\np := 1", 2, "invalid annotation scope '3'. Use one of 'rule', 'document', "
          "'package', or 'subpackages'" },
        { "package a\n# METADATA\n# title: x\n# title: y\np := 1", 4, "yaml: unmarshal errors:\n  line 2: mapping key "
          "\"title\" already defined at line 1" },
        { "package a\n# METADATA\n# authors: [{}]\np := 1", 2, "annotation authors needs a name or an email for each author" },
        { "package a\n# METADATA\n# schemas: [{1x: schema.y}]\np := 1", 2, "annotation schemas has an invalid document "
          "reference" },
        { "package a\n# METADATA\n# just text\np := 1", 3, "a METADATA block must hold an object, not a string" },
        { "package a\n# METADATA\n# title: x\n# - y\np := 1", 4, "yaml: line 1: did not find expected key" },
    };
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].text);
        EXPECT(read_module(cases[i].text) == NULL);
        EXPECT_STR(errors.count ? errors.items[0].text : STR(""), str_of(cases[i].want));
        if (errors.count) EXPECT_INT(errors.items[0].loc.row, cases[i].row);
    }
    arena_deinit(&arena);
}

TEST(other_comments_are_no_blocks, "")
{
    arena_init(&arena, SIZE_MAX);
    const RegoModule *module = read_module("package a\n # METADATA\n# title: x\np := 1 # METADATA\n");
    REQUIRE(module != NULL);
    EXPECT_INT(module->annotation_count, 0);
    EXPECT_INT(module->comment_count, 3);
    arena_deinit(&arena);
}
