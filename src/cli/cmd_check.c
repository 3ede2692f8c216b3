#include <stdio.h>
#include <unistd.h>

#include "cli/load.h"
#include "lang/production.h"
#include "value/json.h"

#define REPORT_SIZE_MAX (16u << 20) /* each piece of evidence names a few things; a message may repeat a long text */

static const Option options[] = {
    { "production", 0, NULL, NULL, "Runs the production readiness checklist." },
    { "json", 0, NULL, NULL, "Prints the results as JSON on standard output." },
    { NULL },
};

static ExitCode print_report(const Args *args, const Loaded *loaded, const ProductionReport *report)
{
    Str file = loaded->compiled.diagnostics.file;
    Buf out;
    Error err;
    Status status = OK;
    buf_init(&out, REPORT_SIZE_MAX);
    if (args_flag(args, "json")) {
        status = json_print(&out, production_value(report, file, args->arena), JSON_PRETTY, &err);
        buf_char(&out, '\n');
    } else {
        production_print(report, file, args_color(args, STDOUT_FILENO), &out);
    }
    if (!status) print_out(&out);
    buf_deinit(&out);
    return status ? fail(&err) : EXIT_CODE_OK;
}

static ExitCode run(const Args *args)
{
    if (!args_flag(args, "production")) {
        fputs("maestro: 'check' has to be told what to check: --production runs the production readiness checklist\n"
              "Try 'maestro help check', or 'maestro validate' to look for mistakes.\n", stderr);
        return EXIT_CODE_USAGE;
    }
    Loaded loaded;
    ProductionReport report;
    ExitCode code = load_current(args, args->operands[0], &loaded);
    if (code) return code;
    print_diagnostics(args, &loaded.compiled.diagnostics);
    production_check(args->arena, &loaded.compiled, loaded.catalog, &report);
    code = print_report(args, &loaded, &report);
    if (code) return code;
    return report.counts[ANSWER_FAIL] ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

const Verb command_check = {
    .name = "check",
    .operands = "FILE",
    .operand_count_min = 1,
    .operand_count_max = 1,
    .summary = "Says whether a definition is ready for production.",
    .doc =
        "Runs the checks of the production readiness checklist that the definition and the configuration decide. Each\n"
        "passes, fails with the places that lack something, or does not apply; those that only a store or a running server\n"
        "can decide say what they need. The exit code is 0 if none fails and 65 if one does.",
    .examples = "  maestro check --production order.yaml\n"
                "  maestro check --production --json order.yaml | jq -r '.[] | select(.answer == \"fail\") | .name'",
    .options = options,
    .run = run,
};
