#include "dispatch/admission.h"

#include "base/limits.h"
#include "harness/test.h"

static uint32_t count_of(Intent intent, uint32_t pressure, uint32_t depth)
{
    return cooperative_count(intent, pressure, depth, COOPERATIVE_COUNT_DEFAULT);
}

TEST(rfc_5_4_cooperatives_follow_from_cost_pressure_and_depth, "proves: E-031 E-033 E-034 E-035 E-036 E-037 E-039")
{
    EXPECT_INT(count_of(INTENT_LIGHT, 0, 0), 0);
    EXPECT_INT(count_of(INTENT_NORMAL, 0, 0), 0);
    EXPECT_INT(count_of(INTENT_NORMAL, 1000, 0), 1);
    EXPECT_INT(count_of(INTENT_NORMAL, 999, 0), 0);             /* rounded down */
    EXPECT_INT(count_of(INTENT_HEAVY, 0, 0), 1);
    EXPECT_INT(count_of(INTENT_HEAVY, 0, 4), 2);
    EXPECT_INT(count_of(INTENT_HEAVY, 1000, 100), 2);           /* never more than there may be */
    EXPECT_INT(count_of(INTENT_LIGHT, 1000, 4), 1);
    EXPECT_INT(count_of(INTENT_HEAVY, 5000, 0), 2);             /* more than full is full */
    EXPECT_INT(cooperative_count(INTENT_HEAVY, 1000, 100, 0), 0);
    EXPECT_INT(cooperative_count(INTENT_HEAVY, 1000, 100, COOPERATIVE_COUNT_MAX), COOPERATIVE_COUNT_MAX);
}

TEST(rfc_5_4_the_count_is_the_published_formula_everywhere, "proves: E-032 E-034 E-039")
{
    static const uint64_t costs[INTENT_COUNT] = { 250, 500, 1000 };
    for (int intent = 0; intent < INTENT_COUNT; intent++)
        for (uint32_t pressure = 0; pressure <= 1000; pressure += 25)
            for (uint32_t depth = 0; depth < 12; depth++) {
                uint64_t want = costs[intent] * (1000 + pressure) * (4 + depth) / 4000000;
                EXPECT_INT(count_of((Intent)intent, pressure, depth), want > 2 ? 2 : want);
            }
}

TEST(rfc_8_pressure_defers_at_its_threshold_and_escalation_tightens_it, "proves: E-050 C-94")
{
    AdmissionAsk ask = { .intent = INTENT_NORMAL, .cooperative_max = 2 };
    ask.pressure.in_flight = 999;                           /* the last place that is free is used, too */
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_ADMIT);
    ask.pressure.in_flight = 1000;
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
    ask.pressure = (Pressure){ .queue = 960, .in_flight = 10 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
    ask.pressure = (Pressure){ .queue = 850 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_ADMIT);
    ask.is_escalated = true;
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
    ask.pressure = (Pressure){ .refused = 850 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
}

TEST(rfc_9_a_queue_that_is_full_drops_retries_and_a_full_executor_does_not, "proves: E-055 C-94")
{
    AdmissionAsk ask = { .intent = INTENT_NORMAL, .cooperative_max = 2, .retry_depth = 1, .pressure = { .queue = 950 } };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DROP);
    EXPECT_INT(admission_decide(&ask).drop, DROP_PRESSURE);
    ask.pressure = (Pressure){ .in_flight = 1000, .refused = 1000 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
    ask.pressure = (Pressure){ .queue = 949 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_ADMIT);
}

TEST(a_decision_fits_one_number_and_comes_back, "")
{
    Admission none = admission_unpack(0);
    EXPECT_INT(admission_pack(&none), 0);
    for (uint32_t part = 0; part <= 1000; part += 8) {
        Admission admission = { .cooperative_count = (uint8_t)(part % 5), .is_escalated = part & 8,
                                .pressure = { .queue = part, .in_flight = 1000 - part, .refused = part } };
        Admission back = admission_unpack(admission_pack(&admission));
        EXPECT_INT(back.cooperative_count, admission.cooperative_count);
        EXPECT_INT(back.is_escalated, admission.is_escalated);
        EXPECT_INT(back.pressure.queue, part);
        EXPECT_INT(back.pressure.in_flight, 1000 - part);
        EXPECT_INT(back.pressure.refused, part);
    }
}

TEST(an_unknown_intent_counts_as_normal, "")
{
    EXPECT_INT(intent_find(STR("heavy")), INTENT_HEAVY);
    EXPECT_INT(intent_find(STR("enormous")), INTENT_NORMAL);
    EXPECT_INT(drop_cause_find(STR("pressure")), DROP_PRESSURE);
    EXPECT_INT(drop_cause_find(STR("whim")), DROP_NONE);
}
