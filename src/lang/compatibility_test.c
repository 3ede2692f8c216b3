#include "lang/compatibility.h"

#include "harness/test.h"
#include "lang/compile.h"

static bool read_plan(Arena *arena, const char *parts, Plan *out)
{
    Catalog catalog;
    Compiled compiled;
    catalog_init(&catalog, arena);
    Str text = arena_format(arena, "workflow: w\n%s", parts);
    compile(arena, text, &(CompileOptions){ .file = STR("w.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    *out = compiled.plan;
    return EXPECT(compiled.is_valid);
}

#define JOBS "jobs: { a: { tasks: [{ name: t, run: noop }] } }\n"
#define WITH_OUTPUTS(outputs) "jobs: { a: { tasks: [{ name: t, run: noop, " outputs " }] } }\n"
#define PARAMS(list) "params: [" list "]\n" JOBS

TEST(what_callers_and_readers_rely_on_is_compared, "proves: F-118")
{
    static const struct { const char *name, *before, *after, *want; } rows[] = {
        { "the same", PARAMS("{ name: p, type: string }"), PARAMS("{ name: p, type: string }"), "" },
        { "other work, nothing declared", JOBS, "jobs: { b: { tasks: [{ log: x }] } }\n", "" },
        { "a parameter that need not be given", JOBS, PARAMS("{ name: p, type: string, default: x }"), "" },
        { "an optional parameter", JOBS, PARAMS("{ name: p, type: string, required: false }"), "" },
        { "a new one without a default", JOBS, PARAMS("{ name: p, type: string }"),
          "  parameter 'p' is new and has no default\n" },
        { "a removed one", PARAMS("{ name: p, type: string, default: x }"), JOBS, "  parameter 'p' was removed\n" },
        { "a wider type", PARAMS("{ name: p, type: integer }"), PARAMS("{ name: p, type: number }"), "" },
        { "a narrower type", PARAMS("{ name: p, type: number }"), PARAMS("{ name: p, type: integer }"),
          "  parameter 'p' was of type number and is now of type integer\n" },
        { "another type", PARAMS("{ name: p, type: boolean }"), PARAMS("{ name: p, type: string }"),
          "  parameter 'p' was of type boolean and is now of type string\n" },
        { "a default that is gone", PARAMS("{ name: p, type: string, default: x }"), PARAMS("{ name: p, type: string }"),
          "  parameter 'p' could be left out and is now required\n" },
        { "a default that came", PARAMS("{ name: p, type: string }"), PARAMS("{ name: p, type: string, default: x }"), "" },
        { "an added output", WITH_OUTPUTS("outputs: { n: integer }"), WITH_OUTPUTS("outputs: { n: integer, m: string }"), "" },
        { "a removed output", WITH_OUTPUTS("outputs: { n: integer, m: string }"), WITH_OUTPUTS("outputs: { n: integer }"),
          "  output 'm' of step 'a.t' was removed\n" },
        { "a narrower output", WITH_OUTPUTS("outputs: { n: number }"), WITH_OUTPUTS("outputs: { n: integer }"), "" },
        { "a wider output", WITH_OUTPUTS("outputs: { n: integer }"), WITH_OUTPUTS("outputs: { n: number }"),
          "  output 'n' of step 'a.t' was of type integer and is now of type number\n" },
        { "a removed step", WITH_OUTPUTS("outputs: { n: integer }"), "jobs: { b: { tasks: [{ log: x }] } }\n",
          "  step 'a.t' was removed, and with it the outputs that it declares\n" },
        { "the same schema", WITH_OUTPUTS("output_schema: { type: object }"), WITH_OUTPUTS("output_schema: { type: object }"),
          "" },
        { "another schema", WITH_OUTPUTS("output_schema: { type: object }"), WITH_OUTPUTS("output_schema: { type: array }"),
          "  step 'a.t' declares another schema for its output\n" },
        { "no schema any more", WITH_OUTPUTS("output_schema: { type: object }"), JOBS,
          "  step 'a.t' no longer declares the schema of its output\n" },
        { "both sides, parameters first", "params: [{ name: p, type: string }]\n" WITH_OUTPUTS("outputs: { n: integer }"), JOBS,
          "  parameter 'p' was removed\n  output 'n' of step 'a.t' was removed\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        Plan before, after;
        Compatibility result;
        char storage[512];
        Buf text = buf_on(storage, sizeof storage);
        ROW(rows[i].name);
        arena_init(&arena, SIZE_MAX);
        if (read_plan(&arena, rows[i].before, &before) && read_plan(&arena, rows[i].after, &after)) {
            compatibility_compare(&arena, &before, &after, &result);
            compatibility_print(&result, &text);
            EXPECT_STR(buf_peek(&text), str_of(rows[i].want));
            EXPECT_INT(result.total == 0, rows[i].want[0] == '\0');
        }
        arena_deinit(&arena);
    }
}

TEST(what_breaks_is_named_by_a_json_pointer, "proves: F-118")
{
    static const struct { const char *name, *before, *after, *want; } rows[] = {
        { "a removed parameter", PARAMS("{ name: p, type: string }"), JOBS, "/parameters/p" },
        { "a new parameter", JOBS, PARAMS("{ name: p, type: string }"), "/parameters/p" },
        { "an output", WITH_OUTPUTS("outputs: { n: integer, m: string }"), WITH_OUTPUTS("outputs: { m: string }"), "/steps/a.t/outputs/n" },
        { "a step", WITH_OUTPUTS("outputs: { n: integer }"), "jobs: { b: { tasks: [{ log: x }] } }\n", "/steps/a.t" },
        { "a schema", WITH_OUTPUTS("output_schema: { type: object }"), JOBS, "/steps/a.t/output_schema" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena;
        Plan before, after;
        Compatibility result;
        ROW(rows[i].name);
        arena_init(&arena, SIZE_MAX);
        if (read_plan(&arena, rows[i].before, &before) && read_plan(&arena, rows[i].after, &after)) {
            compatibility_compare(&arena, &before, &after, &result);
            if (EXPECT_INT(result.count, 1)) EXPECT_STR(result.findings[0].pointer, str_of(rows[i].want));
        }
        arena_deinit(&arena);
    }
}

TEST(what_is_not_told_is_counted, "")
{
    Arena arena;
    Plan before, after;
    Compatibility result;
    Buf params, text;
    arena_init(&arena, SIZE_MAX);
    buf_init(&params, SIZE_MAX);
    buf_init(&text, SIZE_MAX);
    buf_text(&params, "params:\n");
    for (unsigned i = 0; i < COMPATIBILITY_COUNT_MAX + 7; i++) buf_format(&params, "  - { name: p%u, type: string }\n", i);
    buf_text(&params, JOBS);
    buf_char(&params, '\0');
    if (read_plan(&arena, buf_peek(&params).ptr, &before) && read_plan(&arena, JOBS, &after)) {
        compatibility_compare(&arena, &before, &after, &result);
        EXPECT_INT(result.total, COMPATIBILITY_COUNT_MAX + 7);
        EXPECT_INT(result.count, COMPATIBILITY_COUNT_MAX);
        compatibility_print(&result, &text);
        Str printed = buf_peek(&text);
        EXPECT_STR(str_slice(printed, printed.len - 17, printed.len), STR("  ... and 7 more\n"));
    }
    buf_deinit(&params);
    buf_deinit(&text);
    arena_deinit(&arena);
}
