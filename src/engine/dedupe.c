/* dedupe.c - declared idempotency keys: a step whose key has a result takes that, one whose key is under way waits. */
#include "engine/internal.h"

Dedupe dedupe_ask(Engine *engine, Resident *resident, uint32_t step, Str domain, Str key)
{
    (void)engine; (void)resident; (void)step; (void)domain; (void)key;
    return (Dedupe){ .kind = DEDUPE_NONE };
}

void dedupe_answered(Engine *engine, Resident *resident, uint32_t step, const ReadAnswer *answer)
{
    (void)engine; (void)resident; (void)step; (void)answer;
}
