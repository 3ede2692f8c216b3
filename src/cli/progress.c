#include "cli/progress.h"

#include <stdio.h>
#include <string.h>

#include "ledger/record.h"
#include "value/json.h"

void progress_init(Progress *progress, const Args *args, const Plan *plan, Store *store)
{
    *progress = (Progress){ .args = args, .plan = plan, .store = store, .is_json = args_flag(args, "json"),
                            .is_quiet = args_flag(args, "quiet") };
}

void progress_begin(Progress *progress, const EngineReply *reply)
{
    progress->run_id = reply->run_id;
    progress->has_run = true;
    progress->run_state = reply->run_state;
    progress->is_over = run_state_is_settled(reply->run_state, reply->resolution);
    if (progress->is_json) return;
    printf(progress->is_quiet ? "%s\n" : "run %s\n", reply->run_id.text);
}

static void print_json(const Observation *observation)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Buf out;
    buf_init(&out, SIZE_MAX);
    for (uint32_t i = 0; i < observation->event_count; i++) {
        Error err;
        if (json_print(&out, event_to_value(&arena, &observation->events[i], observation->first_event + i), JSON_COMPACT, &err) == OK)
            buf_char(&out, '\n');
    }
    print_out(&out);
    buf_deinit(&out);
    arena_deinit(&arena);
}

static const char *noun(const Plan *plan)
{
    return plan->kind == PLAN_RUNBOOK ? "artifact" : "step";
}

static void print_line(Progress *progress, const Observation *observation, const Event *event)
{
    const Plan *plan = observation->plan;
    Str step = event->step < plan->step_count ? plan->steps[event->step].id : (Str){ 0 };
    const char *what = noun(plan);
    switch (event->kind) {
    case EVENT_STEP_RUNNING: printf("[INFO] Starting %s: %.*s\n", what, STR_ARG(step)); break;
    case EVENT_STEP_SUCCEEDED: printf("[INFO] Completed %s: %.*s\n", what, STR_ARG(step)); break;
    case EVENT_STEP_FAILED: printf("[ERROR] Failed %s: %.*s: %.*s\n", what, STR_ARG(step), STR_ARG(event->text)); break;
    case EVENT_ATTEMPT_FAILED:
        printf("[WARN] Attempt %u of %s %.*s failed: %.*s\n", event->attempt, what, STR_ARG(step), STR_ARG(event->text));
        break;
    case EVENT_STEP_SKIPPED:
        for (uint32_t i = event->step; i <= (event->last > event->step ? event->last : event->step); i++)
            printf("[INFO] Skipped %s: %.*s (%s)\n", what, STR_ARG(plan->steps[i].id), skip_reason_name((SkipReason)event->reason));
        break;
    case EVENT_STEP_WAITING:
        printf("[INFO] Waiting for signal %.*s: %.*s\n", STR_ARG(event->name), STR_ARG(step));
        break;
    case EVENT_RUN_PAUSED: printf("[INFO] Run paused\n"); break;
    default: break;
    }
    (void)progress;
}

static void count(Progress *progress, const Event *event)
{
    if (event->kind == EVENT_STEP_SUCCEEDED) progress->done_count++;
    if (event->kind == EVENT_STEP_FAILED) progress->failed_count++;
    if (event->kind == EVENT_STEP_SKIPPED) progress->skipped_count += event->last > event->step ? event->last - event->step + 1 : 1;
    if (event->kind == EVENT_RUN_SUCCEEDED) progress->run_state = RUN_SUCCEEDED;
    if (event->kind == EVENT_RUN_CANCELLED) progress->run_state = RUN_CANCELLED;
    if (event->kind == EVENT_RUN_FAILED) {
        progress->run_state = RUN_FAILED;
        progress->failure = arena_copy(progress->args->arena, event->text);
    }
    if (event->kind == EVENT_RUN_SUCCEEDED || event->kind == EVENT_RUN_CANCELLED || event->kind == EVENT_RUN_FAILED)
        progress->is_over = true;
}

void progress_take(Progress *progress, const Observation *observation)
{
    if (progress->has_run && memcmp(observation->run->id.text, progress->run_id.text, ID_SIZE) != 0) return;
    if (observation->kind == OBSERVE_LOG) {
        if (!progress->is_json && !progress->is_quiet)
            printf("[%s] %.*s: %.*s\n", observation->is_error ? "WARN" : "INFO",
                   STR_ARG(observation->plan->steps[observation->step].name), STR_ARG(observation->text));
        return;
    }
    if (observation->kind != OBSERVE_EVENTS) return;
    if (progress->is_json) print_json(observation);
    for (uint32_t i = 0; i < observation->event_count; i++) {
        count(progress, &observation->events[i]);
        if (!progress->is_json && !progress->is_quiet) print_line(progress, observation, &observation->events[i]);
    }
}

bool progress_is_over(const Progress *progress) { return progress->is_over; }
int64_t progress_wait_ms(const Progress *progress) { (void)progress; return -1; }
void progress_draw(Progress *progress) { (void)progress; fflush(stdout); }

ExitCode progress_end(Progress *progress, bool is_repeat, bool is_interrupted)
{
    if (is_interrupted && !progress->is_over) {
        fprintf(stderr, "interrupted; the run goes on with: maestro resume %s\n", progress->run_id.text);
        return EXIT_CODE_TEMPORARY;
    }
    if (!progress->is_json && !progress->is_quiet) {
        printf("%s: %u completed, %u failed, %u skipped%s\n", run_state_name((RunState)progress->run_state), progress->done_count,
               progress->failed_count, progress->skipped_count, is_repeat ? " (this run had ended before)" : "");
        if (progress->failure.len) printf("why: %.*s\n", STR_ARG(progress->failure));
    }
    return progress->run_state == RUN_SUCCEEDED ? EXIT_CODE_OK : EXIT_CODE_RUN_FAILED;
}
