#include "core/input.h"

#include <inttypes.h>

#include "base/civil.h"
#include "base/limits.h"
#include "core/name.h"
#include "core/path.h"
#include "core/poll.h"
#include "value/json.h"

typedef struct Filler {
    const InputScope *scope;            /* NULL at a start */
    Arena *arena;
    Value params;                       /* {"params", "payload"}, once asked for */
    bool has_params;
    size_t left;                        /* what texts with paths in them may still take */
    InputResult *out;
} Filler;

/* What a path leads to. */
typedef enum Lookup { LOOKUP_FOUND, LOOKUP_ABSENT /* optional, and not there */, LOOKUP_SECRET, LOOKUP_FAILED } Lookup;

typedef struct Found {
    Lookup kind;
    InputAnswer answer;                 /* with LOOKUP_FAILED */
    Value value;
} Found;

static Found fail(Filler *filler, Str text)
{
    filler->out->text = text;
    return (Found){ .kind = LOOKUP_FAILED, .answer = INPUT_WRONG };
}

static Found fail_path(Filler *filler, Str text, const Path *path)
{
    Str written = str_slice(text, path->begin, path->end);
    return fail(filler, arena_format(filler->arena, "%.*s is not there", STR_ARG(written)));
}

static Found missing(Filler *filler, uint32_t what)
{
    filler->out->missing = what;
    return (Found){ .kind = LOOKUP_FAILED, .answer = INPUT_MISSING };
}

/* --- roots ------------------------------------------------------------------------------------------------------------ */

static bool get_params(Filler *filler)
{
    if (filler->has_params) return true;
    const InputScope *scope = filler->scope;
    const Value *here = scope->decision ? decision_params(scope->decision) : NULL;
    if (here) filler->params = *here;
    else if (!scope->env->params(scope->env->context, scope->run, &filler->params)) return false;
    filler->has_params = true;
    return true;
}

static uint32_t iteration_of(const Plan *plan, const Run *run, uint32_t step)
{
    uint32_t best = PLAN_NONE;
    for (uint32_t l = 0; l < plan->loop_count; l++) {
        const PlanLoop *loop = &plan->loops[l];
        if (best != PLAN_NONE && loop->body_count >= plan->loops[best].body_count) continue;
        for (uint32_t i = 0; i < loop->body_count; i++)
            if (loop->body[i].step == step) best = l;
    }
    return best == PLAN_NONE ? 1 : run->loops[best] + 1;
}

typedef enum RunMember { RUN_ID, RUN_WORKFLOW, RUN_TENANT, RUN_VERSION, RUN_STARTED_AT, RUN_TRIGGER, RUN_PARENT, RUN_ATTEMPT,
                         RUN_ITERATION, RUN_MEMBER_COUNT } RunMember;

static const char *const run_member_names[RUN_MEMBER_COUNT] = {
    [RUN_ID] = "id",                 [RUN_WORKFLOW] = "workflow", [RUN_TENANT] = "tenant",   [RUN_VERSION] = "version",
    [RUN_STARTED_AT] = "started_at", [RUN_TRIGGER] = "trigger",   [RUN_PARENT] = "parent",   [RUN_ATTEMPT] = "attempt",
    [RUN_ITERATION] = "iteration",
};

static Value run_member(const Plan *plan, const Run *run, uint32_t step, RunMember member, Arena *arena)
{
    char storage[64];
    Buf started = buf_on(storage, sizeof storage);
    switch (member) {
    case RUN_ID: return value_string(id_peek(&run->id));
    case RUN_WORKFLOW: return value_string(run->definition);
    case RUN_TENANT: return value_string(run->tenant);
    case RUN_VERSION: return value_int(run->revision);
    case RUN_STARTED_AT:
        civil_print_ms(&started, run->started_ms);
        return value_string(arena_copy(arena, buf_peek(&started)));
    case RUN_TRIGGER: return value_string(run->source);
    case RUN_PARENT: return run->parent.len ? value_string(run->parent) : value_null();
    case RUN_ATTEMPT: return value_int(run->steps[step].attempt + (run->steps[step].state == STEP_QUEUED));
    case RUN_ITERATION: return value_int(iteration_of(plan, run, step));
    case RUN_MEMBER_COUNT: break;
    }
    return value_null();
}

Value run_value(const Plan *plan, const Run *run, uint32_t step, Arena *arena)
{
    MemberList members = { .arena = arena };
    int count = step == STEP_NONE ? RUN_ATTEMPT : RUN_MEMBER_COUNT;
    for (int i = 0; i < count; i++)
        member_list_add(&members, str_of(run_member_names[i]), run_member(plan, run, step, (RunMember)i, arena));
    return member_list_object(&members);
}

static bool lists_name(Value settings, const PlanStep *producer, Str job)
{
    const Value *list = value_get_text(settings, "optional_outputs");
    for (uint32_t i = 0; list && list->kind == VALUE_ARRAY && i < list->count; i++) {
        if (list->items[i].kind != VALUE_STRING) continue;
        Str name = value_text(list->items[i]);
        if (str_is(name, producer->name) || str_is(name, producer->id) || (job.len && str_is(name, job))) return true;
    }
    return false;
}

static bool is_optional(const Plan *plan, uint32_t consumer, uint32_t producer)
{
    const PlanStep *step = &plan->steps[consumer], *from = &plan->steps[producer];
    Str job = from->job != PLAN_NONE ? plan->jobs[from->job].id : STR("");
    return lists_name(step->settings, from, job)
        || (step->job != PLAN_NONE && lists_name(plan->jobs[step->job].settings, from, job));
}

/* The payload that ended a pause. */
static Found find_answer(Filler *filler, Str text, const Path *path, uint32_t which)
{
    const InputScope *scope = filler->scope;
    uint32_t step = scope->plan->terms->pauses[which - scope->run->step_count];
    Found found = { .kind = LOOKUP_FOUND, .value = value_null() };
    if (!step_is_done(&scope->run->steps[step])) {
        if (is_optional(scope->plan, scope->step, step)) return (Found){ .kind = LOOKUP_ABSENT };
        return fail_path(filler, text, path);
    }
    if (!run_value_at(scope->run, which)) return found;
    const Value *here = scope->decision ? decision_value(scope->decision, scope->plan, which) : NULL;
    if (here) found.value = *here;
    else if (!scope->env->output(scope->env->context, scope->run, which, &found.value)) return missing(filler, which);
    return found;
}

static Found find_output(Filler *filler, Str text, const Path *path, uint32_t *used)
{
    const InputScope *scope = filler->scope;
    uint32_t producer, parts;
    if (!name_find(scope->plan, path->parts + 1, path->part_count - 1, &producer, &parts)) return fail_path(filler, text, path);
    *used = 1 + parts;
    if (producer >= scope->run->step_count) return find_answer(filler, text, path, producer);
    const StepRun *step = &scope->run->steps[producer];
    if (!(step->flags & STEP_HAS_OUTPUT)) {
        if (step_is_done(step)) return (Found){ .kind = LOOKUP_FOUND, .value = value_null() };
        if (is_optional(scope->plan, scope->step, producer)) return (Found){ .kind = LOOKUP_ABSENT };
        return fail_path(filler, text, path);
    }
    const Value *here = scope->decision ? decision_value(scope->decision, scope->plan, producer) : NULL;
    Found found = { .kind = LOOKUP_FOUND };
    if (here) found.value = *here;
    else if (!scope->env->output(scope->env->context, scope->run, producer, &found.value)) return missing(filler, producer);
    return found;
}

static Found find_secret(Filler *filler, Str text, const Path *path)
{
    const InputScope *scope = filler->scope;
    if (!scope || !scope->secret) return (Found){ .kind = LOOKUP_SECRET };
    Str value;
    Error err;
    if (path->part_count != 2) return fail_path(filler, text, path);
    Status status = scope->secret(scope->secret_context, path->parts[1], &value, &err);
    if (status) {
        filler->out->is_transient = status == ERR_UNAVAILABLE;
        return fail(filler, arena_format(filler->arena, "%.*s: %s", STR_ARG(str_slice(text, path->begin, path->end)), err.text));
    }
    return (Found){ .kind = LOOKUP_FOUND, .value = value_string(arena_copy(filler->arena, value)) };
}

static Found find_run(Filler *filler, Str text, const Path *path, uint32_t *used)
{
    const InputScope *scope = filler->scope;
    if (path->part_count == 1)
        return (Found){ .kind = LOOKUP_FOUND, .value = run_value(scope->plan, scope->run, scope->step, filler->arena) };
    *used = 2;
    for (int i = 0; i < RUN_MEMBER_COUNT; i++) {
        if (!str_is_text(path->parts[1], run_member_names[i])) continue;
        Value value = run_member(scope->plan, scope->run, scope->step, (RunMember)i, filler->arena);
        return (Found){ .kind = LOOKUP_FOUND, .value = value };
    }
    return fail_path(filler, text, path);
}

/* Of steps that are not polled it is null: definitions do not speak of it there. */
static Found find_poll(Filler *filler)
{
    const InputScope *scope = filler->scope;
    return (Found){ .kind = LOOKUP_FOUND, .value = poll_value(scope->plan, scope->run, scope->step, filler->arena) };
}

/* The value a path begins with; *used is how many of its parts that took. */
static Found find_root(Filler *filler, Str text, const Path *path, uint32_t *used)
{
    Str root = path->parts[0];
    *used = 1;
    if (str_is(root, STR("secrets"))) {
        *used = path->part_count;
        return find_secret(filler, text, path);
    }
    if (filler->scope && str_is(root, STR("outputs"))) return find_output(filler, text, path, used);
    if (filler->scope && str_is(root, STR("poll"))) return find_poll(filler);
    if (filler->scope && str_is(root, STR("run"))) return find_run(filler, text, path, used);
    if (!get_params(filler)) return missing(filler, MISSING_PARAMS);
    bool is_params = str_is(root, STR("params"));
    const Value *found = value_get_text(filler->params, is_params ? "params" : "payload");
    if (!found) return fail_path(filler, text, path);
    if (!is_params && !str_is(root, STR("payload"))) *used = 0;         /* a bare name is one of the trigger's payload */
    return (Found){ .kind = LOOKUP_FOUND, .value = *found };
}

static const Value *part_of(const Value *value, Str part)
{
    if (value->kind == VALUE_OBJECT) return value_get(*value, part);
    uint64_t index;
    if (value->kind != VALUE_ARRAY || !str_to_u64(part, &index) || index >= value->count) return NULL;
    return &value->items[index];
}

static Found find_path(Filler *filler, Str text, const Path *path)
{
    uint32_t used;
    Found found = find_root(filler, text, path, &used);
    if (found.kind != LOOKUP_FOUND) return found;
    const Value *at = &found.value;
    for (uint32_t i = used; i < path->part_count && at; i++) at = part_of(at, path->parts[i]);
    if (!at) return fail_path(filler, text, path);
    return (Found){ .kind = LOOKUP_FOUND, .value = *at };
}

/* --- filling in --------------------------------------------------------------------------------------------------------- */

/* Paths inside a longer text. */
static Found fill_text(Filler *filler, Str text)
{
    Buf buf;
    buf_init(&buf, filler->left);
    PathScan scan = { .text = text };
    Path path;
    size_t copied = 0;
    Found result = { .kind = LOOKUP_FOUND };
    Error err;
    for (PathStep step; (step = path_next(&scan, &path)) != PATH_END;) {
        if (step == PATH_WRONG) {
            result = fail(filler, arena_format(filler->arena, "%s", scan.wrong));
            goto end;
        }
        buf_str(&buf, str_slice(text, copied, path.begin));
        copied = path.end;
        if (step == PATH_ESCAPE) {
            buf_text(&buf, "${");
            continue;
        }
        Found found = find_path(filler, text, &path);
        if (found.kind == LOOKUP_FAILED) {
            result = found;
            goto end;
        }
        if (found.kind == LOOKUP_SECRET) buf_str(&buf, str_slice(text, path.begin, path.end));
        else if (found.kind == LOOKUP_FOUND && found.value.kind == VALUE_STRING) buf_str(&buf, value_text(found.value));
        else if (found.kind == LOOKUP_FOUND && json_print(&buf, found.value, JSON_COMPACT, &err) != OK) {
            result = fail(filler, arena_format(filler->arena, "%.*s: %s", STR_ARG(str_slice(text, path.begin, path.end)), err.text));
            goto end;
        }
    }
    buf_str(&buf, str_slice(text, copied, text.len));
    if (buf_overflowed(&buf))
        result = fail(filler, arena_format(filler->arena, "texts with their paths filled in exceed INPUT_SIZE_MAX (%u)", INPUT_SIZE_MAX));
    else result.value = value_string(arena_copy(filler->arena, buf_peek(&buf)));
    filler->left -= buf.len;
end:
    buf_deinit(&buf);
    return result;
}

static Found fill_string(Filler *filler, Value written)
{
    Str text = value_text(written);
    PathScan scan = { .text = text };
    Path path;
    PathStep step = path_next(&scan, &path);
    if (step == PATH_END) return (Found){ .kind = LOOKUP_FOUND, .value = written };
    bool is_whole = step == PATH_FOUND && path.begin == 0 && path.end == text.len;
    if (!is_whole) return fill_text(filler, text);
    Found found = find_path(filler, text, &path);
    if (found.kind == LOOKUP_SECRET) return (Found){ .kind = LOOKUP_FOUND, .value = written };
    return found;
}

static Found fill(Filler *filler, Value written);

static Found fill_array(Filler *filler, Value written)
{
    Value *items = ARENA_ARRAY(filler->arena, Value, written.count);
    for (uint32_t i = 0; i < written.count; i++) {
        Found found = fill(filler, written.items[i]);
        if (found.kind == LOOKUP_FAILED) return found;
        items[i] = found.kind == LOOKUP_ABSENT ? value_null() : found.value;        /* places in a list keep their numbers */
    }
    return (Found){ .kind = LOOKUP_FOUND, .value = value_array(items, written.count) };
}

static Found fill_object(Filler *filler, Value written)
{
    Member *members = ARENA_ARRAY(filler->arena, Member, written.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < written.count; i++) {
        Found found = fill(filler, written.members[i].value);
        if (found.kind == LOOKUP_FAILED) return found;
        if (found.kind == LOOKUP_ABSENT) continue;
        members[count++] = (Member){ written.members[i].key, found.value };
    }
    return (Found){ .kind = LOOKUP_FOUND, .value = { .kind = VALUE_OBJECT, .count = count, .members = members } };
}

static Found fill(Filler *filler, Value written)
{
    if (written.kind == VALUE_STRING) return fill_string(filler, written);
    if (written.kind == VALUE_ARRAY) return fill_array(filler, written);
    if (written.kind == VALUE_OBJECT) return fill_object(filler, written);
    return (Found){ .kind = LOOKUP_FOUND, .value = written };
}

/* At least as much as it takes as canonical JSON, with what stands around it. */
static size_t scalar_size(Value value)
{
    if (value.kind == VALUE_DECIMAL) return (size_t)value.count + 24;       /* 1e20 is written out */
    if (value.kind != VALUE_STRING) return 20;
    Str text = value_text(value);
    size_t size = text.len + 3;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        size += c < 0x20 ? 5 : c == '"' || c == '\\';
    }
    return size;
}

/* One large output named often makes an input that no record can hold; one deep output inside a deep input, too. */
static bool fits(Value value, uint32_t depth, size_t *left)
{
    if (depth > JSON_DEPTH_MAX) return false;
    size_t size = scalar_size(value);
    if (size > *left) return false;
    *left -= size;
    if (value.kind == VALUE_ARRAY)
        for (uint32_t i = 0; i < value.count; i++)
            if (!fits(value.items[i], depth + 1, left)) return false;
    if (value.kind == VALUE_OBJECT)
        for (uint32_t i = 0; i < value.count; i++)
            if (!fits(value.members[i].key, depth, left) || !fits(value.members[i].value, depth + 1, left)) return false;
    return true;
}

InputAnswer input_check(Arena *arena, Value value, InputResult *out)
{
    size_t left = INPUT_SIZE_MAX;
    if (fits(value, 1, &left)) return INPUT_OK;
    out->text = arena_format(arena, "the input with its paths filled in exceeds INPUT_SIZE_MAX (%u) or JSON_DEPTH_MAX (%u)", INPUT_SIZE_MAX,
                             JSON_DEPTH_MAX);
    return INPUT_WRONG;
}

static InputAnswer fill_whole(Filler *filler, Value written)
{
    filler->left = INPUT_SIZE_MAX;
    Found found = fill(filler, written);
    if (found.kind == LOOKUP_FAILED) return found.answer;
    filler->out->value = found.kind == LOOKUP_ABSENT ? value_null() : found.value;
    return input_check(filler->arena, filler->out->value, filler->out);
}

InputAnswer input_fill(const InputScope *scope, Value written, InputResult *out)
{
    Filler filler = { .scope = scope, .arena = scope->arena, .out = out };
    return fill_whole(&filler, written);
}

InputAnswer input_fill_start(Value params, Arena *arena, Value written, InputResult *out)
{
    Filler filler = { .arena = arena, .params = params, .has_params = true, .out = out };
    return fill_whole(&filler, written);
}
