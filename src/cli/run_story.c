#include "cli/run_story.h"

#include "base/limits.h"
#include "core/run.h"
#include "ledger/record.h"

typedef struct Reading {
    Arena *arena;                   /* of the story */
    Arena scratch;                  /* of one record */
    RunStory *story;
    uint64_t first_event;           /* of the last record met */
    Status status;
    Error *err;
} Reading;

static const bool is_told[EVENT_KIND_END] = {
    [EVENT_RUN_CANCELLING] = true,
    [EVENT_RUN_PAUSED] = true,        [EVENT_RUN_TERMINATING] = true,  [EVENT_PARAMS_CHANGED] = true,
    [EVENT_TRIGGER_AWAITED] = true,   [EVENT_TRIGGER_RECEIVED] = true, [EVENT_TRIGGER_REFUSED] = true,
    [EVENT_TRIGGER_TIMED_OUT] = true, [EVENT_TRIGGER_REMINDED] = true, [EVENT_TRIGGER_ENDED] = true,
    [EVENT_NOTIFICATION_FAILED] = true,
    [EVENT_REACTION_FIRED] = true,    [EVENT_LEASE_EXPIRED] = true,  [EVENT_RUN_REVISED] = true,
    [EVENT_RUN_REBOUND] = true,       [EVENT_JOB_PAUSED] = true,       [EVENT_JOB_CANCELLING] = true,
};

static void story_add(Reading *reading, const Record *record, uint32_t index)
{
    const Event *event = &record->events[index];
    RunStory *story = reading->story;
    Arena *arena = reading->arena;
    if (story->count == story->capacity)
        story->events = arena_grow(arena, story->events, sizeof *story->events, story->count, &story->capacity);
    story->events[story->count++] = (StoryEvent){
        .kind = (EventKind)event->kind, .number = record->head.first_event + index, .now_ms = record->head.now_ms,
        .due_ms = event->due_ms, .actor = arena_copy(arena, record->head.actor),
        .rationale = arena_copy(arena, record->head.rationale), .command_id = arena_copy(arena, record->head.command_id),
        .name = arena_copy(arena, event->name), .source = arena_copy(arena, event->source),
        .origin = arena_copy(arena, event->key), .text = arena_copy(arena, event->text),
        .step = event->step, .job = event->job, .sort = event->sort, .flags = event->flags, .revision = event->revision, .count = event->count,
    };
}

static bool take_record(void *context, const Cell *cells, uint32_t count)
{
    Reading *reading = context;
    Record record;
    (void)count;
    arena_reset(&reading->scratch);
    reading->status = record_decode_any(&reading->scratch, cells[LEDGER_record].text, &record, reading->err);
    if (reading->status) return false;
    reading->first_event = record.head.first_event;
    for (uint32_t i = record.event_count; i > 0; i--)
        if (record.events[i - 1].kind < EVENT_KIND_END && is_told[record.events[i - 1].kind]) story_add(reading, &record, i - 1);
    return true;
}

Status run_story_read(Arena *arena, Store *store, const Cell *row, RunStory *out, Error *err)
{
    *out = (RunStory){ 0 };
    if (row[RUNS_archived_to].kind == CELL_TEXT) return OK;
    Reading reading = { .arena = arena, .story = out, .first_event = 1, .err = err };
    arena_init(&reading.scratch, SIZE_MAX);
    QueryAsk ask = { .query = QUERY_RUN_TAIL, .params = { row[RUNS_last_position], cell_int(0) }, .param_count = 2,
                     .row_count_max = SHOW_RECORD_COUNT_MAX };
    Status status = store_select(store, &ask, take_record, &reading, err);
    arena_deinit(&reading.scratch);
    for (size_t i = 0; i < out->count / 2; i++) {
        StoryEvent event = out->events[i];
        out->events[i] = out->events[out->count - 1 - i];
        out->events[out->count - 1 - i] = event;
    }
    out->is_cut = reading.first_event > 1;
    return status ? status : reading.status;
}

const StoryEvent *run_story_last(const RunStory *story, EventKind kind, Str command_id)
{
    for (size_t i = story->count; i > 0; i--) {
        const StoryEvent *event = &story->events[i - 1];
        if (event->kind == kind && (!command_id.len || str_is(event->command_id, command_id))) return event;
    }
    return NULL;
}

const StoryEvent *run_story_pause(const RunStory *story)
{
    return run_story_last(story, EVENT_RUN_PAUSED, (Str){ 0 });
}

const char *story_trigger_words(const StoryEvent *received) { return trigger_flags_name(received->flags); }
