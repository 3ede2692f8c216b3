/* plan.h - what a policy is made of once it is compiled: the tree of rules and their instructions.
 *
 * Private to the compiler and the evaluator. A rule runs in a frame of registers; registers 0.. are its variables, its
 * arguments first. Since bodies were ordered for safety, it is known for every instruction which registers hold a
 * value: an instruction binds or checks, it never asks. Instructions that have several answers (OP_SCAN, OP_TREE_SCAN)
 * are choice points; a failing instruction goes back to `fail`, the nearest choice point before it, and needs nothing
 * undone.
 *
 *   operand   >= 0: a register;  < 0: constant ~operand of the unit
 *
 * Owns:   nothing; all lives in the arena of its policy or query.     Thread: immutable once made; any.
 */
#ifndef REGO_PLAN_H
#define REGO_PLAN_H

#include "rego/flat.h"
#include "rego/rego.h"
#include "rego/scan.h"

typedef int32_t Operand;

#define OPCODES(X) \
    X(OP_FAIL)          /* never holds */ \
    X(OP_COPY)          /* dst = a */ \
    X(OP_INPUT)         /* dst = input at keys */ \
    X(OP_DATA)          /* dst = base data at keys; value: what it is in the policy's own base data */ \
    X(OP_RULE)          /* dst = value of the group */ \
    X(OP_LOOKUP)        /* dst = value of the group at key b */ \
    X(OP_GET)           /* dst = a[b] */ \
    X(OP_SCAN)          /* for each: dst = a[c], c = its key; choice, its place in register b */ \
    X(OP_TREE_ENTER)    /* dst, dst + 1 = node and its base data */ \
    X(OP_TREE_GET)      /* dst, dst + 1 = child b of a, a + 1 */ \
    X(OP_TREE_SCAN)     /* the same for each child, c = its key; choice, its place in register b, b + 1 */ \
    X(OP_TREE_VALUE)    /* dst = the whole document at a, a + 1 */ \
    X(OP_EQUAL)         /* a == b */ \
    X(OP_TRUE)          /* a is not false */ \
    X(OP_IS_ARRAY)      /* a is an array of c items */ \
    X(OP_IS_OBJECT)     /* a is an object of c members */ \
    X(OP_IS_LIKE)       /* a may be what a comprehension of RegoTermKind c makes */ \
    X(OP_ARRAY)         /* dst = [operands] */ \
    X(OP_SET)           /* dst = {operands} */ \
    X(OP_OBJECT)        /* dst = {operands: key, value, ...} */ \
    X(OP_BUILTIN)       /* dst = builtin(operands) */ \
    X(OP_CALL)          /* dst = group(operands) */ \
    X(OP_COLLECT)       /* dst = comprehension of block; c: its RegoTermKind */ \
    X(OP_NOT)           /* block has no answer */ \
    X(OP_EXISTS)        /* block has an answer */ \
    X(OP_EITHER)        /* block has an answer, else other has */ \
    X(OP_EVERY)         /* block has an answer for each item of a; b, c: registers of key and value, -1: none */ \
    X(OP_WITH)          /* scope c = scope `scope` with targets replaced, b containers higher */ \
    X(OP_NOTE)          /* print(operands) */ \
    X(OP_MARK)          /* instrumented: the statement at its row's place begins */ \
    X(OP_YIELD)         /* an answer: operands, by the block's use */

typedef enum OpCode {
#define X(code) code,
    OPCODES(X)
#undef X
    OP_COUNT
} OpCode;

#define OP_NO_CHOICE UINT32_MAX

typedef struct Block Block;
typedef struct WithTarget WithTarget;

typedef struct Op {
    uint8_t code;               /* an OpCode */
    bool is_relation;           /* OP_BUILTIN: its answers are the items of an array */
    bool is_text;               /* OP_NOTE: trace(text) rather than print(...) */
    union {
        bool is_base;           /* OP_GET: a is base data, see plan_step_base() */
        bool is_once;           /* OP_COLLECT: what was made before stays */
    };
    uint16_t scope;             /* under which `with`; 0: that of the caller */
    uint32_t fail;              /* the choice point to go back to, or OP_NO_CHOICE */
    int32_t dst;
    Operand a, b, c;
    uint32_t count;             /* operands, keys or targets */
    uint32_t row;               /* index of the place in Unit.locs */
    union {
        const Operand *operands;
        const Value *keys;
        const WithTarget *targets;
    };
    union {
        RuleGroup *group;
        TreeNode *node;
        const Builtin *builtin;
        const Block *block;
        const Value *value;
        const struct ScanTest *test;    /* OP_SCAN; or NULL */
    };
    const Block *other;
} Op;

struct Block {
    const Op *ops;
    uint32_t count;
    const RegoPlace *place;     /* instrumented: of the rule or body */
};

struct WithTarget {
    uint8_t kind;               /* a FlatTargetKind */
    bool is_late;               /* what replaces a function is the document at the path, looked up where it is called */
    const Value *path;
    uint32_t path_count;
    const Builtin *builtin, *by_builtin;
    RuleGroup *group, *by_group;
    const TreeNode *node;       /* the node at a path below data, if there is one */
    Operand value;
};

/* What the items of a scan are worth looking at for, see scan.h. */
typedef struct ScanTest {
    ScanPath path;
    Operand wanted;             /* is known before the scan */
    uint32_t number;            /* of its memory in an evaluation */
    const ScanIndex *base;      /* of the container that the policy has there; or NULL */
} ScanTest;

typedef struct ScanList {
    const ScanIndex **items;
    size_t count, capacity;
    size_t size;                /* bytes of all */
} ScanList;

/* One set of registers: a rule or a query. */
typedef struct Unit {
    Str file;
    const Value *consts;
    const RegoLoc *locs;        /* of instructions that may fail with an error */
    const RegoPlace *const *places;     /* beside them; NULL where there is none */
    uint32_t register_count, scope_count;
    uint32_t scan_count;        /* tests of scans that were numbered so far, its own included */
} Unit;

typedef struct PlanBranch {
    Block block;                /* yields: path..., then key or value */
    RegoLoc loc;
    bool is_constant;           /* the value is one constant */
    bool is_written;            /* and stands as such in the head, not by a variable's name */
    Value constant;
} PlanBranch;

/* A test that a rule needs to hold, known before it is run: an input path equals a constant. */
typedef struct PlanGuard {
    bool is_present;
    const Value *keys;
    uint32_t key_count;
    Value value;
} PlanGuard;

typedef struct PlanRule {
    Unit unit;
    const RegoRule *source;
    const RuleGroup *group;
    PlanBranch *branches;
    uint32_t branch_count;
    uint32_t path_count;        /* operands of the path in a yield, before key or value */
    bool is_set;                /* yields a key: an item of the set at its path */
    PlanGuard guard;
    Block lookup;               /* the one branch, where the first key is known; */
    int32_t key_register;       /* where that key lies then. -1: there is no such block */
} PlanRule;

/* Rules of a large group by what they want an input path to be. */
typedef struct IndexRow {
    Value value;
    uint32_t rule;
} IndexRow;

typedef struct RuleIndex {
    PlanGuard guard;            /* its keys */
    IndexRow *rows;             /* sorted by value, then by rule */
    uint32_t row_count;
    uint32_t *rest;             /* rules that do not test that path */
    uint32_t rest_count;
} RuleIndex;

#define INDEX_RULE_COUNT_MIN 8u /* below this testing one guard after the other is as fast */

typedef enum GroupKind {
    GROUP_COMPLETE,
    GROUP_FUNCTION,
    GROUP_SET,
    GROUP_OBJECT,
} GroupKind;

typedef struct RuleSource {
    RegoRule *rule;
    RegoModule *module;
    uint32_t path_from;         /* items of its head's ref that belong to the group's path, the name included */
} RuleSource;

/* One group, or all that lie below a node and are no functions. */
typedef struct RuleUse {
    RuleGroup *group;
    const TreeNode *node;
} RuleUse;

struct RuleGroup {
    uint8_t kind;               /* a GroupKind */
    bool exits_early;           /* every value it can have is written, as the same constant */
    bool has_lookup;            /* every rule has a block for lookups */
    uint32_t index;             /* of its memory in an evaluation */
    uint32_t arity;
    TreeNode *node;
    RuleSource *sources;
    size_t source_count, source_capacity;
    PlanRule *rules;            /* without the default */
    uint32_t rule_count;
    PlanRule *otherwise;        /* the default rule, or NULL */
    RuleIndex *rule_index;      /* or NULL */
    const Value *path;          /* below data */
    uint32_t path_count;
    /* compiling only */
    uint32_t height;            /* containers that its rules put around what they read */
    RuleUse *uses;              /* what its rules read */
    size_t use_count, use_capacity;
};

struct TreeNode {
    Value key;
    TreeNode *parent;
    TreeNode **children;        /* sorted by key */
    size_t child_count, child_capacity;
    RuleGroup *group;           /* or NULL; a node with a group has no children once the tree is whole */
    uint32_t first, last;       /* numbers of the nodes below it, itself included */
    uint32_t depth;             /* keys below data */
    uint32_t height;            /* containers that rules at it and below put around what they read, itself included */
    bool is_package;            /* a module has this package */
    bool is_name;               /* rules of the package above begin with this name */
};

typedef struct PlaceList {
    RegoPlace **items;
    size_t count, capacity;
    uint32_t local_count;       /* variables of all units */
} PlaceList;

struct RegoPolicy {
    Arena arena;
    RegoCompileOptions options;
    Value data;
    RegoModule **modules;
    uint32_t module_count;
    TreeNode *root;
    RuleGroup **groups;
    size_t group_count, group_capacity;
    const uint32_t *order;      /* of groups: each comes behind all that it needs */
    struct TypeNode *types;     /* of the rules, see type_tree.h */
    uint64_t type_work;         /* see REGO_TYPE_WORK_MAX */
    size_t use_count;           /* of all groups, see REGO_USE_COUNT_MAX */
    ScanList scans;             /* indexes of base data */
    uint32_t scan_count;        /* tests of scans */
    PlaceList places;
    RegoRuleInfo *infos;
    uint32_t info_count;
};

typedef struct QueryCapture {
    Operand value;
    Str text;
    uint32_t row, col;
} QueryCapture;

struct RegoQuery {
    Arena arena;
    const RegoPolicy *policy;
    Unit unit;
    Block block;
    RegoBinding *bindings;      /* names; yield gives their values, then those of the captures */
    uint32_t binding_count;
    QueryCapture *captures;
    uint32_t capture_count;
    uint32_t name_count;        /* registers that the caller fills */
    Str text;
    PlaceList places;           /* instrumented: its own */
};

/* --- the tree ---------------------------------------------------------------------------------------------------- */

TreeNode *tree_child(const TreeNode *node, Value key);
TreeNode *tree_add(Arena *arena, TreeNode *node, Value key);
/* Makes the tree and groups of all rules of policy->modules; conflicts go to `errors`. */
void policy_tree_build(RegoPolicy *policy, RegoErrors *errors);
/* "data.a.b" */
Str tree_path_text(Arena *arena, const TreeNode *node);
/* metadata.c: refuses a second annotation of the same document, package, or packages below one. */
void annotations_check(RegoPolicy *policy, RegoErrors *errors);

/* --- compiling --------------------------------------------------------------------------------------------------- */

/* What names mean where a rule or query stands. */
typedef struct Names {
    RegoPolicy *policy;         /* read alone where a query is compiled */
    Arena *arena;
    RegoErrors *errors;
    Str file, text;
    const TreeNode *package;    /* or NULL */
    const RegoModule *module;   /* or NULL: no imports */
    const RegoRule *rule;       /* whose metadata is asked for; or NULL */
    bool *import_used;          /* one for each import of the module; or NULL */
    PlaceList *places;          /* instrumented: where they are numbered; or NULL */
} Names;

/* One rule or query: resolves names, takes nested calls and references out. The arguments become variables 0...
 * Errors go to names->errors. */
typedef struct FlatRule {
    FlatUnit unit;
    FlatTerm **args;            /* patterns that the arguments have to match, NULL for a plain variable */
    uint32_t arg_count;
    FlatBranch *branches;
    uint32_t branch_count;
} FlatRule;

void flat_rule(const Names *names, const RuleSource *source, FlatRule *out_rule);
/* The captures of a query are FLAT_VAR terms, one for each expression. */
void flat_query(const Names *names, RegoBody body, const Str *bound, uint32_t bound_count, bool capture,
                FlatRule *out_rule, FlatTerm ***out_captures);
/* Orders the statements of a block, nested ones too, so that every variable is bound before it is needed. `bound` has a
 * flag for each variable. Variables that nothing can bind are errors. */
bool safety_order(const Names *names, FlatUnit *unit, FlatBlock *block, uint8_t *bound, FlatTerm *const *heads,
                  uint32_t head_count);
/* Variables of heads that stand nowhere in the body, and are no arguments, are errors. */
void safety_heads(const Names *names, FlatUnit *unit, const FlatBlock *block, const uint8_t *bound, FlatTerm *const *heads,
                  uint32_t head_count);
/* Marks the variables that the statement binds where those in `bound` are. */
void safety_outputs(const FlatStmt *stmt, uint8_t *bound);

void plan_rule(const Names *names, RuleGroup *group, const FlatRule *flat, PlanRule *out_rule);
/* Once all rules of a group are planned. */
void plan_index(Arena *arena, RuleGroup *group);
void plan_query(const Names *names, const FlatRule *flat, FlatTerm *const *yields, uint32_t yield_count, Unit *out_unit,
                Block *out_block);

/* What lies in a container under a key: NULL where there is nothing, or no container. */
const Value *plan_step(const Value *container, Value key);
const Value *plan_step_base(const Value *container, Value key);

/* --- places, node.c ---------------------------------------------------------------------------------------------- */

/* NULL where the policy is not instrumented, or nobody wrote what is there. */
RegoPlace *place_new(const Names *names, RegoPlaceKind kind, RegoLoc loc);
/* The place of a nested body; NULL as above. */
RegoPlace *place_of_body(const Names *names, const FlatUnit *unit, const FlatBlock *block);
/* Trees of statements and rules. */
Value node_of_stmt(const Names *names, const FlatUnit *unit, const FlatStmt *stmt, size_t index);
Value node_of_body(const Names *names, const FlatUnit *unit, const FlatBlock *block);
Value node_of_branch(const Names *names, const FlatRule *flat, const FlatBranch *branch, const RegoRule *rule);
Str   node_var_name(const Names *names, const FlatUnit *unit, uint32_t var);

/* Adds what a rule reads to group->uses; its statements have been put in order. Counted in policy->use_count. */
void uses_find(RegoPolicy *policy, RuleGroup *group, const FlatRule *flat);
/* Rules that need themselves are errors. Gives the groups in an order in which each comes behind all that it
 * needs; NULL where there is none. */
const uint32_t *recursion_check(RegoPolicy *policy, RegoErrors *errors);

/* Calls, comparisons and references that can never hold are errors. The groups that the rule reads were checked before;
 * its own type becomes known to those that follow. */
void type_check_rule(const Names *names, const RuleGroup *group, const FlatRule *flat);
void type_check_query(const Names *names, const FlatRule *flat);
/* The error of a call with a wrong number of arguments; `has_answer`: it stands where a value is wanted. */
void type_check_arity(const Names *names, const FlatUnit *unit, const Builtin *builtin, FlatTerm **args,
                      uint32_t arg_count, bool has_answer, RegoLoc loc);

#endif
