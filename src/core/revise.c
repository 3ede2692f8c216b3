#include "core/revise.h"

#include "base/limits.h"
#include "core/terms.h"

/* --- shape ------------------------------------------------------------------------------------------------------------------ */

static Status differs(Str step, const char *what, Error *err)
{
    return error_set(err, ERR_CONFLICT, "step '%.*s' %s in that revision: a run goes on only with one of the same shape; start a new run of it",
                     STR_ARG(step), what);
}

/* Everything that the fold of events asks a step. */
static const char *step_difference(const Plan *before, const Plan *after, uint32_t i)
{
    const PlanStep *a = &before->steps[i], *b = &after->steps[i];
    const StepTerms *at = &before->terms->steps[i], *bt = &after->terms->steps[i];
    if (a->kind != b->kind) return "is of another kind";
    if (a->job != b->job || a->parent != b->parent || a->sequence != b->sequence) return "belongs elsewhere";
    if (a->edge_count != b->edge_count || a->need_count != b->need_count) return "is needed by others, or needs others,";
    if (a->converge != b->converge || !str_is(a->branch_key, b->branch_key)) return "stands in another branch";
    if (a->is_tail != b->is_tail) return "ends another loop";
    if (a->priority != b->priority) return "has another priority";
    if (at->is_optional != bt->is_optional) return at->is_optional ? "is no longer optional" : "is optional";
    if (step_polls(at) != step_polls(bt)) return step_polls(at) ? "polls no longer" : "polls";
    if (!str_is(at->gate.signal, bt->gate.signal) || at->gate.is_before != bt->gate.is_before) return "waits for another signal";
    if (!str_is(at->pause.trigger, bt->pause.trigger)) return "pauses for another trigger";
    if (step_terminates(at) != step_terminates(bt)) return "ends the run early, or no longer does,";
    if (at->is_undone_on_failure != bt->is_undone_on_failure) return "is named by on_failure, or no longer is,";
    if (at->weight != bt->weight) return "has another blast radius";
    return NULL;
}

static Status check_steps(const Plan *before, const Plan *after, Error *err)
{
    uint32_t count = before->step_count < after->step_count ? before->step_count : after->step_count;
    for (uint32_t i = 0; i < count; i++) {
        if (!str_is(before->steps[i].id, after->steps[i].id))
            return error_set(err, ERR_CONFLICT, "where the run has step '%.*s', that revision has '%.*s': a run goes on only with one of the "
                             "same shape; start a new run of it", STR_ARG(before->steps[i].id), STR_ARG(after->steps[i].id));
    }
    if (before->step_count > count) return differs(before->steps[count].id, "is missing", err);
    if (after->step_count > count) return differs(after->steps[count].id, "is new", err);
    for (uint32_t i = 0; i < count; i++) {
        const char *what = step_difference(before, after, i);
        if (what) return differs(before->steps[i].id, what, err);
    }
    return OK;
}

static Status check_edges(const Plan *before, const Plan *after, Error *err)
{
    for (uint32_t i = 0; i < before->edge_count; i++) {
        const PlanEdge *a = &before->edges[i], *b = &after->edges[i];
        bool is_same = a->from == b->from && a->to == b->to && a->kind == b->kind && a->loop == b->loop && a->decides == b->decides
                    && str_is(a->key, b->key);
        if (!is_same) return differs(before->steps[a->to].id, "needs other steps", err);
    }
    return OK;
}

static Status check_loops(const Plan *before, const Plan *after, Error *err)
{
    if (before->loop_count != after->loop_count)
        return error_set(err, ERR_CONFLICT, "that revision has other guarded cycles: a run goes on only with one of the same shape");
    for (uint32_t i = 0; i < before->loop_count; i++)
        if (before->loops[i].head != after->loops[i].head || before->loops[i].tail != after->loops[i].tail)
            return differs(before->steps[before->loops[i].tail].id, "goes back to another step", err);
    return OK;
}

static Status check_jobs(const Plan *before, const Plan *after, Error *err)
{
    uint32_t count = before->job_count < after->job_count ? before->job_count : after->job_count;
    for (uint32_t i = 0; i < count; i++) {
        const PlanJob *a = &before->jobs[i], *b = &after->jobs[i];
        if (!str_is(a->id, b->id) || a->step_first != b->step_first || a->step_count != b->step_count)
            return error_set(err, ERR_CONFLICT, "job '%.*s' is another one in that revision: a run goes on only with one of the same shape",
                             STR_ARG(a->id));
    }
    if (before->job_count == after->job_count) return OK;
    return error_set(err, ERR_CONFLICT, "that revision has %u jobs, the run has %u: a run goes on only with one of the same shape",
                     after->job_count, before->job_count);
}

static Status check_run(const Plan *before, const Plan *after, Error *err)
{
    if (before->kind != after->kind || !str_is(before->id, after->id) || !str_is(before->tenant, after->tenant))
        return error_set(err, ERR_CONFLICT, "that is a revision of another workflow");
    const PlanTerms *a = before->terms, *b = after->terms;
    bool is_same = a->reaction_count == b->reaction_count;
    for (uint32_t i = 0; is_same && i < a->reaction_count; i++)
        is_same = a->reactions[i].kind == b->reactions[i].kind && str_is(a->reactions[i].signal, b->reactions[i].signal);
    if (!is_same) return error_set(err, ERR_CONFLICT, "that revision reacts to other signals (on_signal): a run goes on only with the same");
    if (a->has_blast_max != b->has_blast_max)
        return error_set(err, ERR_CONFLICT, "that revision %s a blast_radius: a run goes on only with the same",
                         b->has_blast_max ? "has" : "has no longer");
    return OK;
}

Status revise_check_shape(const Plan *before, const Plan *after, Error *err)
{
    Status status = check_run(before, after, err);
    if (!status) status = check_steps(before, after, err);
    if (!status && before->edge_count != after->edge_count)
        status = error_set(err, ERR_CONFLICT, "the steps of that revision need one another otherwise: a run goes on only with one of the same shape");
    if (!status) status = check_edges(before, after, err);
    if (!status) status = check_loops(before, after, err);
    return status ? status : check_jobs(before, after, err);
}

/* --- what is kept ------------------------------------------------------------------------------------------------------------- */

/* The output was accepted under the old declaration; the new one may demand more. */
static Status check_output(const Settle *settle, const Plan *before, uint32_t step, Error *err)
{
    const StepTerms *old = &before->terms->steps[step], *now = &settle->plan->terms->steps[step];
    Value output;
    Str why;
    if (value_equals(old->outputs, now->outputs) && value_equals(old->output_schema, now->output_schema)) return OK;
    if (!settle->env->output(settle->env->context, settle->run, step, &output)) {
        settle->decision->missing = step;
        return error_set(err, ERR_UNAVAILABLE, "the output of step '%.*s' is not at hand", STR_ARG(settle->plan->steps[step].id));
    }
    if (settle_output_fits(settle, step, output, &why)) return OK;
    return error_set(err, ERR_CONFLICT, "step '%.*s' was done and would be kept, and that revision declares another output of it: %.*s; retry from "
                     "that step, or from one before it", STR_ARG(settle->plan->steps[step].id), STR_ARG(why));
}

static bool is_key_same(const Plan *before, const Plan *after, uint32_t step)
{
    const StepTerms *a = &before->terms->steps[step], *b = &after->terms->steps[step];
    return str_is(a->key, b->key) && str_is(a->domain, b->domain);
}

Status revise_check_kept(const Settle *settle, const Plan *before, const uint8_t *anew, bool is_undone_first, Error *err)
{
    for (uint32_t i = 0; i < settle->run->step_count; i++) {
        const StepRun *step = &settle->run->steps[i];
        if (!anew[i] && step->state == STEP_SUCCEEDED) {
            Status status = check_output(settle, before, i, err);
            if (status) return status;
        }
        bool is_undoable = step->attempt && !(step->flags & STEP_UNDONE) && (!anew[i] || is_undone_first)
                        && (before->terms->steps[i].undo.runner.len || settle->plan->terms->steps[i].undo.runner.len);
        if (is_undoable && !is_key_same(before, settle->plan, i))
            return error_set(err, ERR_CONFLICT, "step '%.*s' was carried out and has another idempotency_key in that revision: it could not be "
                             "undone any more; retry from it or before it, without compensating, or compensate the run",
                             STR_ARG(settle->plan->steps[i].id));
    }
    return OK;
}

Str revise_differences(const Plan *before, const Plan *after, Arena *arena)
{
    Buf buf;
    buf_init(&buf, TEXT_SIZE_MAX);
    for (uint32_t i = 0; i < before->step_count; i++) {
        if (value_equals(before->steps[i].settings, after->steps[i].settings)) continue;
        if (buf.len + after->steps[i].id.len + 8 > TEXT_SIZE_MAX) {
            buf_text(&buf, ", ...");
            break;
        }
        buf_format(&buf, "%s%.*s", buf.len ? ", " : "", STR_ARG(after->steps[i].id));
    }
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}
