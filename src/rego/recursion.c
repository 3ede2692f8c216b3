#include "rego/plan.h"

#include <stdlib.h>

#include "base/limits.h"

/* --- which groups lie on a cycle, or lead to one ----------------------------------------------------------------- */

/* Takes away, again and again, groups that read nothing that is left. What stays is on a cycle or leads to one. */
static uint32_t *count_left(RegoPolicy *policy, size_t *out_left)
{
    Arena *arena = &policy->arena;
    size_t count = policy->group_count, queued = 0, edge_count = 0;
    uint32_t *left = ARENA_ARRAY(arena, uint32_t, count + 1), *queue = ARENA_ARRAY(arena, uint32_t, count + 1);
    uint32_t *starts = ARENA_ARRAY(arena, uint32_t, count + 2);
    for (size_t i = 0; i < count; i++) {
        left[i] = (uint32_t)policy->groups[i]->use_count;
        edge_count += left[i];
        for (uint32_t u = 0; u < left[i]; u++) starts[policy->groups[i]->uses[u]->index + 1]++;
        if (!left[i]) queue[queued++] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++) starts[i + 1] += starts[i];
    uint32_t *readers = ARENA_ARRAY(arena, uint32_t, edge_count + 1), *fill = ARENA_ARRAY(arena, uint32_t, count + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t u = 0; u < policy->groups[i]->use_count; u++) {
            uint32_t used = policy->groups[i]->uses[u]->index;
            readers[starts[used] + fill[used]++] = (uint32_t)i;
        }
    for (size_t done = 0; done < queued; done++)
        for (uint32_t r = starts[queue[done]]; r < starts[queue[done] + 1]; r++)
            if (--left[readers[r]] == 0) queue[queued++] = readers[r];
    *out_left = count - queued;
    return left;
}

/* --- the order in which groups are checked ----------------------------------------------------------------------- */

static int group_compare(const void *a, const void *b)
{
    const RuleGroup *x = *(RuleGroup *const *)a, *y = *(RuleGroup *const *)b;
    int order = str_compare(x->sources[0].module->file, y->sources[0].module->file);
    if (order) return order;
    uint32_t from = x->sources[0].rule->loc.offset, to = y->sources[0].rule->loc.offset;
    return from < to ? -1 : from > to;
}

typedef struct Step {
    RuleGroup *group;
    size_t use;
} Step;

static void group_enter(RuleGroup *group, bool *seen, Step *steps, size_t *depth)
{
    if (!seen[group->index]) steps[(*depth)++] = (Step){ group, 0 };
    seen[group->index] = true;
}

/* As the texts have them, each behind what it needs: messages do not depend on the names of a policy's rules. */
static const uint32_t *order_groups(RegoPolicy *policy)
{
    Arena *arena = &policy->arena;
    size_t count = policy->group_count, done = 0, depth = 0;
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, count + 1);
    bool *seen = ARENA_ARRAY(arena, bool, count + 1);
    Step *steps = ARENA_ARRAY(arena, Step, count + 1);
    RuleGroup **groups = arena_copy_items(arena, policy->groups, count * sizeof *groups);
    if (count) qsort(groups, count, sizeof *groups, group_compare);
    for (size_t i = 0; i < count; i++) {
        group_enter(groups[i], seen, steps, &depth);
        while (depth) {
            Step *step = &steps[depth - 1];
            if (step->use == step->group->use_count) {
                order[done++] = step->group->index;
                depth--;
                continue;
            }
            group_enter(step->group->uses[step->use++], seen, steps, &depth);
        }
    }
    return order;
}

/* --- cycles ------------------------------------------------------------------------------------------------------ */

/* The shortest way from a group back to itself; false where there is none. */
static bool cycle_find(RegoPolicy *policy, RuleGroup *group, uint32_t *came_from, uint32_t *queue)
{
    size_t queued = 0;
    for (size_t i = 0; i < policy->group_count; i++) came_from[i] = UINT32_MAX;
    queue[queued++] = group->index;
    for (size_t done = 0; done < queued; done++) {
        const RuleGroup *at = policy->groups[queue[done]];
        for (size_t u = 0; u < at->use_count; u++) {
            uint32_t next = at->uses[u]->index;
            if (came_from[next] != UINT32_MAX) continue;
            came_from[next] = at->index;
            if (next == group->index) return true;
            queue[queued++] = next;
        }
    }
    return false;
}

static void cycle_report(RegoPolicy *policy, RuleGroup *group, const uint32_t *came_from, RegoErrors *errors)
{
    uint32_t way[64], count = 0;
    for (uint32_t at = came_from[group->index]; at != group->index && count < 64; at = came_from[at]) way[count++] = at;
    Str path = tree_path_text(&policy->arena, group->node);
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    buf_str(&buf, path);
    while (count) {
        buf_text(&buf, " -> ");
        buf_str(&buf, tree_path_text(&policy->arena, policy->groups[way[--count]]->node));
    }
    buf_text(&buf, " -> ");
    buf_str(&buf, path);
    const RuleSource *source = &group->sources[0];
    rego_errors_add(errors, REGO_ERROR_RECURSION, source->module->file, source->rule->loc,
                    "rule %.*s is recursive: %.*s", STR_ARG(path), STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

const uint32_t *recursion_check(RegoPolicy *policy, RegoErrors *errors)
{
    size_t left_count;
    uint32_t *left = count_left(policy, &left_count);
    if (!left_count) return order_groups(policy);
    uint32_t *came_from = ARENA_ARRAY(&policy->arena, uint32_t, policy->group_count + 1);
    uint32_t *queue = ARENA_ARRAY(&policy->arena, uint32_t, policy->group_count + 1);
    uint32_t reported = 0;
    for (size_t i = 0; i < policy->group_count && reported < REGO_ERROR_COUNT_MAX; i++) {
        if (!left[i] || !cycle_find(policy, policy->groups[i], came_from, queue)) continue;
        cycle_report(policy, policy->groups[i], came_from, errors);
        reported++;
    }
    return NULL;
}
