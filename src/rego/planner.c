#include "rego/planner.h"

#include <string.h>

#include "base/limits.h"

/* --- life --------------------------------------------------------------------------------------------------------- */

void planner_begin(Planner *p, const Names *names, const FlatUnit *unit)
{
    *p = (Planner){ .names = names, .arena = names->arena, .unit = unit, .choice = OP_NO_CHOICE };
    p->bound = ARENA_ARRAY(p->arena, uint8_t, unit->var_count + 1);
    p->with_made = ARENA_ARRAY(p->arena, uint8_t, unit->with_count + 1);
    p->with_heights = ARENA_ARRAY(p->arena, uint32_t, unit->with_count + 1);
    p->register_count = (uint32_t)unit->var_count;
    p->scan_count = names->policy->scan_count;
    loc_begin(p, (RegoLoc){ 0 }, NULL);
    if (unit->with_count > UINT16_MAX)
        rego_errors_add(names->errors, REGO_ERROR_COMPILE, names->file, (RegoLoc){ 0 },
                        "a rule has more than %u `with`", UINT16_MAX);
}

Unit planner_end(const Planner *p)
{
    return (Unit){ .file = p->names->file, .consts = p->consts, .locs = p->locs, .places = p->places,
                   .register_count = p->register_count + 1, .scan_count = p->scan_count,
                   .scope_count = p->unit->with_count ? (uint32_t)p->unit->with_count : 1 };
}

Block planner_block(Planner *p, const RegoPlace *place)
{
    plan_scans(p);
    return (Block){ p->ops, (uint32_t)p->op_count, place };
}

/* --- instructions ------------------------------------------------------------------------------------------------- */

int32_t register_new(Planner *p, uint32_t count)
{
    int32_t first = (int32_t)p->register_count;
    p->register_count += count;
    if (p->register_count > REGO_REGISTER_COUNT_MAX) {
        if (!p->names->errors->count)
            rego_errors_add(p->names->errors, REGO_ERROR_COMPILE, p->names->file, (RegoLoc){ 0 },
                            "a rule needs more than REGO_REGISTER_COUNT_MAX (%u) values", REGO_REGISTER_COUNT_MAX);
        p->register_count = (uint32_t)p->unit->var_count;       /* what is made now is never run */
    }
    return first;
}

Operand const_operand(Planner *p, Value value)
{
    p->consts = arena_grow(p->arena, p->consts, sizeof *p->consts, p->const_count, &p->const_capacity);
    p->consts[p->const_count] = value;
    return ~(Operand)p->const_count++;
}

Op *op_emit(Planner *p, OpCode code)
{
    p->ops = arena_grow(p->arena, p->ops, sizeof *p->ops, p->op_count, &p->op_capacity);
    Op *op = &p->ops[p->op_count++];
    *op = (Op){ .code = (uint8_t)code, .scope = p->scope, .fail = p->choice, .dst = -1, .a = -1, .b = -1, .c = -1,
                .row = (uint32_t)p->loc_count - 1 };
    return op;
}

Op *op_emit_choice(Planner *p, OpCode code)
{
    Op *op = op_emit(p, code);
    p->choice = (uint32_t)p->op_count - 1;
    return op;
}

void loc_begin(Planner *p, RegoLoc loc, const RegoPlace *place)
{
    p->locs = arena_grow(p->arena, p->locs, sizeof *p->locs, p->loc_count, &p->loc_capacity);
    if (p->place_capacity != p->loc_capacity) {
        const RegoPlace **places = ARENA_ARRAY(p->arena, const RegoPlace *, p->loc_capacity);
        if (p->loc_count) memcpy(places, p->places, p->loc_count * sizeof *places);
        p->places = places;
        p->place_capacity = p->loc_capacity;
    }
    p->places[p->loc_count] = place;
    p->locs[p->loc_count++] = loc;
}

/* --- how deep values get ------------------------------------------------------------------------------------------ */

uint32_t height_of(const Planner *p, Operand operand)
{
    return operand >= 0 && (size_t)operand < p->height_capacity ? p->heights[operand] : 0;
}

/* Rules are planned behind those they need, so the bound holds for the whole policy. Recursion over values needs it. What
 * is read under a `with` may be as much higher as the documents that it puts there. */
void height_set(Planner *p, int32_t dst, uint32_t height)
{
    height += p->with_heights[p->scope];
    if (!height) return;
    if ((size_t)dst >= p->height_capacity) {
        size_t capacity = 2 * (size_t)dst + 16;
        uint32_t *heights = ARENA_ARRAY(p->arena, uint32_t, capacity);
        if (p->height_capacity) memcpy(heights, p->heights, p->height_capacity * sizeof *heights);
        p->heights = heights;
        p->height_capacity = capacity;
    }
    if (height > REGO_HEIGHT_MAX) {
        height = REGO_HEIGHT_MAX;
        if (!p->names->errors->count)
            rego_errors_add(p->names->errors, REGO_ERROR_COMPILE, p->names->file, p->locs[p->loc_count - 1],
                            "this value may have more than REGO_HEIGHT_MAX (%u) containers inside one another",
                            REGO_HEIGHT_MAX);
    }
    if (height > p->heights[dst]) p->heights[dst] = height;
}

uint32_t height_highest(const Planner *p, const Operand *operands, uint32_t count)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < count; i++)
        if (height_of(p, operands[i]) > highest) highest = height_of(p, operands[i]);
    return highest;
}

/* --- variables ---------------------------------------------------------------------------------------------------- */

void local_add(Planner *p, uint32_t var)
{
    if (!p->names->places) return;
    RegoLocal *local = ARENA_NEW(p->arena, RegoLocal);
    *local = (RegoLocal){ node_var_name(p->names, p->unit, var), p->unit->vars[var].loc, var, p->locals };
    p->locals = local;
}

void var_bind(Planner *p, uint32_t var)
{
    if (p->bound[var]) return;
    p->bound[var] = 1;
    local_add(p, var);
    p->log = arena_grow(p->arena, p->log, sizeof *p->log, p->log_count, &p->log_capacity);
    p->log[p->log_count++] = var;
}

bool term_is_bound(const Planner *p, const FlatTerm *term)
{
    switch ((FlatTermKind)term->kind) {
    case FLAT_VAR: return p->bound[term->var];
    case FLAT_REF:
    case FLAT_ARRAY:
    case FLAT_SET:
    case FLAT_OBJECT:
        for (uint32_t i = 0; i < term->count; i++)
            if (!term_is_bound(p, term->items[i])) return false;
        return true;
    case FLAT_CONST:
    case FLAT_INPUT:
    case FLAT_DATA:
    case FLAT_COMPREHENSION: return true;
    }
    return true;
}

bool term_is_value(const Planner *p, const FlatTerm *term)
{
    return term->kind == FLAT_REF || term->kind == FLAT_COMPREHENSION || term_is_bound(p, term);
}

bool term_is_unbound_var(const Planner *p, const FlatTerm *term)
{
    return term->kind == FLAT_VAR && !p->bound[term->var];
}
