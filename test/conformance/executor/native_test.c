/* Native functions as an executor, and what only they have. */
#include "exec/native/native.h"

#include <poll.h>
#include <stdatomic.h>

#include "conformance/executor/suite.h"
#include "value/json.h"

static Status run_succeed(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    Error err;
    return json_parse(arena, STR("{\"answer\":42}"), &out_report->output, &err);
}

/* The status to return is the context. */
static Status run_fail(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    return *(const Status *)context;
}

static Status run_say_cause(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    *out_report = (Report){ .cause = CAUSE_PERMANENT, .message = arena_copy(arena, STR("never again")) };
    return ERR_UNAVAILABLE;
}

static Status run_log(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    native_call_log(call, STR("a line of its log"), /* is_error= */ false);
    return OK;
}

static Status run_long(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    for (int i = 0; i < 6000 && !native_call_is_ended(call); i++) poll(NULL, 0, 10);
    return ERR_UNAVAILABLE;
}

static Status run_effect(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    Error err;
    Value effect;
    Status status = json_parse(arena, STR("{\"charge\":5}"), &effect, &err);
    if (status) return status;
    if (!native_call_effect(call, &(Notice){ .kind = NOTICE_EFFECT, .value = effect })) return ERR_UNAVAILABLE;
    if (!native_call_effect(call, &(Notice){ .kind = NOTICE_EFFECT, .value = value_null(), .is_committed = true })) return ERR_UNAVAILABLE;
    return OK;
}

static Status conflict = ERR_CONFLICT, unavailable = ERR_UNAVAILABLE, invalid = ERR_INVALID, denied = ERR_DENIED;
static const NativeFunction functions[] = {
    { STR_INIT("succeed"), run_succeed, NULL, false },       { STR_INIT("quick"), run_succeed, NULL, true },
    { STR_INIT("fail"), run_fail, &conflict, false },        { STR_INIT("transient"), run_fail, &unavailable, false },
    { STR_INIT("permanent"), run_say_cause, NULL, false },   { STR_INIT("invalid"), run_fail, &invalid, false },
    { STR_INIT("denied"), run_fail, &denied, false },        { STR_INIT("log"), run_log, NULL, false },
    { STR_INIT("long"), run_long, NULL, false },             { STR_INIT("effect"), run_effect, NULL, false },
};

static Status open_native(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    NativeOptions options = { .name = STR("native"), .functions = functions, .thread_count = 3, .capacity = capacity,
                              .function_count = sizeof functions / sizeof *functions, .sink = sink };
    return native_executor_open(&options, out_executor, err);
}

static const Subject native = {
    .name = "native", .open = open_native,
    .works = { [WORK_SUCCEEDS] = { "succeed", NULL, NULL }, [WORK_FAILS] = { "fail", NULL, NULL },
               [WORK_FAILS_TRANSIENT] = { "transient", NULL, NULL }, [WORK_FAILS_PERMANENT] = { "permanent", NULL, NULL },
               [WORK_FAILS_INPUT] = { "invalid", NULL, NULL }, [WORK_FAILS_POLICY] = { "denied", NULL, NULL },
               [WORK_LOGS] = { "log", NULL, NULL }, [WORK_TAKES_LONG] = { "long", NULL, NULL },
               [WORK_HAS_EFFECT] = { "effect", NULL, NULL } },
};
EXECUTOR_CASES(native)

/* The same without a thread: everything is quick. */
static Status open_inline(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    NativeOptions options = { .name = STR("native"), .functions = functions, .capacity = capacity,
                              .function_count = sizeof functions / sizeof *functions, .sink = sink };
    return native_executor_open(&options, out_executor, err);
}

static const Subject quick = {
    .name = "quick", .open = open_inline, .is_instant = true,
    .works = { [WORK_SUCCEEDS] = { "succeed", NULL, NULL }, [WORK_FAILS] = { "fail", NULL, NULL },
               [WORK_FAILS_TRANSIENT] = { "transient", NULL, NULL }, [WORK_FAILS_PERMANENT] = { "permanent", NULL, NULL },
               [WORK_LOGS] = { "log", NULL, NULL } },
};
EXECUTOR_CASES(quick)

TEST(native_function_declared_quick_answers_inside_execute, "")
{
    Stand stand;
    if (stand_open(&stand, &native, 4)) {
        EXPECT(stand_execute(&stand, 1, (Work){ "quick", NULL, NULL }));
        Notice notice;
        EXPECT(notice_ring_take(stand.ring, &notice));      /* without any waiting */
        EXPECT_INT(notice.kind, NOTICE_REPORT);
    }
    stand_take_down(&stand);
}

TEST(native_runner_that_nobody_registered_fails_for_good, "")
{
    Stand stand;
    if (stand_open(&stand, &native, 4) && EXPECT(stand_execute(&stand, 1, (Work){ "stranger", NULL, NULL }))
        && EXPECT(stand_await(&stand, 1, 0))) {
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_PERMANENT);
        EXPECT_STR(stand_report(&stand, 1)->message, STR("no function is registered for the runner stranger"));
    }
    stand_take_down(&stand);
}

TEST(native_attempt_that_waits_for_a_thread_is_ended_without_running, "")
{
    Stand stand;
    if (stand_open(&stand, &native, 8)) {
        for (uint32_t i = 0; i < 3; i++) EXPECT(stand_execute(&stand, i, (Work){ "long", NULL, NULL }));
        EXPECT(stand_execute(&stand, 5, (Work){ "succeed", NULL, NULL }));
        Attempt attempt = stand_attempt(&stand, 5, (Work){ "succeed", NULL, NULL });
        poll(NULL, 0, 50);
        stand.executor->ops->end(stand.executor, &attempt.id);
        if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 5)->cause, CAUSE_CANCELLED);
    }
    stand_take_down(&stand);
}

static atomic_bool may_return;

static Status run_stubborn(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report)
{
    while (!atomic_load(&may_return)) poll(NULL, 0, 5);
    native_call_log(call, STR("nobody listens"), /* is_error= */ false);
    return OK;
}

TEST(native_function_that_never_returns_does_not_hold_up_closing, "")
{
    static const NativeFunction stubborn = { STR_INIT("stubborn"), run_stubborn, NULL, false };
    Error err;
    NoticeRing *ring;
    Executor *executor;
    REQUIRE_OK(notice_ring_open(0, &ring, &err), &err);
    NativeOptions options = { .name = STR("native"), .functions = &stubborn, .function_count = 1, .thread_count = 1,
                              .sink = notice_ring_sink(ring), .close_ms = 50 };
    REQUIRE_OK(native_executor_open(&options, &executor, &err), &err);
    Attempt attempt = { .runner = STR("stubborn") };
    EXPECT(executor->ops->execute(executor, &attempt));
    poll(NULL, 0, 50);
    executor->ops->close(executor);
    notice_ring_close(ring);                                /* the function goes on, and touches neither any more */
    atomic_store(&may_return, true);
    poll(NULL, 0, 100);
}

TEST(native_executor_with_too_many_threads_is_refused, "")
{
    Error err;
    Executor *executor;
    NativeOptions options = { .name = STR("native"), .thread_count = 100000 };
    EXPECT_INT(native_executor_open(&options, &executor, &err), ERR_LIMIT);
}
