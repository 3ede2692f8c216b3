/* Stories of runs that wait: for triggers, polls, keys and owners. Time is the test's; owners die by engine_close(). */
#include "engine/house.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "engine/internal.h"
#include "harness/test.h"

/* --- pauses --------------------------------------------------------------------------------------------------------------------- */

#define PAUSE(more) "workflow: p\njobs:\n  a:\n    tasks:\n      - { name: ask, run: noop, pause_after: { trigger: boss" more " } }\n" \
                    "      - { name: act, run: noop }\n"

static const Command resume_it = { .kind = COMMAND_RESUME };
static const Command trigger_it = { .kind = COMMAND_TRIGGER, .name = STR_INIT("boss") };

TEST(a_resumed_pause_is_not_resumed_again_by_its_own_timer, "proves: A-188")
{
    static const struct { const char *name, *text; } rows[] = {
        { "scheduled", PAUSE(", auto_resume_after: 1h") }, { "approved", PAUSE(", timeout: 1h, on_timeout: auto_approve") },
        { "failing", PAUSE(", timeout: 1h") },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int dies = 0; dies < 2; dies++) {
            ROW(rows[i].name);
            House house;
            house_open(&house);
            uint64_t run = house_start(&house, rows[i].text);
            house_report(&house, CAUSE_NONE, NULL);
            house_expect(&house, run, "PAUSED", "boss");
            house_wait(&house, 1800000);
            EXPECT_INT(house_command(&house, run, resume_it, NULL), OK);
            house_expect(&house, run, "RUNNING", "");
            EXPECT_INT(house.taken_count, 2);
            EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_PAUSE }, NULL), OK);
            if (dies) house_kill_owner(&house);
            house_wait(&house, 3 * 3600000);                           /* its time comes, and finds a pause that is none of its own */
            house_expect(&house, run, "PAUSED", "");
            EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_ENDED), 1);
            EXPECT_INT(house_last_sort(&house, run, EVENT_TRIGGER_ENDED), TRIGGER_RESUMED);
            EXPECT_INT(house_count(&house, run, EVENT_RUN_FAILING), 0);
            EXPECT_INT(house_command(&house, run, resume_it, NULL), OK);
            if (dies) house.reported = house.taken_count - 1;
            house_report(&house, CAUSE_NONE, NULL);
            house_expect(&house, run, "SUCCEEDED", "");
            house_close(&house);
        }
}

TEST(what_is_due_is_acted_on_at_once_and_what_was_missed_within_a_minute, "proves: C-35")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, PAUSE(", auto_resume_after: 30s"));
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "PAUSED", "boss");
    EXPECT_INT(engine_due_ms(house.engine), house.now_ms + 30000);     /* it sleeps until then, and no longer */
    house_wait(&house, 29999);
    house_expect(&house, run, "PAUSED", "boss");
    house_wait(&house, 1);
    house_expect(&house, run, "RUNNING", "");
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");

    run = house_start(&house, PAUSE(", auto_resume_after: 30s"));
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "PAUSED", "boss");
    timer_forget(house.engine, run);                                   /* memory has lost it, and the store has not */
    EXPECT(engine_due_ms(house.engine) <= house.now_ms + TIMER_SWEEP_MS);
    house_wait(&house, TIMER_SWEEP_MS);
    house_expect(&house, run, "RUNNING", "");
    EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_ENDED), 1);
    for (int i = 0; i < 3; i++) {                                      /* looking again finds nothing more to do */
        timer_note(house.engine, run, house.now_ms);
        house_wait(&house, TIMER_SWEEP_MS);
    }
    EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_ENDED), 1);
    EXPECT_INT(house_count(&house, run, EVENT_STEP_DISPATCHED), 2);
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");
    house_close(&house);
}

TEST(stop_on_a_suspended_run_ends_it_for_good, "proves: C-09")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, PAUSE(", auto_resume_after: 1h"));
    house_report(&house, CAUSE_NONE, NULL);
    house_kill_owner(&house);
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_CANCEL }, NULL), OK);
    house_expect(&house, run, "CANCELLED", "");
    EXPECT_INT(house_last_sort(&house, run, EVENT_TRIGGER_ENDED), TRIGGER_CANCELLED);
    uint32_t taken = house.taken_count;
    house_wait(&house, 2 * 3600000);
    EXPECT_INT(house_command(&house, run, resume_it, NULL), ERR_CONFLICT);
    EXPECT_INT(house_command(&house, run, trigger_it, "{}"), ERR_CONFLICT);
    EXPECT_INT(house.taken_count, taken);
    EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_ENDED), 1);
    house_expect(&house, run, "CANCELLED", "");
    house_close(&house);
}

TEST(a_late_trigger_after_a_manual_resume_is_refused_and_recorded_nowhere_as_an_answer, "proves: C-99")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, PAUSE(""));
    house_report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house_command(&house, run, resume_it, NULL), OK);
    EXPECT_INT(house_command(&house, run, trigger_it, "{\"late\":true}"), ERR_CONFLICT);
    EXPECT(strstr(house.why, "no longer awaited") != NULL);
    EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_RECEIVED), 0);
    EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_ENDED), 1);
    EXPECT_INT(house_last_sort(&house, run, EVENT_TRIGGER_ENDED), TRIGGER_RESUMED);
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");
    EXPECT_INT(house_command(&house, run, trigger_it, "{\"late\":true}"), ERR_CONFLICT);
    house_close(&house);
}

TEST(a_trigger_that_comes_before_its_pause_outlives_the_owner_and_answers_it_once, "proves: C-99")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, PAUSE(", resume_when: payload.ok == true"));
    EXPECT_INT(house_command(&house, run, trigger_it, "{\"ok\":true}"), OK);
    house_kill_owner(&house);                                             /* while the task before the pause is carried out */
    EXPECT_INT(house.taken_count, 2);
    house.reported = 1;
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "RUNNING", "");                         /* it did not wait */
    EXPECT_INT(house_last_sort(&house, run, EVENT_TRIGGER_ENDED), TRIGGER_ANSWERED);
    EXPECT_INT(house_count(&house, run, EVENT_RUN_PAUSED), 0);
    EXPECT_INT(house_command(&house, run, trigger_it, "{\"ok\":true}"), ERR_CONFLICT);
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");
    EXPECT_INT(house_count(&house, run, EVENT_TRIGGER_ENDED), 1);
    house_close(&house);
}

/* --- polls ---------------------------------------------------------------------------------------------------------------------- */

TEST(a_poll_survives_its_owners_for_days_and_is_made_once_an_interval, "proves: A-157 A-174 C-87")
{
    House house;
    house_open(&house);
    uint64_t run =
        house_start(&house,
                    "workflow: w\njobs:\n  a:\n    tasks:\n      - { name: wait, run: noop, poll: { interval: 6h, max_duration: 20d } }\n");
    for (uint32_t day = 0; day < 12; day++)
        for (uint32_t poll = 0; poll < 4; poll++) {
            if (!EXPECT_INT(house.taken_count, day * 4 + poll + 1)) return;
            house_report(&house, CAUSE_NONE, "{\"complete\":false}");
            EXPECT_INT(engine_stats(house.engine).run_count, 0);    /* nothing of it is in memory */
            house_wait(&house, 3 * 3600000);
            if (poll == 1) house_kill_owner(&house);
            EXPECT_INT(house.taken_count, day * 4 + poll + 1);      /* no owner makes one before its time */
            house_wait(&house, 3 * 3600000);
        }
    for (uint32_t i = 1; i < house.taken_count; i++) EXPECT(!str_is(house.keys[i], house.keys[i - 1]));
    engine_close(house.engine);                                     /* nobody is there for two days: one poll is made late, once */
    house.reported = house.taken_count;
    house.now_ms += 48 * 3600000;
    house_own(&house);
    EXPECT_INT(house.taken_count, 50);                              /* the one that was under way, again */
    EXPECT_STR(house.keys[49], house.keys[48]);
    house_report(&house, CAUSE_NONE, "{\"complete\":true,\"output\":{\"paid\":true}}");
    house_expect(&house, run, "SUCCEEDED", "");
    EXPECT_INT(house_count(&house, run, EVENT_POLL_ATTEMPTED), 49);
    house_close(&house);
}

typedef struct RowText { Str key; uint32_t key_column, column; char text[64]; } RowText;

static bool take_row_text(void *context, const Cell *cells, uint32_t count)
{
    RowText *row = context;
    (void)count;
    if (!str_is(cells[row->key_column].text, row->key)) return true;
    const Cell *cell = &cells[row->column];
    if (cell->kind == CELL_INT) snprintf(row->text, sizeof row->text, "%lld", (long long)cell->integer);
    else snprintf(row->text, sizeof row->text, "%.*s", STR_ARG(cell->kind == CELL_NULL ? STR("null") : cell->text));
    return true;
}

/* A cell of the row of a step. */
static Str row_text(House *house, RowText *row, Query query, const Cell *params, uint32_t param_count)
{
    Error err;
    QueryAsk ask = { .query = query, .param_count = param_count, .row_count_max = 100 };
    memcpy(ask.params, params, param_count * sizeof *params);
    row->text[0] = '\0';
    EXPECT_OK(store_select(house->store, &ask, take_row_text, row, &err), &err);
    return str_of(row->text);
}

static void expect_result(House *house, uint64_t run, const char *step, uint32_t column, const char *want)
{
    RowText row = { .key = str_of(step), .key_column = STEP_RUNS_step_key, .column = column };
    EXPECT_STR(row_text(house, &row, QUERY_STEP_RUNS, (Cell[]){ cell_int((int64_t)run), cell_int(0) }, 2), str_of(want));
}

static void expect_undo(House *house, uint64_t run, const char *step, uint32_t column, const char *want)
{
    RowText row = { .key = str_of(step), .key_column = COMPENSATIONS_step_key, .column = column };
    EXPECT_STR(row_text(house, &row, QUERY_COMPENSATIONS, (Cell[]){ cell_int((int64_t)run) }, 1), str_of(want));
}

#define POLL(more) "workflow: w\njobs:\n  a:\n    tasks:\n" \
                   "      - { name: ask, run: noop, poll: { interval: 30s, max_duration: 1h, max_attempts: 2" more " } }\n"

TEST(a_poll_at_its_limit_leaves_a_row_that_says_how_the_run_goes_on, "")
{
    static const struct { const char *name, *text, *state, *status, *message; } rows[] = {
        { "fails", POLL(""), "FAILED", "FAILED", "" },
        { "goes on", POLL(", on_timeout: continue_with_default, default_output: { paid: false }"), "SUCCEEDED", "COMPLETED", "null" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        House house;
        house_open(&house);
        uint64_t run = house_start(&house, rows[i].text);
        house_report(&house, CAUSE_NONE, "{\"continue\":true}");
        expect_result(&house, run, "a.ask", STEP_RUNS_status, "POLLING");
        house_wait(&house, 30000);
        house_report(&house, CAUSE_NONE, "{\"continue\":true}");
        EXPECT_INT(house_count(&house, run, EVENT_POLL_TIMED_OUT), 1);
        house_expect(&house, run, rows[i].state, "");
        expect_result(&house, run, "a.ask", STEP_RUNS_status, "TIMED_OUT");
        expect_result(&house, run, "a.ask", STEP_RUNS_result, rows[i].status);
        expect_result(&house, run, "a.ask", STEP_RUNS_next_poll_at, "null");
        if (*rows[i].message) expect_result(&house, run, "a.ask", STEP_RUNS_error_message, rows[i].message);
        house_close(&house);
    }
}

/* --- compensation --------------------------------------------------------------------------------------------------------------- */

TEST(a_compensation_that_fails_waits_for_a_person_who_retries_or_skips_it, "")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, "workflow: w\non_failure: compensate_all\njobs:\n  a:\n    tasks:\n"
        "      - { name: one, run: noop, compensation: { run: noop, retries: { attempts: 1 } } }\n"
        "      - { name: two, run: noop, compensation: { run: noop, retries: { attempts: 2, delay: 1s, jitter_ms: 0 } } }\n"
        "      - { name: three, run: noop }\n");
    house_report(&house, CAUSE_NONE, NULL);
    house_report(&house, CAUSE_NONE, NULL);
    house_report(&house, CAUSE_PERMANENT, NULL);
    house_expect(&house, run, "COMPENSATING", "");
    expect_undo(&house, run, "a.one", COMPENSATIONS_status, "PENDING");
    expect_undo(&house, run, "a.two", COMPENSATIONS_status, "RUNNING");
    expect_undo(&house, run, "a.two", COMPENSATIONS_max_attempts, "2");

    ROW("the last try of it");
    house_report(&house, CAUSE_TRANSIENT, NULL);
    expect_undo(&house, run, "a.two", COMPENSATIONS_status, "FAILED");
    expect_undo(&house, run, "a.two", COMPENSATIONS_finished_ms, "null");      /* it is tried again */
    house_wait(&house, 60000);
    expect_undo(&house, run, "a.two", COMPENSATIONS_attempt, "2");
    house_report(&house, CAUSE_TRANSIENT, NULL);
    house_expect(&house, run, "COMPENSATION_FAILED", "");
    expect_undo(&house, run, "a.two", COMPENSATIONS_status, "FAILED");
    expect_undo(&house, run, "a.two", COMPENSATIONS_failure_message, "broken");

    ROW("retried");
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_RETRY_COMPENSATION }, NULL), OK);
    house_expect(&house, run, "COMPENSATING", "");
    expect_undo(&house, run, "a.two", COMPENSATIONS_finished_ms, "null");
    house_report(&house, CAUSE_NONE, NULL);
    expect_undo(&house, run, "a.two", COMPENSATIONS_status, "SUCCEEDED");
    expect_undo(&house, run, "a.two", COMPENSATIONS_failure_message, "null");

    ROW("skipped");
    house_report(&house, CAUSE_PERMANENT, NULL);
    house_expect(&house, run, "COMPENSATION_FAILED", "");
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_SKIP_COMPENSATION }, NULL), OK);
    house_expect(&house, run, "COMPENSATED", "");
    expect_undo(&house, run, "a.one", COMPENSATIONS_status, "SKIPPED");
    EXPECT_INT(house_count(&house, run, EVENT_RUN_COMPENSATION_FAILED), 2);
    house_close(&house);
}

/* --- retries -------------------------------------------------------------------------------------------------------------------- */

TEST(a_selective_retry_reruns_no_more_than_its_set, "proves: A-053")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(
        &house,
        "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop }] }\n  b: { needs: a, tasks: [{ name: t, run: noop }] }\n"
        "  c: { needs: a, tasks: [{ name: t, run: noop }] }\n  d: { needs: [b, c], tasks: [{ name: t, run: noop }] }\n"
        "failure_mode: continue-independent\n");
    house_report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house.taken_count, 3);                               /* b and c, at once */
    house_report(&house, CAUSE_PERMANENT, NULL);
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_RETRY_FROM, .name = STR("b.t") }, NULL), ERR_CONFLICT);   /* c runs still */
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "FAILED", "");
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_RETRY_FROM, .name = STR("b.t") }, NULL), OK);
    EXPECT_INT(house.taken_count, 4);
    EXPECT_INT(house.taken[3].step, house.taken[1].step);           /* b, and neither a nor c */
    EXPECT_INT(house_count(&house, run, EVENT_STEP_SUPERSEDED), 2);    /* b and d */
    house_kill_owner(&house);
    EXPECT_INT(house.taken_count, 5);
    house_report(&house, CAUSE_NONE, NULL);
    house_report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house.taken_count, 6);
    house_expect(&house, run, "SUCCEEDED", "");
    house_close(&house);
}

/* --- keys ------------------------------------------------------------------------------------------------------------------------ */

#define KEYED "{ strategy: dedupe-key, key: one, domain: d }"

/* Two steps of a run and one of another have one key: one is carried out, the others take what it gave, whoever owns the log. */
TEST(a_memoised_fan_out_does_not_hang, "proves: F-059")
{
    for (int kills = 0; kills < 3; kills++) {
        House house;
        house_open(&house);
        static const char fan[] = "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop, idempotency: " KEYED
                                  " }] }\n"
                                  "  b: { tasks: [{ name: t, run: noop, idempotency: " KEYED
                                  " }] }\n  c: { needs: [a, b], tasks: [{ name: t, run: noop }] }\n";
        uint64_t first = house_start(&house, fan), second = house_start(&house, fan);
        EXPECT_INT(house.taken_count, 1);
        if (kills >= 1) house_kill_owner(&house);
        uint32_t taken = kills >= 1 ? 2 : 1;
        EXPECT_INT(house.taken_count, taken);                       /* one of the four, and only one */
        if (kills >= 1) house.reported = taken - 1;
        house_report(&house, CAUSE_NONE, "{\"x\":1}");
        EXPECT_INT(house.taken_count, taken + 2);                   /* c of both */
        if (kills == 2) house_kill_owner(&house);
        while (house.reported < house.taken_count) house_report(&house, CAUSE_NONE, NULL);
        house_expect(&house, first, "SUCCEEDED", "");
        house_expect(&house, second, "SUCCEEDED", "");
        EXPECT(engine_is_idle(house.engine));
        house_close(&house);
    }
}

/* --- owners ---------------------------------------------------------------------------------------------------------------------- */

TEST(an_owner_that_ends_in_order_gives_back_what_it_has_and_nothing_counts_as_lost, "proves: C-22")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop, spawn_budget: 10 }] }\n");
    for (uint32_t i = 0; i < 3 * LOST_COUNT_MAX; i++) {
        EXPECT_INT(house.taken_count, i + 1);
        EXPECT(!engine_release(house.engine));
        house_turns(&house);
        EXPECT(engine_release(house.engine));
        EXPECT_INT(house.taken_count, i + 1);                       /* an owner that ends begins nothing */
        Notice late = { .kind = NOTICE_REPORT, .id = house.taken[i], .report = { .output = value_null() } };
        engine_notice(house.engine, &late);
        house_turns(&house);
        house_expect(&house, run, "RUNNING", "");                     /* what was given back is not heard */
        house_kill_owner(&house);
    }
    EXPECT_INT(house.taken_count, 3 * LOST_COUNT_MAX + 1);
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");
    house_close(&house);
}

TEST(owners_that_end_in_order_do_not_begin_a_step_more_often_than_its_budget_permits, "proves: E-015 E-017 E-053 E-057")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, "workflow: w\njobs:\n  a: { tasks: [{ name: t, run: noop, spawn_budget: 2 }] }\n");
    for (uint32_t i = 0; i < 2; i++) {
        house_expect(&house, run, "RUNNING", "");
        EXPECT(!engine_release(house.engine));
        house_turns(&house);
        EXPECT_INT(engine_stats(house.engine).drop_counts[DROP_SPAWN_BUDGET], i);
        house_kill_owner(&house);
    }
    EXPECT_INT(house.taken_count, 2);
    house_expect(&house, run, "FAILED", "");
    house_close(&house);
}
