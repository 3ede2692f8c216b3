/* plans.c - definitions by chance: graphs of jobs, step trees, and runbooks, compiled as an author's would be. */
#include <inttypes.h>

#include "base/check.h"
#include "lang/compile.h"
#include "sim/world.h"
#include "value/json.h"

typedef struct Draft {
    World *world;
    Buf text;
    uint32_t job_count, task_count;
    uint32_t undo_count;                    /* tasks that can be undone */
    uint32_t last;                          /* the job that the next one comes after */
    uint32_t sure[16], sure_count;          /* tasks that have run before whatever comes now */
    bool is_first;
} Draft;

static void say(Draft *draft, const char *text) { buf_text(&draft->text, text); }

/* --- tasks --------------------------------------------------------------------------------------------------------------------- */

static void say_condition(Draft *draft)
{
    World *world = draft->world;
    switch (below(world, draft->sure_count ? 4 : 2)) {
    case 0: buf_format(&draft->text, "params.n > %u", below(world, 10)); break;
    case 1: say(draft, below(world, 2) ? "params.flag" : "not params.flag"); break;
    case 2: buf_format(&draft->text, "outputs.t%u.x > %u", draft->sure[below(world, draft->sure_count)], below(world, 8)); break;
    default: buf_format(&draft->text, "outputs.t%u.again == false", draft->sure[below(world, draft->sure_count)]); break;
    }
}

static void say_undo(Draft *draft)
{
    World *world = draft->world;
    draft->undo_count++;
    if (below(world, 3) == 0) say(draft, ",\"compensation\":\"noop\"");
    else buf_format(&draft->text, ",\"compensation\":{\"run\":\"%s\",\"retries\":{\"attempts\":%u,\"delay\":\"%ums\",\"jitter_ms\":%u}%s%s}",
                    below(world, 40) ? "noop" : "sleep", 1 + below(world, 3), below(world, 300), below(world, 20),
                    below(world, 3) ? "" : ",\"timeout\":\"700ms\"", below(world, 4) ? "" : ",\"input\":{\"n\":\"${params.n}\"}");
}

static void say_strategy(Draft *draft)
{
    static const char *const strategies[] = { "replay-safe", "dedupe-key", "effect-recorded" };
    uint32_t which = below(draft->world, 3);
    buf_format(&draft->text, ",\"idempotency\":\"%s\"", strategies[which]);
    if (which == 2) say_undo(draft);
}

static void say_poll(Draft *draft)
{
    static const char *const actions[] = { "fail_workflow", "pause_workflow", "continue_with_default" };
    World *world = draft->world;
    uint32_t interval = 1 + below(world, 300), duration = interval + below(world, 4000);
    bool is_exponential = below(world, 3) == 0;
    buf_format(&draft->text, ",\"poll\":{\"interval\":\"%ums\",\"max_duration\":\"%ums\",\"on_timeout\":\"%s\",\"on_abort\":\"%s\"", interval,
               duration, actions[below(world, 3)], actions[below(world, 3)]);
    if (is_exponential) buf_format(&draft->text, ",\"backoff\":\"exponential\",\"max_interval\":\"%ums\"", interval * (1 + below(world, 5)));
    if (is_exponential || below(world, 2)) buf_format(&draft->text, ",\"max_attempts\":%u", 1 + below(world, 6));
    say(draft, ",\"default_output\":{\"x\":1,\"pick\":\"a\",\"picks\":[\"a\"],\"again\":false}}");
}

/* Several pauses may have one trigger: the first that is awaited, or comes next, takes it. */
static void say_pause(Draft *draft, uint32_t number)
{
    static const char *const actions[] = { "fail_workflow", "reminder", "auto_approve" };
    World *world = draft->world;
    buf_format(&draft->text, ",\"pause_after\":{\"trigger\":\"p%u\"", number);
    if (below(world, 4) == 0) {
        buf_format(&draft->text, ",\"auto_resume_after\":\"%ums\"", 1 + below(world, 4000));
    } else if (below(world, 2)) {
        buf_format(&draft->text,
                   ",\"timeout\":\"%ums\",\"on_timeout\":\"%s\",\"reminders\":%u,\"default_payload\":{\"ok\":true}",
                   1 + below(world, 4000), actions[below(world, 3)], 1 + below(world, 3));
    }
    if (below(world, 4) == 0) say(draft, ",\"resume_when\":\"payload.ok == true\"");
    if (below(world, 4) == 0) say(draft, ",\"payload_schema\":{\"type\":\"object\"}");
    if (number % 2) say(draft, ",\"notify\":[\"noop\",\"log\",\"nobody@example.com\"]");
    say(draft, "}");
}

static void say_end(Draft *draft, const char *condition)
{
    buf_format(&draft->text, "\"terminate_when\":{\"condition\":\"%s\",\"state\":\"%s\",\"reason\":\"enough\"}", condition,
               below(draft->world, 3) ? "succeeded" : "failed");
}

static void say_terms(Draft *draft, uint32_t number)
{
    World *world = draft->world;
    bool polls = below(world, 6) == 0;
    if (polls) say_poll(draft);
    if (below(world, 7) == 0) say_pause(draft, number);
    if (below(world, 9) == 0) {
        say(draft, ",");
        say_end(draft, below(world, 2) ? "output.x > 6" : "output.pick == params.n");
    }
    if (below(world, 3) == 0)
        buf_format(&draft->text, ",\"retries\":{\"attempts\":%u,\"delay\":\"%ums\",\"strategy\":\"%s\",\"jitter_ms\":%u,\"on\":[\"transient\"%s]}",
                   1 + below(world, 4), below(world, 400), below(world, 2) ? "fixed" : "exponential", below(world, 30),
                   below(world, 2) ? ",\"timeout\"" : "");
    if (below(world, 3) == 0) buf_format(&draft->text, ",\"timeout\":\"%ums\"", 1 + below(world, 1500));
    if (below(world, 8) == 0)
        buf_format(&draft->text, ",\"wait_for_signal\":{\"signal\":\"%s\",\"when\":\"%s\"%s}", below(world, 3) ? "go" : "halt",
                   below(world, 2) ? "after" : "before", below(world, 2) ? ",\"timeout\":\"20s\"" : "");
    if (below(world, 12) == 0) {
        say(draft, ",\"idempotency\":{\"strategy\":\"dedupe-key\",\"key\":\"k-${params.n}\",\"domain\":\"shared\"}");
        if (below(world, 2)) say_undo(draft);
    } else if (below(world, 3)) {
        say_strategy(draft);
    } else if (below(world, 3) == 0) {
        say_undo(draft);
    }
    if (draft->sure_count && below(world, 3) == 0)
        buf_format(&draft->text, ",\"input\":{\"x\":\"${outputs.t%u.x}\",\"n\":\"${params.n}\",\"run\":\"${run.id}\"}",
                   draft->sure[below(world, draft->sure_count)]);
    else if (below(world, 4) == 0) say(draft, ",\"input\":{\"n\":\"${params.n}\",\"deep\":{\"list\":[1,\"${params.flag}\"]}}");
}

/* Returns its number. One that is sure to run may be read by those behind it. */
static uint32_t say_task(Draft *draft, bool is_sure)
{
    World *world = draft->world;
    uint32_t number = draft->task_count++;
    bool is_log = below(world, 6) == 0, is_held = below(world, 7) == 0;
    buf_format(&draft->text, "{\"name\":\"t%u\",", number);
    say(draft, is_log ? "\"log\":\"at ${params.n}\"" : below(world, 60) ? "\"run\":\"noop\"" : "\"run\":\"sleep\"");   /* nobody sleeps */
    if (is_held) {
        say(draft, ",\"when\":\"");
        say_condition(draft);
        say(draft, "\"");
    }
    if (!is_log) say_terms(draft, number);
    bool declares = !is_log && below(world, 4);
    if (declares) say(draft, ",\"outputs\":{\"x\":\"integer\",\"pick\":\"string\",\"picks\":\"array\",\"again\":\"boolean\"}");
    say(draft, "}");
    if (is_sure && declares && !is_held && draft->sure_count < 16) draft->sure[draft->sure_count++] = number;
    return number;
}

static void say_tasks(Draft *draft, bool is_sure)
{
    say(draft, "\"tasks\":[");
    for (uint32_t i = 0, count = 1 + below(draft->world, 3); i < count; i++) {
        if (i) say(draft, ",");
        say_task(draft, is_sure);
    }
    say(draft, "]");
}

/* --- jobs ---------------------------------------------------------------------------------------------------------------------- */

static uint32_t begin_job(Draft *draft)
{
    if (!draft->is_first) say(draft, ",");
    draft->is_first = false;
    buf_format(&draft->text, "\"j%u\":{", draft->job_count);
    return draft->job_count++;
}

static void say_need(Draft *draft)
{
    if (draft->last != UINT32_MAX) buf_format(&draft->text, "\"needs\":[\"j%u\"],", draft->last);
}

static void say_priority(Draft *draft)
{
    static const char *const priorities[] = { "low", "normal", "high", "critical" };
    if (below(draft->world, 4) == 0) buf_format(&draft->text, "\"priority\":\"%s\",", priorities[below(draft->world, 4)]);
}

static void plain_job(Draft *draft)
{
    uint32_t job = begin_job(draft);
    bool is_held = below(draft->world, 8) == 0;
    say_need(draft);
    say_priority(draft);
    if (is_held) {
        say(draft, "\"when\":\"");
        say_condition(draft);
        say(draft, "\",");
    }
    if (below(draft->world, 14) == 0) say(draft, "\"wait_for_signal\":\"gate\",");
    if (below(draft->world, 14) == 0) {
        say_end(draft, below(draft->world, 2) ? "params.n > 6" : "params.flag");
        say(draft, ",");
    }
    say_tasks(draft, !is_held);
    say(draft, "}");
    draft->last = job;
}

static void fan_out(Draft *draft)
{
    uint32_t first = draft->job_count, width = 2 + below(draft->world, 4), before = draft->last;
    uint32_t sure = draft->sure_count;
    for (uint32_t i = 0; i < width; i++) {
        begin_job(draft);
        draft->last = before;
        say_need(draft);
        say_priority(draft);
        say_tasks(draft, false);
        say(draft, "}");
    }
    draft->sure_count = sure;
    draft->last = begin_job(draft);
    say(draft, "\"needs\":[");
    for (uint32_t i = 0; i < width; i++) buf_format(&draft->text, "%s\"j%u\"", i ? "," : "", first + i);
    say(draft, "],");
    say_tasks(draft, true);
    say(draft, "}");
}

static void branch(Draft *draft)
{
    World *world = draft->world;
    uint32_t width = 2 + below(world, 2), first = draft->job_count + 1;
    bool is_inclusive = below(world, 2);
    begin_job(draft);
    say_need(draft);
    if (below(world, 2)) {
        say_tasks(draft, true);
        say(draft, ",");
    }
    buf_format(&draft->text, "\"branch\":{\"type\":\"%s\",\"select\":\"", is_inclusive ? "inclusive" : "exclusive");
    if (draft->sure_count && below(world, 4))
        buf_format(&draft->text, "outputs.t%u.%s", draft->sure[below(world, draft->sure_count)], is_inclusive ? "picks" : "pick");
    else say(draft, is_inclusive ? "[\\\"a\\\",\\\"b\\\"]" : "[k | some k in [\\\"a\\\", \\\"b\\\"]][0]");
    say(draft, "\",\"cases\":{");
    for (uint32_t i = 0; i < width; i++) buf_format(&draft->text, "%s\"%c\":[\"j%u\"]", i ? "," : "", (char)('a' + i), first + i);
    if (below(world, 3) == 0) say(draft, ",\"e\":[]");
    say(draft, "}");
    if (below(world, 4)) say(draft, ",\"default\":\"a\"");
    buf_format(&draft->text, ",\"converge\":\"j%u\"}}", first + width);
    for (uint32_t i = 0; i < width; i++) {
        begin_job(draft);
        say_tasks(draft, false);
        say(draft, "}");
    }
    draft->last = begin_job(draft);
    say(draft, "\"needs\":[");
    for (uint32_t i = 0; i < width; i++) buf_format(&draft->text, "%s\"j%u\"", i ? "," : "", first + i);
    say(draft, "],");
    say_tasks(draft, true);
    say(draft, "}");
}

/* One job, or two, that go round again while the last task says so. */
static void loop(Draft *draft)
{
    World *world = draft->world;
    uint32_t head = begin_job(draft), tail = head + 1, sure = draft->sure_count;
    say(draft, "\"needs\":[");
    if (draft->last != UINT32_MAX) buf_format(&draft->text, "\"j%u\",", draft->last);
    /* The tail's task is named after the head's are counted: it gets a name of its own. */
    buf_format(&draft->text, "{\"job\":\"j%u\",\"guard\":{\"when\":\"outputs.again%u.again\",\"max_iterations\":%u,\"on_max\":\"%s\"}}],",
               tail, tail, 1 + below(world, 4), below(world, 2) ? "fail" : "continue");
    say_tasks(draft, false);
    say(draft, "}");
    begin_job(draft);
    buf_format(&draft->text, "\"needs\":[\"j%u\"],\"tasks\":[", head);
    if (below(world, 2)) {
        say_task(draft, false);
        say(draft, ",");
    }
    buf_format(&draft->text, "{\"name\":\"again%u\",\"run\":\"noop\",\"outputs\":{\"again\":\"boolean\"}", tail);
    if (below(world, 3) == 0) say(draft, ",\"retries\":{\"attempts\":3,\"delay\":\"5ms\"}");
    say(draft, "}]}");
    draft->sure_count = sure;
    draft->last = tail;
}

/* Three plans in a row have one name, so that of one tenant they are revisions of one workflow. */
static void say_head(Draft *draft, uint32_t index, bool has_jobs)
{
    World *world = draft->world;
    buf_format(&draft->text, "{\"workflow\":\"w%u\",\"tenant\":\"%s\",\"params\":[{\"name\":\"n\",\"type\":\"integer\",\"default\":3},"
               "{\"name\":\"flag\",\"type\":\"boolean\",\"default\":false}],\"config\":{\"max_concurrency\":%u", index / 3,
               people_tenants[below(world, TENANTS)], 1 + below(world, 6));
    if (below(world, 6) == 0) buf_format(&draft->text, ",\"timeout\":\"%us\"", 1 + below(world, 20));
    if (below(world, 6) == 0) buf_format(&draft->text, ",\"cost_limit\":0.%03u", 1 + below(world, 50));
    say(draft, "}");
    if (below(world, 4) == 0) say(draft, ",\"failure_mode\":\"continue-independent\"");
    if (below(world, 3) == 0) say(draft, ",\"on_fail_fast\":\"cancel\"");
    if (below(world, 5) == 0) say(draft, ",\"idempotency_key\":\"by-${params.n}\"");
    static const char *const actions[] = { "\"pause_all\"", "\"policy_recheck\"", "\"resume\"", "\"cancel\"", "\"compensate_all\"",
        "{\"short_circuit\":{\"outcome\":\"failed\"}}", "{\"short_circuit\":{\"outcome\":\"succeeded\"}}",
        "{\"short_circuit\":{\"target\":\"j0\",\"outcome\":\"succeeded\"}}", "{\"short_circuit\":{\"target\":\"j0\",\"outcome\":\"skipped\"}}",
        "{\"short_circuit\":{\"target\":\"j0\",\"outcome\":\"failed\"}}" };
    uint32_t action_count = has_jobs ? 10 : 7;
    if (below(world, 4) == 0)
        buf_format(&draft->text, ",\"on_signal\":{\"react\":[%s,%s],\"go\":%s}", actions[below(world, action_count)],
                   actions[below(world, action_count)], below(world, 2) ? "\"resume\"" : "\"policy_recheck\"");
    say(draft, ",");
}

/* Behind the tasks, since what cannot be undone is not compensated by itself. */
static void say_resolution(Draft *draft)
{
    World *world = draft->world;
    uint32_t sort = below(world, draft->undo_count ? 6 : 4);
    say(draft, ",\"failure_resolution\":{");
    if (sort < 2) say(draft, "\"strategy\":\"await_decision\"");
    else if (sort < 4) buf_format(&draft->text, "\"strategy\":\"auto_retry\",\"max_retries\":%u,\"retry_delay\":\"%ums\",\"backoff\":\"%s\"",
                                  1 + below(world, 3), below(world, 2000), below(world, 2) ? "fixed" : "exponential");
    else buf_format(&draft->text, "\"strategy\":\"auto_compensate\",\"compensation_scope\":\"%s\"", below(world, 4) ? "all" : "failed_step_only");
    buf_format(&draft->text, ",\"on_cancel\":\"%s\"", below(world, 2) ? "compensate" : "no_compensate");
    static const char *const late[] = { "await_decision", "fail", "compensate" };
    buf_format(&draft->text, ",\"on_timeout\":\"%s\"}", late[below(world, 3)]);
}

static void draft_jobs(Draft *draft, uint32_t index)
{
    World *world = draft->world;
    say_head(draft, index, /* has_jobs= */ true);
    say(draft, "\"jobs\":{");
    draft->is_first = true;
    draft->last = UINT32_MAX;
    for (uint32_t i = 0, count = 1 + below(world, 3); i < count; i++) {
        switch (below(world, 6)) {
        case 0: fan_out(draft); break;
        case 1: branch(draft); break;
        case 2: loop(draft); break;
        default: plain_job(draft); break;
        }
    }
    say(draft, "}");
    say_resolution(draft);
    say(draft, "}");
}

/* --- step trees ------------------------------------------------------------------------------------------------------------------ */

static void tree_steps(Draft *draft, uint32_t depth, bool is_sure);

static void tree_step(Draft *draft, uint32_t depth, bool is_sure)
{
    switch (depth < 3 ? below(draft->world, 5) : 4) {
    case 0:
        say(draft, "{\"sequence\":[");
        tree_steps(draft, depth + 1, is_sure);
        say(draft, "]}");
        break;
    case 1: {
        uint32_t sure = draft->sure_count;
        say(draft, "{\"if\":\"");
        say_condition(draft);
        say(draft, "\",\"then\":[");
        tree_steps(draft, depth + 1, false);
        say(draft, "]");
        if (below(draft->world, 2)) {
            say(draft, ",\"else\":[");
            tree_steps(draft, depth + 1, false);
            say(draft, "]");
        }
        say(draft, "}");
        draft->sure_count = sure;
        break;
    }
    default: say_task(draft, is_sure); break;
    }
}

static void tree_steps(Draft *draft, uint32_t depth, bool is_sure)
{
    for (uint32_t i = 0, count = 1 + below(draft->world, 3); i < count; i++) {
        if (i) say(draft, ",");
        tree_step(draft, depth, is_sure);
    }
}

static void draft_tree(Draft *draft, uint32_t index)
{
    say_head(draft, index, /* has_jobs= */ false);
    say(draft, "\"steps\":[");
    tree_steps(draft, 0, true);
    say(draft, "]");
    say_resolution(draft);
    say(draft, "}");
}

/* --- runbooks: as plans, since their components are installed and not written -------------------------------------------------------- */

static void draft_book(Draft *draft, uint32_t index)
{
    World *world = draft->world;
    uint32_t count = 2 + below(world, 10);
    buf_format(&draft->text, "{\"format\":1,\"kind\":\"runbook\",\"id\":\"b%u\",\"tenant\":\"%s\",\"failure_mode\":\"%s\","
               "\"config\":{\"max_concurrency\":%u},\"steps\":[", index,
               people_tenants[below(world, TENANTS)], below(world, 4) ? "continue-independent" : "fail-fast", 1 + below(world, 5));
    for (uint32_t i = 0; i < count; i++) {
        buf_format(&draft->text, "%s{\"id\":\"a%u\",\"name\":\"a%u\",\"kind\":\"artifact\",\"run\":\"%s\"", i ? "," : "", i, i,
                   below(world, 4) ? "noop" : "log");
        if (below(world, 4) == 0) say(draft, ",\"optional\":true");
        if (below(world, 3) == 0) buf_format(&draft->text, ",\"retries\":{\"attempts\":%u,\"delay_ms\":%u}", 1 + below(world, 3), below(world, 100));
        if (below(world, 3) == 0) buf_format(&draft->text, ",\"timeout_ms\":%u", 50 + below(world, 2000));
        say(draft, "}");
    }
    say(draft, "],\"edges\":[");
    bool is_first = true;
    for (uint32_t from = 0; from < count; from++)
        for (uint32_t to = from + 1; to < count; to++) {
            if (below(world, 4)) continue;
            buf_format(&draft->text, "%s[%u,%u,\"data\"]", is_first ? "" : ",", from, to);
            is_first = false;
        }
    say(draft, "]}");
}

/* --- to plans -------------------------------------------------------------------------------------------------------------------------- */

static bool read_plan(World *world, Value document, SimPlan *out)
{
    Buf text;
    Error err = { 0 };
    Value value;
    buf_init(&text, SIZE_MAX);
    bool is_read = canonical_print(&text, document, &err) == OK;
    out->document = arena_copy(&world->arena, buf_peek(&text));
    buf_deinit(&text);
    is_read = is_read && json_parse(&world->arena, out->document, &value, &err) == OK
           && plan_read(&world->arena, value, &out->plan, &err) == OK;
    if (!is_read) {
        world_fail(world, "a plan cannot be read: %s", err.text);
        return false;
    }
    out->digest = digest_of(out->document);
    out->definition = out->plan.id;
    return true;
}

static bool compile_draft(World *world, Str text, SimPlan *out)
{
    Catalog catalog;
    catalog_init(&catalog, &world->scratch);
    Compiled compiled;
    compile(&world->scratch, text, &(CompileOptions){ .file = STR("sim.json"), .format = TEXT_JSON, .catalog = &catalog },
            &compiled);
    if (compiled.is_valid) return read_plan(world, compiled.plan.document, out);
    Str why = compiled.diagnostics.count ? compiled.diagnostics.items[0].message : STR("no reason");
    world_fail(world, "a definition that should be valid is not: %.*s\n%.*s", STR_ARG(why), STR_ARG(text));
    return false;
}

/* The same shape with other terms: one more try, a millisecond more, another declaration of an output. */
static void draft_twin(Draft *draft, Str text)
{
    static const char *const counts[] = { "\"attempts\":", "\"delay\":\"", "\"timeout\":\"", "\"jitter_ms\":" };
    Str before = STR("\"x\":\"integer\"");
    for (size_t at = 0; at < text.len;) {
        Str rest = str_slice(text, at, text.len);
        const char *found = str_starts(rest, STR("\"max_concurrency\":")) ? "\"max_concurrency\":" : NULL;
        bool is_changed = found || below(draft->world, 2);                      /* at least one, or it is no other */
        for (size_t i = 0; !found && i < sizeof counts / sizeof *counts; i++)
            if (str_starts(rest, str_of(counts[i]))) found = counts[i];
        if (found && is_changed) {
            uint64_t number = 0;
            for (at += strlen(found); at < text.len && ascii_is_digit(text.ptr[at]); at++) number = number * 10 + (uint64_t)(text.ptr[at] - '0');
            buf_format(&draft->text, "%s%llu", found, (unsigned long long)number + 1);
        } else if (str_starts(rest, before) && is_changed) {
            say(draft, "\"x\":\"number\"");
            at += before.len;
        } else {
            buf_char(&draft->text, text.ptr[at++]);
        }
    }
}

bool plans_make(World *world)
{
    Str last = { 0 };                       /* the text of the plan before, where it has jobs */
    world->plan_count = 1 + below(world, 4);
    for (uint32_t i = 0; i < world->plan_count; i++) {
        Draft draft = { .world = world };
        buf_init(&draft.text, 1u << 20);
        uint32_t sort = below(world, 10);
        Error err;
        Value value;
        bool is_made;
        arena_reset(&world->scratch);
        if (i % 3 && last.len && below(world, 3)) {
            draft_twin(&draft, last);
            is_made = compile_draft(world, buf_peek(&draft.text), &world->plans[i]);
            last = arena_copy(&world->arena, buf_peek(&draft.text));
        } else if (sort < 2) {
            last = (Str){ 0 };
            draft_book(&draft, i);
            CHECK(json_parse(&world->scratch, buf_peek(&draft.text), &value, &err) == OK);
            is_made = read_plan(world, value, &world->plans[i]);
        } else {
            if (sort < 4) draft_tree(&draft, i);
            else draft_jobs(&draft, i);
            is_made = compile_draft(world, buf_peek(&draft.text), &world->plans[i]);
            last = arena_copy(&world->arena, buf_peek(&draft.text));
        }
        buf_deinit(&draft.text);
        if (!is_made) return false;
    }
    arena_reset(&world->scratch);
    return true;
}
