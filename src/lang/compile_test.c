#include "lang/compile.h"

#include "base/limits.h"
#include "harness/test.h"

static const Diagnostics *compile_within(Arena *arena, Str text, const CompileBounds *bounds, Compiled *out)
{
    Catalog *catalog = ARENA_NEW(arena, Catalog);
    catalog_init(catalog, arena);
    compile(arena, text, &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = catalog, .bounds = bounds }, out);
    return &out->diagnostics;
}

/* Of each kind of definition, since each writes its steps itself. */
TEST(a_definition_that_takes_more_than_it_may_is_refused_by_name, "")
{
    static const struct { const char *name, *text; } rows[] = {
        { "a workflow", "workflow: w\njobs:\n  a: { tasks: [{ name: one, run: noop }, { name: two, run: noop }] }\n" },
        { "a step tree", "workflow: w\nsteps:\n  - { name: one, run: noop }\n  - { name: two, run: noop }\n" },
    };
    static const CompileBounds small = { .node_count_max = 100, .size_max = 1, .node_name = "NODES", .size_name = "BYTES" };
    static const CompileBounds few = { .node_count_max = 5, .size_max = SIZE_MAX, .node_name = "NODES", .size_name = "BYTES" };
    static const CompileBounds enough = { .node_count_max = 100, .size_max = 1u << 20, .node_name = "NODES", .size_name = "BYTES" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Arena arena;
        Compiled compiled;
        arena_init(&arena, SIZE_MAX);
        const Diagnostics *found = compile_within(&arena, str_of(rows[i].text), &small, &compiled);
        EXPECT(!compiled.is_valid);
        EXPECT_INT(found->error_count, 1);
        EXPECT_STR(found->items[0].message, STR("to compile the definition takes more than BYTES (1) bytes of memory"));
        found = compile_within(&arena, str_of(rows[i].text), &few, &compiled);
        EXPECT(!compiled.is_valid);
        EXPECT_STR(found->items[0].message, STR("the text has more than NODES (5) nodes, aliases counted in full"));
        (void)compile_within(&arena, str_of(rows[i].text), &enough, &compiled);
        EXPECT(compiled.is_valid);
        arena_deinit(&arena);
    }
}

TEST(mistakes_that_are_only_counted_take_no_memory, "")
{
    Arena arena;
    Buf text;
    Compiled compiled;
    size_t sizes[2];
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t count = DIAGNOSTIC_COUNT_MAX * (round ? 20 : 1);
        arena_init(&arena, SIZE_MAX);
        buf_init(&text, SIZE_MAX);
        buf_text(&text, "workflow: w\njobs: { a: { tasks: [");
        for (uint32_t i = 0; i < count; i++) buf_text(&text, i ? ",1" : "1");
        buf_text(&text, "] } }\n");
        const Diagnostics *found = compile_within(&arena, buf_peek(&text), NULL, &compiled);
        EXPECT(found->error_count >= count);
        EXPECT_INT(found->count, DIAGNOSTIC_COUNT_MAX);
        sizes[round] = arena.size;
        buf_deinit(&text);
        arena_deinit(&arena);
    }
    EXPECT(sizes[1] < sizes[0] + 20 * DIAGNOSTIC_COUNT_MAX * 3 * sizeof(Node));
}
