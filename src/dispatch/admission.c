#include "dispatch/admission.h"

#include "base/limits.h"

/* The published tables: costs in thousandths, the unit that a cooperative stands for, the thresholds of pressure. */
static const struct { const char *name; uint64_t cost; } intents[INTENT_COUNT] = {
    [INTENT_LIGHT] = { "light", 250 }, [INTENT_NORMAL] = { "normal", 500 }, [INTENT_HEAVY] = { "heavy", 1000 },
};
static const char *const drops[DROP_CAUSE_COUNT] = { "none", "spawn-budget", "retry-depth", "pressure" };
#define COOPERATIVE_UNIT 1000u
#define THRESHOLD_NORMAL 950u
#define THRESHOLD_ESCALATED 850u
#define PRESSURE_MAX 1000u
#define REFUSED_STEP 4u

static uint32_t bounded(uint32_t part)
{
    return part < PRESSURE_MAX ? part : PRESSURE_MAX;
}

uint32_t pressure_of(const Pressure *pressure)
{
    uint32_t most = pressure->queue > pressure->in_flight ? pressure->queue : pressure->in_flight;
    return bounded(pressure->refused > most ? pressure->refused : most);
}

/* The depth is far below 2^32, so that nothing overflows. */
uint32_t cooperative_count(Intent intent, uint32_t pressure, uint32_t retry_depth, uint32_t cooperative_max)
{
    uint64_t count = intents[intent].cost * (1000 + bounded(pressure)) * (4 + (uint64_t)retry_depth) / (4000 * COOPERATIVE_UNIT);
    return count < cooperative_max ? (uint32_t)count : cooperative_max;
}

/* In flight, no threshold applies but being full: a place that is free is there to be used, and whoever is escalated would wait behind
 * all who are not. */
static AdmissionKind decide_kind(const AdmissionAsk *ask)
{
    uint32_t threshold = ask->is_escalated ? THRESHOLD_ESCALATED : THRESHOLD_NORMAL;
    if (ask->pressure.queue >= threshold) return ask->retry_depth ? ADMISSION_DROP : ADMISSION_DEFER;
    bool is_pressed = ask->pressure.refused >= threshold || ask->pressure.in_flight >= PRESSURE_MAX;
    return is_pressed ? ADMISSION_DEFER : ADMISSION_ADMIT;
}

Admission admission_decide(const AdmissionAsk *ask)
{
    Pressure taken = { bounded(ask->pressure.queue), bounded(ask->pressure.in_flight), bounded(ask->pressure.refused) };
    AdmissionKind kind = decide_kind(ask);
    uint32_t count = cooperative_count(ask->intent, pressure_of(&taken), ask->retry_depth, ask->cooperative_max);
    return (Admission){ .kind = (uint8_t)kind, .drop = kind == ADMISSION_DROP ? DROP_PRESSURE : DROP_NONE,
                        .cooperative_count = (uint8_t)count, .is_escalated = ask->is_escalated, .pressure = taken };
}

/* Bits 0-2 cooperatives, 3 escalated, 4-13 in flight, 14-23 queue, 24-31 refused: what is mostly 0 stands on the left. */
uint32_t admission_pack(const Admission *admission)
{
    return admission->cooperative_count | (uint32_t)admission->is_escalated << 3 | admission->pressure.in_flight << 4
         | admission->pressure.queue << 14 | admission->pressure.refused / REFUSED_STEP << 24;
}

Admission admission_unpack(uint32_t packed)
{
    return (Admission){ .kind = ADMISSION_ADMIT, .cooperative_count = packed & 7, .is_escalated = packed >> 3 & 1,
                        .pressure = { .in_flight = packed >> 4 & 1023, .queue = packed >> 14 & 1023, .refused = (packed >> 24) * REFUSED_STEP } };
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

DropCause drop_cause_find(Str name)
{
    for (int i = 0; i < DROP_CAUSE_COUNT; i++)
        if (str_is_text(name, drops[i])) return (DropCause)i;
    return DROP_NONE;
}

const char *drop_cause_name(DropCause cause)
{
    return drops[cause];
}
