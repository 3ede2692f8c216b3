/* Rules of the execution model that are tested elsewhere only in passing, each by a case named after its section; that every rule of
 * it has one is checked by test/e2e/carrier.py. */
#include <string.h>

#include "base/limits.h"
#include "dispatch/task.h"
#include "harness/test.h"

static const Pressure none = { 0 };

/* What the destination sees of the group in the moment of the call. */
typedef struct Witness { const SubRoutineGroup *group; uint32_t calls; int8_t primary, cooperatives[COOPERATIVE_COUNT_MAX]; } Witness;

static bool witness(void *destination, const void *cargo)
{
    Witness *at = destination;
    (void)cargo;
    at->calls++;
    at->primary = at->group->primary.state;
    for (uint32_t i = 0; i < at->group->cooperative_count; i++) at->cooperatives[i] = at->group->cooperatives[i].state;
    return true;
}

static Task accepted(Intent intent, uint32_t budget, uint32_t depth_max, uint32_t cooperative_max)
{
    Task task = { 0 };
    Error err;
    EXPECT_OK(task_accept(&(TaskTerms){ intent, budget, depth_max, cooperative_max }, &task, &err), &err);
    return task;
}

TEST(rfc_3_1_a_sub_routine_is_its_state_and_nothing_else, "proves: E-008")
{
    EXPECT_INT(sizeof(SubRoutine), sizeof((SubRoutine){ 0 }.state));
}

TEST(rfc_5_1_a_group_has_one_primary_which_alone_commits_and_any_number_of_cooperatives, "proves: E-020 E-022")
{
    for (uint32_t count = 0; count <= COOPERATIVE_COUNT_MAX; count++) {
        SubRoutineGroup group = group_spawn(count);
        Witness at = { .group = &group };
        EXPECT_INT(group.cooperative_count, count);
        EXPECT_INT(group.primary.state, SUBROUTINE_VOID);
        EXPECT(group_dispatch(&group, witness, &at, NULL));
        EXPECT_INT(at.primary, SUBROUTINE_COMMITTED);
        for (uint32_t i = 0; i < count; i++)
            EXPECT(at.cooperatives[i] != SUBROUTINE_COMMITTED && group.cooperatives[i].state != SUBROUTINE_COMMITTED);
    }
}

TEST(rfc_5_2_cooperatives_dispatch_nothing_and_share_pressure_alone, "proves: E-024 E-027")
{
    for (uint32_t count = 0; count <= COOPERATIVE_COUNT_MAX; count++) {
        SubRoutineGroup group = group_spawn(count);
        Witness at = { .group = &group };
        EXPECT(group_dispatch(&group, witness, &at, NULL));
        EXPECT_INT(at.calls, 1);                                /* however many there are, the destination is called once */
        for (uint32_t i = 0; i < count; i++) EXPECT_INT(at.cooperatives[i], SUBROUTINE_WITHDRAWN);
    }
    EXPECT(sizeof(SubRoutineGroup) < sizeof(void *));           /* nothing but states and a count is in it to be shared */
}

TEST(rfc_5_3_a_commit_is_the_issue_of_the_call_and_nobody_else_can, "proves: E-028 E-029")
{
    SubRoutineGroup group = group_spawn(2);
    Witness at = { .group = &group };
    EXPECT_INT(group.primary.state, SUBROUTINE_VOID);           /* before the call nobody has committed, */
    EXPECT(group_dispatch(&group, witness, &at, NULL));
    EXPECT_INT(at.primary, SUBROUTINE_COMMITTED);               /* in it the primary has, */
    EXPECT_INT(group.primary.state, SUBROUTINE_VOID);           /* and behind it nobody can any more */
    EXPECT(!group_dispatch(&group, witness, &at, NULL));
    EXPECT_INT(at.calls, 1);
}

TEST(rfc_5_4_the_most_cooperatives_are_configured_from_none_to_the_absolute_bound, "proves: E-037 E-038 C-71")
{
    Error err;
    Task task;
    for (uint32_t most = 0; most <= COOPERATIVE_COUNT_MAX; most++) {
        task = accepted(INTENT_HEAVY, 1000, 900, most);
        Admission admission = task_admit(&task, &(Pressure){ .in_flight = 900 });
        EXPECT_INT(admission.cooperative_count, most < 1 ? 0 : 1);          /* 1000 x 1900 x 4 / 4000000 */
        EXPECT_INT(cooperative_count(INTENT_HEAVY, 1000, 900, most), most);
    }
    EXPECT_INT(task_accept(&(TaskTerms){ INTENT_LIGHT, 10, 1, COOPERATIVE_COUNT_MAX + 1 }, &task, &err), ERR_INVALID);
    EXPECT(strstr(err.text, "at most 4 cooperative sub-routines: 5 are too many") != NULL);
}

TEST(rfc_5_4_the_count_is_decided_before_any_sub_routine_is_there, "proves: E-040 E-041")
{
    /* The admission, which knows no group, has the count; the group is made of it, and what becomes of the group changes no count. */
    Task task = accepted(INTENT_HEAVY, 100, 9, COOPERATIVE_COUNT_DEFAULT);
    Admission asked = task_ask(&task, &none), admitted = task_admit(&task, &none);
    EXPECT_INT(asked.cooperative_count, admitted.cooperative_count);
    EXPECT_INT(task.spawn_count, 1u + admitted.cooperative_count);
    SubRoutineGroup group = group_spawn(admitted.cooperative_count);
    Witness at = { .group = &group };
    EXPECT(task_dispatch(&task, &group, witness, &at, NULL));
    EXPECT_INT(group.cooperative_count, admitted.cooperative_count);
    EXPECT_INT(task.spawn_count, 1u + admitted.cooperative_count);
}

TEST(rfc_5_4_the_count_changes_nothing_about_commits, "proves: E-042")
{
    for (uint32_t count = 0; count <= COOPERATIVE_COUNT_MAX; count++) {
        SubRoutineGroup group = group_spawn(count), withdrawn = group_spawn(count);
        Witness at = { .group = &group };
        EXPECT(group_dispatch(&group, witness, &at, NULL) && at.calls == 1 && at.primary == SUBROUTINE_COMMITTED);
        EXPECT(group_withdraw(&withdrawn) && !group_dispatch(&withdrawn, witness, &at, NULL));
    }
}

TEST(rfc_7_a_retry_that_is_permitted_may_still_be_dropped, "proves: E-048")
{
    Task task = accepted(INTENT_LIGHT, 9, 5, 0);
    Witness at = { 0 };
    SubRoutineGroup group = group_spawn(task_admit(&task, &none).cooperative_count);
    at.group = &group;
    EXPECT(task_dispatch(&task, &group, witness, &at, NULL));
    EXPECT(task_signal(&task, SIGNAL_RETRY));
    EXPECT_INT(task.stage, TASK_ACCEPTED);                      /* it may be tried again ... */
    EXPECT_INT(task_admit(&task, &(Pressure){ .queue = 1000 }).kind, ADMISSION_DROP);
    EXPECT_INT(task.stage, TASK_DROPPED);                       /* ... and is not */
}

TEST(rfc_9_a_task_is_dropped_when_its_budget_its_depth_or_the_pressure_says_so, "proves: E-053 E-054 E-055 E-056")
{
    static const struct { const char *name; uint32_t budget, depth_max; Pressure pressure; DropCause want; } rows[] = {
        { "the budget is used up", 1, 5, { 0 }, DROP_SPAWN_BUDGET },
        { "the depth is used up", 9, 1, { 0 }, DROP_RETRY_DEPTH },
        { "the pressure prohibits it", 9, 5, { .queue = 1000 }, DROP_PRESSURE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Task task = accepted(INTENT_LIGHT, rows[i].budget, rows[i].depth_max, 0);
        for (uint32_t tries = 0; tries < 3 && task.stage != TASK_DROPPED; tries++) {
            Admission admission = task_admit(&task, tries ? &rows[i].pressure : &none);
            if (admission.kind != ADMISSION_ADMIT) break;
            SubRoutineGroup group = group_spawn(admission.cooperative_count);
            Witness at = { .group = &group };
            EXPECT(task_dispatch(&task, &group, witness, &at, NULL));
            EXPECT(task_signal(&task, SIGNAL_RETRY));
        }
        EXPECT_INT(task.stage, TASK_DROPPED);
        EXPECT_INT(task.drop, rows[i].want);
        uint32_t spawned = task.spawn_count;
        SubRoutineGroup late = group_spawn(0);
        Witness at = { .group = &late };
        EXPECT_INT(task_admit(&task, &none).kind, ADMISSION_DROP);          /* and stays dropped */
        EXPECT(!task_dispatch(&task, &late, witness, &at, NULL));
        EXPECT(!task_signal(&task, SIGNAL_RETRY));
        EXPECT_INT(at.calls, 0);
        EXPECT_INT(task.spawn_count, spawned);
    }
}
