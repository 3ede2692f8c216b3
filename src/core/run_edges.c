/* run_edges.c - the fold of edges: what a step that has ended makes of those behind it, and where branches and loops lead. */
#include "base/check.h"
#include "core/run_apply.h"

/* --- edges ------------------------------------------------------------------------------------------------------------ */

static void edge_decide(const Apply *apply, const PlanEdge *edge, EdgeFate fate)
{
    Run *run = apply->run;
    StepRun *to = &run->steps[edge->to];
    if (step_state_is_final((StepState)to->state)) return;      /* skipped with its job, or done before its sequence was run anew */
    if (fate == EDGE_LIVE && edge->decides) to->flags |= STEP_LIVE;
    if (fate == EDGE_DOOMED) to->flags |= STEP_DOOMED;
    CHECK(to->need_left > 0);
    if (--to->need_left == 0) reached_add(run, edge->to);
}

/* While a run winds down nothing is reached any more: the sweep finds what is left. */
void apply_edges_decide(const Apply *apply, uint32_t index, EdgeFate fate)
{
    const PlanStep *step = &apply->plan->steps[index];
    if (run_is_winding(apply->run)) return;
    for (uint32_t e = 0; e < step->edge_count; e++) {
        const PlanEdge *edge = &apply->plan->edges[step->edge_first + e];
        if (edge->loop == PLAN_NONE) edge_decide(apply, edge, fate);
    }
}

/* How a step that has ended leaves the edges behind it. */
EdgeFate apply_edge_fate(const StepRun *step)
{
    if (step_is_done(step)) return EDGE_LIVE;
    if (step->state != STEP_SKIPPED) return EDGE_DOOMED;
    if (step->cause == SKIP_CONDITION_FALSE) return EDGE_LIVE;
    bool is_cut = step->cause == SKIP_PREDECESSOR_FAILED || step->cause == SKIP_RUN_CANCELLED;
    return is_cut ? EDGE_DOOMED : EDGE_DEAD;
}

/* The end of a loop's tail leads to a question. */
void apply_tail_ended(const Apply *apply, uint32_t index)
{
    if (apply->plan->steps[index].is_tail && !run_is_winding(apply->run)) reached_add(apply->run, index);
}

static bool keys_have(Str keys, Str key)
{
    for (size_t at = 0; at <= keys.len;) {
        size_t end = str_find(keys, ',', at);
        if (str_is(str_slice(keys, at, end), key)) return true;
        at = end + 1;
    }
    return false;
}

/* The edges behind a branch: those of cases by the keys it took (NULL: none), others as behind any step. */
void apply_keys_decide(const Apply *apply, uint32_t index, const Str *keys)
{
    const PlanStep *step = &apply->plan->steps[index];
    if (run_is_winding(apply->run)) return;
    for (uint32_t e = 0; e < step->edge_count; e++) {
        const PlanEdge *edge = &apply->plan->edges[step->edge_first + e];
        bool is_live = edge->kind != EDGE_BRANCH || (keys && keys_have(*keys, edge->key));
        if (edge->loop == PLAN_NONE) edge_decide(apply, edge, is_live ? EDGE_LIVE : EDGE_DEAD);
    }
}

void apply_branch_taken(const Apply *apply)
{
    apply_keys_decide(apply, apply->event->step, &apply->event->name);
}

/* --- beginnings --------------------------------------------------------------------------------------------------------- */

/* How an edge behind a step that is not run anew was decided. Which keys a branch took is known by where they led. */
static EdgeFate fate_before(const Apply *apply, const PlanEdge *edge)
{
    const Run *run = apply->run;
    const StepRun *from = &run->steps[edge->from];
    if (edge->loop != PLAN_NONE && run->loop_ends[edge->loop] == LOOP_HAS_FAILED) return EDGE_DOOMED;
    if (edge->kind != EDGE_BRANCH) return apply_edge_fate(from);
    if (!step_is_done(from)) return from->cause == SKIP_PREDECESSOR_FAILED ? EDGE_DOOMED : EDGE_DEAD;
    return run->steps[edge->to].flags & STEP_LIVE ? EDGE_LIVE : EDGE_DEAD;
}

static bool is_decided(const Run *run, const PlanEdge *edge)
{
    if (!step_state_is_final((StepState)run->steps[edge->from].state) || run->steps[edge->to].state != STEP_QUEUED) return false;
    return edge->loop == PLAN_NONE || run->loop_ends[edge->loop] != LOOP_GOES_ON;
}

/* The steps that are run anew, as the others have left them. */
static void link_again(const Apply *apply)
{
    Run *run = apply->run;
    const Plan *plan = apply->plan;
    /* Being live is forgotten, but for steps that a branch which is not asked again has chosen. */
    for (uint32_t e = 0; e < plan->edge_count; e++)
        if (plan->edges[e].kind == EDGE_BRANCH && is_decided(run, &plan->edges[e])) run->steps[plan->edges[e].to].need_left = 1;
    for (uint32_t i = 0; i < run->step_count; i++) {
        StepRun *step = &run->steps[i];
        if (step->state != STEP_QUEUED) continue;
        bool is_live = plan->steps[i].need_count == 0 || (step->need_left && step->flags & STEP_LIVE);
        step->flags = (uint16_t)((step->flags & ~(STEP_LIVE | STEP_DOOMED)) | (is_live ? STEP_LIVE : 0));
        step->need_left = plan->steps[i].need_count;
    }
    for (uint32_t e = 0; e < plan->edge_count; e++) {
        const PlanEdge *edge = &plan->edges[e];
        if (!is_decided(run, edge)) continue;
        EdgeFate fate = fate_before(apply, edge);
        StepRun *to = &run->steps[edge->to];
        if (fate == EDGE_LIVE && edge->decides) to->flags |= STEP_LIVE;
        if (fate == EDGE_DOOMED) to->flags |= STEP_DOOMED;
        to->need_left--;
    }
    for (uint32_t i = 0; i < run->step_count; i++) {
        uint32_t converge = plan->steps[i].kind == STEP_BRANCH ? plan->steps[i].converge : PLAN_NONE;
        bool is_passed = run->steps[i].state == STEP_SKIPPED && run->steps[i].cause == SKIP_CONDITION_FALSE;
        if (converge != PLAN_NONE && is_passed && run->steps[converge].state == STEP_QUEUED)
            run->steps[converge].flags |= STEP_LIVE;
    }
}

/* Jobs with steps that are run anew begin again, silently: their steps take them on. */
static void link_jobs(const Apply *apply)
{
    Run *run = apply->run;
    for (uint32_t j = 0; j < run->job_count; j++) {
        JobRun *job = &run->jobs[j];
        const PlanJob *plan_job = &apply->plan->jobs[j];
        if (job->open == 0) continue;
        uint8_t flags = job->flags & (JOB_IN_MOVED | JOB_PAUSED);
        for (uint32_t s = 0; s < plan_job->step_count; s++)
            if (step_is_done(&run->steps[plan_job->step_first + s])) flags |= JOB_BEGAN | JOB_RAN;
        job->flags = flags;
        job->state = RUN_QUEUED;
        apply_job_update(run, j);
    }
}

/* Loops and ends whose question was lost when the run began to fail are asked again. */
static void link_questions(const Apply *apply)
{
    Run *run = apply->run;
    for (uint32_t i = 0; run->end_slot_count && i < run->step_count; i++)
        if (run_asks_end(run, apply->plan, i)) reached_add(run, i);
    for (uint32_t l = 0; l < run->loop_count; l++) {
        uint32_t tail = apply->plan->loops[l].tail;
        bool is_open = run->loop_ends[l] == LOOP_GOES_ON && step_state_is_final((StepState)run->steps[tail].state);
        if (is_open && !(run->steps[tail].flags & STEP_IN_REACHED)) reached_add(run, tail);
    }
}

void apply_begin_steps(const Apply *apply)
{
    Run *run = apply->run;
    if (run->is_rerunning) link_again(apply);
    for (uint32_t i = 0; i < run->step_count; i++)
        if (run->steps[i].state == STEP_QUEUED && run->steps[i].need_left == 0) reached_add(run, i);
    if (!run->is_rerunning) return;
    link_jobs(apply);
    link_questions(apply);
    run->is_rerunning = false;
    run->sweep_next = 0;
}

/* --- loops ------------------------------------------------------------------------------------------------------------ */

static uint32_t loop_of(const Plan *plan, const Event *event)
{
    uint32_t l = 0;
    while (l < plan->loop_count && (plan->loops[l].head != event->step || plan->loops[l].tail != event->last)) l++;
    CHECK(l < plan->loop_count);
    return l;
}

/* The body's step runs are replaced by new ones: outputs of the last round stay readable until there are others. */
void apply_loop_repeated(const Apply *apply)
{
    Run *run = apply->run;
    const Plan *plan = apply->plan;
    uint32_t index = loop_of(plan, apply->event);
    const PlanLoop *loop = &plan->loops[index];
    lists_leave(run, plan, loop->tail);
    for (uint32_t i = 0; i < loop->body_count; i++) {
        const LoopStep *member = &loop->body[i];
        StepRun *step = &run->steps[member->step];
        CHECK(step_state_is_final((StepState)step->state));
        apply_polls_renewed(apply, member->step);           /* a pause behind it is awaited all the same */
        *step = (StepRun){ .need_left = member->need_count, .generation = step->generation + 1, .output_at = step->output_at,
                           .flags = (uint16_t)((step->flags & STEP_HAS_OUTPUT) | (member->is_live ? STEP_LIVE : 0)) };
        run_set_extras(run, member->step, 0);
        run->open_count++;
        uint32_t job = plan->steps[member->step].job;
        if (job == PLAN_NONE) continue;
        CHECK(!(run->jobs[job].flags & JOB_IN_MOVED));
        bool was_cutting = job_is_cutting(&run->jobs[job]);
        run->jobs[job] = (JobRun){ .state = RUN_QUEUED, .flags = run->jobs[job].flags & (JOB_PAUSED | JOB_CANCELLED) };
        for (uint32_t s = 0; s < plan->jobs[job].step_count; s++)
            run->jobs[job].open += !step_state_is_final((StepState)run->steps[plan->jobs[job].step_first + s].state);
        run->cutting_count += job_is_cutting(&run->jobs[job]) && !was_cutting;
    }
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        bool is_inside = l != index && plan->loops[l].body_count < loop->body_count;
        for (uint32_t i = 0; is_inside && i < loop->body_count; i++)
            if (loop->body[i].step == plan->loops[l].tail) {
                run->loops[l] = 0;
                run->loop_ends[l] = LOOP_GOES_ON;
            }
    }
    run->loops[index] = (uint32_t)apply->event->count - 1;
    reached_add(run, loop->head);
}

void apply_loop_left(const Apply *apply)
{
    Run *run = apply->run;
    const Plan *plan = apply->plan;
    uint32_t index = loop_of(plan, apply->event);
    const PlanLoop *loop = &plan->loops[index];
    if (loop->is_outermost) lists_leave(run, plan, loop->tail);
    bool is_failed = apply->event->cause != CAUSE_NONE;
    run->loop_ends[index] = is_failed ? LOOP_HAS_FAILED : LOOP_IS_LEFT;
    if (is_failed && run->failed_step == STEP_NONE) apply_failure(apply);
    if (run_is_winding(run)) return;
    for (uint32_t i = 0; i < loop->body_count; i++) {
        const PlanStep *step = &plan->steps[loop->body[i].step];
        EdgeFate fate = is_failed ? EDGE_DOOMED : apply_edge_fate(&run->steps[loop->body[i].step]);
        for (uint32_t e = 0; e < step->edge_count; e++)
            if (plan->edges[step->edge_first + e].loop == index) edge_decide(apply, &plan->edges[step->edge_first + e], fate);
    }
}
