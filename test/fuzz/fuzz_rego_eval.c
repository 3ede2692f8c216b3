/* Reads any bytes as a policy, compiles it, and asks for its package twice under small budgets: the answers are the same,
 * byte for byte, and so is what was spent. What is refused has a reason. The input is a fixed document. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/check.h"
#include "rego/rego.h"
#include "value/json.h"

#define STEP_COUNT_MAX 20000u
#define SIZE_MAX_OF_EVAL (8u << 20)
#define ANSWER_SIZE_MAX (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char input_text[] = "{\"a\": [1, 2, {\"b\": \"c\"}], \"user\": \"alice\", \"n\": 7, \"t\": true, \"o\": {\"x\": [], \"y\": null}}";
static const char data_text[] = "{\"roles\": {\"alice\": [\"admin\", \"dev\"]}, \"t\": {\"base\": 1}}";

static uint64_t answer(const RegoQuery *query, Value input, Buf *out)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoEvalContext context = { .arena = &arena, .budget = { STEP_COUNT_MAX, SIZE_MAX_OF_EVAL, 64 }, .seed = 7 };
    RegoResult result;
    RegoEvalError error;
    Error err;
    uint64_t step_count = 0;
    if (rego_eval(query, input, &context, &result, &error)) {
        CHECK(error.code != REGO_EVAL_OK);
        CHECK(error.error.text[0]);
        rego_eval_error_print(out, &error);
    } else {
        step_count = result.step_count;
        if (json_print(out, rego_result_document(&arena, &result), JSON_COMPACT, &err)) buf_text(out, "(no JSON)");
    }
    arena_deinit(&arena);
    return step_count;
}

static void check_policy(Str text, bool v0)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    Value base, input;
    Error err;
    CHECK(json_parse(&arena, (Str){ data_text, sizeof data_text - 1 }, &base, &err) == OK);
    CHECK(json_parse(&arena, (Str){ input_text, sizeof input_text - 1 }, &input, &err) == OK);
    const RegoModuleText module = { STR("fuzz.rego"), text };
    const RegoCompileOptions options = { .v0 = v0 };
    const RegoQueryOptions capture = { .capture = true };
    RegoPolicy *policy;
    RegoQuery *query;
    if (rego_compile(&module, 1, base, &options, &policy, &errors)) {
        CHECK(errors.count > 0);
    } else {
        CHECK(errors.count == 0);
        CHECK(rego_query_prepare(policy, STR("data"), &capture, &query, &errors) == OK);
        Buf first, second;
        buf_init(&first, ANSWER_SIZE_MAX);
        buf_init(&second, ANSWER_SIZE_MAX);
        uint64_t spent = answer(query, input, &first), again = answer(query, input, &second);
        CHECK(spent == again);
        CHECK(str_is(buf_peek(&first), buf_peek(&second)));
        buf_deinit(&first);
        buf_deinit(&second);
        rego_query_free(query);
        rego_policy_free(policy);
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = { (const char *)data, size };
    check_policy(text, /* v0= */ false);
    check_policy(text, /* v0= */ true);
    return 0;
}
