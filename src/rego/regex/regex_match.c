/* The simulation: all threads of the program advance together over the text, each with its own notes of where groups begin
 * and end. Threads are kept in order of preference, and no instruction has two threads at one place of the text, since the
 * less preferred one could find nothing better. That bounds the work for a character by the size of the program. */
#include <string.h>

#include "base/utf8.h"
#include "rego/regex/regex_machine.h"

#define SLOT_NONE UINT32_MAX
#define CHARGE_SIZE 4096u         /* bytes read between two looks at the budget */

RegexMachine *regex_machine_new(Arena *arena, const Regex *regex)
{
    RegexMachine *machine = arena_try(arena, sizeof *machine);
    if (machine) *machine = (RegexMachine){ .arena = arena, .regex = regex };
    return machine;
}

const Regex *regex_machine_regex(const RegexMachine *machine) { return machine->regex; }

static uint32_t slot_count(const Regex *regex) { return 2 * regex->group_count + 2; }

static bool threads_init(Arena *arena, Threads *threads, const Regex *regex)
{
    size_t count = regex->count;
    threads->dense = arena_try(arena, count * sizeof *threads->dense);
    threads->sparse = arena_try(arena, count * sizeof *threads->sparse);
    threads->slots = arena_try(arena, count * slot_count(regex) * sizeof *threads->slots);
    return threads->dense && threads->sparse && threads->slots;
}

/* The memory of the simulation, taken when it is first needed: a pattern that only answers yes or no never needs it. */
static bool machine_prepare(RegexMachine *machine)
{
    if (machine->ready) return true;
    const Regex *regex = machine->regex;
    size_t slots = slot_count(regex);
    machine->pending = arena_try(machine->arena, (2 * (size_t)regex->count + 1) * sizeof *machine->pending);
    machine->slots = arena_try(machine->arena, slots * sizeof *machine->slots);
    machine->best = arena_try(machine->arena, slots * sizeof *machine->best);
    machine->spans = arena_try(machine->arena, slots / 2 * sizeof *machine->spans);
    machine->ready = machine->pending && machine->slots && machine->best && machine->spans
                  && threads_init(machine->arena, &machine->now, regex)
                  && threads_init(machine->arena, &machine->next, regex);
    return machine->ready;
}

/* Charges for `size` bytes; false when the budget is spent or the caller has asked to stop. */
static bool spend(const Regex *regex, const RegexBudget *budget, size_t size)
{
    if (budget->stop && atomic_load_explicit(budget->stop, memory_order_relaxed)) return false;
    uint64_t cost = ((uint64_t)size + 1) * regex->cost;
    if (cost > *budget->steps_left) {
        *budget->steps_left = 0;
        return false;
    }
    *budget->steps_left -= cost;
    return true;
}

uint32_t regex_char_at(Str text, size_t at, size_t *out_size)
{
    if (at >= text.len) {
        *out_size = 0;
        return REGEX_EDGE;
    }
    unsigned char byte = (unsigned char)text.ptr[at];
    if (byte < 0x80) {
        *out_size = 1;
        return byte;
    }
    uint32_t point = REGEX_BROKEN;
    *out_size = utf8_decode(str_slice(text, at, text.len), &point);
    if (*out_size == 0) *out_size = 1;
    return point;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static bool threads_has(const Threads *threads, uint32_t inst)
{
    uint32_t at = threads->sparse[inst];
    return at < threads->count && threads->dense[at] == inst;
}

/* Adds a thread for each instruction that reads or accepts and can be reached from `start` without reading, in order of
 * preference. machine->slots holds what the thread has noted so far, and is left unchanged. */
static void threads_add(RegexMachine *machine, Threads *threads, uint32_t start, uint32_t at, uint32_t holds)
{
    const Regex *regex = machine->regex;
    uint32_t slots = slot_count(regex);
    uint32_t depth = 0;
    machine->pending[depth++] = (Pending){ start, SLOT_NONE, 0 };
    while (depth > 0) {
        Pending work = machine->pending[--depth];
        if (work.slot != SLOT_NONE) {
            machine->slots[work.slot] = work.old;
            continue;
        }
        uint32_t inst = work.inst;
        while (!threads_has(threads, inst)) {
            threads->sparse[inst] = threads->count;
            threads->dense[threads->count++] = inst;
            const Inst *it = &regex->program[inst];
            if (it->kind == INST_SPLIT) {
                machine->pending[depth++] = (Pending){ it->arg, SLOT_NONE, 0 };
            } else if (it->kind == INST_SAVE) {
                machine->pending[depth++] = (Pending){ 0, it->arg, machine->slots[it->arg] };
                machine->slots[it->arg] = at;
            } else if (it->kind == INST_ASSERT) {
                if ((it->arg & holds) == 0) break;
            } else {
                memcpy(threads->slots + (size_t)(threads->count - 1) * slots, machine->slots, slots * sizeof(uint32_t));
                break;
            }
            inst = it->out;
        }
    }
}

/* Where a match may begin at or behind `at`, by its first byte. */
static size_t skip_to_first(const Regex *regex, Str text, size_t at)
{
    while (at < text.len) {
        unsigned char byte = (unsigned char)text.ptr[at];
        if (regex->first[byte / 64] >> (byte % 64) & 1) return at;
        at++;
    }
    return at;
}

/* Lets every thread read `point`, which ends at `after`. True where a match was found; less preferred threads end then. */
static bool threads_step(RegexMachine *machine, uint32_t point, uint32_t at, uint32_t after, uint32_t holds)
{
    const Regex *regex = machine->regex;
    uint32_t slots = slot_count(regex);
    Threads *now = &machine->now;
    machine->next.count = 0;
    for (uint32_t i = 0; i < now->count; i++) {
        const Inst *inst = &regex->program[now->dense[i]];
        const uint32_t *noted = now->slots + (size_t)i * slots;
        if (inst->kind == INST_MATCH) {
            memcpy(machine->best, noted, slots * sizeof *noted);
            machine->best[1] = at;
            return true;
        }
        if (point == REGEX_EDGE || !inst_reads(regex, inst, point)) continue;
        memcpy(machine->slots, noted, slots * sizeof *noted);
        threads_add(machine, &machine->next, inst->out, after, holds);
    }
    return false;
}

/* The character that ends at `at`. */
static uint32_t char_before(Str text, size_t at)
{
    if (at == 0) return REGEX_EDGE;
    size_t size, from = at - 1;
    while (from > 0 && at - from < 4 && ((unsigned char)text.ptr[from] & 0xc0) == 0x80) from--;
    uint32_t point = regex_char_at(text, from, &size);
    return from + size == at ? point : REGEX_BROKEN;
}

static void threads_begin(RegexMachine *machine, uint32_t at, uint32_t holds)
{
    memset(machine->slots, 0xff, slot_count(machine->regex) * sizeof *machine->slots);
    machine->slots[0] = at;
    threads_add(machine, &machine->now, machine->regex->start, at, holds);
}

static void threads_swap(RegexMachine *machine)
{
    Threads swap = machine->now;
    machine->now = machine->next;
    machine->next = swap;
}

static RegexResult machine_run(RegexMachine *machine, Str text, size_t from, const RegexBudget *budget)
{
    const Regex *regex = machine->regex;
    bool found = false;
    size_t at = from, charged = from;
    uint32_t before = char_before(text, from);
    machine->now.count = 0;
    for (;;) {
        bool may_begin = !found && (at == 0 || !regex->anchored);
        if (machine->now.count == 0) {
            if (!may_begin) break;
            size_t first = regex->has_first ? skip_to_first(regex, text, at) : at;
            if (first > at) before = char_before(text, first);
            at = first;
        }
        if (at - charged >= CHARGE_SIZE) {
            if (!spend(regex, budget, at - charged)) return REGEX_HALT;
            charged = at;
        }
        size_t size, next_size;
        uint32_t point = regex_char_at(text, at, &size);
        if (may_begin) threads_begin(machine, (uint32_t)at, regex_assertions_at(before, point));
        uint32_t next = regex_char_at(text, at + size, &next_size);
        if (threads_step(machine, point, (uint32_t)at, (uint32_t)(at + size), regex_assertions_at(point, next)))
            found = true;
        if (point == REGEX_EDGE) break;
        threads_swap(machine);
        before = point;
        at += size;
    }
    if (!spend(regex, budget, at - charged)) return REGEX_HALT;
    return found ? REGEX_FOUND : REGEX_NONE;
}

/* --- the two questions -------------------------------------------------------------------------------------------- */

RegexResult regex_find(RegexMachine *machine, Str text, size_t from, const RegexBudget *budget,
                       const RegexSpan **out_spans)
{
    if (!machine_prepare(machine)) return REGEX_HALT;
    RegexResult result = machine_run(machine, text, from, budget);
    if (result != REGEX_FOUND) return result;
    for (uint32_t i = 0; i <= machine->regex->group_count; i++) {
        RegexSpan span = { machine->best[2 * i], machine->best[2 * i + 1] };
        bool whole = span.begin != REGEX_UNSET && span.end != REGEX_UNSET;
        machine->spans[i] = whole ? span : (RegexSpan){ REGEX_UNSET, REGEX_UNSET };
    }
    *out_spans = machine->spans;
    return REGEX_FOUND;
}

RegexResult regex_matches(RegexMachine *machine, Str text, const RegexBudget *budget)
{
    /* Charged for the whole text at once, wherever the answer is known: what is cached must not show in the budget. */
    if (!spend(machine->regex, budget, text.len)) return REGEX_HALT;
    if (!machine->dfa && !machine->dfa_refused) {
        machine->dfa = dfa_new(machine->arena, machine->regex);
        machine->dfa_refused = machine->dfa == NULL;
    }
    if (machine->dfa) return dfa_matches(machine->dfa, text);
    uint64_t steps = UINT64_MAX;
    RegexBudget charged = { &steps, budget->stop };
    if (!machine_prepare(machine)) return REGEX_HALT;
    return machine_run(machine, text, 0, &charged);
}
