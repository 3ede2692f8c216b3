#include "api/key_limits.h"

#include "base/limits.h"

static Value member_of(Value object, const char *name)
{
    const Value *member = value_get_text(object, name);
    return member ? *member : value_null();
}

KeyLimits key_limits_of(Value object) { return (KeyLimits){ member_of(object, "executors"), member_of(object, "queues") }; }

bool key_limits_are_some(const KeyLimits *limits) { return limits->executors.kind != VALUE_NULL || limits->queues.kind != VALUE_NULL; }

static bool is_name(Value item)
{
    bool is_right = item.kind == VALUE_STRING && item.count && item.count <= NAME_SIZE_MAX;
    for (uint32_t i = 0; is_right && i < item.count; i++) is_right = (unsigned char)item.text[i] >= ' ';
    return is_right;
}

/* An empty list would be a key for nothing, and is more likely meant as one for everything: whoever wants that leaves it out. */
static Status check_list(Value list, const char *name, uint32_t count_max, Error *err)
{
    if (list.kind == VALUE_NULL) return OK;
    if (list.kind != VALUE_ARRAY || !list.count) return error_set(err, ERR_INVALID, "is a list of names, or left out: then it is no limit");
    if (list.count > count_max) return error_set(err, ERR_LIMIT, "has more than %u names", count_max);
    for (uint32_t i = 0; i < list.count; i++)
        if (!is_name(list.items[i]))
            return error_set(err, ERR_INVALID, "has something that is no name of %s: 1 to %u bytes of text", name, NAME_SIZE_MAX);
    return OK;
}

Status key_limits_check(const KeyLimits *limits, bool is_worker, const char **out_member, Error *err)
{
    *out_member = limits->executors.kind != VALUE_NULL ? "executors" : "queues";
    if (!is_worker && key_limits_are_some(limits))
        return error_set(err, ERR_INVALID, "is for keys of the role worker alone: others carry nothing out");
    *out_member = "executors";
    Status status = check_list(limits->executors, "an executor", API_KEY_EXECUTOR_COUNT_MAX, err);
    if (status) return status;
    *out_member = "queues";
    return check_list(limits->queues, "a queue", API_KEY_QUEUE_COUNT_MAX, err);
}

bool key_limits_permit_executor(const KeyLimits *limits, Str executor)
{
    if (limits->executors.kind != VALUE_ARRAY) return true;
    for (uint32_t i = 0; i < limits->executors.count; i++)
        if (str_is(value_text(limits->executors.items[i]), executor)) return true;
    return false;
}

KeyLimits key_limits_copy(Arena *arena, const KeyLimits *limits)
{
    return (KeyLimits){ value_copy(arena, limits->executors), value_copy(arena, limits->queues) };
}
