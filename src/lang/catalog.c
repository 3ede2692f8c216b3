#include "lang/catalog.h"

#include <string.h>

#include "base/check.h"
#include "lang/shapes.h"
#include "value/json.h"

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

/* What needs no configuration. Schemas are named and versioned; the version is part of what makes two equal. */
static const struct { CatalogKind kind; const char *name, *settings; } built_in[] = {
    { CATALOG_RUNNER, "log", "{\"description\":\"Writes a message to the log of the run.\"}" },
    { CATALOG_RUNNER, "noop", "{\"description\":\"Does nothing and succeeds.\"}" },
    { CATALOG_RUNNER, "sleep", "{\"description\":\"Waits for the time that its input gives.\"}" },
    { CATALOG_RUNNER, "shell", "{\"description\":\"Runs a command line of the operating system.\"}" },
    { CATALOG_RUNNER, "http", "{\"description\":\"Sends an HTTP request and takes its answer as output.\"}" },
    { CATALOG_SCHEMA, "standard_input",
      "{\"version\":\"1.0.0\",\"schema\":{\"type\":\"object\",\"required\":[\"data\"],\"properties\":{\"data\":{\"type\":\"array\",\"items\":{"
      "\"type\":\"object\",\"required\":[\"content\",\"metadata\"],\"properties\":{\"content\":{\"type\":\"string\"},\"metadata\":{\"type\":"
      "\"object\"}}}}}}}" },
    { CATALOG_SCHEMA, "personal_data_finding",
      "{\"version\":\"1.0.0\",\"schema\":{\"type\":\"object\",\"required\":[\"findings\"],\"properties\":{\"findings\":{\"type\":\"array\","
      "\"items\":{\"type\":\"object\",\"required\":[\"type\",\"evidence\",\"metadata\"],\"properties\":{\"type\":{\"type\":\"string\"},"
      "\"evidence\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"metadata\":{\"type\":\"object\"}}}}}}}" },
    { CATALOG_SCHEMA, "runbook",
      "{\"version\":\"1.0.0\",\"schema\":{\"type\":\"object\",\"required\":[\"name\",\"description\",\"artifacts\"],\"properties\":{"
      "\"artifacts\":{\"type\":\"object\"},\"config\":{\"type\":\"object\"},\"description\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"}}}}" },
    { CATALOG_CONNECTOR, "filesystem_connector",
      "{\"description\":\"The content of the files under a path.\",\"output_schema\":\"standard_input\",\"properties\":{\"type\":\"object\","
      "\"required\":[\"path\"],\"additionalProperties\":false,\"properties\":{\"path\":{\"type\":\"string\",\"minLength\":1},"
      "\"max_files\":{\"type\":\"integer\",\"minimum\":1}}}}" },
    { CATALOG_ANALYSER, "personal_data_analyser",
      "{\"description\":\"Personal data found in texts.\",\"input_schema\":\"standard_input\",\"output_schema\":\"personal_data_finding\","
      "\"properties\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"llm_validation\":{\"type\":\"object\","
      "\"additionalProperties\":false,\"properties\":{\"enable_llm_validation\":{\"type\":\"boolean\"}}}}}}" },
};

static bool catalog_add(Catalog *catalog, CatalogKind kind, CatalogEntry entry)
{
    if (!map_add(&catalog->names[kind], entry.name, (uint32_t)catalog->counts[kind], NULL)) return false;
    catalog->entries[kind] = arena_grow(catalog->arena, catalog->entries[kind], sizeof entry, catalog->counts[kind],
                                        &catalog->capacities[kind]);
    catalog->entries[kind][catalog->counts[kind]++] = entry;
    return true;
}

void catalog_init(Catalog *catalog, Arena *arena)
{
    *catalog = (Catalog){ .arena = arena };
    for (unsigned kind = 0; kind < CATALOG_KIND_COUNT; kind++) map_init(&catalog->names[kind], arena, 0);
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        Value settings;
        Error err;
        Status status = json_parse(arena, str_of(built_in[i].settings), &settings, &err);
        CHECK(status == OK);
        catalog_add(catalog, built_in[i].kind, (CatalogEntry){ str_of(built_in[i].name), STR("built in"), settings });
    }
}

static void add_map(Catalog *catalog, CatalogKind kind, Str origin, Value map)
{
    for (uint32_t i = 0; i < map.count; i++)
        catalog_add(catalog, kind, (CatalogEntry){ value_text(map.members[i].key), origin, map.members[i].value });
}

/* A runner that two executors offer has one entry; which of them carries an attempt is placement's choice. */
void catalog_add_config(Catalog *catalog, Diagnostics *diagnostics, const Node *root)
{
    shape_check(diagnostics, root, &type_config);
    if (diagnostics->error_count) return;
    Value config = shape_value(catalog->arena, root, &type_config);
    Str origin = arena_copy(catalog->arena, diagnostics->file);
    static const struct { CatalogKind kind; const char *key; } lists[] = {
        { CATALOG_POLICY, "policies" }, { CATALOG_WINDOWS, "windows" }, { CATALOG_CALENDAR, "calendars" }, { CATALOG_SCHEMA, "schemas" },
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const Value *map = value_get_text(config, lists[i].key);
        if (map) add_map(catalog, lists[i].kind, origin, *map);
    }
    const Value *executors = value_get_text(config, "executors");
    for (uint32_t i = 0; executors && i < executors->count; i++) {
        const Value *runners = value_get_text(executors->members[i].value, "runners");
        if (runners) add_map(catalog, CATALOG_RUNNER, value_text(executors->members[i].key), *runners);
    }
    catalog->origin = origin;
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
        diagnose(diagnostics, SEVERITY_ERROR, at, "there is a %s '%.*s' already (%.*s)", kinds[kind].name, STR_ARG(name),
                 STR_ARG(catalog_find(catalog, kind, name)->origin));
}

const char *catalog_kind_name(CatalogKind kind) { return kinds[kind].name; }
const char *catalog_group(CatalogKind kind) { return kinds[kind].group; }

const CatalogEntry *catalog_find(const Catalog *catalog, CatalogKind kind, Str name)
{
    uint32_t index;
    if (map_find(&catalog->names[kind], name, &index)) return &catalog->entries[kind][index];
    if (kind != CATALOG_CONNECTOR || name.len > 200) return NULL;
    char storage[256];
    Buf full = buf_on(storage, sizeof storage);
    buf_str(&full, name);
    buf_text(&full, "_connector");
    return map_find(&catalog->names[kind], buf_peek(&full), &index) ? &catalog->entries[kind][index] : NULL;
}

Str catalog_suggest(const Catalog *catalog, CatalogKind kind, Str name)
{
    Suggestion suggestion = suggest_begin(name);
    for (size_t i = 0; i < catalog->counts[kind]; i++) suggest_offer(&suggestion, catalog->entries[kind][i].name);
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
