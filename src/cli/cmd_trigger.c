#include "cli/guardrails.h"
#include "cli/order.h"
#include "cli/trigger_order.h"

static const Option options[] = {
    PAYLOAD_OPTION,
    { "deny", 0, NULL, NULL, "A denial: the run fails." },
    ACTOR_OPTION,
    REASON_OPTION,
    ID_OPTION,
    STORE_OPTION,
    POLICY_OPTION,
    { "json", 0, NULL, NULL, "Prints the result as JSON." },
    { NULL },
};

static ExitCode run(const Args *args)
{
    TriggerWish wish = { .key = str_of(args->operands[1]), .is_denial = args_flag(args, "deny") };
    ExitCode code = guardrails_refuse_client(args);
    if (!code) code = trigger_payload(args, &wish.payload);
    return code ? code : trigger_order(args, &wish);
}

const Verb command_trigger = {
    .name = "trigger", .operands = "RUN KEY", .operand_count_min = 2, .operand_count_max = 2,
    .summary = "Sends a resume trigger to a run that pauses for it.",
    .doc = "The run goes on, and the payload is an output under the trigger's name. Where its pause is still ahead, the\n"
           "trigger is kept for it. A payload that does not fit payload_schema is refused and recorded. One that does not meet\n"
           "resume_when is recorded, and the run stays paused. 'maestro approve' finds the key by itself.\n"
           "\n"
           "The process that owns the store is told; where none does, the answer is kept in the store, and 'maestro resume'\n"
           "carries the run on. Who has access to the store needs no other authentication.\n"
           "\n"
           "RUN is the id of a run, its beginning, 'last', or the file of a definition for its newest run. Exit codes: 1 the\n"
           "trigger is no longer awaited, or its condition does not hold; 65 the payload does not fit; 69 there is no such\n"
           "trigger.",
    .examples = "maestro trigger last manager-approval --payload '{\"approved\": true}'\n"
                "maestro trigger last manager-approval --payload @decision.json --actor ana@example.com\n"
                "maestro trigger last manager-approval --deny --reason \"too expensive\"",
    .options = options, .run = run,
};
