#include "exec/builtin/builtin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/heap.h"
#include "base/limits.h"
#include "engine/attempt.h"
#include "lang/shape.h"
#include "value/number.h"

/* Time that a message takes in the engine is no reason to wake it early: a timer that rings before a sleeper is due would
 * ring again and again. */
#define TIMER_MS_MIN 1
#define NEVER INT64_MAX

typedef struct Sleeper {
    AttemptId id;
    bool is_used;
    Cause cause;                        /* of its report, once it is due: CAUSE_CANCELLED where it was ended */
} Sleeper;

typedef struct Builtin {
    Executor base;
    NoticeSink sink;
    int timer_fd;
    int64_t steady_ms, armed_ms;        /* the last turn's; what the timer is set to, or NEVER */
    Sleeper *sleepers;
    uint32_t *free_slots;
    uint32_t slot_count, free_count;
    Heap due;
    bool has_refused;
} Builtin;

static bool builtin_execute(Executor *executor, const Attempt *attempt);
static void builtin_end(Executor *executor, const AttemptId *id);
static void builtin_acknowledge(Executor *executor, const AttemptId *id);
static void builtin_turn(Executor *executor, int64_t steady_ms);
static int  builtin_wake_fd(Executor *executor);
static void builtin_close(Executor *executor);
static const ExecutorOps builtin_ops = {
    .execute = builtin_execute, .end = builtin_end, .acknowledge = builtin_acknowledge, .turn = builtin_turn,
    .wake_fd = builtin_wake_fd, .close = builtin_close,
};

static bool run_log(Builtin *builtin, const Attempt *attempt);
static bool run_noop(Builtin *builtin, const Attempt *attempt);
static bool run_sleep(Builtin *builtin, const Attempt *attempt);

static const struct { Str name; bool (*run)(Builtin *builtin, const Attempt *attempt); } runners[] = {
    { STR_INIT("log"), run_log }, { STR_INIT("noop"), run_noop }, { STR_INIT("sleep"), run_sleep },
};

Status builtin_executor_open(const BuiltinOptions *options, Executor **out_executor, Error *err)
{
    int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd < 0) return error_set(err, ERR_LIMIT, "no descriptor for a timer: %s", strerror(errno));
    Builtin *builtin = calloc(1, sizeof *builtin);
    CHECK(builtin != NULL);
    uint32_t capacity = options->capacity && options->capacity < SLEEP_COUNT_MAX ? options->capacity : SLEEP_COUNT_MAX;
    builtin->base = (Executor){ .ops = &builtin_ops, .name = options->name, .kind = STR("native"), .capacity = capacity };
    builtin->sink = options->sink;
    builtin->timer_fd = timer_fd;
    builtin->armed_ms = NEVER;
    heap_init(&builtin->due);
    *out_executor = &builtin->base;
    return OK;
}

static void builtin_close(Executor *executor)
{
    Builtin *builtin = (Builtin *)executor;
    close(builtin->timer_fd);
    heap_deinit(&builtin->due);
    free(builtin->sleepers);
    free(builtin->free_slots);
    free(builtin);
}

bool builtin_executor_offers(Str runner)
{
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++)
        if (str_is(runner, runners[i].name)) return true;
    return false;
}

/* --- runners ----------------------------------------------------------------------------------------------------- */

static bool send(Builtin *builtin, const Notice *notice)
{
    return builtin->sink.notice(builtin->sink.context, notice);
}

static bool report(Builtin *builtin, const AttemptId *id, Report report)
{
    return send(builtin, &(Notice){ .kind = NOTICE_REPORT, .id = *id, .report = report });
}

static bool builtin_execute(Executor *executor, const Attempt *attempt)
{
    Builtin *builtin = (Builtin *)executor;
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        if (!str_is(attempt->runner, runners[i].name)) continue;
        bool is_taken = runners[i].run(builtin, attempt);
        if (!is_taken) builtin->has_refused = true;
        return is_taken;
    }
    Error err;
    error_set(&err, ERR_NOT_FOUND, "there is no built-in runner %.*s", STR_ARG(attempt->runner));
    return report(builtin, &attempt->id, (Report){ .cause = CAUSE_PERMANENT, .message = str_of(err.text) });
}

/* The line before the report. Where the sink takes the first and not the second, the attempt is offered again and the line
 * stands twice in the log, which is better than not at all. */
static bool run_log(Builtin *builtin, const Attempt *attempt)
{
    const Value *message = value_get_text(attempt->input, "message");
    if (!message) message = &attempt->input;
    if (message->kind != VALUE_STRING)
        return report(builtin, &attempt->id, (Report){ .cause = CAUSE_INPUT_INVALID,
                                                       .message = STR("log: `input.message` is not a text") });
    return send(builtin, &(Notice){ .kind = NOTICE_LOG, .id = attempt->id, .text = value_text(*message) })
        && report(builtin, &attempt->id, (Report){ 0 });
}

static bool run_noop(Builtin *builtin, const Attempt *attempt)
{
    const Value *output = value_get_text(attempt->input, "output");
    return report(builtin, &attempt->id, (Report){ .output = output ? *output : value_null() });
}

/* --- sleep ------------------------------------------------------------------------------------------------------- */

/* A duration as authors write it, or a number of seconds. */
static bool sleep_ms(Value input, int64_t *out_ms)
{
    const Value *duration = value_get_text(input, "duration");
    if (!duration) duration = &input;
    if (duration->kind == VALUE_STRING) return duration_read(value_text(*duration), out_ms);
    int64_t micro;                      /* a number of at most six decimals is one of microseconds here */
    if (!value_is_number(*duration) || !money_read(*duration, &micro) || micro / 1000 > DURATION_MS_MAX) return false;
    *out_ms = (micro + 999) / 1000;
    return true;
}

static void timer_arm(Builtin *builtin)
{
    HeapItem first;
    int64_t due = heap_peek(&builtin->due, &first) ? first.due : NEVER;
    if (due == builtin->armed_ms) return;
    builtin->armed_ms = due;
    int64_t left = due > builtin->steady_ms ? due - builtin->steady_ms : TIMER_MS_MIN;
    struct itimerspec when = { 0 };
    if (due != NEVER) when.it_value = (struct timespec){ left / 1000, left % 1000 * 1000000 };
    CHECK(timerfd_settime(builtin->timer_fd, 0, &when, NULL) == 0);
}

static uint32_t slot_take(Builtin *builtin)
{
    if (builtin->free_count) return builtin->free_slots[--builtin->free_count];
    if ((builtin->slot_count & (builtin->slot_count - 1)) == 0) {       /* 0, 1, 2, 4, ...: full */
        size_t larger = builtin->slot_count ? 2 * (size_t)builtin->slot_count : 1;
        builtin->sleepers = realloc(builtin->sleepers, larger * sizeof *builtin->sleepers);
        builtin->free_slots = realloc(builtin->free_slots, larger * sizeof *builtin->free_slots);
        CHECK(builtin->sleepers && builtin->free_slots);
    }
    return builtin->slot_count++;
}

static bool run_sleep(Builtin *builtin, const Attempt *attempt)
{
    int64_t ms;
    if (!sleep_ms(attempt->input, &ms))
        return report(builtin, &attempt->id, (Report){ .cause = CAUSE_INPUT_INVALID,
            .message = STR("sleep: `input.duration` is neither a duration such as \"30s\" nor a number of seconds") });
    if (builtin->due.count >= builtin->base.capacity) return false;
    if (attempt->steady_ms > builtin->steady_ms) builtin->steady_ms = attempt->steady_ms;
    uint32_t slot = slot_take(builtin);
    builtin->sleepers[slot] = (Sleeper){ .id = attempt->id, .is_used = true };
    heap_put(&builtin->due, slot, builtin->steady_ms + ms);
    timer_arm(builtin);
    return true;
}

/* Those that are due report; where the sink is full they stay due, and the timer rings again. */
static void builtin_turn(Executor *executor, int64_t steady_ms)
{
    Builtin *builtin = (Builtin *)executor;
    uint64_t rung;
    ssize_t got = read(builtin->timer_fd, &rung, sizeof rung);
    if (got > 0) builtin->armed_ms = NEVER;
    if (steady_ms > builtin->steady_ms) builtin->steady_ms = steady_ms;
    for (HeapItem first; heap_peek(&builtin->due, &first) && first.due <= builtin->steady_ms;) {
        Sleeper *sleeper = &builtin->sleepers[first.slot];
        Report outcome = { .cause = sleeper->cause, .message = sleeper->cause ? STR("it was ended on request") : STR("") };
        if (!report(builtin, &sleeper->id, outcome)) break;
        heap_remove(&builtin->due, first.slot);
        sleeper->is_used = false;
        builtin->free_slots[builtin->free_count++] = first.slot;
    }
    if (builtin->has_refused && builtin->due.count < builtin->base.capacity)
        builtin->has_refused = !send(builtin, &(Notice){ .kind = NOTICE_ROOM });
    timer_arm(builtin);
}

/* It is due at once; turn() says so, for which the timer rings. */
static void builtin_end(Executor *executor, const AttemptId *id)
{
    Builtin *builtin = (Builtin *)executor;
    for (uint32_t slot = 0; slot < builtin->slot_count; slot++) {
        Sleeper *sleeper = &builtin->sleepers[slot];
        if (!sleeper->is_used || !attempt_id_is(&sleeper->id, id)) continue;
        sleeper->cause = CAUSE_CANCELLED;
        heap_put(&builtin->due, slot, builtin->steady_ms);
        timer_arm(builtin);
        return;
    }
}

static void builtin_acknowledge(Executor *executor, const AttemptId *id)
{
}

static int builtin_wake_fd(Executor *executor)
{
    return ((Builtin *)executor)->timer_fd;
}
