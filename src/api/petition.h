/* petition.h - a request to the engine as one JSON object: what sockets, the server and commands send alike.
 *
 *   {"verb":"pause","run":"...","id":"...","actor":"user:ana","reason":"..."}      verb: start pause resume cancel signal
 *                                                                            trigger resolve retry-from compensate ...
 *                                                                            activate deactivate store-revision remove-revision
 *                                                                            set-secret remove-secret
 *                                                                            override-schedule remove-override review-policy
 *
 * There is one way from such an object to the engine, so that whatever a person may ask of a run is the same by whichever door it
 * comes. A start names its plan by `digest` where it is stored, else it brings it as `plan`, or read already, with the definition as `text`.
 * What makes a revision the active one says in `against` which was active when it was compared, and a change of one in `expected` how that
 * was seen: where that is so no more, ERR_CONFLICT.
 * With `id` a request that comes again is answered as the first, where `asked`, a digest of what its sender wrote, is the same; without `asked`
 * where it means the same.
 * With `tenant` a run of another one is not found. A signal with `bridge` comes from that other tenant, which was permitted before.
 *
 * Owns:   nothing: the engine copies what it is asked, and a plan that was read becomes its own, whatever comes of the request.
 * Fails:  ERR_INVALID with the member that is wrong, ERR_LIMIT where the engine takes nothing more, ERR_UNAVAILABLE where it is about
 *         to end; then nobody is answered. Else the reply comes when what it says is durable.
 * Thread: the engine's.
 */
#ifndef API_PETITION_H
#define API_PETITION_H

#include "api/problem.h"
#include "engine/engine.h"

/* Whether its texts are within TEXT_SIZE_MAX: they are written into the record itself. Else ERR_LIMIT; nothing is full by that. */
MUST_USE Status petition_check(Value request, Error *err);
/* Checks it, too. */
MUST_USE Status petition_send(Engine *engine, Value request, ReplyTo reply, void *context, Error *err);

/* The same of a start whose plan was read before; NULL: it says itself which it is. */
MUST_USE Status petition_send_plan(Engine *engine, Value request, EnginePlan *plan, ReplyTo reply, void *context, Error *err);

/* What kind of refusal the reply to one is. */
ProblemKind petition_problem(const EngineReply *reply);

/* The words for what a request about a failed run says, ended by NULL: in the order of UnknownEffect and CancelUndo. */
extern const char *const petition_unknown_words[], *const petition_undo_words[];

#endif
