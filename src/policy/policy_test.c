#include "policy/policy.h"

#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "harness/test.h"
#include "value/json.h"

typedef struct Bench {
    Arena arena, scratch;
    PolicySet set;
    Policy *policy;
    Error err;
} Bench;

static Status open_bench(Bench *bench, const char *module, uint32_t hooks)
{
    *bench = (Bench){ 0 };
    arena_init(&bench->arena, SIZE_MAX);
    arena_init(&bench->scratch, SIZE_MAX);
    policy_set_init(&bench->set, &bench->arena);
    policy_set_add(&bench->set, STR("p.rego"), str_of(module));
    return policy_make(&bench->set, &(PolicyOptions){ STR("p"), hooks }, &bench->policy, &bench->err);
}

static void close_bench(Bench *bench)
{
    policy_free(bench->policy);
    arena_deinit(&bench->scratch);
    arena_deinit(&bench->arena);
}

/* "" where it permits, else why it does not. */
static Str answer(Bench *bench, const char *input_json)
{
    Value input;
    Error err;
    Str why = STR("");
    PolicyMoment moment = { .scratch = &bench->scratch, .now_ms = 1700000000000, .seed = 7 };
    if (!EXPECT_OK(json_parse(&bench->arena, str_of(input_json), &input, &err), &err)) return why;
    bool permits = policy_permits(bench->policy, input, &moment, &bench->arena, &why);
    EXPECT(permits == (why.len == 0));
    return why;
}

static void expect_answer(const char *name, const char *module, const char *input, const char *want)
{
    Bench bench;
    ROW(name);
    if (EXPECT_OK(open_bench(&bench, module, HOOKS_ALL), &bench.err)) EXPECT_STR(answer(&bench, input), str_of(want));
    close_bench(&bench);
}

TEST(a_policy_permits_by_a_clear_answer_and_by_nothing_else, "proves: F-095")
{
    static const struct { const char *name, *module, *input, *want; } cases[] = {
        { "allow is true", "package maestro\nallow if input.x == 1", "{\"x\":1}", "" },
        { "allow is undefined", "package maestro\nallow if input.x == 1", "{\"x\":2}", "allow of maestro is undefined" },
        { "allow is false", "package maestro\ndefault allow := false", "{}", "allow is false" },
        { "allow is a text", "package maestro\nallow := \"yes\"", "{}", "allow is of the type string, not true" },
        { "allow is false for a reason", "package maestro.a\ndefault allow := false\nreasons contains \"no ticket\"", "{}", "no ticket" },
        { "reasons that are empty say nothing", "package maestro.a\ndefault allow := false\nreasons contains \"x\" if input.y", "{}",
          "allow is false" },
        { "an empty deny", "package maestro\ndeny contains \"x\" if input.x", "{}", "" },
        { "one reason", "package maestro\ndeny contains \"x\" if input.x", "{\"x\":true}", "x" },
        { "several reasons in their order", "package maestro\ndeny contains \"b\"\ndeny contains \"a\"", "{}", "a; b" },
        { "an object with msg", "package maestro\ndeny contains {\"msg\": \"m\", \"code\": 3}", "{}", "m" },
        { "a reason that is no text", "package maestro\ndeny contains 3", "{}", "(number)" },
        { "deny is true", "package maestro\ndefault deny := true", "{}", "deny is true" },
        { "deny is false", "package maestro\ndefault deny := false", "{}", "" },
        { "deny is a text", "package maestro\ndeny := \"never\"", "{}", "never" },
        { "deny is a number", "package maestro\ndeny := 0", "{}", "deny is of the type number" },
        { "deny is null", "package maestro\ndeny := null", "{}", "deny is of the type null" },
        { "deny is undefined", "package maestro\ndeny := true if input.x", "{}", "deny of maestro is undefined" },
        { "both have to agree: denied", "package maestro\nallow := true\ndeny contains \"x\"", "{}", "x" },
        { "both have to agree: not allowed", "package maestro\ndefault allow := false\ndeny contains \"x\" if input.x", "{}",
          "allow is false" },
        { "both agree", "package maestro\nallow := true\ndeny contains \"x\" if input.x", "{}", "" },
        { "both, one undefined", "package maestro\nallow if input.x\ndeny contains \"x\" if input.y", "{}",
          "allow or deny of maestro is undefined" },
        { "a package deep below", "package maestro.policies.deep\nallow if input.x", "{}", "allow of maestro.policies.deep is undefined" },
        { "bytes that are no text", "package maestro\ndeny contains hex.decode(\"61ff\")", "{}", "a\xef\xbf\xbd" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_answer(cases[i].name, cases[i].module, cases[i].input, cases[i].want);
}

TEST(whether_a_policy_has_a_rule_allow_is_known, "")
{
    static const struct { const char *name, *module; bool has_allow; } cases[] = {
        { "it has", "package maestro\nallow if input.x == 1", true },
        { "it has both", "package maestro\ndefault allow := false\ndeny contains \"no\" if input.x", true },
        { "it denies alone", "package maestro\ndeny contains \"no\" if input.x", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Bench bench;
        ROW(cases[i].name);
        if (EXPECT_OK(open_bench(&bench, cases[i].module, HOOKS_ALL), &bench.err)) EXPECT(policy_has_allow(bench.policy) == cases[i].has_allow);
        close_bench(&bench);
    }
}

TEST(what_cannot_be_evaluated_is_denied_and_says_so, "")
{
    static const struct { const char *name, *module, *code; } cases[] = {
        { "a builtin that fails", "package maestro\nallow if to_number(input.x) > 0", "eval_builtin_error" },
        { "a conflict", "package maestro\nallow := true\nallow := false if input.x", "eval_conflict_error" },
        { "a budget that is spent",
          "package maestro\nallow if {\n\tsome a in numbers.range(1, 5000)\n\tsome b in numbers.range(1, 5000)\n\ta * b == 0\n}",
          "eval_cancel_error" },
        { "memory that is spent", "package maestro\nallow if count(numbers.range(1, 100000000)) == 0", "eval_cancel_error" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Bench bench;
        ROW(cases[i].name);
        if (EXPECT_OK(open_bench(&bench, cases[i].module, HOOKS_ALL), &bench.err)) {
            Str got = answer(&bench, "{\"x\":\"text\"}");
            EXPECT(str_starts(got, STR("it could not be evaluated: ")));
            EXPECT(got.len && strstr(got.ptr, cases[i].code));
        }
        close_bench(&bench);
    }
}

TEST(a_policy_with_nothing_to_ask_or_with_a_mistake_is_refused, "")
{
    static const struct { const char *name, *module, *want; } cases[] = {
        { "no rule", "package maestro\nx := 1",
          "there is nothing to ask: no package at or below 'maestro' has a rule 'allow' or 'deny'" },
        { "another package", "package other\nallow := true",
          "there is nothing to ask: no package at or below 'maestro' has a rule 'allow' or 'deny'" },
        { "a package whose name only begins so", "package maestros\nallow := true",
          "there is nothing to ask: no package at or below 'maestro' has a rule 'allow' or 'deny'" },
        { "the network", "package maestro\nallow if http.send({\"url\": \"x\", \"method\": \"get\"}).status_code == 200", "p.rego:2:" },
        { "no Rego", "package maestro\nallow if", "p.rego:2:" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Bench bench;
        ROW(cases[i].name);
        EXPECT_INT(open_bench(&bench, cases[i].module, HOOKS_ALL), ERR_INVALID);
        EXPECT_STR(str_slice(str_of(bench.err.text), 0, str_of(cases[i].want).len), str_of(cases[i].want));
        close_bench(&bench);
    }
}

TEST(why_it_denies_is_bounded_and_stays_text, "")
{
    Bench bench;
    const char *module = "package maestro\n"
                         "deny contains concat(\"\", [\"\\u20ac\" | some _ in numbers.range(1, 700)]) if input.long\n"
                         "deny contains sprintf(\"reason %d\", [i]) if { not input.long; some i in numbers.range(1, 1000) }";
    REQUIRE_OK(open_bench(&bench, module, HOOKS_ALL), &bench.err);
    Str cut = answer(&bench, "{\"long\":true}");
    EXPECT(cut.len > POLICY_TEXT_SIZE_MAX / 2 && cut.len < POLICY_TEXT_SIZE_MAX);
    EXPECT_INT(utf8_valid_size(cut), cut.len);
    EXPECT_INT(cut.len % 3, 0);
    Str many = answer(&bench, "{}");
    EXPECT(many.len < POLICY_TEXT_SIZE_MAX);
    EXPECT(str_starts(many, STR("reason 1; reason 10; reason 100; ")));
    EXPECT(str_ends(many, STR(" more")));
    close_bench(&bench);
}

TEST(time_and_chance_are_given_to_a_policy, "")
{
    Bench bench;
    const char *module = "package maestro\ndeny contains sprintf(\"%d %d\", [time.now_ns(), rand.intn(\"x\", 1000000)])";
    REQUIRE_OK(open_bench(&bench, module, HOOKS_ALL), &bench.err);
    Str first = answer(&bench, "{}"), second = answer(&bench, "{}");
    EXPECT_STR(first, second);
    EXPECT_STR(str_slice(first, 0, 20), STR("1700000000000000000 "));
    close_bench(&bench);
}

TEST(the_digest_is_that_of_the_sources_and_the_hooks, "")
{
    Bench a, b, c, d;
    REQUIRE_OK(open_bench(&a, "package maestro\nallow := true", HOOKS_ALL), &a.err);
    REQUIRE_OK(open_bench(&b, "package maestro\nallow := true", HOOKS_ALL), &b.err);
    REQUIRE_OK(open_bench(&c, "package maestro\nallow := true ", HOOKS_ALL), &c.err);
    REQUIRE_OK(open_bench(&d, "package maestro\nallow := true", HOOK_BIT(HOOK_SIGNAL)), &d.err);
    EXPECT(memcmp(policy_digest(a.policy), policy_digest(b.policy), DIGEST_SIZE) == 0);
    EXPECT(memcmp(policy_digest(a.policy), policy_digest(c.policy), DIGEST_SIZE) != 0);
    EXPECT(memcmp(policy_digest(a.policy), policy_digest(d.policy), DIGEST_SIZE) != 0);
    EXPECT(policy_is_asked(d.policy, HOOK_SIGNAL));
    EXPECT(!policy_is_asked(d.policy, HOOK_RUN_START));
    close_bench(&a);
    close_bench(&b);
    close_bench(&c);
    close_bench(&d);
}

TEST(what_a_policy_can_read_is_known_before_it_is_asked, "")
{
    static const struct { const char *name, *module; uint32_t want; } cases[] = {
        { "neither", "package maestro\nallow if input.step.name == input.run.id", 0 },
        { "parameters", "package maestro\nallow if input.run.params.x", POLICY_READS_PARAMS },
        { "the payload", "package maestro\nallow if input.run.payload", POLICY_READS_PARAMS },
        { "the time", "package maestro\nallow if input.now > \"2\"", POLICY_READS_NOW },
        { "a run as a whole", "package maestro\nallow if count(input.run) > 1", POLICY_READS_PARAMS },
        { "the input as a whole", "package maestro\nallow if count(input) > 1", POLICY_READS_ALL },
        { "a computed name", "package maestro\nallow if { some k in [\"now\"]; input[k] }", POLICY_READS_ALL },
        { "inside another reference", "package maestro\nallow if input.labels[input.run.params.x]", POLICY_READS_PARAMS },
        { "by an import", "package maestro\nimport input.run.params as p\nallow if p.x", POLICY_READS_PARAMS },
        { "in a function", "package maestro\nf(x) := input.now if x\nallow if f(1)", POLICY_READS_NOW },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Bench bench;
        ROW(cases[i].name);
        if (EXPECT_OK(open_bench(&bench, cases[i].module, HOOKS_ALL), &bench.err))
            EXPECT_INT(policy_reads(bench.policy), cases[i].want);
        close_bench(&bench);
    }
}

TEST(each_hook_belongs_to_one_phase, "proves: F-095")
{
    uint32_t all = 0;
    for (int hook = 0; hook < HOOK_COUNT; hook++) {
        EXPECT(hooks_of_phase(str_of(hook_phase((Hook)hook))) & HOOK_BIT(hook));
        all |= hooks_of_phase(str_of(hook_phase((Hook)hook)));
    }
    EXPECT_INT(all, HOOKS_ALL);
    EXPECT_STR(str_of(hook_phase(HOOK_RUN_START)), STR("pre-flight"));
    EXPECT_STR(str_of(hook_phase(HOOK_SIGNAL)), STR("mid-flight"));
    EXPECT_STR(str_of(hook_phase(HOOK_STEP_END)), STR("post-flight"));
    EXPECT_INT(hooks_of_phase(STR("no-flight")), 0);
}
