/* Definitions: whatever the text is, compiling ends, and what compiles is a plan that reads back as itself. A text that begins
 * with a brace is read as JSON, any other as YAML. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "lang/compile.h"
#include "value/json.h"

static void check_plan(const Plan *plan)
{
    Arena arena;
    Buf text;
    Error err;
    Value document;
    Plan again;
    arena_init(&arena, SIZE_MAX);
    buf_init(&text, SIZE_MAX);
    FUZZ_HOLDS(canonical_print(&text, plan->document, &err) == OK);
    FUZZ_HOLDS(json_parse(&arena, buf_peek(&text), &document, &err) == OK);
    FUZZ_HOLDS(plan_read(&arena, document, &again, &err) == OK);
    FUZZ_HOLDS(memcmp(&again.digest, &plan->digest, sizeof again.digest) == 0);
    buf_deinit(&text);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536) return 0;
    Arena arena;
    Catalog catalog;
    Compiled compiled;
    Buf printed;
    arena_init(&arena, SIZE_MAX);
    catalog_init(&catalog, &arena);
    Str text = { (const char *)data, size };
    CompileOptions options = { .file = STR("fuzz"), .format = data[0] == '{' ? TEXT_JSON : TEXT_YAML, .catalog = &catalog };
    compile(&arena, text, &options, &compiled);
    FUZZ_HOLDS(compiled.is_valid == (compiled.diagnostics.error_count == 0));
    if (compiled.is_valid && !compiled.is_config) check_plan(&compiled.plan);
    buf_init(&printed, SIZE_MAX);
    diagnostics_print(&compiled.diagnostics, true, &printed);
    buf_deinit(&printed);
    arena_deinit(&arena);
    return 0;
}
