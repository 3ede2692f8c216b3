/* edge_near.c - a cell's executors, as its engine sees them: leases unwrapped, outcomes wrapped, and the one that tells. */
#include "exec/worker/edge_parts.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/check.h"
#include "engine/attempt.h"
#include "value/json.h"

/* --- what the executors say --------------------------------------------------------------------------------------------------------- */

static void print_report(Buf *buf, const Report *report)
{
    Error err;
    bool is_failure = report->cause != CAUSE_NONE;
    buf_text(buf, is_failure ? "{\"failure\":{\"cause\":" : "{\"output\":");
    if (is_failure) {
        json_print_string(buf, str_of(puller_cause_word(report->cause)));
        buf_text(buf, ",\"message\":");
        json_print_string(buf, report->message);
        buf_text(buf, ",\"details\":");
    }
    if (json_print(buf, report->output, JSON_COMPACT, &err)) buf_text(buf, "null");
    buf_text(buf, is_failure ? "}}" : "}");
}

/* Whatever it came to is the outcome of the work: the step has succeeded, and what it says is sealed. */
static bool say_outcome(const Edge *edge, const Kept *kept, const Notice *notice, const Report *report)
{
    Arena arena;
    Buf text;
    Notice told = *notice;
    arena_init(&arena, SIZE_MAX);
    buf_init(&text, SIZE_MAX);
    print_report(&text, report);
    MemberList members = { .arena = &arena };
    member_list_add(&members, STR("sealed"), edge_seal_text(edge, &arena, str_of(kept->token), "report", buf_peek(&text)));
    told.kind = NOTICE_REPORT;
    told.report = (Report){ .output = member_list_object(&members) };
    bool is_taken = edge->near.notice(edge->near.context, &told);
    buf_deinit(&text);
    arena_deinit(&arena);
    return is_taken;
}

static bool take_report(Edge *edge, Kept *kept, const Notice *notice)
{
    Report report = notice->report;
    bool is_ours = kept->is_ended || kept->is_late;
    /* A worker of the cell that is silent is replaced here; what this process ends by itself is its own affair. */
    bool is_plain = report.cause == CAUSE_LEASE_EXPIRED || (report.cause == CAUSE_CANCELLED && !is_ours);
    if (report.cause == CAUSE_CANCELLED && kept->is_late && !kept->is_ended)
        report = (Report){ .cause = CAUSE_TIMEOUT, .message = STR("its deadline has passed"), .output = value_null() };
    bool is_taken = is_plain ? edge->near.notice(edge->near.context, notice) : say_outcome(edge, kept, notice, &report);
    if (is_taken) kept->inner = NULL;
    return is_taken;
}

static bool take_notice(void *context, const Notice *notice)
{
    Edge *edge = context;
    Notice told = *notice;
    bool is_taken = true;
    for (uint32_t i = 0; told.teller && i < edge->wrap_count; i++)
        if (edge->wraps[i]->inner == told.teller) told.teller = &edge->wraps[i]->base;
    edge_lock(edge);
    Kept *kept = notice->kind == NOTICE_ROOM ? NULL : kept_of_run(edge, notice->id.run_no);
    if (!kept || notice->kind == NOTICE_HEARTBEAT) is_taken = edge->near.notice(edge->near.context, &told);
    else if (notice->kind == NOTICE_REPORT) is_taken = take_report(edge, kept, &told);
    else if (notice->kind == NOTICE_LOG || notice->kind == NOTICE_PROGRESS) (void)kept_tell(edge, kept, &told);      /* as there is room */
    else is_taken = kept_tell(edge, kept, &told);
    edge_unlock(edge);
    return is_taken;
}

NoticeSink edge_sink(Edge *edge) { return (NoticeSink){ take_notice, edge }; }

/* --- the executors, as the engine sees them ------------------------------------------------------------------------------------------- */

static Attempt attempt_of_lease(const Attempt *attempt, Value lease)
{
    Value task = edge_member(lease, "task");
    Attempt work = *attempt;
    work.run_id = value_get_string(task, "run", STR(""));
    work.definition = value_get_string(lease, "definition", STR(""));
    work.step_id = value_get_string(task, "step", STR(""));
    work.resources = edge_member(lease, "resources");
    work.input = edge_member(task, "input");
    work.args = edge_member(lease, "args");
    work.params = edge_member(task, "params");
    work.context = edge_member(task, "context");
    work.key = value_get_string(task, "idempotencyKey", STR(""));
    work.traceparent = value_get_string(task, "traceparent", STR(""));
    work.tracestate = value_get_string(task, "tracestate", STR(""));
    work.directory = STR("");
    work.deadline_ms = value_get_int(task, "deadline", 0);
    work.is_effect_recorded = value_get_bool(lease, "effect_recorded", false);
    return work;
}

/* Ended before it began; or of an earlier process, which may have acted: the central server knows whether it had announced to. */
static bool is_refused(const Kept *kept, Report *out)
{
    *out = (Report){ .cause = CAUSE_CANCELLED, .message = STR("it was ended before it began"), .output = value_null() };
    if (!kept->is_ended && kept->is_effect && kept->is_earlier)
        *out = (Report){ .cause = CAUSE_TRANSIENT, .message = STR("the cell was started again while it had this"), .output = value_null() };
    return kept->is_ended || (kept->is_effect && kept->is_earlier);
}

static bool execute_lease(Wrap *wrap, const Attempt *attempt, Str token, Value lease)
{
    Edge *edge = wrap->edge;
    Attempt work = attempt_of_lease(attempt, lease);
    edge_lock(edge);
    Kept *kept = kept_add(edge, token);
    kept->run_no = attempt->id.run_no;
    kept->deadline_ms = work.deadline_ms;
    kept->is_effect = work.is_effect_recorded;
    Report report;
    bool is_refusal = is_refused(kept, &report);
    Notice notice = { .kind = NOTICE_REPORT, .id = attempt->id, .value = value_null() };
    bool is_said = is_refusal && say_outcome(edge, kept, &notice, &report);
    kept->work = attempt->id;
    kept->inner = is_refusal ? NULL : wrap->inner;
    edge_unlock(edge);
    if (is_refusal) return is_said;                     /* without room in the inbox it is offered again */
    if (wrap->inner->ops->execute(wrap->inner, &work)) return true;
    edge_lock(edge);
    kept = kept_of(edge, token);
    if (kept) kept->inner = NULL;
    edge_unlock(edge);
    return false;
}

static bool wrap_execute(Executor *executor, const Attempt *attempt)
{
    Wrap *wrap = (Wrap *)executor;
    Value lease;
    Str token = value_get_string(attempt->params, "token", STR(""));
    if (!token.len || !str_starts(attempt->definition, STR("lease"))) return wrap->inner->ops->execute(wrap->inner, attempt);
    Arena arena;
    Error err;
    arena_init(&arena, SIZE_MAX);
    bool is_taken = true;
    if (edge_open_text(wrap->edge, &arena, token, "lease", edge_member(attempt->params, "sealed"), &lease, &err)) {
        Notice notice = { .kind = NOTICE_REPORT, .id = attempt->id, .value = value_null(),
                          .report = { .cause = CAUSE_PERMANENT, .message = str_of(err.text), .output = value_null() } };
        is_taken = wrap->edge->near.notice(wrap->edge->near.context, &notice);
    } else {
        is_taken = execute_lease(wrap, attempt, token, lease);
    }
    arena_deinit(&arena);
    return is_taken;
}

static void wrap_end(Executor *executor, const AttemptId *id)
{
    Executor *inner = ((Wrap *)executor)->inner;
    inner->ops->end(inner, id);
}

/* No report follows: who has the work next is known when it is given out again. */
static void wrap_lose(Executor *executor, const AttemptId *id)
{
    const Wrap *wrap = (const Wrap *)executor;
    edge_lock(wrap->edge);
    Kept *kept = kept_of_run(wrap->edge, id->run_no);
    if (kept && attempt_id_is(&kept->work, id)) kept->inner = NULL;
    edge_unlock(wrap->edge);
    wrap->inner->ops->lose(wrap->inner, id);
}

static void wrap_acknowledge(Executor *executor, const AttemptId *id)
{
    Executor *inner = ((Wrap *)executor)->inner;
    inner->ops->acknowledge(inner, id);
}

static void wrap_refuse(Executor *executor, const AttemptId *id)
{
    Executor *inner = ((Wrap *)executor)->inner;
    if (inner->ops->refuse) inner->ops->refuse(inner, id);
}

static void wrap_settled(Executor *executor, const AttemptId *id, bool is_taken)
{
    Executor *inner = ((Wrap *)executor)->inner;
    if (inner->ops->settled) inner->ops->settled(inner, id, is_taken);
}

static void wrap_received(Executor *executor, uint64_t receipt, bool is_taken)
{
    Executor *inner = ((Wrap *)executor)->inner;
    inner->ops->received(inner, receipt, is_taken);     /* whoever gives receipts has it */
}

static bool wrap_has_room(Executor *executor, Str tenant, Str runner, uint32_t taken)
{
    Executor *inner = ((Wrap *)executor)->inner;
    return inner->ops->has_room(inner, tenant, runner, taken);
}

static uint32_t wrap_drain(Executor *executor)
{
    Executor *inner = ((Wrap *)executor)->inner;
    return inner->ops->drain ? inner->ops->drain(inner) : 0;
}

static void wrap_keep(Executor *executor, int64_t steady_ms)
{
    Executor *inner = ((Wrap *)executor)->inner;
    if (inner->ops->keep) inner->ops->keep(inner, steady_ms);
}

static void wrap_turn(Executor *executor, int64_t steady_ms)
{
    Executor *inner = ((Wrap *)executor)->inner;
    if (inner->ops->turn) inner->ops->turn(inner, steady_ms);
    executor->token_refused_count = inner->token_refused_count;
}

static int wrap_wake_fd(Executor *executor)
{
    Executor *inner = ((Wrap *)executor)->inner;
    return inner->ops->wake_fd ? inner->ops->wake_fd(inner) : -1;
}

static void wrap_close(Executor *executor) { (void)executor; }         /* the inner one is its owner's */

/* Whether there is a function has_room() means something to the engine. */
static const ExecutorOps wrap_ops = { .execute = wrap_execute, .end = wrap_end, .acknowledge = wrap_acknowledge,
                                      .refuse = wrap_refuse, .settled = wrap_settled,
                                      .received = wrap_received, .drain = wrap_drain, .keep = wrap_keep, .turn = wrap_turn,
                                      .wake_fd = wrap_wake_fd, .close = wrap_close };
static const ExecutorOps wrap_pulled_ops = { .execute = wrap_execute, .end = wrap_end, .lose = wrap_lose,
                                             .acknowledge = wrap_acknowledge, .refuse = wrap_refuse,
                                             .settled = wrap_settled, .received = wrap_received,
                                             .has_room = wrap_has_room, .drain = wrap_drain, .keep = wrap_keep, .turn = wrap_turn,
                                             .wake_fd = wrap_wake_fd, .close = wrap_close };

Executor *edge_wrap(Edge *edge, Executor *executor)
{
    for (uint32_t i = 0; i < edge->wrap_count; i++)
        if (edge->wraps[i]->inner == executor) return &edge->wraps[i]->base;
    CHECK(edge->wrap_count < WRAP_COUNT_MAX);
    Wrap *wrap = calloc(1, sizeof *wrap);
    CHECK(wrap);
    *wrap = (Wrap){ .base = *executor, .inner = executor, .edge = edge };
    wrap->base.ops = executor->ops->has_room ? &wrap_pulled_ops : &wrap_ops;
    edge->wraps[edge->wrap_count++] = wrap;
    return &wrap->base;
}

/* --- telling the central server ---------------------------------------------------------------------------------------------------------- */

static Edge *edge_of(Executor *reporter) { return (Edge *)(void *)((char *)reporter - offsetof(Edge, reporter)); }

static bool reporter_execute(Executor *executor, const Attempt *attempt)
{
    Edge *edge = edge_of(executor);
    Str token = value_get_string(attempt->params, "token", STR(""));
    Arena arena;
    Value report;
    Error err;
    bool is_taken = true;
    arena_init(&arena, SIZE_MAX);
    if (!token.len || edge_open_text(edge, &arena, token, "report", edge_member(attempt->input, "sealed"), &report, &err)) {
        Notice notice = { .kind = NOTICE_REPORT, .id = attempt->id, .value = value_null(),
                          .report = { .cause = CAUSE_PERMANENT, .message = token.len ? str_of(err.text) : STR("this is no lease of a cell"),
                                      .output = value_null() } };
        is_taken = edge->near.notice(edge->near.context, &notice);
    } else {
        edge_lock(edge);
        Kept *kept = kept_add(edge, token);
        kept->run_no = attempt->id.run_no;
        kept->tell = attempt->id;
        kept->is_telling = true;
        kept->is_told = false;
        kept_keep_report(kept, report);
        kept_tell_report(edge, kept);
        edge_unlock(edge);
    }
    arena_deinit(&arena);
    return is_taken;
}

/* Somebody here has cancelled the run: its report is not waited for any more, and its lease runs out. */
static void reporter_end(Executor *executor, const AttemptId *id)
{
    Edge *edge = edge_of(executor);
    Notice notice = { .kind = NOTICE_REPORT, .id = *id, .value = value_null(),
                      .report = { .cause = CAUSE_CANCELLED, .message = STR("nobody waits for the answer"), .output = value_null() } };
    edge_lock(edge);
    Kept *kept = kept_of_run(edge, id->run_no);
    if (kept && kept->is_telling && edge->near.notice(edge->near.context, &notice)) kept->is_telling = false;
    edge_unlock(edge);
}

static void reporter_acknowledge(Executor *executor, const AttemptId *id) { (void)executor, (void)id; }
static void reporter_close(Executor *executor) { (void)executor; }

/* What the central server does not hear from this process, since it is away, it hears from the next one. */
static uint32_t reporter_drain(Executor *executor)
{
    Edge *edge = edge_of(executor);
    uint32_t count = 0;
    edge_lock(edge);
    for (const Kept *kept = edge->kept; kept; kept = kept->next) count += kept->is_telling;
    edge_unlock(edge);
    return count;
}

const ExecutorOps edge_reporter_ops = { .execute = reporter_execute, .end = reporter_end, .acknowledge = reporter_acknowledge,
                                          .drain = reporter_drain, .close = reporter_close };

Executor *edge_reporter(Edge *edge) { return &edge->reporter; }
