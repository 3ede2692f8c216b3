/* Reads any bytes as a module of v1 and of v0 and as a condition. What is accepted must be printed to text that reads as
 * the same tree again. */
#include <stdint.h>
#include <stdlib.h>

#include "base/check.h"
#include "rego/parser.h"
#include "rego/print.h"

#define TREE_TEXT_SIZE_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_query(Buf *buf, const RegoBody *body)
{
    buf_clear(buf);
    rego_print_body(buf, body, REGO_PRINT_SOURCE);
}

static void check_query(Str text)
{
    const RegoParseOptions options = { .keywords = REGO_KEYWORDS_CONDITION };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    RegoBody body, again;
    Buf first, second;
    buf_init(&first, TREE_TEXT_SIZE_MAX);
    buf_init(&second, TREE_TEXT_SIZE_MAX);
    Status status = rego_parse_query(&arena, text, &options, &body, &errors);
    if (status) {
        CHECK(errors.count > 0);
    } else {
        print_query(&first, &body);
        status = rego_parse_query(&arena, buf_peek(&first), &options, &again, &errors);
        CHECK(status == OK || status == ERR_LIMIT);
        if (status == OK) {
            print_query(&second, &again);
            CHECK(str_is(buf_peek(&first), buf_peek(&second)));
        }
    }
    buf_deinit(&first);
    buf_deinit(&second);
    arena_deinit(&arena);
}

static void check_module(Str text, bool v0)
{
    const RegoParseOptions options = { .file = STR("fuzz.rego"), .v0 = v0 };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    RegoModule *module, *again;
    Buf first, second;
    buf_init(&first, TREE_TEXT_SIZE_MAX);
    buf_init(&second, TREE_TEXT_SIZE_MAX);
    Status status = rego_parse_module(&arena, text, &options, &module, &errors);
    if (status) {
        CHECK(errors.count > 0);
    } else {
        rego_print_module(&first, module, REGO_PRINT_SOURCE);
        status = rego_parse_module(&arena, buf_peek(&first), &options, &again, &errors);
        CHECK(status == OK || status == ERR_LIMIT);
        if (status == OK) {
            rego_print_module(&second, again, REGO_PRINT_SOURCE);
            CHECK(str_is(buf_peek(&first), buf_peek(&second)));
        }
    }
    buf_deinit(&first);
    buf_deinit(&second);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = { (const char *)data, size };
    check_query(text);
    check_module(text, /* v0= */ false);
    check_module(text, /* v0= */ true);
    return 0;
}
