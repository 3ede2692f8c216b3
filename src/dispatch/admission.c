#include "dispatch/admission.h"

#include "base/limits.h"

/* The published tables: costs in thousandths, the unit that a cooperative stands for, the thresholds of pressure. */
static const struct { const char *name; uint64_t cost; } intents[INTENT_COUNT] = {
    [INTENT_LIGHT] = { "light", 250 }, [INTENT_NORMAL] = { "normal", 500 }, [INTENT_HEAVY] = { "heavy", 1000 },
};
#define COOPERATIVE_UNIT 1000u
#define THRESHOLD_NORMAL 950u
#define THRESHOLD_ESCALATED 850u
#define PRESSURE_MAX 1000u

static uint32_t cooperative_count(Intent intent, uint64_t pressure, uint64_t depth)
{
    uint64_t count = intents[intent].cost * (1000 + pressure) * (4 + depth) / (4000 * COOPERATIVE_UNIT);
    return count > COOPERATIVE_COUNT_DEFAULT ? COOPERATIVE_COUNT_DEFAULT : (uint32_t)count;
}

Admission admission_decide(const AdmissionAsk *ask)
{
    uint32_t pressure = ask->pressure.queue > ask->pressure.in_flight ? ask->pressure.queue : ask->pressure.in_flight;
    if (pressure > PRESSURE_MAX) pressure = PRESSURE_MAX;
    uint32_t threshold = ask->is_escalated ? THRESHOLD_ESCALATED : THRESHOLD_NORMAL;
    return (Admission){ .kind = pressure < threshold ? ADMISSION_ADMIT : ADMISSION_DEFER, .pressure = pressure,
                        .cooperative_count = cooperative_count(ask->intent, pressure, ask->retry_depth) };
}

Intent intent_find(Str name)
{
    for (int i = 0; i < INTENT_COUNT; i++)
        if (str_is_text(name, intents[i].name)) return (Intent)i;
    return INTENT_NORMAL;
}

const char *intent_name(Intent intent)
{
    return intents[intent].name;
}
