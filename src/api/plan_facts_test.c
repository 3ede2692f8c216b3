#include "api/plan_facts.h"

#include "base/limits.h"
#include "harness/test.h"

static Digest digest_number(uint32_t number)
{
    Digest digest = { { 0 } };
    for (unsigned i = 0; i < 4; i++) digest.bytes[i] = (uint8_t)(number >> 8 * i);
    return digest;
}

TEST(facts_are_those_of_one_plan_and_one_trigger, "")
{
    PlanFacts *facts = plan_facts_new();
    Digest one = digest_number(1), other = digest_number(2);
    PlanFact fact = { 0 };
    EXPECT(!plan_facts_find(facts, &one, STR(""), &fact));
    plan_facts_put(facts, &one, STR(""), (PlanFact){ .is_large = true });
    plan_facts_put(facts, &one, STR("boss"), (PlanFact){ .is_plain = true, .takes_token = true });
    EXPECT(plan_facts_find(facts, &one, STR(""), &fact) && fact.is_large && !fact.is_plain);
    EXPECT(plan_facts_find(facts, &one, STR("boss"), &fact) && !fact.is_large && fact.is_plain && fact.takes_token);
    EXPECT(!plan_facts_find(facts, &one, STR("bos"), &fact));
    EXPECT(!plan_facts_find(facts, &other, STR("boss"), &fact));
    plan_facts_free(facts);
}

TEST(a_fact_takes_the_place_of_another_one_and_the_longest_name_fits, "")
{
    PlanFacts *facts = plan_facts_new();
    char text[NAME_SIZE_MAX + 1];
    Digest one = digest_number(7), other = digest_number(7 + API_PLAN_FACT_COUNT);
    PlanFact fact;
    for (size_t i = 0; i < sizeof text; i++) text[i] = 'x';
    plan_facts_put(facts, &one, STR(""), (PlanFact){ .is_large = true });
    plan_facts_put(facts, &other, STR(""), (PlanFact){ 0 });
    EXPECT(!plan_facts_find(facts, &one, STR(""), &fact));
    EXPECT(plan_facts_find(facts, &other, STR(""), &fact) && !fact.is_large);
    plan_facts_put(facts, &one, (Str){ text, NAME_SIZE_MAX }, (PlanFact){ .is_plain = true });
    plan_facts_put(facts, &one, (Str){ text, NAME_SIZE_MAX + 1 }, (PlanFact){ .is_plain = true });
    EXPECT(plan_facts_find(facts, &one, (Str){ text, NAME_SIZE_MAX }, &fact) && fact.is_plain);
    EXPECT(!plan_facts_find(facts, &one, (Str){ text, NAME_SIZE_MAX + 1 }, &fact));
    plan_facts_free(facts);
}
