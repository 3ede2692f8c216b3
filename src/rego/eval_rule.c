#include "rego/eval.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "rego/builtins/format.h"
#include "rego/print.h"

/* --- rules that may hold ----------------------------------------------------------------------------------------- */

/* Goes over the rules of a group whose guards hold. */
typedef struct RuleCursor {
    const RuleGroup *group;
    const EvalScope *scope;
    uint32_t at, row;           /* the next rule (or place in `rest`), the next row */
    Value wanted;               /* what the rows have to be equal to */
    bool in_rows;
} RuleCursor;

static const Value *guard_value(const EvalScope *scope, const PlanGuard *guard)
{
    const Value *at = rego_is_defined(scope->input) ? &scope->input : NULL;
    for (uint32_t i = 0; at && i < guard->key_count; i++) at = plan_step(at, guard->keys[i]);
    return at;
}

static RuleCursor cursor_begin(const RuleGroup *group, const EvalScope *scope)
{
    return (RuleCursor){ .group = group, .scope = scope };
}

static const PlanRule *cursor_next_row(RuleCursor *cursor)
{
    const RuleIndex *index = cursor->group->rule_index;
    if (!cursor->in_rows) {
        const Value *value = guard_value(cursor->scope, &index->guard);
        if (!value) return NULL;
        cursor->in_rows = true;
        cursor->wanted = *value;
        uint32_t low = 0, high = index->row_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (value_compare(index->rows[middle].value, *value) < 0) low = middle + 1;
            else high = middle;
        }
        cursor->row = low;
    }
    if (cursor->row >= index->row_count || !value_equals(index->rows[cursor->row].value, cursor->wanted)) return NULL;
    return &cursor->group->rules[index->rows[cursor->row++].rule];
}

static const PlanRule *cursor_next(RuleCursor *cursor)
{
    const RuleGroup *group = cursor->group;
    const RuleIndex *index = group->rule_index;
    uint32_t count = index ? index->rest_count : group->rule_count;
    while (cursor->at < count) {
        const PlanRule *rule = &group->rules[index ? index->rest[cursor->at] : cursor->at];
        cursor->at++;
        if (!rule->guard.is_present) return rule;
        const Value *value = guard_value(cursor->scope, &rule->guard);
        if (value && value_equals(*value, rule->guard.value)) return rule;
    }
    return index ? cursor_next_row(cursor) : NULL;
}

static void index_trace(Eval *e, const EvalScope *scope, const RuleGroup *group, bool exits_early)
{
    RuleCursor cursor = cursor_begin(group, scope);
    uint32_t count = 0;
    while (cursor_next(&cursor)) count++;
    trace_index(e, group, count, exits_early);
}

/* The first answer decides where all rules that may hold give the same constant: none can disagree. */
static bool candidates_agree(const RuleGroup *group, const EvalScope *scope)
{
    RuleCursor cursor = cursor_begin(group, scope);
    const PlanBranch *first = NULL;
    for (const PlanRule *rule; (rule = cursor_next(&cursor));) {
        if (!first) first = rule->branches;
        for (uint32_t b = 0; b < rule->branch_count; b++) {
            const PlanBranch *branch = &rule->branches[b];
            if (!branch->is_written || !value_equals(first->constant, branch->constant)) return false;
        }
    }
    return true;
}

/* --- complete rules and functions -------------------------------------------------------------------------------- */

typedef enum Exit {
    EXIT_UNKNOWN,
    EXIT_LATE,                  /* all answers of all rules are looked at: one may disagree, or fail */
    EXIT_EARLY,
} Exit;

typedef struct Single {
    Yield yield;
    const RuleGroup *group;
    const EvalScope *scope;
    Exit exit;
    Value value;                /* undefined until there is one */
    const PlanRule *rule;       /* whose it is */
} Single;

static void conflict_value(Buf *buf, Value value, const PlanRule *rule)
{
    char storage[REGO_CONFLICT_WIDTH_MAX];
    Buf text = buf_on(storage, sizeof storage);
    if (value.kind == VALUE_STRING) rego_print_quoted(&text, value_text(value));
    else format_value(&text, value);
    buf_text(buf, "\n  ");
    buf_str(buf, buf_peek(&text));
    buf_format(buf, "%s at %.*s:%u", buf_overflowed(&text) ? "..." : "", STR_ARG(rule->unit.file),
               rule->source->loc.row);
}

/* Which values they are, and where they come from, in the order of the text. */
static void conflict_details(Eval *e, const Single *single, Value before, const PlanRule *rule, Value value)
{
    Buf buf = buf_on(e->error->details, sizeof e->error->details - 1);
    bool is_function = single->group->kind == GROUP_FUNCTION;
    bool is_later = rule->source->loc.offset >= single->rule->source->loc.offset;
    Str path = tree_path_text(e->arena, single->group->node);
    buf_format(&buf, "%s %.*s produced conflicting values%s:", is_function ? "function" : "rule", STR_ARG(path),
               is_function ? " for the same inputs" : "");
    if (is_later) conflict_value(&buf, before, single->rule);
    conflict_value(&buf, value, rule);
    if (!is_later) conflict_value(&buf, before, single->rule);
    e->error->details[buf.len] = 0;
}

static Run single_conflict(Eval *e, const Frame *frame, const Single *single, Value before, Value value)
{
    const RuleGroup *group = single->group;
    if (!e->error->code) conflict_details(e, single, before, frame->rule, value);
    return eval_fail(e, REGO_EVAL_CONFLICT, frame->unit->file, frame->rule->source->loc, "%s",
                     group->kind == GROUP_FUNCTION ? "functions must not produce multiple outputs for same inputs"
                                                   : "complete rules must not produce multiple outputs");
}

static Run single_take(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Single *single = (Single *)yield;
    Value value = operand_value(frame, op->operands[0]);
    if (!rego_is_defined(single->value)) {
        single->value = value;
        if (!single->rule) single->rule = frame->rule;
        return RUN_END;
    }
    Run same = eval_equals(e, single->value, value);
    if (same != RUN_END) return same == RUN_ANSWER ? RUN_END : RUN_ERROR;
    single->rule = frame->rule;
    return single_conflict(e, frame, single, single->value, value);
}

static bool single_exits_early(Single *single)
{
    if (single->exit == EXIT_UNKNOWN) single->exit = candidates_agree(single->group, single->scope) ? EXIT_EARLY : EXIT_LATE;
    return single->exit == EXIT_EARLY;
}

/* Further answers are the same constant; they are asked for where something on the way to them may fail, see block_settle()
 * in plan.c. */
static Run single_take_constant(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Single *single = (Single *)yield;
    (void)e;
    single->value = operand_value(frame, op->operands[0]);
    if (!single->rule) single->rule = frame->rule;
    return op->fail == OP_NO_CHOICE || single_exits_early(single) ? RUN_ANSWER : RUN_END;
}

/* What this rule gives has to be what rules before it gave, which stays: of 1 and 1.0 it is the first. */
static Run single_agree(Eval *e, const Frame *frame, Single *single, Value before)
{
    if (!rego_is_defined(before)) return RUN_END;
    Run same = eval_equals(e, before, single->value);
    if (same == RUN_ERROR) return RUN_ERROR;
    if (same == RUN_END) return single_conflict(e, frame, single, before, single->value);
    single->value = before;
    return RUN_END;
}

/* The first branch that has an answer decides; all its answers have to agree. */
static Run rule_single(Eval *e, Frame *frame, const PlanRule *rule, Single *single)
{
    Value before = single->value;
    for (uint32_t b = 0; b < rule->branch_count; b++) {
        const PlanBranch *branch = &rule->branches[b];
        single->value = rego_undefined();
        single->yield.take = branch->is_constant ? single_take_constant : single_take;
        if (run_block(e, frame, &branch->block, &single->yield) == RUN_ERROR) return RUN_ERROR;
        if (rego_is_defined(single->value)) return single_agree(e, frame, single, before);
    }
    single->value = before;
    return RUN_END;
}

static Run group_single(Eval *e, EvalScope *scope, const RuleGroup *group, const Value *args, Value *out_value)
{
    Single single = { .group = group, .scope = scope, .exit = group->exits_early ? EXIT_EARLY : EXIT_UNKNOWN,
                      .value = rego_undefined() };
    RuleCursor cursor = cursor_begin(group, scope);
    if (e->watch) index_trace(e, scope, group, single_exits_early(&single));
    for (bool is_last = false; !is_last;) {
        const PlanRule *rule = cursor_next(&cursor);
        is_last = !rule;
        if (rego_is_defined(single.value) && (is_last || single_exits_early(&single))) break;
        if (is_last) rule = group->otherwise;
        if (!rule) break;
        Frame frame;
        if (!frame_push(e, &rule->unit, scope, &frame)) return RUN_ERROR;
        frame.rule = rule;
        frame.exits_early = single.exit == EXIT_EARLY;
        if (group->arity) memcpy(frame.registers, args, group->arity * sizeof *args);
        Run run = rule_single(e, &frame, rule, &single);
        frame_pop(e, &frame);
        if (run == RUN_ERROR) return RUN_ERROR;
    }
    *out_value = single.value;
    return rego_is_defined(single.value) ? RUN_ANSWER : RUN_END;
}

/* --- sets and objects -------------------------------------------------------------------------------------------- */

bool entry_add(Eval *e, EntryList *list, Entry entry)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 8;
        Entry *items = eval_alloc(e, capacity * sizeof *items);
        if (!items) return false;
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    entry.at = list->count;
    list->items[list->count++] = entry;
    return true;
}

/* Stable, so that of two rules the later one is named in a conflict. */
static bool entries_sort(Eval *e, EntryList *list)
{
    size_t count = list->count;
    bool is_sorted = true;
    for (size_t i = 1; is_sorted && i < count; i++)
        is_sorted = value_compare(list->items[i - 1].path, list->items[i].path) <= 0;
    if (is_sorted) return eval_spend(e, count);
    Entry *items = list->items, *spare = eval_alloc(e, count * sizeof *spare);
    if (!spare) return false;
    for (size_t width = 1; width < count; width *= 2) {
        if (!eval_spend(e, count)) return false;
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            size_t left = low, right = middle;
            for (size_t to = low; to < high; to++) {
                bool take_left = left < middle
                              && (right >= high || value_compare(items[left].path, items[right].path) <= 0);
                spare[to] = items[take_left ? left++ : right++];
            }
        }
        Entry *other = items;
        items = spare;
        spare = other;
    }
    list->items = items;
    return true;
}

Run entries_object(Eval *e, EntryList *list, Str file, RegoLoc loc, Value *out_object)
{
    if (!entries_sort(e, list)) return RUN_ERROR;
    Member *members = eval_alloc(e, (list->count + 1) * sizeof *members);
    if (!members) return RUN_ERROR;
    uint32_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const Entry *entry = &list->items[i];
        if (count && value_equals(members[count - 1].key, entry->path)) {
            Run same = eval_equals(e, members[count - 1].value, entry->leaf);
            if (same == RUN_ERROR) return RUN_ERROR;
            if (same == RUN_ANSWER) continue;
            return eval_fail(e, REGO_EVAL_CONFLICT, file, loc, "object keys must be unique");
        }
        members[count++] = (Member){ entry->path, entry->leaf };
    }
    *out_object = (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
    return RUN_ANSWER;
}

static Run entries_conflict(Eval *e, const Entry *entry)
{
    return eval_fail(e, REGO_EVAL_CONFLICT, entry->rule->unit.file, entry->rule->source->loc,
                     "object keys must be unique");
}

static Run entries_leaf(Eval *e, const Entry *entries, size_t count, uint32_t depth, Value *out_value)
{
    for (size_t i = 1; i < count; i++) {
        bool is_same = entries[i].path.count == depth && entries[i].is_set == entries[0].is_set;
        Run same = !is_same ? RUN_END
                 : entries[0].is_set ? RUN_ANSWER : eval_equals(e, entries[0].leaf, entries[i].leaf);
        if (same != RUN_ANSWER) return same == RUN_ERROR ? RUN_ERROR : entries_conflict(e, &entries[i]);
    }
    *out_value = entries[0].leaf;
    if (!entries[0].is_set) return RUN_ANSWER;
    Value *items = eval_alloc(e, count * sizeof *items);
    if (!items) return RUN_ERROR;
    for (size_t i = 0; i < count; i++) {
        items[i] = entries[i].leaf;
        if (!eval_weigh(e, items[i])) return RUN_ERROR;
    }
    *out_value = value_set(e->arena, items, (uint32_t)count);
    return RUN_ANSWER;
}

/* Of equal keys, 1 and 1.0, the one that was made first. */
static Value entries_key(const Entry *entries, size_t count, uint32_t depth)
{
    const Entry *first = entries;
    for (size_t i = 1; i < count; i++)
        if (entries[i].at < first->at) first = &entries[i];
    return first->path.items[depth];
}

/* The document of sorted entries that agree in their first `depth` keys. */
static Run entries_build(Eval *e, const Entry *entries, size_t count, uint32_t depth, Value *out_value)
{
    if (entries[0].path.count == depth) return entries_leaf(e, entries, count, depth, out_value);
    if (!eval_spend(e, count)) return RUN_ERROR;
    size_t group_count = 1;
    for (size_t i = 1; i < count; i++)
        if (!value_equals(entries[i - 1].path.items[depth], entries[i].path.items[depth])) group_count++;
    Member *members = eval_alloc(e, group_count * sizeof *members);
    if (!members) return RUN_ERROR;
    size_t from = 0, made = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && value_equals(entries[i].path.items[depth], entries[from].path.items[depth])) continue;
        members[made].key = entries_key(entries + from, i - from, depth);
        if (entries_build(e, entries + from, i - from, depth + 1, &members[made].value) == RUN_ERROR) return RUN_ERROR;
        made++;
        from = i;
    }
    *out_value = (Value){ .kind = VALUE_OBJECT, .count = (uint32_t)made, .members = members };
    return RUN_ANSWER;
}

typedef struct Partial {
    Yield yield;
    EntryList entries;
    ValueList list;
    bool any;
} Partial;

static __attribute__((noinline)) Run partial_take_item(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Partial *partial = (Partial *)yield;
    Error err;
    partial->any = true;
    if (builtin_list_add(&e->builtins, &partial->list, operand_value(frame, op->operands[0]), &err)) return RUN_END;
    return eval_fail(e, REGO_EVAL_CANCEL, (Str){ 0 }, (RegoLoc){ 0 }, "%s", err.text);
}

static Run partial_take_entry(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    Partial *partial = (Partial *)yield;
    const PlanRule *rule = frame->rule;
    Value *path = eval_alloc(e, (rule->path_count + 1u) * sizeof *path);
    if (!path) return RUN_ERROR;
    for (uint32_t i = 0; i < rule->path_count; i++) {
        path[i] = operand_value(frame, op->operands[i]);
        if (!eval_weigh(e, path[i])) return RUN_ERROR;
    }
    partial->any = true;
    Entry entry = { .path = value_array(path, rule->path_count),
                    .leaf = operand_value(frame, op->operands[rule->path_count]),
                    .is_set = rule->is_set, .rule = rule };
    return entry_add(e, &partial->entries, entry) ? RUN_END : RUN_ERROR;
}

static Run group_partial(Eval *e, EvalScope *scope, const RuleGroup *group, Value *out_value)
{
    bool is_set = group->kind == GROUP_SET;
    Partial partial = { .yield = { is_set ? partial_take_item : partial_take_entry }, .list = { .arena = e->arena } };
    RuleCursor cursor = cursor_begin(group, scope);
    if (e->watch) index_trace(e, scope, group, /* exits_early= */ false);
    for (const PlanRule *rule; (rule = cursor_next(&cursor));) {
        Frame frame;
        if (!frame_push(e, &rule->unit, scope, &frame)) return RUN_ERROR;
        frame.rule = rule;
        Run run = RUN_END;
        partial.any = false;
        for (uint32_t b = 0; b < rule->branch_count && !partial.any && run != RUN_ERROR; b++)
            run = run_block(e, &frame, &rule->branches[b].block, &partial.yield);
        frame_pop(e, &frame);
        if (run == RUN_ERROR) return RUN_ERROR;
    }
    if (is_set) return list_set(e, &partial.list, out_value);
    *out_value = (Value){ .kind = VALUE_OBJECT };
    if (!partial.entries.count) return RUN_ANSWER;
    if (!entries_sort(e, &partial.entries)) return RUN_ERROR;
    return entries_build(e, partial.entries.items, partial.entries.count, 0, out_value);
}

/* --- with memory ------------------------------------------------------------------------------------------------- */

static Memo *scope_memo(Eval *e, EvalScope *scope, const RuleGroup *group)
{
    if (!scope->memos) {
        scope->memos = eval_alloc(e, e->policy->group_count * sizeof *scope->memos);
        if (!scope->memos) return NULL;
    }
    return &scope->memos[group->index];
}

static Run group_compute(Eval *e, EvalScope *scope, RuleGroup *group, Value *out_value)
{
    if (!depth_enter(e)) return RUN_ERROR;
    Run run = group->kind == GROUP_COMPLETE ? group_single(e, scope, group, NULL, out_value)
                                            : group_partial(e, scope, group, out_value);
    e->depth--;
    return run;
}

Run group_value(Eval *e, EvalScope *scope, RuleGroup *group, Value *out_value)
{
    if (scope->shadow_count && scope_is_shadowed(scope, group->node)) {
        *out_value = scope_base(scope, group->path, group->path_count);
        return rego_is_defined(*out_value) ? RUN_ANSWER : RUN_END;
    }
    Memo *memo = scope_memo(e, scope, group);
    if (!memo) return RUN_ERROR;
    if (memo->state == MEMO_KNOWN) {
        *out_value = memo->value;
        return rego_is_defined(memo->value) ? RUN_ANSWER : RUN_END;
    }
    Value value = rego_undefined();
    Run run = group_compute(e, scope, group, &value);
    if (run == RUN_ERROR) return RUN_ERROR;
    memo->state = MEMO_KNOWN;
    memo->value = run == RUN_ANSWER ? value : rego_undefined();
    *out_value = value;
    return run;
}

/* Further answers are the same item, see block_settle() in plan.c. */
static Run lookup_take_item(Eval *e, Frame *frame, const Op *op, Yield *yield)
{
    (void)e, (void)frame;
    ((Partial *)yield)->any = true;
    return op->fail == OP_NO_CHOICE ? RUN_ANSWER : RUN_END;
}

/* A set's item, or what an object has under the key, from the rules that can make it alone. */
static Run lookup_compute(Eval *e, EvalScope *scope, const RuleGroup *group, Value key, Value *out_value)
{
    bool is_set = group->kind == GROUP_SET;
    Partial partial = { .yield = { is_set ? lookup_take_item : partial_take_entry } };
    RuleCursor cursor = cursor_begin(group, scope);
    if (e->watch) index_trace(e, scope, group, /* exits_early= */ false);
    for (const PlanRule *rule; (rule = cursor_next(&cursor));) {
        Frame frame;
        if (!frame_push(e, &rule->unit, scope, &frame)) return RUN_ERROR;
        frame.rule = rule;
        frame.registers[rule->key_register] = key;
        Run run = run_block(e, &frame, &rule->lookup, &partial.yield);
        frame_pop(e, &frame);
        if (run == RUN_ERROR) return RUN_ERROR;         /* rules behind one with an answer are evaluated all the same */
    }
    if (is_set && partial.any) {
        *out_value = key;
        return RUN_ANSWER;
    }
    if (!partial.entries.count) return RUN_END;
    if (!entries_sort(e, &partial.entries)) return RUN_ERROR;
    return entries_build(e, partial.entries.items, partial.entries.count, 1, out_value);
}

Run group_lookup(Eval *e, EvalScope *scope, RuleGroup *group, Value key, Value *out_value)
{
    bool is_shadowed = scope->shadow_count && scope_is_shadowed(scope, group->node);
    Memo *memo = is_shadowed ? NULL : scope_memo(e, scope, group);
    if (!memo && !is_shadowed) return RUN_ERROR;
    if (is_shadowed || memo->state == MEMO_KNOWN || !group->has_lookup) {
        Value whole;
        Run run = group_value(e, scope, group, &whole);
        if (run != RUN_ANSWER) return run;
        const Value *found = plan_step(&whole, key);
        if (!found) return RUN_END;
        *out_value = whole.kind == VALUE_SET ? key : *found;
        return RUN_ANSWER;
    }
    uint64_t hash = memo_hash(&key, 1);
    const Value *known = memo_find(memo->table, &key, 1, hash);
    if (known) {
        *out_value = *known;
        return rego_is_defined(*known) ? RUN_ANSWER : RUN_END;
    }
    if (!depth_enter(e)) return RUN_ERROR;
    Value value = rego_undefined();
    Run run = lookup_compute(e, scope, group, key, &value);
    e->depth--;
    if (run == RUN_ERROR || !memo_add(e, &memo->table, &key, 1, hash, value)) return RUN_ERROR;
    *out_value = value;
    return run;
}

Run group_call(Eval *e, EvalScope *scope, RuleGroup *group, const Value *args, Value *out_value)
{
    Memo *memo = scope_memo(e, scope, group);
    if (!memo) return RUN_ERROR;
    uint64_t hash = 0;
    bool is_kept = group->arity && memo_is_useful(memo->table);
    if (is_kept) {
        hash = memo_hash(args, group->arity);
        const Value *known = memo_find(memo->table, args, group->arity, hash);
        if (known) {
            *out_value = *known;
            return rego_is_defined(*known) ? RUN_ANSWER : RUN_END;
        }
    }
    if (!depth_enter(e)) return RUN_ERROR;
    Value value = rego_undefined();
    Run run = group_single(e, scope, group, args, &value);
    e->depth--;
    if (run == RUN_ERROR) return RUN_ERROR;
    if (is_kept && !memo_add(e, &memo->table, args, group->arity, hash, value)) return RUN_ERROR;
    *out_value = value;
    return run;
}
