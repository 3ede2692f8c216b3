#include "api/plan_facts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "core/pause.h"
#include "secret/trigger.h"

typedef struct Known { Digest digest; char trigger[NAME_SIZE_MAX]; uint8_t size; bool is_used; PlanFact fact; } Known;
static_assert(NAME_SIZE_MAX <= UINT8_MAX, "the size of a name has to fit");

struct PlanFacts {
    pthread_mutex_t mutex;
    Known known[API_PLAN_FACT_COUNT];
};

PlanFacts *plan_facts_new(void)
{
    PlanFacts *facts = calloc(1, sizeof *facts);
    CHECK(facts);
    pthread_mutex_init(&facts->mutex, NULL);
    return facts;
}

void plan_facts_free(PlanFacts *facts)
{
    if (!facts) return;
    pthread_mutex_destroy(&facts->mutex);
    free(facts);
}

static Known *place_of(PlanFacts *facts, const Digest *digest, Str trigger)
{
    uint32_t hash;
    memcpy(&hash, digest->bytes, sizeof hash);
    for (size_t i = 0; i < trigger.len; i++) hash = (hash ^ (uint8_t)trigger.ptr[i]) * 0x01000193u;
    return &facts->known[hash % API_PLAN_FACT_COUNT];
}

bool plan_facts_find(PlanFacts *facts, const Digest *digest, Str trigger, PlanFact *out_fact)
{
    pthread_mutex_lock(&facts->mutex);
    const Known *known = place_of(facts, digest, trigger);
    bool is_it = known->is_used && memcmp(&known->digest, digest, sizeof *digest) == 0 && str_is((Str){ known->trigger, known->size }, trigger);
    if (is_it) *out_fact = known->fact;
    pthread_mutex_unlock(&facts->mutex);
    return is_it;
}

void plan_facts_put(PlanFacts *facts, const Digest *digest, Str trigger, PlanFact fact)
{
    if (trigger.len > NAME_SIZE_MAX) return;
    pthread_mutex_lock(&facts->mutex);
    Known *known = place_of(facts, digest, trigger);
    *known = (Known){ .digest = *digest, .size = (uint8_t)trigger.len, .is_used = true, .fact = fact };
    if (trigger.len) memcpy(known->trigger, trigger.ptr, trigger.len);
    pthread_mutex_unlock(&facts->mutex);
}

PlanFact plan_fact_of(const Plan *plan, Str trigger)
{
    Error err;
    return (PlanFact){ .is_plain = pause_is_plain(plan, trigger), .takes_token = !trigger_check_bearer(plan, STR(""), trigger, &err) };
}
