/* Runners that are services: the task document is posted, and answered at once or by a callback. The suite against a service that looks
 * at all it is sent; and requests that are effects. */
#include "exec/http/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "conformance/executor/http_server.h"
#include "conformance/executor/suite.h"
#include "engine/token.h"
#include "rego/crypto/hash.h"
#include "value/json.h"

#define BASE "http://127.0.0.1:@PORT"
#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* --- what a service is sent ---------------------------------------------------------------------------------------- */

static Str header_of(const char *request, const char *name)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\r\n%s: ", name);
    const char *at = strcasestr(request, wanted), *end = strstr(request, "\r\n\r\n");
    if (!at || !end || at > end) return STR("");
    at += strlen(wanted);
    return (Str){ at, strcspn(at, "\r\n") };
}

/* HMAC-SHA256 over the timestamp, a point and the body. */
static bool is_signed(const char *request, Str body)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str time = header_of(request, "X-Maestro-Timestamp");
    Hash hash = hash_hmac(HASH_SHA256, STR("the-key"), arena_format(&arena, "%.*s.%.*s", STR_ARG(time), STR_ARG(body)));
    char want[128] = "sha256=";
    for (uint32_t i = 0; i < hash.size; i++) snprintf(want + 7 + 2 * i, 3, "%02x", hash.bytes[i]);
    arena_deinit(&arena);
    return time.len && str_is_text(header_of(request, "X-Maestro-Signature"), want);
}

static const char *document_fault(Value document, bool is_later)
{
    static const char *const members[] = { "input", "params", "context", "idempotencyKey", "attempt", "deadline", "traceparent", "run", "step" };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!value_get_text(document, members[i])) return members[i];
    if (!str_is_text(value_get_string(document, "traceparent", STR("")), TRACE)) return "another trace in the document";
    const Value *callback = value_get_text(document, "callback");
    if (!callback != !is_later) return is_later ? "no callback" : "a callback that nobody asked for";
    return is_later && !str_is_text(value_get_string(*callback, "url", STR("")), "http://maestro.example/maestro/callbacks/http") ? "url" : NULL;
}

typedef struct Call Call;
static void call_add(const char *request, Str token);

/* A service takes nothing that is not as docs/runners.md says. /now answers at once, /later calls back. */
static const char *service_look(const char *request, bool *out_is_later)
{
    const char *body_at = strstr(request, "\r\n\r\n");
    bool is_later = strncmp(request, "POST /later", 11) == 0;
    if (!is_later && strncmp(request, "POST /", 6) != 0) return "no POST";
    if (!body_at) return "no end of its head";
    Str body = str_of(body_at + 4);
    if (!str_is_text(header_of(request, "Content-Type"), "application/json")) return "Content-Type";
    if (!str_is_text(header_of(request, "Idempotency-Key"), "key-of-the-step")) return "Idempotency-Key";
    if (!str_is_text(header_of(request, "traceparent"), TRACE)) return "traceparent";
    bool is_known = is_later ? is_signed(request, body) : str_is_text(header_of(request, "Authorization"), "Bearer the-token");
    if (!is_known) return "nobody is known by that";
    Arena arena;
    Value document = value_null();
    Error err;
    arena_init(&arena, SIZE_MAX);
    const char *fault = json_parse(&arena, body, &document, &err) ? "no JSON" : document_fault(document, is_later);
    if (!fault && is_later) call_add(request, value_get_string(*value_get_text(document, "callback"), "token", STR("")));
    arena_deinit(&arena);
    *out_is_later = is_later;
    return fault;
}

/* --- calling back ---------------------------------------------------------------------------------------------------- */

/* What a service says by its callback, one after the other as each is answered. */
typedef struct Script { const char *path, *said[4]; } Script;
static const Script scripts[] = {
    { "/later/ok", { "{\"output\":{\"answer\":42}}" } },
    { "/later/fail", { "{\"failure\":{\"message\":\"no\"}}" } },
    { "/later/transient", { "{\"failure\":{\"cause\":\"transient\",\"message\":\"no\"}}" } },
    { "/later/permanent", { "{\"failure\":{\"cause\":\"permanent\",\"message\":\"no\"}}" } },
    { "/later/input", { "{\"failure\":{\"cause\":\"input-invalid\",\"message\":\"no\"}}" } },
    { "/later/policy", { "{\"failure\":{\"cause\":\"policy\",\"message\":\"no\"}}" } },
    { "/later/effect", { "{\"effect\":{\"charge\":5}}", "{\"effectCommitted\":true}", "{\"output\":null}" } },
};

struct Call {
    Call *next;
    const Script *script;
    int step;
    char token[TOKEN_SIZE_MAX];
};

static struct { pthread_mutex_t lock; Call *first; int fd; } calls = { PTHREAD_MUTEX_INITIALIZER, NULL, -1 };

static void call_put(Call *call)
{
    pthread_mutex_lock(&calls.lock);
    call->next = calls.first;
    calls.first = call;
    pthread_mutex_unlock(&calls.lock);
    CHECK(eventfd_write(calls.fd, 1) == 0);
}

static void call_add(const char *request, Str token)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        if (!http_server_is_path(request, scripts[i].path)) continue;
        Call *call = calloc(1, sizeof *call);
        CHECK(call && token.len < sizeof call->token);
        call->script = &scripts[i];
        memcpy(call->token, token.ptr, token.len);
        call_put(call);
    }
}

/* It is durable, or too late: the service goes on, or has nothing more to say. */
static void call_done(void *context, Value is_taken)
{
    Call *call = context;
    bool goes_on = value_is_true(is_taken) && call->script->said[++call->step];
    if (goes_on) call_put(call);
    else free(call);
}

/* The executor, with the server's side of callbacks behind it. */
typedef struct Called { Executor base; Executor *inner; } Called;

static Executor *inner_of(Executor *executor) { return ((Called *)executor)->inner; }
static bool called_execute(Executor *executor, const Attempt *attempt) { return inner_of(executor)->ops->execute(inner_of(executor), attempt); }
static void called_end(Executor *executor, const AttemptId *id) { inner_of(executor)->ops->end(inner_of(executor), id); }
static void called_acknowledge(Executor *executor, const AttemptId *id) { inner_of(executor)->ops->acknowledge(inner_of(executor), id); }
static int called_wake_fd(Executor *executor) { return calls.fd; }

static void called_turn(Executor *executor, int64_t steady_ms)
{
    eventfd_t rung;
    if (eventfd_read(calls.fd, &rung) != 0) return;
    pthread_mutex_lock(&calls.lock);
    Call *call = calls.first;
    calls.first = NULL;
    pthread_mutex_unlock(&calls.lock);
    for (Call *next; call; call = next) {
        next = call->next;
        Arena arena;
        Value said = value_null();
        Error err;
        arena_init(&arena, SIZE_MAX);
        EXPECT_OK(json_parse(&arena, str_of(call->script->said[call->step]), &said, &err), &err);
        Status status = http_callback(inner_of(executor), str_of(call->token), said, call_done, call, &err);
        if (status == ERR_UNAVAILABLE) call_put(call);          /* the inbox is full: as it is told, it says so again */
        else if (!EXPECT_OK(status, &err)) free(call);
        arena_deinit(&arena);
    }
}

static void called_close(Executor *executor)
{
    inner_of(executor)->ops->close(inner_of(executor));
    free(executor);
}

static const ExecutorOps called_ops = { .execute = called_execute, .end = called_end, .acknowledge = called_acknowledge, .turn = called_turn,
                                        .wake_fd = called_wake_fd, .close = called_close };

static void service_start(void)
{
    setenv("HTTP_TEST_TOKEN", "the-token", 1);
    setenv("HTTP_TEST_KEY", "the-key", 1);
    calls.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK(calls.fd >= 0);
    http_server_look = service_look;
    http_server_start();
}

static void service_stop(void)
{
    http_server_stop();
    http_server_look = NULL;
    for (Call *call; (call = calls.first); free(call)) calls.first = call->next;
    close(calls.fd);
}

/* --- the subjects ------------------------------------------------------------------------------------------------------ */

static Status open_http(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    return http_executor_open(&(HttpOptions){ .name = STR("http"), .sink = sink, .capacity = capacity }, out_executor, err);
}

static Status open_called(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    static const SealKey key = { { 7 } };
    Called *called = calloc(1, sizeof *called);
    CHECK(called);
    HttpOptions options = { .name = STR("http"), .sink = sink, .capacity = capacity, .callback = STR("http://maestro.example"),
                            .token_key = &key };
    Status status = http_executor_open(&options, &called->inner, err);
    called->base = (Executor){ .ops = &called_ops, .name = STR("http"), .kind = STR("http"), .capacity = capacity };
    *out_executor = &called->base;
    return status;
}

#define NOW(path) { "svc", "{\"url\":\"" BASE path "\",\"settings\":{\"auth\":{\"bearer_env\":\"HTTP_TEST_TOKEN\"}}}", "{\"a\":1}" }
#define LATER(path) { "svc", "{\"url\":\"" BASE "/later" path "\",\"settings\":{\"auth\":{\"hmac_env\":\"HTTP_TEST_KEY\"}}}", "{\"a\":1}" }

static const Subject service_that_answers = {
    .name = "service that answers", .open = open_http, .before = service_start, .after = service_stop, .port = &http_server_port,
    .works = { [WORK_SUCCEEDS] = NOW("/ok"), [WORK_FAILS_TRANSIENT] = NOW("/503"), [WORK_FAILS_PERMANENT] = NOW("/404"),
               [WORK_FAILS_INPUT] = NOW("/problem"), [WORK_TAKES_LONG] = NOW("/hold") },
};
EXECUTOR_CASES(service_that_answers)

static const Subject service_that_calls_back = {
    .name = "service that calls back", .open = open_called, .before = service_start, .after = service_stop, .port = &http_server_port,
    .works = { [WORK_SUCCEEDS] = LATER("/ok"), [WORK_FAILS] = LATER("/fail"), [WORK_FAILS_TRANSIENT] = LATER("/transient"),
               [WORK_FAILS_PERMANENT] = LATER("/permanent"), [WORK_FAILS_INPUT] = LATER("/input"), [WORK_FAILS_POLICY] = LATER("/policy"),
               [WORK_TAKES_LONG] = LATER("/never"), [WORK_HAS_EFFECT] = LATER("/effect") },
};
EXECUTOR_CASES(service_that_calls_back)

TEST(service_is_told_its_deadline_and_one_that_is_silent_has_missed_it, "")
{
    static const struct { const char *name; const Subject *subject; Work work; } rows[] = {
        { "it does not answer", &service_that_answers, NOW("/hold") }, { "it does not call back", &service_that_calls_back, LATER("/never") },
    };
    for (size_t i = 0; i < 2; i++) {
        Stand stand;
        ROW(rows[i].name);
        if (stand_open(&stand, rows[i].subject, 4)) {
            Attempt attempt = stand_attempt(&stand, 1, rows[i].work);
            attempt.deadline_ms = attempt.now_ms + 150;
            EXPECT(stand.executor->ops->execute(stand.executor, &attempt));
            if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_TIMEOUT);
        }
        stand_take_down(&stand);
    }
}

/* --- requests that are effects ------------------------------------------------------------------------------------------- */

#define GET(path) { "http", NULL, "{\"url\":\"" BASE path "\"}" }

static const Subject plain = { .name = "plain", .open = open_http, .before = http_server_start,
                               .after = http_server_stop, .port = &http_server_port };

static bool execute_effect(Stand *stand, uint32_t number, Work work, AttemptId *out_id)
{
    Attempt attempt = stand_attempt(stand, number, work);
    attempt.is_effect_recorded = true;
    *out_id = attempt.id;
    return EXPECT(stand->executor->ops->execute(stand->executor, &attempt));
}

TEST(request_that_is_an_effect_is_sent_when_it_is_recorded, "proves: F-060 C-22")
{
    Stand stand;
    AttemptId id;
    if (stand_open(&stand, &plain, 4) && execute_effect(&stand, 1, (Work)GET("/ok"), &id) && EXPECT(stand_await(&stand, 0, 1))) {
        const Notice *effect = stand_said(&stand, NOTICE_EFFECT, 0);
        unsigned before = atomic_load(&http_server_count);
        if (EXPECT(effect && !effect->is_committed && !effect->is_withdrawn))
            EXPECT_STR(stand_json(&stand, effect->value), STR("{\"idempotencyKey\":\"key-of-the-step\",\"runner\":\"http\"}"));
        for (int i = 0; i < 4; i++) stand_turn(&stand, 50);
        EXPECT_INT(atomic_load(&http_server_count), before);                /* not before it is durable */
        stand.executor->ops->acknowledge(stand.executor, &id);
        if (EXPECT(stand_await(&stand, 1, 1))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
        EXPECT_INT(atomic_load(&http_server_count), before + 1);
        EXPECT_INT(stand.said_count, 1);                                    /* the success says the rest */
    }
    stand_take_down(&stand);
}

TEST(request_that_is_not_recorded_is_not_sent, "proves: F-060 C-22")
{
    Stand stand;
    AttemptId id;
    if (stand_open(&stand, &plain, 4)) {
        unsigned before = atomic_load(&http_server_count);
        for (uint32_t i = 0; i < 2; i++) {
            ROW(i ? "it is ended meanwhile" : "it is refused");
            if (!execute_effect(&stand, i, (Work)GET("/ok"), &id) || !EXPECT(stand_await(&stand, i, i + 1))) break;
            if (i) stand.executor->ops->end(stand.executor, &id);
            else stand.executor->ops->refuse(stand.executor, &id);
            if (EXPECT(stand_await(&stand, i + 1, i + 1))) EXPECT_INT(stand_report(&stand, i)->cause, CAUSE_CANCELLED);
            stand.executor->ops->acknowledge(stand.executor, &id);          /* too late */
            stand_turn(&stand, 50);
        }
        ROW("it cannot be made");
        if (execute_effect(&stand, 2, (Work){ "http", NULL, "{}" }, &id) && EXPECT(stand_await(&stand, 3, 2)))
            EXPECT_INT(stand_report(&stand, 2)->cause, CAUSE_INPUT_INVALID);
        EXPECT_INT(stand.said_count, 2);                                    /* and is no effect */
        EXPECT_INT(atomic_load(&http_server_count), before);
    }
    stand_take_down(&stand);
}

TEST(what_comes_of_a_request_says_whether_its_effect_took_place, "proves: F-060 C-22")
{
    enum Fate { UNKNOWN, NONE, DONE };
    static const struct { const char *name; Work work; Cause cause; enum Fate fate; } rows[] = {
        { "200", GET("/ok"), CAUSE_NONE, UNKNOWN },                         /* which the success says itself */
        { "200 that cannot be read", GET("/lie"), CAUSE_OUTPUT_INVALID, DONE },
        { "200 that is too large", GET("/large"), CAUSE_OUTPUT_INVALID, DONE },
        { "503", GET("/503"), CAUSE_TRANSIENT, NONE },
        { "429", GET("/429"), CAUSE_TRANSIENT, NONE },
        { "404", GET("/404"), CAUSE_PERMANENT, NONE },
        { "422", GET("/problem"), CAUSE_INPUT_INVALID, NONE },
        { "nobody there", { "http", NULL, "{\"url\":\"http://127.0.0.1:1/\"}" }, CAUSE_TRANSIENT, NONE },
        { "500", GET("/500"), CAUSE_ERROR, UNKNOWN },
        { "no answer", GET("/drop"), CAUSE_ERROR, UNKNOWN },
        { "304", GET("/304"), CAUSE_PERMANENT, UNKNOWN },
        { "a redirect to a 200", GET("/moved"), CAUSE_NONE, UNKNOWN },
        { "a redirect that never ends", GET("/circle"), CAUSE_PERMANENT, UNKNOWN },
        { "a redirect to nowhere", GET("/file"), CAUSE_PERMANENT, UNKNOWN },
    };
    Stand stand;
    if (!stand_open(&stand, &plain, 4)) return;
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        AttemptId id;
        ROW(rows[i].name);
        uint32_t said = stand.said_count;
        if (!execute_effect(&stand, i, rows[i].work, &id) || !EXPECT(stand_await(&stand, i, said + 1))) break;
        stand.executor->ops->acknowledge(stand.executor, &id);
        if (!EXPECT(stand_await(&stand, i + 1, said + 1))) break;
        EXPECT_INT(stand_report(&stand, i)->cause, rows[i].cause);
        EXPECT_INT(stand.said_count, said + 1 + (rows[i].fate != UNKNOWN));
        const Notice *fate = stand.said_count > said + 1 ? &stand.said[said + 1] : NULL;
        if (fate) EXPECT(fate->is_committed == (rows[i].fate == DONE) && fate->is_withdrawn == (rows[i].fate == NONE));
    }
    stand_take_down(&stand);
}

TEST(service_that_announces_is_sent_its_request_at_once, "proves: F-060 C-22")
{
    static const Work work = { "svc", "{\"url\":\"" BASE
                               "/later/ok\",\"settings\":{\"announces\":true,\"auth\":{\"hmac_env\":\"HTTP_TEST_KEY\"}}}",
                               "{}" };
    static const Work deaf = { "svc", "{\"url\":\"" BASE
                               "/ok\",\"settings\":{\"announces\":true,\"auth\":{\"bearer_env\":\"HTTP_TEST_TOKEN\"}}}",
                               "{}" };
    Stand stand;
    AttemptId id;
    ROW("it has a callback");
    if (stand_open(&stand, &service_that_calls_back, 4) && execute_effect(&stand, 1, work, &id)) EXPECT(stand_await(&stand, 1, 0));
    EXPECT_INT(stand.said_count, 0);
    stand_take_down(&stand);
    ROW("it has none, by which it could announce anything");
    if (stand_open(&stand, &service_that_answers, 4) && execute_effect(&stand, 1, deaf, &id)) EXPECT(stand_await(&stand, 0, 1));
    EXPECT_INT(stand.report_count, 0);
    stand_take_down(&stand);
}
