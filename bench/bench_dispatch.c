/* What an admission costs: the decision, its group, the call, the signal; and that none of it allocates. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>

#include "dispatch/task.h"
#include "os/clock.h"

#define COUNT 5000000u

static bool take(void *destination, const void *task)
{
    (void)task;
    ++*(uint64_t *)destination;
    return true;
}

/* From the acceptance of a task to its dispatch, or to the decision that it has to wait. */
static double measure_ns(uint32_t thousandths, uint64_t *out_admitted)
{
    uint64_t called = 0, began = clock_monotonic_ns();
    for (uint32_t i = 0; i < COUNT; i++) {
        TaskTerms terms = { .intent = (Intent)(i % INTENT_COUNT), .spawn_budget = 9, .retry_depth_max = 2, .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
        Task task = task_restore(&terms, i & 1, i & 1);
        Pressure pressure = { .queue = thousandths, .in_flight = thousandths - (thousandths ? i & 1 : 0) };
        Admission admission = task_admit(&task, &pressure);
        SubRoutineGroup group = group_spawn(admission.cooperative_count);
        task_dispatch(&task, &group, take, &called, &i);
    }
    *out_admitted = called;
    return (double)(clock_monotonic_ns() - began) / COUNT;
}

int main(void)
{
    size_t before = mallinfo2().uordblks;
    static const uint32_t pressures[] = { 0, 500, 1000 };
    uint64_t admitted[3];
    double ns[3];
    for (int i = 0; i < 3; i++) ns[i] = measure_ns(pressures[i], &admitted[i]);
    size_t after = mallinfo2().uordblks;
    for (int i = 0; i < 3; i++)
        printf("pressure %" PRIu32 ": %.1f ns an admission, %.1f million a second, %" PRIu64 " of %u admitted\n", pressures[i], ns[i], 1000 / ns[i], admitted[i], COUNT);
    printf("bytes allocated meanwhile: %zu\n", after - before);
    return 0;
}
