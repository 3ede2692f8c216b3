#include "lang/migrate.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "lang/compile.h"

static const char legacy[] =
    "connectors:\n"
    "  - name: \"log_files\"\n"
    "    type: \"filesystem_connector\"\n"
    "    properties:\n"
    "      path: \"./logs\"\n"
    "\n"
    "analysers:\n"
    "  - name: \"pda\"\n"
    "    type: \"personal_data_analyser\"\n"
    "    properties:\n"
    "      llm_validation:\n"
    "        enable_llm_validation: false\n"
    "\n"
    "execution:\n"
    "  - id: \"analyse_logs\"\n"
    "    name: \"Analyse Logs\"\n"
    "    connector: \"log_files\"\n"
    "    analyser: \"pda\"\n"
    "    input_schema: \"standard_input\"\n"
    "    output_schema: \"personal_data_finding\"\n";

typedef struct Result {
    Arena arena;
    Buf yaml;
    Diagnostics diagnostics;
    MigrateNotes notes;
    Catalog catalog;
    Compiled compiled;              /* of the result */
} Result;

static void migrate_text(Result *result, const char *text, const char *file)
{
    Node *root;
    Error err;
    arena_init(&result->arena, SIZE_MAX);
    buf_init(&result->yaml, DEFINITION_SIZE_MAX);
    result->compiled = (Compiled){ 0 };
    result->notes = (MigrateNotes){ 0 };
    catalog_init(&result->catalog, &result->arena);
    diagnostics_init(&result->diagnostics, &result->arena, str_of(file), str_of(text));
    if (!EXPECT_OK(node_read(&result->arena, str_of(text), text_format_of(str_of(file)), &root, &err), &err)) return;
    migrate(&result->arena, root, &result->diagnostics, &result->yaml, &result->notes);
    if (result->yaml.len == 0) return;
    Str copy = arena_copy(&result->arena, buf_peek(&result->yaml));
    compile(&result->arena, copy, &(CompileOptions){ STR("new.yaml"), TEXT_YAML, &result->catalog }, &result->compiled);
}

static void result_end(Result *result)
{
    buf_deinit(&result->yaml);
    arena_deinit(&result->arena);
}

static bool contains(Str text, const char *part)
{
    for (size_t i = 0; i + strlen(part) <= text.len; i++)
        if (memcmp(text.ptr + i, part, strlen(part)) == 0) return true;
    return false;
}

static bool has_note(const Result *result, const char *part)
{
    for (uint32_t i = 0; i < result->notes.count; i++)
        if (contains(result->notes.items[i], part)) return true;
    return false;
}

TEST(the_old_log_analysis_becomes_the_new_one, "proves: K-069 K-073")
{
    static const char want[] =
        "# Migrated by maestro from legacy-log-analysis.yaml.\n"
        "# Name and description are derived from the file's name: the old one has none.\n"
        "name: Legacy Log Analysis\n"
        "description: Legacy Log Analysis, migrated from the old format\n"
        "\n"
        "artifacts:\n"
        "  log_files:\n"
        "    source:\n"
        "      type: filesystem_connector\n"
        "      properties:\n"
        "        path: ./logs\n"
        "\n"
        "  analyse_logs:\n"
        "    name: Analyse Logs\n"
        "    inputs: log_files\n"
        "    transform:\n"
        "      type: personal_data_analyser\n"
        "      properties:\n"
        "        llm_validation:\n"
        "          enable_llm_validation: false\n"
        "    input_schema: standard_input\n"
        "    output_schema: personal_data_finding\n"
        "    output: true\n";
    Result result;
    migrate_text(&result, legacy, "flows/legacy-log-analysis.yaml");
    EXPECT_STR(buf_peek(&result.yaml), str_of(want));
    EXPECT_INT(result.diagnostics.count, 0);
    EXPECT_INT(result.notes.count, 2);
    EXPECT(has_note(&result, "the name 'Legacy Log Analysis' is derived"));
    EXPECT(has_note(&result, "the description 'Legacy Log Analysis, migrated from the old format' is derived"));
    EXPECT(result.compiled.is_valid);
    result_end(&result);
}

static Value member(Value object, const char *key)
{
    const Value *value = value_get_text(object, key);
    return value ? *value : value_null();
}

/* Names apart, the artifacts are those of the example in the new format: the same components with the same properties, the
 * same schemas, the same result. */
TEST(the_result_produces_what_the_example_in_the_new_format_produces, "proves: K-069")
{
    const char *shared = test_shared_dir("examples");
    if (!shared) NOT_RUN("the examples are not on this machine");
    static const char *const keys[] = { "kind",          "run",   "source", "transform", "input_schema",
                                        "output_schema", "merge", "output", "optional",  "strategy" };
    char path[4096];
    Result result;
    Compiled example;
    snprintf(path, sizeof path, "%s/legacy-log-analysis.yaml", shared);
    migrate_text(&result, test_read_file(path).ptr, path);
    snprintf(path, sizeof path, "%s/log-analysis.yaml", shared);
    compile(&result.arena, test_read_file(path), &(CompileOptions){ str_of(path), TEXT_YAML, &result.catalog },
            &example);
    REQUIRE(result.compiled.is_valid && example.is_valid);
    const Plan *a = &result.compiled.plan, *b = &example.plan;
    REQUIRE(a->step_count == 2 && b->step_count == 2 && a->edge_count == b->edge_count);
    EXPECT(a->edges[0].from == b->edges[0].from && a->edges[0].to == b->edges[0].to
           && a->edges[0].kind == b->edges[0].kind);
    for (uint32_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            ROW(keys[k]);
            EXPECT(value_equals(member(a->steps[i].settings, keys[k]), member(b->steps[i].settings, keys[k])));
        }
    }
    ROW(NULL);
    result_end(&result);
}

TEST(a_pipeline_of_steps_becomes_a_graph_of_artifacts, "proves: K-073")
{
    static const char text[] =
        "# a comment\n"
        "name: Pipeline\n"
        "contact: Ops <ops@example.com>\n"
        "config: { timeout: 60 }\n"
        "connectors:\n"
        "  - { name: files, type: filesystem, properties: { path: a }, description: All files }\n"
        "analysers:\n"
        "  - { name: pda, type: personal_data_analyser }\n"
        "execution:\n"
        "  - { id: raw, connector: files, save_output: true }\n"
        "  - { id: found, description: What was found, contact: DPO, input_from: raw, analyser: pda }\n"
        "  - { id: again, input_from: raw, analyser: pda }\n";
    static const char want[] =
        "# Migrated by maestro from p.yaml.\n"
        "# The description is derived from the file's name: the old one has none.\n"
        "name: Pipeline\n"
        "description: P, migrated from the old format\n"
        "contact: \"Ops <ops@example.com>\"\n"
        "config:\n"
        "  timeout: 60\n"
        "\n"
        "artifacts:\n"
        "  files:\n"
        "    description: All files\n"
        "    source:\n"
        "      type: filesystem\n"
        "      properties:\n"
        "        path: a\n"
        "\n"
        "  raw:\n"
        "    inputs: files\n"
        "\n"
        "  found:\n"
        "    description: What was found\n"
        "    contact: DPO\n"
        "    inputs: raw\n"
        "    transform:\n"
        "      type: personal_data_analyser\n"
        "    output: true\n"
        "\n"
        "  again:\n"
        "    inputs: raw\n"
        "    transform:\n"
        "      type: personal_data_analyser\n"
        "    output: true\n";
    Result result;
    migrate_text(&result, text, "p.yaml");
    EXPECT_STR(buf_peek(&result.yaml), str_of(want));
    EXPECT_INT(result.diagnostics.count, 0);
    EXPECT(has_note(&result, "'save_output' is left out"));
    EXPECT(has_note(&result, "comments of the old file are not kept"));
    EXPECT(!has_note(&result, "the name"));
    EXPECT(result.compiled.is_valid);
    result_end(&result);
}

/* Each row changes the old example; the result must say so at the place, in the diagnostics and in a comment. */
TEST(what_a_person_must_decide_is_a_comment_and_a_diagnostic, "proves: K-073")
{
    static const struct {
        const char *name, *from, *to;
        Severity severity;
        uint32_t line;
        const char *message, *yaml;
        bool is_valid;
    } rows[] = {
        { "an unused connector", "analysers:\n",
          "  - { name: spare, type: filesystem, properties: { path: x } }\nanalysers:\n", SEVERITY_WARNING, 7,
          "no step uses the connector 'spare'",
          "\n# DECIDE: no step uses the connector 'spare' (line 7 of the old file).\n#   spare:\n#     name: spare\n#     type: filesystem\n#     properties:\n#       path: x\n",
          true },
        { "an unused analyser", "execution:\n", "  - { name: spare, type: x }\nexecution:\n", SEVERITY_WARNING, 14,
          "no step uses the analyser 'spare'", "#   spare:\n#     name: spare\n", true },
        { "an unknown key of a step", "    analyser: \"pda\"\n", "    analyser: \"pda\"\n    retries: { times: 3 }\n",
          SEVERITY_WARNING, 19, "'retries' has no place in the new format",
          "  # DECIDE: 'retries' has no place in the new format (line 19 of the old file).\n  #   retries:\n  #     times: 3\n  analyse_logs:\n",
          true },
        { "of a connector", "    type: \"filesystem_connector\"\n",
          "    type: \"filesystem_connector\"\n    speed: 9\n", SEVERITY_WARNING, 4, "'speed' has no place",
          "  #   speed: 9\n  log_files:\n", true },
        { "of an analyser", "    type: \"personal_data_analyser\"\n",
          "    type: \"personal_data_analyser\"\n    speed: 9\n", SEVERITY_WARNING, 10, "'speed' has no place",
          "  #   speed: 9\n  analyse_logs:\n", true },
        { "of the runbook", "connectors:\n", "version: 3\nconnectors:\n", SEVERITY_WARNING, 1, "'version' has no place",
          "# DECIDE: 'version' has no place in the new format (line 1 of the old file).\n#   version: 3\n", true },
        { "a value that is not permitted", "\"Analyse Logs\"", "[a]", SEVERITY_WARNING, 16,
          "'name' cannot be carried over: expected a text", "  #   name:\n  #     - a\n  analyse_logs:\n    inputs",
          true },
        { "a key twice", "    analyser: \"pda\"\n", "    analyser: \"pda\"\n    name: Other\n", SEVERITY_WARNING, 19,
          "'name' is there twice", "  #   name: Other\n  analyse_logs:\n    name: Analyse Logs\n", true },
        { "a step with a connector's name", "id: \"analyse_logs\"", "id: log_files", SEVERITY_WARNING, 2,
          "the connector 'log_files' is the artifact 'log_files_source' here: a step has that id",
          "  log_files_source:\n    source:\n", true },
        { "a name that is no id", "id: \"analyse_logs\"", "id: Analyse the logs!", SEVERITY_WARNING, 15,
          "the step 'Analyse the logs!' is the artifact 'Analyse_the_logs' here", "  Analyse_the_logs:\n", true },
        { "a step without an id", "  - id: \"analyse_logs\"\n    name:", "  - name:", SEVERITY_WARNING, 15,
          "the step has no id; here it is 'Analyse_Logs'", "  Analyse_Logs:\n    name: Analyse Logs\n", true },
        { "two connectors of one name", "analysers:\n", "  - { name: log_files, type: other }\nanalysers:\n",
          SEVERITY_WARNING, 7, "there is a second connector 'log_files'", "#     type: other\n", true },
        { "two steps of one id", "execution:\n", "execution:\n  - { id: analyse_logs, connector: log_files }\n",
          SEVERITY_WARNING, 16, "there is a step 'analyse_logs' already, in line 15; this one is 'analyse_logs_2' here",
          "  analyse_logs_2:\n    name: Analyse Logs\n", true },
        { "a connector beside another step", "execution:\n",
          "execution:\n  - { id: a, connector: log_files, input_from: analyse_logs }\n", SEVERITY_WARNING, 15,
          "the connector 'log_files' is left out: 'input_from' beside it is used", "  a:\n    inputs: analyse_logs\n",
          true },

        { "a connector that does not exist", "connector: \"log_files\"", "connector: log_file", SEVERITY_ERROR, 17,
          "there is no connector 'log_file'",
          "  # DECIDE: there is no connector 'log_file' (line 17 of the old file).\n", false },
        { "an analyser that does not exist", "analyser: \"pda\"", "analyser: pdb", SEVERITY_ERROR, 18,
          "there is no analyser 'pdb'", "    transform: {}\n", false },
        { "a step that does not exist", "connector: \"log_files\"", "input_from: nowhere", SEVERITY_ERROR, 17,
          "there is no step 'nowhere'", "    inputs: []\n", false },
        { "a step that reads itself", "connector: \"log_files\"", "input_from: analyse_logs", SEVERITY_ERROR, 17,
          "the step 'analyse_logs' reads what is made of itself", "DECIDE: the step 'analyse_logs' reads", false },
        { "no input at all", "    connector: \"log_files\"\n", "", SEVERITY_ERROR, 15,
          "neither 'connector' nor 'input_from'", "    inputs: []\n", false },
        { "a reference that is none", "connector: \"log_files\"", "connector: [log_files]", SEVERITY_ERROR, 17,
          "expected the name of a connector, found a list", "DECIDE: expected the name", false },
        { "a type that is no name", "type: \"filesystem_connector\"", "type: file system", SEVERITY_ERROR, 3,
          "the type of the connector 'log_files' is no name", "      type: file system\n", false },
        { "properties that are not permitted", "\"./logs\"", "\"${\"", SEVERITY_ERROR, 5,
          "the properties of the connector 'log_files' are not permitted here", "        path: \"${\"\n", false },
        { "no type", "    type: \"filesystem_connector\"\n", "", SEVERITY_ERROR, 2,
          "the connector 'log_files' has no type", "    source:\n      properties:\n", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4096];
        Result result;
        const char *at = strstr(legacy, rows[i].from);
        ROW(rows[i].name);
        if (!EXPECT(at != NULL)) continue;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - legacy), legacy, rows[i].to, at + strlen(rows[i].from));
        migrate_text(&result, text, "old.yaml");
        bool is_said = false;
        for (size_t k = 0; k < result.diagnostics.count; k++) {
            const Diagnostic *diagnostic = &result.diagnostics.items[k];
            is_said |= diagnostic->severity == rows[i].severity && diagnostic->line == rows[i].line
                    && contains(diagnostic->message, rows[i].message);
        }
        if (!EXPECT(is_said) && result.diagnostics.count)
            test_expect(false, __FILE__, __LINE__, "it said in line %u: %.*s", result.diagnostics.items[0].line,
                        STR_ARG(result.diagnostics.items[0].message));
        if (!EXPECT(contains(buf_peek(&result.yaml), rows[i].yaml)))
            test_expect(false, __FILE__, __LINE__, "got:\n%.*s", STR_ARG(buf_peek(&result.yaml)));
        EXPECT(contains(buf_peek(&result.yaml), "DECIDE: "));
        EXPECT_INT(result.compiled.is_valid, rows[i].is_valid);
        EXPECT_INT(result.diagnostics.error_count > 0, rows[i].severity == SEVERITY_ERROR);
        result_end(&result);
    }
    ROW(NULL);
}

TEST(a_suggestion_is_made_for_a_name_that_is_nearly_right, "")
{
    Result result;
    migrate_text(&result, "connectors: [{ name: files, type: filesystem }]\nexecution: [{ id: a, connector: fils }]\n",
                 "x.yaml");
    REQUIRE(result.diagnostics.count >= 1);
    EXPECT_STR(result.diagnostics.items[0].help.len ? result.diagnostics.items[0].help
                                                    : result.diagnostics.items[1].help,
               STR("did you mean 'files'?"));
    result_end(&result);
}

TEST(what_is_no_old_runbook_is_refused, "proves: K-069")
{
    static const struct {
        const char *name, *text, *message;
    } rows[] = {
        { "a new one", "name: n\ndescription: d\nartifacts: { a: { source: { type: filesystem } } }\n",
          "has the new format already" },
        { "a workflow", "workflow: w\njobs: { a: { tasks: [{ run: noop }] } }\n", "this is a workflow" },
        { "something else", "a: 1\n", "no runbook of the old format" },
        { "a list", "- 1\n", "no runbook of the old format" },
        { "no steps", "connectors: []\nexecution: []\n", "there are no steps" },
        { "no execution", "connectors: []\nexecution:\n", "there are no steps" },
        { "one step of two", "connectors: [{ name: a, type: x }]\nexecution: [{ id: a, connector: a }, 5]\n",
          "expected the mapping of a step, found a number" },
        { "steps that are none", "connectors: []\nexecution: { a: b }\n",
          "expected a list of mappings under 'execution', found a mapping" },
        { "a step that is none", "connectors: []\nexecution: [5]\n", "expected the mapping of a step, found a number" },
        { "connectors that are none", "connectors: 7\nexecution: [x]\n",
          "expected a list of mappings under 'connectors'" },
        { "a connector without a name", "connectors: [{ type: x }]\nexecution: [x]\n",
          "expected the mapping of a connector with a 'name', found none" },
        { "an analyser that is none", "analysers: [x]\nexecution: [x]\n",
          "expected the mapping of an analyser with a 'name', found a text" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Result result;
        ROW(rows[i].name);
        migrate_text(&result, rows[i].text, "x.yaml");
        EXPECT_INT(result.yaml.len, 0);
        bool is_said = false;
        for (size_t k = 0; k < result.diagnostics.count; k++)
            is_said |= contains(result.diagnostics.items[k].message, rows[i].message);
        EXPECT(is_said);
        EXPECT(result.diagnostics.error_count > 0);
        EXPECT(result.diagnostics.count && result.diagnostics.items[0].line > 0);
        result_end(&result);
    }
    ROW(NULL);
}

TEST(names_are_made_of_files_names, "")
{
    static const struct {
        const char *file, *want;
    } rows[] = {
        { "a.yaml", "\nname: A\n" },
        { "flows/log_analysis-2.old.yaml", "\nname: Log Analysis 2 Old\n" },
        { "-", "\nname: Runbook\n" },
        { ".yaml", "\nname: Yaml\n" },
        { "x/", "\nname: Runbook\n" },
        { "\xc3\xbc"
          "ber.yml",
          "\nname: \xc3\xbc"
          "ber\n" },
        { "a\xff.yaml", "\nname: A\n" },
        { "yes.yaml", "\nname: \"Yes\"\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Result result;
        ROW(rows[i].file);
        migrate_text(&result, legacy, rows[i].file);
        if (!EXPECT(contains(buf_peek(&result.yaml), rows[i].want)))
            test_expect(false, __FILE__, __LINE__, "%.*s", STR_ARG(str_slice(buf_peek(&result.yaml), 0, 300)));
        EXPECT(result.compiled.is_valid);
        result_end(&result);
    }
    ROW(NULL);
}

TEST(comments_are_told_from_signs_in_texts, "")
{
    static const struct {
        const char *text; bool has_comment;
    } rows[] = {
        { "connectors: [{ name: \"a #b\", type: 'x #y', properties: { p: a#b } }]\nexecution: [{ id: a, connector: \"a #b\" }]\n",
          false },
        { "connectors: [{ name: a, type: x }]\nexecution: [{ id: a, connector: a }] # here\n", true },
        { "connectors: [{ name: a, type: x }]\n#\nexecution: [{ id: a, connector: a }]\n", true },
        { "connectors:\n  - name: a\n    type: x\n    properties:\n      text: |\n        # no comment\nexecution: [{ id: a, connector: a }]\n",
          false },
        { "connectors: [{ name: \"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc # \", type: x }]\nexecution: [{ id: a, connector: a }]\n",
          false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Result result;
        ROW(rows[i].text);
        migrate_text(&result, rows[i].text, "x.yaml");
        EXPECT_INT(has_note(&result, "comments"), rows[i].has_comment);
        result_end(&result);
    }
    ROW(NULL);
}

TEST(an_old_runbook_in_json_is_migrated_too_and_twice_is_the_same, "")
{
    static const char text[] =
        "{\"connectors\":[{\"name\":\"f\",\"type\":\"filesystem\",\"properties\":{\"path\":\"#\"}}],\"execution\":[{\"id\":1,\"connector\":\"f\"},{\"id\":\"b\",\"input_from\":1}]}";
    Result one, two;
    migrate_text(&one, text, "x.json");
    migrate_text(&two, text, "x.json");
    EXPECT(one.compiled.is_valid);
    EXPECT(contains(buf_peek(&one.yaml), "  \"1\":\n    inputs: f\n\n  b:\n    inputs: \"1\"\n    output: true\n"));
    EXPECT(!has_note(&one, "comments"));
    EXPECT_STR(buf_peek(&one.yaml), buf_peek(&two.yaml));
    result_end(&one);
    result_end(&two);
}

TEST(a_result_that_aliases_make_too_large_is_refused, "")
{
    Buf text;
    Result result;
    buf_init(&text, 64u << 20);
    buf_text(&text, "x: &x ");
    buf_repeat(&text, 'a', 1u << 20);
    buf_text(&text, "\ny: &y [*x, *x, *x, *x, *x, *x, *x, *x, *x, *x]\nz: [*y, *y, *y, *y, *y, *y, *y, *y]\n"
                    "connectors: [{ name: a, type: x }]\nexecution: [{ id: a, connector: a }]\n");
    buf_char(&text, '\0');
    migrate_text(&result, text.ptr, "x.yaml");
    EXPECT_INT(result.yaml.len, 0);
    EXPECT(result.diagnostics.error_count > 0);
    result_end(&result);
    buf_deinit(&text);
}
