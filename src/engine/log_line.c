/* log_line.c - lines that attempts write: shown at once, stored alongside the next commit, or after a tenth of a second. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

typedef struct LogLine {
    struct LogLine *next;
    uint64_t run_no;
    int64_t now_ms;
    uint32_t step_index, attempt, size;
    bool is_error;
    char text[];
} LogLine;

void log_line_add(Engine *engine, const Notice *notice)
{
    Resident *resident = resident_find(engine, notice->id.run_no);
    if (!resident || !resident->plan) return;
    if (engine->observe)
        engine->observe(engine->observe_context,
                        &(Observation){ .kind = OBSERVE_LOG, .run_no = notice->id.run_no, .plan = &resident->plan->plan, .run = &resident->run,
                                        .step = notice->id.step, .text = notice->text, .is_error = notice->is_error,
                                        .now_ms = engine->now_ms });
    /* The store is slower than what is written: a hole in a log is told, and work goes on. */
    if (engine->line_size + notice->text.len > LOG_WAITING_SIZE_MAX) {
        engine->meter.log_lines_dropped++;
        return;
    }
    LogLine *line = malloc(sizeof *line + notice->text.len);
    CHECK(line);
    uint32_t number = resident->run.steps[notice->id.step].number;
    *line = (LogLine){ .run_no = notice->id.run_no, .now_ms = engine->now_ms, .step_index = number ? number - 1 : 0,
                       .attempt = notice->id.attempt, .size = (uint32_t)notice->text.len, .is_error = notice->is_error };
    if (notice->text.len) memcpy(line->text, notice->text.ptr, notice->text.len);
    if (engine->lines_last) engine->lines_last->next = line;
    else {
        engine->lines = line;
        engine->lines_due = engine->now_ms + LOG_DELAY_MS;
    }
    engine->lines_last = line;
    engine->line_count++;
    engine->line_size += line->size;
    engine->meter.log_lines++;
}

/* Whose lines the batch stores, for observers; a run may be there more than once. */
static void note_run(EngineBatch *batch, uint64_t run_no)
{
    if (batch->line_run_count && batch->line_runs[batch->line_run_count - 1] == run_no) return;
    batch->line_runs = arena_grow(&batch->batch.arena, batch->line_runs, sizeof *batch->line_runs, batch->line_run_count,
                                  &batch->line_run_capacity);
    batch->line_runs[batch->line_run_count++] = run_no;
}

void log_lines_store(Engine *engine)
{
    if (!engine->lines || (!engine->open && engine->now_ms < engine->lines_due && engine->line_count < LOG_BATCH_COUNT)) return;
    if (engine->state == ENGINE_STALLED || batch_is_large(engine)) return;
    EngineBatch *batch = batch_open(engine);
    const TableInfo *info = table_info(TABLE_LOGS);
    while (engine->lines) {
        LogLine *line = engine->lines;
        engine->lines = line->next;
        Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
        cells[LOGS_line_no] = cell_int((int64_t)engine->next_line_no++);
        cells[LOGS_run_no] = cell_int((int64_t)line->run_no);
        cells[LOGS_step_index] = cell_int(line->step_index);
        cells[LOGS_attempt] = cell_int(line->attempt);
        cells[LOGS_time_ms] = cell_int(line->now_ms);
        cells[LOGS_stream] = cell_text(line->is_error ? STR("stderr") : STR("stdout"));
        cells[LOGS_text] = cell_text(arena_copy(&batch->batch.arena, (Str){ line->text, line->size }));
        projection_row(batch->projection, TABLE_LOGS, ROW_INSERT, table_mask(info), cells);
        note_run(batch, line->run_no);
        meter_left(engine, METER_LOG_LINES, line->now_ms);
        batch->size += line->size;
        free(line);
    }
    engine->lines_last = NULL;
    engine->line_count = 0;
    engine->line_size = 0;
}

int64_t log_lines_waited_ms(const Engine *engine) { return engine->lines ? engine->now_ms - engine->lines->now_ms : 0; }

void log_lines_deinit(Engine *engine)
{
    while (engine->lines) {
        LogLine *line = engine->lines;
        engine->lines = line->next;
        free(line);
    }
    engine->lines_last = NULL;
}
