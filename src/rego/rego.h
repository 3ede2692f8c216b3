/* rego.h - policies in the language Rego: compile once, ask often.
 *
 *   modules + base data  --rego_compile-->  RegoPolicy   immutable, shared by threads without locks
 *   policy + query text  --rego_query_prepare-->  RegoQuery   the same
 *   query + input        --rego_eval-->  RegoResult   in the caller's arena, under the caller's budgets
 *
 * Compiling resolves every name, checks safety, recursion and conflicts, orders the expressions of each body and turns it
 * into instructions over numbered registers, so that an evaluation parses nothing and looks up no name. An evaluation reads
 * no clock and no chance: both come in through the context, with the budgets that alone decide whether it may finish.
 *
 * Owns:   a policy and a query own an arena each, until rego_policy_free() and rego_query_free(). A query borrows its policy.
 *         Results live in the arena of the evaluation, and may point into policy, query and input.
 * Fails:  compiling with ERR_INVALID and entries in `errors` (ERR_LIMIT where the policy is too large or too deep);
 *         evaluating with a RegoEvalError, whose code is that of other Rego tools: a conflict, a failed builtin in strict
 *         mode, a spent budget (eval_cancel_error). After a failure no part of the result is written.
 * Bounds: RegoBudget; REGO_DEPTH_MAX; REGO_RULE_COUNT_MAX; REGO_REGISTER_COUNT_MAX.
 * Thread: policies and queries: any number of readers. One evaluation: one thread, one arena.
 */
#ifndef REGO_REGO_H
#define REGO_REGO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "base/timezone.h"
#include "rego/errors.h"
#include "value/value.h"

typedef struct RegoPolicy RegoPolicy;
typedef struct RegoQuery RegoQuery;

/* --- compile ----------------------------------------------------------------------------------------------------- */

typedef struct RegoModuleText {
    Str file;                       /* as messages name it */
    Str text;                       /* copied */
} RegoModuleText;

typedef struct RegoCompileOptions {
    bool v0;                        /* the old syntax */
    bool strict;                    /* unused variables and imports, deprecated builtins, shadowed input and data are errors */
    bool keep_print;                /* print(...) writes to the notes of an evaluation; otherwise it does nothing */
    bool check_data;                /* base data where a rule has its document is an error; otherwise the rule counts */
    bool allow_network;             /* builtins that need the network are not refused */
    bool instrument;                /* keep what tracing, coverage and profiles need; costs time in every evaluation */
    uint32_t keywords;              /* REGO_KEYWORD(...) that are on without an import, see parser.h */
} RegoCompileOptions;

/* `data` is the base document, an object (null: an empty one); it is copied. `options` may be NULL. */
MUST_USE Status rego_compile(const RegoModuleText *modules, uint32_t count, Value data, const RegoCompileOptions *options,
                             RegoPolicy **out_policy, RegoErrors *errors);
void rego_policy_free(RegoPolicy *policy);      /* NULL is permitted */

typedef struct RegoQueryOptions {
    Str package;                    /* "data.a.b": names of its rules are known; empty for none */
    bool capture;                   /* as `eval` commands do: each expression's value is part of the result */
    const Str *names;               /* variables that are bound by the caller in this order, see RegoEvalContext.values */
    uint32_t name_count;
    uint32_t keywords;
} RegoQueryOptions;

/* `options` may be NULL. */
MUST_USE Status rego_query_prepare(const RegoPolicy *policy, Str text, const RegoQueryOptions *options,
                                   RegoQuery **out_query, RegoErrors *errors);
void rego_query_free(RegoQuery *query);         /* NULL is permitted */

/* --- look at a policy -------------------------------------------------------------------------------------------- */

typedef enum RegoPlaceKind {
    REGO_PLACE_EXPR,                /* a statement: an author's expression, or what the compiler took out of one */
    REGO_PLACE_BODY,                /* of a query, a comprehension, a negation */
    REGO_PLACE_RULE,                /* a rule, or one of its branches */
} RegoPlaceKind;

/* A variable that has a value at some place. */
typedef struct RegoLocal {
    Str name;                       /* as written; "__local3__" where the compiler made it */
    RegoLoc loc;
    uint32_t slot;                  /* its value's index in RegoTraceEvent.values */
    const struct RegoLocal *before; /* the one that had a value before it did; or NULL */
} RegoLocal;

/* What traces, coverage and profiles speak of. */
typedef struct RegoPlace {
    RegoPlaceKind kind;
    bool is_query;                  /* it belongs to the query, not to the policy */
    uint32_t index;                 /* among the places of its policy or of its query */
    uint32_t row;                   /* REGO_PLACE_EXPR: which statement of its body it is, from 0 */
    Str file;                       /* empty for a query */
    RegoLoc loc;
    Value node;                     /* the tree as JSON, as other Rego tools write it: see rego_node_print() */
    Str name;                       /* REGO_PLACE_RULE: "data.a.allow" */
    const RegoLocal *locals;        /* that have a value when it begins */
    const RegoLocal *locals_after;  /* and when it holds */
} RegoPlace;

typedef struct RegoRuleInfo {
    Str path;                       /* "data.a.allow" */
    Str name;                       /* "allow" */
    Str package;                    /* "data.a" */
    Str file;
    RegoLoc loc;
} RegoRuleInfo;

uint32_t     rego_rule_count(const RegoPolicy *policy);
RegoRuleInfo rego_rule_info(const RegoPolicy *policy, uint32_t index);
/* None unless compiled with `instrument`. */
uint32_t         rego_place_count(const RegoPolicy *policy);
const RegoPlace *rego_place(const RegoPolicy *policy, uint32_t index);
uint32_t         rego_query_place_count(const RegoQuery *query);
const RegoPlace *rego_query_place(const RegoQuery *query, uint32_t index);
/* A place's tree as text: `gt(x, 1)`, `x = input.n; y = x`. */
void rego_node_print(Buf *buf, Value node);

/* --- evaluate ---------------------------------------------------------------------------------------------------- */

typedef struct RegoBudget {
    uint64_t step_count_max;        /* instructions, and what builtins charge; 0 means REGO_STEP_COUNT_DEFAULT */
    size_t size_max;                /* what the arena may grow to; 0 means REGO_EVAL_SIZE_DEFAULT */
    uint32_t depth_max;             /* rules, functions and nested bodies inside one another; 0 means REGO_CALL_DEPTH_MAX,
                                     * which it may not exceed */
} RegoBudget;

typedef enum RegoTraceKind {
    REGO_TRACE_ENTER,               /* a rule or body is begun */
    REGO_TRACE_EVAL,                /* a statement is tried */
    REGO_TRACE_FAIL,                /* it does not hold */
    REGO_TRACE_REDO,                /* it, or a rule or body that had an answer, is asked for a further one */
    REGO_TRACE_EXIT,                /* a rule or body has an answer */
    REGO_TRACE_INDEX,               /* rules of a document were looked up; `path` names it */
    REGO_TRACE_NOTE,                /* trace(...) or print(...); the text is in `message` */
    REGO_TRACE_COUNT
} RegoTraceKind;

/* Valid during the call that reports it; places live as long as their policy and query. */
typedef struct RegoTraceEvent {
    RegoTraceKind kind;
    bool is_print;                  /* REGO_TRACE_NOTE: print(...) rather than trace(...) */
    uint64_t query_id, parent_id;   /* of the rule or body it happens in, and of the one around that */
    uint32_t depth;                 /* of rules and bodies inside one another; that of the query is 1 */
    const RegoPlace *place;         /* NULL for a note */
    Str file;
    RegoLoc loc;
    Str message;                    /* of a note; "(matched 1 rule, early exit)"; "early" */
    const Value *path;              /* REGO_TRACE_INDEX: keys below data */
    uint32_t path_count;
    const RegoLocal *locals;        /* the last one that got a value, or NULL */
    const Value *values;            /* theirs, by slot */
} RegoTraceEvent;

typedef struct RegoTracer {
    void (*event)(void *context, const RegoTraceEvent *event);
    void *context;
} RegoTracer;

typedef struct RegoPlaceStats {
    uint64_t eval_count;            /* times tried; of a rule: answers it had */
    uint64_t redo_count;            /* times asked for a further answer */
    uint64_t time_ns;               /* from its beginning to that of the next one */
    uint64_t order;                 /* which one was tried before which; 0: never */
} RegoPlaceStats;

typedef struct RegoProfile {
    RegoPlaceStats *stats;          /* by place: rego_place_count() of them, zeroed by the caller */
    RegoPlaceStats *query_stats;    /* the same for those of the query; NULL: they are not counted */
    uint64_t (*clock_ns)(void *context);    /* the caller's clock; NULL: nothing is timed */
    void *context;
} RegoProfile;

struct BuiltinCache;

typedef struct RegoEvalContext {
    Arena *arena;                   /* without a limit of its own (SIZE_MAX); reset by the caller between evaluations */
    RegoBudget budget;
    int64_t now_ns;                 /* what time.now_ns() answers */
    uint64_t seed;                  /* for rand.intn and uuid.rfc4122 */
    const ZoneSource *zones;        /* NULL: UTC alone */
    const atomic_bool *stop;      /* raised by another thread to end the evaluation; may be NULL */
    bool strict;                    /* a failing builtin ends the evaluation instead of being undefined */
    Value environment;              /* what opa.runtime() answers; null: an empty object */
    struct BuiltinCache *cache;     /* of this thread, kept between evaluations; may be NULL */
    const Value *values;            /* of RegoQueryOptions.names; rego_undefined() where one has no value */
    const RegoTracer *tracer;       /* needs `instrument`; may be NULL. Notes need none. */
    const RegoProfile *profile;     /* needs `instrument`; may be NULL */
} RegoEvalContext;

/* Stands for "undefined" where a Value is asked for: no input, no value. */
#define REGO_KIND_UNDEFINED 0xffu
static inline Value rego_undefined(void) { return (Value){ .kind = REGO_KIND_UNDEFINED }; }
static inline bool  rego_is_defined(Value value) { return value.kind != REGO_KIND_UNDEFINED; }

typedef struct RegoBinding {
    Str name;
    Value value;
} RegoBinding;

typedef struct RegoExpressionValue {
    Value value;
    Str text;
    uint32_t row, col;
} RegoExpressionValue;

typedef struct RegoAnswer {
    RegoBinding *bindings;          /* variables of the query, wildcards left out, sorted by name */
    RegoExpressionValue *expressions;   /* with RegoQueryOptions.capture */
    uint32_t binding_count, expression_count;
} RegoAnswer;

typedef struct RegoResult {
    RegoAnswer *answers;            /* none: undefined */
    uint32_t count;
    uint64_t step_count;            /* what was spent */
} RegoResult;

#define REGO_EVAL_CODES(X) \
    X(REGO_EVAL_OK, "") \
    X(REGO_EVAL_CONFLICT, "eval_conflict_error") \
    X(REGO_EVAL_TYPE, "eval_type_error") \
    X(REGO_EVAL_BUILTIN, "eval_builtin_error") \
    X(REGO_EVAL_CANCEL, "eval_cancel_error") \
    X(REGO_EVAL_MERGE, "eval_with_merge_error") \
    X(REGO_EVAL_INTERNAL, "eval_internal_error")

typedef enum RegoEvalCode {
#define X(code, name) code,
    REGO_EVAL_CODES(X)
#undef X
    REGO_EVAL_CODE_COUNT
} RegoEvalCode;

typedef struct RegoEvalError {
    RegoEvalCode code;
    Str file;                       /* points into the policy; empty for the query */
    RegoLoc loc;
    Error error;                    /* text and status: ERR_LIMIT for a spent budget */
    char details[512];              /* of a conflict: which values, and where they come from; or empty */
} RegoEvalError;

const char *rego_eval_code_name(RegoEvalCode code);
/* "file.rego:3: eval_conflict_error: complete rules must not produce multiple outputs" */
void rego_eval_error_print(Buf *buf, const RegoEvalError *error);

/* `input` may be rego_undefined(). */
MUST_USE Status rego_eval(const RegoQuery *query, Value input, const RegoEvalContext *context, RegoResult *out_result,
                          RegoEvalError *out_error);

/* The one value of a query that is one term, as `data.a.allow`: the first answer's first expression, or undefined. The
 * query was prepared with `capture`. */
Value rego_result_value(const RegoResult *result);

/* The result as other tools print it: {"result": [{"expressions": [...], "bindings": {...}}]}, without members where
 * there is nothing. */
Value rego_result_document(Arena *arena, const RegoResult *result);
/* A value as JSON has it: sets become arrays, keys that are no strings become their JSON text, bytes that are no UTF-8
 * become U+FFFD. */
Value rego_value_to_json(Arena *arena, Value value);

#endif
