/* definition.c - definitions of the program: text to a plan that any thread may submit. */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "embed/definition.h"
#include "lang/compile.h"

/* A runner that nobody here carries out would wait for another process for ever. */
static Status check_runners(const Maestro *maestro, const Plan *plan, Error *err)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        RunnerOffer offer;
        Str runner = plan->steps[i].runner;
        if (!runner.len || (i && str_is(runner, plan->steps[i - 1].runner))) continue;
        if (adapters.crew_runner((void *)&maestro->crew, plan->tenant, runner, /* nth= */ 0, &offer) && !offer.is_unknown) continue;
        return error_set(err, ERR_INVALID, "step %.*s: a program with Maestro inside does not carry out the runner '%.*s'",
                         STR_ARG(plan->steps[i].id), STR_ARG(runner));
    }
    return OK;
}

static Status first_error(const Compiled *compiled, Str file, Error *err)
{
    const Diagnostics *diagnostics = &compiled->diagnostics;
    if (compiled->is_valid && !compiled->is_config) return OK;
    for (size_t i = 0; i < diagnostics->count; i++) {
        const Diagnostic *item = &diagnostics->items[i];
        if (item->severity != SEVERITY_ERROR) continue;
        error_at(err, ERR_INVALID, item->line, item->column, "%.*s:%u:%u: %.*s", STR_ARG(file), item->line, item->column,
                 STR_ARG(item->message));
        return ERR_INVALID;
    }
    return error_set(err, ERR_INVALID, "%.*s is no definition that can be run", STR_ARG(file));
}

static Status make_definition(Maestro *maestro, const Compiled *compiled, MaestroDefinition **out, Error *err)
{
    const Plan *plan = &compiled->plan;
    Status status = check_runners(maestro, plan, err);
    if (status) return status;
    MaestroDefinition *definition = calloc(1, sizeof *definition);
    CHECK(definition != NULL);
    buf_init(&definition->document, PLAN_SIZE_MAX);
    buf_init(&definition->tenant, TEXT_SIZE_MAX);
    buf_str(&definition->tenant, plan->tenant);
    arena_init(&definition->arena, SIZE_MAX);
    definition->guarded = guard_is_named(plan->document) ? value_copy(&definition->arena, plan->document) : value_null();
    status = canonical_print(&definition->document, plan->document, err);
    if (status) maestro_definition_free(definition);
    else *out = definition;
    return status;
}

static Status compile_text(Maestro *maestro, Arena *arena, const char *text, const char *file, MaestroDefinition **out,
                           char **out_report, Error *err)
{
    Str source, name = STR("definition.yaml");
    Compiled compiled;
    Status status = take_text(text, "the definition", DEFINITION_SIZE_MAX, &source, err);
    if (!status && file) status = take_text(file, "the name of the definition", TEXT_SIZE_MAX, &name, err);
    if (status) return status;
    compile(arena, source, &(CompileOptions){ .file = name, .format = text_format_of(name), .catalog = &maestro->catalog },
            &compiled);
    if (out_report) status = give_json(diagnostics_value(&compiled.diagnostics, arena), out_report, err);
    if (!status) status = first_error(&compiled, name, err);
    return status ? status : make_definition(maestro, &compiled, out, err);
}

MaestroStatus maestro_compile(Maestro *maestro, const char *text, const char *file, MaestroDefinition **out_definition,
                              char **out_report, MaestroError *err)
{
    Arena arena;
    Error error;
    Status status = enter(maestro, &error);
    if (status) return give_error(&error, err);
    arena_init(&arena, SIZE_MAX);
    status = compile_text(maestro, &arena, text, file, out_definition, out_report, &error);
    arena_deinit(&arena);
    leave(maestro);
    return status ? give_error(&error, err) : MAESTRO_OK;
}

void maestro_definition_free(MaestroDefinition *definition)
{
    if (!definition) return;
    buf_deinit(&definition->document);
    buf_deinit(&definition->tenant);
    arena_deinit(&definition->arena);
    free(definition);
}
