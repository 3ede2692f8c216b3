#include "cli/server_plan.h"

#include "base/utf8.h"
#include "cli/errand.h"
#include "cli/server_order.h"
#include "value/json.h"

static ExitCode ask(const Args *args, Str text, TextFormat format, Value params, Value *out_answer)
{
    MemberList body = { .arena = args->arena };
    member_list_add(&body, STR("definition"), value_string(text));
    member_list_add(&body, STR("format"), value_string(format == TEXT_JSON ? STR("json") : STR("yaml")));
    if (params.kind == VALUE_OBJECT) member_list_add(&body, STR("parameters"), params);
    return server_order(args, &(ServerCall){ .method = "POST", .path = STR("/api/plans"), .body = member_list_object(&body) }, out_answer);
}

/* --- mistakes --------------------------------------------------------------------------------------------------------------------------- */

/* The same tree twice: as it was sent, and with the places that its author knows. */
typedef struct Search {
    uint32_t line, column;              /* in what was sent */
    const Node *sent, *written;         /* the last that begins there or before; NULL: none */
} Search;

static void look(Search *search, const Node *sent, const Node *written)
{
    bool is_before = sent->line < search->line || (sent->line == search->line && sent->column <= search->column);
    bool is_last = !search->sent || sent->line > search->sent->line || (sent->line == search->sent->line && sent->column >= search->sent->column);
    if (is_before && is_last) {
        search->sent = sent;
        search->written = written;
    }
    uint32_t count = node_is_scalar(sent) ? 0 : sent->kind == NODE_MAP ? 2 * sent->count : sent->count;
    for (uint32_t i = 0; i < count; i++) look(search, &sent->items[i], &written->items[i]);
}

static void relocate(Diagnostic *diagnostic, const Node *sent, const Node *written)
{
    Search search = { .line = diagnostic->line, .column = diagnostic->column };
    if (!diagnostic->line || !sent) return;
    look(&search, sent, written);
    if (!search.written) return;
    const Node *from = search.sent, *to = search.written;
    bool is_inside = from->line == diagnostic->line && from->column < diagnostic->column;
    bool is_followed = is_inside && node_is_scalar(from) && from->inner < NODE_ELSEWHERE && to->inner < NODE_ELSEWHERE;
    diagnostic->line = to->line;
    diagnostic->column = is_followed ? to->column + to->inner + (diagnostic->column - from->column - from->inner) : to->column;
    if (!is_followed) diagnostic->width = to->width;
}

static void take_mistakes(Value answer, const Node *sent, Compiled *out)
{
    const Value *list = value_get_text(answer, "diagnostics");
    Diagnostics *diagnostics = &out->diagnostics;
    for (uint32_t i = 0; list && list->kind == VALUE_ARRAY && i < list->count; i++) {
        Value one = list->items[i];
        bool is_error = str_is_text(value_get_string(one, "severity", STR("")), "error");
        Str message = value_get_string(one, "message", STR(""));
        Diagnostic *diagnostic = diagnose(diagnostics, is_error ? SEVERITY_ERROR : SEVERITY_WARNING, NULL, "%.*s", STR_ARG(message));
        diagnostic->line = (uint32_t)value_get_int(one, "line", 0);
        diagnostic->column = (uint32_t)value_get_int(one, "column", 0);
        diagnostic->width = (uint32_t)value_get_int(one, "width", 0);
        diagnostic->details = value_get_string(one, "details", STR(""));
        diagnostic->help = value_get_string(one, "help", STR(""));
        diagnostic->pointer = value_get_string(one, "pointer", STR(""));
        relocate(diagnostic, sent, out->root);
    }
    diagnostics->error_count = (uint32_t)value_get_int(answer, "errorCount", diagnostics->error_count);
    diagnostics->warning_count = (uint32_t)value_get_int(answer, "warningCount", diagnostics->warning_count);
    if (sent) diagnostics_sort(diagnostics);
}

/* --- the plan --------------------------------------------------------------------------------------------------------------------------- */

/* Bytes that are no text cannot be sent in JSON. They are a mistake for every reader, and told at their place. */
static bool tell_no_text(const Args *args, Str text, const CompileOptions *options, Compiled *out)
{
    Error err;
    Node *root;
    if (utf8_valid_size(text) == text.len && str_find(text, '\0', 0) == text.len) return false;
    if (!node_read(args->arena, text, options->format, &root, &err)) return false;
    *out = (Compiled){ 0 };
    diagnostics_init(&out->diagnostics, args->arena, options->file, text);
    diagnose_error(&out->diagnostics, &err);
    return true;
}

ExitCode server_compile(const Args *args, Str text, const CompileOptions *options, Compiled *out)
{
    Value answer, document;
    Error err;
    Node *sent = NULL, *root = NULL;
    if (tell_no_text(args, text, options, out)) return EXIT_CODE_OK;
    ExitCode code = ask(args, text, options->format, value_null(), &answer);
    if (code) return code;
    *out = (Compiled){ .is_valid = value_get_bool(answer, "valid", false), .is_config = value_get_bool(answer, "configuration", false),
                       .is_old_runbook = value_get_bool(answer, "oldRunbook", false) };
    diagnostics_init(&out->diagnostics, args->arena, options->file, options->places ? options->source : text);
    if (node_read(args->arena, text, options->format, &root, &err)) root = NULL;        /* the server has told that, too */
    if (root && options->places && (!node_relocate(root, options->places) || node_read(args->arena, text, options->format, &sent, &err)))
        sent = NULL;
    out->root = root;
    take_mistakes(answer, sent, out);
    if (!out->is_valid || out->is_config) return EXIT_CODE_OK;
    Status status = json_parse(args->arena, value_get_string(answer, "plan", STR("")), &document, &err);
    if (!status) status = plan_read(args->arena, document, &out->plan, &err);
    return status ? fail(&err) : EXIT_CODE_OK;
}

ExitCode server_dry_run(const Args *args, Str text, TextFormat format, Value params, Value *out_found)
{
    Value answer;
    ExitCode code = ask(args, text, format, params, &answer);
    const Value *found = code ? NULL : value_get_text(answer, "dryRun");
    Error err;
    if (!code && !found) {
        error_set(&err, ERR_CONFLICT, "the server finds mistakes in this definition by now: try again");
        return errand_refused(&err);
    }
    if (found) *out_found = *found;
    return code;
}
