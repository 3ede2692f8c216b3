#include "cli/problem.h"

#include "base/check.h"
#include "base/limits.h"
#include "value/json.h"

static const struct { const char *error, *type, *title; int status; } problems[PROBLEM_KIND_COUNT] = {
    [PROBLEM_WORKFLOW_NOT_FOUND] = { "WorkflowNotFoundException", "workflow-not-found", "There is no such workflow", 404 },
    [PROBLEM_REVISION_NOT_FOUND] = { "WorkflowRevisionNotFoundException", "workflow-revision-not-found",
                                     "The workflow has no such revision", 404 },
    [PROBLEM_REVISION_NOT_ACTIVE] = { "RevisionNotActiveException", "revision-not-active", "The revision is not active", 409 },
    [PROBLEM_PARAMETERS] = { "ParameterValidationException", "parameter-validation", "The parameters are not valid", 400 },
    [PROBLEM_KEY] = { "IdempotencyKeyConflict", "idempotency-key-conflict", "The key belongs to a run with other parameters",
                      409 },
    [PROBLEM_INVALID] = { "Invalid", "invalid", "The input is wrong", 400 },
    [PROBLEM_DENIED] = { "Denied", "denied", "It is not allowed", 403 },
    [PROBLEM_NOT_FOUND] = { "NotFound", "not-found", "There is no such thing", 404 },
    [PROBLEM_CONFLICT] = { "Conflict", "conflict", "The state does not permit it", 409 },
    [PROBLEM_LIMIT] = { "LimitExceeded", "limit-exceeded", "A limit was crossed", 422 },
    [PROBLEM_UNAVAILABLE] = { "Unavailable", "unavailable", "Something that is needed is not there", 503 },
    [PROBLEM_CORRUPT] = { "Corrupt", "corrupt", "What is stored contradicts itself", 500 },
};

ProblemKind problem_of(Status status)
{
    static const ProblemKind kinds[STATUS_COUNT] = {
        [ERR_INVALID] = PROBLEM_INVALID,   [ERR_DENIED] = PROBLEM_DENIED, [ERR_NOT_FOUND] = PROBLEM_NOT_FOUND,
        [ERR_CONFLICT] = PROBLEM_CONFLICT, [ERR_LIMIT] = PROBLEM_LIMIT,   [ERR_UNAVAILABLE] = PROBLEM_UNAVAILABLE,
        [ERR_CORRUPT] = PROBLEM_CORRUPT,
    };
    CHECK(status != OK);
    return kinds[status];
}

void problem_print(ProblemKind kind, const Error *err)
{
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    buf_format(&out, "{\"error\":\"%s\",\"type\":\"https://maestro/errors/%s\",\"title\":\"%s\",\"status\":%d,\"detail\":",
               problems[kind].error, problems[kind].type, problems[kind].title, problems[kind].status);
    json_print_string(&out, str_of(err->text));
    buf_text(&out, "}\n");
    print_out(&out);
    buf_deinit(&out);
}

ExitCode problem_report(ProblemKind kind, const Error *err)
{
    if (print_wants_json()) problem_print(kind, err);
    print_note("maestro: %s\n", err->text);
    return err->status == ERR_CONFLICT ? EXIT_CODE_RUN_FAILED : exit_code_of(err->status);
}
