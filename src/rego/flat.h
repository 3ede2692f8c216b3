/* flat.h - rules with every name resolved and every expression simple: between the tree and the instructions.
 *
 * A body is a list of statements in no binding order. A statement's operands hold no calls, and references and
 * comprehensions only as a whole operand of unify, equal and test: whatever stood deeper has become a statement of its own
 * whose answer is a variable. Variables are numbers, the same ones that become registers.
 *
 * Owns:   nothing; all lives in the arena of the policy or query.
 * Fails:  never (plain data).     Bounds: the height of the tree it was made from.     Thread: one writer.
 */
#ifndef REGO_FLAT_H
#define REGO_FLAT_H

#include "base/map.h"
#include "rego/ast.h"
#include "rego/builtins/builtin.h"

typedef struct FlatTerm FlatTerm;
struct RegoPlace;
typedef struct FlatStmt FlatStmt;
typedef struct FlatBlock FlatBlock;
typedef struct RuleGroup RuleGroup;
typedef struct TreeNode TreeNode;

typedef enum FlatTermKind {
    FLAT_CONST,             /* value */
    FLAT_VAR,               /* var */
    FLAT_INPUT,             /* head of a ref */
    FLAT_DATA,              /* head of a ref */
    FLAT_REF,               /* items: the head, then operands */
    FLAT_ARRAY,             /* items */
    FLAT_SET,               /* items */
    FLAT_OBJECT,            /* items: key, value, key, value, ... */
    FLAT_COMPREHENSION,     /* block; flavour is the RegoTermKind */
} FlatTermKind;

struct FlatTerm {
    RegoLoc loc;
    uint8_t kind;           /* a FlatTermKind */
    uint8_t flavour;
    bool is_part;           /* a comprehension made of a part of a template */
    uint32_t count;         /* items */
    const Value *values;    /* FLAT_VAR: an array of all it can be here, where that is known */
    uint32_t named;         /* FLAT_CONST: one more than the variable that stands for it in the source; 0: none */
    union {
        Value value;
        uint32_t var;
        FlatTerm **items;
        FlatBlock *block;
    };
};

struct FlatBlock {
    FlatStmt **stmts;
    size_t count, capacity;
    FlatTerm *key, *value;  /* of a comprehension */
};

typedef enum FlatStmtKind {
    FLAT_TEST,              /* a: holds where it is defined and not false */
    FLAT_UNIFY,             /* a = b */
    FLAT_EQUAL,             /* a == b: binds no variable that stands by itself */
    FLAT_CALL,              /* builtin or group, args, out (NULL: the answer must not be false) */
    FLAT_NOT,               /* block */
    FLAT_BOTH,              /* block and other */
    FLAT_EITHER,            /* block or other */
    FLAT_EVERY,             /* key (NULL: none), value: vars; a: the domain; block */
    FLAT_NOTE,              /* print: args, comprehensions; trace: a */
} FlatStmtKind;

struct FlatStmt {
    RegoLoc loc;
    uint8_t kind;           /* a FlatStmtKind */
    bool is_main;           /* the statement that the author's expression became; others were taken out of it */
    bool is_assign;         /* FLAT_UNIFY: a is made from b, not the other way round; FLAT_CALL: out := f(x) */
    bool needs_all;         /* FLAT_NOT: of one expression, which binds nothing, not even its own variables */
    RegoLoc expr_loc;       /* of the author's expression */
    uint32_t with;          /* the FlatWith it is evaluated under; 0: none */
    uint32_t level;         /* of a reference that was taken out: one more than the calls around it; 0: none such */
    struct RegoPlace *place;    /* instrumented: for traces, coverage and profiles */
    FlatTerm *a, *b;
    const Builtin *builtin;
    RuleGroup *group;
    FlatTerm **args;
    uint32_t arg_count;
    FlatTerm *out;
    bool out_is_arg;        /* FLAT_CALL: the author wrote `out` as a further argument */
    bool out_is_right;      /* FLAT_CALL: the author wrote f(x) = out */
    FlatBlock *block, *other;
};

typedef enum FlatTargetKind {
    FLAT_TARGET_INPUT,      /* path below input */
    FLAT_TARGET_DATA,       /* path below data */
    FLAT_TARGET_BUILTIN,
    FLAT_TARGET_GROUP,
} FlatTargetKind;

typedef struct FlatTarget {
    RegoLoc loc;
    uint8_t kind;           /* a FlatTargetKind */
    bool is_late;           /* the value is a document of rules, looked up where the function is called */
    Value *path;            /* of the document that is replaced, or of the one that replaces a function late */
    uint32_t path_count;
    const Builtin *builtin; /* the function that is replaced, one of the two */
    RuleGroup *group;
    const Builtin *by_builtin;  /* the function that replaces it, one of the two; or neither: */
    RuleGroup *by_group;
    FlatTerm *value;        /* what replaces it */
} FlatTarget;

typedef struct FlatWith {
    uint32_t parent;
    FlatTarget *targets;
    uint32_t count;
} FlatWith;

enum {
    FLAT_VAR_GENERATED = 1,
    FLAT_VAR_WILDCARD = 2,
    FLAT_VAR_USED = 4,
};

typedef struct FlatVar {
    Str name;
    RegoLoc loc;            /* of its first occurrence */
    uint32_t flags;
    const FlatTerm *subject;    /* FLAT_VAR_GENERATED: what was taken out, one of the two; or neither */
    const FlatStmt *call;
} FlatVar;

/* Something a rule reads: a ref that begins with data. */
typedef struct FlatUse {
    FlatTerm *ref;          /* or NULL */
    RuleGroup *group;       /* a function that is called */
    RegoLoc loc;
} FlatUse;

/* What belongs to one rule and its branches, or to one query: one set of registers. */
typedef struct FlatUnit {
    FlatVar *vars;
    size_t var_count, var_capacity;
    FlatWith *withs;        /* withs[0] is unused */
    size_t with_count, with_capacity;
    FlatUse *uses;
    size_t use_count, use_capacity;
    uint32_t local_base;    /* instrumented: the number of its first variable among all of the policy */
} FlatUnit;

/* One branch of a rule. */
typedef struct FlatBranch {
    FlatBlock block;
    FlatTerm **path;        /* what stands behind the group's own path */
    uint32_t path_count;
    FlatTerm *key, *value;  /* as in RegoHead */
    struct RegoPlace *place;    /* instrumented: of the head */
} FlatBranch;

#endif
