#include "dispatch/carrier.h"

#include "base/check.h"

bool subroutine_move(SubRoutine *subroutine, SubRoutineState to)
{
    static const struct { int8_t from, to; } moves[] = {
        { SUBROUTINE_VOID, SUBROUTINE_COMMITTED }, { SUBROUTINE_COMMITTED, SUBROUTINE_VOID },
        { SUBROUTINE_VOID, SUBROUTINE_WITHDRAWN },
    };
    for (unsigned i = 0; i < sizeof moves / sizeof *moves; i++)
        if (subroutine->state == moves[i].from && to == moves[i].to) {
            subroutine->state = (int8_t)to;
            return true;
        }
    return false;
}

SubRoutineGroup group_spawn(uint32_t cooperative_count)
{
    CHECK(cooperative_count <= COOPERATIVE_COUNT_MAX);
    return (SubRoutineGroup){ .cooperative_count = (uint8_t)cooperative_count };
}

/* Those that have not done so before. */
static void withdraw_cooperatives(SubRoutineGroup *group)
{
    for (uint32_t i = 0; i < group->cooperative_count; i++) subroutine_move(&group->cooperatives[i], SUBROUTINE_WITHDRAWN);
}

bool group_dispatch(SubRoutineGroup *group, DispatchCall call, void *destination, const void *task)
{
    if (group->is_over) return false;
    withdraw_cooperatives(group);
    CHECK(subroutine_move(&group->primary, SUBROUTINE_COMMITTED));                  /* I8 */
    group->is_over = call(destination, task);
    CHECK(subroutine_move(&group->primary, SUBROUTINE_VOID));
    return group->is_over;
}

bool group_withdraw(SubRoutineGroup *group)
{
    if (group->is_over) return false;
    group->is_over = true;
    withdraw_cooperatives(group);
    CHECK(subroutine_move(&group->primary, SUBROUTINE_WITHDRAWN));
    return true;
}
