/* trigger_order.h - a resume trigger sent from the command line, and what came of it told.
 *
 * 'trigger' and 'approve' say the same in two ways: one names the key, the other finds it. What came of it (the run goes on, the
 * trigger is kept for a pause ahead, its condition does not hold) the answer of the engine does not say; the record of the
 * command does, which is durable by then.
 *
 * Owns:   everything lives in the arena of the arguments.
 * Fails:  with the exit code after printing the reason: 65 where the payload does not fit, 69 where there is no such trigger, 1
 *         where it is no longer awaited, or its condition does not hold.     Thread: the main one.
 */
#ifndef CLI_TRIGGER_ORDER_H
#define CLI_TRIGGER_ORDER_H

#include "cli/command.h"
#include "core/terms.h"
#include "value/value.h"

typedef struct TriggerWish {
    Str key;
    Value payload;
    bool is_denial;
    Str reason;                     /* where it was asked for; empty: --reason says it */
} TriggerWish;

/* --payload: JSON, @FILE, or - for standard input; null where it was not given. */
ExitCode trigger_payload(const Args *args, Value *out);
ExitCode trigger_order(const Args *args, const TriggerWish *wish);

/* The pause of that trigger, the first of a plan; NULL where it has none. */
const PauseTerms *trigger_terms(const PlanTerms *terms, Str key);

#define PAYLOAD_OPTION { "payload", 0, "JSON", NULL, "What it brings: JSON, @FILE, or - for standard input." }
#define ACTOR_OPTION { "actor", 0, "WHO", NULL, "On whose behalf; it is recorded beside the user who sends it." }

#endif
