#include "cli/policy_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "value/number.h"

/* --- compiling ---------------------------------------------------------------------------------------------------- */

ExitCode policy_compile(const Args *args, const PolicySet *set, RegoCompileOptions options, RegoPolicy **out_policy)
{
    RegoErrors errors;
    rego_errors_init(&errors, args->arena);
    Status status = rego_compile(set->modules, (uint32_t)set->module_count, set->data, &options, out_policy, &errors);
    return status ? policy_refuse(args, set, STR(""), &errors) : EXIT_CODE_OK;
}

ExitCode policy_prepare(const Args *args, const PolicySet *set, const RegoPolicy *policy, Str package,
                        RegoQuery **out_query)
{
    RegoErrors errors;
    RegoQueryOptions options = { .capture = true, .package = package };
    Str query = str_of(args->operands[0]);
    rego_errors_init(&errors, args->arena);
    Status status = rego_query_prepare(policy, query, &options, out_query, &errors);
    return status ? policy_refuse(args, set, query, &errors) : EXIT_CODE_OK;
}

ExitCode policy_refuse_eval(const Args *args, const RegoEvalError *error)
{
    if (policy_wants_json(args)) {
        ValueList list = { .arena = args->arena };
        value_list_add(&list, policy_eval_error_value(args->arena, error));
        print_document(policy_errors_document(args->arena, value_list_array(&list)));
        return EXIT_CODE_DATA;
    }
    char storage[4 * ERROR_TEXT_SIZE];
    Buf text = buf_on(storage, sizeof storage);
    buf_text(&text, "maestro: ");
    policy_eval_error_print(&text, error);
    print_err(&text);
    return EXIT_CODE_DATA;
}

Value policy_eval_error_value(Arena *arena, const RegoEvalError *error)
{
    Value details = error->details[0] ? value_string(arena_copy(arena, str_of(error->details))) : value_null();
    return policy_error_at(arena, arena_copy(arena, str_of(error->error.text)), rego_eval_code_name(error->code),
                           error->file, error->loc, details);
}

void policy_eval_error_print(Buf *out, const RegoEvalError *error)
{
    rego_eval_error_print(out, error);
    if (error->details[0]) buf_format(out, "\n%s", error->details);
    buf_char(out, '\n');
}

/* --- results ------------------------------------------------------------------------------------------------------ */

Value policy_decimal(Arena *arena, double number)
{
    char text[64];
    Value value;
    for (int digits = 15; digits <= 17; digits++) {         /* the fewest that are read back as the same number */
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    return number_read(arena, arena_copy(arena, str_of(text)), &value, NULL) ? value_int(0) : value;
}

void policy_duration(Buf *out, uint64_t ns)
{
    if (ns < 1000) buf_format(out, "%uns", (unsigned)ns);
    else if (ns < 1000000) buf_format(out, "%.3fµs", (double)ns / 1e3);
    else if (ns < 1000000000) buf_format(out, "%.3fms", (double)ns / 1e6);
    else buf_format(out, "%.3fs", (double)ns / 1e9);
}

static void table_rule(Buf *out, const size_t *widths, size_t count, const char *left, const char *middle,
                       const char *right)
{
    buf_text(out, left);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < widths[i] + 2; k++) buf_text(out, "─");
        buf_text(out, i + 1 < count ? middle : right);
    }
    buf_char(out, '\n');
}

void policy_table(Buf *out, const Str *cells, size_t row_count, size_t column_count)
{
    enum { COLUMN_COUNT_MAX = 64 };
    size_t widths[COLUMN_COUNT_MAX] = { 0 };
    if (column_count > COLUMN_COUNT_MAX) column_count = COLUMN_COUNT_MAX;
    for (size_t i = 0; i < row_count * column_count; i++)
        if (utf8_width(cells[i]) > widths[i % column_count]) widths[i % column_count] = utf8_width(cells[i]);
    table_rule(out, widths, column_count, "┌", "┬", "┐");
    for (size_t row = 0; row < row_count; row++) {
        if (row == 1) table_rule(out, widths, column_count, "├", "┼", "┤");
        for (size_t i = 0; i < column_count; i++) {
            Str cell = cells[row * column_count + i];
            size_t free = widths[i] - utf8_width(cell), left = row == 0 ? free / 2 : 0;
            buf_text(out, i ? " │ " : "│ ");
            buf_repeat(out, ' ', left);
            buf_str(out, cell);
            buf_repeat(out, ' ', free - left);
        }
        buf_text(out, " │\n");
    }
    table_rule(out, widths, column_count, "└", "┴", "┘");
}
