#include "rego/plan.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "rego/print.h"

/* --- nodes ------------------------------------------------------------------------------------------------------- */

static size_t child_place(const TreeNode *node, Value key, bool *out_found)
{
    size_t low = 0, high = node->child_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = value_compare(node->children[middle]->key, key);
        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    *out_found = false;
    return low;
}

TreeNode *tree_child(const TreeNode *node, Value key)
{
    bool found;
    size_t at = child_place(node, key, &found);
    return found ? node->children[at] : NULL;
}

TreeNode *tree_add(Arena *arena, TreeNode *node, Value key)
{
    bool found;
    size_t at = child_place(node, key, &found);
    if (found) return node->children[at];
    TreeNode *child = ARENA_NEW(arena, TreeNode);
    *child = (TreeNode){ .key = key, .parent = node, .depth = node->depth + 1 };
    node->children = arena_grow(arena, node->children, sizeof *node->children, node->child_count,
                                &node->child_capacity);
    memmove(node->children + at + 1, node->children + at, (node->child_count - at) * sizeof *node->children);
    node->children[at] = child;
    node->child_count++;
    return child;
}

Str tree_path_text(Arena *arena, const TreeNode *node)
{
    uint32_t count = node->depth + 1;
    RegoTerm **items = ARENA_ARRAY(arena, RegoTerm *, count);
    for (; node->parent; node = node->parent) {
        RegoTerm *item = ARENA_NEW(arena, RegoTerm);
        *item = (RegoTerm){ .kind = REGO_TERM_SCALAR, .height = 1, .value = node->key };
        items[node->depth] = item;
    }
    items[0] = ARENA_NEW(arena, RegoTerm);
    *items[0] = (RegoTerm){ .kind = REGO_TERM_VAR, .height = 1, .name = STR("data") };
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    rego_print_ref(&buf, items, count, REGO_PRINT_CALLS);
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* --- rules at their nodes ---------------------------------------------------------------------------------------- */

static void group_add(RegoPolicy *policy, TreeNode *node, RuleSource source)
{
    Arena *arena = &policy->arena;
    if (!node->group) {
        node->group = ARENA_NEW(arena, RuleGroup);
        node->group->node = node;
    }
    RuleGroup *group = node->group;
    group->sources = arena_grow(arena, group->sources, sizeof *group->sources, group->source_count,
                                &group->source_capacity);
    group->sources[group->source_count++] = source;
}

static void rule_place(RegoPolicy *policy, RegoModule *module, TreeNode *package, RegoRule *rule, RegoErrors *errors)
{
    if (package->depth + rule->head.ref_count > REGO_PATH_COUNT_MAX) {
        rego_errors_add(errors, REGO_ERROR_COMPILE, module->file, rule->loc,
                        "the path of a rule has more than REGO_PATH_COUNT_MAX (%u) keys", REGO_PATH_COUNT_MAX);
        return;
    }
    TreeNode *node = package;
    uint32_t count = 0;
    bool is_function = rule->head.flags & REGO_HEAD_FUNCTION;
    for (; count < rule->head.ref_count; count++) {
        const RegoTerm *item = rule->head.ref[count];
        Value key;
        if (count == 0 && item->kind == REGO_TERM_VAR) key = value_string(item->name);
        else if (rego_term_is_string(item) || (is_function && item->kind == REGO_TERM_SCALAR)) key = item->value;
        else break;
        node = tree_add(&policy->arena, node, key);
        if (count == 0) node->is_name = true;
    }
    group_add(policy, node, (RuleSource){ rule, module, count });
}

/* A longer path is refused with the first rule that lies on it. */
static TreeNode *package_place(RegoPolicy *policy, const RegoModule *module)
{
    TreeNode *node = policy->root;
    for (uint32_t i = 1; i < module->package->count && i <= REGO_PATH_COUNT_MAX; i++)
        node = tree_add(&policy->arena, node, module->package->items[i]->value);
    node->is_package = true;
    return node;
}

/* --- groups ------------------------------------------------------------------------------------------------------ */

static bool source_is_dynamic(const RuleSource *source)
{
    return source->path_from < source->rule->head.ref_count;
}

static bool group_is_dynamic(const RuleGroup *group)
{
    for (size_t i = 0; i < group->source_count; i++)
        if (source_is_dynamic(&group->sources[i])) return true;
    return false;
}

/* Rules below an object whose keys are computed belong to that object: a lookup has to see both. */
static void group_absorb(RegoPolicy *policy, RuleGroup *group, TreeNode *node)
{
    for (size_t i = 0; i < node->child_count; i++) {
        TreeNode *child = node->children[i];
        if (child->group) {
            for (size_t s = 0; s < child->group->source_count; s++) {
                RuleSource source = child->group->sources[s];
                source.path_from -= child->depth - group->node->depth;
                group_add(policy, group->node, source);
            }
        }
        group_absorb(policy, group, child);
    }
}

static GroupKind source_kind(const RuleSource *source)
{
    const RegoHead *head = &source->rule->head;
    if (source_is_dynamic(source)) return GROUP_OBJECT;
    if (head->flags & REGO_HEAD_FUNCTION) return GROUP_FUNCTION;
    return head->key ? GROUP_SET : GROUP_COMPLETE;
}

static void error_conflicts(RegoErrors *errors, const RuleGroup *group, Str path)
{
    const RuleSource *source = &group->sources[0];
    rego_errors_add(errors, REGO_ERROR_TYPE, source->module->file, source->rule->loc, "conflicting rules %.*s found",
                    STR_ARG(path));
}

/* The whole path of a rule, as its head has it. */
static Str source_path_text(RegoPolicy *policy, const TreeNode *node, const RuleSource *source)
{
    uint32_t from = source->path_from, count = source->rule->head.ref_count - from;
    RegoTerm head = { .kind = REGO_TERM_VAR, .name = tree_path_text(&policy->arena, node) };
    RegoTerm **items = ARENA_ARRAY(&policy->arena, RegoTerm *, count + 1u);
    items[0] = &head;
    for (uint32_t i = 0; i < count; i++) items[i + 1] = source->rule->head.ref[from + i];
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    rego_print_ref(&buf, items, count + 1, REGO_PRINT_CALLS);
    Str text = arena_copy(&policy->arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

/* Of rules whose keys are computed from the same place on, all make sets or all make values: `r[k].x contains 1` and
 * `r[k] := 2` are a conflict, whatever k is. Keys that are constants are compared once they have values. */
static void check_dynamic(RegoPolicy *policy, const TreeNode *node, RegoErrors *errors)
{
    const RuleSource *set = NULL, *single = NULL, *last = NULL;
    for (size_t i = 0; i < node->group->source_count; i++) {
        const RuleSource *source = &node->group->sources[i];
        if (!source_is_dynamic(source)) return;             /* which is a conflict by itself */
        RegoTermKind kind = (RegoTermKind)source->rule->head.ref[source->path_from]->kind;
        if (kind != REGO_TERM_VAR && kind != REGO_TERM_REF && kind != REGO_TERM_CALL) continue;
        last = source;
        if (source->rule->head.key) set = source;
        else single = source;
    }
    if (set && single) error_conflicts(errors, node->group, source_path_text(policy, node, last));
}

static void group_check(RegoPolicy *policy, RuleGroup *group, RegoErrors *errors)
{
    const RuleSource *first = &group->sources[0];
    GroupKind kind = source_kind(first);
    uint32_t default_count = 0;
    bool differs = false;
    for (size_t i = 0; i < group->source_count; i++) {
        const RuleSource *source = &group->sources[i];
        if (source->rule->flags & REGO_RULE_DEFAULT) default_count++;
        if (source_kind(source) != kind || source->rule->head.arg_count != first->rule->head.arg_count) differs = true;
    }
    group->kind = (uint8_t)kind;
    group->arity = first->rule->head.arg_count;
    if (differs) error_conflicts(errors, group, tree_path_text(&policy->arena, group->node));
    if (default_count < 2) return;
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    for (size_t i = 0; i < group->source_count; i++) {
        const RuleSource *source = &group->sources[i];
        if (!(source->rule->flags & REGO_RULE_DEFAULT)) continue;
        if (buf.len) buf_text(&buf, ", ");
        buf_str(&buf, source->module->file);
        buf_format(&buf, ":%u", source->rule->loc.row);
    }
    rego_errors_add(errors, REGO_ERROR_TYPE, first->module->file, first->module->package_loc,
                    "multiple default rules %.*s found at %.*s", STR_ARG(tree_path_text(&policy->arena, group->node)),
                    STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

static void list_below(RegoPolicy *policy, const TreeNode *node, Buf *buf)
{
    for (size_t i = 0; i < node->child_count; i++) {
        const TreeNode *child = node->children[i];
        for (size_t s = 0; child->group && s < child->group->source_count; s++) {
            const RuleSource *source = &child->group->sources[s];
            Str path = tree_path_text(&policy->arena, child);
            buf_format(buf, "\n  rule %.*s at %.*s:%u", STR_ARG(path), STR_ARG(source->module->file),
                       source->rule->loc.row);
        }
        list_below(policy, child, buf);
    }
}

/* A rule that has its whole value cannot have further rules, or a package, below it. */
static void check_below(RegoPolicy *policy, TreeNode *node, RegoErrors *errors)
{
    const RuleSource *source = &node->group->sources[0];
    Str path = tree_path_text(&policy->arena, node);
    if (node->is_package) {
        rego_errors_add(errors, REGO_ERROR_TYPE, source->module->file, source->module->package_loc,
                        "package %.*s conflicts with rule %.*s defined at %.*s:%u",
                        STR_ARG(str_slice(path, 5, path.len)), STR_ARG(value_text(node->key)),
                        STR_ARG(source->module->file), source->rule->loc.row);
    }
    if (!node->child_count) return;
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    list_below(policy, node, &buf);
    if (buf.len)
        rego_errors_add(errors, REGO_ERROR_TYPE, source->module->file, source->rule->loc,
                        "rule %.*s conflicts with:%.*s", STR_ARG(path), STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

static uint32_t tree_finish(RegoPolicy *policy, TreeNode *node, uint32_t number, RegoErrors *errors)
{
    node->first = number++;
    if (node->group) {
        RuleGroup *group = node->group;
        Arena *arena = &policy->arena;
        if (group_is_dynamic(group)) {
            check_dynamic(policy, node, errors);
            group_absorb(policy, group, node);
        } else check_below(policy, node, errors);
        node->child_count = 0;
        group_check(policy, group, errors);
        group->index = (uint32_t)policy->group_count;
        policy->groups = arena_grow(arena, policy->groups, sizeof *policy->groups, policy->group_count,
                                    &policy->group_capacity);
        policy->groups[policy->group_count++] = group;
        Value *path = ARENA_ARRAY(arena, Value, node->depth + 1u);
        for (const TreeNode *n = node; n->parent; n = n->parent) path[n->depth - 1] = n->key;
        group->path = path;
        group->path_count = node->depth;
    }
    for (size_t i = 0; i < node->child_count; i++) number = tree_finish(policy, node->children[i], number, errors);
    node->last = number - 1;
    return number;
}

void policy_tree_build(RegoPolicy *policy, RegoErrors *errors)
{
    policy->root = ARENA_NEW(&policy->arena, TreeNode);
    for (uint32_t m = 0; m < policy->module_count; m++) {
        RegoModule *module = policy->modules[m];
        TreeNode *package = package_place(policy, module);
        for (uint32_t i = 0; i < module->rule_count; i++) rule_place(policy, module, package, module->rules[i], errors);
    }
    tree_finish(policy, policy->root, 0, errors);
}
