#include "cli/problem.h"

#include "base/limits.h"

void problem_print(ProblemKind kind, const Error *err)
{
    Buf out;
    buf_init(&out, JSON_SIZE_MAX);
    problem_print_json(&out, kind, str_of(err->text), /* instance= */ (Str){ 0 }, NULL, 0);
    buf_char(&out, '\n');
    print_out(&out);
    buf_deinit(&out);
}

ExitCode problem_report(ProblemKind kind, const Error *err)
{
    if (print_wants_json()) problem_print(kind, err);
    print_note("maestro: %s\n", err->text);
    return err->status == ERR_CONFLICT ? EXIT_CODE_RUN_FAILED : exit_code_of(err->status);
}
