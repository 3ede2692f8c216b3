#include "ledger/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "ledger/chain.h"
#include "ledger/record.h"

/* What is known of a run after the rows so far. */
struct VerifyRun {
    uint64_t number;
    Id id;                          /* empty text: of the log itself, or not known because no record could be read */
    uint64_t position, next_event;  /* of its last record; number that its next event should have */
    Digest hash;                    /* of its last record */
    bool has_head;
    bool is_archived, is_told;      /* records of it are empty; an event says that it was archived */
};

static const struct { const char *name; bool is_damage; } finding_rows[FINDING_KIND_COUNT] = {
#define FINDING_ROW(NAME, name, is_damage) { name, is_damage },
    FINDING_KINDS(FINDING_ROW)
#undef FINDING_ROW
};

const char *finding_name(FindingKind kind)
{
    return finding_rows[kind].name;
}

bool finding_is_damage(FindingKind kind)
{
    return finding_rows[kind].is_damage;
}

static Str run_id_peek(const VerifyRun *run)
{
    return run ? str_of(run->id.text) : STR("");
}

static bool digest_is(const Digest *a, const Digest *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

PRINTF_LIKE(5, 6)
static void find(Verifier *verifier, FindingKind kind, uint64_t position, const VerifyRun *run, const char *format, ...)
{
    Error text = { 0 };                         /* cut between characters where it is too long, like every message */
    va_list args;
    if (finding_is_damage(kind)) verifier->report.damage_count++;
    if (!verifier->options.finding) return;
    va_start(args, format);
    Str whole = arena_format_args(&verifier->scratch, format, args);
    va_end(args);
    error_set(&text, ERR_CORRUPT, "%.*s", STR_ARG(whole));
    Finding finding = { kind, position, run_id_peek(run), str_of(text.text) };
    verifier->options.finding(verifier->options.context, &finding);
}

/* --- runs ---------------------------------------------------------------------------------------------------------- */

void verify_init(Verifier *verifier, const VerifyOptions *options)
{
    *verifier = (Verifier){ .options = *options, .now_ms = INT64_MIN };
    arena_init(&verifier->arena, SIZE_MAX);
    arena_init(&verifier->scratch, SIZE_MAX);
    map_init(&verifier->numbers, &verifier->arena, 0);
    map_init(&verifier->ids, &verifier->arena, 0);
}

void verify_deinit(Verifier *verifier)
{
    arena_deinit(&verifier->arena);
    arena_deinit(&verifier->scratch);
}

static Str number_key(const uint64_t *number)
{
    return (Str){ (const char *)number, sizeof *number };
}

static VerifyRun *run_find(const Verifier *verifier, uint64_t number)
{
    uint32_t index;
    return map_find(&verifier->numbers, number_key(&number), &index) ? verifier->runs[index] : NULL;
}

static Status run_take(Verifier *verifier, uint64_t number, VerifyRun **out_run, Error *err)
{
    *out_run = run_find(verifier, number);
    if (*out_run) return OK;
    if (verifier->run_count >= VERIFY_RUN_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "the ledger has more runs than VERIFY_RUN_COUNT_MAX (%u)", VERIFY_RUN_COUNT_MAX);
    VerifyRun *run = ARENA_NEW(&verifier->arena, VerifyRun);
    run->number = number;
    run->next_event = 1;
    if (verifier->run_count == verifier->run_capacity)
        verifier->runs = arena_grow(&verifier->arena, verifier->runs, sizeof *verifier->runs, verifier->run_count,
                                    &verifier->run_capacity);
    map_add(&verifier->numbers, number_key(&run->number), (uint32_t)verifier->run_count, NULL);
    verifier->runs[verifier->run_count++] = run;
    if (number != 0) verifier->report.run_count++;
    *out_run = run;
    return OK;
}

/* The first record of a run that can be read gives it its id; every other one has to agree, and so does every other run. */
static void run_name(Verifier *verifier, VerifyRun *run, uint64_t position, Str id)
{
    uint32_t index;
    if ((run->number == 0) != (id.len == 0)) {
        find(verifier, FINDING_RUN, position, run, "the row says run number %" PRIu64 ", the record %s", run->number,
             id.len ? "that it is of a run" : "that it is of the log itself");
        return;
    }
    if (id.len == 0) return;
    if (run->id.text[0] != '\0') {
        if (!str_is(run_id_peek(run), id))
            find(verifier, FINDING_RUN, position, run, "the row says run number %" PRIu64 ", which is %s; the record is of %.*s",
                 run->number, run->id.text, STR_ARG(id));
        return;
    }
    if (map_find(&verifier->ids, id, &index)) {
        find(verifier, FINDING_RUN, position, run, "the run %.*s has the numbers %" PRIu64 " and %" PRIu64, STR_ARG(id),
             verifier->runs[index]->number, run->number);
        return;
    }
    memcpy(run->id.text, id.ptr, id.len);
    map_find(&verifier->numbers, number_key(&run->number), &index);
    map_add(&verifier->ids, run_id_peek(run), index, NULL);
}

/* --- one row ------------------------------------------------------------------------------------------------------- */

/* False where the row is no continuation: it was told and is not looked at further, or everything after it would be told. */
static bool check_place(Verifier *verifier, const LedgerRow *row)
{
    uint64_t last = verifier->report.end.position;
    if (row->position <= last) {
        find(verifier, FINDING_ORDER, row->position, NULL, "record %" PRIu64 " comes after record %" PRIu64
             ": it is there twice, or out of order", row->position, last);
        return false;
    }
    if (!verifier->options.is_part && row->position > last + 1)
        find(verifier, FINDING_GAP, row->position, NULL, "%" PRIu64 " records from %" PRIu64 " on are missing",
             row->position - last - 1, last + 1);
    return true;
}

static void check_hash(Verifier *verifier, const LedgerRow *row, const VerifyRun *run)
{
    if (row->prev_position != run->position) {
        if (run->position == 0)
            find(verifier, FINDING_GAP, row->position, run, "it follows record %" PRIu64 " of its run, which is missing",
                 row->prev_position);
        else
            find(verifier, FINDING_GAP, row->position, run, "it follows record %" PRIu64 " of its run; the one before it is %"
                 PRIu64, row->prev_position, run->position);
        return;
    }
    if (row->record.len == 0) return;
    Digest hash = chain_record(&run->hash, row->record);
    if (!digest_is(&hash, &row->hash))
        find(verifier, FINDING_CHANGED, row->position, run, "the record does not have its hash: it was changed, or the hash was");
}

static void check_columns(Verifier *verifier, const LedgerRow *row, const VerifyRun *run, const Record *record)
{
    const struct { const char *name; uint64_t column, record; } pairs[] = {
        { "position", row->position, record->head.position },
        { "first_event", row->first_event, record->head.first_event },
        { "event_count", row->event_count, record->event_count },
    };
    for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].column != pairs[i].record)
            find(verifier, FINDING_COLUMN, row->position, run, "%s is %" PRIu64 " in the row and %" PRIu64 " in the record",
                 pairs[i].name, pairs[i].column, pairs[i].record);
    if (record->head.log != verifier->options.log)
        find(verifier, FINDING_LOG, row->position, run, "the record is of log %" PRIu64 ", not of log %" PRIu64,
             record->head.log, verifier->options.log);
    if (record->head.now_ms < verifier->now_ms)
        find(verifier, FINDING_TIME, row->position, run, "its time is %" PRId64 " ms before that of the record before it",
             verifier->now_ms - record->head.now_ms);
}

static void check_events(Verifier *verifier, const LedgerRow *row, const VerifyRun *run)
{
    if (row->first_event != run->next_event)
        find(verifier, FINDING_GAP, row->position, run, "its events begin with %" PRIu64 "; the next one of the run is %" PRIu64,
             row->first_event, run->next_event);
    if (row->event_count == 0) find(verifier, FINDING_COLUMN, row->position, run, "event_count is 0 in the row");
}

static Status list_add(Verifier *verifier, uint64_t **list, size_t *count, size_t *capacity, uint64_t position, Error *err)
{
    if (*count >= VERIFY_ERASED_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "more payloads were erased than VERIFY_ERASED_COUNT_MAX (%u)", VERIFY_ERASED_COUNT_MAX);
    if (*count == *capacity) *list = arena_grow(&verifier->arena, *list, sizeof **list, *count, capacity);
    (*list)[(*count)++] = position;
    return OK;
}

static Status check_payloads(Verifier *verifier, const LedgerRow *row, const VerifyRun *run, const Record *record, Error *err)
{
    Str text;
    Error why;
    if (record->payload_count == 0) {
        if (row->payload.len > 0)
            find(verifier, FINDING_PAYLOAD, row->position, run, "it has a payload of which the record knows nothing");
        return OK;
    }
    verifier->report.payload_count += record->payload_count;
    if (row->payload.len == 0)
        return list_add(verifier, &verifier->missing, &verifier->missing_count, &verifier->missing_capacity, row->position,
                        err);
    for (uint32_t i = 0; i < record->payload_count; i++) {
        if (record_payload(record, row->payload, i, &text, &why) == OK) continue;
        find(verifier, FINDING_PAYLOAD, row->position, run, "%s", why.text);
        break;                                  /* a changed salt or size spoils them all: told once */
    }
    return OK;
}

static Status note_erased(Verifier *verifier, const Record *record, const Event *event, Error *err)
{
    (void)record;
    return list_add(verifier, &verifier->erased, &verifier->erased_count, &verifier->erased_capacity, event->count, err);
}

/* Only the log itself says so of a run: a run that could say it of itself would be believed by whoever emptied it. */
static Status note_archived(Verifier *verifier, const Record *record, const Event *event, Error *err)
{
    VerifyRun *run = record->head.run_id.len ? NULL : run_find(verifier, event->count);
    (void)err;
    if (!run) return OK;                        /* its head will tell that its records are not there */
    run->is_told = true;
    run_name(verifier, run, record->head.position, event->name);
    return OK;
}

static Status note_events(Verifier *verifier, const Record *record, Error *err)
{
    for (uint32_t i = 0; i < record->event_count; i++) {
        const Event *event = &record->events[i];
        Status status = event->kind == EVENT_PAYLOAD_ERASED ? note_erased(verifier, record, event, err)
                        : event->kind == EVENT_RUN_ARCHIVED ? note_archived(verifier, record, event, err) : OK;
        if (status) return status;
    }
    return OK;
}

/* What it said lies elsewhere; its hash stands for it. */
static Status check_archived(Verifier *verifier, const LedgerRow *row, VerifyRun *run, Error *err)
{
    if (!run->is_archived) verifier->report.archived_count++;
    run->is_archived = true;
    if (row->payload.len > 0) find(verifier, FINDING_PAYLOAD, row->position, run, "it has a payload, and its record is not there");
    Stretch *last = verifier->archived_count ? &verifier->archived[verifier->archived_count - 1] : NULL;
    if (last && last->last + 1 == row->position) {
        last->last++;
        return OK;
    }
    if (verifier->archived_count >= VERIFY_ERASED_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "archived records lie in more stretches than VERIFY_ERASED_COUNT_MAX (%u)", VERIFY_ERASED_COUNT_MAX);
    if (verifier->archived_count == verifier->archived_capacity)
        verifier->archived = arena_grow(&verifier->arena, verifier->archived, sizeof *verifier->archived, verifier->archived_count,
                                        &verifier->archived_capacity);
    verifier->archived[verifier->archived_count++] = (Stretch){ row->position, row->position };
    return OK;
}

static Status check_record(Verifier *verifier, const LedgerRow *row, VerifyRun *run, Error *err)
{
    Record record;
    Error why;
    Status status = record_decode_any(&verifier->scratch, row->record, &record, &why);
    if (status) {
        find(verifier, status == ERR_UNAVAILABLE ? FINDING_NEWER : FINDING_UNREADABLE, row->position, run, "%s", why.text);
        return OK;
    }
    if (record.newer_kind)
        find(verifier, FINDING_NEWER, row->position, run, "it has an event of kind %u: written by a newer maestro",
             record.newer_kind);
    run_name(verifier, run, row->position, record.head.run_id);
    check_columns(verifier, row, run, &record);
    if (record.head.now_ms > verifier->now_ms) verifier->now_ms = record.head.now_ms;
    status = check_payloads(verifier, row, run, &record, err);
    return status ? status : note_events(verifier, &record, err);
}

static void check_anchors(Verifier *verifier)
{
    for (uint32_t i = 0; i < verifier->options.anchor_count; i++) {
        const LedgerHead *anchor = &verifier->options.anchors[i];
        if (anchor->log == verifier->options.log && anchor->position == verifier->report.end.position &&
            !digest_is(&anchor->head, &verifier->report.end.head))
            find(verifier, FINDING_HEAD, anchor->position, NULL, "the records up to here are not those that the anchor knew");
    }
}

Status verify_row(Verifier *verifier, const LedgerRow *row, Error *err)
{
    VerifyRun *run;
    arena_reset(&verifier->scratch);
    if (!check_place(verifier, row)) return OK;
    Status status = run_take(verifier, row->run_no, &run, err);
    if (status) return status;
    check_hash(verifier, row, run);
    check_events(verifier, row, run);
    status = row->record.len > 0 ? check_record(verifier, row, run, err) : check_archived(verifier, row, run, err);
    if (status) return status;

    run->hash = row->hash;                      /* taken up again where it may have been broken */
    run->position = row->position;
    run->next_event = row->first_event + row->event_count;
    verifier->report.record_count++;
    verifier->report.event_count += row->event_count;
    verifier->report.end.position = row->position;
    if (verifier->options.is_part) return OK;
    verifier->report.end.head = chain_log(&verifier->report.end.head, &row->hash);
    check_anchors(verifier);
    return OK;
}

/* --- heads and ends ------------------------------------------------------------------------------------------------ */

Status verify_run(Verifier *verifier, const RunHead *head, Error *err)
{
    arena_reset(&verifier->scratch);
    VerifyRun *run = run_find(verifier, head->run_no);
    if (!run) {
        Status status = run_take(verifier, head->run_no, &run, err);
        if (status) return status;
        verifier->report.run_count--;           /* it has no records: it is counted as damage, not as a run */
        run->has_head = true;
        find(verifier, FINDING_TRUNCATED, 0, run, "the run %.*s has no records; its head says %" PRIu64 " events",
             STR_ARG(head->run_id), head->event_count);
        return OK;
    }
    if (run->has_head) find(verifier, FINDING_RUN, 0, run, "run number %" PRIu64 " has two heads", head->run_no);
    run->has_head = true;
    if (run->id.text[0] != '\0' && !str_is(run_id_peek(run), head->run_id))
        find(verifier, FINDING_RUN, 0, run, "run number %" PRIu64 " is %.*s by its head and %s by its records", head->run_no,
             STR_ARG(head->run_id), run->id.text);
    if (head->event_count != run->next_event - 1)
        find(verifier, FINDING_TRUNCATED, run->position, run, "the run ends with event %" PRIu64 "; its head says %" PRIu64,
             run->next_event - 1, head->event_count);
    else if (head->last_position != run->position)
        find(verifier, FINDING_HEAD, run->position, run, "the run ends with record %" PRIu64 "; its head says %" PRIu64,
             run->position, head->last_position);
    else if (!digest_is(&head->head, &run->hash))
        find(verifier, FINDING_HEAD, run->position, run, "the run ends with another hash than its head");
    return OK;
}

static int position_compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The event that says so may belong to the log itself, whose records are not looked at. */
static void end_erased_of_part(Verifier *verifier)
{
    verifier->report.erased_count = verifier->missing_count;
    for (size_t i = 0; i < verifier->missing_count; i++)
        find(verifier, FINDING_ERASED, verifier->missing[i], NULL, "its payload is gone; that an event says so is verified with "
             "the whole log");
}

static bool is_archived(const Verifier *verifier, uint64_t position)
{
    size_t low = 0, high = verifier->archived_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (verifier->archived[middle].last < position) low = middle + 1;
        else high = middle;
    }
    return low < verifier->archived_count && verifier->archived[low].first <= position;
}

/* Whose record was archived has no payload here either. */
static void tell_kept(Verifier *verifier, uint64_t position)
{
    if (!is_archived(verifier, position))
        find(verifier, FINDING_KEPT, position, NULL, "an event says that its payload was erased; it was not");
}

/* Both lists in order: what is in both was erased, what is in one alone is wrong. */
static void end_erased(Verifier *verifier)
{
    size_t at = 0;
    if (verifier->erased_count > 1)
        qsort(verifier->erased, verifier->erased_count, sizeof *verifier->erased, position_compare);
    for (size_t i = 0; i < verifier->missing_count; i++) {
        uint64_t position = verifier->missing[i];
        for (; at < verifier->erased_count && verifier->erased[at] < position; at++) tell_kept(verifier, verifier->erased[at]);
        if (at == verifier->erased_count || verifier->erased[at] != position) {
            find(verifier, FINDING_MISSING, position, NULL, "its payload is missing, and no event says that it was erased");
            continue;
        }
        while (at < verifier->erased_count && verifier->erased[at] == position) at++;       /* erasing twice does no harm */
        verifier->report.erased_count++;
        find(verifier, FINDING_ERASED, position, NULL, "its payload was erased, as an event says");
    }
    for (; at < verifier->erased_count; at++) tell_kept(verifier, verifier->erased[at]);
}

static void end_log(Verifier *verifier)
{
    const LedgerHead *head = verifier->options.head, *end = &verifier->report.end;
    if (head && head->log != verifier->options.log)
        find(verifier, FINDING_LOG, 0, NULL, "the head is of log %" PRIu64 ", not of log %" PRIu64, head->log,
             verifier->options.log);
    else if (head && head->position != end->position)
        find(verifier, FINDING_TRUNCATED, end->position, NULL, "the log ends with record %" PRIu64 "; its head says %" PRIu64,
             end->position, head->position);
    else if (head && !digest_is(&head->head, &end->head))
        find(verifier, FINDING_HEAD, end->position, NULL, "the log ends with another hash than its head");
    for (uint32_t i = 0; i < verifier->options.anchor_count; i++) {
        const LedgerHead *anchor = &verifier->options.anchors[i];
        if (anchor->log != verifier->options.log)
            find(verifier, FINDING_LOG, 0, NULL, "the anchor is of log %" PRIu64 ", not of log %" PRIu64, anchor->log,
                 verifier->options.log);
        else if (anchor->position > end->position)
            find(verifier, FINDING_TRUNCATED, end->position, NULL, "the log ends with record %" PRIu64 "; the anchor knew record %"
                 PRIu64, end->position, anchor->position);
    }
}

VerifyReport verify_end(Verifier *verifier)
{
    arena_reset(&verifier->scratch);
    verifier->report.end.log = verifier->options.log;
    if (verifier->options.is_part) {
        end_erased_of_part(verifier);
    } else {
        end_erased(verifier);
        end_log(verifier);
    }
    for (size_t i = 0; i < verifier->run_count; i++) {
        const VerifyRun *run = verifier->runs[i];
        if (run->is_archived && !run->is_told)
            find(verifier, FINDING_GONE, run->position, run, "records of run number %" PRIu64 " are missing, and no event says that it "
                 "was archived", run->number);
        if (verifier->options.has_run_heads && run->number != 0 && !run->has_head)
            find(verifier, FINDING_HEAD, run->position, run, "run number %" PRIu64 " has records and no head", run->number);
    }
    return verifier->report;
}
