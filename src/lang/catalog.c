#include "lang/catalog.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "lang/built_in.h"
#include "lang/compiler.h"
#include "lang/cron.h"
#include "lang/shapes.h"

#define LISTED_NAMES_MAX 12u

static const struct { const char *name, *group; } kinds[CATALOG_KIND_COUNT] = {
    [CATALOG_RUNNER] = { "runner", NULL },
    [CATALOG_POLICY] = { "policy", NULL },
    [CATALOG_WINDOWS] = { "window set", NULL },
    [CATALOG_CALENDAR] = { "calendar", NULL },
    [CATALOG_SCHEMA] = { "schema", NULL },
    [CATALOG_CONNECTOR] = { "connector", "waivern.connectors" },
    [CATALOG_ANALYSER] = { "analyser", "waivern.analysers" },
};

static bool catalog_add(Catalog *catalog, CatalogKind kind, CatalogEntry entry)
{
    uint32_t index;
    if (!map_add(&catalog->names[kind], entry.name, (uint32_t)catalog->counts[kind], &index)) {
        bool is_withheld = catalog->entries[kind][index].withheld.len > 0;
        if (is_withheld) catalog->entries[kind][index] = entry;
        return is_withheld;
    }
    catalog->entries[kind] = arena_grow(catalog->arena, catalog->entries[kind], sizeof entry, catalog->counts[kind],
                                        &catalog->capacities[kind]);
    catalog->entries[kind][catalog->counts[kind]++] = entry;
    return true;
}

static void add_map(Catalog *catalog, CatalogKind kind, Str origin, Value map)
{
    for (uint32_t i = 0; i < map.count; i++)
        catalog_add(catalog, kind, (CatalogEntry){ value_text(map.members[i].key), origin, map.members[i].value });
}

void catalog_init(Catalog *catalog, Arena *arena)
{
    *catalog = (Catalog){ .arena = arena, .cooperative_max = COOPERATIVE_COUNT_DEFAULT };
    for (unsigned kind = 0; kind < CATALOG_KIND_COUNT; kind++) map_init(&catalog->names[kind], arena, 0);
    Node *root;
    Error err;
    Status status = node_read(arena, STR(BUILT_IN), TEXT_YAML, &root, &err);
    CHECK(status == OK);                /* built_in.yaml: our own text */
    static const struct { CatalogKind kind; const char *key; } groups[] = {
        { CATALOG_RUNNER, "runners" },       { CATALOG_SCHEMA, "schemas" },
        { CATALOG_CONNECTOR, "connectors" }, { CATALOG_ANALYSER, "analysers" },
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        add_map(catalog, groups[i].kind, STR("built in"), node_to_value(arena, node_get(root, groups[i].key)));
}

/* What a runner cannot do without depends on how its executor carries it out. */
static void check_runners(Diagnostics *diagnostics, const Node *executor)
{
    static const struct {
        const char *kind, *key;
    } needs[] = { { "process", "command" }, { "http", "url" }, { "kubernetes", "image" } };
    const Node *kind = executor->kind == NODE_MAP ? node_get(executor, "kind") : NULL;
    const Node *runners = executor->kind == NODE_MAP ? node_get(executor, "runners") : NULL;
    for (size_t i = 0; kind && kind->kind == NODE_TEXT && i < sizeof needs / sizeof *needs; i++) {
        if (!str_is_text(node_text(kind), needs[i].kind)) continue;
        for (uint32_t j = 0; runners && runners->kind == NODE_MAP && j < runners->count; j++)
            if (node_value(runners, j)->kind == NODE_MAP && !node_get(node_value(runners, j), needs[i].key))
                diagnose(diagnostics, SEVERITY_ERROR, node_key(runners, j), "a runner of a %s executor needs '%s'",
                         needs[i].kind, needs[i].key);
    }
}

/* E-038: what can be configured ends at what is compiled in. */
static void check_dispatch(Diagnostics *diagnostics, const Node *dispatch)
{
    const Node *cooperatives = dispatch && dispatch->kind == NODE_MAP ? node_get(dispatch, "cooperatives") : NULL;
    uint64_t count;
    if (!cooperatives || cooperatives->kind != NODE_NUMBER || !str_to_u64(node_text(cooperatives), &count) || count <= COOPERATIVE_COUNT_MAX) return;
    diagnose(diagnostics, SEVERITY_ERROR, cooperatives,
             "%" PRIu64 " cooperative sub-routines are more than COOPERATIVE_COUNT_MAX (%u)", count,
             COOPERATIVE_COUNT_MAX);
}

typedef void (*LineCheck)(Diagnostics *diagnostics, const Node *line);

static void check_lines(Diagnostics *diagnostics, const Node *lines, LineCheck check)
{
    for (uint32_t i = 0; i < many_count(lines); i++)
        if (many_at(lines, i)->kind == NODE_TEXT) check(diagnostics, many_at(lines, i));
}

static void check_times(Diagnostics *diagnostics, const Node *root)
{
    static const struct { const char *key; LineCheck check; } parts[] = {
        { "include", freeze_check }, { "exclude", freeze_check }, { "weekdays", weekday_check },
    };
    const Node *windows = node_get(root, "windows"), *calendars = node_get(root, "calendars");
    for (uint32_t i = 0; windows && windows->kind == NODE_MAP && i < windows->count; i++)
        check_lines(diagnostics, node_value(windows, i), window_check);
    for (uint32_t i = 0; calendars && calendars->kind == NODE_MAP && i < calendars->count; i++)
        for (size_t k = 0; node_value(calendars, i)->kind == NODE_MAP && k < sizeof parts / sizeof *parts; k++)
            check_lines(diagnostics, node_get(node_value(calendars, i), parts[k].key), parts[k].check);
}

void config_check(Diagnostics *diagnostics, const Node *root)
{
    shape_check(diagnostics, root, &type_config);
    check_dispatch(diagnostics, root->kind == NODE_MAP ? node_get(root, "dispatch") : NULL);
    if (root->kind == NODE_MAP) check_times(diagnostics, root);
    const Node *executors = root->kind == NODE_MAP ? node_get(root, "executors") : NULL;
    for (uint32_t i = 0; executors && executors->kind == NODE_MAP && i < executors->count; i++)
        check_runners(diagnostics, node_value(executors, i));
}

/* A runner that two executors offer has one entry; which of them carries an attempt is placement's choice. */
void catalog_add_config(Catalog *catalog, Diagnostics *diagnostics, const Node *root)
{
    config_check(diagnostics, root);
    if (diagnostics->error_count) return;
    Value config = shape_value(catalog->arena, root, &type_config);
    Str origin = arena_copy(catalog->arena, diagnostics->file);
    static const struct {
        CatalogKind kind; const char *key;
    } lists[] = {
        { CATALOG_POLICY, "policies" },
        { CATALOG_WINDOWS, "windows" },
        { CATALOG_CALENDAR, "calendars" },
        { CATALOG_SCHEMA, "schemas" },
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const Value *map = value_get_text(config, lists[i].key);
        if (map) add_map(catalog, lists[i].kind, origin, *map);
    }
    const Value *executors = value_get_text(config, "executors");
    if (executors) catalog->executors = *executors;
    const Value *tenants = value_get_text(config, "tenants");
    if (tenants) catalog->tenants = *tenants;
    const Value *dispatch = value_get_text(config, "dispatch");
    if (dispatch) catalog->cooperative_max = (uint32_t)value_get_int(*dispatch, "cooperatives", COOPERATIVE_COUNT_DEFAULT);
    for (uint32_t i = 0; executors && i < executors->count; i++) {
        const Value *runners = value_get_text(executors->members[i].value, "runners");
        if (runners) add_map(catalog, CATALOG_RUNNER, value_text(executors->members[i].key), *runners);
    }
    catalog->origin = origin;
}

bool catalog_add_runner(Catalog *catalog, Str name, Str executor)
{
    return catalog_add(catalog, CATALOG_RUNNER, (CatalogEntry){ name, executor, value_null() });
}

/* NULL where there is none of that name. */
static CatalogEntry *find_exact(const Catalog *catalog, CatalogKind kind, Str name)
{
    uint32_t index;
    return map_find(&catalog->names[kind], name, &index) ? &catalog->entries[kind][index] : NULL;
}

void catalog_withhold_runner(Catalog *catalog, Str name, Str how)
{
    CatalogEntry *entry = find_exact(catalog, CATALOG_RUNNER, name);
    if (entry) entry->withheld = how;
}

Str catalog_withheld(const Catalog *catalog, Str runner)
{
    const CatalogEntry *entry = find_exact(catalog, CATALOG_RUNNER, runner);
    return entry ? entry->withheld : STR("");
}

void catalog_add_component(Catalog *catalog, Diagnostics *diagnostics, CatalogKind kind, const Node *root)
{
    shape_check(diagnostics, root, &type_component);
    if (diagnostics->error_count) return;
    Value settings = shape_value(catalog->arena, root, &type_component);
    Str name = value_get_string(settings, "name", STR(""));
    const Node *at = node_get(root, "name");
    if (kind == CATALOG_ANALYSER && !value_get_text(settings, "input_schema")) {
        diagnose(diagnostics, SEVERITY_ERROR, root, "an analyser needs the key 'input_schema'");
        return;
    }
    if (!catalog_add(catalog, kind, (CatalogEntry){ name, arena_copy(catalog->arena, diagnostics->file), settings }))
        diagnose(diagnostics, SEVERITY_ERROR, at, "there is a %s '%.*s' already (%.*s)", kinds[kind].name,
                 STR_ARG(name), STR_ARG(catalog_find(catalog, kind, name)->origin));
}

const char *catalog_kind_name(CatalogKind kind) { return kinds[kind].name; }
const char *catalog_group(CatalogKind kind) { return kinds[kind].group; }

const CatalogEntry *catalog_find(const Catalog *catalog, CatalogKind kind, Str name)
{
    const CatalogEntry *exact = find_exact(catalog, kind, name);
    if (exact) return exact->withheld.len ? NULL : exact;
    if (kind != CATALOG_CONNECTOR || name.len > 200) return NULL;
    char storage[256];
    Buf full = buf_on(storage, sizeof storage);
    buf_str(&full, name);
    buf_text(&full, "_connector");
    return find_exact(catalog, kind, buf_peek(&full));
}

bool catalog_is_for(Value executor, Str tenant)
{
    const Value *tenants = value_get_text(executor, "tenants");
    if (!tenants || tenants->kind != VALUE_ARRAY || !tenants->count || str_is_text(tenant, "*")) return true;
    for (uint32_t i = 0; i < tenants->count; i++)
        if (str_is(value_text(tenants->items[i]), tenant)) return true;
    return false;
}

bool catalog_offer(const Catalog *catalog, Str runner, Str tenant, CatalogEntry *out_offer)
{
    const CatalogEntry *entry = catalog_find(catalog, CATALOG_RUNNER, runner);
    Value executors = catalog->executors;
    if (!entry) return false;
    *out_offer = *entry;
    if (executors.kind != VALUE_OBJECT || !value_get(executors, entry->origin)) return true;       /* nobody's in particular: it is built in */
    for (uint32_t i = 0; i < executors.count; i++) {
        const Value *runners = value_get_text(executors.members[i].value, "runners"), *settings = runners ? value_get(*runners, runner) : NULL;
        if (!settings || !catalog_is_for(executors.members[i].value, tenant)) continue;
        out_offer->origin = value_text(executors.members[i].key);
        out_offer->settings = *settings;
        return true;
    }
    return false;
}

bool catalog_is_program(const Catalog *catalog, Str runner, Str tenant)
{
    bool is_shell = str_is_text(runner, "shell"), is_declared = false;
    Value executors = catalog->executors;
    for (uint32_t i = 0; executors.kind == VALUE_OBJECT && i < executors.count; i++) {
        Value executor = executors.members[i].value;
        const Value *runners = value_get_text(executor, "runners");
        Str kind = value_get_string(executor, "kind", STR(""));
        if (!runners || !value_get(*runners, runner)) continue;
        is_declared = true;
        if (!catalog_is_for(executor, tenant)) continue;
        if (str_is_text(kind, "process") || (is_shell && str_is_text(kind, "worker"))) return true;
    }
    return is_shell && !is_declared;
}

Str catalog_suggest(const Catalog *catalog, CatalogKind kind, Str name, Str tenant)
{
    Suggestion suggestion = suggest_begin(name);
    for (size_t i = 0; i < catalog->counts[kind]; i++) {
        const CatalogEntry *entry = &catalog->entries[kind][i];
        CatalogEntry offer;
        if (entry->withheld.len || (kind == CATALOG_RUNNER && !catalog_offer(catalog, entry->name, tenant, &offer))) continue;
        suggest_offer(&suggestion, entry->name);
    }
    return suggestion.best;
}

void catalog_list(const Catalog *catalog, CatalogKind kind, Buf *out)
{
    for (size_t i = 0; i < catalog->counts[kind]; i++) {
        if (i == LISTED_NAMES_MAX) {
            buf_format(out, " and %zu more", catalog->counts[kind] - i);
            return;
        }
        if (i) buf_text(out, ", ");
        buf_str(out, catalog->entries[kind][i].name);
    }
}
