/* follow.h - how a run goes that another process carries out: read from the store, given on as if it happened here.
 *
 * Each look gives what became durable since the last one: events, folded into a run of its own with their hashes checked, and
 * lines of logs between them by their time. Whoever takes over from the other process looks once more before it begins, and
 * nothing is missing or there twice.
 *
 * Owns:   its plan, run and memory, until follow_close(). The store is the caller's, and may be exchanged between two looks.
 * Fails:  with the store's reason, and the next look goes on from there; ERR_CORRUPT where records do not follow from one another.
 * Thread: the main one.
 */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "engine/engine.h"
#include "ledger/replay.h"

typedef struct Follow {
    Store *store;
    Arena arena;                    /* of the plan */
    Plan plan;
    Replay replay;                  /* replay.run is the run so far */
    int64_t line_no;                /* of the last line of a log that was given on */
    bool has_logs;                  /* lines are wanted */
    bool is_settled;
} Follow;

/* `row` is the run's. Begins with its first event. */
MUST_USE Status follow_open(Follow *follow, Store *store, const Cell *row, bool has_logs, Error *err);
void follow_close(Follow *follow);          /* harmless on one that is zero */
/* The last line of all logs of a store: a Follow whose line_no that is gives on what came after it. */
MUST_USE Status follow_last_line(Store *store, int64_t *out_line_no, Error *err);
/* Gives on what came since the last look; *out_count is how much that was. */
MUST_USE Status follow_look(Follow *follow, Observe observe, void *context, uint32_t *out_count, Error *err);

#endif
