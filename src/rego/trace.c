#include "rego/eval.h"

#include "base/limits.h"
#include "rego/builtins/format.h"

static void event_send(Eval *e, RegoTraceKind kind, Str file, RegoLoc loc, Str note)
{
    RegoTraceEvent event = { .kind = kind, .depth = e->depth, .file = file, .loc = loc, .note = note };
    Str source = file.len ? (Str){ 0 } : e->query->text;
    for (uint32_t i = 0; file.len && i < e->policy->module_count; i++)
        if (str_is(e->policy->modules[i]->file, file)) source = e->policy->modules[i]->text;
    event.text = rego_loc_text(source, loc);
    e->tracer->event(e->tracer->context, &event);
}

static const RegoPlace *place_of(const Eval *e, const Frame *frame, uint32_t index)
{
    return frame->rule ? &e->policy->places[index] : &e->query->places[index];
}

void trace_mark(Eval *e, const Frame *frame, const Op *op)
{
    uint32_t index = (uint32_t)op->c;
    if (frame->rule && e->profile && e->profile->eval_counts) e->profile->eval_counts[index]++;
    if (!e->tracer) return;
    const RegoPlace *place = place_of(e, frame, index);
    event_send(e, REGO_TRACE_EVAL, place->file, place->loc, (Str){ 0 });
}

void trace_back(Eval *e, const Frame *frame, const Op *op, bool is_redo)
{
    uint32_t place = frame->unit->places[op->row];
    if (!place) return;
    if (is_redo && frame->rule && e->profile && e->profile->redo_counts) e->profile->redo_counts[place - 1]++;
    if (!e->tracer) return;
    const RegoPlace *found = place_of(e, frame, place - 1);
    event_send(e, is_redo ? REGO_TRACE_REDO : REGO_TRACE_FAIL, found->file, found->loc, (Str){ 0 });
}

void trace_rule(Eval *e, const PlanRule *rule, RegoTraceKind kind)
{
    if (e->tracer && e->policy->options.instrument)
        event_send(e, kind, rule->unit.file, rule->source->head.loc, (Str){ 0 });
}

/* print(...) has each operand as the set of its values, none where it is undefined. */
void trace_note(Eval *e, const Frame *frame, const Op *op)
{
    if (!e->tracer) return;
    Buf buf;
    buf_init(&buf, REGO_NOTE_SIZE_MAX);
    for (uint32_t i = 0; i < op->count; i++) {
        Value value = operand_value(frame, op->operands[i]);
        if (i) buf_char(&buf, ' ');
        if (!op->is_text && value.kind == VALUE_SET && value.count == 0) buf_text(&buf, "<undefined>");
        else format_value(&buf, !op->is_text && value.kind == VALUE_SET ? value.items[0] : value);
    }
    event_send(e, REGO_TRACE_NOTE, frame->unit->file, frame->unit->locs[op->row], buf_peek(&buf));
    buf_deinit(&buf);
}
