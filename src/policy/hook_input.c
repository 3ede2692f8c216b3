#include "policy/hook_input.h"

#include "base/check.h"
#include "base/civil.h"
#include "policy/policy.h"

#define INPUT_MEMBER_COUNT_MAX 12u

/* Members in the order of their keys. */
typedef struct Writer { Member members[INPUT_MEMBER_COUNT_MAX]; uint32_t count; } Writer;

static void put(Writer *writer, Str key, Value value)
{
    writer->members[writer->count++] = (Member){ value_string(key), value };
}

static void put_text(Writer *writer, Str key, Str text)
{
    if (text.len) put(writer, key, value_string(text));
}

static void put_from(Writer *writer, Str key, const Value *value)
{
    if (value) put(writer, key, *value);
}

static Value finish(const Writer *writer, Arena *arena)
{
    Member *members = arena_copy_items(arena, writer->members, writer->count * sizeof *members);
    return (Value){ .kind = VALUE_OBJECT, .count = writer->count, .members = members };
}

static Value run_part(Arena *arena, const VerdictAsk *ask, const HookFacts *facts)
{
    const Run *run = ask->run;
    Writer writer = { .count = 0 };
    put(&writer, STR("id"), value_string(id_peek(&run->id)));
    put_text(&writer, STR("key"), run->key);
    put_from(&writer, STR("params"), facts->params);
    put_text(&writer, STR("parent"), run->parent);
    put_from(&writer, STR("payload"), facts->payload);
    put(&writer, STR("state"), value_string(str_of(run_state_name((RunState)run->state))));
    put_text(&writer, STR("trigger"), run->source);
    return finish(&writer, arena);
}

static Value step_part(Arena *arena, const VerdictAsk *ask)
{
    const PlanStep *step = &ask->plan->steps[ask->step];
    const PlanJob *job = step->job == PLAN_NONE ? NULL : &ask->plan->jobs[step->job];
    bool is_end = ask->hook == HOOK_STEP_END;
    Writer writer = { .count = 0 };
    put(&writer, STR("attempt"), value_int(ask->run->steps[ask->step].attempt + (is_end ? 0 : 1)));
    put(&writer, STR("id"), value_string(step->id));
    if (!is_end) put(&writer, STR("input"), ask->input);
    if (job) put(&writer, STR("job"), value_string(job->id));
    if (job) put_from(&writer, STR("labels"), value_get(job->settings, STR("labels")));
    put(&writer, STR("name"), value_string(step->name));
    if (is_end) put(&writer, STR("output"), ask->input);
    put_text(&writer, STR("runner"), step->runner);
    return finish(&writer, arena);
}

static Value signal_part(Arena *arena, const VerdictAsk *ask)
{
    const Command *command = ask->command;
    Writer writer = { .count = 0 };
    put(&writer, STR("denial"), value_bool(command->is_denial));
    put(&writer, STR("kind"), value_string(str_of(signal_kind_name(command->sort))));
    put(&writer, STR("name"), value_string(command->name));
    put(&writer, STR("payload"), ask->input);
    return finish(&writer, arena);
}

static Value time_text(Arena *arena, int64_t now_ms)
{
    char storage[40];
    Buf text = buf_on(storage, sizeof storage);
    civil_print_ms(&text, now_ms);
    return value_string(arena_copy(arena, buf_peek(&text)));
}

Value hook_input(Arena *arena, const VerdictAsk *ask, const HookFacts *facts)
{
    const Plan *plan = ask->plan;
    Writer writer = { .count = 0 };
    put_text(&writer, STR("actor"), ask->command ? ask->command->actor : STR(""));
    put(&writer, STR("hook"), value_string(str_of(hook_name(ask->hook))));
    put_text(&writer, STR("job"), ask->hook == HOOK_RUN_RESUME && ask->command ? ask->command->job : STR(""));
    put_from(&writer, STR("labels"), value_get(plan->document, STR("labels")));
    if (facts->has_now) put(&writer, STR("now"), time_text(arena, ask->now_ms));
    put(&writer, STR("phase"), value_string(str_of(hook_phase(ask->hook))));
    put_from(&writer, STR("placement"), facts->placement);
    put(&writer, STR("run"), run_part(arena, ask, facts));
    if (ask->hook == HOOK_SIGNAL) put(&writer, STR("signal"), signal_part(arena, ask));
    if (ask->step != STEP_NONE) put(&writer, STR("step"), step_part(arena, ask));
    put(&writer, STR("tenant"), value_string(plan->tenant));
    put_from(&writer, STR("version"), value_get(plan->document, STR("label")));
    put(&writer, STR("workflow"), value_string(plan->id));
    return finish(&writer, arena);
}
