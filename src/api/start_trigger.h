/* start_trigger.h - the start triggers of a definition: which one a request means, who sends it, and whether it is let in.
 *
 * POST /maestro/hooks/{tenant}/{workflow}/{trigger}: the last part is the key of a webhook, the name of a signal trigger, `git_push` or
 * `manual`; of two that fit, the first of these. A request is authenticated as its trigger declares before anything of it is read;
 * only who is authenticated uses up its rate. Of a code push the body says which branch of which repository: the first trigger that
 * fits counts, and a push that fits none starts nothing.
 *
 *   {"ref":"refs/heads/main","repository":{"name":"shop","full_name":"acme/shop"},"commits":[{"verification":{"verified":true}}]}
 *
 * `triggers` are those of a revision (view/revision_row.h): whoever is not let in makes nobody read a plan.
 *
 * Owns:   nothing; texts live in the call's arena or the triggers.
 * Fails:  as trigger_auth.h; ERR_NOT_FOUND where there is no such trigger; ERR_LIMIT where its rate is used up: call->retry_s says for
 *         how long.     Thread: the server's, where nothing else is said.
 */
#ifndef API_START_TRIGGER_H
#define API_START_TRIGGER_H

#include "api/api.h"

typedef struct StartTrigger {
    Value settings;                 /* auth, rate_limit, replay_window_ms, debounce_ms */
    Str source;                     /* "webhook:order", "signal:restock", "push", "manual" */
    bool is_push;
} StartTrigger;

MUST_USE Status start_trigger_find(Call *call, Value triggers, Str name, StartTrigger *out, Error *err);
/* The manual trigger, where one is declared. */
bool start_trigger_manual(Value triggers, StartTrigger *out);
/* *out_proof says who sent it. Of a push: whom any of the triggers for pushes lets in; *trigger is the first of them before, and that one after. Any
 * thread, of a copy. */
MUST_USE Status start_trigger_prove(Call *call, Str tenant, Str workflow, Value triggers, const TriggerRequest *request, StartTrigger *trigger,
                                    TriggerProof *out_proof, Error *err);
/* Lets in who was proved, once, and as often as the trigger declares. */
MUST_USE Status start_trigger_admit(Call *call, Str tenant, Str workflow, const StartTrigger *trigger, const TriggerProof *proof, Error *err);
/* Whether a push is one that some trigger waits for, authenticated alike; then *trigger is that one. *out_why: why not. */
bool start_trigger_fits(Call *call, Value triggers, Value push, StartTrigger *trigger, Str *out_why);

#endif
