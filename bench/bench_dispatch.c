/* What an admission costs: the decision, its group, the call, the signal; and that none of it allocates. */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>

#include "base/limits.h"
#include "core/placement.h"
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
        TaskTerms terms = { .intent = (Intent)(i % INTENT_COUNT), .spawn_budget = 9, .retry_depth_max = 2,
                            .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
        Task task = task_restore(&terms, TASK_ACCEPTED, i & 1, i & 1);
        Pressure pressure = { .queue = thousandths, .in_flight = thousandths - (thousandths ? i & 1 : 0) };
        Admission admission = task_admit(&task, &pressure);
        SubRoutineGroup group = group_spawn(admission.cooperative_count);
        task_dispatch(&task, &group, take, &called, &i);
    }
    *out_admitted = called;
    return (double)(clock_monotonic_ns() - began) / COUNT;
}

/* The choice of one of three executors under a constraint, with the reasons that are recorded of it. */
static double placement_ns(void)
{
    static Value items[] = { { 0 }, { 0 } };
    items[0] = value_string(STR("eu-west"));
    items[1] = value_string(STR("eu-east"));
    Member member = { value_string(STR("regions")), value_array(items, 2) };
    PlacementTerms terms = { .parts = { { .kind = VALUE_OBJECT, .count = 1, .members = &member } }, .count = 1 };
    Site sites[] = { { .region = STR("eu-west"), .cost_micro = 400000 }, { .region = STR("eu-east") }, { .region = STR("us-east") } };
    uint64_t began = clock_monotonic_ns(), chosen = 0;
    for (uint32_t i = 0; i < COUNT / 10; i++) {
        char storage[PLACEMENT_TEXT_SIZE_MAX];
        Buf text = buf_on(storage, sizeof storage);
        Candidate candidates[3] = { { .name = STR("a"), .site = &sites[0], .taken = i % 900 },
                                    { .name = STR("b"), .site = &sites[1], .latency_ms = i % 100 },
                                    { .name = STR("c"), .site = &sites[2] } };
        chosen += placement_choose(&(PlacementAsk){ .terms = &terms, .tenant = STR("t") }, candidates, 3);
        placement_print(&text, candidates, 3, 0);
    }
    return chosen ? (double)(clock_monotonic_ns() - began) / (COUNT / 10) : 0;
}

int main(void)
{
    size_t before = mallinfo2().uordblks;
    static const uint32_t pressures[] = { 0, 500, 1000 };
    uint64_t admitted[3];
    double ns[3];
    for (int i = 0; i < 3; i++) ns[i] = measure_ns(pressures[i], &admitted[i]);
    double choice_ns = placement_ns();
    size_t after = mallinfo2().uordblks;
    for (int i = 0; i < 3; i++)
        printf("pressure %" PRIu32 ": %.1f ns an admission, %.1f million a second, %" PRIu64 " of %u admitted\n",
               pressures[i], ns[i], 1000 / ns[i], admitted[i], COUNT);
    printf("placement: %.1f ns a choice of three, with its reasons\n", choice_ns);
    printf("bytes allocated meanwhile: %zu\n", after - before);
    return 0;
}
