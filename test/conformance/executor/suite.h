/* suite.h - what every executor has to do, whatever is behind it.
 *
 * A subject says how its executor is opened and how a few kinds of work are written for it; the cases drive it through
 * the port alone. EXECUTOR_CASES(subject) makes a test of every case; a kind of work that a subject has not is passed over.
 */
#ifndef TEST_CONFORMANCE_EXECUTOR_SUITE_H
#define TEST_CONFORMANCE_EXECUTOR_SUITE_H

#include "base/arena.h"
#include "base/buf.h"
#include "engine/executor.h"
#include "engine/notice_ring.h"
#include "harness/test.h"

typedef enum WorkKind {
    WORK_SUCCEEDS,                  /* with the output {"answer": 42}, somewhere in it for some */
    WORK_FAILS,                     /* and says no more: CAUSE_ERROR */
    WORK_FAILS_TRANSIENT, WORK_FAILS_PERMANENT, WORK_FAILS_INPUT, WORK_FAILS_POLICY,
    WORK_LOGS,                      /* the line "a line of its log" */
    WORK_TAKES_LONG,                /* a minute at least; ends when it is told to */
    WORK_HAS_EFFECT,                /* announces {"charge": 5}, acts once that is durable, says that it has acted */
    WORK_KIND_COUNT
} WorkKind;

/* JSON texts; an empty runner: the subject has no such work. */
typedef struct Work { const char *runner, *settings, *input; } Work;

typedef struct Subject {
    const char *name;
    Status (*open)(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err);
    void (*before)(void), (*after)(void);       /* may be NULL */
    const uint16_t *port;           /* stands where the texts of its works say @PORT; may be NULL */
    Work works[WORK_KIND_COUNT];
    bool is_pulled;                 /* workers ask for its work: that there is room it says each time one does */
    bool is_instant;                /* it answers before execute() returns, so that nothing is ever under way */
} Subject;

/* --- for the cases, and for tests of one executor ------------------------------------------------------------------ */

typedef struct Stand {
    const Subject *subject;
    NoticeRing *ring;
    Executor *executor;
    Arena arena;                    /* of attempts and of the notices kept */
    Notice reports[256];
    uint32_t report_count, room_count;
    Notice said[256];               /* all other notices */
    uint32_t said_count;
    int64_t now_ms;
} Stand;

bool stand_open(Stand *stand, const Subject *subject, uint32_t capacity);
void stand_take_down(Stand *stand);
Attempt stand_attempt(Stand *stand, uint32_t number, Work work);
bool stand_execute(Stand *stand, uint32_t number, Work work);
/* Lets time pass until so many reports or other notices are there; false after ten seconds. */
bool stand_await(Stand *stand, uint32_t report_count, uint32_t said_count);
void stand_turn(Stand *stand, int timeout_ms);          /* one look at the descriptors, with what follows from it */
const Report *stand_report(Stand *stand, uint32_t number);      /* of that attempt; NULL where there is none */
const Notice *stand_said(const Stand *stand, NoticeKind kind, uint32_t nth);
bool stand_logged(const Stand *stand, Str part);        /* a line of the log holds this */
/* As the engine, when an effect notice of that attempt is durable. */
void stand_acknowledge(Stand *stand, const Notice *effect);
Str  stand_json(Stand *stand, Value value);

/* --- the cases ----------------------------------------------------------------------------------------------------- */

void executor_success_is_reported_once_with_its_output(const Subject *subject);
void executor_failures_have_their_cause(const Subject *subject);
void executor_log_lines_come_before_the_report(const Subject *subject);
void executor_ended_attempt_reports_soon(const Subject *subject);
void executor_end_of_a_stranger_is_harmless(const Subject *subject);
void executor_refuses_beyond_its_capacity_and_says_when_there_is_room(const Subject *subject);
void executor_close_ends_what_is_under_way(const Subject *subject);
void executor_many_attempts_report_each(const Subject *subject);
void executor_effect_waits_for_its_acknowledgement(const Subject *subject);
void executor_reports_survive_a_full_inbox(const Subject *subject);
void executor_leaks_no_descriptor(const Subject *subject);

#define EXECUTOR_CASE(subject, name) \
    TEST(subject##_##name, "") { executor_##name(&subject); }

#define EXECUTOR_CASES(subject) \
    EXECUTOR_CASE(subject, success_is_reported_once_with_its_output) \
    EXECUTOR_CASE(subject, failures_have_their_cause) \
    EXECUTOR_CASE(subject, log_lines_come_before_the_report) \
    EXECUTOR_CASE(subject, ended_attempt_reports_soon) \
    EXECUTOR_CASE(subject, end_of_a_stranger_is_harmless) \
    EXECUTOR_CASE(subject, refuses_beyond_its_capacity_and_says_when_there_is_room) \
    EXECUTOR_CASE(subject, close_ends_what_is_under_way) \
    EXECUTOR_CASE(subject, many_attempts_report_each) \
    EXECUTOR_CASE(subject, effect_waits_for_its_acknowledgement) \
    EXECUTOR_CASE(subject, reports_survive_a_full_inbox) \
    EXECUTOR_CASE(subject, leaks_no_descriptor)

#endif
