/* ast.h - a policy as a tree: modules, rules, bodies, expressions, terms.
 *
 * The parser makes it, the compiler resolves and rewrites it, the printer turns it back into text. It is a plain
 * structure of typed nodes; reading it needs no functions. Three shapes recur:
 *
 *   module   package, imports, rules, annotations, comments
 *   rule     head  { body }  and perhaps further branches (else), tried in order
 *   body     expressions that must all hold; an expression is a term, a call or one of the forms with a keyword
 *
 * Infix operators are calls of the builtins they stand for (a + b is plus(a, b), x := y is assign(x, y), x in xs is
 * internal.member_2(x, xs)), with REGO_TERM_INFIX set. A call that stands as a whole expression is a REGO_EXPR_CALL,
 * whose term is the call. A wildcard `_` is a variable of its own, named "$0", "$1", ...: no author can write such a
 * name, and two wildcards are never the same variable. `input` and `data` are always references, if of one item only.
 *
 * Owns:   nothing; nodes, names and strings live in the arena of the parser, the text of the module included.
 * Fails:  never.
 * Bounds: height <= REGO_DEPTH_MAX for every term and expression the parser made, so recursion over a tree is bounded.
 *         Branches of a rule are a list, walked by a loop.     Thread: one writer, then any number of readers.
 */
#ifndef REGO_AST_H
#define REGO_AST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "rego/errors.h"
#include "value/value.h"

typedef struct RegoTerm RegoTerm;
typedef struct RegoExpr RegoExpr;
typedef struct RegoRule RegoRule;

/* --- terms ------------------------------------------------------------------------------------------------------- */

typedef enum RegoTermKind {
    REGO_TERM_SCALAR,           /* value: null, boolean, number or string */
    REGO_TERM_VAR,              /* name */
    REGO_TERM_REF,              /* items: the head, then what stands behind dots (strings) and in brackets */
    REGO_TERM_CALL,             /* items: the operator (a ref), then the operands */
    REGO_TERM_ARRAY,            /* items */
    REGO_TERM_SET,              /* items, as written: not sorted, perhaps repeated */
    REGO_TERM_OBJECT,           /* pairs, as written */
    REGO_TERM_ARRAY_COMPREHENSION,
    REGO_TERM_SET_COMPREHENSION,
    REGO_TERM_OBJECT_COMPREHENSION,
    REGO_TERM_TEMPLATE,         /* parts of a $"..." string */
    REGO_TERM_KIND_COUNT
} RegoTermKind;

enum {
    REGO_TERM_INFIX = 1,        /* a call written with an operator */
    REGO_TERM_PARENS = 2,       /* written in parentheses */
    REGO_TERM_RAW = 4,          /* a string or template between backquotes */
    REGO_TERM_GENERATED = 8,    /* written by no author */
};

typedef struct RegoPair {
    RegoTerm *key, *value;
} RegoPair;

typedef struct RegoBody {
    RegoExpr **exprs;
    uint32_t count;             /* never 0 in what the parser made */
} RegoBody;

typedef struct RegoComprehension {
    RegoTerm *key;              /* of an object; NULL for arrays and sets */
    RegoTerm *value;
    RegoBody body;
} RegoComprehension;

/* Text, or an expression in braces: exactly one of the two. */
typedef struct RegoTemplatePart {
    Str text;
    RegoExpr *expr;             /* NULL for text */
} RegoTemplatePart;

struct RegoTerm {
    RegoLoc loc;
    uint8_t kind;               /* a RegoTermKind */
    uint8_t flags;              /* REGO_TERM_INFIX, ... */
    uint16_t height;            /* 1 for a leaf, else one more than the highest child */
    uint32_t count;             /* items, pairs or parts */
    union {
        Value value;
        Str name;
        RegoTerm **items;
        RegoPair *pairs;
        RegoComprehension *comprehension;
        RegoTemplatePart *parts;
    };
};

/* --- expressions ------------------------------------------------------------------------------------------------- */

typedef enum RegoExprKind {
    REGO_EXPR_TERM,             /* term: holds where it is defined and not false */
    REGO_EXPR_CALL,             /* term: the call */
    REGO_EXPR_SOME,             /* some: declares variables */
    REGO_EXPR_SOME_IN,          /* each: some key, value in domain */
    REGO_EXPR_EVERY,            /* each: every key, value in domain { body } */
    REGO_EXPR_NOT,              /* not: a body whose failing is wanted (future.keywords.not) */
    REGO_EXPR_AND,              /* logic: both sides, the right one only where the left one holds */
    REGO_EXPR_OR,               /* logic: one of the sides, the right one only where the left one fails */
    REGO_EXPR_KIND_COUNT
} RegoExprKind;

enum {
    REGO_EXPR_NEGATED = 1,      /* `not` before a term or call */
    REGO_EXPR_GENERATED = 2,    /* the body `true` of a rule that was written without one */
    REGO_EXPR_BRACES = 4,       /* REGO_EXPR_NOT: the body stood in braces */
};

typedef struct RegoWith {
    RegoLoc loc;
    RegoTerm *target, *value;   /* target: a ref or a var */
} RegoWith;

typedef struct RegoSome {
    RegoTerm **vars;
    uint32_t count;
} RegoSome;

typedef struct RegoEach {
    RegoTerm *key;              /* or NULL */
    RegoTerm *value, *domain;
    RegoBody body;              /* of `every`; empty for `some` */
} RegoEach;

typedef struct RegoLogic {
    RegoBody left, right;
    bool left_braces, right_braces;     /* the side stood in braces: it is a scope of its own either way */
} RegoLogic;

struct RegoExpr {
    RegoLoc loc;
    uint8_t kind;               /* a RegoExprKind */
    uint8_t flags;              /* REGO_EXPR_NEGATED, ... */
    uint16_t height;            /* one more than its highest term or inner body */
    uint32_t with_count;
    RegoWith *withs;
    union {
        RegoTerm *term;
        RegoSome *some;
        RegoEach *each;
        RegoBody *not;
        RegoLogic *logic;
    };
};

/* --- rules ------------------------------------------------------------------------------------------------------- */

enum {
    REGO_HEAD_ASSIGN = 1,           /* `:=` rather than `=` */
    REGO_HEAD_IF = 2,               /* `if` before the body */
    REGO_HEAD_CONTAINS = 4,         /* `contains` before the key */
    REGO_HEAD_VALUE_GENERATED = 8,  /* no value was written: true */
    REGO_HEAD_FUNCTION = 16,        /* there are args */
};

/* What a rule defines. With a key it is a partial set (p contains key, in v0 also p[key]) and has no value. Otherwise it
 * has a value, at the place that ref names: one item for a complete rule, more for a rule of an object, where items
 * that are no constants make the keys of a partial object. */
typedef struct RegoHead {
    RegoLoc loc;
    RegoTerm **ref;             /* ref[0] is a var, the rule's name; the others are strings or any terms */
    RegoTerm **args;
    RegoTerm *key;              /* or NULL */
    RegoTerm *value;            /* NULL exactly where there is a key */
    uint32_t ref_count, arg_count;
    uint32_t flags;             /* REGO_HEAD_ASSIGN, ... */
} RegoHead;

enum {
    REGO_RULE_DEFAULT = 1,
    REGO_RULE_BODY_GENERATED = 2,   /* no body was written: true */
    REGO_RULE_CHAINED = 4,          /* a further { body } behind a rule, which shares its head's text */
};

struct RegoRule {
    RegoLoc loc;
    uint32_t flags;             /* REGO_RULE_DEFAULT, ... */
    RegoHead head;
    RegoBody body;
    RegoRule *otherwise;        /* the branch behind `else`, whose head repeats name and args; or NULL */
};

/* --- modules ----------------------------------------------------------------------------------------------------- */

typedef struct RegoImport {
    RegoLoc loc;
    RegoTerm *path;             /* a ref; its head is data, input, rego or future */
    Str alias;                  /* empty without `as` */
} RegoImport;

typedef struct RegoComment {
    RegoLoc loc;
    Str text;                   /* behind the # */
} RegoComment;

typedef enum RegoScope {
    REGO_SCOPE_RULE,
    REGO_SCOPE_DOCUMENT,        /* every rule of that name */
    REGO_SCOPE_PACKAGE,
    REGO_SCOPE_SUBPACKAGES,
    REGO_SCOPE_COUNT
} RegoScope;

/* A METADATA block. Its value has the form that rego.metadata.rule() answers with. */
typedef struct RegoAnnotation {
    RegoLoc loc;                /* of the whole block */
    RegoScope scope;
    bool is_entrypoint;
    RegoRule *rule;             /* the one that follows; NULL where the package does */
    Value value;
} RegoAnnotation;

typedef struct RegoModule {
    Str file, text;
    RegoLoc package_loc;
    RegoTerm *package;          /* a ref: data, then strings */
    RegoImport *imports;
    RegoRule **rules;
    RegoAnnotation *annotations;
    RegoComment *comments;      /* in the order of the text, those of METADATA blocks included */
    uint32_t import_count, rule_count, annotation_count, comment_count;
    bool is_v1;                 /* v1 rules hold: by the options or by `import rego.v1` */
} RegoModule;

/* --- look -------------------------------------------------------------------------------------------------------- */

/* "null", "boolean", "number", "string", "var", "ref", "call", "array", "arraycomprehension", ...: as messages say it. */
const char *rego_term_kind_name(const RegoTerm *term);
const char *rego_scope_name(RegoScope scope);       /* "rule", "document", "package", "subpackages" */

static inline bool rego_var_is_wildcard(Str name) { return name.len && name.ptr[0] == '$'; }
bool rego_term_is_var(const RegoTerm *term, Str name);
bool rego_term_is_string(const RegoTerm *term);     /* a constant string */
/* No variable anywhere in it, comprehensions and calls counted as variable; `data` and `input` as heads do not count. */
bool rego_term_is_ground(const RegoTerm *term);
/* The dotted name of a call's operator ("count", "io.jwt.decode", "plus"), or an empty slice where it is computed. */
Str  rego_call_name(Arena *arena, const RegoTerm *call);
/* The text that a location covers. */
static inline Str rego_loc_text(Str text, RegoLoc loc) { return str_slice(text, loc.offset, (size_t)loc.offset + loc.size); }

/* --- walk, copy -------------------------------------------------------------------------------------------------- */

/* Visits nodes in the order of the text. A callback that is NULL is passed over. `term` and `expr` get the place that
 * holds the node, so that a rewriter may put another one there; they and `body` return whether to go inside. The `_end`
 * callbacks follow when a node's inside is done. */
typedef struct RegoWalk {
    void *context;
    bool (*term)(void *context, RegoTerm **place);
    void (*term_end)(void *context, RegoTerm **place);
    bool (*expr)(void *context, RegoExpr **place);
    void (*expr_end)(void *context, RegoExpr **place);
    bool (*body)(void *context, RegoBody *body);
    void (*body_end)(void *context, RegoBody *body);
} RegoWalk;

void rego_walk_term(const RegoWalk *walk, RegoTerm **place);
void rego_walk_expr(const RegoWalk *walk, RegoExpr **place);
void rego_walk_body(const RegoWalk *walk, RegoBody *body);
void rego_walk_head(const RegoWalk *walk, RegoHead *head);      /* the items of ref, args, key, value */
void rego_walk_rule(const RegoWalk *walk, RegoRule *rule);      /* head and body, then each further branch */
void rego_walk_module(const RegoWalk *walk, RegoModule *module);

RegoTerm *rego_term_copy(Arena *arena, const RegoTerm *term);   /* the whole tree; strings and names are shared */
RegoExpr *rego_expr_copy(Arena *arena, const RegoExpr *expr);
RegoBody  rego_body_copy(Arena *arena, RegoBody body);

#endif
