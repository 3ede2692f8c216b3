/* Asks a policy from another program: compile once, prepare once, ask as often as needed. */
#include <stdio.h>

#include "rego/rego.h"
#include "value/json.h"

static const char module[] =
    "package deploy\n"
    "\n"
    "default allow := false\n"
    "\n"
    "allow if input.user in data.admins\n";

int main(void)
{
    Arena arena;                                    /* of what is loaded */
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    Error err;
    Value data, input;
    if (json_parse(&arena, STR("{\"admins\": [\"ann\", \"bob\"]}"), &data, &err)) return 1;
    if (json_parse(&arena, STR("{\"user\": \"ann\"}"), &input, &err)) return 1;

    RegoPolicy *policy = NULL;
    RegoQuery *query = NULL;
    const RegoModuleText text = { .file = STR("deploy.rego"), .text = str_of(module) };
    const RegoQueryOptions options = { .capture = true };
    Status status = rego_compile(&text, 1, data, /* options= */ NULL, &policy, &errors);
    if (!status) status = rego_query_prepare(policy, STR("data.deploy.allow"), &options, &query, &errors);
    for (size_t i = 0; i < errors.count; i++) fprintf(stderr, "%.*s\n", STR_ARG(errors.items[i].text));

    Arena scratch;                                  /* of one evaluation; policies and queries are shared by threads */
    arena_init(&scratch, SIZE_MAX);
    const RegoEvalContext context = { .arena = &scratch, .budget = { .step_count_max = 100000, .size_max = 8u << 20 } };
    RegoResult result;
    RegoEvalError error;
    bool allowed = false;
    if (!status) status = rego_eval(query, input, &context, &result, &error);
    if (!status) allowed = value_is_true(rego_result_value(&result));
    puts(allowed ? "allowed" : "refused");
    arena_deinit(&scratch);

    rego_query_free(query);
    rego_policy_free(policy);
    arena_deinit(&arena);
    return allowed ? 0 : 1;
}
