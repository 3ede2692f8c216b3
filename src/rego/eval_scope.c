#include "rego/eval.h"

#include <string.h>

#include "base/limits.h"

/* --- what `with` has replaced ------------------------------------------------------------------------------------ */

bool scope_is_shadowed(const EvalScope *scope, const TreeNode *node)
{
    for (uint32_t i = 0; i < scope->shadow_count; i++)
        if (node->first >= scope->shadows[i].first && node->first <= scope->shadows[i].last) return true;
    return false;
}

const Mock *scope_mock(const EvalScope *scope, const Builtin *builtin, const RuleGroup *group)
{
    for (uint32_t i = scope->mock_count; i > 0; i--) {
        const Mock *mock = &scope->mocks[i - 1];
        if (builtin ? mock->builtin == builtin : mock->group == group) return mock;
    }
    return NULL;
}

Value scope_base(const EvalScope *scope, const Value *keys, uint32_t count)
{
    const Value *at = &scope->data;
    for (uint32_t i = 0; at && i < count; i++) at = plan_step_base(at, keys[i]);
    return at ? *at : rego_undefined();
}

static EvalScope *scope_copy(Eval *e, const EvalScope *scope)
{
    EvalScope *copy = eval_alloc(e, sizeof *copy);
    if (!copy) return NULL;
    *copy = *scope;
    copy->memos = NULL;         /* what was computed may be different here */
    return copy;
}

EvalScope *scope_without_mocks(Eval *e, const EvalScope *scope)
{
    EvalScope *copy = scope_copy(e, scope);
    if (copy) copy->mock_count = 0;
    return copy;
}

/* The document with a value put at a path; objects on the way are made where there are none. */
static bool document_put(Eval *e, Value document, const Value *path, uint32_t count, Value value, Value *out_document)
{
    if (count == 0) {
        *out_document = value;
        return true;
    }
    uint32_t old_count = document.kind == VALUE_OBJECT ? document.count : 0, at = 0;
    while (at < old_count && value_compare(document.members[at].key, path[0]) < 0) at++;
    bool exists = at < old_count && value_equals(document.members[at].key, path[0]);
    Value child;
    if (!document_put(e, exists ? document.members[at].value : rego_undefined(), path + 1, count - 1, value, &child))
        return false;
    Member *members = eval_alloc(e, (old_count + 1u) * sizeof *members);
    if (!members || !eval_spend(e, old_count)) return false;
    if (at) memcpy(members, document.members, at * sizeof *members);
    members[at] = (Member){ path[0], child };
    uint32_t rest = exists ? at + 1 : at;
    if (rest < old_count) memcpy(members + at + 1, document.members + rest, (old_count - rest) * sizeof *members);
    *out_document = (Value){ .kind = VALUE_OBJECT, .count = exists ? old_count : old_count + 1, .members = members };
    return true;
}

static bool shadow_add(Eval *e, EvalScope *scope, const TreeNode *node)
{
    Shadow *shadows = eval_alloc(e, (scope->shadow_count + 1u) * sizeof *shadows);
    if (!shadows) return false;
    if (scope->shadow_count) memcpy(shadows, scope->shadows, scope->shadow_count * sizeof *shadows);
    shadows[scope->shadow_count++] = (Shadow){ node->first, node->last };
    scope->shadows = shadows;
    return true;
}

static bool mock_add(Eval *e, EvalScope *scope, const WithTarget *target, Value value)
{
    Mock *mocks = eval_alloc(e, (scope->mock_count + 1u) * sizeof *mocks);
    if (!mocks) return false;
    if (scope->mock_count) memcpy(mocks, scope->mocks, scope->mock_count * sizeof *mocks);
    mocks[scope->mock_count++] = (Mock){ .builtin = target->builtin, .by_builtin = target->by_builtin, .group = target->group,
                                         .by_group = target->by_group, .by_node = target->is_late ? target->node : NULL,
                                         .path = target->path, .value = value };
    scope->mocks = mocks;
    return true;
}

static bool target_apply(Eval *e, EvalScope *scope, const WithTarget *target, Value value)
{
    switch ((FlatTargetKind)target->kind) {
    case FLAT_TARGET_INPUT:
        return document_put(e, scope->input, target->path, target->path_count, value, &scope->input);
    case FLAT_TARGET_DATA:
        scope->data_is_base = false;
        if (target->node && !shadow_add(e, scope, target->node)) return false;
        return document_put(e, scope->data, target->path, target->path_count, value, &scope->data);
    case FLAT_TARGET_BUILTIN:
    case FLAT_TARGET_GROUP: return mock_add(e, scope, target, value);
    }
    return true;
}

/* Only members of objects can be replaced. That is noticed where it would be done, as other Rego tools do. */
static bool target_has_path(Eval *e, const Frame *frame, const Op *op, const WithTarget *target)
{
    for (uint32_t i = 0; i < target->path_count; i++) {
        if (target->path[i].kind == VALUE_STRING) continue;
        eval_fail(e, REGO_EVAL_CONFLICT, frame->unit->file, frame->unit->locs[op->row],
                  "the target of `with` has a key that is no string");
        return false;
    }
    return true;
}

EvalScope *scope_with(Eval *e, const Frame *frame, const Op *op)
{
    EvalScope *scope = scope_copy(e, frame->scopes[op->scope]);
    if (scope && (scope->height += (uint32_t)op->b) > REGO_WITH_HEIGHT_MAX) {
        eval_fail(e, REGO_EVAL_CANCEL, frame->unit->file, frame->unit->locs[op->row],
                  "`with` puts more than REGO_WITH_HEIGHT_MAX (%u) containers around documents", REGO_WITH_HEIGHT_MAX);
        return NULL;
    }
    for (uint32_t i = 0; scope && i < op->count; i++) {
        const WithTarget *target = &op->targets[i];
        if (!target->is_late && !target_has_path(e, frame, op, target)) return NULL;
        bool has_value = !target->by_builtin && !target->by_group && !target->is_late;
        Value value = has_value ? operand_value(frame, target->value) : value_null();
        if (!target_apply(e, scope, target, value)) return NULL;
    }
    return scope;
}

/* --- packages as documents --------------------------------------------------------------------------------------- */

static const TreeNode *node_of(const Value *at)
{
    return at->kind == KIND_NODE ? (const TreeNode *)(const void *)at->text : NULL;
}

static Run pair_set(Value *out_pair, const Value *value)
{
    out_pair[0] = value ? *value : rego_undefined();
    out_pair[1] = rego_undefined();
    return value ? RUN_ANSWER : RUN_END;
}

static Run child_enter(Eval *e, EvalScope *scope, const TreeNode *child, const Value *base, Value *out_pair)
{
    if (scope->shadow_count && scope_is_shadowed(scope, child)) return pair_set(out_pair, base);
    if (child->group) {
        if (child->group->kind == GROUP_FUNCTION) return pair_set(out_pair, base);
        out_pair[1] = rego_undefined();
        return group_value(e, scope, child->group, &out_pair[0]);
    }
    Value below = base ? *base : rego_undefined();
    out_pair[0] = (Value){ .kind = KIND_NODE, .text = (const char *)child };
    out_pair[1] = below;
    return RUN_ANSWER;
}

Run tree_step(Eval *e, EvalScope *scope, const Value *at, Value key, Value *out_pair)
{
    const TreeNode *node = node_of(at);
    const Value *from = node ? &at[1] : &at[0];
    const Value *base = rego_is_defined(*from) ? plan_step_base(from, key) : NULL;
    const TreeNode *child = node ? tree_child(node, key) : NULL;
    return child ? child_enter(e, scope, child, base, out_pair) : pair_set(out_pair, base);
}

/* Places count the children of the node first, then what the base data has beside them. */
Run tree_next(Eval *e, EvalScope *scope, const Value *at, int64_t *place, Value *out_key, Value *out_pair)
{
    const TreeNode *node = node_of(at);
    Value base = node ? at[1] : at[0];
    size_t child_count = node ? node->child_count : 0;
    for (;;) {
        if (!eval_spend(e, 1)) return RUN_ERROR;
        size_t index = (size_t)(*place)++;
        if (index < child_count) {
            const TreeNode *child = node->children[index];
            const Value *below = rego_is_defined(base) ? plan_step(&base, child->key) : NULL;
            Run run = child_enter(e, scope, child, below, out_pair);
            if (run == RUN_END) continue;
            *out_key = child->key;
            return run;
        }
        index -= child_count;
        bool is_container = base.kind == VALUE_OBJECT || base.kind == VALUE_ARRAY || base.kind == VALUE_SET;
        if (!is_container || index >= base.count) return RUN_END;
        bool is_object = base.kind == VALUE_OBJECT;
        Value key = is_object ? base.members[index].key
                  : base.kind == VALUE_SET ? base.items[index] : value_int((int64_t)index);
        if (node && tree_child(node, key)) continue;
        *out_key = key;
        return pair_set(out_pair, is_object ? &base.members[index].value : &base.items[index]);
    }
}

/* Base data lies over what rules give: it wins where both have a value that is no object. */
static bool documents_merge(Eval *e, Value base, Value rules, Value *out_value)
{
    *out_value = base;
    if (base.kind != VALUE_OBJECT || rules.kind != VALUE_OBJECT) return true;
    Member *members = eval_alloc(e, ((size_t)base.count + rules.count + 1) * sizeof *members);
    if (!members || !eval_spend(e, (uint64_t)base.count + rules.count)) return false;
    uint32_t count = 0;
    for (uint32_t b = 0, r = 0; b < base.count || r < rules.count;) {
        int order = b == base.count ? 1
                  : r == rules.count ? -1 : value_compare(base.members[b].key, rules.members[r].key);
        members[count] = order <= 0 ? base.members[b] : rules.members[r];
        if (order == 0 && !documents_merge(e, base.members[b].value, rules.members[r].value, &members[count].value))
            return false;
        count++;
        if (order <= 0) b++;
        if (order >= 0) r++;
    }
    *out_value = (Value){ .kind = VALUE_OBJECT, .count = count, .members = members };
    return true;
}

Run tree_value(Eval *e, EvalScope *scope, const Value *at, Value *out_value)
{
    const TreeNode *node = node_of(at);
    if (!node) {
        *out_value = at[0];
        return rego_is_defined(at[0]) ? RUN_ANSWER : RUN_END;
    }
    uint32_t base_count = at[1].kind == VALUE_OBJECT ? at[1].count : 0, count = 0;
    Member *members = eval_alloc(e, (node->child_count + base_count + 1) * sizeof *members);
    if (!members || !depth_enter(e)) return RUN_ERROR;
    for (int64_t place = 0;;) {
        Value pair[2], key;
        Run run = tree_next(e, scope, at, &place, &key, pair);
        if (run == RUN_END) break;
        if (run == RUN_ANSWER) run = tree_value(e, scope, pair, &members[count].value);
        if (run == RUN_ERROR) return RUN_ERROR;
        const Value *base = pair[0].kind != KIND_NODE && rego_is_defined(at[1]) ? plan_step(&at[1], key) : NULL;
        if (base && !documents_merge(e, *base, members[count].value, &members[count].value)) return RUN_ERROR;
        members[count++].key = key;
    }
    e->depth--;
    *out_value = value_object(e->arena, members, count);
    return RUN_ANSWER;
}

Run scope_document(Eval *e, EvalScope *scope, const TreeNode *node, const Value *path, Value *out_value)
{
    Value at[2] = { { .kind = KIND_NODE, .text = (const char *)e->policy->root }, scope->data };
    for (uint32_t i = 0; i < node->depth; i++) {
        Value next[2];
        Run run = tree_step(e, scope, at, path[i], next);
        if (run != RUN_ANSWER) return run;
        memcpy(at, next, sizeof at);
    }
    return tree_value(e, scope, at, out_value);
}
