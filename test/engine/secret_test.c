/* Secrets from the one who sets them to the one who may read them, and triggers from outside: vault, engine and handler
 * together. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "harness/test.h"
#include "lang/compile.h"
#include "ledger/record.h"
#include "secret/trigger.h"
#include "secret/vault.h"
#include "store/memory/memory_store.h"
#include "value/json.h"
#include "view/audit.h"
#include "view/run_rows.h"

#define PLANTED "planted-hunter-22"

typedef struct Bench {
    Store *store;
    Vault *vault;
    Engine *engine;
    Executor fake;
    Executor *executors[1];
    AttemptId taken[16];
    char input[16][512];
    uint32_t taken_count, reply_count;
    char key_path[64];
    int64_t now_ms;
    uint64_t chance;
    Arena arena;
    EngineReply reply;
    Error error;
} Bench;

/* --- a workshop ------------------------------------------------------------------------------------------------------------ */

static Bench *bench_now;                /* executors have no context of their own */

static bool fake_execute(Executor *executor, const Attempt *attempt)
{
    Bench *bench = bench_now;
    Error err;
    (void)executor;
    Buf text = buf_on(bench->input[bench->taken_count], sizeof bench->input[0] - 1);
    EXPECT_OK(json_print(&text, attempt->input, JSON_COMPACT, &err), &err);
    bench->input[bench->taken_count][text.len] = '\0';
    bench->taken[bench->taken_count++] = attempt->id;
    return true;
}

static void fake_end(Executor *executor, const AttemptId *id) { (void)executor, (void)id; }
static void fake_close(Executor *executor) { (void)executor; }
static const ExecutorOps fake_ops = { .execute = fake_execute, .end = fake_end, .close = fake_close };

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
    Bench *bench = context;
    (void)tenant;
    *out = (RunnerOffer){ .executor = &bench->fake, .settings = value_null() };
    return str_is_text(runner, "noop");
}

static void chance(void *context, uint8_t *bytes, size_t size)
{
    Bench *bench = context;
    for (size_t i = 0; i < size; i++) {
        bench->chance = bench->chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(bench->chance >> 56);
    }
}

static void open_engine(Bench *bench)
{
    Error err;
    EngineOptions options = { .store = bench->store, .log = 1, .executors = bench->executors, .executor_count = 1,
                              .runner = find_runner, .random = chance, .context = bench, .secret = vault_secret,
                              .secret_context = bench->vault };
    EXPECT_OK(engine_open(&options, &(EngineClock){ bench->now_ms, bench->now_ms }, &bench->engine, &err), &err);
}

static void begin(Bench *bench, const MemoryOptions *options)
{
    memset(bench, 0, sizeof *bench);
    bench_now = bench;
    snprintf(bench->key_path, sizeof bench->key_path, "secret-test-%ld.key", (long)getpid());
    bench->store = memory_store_new(options);
    bench->vault = vault_new(bench->store, bench->key_path);
    bench->fake = (Executor){ .ops = &fake_ops, .name = STR("fake"), .kind = STR("native") };
    bench->executors[0] = &bench->fake;
    bench->now_ms = 1766000000000;
    arena_init(&bench->arena, SIZE_MAX);
    open_engine(bench);
}

static void end(Bench *bench)
{
    engine_close(bench->engine);
    vault_free(bench->vault);
    store_close(bench->store);
    arena_deinit(&bench->arena);
    unlink(bench->key_path);
}

static void turns(Bench *bench)
{
    for (int i = 0; i < 50; i++) engine_turn(bench->engine, &(EngineClock){ bench->now_ms, bench->now_ms });
}

static void take_reply(void *context, const EngineReply *reply)
{
    Bench *bench = context;
    bench->reply = *reply;
    if (reply->error) bench->error = *reply->error;
    bench->reply.error = NULL;
    bench->reply_count++;
}

static void start_plan(Bench *bench, Str document)
{
    Error err;
    Digest digest;
    EXPECT_OK(engine_plan_add(bench->engine, document, &digest, &err), &err);
    EXPECT(engine_start(bench->engine, &(EngineStart){ .plan = digest, .tenant = STR("default"), .reply = take_reply,
                                                       .context = bench, .command.actor = STR("user:test") }));
    turns(bench);
    EXPECT_INT(bench->reply.status, OK);
}

/* The plan of a definition, as text. */
static void plan_of(Bench *bench, const char *text, Buf *out)
{
    Catalog catalog;
    Compiled compiled;
    Error err;
    catalog_init(&catalog, &bench->arena);
    compile(&bench->arena, str_of(text), &(CompileOptions){ .file = STR("test.yaml"), .format = TEXT_YAML, .catalog = &catalog },
            &compiled);
    REQUIRE(compiled.is_valid);
    EXPECT_OK(canonical_print(out, compiled.plan.document, &err), &err);
}

static void start(Bench *bench, const char *text)
{
    Buf document;
    buf_init(&document, SIZE_MAX);
    plan_of(bench, text, &document);
    start_plan(bench, buf_peek(&document));
    buf_deinit(&document);
}

static void send_sealed(Bench *bench, const char *tenant, const char *name, const Sealed *sealed)
{
    EngineSecret secret = { .tenant = str_of(tenant), .name = str_of(name), .is_removal = !sealed, .reply = take_reply,
                            .context = bench, .command.actor = STR("user:ana") };
    if (sealed) {
        secret.sealed = sealed->bytes;
        secret.tenant_key = sealed->tenant_key;
    }
    EXPECT(engine_secret(bench->engine, &secret));
}

static Sealed seal(Bench *bench, const char *tenant, const char *name, const char *value)
{
    Sealed sealed = { 0 };
    EXPECT_OK(vault_seal(bench->vault, &bench->arena, str_of(tenant), str_of(name), str_of(value), &sealed, &bench->error),
              &bench->error);
    return sealed;
}

static void set(Bench *bench, const char *tenant, const char *name, const char *value)
{
    Sealed sealed = seal(bench, tenant, name, value);
    send_sealed(bench, tenant, name, &sealed);
    turns(bench);
}

static void expect_value(Bench *bench, const char *tenant, const char *name, const char *want)
{
    Str value = { 0 };
    Error err = { 0 };
    Status status = vault_secret(bench->vault, str_of(tenant), str_of(name), &value, &err);
    EXPECT_INT(status, want ? OK : ERR_NOT_FOUND);
    if (want && !status) EXPECT_STR(value, str_of(want));
}

/* Everything that the store has, as one text. */
typedef struct Dump { Buf *out; int64_t last; uint32_t seen; } Dump;

static bool take_row(void *context, const Cell *cells, uint32_t count)
{
    Dump *dump = context;
    dump->seen++;
    dump->last = cells[0].kind == CELL_INT ? cells[0].integer : 0;
    for (uint32_t i = 0; i < count; i++)
        if (cells[i].kind == CELL_TEXT || cells[i].kind == CELL_BLOB) {
            buf_str(dump->out, cells[i].text);
            buf_char(dump->out, '\n');
        }
    return true;
}

static void dump_all(Bench *bench, Buf *out)
{
    Error err;
    Dump dump = { .out = out };
    do {
        dump.seen = 0;
        QueryAsk ask = { .query = QUERY_RECORDS, .params = { cell_int(dump.last + 1) }, .param_count = 1 };
        EXPECT_OK(store_select(bench->store, &ask, take_row, &dump, &err), &err);
    } while (dump.seen);
    const QueryAsk asks[] = {
        { .query = QUERY_RUN, .params = { cell_int(1) }, .param_count = 1 },
        { .query = QUERY_STEP_RUNS, .params = { cell_int(1), cell_int(0) }, .param_count = 2 },
        { .query = QUERY_ATTEMPTS_OF_RUN, .params = { cell_int(1), cell_int(-1), cell_int(0) }, .param_count = 3 },
        { .query = QUERY_SIGNALS, .params = { cell_int(1), cell_int(0) }, .param_count = 2 },
        { .query = QUERY_LOG_LINES, .params = { cell_int(1), cell_int(0), cell_null() }, .param_count = 3 },
        { .query = QUERY_PLANS, .params = { cell_blob(STR("")) }, .param_count = 1 },
        { .query = QUERY_SNAPSHOT, .params = { cell_int(1) }, .param_count = 1 },
        { .query = QUERY_SECRET, .params = { cell_text(STR("default")), cell_text(STR("TOKEN")) }, .param_count = 2 },
        { .query = QUERY_TENANT_KEYS, .params = { cell_text(STR("")) }, .param_count = 1 },
    };
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
        EXPECT_OK(store_select(bench->store, &asks[i], take_row, &dump, &err), &err);
}

static bool has(const Buf *text, const char *word) { return memmem(text->ptr, text->len, word, strlen(word)) != NULL; }

static void tell_finding(void *context, const Finding *finding)
{
    (void)context;
    fprintf(stderr, "finding: %.*s\n", STR_ARG(finding->text));
}

static void expect_sound(Bench *bench)
{
    AuditReport report = { 0 };
    Error err;
    EXPECT_OK(audit_store(bench->store, &(AuditOptions){ .finding = tell_finding }, &report, &err), &err);
    EXPECT_INT(report.damage_count, 0);
}

static void notice(Bench *bench, Notice notice)
{
    notice.id = bench->taken[bench->taken_count - 1];
    engine_notice(bench->engine, &notice);
    turns(bench);
}

static bool take_state(void *context, const Cell *cells, uint32_t count)
{
    (void)count;
    snprintf(context, 128, "%.*s", STR_ARG(cells[RUNS_state].text));
    return false;
}

static void expect_state(Bench *bench, const char *want)
{
    char state[128] = "";
    Error err;
    QueryAsk ask = { .query = QUERY_RUN, .params = { cell_int(1) }, .param_count = 1 };
    EXPECT_OK(store_select(bench->store, &ask, take_state, state, &err), &err);
    EXPECT_STR(str_of(state), str_of(want));
}

/* --- setting and reading --------------------------------------------------------------------------------------------------- */

TEST(a_secret_is_read_as_it_was_set_by_its_tenant_alone, "proves: F-103")
{
    Bench bench;
    begin(&bench, NULL);
    set(&bench, "default", "TOKEN", "first value");
    EXPECT_INT(bench.reply.status, OK);
    expect_value(&bench, "default", "TOKEN", "first value");
    set(&bench, "default", "TOKEN", "second value");
    expect_value(&bench, "default", "TOKEN", "second value");
    expect_value(&bench, "acme", "TOKEN", NULL);
    set(&bench, "acme", "TOKEN", "of acme");
    expect_value(&bench, "default", "TOKEN", "second value");
    expect_value(&bench, "acme", "TOKEN", "of acme");
    expect_sound(&bench);
    send_sealed(&bench, "acme", "TOKEN", NULL);
    turns(&bench);
    EXPECT_INT(bench.reply.status, OK);
    expect_value(&bench, "acme", "TOKEN", NULL);
    send_sealed(&bench, "acme", "TOKEN", NULL);
    turns(&bench);
    EXPECT_INT(bench.reply.status, ERR_NOT_FOUND);
    EXPECT_STR(str_of(bench.error.text), STR("tenant 'acme' has no secret 'TOKEN'"));
    set(&bench, "acme", "TOKEN", "once more");
    expect_value(&bench, "acme", "TOKEN", "once more");
    expect_sound(&bench);
    end(&bench);
}

TEST(two_who_make_the_first_key_of_a_tenant_end_with_one_key, "proves: F-103")
{
    Bench bench;
    begin(&bench, NULL);
    Sealed one = seal(&bench, "default", "A", "value of A"), two = seal(&bench, "default", "B", "value of B");
    EXPECT(!str_is(one.tenant_key, two.tenant_key));
    send_sealed(&bench, "default", "A", &one);
    send_sealed(&bench, "default", "B", &two);      /* in the same turn: it waits for the first */
    turns(&bench);
    EXPECT_INT(bench.reply_count, 2);
    EXPECT_INT(bench.reply.status, ERR_CONFLICT);
    expect_value(&bench, "default", "A", "value of A");
    expect_value(&bench, "default", "B", NULL);
    set(&bench, "default", "B", "value of B");
    expect_value(&bench, "default", "A", "value of A");
    expect_value(&bench, "default", "B", "value of B");
    Sealed key = seal(&bench, "default", "", "");   /* the key alone: it is there */
    send_sealed(&bench, "default", "", &key);
    turns(&bench);
    EXPECT(bench.reply.status == OK && bench.reply.is_noop);
    key = seal(&bench, "acme", "", "");
    send_sealed(&bench, "acme", "", &key);
    turns(&bench);
    EXPECT(bench.reply.status == OK && !bench.reply.is_noop);
    expect_sound(&bench);
    end(&bench);
}

static MemoryFault refuse_second(void *context, bool is_read, uint64_t number)
{
    (void)context;
    return !is_read && number == 2 ? MEMORY_FAULT_REFUSE : MEMORY_FAULT_NONE;
}

TEST(a_secret_whose_commit_was_refused_is_not_there, "")
{
    Bench bench;
    begin(&bench, &(MemoryOptions){ .fault = refuse_second });
    turns(&bench);                                  /* the owner is in the store */
    set(&bench, "default", "TOKEN", "first value");
    EXPECT_INT(bench.reply.status, ERR_UNAVAILABLE);
    expect_value(&bench, "default", "TOKEN", NULL);
    for (int i = 0; i < 10; i++) {
        bench.now_ms += 2000;
        turns(&bench);
    }
    set(&bench, "default", "TOKEN", "second value");
    EXPECT_INT(bench.reply.status, OK);
    expect_value(&bench, "default", "TOKEN", "second value");
    expect_sound(&bench);
    end(&bench);
}

TEST(without_its_key_file_a_store_opens_nothing_and_seals_nothing, "")
{
    Bench bench;
    begin(&bench, NULL);
    set(&bench, "default", "TOKEN", "first value");
    char moved[80];
    snprintf(moved, sizeof moved, "%s.moved", bench.key_path);
    REQUIRE(rename(bench.key_path, moved) == 0);
    Vault *vault = vault_new(bench.store, bench.key_path);
    Str value;
    Sealed sealed;
    Error err;
    EXPECT_INT(vault_secret(vault, STR("default"), STR("TOKEN"), &value, &err), ERR_CORRUPT);
    EXPECT(strstr(err.text, "the store has secrets, and the key file") && strstr(err.text, "is not there"));
    EXPECT_INT(vault_seal(vault, &bench.arena, STR("acme"), STR("A"), STR("value"), &sealed, &err), ERR_CORRUPT);
    EXPECT(access(bench.key_path, F_OK) != 0);      /* no other one was made in its place */
    REQUIRE(rename(moved, bench.key_path) == 0);
    EXPECT_OK(vault_secret(vault, STR("default"), STR("TOKEN"), &value, &err), &err);
    EXPECT_STR(value, STR("first value"));
    vault_free(vault);
    vault = vault_new(bench.store, NULL);
    EXPECT_INT(vault_secret(vault, STR("default"), STR("OTHER"), &value, &err), ERR_NOT_FOUND);
    EXPECT(vault_seal(vault, &bench.arena, STR("acme"), STR("A"), STR("value"), &sealed, &err) != OK);
    vault_free(vault);
    end(&bench);
}

/* --- at dispatch ----------------------------------------------------------------------------------------------------------- */

#define WITH_SECRET "workflow: w\njobs:\n  a: { tasks: [{ name: one, run: noop, input: { token: \"${secrets.TOKEN}\" } }] }\n"

TEST(a_secret_reaches_its_runner_and_is_found_nowhere_else, "")
{
    static const struct { const char *name; Cause cause; const char *state; } rows[] = {
        { "a runner that gives it as its output", CAUSE_NONE, "SUCCEEDED" },
        { "a runner that fails with it", CAUSE_PERMANENT, "FAILED" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Bench bench;
        Buf all;
        begin(&bench, NULL);
        set(&bench, "default", "TOKEN", PLANTED);
        start(&bench, WITH_SECRET);
        EXPECT_INT(bench.taken_count, 1);
        EXPECT_STR(str_of(bench.input[0]), STR("{\"token\":\"" PLANTED "\"}"));
        notice(&bench, (Notice){ .kind = NOTICE_LOG, .text = STR("the token is " PLANTED "!"), .value = value_null() });
        notice(&bench, (Notice){ .kind = NOTICE_SIGNAL, .name = STR("s"), .sort = SIGNAL_HEALTH,
                                 .value = value_string(STR(PLANTED)) });
        notice(&bench, (Notice){ .kind = NOTICE_PROGRESS, .text = STR(PLANTED), .value = value_null() });
        notice(&bench, (Notice){ .kind = NOTICE_REPORT, .value = value_null(),
                                 .report = { .cause = rows[i].cause, .message = STR("said " PLANTED),
                                             .output = value_string(STR("out " PLANTED)) } });
        bench.now_ms += 2 * LOG_DELAY_MS;
        turns(&bench);
        expect_state(&bench, rows[i].state);
        buf_init(&all, SIZE_MAX);
        dump_all(&bench, &all);
        EXPECT(!has(&all, PLANTED));
        EXPECT(has(&all, "the token is ***!"));
        EXPECT(has(&all, "out ***"));
        EXPECT(has(&all, "{\"token\":\"${secrets.TOKEN}\"}"));     /* what is recorded is what was written */
        if (rows[i].cause) EXPECT(has(&all, "said ***"));
        buf_deinit(&all);
        expect_sound(&bench);
        end(&bench);
    }
}

TEST(a_step_whose_secret_is_not_set_fails_for_good_and_says_how_to_set_it, "")
{
    Bench bench;
    Buf all;
    begin(&bench, NULL);
    start(&bench, WITH_SECRET);
    EXPECT_INT(bench.taken_count, 0);
    expect_state(&bench, "FAILED");
    buf_init(&all, SIZE_MAX);
    dump_all(&bench, &all);
    EXPECT(has(&all, "${secrets.TOKEN}: tenant 'default' has no secret 'TOKEN': maestro secret set TOKEN"));
    EXPECT(has(&all, "permanent"));
    buf_deinit(&all);
    end(&bench);
}

/* --- triggers -------------------------------------------------------------------------------------------------------------- */

#define PAUSED(auth) "workflow: w\njobs:\n  a:\n    tasks:\n" \
                     "      - { name: one, run: noop, pause_after: { trigger: approval" auth " } }\n" \
                     "      - { name: two, run: noop }\n"
#define BODY "{\"approved\":true}"

typedef struct Door { TriggerDesk desk; TriggerHeader headers[2]; TriggerRequest request; TriggerOrder order; int64_t wait_ms; Error err; } Door;

static void door_open(Door *door, Bench *bench)
{
    *door = (Door){ .desk = { .store = bench->store, .vault = bench->vault } };
    Str run_id = arena_copy(&bench->arena, id_peek(&bench->reply.run_id));
    door->request = (TriggerRequest){ .method = STR("POST"), .path = STR("/maestro/trigger/run/approval"),
                                      .run_id = run_id, .trigger = STR("approval"), .headers = door->headers,
                                      .body = STR(BODY), .source = STR("192.0.2.7"), .now_ms = bench->now_ms };
}

static void door_sign_at(Door *door, Bench *bench, const char *secret, const char *time)
{
    door->headers[0] = (TriggerHeader){ STR("X-Maestro-Timestamp"), str_of(time) };
    door->headers[1] = (TriggerHeader){ STR("X-Maestro-Signature"),
                                        trigger_sign(&bench->arena, str_of(secret), str_of(time), &door->request) };
    door->request.header_count = 2;
}

static void door_sign(Door *door, Bench *bench, const char *secret) { door_sign_at(door, bench, secret, "1766000000"); }

/* As the route does: who is let in has his body read. Of what is proved elsewhere nothing but its copy is left. */
static Status handle(Door *door, Bench *bench)
{
    Arena *arena = &bench->arena, elsewhere;
    const Cell *run = NULL;
    TriggerOrder order;
    Status status = run_row(arena, bench->store, door->request.run_id, &run, &door->err);
    arena_init(&elsewhere, SIZE_MAX);
    if (!status) status = trigger_prove(&door->desk, &elsewhere, &door->request, run, /* plan= */ NULL, &order, &door->err);
    if (!status) order = trigger_order_copy(arena, &order);
    arena_deinit(&elsewhere);
    if (!status) status = trigger_admit(&door->desk, arena, &order, door->request.now_ms, &door->wait_ms, &door->err);
    if (!status && door->request.body.len) status = json_parse(arena, door->request.body, &order.command.value, &door->err);
    if (!status) door->order = order;
    return status;
}

static void send_order(const Door *door, Bench *bench)
{
    EXPECT(engine_request(bench->engine, &(EngineRequest){ .run_id = door->order.run_id, .tenant = door->order.tenant,
                                                           .command = door->order.command,
                                                           .reply = take_reply, .context = bench }));
    turns(bench);
}

static void report_done(Bench *bench)
{
    notice(bench, (Notice){ .kind = NOTICE_REPORT, .value = value_null(), .report.output = value_null() });
}

TEST(an_authenticated_trigger_resumes_its_run_and_says_from_whom_and_where, "proves: A-196 A-197 A-211")
{
    Bench bench;
    Door door;
    Buf all;
    begin(&bench, NULL);
    set(&bench, "default", "definition/w", "the secret of w");
    start(&bench, PAUSED(""));
    door_open(&door, &bench);
    report_done(&bench);
    expect_state(&bench, "PAUSED");
    uint64_t before = engine_stats(bench.engine).record_count;
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);                  /* nothing is signed */
    door_sign(&door, &bench, "another secret");
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);
    door_sign(&door, &bench, "the secret of w");
    door.request.body = STR("{\"approved\":false}");
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);                  /* tampered with */
    expect_state(&bench, "PAUSED");
    EXPECT_INT(engine_stats(bench.engine).record_count, before);
    door.request.body = STR(BODY);
    EXPECT_OK(handle(&door, &bench), &door.err);
    EXPECT_INT(door.order.command.kind, COMMAND_TRIGGER);
    EXPECT_STR(door.order.tenant, STR("default"));
    send_order(&door, &bench);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.taken_count, 2);
    report_done(&bench);
    expect_state(&bench, "SUCCEEDED");
    buf_init(&all, SIZE_MAX);
    dump_all(&bench, &all);
    EXPECT(has(&all, "hmac:definition/w") && has(&all, "192.0.2.7"));
    EXPECT(!has(&all, "the secret of w"));
    buf_deinit(&all);
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);
    EXPECT_STR(str_of(door.err.text), STR("the request was received before"));
    ROW("a door that has forgotten it: the owner of the log has not");
    trigger_replays_deinit(&door.desk.replays);
    EXPECT_OK(handle(&door, &bench), &door.err);
    send_order(&door, &bench);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.taken_count, 2);
    trigger_replays_deinit(&door.desk.replays);
    expect_sound(&bench);
    end(&bench);
}

TEST(a_pause_declares_its_replay_window, "proves: F-050 C-28")
{
    static const struct { const char *name, *declared; int64_t late_ms; Status status; } rows[] = {
        { "within the one that is declared", ", replay_window: 10s", 9000, OK },
        { "beyond it", ", replay_window: 10s", 11000, ERR_DENIED },
        { "as far ahead", ", replay_window: 10s", -11000, ERR_DENIED },
        { "a longer one", ", replay_window: 1h", 3000000, OK },
        { "within the usual one", "", 299000, OK },
        { "beyond that", "", 301000, ERR_DENIED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Bench bench;
        Door door;
        ROW(rows[i].name);
        begin(&bench, NULL);
        set(&bench, "default", "definition/w", "the secret of w");
        start(&bench, arena_format(&bench.arena, PAUSED("%s") "%c", rows[i].declared, 0).ptr);
        door_open(&door, &bench);
        report_done(&bench);
        door_sign(&door, &bench, "the secret of w");
        door.request.now_ms = 1766000000000 + rows[i].late_ms;
        EXPECT_INT(handle(&door, &bench), rows[i].status);
        trigger_replays_deinit(&door.desk.replays);
        end(&bench);
    }
}

TEST(a_pause_takes_no_more_triggers_than_its_rate_limit, "proves: F-049 C-28")
{
    Bench bench;
    Door door;
    begin(&bench, NULL);
    set(&bench, "default", "definition/w", "the secret of w");
    start(&bench, PAUSED(", rate_limit: 2/m, resume_when: payload.approved == 7"));
    door_open(&door, &bench);
    report_done(&bench);
    static const char *const times[] = { "1766000000", "1766000001", "1766000002", "1766000003" };
    for (size_t i = 0; i < 2; i++) {
        ROW(times[i]);
        door_sign_at(&door, &bench, "the secret of w", times[i]);
        REQUIRE_OK(handle(&door, &bench), &door.err);
        send_order(&door, &bench);
    }
    ROW("what is beyond it is told so, and is no business of the run's");
    uint64_t before = engine_stats(bench.engine).record_count;
    door_sign_at(&door, &bench, "the secret of w", times[2]);
    EXPECT_INT(handle(&door, &bench), ERR_LIMIT);
    EXPECT(strstr(door.err.text, "'approval' was sent 2 times within 60 s, which is its rate_limit") != NULL);
    EXPECT(door.wait_ms > 59000 && door.wait_ms <= 60000);
    EXPECT_INT(engine_stats(bench.engine).record_count, before);
    ROW("and when there is room again: a minute after the first");
    door.request.now_ms = bench.now_ms + 10000;
    EXPECT_INT(handle(&door, &bench), ERR_LIMIT);
    EXPECT(door.wait_ms > 0 && door.wait_ms <= 50000);
    door.request.now_ms = bench.now_ms;
    ROW("a stranger does not learn it");
    door_sign_at(&door, &bench, "another secret", times[3]);
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);
    ROW("later there is room again");
    door.request.now_ms = bench.now_ms + 61000;
    door_sign_at(&door, &bench, "the secret of w", times[3]);
    EXPECT_OK(handle(&door, &bench), &door.err);
    trigger_replays_deinit(&door.desk.replays);
    expect_sound(&bench);
    end(&bench);
}

TEST(triggers_that_come_at_once_are_as_many_as_those_one_after_the_other, "proves: F-049 C-28")
{
    Bench bench;
    Door door;
    TriggerOrder first;
    begin(&bench, NULL);
    set(&bench, "default", "definition/w", "the secret of w");
    start(&bench, PAUSED(", rate_limit: 1/m, resume_when: payload.approved == 7"));
    door_open(&door, &bench);
    report_done(&bench);
    door_sign_at(&door, &bench, "the secret of w", "1766000000");
    REQUIRE_OK(handle(&door, &bench), &door.err);
    first = door.order;
    trigger_depart(&door.desk, &first);
    ROW("the engine has the first, and nothing of it is stored");
    door_sign_at(&door, &bench, "the secret of w", "1766000001");
    EXPECT_INT(handle(&door, &bench), ERR_LIMIT);
    ROW("nothing came of the first");
    trigger_settle(&door.desk, &first);
    EXPECT_OK(handle(&door, &bench), &door.err);
    EXPECT(!door.desk.flights);
    trigger_replays_deinit(&door.desk.replays);
    expect_sound(&bench);
    end(&bench);
}

TEST(a_bearer_token_resumes_its_run, "proves: A-198")
{
    Bench bench;
    Door door;
    TriggerToken token;
    begin(&bench, NULL);
    Sealed key = seal(&bench, "default", "", "");
    send_sealed(&bench, "default", "", &key);
    turns(&bench);
    start(&bench, PAUSED(", auth: { bearer: true }"));
    door_open(&door, &bench);
    report_done(&bench);
    EXPECT_OK(vault_token(bench.vault, STR("default"), door.request.run_id, STR("approval"), &token, &door.err), &door.err);
    door.headers[0] = (TriggerHeader){ STR("Authorization"), arena_format(&bench.arena, "Bearer %s", token.text) };
    door.request.header_count = 1;
    EXPECT_OK(handle(&door, &bench), &door.err);
    send_order(&door, &bench);
    EXPECT_INT(bench.reply.status, OK);
    EXPECT_INT(bench.taken_count, 2);
    end(&bench);
}

TEST(a_policy_that_is_asked_about_a_trigger_is_a_registered_one, "proves: A-200")
{
    Bench bench;
    Door door;
    Catalog catalog;
    Guard *guard;
    begin(&bench, NULL);
    catalog_init(&catalog, &bench.arena);
    start(&bench, PAUSED(", auth: { policy: who-may }"));
    door_open(&door, &bench);
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);
    EXPECT_STR(str_of(door.err.text), STR("this process has no policies"));
    REQUIRE_OK(guard_open(&(GuardOptions){ .catalog = &catalog }, &guard, &door.err), &door.err);
    door.desk.guard = guard;
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);
    EXPECT(strstr(door.err.text, "the policy 'who-may' cannot be used: it is not registered") != NULL);
    guard_close(guard);
    end(&bench);
}

/* A definition has one pause for a trigger; of a plan that somebody else made that is not known. */
TEST(a_trigger_of_pauses_that_are_authenticated_differently_lets_nobody_in, "proves: A-196")
{
    Bench bench;
    Door door;
    Buf document;
    begin(&bench, NULL);
    set(&bench, "default", "definition/w", "the secret of w");
    buf_init(&document, SIZE_MAX);
    plan_of(&bench, "workflow: w\njobs:\n  a:\n    tasks:\n      - { name: one, run: noop, pause_after: { trigger: approval } }\n"
                    "      - { name: two, run: noop, pause_after: { trigger: approvaX, auth: { bearer: true } } }\n", &document);
    char *other = memchr(document.ptr, 'X', document.len);
    REQUIRE(other != NULL);
    *other = 'l';
    start_plan(&bench, buf_peek(&document));
    buf_deinit(&document);
    door_open(&door, &bench);
    door_sign(&door, &bench, "the secret of w");
    EXPECT_INT(handle(&door, &bench), ERR_DENIED);
    EXPECT(strstr(door.err.text, "are authenticated differently") != NULL);
    trigger_replays_deinit(&door.desk.replays);
    end(&bench);
}

TEST(a_trigger_that_is_about_nothing_is_refused_and_one_without_a_body_is_not, "proves: A-196")
{
    Bench bench;
    Door door;
    begin(&bench, NULL);
    set(&bench, "default", "definition/w", "the secret of w");
    start(&bench, PAUSED(""));
    door_open(&door, &bench);
    Str run_id = door.request.run_id;
    static const char *const strangers[] = { "", "x", "AAAAAAAAAAAAAAAAAAAAA", "../../etc" };
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        ROW(strangers[i]);
        door.request.run_id = str_of(strangers[i]);
        EXPECT_INT(handle(&door, &bench), ERR_NOT_FOUND);
    }
    ROW("another trigger");
    door.request.run_id = run_id;
    door.request.trigger = STR("other");
    EXPECT_INT(handle(&door, &bench), ERR_NOT_FOUND);
    ROW("no body");
    door.request.trigger = STR("approval");
    door.request.body = STR("");
    door_sign(&door, &bench, "the secret of w");
    EXPECT_OK(handle(&door, &bench), &door.err);
    EXPECT_INT(door.order.command.value.kind, VALUE_NULL);
    trigger_replays_deinit(&door.desk.replays);
    end(&bench);
}
