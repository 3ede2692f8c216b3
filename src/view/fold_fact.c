#include "core/command.h"
#include "core/terms.h"
#include "view/fold.h"
#include "view/id_derive.h"

void fold_branch_taken(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = pen_arena(fold->run);
    Id id = id_derive(&input->run->id, DERIVED_BRANCH, fold->event_number);
    Cell key = cell_text(arena_copy(arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_BRANCHES, ROW_INSERT, &key);
    put_int(pen, BRANCHES_workflow_id, input->record->run_no);
    put_borrowed(pen, BRANCHES_branch_point_key, input->plan->steps[event->step].id);
    put(pen, BRANCHES_condition_class, cell_text(terms_branch_condition(input->plan->terms, event->step)));
    put(pen, BRANCHES_selected_branches, cell_text(keys_json(arena, event->name)));
    put_time(pen, BRANCHES_evaluated_ms, now_of(fold));
    put_payload_text(fold, pen, BRANCHES_input_summary);        /* longer: a summary it is not */
}

void fold_signal_received(Fold *fold)
{
    fold_signal_row(fold, (SignalKind)fold->event->sort);
}

void fold_signal_row(Fold *fold, SignalKind kind)
{
    const Event *event = fold->event;
    Arena *arena = pen_arena(fold->run);
    Cell key[2] = { cell_int((int64_t)fold->input->record->run_no), cell_int((int64_t)event->count) };
    RowPen pen = pen_at(fold->projection, TABLE_SIGNALS, ROW_INSERT, key);
    put(pen, SIGNALS_name, cell_text(arena_copy(arena, event->name)));
    put_name(pen, SIGNALS_kind, signal_kind_name(kind));
    put_copied(pen, SIGNALS_source, event->source);
    put_payload(fold, pen, SIGNALS_payload_at);
    put_time(pen, SIGNALS_received_ms, now_of(fold));
}

void fold_decision_made(Fold *fold)
{
    const Event *event = fold->event;
    const ProjectionInput *input = fold->input;
    Arena *arena = pen_arena(fold->run);
    DecisionKind kind = (DecisionKind)event->sort;
    Id id = id_derive(&input->run->id, DERIVED_DECISION, fold->event_number);
    Cell key = cell_text(arena_copy(arena, id_peek(&id)));
    RowPen pen = pen_at(fold->projection, TABLE_DECISIONS, ROW_INSERT, &key);
    put_int(pen, DECISIONS_workflow_id, input->record->run_no);
    put_name(pen, DECISIONS_decision_type, decision_kind_name(kind));
    put_copied(pen, DECISIONS_decided_by, event->source);
    put_copied(pen, DECISIONS_reason, event->text);
    if (kind == DECISION_RETRY_FROM_STEP && event->step < input->plan->step_count)
        put_borrowed(pen, DECISIONS_retry_from_step_key, input->plan->steps[event->step].id);
    if (kind == DECISION_COMPENSATE && event->name.len)
        put(pen, DECISIONS_compensate_step_keys, cell_text(keys_json(arena, event->name)));
    put_time(pen, DECISIONS_created_ms, now_of(fold));
}
