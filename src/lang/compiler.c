#include "lang/compiler.h"

#include "base/limits.h"
#include "base/utf8.h"

#define SUGGESTING_MAX 100u         /* mistakes after which names are no longer compared with all others */

static const Node *get_kind(const Node *map, const char *key, NodeKind kind)
{
    const Node *node = map ? node_get(map, key) : NULL;
    return node && node->kind == kind ? node : NULL;
}

bool compiler_fits(Compiler *compiler)
{
    const CompileBounds *bounds = compiler->bounds;
    if (!bounds || compiler->arena->size + compiler->scratch->size <= bounds->size_max) return true;
    if (!compiler->is_full)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, NULL, "to compile the definition takes more than %s (%zu) bytes of memory", bounds->size_name,
                 bounds->size_max);
    compiler->is_full = true;
    return false;
}

const Node *get_text(const Node *map, const char *key) { return get_kind(map, key, NODE_TEXT); }
const Node *get_list(const Node *map, const char *key) { return get_kind(map, key, NODE_LIST); }
const Node *get_map(const Node *map, const char *key) { return get_kind(map, key, NODE_MAP); }

uint32_t many_count(const Node *one_or_list)
{
    if (!one_or_list) return 0;
    return one_or_list->kind == NODE_LIST ? one_or_list->count : 1;
}

const Node *many_at(const Node *one_or_list, uint32_t index)
{
    return one_or_list->kind == NODE_LIST ? &one_or_list->items[index] : one_or_list;
}

bool may_suggest(const Compiler *compiler)
{
    return compiler->diagnostics->error_count < SUGGESTING_MAX;
}

static void help_register(Compiler *compiler, Diagnostic *diagnostic, CatalogKind kind, Str name)
{
    Diagnostics *diagnostics = compiler->diagnostics;
    Str near = may_suggest(compiler) ? catalog_suggest(compiler->catalog, kind, name, compiler->tenant) : STR("");
    char storage[512];
    Buf known = buf_on(storage, sizeof storage);
    catalog_list(compiler->catalog, kind, &known);
    bool is_named = compiler->catalog->origin.len && !compiler->bounds;        /* where it lies is nothing for a stranger */
    Str origin = is_named ? compiler->catalog->origin : STR("runners.yaml");
    Str withheld = kind == CATALOG_RUNNER ? catalog_withheld(compiler->catalog, name) : STR("");
    if (withheld.len)
        diagnostic_help(diagnostics, diagnostic, "%.*s", STR_ARG(withheld));
    else if (near.len)
        diagnostic_help(diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(near));
    else if (kind == CATALOG_RUNNER)
        diagnostic_help(
            diagnostics, diagnostic,
            "register it in %.*s: executors: { local: { kind: process, runners: { %.*s: { command: [\"./my-program\"] } } } }",
            STR_ARG(origin), STR_ARG(name));
    else if (catalog_group(kind))
        diagnostic_help(diagnostics, diagnostic,
                        "known are %.*s; a plug-in is a manifest in the directory components/%s",
                        STR_ARG(buf_peek(&known)), catalog_group(kind));
    else if (known.len)
        diagnostic_help(diagnostics, diagnostic, "known are %.*s; add it to %.*s", STR_ARG(buf_peek(&known)),
                        STR_ARG(origin));
    else
        diagnostic_help(diagnostics, diagnostic, "add it to %.*s", STR_ARG(origin));
}

static bool is_known(const Compiler *compiler, CatalogKind kind, Str name)
{
    CatalogEntry offer;
    if (kind == CATALOG_RUNNER) return catalog_offer(compiler->catalog, name, compiler->tenant, &offer);
    return catalog_find(compiler->catalog, kind, name) != NULL;
}

void check_known(Compiler *compiler, CatalogKind kind, const Node *name)
{
    if (!name || name->kind != NODE_TEXT || is_known(compiler, kind, node_text(name))) return;
    Diagnostic *diagnostic = diagnose(compiler->diagnostics, SEVERITY_ERROR, name, "there is no %s '%.*s'",
                                      catalog_kind_name(kind), STR_ARG(utf8_head(node_text(name), 128)));
    help_register(compiler, diagnostic, kind, node_text(name));
}

void check_policies(Compiler *compiler, const Node *map)
{
    static const char *const keys[] = { "policies", "policy" };
    for (unsigned k = 0; k < 2; k++) {
        const Node *names = node_get(map, keys[k]);
        for (uint32_t i = 0; i < many_count(names); i++) check_known(compiler, CATALOG_POLICY, many_at(names, i));
    }
}

void check_schema_name(Compiler *compiler, const Node *schema)
{
    if (!schema || schema->kind != NODE_TEXT) return;
    uint32_t index;
    if (!map_find(&compiler->schemas, node_text(schema), &index)) check_known(compiler, CATALOG_SCHEMA, schema);
}

Value schema_by_name(Compiler *compiler, Str name)
{
    uint32_t index;
    const CatalogEntry *entry = NULL;
    Value schema = value_string(name);
    if (map_find(&compiler->schemas, name, &index))
        schema = node_to_value(compiler->arena, node_value(get_map(compiler->root, "schemas"), index));
    else if ((entry = catalog_find(compiler->catalog, CATALOG_SCHEMA, name)))
        schema = value_copy(compiler->arena, entry->settings);
    if (schema.kind != VALUE_OBJECT || value_get_text(schema, "title")) return schema;
    MemberList members = { .arena = compiler->arena };
    for (uint32_t i = 0; i < schema.count; i++)
        member_list_add(&members, value_text(schema.members[i].key), schema.members[i].value);
    member_list_add(&members, STR("title"), value_string(name));
    return member_list_object(&members);
}

void add_policies(ValueList *list, const Node *map)
{
    static const char *const keys[] = { "policies", "policy" };
    for (unsigned k = 0; k < 2; k++) {
        const Node *names = node_get(map, keys[k]);
        for (uint32_t i = 0; i < many_count(names); i++) {
            Value name = value_string(node_text(many_at(names, i)));
            bool is_there = false;
            for (size_t j = 0; j < list->count; j++) is_there |= value_equals(list->items[j], name);
            if (!is_there) value_list_add(list, name);
        }
    }
}
