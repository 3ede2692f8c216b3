#include "api/skips.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"

typedef struct Waiting {
    Arena arena;
    Skips *skips;
    Skip skip;
    bool is_sent;
    struct Waiting *next, **place;
} Waiting;

struct Skips {
    Bridge *bridge;
    Waiting *first;
    uint32_t count;
};

Skips *skips_new(Bridge *bridge)
{
    Skips *skips = calloc(1, sizeof *skips);
    CHECK(skips);
    skips->bridge = bridge;
    return skips;
}

static void waiting_free(Waiting *waiting)
{
    *waiting->place = waiting->next;
    if (waiting->next) waiting->next->place = waiting->place;
    waiting->skips->count--;
    arena_deinit(&waiting->arena);
    free(waiting);
}

void skips_free(Skips *skips)
{
    if (!skips) return;
    while (skips->first) waiting_free(skips->first);
    free(skips);
}

/* One that is known by its id with other words is recorded: the clock was put back since. */
static void answered(void *context, const BridgeAnswer *answer)
{
    Waiting *waiting = context;
    waiting->is_sent = false;
    if (!answer->status || answer->is_other_request) waiting_free(waiting);
}

static void send(Waiting *waiting)
{
    const Skip *skip = &waiting->skip;
    Arena *arena = &waiting->arena;
    char storage[40];
    Buf at = buf_on(storage, sizeof storage);
    civil_print_ms(&at, skip->due_ms);
    Str schedule = arena_format(arena, "%.*s/%" PRIu32, STR_ARG(skip->workflow), skip->trigger);
    EngineKeep keep = { .kind = KEEP_SKIP, .tenant = skip->tenant, .name = skip->workflow, .text = skip->by, .due_ms = skip->due_ms,
                        .count = skip->trigger, .flags = skip->count,
                        .command = { .actor = arena_format(arena, "schedule:%.*s", STR_ARG(schedule)), .rationale = skip->why,
                                     .id = arena_format(arena, "skip/%.*s/%.*s", STR_ARG(schedule), STR_ARG(buf_peek(&at))),
                                     .value = value_null(), .report.output = value_null() } };
    waiting->is_sent = bridge_keep(waiting->skips->bridge, &keep, answered, waiting);
}

bool skips_add(Skips *skips, const Skip *skip)
{
    if (skips->count == SKIP_COUNT_MAX) return false;
    Waiting *waiting = calloc(1, sizeof *waiting);
    CHECK(waiting);
    Arena *arena = &waiting->arena;
    arena_init(arena, SIZE_MAX);
    waiting->skips = skips;
    waiting->skip = *skip;
    waiting->skip.tenant = arena_copy(arena, skip->tenant);
    waiting->skip.workflow = arena_copy(arena, skip->workflow);
    waiting->skip.by = arena_copy(arena, skip->by);
    waiting->skip.why = arena_copy(arena, skip->why);
    waiting->next = skips->first;
    waiting->place = &skips->first;
    if (waiting->next) waiting->next->place = &waiting->next;
    skips->first = waiting;
    skips->count++;
    send(waiting);
    return true;
}

void skips_turn(Skips *skips)
{
    for (Waiting *waiting = skips->first; waiting; waiting = waiting->next)
        if (!waiting->is_sent) send(waiting);
}
