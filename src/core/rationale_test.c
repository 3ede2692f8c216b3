#include "core/rationale.h"

#include <string.h>

#include "base/limits.h"
#include "core/event.h"
#include "harness/test.h"

TEST(every_command_has_a_reason_whoever_sent_it, "proves: F-085")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (int kind = 0; kind < COMMAND_KIND_COUNT; kind++) {
        ROW(command_kind_name((CommandKind)kind));
        for (int first = 0; first < EVENT_KIND_END; first++) {
            Str reason = rationale_of(&arena, &(Command){ .kind = (CommandKind)kind, .name = STR("gate") }, (uint8_t)first);
            EXPECT(reason.len > 0);
            EXPECT(reason.len <= RATIONALE_SIZE_MAX);
        }
        Str given = rationale_of(&arena, &(Command){ .kind = (CommandKind)kind, .rationale = STR("ticket 7") }, EVENT_STEP_READY);
        EXPECT_STR(given, STR("ticket 7"));
    }
    arena_deinit(&arena);
}

static const struct { const char *name; Command command; uint8_t first_kind; const char *want; } cases[] = {
    { "a success", { .kind = COMMAND_REPORT, .attempt = 2 }, EVENT_STEP_SUCCEEDED, "attempt 2 succeeded" },
    { "a failure", { .kind = COMMAND_REPORT, .attempt = 3, .report.cause = CAUSE_TIMEOUT }, EVENT_ATTEMPT_FAILED,
      "attempt 3 failed: timeout" },
    { "a compensation", { .kind = COMMAND_REPORT, .attempt = 1u << ROLLBACK_SHIFT | 1 }, EVENT_COMPENSATION_SUCCEEDED,
      "compensation attempt 1 succeeded" },
    { "an effect to come", { .kind = COMMAND_EFFECT }, EVENT_EFFECT_INTENDED, "the attempt is about to act" },
    { "an effect that was", { .kind = COMMAND_EFFECT, .is_committed = true }, EVENT_EFFECT_COMMITTED, "the attempt has acted" },
    { "an effect that was not", { .kind = COMMAND_EFFECT, .is_withdrawn = true }, EVENT_EFFECT_WITHDRAWN, "the attempt has not acted" },
    { "a denied signal", { .kind = COMMAND_SIGNAL, .name = { "gate", 4 }, .is_denial = true }, EVENT_SIGNAL_RECEIVED,
      "the signal 'gate' was denied" },
    { "a retry's time", { .kind = COMMAND_TIMER }, EVENT_STEP_READY, "its retry was due" },
    { "a deadline", { .kind = COMMAND_TIMER }, EVENT_RUN_FAILING, "its deadline has passed" },
    { "a time of a kind without words", { .kind = COMMAND_TIMER }, EVENT_RUN_SUCCEEDED, "its time has come" },
};

TEST(a_reason_says_what_led_to_the_decision, "")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        EXPECT_STR(rationale_of(&arena, &cases[i].command, cases[i].first_kind), str_of(cases[i].want));
    }
    char name[4096];
    memset(name, 'n', sizeof name);
    Str reason = rationale_of(&arena, &(Command){ .kind = COMMAND_SIGNAL, .name = { name, sizeof name } }, EVENT_SIGNAL_RECEIVED);
    EXPECT(reason.len <= RATIONALE_SIZE_MAX);
    arena_deinit(&arena);
}
