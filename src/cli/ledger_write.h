/* ledger_write.h - notes in the log by a command itself, without an engine: for what concerns the store and no single run's way.
 *
 * Whoever archives runs or erases a payload becomes the owner of the store, as an engine does, and writes a record of the log
 * itself together with the rows that it changes: both are there after the commit, or neither. The first record also says who
 * owns the store now.
 *
 *   LedgerPen pen;
 *   ledger_own(arena, store, &pen, err)             ERR_CONFLICT: another process owns it
 *   ledger_note(&pen, &(LedgerNote){ .events = ... }, err)
 *
 * Owns:   everything lives in the arena; the store stays owned until it is closed.
 * Fails:  ERR_CONFLICT as above; ERR_UNAVAILABLE where the commit was refused or its outcome is not known.
 * Bounds: RECORD_EVENT_COUNT_MAX - 1 events a note.     Thread: the main one.
 */
#ifndef CLI_LEDGER_WRITE_H
#define CLI_LEDGER_WRITE_H

#include "base/arena.h"
#include "core/event.h"
#include "view/store.h"

typedef struct LedgerPen {
    Arena *arena;
    Store *store;
    LogHead head;
    uint64_t last_position, event_count;        /* of the log's own records */
    Digest last_hash;
    bool is_named;                              /* the record that says who owns it is written */
} LedgerPen;

typedef struct LedgerNote {
    const Event *events;
    uint32_t event_count;
    Str rationale;
    const RowChange *changes;
    uint32_t change_count;
} LedgerNote;

MUST_USE Status ledger_own(Arena *arena, Store *store, LedgerPen *out_pen, Error *err);
MUST_USE Status ledger_note(LedgerPen *pen, const LedgerNote *note, Error *err);

#endif
