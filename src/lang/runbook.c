/* Runbooks: artifacts, their graph, and the schemas that flow along it. */
#include "base/limits.h"
#include "lang/compiler.h"
#include "lang/graph.h"
#include "lang/shapes.h"
#include "lang/suggest.h"
#include "value/schema.h"

/* A schema is its name and its version: both must agree. */
typedef struct SchemaName {
    Str name, version;              /* name is empty where it is not known, because of an earlier mistake */
} SchemaName;

typedef struct Artifact {
    Str id;
    const Node *key, *node;
    const CatalogEntry *connector, *analyser;
    SchemaName input, output;       /* what enters the transform; what the artifact finally is */
} Artifact;

/* What a component declares of its properties, compiled once however often it is used. */
typedef struct ComponentSchema {
    const CatalogEntry *component;
    const Schema *schema;               /* NULL where it is no schema: reported at its first use */
} ComponentSchema;

typedef struct Runbook {
    Compiler *compiler;
    ComponentSchema *schemas;
    size_t schema_count, schema_capacity;
    Artifact *artifacts;
    uint32_t count;
    Map ids;
    GraphEdge *edges;
    size_t edge_count, edge_capacity;
    Graph graph;
} Runbook;

/* --- references and graph --------------------------------------------------------------------------------------- */

static void collect_input(Runbook *runbook, uint32_t index, const Node *input)
{
    Compiler *compiler = runbook->compiler;
    const Artifact *artifact = &runbook->artifacts[index];
    uint32_t from;
    if (input->kind != NODE_TEXT) return;
    if (!map_find(&runbook->ids, node_text(input), &from)) {
        Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, input,
                                          "the artifact '%.*s' has the input '%.*s', which does not exist",
                                          STR_ARG(artifact->id), STR_ARG(node_text(input)));
        if (!may_suggest(compiler)) return;
        Suggestion suggestion = suggest_begin(node_text(input));
        for (uint32_t i = 0; i < runbook->count; i++) suggest_offer(&suggestion, runbook->artifacts[i].id);
        if (suggestion.best.len)
            diagnostic_help(compiler->diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
        return;
    }
    runbook->edges = arena_grow(compiler->scratch, runbook->edges, sizeof *runbook->edges, runbook->edge_count,
                                &runbook->edge_capacity);
    runbook->edges[runbook->edge_count++] = (GraphEdge){ from, index };
}

static void collect(Runbook *runbook, const Node *artifacts)
{
    static const Node nothing = { .kind = NODE_MAP };
    runbook->count = artifacts->count;
    runbook->artifacts = ARENA_ARRAY(runbook->compiler->scratch, Artifact, artifacts->count);
    map_init(&runbook->ids, runbook->compiler->scratch, artifacts->count);
    for (uint32_t i = 0; i < artifacts->count; i++) {
        const Node *node = node_value(artifacts, i);
        runbook->artifacts[i] = (Artifact){ .id = node_text(node_key(artifacts, i)), .key = node_key(artifacts, i),
                                            .node = node->kind == NODE_MAP ? node : &nothing };
        map_add(&runbook->ids, runbook->artifacts[i].id, i, NULL);
    }
    for (uint32_t i = 0; i < runbook->count; i++) {
        const Node *inputs = node_get(runbook->artifacts[i].node, "inputs");
        Map seen;
        map_init(&seen, runbook->compiler->scratch, many_count(inputs));
        for (uint32_t j = 0; j < many_count(inputs); j++) {
            const Node *input = many_at(inputs, j);
            collect_input(runbook, i, input);
            if (input->kind == NODE_TEXT && !map_add(&seen, node_text(input), 0, NULL))
                diagnose(runbook->compiler->diagnostics, SEVERITY_ERROR, input,
                         "the artifact '%.*s' has the input '%.*s' twice", STR_ARG(runbook->artifacts[i].id),
                         STR_ARG(node_text(input)));
        }
    }
}

static void refuse_cycle(void *context, const uint32_t *nodes, uint32_t count)
{
    Runbook *runbook = context;
    Buf path;
    buf_init(&path, 4096);
    for (uint32_t i = 0; i < count && path.len < 3072; i++)
        buf_format(&path, "%.*s -> ", STR_ARG(runbook->artifacts[nodes[i]].id));
    buf_str(&path, runbook->artifacts[nodes[0]].id);
    diagnose(runbook->compiler->diagnostics, SEVERITY_ERROR, runbook->artifacts[nodes[0]].key,
             "the artifacts form a cycle: %.*s", STR_ARG(buf_peek(&path)));
    buf_deinit(&path);
}

/* --- components ------------------------------------------------------------------------------------------------- */

/* A runbook uses a few components many times: a scan over those seen is short. */
static const Schema *properties_schema(Runbook *runbook, const CatalogEntry *component, const Node *use)
{
    Compiler *compiler = runbook->compiler;
    for (size_t i = 0; i < runbook->schema_count; i++)
        if (runbook->schemas[i].component == component) return runbook->schemas[i].schema;
    const Value *declared = value_get_text(component->settings, "properties");
    const Schema *schema = NULL;
    Error err;
    if (declared && schema_compile(compiler->scratch, *declared, &schema, NULL, &err)) {
        diagnose(compiler->diagnostics, SEVERITY_ERROR, use, "the properties of '%.*s' cannot be checked: %s",
                 STR_ARG(component->name), err.text);
        schema = NULL;
    }
    runbook->schemas = arena_grow(compiler->scratch, runbook->schemas, sizeof *runbook->schemas, runbook->schema_count,
                                  &runbook->schema_capacity);
    runbook->schemas[runbook->schema_count++] = (ComponentSchema){ component, schema };
    return schema;
}

/* The properties against what the component declares of them; each violation at its own line. */
static void check_properties(Runbook *runbook, const Node *use, const CatalogEntry *component)
{
    const Node *given = node_get(use, "properties");
    Diagnostics *diagnostics = runbook->compiler->diagnostics;
    const Schema *schema = properties_schema(runbook, component, use);
    if (!schema) return;
    Arena scratch;
    Error err;
    SchemaReport report;
    arena_init(&scratch, SIZE_MAX);
    Value properties = given ? node_to_value(&scratch, given) : value_object(&scratch, NULL, 0);
    if (schema_check(schema, properties, &scratch, &report, &err)) {
        diagnose(diagnostics, SEVERITY_ERROR, use, "the properties of '%.*s' cannot be checked: %s",
                 STR_ARG(component->name), err.text);
        report.count = 0;
    }
    for (uint32_t i = 0; i < report.count; i++) {
        const Violation *violation = &report.items[i];
        const Node *at = given ? node_at_pointer(given, violation->instance) : use;
        if (violation->level == 0)
            diagnose(diagnostics, SEVERITY_ERROR, at, "properties of '%.*s': %.*s%s%.*s", STR_ARG(component->name),
                     STR_ARG(violation->instance), violation->instance.len ? " " : "", STR_ARG(violation->message));
    }
    arena_deinit(&scratch);
}

static const CatalogEntry *find_component(Runbook *runbook, const Artifact *artifact, CatalogKind kind, const char *key)
{
    Compiler *compiler = runbook->compiler;
    const Node *use = get_map(artifact->node, key), *type = use ? get_text(use, "type") : NULL;
    if (!type) return NULL;
    const CatalogEntry *found = catalog_find(compiler->catalog, kind, node_text(type));
    if (found) {
        check_properties(runbook, use, found);
        return found;
    }
    char storage[512];
    Buf known = buf_on(storage, sizeof storage);
    catalog_list(compiler->catalog, kind, &known);
    Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, type,
                                      "the artifact '%.*s' names the %s '%.*s', which does not exist",
                                      STR_ARG(artifact->id), catalog_kind_name(kind), STR_ARG(node_text(type)));
    Str near = catalog_suggest(compiler->catalog, kind, node_text(type), compiler->tenant);
    diagnostic_help(compiler->diagnostics, diagnostic,
                    "%s%.*s%sknown are %.*s; a plug-in is a manifest in components/%s",
                    near.len ? "did you mean '" : "", STR_ARG(near), near.len ? "'? " : "", STR_ARG(buf_peek(&known)),
                    catalog_group(kind));
    return NULL;
}

static void check_execute(Runbook *runbook, const Artifact *artifact)
{
    const Node *execute = get_map(artifact->node, "execute");
    if (!execute) return;
    Diagnostics *diagnostics = runbook->compiler->diagnostics;
    if (node_get(artifact->node, "source"))
        diagnose(diagnostics, SEVERITY_ERROR, execute,
                 "the artifact '%.*s' has a source; only an input can be executed", STR_ARG(artifact->id));
    if (node_get(artifact->node, "transform"))
        diagnose(diagnostics, SEVERITY_ERROR, execute, "the artifact '%.*s' is executed, so it cannot have a transform",
                 STR_ARG(artifact->id));
    if (many_count(node_get(artifact->node, "inputs")) > 1)
        diagnose(diagnostics, SEVERITY_ERROR, execute, "the artifact '%.*s' executes one input, it has several",
                 STR_ARG(artifact->id));
}

/* --- schemas ---------------------------------------------------------------------------------------------------- */

/* "name" or "name@version"; without a version, the one that is registered. */
static SchemaName schema_name(const Runbook *runbook, Str text)
{
    size_t at = str_find(text, '@', 0);
    SchemaName schema = { str_slice(text, 0, at), str_slice(text, at + 1, text.len) };
    if (schema.version.len) return schema;
    const CatalogEntry *entry = catalog_find(runbook->compiler->catalog, CATALOG_SCHEMA, schema.name);
    schema.version = entry ? value_get_string(entry->settings, "version", STR("1.0.0")) : STR("1.0.0");
    return schema;
}

static SchemaName component_schema(const Runbook *runbook, const CatalogEntry *component, const char *key)
{
    if (!component) return (SchemaName){ 0 };
    return schema_name(runbook, value_get_string(component->settings, key, STR("")));
}

static SchemaName declared_schema(Runbook *runbook, const Artifact *artifact, const char *key, SchemaName otherwise)
{
    const Node *declared = get_text(artifact->node, key);
    if (!declared) return otherwise;
    SchemaName schema = schema_name(runbook, node_text(declared));
    if (!catalog_find(runbook->compiler->catalog, CATALOG_SCHEMA, schema.name))
        check_known(runbook->compiler, CATALOG_SCHEMA, declared);
    return schema;
}

static bool schema_fits(SchemaName a, SchemaName b)
{
    if (a.name.len == 0 || b.name.len == 0) return true;
    return str_is(a.name, b.name) && str_is(a.version, b.version);
}

/* What comes in from the inputs: all of them must agree, name and version. */
static SchemaName upstream_schema(Runbook *runbook, const Artifact *artifact)
{
    const Node *inputs = node_get(artifact->node, "inputs");
    SchemaName first = { 0 };
    Str first_id = STR("");
    for (uint32_t i = 0; i < many_count(inputs); i++) {
        uint32_t from;
        const Node *input = many_at(inputs, i);
        if (input->kind != NODE_TEXT || !map_find(&runbook->ids, node_text(input), &from)) continue;
        SchemaName schema = runbook->artifacts[from].output;
        if (first.name.len == 0) {
            first = schema;
            first_id = runbook->artifacts[from].id;
        } else if (!schema_fits(first, schema)) {
            Diagnostic *diagnostic =
                diagnose(runbook->compiler->diagnostics, SEVERITY_ERROR, input,
                         "the inputs of '%.*s' have different schemas: '%.*s' is %.*s %.*s, '%.*s' is %.*s %.*s",
                         STR_ARG(artifact->id), STR_ARG(first_id), STR_ARG(first.name), STR_ARG(first.version),
                         STR_ARG(node_text(input)), STR_ARG(schema.name), STR_ARG(schema.version));
            diagnostic_help(runbook->compiler->diagnostics, diagnostic,
                            "inputs are concatenated, so they need one schema; a transformer combines different ones");
        }
    }
    return first;
}

static void resolve_schemas(Runbook *runbook, Artifact *artifact)
{
    bool is_source = node_get(artifact->node, "source") != NULL, is_child = node_get(artifact->node, "execute") != NULL;
    bool has_transform = node_get(artifact->node, "transform") != NULL;
    SchemaName came = is_source ? component_schema(runbook, artifact->connector, "output_schema")
                                : upstream_schema(runbook, artifact);
    artifact->input = declared_schema(runbook, artifact, "input_schema", came);
    SchemaName made = artifact->input;
    if (has_transform) {
        SchemaName takes = component_schema(runbook, artifact->analyser, "input_schema");
        made = component_schema(runbook, artifact->analyser, "output_schema");
        if (!schema_fits(artifact->input, takes)) {
            const Node *at = get_text(get_map(artifact->node, "transform"), "type");
            diagnose(runbook->compiler->diagnostics, SEVERITY_ERROR, at ? at : artifact->key,
                     "the artifact '%.*s' gets %.*s %.*s, but '%.*s' takes %.*s %.*s", STR_ARG(artifact->id),
                     STR_ARG(artifact->input.name), STR_ARG(artifact->input.version), STR_ARG(artifact->analyser->name),
                     STR_ARG(takes.name), STR_ARG(takes.version));
        }
    }
    if (is_child) {
        SchemaName runbook_schema = schema_name(runbook, STR("runbook"));
        if (!schema_fits(artifact->input, runbook_schema))
            diagnose(runbook->compiler->diagnostics, SEVERITY_ERROR, get_map(artifact->node, "execute"),
                     "the artifact '%.*s' executes %.*s %.*s, which is no runbook", STR_ARG(artifact->id),
                     STR_ARG(artifact->input.name), STR_ARG(artifact->input.version));
        if (!get_text(artifact->node, "output_schema")) {
            Diagnostic *diagnostic =
                diagnose(runbook->compiler->diagnostics, SEVERITY_ERROR, get_map(artifact->node, "execute"),
                         "what the child of '%.*s' gives is not known before it runs", STR_ARG(artifact->id));
            diagnostic_help(runbook->compiler->diagnostics, diagnostic, "declare it: output_schema: <schema>");
        }
        made = (SchemaName){ 0 };
    }
    artifact->output = declared_schema(runbook, artifact, "output_schema", made);
}

/* --- lowering --------------------------------------------------------------------------------------------------- */

static Value schema_value(Arena *arena, SchemaName schema)
{
    return value_string(arena_format(arena, "%.*s@%.*s", STR_ARG(schema.name), STR_ARG(schema.version)));
}

/* The component by its full name, its properties as they were given. */
static void lower_component(Runbook *runbook, MemberList *members, const Artifact *artifact, const char *key,
                            const CatalogEntry *component)
{
    const Node *use = get_map(artifact->node, key), *properties = use ? node_get(use, "properties") : NULL;
    if (!component) return;
    Arena *arena = runbook->compiler->arena;
    MemberList object = { .arena = arena };
    member_list_add(&object, STR("type"), value_string(component->name));
    member_list_add(&object, STR("properties"),
                    properties ? node_to_value(arena, properties) : value_object(arena, NULL, 0));
    member_list_add(members, str_of(key), member_list_object(&object));
}

static void lower_artifact(Runbook *runbook, uint32_t index, const ValueList *policies)
{
    static const char *const without[] = { "name", "source", "transform", "input_schema", "output_schema", NULL };
    const Artifact *artifact = &runbook->artifacts[index];
    Compiler *compiler = runbook->compiler;
    const Node *name = get_text(artifact->node, "name");
    MemberList members = { .arena = compiler->arena };
    member_list_add(&members, STR("id"), value_string(artifact->id));
    if (name) member_list_add(&members, STR("name"), value_string(node_text(name)));
    member_list_add(&members, STR("kind"), value_string(STR("artifact")));
    member_list_add(&members, STR("strategy"), value_string(STR("dedupe-key")));
    shape_add_all(compiler->arena, &members, &shape_artifact, artifact->node, without);
    lower_component(runbook, &members, artifact, "source", artifact->connector);
    lower_component(runbook, &members, artifact, "transform", artifact->analyser);
    const CatalogEntry *runner = artifact->analyser ? artifact->analyser : artifact->connector;
    if (runner) member_list_add(&members, STR("run"), value_string(runner->name));
    if (artifact->input.name.len)
        member_list_add(&members, STR("input_schema"), schema_value(compiler->arena, artifact->input));
    if (artifact->output.name.len)
        member_list_add(&members, STR("output_schema"), schema_value(compiler->arena, artifact->output));
    if (policies->count) member_list_add(&members, STR("policies"), value_list_array(policies));
    draft_step(&compiler->draft, &members);
}

static void lower(Runbook *runbook)
{
    static const char *const without[] = { "artifacts", "policies", NULL };
    Compiler *compiler = runbook->compiler;
    MemberList resolution = { .arena = compiler->arena };
    ValueList policies = { .arena = compiler->arena };
    shape_add_all(compiler->arena, &compiler->draft.members, &shape_runbook, compiler->root, without);
    add_policies(&policies, compiler->root);
    if (policies.count) member_list_add(&compiler->draft.members, STR("policies"), value_list_array(&policies));
    member_list_add(&resolution, STR("strategy"), value_string(STR("AWAIT_DECISION")));
    member_list_add(&resolution, STR("on_cancel"), value_string(STR("NO_COMPENSATE")));
    member_list_add(&resolution, STR("on_timeout"), value_string(STR("FAIL")));
    member_list_add(&compiler->draft.members, STR("failure_resolution"), member_list_object(&resolution));
    for (uint32_t i = 0; i < runbook->count && compiler_fits(compiler); i++) lower_artifact(runbook, i, &policies);
    for (size_t i = 0; i < runbook->edge_count; i++)
        draft_edge(&compiler->draft, runbook->edges[i].from, runbook->edges[i].to, EDGE_DATA, STR(""));
}

/* --- the story -------------------------------------------------------------------------------------------------- */

void runbook_compile(Compiler *compiler)
{
    const Node *artifacts = get_map(compiler->root, "artifacts");
    if (!artifacts) return;
    Runbook runbook = { .compiler = compiler };
    check_policies(compiler, compiler->root);
    collect(&runbook, artifacts);
    graph_build(&runbook.graph, compiler->scratch, runbook.count, runbook.edges, (uint32_t)runbook.edge_count);
    graph_cycles(&runbook.graph, refuse_cycle, &runbook);
    for (uint32_t i = 0; i < runbook.count; i++) {
        Artifact *artifact = &runbook.artifacts[i];
        artifact->connector = find_component(&runbook, artifact, CATALOG_CONNECTOR, "source");
        artifact->analyser = find_component(&runbook, artifact, CATALOG_ANALYSER, "transform");
        check_execute(&runbook, artifact);
    }
    graph_sort(&runbook.graph); /* producers first, in whatever order the file has them; on a cycle, in some order */
    for (uint32_t i = 0; i < runbook.count; i++) resolve_schemas(&runbook, &runbook.artifacts[runbook.graph.order[i]]);
    if (compiler->diagnostics->error_count) return;
    lower(&runbook);
}
