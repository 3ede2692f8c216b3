#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "base/map.h"
#include "cli/policy_report.h"
#include "cli/policy_run.h"
#include "lang/shape.h"
#include "os/alarm.h"
#include "os/clock.h"
#include "rego/regex/regex.h"

#define TIMEOUT_MS_DEFAULT 5000
#define REPORT_SIZE_MAX (512u << 20)
#define REPORT_RULE "--------------------------------------------------------------------------------\n"

static const char *const formats[] = { "pretty", "json", NULL };

static const Option options[] = {
    { "bundle", 'b', NULL, NULL, "Takes the paths as bundles." },
    { "verbose", 'v', NULL, NULL, "Names every test, and shows the way through those that failed." },
    { "run", 'r', "REGEX", NULL, "Runs only tests whose full name matches." },
    { "coverage", 'c', NULL, NULL, "Reports which lines the tests evaluated, as JSON." },
    { "threshold", 0, "PERCENT", NULL, "The exit code is 1 where less is covered." },
    { "timeout", 0, "TIME", NULL, "How long one test may take: 500ms, 30s; 5s if not given." },
    { "format", 'f', "FORM", formats, "How results are printed: pretty or json." },
    { "v0", 0, NULL, NULL, "Reads the old syntax, before Rego v1." },
    { NULL },
};

typedef enum Outcome { OUTCOME_PASS, OUTCOME_FAIL, OUTCOME_SKIPPED, OUTCOME_ERROR, OUTCOME_COUNT } Outcome;

static const char *const outcome_names[OUTCOME_COUNT] = { "PASS", "FAIL", "SKIPPED", "ERROR" };

typedef struct Test {
    RegoRuleInfo rule;
    Str path;                       /* "data.a.test_x": without the keys of a test that is an object */
    Outcome outcome;
    uint64_t duration_ns;
    Value cases;                    /* name to truth, of a test that is an object; else null */
    RegoEvalError error;
    Str output;                     /* what print() wrote */
    Str trace;
} Test;

typedef struct Testing {
    const Args *args;
    PolicySet set;
    RegoPolicy *policy;
    PolicyRun run;
    RegoProfile profile;
    RegexMachine *pattern;          /* or NULL */
    uint64_t timeout_ms;
    double threshold;
    Test *tests;
    size_t count, capacity;
    unsigned counts[OUTCOME_COUNT];
} Testing;

/* --- options -------------------------------------------------------------------------------------------------------- */

static ExitCode refuse_option(const char *option, const char *value, const char *why)
{
    fprintf(stderr, "maestro: --%s %s: %s\nTry 'maestro help policy test'.\n", option, value, why);
    return EXIT_CODE_USAGE;
}

static ExitCode read_options(Testing *testing)
{
    const Args *args = testing->args;
    const char *pattern = args_value(args, "run"), *timeout = args_value(args, "timeout"), *threshold = args_value(args, "threshold");
    int64_t timeout_ms = TIMEOUT_MS_DEFAULT;
    Error err;
    const Regex *regex;
    if (pattern && regex_compile(args->arena, str_of(pattern), &regex, &err)) return refuse_option("run", pattern, err.text);
    if (pattern) testing->pattern = regex_machine_new(args->arena, regex);
    if (timeout && (!duration_read(str_of(timeout), &timeout_ms) || timeout_ms <= 0))
        return refuse_option("timeout", timeout, "no duration such as 500ms, 30s or 5m");
    testing->timeout_ms = (uint64_t)timeout_ms;
    if (!threshold) return EXIT_CODE_OK;
    char *end;
    testing->threshold = strtod(threshold, &end);
    if (*end || end == threshold || !(testing->threshold >= 0 && testing->threshold <= 100))
        return refuse_option("threshold", threshold, "no percentage from 0 to 100");
    return EXIT_CODE_OK;
}

/* --- finding tests ------------------------------------------------------------------------------------------------------ */

static bool is_chosen(const Testing *testing, Str path)
{
    uint64_t steps = REGO_STEP_COUNT_DEFAULT;
    RegexBudget budget = { .steps_left = &steps };
    return !testing->pattern || regex_matches(testing->pattern, path, &budget) == REGEX_FOUND;
}

/* A test is a rule by its name; several rules of one name are one test. */
static void find_tests(Testing *testing)
{
    Map seen;
    map_init(&seen, testing->args->arena, /* count_expected= */ 64);
    for (uint32_t i = 0; i < rego_rule_count(testing->policy); i++) {
        RegoRuleInfo rule = rego_rule_info(testing->policy, i);
        if (!str_starts(rule.name, STR("test_")) && !str_starts(rule.name, STR("todo_test_"))) continue;
        rule.name = str_slice(rule.name, 0, str_find(rule.name, '[', 0));
        Str path = arena_format(testing->args->arena, "%.*s.%.*s", STR_ARG(rule.package), STR_ARG(rule.name));
        if (!is_chosen(testing, path) || !map_add(&seen, path, i, NULL)) continue;
        testing->tests = arena_grow(testing->args->arena, testing->tests, sizeof *testing->tests, testing->count, &testing->capacity);
        testing->tests[testing->count++] = (Test){ .rule = rule, .path = path };
    }
}

/* --- running one ---------------------------------------------------------------------------------------------------------- */

/* True, or an object of cases which are all true. */
static Outcome judge(Test *test, const RegoResult *result)
{
    Value value = rego_result_value(result);
    if (!rego_is_defined(value)) return OUTCOME_FAIL;
    if (value.kind != VALUE_OBJECT) return value_is_true(value) ? OUTCOME_PASS : OUTCOME_FAIL;
    Outcome outcome = OUTCOME_PASS;
    test->cases = value;
    for (uint32_t i = 0; i < value.count; i++)
        if (!value_is_true(value.members[i].value)) outcome = OUTCOME_FAIL;
    return outcome;
}

static void evaluate(Testing *testing, Test *test, const RegoQuery *query, PolicyTrace *trace)
{
    RegoEvalContext context = testing->run.context;
    RegoResult result;
    context.stop = alarm_begin(testing->timeout_ms);
    context.tracer = &trace->tracer;
    if (args_flag(testing->args, "coverage")) context.profile = &testing->profile;
    uint64_t begin = clock_monotonic_ns();
    Status status = rego_eval(query, rego_undefined(), &context, &result, &test->error);
    test->duration_ns = clock_monotonic_ns() - begin;
    alarm_end();
    test->outcome = status ? OUTCOME_ERROR : judge(test, &result);
    test->cases = value_copy(testing->args->arena, test->cases);
}

static Str take_text(Testing *testing, Buf *buf)
{
    return arena_copy(testing->args->arena, buf_peek(buf));
}

static void run_query(Testing *testing, Test *test, const RegoQuery *query)
{
    PolicyTrace trace;
    Buf text;
    TraceFilter filter = args_flag(testing->args, "verbose") ? TRACE_FAILS : TRACE_OFF;
    policy_trace_init(&trace, &testing->run.arena, filter, /* prints= */ false);
    buf_init(&text, REPORT_SIZE_MAX);
    evaluate(testing, test, query, &trace);
    policy_trace_print(&trace, "  ", &text);
    test->trace = take_text(testing, &text);
    test->output = take_text(testing, &trace.notes);
    buf_deinit(&text);
    policy_trace_deinit(&trace);
    arena_reset(&testing->run.arena);
}

static void run_test(Testing *testing, Test *test)
{
    RegoErrors errors;
    RegoQuery *query;
    RegoQueryOptions query_options = { .capture = true };
    rego_errors_init(&errors, testing->args->arena);
    if (str_starts(test->rule.name, STR("todo_"))) {
        test->outcome = OUTCOME_SKIPPED;
    } else if (rego_query_prepare(testing->policy, test->path, &query_options, &query, &errors)) {
        test->outcome = OUTCOME_ERROR;
        test->error = (RegoEvalError){ .code = REGO_EVAL_INTERNAL };
        error_set(&test->error.error, ERR_INVALID, "%.*s", STR_ARG(errors.items[0].text));
    } else {
        run_query(testing, test, query);
        rego_query_free(query);
    }
    testing->counts[test->outcome]++;
}

/* --- the report ------------------------------------------------------------------------------------------------------------- */

static void print_title(Buf *out, const Test *test)
{
    buf_format(out, "%.*s: %s", STR_ARG(test->path), outcome_names[test->outcome]);
    if (test->outcome != OUTCOME_SKIPPED) {
        buf_text(out, " (");
        policy_duration(out, test->duration_ns);
        buf_char(out, ')');
    }
    buf_char(out, '\n');
}

static void print_indented(Buf *out, Str text)
{
    for (size_t at = 0; at < text.len;) {
        size_t end = str_find(text, '\n', at);
        buf_format(out, "  %.*s\n", STR_ARG(str_slice(text, at, end)));
        at = end + 1;
    }
}

static void print_test(Buf *out, const Testing *testing, const Test *test)
{
    bool verbose = args_flag(testing->args, "verbose");
    if (test->outcome == OUTCOME_PASS && !verbose) return;
    buf_format(out, "%.*s:%u:\n", STR_ARG(test->rule.file), test->rule.loc.row);
    print_title(out, test);
    if (test->output.len) {
        buf_char(out, '\n');
        print_indented(out, test->output);
        buf_char(out, '\n');
    }
    if (test->outcome == OUTCOME_ERROR) {
        buf_text(out, "  ");
        rego_eval_error_print(out, &test->error);
        buf_char(out, '\n');
    }
    for (uint32_t i = 0; test->cases.kind == VALUE_OBJECT && i < test->cases.count; i++) {
        bool passed = value_is_true(test->cases.members[i].value);
        if (!passed || verbose) buf_format(out, "  %.*s: %s\n", STR_ARG(value_text(test->cases.members[i].key)), passed ? "PASS" : "FAIL");
    }
}

static void print_failures(Buf *out, const Testing *testing)
{
    if (!args_flag(testing->args, "verbose") || !testing->counts[OUTCOME_FAIL]) return;
    buf_text(out, REPORT_RULE "FAILURES\n" REPORT_RULE);
    for (size_t i = 0; i < testing->count; i++) {
        const Test *test = &testing->tests[i];
        if (test->outcome != OUTCOME_FAIL) continue;
        print_title(out, test);
        buf_format(out, "\n%.*s\n", STR_ARG(test->trace));
    }
}

static void print_report(Buf *out, const Testing *testing)
{
    size_t before = out->len;
    for (size_t i = 0; i < testing->count; i++) print_test(out, testing, &testing->tests[i]);
    print_failures(out, testing);
    if (out->len > before) buf_text(out, REPORT_RULE);
    for (unsigned i = 0; i < OUTCOME_COUNT; i++)
        if (testing->counts[i]) buf_format(out, "%s: %u/%zu\n", outcome_names[i], testing->counts[i], testing->count);
    if (!testing->count) buf_text(out, "There are no tests.\n");
}

static Value cases_value(Arena *arena, Value cases)
{
    MemberList list = { .arena = arena };
    for (uint32_t i = 0; i < cases.count; i++) {
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("name"), cases.members[i].key);
        if (!value_is_true(cases.members[i].value)) member_list_add(&members, STR("fail"), value_bool(true));
        member_list_add(&list, value_text(cases.members[i].key), member_list_object(&members));
    }
    return member_list_object(&list);
}

static Value output_value(Arena *arena, Str output)
{
    Buf text;
    buf_init(&text, REPORT_SIZE_MAX);
    base64_encode(&text, output, BASE64_STANDARD);
    Value value = value_string(arena_copy(arena, buf_peek(&text)));
    buf_deinit(&text);
    return value;
}

static Value test_value(Arena *arena, const Test *test)
{
    static const char *const flags[OUTCOME_COUNT] = { NULL, "fail", "skip", NULL };
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("location"), policy_location_value(arena, test->rule.file, test->rule.loc));
    member_list_add(&members, STR("package"), value_string(test->rule.package));
    member_list_add(&members, STR("name"), value_string(test->rule.name));
    member_list_add(&members, STR("duration"), value_int((int64_t)test->duration_ns));
    if (flags[test->outcome]) member_list_add(&members, str_of(flags[test->outcome]), value_bool(true));
    if (test->outcome == OUTCOME_ERROR) member_list_add(&members, STR("error"), policy_eval_error_value(arena, &test->error));
    if (test->output.len) member_list_add(&members, STR("output"), output_value(arena, test->output));
    if (test->cases.kind == VALUE_OBJECT) member_list_add(&members, STR("sub_results"), cases_value(arena, test->cases));
    return member_list_object(&members);
}

static ExitCode report_tests(const Testing *testing)
{
    if (policy_wants_json(testing->args)) {
        ValueList list = { .arena = testing->args->arena };
        for (size_t i = 0; i < testing->count; i++) value_list_add(&list, test_value(testing->args->arena, &testing->tests[i]));
        return policy_print_json(value_list_array(&list));
    }
    Buf out;
    buf_init(&out, REPORT_SIZE_MAX);
    print_report(&out, testing);
    print_out(&out);
    buf_deinit(&out);
    return EXIT_CODE_OK;
}

/* With coverage, what is printed is the coverage; tests that failed are said on standard error. */
static ExitCode report_coverage(const Testing *testing)
{
    double percent;
    Value coverage = policy_coverage(testing->args->arena, &testing->set, testing->policy, testing->profile.eval_counts, &percent);
    ExitCode code = policy_print_json(coverage);
    unsigned bad = testing->counts[OUTCOME_FAIL] + testing->counts[OUTCOME_ERROR];
    if (bad) {
        Buf out;
        buf_init(&out, REPORT_SIZE_MAX);
        print_report(&out, testing);
        print_err(&out);
        buf_deinit(&out);
    }
    if (code || percent >= testing->threshold) return code;
    fprintf(stderr, "maestro: %.2f%% of the lines are covered, less than the threshold of %.2f%%\n", percent, testing->threshold);
    return EXIT_CODE_RUN_FAILED;
}

/* --- the command --------------------------------------------------------------------------------------------------------------- */

static ExitCode load(Testing *testing)
{
    const Args *args = testing->args;
    Error err;
    policy_set_init(&testing->set, args->arena);
    for (unsigned i = 0; i < args->operand_count; i++) {
        const char *path = args->operands[i];
        Status status = args_flag(args, "bundle") ? policy_add_bundle(&testing->set, path, &err) : policy_add_path(&testing->set, path, &err);
        if (status) return policy_refuse_load(args, &err);
    }
    RegoCompileOptions compile = { .v0 = args_flag(args, "v0"), .keep_print = true, .check_data = true,
                                   .instrument = args_flag(args, "verbose") || args_flag(args, "coverage") };
    return policy_compile(args, &testing->set, compile, &testing->policy);
}

static ExitCode run_tests(Testing *testing)
{
    uint32_t place_count = rego_place_count(testing->policy);
    testing->profile.eval_counts = ARENA_ARRAY(testing->args->arena, uint64_t, place_count + 1u);
    policy_run_init(&testing->run);
    find_tests(testing);
    for (size_t i = 0; i < testing->count; i++) run_test(testing, &testing->tests[i]);
    ExitCode code = args_flag(testing->args, "coverage") ? report_coverage(testing) : report_tests(testing);
    policy_run_deinit(&testing->run);
    if (code) return code;
    return testing->counts[OUTCOME_FAIL] + testing->counts[OUTCOME_ERROR] ? EXIT_CODE_RUN_FAILED : EXIT_CODE_OK;
}

static ExitCode run(const Args *args)
{
    Testing testing = { .args = args };
    ExitCode code = read_options(&testing);
    if (!code) code = load(&testing);
    if (!code) code = run_tests(&testing);
    rego_policy_free(testing.policy);
    return code;
}

const Command command_policy_test = {
    .name = "policy test", .operands = "PATH...", .operand_count_min = 1, .operand_count_max = ARGS_OPERAND_COUNT_MAX,
    .summary = "Runs the tests of policies.",
    .doc = "Tests are rules whose name begins with test_; they pass where they are true, and an object of cases passes where all\n"
           "of them are. Rules that begin with todo_test_ are skipped. The exit code is 0 if all pass, 1 if one fails or ends in\n"
           "an error or too little is covered, and 65 if the policies do not compile.",
    .examples = "  maestro policy test policies\n  maestro policy test -v --run 'deploy' policies\n"
                "  maestro policy test --coverage --threshold 80 policies | jq .coverage",
    .options = options, .run = run,
};
