#include "core/reaction.h"

#include "base/limits.h"
#include "core/pause.h"

static bool covers(const ReactionTerms *reaction, uint32_t step)
{
    for (uint32_t i = 0; i < reaction->step_count; i++)
        if (reaction->steps[i] == step) return true;
    return false;
}

static bool has_fired(const Run *run, uint32_t index)
{
    return run->fired[index / 8] >> index % 8 & 1;
}

const ReactionTerms *reaction_cut(const Plan *plan, const Run *run, uint32_t step)
{
    const PlanTerms *terms = plan->terms;
    for (uint32_t i = 0; i < terms->reaction_count; i++)
        if (terms->reactions[i].kind == REACTION_CUT && has_fired(run, i) && covers(&terms->reactions[i], step))
            return &terms->reactions[i];
    return NULL;
}

RetryTerms reaction_retry(const Plan *plan, const Run *run, uint32_t step)
{
    const PlanTerms *terms = plan->terms;
    RetryTerms retry = terms->steps[step].retry;
    for (uint32_t i = 0; i < terms->reaction_count; i++) {
        const ReactionTerms *reaction = &terms->reactions[i];
        if (reaction->kind != REACTION_AMPLIFY || !has_fired(run, i) || !covers(reaction, step)) continue;
        if (reaction->attempt_count_max > retry.attempt_count_max) retry.attempt_count_max = reaction->attempt_count_max;
        if (reaction->delay_ms >= 0 && reaction->delay_ms < retry.delay_ms) retry.delay_ms = reaction->delay_ms;
    }
    return retry;
}

static Str reason_of(const ReactionTerms *cut, Arena *arena)
{
    if (cut->reason.len) return cut->reason;
    return arena_format(arena, "the signal '%.*s' ended it early", STR_ARG(cut->signal));
}

/* The tables know no way from work that has begun to `skipped`: it counts as done then, without an output. A branch that has chosen
 * nothing cannot count as done: it is skipped, and the run goes on where its cases meet. */
void reaction_end(const Settle *settle, uint32_t step, const ReactionTerms *cut)
{
    StepState state = (StepState)settle->run->steps[step].state;
    Decision *decision = settle->decision;
    Str reason = reason_of(cut, decision->arena);
    bool has_begun = state != STEP_QUEUED;
    if (cut->outcome == OUTCOME_FAILED) {
        settle_fail(settle, step, &(Failure){ CAUSE_TERMINATED, reason, value_null() });
    } else if (!has_begun && (cut->outcome == OUTCOME_SKIPPED || !step_works(&settle->plan->steps[step]))) {
        Event *event = decision_event(decision, EVENT_STEP_SKIPPED, step);
        event->last = step;
        event->number = settle->run->steps[step].number ? 0 : settle_number(settle, step);
        event->reason = SKIP_CONDITION_FALSE;                   /* what follows goes on */
        event->text = reason;
    } else {
        if (!has_begun) settle_enter(settle, step);
        if (state == STEP_WAITING_SIGNAL) decision_event(decision, EVENT_STEP_RESUMED, step);
        decision_event(decision, EVENT_STEP_SUCCEEDED, step)->source = reason;
    }
}

/* Another short circuit had it before, by an earlier signal or by this one. */
static bool is_cut_before(const Settle *settle, const ReactionTerms *cut, uint32_t step)
{
    const ReactionTerms *all = settle->plan->terms->reactions;
    for (uint32_t i = 0; &all[i] < cut; i++)
        if (all[i].kind == REACTION_CUT && str_is(all[i].signal, cut->signal) && covers(&all[i], step)) return true;
    return reaction_cut(settle->plan, settle->run, step) != NULL;
}

/* What the short circuit covers and has begun: told to end, or ended, where nobody has it. */
static void end_begun(const Settle *settle, const ReactionTerms *cut)
{
    const Run *run = settle->run;
    for (uint32_t i = 0; i < cut->step_count; i++) {
        uint32_t step = cut->steps[i];
        const StepRun *state = &run->steps[step];
        if (!(state->flags & STEP_IN_ACTIVE) || is_cut_before(settle, cut, step)) continue;
        if (settle->decision->event_count + ADVANCE_EVENT_COUNT_MIN > DECISION_EVENT_COUNT_MAX) return;
        if (state->state == STEP_QUEUED) decision_event(settle->decision, EVENT_STEP_READY, step)->last = step;
        else if (state->state == STEP_WAITING_SIGNAL || state->state == STEP_POLLING) reaction_end(settle, step, cut);
        else if (state->state == STEP_RUNNING && !(state->flags & STEP_ENDING))
            decision_event(settle->decision, EVENT_STEP_CANCELLING, step);
    }
}

static void cut_run(const Settle *settle, const ReactionTerms *reaction)
{
    pause_cancel(settle);
    Event *event = decision_event(settle->decision, EVENT_RUN_TERMINATING, STEP_NONE);
    event->flags = reaction->outcome != OUTCOME_FAILED;
    event->text = reason_of(reaction, settle->decision->arena);
}

/* A word is a command; what it would be refused for, it does not do. */
static Status command(const Asked *asked, DecideKind decide_one, Error *err)
{
    Command wish = *asked->command;
    wish.rationale = arena_format(asked->settle.decision->arena, "the signal '%.*s'", STR_ARG(asked->command->name));
    wish.scope = SCOPE_FULL;
    Asked inner = { asked->settle, &wish };
    Error why;
    Status status = decide_one(&inner, &why);
    if (status == ERR_UNAVAILABLE) *err = why;
    return status == ERR_UNAVAILABLE ? status : OK;
}

/* A run that its policies would no longer let go on is paused. */
static Status recheck(const Asked *asked, Error *err)
{
    const Run *run = asked->settle.run;
    bool may_pause = run->state == RUN_RUNNING || run->state == RUN_WAITING_SIGNAL;
    Error why;
    Status status = decide_ask_policy(asked, HOOK_RUN_RESUME, value_null(), &why);
    if (status == ERR_UNAVAILABLE) *err = why;
    if (status != ERR_DENIED) return status;
    return may_pause ? command(asked, decide_pause, err) : OK;
}

static Status move(const Asked *asked, const ReactionTerms *reaction, Error *err)
{
    switch (reaction->kind) {
    case REACTION_PAUSE: return command(asked, decide_pause, err);
    case REACTION_RECHECK: return recheck(asked, err);
    case REACTION_RESUME: return command(asked, decide_resume, err);
    case REACTION_CANCEL: return command(asked, decide_cancel, err);
    case REACTION_COMPENSATE: return command(asked, decide_compensate, err);
    case REACTION_CUT: cut_run(&asked->settle, reaction); break;
    case REACTION_AMPLIFY:
    case REACTION_KIND_COUNT: break;
    }
    return OK;
}

Status reaction_fire(const Asked *asked, bool has_moved, Error *err)
{
    const Settle *settle = &asked->settle;
    const PlanTerms *terms = settle->plan->terms;
    Status status = OK;
    if (run_is_winding(settle->run) || settle->run->state == RUN_FAILED || settle->run->state == RUN_COMPENSATING) return OK;
    for (uint32_t i = 0; i < terms->reaction_count && !status; i++) {
        const ReactionTerms *reaction = &terms->reactions[i];
        if (!str_is(reaction->signal, asked->command->name)) continue;
        Event *event = decision_event(settle->decision, EVENT_REACTION_FIRED, 0);
        event->name = reaction->signal;
        event->count = i;
        if (reaction->kind == REACTION_CUT && reaction->step_count) {
            end_begun(settle, reaction);
            continue;
        }
        /* Of those that move the run, the first that does something is the one: the others would contradict it. */
        uint32_t before = settle->decision->event_count;
        if (!has_moved) status = move(asked, reaction, err);
        has_moved = has_moved || settle->decision->event_count > before;
    }
    return status;
}
