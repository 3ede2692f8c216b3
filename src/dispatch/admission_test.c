#include "dispatch/admission.h"

#include "harness/test.h"

static uint32_t count_of(Intent intent, uint32_t pressure, uint32_t depth)
{
    return admission_decide(&(AdmissionAsk){ .intent = intent, .pressure = { .queue = pressure }, .retry_depth = depth })
        .cooperative_count;
}

TEST(cooperatives_follow_from_cost_pressure_and_depth, "")
{
    EXPECT_INT(count_of(INTENT_LIGHT, 0, 0), 0);
    EXPECT_INT(count_of(INTENT_NORMAL, 0, 0), 0);
    EXPECT_INT(count_of(INTENT_NORMAL, 1000, 0), 1);
    EXPECT_INT(count_of(INTENT_NORMAL, 999, 0), 0);             /* rounded down */
    EXPECT_INT(count_of(INTENT_HEAVY, 0, 0), 1);
    EXPECT_INT(count_of(INTENT_HEAVY, 0, 4), 2);
    EXPECT_INT(count_of(INTENT_HEAVY, 1000, 100), 2);           /* never more than there may be */
    EXPECT_INT(count_of(INTENT_LIGHT, 1000, 4), 1);
}

TEST(pressure_defers_at_its_threshold_and_escalation_tightens_it, "")
{
    AdmissionAsk ask = { .intent = INTENT_NORMAL };
    ask.pressure.in_flight = 949;
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_ADMIT);
    ask.pressure.in_flight = 950;
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
    ask.pressure = (Pressure){ .queue = 960, .in_flight = 10 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);   /* the larger one counts */
    EXPECT_INT(admission_decide(&ask).pressure, 960);
    ask.pressure = (Pressure){ .queue = 850 };
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_ADMIT);
    ask.is_escalated = true;
    EXPECT_INT(admission_decide(&ask).kind, ADMISSION_DEFER);
}

TEST(an_unknown_intent_counts_as_normal, "")
{
    EXPECT_INT(intent_find(STR("heavy")), INTENT_HEAVY);
    EXPECT_INT(intent_find(STR("enormous")), INTENT_NORMAL);
}
