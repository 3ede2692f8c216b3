/* What a verdict at a hook costs: nanoseconds for each hook, beside making the document that the policy is asked about.
 *
 *     bench-policy [--json] FILE [SECONDS]
 *
 * FILE is a policy, as --policy of `maestro bench` takes it. Each hook is measured for so many seconds (0.2).
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/compile.h"
#include "os/clock.h"
#include "policy/guard.h"
#include "policy/hook_input.h"

#define BETWEEN_CLOCKS 1000u                /* verdicts between two looks at the clock */

static const char definition[] = "workflow: bench\nlabels: { team: a }\njobs: { a: { tasks: [{ name: s, run: noop }] } }\n";

static bool no_params(void *context, const Run *run, Value *out)
{
    (void)context;
    (void)run;
    *out = value_null();
    return true;
}

typedef struct Rate { double verdict_ns, input_ns; bool is_allowed; } Rate;

static Rate measure(Guard *guard, VerdictAsk *ask, double seconds)
{
    Rate rate = { .is_allowed = true };
    for (int with_policy = 0; with_policy < 2; with_policy++) {
        uint64_t count = 0, start_ns = clock_monotonic_ns(), spent_ns = 0;
        for (; (double)spent_ns < seconds * 1e9; spent_ns = clock_monotonic_ns() - start_ns) {
            for (uint32_t i = 0; i < BETWEEN_CLOCKS; i++) {
                arena_reset(ask->arena);
                if (!with_policy) (void)hook_input(ask->arena, ask, &(HookFacts){ 0 });
                else rate.is_allowed = guard_verdict(guard, ask).kind == VERDICT_ALLOW;
            }
            count += BETWEEN_CLOCKS;
        }
        *(with_policy ? &rate.verdict_ns : &rate.input_ns) = (double)spent_ns / (double)count;
    }
    return rate;
}

int main(int argc, char **argv)
{
    bool is_json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc < 2 + is_json) return 2;
    const char *path = argv[1 + is_json];
    double seconds = argc > 2 + is_json ? strtod(argv[2 + is_json], NULL) : 0.2;
    Arena arena, scratch;
    arena_init(&arena, SIZE_MAX);
    arena_init(&scratch, SIZE_MAX);
    Catalog catalog;
    catalog_init(&catalog, &arena);
    Compiled compiled;
    CompileOptions options = { .file = STR("bench.yaml"), .format = TEXT_YAML, .catalog = &catalog };
    compile(&arena, str_of(definition), &options, &compiled);
    Guard *guard;
    Error err;
    if (guard_open(&(GuardOptions){ .catalog = &catalog, .paths = &path, .path_count = 1 }, &guard, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    Run run;
    Id id = { "AP6XYBMPtq8AMXRa6JuX9" };
    run_init(&run, &compiled.plan, &id, 1);
    Command command = { .actor = STR("user:bench"), .name = STR("go"), .sort = SIGNAL_OPERATOR };
    bool is_allowed = true;
    for (int hook = 0; hook < HOOK_COUNT; hook++) {
        bool is_of_step = hook == HOOK_STEP_DISPATCH || hook == HOOK_STEP_END;
        VerdictAsk ask = { .hook = (Hook)hook, .plan = &compiled.plan, .run = &run, .step = is_of_step ? 0 : STEP_NONE,
                           .input = value_null(), .command = &command, .now_ms = 1700000000000, .arena = &scratch,
                           .params = no_params };
        Rate rate = measure(guard, &ask, seconds);
        is_allowed = is_allowed && rate.is_allowed;
        printf(is_json ? "%s\"%s\":{\"verdict_ns\":%.0f,\"input_ns\":%.0f}"
                       : "%s%-16s %8.0f ns a verdict, %6.0f ns of it the document\n",
               is_json ? hook ? "," : "{" : "", hook_name((Hook)hook), rate.verdict_ns, rate.input_ns);
    }
    if (is_json) puts("}");
    if (!is_allowed) fprintf(stderr, "%s denies: a denial costs more than what is measured here\n", path);
    run_deinit(&run);
    guard_close(guard);
    arena_deinit(&scratch);
    arena_deinit(&arena);
    return is_allowed ? 0 : 1;
}
