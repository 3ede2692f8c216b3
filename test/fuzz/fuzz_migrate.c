/* Old runbooks: whatever the text is, migrating ends; what came out is YAML that reads back, byte by byte the same for the
 * same text; and a migration without errors fits the tables of the new format. A text that begins with a brace is read as
 * JSON, any other as YAML. */
#include "fuzz.h"

#include <string.h>

#include "base/limits.h"
#include "lang/compile.h"
#include "lang/migrate.h"
#include "lang/production.h"
#include "lang/shapes.h"

/* What a file may hold and its migration may not: one more level of nesting, a U+0000 that only JSON can write. */
static bool is_beyond(const Error *err)
{
    return strstr(err->text, "DEFINITION_DEPTH_MAX") || strstr(err->text, "U+0000");
}

static void migrate_once(Arena *arena, const Node *root, Str text, Str file, Buf *yaml, uint32_t *out_error_count)
{
    Diagnostics diagnostics;
    MigrateNotes notes;
    Buf printed;
    diagnostics_init(&diagnostics, arena, file, text);
    migrate(arena, root, &diagnostics, yaml, &notes);
    FUZZ_HOLDS(diagnostics.error_count || yaml->len);
    *out_error_count = diagnostics.error_count;
    buf_init(&printed, SIZE_MAX);
    diagnostics_print(&diagnostics, false, &printed);
    buf_deinit(&printed);
}

static void check_result(Arena *arena, Str yaml, uint32_t error_count)
{
    Node *root;
    Error err;
    Diagnostics shape;
    Status status = node_read(arena, yaml, TEXT_YAML, &root, &err);
    FUZZ_HOLDS(status == OK || is_beyond(&err));
    if (status) return;
    diagnostics_init(&shape, arena, STR("new.yaml"), yaml);
    shape_check(&shape, root, &type_runbook);
    FUZZ_HOLDS(error_count || shape.error_count == 0);

    Catalog catalog;
    Compiled compiled;
    ProductionReport report;
    catalog_init(&catalog, arena);
    compile(arena, yaml, &(CompileOptions){ STR("new.yaml"), TEXT_YAML, &catalog }, &compiled);
    FUZZ_HOLDS(!error_count || !compiled.is_valid);
    production_check(arena, &compiled, &catalog, /* facts= */ NULL, &report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536) return 0;
    Arena arena;
    Node *root;
    Error err;
    arena_init(&arena, SIZE_MAX);
    Str text = { (const char *)data, size };
    bool is_json = data[0] == '{';
    if (node_read(&arena, text, is_json ? TEXT_JSON : TEXT_YAML, &root, &err) == OK) {
        Str file = is_json ? STR("old.json") : STR("old.yaml");
        Buf one, two;
        uint32_t errors, errors_again;
        buf_init(&one, DEFINITION_SIZE_MAX);
        buf_init(&two, DEFINITION_SIZE_MAX);
        migrate_once(&arena, root, text, file, &one, &errors);
        migrate_once(&arena, root, text, file, &two, &errors_again);
        FUZZ_HOLDS(str_is(buf_peek(&one), buf_peek(&two)) && errors == errors_again);
        if (one.len) check_result(&arena, buf_peek(&one), errors);
        buf_deinit(&one);
        buf_deinit(&two);
    }
    arena_deinit(&arena);
    return 0;
}
