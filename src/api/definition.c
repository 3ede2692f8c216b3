#include "api/definition.h"

#include "api/api.h"
#include "base/limits.h"
#include "value/canonical.h"

static const CompileBounds bounds = {
    .node_count_max = API_DEFINITION_NODE_COUNT_MAX, .node_name = "API_DEFINITION_NODE_COUNT_MAX",
    .size_max = API_COMPILE_SIZE_MAX, .size_name = "API_COMPILE_SIZE_MAX",
};

static bool fits(Call *call, size_t size)
{
    if (size <= API_DEFINITION_SIZE_MAX) return true;
    call_problem(call, PROBLEM_BODY_SIZE,
                 "a definition has at most API_DEFINITION_SIZE_MAX (%u) bytes, and this has %zu",
                 API_DEFINITION_SIZE_MAX, size);
    return false;
}

bool definition_fits(Call *call) { return fits(call, call->body.len); }

static bool is_yaml(Str type)
{
    static const char *const names[] = { "application/yaml", "text/yaml", "application/x-yaml" };
    Str name = str_trim(str_slice(type, 0, str_find(type, ';', 0)));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (call_is_name(name, names[i])) return true;
    return false;
}

static bool read(Call *call, Str *out_text, TextFormat *out_format)
{
    Str type = call_header(call, "Content-Type"), body = buf_peek(&call->body);
    Value value;
    *out_format = is_yaml(type) ? TEXT_YAML : TEXT_JSON;
    *out_text = body;
    if (*out_format == TEXT_YAML) return call_is_plain(call);
    if (!call_is_json(call) && str_trim(body).len) {
        call_problem(call, PROBLEM_MEDIA_TYPE, "a definition has to be application/yaml or application/json");
        return false;
    }
    if (!call_read_json(call, &value)) return false;
    const Value *text = value_get_text(value, "definition");
    if (text && text->kind == VALUE_STRING) {
        *out_text = value_text(*text);
        *out_format = TEXT_YAML;
    }
    return true;
}

/* What it is told of runners are its own, whosever it says that its definition is. */
static Str tenant_of(const Call *call) { return str_is_text(call->caller.tenant, "*") ? (Str){ 0 } : call->caller.tenant; }

bool definition_compile(Call *call, Definition *out)
{
    CompileOptions options = { .file = STR("definition"), .catalog = call->api->catalog, .tenant = tenant_of(call), .bounds = &bounds };
    *out = (Definition){ 0 };
    if (!definition_fits(call) || !read(call, &out->text, &options.format)) return false;
    compile(&call->arena, out->text, &options, &out->compiled);
    if (call_has_header(call, "Idempotency-Key")) call->asked = api_asked(call);
    return true;
}

bool definition_is_refused(Call *call, const Definition *definition)
{
    const Diagnostics *diagnostics = &definition->compiled.diagnostics;
    if (definition->compiled.is_valid && !definition->compiled.is_config) return false;
    ProblemField *fields = ARENA_ARRAY(&call->arena, ProblemField, diagnostics->count + 1);
    uint32_t count = 0, total = diagnostics->error_count;
    for (size_t i = 0; i < diagnostics->count; i++) {
        const Diagnostic *diagnostic = &diagnostics->items[i];
        if (diagnostic->severity != SEVERITY_ERROR) continue;
        Str detail = diagnostic->help.len ? arena_format(&call->arena, "%.*s; %.*s", STR_ARG(diagnostic->message),
                                                         STR_ARG(diagnostic->help))
                                          : diagnostic->message;
        fields[count++] = (ProblemField){ diagnostic->pointer, detail, diagnostic->line, diagnostic->column };
    }
    if (definition->compiled.is_config && !total) {
        call_problem(call, PROBLEM_DEFINITION, "this is a configuration of runners and no definition");
        return true;
    }
    Str detail = arena_format(&call->arena, "the definition has %u mistake%s", total, total == 1 ? "" : "s");
    if (total > count) detail = arena_format(&call->arena, "%.*s, of which %u are told: DIAGNOSTIC_COUNT_MAX", STR_ARG(detail), count);
    call_problem_fields(call, PROBLEM_DEFINITION, detail, fields, count);
    return true;
}

bool definition_is_unnamed(Call *call, const Definition *definition, Str tenant)
{
    const Compiled *compiled = &definition->compiled;
    if (str_is(compiled->plan.tenant, tenant) || node_get(compiled->root, "tenant") || node_get(compiled->root, "namespace")) return false;
    ProblemField field = { .pointer = STR("/namespace"),
                           .detail = arena_format(&call->arena, "is missing: write 'namespace: %.*s'",
                                                  STR_ARG(tenant)) };
    call_problem_fields(
        call, PROBLEM_INVALID,
        arena_format(&call->arena,
                     "the definition names no namespace, so that it is of '%.*s'; write 'namespace: %.*s' into it",
                     STR_ARG(compiled->plan.tenant), STR_ARG(tenant)),
        &field, 1);
    return true;
}

static Status print(Arena *arena, const Plan *plan, Str *out_document, Digest *out_digest, Error *err)
{
    Buf document;
    buf_init(&document, PLAN_SIZE_MAX);
    Status status = canonical_print(&document, plan->document, err);
    if (!status) {
        *out_document = arena_copy(arena, buf_peek(&document));
        *out_digest = digest_of(*out_document);
    }
    buf_deinit(&document);
    return status;
}

Status definition_document(Call *call, Definition *definition, Error *err)
{
    return print(&call->arena, &definition->compiled.plan, &definition->document, &definition->digest, err);
}

bool definition_print(Call *copy, Definition *definition)
{
    Error err;
    Status status = definition_document(copy, definition, &err);
    if (!status) status = engine_plan_read(definition->document, &copy->plan, &err);
    if (!status) return true;
    call_error(copy, &err);
    return false;
}

bool definition_compile_text(Call *call, Str text, TextFormat format, Definition *out)
{
    CompileOptions options = { .file = STR("definition"), .catalog = call->api->catalog, .tenant = tenant_of(call), .bounds = &bounds,
                               .format = format };
    *out = (Definition){ .text = text };
    if (!fits(call, text.len)) return false;
    compile(&call->arena, text, &options, &out->compiled);
    return true;
}

void definition_hand_over(Call *call, Call *copy)
{
    call->plan = copy->plan;
    copy->plan = NULL;
}

bool definition_digest(Call *call, Str text, Digest *out)
{
    Definition definition;
    Str document;
    Error err;
    if (!definition_compile_text(call, text, TEXT_YAML, &definition)) return false;
    const Compiled *compiled = &definition.compiled;
    return compiled->is_valid && !compiled->is_config && !print(&call->arena, &compiled->plan, &document, out, &err);
}
