#include "cli/problem.h"

#include "base/limits.h"
#include "cli/errand.h"
#include "value/json.h"

static const struct { const char *error, *type, *title; int status; } problems[PROBLEM_KIND_COUNT] = {
    [PROBLEM_WORKFLOW_NOT_FOUND] = { "WorkflowNotFoundException", "workflow-not-found", "There is no such workflow", 404 },
    [PROBLEM_REVISION_NOT_FOUND] = { "WorkflowRevisionNotFoundException", "workflow-revision-not-found",
                                     "The workflow has no such revision", 404 },
    [PROBLEM_REVISION_NOT_ACTIVE] = { "RevisionNotActiveException", "revision-not-active", "The revision is not active", 409 },
    [PROBLEM_PARAMETERS] = { "ParameterValidationException", "parameter-validation", "The parameters are not valid", 400 },
};

ExitCode problem_report(const Args *args, ProblemKind kind, const Error *err)
{
    if (args_flag(args, "json")) {
        Buf out;
        buf_init(&out, JSON_SIZE_MAX);
        buf_format(&out, "{\"error\":\"%s\",\"type\":\"https://maestro/errors/%s\",\"title\":\"%s\",\"status\":%d,\"detail\":",
                   problems[kind].error, problems[kind].type, problems[kind].title, problems[kind].status);
        json_print_string(&out, str_of(err->text));
        buf_text(&out, "}\n");
        print_out(&out);
        buf_deinit(&out);
    }
    return errand_refused(err);
}
