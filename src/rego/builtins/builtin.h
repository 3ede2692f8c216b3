/* builtin.h - what a builtin function of the policy language is, and the one table of them all.
 *
 * A builtin takes values and gives a value. It sees nothing of the evaluator: its memory, clock, chance, zones and
 * budget come in through the context, so a policy gives the same answer on every machine and at every time it is
 * replayed.
 *
 * Owns:   nothing; results live in the context's arena, or are (parts of) the arguments.
 * Fails:  by returning BUILTIN_ERROR or BUILTIN_TYPE_ERROR with the text in `err` (the evaluator makes the call
 *         undefined, or ends the query in strict mode), BUILTIN_CONFLICT and, when a budget is spent or a limit of ours
 *         is in the way, BUILTIN_HALT (both always end the query), and BUILTIN_UNDEFINED where the answer is undefined
 *         without being an error. A builtin writes its reason alone; builtin_call() puts the name before it. What stops
 *         at a limit of base/limits.h, which the language does not have, says so by builtin_limit(), or by
 *         builtin_result() of an ERR_LIMIT, and every caller passes BUILTIN_HALT on: undefined or false would let `not`
 *         turn our limit into a permission.
 * Bounds: every loop over input counts down context->steps_left (builtin_spend). Memory whose size input decides is
 *         taken by builtin_alloc(), or after builtin_fits(); small change may be taken from the arena directly, since
 *         builtin_spend() and builtin_call() look at its size as well.
 * Thread: any; a context belongs to one evaluation.
 */
#ifndef REGO_BUILTINS_BUILTIN_H
#define REGO_BUILTINS_BUILTIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/status.h"
#include "base/timezone.h"
#include "value/value.h"

typedef enum BuiltinResult {
    BUILTIN_OK,
    BUILTIN_UNDEFINED,
    BUILTIN_ERROR,          /* eval_builtin_error */
    BUILTIN_TYPE_ERROR,     /* eval_type_error: an operand of the wrong type */
    BUILTIN_CONFLICT,       /* eval_conflict_error: always ends the query */
    BUILTIN_HALT,           /* a budget is spent, a limit of ours is crossed, or the caller has asked to stop */
} BuiltinResult;

typedef struct BuiltinContext {
    Arena *arena;               /* of this evaluation; without a limit of its own: no allocation stops the process */
    size_t arena_size_max;      /* what it may grow to */
    int64_t now_ns;             /* what time.now_ns() answers, the same throughout one evaluation */
    uint64_t seed;              /* chance for rand.intn and uuid.rfc4122 */
    uint64_t *steps_left;       /* shared with the evaluator */
    uint64_t step_count_max;    /* what it began with; for the words of a refusal alone */
    const atomic_bool *stop;  /* raised by the caller to end the evaluation; may be NULL */
    Value environment;          /* opa.runtime(): an object */
    const ZoneSource *zones;    /* time zones by name; NULL: only UTC is known */
    struct BuiltinCache *cache; /* compiled patterns and the like, see cache.h; NULL: nothing is kept */
} BuiltinContext;

typedef BuiltinResult (*BuiltinCall)(BuiltinContext *context, const Value *args, Value *out_result, Error *err);

/* One row of builtins.def. `signature` is OPA's declaration in a compact notation, for the type checker. */
typedef struct Builtin {
    const char *name;           /* "json.patch" */
    const char *infix;          /* "+" where it is an operator, else NULL */
    const char *signature;      /* "(string, any<string, array[string]>) -> boolean" */
    uint8_t arity;
    uint8_t flags;              /* BUILTIN_* below */
    uint16_t cost;              /* steps that any call takes; what more it takes for its size it spends itself */
    BuiltinCall call;
} Builtin;

enum {
    BUILTIN_NETWORK = 1,        /* needs the network: refused at compile time unless allowed */
    BUILTIN_NONDETERMINISTIC = 2,   /* answers from clock, chance or environment of the context */
    BUILTIN_RELATION = 4,       /* gives its answers as an array of values (walk): the evaluator iterates over them */
    BUILTIN_DEPRECATED = 8,     /* v0 only: an error in v1 and in strict mode */
    BUILTIN_VOID = 16,          /* gives nothing: an expression, never a value */
};

/* --- the table --------------------------------------------------------------------------------------------------- */

/* The row of that name, or NULL. Binary search over the sorted table. */
const Builtin *builtin_find(Str name);
/* The first row of that operator; `in` has two, by arity. */
const Builtin *builtin_find_infix(Str symbol);
uint32_t       builtin_count(void);
const Builtin *builtin_at(uint32_t index);

/* How the evaluator calls: takes the steps of the row and those of reading long numbers among the operands, calls, and on
 * failure makes the text "NAME: REASON". */
BuiltinResult builtin_call(const Builtin *builtin, BuiltinContext *context, const Value *args, Value *out_result,
                           Error *err);

/* --- what builtins are made with --------------------------------------------------------------------------------- */

/* Takes `count` steps from the budget; false when it is spent (return BUILTIN_HALT then). */
bool builtin_spend(BuiltinContext *context, uint64_t count, Error *err);
/* Counts the values inside a value and what their texts are long, taking a step for each value and for some hundred bytes.
 * Walks over values whose cost is not plain from a count (sorting, comparing) weigh them first. */
bool builtin_weigh(BuiltinContext *context, Value value, uint64_t *out_weight, Error *err);
/* The same for sorting the items of a list: each is compared as many times as the list can be halved. */
bool builtin_spend_sort(BuiltinContext *context, Value list, Error *err);
/* True where `size` more bytes fit the memory budget; else false with the reason (return BUILTIN_HALT then). */
bool builtin_fits(BuiltinContext *context, size_t size, Error *err);
/* Zeroed memory of the arena, or NULL with the reason (return BUILTIN_HALT then). Never NULL for nothing. */
void *builtin_alloc(BuiltinContext *context, size_t size, Error *err);
#define BUILTIN_ARRAY(context, Type, count, err) ((Type *)builtin_alloc(context, sizeof(Type) * (size_t)(count), err))

/* A list that grows as it is filled; spends a step for each item, false where a budget is spent. */
bool builtin_list_add(BuiltinContext *context, ValueList *list, Value item, Error *err);
/* The set of a list's items, weighed before it is sorted; takes the list. */
BuiltinResult builtin_list_set(BuiltinContext *context, ValueList *list, Value *out_set, Error *err);

/* A text written piece by piece: begin, write to the Buf, end. Ending copies it to the arena and frees the Buf,
 * whatever the answer; BUILTIN_HALT where it has outgrown the budget. builtin_text_drop() frees it on the way out of
 * a failure. */
void          builtin_text_begin(BuiltinContext *context, Buf *out_buf);
BuiltinResult builtin_text_end(BuiltinContext *context, Buf *buf, Value *out_text, Error *err);
void          builtin_text_drop(Buf *buf);

/* Writes the reason and returns BUILTIN_ERROR. Text from input is cut by whoever passes it, or by the size of Error. */
BuiltinResult builtin_error(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);
/* Writes which limit of ours is in the way, by its name and value, and returns BUILTIN_HALT. */
BuiltinResult builtin_limit(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);
/* What a status means that something else has refused with: ERR_LIMIT is BUILTIN_HALT, any other refusal BUILTIN_ERROR. */
BuiltinResult builtin_result(Status status);

/* The declarations of all functions of the table. */
#define BUILTIN(name, infix, signature, arity, flags, cost, call) \
    BuiltinResult call(BuiltinContext *context, const Value *args, Value *out_result, Error *err);
#include "rego/builtins/builtins.def"
#undef BUILTIN

#endif
