#include <stdio.h>
#include <unistd.h>

#include "cli/load.h"
#include "cli/review_read.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "lang/compatibility.h"
#include "lang/production.h"
#include "value/json.h"

#define REPORT_SIZE_MAX (16u << 20) /* each piece of evidence names a few things; a message may repeat a long text */

static const Option options[] = {
    { "production", 0, NULL, NULL, "Runs the production readiness checklist." },
    { "against", 0, "OTHER", NULL, "Finds out whether FILE can take the place of OTHER, the definition that is in use." },
    { "store", 0, "URL", NULL, "The store whose reviews of policies count: sqlite:PATH." },
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
    if (!status) print_tinted(&out);
    buf_deinit(&out);
    return status ? fail(&err) : EXIT_CODE_OK;
}

static ExitCode check_production(const Args *args, const Loaded *loaded)
{
    ProductionReport report;
    ProductionFacts facts;
    Value policies;
    bool has_store = store_is_named(args) || server_is_meant(args);
    Str tenant = loaded->compiled.is_valid && !loaded->compiled.is_config ? loaded->compiled.plan.tenant : STR("default");
    ExitCode code = has_store ? review_list(args, loaded->catalog, tenant, &policies) : EXIT_CODE_OK;
    if (code) return code;
    if (has_store) facts = review_facts(args, &policies);
    production_check(args->arena, &loaded->compiled, loaded->catalog, has_store ? &facts : NULL, &report);
    code = print_report(args, loaded, &report);
    if (code) return code;
    return report.counts[ANSWER_FAIL] ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

/* --- another version ------------------------------------------------------------------------------------------------------- */

static Status print_findings(const Args *args, const Compatibility *found, Buf *out, Error *err)
{
    ValueList list = { .arena = args->arena };
    for (uint32_t i = 0; i < found->count; i++) {
        MemberList members = { .arena = args->arena };
        member_list_add(&members, STR("subject"), value_string(found->findings[i].subject));
        member_list_add(&members, STR("what"), value_string(found->findings[i].what));
        value_list_add(&list, member_list_object(&members));
    }
    MemberList whole = { .arena = args->arena };
    member_list_add(&whole, STR("compatible"), value_bool(found->total == 0));
    member_list_add(&whole, STR("count"), value_int(found->total));
    member_list_add(&whole, STR("incompatibilities"), value_list_array(&list));
    Status status = json_print(out, member_list_object(&whole), JSON_PRETTY, err);
    buf_char(out, '\n');
    return status;
}

static ExitCode check_against(const Args *args, const Loaded *loaded, const char *other)
{
    Loaded before;
    Compatibility found;
    Buf out;
    Error err;
    Status status = OK;
    ExitCode code = load_plan(args, other, &before);
    if (code) return code;
    compatibility_compare(args->arena, &before.compiled.plan, &loaded->compiled.plan, &found);
    buf_init(&out, REPORT_SIZE_MAX);
    if (args_flag(args, "json")) {
        status = print_findings(args, &found, &out, &err);
    } else {
        const char *answer = found.total ? "cannot" : "can", *colon = found.total ? ":" : "";
        buf_format(&out, "%s %s take the place of %s%s\n", loaded->path, answer, other, colon);
        compatibility_print(&found, &out);
    }
    if (!status) print_tinted(&out);
    buf_deinit(&out);
    if (status) return fail(&err);
    return found.total ? EXIT_CODE_DATA : EXIT_CODE_OK;
}

static ExitCode run(const Args *args)
{
    const char *other = args_value(args, "against");
    if (args_flag(args, "production") == (other != NULL)) {
        print_note("maestro: 'check' has to be told what to check, one at a time:\n"
              "--production runs the production readiness checklist,\n"
              "--against OTHER says whether the definition can take the place of another one\n"
              "Try 'maestro help check', or 'maestro validate' to look for mistakes.\n");
        return EXIT_CODE_USAGE;
    }
    Loaded loaded;
    if (other) {
        ExitCode code = load_plan(args, args->operands[0], &loaded);
        return code ? code : check_against(args, &loaded, other);
    }
    ExitCode code = load_current(args, args->operands[0], &loaded);
    if (code) return code;
    print_diagnostics(args, &loaded.compiled.diagnostics);
    return check_production(args, &loaded);
}

const Verb command_check = {
    .name = "check",
    .operands = "FILE",
    .operand_count_min = 1,
    .operand_count_max = 1,
    .summary = "Says whether a definition is ready for production, or can take the place of another.",
    .doc =
        "--production runs the checks of the readiness checklist that the definition and the configuration decide. Each\n"
        "passes, fails with the places that lack something, or does not apply; those that only a store or a running server\n"
        "can tell are undecided and say what they need. With --store or --server the reviews of policies are those that were\n"
        "recorded there ('maestro policy review'); without, who is named in the configuration counts (reviewed_by). The\n"
        "others are looked at by hand then, and say with which command. The exit code is 0 if none fails and 65 if one does.\n"
        "\n"
        "--against compares what others rely on with another version of the definition: parameters that were accepted must stay\n"
        "acceptable, outputs that steps declare must stay declared. What breaks is listed, and the exit code is 65.",
    .examples = "  maestro check --production order.yaml\n"
                "  maestro check order.yaml --against order-in-use.yaml\n"
                "  maestro check --production --json order.yaml | jq -r '.[] | select(.answer == \"fail\") | .name'",
    .options = options,
    .run = run,
};
