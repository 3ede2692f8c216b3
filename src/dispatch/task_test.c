#include "dispatch/task.h"

#include "harness/test.h"

static const Pressure none = { 0 };

typedef struct Destination { const SubRoutineGroup *group; uint32_t call_count, room; int8_t primary_state; bool all_withdrawn; } Destination;

/* Looks at the group in the moment of the call. */
static bool take(void *destination, const void *task)
{
    Destination *at = destination;
    (void)task;
    at->primary_state = at->group->primary.state;
    at->all_withdrawn = true;
    for (uint32_t i = 0; i < at->group->cooperative_count; i++)
        at->all_withdrawn = at->all_withdrawn && at->group->cooperatives[i].state == SUBROUTINE_WITHDRAWN;
    if (at->call_count >= at->room) return false;
    at->call_count++;
    return true;
}

static Task accepted(uint32_t budget, uint32_t depth_max, Intent intent)
{
    Task task = { 0 };
    Error err;
    TaskTerms terms = { .intent = intent, .spawn_budget = budget, .retry_depth_max = depth_max, .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
    EXPECT_INT(task_accept(&terms, &task, &err), OK);
    return task;
}

static bool carry_out(Task *task, const Admission *admission)
{
    SubRoutineGroup group = group_spawn(admission->cooperative_count);
    Destination at = { .group = &group, .room = 1 };
    return task_dispatch(task, &group, take, &at, NULL);
}

static bool keep_cargo(void *destination, const void *cargo)
{
    *(const void **)destination = cargo;
    return true;
}

TEST(rfc_3_1_a_sub_routine_delivers_what_it_is_given_and_is_gone, "proves: E-004 E-013")
{
    static const char cargo[] = "cargo";
    const void *delivered = NULL;
    SubRoutineGroup group = group_spawn(COOPERATIVE_COUNT_MAX), fresh = group_spawn(COOPERATIVE_COUNT_MAX);
    EXPECT(group_dispatch(&group, keep_cargo, &delivered, cargo));
    EXPECT(delivered == cargo);                                 /* itself, at its destination */
    EXPECT(group.is_over && !fresh.is_over);
    EXPECT(!group_dispatch(&group, keep_cargo, &delivered, cargo));
    EXPECT(!group_withdraw(&group));                            /* nothing can be done with it any more */
    EXPECT(sizeof group < sizeof(void *));                      /* no reference to the cargo or the destination fits into it */
}

TEST(rfc_5_1_cooperatives_share_pressure_and_neither_ownership_nor_outcome, "proves: E-021 E-027 E-042 E-024")
{
    for (uint32_t count = 0; count <= COOPERATIVE_COUNT_MAX; count++) {
        static const char cargo[] = "cargo";
        const void *delivered = NULL;
        Task task = accepted(9, 2, INTENT_NORMAL), alone = task;
        EXPECT_INT(task_admit(&task, &none).kind, ADMISSION_ADMIT);
        EXPECT_INT(task_admit(&alone, &none).kind, ADMISSION_ADMIT);
        SubRoutineGroup group = group_spawn(count), single = group_spawn(0);
        EXPECT(task_dispatch(&task, &group, keep_cargo, &delivered, cargo));
        EXPECT(delivered == cargo);
        EXPECT(task_dispatch(&alone, &single, keep_cargo, &delivered, cargo));
        EXPECT_INT(task.stage, alone.stage);                    /* the task is the same with and without them */
        EXPECT_INT(task.retry_depth, alone.retry_depth);
        EXPECT_INT(group.primary.state, single.primary.state);
        for (uint32_t i = 0; i < count; i++) EXPECT_INT(group.cooperatives[i].state, SUBROUTINE_WITHDRAWN);
    }
}

TEST(rfc_6_a_dispatch_is_followed_by_one_signal_of_three_at_most, "proves: E-043 E-044")
{
    EXPECT_INT(OUTCOME_SIGNAL_COUNT, 3);                        /* none of them says that something succeeded */
    for (int first = 0; first < OUTCOME_SIGNAL_COUNT; first++)
        for (int second = 0; second < OUTCOME_SIGNAL_COUNT; second++) {
            Task task = accepted(9, 5, INTENT_LIGHT);
            EXPECT(!task_signal(&task, (OutcomeSignal)first));  /* nothing was dispatched */
            Admission admission = task_admit(&task, &none);
            EXPECT(!task_signal(&task, (OutcomeSignal)first));
            EXPECT(carry_out(&task, &admission));
            EXPECT(task_signal(&task, (OutcomeSignal)first));
            Task signalled = task;
            EXPECT(!task_signal(&task, (OutcomeSignal)second));
            EXPECT_INT(task.stage, signalled.stage);
            EXPECT_INT(task.retry_depth, signalled.retry_depth);
            EXPECT_INT(task.is_escalated, signalled.is_escalated);
            EXPECT_INT(task.stage, first == SIGNAL_DROP ? TASK_DROPPED : TASK_ACCEPTED);
        }
}

TEST(rfc_3_2_a_sub_routine_knows_three_states_and_two_lives, "proves: E-009 E-010 E-008")
{
    static const struct { int8_t from, to; bool is_permitted; } cells[] = {
        { 0, 1, true },  { 0, -1, true },  { 0, 0, false },  { 1, 0, true },   { 1, 1, false },
        { 1, -1, false }, { -1, 0, false }, { -1, 1, false }, { -1, -1, false },
    };
    for (unsigned i = 0; i < sizeof cells / sizeof *cells; i++) {
        SubRoutine subroutine = { cells[i].from };
        EXPECT_INT(subroutine_move(&subroutine, (SubRoutineState)cells[i].to), cells[i].is_permitted);
        EXPECT_INT(subroutine.state, cells[i].is_permitted ? cells[i].to : cells[i].from);
    }
    EXPECT_INT(sizeof(SubRoutine), 1);                          /* nothing but its state: no reference, no mailbox */
}

TEST(rfc_3_3_the_primary_commits_while_the_call_is_issued_and_is_void_again, "proves: E-011 E-013 E-029 E-030 E-024 E-022")
{
    SubRoutineGroup group = group_spawn(2);
    EXPECT_INT(group.primary.state, SUBROUTINE_VOID);
    Destination at = { .group = &group, .room = 1 };
    EXPECT(group_dispatch(&group, take, &at, NULL));
    EXPECT_INT(at.primary_state, SUBROUTINE_COMMITTED);
    EXPECT(at.all_withdrawn);
    EXPECT_INT(group.primary.state, SUBROUTINE_VOID);
    for (uint32_t i = 0; i < 2; i++) EXPECT_INT(group.cooperatives[i].state, SUBROUTINE_WITHDRAWN);
}

TEST(rfc_5_2_one_group_leads_to_one_dispatch_at_most, "proves: E-023 E-020 E-025 E-028 E-042")
{
    for (uint32_t count = 0; count <= COOPERATIVE_COUNT_MAX; count++) {
        SubRoutineGroup group = group_spawn(count);
        Destination at = { .group = &group, .room = 10 };
        for (int i = 0; i < 3; i++) EXPECT_INT(group_dispatch(&group, take, &at, NULL), i == 0);
        EXPECT_INT(at.call_count, 1);
        EXPECT(!group_withdraw(&group));
    }
}

TEST(rfc_5_3_a_group_that_was_withdrawn_never_dispatches, "proves: E-030 E-010")
{
    SubRoutineGroup group = group_spawn(1);
    Destination at = { .group = &group, .room = 1 };
    EXPECT(group_withdraw(&group));
    EXPECT_INT(group.primary.state, SUBROUTINE_WITHDRAWN);
    EXPECT(!group_dispatch(&group, take, &at, NULL));
    EXPECT_INT(at.call_count, 0);
}

TEST(rfc_3_3_a_transport_without_room_leaves_the_task_admitted, "proves: E-012 E-044")
{
    Task task = accepted(3, 0, INTENT_HEAVY);
    Admission admission = task_admit(&task, &none);
    SubRoutineGroup group = group_spawn(admission.cooperative_count);
    Destination at = { .group = &group, .room = 0 };
    EXPECT(!task_dispatch(&task, &group, take, &at, NULL));
    EXPECT_INT(task.stage, TASK_ADMITTED);
    at.room = 1;
    EXPECT(task_dispatch(&task, &group, take, &at, NULL));
    EXPECT_INT(task.stage, TASK_DISPATCHED);
}

TEST(rfc_4_a_task_without_a_budget_is_refused, "proves: E-015 E-019 E-038")
{
    static const TaskTerms wrong[] = {
        { .spawn_budget = 0 }, { .spawn_budget = SPAWN_BUDGET_MAX + 1 }, { .spawn_budget = UINT32_MAX },
        { .spawn_budget = 1, .cooperative_max = COOPERATIVE_COUNT_MAX + 1 }, { .spawn_budget = 1, .retry_depth_max = ATTEMPT_COUNT_MAX },
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Task task;
        Error err;
        EXPECT_INT(task_accept(&wrong[i], &task, &err), ERR_INVALID);
    }
}

TEST(rfc_2_nothing_is_dispatched_that_was_not_admitted, "proves: E-002 E-056")
{
    Task task = accepted(9, 2, INTENT_NORMAL);
    Admission admission = { .kind = ADMISSION_ADMIT };
    EXPECT(!carry_out(&task, &admission));
    EXPECT(!task_signal(&task, SIGNAL_RETRY));                  /* nothing was dispatched that could have an outcome */
    admission = task_admit(&task, &none);
    EXPECT_INT(admission.kind, ADMISSION_ADMIT);
    EXPECT_INT(task_admit(&task, &none).kind, ADMISSION_DROP);  /* not a second time; and that changes nothing */
    EXPECT_INT(task.stage, TASK_ADMITTED);
    EXPECT(carry_out(&task, &admission));
    EXPECT(!carry_out(&task, &admission));
    EXPECT(task_signal(&task, SIGNAL_DROP));
    EXPECT_INT(task.stage, TASK_DROPPED);
    EXPECT_INT(task_admit(&task, &none).kind, ADMISSION_DROP);
    EXPECT(!task_signal(&task, SIGNAL_RETRY));
    EXPECT(!carry_out(&task, &admission));
}

TEST(rfc_7_the_depth_grows_by_one_and_ends_at_its_bound, "proves: E-045 E-046 E-054 E-059 E-047")
{
    Task task = accepted(100, 3, INTENT_LIGHT);
    for (uint32_t depth = 0; depth <= 3; depth++) {
        EXPECT_INT(task.retry_depth, depth);
        Admission admission = task_admit(&task, &none);
        EXPECT_INT(admission.kind, ADMISSION_ADMIT);
        EXPECT(carry_out(&task, &admission));
        EXPECT(task_signal(&task, SIGNAL_RETRY));
    }
    EXPECT_INT(task.stage, TASK_DROPPED);
    EXPECT_INT(task.drop, DROP_RETRY_DEPTH);
}

TEST(rfc_4_the_budget_is_never_exceeded_and_its_end_is_a_drop, "proves: E-016 E-017 E-018 E-053 E-040 C-69")
{
    for (uint32_t budget = 1; budget < 20; budget++)
        for (int intent = 0; intent < INTENT_COUNT; intent++)
            for (uint32_t pressure = 0; pressure < 900; pressure += 300) {
                Task task = accepted(budget, 900, (Intent)intent);
                Pressure pressed = { .in_flight = pressure };
                bool was_escalated = false;
                uint32_t spawned = 0;
                while (task.stage != TASK_DROPPED) {
                    Admission admission = task_admit(&task, &pressed);
                    if (admission.kind != ADMISSION_ADMIT) break;
                    EXPECT(!was_escalated || intent != INTENT_LIGHT || admission.is_escalated);
                    was_escalated = admission.is_escalated;
                    spawned += 1u + admission.cooperative_count;
                    EXPECT(carry_out(&task, &admission));
                    EXPECT(task_signal(&task, SIGNAL_RETRY));
                }
                EXPECT(spawned <= budget);
                EXPECT_INT(task.terms.spawn_budget, budget);
                EXPECT_INT(task.stage, TASK_DROPPED);
                EXPECT_INT(task.drop, DROP_SPAWN_BUDGET);
                EXPECT(was_escalated || spawned < budget);      /* the group that uses up the last of it is escalated */
            }
}

TEST(rfc_9_a_task_of_whose_budget_nothing_is_left_is_dropped_when_it_is_asked_for, "proves: E-053 E-017 E-056")
{
    static const struct { const char *name; uint32_t spawned, depth; Pressure pressure; AdmissionKind kind; DropCause drop; } rows[] = {
        { "one that has one left is admitted", 2, 0, { 0 }, ADMISSION_ADMIT, DROP_NONE },
        { "nothing is left", 3, 0, { 0 }, ADMISSION_DROP, DROP_SPAWN_BUDGET },
        { "more was spawned than it permits", 4, 0, { 0 }, ADMISSION_DROP, DROP_SPAWN_BUDGET },
        { "at a retry", 3, 1, { 0 }, ADMISSION_DROP, DROP_SPAWN_BUDGET },
        { "a full executor does not defer it", 3, 0, { .in_flight = 1000 }, ADMISSION_DROP, DROP_SPAWN_BUDGET },
        { "a full queue is not what drops it", 3, 1, { .queue = 1000 }, ADMISSION_DROP, DROP_SPAWN_BUDGET },
    };
    TaskTerms terms = { .intent = INTENT_HEAVY, .spawn_budget = 3, .retry_depth_max = 4, .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Task task = task_restore(&terms, TASK_ACCEPTED, rows[i].spawned, rows[i].depth);
        Admission asked = task_ask(&task, &rows[i].pressure);
        EXPECT_INT(asked.kind, rows[i].kind);
        EXPECT_INT(asked.drop, rows[i].drop);
        EXPECT_INT(task.stage, TASK_ACCEPTED);                  /* asking changes nothing */
        Admission admission = task_admit(&task, &rows[i].pressure);
        EXPECT_INT(admission.kind, rows[i].kind);
        EXPECT_INT(carry_out(&task, &admission), rows[i].kind == ADMISSION_ADMIT);
        EXPECT_INT(task.spawn_count, rows[i].spawned + (rows[i].kind == ADMISSION_ADMIT));
        if (rows[i].kind == ADMISSION_ADMIT) continue;
        EXPECT_INT(task.stage, TASK_DROPPED);
        EXPECT_INT(task_admit(&task, &none).drop, DROP_SPAWN_BUDGET);       /* for good */
    }
}

TEST(rfc_8_escalation_tightens_and_bypasses_nothing, "proves: E-049 E-050 E-051 E-052 E-048")
{
    Task task = accepted(9, 5, INTENT_NORMAL);
    Admission admission = task_admit(&task, &none);
    EXPECT(carry_out(&task, &admission));
    EXPECT(task_signal(&task, SIGNAL_ESCALATE));
    EXPECT(task.is_escalated);
    EXPECT_INT(task.terms.spawn_budget, 9);
    EXPECT_INT(task.terms.retry_depth_max, 5);
    Pressure pressed = { .queue = 900 };                        /* what is not escalated passes this */
    EXPECT_INT(task_ask(&task, &pressed).kind, ADMISSION_DROP);
    task.is_escalated = false;
    EXPECT_INT(task_ask(&task, &pressed).kind, ADMISSION_ADMIT);
    EXPECT_INT(task_admit(&task, &(Pressure){ .queue = 1000 }).kind, ADMISSION_DROP);     /* a retry that was permitted, and dropped */
    EXPECT_INT(task.stage, TASK_DROPPED);
}

TEST(rfc_8_the_last_try_is_escalated_whatever_is_left_of_the_budget, "proves: E-049 C-69 E-043")
{
    Task task = accepted(/* budget= */ 100, /* depth_max= */ 2, INTENT_LIGHT);
    static const struct { OutcomeSignal next; bool is_escalated; } tries[] = {
        { SIGNAL_RETRY, false }, { SIGNAL_ESCALATE, false }, { SIGNAL_ESCALATE, true },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        EXPECT_INT(task_admit(&task, &none).is_escalated, tries[i].is_escalated);
        task.stage = TASK_DISPATCHED;
        EXPECT_INT(task_signal_next(&task), tries[i].next);
        EXPECT(task_signal(&task, task_signal_next(&task)));
    }
    EXPECT_INT(task.stage, TASK_DROPPED);
    EXPECT_INT(task.drop, DROP_RETRY_DEPTH);
    Task lone = accepted(/* budget= */ 3, /* depth_max= */ 0, INTENT_LIGHT);
    EXPECT(!task_admit(&lone, &none).is_escalated);         /* a first try is no retry, though there is no other */
}

TEST(rfc_4_a_small_budget_waits_under_load_and_is_used_to_its_last, "proves: E-017 C-69 C-94")
{
    static const Pressure full = { .in_flight = 1000 };
    Task task = accepted(/* budget= */ 1, /* depth_max= */ 0, INTENT_HEAVY);
    EXPECT_INT(task_admit(&task, &full).kind, ADMISSION_DEFER);             /* its group would be three; load drops nothing that was not tried */
    Admission admission = task_admit(&task, &none);
    EXPECT_INT(admission.kind, ADMISSION_ADMIT);
    EXPECT_INT(admission.cooperative_count, 0);
    EXPECT(admission.is_escalated);
    EXPECT_INT(task.spawn_count, 1);
}

TEST(rfc_4_what_nobody_took_is_no_deeper_and_costs_its_budget, "proves: E-017 E-046 E-053")
{
    Task task = accepted(/* budget= */ 2, /* depth_max= */ 5, INTENT_LIGHT);
    EXPECT(!task_return(&task));                            /* nothing was dispatched */
    for (uint32_t i = 0; i < 2; i++) {
        EXPECT_INT(task_admit(&task, &none).kind, ADMISSION_ADMIT);
        task.stage = TASK_DISPATCHED;
        EXPECT(task_return(&task));
        EXPECT_INT(task.retry_depth, 0);
    }
    EXPECT_INT(task.stage, TASK_DROPPED);
    EXPECT_INT(task.drop, DROP_SPAWN_BUDGET);
    EXPECT(!task_return(&task));
}

TEST(c_94_a_first_admission_waits_however_high_the_pressure_is, "proves: C-94 F-007")
{
    Task task = accepted(9, 5, INTENT_HEAVY);
    Pressure full = { 1000, 1000, 1000 };
    for (int i = 0; i < 1000; i++) EXPECT_INT(task_admit(&task, &full).kind, ADMISSION_DEFER);
    EXPECT_INT(task.stage, TASK_ACCEPTED);
    EXPECT_INT(task.spawn_count, 0);
    EXPECT_INT(task_admit(&task, &none).kind, ADMISSION_ADMIT);
}
