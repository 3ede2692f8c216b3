#include "core/rationale.h"

#include <inttypes.h>

#include "base/limits.h"
#include "core/event.h"

/* Those that need no more words than their kind. */
static const char *const kind_reasons[COMMAND_KIND_COUNT] = {
    [COMMAND_START] = "a start was asked for",
    [COMMAND_COST] = "the attempt told its cost",
    [COMMAND_ORPHANED] = "the holder of the attempt is gone",
    [COMMAND_SPENT] = "its tenant has nothing left",
    [COMMAND_RECOVER] = "the log has a new owner",
    [COMMAND_RELEASE] = "the owner of the log ends",
    [COMMAND_PAUSE] = "a pause was asked for",
    [COMMAND_RESUME] = "to go on was asked for",
    [COMMAND_CANCEL] = "to cancel it was asked for",
    [COMMAND_RETRY_FROM] = "to run it from a step was asked for",
    [COMMAND_COMPENSATE] = "to undo it was asked for",
    [COMMAND_RETRY_COMPENSATION] = "to try the compensation again was asked for",
    [COMMAND_SKIP_COMPENSATION] = "to skip the compensation was asked for",
    [COMMAND_REBIND] = "to place it elsewhere was asked for",
};

/* Which time it was that had come. */
static const char *const timer_reasons[EVENT_KIND_END] = {
    [EVENT_STEP_READY] = "its retry was due",
    [EVENT_RUN_REQUEUED] = "its automatic retry was due",
    [EVENT_RUN_FAILING] = "its deadline has passed",
    [EVENT_STEP_OVERDUE] = "its timeout has passed",
    [EVENT_LEASE_EXPIRED] = "its lease ran out",
    [EVENT_ATTEMPT_FAILED] = "its time to be accepted is over",
    [EVENT_STEP_FAILED] = "its time to wait is over",
    [EVENT_STEP_DISPATCHED] = "its next poll was due",
    [EVENT_STEP_RUNNING] = "its next poll was due",
    [EVENT_POLL_ATTEMPTED] = "its next poll was due",
    [EVENT_POLL_TIMED_OUT] = "its time to poll is over",
    [EVENT_TRIGGER_TIMED_OUT] = "its pause has lasted its time",
    [EVENT_TRIGGER_REMINDED] = "a reminder was due",
    [EVENT_TRIGGER_ENDED] = "its pause has lasted its time",
    [EVENT_COMPENSATION_DUE] = "the retry of its compensation was due",
    [EVENT_COMPENSATION_OVERDUE] = "the timeout of its compensation has passed",
    [EVENT_COMPENSATION_ORPHANED] = "the lease of its compensation ran out",
};

static Str report_reason(Arena *arena, const Command *command)
{
    uint32_t attempt = attempt_number(command->attempt);
    const char *what = attempt_is_notification(command->attempt) ? "notification attempt"
                     : attempt_rollback(command->attempt) ? "compensation attempt" : "attempt";
    if (command->report.cause == CAUSE_NONE) return arena_format(arena, "%s %" PRIu32 " succeeded", what, attempt);
    return arena_format(arena, "%s %" PRIu32 " failed: %s", what, attempt, cause_name(command->report.cause));
}

/* A name comes from outside: as much of it as a reason has room for. */
static Str named_reason(Arena *arena, const char *what, const Command *command)
{
    Str name = command->name;
    if (name.len > RATIONALE_SIZE_MAX / 2) name.len = RATIONALE_SIZE_MAX / 2;
    return arena_format(arena, "%s '%.*s' was %s", what, STR_ARG(name), command->is_denial ? "denied" : "given");
}

Str rationale_of(Arena *arena, const Command *command, uint8_t first_kind)
{
    if (command->rationale.len) return command->rationale;
    if (command->kind == COMMAND_REPORT) return report_reason(arena, command);
    if (command->kind == COMMAND_SIGNAL) return named_reason(arena, "the signal", command);
    if (command->kind == COMMAND_TRIGGER) return named_reason(arena, "the trigger", command);
    if (command->kind == COMMAND_ACCEPT)
        return arena_format(arena, "attempt %" PRIu32 " was accepted", attempt_number(command->attempt));
    if (command->kind == COMMAND_EFFECT)
        return command->is_committed ? STR("the attempt has acted") : command->is_withdrawn ? STR("the attempt has not acted")
                                                                                            : STR("the attempt is about to act");
    if (command->kind == COMMAND_RESOLVE)
        return arena_format(arena, "the decision '%s' was made", decision_kind_name(command->decision));
    if (command->kind == COMMAND_TIMER)
        return str_of(timer_reasons[first_kind] ? timer_reasons[first_kind] : "its time has come");
    return str_of(kind_reasons[command->kind]);
}
