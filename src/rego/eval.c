#include "rego/eval.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

#define STOP_INTERVAL 1024u         /* steps between two looks at the stop flag */

/* What needs much of the stack stays out of the functions that recursion goes through. */
#define OUT_OF_LINE __attribute__((noinline))

/* --- failing and budgets ----------------------------------------------------------------------------------------- */

OUT_OF_LINE Run eval_fail(Eval *e, RegoEvalCode code, Str file, RegoLoc loc, const char *format, ...)
{
    if (e->error->code) return RUN_ERROR;       /* the first reason stays */
    char text[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    e->error->code = code;
    e->error->file = file;
    e->error->loc = loc;
    error_set(&e->error->error, code == REGO_EVAL_CANCEL ? ERR_LIMIT : ERR_INVALID, "%s", text);
    return RUN_ERROR;
}

/* Without a place: block_failed() gives it that of the instruction under way. */
static Run budget_fail(Eval *e, const char *what)
{
    return eval_fail(e, REGO_EVAL_CANCEL, (Str){ 0 }, (RegoLoc){ 0 }, "%s", what);
}

OUT_OF_LINE bool eval_spend(Eval *e, uint64_t count)
{
    Error err;
    if (builtin_spend(&e->builtins, count, &err)) return true;
    budget_fail(e, err.text);
    return false;
}

/* Values that share parts may be far larger than their memory, so what walks over one is charged for its size. */
OUT_OF_LINE static bool weigh(Eval *e, Value value)
{
    Error err;
    uint64_t weight;
    if (builtin_weigh(&e->builtins, value, &weight, &err)) return true;
    budget_fail(e, err.text);
    return false;
}

/* Short texts and numbers are compared within a step. */
#define LIGHT_SIZE 256u

bool eval_weigh(Eval *e, Value value)
{
    bool is_light = value.kind < VALUE_ARRAY ? value.kind < VALUE_DECIMAL || value.count < LIGHT_SIZE : value.kind > VALUE_SET;
    return is_light || weigh(e, value);
}

Run eval_equals(Eval *e, Value a, Value b)
{
    if (a.kind == VALUE_STRING && b.kind == VALUE_STRING) {
        if (a.count != b.count) return RUN_END;
        if (a.count >= LIGHT_SIZE && !weigh(e, a)) return RUN_ERROR;
        return !a.count || !memcmp(a.text, b.text, a.count) ? RUN_ANSWER : RUN_END;
    }
    if (a.kind >= VALUE_ARRAY && a.kind <= VALUE_SET) {
        if (a.kind != b.kind || a.count != b.count) return RUN_END;
        if (!weigh(e, a)) return RUN_ERROR;
    } else if (a.kind == VALUE_DECIMAL && !eval_weigh(e, a)) {
        return RUN_ERROR;
    }
    return value_equals(a, b) ? RUN_ANSWER : RUN_END;
}

OUT_OF_LINE void *eval_alloc(Eval *e, size_t size)
{
    Error err;
    void *memory = builtin_alloc(&e->builtins, size, &err);
    if (!memory) budget_fail(e, err.text);
    return memory;
}

bool depth_enter(Eval *e)
{
    if (e->depth < e->depth_max) {
        e->depth++;
        return true;
    }
    eval_fail(e, REGO_EVAL_CANCEL, (Str){ 0 }, (RegoLoc){ 0 }, "rules and bodies called one another more than %u levels deep",
              e->depth_max);
    return false;
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

struct StackChunk {
    StackChunk *below, *above;
    size_t capacity, used;
    Value *values;
};

#define STACK_CHUNK_COUNT 1024u     /* registers of the first chunk; later ones double */

static OUT_OF_LINE bool stack_grow(Eval *e, size_t count)
{
    StackChunk *top = e->stack;
    if (top && top->above && top->above->capacity >= count) {
        e->stack = top->above;
        return true;
    }
    size_t capacity = top ? 2 * top->capacity : STACK_CHUNK_COUNT;
    if (capacity < count) capacity = count;
    StackChunk *chunk = eval_alloc(e, sizeof *chunk);
    Error err;
    if (!chunk) return false;
    if (!builtin_fits(&e->builtins, capacity * sizeof(Value), &err)) {
        budget_fail(e, err.text);
        return false;
    }
    /* Registers are written before they are read, so they need not be zeroed. */
    char *bytes = arena_bytes(e->arena, (capacity + 1) * sizeof(Value));
    bytes += (sizeof(Value) - (uintptr_t)bytes % sizeof(Value)) % sizeof(Value);
    *chunk = (StackChunk){ .below = top, .capacity = capacity, .values = (Value *)(void *)bytes };
    if (top) top->above = chunk;
    e->stack = chunk;
    return true;
}

bool frame_push(Eval *e, const Unit *unit, EvalScope *scope, Frame *out_frame)
{
    static_assert(sizeof(Value) >= sizeof(EvalScope *), "a scope's address fits a register");
    size_t count = (size_t)unit->register_count + unit->scope_count;
    if ((!e->stack || e->stack->capacity - e->stack->used < count) && !stack_grow(e, count)) return false;
    StackChunk *chunk = e->stack;
    out_frame->registers = chunk->values + chunk->used;
    out_frame->scopes = (EvalScope **)(void *)(out_frame->registers + unit->register_count);
    out_frame->scopes[0] = scope;
    out_frame->unit = unit;
    out_frame->rule = NULL;
    out_frame->exits_early = false;
    chunk->used += count;
    return true;
}

void frame_pop(Eval *e, const Frame *frame)
{
    StackChunk *chunk = e->stack;
    chunk->used -= (size_t)frame->unit->register_count + frame->unit->scope_count;
    if (chunk->used == 0 && chunk->below) e->stack = chunk->below;
}

/* --- instructions with insides ----------------------------------------------------------------------------------- */

static RegoLoc op_loc(const Frame *frame, const Op *op)
{
    return frame->unit->locs[op->row];
}

static Run builtin_failed(Eval *e, const Frame *frame, const Op *op, BuiltinResult result, const Error *err)
{
    if (result == BUILTIN_UNDEFINED) return RUN_END;
    if (result == BUILTIN_HALT) return budget_fail(e, err->text);
    if (result == BUILTIN_CONFLICT)
        return eval_fail(e, REGO_EVAL_CONFLICT, frame->unit->file, op_loc(frame, op), "%s", err->text);
    if (!e->strict) return RUN_END;
    return eval_fail(e, result == BUILTIN_TYPE_ERROR ? REGO_EVAL_TYPE : REGO_EVAL_BUILTIN, frame->unit->file,
                     op_loc(frame, op), "%s", err->text);
}

/* RUN_ANSWER with the value, RUN_END where it is undefined. */
static OUT_OF_LINE Run call_builtin(Eval *e, const Frame *frame, const Op *op, const Builtin *builtin,
                                    const Value *args, Value *out)
{
    Error err;
    err.text[0] = 0;
    BuiltinResult result = builtin_call(builtin, &e->builtins, args, out, &err);
    return result == BUILTIN_OK ? RUN_ANSWER : builtin_failed(e, frame, op, result, &err);
}

static Run call_mock(Eval *e, const Frame *frame, const Op *op, EvalScope *scope, const Mock *mock, const Value *args,
                     Value *out)
{
    if (mock->by_builtin) return call_builtin(e, frame, op, mock->by_builtin, args, out);
    if (mock->by_group) {
        EvalScope *inner = scope_without_mocks(e, scope);
        return inner ? group_call(e, inner, mock->by_group, args, out) : RUN_ERROR;
    }
    if (mock->by_node) return scope_document(e, scope, mock->by_node, mock->path, out);
    *out = mock->value;
    return RUN_ANSWER;
}

static Run op_call(Eval *e, Frame *frame, const Op *op)
{
    EvalScope *scope = frame->scopes[op->scope];
    Value args[REGO_ARG_COUNT_MAX], result;
    CHECK(op->count <= REGO_ARG_COUNT_MAX);
    for (uint32_t i = 0; i < op->count; i++) args[i] = operand_value(frame, op->operands[i]);
    const Builtin *builtin = op->code == OP_BUILTIN ? op->builtin : NULL;
    const Mock *mock = scope->mock_count ? scope_mock(scope, builtin, builtin ? NULL : op->group) : NULL;
    Run run = mock ? call_mock(e, frame, op, scope, mock, args, &result)
            : builtin ? call_builtin(e, frame, op, builtin, args, &result)
                      : group_call(e, scope, op->group, args, &result);
    if (run != RUN_ANSWER) return run;
    if (op->is_relation && mock && !mock->by_builtin) {
        Value *one = eval_alloc(e, sizeof *one);
        if (!one) return RUN_ERROR;
        *one = result;
        result = value_array(one, 1);
    }
    frame->registers[op->dst] = result;
    return RUN_ANSWER;
}

OUT_OF_LINE Run list_set(Eval *e, ValueList *list, Value *out_set)
{
    Error err;
    return builtin_list_set(&e->builtins, list, out_set, &err) == BUILTIN_OK ? RUN_ANSWER : budget_fail(e, err.text);
}

typedef struct Collect {
    Yield yield;
    ValueList list;
    EntryList entries;
} Collect;

static OUT_OF_LINE Run collect_item(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Collect *collect = (Collect *)yield;
    Error err;
    if (!builtin_list_add(&e->builtins, &collect->list, operand_value(frame, op->operands[0]), &err))
        return budget_fail(e, err.text);
    return RUN_END;
}

static Run collect_pair(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Collect *collect = (Collect *)yield;
    Entry entry = { .path = operand_value(frame, op->operands[0]), .leaf = operand_value(frame, op->operands[1]) };
    if (!eval_weigh(e, entry.path)) return RUN_ERROR;
    return entry_add(e, &collect->entries, entry) ? RUN_END : RUN_ERROR;
}

/* Whether a comprehension has to be evaluated to know that it is not equal to the value. Beside a set others always do. */
static bool value_is_like(Value value, int32_t flavour)
{
    return value.kind == VALUE_SET || (value.kind == VALUE_ARRAY && flavour == REGO_TERM_ARRAY_COMPREHENSION)
        || (value.kind == VALUE_OBJECT && flavour == REGO_TERM_OBJECT_COMPREHENSION);
}

static Run op_collect(Eval *e, Frame *frame, const Op *op)
{
    if (op->is_once && rego_is_defined(frame->registers[op->dst])) return RUN_ANSWER;
    bool is_object = op->c == REGO_TERM_OBJECT_COMPREHENSION;
    Collect collect = { .yield = { is_object ? collect_pair : collect_item }, .list = { .arena = e->arena } };
    if (!depth_enter(e)) return RUN_ERROR;
    Run run = run_block(e, frame, op->block, &collect.yield);
    e->depth--;
    if (run == RUN_ERROR) return RUN_ERROR;
    Value *out = &frame->registers[op->dst];
    if (is_object) return entries_object(e, &collect.entries, frame->unit->file, op_loc(frame, op), out);
    if (op->c == REGO_TERM_ARRAY_COMPREHENSION) {
        *out = value_list_array(&collect.list);
        return RUN_ANSWER;
    }
    return list_set(e, &collect.list, out);
}

static Run block_exists(Eval *e, Frame *frame, const Block *block)
{
    if (!depth_enter(e)) return RUN_ERROR;
    Run run = run_block(e, frame, block, NULL);
    e->depth--;
    return run;
}

static Run op_every(Eval *e, Frame *frame, const Op *op)
{
    Value domain = operand_value(frame, op->a);
    bool is_object = domain.kind == VALUE_OBJECT;
    if (!is_object && domain.kind != VALUE_ARRAY && domain.kind != VALUE_SET) return RUN_END;
    for (uint32_t i = 0; i < domain.count; i++) {
        Value item = is_object ? domain.members[i].value : domain.items[i];
        if (op->c >= 0) frame->registers[op->c] = item;
        if (op->b >= 0)
            frame->registers[op->b] = is_object ? domain.members[i].key
                                    : domain.kind == VALUE_SET ? item : value_int(i);
        Run run = block_exists(e, frame, op->block);
        if (run != RUN_ANSWER) return run;
    }
    return RUN_ANSWER;
}

static OUT_OF_LINE Run op_items(Eval *e, Frame *frame, const Op *op)
{
    Value *items = eval_alloc(e, (op->count + 1u) * sizeof *items);
    if (!items) return RUN_ERROR;
    for (uint32_t i = 0; i < op->count; i++) {
        items[i] = operand_value(frame, op->operands[i]);
        bool is_sorted = op->code == OP_SET || (op->code == OP_OBJECT && i % 2 == 0);
        if (is_sorted && !eval_weigh(e, items[i])) return RUN_ERROR;
    }
    Value *out = &frame->registers[op->dst];
    if (op->code == OP_ARRAY) {
        *out = value_array(items, op->count);
    } else if (op->code == OP_SET) {
        *out = value_set(e->arena, items, op->count);
    } else {
        Member *members = (Member *)(void *)items;  /* pairs lie as members do; of equal keys the last stays */
        *out = value_object(e->arena, members, op->count / 2);
    }
    return RUN_ANSWER;
}

static Run op_input(Frame *frame, const Op *op)
{
    const Value *at = &frame->scopes[op->scope]->input;
    if (at->kind == REGO_KIND_UNDEFINED) return RUN_END;
    for (uint32_t i = 0; i < op->count; i++) {
        at = plan_step(at, op->keys[i]);
        if (!at) return RUN_END;
    }
    frame->registers[op->dst] = *at;
    return RUN_ANSWER;
}

static Run op_data(Frame *frame, const Op *op)
{
    const EvalScope *scope = frame->scopes[op->scope];
    Value value = !scope->data_is_base ? scope_base(scope, op->keys, op->count)
                : op->value ? *op->value : rego_undefined();
    frame->registers[op->dst] = value;
    return rego_is_defined(value) ? RUN_ANSWER : RUN_END;
}

static Run op_get(Eval *e, Frame *frame, const Op *op)
{
    Value container = operand_value(frame, op->a);
    Value key = operand_value(frame, op->b);
    if (!eval_weigh(e, key)) return RUN_ERROR;
    const Value *found = op->is_base ? plan_step_base(&container, key) : plan_step(&container, key);
    if (!found) return RUN_END;
    frame->registers[op->dst] = container.kind == VALUE_SET ? key : *found;     /* of 1 and 1.0 the one that was asked for */
    return RUN_ANSWER;
}

static Run op_tree(Eval *e, Frame *frame, const Op *op, bool again)
{
    EvalScope *scope = frame->scopes[op->scope];
    Value *registers = frame->registers;
    if (op->code == OP_TREE_ENTER) {
        TreeNode *node = op->node;
        if (scope_is_shadowed(scope, node)) registers[op->dst].kind = REGO_KIND_UNDEFINED;
        else registers[op->dst] = (Value){ .kind = KIND_NODE, .text = (const char *)node };
        registers[op->dst + 1] = scope_base(scope, op->keys, op->count);
        if (registers[op->dst].kind == REGO_KIND_UNDEFINED) registers[op->dst] = registers[op->dst + 1];
        return rego_is_defined(registers[op->dst]) ? RUN_ANSWER : RUN_END;
    }
    if (op->code == OP_TREE_GET)
        return tree_step(e, scope, &registers[op->a], operand_value(frame, op->b), &registers[op->dst]);
    if (op->code == OP_TREE_VALUE) return tree_value(e, scope, &registers[op->a], &registers[op->dst]);
    if (!again) registers[op->b] = value_int(0);
    return tree_next(e, scope, &registers[op->a], &registers[op->b].integer, &registers[op->c], &registers[op->dst]);
}

static OUT_OF_LINE Run op_with(Eval *e, Frame *frame, const Op *op)
{
    EvalScope *scope = scope_with(e, frame, op);
    if (!scope) return RUN_ERROR;
    frame->scopes[op->c] = scope;
    return RUN_ANSWER;
}

static Run op_nested(Eval *e, Frame *frame, const Op *op)
{
    Run run = block_exists(e, frame, op->block);
    if (run == RUN_ERROR) return run;
    if (op->code == OP_NOT) return run == RUN_END ? RUN_ANSWER : RUN_END;
    if (op->code == OP_EITHER && run == RUN_END) return block_exists(e, frame, op->other);
    return run;
}

/* --- the loop ---------------------------------------------------------------------------------------------------- */

/* A part of the loop, which is most of what an evaluation does; a call each time would cost a tenth of it. */
static inline __attribute__((always_inline)) Run op_do(Eval *e, Frame *frame, const Op *op, bool again)
{
    Value *registers = frame->registers;
    switch ((OpCode)op->code) {
    case OP_FAIL: return RUN_END;
    case OP_COPY: registers[op->dst] = operand_value(frame, op->a); return RUN_ANSWER;
    case OP_INPUT: return op_input(frame, op);
    case OP_DATA: return op_data(frame, op);
    case OP_RULE: return group_value(e, frame->scopes[op->scope], op->group, &registers[op->dst]);
    case OP_LOOKUP:
        return group_lookup(e, frame->scopes[op->scope], op->group, operand_value(frame, op->b), &registers[op->dst]);
    case OP_GET: return op_get(e, frame, op);
    case OP_SCAN: return op_scan(e, frame, op, again);
    case OP_TREE_ENTER:
    case OP_TREE_GET:
    case OP_TREE_SCAN:
    case OP_TREE_VALUE: return op_tree(e, frame, op, again);
    case OP_EQUAL: return eval_equals(e, operand_value(frame, op->a), operand_value(frame, op->b));
    case OP_TRUE: {
        Value value = operand_value(frame, op->a);
        return value.kind == VALUE_BOOL && !value.count ? RUN_END : RUN_ANSWER;
    }
    case OP_IS_ARRAY:
    case OP_IS_OBJECT: {
        Value value = operand_value(frame, op->a);
        ValueKind wanted = op->code == OP_IS_ARRAY ? VALUE_ARRAY : VALUE_OBJECT;
        return value.kind == wanted && value.count == (uint32_t)op->c ? RUN_ANSWER : RUN_END;
    }
    case OP_IS_LIKE: return value_is_like(operand_value(frame, op->a), op->c) ? RUN_ANSWER : RUN_END;
    case OP_ARRAY:
    case OP_SET:
    case OP_OBJECT: return op_items(e, frame, op);
    case OP_BUILTIN:
    case OP_CALL: return op_call(e, frame, op);
    case OP_COLLECT: return op_collect(e, frame, op);
    case OP_NOT:
    case OP_EXISTS:
    case OP_EITHER: return op_nested(e, frame, op);
    case OP_EVERY: return op_every(e, frame, op);
    case OP_WITH: return op_with(e, frame, op);
    case OP_NOTE: trace_note(e, frame, op); return RUN_ANSWER;
    case OP_MARK: return RUN_ANSWER;
    case OP_YIELD:
    case OP_COUNT: break;
    }
    check_failed("an instruction", __FILE__, __LINE__);
}

Run op_run(Eval *e, Frame *frame, const Op *op, bool again)
{
    return op_do(e, frame, op, again);
}

static bool step_take(Eval *e)
{
    bool asks = e->steps_left % STOP_INTERVAL == 0 && e->builtins.stop;
    if (e->steps_left && !(asks && atomic_load_explicit(e->builtins.stop, memory_order_relaxed))) {
        e->steps_left--;
        return true;
    }
    return eval_spend(e, 1);
}

OUT_OF_LINE Run block_failed(Eval *e, const Frame *frame, const Op *op)
{
    RegoEvalError *error = e->error;
    if (error->code == REGO_EVAL_CANCEL && !error->loc.row) {
        error->file = frame->unit->file;
        error->loc = op_loc(frame, op);
    }
    return RUN_ERROR;
}

Run run_block(Eval *e, Frame *frame, const Block *block, Yield *yield)
{
    if (e->watch) return trace_block(e, frame, block, yield);
    const Op *ops = block->ops;
    uint32_t at = 0;
    bool again = false;
    for (;;) {
        const Op *op = &ops[at];
        if (!step_take(e)) return block_failed(e, frame, op);
        Run run;
        if (op->code == OP_YIELD) {
            if (!yield) return RUN_ANSWER;
            run = yield->take(e, frame, op, yield);
            if (run == RUN_ERROR) return block_failed(e, frame, op);
            if (run != RUN_END) return run;
        } else {
            run = op_do(e, frame, op, again);
        }
        if (run == RUN_ANSWER) {
            at++;
            again = false;
        } else if (run == RUN_ERROR) {
            return block_failed(e, frame, op);
        } else {
            if (op->fail == OP_NO_CHOICE) return RUN_END;
            at = op->fail;
            again = true;
        }
    }
}
