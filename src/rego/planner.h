/* planner.h - how the instructions of one rule or query are made.
 *
 * A Planner holds one set of registers and the block under way. Statements arrive in an order in which each finds bound
 * what it needs, so the planner knows for every variable whether it has a value by now: what is bound is checked, what
 * is not is bound. A block is ended by planner_block(), which also looks for what its scans test.
 *
 * Private to plan.c (rules, queries), plan_stmt.c, plan_term.c, plan_match.c, plan_guard.c and plan_scan.c.
 *
 * Owns:   nothing; all lives in the arena of the policy or query.
 * Fails:  by an entry in names->errors; what is made then is never run.
 * Bounds: REGO_REGISTER_COUNT_MAX; REGO_HEIGHT_MAX; recursion is that of the tree (R1).     Thread: one.
 */
#ifndef REGO_PLANNER_H
#define REGO_PLANNER_H

#include "rego/plan.h"

/* Makes instructions of one unit, block by block. */
typedef struct Planner {
    const Names *names;
    Arena *arena;
    const FlatUnit *unit;
    uint8_t *bound;             /* by variable */
    uint32_t *log;              /* variables in the order in which they were bound */
    size_t log_count, log_capacity;
    uint8_t *with_made;         /* by FlatWith */
    uint32_t *with_heights;     /* by FlatWith: containers that it and those around it put around documents */
    Value *consts;
    size_t const_count, const_capacity;
    RegoLoc *locs;
    const RegoPlace **places;
    size_t loc_count, loc_capacity, place_capacity;
    const RegoLocal *locals;    /* instrumented: variables that have a value by now */
    uint32_t register_count;
    Op *ops;                    /* of the block under way */
    size_t op_count, op_capacity;
    uint32_t choice;            /* the nearest choice point of that block */
    uint16_t scope;
    uint32_t *heights;          /* by register: containers that its value has around what came from outside, at most */
    size_t height_capacity;
    uint32_t height_max;        /* of what was yielded */
    uint32_t scan_count;        /* tests of scans, see ScanTest.number */
} Planner;

/* --- life, planner.c --------------------------------------------------------------------------------------------- */

void  planner_begin(Planner *p, const Names *names, const FlatUnit *unit);
Unit  planner_end(const Planner *p);
Block planner_block(Planner *p, const RegoPlace *place);        /* of the instructions since p->ops was empty */

/* --- instructions, planner.c ------------------------------------------------------------------------------------- */

int32_t register_new(Planner *p, uint32_t count);               /* the first of so many */
Operand const_operand(Planner *p, Value value);
Op     *op_emit(Planner *p, OpCode code);                       /* valid until the next one */
Op     *op_emit_choice(Planner *p, OpCode code);
void    loc_begin(Planner *p, RegoLoc loc, const RegoPlace *place);     /* of the instructions that follow */

/* --- how deep values get, planner.c ------------------------------------------------------------------------------ */

uint32_t height_of(const Planner *p, Operand operand);
void     height_set(Planner *p, int32_t dst, uint32_t height);
uint32_t height_highest(const Planner *p, const Operand *operands, uint32_t count);

/* --- variables, planner.c ---------------------------------------------------------------------------------------- */

void local_add(Planner *p, uint32_t var);                       /* for whoever watches: it has a value from here on */
void var_bind(Planner *p, uint32_t var);
bool term_is_bound(const Planner *p, const FlatTerm *term);
bool term_is_value(const Planner *p, const FlatTerm *term);     /* it can be computed by now */
bool term_is_unbound_var(const Planner *p, const FlatTerm *term);

/* --- terms, plan_term.c ------------------------------------------------------------------------------------------ */

/* The value of a term: where a target is given (>= 0), in that register if it is not a known operand already. */
Operand plan_term(Planner *p, const FlatTerm *term, int32_t target);
/* A nested block, which yields key and value where they are given. What it binds is forgotten behind it. */
const Block *plan_block(Planner *p, const FlatBlock *flat, const FlatTerm *key, const FlatTerm *value);
/* The first item of a reference from `from` on that is no constant, and the constants before it. */
uint32_t     ref_const_end(const FlatTerm *ref, uint32_t from);
const Value *ref_keys(Planner *p, const FlatTerm *ref, uint32_t from, uint32_t to);

/* --- equality, plan_match.c -------------------------------------------------------------------------------------- */

void plan_equal(Planner *p, Operand a, Operand b);
/* Compares a value with what is known of the pattern and binds the rest. */
void plan_match(Planner *p, Operand value, const FlatTerm *pattern);
void plan_unify(Planner *p, const FlatTerm *a, const FlatTerm *b);
/* Compares a value with a comprehension, whichever is which: the value first, and the comprehension is evaluated only where the
 * two may be equal. False, and nothing planned, where they are something else. */
bool plan_like(Planner *p, const FlatTerm *a, const FlatTerm *b);

/* --- statements, plan_stmt.c ------------------------------------------------------------------------------------- */

void plan_stmts(Planner *p, const FlatBlock *block);

/* --- what is made of a whole ------------------------------------------------------------------------------------- */

/* plan_guard.c: finds the test by which the rule may be passed over. */
void plan_guard(Planner *p, const FlatRule *flat, PlanRule *rule);
/* plan_scan.c: in the instructions of a block that is otherwise done, reads once what does not change during a scan and
 * finds what its items are tested for. */
void plan_scans(Planner *p);

#endif
