#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "base/map.h"
#include "cli/policy_profile.h"
#include "cli/policy_report.h"
#include "cli/policy_run.h"
#include "cli/policy_trace.h"
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
    { "explain", 0, "WHAT", policy_trace_words, "What is shown of tests that failed; names every test as -v does." },
    { "var-values", 0, NULL, NULL, "Shows the values of variables there." },
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
    bool has_cases;                 /* it is an object: test_x[name] */
    Value cases;                    /* name to truth, of such a test; else null */
    Arena *arena;                   /* of the process */
    MemberList seen;                /* names of cases that were begun, each with false */
    uint64_t query_id;              /* of the rule under way */
    const RegoPlace *rule_place;
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

static bool is_verbose(const Testing *testing)
{
    const Args *args = testing->args;
    return args_flag(args, "verbose") || args_flag(args, "explain") || args_flag(args, "var-values");
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static ExitCode refuse_option(const char *option, const char *value, const char *why)
{
    fprintf(stderr, "maestro: --%s %s: %s\nTry 'maestro help policy test'.\n", option, value, why);
    return EXIT_CODE_USAGE;
}

static ExitCode read_options(Testing *testing)
{
    const Args *args = testing->args;
    const char *pattern = args_value(args, "run"), *timeout = args_value(args, "timeout");
    const char *threshold = args_value(args, "threshold");
    int64_t timeout_ms = TIMEOUT_MS_DEFAULT;
    Error err;
    const Regex *regex;
    if (pattern && regex_compile(args->arena, str_of(pattern), &regex, &err))
        return refuse_option("run", pattern, err.text);
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

/* --- finding tests ------------------------------------------------------------------------------------------------ */

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
        size_t bracket = str_find(rule.name, '[', 0);
        bool has_cases = bracket < rule.name.len;
        rule.name = str_slice(rule.name, 0, bracket);
        Str path = arena_format(testing->args->arena, "%.*s.%.*s", STR_ARG(rule.package), STR_ARG(rule.name));
        if (!is_chosen(testing, path) || !map_add(&seen, path, i, NULL)) continue;
        testing->tests = arena_grow(testing->args->arena, testing->tests, sizeof *testing->tests, testing->count,
                                    &testing->capacity);
        testing->tests[testing->count++] = (Test){ .rule = rule, .path = path, .has_cases = has_cases,
                                                           .arena = testing->args->arena };
    }
}

/* --- running one -------------------------------------------------------------------------------------------------- */

/* The value of the variable that names a case, where it has one by now; undefined otherwise. */
static Value case_name(const RegoTraceEvent *event, Value node)
{
    const Value *head = value_get_text(node, "head"), *ref = head ? value_get_text(*head, "ref") : NULL;
    if (!ref || ref->count < 2) return rego_undefined();
    Value key = ref->items[1];
    const Value *value = value_get_text(key, "value");
    if (!str_is_text(value_get_string(key, "type", (Str){ 0 }), "var")) return value ? *value : rego_undefined();
    for (const RegoLocal *local = event->locals; local; local = local->before)
        if (str_is(local->name, value_text(*value))) return event->values[local->slot];
    return rego_undefined();
}

/* A case begins as soon as its name is known; one that does not come to its end has failed. */
static void observe(void *context, const RegoTraceEvent *event)
{
    Test *test = context;
    bool is_rule = event->place && event->place->kind == REGO_PLACE_RULE && str_is(event->place->name, test->path);
    if (is_rule && event->kind == REGO_TRACE_ENTER) {
        test->rule_place = event->place;
        test->query_id = event->query_id;
    }
    bool is_inside = test->rule_place && event->query_id == test->query_id && event->values
                  && (event->kind == REGO_TRACE_EVAL || event->kind == REGO_TRACE_EXIT);
    if (!is_inside) return;
    Value name = case_name(event, test->rule_place->node);
    if (name.kind != VALUE_STRING) return;
    for (size_t i = 0; i < test->seen.count; i++)
        if (value_equals(test->seen.members[i].key, name)) return;
    test->seen.arena = test->arena;
    member_list_add(&test->seen, arena_copy(test->arena, value_text(name)), value_bool(false));
}

/* True, or an object of cases which are all true. */
static Outcome judge(Test *test, const RegoResult *result)
{
    Value value = rego_result_value(result);
    if (!rego_is_defined(value)) return OUTCOME_FAIL;
    if (value.kind != VALUE_OBJECT) return value_is_true(value) ? OUTCOME_PASS : OUTCOME_FAIL;
    Outcome outcome = OUTCOME_PASS;
    MemberList cases = { .arena = test->arena };
    for (size_t i = 0; i < test->seen.count; i++)
        member_list_add(&cases, value_text(test->seen.members[i].key), test->seen.members[i].value);
    for (uint32_t i = 0; i < value.count; i++)
        if (value.members[i].key.kind == VALUE_STRING)
            member_list_add(&cases, arena_copy(test->arena, value_text(value.members[i].key)),
                            value_bool(value_is_true(value.members[i].value)));
    test->cases = member_list_object(&cases);
    for (uint32_t i = 0; i < test->cases.count; i++)
        if (!value_is_true(test->cases.members[i].value)) outcome = OUTCOME_FAIL;
    return outcome;
}

/* A threshold is one of coverage: asking for it is asking for both. */
static bool wants_coverage(const Args *args)
{
    return args_flag(args, "coverage") || args_flag(args, "threshold");
}

static void evaluate(Testing *testing, Test *test, const RegoQuery *query, PolicyTrace *trace)
{
    RegoEvalContext context = testing->run.context;
    RegoResult result;
    context.stop = alarm_begin(testing->timeout_ms);
    context.tracer = &trace->tracer;
    if (wants_coverage(testing->args)) context.profile = &testing->profile;
    uint64_t begin = clock_monotonic_ns();
    Status status = rego_eval(query, rego_undefined(), &context, &result, &test->error);
    test->duration_ns = clock_monotonic_ns() - begin;
    alarm_end();
    test->outcome = status ? OUTCOME_ERROR : judge(test, &result);
}

static Str take_text(Testing *testing, Buf *buf)
{
    return arena_copy(testing->args->arena, buf_peek(buf));
}

static void run_query(Testing *testing, Test *test, const RegoQuery *query)
{
    PolicyTrace trace;
    Buf text;
    const char *explain = args_value(testing->args, "explain");
    TraceFilter filter = explain ? policy_trace_filter(explain) : is_verbose(testing) ? TRACE_FAILS : TRACE_OFF;
    policy_trace_init(&trace, &testing->run.arena, filter, TRACE_AS_TEXT, /* prints= */ false);
    if (test->has_cases) {
        trace.observe = observe;
        trace.observer = test;
    }
    buf_init(&text, REPORT_SIZE_MAX);
    evaluate(testing, test, query, &trace);
    policy_trace_print(&trace, "  ", args_flag(testing->args, "var-values"), &text);
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
    bool has_cases = test->cases.kind == VALUE_OBJECT && test->cases.count;
    if (!has_cases) testing->counts[test->outcome]++;
    for (uint32_t i = 0; has_cases && i < test->cases.count; i++)
        testing->counts[value_is_true(test->cases.members[i].value) ? OUTCOME_PASS : OUTCOME_FAIL]++;
}

/* --- the report --------------------------------------------------------------------------------------------------- */

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

static void print_cases(Buf *out, const Test *test, bool with_passed)
{
    for (uint32_t i = 0; test->cases.kind == VALUE_OBJECT && i < test->cases.count; i++) {
        Outcome outcome = value_is_true(test->cases.members[i].value) ? OUTCOME_PASS : OUTCOME_FAIL;
        if (outcome == OUTCOME_PASS && !with_passed) continue;
        buf_format(out, "  %.*s: %s\n", STR_ARG(value_text(test->cases.members[i].key)), outcome_names[outcome]);
    }
}

static void print_test(Buf *out, const Testing *testing, const Test *test)
{
    bool verbose = is_verbose(testing);
    if (test->outcome == OUTCOME_PASS && !verbose) return;
    buf_format(out, "%.*s:%u:\n", STR_ARG(test->rule.file), test->rule.loc.row);
    print_title(out, test);
    if (test->output.len) {
        buf_char(out, '\n');
        print_indented(out, test->output);
        buf_char(out, '\n');
    }
    if (test->outcome == OUTCOME_ERROR) {
        char storage[2 * ERROR_TEXT_SIZE];
        Buf text = buf_on(storage, sizeof storage);
        policy_eval_error_print(&text, &test->error);
        print_indented(out, buf_peek(&text));
    }
    print_cases(out, test, /* with_passed= */ verbose);
}

static void print_failures(Buf *out, const Testing *testing)
{
    if (!is_verbose(testing) || !testing->counts[OUTCOME_FAIL]) return;
    buf_text(out, REPORT_RULE "FAILURES\n" REPORT_RULE);
    for (size_t i = 0; i < testing->count; i++) {
        const Test *test = &testing->tests[i];
        if (test->outcome != OUTCOME_FAIL) continue;
        print_title(out, test);
        buf_format(out, "\n%.*s\n", STR_ARG(test->trace));
        if (test->cases.kind == VALUE_OBJECT) {
            print_cases(out, test, /* with_passed= */ false);
            buf_char(out, '\n');
        }
    }
}

static void print_report(Buf *out, const Testing *testing)
{
    size_t before = out->len;
    for (size_t i = 0; i < testing->count; i++) print_test(out, testing, &testing->tests[i]);
    print_failures(out, testing);
    if (out->len > before) buf_text(out, REPORT_RULE);
    unsigned total = 0;
    for (unsigned i = 0; i < OUTCOME_COUNT; i++) total += testing->counts[i];
    for (unsigned i = 0; i < OUTCOME_COUNT; i++)
        if (testing->counts[i]) buf_format(out, "%s: %u/%u\n", outcome_names[i], testing->counts[i], total);
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
    if (test->outcome == OUTCOME_ERROR)
        member_list_add(&members, STR("error"), policy_eval_error_value(arena, &test->error));
    if (test->output.len) member_list_add(&members, STR("output"), output_value(arena, test->output));
    if (test->cases.kind == VALUE_OBJECT)
        member_list_add(&members, STR("sub_results"), cases_value(arena, test->cases));
    return member_list_object(&members);
}

static ExitCode report_tests(const Testing *testing)
{
    if (policy_wants_json(testing->args)) {
        ValueList list = { .arena = testing->args->arena };
        for (size_t i = 0; i < testing->count; i++)
            value_list_add(&list, test_value(testing->args->arena, &testing->tests[i]));
        return print_document(value_list_array(&list));
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
    Value coverage = policy_coverage(testing->args->arena, &testing->set, testing->policy, &testing->profile, &percent);
    ExitCode code = print_document(coverage);
    unsigned bad = testing->counts[OUTCOME_FAIL] + testing->counts[OUTCOME_ERROR];
    if (bad) {
        Buf out;
        buf_init(&out, REPORT_SIZE_MAX);
        print_report(&out, testing);
        print_err(&out);
        buf_deinit(&out);
    }
    if (code || percent >= testing->threshold) return code;
    fprintf(stderr, "maestro: %.2f%% of the lines are covered, less than the threshold of %.2f%%\n", percent,
            testing->threshold);
    return EXIT_CODE_RUN_FAILED;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static ExitCode load(Testing *testing)
{
    const Args *args = testing->args;
    Error err;
    policy_set_init(&testing->set, args->arena);
    if (policy_add_operands(&testing->set, args, &err)) return policy_refuse_load(args, &err);
    RegoCompileOptions compile = { .v0 = args_flag(args, "v0"), .keep_print = true, .check_data = true,
                                   .instrument = true };
    return policy_compile(args, &testing->set, compile, &testing->policy);
}

static ExitCode run_tests(Testing *testing)
{
    testing->profile = policy_profile_make(testing->args->arena, testing->policy, NULL, /* timed= */ false);
    policy_run_init(&testing->run);
    find_tests(testing);
    for (size_t i = 0; i < testing->count; i++) run_test(testing, &testing->tests[i]);
    ExitCode code = wants_coverage(testing->args) ? report_coverage(testing) : report_tests(testing);
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

const Verb command_policy_test = {
    .name = "policy test", .operands = "PATH...", .operand_count_min = 1, .operand_count_max = ARGS_OPERAND_COUNT_MAX,
    .summary = "Runs the tests of policies.",
    .doc = "Tests are rules whose name begins with test_; they pass where they are true, and an object of cases passes\n"
           "where all of them are. Rules that begin with todo_test_ are skipped. The exit code is 0 if all pass, 1 if one\n"
           "fails or ends in an error or too little is covered, and 65 if the policies do not compile.",
    .examples = "  maestro policy test policies\n  maestro policy test -v --run 'deploy' policies\n"
                "  maestro policy test --coverage --threshold 80 policies | jq .coverage",
    .options = options, .run = run,
};
