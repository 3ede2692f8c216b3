#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "cli/policy_profile.h"
#include "cli/policy_report.h"
#include "cli/policy_run.h"
#include "cli/policy_trace.h"
#include "os/clock.h"
#include "rego/parser.h"
#include "value/json.h"

#define TEXT_OUT_SIZE_MAX (512u << 20)
#define PROFILE_ROW_COUNT_DEFAULT 10u
#define EVAL_MEMORY_MB_MAX (1u << 20)

static const char *const formats[] = { "json", "pretty", "values", "bindings", "raw", NULL };

static const Option options[] = {
    { "data", 'd', "PATH", NULL, "A policy or data file, or a directory of them.", .repeats = true },
    { "bundle", 'b', "PATH", NULL, "A bundle: a directory or a .tar.gz.", .repeats = true },
    { "input", 'i', "FILE", NULL, "The input document, JSON or YAML." },
    { "stdin-input", 'I', NULL, NULL, "Reads the input document from standard input." },
    { "package", 0, "NAME", NULL, "The package whose rules the query knows by name." },
    { "format", 'f', "FORM", formats, "How results are printed: json, pretty, values, bindings or raw." },
    { "explain", 0, "WHAT", policy_trace_words, "Shows the way to the result: all of it, notes or what failed." },
    { "var-values", 0, NULL, NULL, "Shows the values of variables in an explanation." },
    { "profile", 0, NULL, NULL, "Reports how often each line was evaluated, and for how long." },
    { "profile-limit", 0, "N", NULL, "How many lines a profile has; 0 for all, 10 if not given." },
    { "profile-sort", 0, "WORD", policy_profile_orders, "What a profile is sorted by; more such options decide ties.",
      .repeats = true },
    { "metrics", 0, NULL, NULL, "Reports how long each phase took." },
    { "coverage", 0, NULL, NULL, "Reports which lines were evaluated." },
    { "strict", 'S', NULL, NULL, "Unused variables and imports, deprecated builtins and shadowed names are mistakes." },
    { "strict-builtin-errors", 0, NULL, NULL, "A builtin that fails ends the evaluation." },
    { "v0", 0, NULL, NULL, "Reads the old syntax, before Rego v1." },
    { "max-steps", 0, "N", NULL, "Steps that the evaluation may take." },
    { "max-memory", 0, "MB", NULL, "Memory that the evaluation may take." },
    { "fail", 0, NULL, NULL, "The exit code is 1 where the result is undefined." },
    { "fail-defined", 0, NULL, NULL, "The exit code is 1 where the result is defined." },
    { NULL },
};

/* What one evaluation needs and leaves behind. */
typedef struct Evaluation {
    const Args *args;
    PolicySet set;
    RegoPolicy *policy;
    RegoQuery *query;
    Value input;
    PolicyRun run;
    PolicyTrace trace;
    RegoProfile profile;
    uint64_t profile_limit, step_count_max, memory_mb_max;
    RegoResult result;
    RegoEvalError error;
    uint64_t load_ns, compile_ns, prepare_ns, eval_ns;
} Evaluation;

/* --- making a query ----------------------------------------------------------------------------------------------- */

static Status load(Evaluation *e, Error *err)
{
    const Args *args = e->args;
    const char *input = args_flag(args, "stdin-input") ? "-" : args_value(args, "input");
    policy_set_init(&e->set, args->arena);
    Status status = policy_add_options(&e->set, args, err);
    e->input = rego_undefined();
    return status || !input ? status : policy_read_document(args->arena, input, &e->input, err);
}

/* What --package names, as "data.a.b": it is read as the first line of a module is. Empty where it is not given. */
static Status package_read(const Args *args, Str *out_package, Error *err)
{
    const char *given = args_value(args, "package");
    *out_package = STR("");
    if (!given || !*given) return OK;
    Str text = str_of(given), line = arena_format(args->arena, "package %s", given);
    bool is_whole = str_starts(text, STR("data.")) || str_starts(text, STR("data["));
    if (is_whole) line = arena_format(args->arena, "package x%.*s", STR_ARG(str_slice(text, 4, text.len)));
    RegoErrors errors;
    RegoModule *module;
    rego_errors_init(&errors, args->arena);
    if (rego_parse_module(args->arena, line, NULL, &module, &errors))
        return error_set(err, ERR_INVALID, "--package '%s' is no package: %.*s", given, STR_ARG(errors.items[0].text));
    if (module->rule_count || module->import_count)
        return error_set(err, ERR_INVALID, "--package '%s' is no package: something follows it", given);
    Str name = STR("data");
    for (uint32_t i = is_whole ? 2 : 1; i < module->package->count; i++)
        name = arena_format(args->arena, "%.*s.%.*s", STR_ARG(name), STR_ARG(value_text(module->package->items[i]->value)));
    *out_package = name;
    return OK;
}

static ExitCode prepare(Evaluation *e)
{
    Str package;
    Error err;
    if (package_read(e->args, &package, &err)) return policy_refuse_load(e->args, &err);
    return policy_prepare(e->args, &e->set, e->policy, package, &e->query);
}

static ExitCode make(Evaluation *e)
{
    const Args *args = e->args;
    Error err;
    bool instrument = args_flag(args, "profile") || args_flag(args, "coverage") || args_value(args, "explain");
    RegoCompileOptions compile = { .v0 = args_flag(args, "v0"), .strict = args_flag(args, "strict"), .keep_print = true,
                                   .check_data = true, .instrument = instrument };
    uint64_t begin = clock_monotonic_ns();
    if (load(e, &err)) return policy_refuse_load(args, &err);
    uint64_t loaded = clock_monotonic_ns();
    ExitCode code = policy_compile(args, &e->set, compile, &e->policy);
    uint64_t compiled = clock_monotonic_ns();
    if (!code) code = prepare(e);
    e->load_ns = loaded - begin;
    e->compile_ns = compiled - loaded;
    e->prepare_ns = clock_monotonic_ns() - compiled;
    return code;
}

/* --- evaluating --------------------------------------------------------------------------------------------------- */

static Status evaluate(Evaluation *e)
{
    const Args *args = e->args;
    RegoEvalContext context = e->run.context;
    context.budget = (RegoBudget){ .step_count_max = e->step_count_max, .size_max = (size_t)e->memory_mb_max << 20 };
    e->profile = policy_profile_make(args->arena, e->policy, e->query, args_flag(args, "profile"));
    context.strict = args_flag(args, "strict-builtin-errors");
    context.tracer = &e->trace.tracer;
    if (args_flag(args, "profile") || args_flag(args, "coverage")) context.profile = &e->profile;
    uint64_t begin = clock_monotonic_ns();
    Status status = rego_eval(e->query, e->input, &context, &e->result, &e->error);
    e->eval_ns = clock_monotonic_ns() - begin;
    return status;
}

/* --- results as JSON ---------------------------------------------------------------------------------------------- */

/* As many rows as --profile-limit wants, in the order of --profile-sort. */
static const ProfileRow *profile_rows(const Evaluation *e, size_t *out_count)
{
    const Args *args = e->args;
    const char **orders = ARENA_ARRAY(args->arena, const char *, args->given_count + 1u);
    size_t count = 0;
    for (unsigned i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, "profile-sort") == 0) orders[count++] = args->given[i].value;
    const ProfileRow *rows = policy_profile_rows(args->arena, e->policy, e->query, &e->profile,
                                                 count ? orders : policy_profile_orders, out_count);
    if (e->profile_limit && *out_count > e->profile_limit) *out_count = e->profile_limit;
    return rows;
}

static Value profile_value(const Evaluation *e)
{
    Arena *arena = e->args->arena;
    ValueList list = { .arena = arena };
    size_t count;
    const ProfileRow *rows = profile_rows(e, &count);
    for (size_t i = 0; i < count; i++) {
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("total_time_ns"), value_int((int64_t)rows[i].stats.time_ns));
        member_list_add(&members, STR("num_eval"), value_int((int64_t)rows[i].stats.eval_count));
        member_list_add(&members, STR("num_redo"), value_int((int64_t)rows[i].stats.redo_count));
        member_list_add(&members, STR("num_gen_expr"), value_int((int64_t)rows[i].expr_count));
        member_list_add(&members, STR("location"), policy_location_value(arena, rows[i].file, rows[i].loc));
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}

static Value metrics_value(const Evaluation *e)
{
    MemberList members = { .arena = e->args->arena };
    member_list_add(&members, STR("timer_rego_load_files_ns"), value_int((int64_t)e->load_ns));
    member_list_add(&members, STR("timer_rego_module_compile_ns"), value_int((int64_t)e->compile_ns));
    member_list_add(&members, STR("timer_rego_query_compile_ns"), value_int((int64_t)e->prepare_ns));
    member_list_add(&members, STR("timer_rego_query_eval_ns"), value_int((int64_t)e->eval_ns));
    return member_list_object(&members);
}

static Value whole_document(const Evaluation *e)
{
    const Args *args = e->args;
    MemberList members = { .arena = args->arena };
    Value document = rego_result_document(args->arena, &e->result);
    double percent;
    bool is_profiled = args_flag(args, "profile");
    for (uint32_t i = 0; i < document.count; i++)
        member_list_add(&members, value_text(document.members[i].key), document.members[i].value);
    if (args_value(args, "explain"))
        member_list_add(&members, STR("explanation"), policy_trace_value(args->arena, &e->trace));
    if (args_flag(args, "metrics") || is_profiled) member_list_add(&members, STR("metrics"), metrics_value(e));
    if (is_profiled) member_list_add(&members, STR("profile"), profile_value(e));
    if (args_flag(args, "coverage"))
        member_list_add(&members, STR("coverage"),
                        policy_coverage(args->arena, &e->set, e->policy, &e->profile, &percent));
    return member_list_object(&members);
}

/* --- results for people ------------------------------------------------------------------------------------------- */

static Str json_text(Arena *arena, Value value, JsonStyle style)
{
    Buf buf;
    Error err;
    buf_init(&buf, TEXT_OUT_SIZE_MAX);
    Str text = STR("(too large)");
    if (json_print(&buf, rego_value_to_json(arena, value), style, &err) == OK) text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static Value bindings_value(Arena *arena, const RegoAnswer *answer)
{
    MemberList members = { .arena = arena };
    for (uint32_t i = 0; i < answer->binding_count; i++)
        member_list_add(&members, answer->bindings[i].name, answer->bindings[i].value);
    return member_list_object(&members);
}

static Value values_value(Arena *arena, const RegoAnswer *answer)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < answer->expression_count; i++) value_list_add(&list, answer->expressions[i].value);
    return value_list_array(&list);
}

/* Columns of a table: a variable each, and the expressions that say more than `true`; all of them without variables. */
static bool *shown_columns(const Evaluation *e, size_t column_count, size_t *out_count)
{
    const RegoAnswer *first = &e->result.answers[0];
    bool *is_shown = ARENA_ARRAY(e->args->arena, bool, column_count + 1);
    *out_count = 0;
    for (size_t k = 0; k < column_count; k++) {
        is_shown[k] = k < first->binding_count || !first->binding_count;
        for (uint32_t i = 0; !is_shown[k] && i < e->result.count; i++)
            is_shown[k] = !value_is_true(e->result.answers[i].expressions[k - first->binding_count].value);
        *out_count += is_shown[k];
    }
    return is_shown;
}

static Str cell_text(const Evaluation *e, const RegoAnswer *answer, size_t column, bool is_head)
{
    bool is_binding = column < answer->binding_count;
    size_t expression = column - answer->binding_count;
    if (is_head) return is_binding ? answer->bindings[column].name : answer->expressions[expression].text;
    Value value = is_binding ? answer->bindings[column].value : answer->expressions[expression].value;
    return json_text(e->args->arena, value, JSON_COMPACT);
}

static void print_table(const Evaluation *e, Buf *out)
{
    const RegoAnswer *answers = e->result.answers;
    size_t column_count = (size_t)answers[0].binding_count + answers[0].expression_count, shown_count, at = 0;
    const bool *is_shown = shown_columns(e, column_count, &shown_count);
    Str *cells = ARENA_ARRAY(e->args->arena, Str, shown_count * (e->result.count + 1u) + 1u);
    for (uint32_t row = 0; row <= e->result.count; row++)
        for (size_t k = 0; k < column_count; k++)
            if (is_shown[k]) cells[at++] = cell_text(e, &answers[row ? row - 1 : 0], k, /* is_head= */ row == 0);
    policy_table(out, cells, e->result.count + 1u, shown_count);
}

static void print_line(const Evaluation *e, Value value, Buf *out)
{
    buf_str(out, json_text(e->args->arena, value, JSON_PRETTY));
    buf_char(out, '\n');
}

static void print_result(const Evaluation *e, Buf *out)
{
    const RegoResult *result = &e->result;
    const RegoAnswer *first = result->answers;
    bool is_single = result->count == 1 && first->expression_count == 1 && !first->binding_count;
    if (!result->count) buf_text(out, "undefined\n");
    else if (is_single) print_line(e, first->expressions[0].value, out);
    else print_table(e, out);
}

static void print_profile(const Evaluation *e, Buf *out)
{
    enum { COLUMN_COUNT = 5 };
    static const char *const heads[COLUMN_COUNT] = { "Time", "Num Eval", "Num Redo", "Num Gen Expr", "Location" };
    Arena *arena = e->args->arena;
    size_t count, at = COLUMN_COUNT;
    const ProfileRow *rows = profile_rows(e, &count);
    Str *cells = ARENA_ARRAY(arena, Str, COLUMN_COUNT * (count + 1));
    for (size_t i = 0; i < COLUMN_COUNT; i++) cells[i] = str_of(heads[i]);
    for (size_t i = 0; i < count; i++) {
        char storage[32];
        Buf time = buf_on(storage, sizeof storage);
        policy_duration(&time, rows[i].stats.time_ns);
        cells[at++] = arena_copy(arena, buf_peek(&time));
        cells[at++] = arena_format(arena, "%llu", (unsigned long long)rows[i].stats.eval_count);
        cells[at++] = arena_format(arena, "%llu", (unsigned long long)rows[i].stats.redo_count);
        cells[at++] = arena_format(arena, "%llu", (unsigned long long)rows[i].expr_count);
        cells[at++] = rows[i].file.len ? arena_format(arena, "%.*s:%u", STR_ARG(rows[i].file), rows[i].loc.row)
                                       : str_of(e->args->operands[0]);
    }
    policy_table(out, cells, count + 1, COLUMN_COUNT);
}

static void print_metrics(const Evaluation *e, Buf *out)
{
    Arena *arena = e->args->arena;
    Value metrics = metrics_value(e);
    Str *cells = ARENA_ARRAY(arena, Str, 2 * (metrics.count + 1u));
    cells[0] = STR("Metric");
    cells[1] = STR("Value");
    for (uint32_t i = 0; i < metrics.count; i++) {
        cells[2 * i + 2] = value_text(metrics.members[i].key);
        cells[2 * i + 3] = arena_format(arena, "%lld", (long long)metrics.members[i].value.integer);
    }
    policy_table(out, cells, metrics.count + 1u, 2);
}

static void print_pretty(const Evaluation *e, Buf *out)
{
    const Args *args = e->args;
    double percent;
    policy_trace_print(&e->trace, "", args_flag(args, "var-values"), out);
    print_result(e, out);
    if (args_flag(args, "metrics") || args_flag(args, "profile")) print_metrics(e, out);
    if (args_flag(args, "profile")) print_profile(e, out);
    if (!args_flag(args, "coverage")) return;
    policy_coverage(args->arena, &e->set, e->policy, &e->profile, &percent);
    Str cells[] = { STR("Overall Coverage"), arena_format(args->arena, "%.2f", percent) };
    policy_table(out, cells, 1, 2);
}

static void print_values(const Evaluation *e, Buf *out)
{
    for (uint32_t i = 0; i < e->result.count; i++)
        print_line(e, values_value(e->args->arena, &e->result.answers[i]), out);
}

static void print_bindings(const Evaluation *e, Buf *out)
{
    for (uint32_t i = 0; i < e->result.count; i++)
        print_line(e, bindings_value(e->args->arena, &e->result.answers[i]), out);
}

/* For scripts: strings without quotes, a space between the values of one answer. */
static void print_raw(const Evaluation *e, Buf *out)
{
    for (uint32_t i = 0; i < e->result.count; i++) {
        const RegoAnswer *answer = &e->result.answers[i];
        for (uint32_t k = 0; k < answer->expression_count; k++) {
            Value value = answer->expressions[k].value;
            if (k) buf_char(out, ' ');
            Str text = value.kind == VALUE_STRING ? value_text(value) : json_text(e->args->arena, value, JSON_COMPACT);
            buf_str(out, text);
        }
        buf_char(out, '\n');
    }
}

static ExitCode print_text(const Evaluation *e, const char *format)
{
    static const struct { const char *name; void (*print)(const Evaluation *, Buf *); } printers[] = {
        { "pretty", print_pretty }, { "values", print_values }, { "bindings", print_bindings }, { "raw", print_raw },
    };
    Buf out;
    buf_init(&out, TEXT_OUT_SIZE_MAX);
    for (size_t i = 0; i < sizeof printers / sizeof *printers; i++)
        if (strcmp(printers[i].name, format) == 0) printers[i].print(e, &out);
    print_file(&out);
    buf_deinit(&out);
    return EXIT_CODE_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static ExitCode refuse_result(const Evaluation *e, bool is_json)
{
    if (!is_json) {
        Buf text;
        buf_init(&text, TEXT_OUT_SIZE_MAX);
        policy_trace_print(&e->trace, "", args_flag(e->args, "var-values"), &text);
        print_err(&text);
        buf_deinit(&text);
    }
    return policy_refuse_eval(e->args, &e->error);
}

/* That a part of the explanation is missing has no place in the JSON that others know. */
static ExitCode print_whole(const Evaluation *e)
{
    ExitCode code = print_document(whole_document(e));
    char storage[128];
    Buf missing = buf_on(storage, sizeof storage);
    policy_trace_print_missing(&e->trace, "explanation: ", &missing);
    if (missing.len) print_err(&missing);
    return code;
}

static ExitCode report(const Evaluation *e, Status status)
{
    const Args *args = e->args;
    const char *format = args_value(args, "format");
    bool is_json = !format || strcmp(format, "json") == 0;
    if (status) return refuse_result(e, is_json);
    ExitCode code = is_json ? print_whole(e) : print_text(e, format);
    if (code) return code;
    bool is_unwanted = e->result.count ? args_flag(args, "fail-defined") : args_flag(args, "fail");
    return is_unwanted ? EXIT_CODE_RUN_FAILED : EXIT_CODE_OK;
}

static ExitCode run(const Args *args)
{
    Evaluation e = { .args = args };
    bool is_read = args_number(args, "profile-limit", PROFILE_ROW_COUNT_DEFAULT, 0, UINT32_MAX, &e.profile_limit)
                && args_number(args, "max-steps", 0, 1, UINT64_MAX, &e.step_count_max)
                && args_number(args, "max-memory", 0, 1, EVAL_MEMORY_MB_MAX, &e.memory_mb_max);
    ExitCode code = is_read ? make(&e) : EXIT_CODE_USAGE;
    if (!code) {
        policy_run_init(&e.run);
        const char *format = args_value(args, "format");
        TraceForm form = !format || strcmp(format, "json") == 0 ? TRACE_AS_JSON : TRACE_AS_TEXT;
        policy_trace_init(&e.trace, args->arena, policy_trace_filter(args_value(args, "explain")), form, /* prints= */ true);
        code = report(&e, evaluate(&e));
        policy_trace_deinit(&e.trace);
        policy_run_deinit(&e.run);
    }
    rego_query_free(e.query);
    rego_policy_free(e.policy);
    return code;
}

const Verb command_policy_eval = {
    .name = "policy eval", .operands = "QUERY", .operand_count_min = 1, .operand_count_max = 1,
    .summary = "Evaluates a query over policies, data and an input.",
    .doc = "Prints the result as JSON: for each answer the values of the query's expressions and of its variables. What\n"
           "print() writes goes to standard error. The exit code is 65 where a policy, a document or the evaluation is\n"
           "wrong, and with --fail and --fail-defined 1 where the result is undefined or defined.",
    .examples = "  maestro policy eval -d policies -i input.json data.deploy.allow\n"
                "  maestro policy eval --format pretty 'x := [1, 2, 3][_]; x > 1'\n"
                "  maestro policy eval -b bundle.tar.gz -I --fail data.deploy.allow < input.json",
    .options = options, .run = run,
};
