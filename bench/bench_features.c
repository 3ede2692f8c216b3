/* Measures what the ways of a run cost beside a plain one: bench-features [--json] [RUNS]
 *
 * Each way that a run can take beside going straight on (a retry by itself or by a person, a retry from a step, compensation,
 * branches, polls, pauses with a trigger) is played with RUNS runs (2048 unless told), some under way at a time, by the real
 * compiler and engine, with a store in memory and with time that the program moves: what is left is the engine's own work. Every
 * way is a row of a table with what must have happened; a count that is not as the row says ends the program with status 1.
 *
 * What counts are the ratios to the plain run of two steps, in processor time: of a run, and of one of its records. The ways
 * take turns, and the best of several rounds is taken of each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "engine/engine.h"
#include "lang/compile.h"
#include "store/memory/memory_store.h"
#include "value/json.h"

#define WAVE_COUNT 64u                      /* runs that take each move together */
#define OUT_COUNT_MAX (WAVE_COUNT * 4)      /* attempts that have not reported */
#define RUN_COUNT_MAX (1u << 20)
#define ROUND_COUNT 5
#define WAIT_MS 60000                       /* of one wait: longer than any delay below */

#define TWO(first, second) "jobs:\n  a:\n    tasks:\n      - { name: one, run: noop" first " }\n      - { name: two, run: noop" second " }\n"

/* Moves of a way, for all runs of a wave: attempts that are out report success (.), that a poll goes on (?) or is complete (=), the
 * way of a branch (a), failure (!); a minute passes (w); each run is given a command: retry (r), retry from the first step (f),
 * compensate (c), answer the trigger (t). */
typedef struct Way {
    const char *name, *definition, *moves;
    uint32_t attempt_count;                 /* of a run */
    EventKind mark;                         /* an event that only this way leaves ... */
    uint32_t mark_count;                    /* ... and how many of them a run has */
    EventKind end;                          /* one a run */
} Way;

static const Way ways[] = {
    { "plain", "workflow: w\n" TWO("", ""), "..", 2, EVENT_RUN_REQUEUED, 0, EVENT_RUN_SUCCEEDED },
    { "auto-retry", "workflow: w\nfailure_resolution: { strategy: auto_retry, max_retries: 1, retry_delay: 30s }\n" TWO("", ""),
      ".!w.", 3, EVENT_RUN_REQUEUED, 1, EVENT_RUN_SUCCEEDED },
    { "resolution", "workflow: w\n" TWO("", ""), ".!r.", 3, EVENT_DECISION_MADE, 1, EVENT_RUN_SUCCEEDED },
    { "retry-from", "workflow: w\n" TWO("", ""), ".!f..", 4, EVENT_DECISION_MADE, 1, EVENT_RUN_SUCCEEDED },
    { "compensation", "workflow: w\n" TWO(", compensation: { run: noop }", ""), ".!c.", 3, EVENT_COMPENSATION_SUCCEEDED, 1,
      EVENT_RUN_COMPENSATED },
    { "branches", "workflow: w\njobs:\n  a: { tasks: [{ name: one, run: noop }] }\n"
      "  route: { needs: [a], branch: { type: exclusive, select: outputs.one.way, cases: { a: [left], b: [right] }, converge: join } }\n"
      "  left: { tasks: [{ name: left, run: noop }] }\n  right: { tasks: [{ name: right, run: noop }] }\n"
      "  join: { needs: [left, right], tasks: [{ name: join, run: noop }] }\n", "a..", 3, EVENT_BRANCH_TAKEN, 1, EVENT_RUN_SUCCEEDED },
    { "polls", "workflow: w\n" TWO(", poll: { interval: 30s, max_duration: 1h }", ""), "?w?w=.", 4, EVENT_STEP_POLLING, 2,
      EVENT_RUN_SUCCEEDED },
    { "pause and trigger", "workflow: w\n" TWO(", pause_after: { trigger: boss, timeout: 1h }", ""), ".t.", 2, EVENT_TRIGGER_RECEIVED, 1,
      EVENT_RUN_SUCCEEDED },
};
enum { WAY_COUNT = sizeof ways / sizeof *ways };

typedef struct Stage {
    Executor port;                          /* notes attempts; the moves report them */
    Executor *executors[1];
    Store *store;
    Engine *engine;
    const Way *way;
    Digest plan;
    Arena arena;
    int64_t now_ms;
    uint64_t chance;
    AttemptId out[OUT_COUNT_MAX];
    uint32_t out_count;
    uint64_t run_nos[WAVE_COUNT];
    uint32_t run_count;                     /* of the wave */
    uint64_t attempt_count, record_count, mark_count, end_count, refused_count;
} Stage;

typedef struct Figures { double cpu_us, record_count; } Figures;        /* of one run */

/* --- the engine and what it stands on ------------------------------------------------------------------------------------------ */

static bool take_attempt(Executor *executor, const Attempt *attempt)
{
    Stage *stage = (Stage *)executor;
    if (stage->out_count == OUT_COUNT_MAX) return false;
    stage->out[stage->out_count++] = attempt->id;
    stage->attempt_count++;
    return true;
}

static void end_attempt(Executor *executor, const AttemptId *id) { (void)executor, (void)id; }
static void close_executor(Executor *executor) { (void)executor; }
static const ExecutorOps stage_ops = { .execute = take_attempt, .end = end_attempt, .close = close_executor };

static bool find_runner(void *context, Str tenant, Str runner, uint32_t nth, RunnerOffer *out)
{
    if (nth) return false;
    (void)tenant, (void)runner;
    *out = (RunnerOffer){ .executor = &((Stage *)context)->port, .settings = value_null() };
    return true;
}

static void take_chance(void *context, uint8_t *bytes, size_t size)
{
    Stage *stage = context;
    for (size_t i = 0; i < size; i++) {
        stage->chance = stage->chance * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(stage->chance >> 56);
    }
}

static void take_observation(void *context, const Observation *observation)
{
    Stage *stage = context;
    if (observation->kind != OBSERVE_EVENTS) return;
    stage->record_count++;                      /* of a run: those of the log itself are not observed */
    for (uint32_t i = 0; i < observation->event_count; i++) {
        stage->mark_count += observation->events[i].kind == stage->way->mark;
        stage->end_count += observation->events[i].kind == stage->way->end;
    }
}

static void take_turns(Stage *stage)
{
    EngineClock clock = { stage->now_ms, stage->now_ms };
    while (engine_turn(stage->engine, &clock) || engine_waits_for_store(stage->engine)) { }
}

static void stage_open(Stage *stage, const Way *way)
{
    Catalog catalog;
    Compiled compiled;
    Error err;
    Buf document;
    *stage = (Stage){ .port = { .ops = &stage_ops, .name = STR("here"), .kind = STR("native") }, .way = way,
                      .store = memory_store_new(NULL), .now_ms = 1800000000000 };
    stage->executors[0] = &stage->port;
    arena_init(&stage->arena, SIZE_MAX);
    EngineOptions options = { .store = stage->store, .log = 1, .executors = stage->executors, .executor_count = 1,
                              .runner = find_runner, .random = take_chance, .context = stage };
    CHECK(engine_open(&options, &(EngineClock){ stage->now_ms, stage->now_ms }, &stage->engine, &err) == OK);
    engine_observe(stage->engine, take_observation, stage);
    take_turns(stage);

    catalog_init(&catalog, &stage->arena);
    compile(&stage->arena, str_of(way->definition),
            &(CompileOptions){ .file = STR("bench.yaml"), .format = TEXT_YAML, .catalog = &catalog }, &compiled);
    CHECK(compiled.is_valid);
    buf_init(&document, SIZE_MAX);
    CHECK(canonical_print(&document, compiled.plan.document, &err) == OK);
    CHECK(engine_plan_add(stage->engine, buf_peek(&document), &stage->plan, &err) == OK);
    buf_deinit(&document);
}

static void stage_close(Stage *stage)
{
    engine_close(stage->engine);
    store_close(stage->store);
    arena_deinit(&stage->arena);
}

/* --- moves ------------------------------------------------------------------------------------------------------------------- */

static void take_reply(void *context, const EngineReply *reply)
{
    ((Stage *)context)->refused_count += reply->status != OK;
}

static void take_start(void *context, const EngineReply *reply)
{
    Stage *stage = context;
    take_reply(context, reply);
    if (!reply->status) stage->run_nos[stage->run_count++] = reply->run_no;
}

static void start_wave(Stage *stage, uint32_t count)
{
    stage->run_count = 0;
    for (uint32_t i = 0; i < count; i++)
        CHECK(engine_start(stage->engine, &(EngineStart){ .plan = stage->plan, .tenant = STR("default"), .reply = take_start,
                                                          .context = stage, .command.actor = STR("user:bench") }));
    take_turns(stage);
}

static void report_all(Stage *stage, Cause cause, const char *output)
{
    Error err;
    Report report = { .cause = cause, .output = value_null() };
    if (cause) report.message = STR("broken");
    if (output) CHECK(json_parse(&stage->arena, str_of(output), &report.output, &err) == OK);
    uint32_t count = stage->out_count;
    stage->out_count = 0;
    for (uint32_t i = 0; i < count; i++)
        engine_notice(stage->engine, &(Notice){ .kind = NOTICE_REPORT, .id = stage->out[i], .report = report });
}

static void command_all(Stage *stage, Command command)
{
    command.actor = STR("user:bench");
    command.value = value_null();
    for (uint32_t i = 0; i < stage->run_count; i++)
        CHECK(engine_request(stage->engine, &(EngineRequest){ .run_no = stage->run_nos[i], .command = command, .reply = take_reply,
                                                              .context = stage }));
}

static void make_move(Stage *stage, char move)
{
    switch (move) {
    case '.': report_all(stage, CAUSE_NONE, NULL); break;
    case '?': report_all(stage, CAUSE_NONE, "{\"continue\": true}"); break;
    case '=': report_all(stage, CAUSE_NONE, "{\"complete\": true}"); break;
    case 'a': report_all(stage, CAUSE_NONE, "{\"way\": \"a\"}"); break;
    case '!': report_all(stage, CAUSE_PERMANENT, NULL); break;
    case 'w': stage->now_ms += WAIT_MS; break;
    case 'r': command_all(stage, (Command){ .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY }); break;
    case 'f': command_all(stage, (Command){ .kind = COMMAND_RETRY_FROM, .name = STR("a.one"), .mode = RETRY_ONLY }); break;
    case 'c': command_all(stage, (Command){ .kind = COMMAND_COMPENSATE }); break;
    case 't': command_all(stage, (Command){ .kind = COMMAND_TRIGGER, .name = STR("boss") }); break;
    default: CHECK(!"a move of the table above");
    }
    take_turns(stage);
}

/* --- measuring --------------------------------------------------------------------------------------------------------------- */

static double cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static bool is_count(const Way *way, const char *what, uint64_t got, uint64_t want)
{
    if (got == want) return true;
    fprintf(stderr, "bench-features: %s: %" PRIu64 " %s, expected %" PRIu64 "\n", way->name, got, what, want);
    return false;
}

static bool play(const Way *way, uint32_t run_count, Figures *out)
{
    static Stage stage;
    stage_open(&stage, way);
    double begun_us = cpu_us();
    for (uint32_t left = run_count; left;) {
        uint32_t count = left < WAVE_COUNT ? left : WAVE_COUNT;
        start_wave(&stage, count);
        for (const char *move = way->moves; *move; move++) make_move(&stage, *move);
        left -= count;
    }
    out->cpu_us = (cpu_us() - begun_us) / run_count;
    out->record_count = (double)stage.record_count / run_count;
    bool is_right = is_count(way, "refusals", stage.refused_count, 0)
                  & is_count(way, "attempts", stage.attempt_count, (uint64_t)way->attempt_count * run_count)
                  & is_count(way, "events of the way", stage.mark_count, (uint64_t)way->mark_count * run_count)
                  & is_count(way, "runs at their end", stage.end_count, run_count);
    stage_close(&stage);
    return is_right;
}

static void print_row(bool is_json, const Way *way, const Figures *figures, const Figures *plain)
{
    double run_ratio = figures->cpu_us / plain->cpu_us;
    double record_ratio = run_ratio * plain->record_count / figures->record_count;
    if (is_json)
        printf("{\"way\":\"%s\",\"attempts\":%u,\"records\":%.2f,\"us\":%.2f,\"run_ratio\":%.3f,\"record_ratio\":%.3f}\n", way->name,
               way->attempt_count, figures->record_count, figures->cpu_us, run_ratio, record_ratio);
    else
        printf("%-18s %9u %9.2f %9.2f %9.2f %9.2f\n", way->name, way->attempt_count, figures->record_count, figures->cpu_us, run_ratio,
               record_ratio);
}

int main(int argc, char **argv)
{
    bool is_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    const char *word = argc > 1 + is_json ? argv[1 + is_json] : "2048";
    unsigned long run_count = strtoul(word, NULL, 10);
    if (!run_count || run_count > RUN_COUNT_MAX || argc > 2 + is_json) {
        fprintf(stderr, "usage: bench-features [--json] [RUNS]\nRUNS is 1 to %u\n", RUN_COUNT_MAX);
        return 2;
    }
    Figures best[WAY_COUNT];
    for (int round = 0; round < ROUND_COUNT; round++)
        for (size_t i = 0; i < WAY_COUNT; i++) {
            Figures figures;
            if (!play(&ways[i], (uint32_t)run_count, &figures)) return 1;
            if (!round || figures.cpu_us < best[i].cpu_us) best[i] = figures;
        }
    if (!is_json) printf("%-18s %9s %9s %9s %9s %9s\n", "way", "attempts", "records", "us a run", "run ratio", "a record");
    for (size_t i = 0; i < WAY_COUNT; i++) print_row(is_json, &ways[i], &best[i], &best[0]);
    return 0;
}
