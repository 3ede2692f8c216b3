#include "lang/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "lang/compile.h"
#include "value/json.h"
#include "value/schema.h"

/* The file in spec/ is what the tables say. MAESTRO_GOLDEN=write accepts a change. */
static void expect_file(const char *path, Value schema)
{
    Buf text;
    Error err;
    buf_init(&text, 8u << 20);
    EXPECT_OK(json_print(&text, schema, JSON_PRETTY, &err), &err);
    buf_char(&text, '\n');
    const char *wish = getenv("MAESTRO_GOLDEN");
    if (wish && strcmp(wish, "write") == 0) {
        FILE *file = fopen(test_source_path(path), "w");
        if (EXPECT(file != NULL)) {
            fwrite(text.ptr, 1, text.len, file);
            fclose(file);
        }
    }
    ROW(path);
    EXPECT(str_is(test_read_file(test_source_path(path)), buf_peek(&text)));
    buf_deinit(&text);
}

TEST(the_schema_files_are_what_the_tables_say, "proves: K-024")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    expect_file("spec/definition.schema.json", spec_definition(&arena));
    expect_file("spec/runners.schema.json", spec_config(&arena));
    expect_file("spec/server.schema.json", spec_server(&arena));
    arena_deinit(&arena);
}

static bool schema_accepts(const Schema *schema, Arena *arena, Str text, TextFormat format)
{
    Node *root;
    Error err;
    SchemaReport report = { 0 };
    if (!EXPECT_OK(node_read(arena, text, format, &root, &err), &err)) return false;
    if (!EXPECT_OK(schema_check(schema, node_to_value(arena, root), arena, &report, &err), &err)) return false;
    for (uint32_t i = 0; i < report.count && getenv("MAESTRO_VERBOSE"); i++)
        fprintf(stderr, "    %.*s: %.*s\n", STR_ARG(report.items[i].instance), STR_ARG(report.items[i].message));
    return report.count == 0;
}

static const char *const examples[] = {
    "approval",         "hello",       "inventory", "log-analysis", "order-fulfillment", "order-routing",
    "revenue-backfill", "review-loop", "step-tree",
};

TEST(every_example_fits_the_schema, "")
{
    Arena arena;
    Error err;
    const Schema *schema, *config;
    arena_init(&arena, SIZE_MAX);
    REQUIRE_OK(schema_compile(&arena, spec_definition(&arena), &schema, NULL, &err), &err);
    REQUIRE_OK(schema_compile(&arena, spec_config(&arena), &config, NULL, &err), &err);
    Str runners = arena_copy(&arena, test_read_file(test_source_path("examples/runners.yaml")));
    EXPECT(schema_accepts(config, &arena, runners, TEXT_YAML));
    Catalog catalog;
    Diagnostics diagnostics;
    Node *root;
    catalog_init(&catalog, &arena);
    diagnostics_init(&diagnostics, &arena, STR("runners.yaml"), runners);
    REQUIRE_OK(node_read(&arena, runners, TEXT_YAML, &root, &err), &err);
    catalog_add_config(&catalog, &diagnostics, root);
    EXPECT_INT(diagnostics.error_count, 0);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char path[128];
        Compiled compiled;
        snprintf(path, sizeof path, "examples/%s.yaml", examples[i]);
        ROW(examples[i]);
        Str text = arena_copy(&arena, test_read_file(test_source_path(path)));
        EXPECT(schema_accepts(schema, &arena, text, TEXT_YAML));
        compile(&arena, text, &(CompileOptions){ .file = str_of(path), .catalog = &catalog }, &compiled);
        EXPECT(compiled.is_valid);
        EXPECT_INT(compiled.diagnostics.warning_count, 0);
    }
    arena_deinit(&arena);
}

/* One change that breaks a shape must be seen by both; one that only the compiler can see is accepted by the schema. */
TEST(schema_and_compiler_agree_on_shapes, "proves: F-121")
{
    static const struct {
        const char *name, *text; bool by_schema, by_compiler;
    } rows[] = {
        { "fine", "workflow: a\njobs: { x: { tasks: [{ run: noop }] } }", true, true },
        { "an unknown key", "workflow: a\njobs: { x: { tasks: [{ run: noop, colour: red }] } }", false, false },
        { "no jobs and no steps", "workflow: a", false, false },
        { "jobs and steps", "workflow: a\njobs: { x: { tasks: [{ run: noop }] } }\nsteps: [{ run: noop }]", false,
          false },
        { "no runner", "workflow: a\njobs: { x: { tasks: [{ timeout: 3s }] } }", false, false },
        { "two runners", "workflow: a\njobs: { x: { tasks: [{ run: noop, log: x }] } }", false, false },
        { "a wrong word", "workflow: a\npriority: urgent\njobs: { x: { tasks: [{ run: noop }] } }", false, false },
        { "both spellings",
          "workflow: a\nfailure_resolution: { strategy: AUTO_RETRY }\njobs: { x: { tasks: [{ run: noop }] } }", true,
          true },
        { "a wrong duration", "workflow: a\njobs: { x: { tasks: [{ run: noop, timeout: soon }] } }", false, false },
        { "a duration without unit", "workflow: a\njobs: { x: { tasks: [{ run: noop, timeout: 30 }] } }", false,
          false },
        { "seconds where they are allowed",
          "workflow: a\nconfig: { timeout: 30 }\njobs: { x: { tasks: [{ run: noop }] } }", true, true },
        { "too many decimals of money",
          "workflow: a\nconfig: { cost_limit: 0.0000001 }\njobs: { x: { tasks: [{ run: noop }] } }", false, false },
        { "a number out of range", "workflow: a\njobs: { x: { tasks: [{ run: noop, retries: { attempts: 0 } }] } }",
          false, false },
        { "a need without list",
          "workflow: a\njobs: { x: { tasks: [{ run: noop }] }, y: { needs: x, tasks: [{ log: hi }] } }", true, true },
        { "a guard without bound",
          "workflow: a\njobs: { x: { needs: [{ job: x, guard: { when: 'true' } }], tasks: [{ run: noop }] } }", false,
          false },
        { "an alias of a key", "workflowId: a\nnamespace: b\nparameters: []\nsteps: { log: hi }", true, true },
        { "a nested step tree", "workflow: a\nsteps: [{ if: true, then: { sequence: [{ run: noop }] } }]", true, true },
        { "an empty list of tasks", "workflow: a\njobs: { x: { tasks: [] } }", false, false },
        { "a wrong cron", "workflow: a\ntriggers: [{ schedule: hourly }]\njobs: { x: { tasks: [{ run: noop }] } }",
          false, false },
        { "a runbook",
          "name: a\ndescription: b\nartifacts: { x: { source: { type: filesystem_connector, properties: { path: y } } } }",
          true, true },
        { "a runbook without description",
          "name: a\nartifacts: { x: { source: { type: filesystem_connector, properties: { path: y } } } }", false,
          false },
        { "source and inputs",
          "name: a\ndescription: b\nartifacts: { x: { source: { type: filesystem_connector, properties: { path: y } }, inputs: x } }",
          false, false },
        { "only the compiler knows: an unknown runner", "workflow: a\njobs: { x: { tasks: [{ run: nobody }] } }", true,
          false },
        { "only the compiler knows: a cycle",
          "workflow: a\njobs: { x: { needs: y, tasks: [{ run: noop }] }, y: { needs: x, tasks: [{ run: noop }] } }",
          true, false },
    };
    Arena arena;
    Error err;
    const Schema *schema;
    Catalog catalog;
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    REQUIRE_OK(schema_compile(&arena, spec_definition(&arena), &schema, NULL, &err), &err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Compiled compiled;
        Str text = str_of(rows[i].text);
        ROW(rows[i].name);
        EXPECT_INT(schema_accepts(schema, &arena, text, TEXT_YAML), rows[i].by_schema);
        compile(&arena, text, &(CompileOptions){ .file = STR("row"), .catalog = &catalog }, &compiled);
        EXPECT_INT(compiled.is_valid, rows[i].by_compiler);
    }
    arena_deinit(&arena);
}

TEST(the_same_text_compiles_to_the_same_bytes, "")
{
    Arena arenas[2];
    Plan plans[2];
    for (unsigned i = 0; i < 2; i++) {
        Catalog catalog;
        Compiled compiled;
        arena_init(&arenas[i], SIZE_MAX);
        catalog_init(&catalog, &arenas[i]);
        /* The second one is written in another order of keys and with comments: it says the same. */
        Str text = i ? STR("# comment\njobs:\n  x: {tasks: [{timeout: 60s, run: noop}]}\nworkflow: a\n")
                     : STR("workflow: a\njobs: { x: { tasks: [{ run: noop, timeout: 1m }] } }");
        compile(&arenas[i], text, &(CompileOptions){ .file = STR("x"), .catalog = &catalog }, &compiled);
        REQUIRE(compiled.is_valid);
        plans[i] = compiled.plan;
    }
    EXPECT(memcmp(&plans[0].digest, &plans[1].digest, sizeof plans[0].digest) == 0);
    arena_deinit(&arenas[0]);
    arena_deinit(&arenas[1]);
}
