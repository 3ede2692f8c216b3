/* late.c - attempts that their executor could not take at once: offered again in later turns. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "engine/internal.h"

typedef struct LateEffect {
    struct LateEffect *next;
    EffectEntry entry;
    char input[];
} LateEffect;

void effect_retry_later(Engine *engine, const EffectEntry *entry)
{
    LateEffect *late = malloc(sizeof *late + entry->input.len);
    CHECK(late);
    *late = (LateEffect){ .entry = *entry };
    if (entry->input.len) memcpy(late->input, entry->input.ptr, entry->input.len);
    late->entry.input = (Str){ late->input, entry->input.len };
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
