#include "rego/eval.h"

/* The register of a scan's place: `count` is the place of its next item. `items` is NULL where all items are gone over,
 * and otherwise the `next` of an index. */

static ScanMemory *scan_memory(Eval *e, const ScanTest *test)
{
    if (!e->scans) e->scans = eval_alloc(e, e->query->unit.scan_count * sizeof *e->scans);
    return e->scans ? &e->scans[test->number] : NULL;
}

/* The index of a container that is gone over again and again. NULL with RUN_END where it is not (yet) worth one. */
static Run index_of_repeated(Eval *e, const ScanTest *test, Value container, const ScanIndex **out_index)
{
    *out_index = NULL;
    ScanMemory *memory = scan_memory(e, test);
    if (!memory) return RUN_ERROR;
    if (memory->items != container.items || memory->count != container.count) {
        *memory = (ScanMemory){ .items = container.items, .count = container.count };
        return RUN_END;
    }
    if (!memory->index && ++memory->repeat_count >= SCAN_REPEAT_COUNT) {
        void *index = eval_alloc(e, sizeof *memory->index), *storage = eval_alloc(e, scan_index_size(container.count));
        if (!index || !storage || !eval_spend(e, container.count)) return RUN_ERROR;
        memory->index = index;
        scan_index_make(container, test->path, storage, memory->index);
    }
    *out_index = memory->index;
    return RUN_END;
}

static Run scan_begin(Eval *e, Frame *frame, const Op *op, Value container, Value *out_place)
{
    const ScanTest *test = op->test;
    *out_place = (Value){ .count = 0, .items = NULL };
    if (!test || container.count < SCAN_INDEX_COUNT_MIN) return RUN_END;
    if (frame->scopes[op->scope]->mock_count) return RUN_END;   /* a comparison before the test may be another one */
    const ScanIndex *index = test->base;
    if (!index || !scan_index_is_of(index, container)) {
        if (index_of_repeated(e, test, container, &index) == RUN_ERROR) return RUN_ERROR;
        if (!index) return RUN_END;
    }
    *out_place = (Value){ .count = scan_index_first(index, operand_value(frame, test->wanted)),
                          .items = (const Value *)(const void *)index->next };
    return RUN_END;
}

Run op_scan(Eval *e, Frame *frame, const Op *op, bool again)
{
    Value container = operand_value(frame, op->a);
    Value *registers = frame->registers, *place = &registers[op->b];
    if (!again) {
        if (container.kind < VALUE_ARRAY || container.kind > VALUE_SET) return RUN_END;
        if (scan_begin(e, frame, op, container, place) == RUN_ERROR) return RUN_ERROR;
    }
    uint32_t at = place->count;
    if (at >= container.count) return RUN_END;
    place->count = place->items ? ((const uint32_t *)(const void *)place->items)[at] : at + 1;
    if (container.kind == VALUE_OBJECT) {
        registers[op->c] = container.members[at].key;
        registers[op->dst] = container.members[at].value;
    } else {
        registers[op->c] = container.kind == VALUE_SET ? container.items[at] : value_int(at);
        registers[op->dst] = container.items[at];
    }
    return RUN_ANSWER;
}
