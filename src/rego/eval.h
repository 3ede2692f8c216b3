/* eval.h - one evaluation under way: what the parts of the evaluator share.
 *
 * Private to eval.c (instructions), eval_rule.c (groups of rules and their documents), eval_scan.c (scans),
 * eval_scope.c (with, packages), memo.c, trace.c and result.c. Everything lives in the arena of the evaluation or on
 * the thread's stack.
 *
 * Owns:   nothing.
 * Fails:  by RUN_ERROR with the reason in Eval.error; nothing that was made is used then.
 * Bounds: steps, size and depth of the context; C recursion is one frame for each level of depth.     Thread: one.
 */
#ifndef REGO_EVAL_H
#define REGO_EVAL_H

#include "rego/builtins/builtin.h"
#include "rego/plan.h"

/* A register that holds a node of the tree rather than a value: the document there is not made yet. */
#define KIND_NODE 0xfeu

typedef enum Run {
    RUN_END,                /* no (further) answer */
    RUN_ANSWER,             /* one, and the rest is not wanted */
    RUN_ERROR,
} Run;

typedef struct MemoTable MemoTable;

typedef struct Memo {
    uint8_t state;          /* MEMO_* */
    Value value;            /* perhaps undefined */
    MemoTable *table;       /* calls of a function; lookups into a set or object that is not known as a whole */
} Memo;

enum { MEMO_NONE, MEMO_UNDER_WAY, MEMO_KNOWN };

typedef struct Shadow {
    uint32_t first, last;   /* nodes that `with` has replaced */
} Shadow;

typedef struct Mock {
    const Builtin *builtin, *by_builtin;
    const RuleGroup *group;
    RuleGroup *by_group;
    const TreeNode *by_node;    /* or NULL; the document of this node, */
    const Value *path;          /* whose path this is */
    Value value;                /* where there is none of the others */
} Mock;

/* What a part of the evaluation sees: its input and data, and what was already computed from them. */
typedef struct EvalScope {
    Value input;            /* perhaps undefined */
    Value data;
    bool data_is_base;      /* data is the policy's own */
    uint32_t height;        /* containers that `with` has put around documents */
    uint32_t shadow_count, mock_count;
    const Shadow *shadows;
    const Mock *mocks;
    Memo *memos;            /* by group */
} EvalScope;

typedef struct StackChunk StackChunk;

/* What an evaluation remembers of a scan with a test, see scan.h. */
typedef struct ScanMemory {
    const void *items;      /* the container it went over last */
    uint32_t count;
    uint32_t repeat_count;  /* of the same container */
    ScanIndex *index;       /* of that container; or NULL */
} ScanMemory;

typedef struct Eval {
    const RegoPolicy *policy;
    const RegoQuery *query;
    Arena *arena;
    BuiltinContext builtins;
    uint64_t steps_left;
    uint32_t depth, depth_max;
    bool strict;
    StackChunk *stack;
    ScanMemory *scans;      /* by ScanTest.number; NULL until one is needed */
    const RegoTracer *tracer;
    struct Watch *watch;    /* what is told of the evaluation, see trace.c; NULL: nothing but notes */
    RegoEvalError *error;
} Eval;

typedef struct Frame {
    Value *registers;
    EvalScope **scopes;
    const Unit *unit;
    const PlanRule *rule;   /* or NULL: the query */
    bool exits_early;       /* of a watched evaluation: the rule is left at its first answer */
} Frame;

/* What becomes of the answers of a block. `take` says whether more are wanted. */
typedef struct Yield Yield;
struct Yield {
    Run (*take)(Eval *e, Frame *frame, const Op *op, Yield *yield);     /* RUN_END: go on */
};

static inline Value operand_value(const Frame *frame, Operand operand)
{
    return operand >= 0 ? frame->registers[operand] : frame->unit->consts[~operand];
}

/* eval.c */
Run run_block(Eval *e, Frame *frame, const Block *block, Yield *yield);     /* yield NULL: one answer is enough */
/* RUN_ERROR; a spent budget that has no place yet happened at this instruction. */
Run block_failed(Eval *e, const Frame *frame, const Op *op);
Run op_run(Eval *e, Frame *frame, const Op *op, bool again);  /* any but OP_YIELD; again: the next answer of a choice */
Run eval_fail(Eval *e, RegoEvalCode code, Str file, RegoLoc loc, const char *format, ...) PRINTF_LIKE(5, 6);
/* Zeroed, or NULL with the error set. */
void *eval_alloc(Eval *e, size_t size);
bool eval_spend(Eval *e, uint64_t count);
bool eval_weigh(Eval *e, Value value);
Run eval_equals(Eval *e, Value a, Value b);         /* RUN_ANSWER or RUN_END */
/* A frame of its own; frame_pop() in the opposite order. */
bool frame_push(Eval *e, const Unit *unit, EvalScope *scope, Frame *out_frame);
void frame_pop(Eval *e, const Frame *frame);
bool depth_enter(Eval *e);
Run list_set(Eval *e, ValueList *list, Value *out_set);

/* eval_rule.c */
Run group_value(Eval *e, EvalScope *scope, RuleGroup *group, Value *out_value);
Run group_lookup(Eval *e, EvalScope *scope, RuleGroup *group, Value key, Value *out_value);
Run group_call(Eval *e, EvalScope *scope, RuleGroup *group, const Value *args, Value *out_value);

/* An answer of a rule or comprehension that makes an object: where, and what. */
typedef struct Entry {
    Value path;             /* an array of keys, or one key */
    Value leaf;
    bool is_set;            /* the leaf is an item of the set at that path */
    const PlanRule *rule;
    size_t at;              /* among all entries, as they were made */
} Entry;

typedef struct EntryList {
    Entry *items;
    size_t count, capacity;
} EntryList;

bool entry_add(Eval *e, EntryList *list, Entry entry);
/* The object of entries whose paths are single keys; RUN_ERROR where one key has two values. */
Run  entries_object(Eval *e, EntryList *list, Str file, RegoLoc loc, Value *out_object);

/* eval_scan.c: RUN_ANSWER with the first item, or the next one where `again`. */
Run op_scan(Eval *e, Frame *frame, const Op *op, bool again);

/* memo.c: answers by argument. Containers are the same only where they are the very same; a miss costs time alone. */
uint64_t memo_hash(const Value *args, uint32_t count);
Value   *memo_find(MemoTable *table, const Value *args, uint32_t count, uint64_t hash);    /* or NULL */
bool     memo_add(Eval *e, MemoTable **table, const Value *args, uint32_t count, uint64_t hash, Value value);
bool     memo_is_useful(const MemoTable *table);        /* false once it was hardly ever asked twice */

/* trace.c: what instrumented policies tell of an evaluation. */
bool trace_begin(Eval *e, const RegoEvalContext *context);      /* false with the error set */
void trace_end(Eval *e);
Run  trace_block(Eval *e, Frame *frame, const Block *block, Yield *yield);    /* run_block() of a watched evaluation */
void trace_index(Eval *e, const RuleGroup *group, uint32_t rule_count, bool exits_early);   /* so many rules may hold */
void trace_note(Eval *e, const Frame *frame, const Op *op);

/* eval_scope.c */
bool scope_is_shadowed(const EvalScope *scope, const TreeNode *node);
const Mock *scope_mock(const EvalScope *scope, const Builtin *builtin, const RuleGroup *group);
/* What replaces a function sees the functions themselves. */
EvalScope *scope_without_mocks(Eval *e, const EvalScope *scope);
EvalScope *scope_with(Eval *e, const Frame *frame, const Op *op);
/* The document of a node whose path is given. */
Run scope_document(Eval *e, EvalScope *scope, const TreeNode *node, const Value *path, Value *out_value);
Value scope_base(const EvalScope *scope, const Value *keys, uint32_t count);    /* base data at a path, or undefined */
Run tree_step(Eval *e, EvalScope *scope, const Value *at, Value key, Value *out_pair);
Run tree_value(Eval *e, EvalScope *scope, const Value *at, Value *out_value);
/* The next child from *place on; RUN_ANSWER with key and pair, or RUN_END. */
Run tree_next(Eval *e, EvalScope *scope, const Value *at, int64_t *place, Value *out_key, Value *out_pair);

#endif
