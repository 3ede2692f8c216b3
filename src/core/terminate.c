#include "core/terminate.h"

#include "core/pause.h"

/* Of the step's own condition and that of its job: the first that holds, or NULL. What cannot be answered fails the run. */
static Begin ask(const Settle *settle, uint32_t step, const TerminateTerms **out_terms, Str *out_text)
{
    const TerminateTerms *all = settle->plan->terms->steps[step].terminate;
    Value output = value_null();
    *out_terms = NULL;
    *out_text = STR("");
    if (settle->run->steps[step].flags & STEP_HAS_OUTPUT) {
        const Value *here = decision_value(settle->decision, settle->plan, step);
        if (here) output = *here;
        else if (!settle->env->output(settle->env->context, settle->run, step, &output)) {
            settle->decision->missing = step;
            settle->decision->missing_is_key = false;
            return BEGIN_MISSING;
        }
    }
    for (unsigned i = 0; i < 2 && !*out_terms; i++) {
        if (!all[i].is_declared) continue;
        ConditionResult result = { .missing = STEP_NONE };
        ConditionAnswer answer = CONDITION_TRUE;
        ConditionAsk asked = { .plan = settle->plan, .run = settle->run, .condition = all[i].condition, .step = step,
                               .output = &output };
        if (all[i].condition != CONDITION_NONE)
            answer = settle->env->condition(settle->env->context, &asked, settle->decision->arena, &result);
        if (answer == CONDITION_MISSING) {
            settle->decision->missing = result.missing;
            settle->decision->missing_is_key = false;
            return BEGIN_MISSING;
        }
        if (answer == CONDITION_ERROR) {
            *out_text = result.text;
            return BEGIN_LATER;
        }
        if (answer == CONDITION_UNDEFINED)
            *out_text = arena_format(settle->decision->arena, "undefined: %.*s", STR_ARG(result.text));
        if (answer == CONDITION_TRUE) *out_terms = &all[i];
    }
    return BEGIN_GO;
}

Begin terminate_ask(const Settle *settle, uint32_t step)
{
    const TerminateTerms *terms;
    Str text;
    Begin begin = ask(settle, step, &terms, &text);
    if (begin == BEGIN_MISSING) return begin;
    if (begin == BEGIN_LATER || terms) pause_cancel(settle);
    if (begin == BEGIN_LATER) {                                 /* what cannot be evaluated never counts as false */
        Event *event = decision_event(settle->decision, EVENT_RUN_FAILING, step);
        event->cause = CAUSE_CONDITION_ERROR;
        event->class_ = cause_class(CAUSE_CONDITION_ERROR);
        event->text = text;
    } else if (terms) {
        Event *event = decision_event(settle->decision, EVENT_RUN_TERMINATING, step);
        event->flags = terms->is_success;
        event->text = terms->reason;
    } else {
        decision_event(settle->decision, EVENT_TERMINATION_DECLINED, step)->text = text;
    }
    return BEGIN_DONE;
}

void terminate_run(const Settle *settle)
{
    const Run *run = settle->run;
    Decision *decision = settle->decision;
    /* The table knows no other way to an end that is a success. */
    if (run->ends_well && run->state != RUN_RUNNING) decision_event(decision, EVENT_RUN_RUNNING, 0);
    if (run->ends_well) {
        decision_event(decision, EVENT_RUN_SUCCEEDED, 0);
        return;
    }
    Event *event = decision_event(decision, EVENT_RUN_FAILED, run->failed_step);
    event->cause = CAUSE_TERMINATED;
    event->class_ = cause_class(CAUSE_TERMINATED);
    event->resolution = RESOLUTION_RESOLVED;
    event->text = arena_copy(decision->arena, run->failure);
}
