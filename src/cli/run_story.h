/* run_story.h - what happened to a run beside its steps, out of its ledger: pauses, triggers, reactions, changes, an early end.
 *
 * The rows of a run say how it stands. Who sent which trigger and what came of it, which reactions to signals have fired and
 * which parameters were changed is told by its events.
 *
 * Owns:   everything lives in the arena given.
 * Fails:  with the store's reason. A run that was archived has no story here.
 * Bounds: the newest SHOW_RECORD_COUNT_MAX records are read; what lies before them is not told.     Thread: the main one.
 */
#ifndef CLI_RUN_STORY_H
#define CLI_RUN_STORY_H

#include "core/event.h"
#include "view/run_rows.h"

typedef struct StoryEvent {
    EventKind kind;
    uint64_t number;                /* in the run */
    int64_t now_ms, due_ms;
    Str actor, rationale, command_id;       /* of its record */
    Str name, source, origin, text;
    uint32_t step, job, sort, flags, revision;
    uint64_t count;
} StoryEvent;

typedef struct RunStory {
    StoryEvent *events;             /* the oldest first */
    size_t count, capacity;
    bool is_cut;                    /* there is more before them */
} RunStory;

MUST_USE Status run_story_read(Arena *arena, Store *store, const Cell *row, RunStory *out, Error *err);

/* The last event of a kind, by a command of this id where it is not empty; NULL: none. */
const StoryEvent *run_story_last(const RunStory *story, EventKind kind, Str command_id);
/* The last event that says why the run is paused; NULL where that is not told. */
const StoryEvent *run_story_pause(const RunStory *story);
/* "answered", "kept", "unmet", "denied": what came of a trigger that was received. */
const char *story_trigger_words(const StoryEvent *received);

#endif
