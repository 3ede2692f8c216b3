/* problem.h - refusals of commands as programs read them: the errors that the documents name, and every other one by its kind.
 *
 * People read the text on standard error. With --json a program reads one line on standard output beside it: the members of
 * problem details (api/problem.h), and `error`, the name that the documents give it:
 *
 *   {"error":"WorkflowNotFoundException","type":"https://maestro/errors/workflow-not-found","title":"...","status":404,
 *    "detail":"..."}
 *
 * Owns:   nothing.     Fails: never.     Thread: the main one.
 */
#ifndef CLI_PROBLEM_H
#define CLI_PROBLEM_H

#include "api/problem.h"
#include "cli/command.h"

void        problem_print(ProblemKind kind, const Error *err);      /* the object, to standard output */
/* Both, by the name that the documents give it. The exit code of the status; 1 where a state does not permit it. */
ExitCode    problem_report(ProblemKind kind, const Error *err);

#endif
