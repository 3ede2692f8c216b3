/* deed.h - a request that is about no run (which revision is active, a secret), given to whoever owns the store.
 *
 * The owner is asked over its socket. Where nobody owns the store, this process does for a moment: it commits what was asked and
 * carries out no step.
 *
 *   Deed deed = { .args = args, .errand = errand_begin(args, "activate"), .send = send, .what = &revision };
 *   revision.reply = deed_reply, revision.context = &deed;
 *   errand_add(&deed.errand, ...)                       the same request, for the owner
 *   ExitCode code = deed_do(&deed);                     EXIT_CODE_OK: there is an answer, deed.status
 *
 * Owns:   nothing that outlives the call.
 * Fails:  with the exit code after printing the reason; what is refused is in `status` and `error`.
 * Thread: the main one; no other may exist before.
 */
#ifndef CLI_DEED_H
#define CLI_DEED_H

#include "cli/errand.h"
#include "cli/problem.h"
#include "cli/workplace.h"

typedef struct Deed {
    const Args *args;
    Errand errand;
    bool (*send)(Engine *engine, const void *what);     /* false: the engine takes nothing now */
    const void *what;
    bool is_answered, is_noop;
    bool was_asked;                                     /* the same request was answered before: this is the answer of then */
    Status status;
    Error error;
    ProblemKind problem;                                /* what kind of refusal it is */
} Deed;

void     deed_reply(void *deed, const EngineReply *reply);
ExitCode deed_do(Deed *deed);

#endif
