/* flatten.h - the inside of the pass from tree to flat form: what its files share.
 *
 * Private to flatten.c (names, scopes, terms, calls), flatten_order.c (what is taken out first),
 * flatten_some.c (what `some ... in` declares), flatten_template.c (templates) and flatten_expr.c (expressions, bodies, rules,
 * queries).
 *
 * Owns: nothing.     Fails: by entries in Names.errors; what comes out then is not used.     Thread: one.
 */
#ifndef REGO_FLATTEN_H
#define REGO_FLATTEN_H

#include "rego/plan.h"

typedef enum ScopeKind {
    SCOPE_ARG,
    SCOPE_ASSIGNED,
    SCOPE_SOME,
    SCOPE_SOME_IN,
    SCOPE_EVERY,
    SCOPE_SEEN,             /* named in this scope before a declaration */
    SCOPE_INSIDE,           /* a scope inside of this one names a rule or an import */
} ScopeKind;

typedef struct ScopeEntry {
    ScopeKind kind;
    uint32_t var;
    bool used;
    bool is_var, is_call;   /* seen as a variable that nobody declared; as what is called */
    RegoLoc loc;
    Str name;
    const RegoEach *each;   /* the `some ... in` that declared it; or NULL */
    const Value *constant;  /* what it was assigned, where that is one scalar constant; or NULL */
} ScopeEntry;

typedef struct Scope {
    struct Scope *parent;
    Map names;              /* to a place in entries */
    ScopeEntry **entries;
    size_t count, capacity;
} Scope;

typedef struct Callee {
    Str name;
    const Builtin *builtin; /* one of the two */
    RuleGroup *group;
    uint32_t arity;
} Callee;

/* A part of an argument that has to be computed, and the variable that the argument gives for it. */
typedef struct ArgValue {
    FlatTerm *var;
    const RegoTerm *term;
} ArgValue;

/* A call, whose name may turn out to be a variable of the body. */
typedef struct NamedCall {
    const RegoTerm *term;
    bool is_value;
} NamedCall;

typedef struct Flattener {
    const Names *names;
    Arena *arena;
    FlatUnit *unit;
    FlatBlock *block;       /* where statements are added */
    Scope *scope;
    Map implicit;           /* variables that nobody declared */
    uint32_t with;          /* the present FlatWith; 0: none */
    uint32_t level;         /* calls around the term under way */
    RegoLoc expr_loc;       /* of the expression under way; row 0: none */
    const RegoEach *each;   /* the `some ... in` whose variables are declared; or NULL */
    bool has_name_errors;   /* of this rule */
    const RegoEach *domain; /* the `every` whose domain is made flat: its variables are none there; or NULL */
    const RegoRule *branch; /* the rule, or the `else` of it, under way; NULL: a query */
    const Scope *head;      /* around the key or value of a head that is made flat; or NULL */
    bool in_query;          /* every variable is part of the answer */
    ArgValue *arg_values;
    size_t arg_value_count, arg_value_capacity;
    NamedCall *calls;       /* of the present branch */
    size_t call_count, call_capacity;
} Flattener;

/* flatten.c */
FlatTerm *flat_new(Flattener *f, FlatTermKind kind, RegoLoc loc);
FlatTerm *flat_const(Flattener *f, Value value, RegoLoc loc);
FlatTerm *flat_var(Flattener *f, uint32_t var, RegoLoc loc);
FlatTerm *flat_fresh(Flattener *f, RegoLoc loc);
uint32_t  flat_var_add(Flattener *f, Str name, RegoLoc loc, uint32_t flags);
uint32_t  flat_implicit(Flattener *f, Str name, RegoLoc loc);
FlatStmt *flat_add(Flattener *f, FlatStmtKind kind, RegoLoc loc);
void      flat_error(Flattener *f, RegoPass pass, RegoErrorCode code, RegoLoc loc, const char *format, ...)
    PRINTF_LIKE(5, 6);
void      scope_begin(Flattener *f, Scope *scope);
void      scope_end(Flattener *f);
ScopeEntry *scope_find(Scope *scope, Str name);
ScopeEntry *scope_add(Flattener *f, Scope *scope, Str name, ScopeKind kind, uint32_t var, RegoLoc loc);
uint32_t  scope_declare(Flattener *f, Str name, ScopeKind kind, RegoLoc loc);
/* The name is used here: a declaration that follows comes too late. */
ScopeEntry *scope_see(Flattener *f, Str name, RegoLoc loc);
/* Whether the name was declared, in this scope or around it. */
bool      scope_declares(const Flattener *f, Str name);
Value     flat_fold(Flattener *f, const FlatTerm *flat);
FlatTerm *flat_extract(Flattener *f, FlatTerm *term);
/* A term that may be a ref or comprehension as a whole; everything deeper is taken out. */
FlatTerm *flat_top(Flattener *f, const RegoTerm *term);
/* A term without refs, comprehensions and calls. */
FlatTerm *flat_operand(Flattener *f, const RegoTerm *term);
void      flat_use(Flattener *f, FlatTerm *ref, RuleGroup *group, RegoLoc loc);
/* The node that an operator's path leads to where its first name is a rule, an import or data; else NULL. */
const TreeNode *flat_callee_node(Flattener *f, const RegoTerm *operator);
bool      flat_callee(Flattener *f, const RegoTerm *operator, Callee *out_callee);
/* False, and an error, for a builtin that needs the network where the policy may not use it. */
bool      flat_callee_is_allowed(Flattener *f, const Callee *callee, RegoLoc loc);
/* Whether a rule of the package or an import has the name that the operator begins with. */
bool      flat_name_is_taken(Flattener *f, const RegoTerm *operator);
/* A variable hides a function of the same name: true, and an error, where one does. `is_value`: the call is part of a term. */
bool      flat_call_is_hidden(Flattener *f, const RegoTerm *call, bool is_value);
/* The same for variables that nobody declared, once the body is known. */
void      flat_calls_check(Flattener *f);
FlatStmt *flat_call(Flattener *f, const RegoTerm *term, bool is_statement);
FlatTerm *flat_call_value(Flattener *f, const RegoTerm *term);
FlatBlock *flat_block(Flattener *f, RegoBody body);

/* The variable a name is once rules of the package and imports are resolved: itself, `data` or `input`. */
Str       flat_name_root(Flattener *f, Str name);
/* The keys behind that variable: how many, and which. */
uint32_t  flat_name_path(Flattener *f, Str name, Value **out_keys);

/* flatten_order.c */
/* Puts the references that were taken out at this level behind the calls, among statements of the present block. */
void      flat_settle(Flattener *f, size_t from, size_t to);
/* In which order the items or pairs of a container are taken out: places in the term. */
uint32_t *flat_order(Flattener *f, const RegoTerm *term);
/* Where the pairs of an object, taken out in that order, stand in it: of equal keys the last one stays. */
uint32_t *flat_places(Flattener *f, const RegoTerm *object, const uint32_t *order);

/* flatten_some.c */
/* Declares the variables of a `some ... in`, for what has to know them before its own terms are: the values of its `with`. */
void      flat_some_declare(Flattener *f, RegoExpr *expr);

/* flatten_template.c */
/* Each expression of a template becomes a set of its values, so that an undefined one leaves the others alone. */
FlatTerm *flat_template(Flattener *f, const RegoTerm *term);

/* flatten_expr.c */
void      flat_body(Flattener *f, RegoBody body);
/* The expression as a statement whose value is the answer, whatever it is. */
FlatTerm *flat_captured(Flattener *f, RegoExpr *expr);

/* metadata.c: rego.metadata.rule() and chain() as constants; NULL for any other call. */
FlatTerm *flat_metadata(Flattener *f, const RegoTerm *call);

#endif
