/* rebuild.h - the rows of one run made again from its records, to be held against those that a store has.
 *
 * The records are given in their order; each is replayed (ledger/replay.h), projected, and its changes applied to rows kept
 * here. Whoever has a row of the store then asks for the one that there should be; what was never asked for is missing there.
 * Beside the rows of the fold there are those that the engine adds by itself and that follow from the run all the same: the
 * time at which a parked run has to be looked at.
 *
 *   Rebuild rebuild;
 *   rebuild_init(&rebuild, &(RebuildOptions){ .plan = &plan, .id = id, .run_no = 7, .pass_count = 1 });
 *   for each record:  rebuild_record(&rebuild, &row, err)
 *   for each row of the store:  const Cell *cells = rebuild_find(&rebuild, TABLE_SIGNALS, key);   NULL: none follows
 *   rebuild_rest(&rebuild, told_missing, context);
 *   rebuild_deinit(&rebuild);
 *
 * A run of many steps is made in passes: each keeps the rows whose key falls to it, and rebuild_is_mine() says which those are.
 *
 * Owns:   a Rebuild owns its rows until rebuild_deinit().
 * Fails:  rebuild_record() as replay_row().
 * Bounds: all rows of a run, or with several passes a share of them.     Thread: one at a time; pure.
 */
#ifndef VIEW_REBUILD_H
#define VIEW_REBUILD_H

#include "ledger/replay.h"
#include "view/store.h"

typedef struct RebuildOptions {
    const Plan *plan;
    Id id;
    uint64_t run_no;
    uint32_t pass, pass_count;      /* from 0; at least 1 */
} RebuildOptions;

typedef struct RebuiltRow { uint64_t hash; Cell *cells; uint8_t table; bool is_seen; } RebuiltRow;

typedef struct Rebuild {
    RebuildOptions options;
    Replay replay;                  /* its run is as it was after the last record */
    int64_t due_ms;                 /* of the row in maestro_timers; INT64_MAX: there is none */
    Arena arena, scratch;           /* of the rows; of one record */
    RebuiltRow *rows;
    uint32_t *slots;                /* hash -> index + 1 */
    size_t row_capacity;
    uint32_t row_count, slot_count, begun_count;
    uint32_t *step_numbers;
} Rebuild;

void            rebuild_init(Rebuild *rebuild, const RebuildOptions *options);
void            rebuild_deinit(Rebuild *rebuild);
MUST_USE Status rebuild_record(Rebuild *rebuild, const LedgerRow *row, Error *err);

bool            rebuild_is_mine(const Rebuild *rebuild, Table table, const Cell *key);
/* The row with this key as the records make it, which counts as seen; NULL: none. */
const Cell     *rebuild_find(Rebuild *rebuild, Table table, const Cell *key);
/* Those that were not seen. */
void            rebuild_rest(const Rebuild *rebuild, void (*visit)(void *context, Table table, const Cell *cells), void *context);

#endif
