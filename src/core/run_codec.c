/* run_codec.c - a run as bytes: the snapshot that spares reading all its events.
 *
 *   format, then every member of Run in the order of the struct; lists by their members in order
 *   steps: a byte that says which members differ from those of a step that has not begun, then these
 *
 * Integers are little-endian base-128, signed ones zigzag. What can be found from others is not written: counters are
 * counted again, so that a damaged snapshot cannot contradict itself in them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/run_lists.h"
#include "core/terms.h"

#define SNAPSHOT_FORMAT 6u
#define SNAPSHOT_FORMAT_FIFTH 5u        /* forgets what was spawned for a step whose only attempt was given back */
#define SNAPSHOT_FORMAT_FOURTH 4u       /* knows not where attempts went, nor that a run is bound elsewhere than its plan says */
#define SNAPSHOT_FORMAT_THIRD 3u        /* knows no directory of a run */
#define SNAPSHOT_FORMAT_SECOND 2u       /* counts no lost executions, and knows no attempt whose time is over */
#define SNAPSHOT_FORMAT_FIRST 1u        /* knows nothing of retries of runs and of compensations, nor in which order work ended */

/* --- writing ------------------------------------------------------------------------------------------------------------- */

static void put(Buf *buf, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) buf_char(buf, (char)(number | 0x80));
    buf_char(buf, (char)number);
}

static void put_signed(Buf *buf, int64_t number)
{
    put(buf, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static void put_text(Buf *buf, Str text)
{
    put(buf, text.len);
    buf_str(buf, text);
}

/* One more, so that STEP_NONE is 0. */
static void put_index(Buf *buf, uint32_t index)
{
    put(buf, (uint64_t)(index + 1u));
}

static void put_steps(Buf *buf, const Run *run, const StepList *list)
{
    put(buf, list->count);
    for (uint32_t s = list->first; s != STEP_NONE; s = run->steps[s].next) put(buf, s);
}

#define FLAGS_KEPT_FIRST (STEP_LIVE | STEP_DOOMED | STEP_HAS_OUTPUT | STEP_EFFECT_INTENDED | STEP_EFFECT_COMMITTED | STEP_ENDING \
                          | STEP_DEFER_NOTED)
#define FLAGS_KEPT (FLAGS_KEPT_FIRST | STEP_RENEWED | STEP_WORK_DONE | STEP_UNDONE | STEP_IN_SCOPE \
                    | STEP_LOST)                            /* the others follow from the lists */

enum { HAS_STATE = 1, HAS_FLAGS = 2, HAS_TRIES = 4, HAS_NEEDS = 8, HAS_NUMBER = 16, HAS_GENERATION = 32, HAS_OUTPUT = 64 };

/* The depth has what else was spawned for its task above its sixteen bits, where there is any. */
static void put_step(Buf *buf, const StepRun *step, uint32_t extras, uint32_t format)
{
    uint32_t has = 0;
    bool has_extras = extras && format > SNAPSHOT_FORMAT_FIFTH;
    if (step->state || step->cause) has |= HAS_STATE;
    if (step->flags & FLAGS_KEPT) has |= HAS_FLAGS;
    if (step->attempt || step->retry || has_extras) has |= HAS_TRIES;
    if (step->need_left) has |= HAS_NEEDS;
    if (step->number) has |= HAS_NUMBER;
    if (step->generation) has |= HAS_GENERATION;
    if (step->output_at) has |= HAS_OUTPUT;
    buf_char(buf, (char)has);
    if (has & HAS_STATE) put(buf, step->state), put(buf, step->cause);
    if (has & HAS_FLAGS) put(buf, step->flags & FLAGS_KEPT);
    if (has & HAS_TRIES) put(buf, step->attempt), put(buf, step->retry | (uint64_t)extras << 16);
    if (has & HAS_NEEDS) put(buf, step->need_left);
    if (has & HAS_NUMBER) put(buf, step->number);
    if (has & HAS_GENERATION) put(buf, step->generation);
    if (has & HAS_OUTPUT) put(buf, step->output_at);
}

static void put_head(Buf *buf, const Run *run)
{
    buf_bytes(buf, run->id.text, ID_SIZE);
    put(buf, run->run_no);
    put_text(buf, run->tenant);
    put_text(buf, run->definition);
    put_text(buf, run->key);
    put_text(buf, run->source);
    put_text(buf, run->parent);
    buf_bytes(buf, run->plan_digest.bytes, DIGEST_SIZE);
    put(buf, run->revision);
    put(buf, run->key_generation);
    put(buf, run->seed);
    put_signed(buf, run->created_ms);
    put_signed(buf, run->deadline_ms);
    put(buf, run->params_at);
    put(buf, run->priority);
    put(buf, run->state);
    put(buf, run->resolution);
    put(buf, (uint64_t)(run->cancel_requested | run->is_failing << 1 | run->is_cancelling << 2));
    put(buf, run->cause);
    put_index(buf, run->failed_step);
    put_text(buf, run->failure);
    put(buf, run->event_count);
    put(buf, run->cost_micro);
    put_signed(buf, run->started_ms);
    put_signed(buf, run->ended_ms);
    put_signed(buf, run->updated_ms);
    put(buf, run->begun_count);
    put(buf, run->sweep_next);
}

static void put_active(Buf *buf, const ActiveStep *active, uint32_t format)
{
    put(buf, active->step);
    put(buf, active->holder);
    put_signed(buf, active->due_ms);
    put_signed(buf, active->lease_ms);
    put(buf, active->kept_at);
    if (format > SNAPSHOT_FORMAT_FIRST) put(buf, active->intended_at), put(buf, active->notice);
    put(buf, active->signal);
    if (format > SNAPSHOT_FORMAT_SECOND) put(buf, (uint64_t)(active->is_overdue | active->is_spent << 1));
}

static void put_rollback(Buf *buf, const Run *run, uint32_t format)
{
    const Rollback *rollback = &run->rollback;
    put(buf, (uint64_t)(run->is_rolling_back | run->is_rerunning << 1 | rollback->is_planned << 2 | rollback->is_stuck << 3));
    put(buf, run->retry_source);
    put_index(buf, run->retry_from);
    put(buf, run->auto_retry_count);
    put_signed(buf, run->auto_retry_ms);
    put(buf, run->done_count);
    for (uint32_t i = 0; i < run->loop_count; i++) put(buf, run->loop_ends[i]);
    put(buf, rollback->scope);
    put(buf, rollback->flags);
    put_index(buf, rollback->from);
    put(buf, rollback->number);
    put(buf, rollback->earlier_count);
    put(buf, rollback->count);
    for (uint32_t i = 0; i < rollback->count; i++) {
        const Compensation *item = &rollback->items[i];
        put(buf, item->step);
        put(buf, item->attempt);
        put(buf, item->attempt_max);
        put(buf, item->state);
        if (format > SNAPSHOT_FORMAT_SECOND) put(buf, item->lost);
    }
    put(buf, rollback->at);
    put_active(buf, &rollback->active, format);
}

static void put_notifications(Buf *buf, const Run *run)
{
    put(buf, run->notified_count);
    put(buf, run->notification_count);
    for (uint32_t i = 0; i < run->notification_count; i++) {
        const Notification *it = &run->notifications[i];
        put(buf, it->number);
        put(buf, it->reminder);
        put(buf, it->attempt);
        put_signed(buf, it->due_ms);
        put_text(buf, it->target);
    }
}

/* What no definition could ask for in older formats is at the end, where there is any. */
static void put_waits(Buf *buf, const Run *run)
{
    bool has_notified = run->notified_count != 0;
    put(buf, (uint64_t)(run->is_terminating | run->ends_well << 1 | has_notified << 2));
    put(buf, run->paused_for);
    for (uint32_t i = 0; i < run->poll_slot_count; i++) {
        put(buf, run->polls[i].count << 1 | run->polls[i].is_held);
        put(buf, run->polls[i].attempt_first);
        put_signed(buf, run->polls[i].started_ms);
        put_signed(buf, run->polls[i].due_ms);
    }
    for (uint32_t i = 0; i < run->end_slot_count; i++) put(buf, run->ends[i]);
    for (uint32_t i = 0; i < run->pause_slot_count; i++) put(buf, run->answers[i]);
    put(buf, run->pause_count);
    for (uint32_t i = 0; i < run->pause_count; i++) put(buf, run->pauses[i]);
    put_index(buf, run->awaited.step);
    put_signed(buf, run->awaited.since_ms);
    put_signed(buf, run->awaited.due_ms);
    put(buf, run->awaited.reminder_count);
    put(buf, run->blast_used);
    put(buf, run->blast_approved);
    if (run->reaction_count) buf_bytes(buf, run->fired, run->reaction_count / 8 + 1);
    if (has_notified) put_notifications(buf, run);
}

static void put_places(Buf *buf, const Run *run)
{
    uint32_t count = 0;
    put_text(buf, run->bound);
    for (uint32_t i = 0; run->places && i < run->step_count; i++) count += run->places[i] != 0;
    put(buf, count);
    for (uint32_t i = 0; count && i < run->step_count; i++)
        if (run->places[i]) put(buf, i), put(buf, run->places[i]);
}

/* As the first format had it: what it did not know is left out. */
static StepRun first_step(const StepRun *step, const PlanStep *plan_step)
{
    StepRun first = *step;
    first.flags &= FLAGS_KEPT_FIRST;
    bool is_ordered = step_works(plan_step) && (step->state == STEP_SUCCEEDED || step->state == STEP_FAILED || step->state == STEP_CANCELLED);
    if (is_ordered || step->flags & STEP_IN_READY) first.need_left = 0;
    if (!(first.flags & STEP_HAS_OUTPUT)) first.output_at = 0;
    return first;
}

/* What people did to a job is above what its steps did; where nobody did anything, as it ever was. */
#define JOB_FLAGS_OF_STEPS (JOB_BEGAN | JOB_RAN | JOB_FAILED | JOB_CUT)
#define JOB_FLAGS_OF_PEOPLE (JOB_PAUSED | JOB_CANCELLED)
static uint32_t job_bits(const JobRun *job)
{
    return (job->flags & JOB_FLAGS_OF_STEPS) | (job->flags & JOB_FLAGS_OF_PEOPLE) >> 1;
}

static uint8_t job_flags(uint64_t bits)
{
    return (uint8_t)((bits & JOB_FLAGS_OF_STEPS) | (bits << 1 & JOB_FLAGS_OF_PEOPLE));
}

static void put_all(Buf *buf, const Run *run, const Plan *plan, uint32_t format)
{
    put(buf, format);
    put_head(buf, run);
    put(buf, run->step_count);
    put(buf, run->job_count);
    put(buf, run->loop_count);
    for (uint32_t i = 0; i < run->step_count; i++) {
        StepRun step = format == SNAPSHOT_FORMAT_FIRST ? first_step(&run->steps[i], &plan->steps[i]) : run->steps[i];
        put_step(buf, &step, run_extras(run, i), format);
    }
    for (uint32_t i = 0; i < run->job_count; i++) put(buf, run->jobs[i].state), put(buf, job_bits(&run->jobs[i]));
    for (uint32_t i = 0; i < run->loop_count; i++) put(buf, run->loops[i]);
    put_steps(buf, run, &run->reached);
    for (int p = 0; p < PRIORITY_COUNT; p++) put_steps(buf, run, &run->ready[p]);
    put(buf, run->active_count);
    for (uint32_t i = 0; i < run->active_count; i++) put_active(buf, &run->active[i], format);
    put(buf, run->moved.count);
    for (uint32_t j = run->moved.first; j != STEP_NONE; j = run->jobs[j].next) put(buf, j);
    put(buf, run->signal_count);
    for (uint32_t i = 0; i < run->signal_count; i++) {
        const RunSignal *signal = &run->signals[i];
        put(buf, (uint64_t)(signal->is_trigger << 7 | signal->sort << 1 | signal->is_denial));
        put(buf, signal->at);
        put_text(buf, signal->name);
        if (format > SNAPSHOT_FORMAT_FIRST) put(buf, signal->holder), put(buf, signal->notice);
    }
    put(buf, run->use_count);
    for (uint32_t i = 0; i < run->use_count; i++) put(buf, run->uses[i].number), put(buf, run->uses[i].step);
    if (format > SNAPSHOT_FORMAT_FIRST) put_rollback(buf, run, format);
    if (run->has_waits) put_waits(buf, run);
    if (format > SNAPSHOT_FORMAT_THIRD) put_text(buf, run->directory);
    if (format > SNAPSHOT_FORMAT_FOURTH) put_places(buf, run);
}

void run_encode(const Run *run, Buf *buf)
{
    put_all(buf, run, NULL, SNAPSHOT_FORMAT);
}

void run_encode_like(const Run *run, const Plan *plan, Str snapshot, Buf *buf)
{
    uint32_t format = snapshot.len ? (uint8_t)snapshot.ptr[0] : SNAPSHOT_FORMAT;
    bool is_known = format >= SNAPSHOT_FORMAT_FIRST && format < SNAPSHOT_FORMAT;
    put_all(buf, run, plan, is_known ? format : SNAPSHOT_FORMAT);
}

/* --- reading ------------------------------------------------------------------------------------------------------------- */

typedef struct RunReader {
    Str bytes;
    size_t at;
    bool is_wrong;
    Run *run;
    const Plan *plan;
    uint32_t format;
} RunReader;

/* A number that is at most `max`; what is wrong is remembered, and everything after it reads as 0. */
static uint64_t get(RunReader *reader, uint64_t max)
{
    uint64_t number = 0;
    for (unsigned shift = 0; !reader->is_wrong; shift += 7) {
        if (reader->at >= reader->bytes.len || shift > 63) break;
        uint8_t byte = (uint8_t)reader->bytes.ptr[reader->at++];
        if (shift == 63 && byte > 1) break;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (number <= max) return number;
            break;
        }
    }
    reader->is_wrong = true;
    return 0;
}

static uint32_t get32(RunReader *reader)
{
    return (uint32_t)get(reader, UINT32_MAX);
}

/* A number below `count`. */
static uint32_t get_below(RunReader *reader, uint32_t count)
{
    if (count == 0) reader->is_wrong = true;
    return count ? (uint32_t)get(reader, count - 1) : 0;
}

static int64_t get_signed(RunReader *reader)
{
    uint64_t number = get(reader, UINT64_MAX);
    return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

static const char *get_bytes(RunReader *reader, size_t size)
{
    if (reader->is_wrong || reader->bytes.len - reader->at < size) {
        reader->is_wrong = true;
        return NULL;
    }
    reader->at += size;
    return reader->bytes.ptr + reader->at - size;
}

static Str get_text(RunReader *reader)
{
    size_t size = (size_t)get(reader, reader->bytes.len);
    const char *bytes = get_bytes(reader, size);
    return bytes ? run_copy((Str){ bytes, size }) : (Str){ 0 };
}

static void get_head(RunReader *reader)
{
    Run *run = reader->run;
    const char *id = get_bytes(reader, ID_SIZE);
    if (id && memcmp(id, run->id.text, ID_SIZE) != 0) reader->is_wrong = true;
    if (get(reader, UINT64_MAX) != run->run_no) reader->is_wrong = true;
    run->tenant = get_text(reader);
    run->definition = get_text(reader);
    run->key = get_text(reader);
    run->source = get_text(reader);
    run->parent = get_text(reader);
    const char *digest = get_bytes(reader, DIGEST_SIZE);
    if (digest) memcpy(run->plan_digest.bytes, digest, DIGEST_SIZE);
    run->revision = get32(reader);
    run->key_generation = get32(reader);
    run->seed = get(reader, UINT64_MAX);
    run->created_ms = get_signed(reader);
    run->deadline_ms = get_signed(reader);
    run->params_at = get(reader, UINT64_MAX);
    run->priority = (uint8_t)get(reader, PRIORITY_COUNT - 1);
    run->state = (uint8_t)get(reader, RUN_STATE_COUNT - 1);
    run->resolution = (uint8_t)get(reader, RESOLUTION_COUNT - 1);
    uint64_t bits = get(reader, 7);
    run->cancel_requested = bits & 1;
    run->is_failing = bits >> 1 & 1;
    run->is_cancelling = bits >> 2 & 1;
    run->cause = (uint8_t)get(reader, CAUSE_COUNT - 1);
    run->failed_step = (uint32_t)get(reader, run->step_count) - 1u;
    run->failure = get_text(reader);
    run->event_count = get(reader, UINT64_MAX);
    run->cost_micro = get(reader, UINT64_MAX);
    run->started_ms = get_signed(reader);
    run->ended_ms = get_signed(reader);
    run->updated_ms = get_signed(reader);
    run->begun_count = get32(reader);
    run->sweep_next = (uint32_t)get(reader, run->step_count);
}

static void get_step(RunReader *reader, uint32_t index)
{
    StepRun *step = &reader->run->steps[index];
    uint64_t has = get(reader, 127);
    *step = (StepRun){ 0 };
    if (has & HAS_STATE) {
        step->state = (uint8_t)get(reader, STEP_STATE_COUNT - 1);
        step->cause = (uint8_t)get(reader, CAUSE_COUNT - 1);
    }
    if (has & HAS_FLAGS) step->flags = (uint16_t)(get(reader, UINT16_MAX) & FLAGS_KEPT);
    if (has & HAS_TRIES) {
        step->attempt = (uint16_t)get(reader, UINT16_MAX);
        uint64_t depth = get(reader, UINT32_MAX);
        step->retry = (uint16_t)depth;
        run_set_extras(reader->run, index, (uint32_t)(depth >> 16));
    }
    if (has & HAS_NEEDS) step->need_left = get32(reader);
    if (has & HAS_NUMBER) step->number = get32(reader);
    if (has & HAS_GENERATION) step->generation = get32(reader);
    if (has & HAS_OUTPUT) step->output_at = get(reader, UINT64_MAX);
}

/* Counters of the run and of its jobs, out of the states of the steps. */
static void count_again(Run *run, const Plan *plan)
{
    run->open_count = 0;
    for (uint32_t i = 0; i < run->job_count; i++) run->jobs[i].open = 0;
    for (uint32_t i = 0; i < run->step_count; i++) {
        StepState state = (StepState)run->steps[i].state;
        bool is_held = run_holds_poll(run, plan, i);
        bool is_open = !step_state_is_final(state) || is_held, is_waiting = state == STEP_WAITING_SIGNAL;
        bool is_under_way = state == STEP_DISPATCHED || state == STEP_RUNNING;
        run->open_count += is_open;
        run->waiting_count += is_waiting;
        run->polling_count += state == STEP_POLLING;
        run->held_count += is_held;
        run->running_count += is_under_way && step_works(&plan->steps[i]);
        if (plan->steps[i].job == PLAN_NONE) continue;
        JobRun *job = &run->jobs[plan->steps[i].job];
        job->open += is_open;
        job->waiting += is_waiting;
        job->under_way += is_under_way;
    }
    for (uint32_t i = 0; i < run->job_count; i++) run->cutting_count += job_is_cutting(&run->jobs[i]);
}

static bool is_listed(const Run *run, uint32_t step)
{
    return run->steps[step].flags & (STEP_IN_REACHED | STEP_IN_READY | STEP_IN_ACTIVE);
}

static void get_active(RunReader *reader, ActiveStep *active)
{
    active->holder = get(reader, UINT64_MAX);
    active->due_ms = get_signed(reader);
    active->lease_ms = get_signed(reader);
    active->kept_at = get(reader, UINT64_MAX);
    if (reader->format > SNAPSHOT_FORMAT_FIRST) active->intended_at = get(reader, UINT64_MAX);
    if (reader->format > SNAPSHOT_FORMAT_FIRST) active->notice = get(reader, UINT64_MAX);
    active->signal = (uint32_t)get(reader, RUN_SIGNAL_COUNT_MAX);
    uint64_t flags = reader->format > SNAPSHOT_FORMAT_SECOND ? get(reader, 3) : 0;
    active->is_overdue = flags & 1;
    active->is_spent = flags & 2;
}

static void get_lists(RunReader *reader)
{
    Run *run = reader->run;
    for (int list = 0; list <= PRIORITY_COUNT; list++) {
        uint32_t count = (uint32_t)get(reader, run->step_count);
        for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
            uint32_t step = get_below(reader, run->step_count);
            bool fits = !reader->is_wrong && !is_listed(run, step)
                     && (list == 0 || reader->plan->steps[step].priority == list - 1);
            if (!fits) reader->is_wrong = true;
            else if (list == 0) reached_add(run, step);
            else ready_add(run, reader->plan, step, run->steps[step].need_left);
        }
    }
    uint32_t count = (uint32_t)get(reader, run->step_count);
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        uint32_t step = get_below(reader, run->step_count);
        if (reader->is_wrong || is_listed(run, step)) {
            reader->is_wrong = true;
            break;
        }
        ActiveStep *active = active_add(run, step);
        get_active(reader, active);
        run->satisfied_count += active->signal != 0;
    }
    count = (uint32_t)get(reader, run->job_count);
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        uint32_t job = get_below(reader, run->job_count);
        if (reader->is_wrong || run->jobs[job].flags & JOB_IN_MOVED) reader->is_wrong = true;
        else moved_add(run, job);
    }
}

static void get_signals(RunReader *reader)
{
    Run *run = reader->run;
    uint32_t count = (uint32_t)get(reader, RUN_SIGNAL_COUNT_MAX);
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        run->signals = run_grow(run->signals, sizeof *run->signals, run->signal_count, &run->signal_capacity);
        RunSignal *signal = &run->signals[run->signal_count++];
        uint64_t bits = get(reader, UINT8_MAX);
        *signal = (RunSignal){ .number = i + 1, .sort = bits >> 1 & 0x3f, .is_denial = bits & 1, .is_trigger = bits >> 7 };
        signal->at = get(reader, UINT64_MAX);
        signal->name = get_text(reader);
        if (reader->format == SNAPSHOT_FORMAT_FIRST) continue;
        signal->holder = get(reader, UINT64_MAX);
        signal->notice = get(reader, UINT64_MAX);
    }
    count = (uint32_t)get(reader, reader->bytes.len);
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        run->uses = run_grow(run->uses, sizeof *run->uses, run->use_count, &run->use_capacity);
        uint32_t number = (uint32_t)get(reader, run->signal_count);
        run->uses[run->use_count++] = (SignalUse){ number, get_below(reader, run->step_count) };
    }
    for (uint32_t i = 0; i < run->active_count; i++)
        if (run->active[i].signal > run->signal_count) reader->is_wrong = true;
}

static void get_items(RunReader *reader)
{
    Rollback *rollback = &reader->run->rollback;
    uint32_t count = (uint32_t)get(reader, reader->run->step_count);
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        rollback->items = run_grow(rollback->items, sizeof *rollback->items, rollback->count, &rollback->capacity);
        Compensation *item = &rollback->items[rollback->count++];
        item->step = get_below(reader, reader->run->step_count);
        item->attempt = (uint16_t)get(reader, UINT16_MAX);
        item->attempt_max = (uint16_t)get(reader, UINT16_MAX);
        item->state = (uint8_t)get(reader, COMPENSATION_STATE_COUNT - 1);
        if (reader->format > SNAPSHOT_FORMAT_SECOND) item->lost = (uint8_t)get(reader, LOST_COUNT_MAX);
    }
    rollback->at = (uint32_t)get(reader, rollback->count);
}

static void get_rollback(RunReader *reader)
{
    Run *run = reader->run;
    Rollback *rollback = &run->rollback;
    uint64_t bits = get(reader, 15);
    run->is_rolling_back = bits & 1;
    run->is_rerunning = bits >> 1 & 1;
    rollback->is_planned = bits >> 2 & 1;
    rollback->is_stuck = bits >> 3 & 1;
    run->retry_source = (uint8_t)get(reader, RETRY_SOURCE_COUNT - 1);
    run->retry_from = (uint32_t)get(reader, run->step_count) - 1u;
    run->auto_retry_count = get32(reader);
    run->auto_retry_ms = get_signed(reader);
    run->done_count = get32(reader);
    for (uint32_t i = 0; i < run->loop_count; i++) run->loop_ends[i] = (uint8_t)get(reader, LOOP_HAS_FAILED);
    rollback->scope = (uint8_t)get(reader, COMPENSATION_SCOPE_COUNT - 1);
    rollback->flags = (uint8_t)get(reader, UINT8_MAX);
    rollback->from = (uint32_t)get(reader, run->step_count) - 1u;
    rollback->number = get32(reader);
    rollback->earlier_count = get32(reader);
    get_items(reader);
    rollback->active.step = (uint32_t)get(reader, run->step_count);
    get_active(reader, &rollback->active);
}

/* All of them are about the pause that is awaited. */
static void get_notifications(RunReader *reader)
{
    Run *run = reader->run;
    run->notified_count = get32(reader);
    uint32_t count = (uint32_t)get(reader, NOTIFY_TARGET_COUNT_MAX);
    if (count && run->awaited.step == STEP_NONE) reader->is_wrong = true;
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        run->notifications = run_grow(run->notifications, sizeof *run->notifications, run->notification_count,
                                      &run->notification_capacity);
        Notification *it = &run->notifications[run->notification_count++];
        *it = (Notification){ .step = run->awaited.step };
        it->number = (uint32_t)get(reader, run->notified_count);
        it->reminder = get32(reader);
        it->attempt = (uint32_t)get(reader, NOTIFY_ATTEMPT_COUNT_MAX);
        it->due_ms = get_signed(reader);
        it->target = get_text(reader);
    }
}

static void get_waits(RunReader *reader)
{
    Run *run = reader->run;
    uint64_t bits = get(reader, 7);
    run->is_terminating = bits & 1;
    run->ends_well = bits >> 1 & 1;
    run->paused_for = (uint8_t)get(reader, PAUSED_FOR_COUNT - 1);
    for (uint32_t i = 0; i < run->poll_slot_count; i++) {
        uint64_t count = get(reader, UINT32_MAX);
        run->polls[i].count = (uint32_t)(count >> 1);
        run->polls[i].is_held = count & 1;
        run->polls[i].attempt_first = (uint16_t)get(reader, UINT16_MAX);
        run->polls[i].started_ms = get_signed(reader);
        run->polls[i].due_ms = get_signed(reader);
    }
    for (uint32_t i = 0; i < run->end_slot_count; i++) run->ends[i] = get(reader, 1);
    for (uint32_t i = 0; i < run->pause_slot_count; i++) run->answers[i] = get(reader, UINT64_MAX);
    run->pause_count = (uint32_t)get(reader, run->pause_slot_count);
    for (uint32_t i = 0; i < run->pause_count && !reader->is_wrong; i++) {
        run->pauses[i] = get_below(reader, run->step_count);
        if (!step_pauses(&reader->plan->terms->steps[run->pauses[i]])) reader->is_wrong = true;
    }
    run->awaited.step = (uint32_t)get(reader, run->step_count) - 1u;
    run->awaited.since_ms = get_signed(reader);
    run->awaited.due_ms = get_signed(reader);
    run->awaited.reminder_count = get32(reader);
    run->blast_used = get(reader, UINT64_MAX);
    run->blast_approved = get(reader, UINT64_MAX);
    const char *fired = run->reaction_count ? get_bytes(reader, run->reaction_count / 8 + 1) : NULL;
    if (fired) memcpy(run->fired, fired, run->reaction_count / 8 + 1);
    if (run->awaited.step != STEP_NONE && (!run->pause_count || run->pauses[0] != run->awaited.step)) reader->is_wrong = true;
    if (bits >> 2) get_notifications(reader);
}

static void get_places(RunReader *reader)
{
    Run *run = reader->run;
    run->bound = get_text(reader);
    uint32_t count = (uint32_t)get(reader, run->step_count);
    for (uint32_t i = 0; i < count && !reader->is_wrong; i++) {
        uint32_t step = get_below(reader, run->step_count), mark = get32(reader);
        if (!mark) reader->is_wrong = true;
        if (!reader->is_wrong) run_set_place(run, step, mark);
    }
}

static void get_all(RunReader *reader)
{
    Run *run = reader->run;
    reader->format = get32(reader);
    if (reader->format < SNAPSHOT_FORMAT_FIRST || reader->format > SNAPSHOT_FORMAT) reader->is_wrong = true;
    get_head(reader);
    if (get(reader, UINT32_MAX) != run->step_count || get(reader, UINT32_MAX) != run->job_count
        || get(reader, UINT32_MAX) != run->loop_count)
        reader->is_wrong = true;
    for (uint32_t i = 0; i < run->step_count && !reader->is_wrong; i++) get_step(reader, i);
    for (uint32_t i = 0; i < run->job_count && !reader->is_wrong; i++) {
        run->jobs[i].state = (uint8_t)get(reader, RUN_STATE_COUNT - 1);
        run->jobs[i].flags = job_flags(get(reader, JOB_FLAGS_OF_STEPS | JOB_FLAGS_OF_PEOPLE >> 1));
    }
    for (uint32_t i = 0; i < run->loop_count; i++) run->loops[i] = get32(reader);
    get_lists(reader);
    get_signals(reader);
    if (reader->format > SNAPSHOT_FORMAT_FIRST) get_rollback(reader);
    if (run->has_waits) get_waits(reader);
    if (reader->format > SNAPSHOT_FORMAT_THIRD) run->directory = get_text(reader);
    if (reader->format > SNAPSHOT_FORMAT_FOURTH) get_places(reader);
    if (reader->at != reader->bytes.len) reader->is_wrong = true;
    if (!reader->is_wrong) count_again(run, reader->plan);
}

Status run_decode(Run *run, const Plan *plan, Str bytes, Error *err)
{
    Run fresh;
    run_init(&fresh, plan, &run->id, run->run_no);
    RunReader reader = { .bytes = bytes, .run = &fresh, .plan = plan };
    get_all(&reader);
    if (reader.is_wrong) {
        run_deinit(&fresh);
        return error_set(err, ERR_CORRUPT, "the snapshot of run %s is damaged, at byte %zu", run->id.text, reader.at);
    }
    run_deinit(run);
    *run = fresh;
    return OK;
}
