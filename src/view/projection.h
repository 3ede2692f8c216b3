/* projection.h - the rows that follow from records: a fold, live and in a rebuild the same.
 *
 * A projection gathers the changes of one batch. However often a row changes in it, by however many records, it is one
 * change in the end. What follows from no event (snapshots, timers, plans, log lines) is added by projection_row() and
 * merged in the same way.
 *
 * Keys. Step runs are known by (workflow_id, step_index), which follow from run and event alone: nothing has to be read to
 * find the row of one, and nothing kept. The number by which their rows lie, step_run_no, is given out here in append order
 * from *next_step_run_no, which is the log's and goes into Batch.next_step_run_no. Whether a row is new is told by its
 * number: whoever keeps a run keeps *begun_count beside it, the step runs that have rows, which is Run.begun_count when the
 * run was made or loaded, and from then on is kept by projection_record().
 *
 * Loops. Where a plan has loops, a record may end a step run and take its step back to the beginning, and the run no longer
 * knows the number. So whoever keeps a run of such a plan keeps `step_numbers` beside it: one a step, filled by
 * projection_numbers() when the run was made or loaded, and from then on kept by projection_record(). Without loops it may
 * be NULL.
 *
 * Owns:   everything lives in the arena of the batch. Texts of events are copied; those of plan and run, and the record and
 *         payload bytes, are borrowed until the batch has come back.
 * Fails:  never.     Bounds: those of a batch.     Thread: one at a time.
 */
#ifndef VIEW_PROJECTION_H
#define VIEW_PROJECTION_H

#include "core/run.h"
#include "ledger/record.h"
#include "view/store.h"

typedef struct Projection Projection;

typedef struct ProjectionInput {
    const Plan *plan;
    const Run *run;                 /* after all events of the record */
    const RecordHead *head;
    const Event *events;
    uint32_t event_count;
    const Payload *payloads;        /* of record_encode() or record_decode() */
    const BatchRecord *record;      /* its position, run_no, first_event, hash and payload count here */
    uint32_t *begun_count;          /* see above */
    uint32_t *step_numbers;         /* see above; NULL for plans without loops */
    uint64_t *next_step_run_no;
} ProjectionInput;

Projection *projection_make(Arena *batch_arena);
void projection_record(Projection *projection, const ProjectionInput *input);
/* One more row. `cells` are by column and are kept until the batch has come back; of two changes of a row the later counts,
 * column by column, and deleting ends what came before. */
void projection_row(Projection *projection, Table table, RowOp op, uint64_t mask, const Cell *cells);
/* What there is so far; may be called again after more was added. */
void projection_finish(Projection *projection, const RowChange **out_changes, uint32_t *out_count);

void projection_numbers(const Run *run, uint32_t *out_step_numbers);

/* For records that were read back: applies the events to the run and projects them. `input->run` is this run. */
void projection_replay(Projection *projection, const ProjectionInput *input, Run *run);

#endif
