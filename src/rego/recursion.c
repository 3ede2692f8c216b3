#include "rego/plan.h"

#include "base/limits.h"

/* --- which groups lie on a cycle, or lead to one ------------------------------------------------------------------ */

/* Takes away, again and again, groups that read nothing that is left. What stays is on a cycle or leads to one. */
static uint32_t *count_left(RegoPolicy *policy, size_t *out_left, const uint32_t **out_order)
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
    *out_order = queue;
    return left;
}

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
    rego_errors_add(errors, REGO_ERROR_RECURSION, source->module->file, source->rule->loc, "rule %.*s is recursive: %.*s",
                    STR_ARG(path), STR_ARG(buf_peek(&buf)));
    buf_deinit(&buf);
}

const uint32_t *recursion_check(RegoPolicy *policy, RegoErrors *errors)
{
    size_t left_count;
    const uint32_t *order;
    uint32_t *left = count_left(policy, &left_count, &order);
    if (!left_count) return order;
    uint32_t *came_from = ARENA_ARRAY(&policy->arena, uint32_t, policy->group_count + 1);
    uint32_t *queue = ARENA_ARRAY(&policy->arena, uint32_t, policy->group_count + 1);
    uint32_t reported = 0;
    for (size_t i = 0; i < policy->group_count && reported < REGO_ERROR_COUNT_MAX; i++) {
        if (!left[i] || !cycle_find(policy, policy->groups[i], came_from, queue)) continue;
        cycle_report(policy, policy->groups[i], came_from, errors);
        reported++;
    }
    return order;
}
