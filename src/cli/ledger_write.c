#include "cli/ledger_write.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "cli/human.h"
#include "cli/workplace.h"
#include "ledger/chain.h"
#include "ledger/record.h"
#include "os/user.h"

static bool take_end(void *context, const Cell *cells, uint32_t count)
{
    LedgerPen *pen = context;
    (void)count;
    pen->last_position = (uint64_t)cells[LEDGER_position].integer;
    pen->event_count = (uint64_t)(cells[LEDGER_first_event].integer + cells[LEDGER_event_count].integer - 1);
    if (cells[LEDGER_hash].text.len == sizeof pen->last_hash) memcpy(&pen->last_hash, cells[LEDGER_hash].text.ptr, sizeof pen->last_hash);
    return false;
}

Status ledger_own(Arena *arena, Store *store, LedgerPen *out_pen, Error *err)
{
    *out_pen = (LedgerPen){ .arena = arena, .store = store };
    Status status = store_own(store, 1, &out_pen->head, err);
    if (status) return status;
    return store_select(store, &(QueryAsk){ .query = QUERY_LOG_RECORD_LAST }, take_end, out_pen, err);
}

/* Waits for the one batch that is under way. */
static Status commit(LedgerPen *pen, Batch *batch, Error *err)
{
    Completion done;
    CHECK(store_submit(pen->store, batch));                 /* nothing else is in flight */
    while (!store_poll(pen->store, &done)) {
        struct pollfd wake = { .fd = store_wake_fd(pen->store), .events = POLLIN };
        (void)poll(&wake, 1, FOLLOW_POLL_MS_MAX);           /* whatever it says, it is looked again */
    }
    if (done.outcome == STORE_DURABLE) return OK;
    if (done.outcome == STORE_UNKNOWN)
        return error_set(err, ERR_UNAVAILABLE, "it is not known whether this was written: %s; do it again", done.error.text);
    *err = done.error;
    return err->status ? err->status : error_set(err, ERR_UNAVAILABLE, "the store did not take it");
}

/* The events of the note, before them who owns the store. */
static Event *events_of(LedgerPen *pen, const LedgerNote *note, uint32_t *out_count)
{
    Event *events = ARENA_ARRAY(pen->arena, Event, note->event_count + 1);
    uint32_t count = 0;
    if (!pen->is_named)
        events[count++] = (Event){ .kind = EVENT_OWNER_CHANGED, .count = pen->head.epoch, .text = owner_text(pen->arena),
                                   .payload = EVENT_NO_PAYLOAD };
    for (uint32_t i = 0; i < note->event_count; i++) events[count++] = note->events[i];
    *out_count = count;
    return events;
}

Status ledger_note(LedgerPen *pen, const LedgerNote *note, Error *err)
{
    int64_t now_ms = human_now_ms() > pen->head.now_ms ? human_now_ms() : pen->head.now_ms;
    uint32_t event_count;
    const Event *events = events_of(pen, note, &event_count);
    RecordHead head = { .log = 1, .position = pen->head.position + 1, .first_event = pen->event_count + 1, .now_ms = now_ms,
                        .actor = arena_format(pen->arena, "user:%.*s", STR_ARG(user_name(pen->arena))), .rationale = note->rationale };
    Buf bytes;
    buf_init(&bytes, RECORD_SIZE_MAX);
    record_encode(&head, events, event_count, NULL, 0, NULL, &bytes, NULL, NULL);
    if (buf_overflowed(&bytes)) {
        buf_deinit(&bytes);
        return error_set(err, ERR_LIMIT, "a record has at most RECORD_SIZE_MAX (%u) bytes", RECORD_SIZE_MAX);
    }
    BatchRecord record = { .position = head.position, .prev_position = pen->last_position, .first_event = head.first_event,
                           .event_count = event_count, .hash = chain_record(&pen->last_hash, buf_peek(&bytes)),
                           .record = buf_peek(&bytes) };
    Batch batch = { .log = 1, .epoch = pen->head.epoch, .first_position = head.position, .head_before = pen->head.head,
                    .head_after = chain_log(&pen->head.head, &record.hash), .next_run_no = pen->head.next_run_no,
                    .next_step_run_no = pen->head.next_step_run_no, .now_ms = now_ms, .records = &record, .record_count = 1,
                    .changes = note->changes, .change_count = note->change_count };
    Status status = commit(pen, &batch, err);
    if (!status) {
        pen->head.position = pen->last_position = head.position;
        pen->head.head = batch.head_after;
        pen->head.now_ms = now_ms;
        pen->event_count += event_count;
        pen->last_hash = record.hash;
        pen->is_named = true;
    }
    buf_deinit(&bytes);
    return status;
}
