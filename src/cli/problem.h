/* problem.h - refusals that programs tell apart: the errors that the documents name, in words for people and as JSON.
 *
 * People read the text on standard error. With --json a program reads one line on standard output beside it: the members of
 * problem details (RFC 9457), and `error`, the name that the documents give it:
 *
 *   {"error":"WorkflowNotFoundException","type":"https://maestro/errors/workflow-not-found","title":"...","status":404,"detail":"..."}
 *
 * Owns:   nothing.     Fails: never.     Thread: the main one.
 */
#ifndef CLI_PROBLEM_H
#define CLI_PROBLEM_H

#include "base/status.h"
#include "cli/command.h"

typedef enum ProblemKind {
    PROBLEM_WORKFLOW_NOT_FOUND,
    PROBLEM_REVISION_NOT_FOUND,
    PROBLEM_REVISION_NOT_ACTIVE,
    PROBLEM_PARAMETERS,
    PROBLEM_KIND_COUNT
} ProblemKind;

/* The exit code of the status; 1 where a state does not permit it. */
ExitCode problem_report(const Args *args, ProblemKind kind, const Error *err);

#endif
