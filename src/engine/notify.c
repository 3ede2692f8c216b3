/* notify.c - notifications of pauses: carried by runners when their time has come, outside of the steps of their run.
 *
 * The core keeps those that are open (core/notify.h), a time each; the run's timer brings them here. Who carries one is recorded
 * nowhere: an owner that finds one open and due sends it, under the key that it has had from the beginning. What a try says
 * comes back as a report, like that of any attempt, and is the event that closes the notification or sets its next time.
 */
#include "base/civil.h"
#include "base/limits.h"
#include "core/notify.h"
#include "engine/internal.h"
#include "engine/redact.h"

void notify_due(Engine *engine, Resident *resident)
{
    Run *run = &resident->run;
    for (uint32_t i = 0; i < run->notification_count; i++) {
        Notification *it = &run->notifications[i];
        uint32_t attempt = notification_attempt(it);
        if (!it->until_ms && it->due_ms <= engine->now_ms) {
            it->until_ms = engine->now_ms + NOTIFY_TRY_MS;
            notify_perform(engine, &(EffectEntry){ { EFFECT_NOTIFY, it->step, attempt, 0 }, run->run_no });
        } else if (it->until_ms && it->until_ms <= engine->now_ms) {
            it->until_ms = engine->now_ms + NOTIFY_TRY_MS;
            effect_give_up(engine, run->run_no, it->step, attempt, STR("whoever carries it did not answer in time"));
        }
    }
}

int64_t notify_next_ms(const Resident *resident)
{
    const Run *run = &resident->run;
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < run->notification_count; i++) {
        int64_t one = run->notifications[i].until_ms ? run->notifications[i].until_ms : run->notifications[i].due_ms;
        if (one < next) next = one;
    }
    return next;
}

/* --- what is sent ------------------------------------------------------------------------------------------------------- */

static void add_text(MemberList *members, const char *name, Str text) { member_list_add(members, str_of(name), value_string(text)); }

static void add_time(MemberList *members, const char *name, int64_t ms)
{
    char storage[40];
    Buf buf = buf_on(storage, sizeof storage);
    if (!ms) return;
    civil_print_ms(&buf, ms);
    add_text(members, name, arena_copy(members->arena, buf_peek(&buf)));
}

/* What docs/definitions.md says that it holds. */
static Value message_of(Engine *engine, const Resident *resident, const Notification *it, Str key, Str to)
{
    const Run *run = &resident->run;
    const PauseTerms *terms = &resident->plan->plan.terms->steps[it->step].pause;
    MemberList members = { .arena = &engine->arena };
    add_text(&members, "event", it->reminder ? STR("trigger-reminded") : STR("trigger-awaited"));
    add_text(&members, "key", key);
    add_text(&members, "run", id_peek(&run->id));
    add_text(&members, "tenant", run->tenant);
    add_text(&members, "workflow", run->definition);
    add_text(&members, "step", resident->plan->plan.steps[it->step].id);
    add_text(&members, "trigger", terms->trigger);
    member_list_add(&members, STR("reminder"), value_int(it->reminder));
    add_time(&members, "since", run->awaited.since_ms);
    add_time(&members, terms->resume_ms ? "resumesAt" : "until", run->awaited.due_ms);
    if (to.len) add_text(&members, "to", to);
    add_text(&members, "text", arena_format(&engine->arena, "%srun %s of the workflow %.*s awaits the trigger '%.*s'",
                                            it->reminder ? "Reminder: " : "", run->id.text, STR_ARG(run->definition), STR_ARG(terms->trigger)));
    return member_list_object(&members);
}

/* The first who offers it, with the circuit and the rate that its tasks have there. */
static bool find_offer(Engine *engine, Str tenant, Str runner, RunnerOffer *out)
{
    const EngineOptions *options = &engine->options;
    RunnerOffer other;
    if (!options->runner(options->context, tenant, runner, /* nth= */ 0, out) || !out->executor || out->is_unknown) return false;
    bool is_choice = options->runner(options->context, tenant, runner, /* nth= */ 1, &other) && other.executor;
    out->gate = offer_gate(&engine->arena, runner, out->executor, is_choice);
    return true;
}

/* The runner that carries it, and what it is given; false where no executor offers one. */
static bool find_carrier(Engine *engine, const Resident *resident, const Notification *it, Str to, Attempt *attempt, RunnerOffer *offer)
{
    Str tenant = resident->run.tenant;
    bool is_url = str_starts(to, STR("http://")) || str_starts(to, STR("https://"));
    attempt->runner = is_url ? STR("http") : to;
    attempt->input = message_of(engine, resident, it, attempt->key, is_url ? (Str){ 0 } : to);
    bool is_offered = find_offer(engine, tenant, attempt->runner, offer);
    if (is_url) {
        MemberList members = { .arena = &engine->arena };
        add_text(&members, "method", STR("POST"));
        add_text(&members, "url", to);
        member_list_add(&members, STR("body"), attempt->input);
        attempt->input = member_list_object(&members);
    } else if (!is_offered) {
        attempt->runner = STR("notify");
        is_offered = find_offer(engine, tenant, attempt->runner, offer);
    }
    return is_offered;
}

/* It could not be carried at all: that is a try, too. */
static void fail(Engine *engine, const Resident *resident, const AttemptId *id, Cause cause, Str why)
{
    Notice notice = { .kind = NOTICE_REPORT, .id = *id, .value = value_null(),
                      .report = { .cause = cause, .message = why, .output = value_null() } };
    queue_mail(engine, resident->tenant, mail_of_notice(&notice, STR("engine")));
}

/* One notification is one task, its tries included. */
static Task task_of(const Notification *it)
{
    TaskTerms terms = { .intent = INTENT_LIGHT, .spawn_budget = NOTIFY_ATTEMPT_COUNT_MAX, .retry_depth_max = NOTIFY_ATTEMPT_COUNT_MAX - 1 };
    return task_restore(&terms, TASK_ACCEPTED, it->attempt, it->attempt);
}

/* The runner is offered now and may have room later: the same try is offered again. */
static void carry(Engine *engine, Resident *resident, const EffectEntry *entry, const Notification *it, Str to, Redaction *secrets)
{
    const Run *run = &resident->run;
    char trace[TRACE_TEXT_SIZE];
    Trace span = batch_span(resident, it->step, /* step_run= */ 0, entry->effect.attempt);
    Attempt attempt = {
        .id = { run->run_no, it->step, entry->effect.attempt }, .run_id = id_peek(&resident->id), .tenant = run->tenant,
        .definition = run->definition, .step_id = resident->plan->plan.steps[it->step].id, .step = value_null(),
        .resources = value_null(), .params = value_null(), .context = value_null(), .args = value_null(),
        .key = notify_key(&run->id, it->number, &engine->arena), .traceparent = trace_print(&span, trace),
        .tracestate = resident->tracestate, .directory = run->directory,
        .now_ms = engine->wall_ms, .steady_ms = engine->steady_ms, .deadline_ms = engine->wall_ms + NOTIFY_TRY_MS,
    };
    RunnerOffer offer = { 0 };
    if (!find_carrier(engine, resident, it, to, &attempt, &offer)) {
        redaction_free(secrets);
        fail(engine, resident, &attempt.id, CAUSE_TRANSIENT,
             arena_format(&engine->arena, "no executor offers the runner '%.*s': offer it in runners.yaml, or name a URL",
                          STR_ARG(attempt.runner)));
        return;
    }
    attempt.settings = offer.settings;
    Task task = task_of(it);
    AttemptId id = attempt.id;
    switch (effect_carry(engine, resident, &offer, &attempt, &task, secrets)) {
    case ADMISSION_DEFER:
        effect_retry_later(engine, entry);
        break;
    case ADMISSION_DROP:
        engine->stats.drop_counts[task.drop]++;
        fail(engine, resident, &id, CAUSE_PERMANENT,
             arena_format(&engine->arena, "dropped at its re-admission, by %s", drop_cause_name((DropCause)task.drop)));
        break;
    case ADMISSION_ADMIT:
    case ADMISSION_KIND_COUNT:
        break;
    }
}

void notify_perform(Engine *engine, const EffectEntry *entry)
{
    Resident *resident = resident_find(engine, entry->run_no);
    if (!resident || resident->loader || engine->state == ENGINE_DRAINING) return;     /* who reads the run again finds it due */
    uint32_t step = entry->effect.step, attempt = entry->effect.attempt;
    const Notification *it = run_notification(&resident->run, step, attempt);
    if (!it || effect_is_carried(engine, entry->run_no, step, attempt)) return;
    if (!batch_is_durable(engine, resident->batch_seq)) {
        effect_retry_later(engine, entry);
        return;
    }
    arena_reset(&engine->arena);
    Redaction *secrets = NULL;
    InputResult result = { .missing = STEP_NONE };
    switch (effect_fill(engine, resident, step, value_string(it->target), &secrets, &result)) {
    case INPUT_OK:
        if (result.value.kind == VALUE_STRING) {
            carry(engine, resident, entry, it, value_text(result.value), secrets);
            return;
        }
        result.text = STR("whom to notify is no text");
        break;
    case INPUT_MISSING:
        load_fetch(engine, resident, result.missing);
        effect_retry_later(engine, entry);
        redaction_free(secrets);
        return;
    case INPUT_WRONG: break;
    }
    fail(engine, resident, &(AttemptId){ entry->run_no, step, attempt, 0 }, result.is_transient ? CAUSE_TRANSIENT : CAUSE_PERMANENT, result.text);
    redaction_free(secrets);
}
