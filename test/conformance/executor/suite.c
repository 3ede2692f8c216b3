#include "conformance/executor/suite.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "value/json.h"

#define AWAIT_MS 60000
#define SOON_MS 30000                   /* well below a minute, well above a slow machine's moment */

/* --- the stand --------------------------------------------------------------------------------------------------- */

static bool open_with_ring(Stand *stand, const Subject *subject, uint32_t capacity, uint32_t ring_count)
{
    memset(stand, 0, sizeof *stand);
    stand->subject = subject;
    arena_init(&stand->arena, SIZE_MAX);
    Error err;
    if (subject->before) subject->before();
    if (!EXPECT_OK(notice_ring_open(ring_count, &stand->ring, &err), &err)) return false;
    return EXPECT_OK(subject->open(notice_ring_sink(stand->ring), capacity, &stand->executor, &err), &err);
}

bool stand_open(Stand *stand, const Subject *subject, uint32_t capacity)
{
    return open_with_ring(stand, subject, capacity, /* ring_count= */ 0);
}

void stand_take_down(Stand *stand)
{
    if (stand->executor) stand->executor->ops->close(stand->executor);
    notice_ring_close(stand->ring);
    arena_deinit(&stand->arena);
    if (stand->subject->after) stand->subject->after();
}

/* The number of the port where the text says @PORT. */
static Str with_port(Stand *stand, Str text)
{
    const uint16_t *port = stand->subject->port;
    size_t at = 0;
    while (port && at < text.len && !str_starts(str_slice(text, at, text.len), STR("@PORT"))) at++;
    if (!port || at == text.len) return text;
    return arena_format(&stand->arena, "%.*s%u%.*s", (int)at, text.ptr, *port, STR_ARG(str_slice(text, at + 5, text.len)));
}

static Value value_of(Stand *stand, const char *text)
{
    Value value = value_null();
    Error err;
    if (text) EXPECT_OK(json_parse(&stand->arena, with_port(stand, str_of(text)), &value, &err), &err);
    return value;
}

Attempt stand_attempt(Stand *stand, uint32_t number, Work work)
{
    return (Attempt){
        .id = { .run_no = 100 + number, .step = number, .attempt = 1, .holder = 7, .serial = 1 + number },
        .run_id = STR("run-of-the-suite"), .tenant = STR("default"), .definition = STR("suite"), .step_id = STR("step"),
        .runner = str_of(work.runner), .settings = value_of(stand, work.settings), .input = value_of(stand, work.input),
        .params = value_of(stand, "{\"p\":1}"), .context = value_null(), .key = STR("key-of-the-step"),
        .traceparent = STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        .now_ms = clock_realtime_ms(), .steady_ms = clock_monotonic_ms(),
    };
}

bool stand_execute(Stand *stand, uint32_t number, Work work)
{
    Attempt attempt = stand_attempt(stand, number, work);
    return stand->executor->ops->execute(stand->executor, &attempt);
}

static Notice notice_keep(Arena *arena, const Notice *notice)
{
    Notice kept = *notice;
    kept.report.message = arena_copy(arena, notice->report.message);
    kept.report.output = value_copy(arena, notice->report.output);
    kept.value = value_copy(arena, notice->value);
    kept.name = arena_copy(arena, notice->name);
    kept.text = arena_copy(arena, notice->text);
    return kept;
}

void stand_turn(Stand *stand, int timeout_ms)
{
    const ExecutorOps *ops = stand->executor->ops;
    int wake = ops->wake_fd ? ops->wake_fd(stand->executor) : -1;
    struct pollfd waits[2] = { { .fd = notice_ring_fd(stand->ring), .events = POLLIN }, { .fd = wake, .events = POLLIN } };
    poll(waits, 2, timeout_ms);
    if (ops->turn) ops->turn(stand->executor, clock_monotonic_ms());
    notice_ring_lower(stand->ring);
    for (Notice notice; notice_ring_take(stand->ring, &notice);) {
        bool is_told = notice.kind == NOTICE_REPORT && notice.teller && notice.teller->ops->settled;
        if (is_told) notice.teller->ops->settled(notice.teller, &notice.id, /* is_taken= */ true);     /* as the engine, when it is durable */
        bool is_renewal = notice.kind == NOTICE_HEARTBEAT && notice.teller && notice.teller->lease_ms;
        if (is_renewal) continue;                           /* the executor keeps a lease alive; nothing follows from it */
        if (notice.kind == NOTICE_ROOM) stand->room_count++;
        else if (notice.kind == NOTICE_REPORT && stand->report_count < 256)
            stand->reports[stand->report_count++] = notice_keep(&stand->arena, &notice);
        else if (notice.kind != NOTICE_REPORT && stand->said_count < 256)
            stand->said[stand->said_count++] = notice_keep(&stand->arena, &notice);
    }
}

void stand_acknowledge(Stand *stand, const Notice *effect)
{
    if (effect->receipt) effect->teller->ops->received(effect->teller, effect->receipt, /* is_taken= */ true);
    else stand->executor->ops->acknowledge(stand->executor, &effect->id);
}

bool stand_await(Stand *stand, uint32_t report_count, uint32_t said_count)
{
    int64_t end = clock_monotonic_ms() + AWAIT_MS;
    while (stand->report_count < report_count || stand->said_count < said_count) {
        if (clock_monotonic_ms() > end) return false;
        stand_turn(stand, 100);
    }
    return true;
}

const Report *stand_report(Stand *stand, uint32_t number)
{
    for (uint32_t i = 0; i < stand->report_count; i++)
        if (stand->reports[i].id.step == number) return &stand->reports[i].report;
    return NULL;
}

const Notice *stand_said(const Stand *stand, NoticeKind kind, uint32_t nth)
{
    for (uint32_t i = 0; i < stand->said_count; i++)
        if (stand->said[i].kind == kind && nth-- == 0) return &stand->said[i];
    return NULL;
}

bool stand_logged(const Stand *stand, Str part)
{
    for (uint32_t i = 0; i < stand->said_count; i++) {
        Str text = stand->said[i].text;
        if (stand->said[i].kind == NOTICE_LOG && memmem(text.ptr ? text.ptr : "", text.len, part.ptr, part.len)) return true;
    }
    return false;
}

Str stand_json(Stand *stand, Value value)
{
    Buf buf;
    buf_init(&buf, 1 << 20);
    Error err;
    EXPECT_OK(json_print(&buf, value, JSON_COMPACT, &err), &err);
    Str text = arena_copy(&stand->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static bool has_work(const Subject *subject, WorkKind kind)
{
    return subject->works[kind].runner != NULL;
}

/* --- the cases --------------------------------------------------------------------------------------------------- */

void executor_success_is_reported_once_with_its_output(const Subject *subject)
{
    Stand stand;
    if (stand_open(&stand, subject, 4) && EXPECT(stand_execute(&stand, 1, subject->works[WORK_SUCCEEDS]))
        && EXPECT(stand_await(&stand, 1, 0))) {
        const Report *report = stand_report(&stand, 1);
        EXPECT_INT(report->cause, CAUSE_NONE);
        EXPECT_INT(stand.reports[0].id.run_no, 101);
        EXPECT_INT(stand.reports[0].id.holder, 7);
        Str output = stand_json(&stand, report->output);
        EXPECT(memmem(output.ptr, output.len, "\"answer\":42", 11) != NULL);
        stand_turn(&stand, 50);
        EXPECT_INT(stand.report_count, 1);
    }
    stand_take_down(&stand);
}

void executor_failures_have_their_cause(const Subject *subject)
{
    static const struct { const char *name; WorkKind kind; Cause cause; } cases[] = {
        { "it says no more", WORK_FAILS, CAUSE_ERROR },
        { "transient", WORK_FAILS_TRANSIENT, CAUSE_TRANSIENT },
        { "permanent", WORK_FAILS_PERMANENT, CAUSE_PERMANENT },
        { "a wrong input", WORK_FAILS_INPUT, CAUSE_INPUT_INVALID },
        { "a policy", WORK_FAILS_POLICY, CAUSE_POLICY },
    };
    Stand stand;
    if (!stand_open(&stand, subject, 4)) return;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!has_work(subject, cases[i].kind)) continue;
        ROW(cases[i].name);
        uint32_t before = stand.report_count;
        EXPECT(stand_execute(&stand, i, subject->works[cases[i].kind]));
        if (!EXPECT(stand_await(&stand, before + 1, 0))) break;
        const Report *report = stand_report(&stand, i);
        EXPECT_INT(report->cause, cases[i].cause);
        EXPECT(report->message.len > 0);
    }
    stand_take_down(&stand);
}

void executor_log_lines_come_before_the_report(const Subject *subject)
{
    if (!has_work(subject, WORK_LOGS)) return;
    Stand stand;
    if (stand_open(&stand, subject, 4) && EXPECT(stand_execute(&stand, 1, subject->works[WORK_LOGS]))
        && EXPECT(stand_await(&stand, 1, 0))) {
        /* Notices are in one order: when the report was there, the line was. */
        EXPECT(stand_logged(&stand, STR("a line of its log")));
        const Notice *line = stand_said(&stand, NOTICE_LOG, 0);
        if (EXPECT(line != NULL)) {
            EXPECT_INT(line->id.run_no, 101);
            EXPECT_STR(line->text, STR("a line of its log"));
        }
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
    }
    stand_take_down(&stand);
}

void executor_ended_attempt_reports_soon(const Subject *subject)
{
    if (!has_work(subject, WORK_TAKES_LONG)) return;
    Stand stand;
    if (stand_open(&stand, subject, 4) && EXPECT(stand_execute(&stand, 1, subject->works[WORK_TAKES_LONG]))) {
        stand_turn(&stand, 100);
        EXPECT_INT(stand.report_count, 0);
        int64_t before = clock_monotonic_ms();
        Attempt attempt = stand_attempt(&stand, 1, subject->works[WORK_TAKES_LONG]);
        stand.executor->ops->end(stand.executor, &attempt.id);
        stand.executor->ops->end(stand.executor, &attempt.id);          /* twice is once */
        if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_CANCELLED);
        EXPECT(clock_monotonic_ms() - before < SOON_MS);
        stand_turn(&stand, 50);
        EXPECT_INT(stand.report_count, 1);
    }
    stand_take_down(&stand);
}

void executor_end_of_a_stranger_is_harmless(const Subject *subject)
{
    Stand stand;
    if (stand_open(&stand, subject, 4)) {
        AttemptId stranger = { .run_no = 999, .step = 9, .attempt = 9, .holder = 9, .serial = 9 };
        stand.executor->ops->end(stand.executor, &stranger);
        stand.executor->ops->acknowledge(stand.executor, &stranger);
        EXPECT(stand_execute(&stand, 1, subject->works[WORK_SUCCEEDS]));
        if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
        EXPECT_INT(stand.report_count, 1);
    }
    stand_take_down(&stand);
}

void executor_refuses_beyond_its_capacity_and_says_when_there_is_room(const Subject *subject)
{
    if (!has_work(subject, WORK_TAKES_LONG)) return;
    Stand stand;
    if (stand_open(&stand, subject, 2)) {
        Work work = subject->works[WORK_TAKES_LONG];
        EXPECT_INT(stand.executor->capacity, 2);
        EXPECT(stand_execute(&stand, 1, work));
        EXPECT(stand_execute(&stand, 2, work));
        EXPECT(!stand_execute(&stand, 3, work));
        EXPECT(!stand_execute(&stand, 3, work));
        if (!subject->is_pulled) EXPECT_INT(stand.room_count, 0);
        Attempt attempt = stand_attempt(&stand, 1, work);
        stand.executor->ops->end(stand.executor, &attempt.id);
        EXPECT(stand_await(&stand, 1, 0));
        for (int i = 0; i < 50 && stand.room_count == 0; i++) stand_turn(&stand, 100);
        if (!subject->is_pulled) EXPECT_INT(stand.room_count, 1);
        EXPECT(stand.room_count >= 1);
        EXPECT(stand_execute(&stand, 3, work));
        EXPECT(!stand_execute(&stand, 4, work));
    }
    stand_take_down(&stand);
}

void executor_close_ends_what_is_under_way(const Subject *subject)
{
    if (!has_work(subject, WORK_TAKES_LONG)) return;
    Stand stand;
    int64_t before = clock_monotonic_ms();
    if (stand_open(&stand, subject, 4)) {
        for (uint32_t i = 0; i < 3; i++) EXPECT(stand_execute(&stand, i, subject->works[WORK_TAKES_LONG]));
        stand_turn(&stand, 50);
    }
    stand_take_down(&stand);
    EXPECT(clock_monotonic_ms() - before < SOON_MS);
}

void executor_many_attempts_report_each(const Subject *subject)
{
    enum { MANY = 200 };
    Stand stand;
    if (stand_open(&stand, subject, 8)) {
        uint32_t next = 0;
        int64_t end = clock_monotonic_ms() + 2 * AWAIT_MS;
        while (stand.report_count < MANY && clock_monotonic_ms() < end) {
            while (next < MANY && stand_execute(&stand, next, subject->works[WORK_SUCCEEDS])) next++;
            stand_turn(&stand, 100);
        }
        EXPECT_INT(stand.report_count, MANY);
        uint32_t missing = 0, failed = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            const Report *report = stand_report(&stand, i);
            if (!report) missing++;
            else if (report->cause) failed++;
        }
        EXPECT_INT(missing, 0);
        EXPECT_INT(failed, 0);
    }
    stand_take_down(&stand);
}

void executor_effect_waits_for_its_acknowledgement(const Subject *subject)
{
    if (!has_work(subject, WORK_HAS_EFFECT)) return;
    Stand stand;
    Work work = subject->works[WORK_HAS_EFFECT];
    if (stand_open(&stand, subject, 4) && EXPECT(stand_execute(&stand, 1, work)) && EXPECT(stand_await(&stand, 0, 1))) {
        const Notice *effect = stand_said(&stand, NOTICE_EFFECT, 0);
        if (EXPECT(effect != NULL)) {
            EXPECT(!effect->is_committed);
            EXPECT_STR(stand_json(&stand, effect->value), STR("{\"charge\":5}"));
        }
        for (int i = 0; i < 4; i++) stand_turn(&stand, 50);
        EXPECT_INT(stand.said_count, 1);                    /* nothing goes on before it is durable */
        EXPECT_INT(stand.report_count, 0);
        if (effect) stand_acknowledge(&stand, effect);
        EXPECT(stand_await(&stand, 0, 2));
        effect = stand_said(&stand, NOTICE_EFFECT, 1);
        EXPECT(effect && effect->is_committed);
        for (int i = 0; i < 4; i++) stand_turn(&stand, 50);
        EXPECT_INT(stand.report_count, 0);
        if (effect) stand_acknowledge(&stand, effect);
        if (EXPECT(stand_await(&stand, 1, 2))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
    }
    stand_take_down(&stand);
}

void executor_reports_survive_a_full_inbox(const Subject *subject)
{
    Stand stand;
    if (open_with_ring(&stand, subject, 8, /* ring_count= */ 2)) {
        uint32_t taken = 0;
        for (; taken < 8 && stand_execute(&stand, taken, subject->works[WORK_SUCCEEDS]); taken++) continue;
        poll(NULL, 0, 100);                                 /* everything is ready, and nobody has taken anything */
        EXPECT(taken >= 2);
        EXPECT(stand_await(&stand, taken, 0));
        EXPECT_INT(stand.report_count, taken);
    }
    stand_take_down(&stand);
}

static int fd_count(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory && readdir(directory)) count++;
    if (directory) closedir(directory);
    return count;
}

void executor_leaks_no_descriptor(const Subject *subject)
{
    Stand stand;
    if (stand_open(&stand, subject, 4)) stand_take_down(&stand);        /* libraries may keep one for ever */
    int before = fd_count();
    if (!stand_open(&stand, subject, 4)) return;
    for (uint32_t i = 0; i < 20; i++) {
        EXPECT(stand_execute(&stand, i, subject->works[WORK_SUCCEEDS]));
        if (!EXPECT(stand_await(&stand, i + 1, 0))) break;
    }
    stand_take_down(&stand);
    EXPECT_INT(fd_count(), before);
}
