/* late.c - attempts that could not be handed over at once, for want of room or of a value: offered again in later turns. */
#include <stdlib.h>

#include "base/check.h"
#include "engine/internal.h"

typedef struct LateEffect {
    struct LateEffect *next;
    EffectEntry entry;
} LateEffect;

void effect_retry_later(Engine *engine, const EffectEntry *entry)
{
    LateEffect *late = malloc(sizeof *late);
    CHECK(late);
    *late = (LateEffect){ .entry = *entry };
    *(engine->late_last ? &engine->late_last->next : &engine->late) = late;
    engine->late_last = late;
    engine->late_count++;
}

void late_effects_perform(Engine *engine)
{
    LateEffect *late = engine->late;
    engine->late = engine->late_last = NULL;
    engine->late_count = 0;
    while (late) {
        LateEffect *next = late->next;
        effect_perform(engine, &late->entry);
        free(late);
        late = next;
    }
}

void late_effects_deinit(Engine *engine)
{
    while (engine->late) {
        LateEffect *late = engine->late;
        engine->late = late->next;
        free(late);
    }
}
