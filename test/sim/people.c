/* people.c - who starts runs and interferes with them, rightly and wrongly, and what they are answered. */
#include <inttypes.h>

#include "sim/watch.h"
#include "value/json.h"

const char *const people_tenants[TENANTS] = { "default", "acme", "umbrella" };
static const char *const signals[] = { "go", "halt", "gate", "nobody", "react", "react" };

static Value parse(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
static Value parse(Arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str text = arena_format_args(arena, format, args);
    va_end(args);
    Value value = value_null();
    Error err;
    (void)!json_parse(arena, text, &value, &err);
    return value;
}

/* What tasks give: what the plans declare, but for a mistake now and then. */
Value people_output(World *world, Arena *arena)
{
    static const char *const picks[] = { "a", "b", "c", "e", "z" };
    static const char *const lists[] = { "[\"a\"]", "[\"a\",\"b\"]", "[\"b\",\"c\"]", "[]" };
    if (!world->is_calm && chance(world, 100)) return below(world, 2) ? value_null() : value_int(7);
    return parse(arena, "{\"x\":%u,\"pick\":\"%s\",\"picks\":%s,\"again\":%s}", below(world, 10), picks[below(world, 5)],
                 lists[below(world, 4)], below(world, 2) ? "true" : "false");
}

/* What a poll answers: mostly by the contract, now and then nothing that anybody could understand. */
Value people_poll(World *world, Arena *arena)
{
    static const char *const garbage[] = { "{}", "[]", "{\"complete\":\"yes\"}", "{\"continue\":1}", "{\"complete\":false,\"nextInterval\":-1}" };
    uint32_t sort = below(world, world->is_calm ? 8 : 20);
    if (sort < 6) {
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("complete"), value_bool(true));
        member_list_add(&members, STR("output"), people_output(world, arena));
        return member_list_object(&members);
    }
    if (sort < 12) return parse(arena, "{\"complete\":false,\"output\":{\"at\":%u}}", below(world, 100));
    if (sort < 15) return parse(arena, "{\"continue\":true,\"nextInterval\":%u.%u}", below(world, 3), 1 + below(world, 9));
    if (sort < 18) return parse(arena, "{\"continue\":false,\"output\":\"given up %u\"}", below(world, 10));
    return parse(arena, "%s", garbage[below(world, 5)]);
}

/* What triggers bring: what resume_when wants, or not. */
static Value trigger_payload(World *world)
{
    static const char *const payloads[] = { "{\"ok\":true}", "{\"ok\":true}", "{\"ok\":true,\"by\":\"ana\"}", "{\"ok\":false}", "{}", "7", "null" };
    return parse(&world->arena, "%s", payloads[below(world, 7)]);
}

/* --- answers ---------------------------------------------------------------------------------------------------------------------- */

static void check_start(World *world, const Ask *ask, const EngineReply *reply)
{
    if (ask->is_bad) world_fail(world, "c%u: a start with wrong parameters was accepted", ask->number);
    const WatchRun *run = watch_run(world->watch, reply->run_no);
    if (!run || !str_is(id_peek(&reply->run_id), id_peek(&run->run.id))) {
        world_fail(world, "I11: c%u: run %" PRIu64 " is confirmed and not in the store", ask->number, reply->run_no);
        return;
    }
    if (!str_is(run->run.tenant, world->plans[ask->plan].plan.tenant)) world_fail(world, "c%u: a run of another tenant", ask->number);
    if (world->watch->recorded[ask->number] != (reply->is_repeat ? 0 : 1))
        world_fail(world, "I11: c%u: a start is answered as %s, and recorded %u times", ask->number,
                   reply->is_repeat ? "a repetition" : "new", world->watch->recorded[ask->number]);
    if (reply->is_repeat && (!run->run.key.len || ask->is_again))
        world_fail(world, "c%u: a start without key is answered as a repetition", ask->number);
}

/* F-006: whoever asks again gets the first answer; something else under the same id is refused. What is refused for lack of
 * something (the store, room, the run) may be asked anew. */
static void check_repeat(World *world, Ask *ask, const EngineReply *reply)
{
    Ask *first = ask->first ? ask->first : ask;
    const EngineReply *answer = &first->answer;
    bool is_kept = reply->status == OK || reply->status == ERR_INVALID || reply->status == ERR_DENIED || reply->status == ERR_CONFLICT;
    if (!is_kept) return;
    if (ask->is_other != reply->is_other_request)
        world_fail(world, "F-006: c%u: something else under the same id is %s", ask->number, ask->is_other ? "taken" : "seen where there is none");
    if (ask->is_other) return;
    bool is_same = answer->status == reply->status && answer->run_no == reply->run_no && answer->is_noop == reply->is_noop
                && answer->is_repeat == reply->is_repeat && answer->run_state == reply->run_state;
    if (first->has_answer && !is_same)
        world_fail(world, "F-006: c%u was answered %s%s in state %u, and now %s%s in state %u", ask->number, status_name(answer->status),
                   answer->is_noop ? " (noop)" : "", answer->run_state, status_name(reply->status), reply->is_noop ? " (noop)" : "",
                   reply->run_state);
    first->has_answer = true;
    first->answer = *reply;
    first->answer.error = NULL;
}

static void take_reply(void *context, const EngineReply *reply)
{
    Ask *ask = context;
    World *world = ask->world;
    if (world->is_failed) return;
    if (ask->is_answered || ask->is_lost) world_fail(world, "c%u is answered twice, or by an engine that is gone", ask->number);
    ask->is_answered = true;
    watch_sync(world->watch);
    check_repeat(world, ask, reply);
    if (ask->is_other) return;
    world_note(world, "answer to c%u: %s%s%s%s", ask->number, status_name(reply->status), reply->is_noop ? ", nothing done" : "",
               reply->error ? ": " : "", reply->error ? reply->error->text : "");
    uint32_t recorded = world->watch->recorded[ask->number];
    if (reply->status == ERR_UNAVAILABLE) {
        if (world->is_calm && recorded == 0 && world->engine_count == 0) world_fail(world, "c%u: unavailable", ask->number);
        return;                                                     /* what became of it is not known */
    }
    if (reply->status) {
        if (recorded) world_fail(world, "I9: c%u is refused, and recorded", ask->number);
        if (ask->kind == ASK_STRANGER && reply->status != ERR_NOT_FOUND)
            world_fail(world, "c%u: a stranger learns of a run: %s", ask->number, reply->error->text);
        if (reply->is_other_start && (ask->kind != ASK_START || ask->is_again || !reply->run_no))
            world_fail(world, "c%u: another start has its key, which cannot be", ask->number);
        if (!reply->error || !reply->error->text[0]) world_fail(world, "c%u is refused without a reason", ask->number);
        return;
    }
    if (ask->kind == ASK_STRANGER || ask->kind == ASK_WRONG) world_fail(world, "c%u should have been refused", ask->number);
    else if (ask->kind == ASK_START) check_start(world, ask, reply);
    else if (recorded != (reply->is_noop ? 0 : 1))
        world_fail(world, "I11: c%u is accepted, %s, and recorded %u times", ask->number,
                   reply->is_noop ? "with nothing to do" : "done", recorded);
}

static Ask *ask_add(World *world, AskKind kind)
{
    if (world->ask_count == ASKS_MAX) return NULL;
    Ask *ask = &world->asks[world->ask_count];
    *ask = (Ask){ .world = world, .number = world->ask_count++, .kind = (uint8_t)kind };
    return ask;
}

static Str ask_id(World *world, const Ask *ask) { return arena_format(&world->arena, "c%u", ask->number); }

static Str other_tenant(Str tenant) { return str_is_text(tenant, "acme") ? STR("umbrella") : STR("acme"); }

/* --- starts ----------------------------------------------------------------------------------------------------------------------- */

/* Some run of it is durable, and so it is, too. */
static bool plan_is_stored(const World *world, const SimPlan *plan)
{
    for (uint64_t i = 0; i < world->watch->run_end; i++)
        if (world->watch->runs[i] && world->watch->runs[i]->plan == plan) return true;
    return false;
}

void people_start(World *world)
{
    Ask *ask = ask_add(world, below(world, 30) ? ASK_START : ASK_STRANGER);
    if (!ask) return;
    ask->plan = (uint8_t)below(world, world->plan_count);
    ask->key = (uint8_t)(below(world, 3) ? 0 : 1 + below(world, 5));
    ask->is_again = ask->key && below(world, 4) == 0;
    const SimPlan *plan = &world->plans[ask->plan];
    bool is_book = plan->plan.kind == PLAN_RUNBOOK;
    ask->is_bad = !is_book && below(world, 25) == 0;
    StartRequest request = { .params = value_null(), .source = STR("manual"), .is_again = ask->is_again,
                             .directory = ask->is_again ? STR("/srv/again") : STR("") };
    if (ask->is_bad) request.params = parse(&world->arena, below(world, 2) ? "{\"n\":\"x\"}" : "{\"unknown\":%d}", 1);
    else if (!is_book && below(world, 4))
        request.params = parse(&world->arena, "{\"n\":%u,\"flag\":%s}", below(world, 10), below(world, 2) ? "true" : "false");
    if (ask->key) request.key = arena_format(&world->arena, "key-%u", ask->key);
    Digest digest;
    Error err;
    bool is_stored = plan_is_stored(world, plan) && below(world, 2);
    if (!is_stored && engine_plan_add(world->engine, plan->document, &digest, &err)) {
        world_fail(world, "a plan is refused: %s", err.text);
        return;
    }
    EngineStart start = { .plan = plan->digest,
                          .tenant = ask->kind == ASK_STRANGER ? other_tenant(plan->plan.tenant) : plan->plan.tenant,
                          .request = request, .reply = take_reply, .context = ask,
                          .command = { .kind = COMMAND_START, .id = ask_id(world, ask), .actor = STR("user:sim") } };
    if (below(world, 2)) start.command.trace = arena_format(&world->arena, "00-%032x-%016x-01", ask->number + 1, 7u);
    ask->start = start;
    world_note(world, "c%u: start of %.*s for %s, key %u%s%s", ask->number, STR_ARG(plan->definition),
               ask->kind == ASK_STRANGER ? "a stranger" : "its owner", ask->key, ask->is_again ? " again" : "", ask->is_bad ? ", wrongly" : "");
    if (!engine_start(world->engine, &start)) ask->is_lost = true;      /* refused at the door */
    world->started_count++;
}

/* --- commands --------------------------------------------------------------------------------------------------------------------- */

static WatchRun *pick_run(World *world)
{
    const Watch *watch = world->watch;
    for (uint32_t tries = 0; tries < 8 && watch->run_end; tries++) {
        WatchRun *run = watch->runs[below(world, (uint32_t)watch->run_end)];
        bool is_undecided = run && run->run.state == RUN_FAILED && !run_is_terminal(&run->run);
        if (run && (!watch_is_settled(run) || below(world, is_undecided ? 2 : 6) == 0)) return run;
    }
    return NULL;
}

static void send(World *world, Ask *ask, const WatchRun *run, const Command *command)
{
    EngineRequest request = { .command = *command, .reply = take_reply, .context = ask };
    request.command.id = ask_id(world, ask);
    if (!request.command.actor.len) request.command.actor = STR("user:sim");
    if (command->kind == COMMAND_SIGNAL && below(world, 2)) request.command.value = people_output(world, &world->arena);
    if (run && below(world, 2)) request.run_no = run->run_no;
    else if (run) request.run_id = run->run.id;
    else request.run_id = id_make((const uint8_t *)"no run has such a random name");
    if (ask->kind == ASK_STRANGER && run) request.tenant = other_tenant(run->run.tenant);
    else if (run && below(world, 2)) request.tenant = run->run.tenant;
    ask->run_no = run ? run->run_no : 0;
    ask->request = request;
    world_note(world, "c%u: %s of %.*s%srun %" PRIu64 "%s", ask->number, command_kind_name(command->kind), STR_ARG(command->job),
               command->job.len ? " of " : "", ask->run_no, ask->kind == ASK_STRANGER ? " by a stranger" : "");
    if (!engine_request(world->engine, &request)) ask->is_lost = true;
}

/* Another revision of its workflow where there is one; now and then any number. */
static uint32_t other_revision(World *world, const WatchRun *run)
{
    if (below(world, 8) == 0) return 1 + below(world, PLANS_MAX);
    for (uint32_t i = 0; i < world->plan_count; i++) {
        const SimPlan *plan = &world->plans[i];
        bool is_other = plan != run->plan && world->watch->revisions[i] && str_is(plan->definition, run->plan->definition)
                     && str_is(plan->plan.tenant, run->plan->plan.tenant);
        if (is_other && below(world, 3)) return world->watch->revisions[i];
    }
    return 0;
}

/* What becomes of runs that failed, rightly or not. */
static void decide_on(World *world, const WatchRun *run, Command *command)
{
    static const CommandKind kinds[] = { COMMAND_RESOLVE, COMMAND_RESOLVE, COMMAND_RETRY_FROM, COMMAND_RETRY_FROM, COMMAND_COMPENSATE,
                                         COMMAND_RETRY_COMPENSATION, COMMAND_SKIP_COMPENSATION };
    bool is_stuck = run->run.state == RUN_COMPENSATION_FAILED && below(world, 4);
    command->kind = is_stuck ? kinds[5 + below(world, 2)] : kinds[below(world, 7)];
    command->decision = below(world, 3) ? DECISION_RETRY : (DecisionKind)below(world, DECISION_KIND_COUNT);
    command->scope = below(world, 3) ? SCOPE_FULL : SCOPE_FROM_STEP;
    command->mode = (RetryMode)below(world, RETRY_MODE_COUNT);
    command->unknown = (UnknownEffect)below(world, 3);
    command->includes = below(world, 4) == 0;
    static const char *const edits[] = { "{\"n\":4}", "{\"n\":9,\"flag\":true}", "{\"flag\":false}", "{\"n\":\"x\"}", "{\"unknown\":1}", "7", "{}" };
    bool is_retry = command->kind == COMMAND_RETRY_FROM || command->decision == DECISION_RETRY_FROM_STEP;
    if (is_retry && below(world, 2)) command->value = parse(&world->arena, "%s", edits[below(world, 7)]);
    bool may_revise = is_retry || (command->kind == COMMAND_RESOLVE && command->decision == DECISION_RETRY);
    if (may_revise && below(world, 2)) command->revision = other_revision(world, run);
    uint32_t step = below(world, run->run.step_count);
    for (uint32_t i = 0; i < 4 && run->run.steps[step].state == STEP_SKIPPED; i++) step = below(world, run->run.step_count);
    command->name = command->kind == COMMAND_SKIP_COMPENSATION ? STR("") : run->plan->plan.steps[step].id;
}

/* Of the pause that is awaited, of one that is ahead or long over, or of none. */
static void make_trigger(World *world, const WatchRun *run, Command *command)
{
    const PlanTerms *terms = run->plan->plan.terms;
    bool is_awaited = run->run.awaited.step != STEP_NONE && below(world, 3);
    uint32_t step = is_awaited ? run->run.awaited.step : terms->pauses[below(world, terms->pause_count)];
    command->kind = COMMAND_TRIGGER;
    command->name = below(world, 12) ? terms->steps[step].pause.trigger : STR("nobody");
    command->is_denial = below(world, 8) == 0;
    command->value = trigger_payload(world);
}

void people_meddle(World *world)
{
    WatchRun *run = pick_run(world);
    if (!run) return;
    uint32_t sort = below(world, 40);
    Ask *ask = ask_add(world, sort < 3 ? ASK_STRANGER : sort < 6 ? ASK_WRONG : ASK_COMMAND);
    if (!ask) return;
    Command command = { .kind = COMMAND_SIGNAL, .name = str_of(signals[below(world, 6)]), .sort = (SignalKind)below(world, SIGNAL_KIND_COUNT),
                        .is_denial = below(world, 8) == 0, .rationale = STR("because") };
    if (sort < 3) {
        command.kind = below(world, 2) ? COMMAND_CANCEL : COMMAND_PAUSE;
        if (sort == 0) run = NULL;
    } else if (sort < 6) {                                          /* what nobody outside may say */
        static const CommandKind wrong[] = { COMMAND_START, COMMAND_REPORT, COMMAND_ACCEPT, COMMAND_EFFECT, COMMAND_ORPHANED };
        command.kind = wrong[below(world, 5)];
        command.step = below(world, run->run.step_count + 2);
        command.attempt = 1;
        command.holder = 12345;
        if (command.kind == COMMAND_ACCEPT) command.holder = 0;
    } else if (sort < 14 && world->is_shared && below(world, 2)) {
        static const char *const places[] = { "{\"regions\":[\"first\"]}", "{\"regions\":[\"second\",\"nowhere\"]}",
                                              "{}", "{\"requires\":[\"all\"]}" };
        command.kind = COMMAND_REBIND;
        command.value = parse(&world->arena, "%s", places[below(world, 4)]);
    } else if (sort < 24 && run->plan->plan.job_count && below(world, 2)) {
        static const CommandKind kinds[] = { COMMAND_PAUSE, COMMAND_PAUSE, COMMAND_PAUSE, COMMAND_RESUME, COMMAND_RESUME, COMMAND_CANCEL };
        command.kind = kinds[below(world, 6)];
        command.job = below(world, 20) ? run->plan->plan.jobs[below(world, run->plan->plan.job_count)].id : STR("nobody");
    } else if (sort < 14) {
        command.kind = COMMAND_PAUSE;
    } else if (sort < 24) {
        command.kind = COMMAND_RESUME;
    } else if (sort < 27) {
        command.kind = COMMAND_CANCEL;
        command.undo = (CancelUndo)below(world, 3);
    } else if (sort < (run->run.awaited.step == STEP_NONE ? 31u : 36u) && run->plan->plan.terms->pause_count
               && run->run.state != RUN_FAILED && run->run.state != RUN_COMPENSATION_FAILED) {
        make_trigger(world, run, &command);
    } else if (sort < 30 || run->run.state == RUN_FAILED || run->run.state == RUN_COMPENSATION_FAILED) {
        decide_on(world, run, &command);
    }
    send(world, ask, run, &command);
}

/* --- again ------------------------------------------------------------------------------------------------------------------------ */

void people_repeat(World *world)
{
    if (!world->ask_count) return;
    Ask *first = &world->asks[below(world, world->ask_count)];
    if (first->first) first = first->first;
    Ask *ask = ask_add(world, (AskKind)first->kind);
    if (!ask) return;
    uint32_t slot = (uint32_t)(ask - world->asks);
    *ask = *first;
    ask->first = first;
    ask->is_answered = ask->is_lost = false;
    ask->is_other = first->has_answer && below(world, 6) == 0;
    world_note(world, "c%u is sent again (%u)%s", ask->number, slot, ask->is_other ? ", with something else" : "");
    bool is_taken;
    if (first->start.reply) {
        Digest digest;
        Error err;
        EngineStart start = first->start;
        start.context = ask;
        if (ask->is_other) start.command.rationale = STR("another one");
        if (engine_plan_add(world->engine, world->plans[first->plan].document, &digest, &err)) world_fail(world, "%s", err.text);
        is_taken = engine_start(world->engine, &start);
    } else {
        EngineRequest request = first->request;
        request.context = ask;
        if (ask->is_other) request.command.rationale = STR("another one");
        is_taken = first->request.reply && engine_request(world->engine, &request);
    }
    if (!is_taken) ask->is_lost = true;
}

static uint32_t paused_job(const WatchRun *run)
{
    for (uint32_t j = 0; j < run->run.job_count; j++)
        if (run->run.jobs[j].flags & JOB_PAUSED && run->run.jobs[j].open) return j;
    return PLAN_NONE;
}

/* --- the end ------------------------------------------------------------------------------------------------------------------------ */

void people_settle(World *world)
{
    for (uint64_t i = 0; i < world->watch->run_end && !world->is_failed; i++) {
        WatchRun *run = world->watch->runs[i];
        if (!run || watch_is_settled(run)) continue;
        Ask *ask = ask_add(world, ASK_COMMAND);
        if (!ask) return;
        Command command = { .kind = COMMAND_SIGNAL, .name = str_of(signals[below(world, 3)]), .rationale = STR("to end it") };
        if (run->run.state == RUN_PAUSED) command.kind = COMMAND_RESUME;
        if (run->run.awaited.step != STEP_NONE && below(world, 4)) {
            command.kind = COMMAND_TRIGGER;
            command.name = run->plan->plan.terms->steps[run->run.awaited.step].pause.trigger;
            command.value = parse(&world->arena, "%s", "{\"ok\":true}");
        }
        uint32_t job = paused_job(run);
        if (job != PLAN_NONE && command.kind == COMMAND_SIGNAL) {
            command.kind = COMMAND_RESUME;
            command.job = run->plan->plan.jobs[job].id;
        }
        send(world, ask, run, &command);
    }
}
