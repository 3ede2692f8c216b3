/* Pulled work as an executor: the suite with a worker inside the test, and what only exchanges have. */
#include "exec/worker/worker.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "conformance/executor/suite.h"
#include "engine/token.h"
#include "os/clock.h"
#include "value/json.h"

/* --- a worker inside the test ------------------------------------------------------------------------------------------ */

/* The executor of the port, with a worker behind it that exchanges in every turn. */
typedef struct Pulled {
    Executor base;
    Executor *inner;
    Buf said[3];                        /* elements of reports, messages, logs */
    bool is_waiting, is_talking;
    struct Effect { char token[TOKEN_SIZE_MAX]; int step; } effects[8];
    uint32_t effect_count;
} Pulled;

static const char *const lists[] = { "reports", "messages", "logs" };

static void say(Pulled *pulled, int list, const char *format, ...) PRINTF_LIKE(3, 4);

static void say(Pulled *pulled, int list, const char *format, ...)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    va_list args;
    va_start(args, format);
    if (pulled->said[list].len) buf_char(&pulled->said[list], ',');
    buf_str(&pulled->said[list], arena_format_args(&arena, format, args));
    va_end(args);
    arena_deinit(&arena);
}

static void work(Pulled *pulled, Str runner, Str token)
{
    static const struct { const char *runner, *cause; } failures[] = {
        { "fail", "error" }, { "transient", "transient" }, { "permanent", "permanent" }, { "invalid", "input-invalid" }, { "denied", "policy" },
    };
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (str_is_text(runner, failures[i].runner))
            say(pulled, 0, "{\"token\":\"%.*s\",\"failure\":{\"cause\":\"%s\",\"message\":\"no\"}}", STR_ARG(token), failures[i].cause);
    if (str_is_text(runner, "log")) say(pulled, 2, "{\"token\":\"%.*s\",\"text\":\"a line of its log\"}", STR_ARG(token));
    if (str_is_text(runner, "log") || str_is_text(runner, "succeed"))
        say(pulled, 0, "{\"token\":\"%.*s\",\"output\":{\"answer\":42}}", STR_ARG(token));
    if (!str_is_text(runner, "effect")) return;
    struct Effect *effect = &pulled->effects[pulled->effect_count++];
    memcpy(effect->token, token.ptr, token.len);
    effect->token[token.len] = '\0';
    say(pulled, 1, "{\"token\":\"%s\",\"message\":{\"effect\":{\"charge\":5}}}", effect->token);
}

static void effect_go_on(Pulled *pulled, Str token)
{
    for (uint32_t i = 0; i < pulled->effect_count; i++) {
        struct Effect *effect = &pulled->effects[i];
        if (!str_is_text(token, effect->token)) continue;
        if (effect->step++ == 0) say(pulled, 1, "{\"token\":\"%s\",\"message\":{\"effectCommitted\":true}}", effect->token);
        else say(pulled, 0, "{\"token\":\"%s\",\"output\":null}", effect->token);
    }
}

static void take(Pulled *pulled, Value answer)
{
    const Value *leases = value_get_text(answer, "leases"), *cancels = value_get_text(answer, "cancels"),
        *results = value_get_text(answer, "results");
    for (uint32_t i = 0; i < leases->count; i++)
        work(pulled, value_get_string(leases->items[i], "runner", STR("")), value_get_string(leases->items[i], "token", STR("")));
    for (uint32_t i = 0; i < cancels->count; i++)
        say(pulled, 0, "{\"token\":\"%.*s\",\"failure\":{\"cause\":\"cancelled\",\"message\":\"told to\"}}", STR_ARG(value_text(cancels->items[i])));
    for (uint32_t i = 0; i < results->count; i++)
        if (str_is_text(value_get_string(results->items[i], "of", STR("")), "effect"))
            effect_go_on(pulled, value_get_string(results->items[i], "token", STR("")));
}

static void pull_done(void *context, Value answer)
{
    ((Pulled *)context)->is_waiting = false;
    take(context, answer);
}

static void talk_done(void *context, Value answer)
{
    Pulled *pulled = *(Pulled **)context;
    free(context);
    pulled->is_talking = false;
    take(pulled, answer);
}

static void exchange(Executor *inner, Str text, WorkerDone done, void *context)
{
    Arena arena;
    Value request = value_null();
    Error err;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(json_parse(&arena, text, &request, &err), &err);
    EXPECT_OK(worker_exchange(inner, &(WorkerCredential){ .worker = STR("w1") }, request, done, context, &err), &err);
    arena_deinit(&arena);
}

static void talk(Pulled *pulled)
{
    if (pulled->is_talking || !(pulled->said[0].len + pulled->said[1].len + pulled->said[2].len)) return;
    Buf body;
    buf_init(&body, 1u << 20);
    for (int i = 0; i < 3; i++) {
        buf_format(&body, "%s\"%s\":[%.*s]", i ? "," : "{", lists[i], (int)pulled->said[i].len, pulled->said[i].ptr);
        buf_clear(&pulled->said[i]);
    }
    buf_char(&body, '}');
    Pulled **context = malloc(sizeof *context);
    CHECK(context);
    *context = pulled;
    pulled->is_talking = true;
    exchange(pulled->inner, buf_peek(&body), talk_done, context);
    buf_deinit(&body);
}

static bool pulled_execute(Executor *executor, const Attempt *attempt)
{
    Executor *inner = ((Pulled *)executor)->inner;
    return inner->ops->execute(inner, attempt);
}

static void pulled_end(Executor *executor, const AttemptId *id)
{
    Executor *inner = ((Pulled *)executor)->inner;
    inner->ops->end(inner, id);
}

static void pulled_acknowledge(Executor *executor, const AttemptId *id)
{
    Executor *inner = ((Pulled *)executor)->inner;
    inner->ops->acknowledge(inner, id);
}

static void pulled_turn(Executor *executor, int64_t steady_ms)
{
    Pulled *pulled = (Pulled *)executor;
    pulled->inner->ops->turn(pulled->inner, steady_ms);
    if (!pulled->is_waiting) {
        pulled->is_waiting = true;
        exchange(pulled->inner, STR("{\"want\":64,\"wait_ms\":60000}"), pull_done, pulled);
    }
    talk(pulled);
}

static int pulled_wake_fd(Executor *executor)
{
    Executor *inner = ((Pulled *)executor)->inner;
    return inner->ops->wake_fd(inner);
}

static void pulled_close(Executor *executor)
{
    Pulled *pulled = (Pulled *)executor;
    pulled->inner->ops->close(pulled->inner);
    for (int i = 0; i < 3; i++) buf_deinit(&pulled->said[i]);
    free(pulled);
}

static const ExecutorOps pulled_ops = { .execute = pulled_execute, .end = pulled_end, .acknowledge = pulled_acknowledge,
                                        .turn = pulled_turn, .wake_fd = pulled_wake_fd, .close = pulled_close };

/* Runners of the suite, all in one queue: {"succeed": {"queue": "q"}, ...}. */
static Value suite_runners(void)
{
    static const char text[] = "{\"denied\":{\"queue\":\"q\"},\"effect\":{\"queue\":\"q\"},\"fail\":{\"queue\":\"q\"},\"invalid\":{\"queue\":\"q\"},"
                               "\"log\":{\"queue\":\"q\"},\"long\":{\"queue\":\"q\"},\"permanent\":{\"queue\":\"q\"},\"succeed\":{\"queue\":\"q\"},"
                               "\"transient\":{\"queue\":\"q\"}}";
    static Arena arena;
    static Value runners;
    Error err;
    if (runners.kind == VALUE_OBJECT) return runners;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(json_parse(&arena, str_of(text), &runners, &err), &err);
    return runners;
}

static Status open_worker(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    return worker_executor_open(&(WorkerOptions){ .name = STR("workers"), .runners = suite_runners(),
                                                  .capacity = capacity, .sink = sink }, out_executor, err);
}

static Status open_pulled(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    Pulled *pulled = calloc(1, sizeof *pulled);
    CHECK(pulled);
    Status status = open_worker(sink, capacity, &pulled->inner, err);
    for (int i = 0; i < 3; i++) buf_init(&pulled->said[i], 1u << 20);
    pulled->base = (Executor){ .ops = &pulled_ops, .name = STR("workers"), .kind = STR("worker"), .capacity = capacity };
    *out_executor = &pulled->base;
    return status;
}

static const Subject worker = {
    .name = "worker", .open = open_pulled, .is_pulled = true,
    .works = { [WORK_SUCCEEDS] = { "succeed", NULL, NULL }, [WORK_FAILS] = { "fail", NULL, NULL },
               [WORK_FAILS_TRANSIENT] = { "transient", NULL, NULL }, [WORK_FAILS_PERMANENT] = { "permanent", NULL, NULL },
               [WORK_FAILS_INPUT] = { "invalid", NULL, NULL }, [WORK_FAILS_POLICY] = { "denied", NULL, NULL },
               [WORK_LOGS] = { "log", NULL, NULL }, [WORK_TAKES_LONG] = { "long", NULL, NULL }, [WORK_HAS_EFFECT] = { "effect", NULL, NULL } },
};
EXECUTOR_CASES(worker)

/* --- exchanges ------------------------------------------------------------------------------------------------------------ */

typedef struct Seen { Arena arena; Value answer; uint32_t count; } Seen;

static void seen_done(void *context, Value answer)
{
    Seen *seen = context;
    seen->answer = value_copy(&seen->arena, answer);
    seen->count++;
}

static const Subject bare = { .name = "bare", .open = open_worker, .is_pulled = true };

static Status ask(Stand *stand, const WorkerCredential *credential, const char *text, Seen *seen, Error *err)
{
    Value request = value_null();
    EXPECT_OK(json_parse(&stand->arena, str_of(text), &request, err), err);
    return worker_exchange(stand->executor, credential, request, seen_done, seen, err);
}

static uint32_t count_of(const Seen *seen, const char *list)
{
    return value_get_text(seen->answer, list)->count;
}

static Str only(const Seen *seen, const char *list, const char *key)
{
    const Value *items = value_get_text(seen->answer, list);
    return items->count == 1 ? value_get_string(items->items[0], key, STR("")) : STR("?");
}

static const WorkerCredential anybody = { .worker = STR_INIT("w1") };

TEST(worker_lease_goes_to_who_waits_and_a_report_is_answered_when_it_is_durable, "proves: F-072 C-33")
{
    Stand stand;
    Seen pull = { 0 }, push = { 0 }, again = { 0 };
    Seen *all[] = { &pull, &push, &again };
    for (int i = 0; i < 3; i++) arena_init(&all[i]->arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        EXPECT(!stand.executor->ops->has_room(stand.executor, STR("default"), STR("succeed"), 0));   /* nobody asks for it */
        EXPECT_OK(ask(&stand, &anybody, "{\"queues\":[\"q\"],\"want\":1,\"wait_ms\":60000}", &pull, &err), &err);
        EXPECT(stand.executor->ops->has_room(stand.executor, STR("default"), STR("succeed"), 0));
        EXPECT(!stand.executor->ops->has_room(stand.executor, STR("default"), STR("succeed"), 1));   /* it is promised already */
        stand_turn(&stand, 0);
        EXPECT_INT(pull.count, 0);                                                                    /* it waits */
        EXPECT(stand_execute(&stand, 1, (Work){ "succeed", NULL, "{\"a\":1}" }));
        stand_turn(&stand, 0);
        EXPECT_INT(pull.count, 1);
        EXPECT_STR(only(&pull, "leases", "runner"), STR("succeed"));
        Str token = only(&pull, "leases", "token");
        Str report = arena_format(&stand.arena, "{\"reports\":[{\"token\":\"%.*s\",\"output\":{\"answer\":42}}]}", STR_ARG(token));
        EXPECT_OK(ask(&stand, &anybody, report.ptr, &push, &err), &err);
        stand.executor->ops->turn(stand.executor, 0);
        EXPECT_INT(push.count, 0);                                                                    /* not durable yet */
        EXPECT(stand_await(&stand, 1, 0));
        stand_turn(&stand, 0);
        EXPECT_INT(push.count, 1);
        EXPECT_STR(only(&push, "results", "result"), STR("accepted"));
        EXPECT_OK(ask(&stand, &anybody, report.ptr, &again, &err), &err);                             /* said again: the first answer */
        stand_turn(&stand, 0);
        EXPECT_STR(only(&again, "results", "result"), STR("accepted"));
        EXPECT_INT(stand.report_count, 1);
    }
    stand_take_down(&stand);
    for (int i = 0; i < 3; i++) arena_deinit(&all[i]->arena);
}

TEST(worker_second_report_while_the_first_is_being_recorded_gets_the_answer_of_the_first, "proves: F-072")
{
    Stand stand;
    Seen pull = { 0 }, first = { 0 }, second = { 0 }, both = { 0 };
    Seen *all[] = { &pull, &first, &second, &both };
    for (int i = 0; i < 4; i++) arena_init(&all[i]->arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        EXPECT_OK(ask(&stand, &anybody, "{\"queues\":[\"q\"],\"want\":1,\"wait_ms\":60000}", &pull, &err), &err);
        EXPECT(stand_execute(&stand, 1, (Work){ "succeed", NULL, NULL }));
        stand_turn(&stand, 0);
        Str token = only(&pull, "leases", "token");
        Str success = arena_format(&stand.arena, "{\"reports\":[{\"token\":\"%.*s\",\"output\":{\"answer\":42}}]}", STR_ARG(token));
        Str failure = arena_format(&stand.arena, "{\"reports\":[{\"token\":\"%.*s\",\"failure\":{\"cause\":\"transient\"}}]}", STR_ARG(token));
        Str twice = arena_format(&stand.arena,
                                 "{\"reports\":[{\"token\":\"%.*s\",\"output\":1},{\"token\":\"%.*s\",\"output\":2}]}",
                                 STR_ARG(token), STR_ARG(token));
        EXPECT_OK(ask(&stand, &anybody, success.ptr, &first, &err), &err);
        EXPECT_OK(ask(&stand, &anybody, failure.ptr, &second, &err), &err);
        EXPECT_OK(ask(&stand, &anybody, twice.ptr, &both, &err), &err);
        stand.executor->ops->turn(stand.executor, 0);
        EXPECT_INT(first.count + second.count + both.count, 0);                                        /* nothing is durable yet */
        EXPECT(stand_await(&stand, 1, 0));
        stand_turn(&stand, 0);
        EXPECT_INT(first.count, 1);
        EXPECT_INT(second.count, 1);
        EXPECT_INT(both.count, 1);
        if (first.count && second.count && both.count) {
            EXPECT_STR(only(&first, "results", "result"), STR("accepted"));
            EXPECT_STR(only(&second, "results", "result"), STR("accepted"));
            EXPECT_INT(count_of(&both, "results"), 2);
        }
        EXPECT_INT(stand.report_count, 1);                                                             /* the engine heard the first alone */
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
    }
    stand_take_down(&stand);
    for (int i = 0; i < 4; i++) arena_deinit(&all[i]->arena);
}

TEST(worker_gets_only_what_its_credential_permits, "proves: F-113")
{
    Stand stand;
    Seen acme = { 0 }, other = { 0 };
    arena_init(&acme.arena, SIZE_MAX);
    arena_init(&other.arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        Value none = value_array(NULL, 0);
        WorkerCredential limited = { .worker = STR("w2"), .queues = none }, of_acme = { .worker = STR("w3"), .tenant = STR("acme") };
        EXPECT_INT(ask(&stand, &limited, "{\"queues\":[\"q\"],\"want\":1}", &other, &err), ERR_DENIED);
        EXPECT_INT(ask(&stand, &anybody, "{\"queues\":[\"nowhere\"],\"want\":1}", &other, &err), ERR_NOT_FOUND);
        EXPECT_INT(ask(&stand, &anybody, "{\"reports\":[{\"output\":1}]}", &other, &err), ERR_INVALID);
        EXPECT_INT(ask(&stand, &anybody, "{\"want\":-1}", &other, &err), ERR_INVALID);
        EXPECT_OK(ask(&stand, &of_acme, "{\"want\":4,\"wait_ms\":60000}", &acme, &err), &err);
        EXPECT(!stand.executor->ops->has_room(stand.executor, STR("default"), STR("succeed"), 0));
        EXPECT(stand.executor->ops->has_room(stand.executor, STR("acme"), STR("succeed"), 0));
        EXPECT(stand_execute(&stand, 1, (Work){ "succeed", NULL, NULL }));                           /* of the tenant `default` */
        stand_turn(&stand, 0);
        EXPECT_INT(acme.count, 0);
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":4}", &other, &err), &err);
        stand_turn(&stand, 0);
        EXPECT_INT(count_of(&other, "leases"), 1);
    }
    stand_take_down(&stand);
    EXPECT_INT(acme.count, 1);                                                                        /* closed: told that there is nothing */
    EXPECT_INT(count_of(&acme, "leases"), 0);
    arena_deinit(&acme.arena);
    arena_deinit(&other.arena);
}

TEST(worker_that_is_silent_loses_its_lease_and_its_late_report_does_no_harm, "proves: F-116 F-086")
{
    Stand stand;
    Seen pull = { 0 }, late = { 0 };
    arena_init(&pull.arena, SIZE_MAX);
    arena_init(&late.arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        const ExecutorOps *ops = stand.executor->ops;
        int64_t now = clock_monotonic_ms();
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":1}", &pull, &err), &err);
        EXPECT(stand_execute(&stand, 1, (Work){ "long", NULL, NULL }));
        stand_turn(&stand, 0);
        Str token = only(&pull, "leases", "token");
        ops->turn(stand.executor, now + stand.executor->lease_ms - 1000);
        EXPECT_INT(stand.report_count, 0);
        ops->turn(stand.executor, now + stand.executor->lease_ms + 60000);
        EXPECT(stand_await(&stand, 1, 0));
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_LEASE_EXPIRED);
        Str report = arena_format(&stand.arena, "{\"reports\":[{\"token\":\"%.*s\",\"output\":1}]}", STR_ARG(token));
        EXPECT_OK(ask(&stand, &anybody, report.ptr, &late, &err), &err);
        stand_turn(&stand, 0);
        EXPECT_INT(late.count, 1);
        EXPECT_INT(stand.report_count, 1);                                                            /* the engine hears nothing of it */
    }
    stand_take_down(&stand);
    arena_deinit(&pull.arena);
    arena_deinit(&late.arena);
}

TEST(worker_exchange_that_nobody_reads_brings_its_leases_back, "proves: F-072 F-086")
{
    Stand stand;
    Seen gone = { 0 }, lost = { 0 }, next = { 0 };
    Seen *all[] = { &gone, &lost, &next };
    for (int i = 0; i < 3; i++) arena_init(&all[i]->arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        WorkerCredential other = { .worker = STR("w2") };
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":4,\"wait_ms\":60000}", &gone, &err), &err);
        stand_turn(&stand, 0);
        EXPECT_INT(gone.count, 0);
        worker_exchange_withdraw(stand.executor, &lost);                                              /* of no exchange */
        worker_exchange_withdraw(stand.executor, &gone);
        EXPECT(!stand.executor->ops->has_room(stand.executor, STR("default"), STR("long"), 0));
        stand_turn(&stand, 10);
        EXPECT_INT(gone.count, 1);
        EXPECT_INT(count_of(&gone, "leases"), 0);
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":1,\"wait_ms\":60000}", &lost, &err), &err);
        EXPECT(stand_execute(&stand, 1, (Work){ "long", NULL, NULL }));
        stand_turn(&stand, 10);
        REQUIRE(lost.count == 1);
        EXPECT_INT(count_of(&lost, "leases"), 1);
        worker_exchange_give_back(stand.executor, lost.answer);
        worker_exchange_give_back(stand.executor, lost.answer);                                       /* once counts */
        EXPECT_OK(ask(&stand, &other, "{\"want\":4,\"wait_ms\":60000}", &next, &err), &err);
        stand_turn(&stand, 10);
        REQUIRE(next.count == 1);
        EXPECT_INT(value_compare(*value_get_text(next.answer, "leases"), *value_get_text(lost.answer, "leases")), 0);
        EXPECT_INT(stand.report_count, 0);
    }
    stand_take_down(&stand);
    for (int i = 0; i < 3; i++) arena_deinit(&all[i]->arena);
}

static void end(Stand *stand, uint32_t number)
{
    Attempt attempt = stand_attempt(stand, number, (Work){ "long", NULL, NULL });
    stand->executor->ops->end(stand->executor, &attempt.id);
}

TEST(worker_is_told_once_of_each_of_its_own_attempts_that_it_is_to_end, "proves: F-007 F-072")
{
    Stand stand;
    Seen held[2] = { 0 }, waits = { 0 }, told = { 0 };
    Seen *all[] = { &held[0], &held[1], &waits, &told };
    for (int i = 0; i < 4; i++) arena_init(&all[i]->arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 16)) {
        Error err;
        WorkerCredential other = { .worker = STR("w2") };
        for (uint32_t i = 1; i <= 8; i++) EXPECT(stand_execute(&stand, i, (Work){ "long", NULL, NULL }));
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":5}", &held[0], &err), &err);
        stand_turn(&stand, 0);
        EXPECT_OK(ask(&stand, &other, "{\"want\":3}", &held[1], &err), &err);
        stand_turn(&stand, 0);
        EXPECT_INT(count_of(&held[0], "leases"), 5);
        EXPECT_INT(count_of(&held[1], "leases"), 3);
        EXPECT_OK(ask(&stand, &other, "{\"want\":1,\"wait_ms\":60000}", &waits, &err), &err);
        for (uint32_t i = 1; i <= 4; i++) end(&stand, i);
        stand_turn(&stand, 10);
        EXPECT_INT(waits.count, 0);                                                                   /* what is to end is another's */
        end(&stand, 7);
        end(&stand, 7);
        stand_turn(&stand, 10);
        EXPECT_INT(waits.count, 1);
        EXPECT_INT(count_of(&waits, "cancels"), 1);
        EXPECT_INT(count_of(&waits, "leases"), 0);
        const Value *mine = value_get_text(held[0].answer, "leases");
        Str token = value_get_string(mine->items[1], "token", STR(""));
        Str report =
            arena_format(&stand.arena,
                         "{\"reports\":[{\"token\":\"%.*s\",\"failure\":{\"cause\":\"cancelled\"}}],\"want\":1}",
                         STR_ARG(token));
        EXPECT_OK(ask(&stand, &anybody, report.ptr, &told, &err), &err);                              /* it has ended one of its own accord */
        EXPECT(stand_await(&stand, 1, 0));
        stand_turn(&stand, 10);
        EXPECT_INT(count_of(&told, "cancels"), 3);
        worker_exchange_give_back(stand.executor, told.answer);                                       /* nobody has read it */
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":1}", &told, &err), &err);
        stand_turn(&stand, 10);
        EXPECT_INT(count_of(&told, "cancels"), 3);
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":1}", &told, &err), &err);
        stand_turn(&stand, 10);
        EXPECT_INT(count_of(&told, "cancels"), 0);
        EXPECT_INT(stand.report_count, 1);
    }
    stand_take_down(&stand);
    for (int i = 0; i < 4; i++) arena_deinit(&all[i]->arena);
}

TEST(worker_executor_that_drains_keeps_what_workers_have_and_gives_back_the_rest, "proves: F-087 F-116")
{
    Stand stand;
    Seen pull = { 0 };
    arena_init(&pull.arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        const ExecutorOps *ops = stand.executor->ops;
        int64_t now = clock_monotonic_ms();
        EXPECT_OK(ask(&stand, &anybody, "{\"want\":1,\"wait_ms\":60000}", &pull, &err), &err);
        EXPECT(stand_execute(&stand, 1, (Work){ "long", NULL, NULL }));
        EXPECT(stand_execute(&stand, 2, (Work){ "long", NULL, NULL }));
        stand_turn(&stand, 10);
        EXPECT_INT(count_of(&pull, "leases"), 1);
        EXPECT_INT(ops->drain(stand.executor), 1);
        EXPECT(stand_await(&stand, 1, 0));
        EXPECT_INT(stand_report(&stand, 2)->cause, CAUSE_NOT_ACCEPTED);
        ops->turn(stand.executor, now + stand.executor->lease_ms + 60000);
        stand_turn(&stand, 0);
        EXPECT_INT(ops->drain(stand.executor), 1);
        EXPECT_INT(stand.report_count, 1);                                                            /* the silence of the other is not its own */
    }
    stand_take_down(&stand);
    arena_deinit(&pull.arena);
}

TEST(worker_exchange_beyond_those_that_may_wait_is_to_be_sent_again, "")
{
    Stand stand;
    Seen seen = { 0 };
    arena_init(&seen.arena, SIZE_MAX);
    if (stand_open(&stand, &bare, 8)) {
        Error err;
        for (unsigned i = 0; i < WORKER_EXCHANGE_COUNT_MAX; i++) {
            WorkerCredential credential = { .worker = arena_format(&stand.arena, "w%u", i) };
            EXPECT_OK(ask(&stand, &credential, "{\"want\":1,\"wait_ms\":60000}", &seen, &err), &err);
        }
        EXPECT_INT(ask(&stand, &(WorkerCredential){ .worker = STR("one more") }, "{\"want\":1,\"wait_ms\":60000}", &seen, &err), ERR_UNAVAILABLE);
        EXPECT_INT(seen.count, 0);
    }
    stand_take_down(&stand);
    arena_deinit(&seen.arena);
}

static void count_done(void *context, Value answer)
{
    (void)answer;
    ++*(uint32_t *)context;
}

/* The nth of many, which waits so long for work that there is none of. */
static Status ask_nth(Stand *stand, uint32_t nth, uint32_t wait_ms, uint32_t *answered, Error *err)
{
    Value request = value_null();
    WorkerCredential credential = { .worker = arena_format(&stand->arena, "w%u", nth) };
    Str text = arena_format(&stand->arena, "{\"queues\":[\"q\"],\"want\":1,\"wait_ms\":%u}", wait_ms);
    EXPECT_OK(json_parse(&stand->arena, text, &request, err), err);
    return worker_exchange(stand->executor, &credential, request, count_done, answered, err);
}

TEST(worker_of_as_many_as_may_wait_each_is_answered_once_and_when_its_own_time_is_over, "")
{
    enum { COUNT = WORKER_EXCHANGE_COUNT_MAX, WAIT_MS = 1000, NOW_MS = 5000 };
    static uint32_t answered[COUNT + 1];
    Stand stand;
    Error err;
    uint32_t wrong_count = 0;
    memset(answered, 0, sizeof answered);
    if (stand_open(&stand, &bare, 8)) {
        const ExecutorOps *ops = stand.executor->ops;
        for (uint32_t i = 0; i < COUNT; i++) EXPECT_OK(ask_nth(&stand, i, i % WAIT_MS + 1, &answered[i], &err), &err);
        EXPECT_INT(ask_nth(&stand, COUNT, 1, &answered[COUNT], &err), ERR_UNAVAILABLE);
        ops->turn(stand.executor, NOW_MS);
        for (uint32_t i = 0; i < COUNT; i++) wrong_count += answered[i] != 0;
        EXPECT_INT(wrong_count, 0);
        worker_exchange_withdraw(stand.executor, &answered[999]);                               /* whoever asked is gone */
        worker_exchange_withdraw(stand.executor, &answered[COUNT]);                             /* there is none of that one */
        ops->turn(stand.executor, NOW_MS + WAIT_MS / 2);
        for (uint32_t i = 0; i < COUNT; i++) wrong_count += answered[i] != (i == 999 || i % WAIT_MS < WAIT_MS / 2);
        EXPECT_INT(wrong_count, 0);
        EXPECT(ops->has_room(stand.executor, STR("default"), STR("succeed"), 0));
        EXPECT_OK(ask_nth(&stand, 0, WAIT_MS, &answered[0], &err), &err);                       /* there is room again */
        EXPECT_OK(ask_nth(&stand, 500, WAIT_MS, &answered[COUNT], &err), &err);                 /* in the place of that worker's other one */
        EXPECT_INT(answered[500], 1);
        ops->turn(stand.executor, NOW_MS + WAIT_MS);
        ops->turn(stand.executor, NOW_MS + 2 * WAIT_MS - 1);
        EXPECT_INT(answered[COUNT], 0);
        ops->turn(stand.executor, NOW_MS + 2 * WAIT_MS);
        for (uint32_t i = 1; i <= COUNT; i++) wrong_count += answered[i] != 1;
        EXPECT_INT(wrong_count, 0);
        EXPECT_INT(answered[0], 2);
        EXPECT(!ops->has_room(stand.executor, STR("default"), STR("succeed"), 0));              /* nobody is left */
    }
    stand_take_down(&stand);
}
