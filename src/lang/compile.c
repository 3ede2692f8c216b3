#include "lang/compile.h"

#include "base/limits.h"
#include "lang/compiler.h"
#include "lang/migrate.h"
#include "lang/shapes.h"
#include "lang/trigger.h"

TextFormat text_format_of(Str file)
{
    return str_ends(file, STR(".json")) ? TEXT_JSON : TEXT_YAML;
}

/* A runbook has a name for people; its id is made of that: "Log Analysis" is log-analysis. A name with other letters than
 * ASCII has the beginning of its digest behind it, since what is left of it may be left of others too. */
static Str slug(Arena *arena, Str name)
{
    bool is_ascii = true;
    for (size_t i = 0; i < name.len; i++) is_ascii = is_ascii && (unsigned char)name.ptr[i] < 0x80;
    char *text = arena_alloc(arena, name.len + 1);
    size_t size = 0;
    for (size_t i = 0; i < name.len; i++) {
        char c = ascii_to_lower(name.ptr[i]);
        if (ascii_is_alnum(c)) text[size++] = c;
        else if (size && text[size - 1] != '-') text[size++] = '-';
    }
    while (size && text[size - 1] == '-') size--;
    Str made = size ? (Str){ text, size } : STR("runbook");
    if (is_ascii) return made;
    Digest digest = digest_of(name);
    return arena_format(arena, "%.*s-%02x%02x%02x%02x", STR_ARG(made), digest.bytes[0], digest.bytes[1],
                        digest.bytes[2], digest.bytes[3]);
}

static void check_config(Compiler *compiler, Compiled *out)
{
    config_check(compiler->diagnostics, out->root);
    out->is_config = true;
    out->is_valid = compiler->diagnostics->error_count == 0;
}

static void refuse_kind(Compiled *out)
{
    Diagnostics *diagnostics = &out->diagnostics;
    if (out->root->kind != NODE_MAP) {
        diagnose(diagnostics, SEVERITY_ERROR, out->root, "a definition is a mapping, this is %s",
                 node_kind_name(out->root));
        return;
    }
    if (runbook_is_old(out->root)) {
        out->is_old_runbook = true;
        Diagnostic *diagnostic =
            diagnose(diagnostics, SEVERITY_ERROR, out->root,
                     "this is a runbook of the old format, with connectors, analysers and execution");
        diagnostic_help(diagnostics, diagnostic, "maestro migrate %.*s", STR_ARG(diagnostics->file));
        return;
    }
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, out->root, "this is no definition");
    diagnostic_help(
        diagnostics, diagnostic,
        "a workflow has the keys 'workflow' and 'jobs', a step tree 'workflow' and 'steps', a runbook 'name' and 'artifacts'");
}

static void finish(Compiler *compiler, Compiled *out)
{
    Error err;
    if (compiler->diagnostics->error_count || !compiler_fits(compiler)) return;
    if (compiler->catalog->cooperative_max != COOPERATIVE_COUNT_DEFAULT)
        member_list_add(&compiler->draft.members, STR("cooperatives"), value_int(compiler->catalog->cooperative_max));
    Status status = plan_read(compiler->arena, draft_document(&compiler->draft), &out->plan, &err);
    if (status) diagnose(compiler->diagnostics, SEVERITY_ERROR, NULL, "%s", err.text);
    else out->is_valid = true;
}

static void compile_root(Compiler *compiler, Compiled *out)
{
    const Node *root = out->root;
    bool is_map = root->kind == NODE_MAP;
    if (is_map && node_get(root, "artifacts")) {
        const Node *name = get_text(root, "name");
        out->type = &type_runbook;
        shape_check(compiler->diagnostics, root, out->type);
        draft_init(&compiler->draft, compiler->arena, PLAN_RUNBOOK,
                   slug(compiler->arena, name ? node_text(name) : STR("")));
        runbook_compile(compiler);
    } else if (is_map && (node_get(root, "jobs") || node_get(root, "steps") || node_get(root, "workflow"))) {
        const Node *id = get_text(root, "workflow");
        bool is_tree = node_get(root, "steps") && !node_get(root, "jobs");
        if (!id) id = get_text(root, "workflowId");
        out->type = &type_workflow;
        shape_check(compiler->diagnostics, root, out->type);
        draft_init(&compiler->draft, compiler->arena, is_tree ? PLAN_STEP_TREE : PLAN_WORKFLOW,
                   id ? node_text(id) : STR(""));
        triggers_check(compiler);
        if (is_tree) step_tree_compile(compiler);
        else workflow_compile(compiler);
    } else if (is_map && node_get(root, "executors")) {
        check_config(compiler, out);
        return;
    } else {
        refuse_kind(out);
        return;
    }
    finish(compiler, out);
}

/* As the definition says, right or not: what is wrong with it is told elsewhere. */
static Str tenant_of(const Node *root)
{
    const Node *tenant = get_text(root, "tenant"), *same = get_text(root, "namespace");
    return tenant ? node_text(tenant) : same ? node_text(same) : STR("default");
}

void compile(Arena *arena, Str text, const CompileOptions *options, Compiled *out)
{
    Error err;
    Node *root = NULL;
    Arena scratch;
    *out = (Compiled){ 0 };
    diagnostics_init(&out->diagnostics, arena, options->file, options->places ? options->source : text);
    const CompileBounds *bounds = options->bounds;
    Status status = bounds ? node_read_within(arena, text, options->format, bounds->node_count_max, bounds->node_name, &root, &err)
                           : node_read(arena, text, options->format, &root, &err);
    if (status) {
        diagnose_error(&out->diagnostics, &err);
        return;
    }
    if (options->places && !node_relocate(root, options->places)) {
        diagnose(&out->diagnostics, SEVERITY_ERROR, NULL, "the places given with this definition are not those of it");
        return;
    }
    out->root = root;
    arena_init(&scratch, SIZE_MAX);
    Compiler compiler = {
        .arena = arena, .scratch = &scratch, .diagnostics = &out->diagnostics, .catalog = options->catalog, .root = root,
        .bounds = bounds, .tenant = options->tenant.len ? options->tenant : tenant_of(root),
    };
    const Node *schemas = get_map(root, "schemas");
    map_init(&compiler.pause_keys, &scratch, 0);
    map_init(&compiler.schemas, &scratch, schemas ? schemas->count : 0);
    for (uint32_t i = 0; schemas && i < schemas->count; i++)
        map_add(&compiler.schemas, node_text(node_key(schemas, i)), i, NULL);
    compile_root(&compiler, out);
    diagnostics_point(&out->diagnostics, root);
    arena_deinit(&scratch);
    diagnostics_sort(&out->diagnostics);
}
