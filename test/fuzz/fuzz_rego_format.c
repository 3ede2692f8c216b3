/* Formats any bytes that are a module of v1 or v0. What comes out must be a module again, with every comment, and formatting
 * it must change nothing. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "rego/format.h"
#include "rego/parser.h"

#define FORMATTED_SIZE_MAX (64u << 20)

static void check_module(Str text, bool v0)
{
    const RegoParseOptions options = { .file = STR("fuzz.rego"), .v0 = v0 };
    Arena arena;
    RegoErrors errors;
    RegoModule *module, *again;
    Buf first, second;
    arena_init(&arena, SIZE_MAX);
    rego_errors_init(&errors, &arena);
    buf_init(&first, FORMATTED_SIZE_MAX);
    buf_init(&second, FORMATTED_SIZE_MAX);
    if (rego_parse_module(&arena, text, &options, &module, &errors) == OK) {
        rego_format_module(&arena, module, &first);
        Status status = rego_parse_module(&arena, buf_peek(&first), &options, &again, &errors);
        FUZZ_HOLDS(status == OK || status == ERR_LIMIT || buf_overflowed(&first));
        if (status == OK) {
            rego_format_module(&arena, again, &second);
            FUZZ_HOLDS(again->comment_count == module->comment_count);
            FUZZ_HOLDS(again->rule_count == module->rule_count);
            FUZZ_HOLDS(str_is(buf_peek(&first), buf_peek(&second)));
        }
    }
    buf_deinit(&first);
    buf_deinit(&second);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = { (const char *)data, size };
    check_module(text, /* v0= */ false);
    check_module(text, /* v0= */ true);
    return 0;
}
