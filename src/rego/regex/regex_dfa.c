/* Yes or no: which sets of instructions the simulation can be in are made into states as the text asks for them, and the
 * way from one to the next is remembered, so that a character costs one look-up.
 *
 * A state holds the instructions that read, and the assertions that cannot be judged before the next character is known,
 * together with what kind of character came last. States are forgotten all at once when their memory is full. Characters
 * are first sorted into classes that no instruction of the program tells apart. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "rego/regex/regex_machine.h"

enum { STATE_UNKNOWN, STATE_DEAD, STATE_MATCH, STATE_FIRST };     /* numbers below STATE_FIRST are no states */

typedef struct State {
    uint32_t offset, count;         /* its instructions, in dfa->pool */
    uint32_t before;                /* stands for the last character: 'a', '\n', ' ' or REGEX_EDGE */
    uint32_t hash;
} State;

struct Dfa {
    const Regex *regex;
    Arena *arena;
    /* Classes of characters: the interval that begins at starts[i] belongs to class_of[i]. */
    uint32_t *starts;
    uint16_t *class_of;
    uint32_t interval_count, class_count;       /* the end of the text is one class more */
    uint16_t ascii[128];
    uint32_t samples[REGEX_CLASS_COUNT_MAX];    /* one character of each class */
    /* States. */
    State *states;
    uint32_t *ways;                 /* for each state and class: where to */
    uint32_t state_count, state_capacity, state_count_max;
    uint32_t *pool;
    uint32_t pool_count, pool_capacity, pool_count_max;
    uint32_t *table;                /* state numbers by hash, open addressing; 0 is free */
    uint32_t table_size;
    uint32_t start;                 /* the state before the first character, or STATE_UNKNOWN */
    uint32_t generation;            /* counts how often all was forgotten */
    /* For making one state. */
    uint32_t *set, *marks, mark;    /* marks[inst] == mark: already in the set */
    uint32_t set_count;
    uint32_t *stack, *judged;
};

/* --- classes of characters ---------------------------------------------------------------------------------------- */

static int order_u32(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static const CharRange word_ranges[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
static const CharRange line_ranges[] = { { '\n', '\n' } };

/* The sets of characters that the program tells from others, by number: the ranges of one, perhaps none. */
static const CharRange *set_at(const Regex *regex, uint32_t index, CharRange *single, size_t *out_count)
{
    if (index < regex->class_count) {
        *out_count = regex->classes[index].range_count;
        return regex->classes[index].ranges;
    }
    index -= regex->class_count;
    if (index < regex->count) {
        const Inst *inst = &regex->program[index];
        *single = (CharRange){ inst->arg, inst->arg };
        *out_count = inst->kind == INST_CHAR;
        return single;
    }
    index -= regex->count;
    *out_count = index == 0 ? 4 : 1;
    return index == 0 ? word_ranges : line_ranges;
}

static uint32_t set_count_of(const Regex *regex)
{
    return regex->class_count + regex->count + (regex->has_assertions ? 2u : 0u);
}

/* Splits the classes so that the set is a union of some of them. */
static bool classes_refine(Dfa *dfa, const CharRange *ranges, size_t range_count, uint16_t *renamed)
{
    memset(renamed, 0xff, 2 * sizeof *renamed * REGEX_CLASS_COUNT_MAX);
    uint32_t count = 0;
    size_t range = 0;
    for (uint32_t i = 0; i < dfa->interval_count; i++) {
        while (range < range_count && ranges[range].high < dfa->starts[i]) range++;
        bool inside = range < range_count && ranges[range].low <= dfa->starts[i];
        uint16_t *name = &renamed[2 * dfa->class_of[i] + inside];
        if (*name == UINT16_MAX) {
            if (count == REGEX_CLASS_COUNT_MAX) return false;
            *name = (uint16_t)count++;
        }
        dfa->class_of[i] = *name;
    }
    dfa->class_count = count;
    return true;
}

/* Ends of ranges times sets: bounds the work of making classes. */
#define CLASS_WORK_MAX (1u << 22)

static bool classes_init(Dfa *dfa)
{
    const Regex *regex = dfa->regex;
    uint32_t sets = set_count_of(regex);
    size_t edges = 1, range_count, used = 0;
    CharRange single;
    for (uint32_t i = 0; i < sets; i++) {
        set_at(regex, i, &single, &range_count);
        edges += 2 * range_count;
        used += range_count > 0;
    }
    if ((uint64_t)edges * used > CLASS_WORK_MAX) return false;
    dfa->starts = arena_try(dfa->arena, edges * sizeof *dfa->starts);
    dfa->class_of = arena_try(dfa->arena, edges * sizeof *dfa->class_of);
    uint16_t *renamed = arena_try(dfa->arena, 2 * sizeof *renamed * REGEX_CLASS_COUNT_MAX);
    if (!dfa->starts || !dfa->class_of || !renamed) return false;

    size_t count = 0;
    dfa->starts[count++] = 0;
    for (uint32_t i = 0; i < sets; i++) {
        const CharRange *ranges = set_at(regex, i, &single, &range_count);
        for (size_t j = 0; j < range_count; j++) {
            dfa->starts[count++] = ranges[j].low;
            dfa->starts[count++] = ranges[j].high + 1;
        }
    }
    qsort(dfa->starts, count, sizeof *dfa->starts, order_u32);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || dfa->starts[i] != dfa->starts[i - 1]) dfa->starts[dfa->interval_count++] = dfa->starts[i];

    dfa->class_count = 1;
    for (uint32_t i = 0; i < sets; i++) {
        const CharRange *ranges = set_at(regex, i, &single, &range_count);
        if (range_count > 0 && !classes_refine(dfa, ranges, range_count, renamed)) return false;
    }
    for (uint32_t i = dfa->interval_count; i-- > 0;) dfa->samples[dfa->class_of[i]] = dfa->starts[i];
    for (uint32_t c = 0, i = 0; c < 128; c++) {
        while (i + 1 < dfa->interval_count && dfa->starts[i + 1] <= c) i++;
        dfa->ascii[c] = dfa->class_of[i];
    }
    return true;
}

static uint32_t class_at(const Dfa *dfa, uint32_t point)
{
    if (point < 128) return dfa->ascii[point];
    uint32_t low = 0, high = dfa->interval_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (dfa->starts[middle] <= point) low = middle;
        else high = middle;
    }
    return dfa->class_of[low];
}

/* --- states ------------------------------------------------------------------------------------------------------- */

Dfa *dfa_new(Arena *arena, const Regex *regex)
{
    Dfa *dfa = arena_try(arena, sizeof *dfa);
    if (!dfa) return NULL;
    dfa->regex = regex;
    dfa->arena = arena;
    if (!classes_init(dfa)) return NULL;
    size_t row_size = (dfa->class_count + 1) * sizeof *dfa->ways + sizeof *dfa->states;
    dfa->state_count_max = (uint32_t)(REGEX_STATE_SIZE_MAX / row_size);
    if (dfa->state_count_max > REGEX_STATE_COUNT_MAX) dfa->state_count_max = REGEX_STATE_COUNT_MAX;
    dfa->pool_count_max = (uint32_t)(REGEX_STATE_SIZE_MAX / sizeof *dfa->pool);
    if (regex->count > dfa->pool_count_max / 4) return NULL;        /* too few states would fit to be of use */
    dfa->set = arena_try(arena, regex->count * sizeof *dfa->set);
    dfa->marks = arena_try(arena, regex->count * sizeof *dfa->marks);
    dfa->stack = arena_try(arena, (regex->count + 1) * sizeof *dfa->stack);
    dfa->judged = arena_try(arena, regex->count * sizeof *dfa->judged);
    dfa->table_size = 4 * REGEX_STATE_COUNT_MAX;
    dfa->state_count = STATE_FIRST;
    return dfa->set && dfa->marks && dfa->stack && dfa->judged ? dfa : NULL;
}

/* Grows the arrays of states to hold one more with `pool_more` instructions; false where the arena is full. */
static bool states_reserve(Dfa *dfa, uint32_t pool_more)
{
    size_t row = dfa->class_count + 1;
    if (dfa->state_count == dfa->state_capacity || dfa->state_capacity == 0) {
        uint32_t capacity = dfa->state_capacity ? 2 * dfa->state_capacity : 32;
        if (capacity > dfa->state_count_max) capacity = dfa->state_count_max;
        State *states = arena_try(dfa->arena, capacity * sizeof *states);
        uint32_t *ways = arena_try(dfa->arena, capacity * row * sizeof *ways);
        if (!states || !ways) return false;
        if (dfa->state_capacity) {
            memcpy(states, dfa->states, dfa->state_count * sizeof *states);
            memcpy(ways, dfa->ways, dfa->state_count * row * sizeof *ways);
        }
        dfa->states = states;
        dfa->ways = ways;
        dfa->state_capacity = capacity;
    }
    while (dfa->pool_count + pool_more > dfa->pool_capacity) {
        uint32_t capacity = dfa->pool_capacity ? 2 * dfa->pool_capacity : 256;
        if (capacity > dfa->pool_count_max) capacity = dfa->pool_count_max;
        uint32_t *pool = arena_try(dfa->arena, capacity * sizeof *pool);
        if (!pool) return false;
        if (dfa->pool_count) memcpy(pool, dfa->pool, dfa->pool_count * sizeof *pool);
        dfa->pool = pool;
        dfa->pool_capacity = capacity;
    }
    if (!dfa->table) dfa->table = arena_try(dfa->arena, dfa->table_size * sizeof *dfa->table);
    return dfa->table != NULL;
}

static void states_forget(Dfa *dfa)
{
    dfa->state_count = STATE_FIRST;
    dfa->pool_count = 0;
    dfa->start = STATE_UNKNOWN;
    dfa->generation++;
    memset(dfa->table, 0, dfa->table_size * sizeof *dfa->table);
}

/* The state of the sorted set, made if it is new. STATE_UNKNOWN where the arena is full. */
static uint32_t state_intern(Dfa *dfa, uint32_t before)
{
    uint32_t hash = before * 0x9e3779b1u;
    for (uint32_t i = 0; i < dfa->set_count; i++) hash = (hash ^ dfa->set[i]) * 0x01000193u;
    hash ^= hash >> 15;
    bool full = dfa->state_count == dfa->state_count_max || dfa->pool_count + dfa->set_count > dfa->pool_count_max;
    if (full) states_forget(dfa);
    if (!states_reserve(dfa, dfa->set_count)) return STATE_UNKNOWN;
    uint32_t at = hash % dfa->table_size;
    for (; dfa->table[at]; at = (at + 1) % dfa->table_size) {
        const State *state = &dfa->states[dfa->table[at]];
        if (state->hash == hash && state->before == before && state->count == dfa->set_count
            && memcmp(dfa->pool + state->offset, dfa->set, dfa->set_count * sizeof *dfa->set) == 0)
            return dfa->table[at];
    }
    uint32_t made = dfa->state_count++;
    dfa->states[made] = (State){ dfa->pool_count, dfa->set_count, before, hash };
    memcpy(dfa->pool + dfa->pool_count, dfa->set, dfa->set_count * sizeof *dfa->set);
    dfa->pool_count += dfa->set_count;
    memset(dfa->ways + (size_t)made * (dfa->class_count + 1), 0, (dfa->class_count + 1) * sizeof *dfa->ways);
    dfa->table[at] = made;
    return made;
}

/* Adds to the set what can be reached from `start` without reading. Assertions among `holds` are passed; others stay in the
 * set where they may still come true (`holds` is 0 then). True where a match is reached. */
static bool set_add(Dfa *dfa, uint32_t start, uint32_t holds)
{
    const Inst *program = dfa->regex->program;
    uint32_t depth = 0;
    dfa->stack[depth++] = start;
    while (depth > 0) {
        uint32_t at = dfa->stack[--depth];
        while (dfa->marks[at] != dfa->mark) {
            dfa->marks[at] = dfa->mark;
            const Inst *inst = &program[at];
            if (inst->kind == INST_MATCH) return true;
            if (inst->kind == INST_CHAR || inst->kind == INST_CLASS
                || (inst->kind == INST_ASSERT && (inst->arg & holds) == 0)) {
                dfa->set[dfa->set_count++] = at;
                break;
            }
            if (inst->kind == INST_SPLIT) dfa->stack[depth++] = inst->arg;
            at = inst->out;
        }
    }
    return false;
}

static void set_begin(Dfa *dfa)
{
    dfa->set_count = 0;
    if (++dfa->mark == 0) {         /* the marks have gone round: none of them means anything now */
        memset(dfa->marks, 0, dfa->regex->count * sizeof *dfa->marks);
        dfa->mark = 1;
    }
}

/* The state that the set stands for, which a match may be. */
static uint32_t set_finish(Dfa *dfa, bool matched, uint32_t before)
{
    if (matched) return STATE_MATCH;
    if (dfa->set_count == 0) return STATE_DEAD;
    qsort(dfa->set, dfa->set_count, sizeof *dfa->set, order_u32);
    return state_intern(dfa, dfa->regex->has_assertions ? before : 0);
}

static uint32_t state_start(Dfa *dfa)
{
    if (dfa->start == STATE_UNKNOWN) {
        set_begin(dfa);
        bool matched = set_add(dfa, dfa->regex->start, 0);
        dfa->start = set_finish(dfa, matched, REGEX_EDGE);
    }
    return dfa->start;
}

/* What stands for a character when only assertions ask. */
static uint32_t character_kind(uint32_t point)
{
    if (point == REGEX_EDGE || point == '\n') return point;
    return point < 128 && (ascii_is_alnum((char)point) || point == '_') ? 'a' : ' ';
}

/* The set behind one character: what each of the sources leads to, and a fresh start. */
static uint32_t set_read(Dfa *dfa, const uint32_t *sources, uint32_t count, uint32_t point)
{
    const Regex *regex = dfa->regex;
    bool matched = false;
    set_begin(dfa);
    for (uint32_t i = 0; i < count && !matched; i++) {
        const Inst *inst = &regex->program[sources[i]];
        if (inst_reads(regex, inst, point)) matched = set_add(dfa, inst->out, 0);
    }
    if (!matched && !regex->anchored) matched = set_add(dfa, regex->start, 0);
    return set_finish(dfa, matched, character_kind(point));
}

/* Where a character of the class leads from the state, worked out and remembered. STATE_UNKNOWN where the arena is full. */
static uint32_t state_step(Dfa *dfa, uint32_t from, uint32_t class)
{
    uint32_t point = class == dfa->class_count ? REGEX_EDGE : dfa->samples[class];
    const State *state = &dfa->states[from];
    const uint32_t *sources = dfa->pool + state->offset;
    uint32_t count = state->count, generation = dfa->generation;
    bool matched = false;
    if (dfa->regex->has_assertions) {
        /* The assertions can be judged now; what lies behind those that hold joins the rest. */
        uint32_t holds = regex_assertions_at(state->before, point);
        set_begin(dfa);
        for (uint32_t i = 0; i < count && !matched; i++) matched = set_add(dfa, sources[i], holds);
        count = dfa->set_count;
        memcpy(dfa->judged, dfa->set, count * sizeof *dfa->set);
        sources = dfa->judged;
    }
    uint32_t to = matched ? STATE_MATCH : point == REGEX_EDGE ? STATE_DEAD : set_read(dfa, sources, count, point);
    if (dfa->generation == generation) dfa->ways[(size_t)from * (dfa->class_count + 1) + class] = to;
    return to;
}

RegexResult dfa_matches(Dfa *dfa, Str text)
{
    const size_t row = dfa->class_count + 1;
    uint32_t state = state_start(dfa);
    for (size_t at = 0, size; state >= STATE_FIRST; at += size) {
        uint32_t point = regex_char_at(text, at, &size);
        uint32_t class = point == REGEX_EDGE ? dfa->class_count : class_at(dfa, point);
        uint32_t next = dfa->ways[state * row + class];
        state = next == STATE_UNKNOWN ? state_step(dfa, state, class) : next;
    }
    return state == STATE_MATCH ? REGEX_FOUND : state == STATE_DEAD ? REGEX_NONE : REGEX_HALT;
}
