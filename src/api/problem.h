/* problem.h - errors as programs read them: problem details (RFC 9457), one table for server and commands.
 *
 *   {"type":"https://maestro/errors/workflow-not-found","title":"...","status":404,"detail":"...","instance":"/api/...",
 *    "errors":[{"pointer":"/parameters/amount","detail":"..."}]}
 *
 * What the documents name has a row of its own; everything else one by its Status. Each type has a page in docs/errors, which
 * is part of the program: GET /errors/{type}.
 *
 * Owns:   nothing; rows are constant.     Fails: never.     Thread: any.
 */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H

#include "base/buf.h"
#include "base/status.h"
#include "value/value.h"

typedef enum ProblemKind {
#define PROBLEM(NAME, error, type, title, status) PROBLEM_##NAME,
#include "api/problems.def"
    PROBLEM_KIND_COUNT
} ProblemKind;

#define PROBLEM_TYPE_PREFIX "https://maestro/errors/"

typedef struct ProblemInfo {
    const char *error;              /* the name that the documents give it: "WorkflowNotFoundException" */
    const char *type;               /* the last part of its type: "workflow-not-found" */
    const char *title;
    unsigned status;                /* of HTTP */
} ProblemInfo;

const ProblemInfo *problem_info(ProblemKind kind);
ProblemKind problem_of(Status status);                          /* never of OK */
bool        problem_find(Str type, ProblemKind *out_kind);      /* by the last part of its type */
Str         problem_page(ProblemKind kind);                     /* its page: Markdown */

/* One field of a body that is wrong. */
typedef struct ProblemField { Str pointer, detail; uint32_t line, column; } ProblemField;      /* line: of a text that was sent; 0: none */

/* The object, as JSON. `instance` and the fields may be empty. */
void problem_print_json(Buf *out, ProblemKind kind, Str detail, Str instance, const ProblemField *fields, uint32_t field_count);

#endif
