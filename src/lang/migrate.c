#include "lang/migrate.h"

#include <stdarg.h>
#include <string.h>
#include <yaml.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/utf8.h"
#include "lang/compile.h"
#include "lang/compiler.h"
#include "lang/shapes.h"
#include "lang/suggest.h"
#include "lang/yaml_write.h"

#define NONE UINT32_MAX
#define ID_STEM_SIZE_MAX 100u           /* of a new id, so that a number fits behind it */

/* A connector or an analyser. */
typedef struct Part {
    const Node *node;
    Str name;
    Str id;                     /* of a connector: the artifact it becomes */
    uint32_t user_count;
    bool is_repeated;           /* an earlier one has the same name */
} Part;

typedef struct Parts {
    const char *key;            /* "connectors" */
    const char *one;            /* "connector" */
    Part *items;
    uint32_t count;
    Map names;
} Parts;

typedef struct OldStep {
    const Node *node;
    Str name;                   /* its id in the old file; empty where it has none */
    Str id;
    uint32_t connector, analyser, input;        /* NONE where it names none, or one that does not exist */
    bool is_read;
    bool closes_circle;         /* what it reads is made of itself */
} OldStep;

typedef struct Migration {
    Arena *arena;
    Diagnostics *diagnostics;
    const Node *root;
    Buf *out;
    MigrateNotes *notes;
    Parts connectors, analysers;
    OldStep *steps;
    uint32_t step_count;
    Map step_names;             /* of the old file -> step */
    Map ids;                    /* of the artifacts */
} Migration;

/* --- saying ------------------------------------------------------------------------------------------------------ */

/* Names in messages: as long as they are ever useful, and no character cut in two. */
static Str shown(Str name)
{
    Str cut = str_slice(name, 0, NAME_SIZE_MAX);
    return str_slice(cut, 0, utf8_valid_size(cut));
}

/* One matter for a person: a diagnostic at its place in the old file, a comment at its place in the new one. */
static Diagnostic *decide(Migration *migration, Severity severity, const Node *at, unsigned indent, const char *format,
                          ...) PRINTF_LIKE(5, 6);

static Diagnostic *decide(Migration *migration, Severity severity, const Node *at, unsigned indent, const char *format,
                          ...)
{
    va_list args;
    va_start(args, format);
    Str text = arena_format_args(migration->arena, format, args);
    va_end(args);
    yaml_write_comment(
        migration->out, indent,
        arena_format(migration->arena, "DECIDE: %.*s (line %u of the old file).", STR_ARG(text), at->line));
    return diagnose(migration->diagnostics, severity, at, "%.*s", STR_ARG(text));
}

/* Something of the old file, commented out. */
static void write_left_out(Migration *migration, unsigned indent, Str key, const Node *value)
{
    Buf yaml;
    buf_init(&yaml, migration->out->size_max);
    yaml_write_pair(&yaml, YAML_INDENT, key, value);
    yaml_write_commented(migration->out, indent, buf_peek(&yaml));
    if (buf_overflowed(&yaml)) migration->out->overflowed = true;
    buf_deinit(&yaml);
}

static void decide_pair(Migration *migration, Severity severity, unsigned indent, const Node *key, const Node *value,
                        Str why)
{
    decide(migration, severity, key, indent, "'%.*s' %.*s", STR_ARG(shown(node_text(key))), STR_ARG(why));
    write_left_out(migration, indent, node_text(key), value);
}

static void note(Migration *migration, const char *format, ...) PRINTF_LIKE(2, 3);

static void note(Migration *migration, const char *format, ...)
{
    va_list args;
    CHECK(migration->notes->count < MIGRATE_NOTE_COUNT_MAX);
    va_start(args, format);
    migration->notes->items[migration->notes->count++] = arena_format_args(migration->arena, format, args);
    va_end(args);
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* The value of a key; one that is left empty counts as absent. */
static const Node *get(const Node *map, const char *key)
{
    const Node *value = node_get(map, key);
    return value && value->kind != NODE_NULL ? value : NULL;
}

/* A name or a reference to one: a text, or a number that was not put in quotes; empty for anything else. */
static Str name_text(const Node *node)
{
    bool is_name = node && (node->kind == NODE_TEXT || node->kind == NODE_NUMBER);
    return is_name ? node_text(node) : STR("");
}

static const Node *read_list(Migration *migration, const char *key)
{
    const Node *list = get(migration->root, key);
    if (!list || list->kind == NODE_LIST) return list;
    diagnose(migration->diagnostics, SEVERITY_ERROR, list, "expected a list of mappings under '%s', found %s", key,
             node_kind_name(list));
    return NULL;
}

static void read_parts(Migration *migration, Parts *parts, const char *key, const char *one)
{
    const Node *list = read_list(migration, key);
    *parts = (Parts){ .key = key, .one = one };
    map_init(&parts->names, migration->arena, list ? list->count : 0);
    parts->items = ARENA_ARRAY(migration->arena, Part, list ? list->count : 0);
    for (uint32_t i = 0; list && i < list->count; i++) {
        const Node *node = &list->items[i];
        Str name = node->kind == NODE_MAP ? name_text(get(node, "name")) : STR("");
        if (name.len == 0) {
            diagnose(migration->diagnostics, SEVERITY_ERROR, node,
                     "expected the mapping of %s %s with a 'name', found %s", one[0] == 'a' ? "an" : "a", one,
                     node->kind == NODE_MAP ? "none" : node_kind_name(node));
            continue;
        }
        bool is_new = map_add(&parts->names, name, parts->count, NULL);
        parts->items[parts->count++] = (Part){ .node = node, .name = name, .is_repeated = !is_new };
    }
}

/* The part or step of that name, counted as used; a name that does not exist is reported where the step is written. */
static uint32_t find_name(const Map *names, const Node *node)
{
    uint32_t index;
    Str name = name_text(node);
    return name.len && map_find(names, name, &index) ? index : NONE;
}

static void read_steps(Migration *migration, const Node *list)
{
    migration->steps = ARENA_ARRAY(migration->arena, OldStep, list->count);
    map_init(&migration->step_names, migration->arena, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        const Node *node = &list->items[i];
        if (node->kind != NODE_MAP) {
            diagnose(migration->diagnostics, SEVERITY_ERROR, node, "expected the mapping of a step, found %s",
                     node_kind_name(node));
            continue;
        }
        OldStep step = {
            .node = node, .name = name_text(get(node, "id")), .connector = NONE, .analyser = NONE, .input = NONE
        };
        if (step.name.len) map_add(&migration->step_names, step.name, migration->step_count, NULL);
        migration->steps[migration->step_count++] = step;
    }
}

/* Of two ways to its input a step keeps the one from another step: a connector can be read without it, that one cannot. */
static void resolve_steps(Migration *migration)
{
    for (uint32_t i = 0; i < migration->step_count; i++) {
        OldStep *step = &migration->steps[i];
        step->analyser = find_name(&migration->analysers.names, get(step->node, "analyser"));
        step->input = find_name(&migration->step_names, get(step->node, "input_from"));
        if (!get(step->node, "input_from"))
            step->connector = find_name(&migration->connectors.names, get(step->node, "connector"));
        if (step->analyser != NONE) migration->analysers.items[step->analyser].user_count++;
        if (step->connector != NONE) migration->connectors.items[step->connector].user_count++;
    }
}

/* Each step reads at most one other, so a way that comes back to itself is found by following it once. */
static void find_circles(Migration *migration)
{
    uint32_t *walk = ARENA_ARRAY(migration->arena, uint32_t, migration->step_count);        /* 0: not visited */
    for (uint32_t i = 0; i < migration->step_count; i++) {
        uint32_t at = i;
        while (at != NONE && walk[at] == 0) {
            walk[at] = i + 1;
            uint32_t next = migration->steps[at].input;
            migration->steps[at].closes_circle = next != NONE && walk[next] == i + 1;
            at = next;
        }
    }
    for (uint32_t i = 0; i < migration->step_count; i++)
        if (migration->steps[i].input != NONE) migration->steps[migration->steps[i].input].is_read = true;
}

/* --- ids --------------------------------------------------------------------------------------------------------- */

/* A name of the old file as an id of the new one: what an id cannot hold becomes _. */
static Str id_stem(Arena *arena, Str name, const char *otherwise)
{
    char storage[ID_STEM_SIZE_MAX];
    Buf stem = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < name.len && stem.len < sizeof storage; i++) {
        char c = name.ptr[i];
        bool is_fine = ascii_is_alnum(c) || c == '_' || (c == '-' && stem.len);
        if (is_fine) buf_char(&stem, c);
        else if (stem.len && stem.ptr[stem.len - 1] != '_') buf_char(&stem, '_');
    }
    while (stem.len && stem.ptr[stem.len - 1] == '_') stem.len--;
    return stem.len ? arena_copy(arena, buf_peek(&stem)) : str_of(otherwise);
}

/* An id that no other artifact has: the name itself if it can be, else with an ending and at last a number. */
static Str id_claim(Migration *migration, Str name, const char *otherwise, const char *ending, uint32_t number)
{
    if (name_is_valid(name, false) && map_add(&migration->ids, name, 0, NULL)) return name;
    Str stem = id_stem(migration->arena, name, otherwise);
    if (map_add(&migration->ids, stem, 0, NULL)) return stem;
    if (*ending) {
        stem = arena_format(migration->arena, "%.*s%s", STR_ARG(stem), ending);
        if (map_add(&migration->ids, stem, 0, NULL)) return stem;
    }
    for (;; number++) {
        Str id = arena_format(migration->arena, "%.*s_%u", STR_ARG(stem), number);
        if (map_add(&migration->ids, id, 0, NULL)) return id;
    }
}

/* Steps first: their ids are what results are known by. */
static void claim_ids(Migration *migration)
{
    map_init(&migration->ids, migration->arena, migration->step_count + migration->connectors.count);
    for (uint32_t i = 0; i < migration->step_count;
         i++) { /* those that keep theirs, before one is made up that is theirs */
        OldStep *step = &migration->steps[i];
        if (name_is_valid(step->name, false) && map_add(&migration->ids, step->name, 0, NULL)) step->id = step->name;
    }
    for (uint32_t i = 0; i < migration->step_count; i++) {
        OldStep *step = &migration->steps[i];
        Str name = step->name.len ? step->name : name_text(get(step->node, "name"));
        if (!step->id.len) step->id = id_claim(migration, name, "step", "", i + 1);
    }
    for (uint32_t i = 0; i < migration->connectors.count; i++) {
        Part *connector = &migration->connectors.items[i];
        if (connector->user_count) connector->id = id_claim(migration, connector->name, "source", "_source", i + 1);
    }
}

/* --- writing: keys that are carried over ------------------------------------------------------------------------- */

static const Field *field_find(const Shape *shape, Str name)
{
    for (const Field *field = shape->fields; field->name; field++)
        if (str_is_text(name, field->name)) return field;
    return NULL;
}

/* The word of a list ended by NULL, or NULL. */
static const char *word_find(const char *const *words, Str word)
{
    for (; *words; words++)
        if (str_is_text(word, *words)) return *words;
    return NULL;
}

/* The value of a key that goes into the new file as it is: the new format has the key and permits the value. Else NULL, and
 * the reason where the value is to blame. */
static const Node *carried(const Migration *migration, const Shape *shape, const Node *map, const char *name,
                           Str *out_why)
{
    const Field *field = field_find(shape, str_of(name));
    const Node *value = get(map, name);
    Diagnostics trial;
    CHECK(field != NULL);
    *out_why = STR("");
    if (!value) return NULL;
    diagnostics_init(&trial, migration->arena, migration->diagnostics->file, migration->diagnostics->text);
    shape_check(&trial, value, field->type);
    if (trial.error_count == 0) return value;
    *out_why = trial.items[0].message;
    return NULL;
}

/* Reports the pairs of a mapping that are neither used nor carried over. */
static void decide_rest(Migration *migration, unsigned indent, const Shape *shape, const Node *map,
                        const char *const *used, const char *const *kept)
{
    Map seen;
    map_init(&seen, migration->arena, map->count);
    for (uint32_t i = 0; i < map->count; i++) {
        const Node *key = node_key(map, i), *value = node_value(map, i);
        const char *keeps = word_find(kept, node_text(key));
        Str why;
        if (!map_add(&seen, node_text(key), 0, NULL)) {
            decide_pair(migration, SEVERITY_WARNING, indent, key, value, STR("is there twice; the first one counts"));
        } else if (word_find(used, node_text(key)) || value->kind == NODE_NULL) {
            continue;
        } else if (!keeps) {
            decide_pair(migration, SEVERITY_WARNING, indent, key, value, STR("has no place in the new format"));
        } else if (!carried(migration, shape, map, keeps, &why)) {
            why = arena_format(migration->arena, "cannot be carried over: %.*s", STR_ARG(why));
            decide_pair(migration, SEVERITY_WARNING, indent, key, value, why);
        }
    }
}

static void write_carried(Migration *migration, unsigned indent, const Shape *shape, const Node *map,
                          const char *const *kept)
{
    for (; *kept; kept++) {
        Str why;
        const Node *value = carried(migration, shape, map, *kept, &why);
        if (value) yaml_write_pair(migration->out, indent, str_of(*kept), value);
    }
}

/* --- writing: artifacts ------------------------------------------------------------------------------------------ */

enum { INDENT_ID = 2, INDENT_KEY = 4, INDENT_PART = 6 };

static const char *const part_used[] = { "name", "type", "properties", NULL };
static const char *const connector_kept[] = { "description", "contact", "owner", NULL };
static const char *const analyser_kept[] = { NULL };
static const char *const step_used[] = { "id", "connector", "analyser", "input_from", "save_output", NULL };
static const char *const step_kept[] = {
    "name", "description", "contact", "owner", "input_schema", "output_schema", "output", "optional", NULL,
};
static const char *const step_kept_first[] = { "name", "description", "contact", "owner", NULL };
static const char *const step_kept_last[] = { "input_schema", "output_schema", "output", "optional", NULL };

static void decide_part(Migration *migration, const Parts *parts, const Part *part, unsigned indent,
                        const char *const *kept)
{
    const Node *type = get(part->node, "type"), *properties = get(part->node, "properties");
    Diagnostics trial;
    diagnostics_init(&trial, migration->arena, migration->diagnostics->file, migration->diagnostics->text);
    if (properties) shape_check(&trial, properties, &type_any);
    if (!type)
        decide(migration, SEVERITY_ERROR, part->node, indent, "the %s '%.*s' has no type", parts->one,
               STR_ARG(shown(part->name)));
    else if (type->kind != NODE_TEXT || !name_is_valid(node_text(type), true))
        decide(migration, SEVERITY_ERROR, type, indent, "the type of the %s '%.*s' is no name", parts->one,
               STR_ARG(shown(part->name)));
    if (trial.error_count)
        decide(migration, SEVERITY_ERROR, properties, indent,
               "the properties of the %s '%.*s' are not permitted here: %.*s", parts->one, STR_ARG(shown(part->name)),
               STR_ARG(trial.items[0].message));
    decide_rest(migration, indent, &shape_artifact, part->node, part_used, kept);
}

/* A part that does not exist is written empty: nobody must take the result for finished. */
static void write_part(Migration *migration, const char *key, const Part *part)
{
    const Node *type = part ? get(part->node, "type") : NULL, *properties = part ? get(part->node, "properties") : NULL;
    if (!type && !properties) {
        buf_format(migration->out, "    %s: {}\n", key);
        return;
    }
    yaml_write_key(migration->out, INDENT_KEY, str_of(key));
    if (type) yaml_write_pair(migration->out, INDENT_PART, STR("type"), type);
    if (properties) yaml_write_pair(migration->out, INDENT_PART, STR("properties"), properties);
}

static void write_source(Migration *migration, const Part *connector)
{
    decide_part(migration, &migration->connectors, connector, INDENT_ID, connector_kept);
    if (!str_is(connector->id, connector->name))
        decide(migration, SEVERITY_WARNING, get(connector->node, "name"), INDENT_ID,
               "the connector '%.*s' is the artifact '%.*s' here: %s", STR_ARG(shown(connector->name)),
               STR_ARG(connector->id),
               name_is_valid(connector->name, false) ? "a step has that id" : "its name cannot be an id");
    yaml_write_key(migration->out, INDENT_ID, connector->id);
    write_carried(migration, INDENT_KEY, &shape_artifact, connector->node, connector_kept);
    write_part(migration, "source", connector);
}

/* A name that refers to nothing, with the nearest one that exists. */
static void decide_unknown(Migration *migration, const Node *reference, const char *what, const Parts *parts)
{
    Str name = name_text(reference);
    if (name.len == 0) {
        decide(migration, SEVERITY_ERROR, reference, INDENT_ID, "expected the name of a %s, found %s", what,
               node_kind_name(reference));
        return;
    }
    Diagnostic *diagnostic =
        decide(migration, SEVERITY_ERROR, reference, INDENT_ID, "there is no %s '%.*s'", what, STR_ARG(shown(name)));
    if (migration->diagnostics->error_count > DIAGNOSTIC_COUNT_MAX) return;
    Suggestion suggestion = suggest_begin(name);
    for (uint32_t i = 0; parts && i < parts->count; i++) suggest_offer(&suggestion, parts->items[i].name);
    for (uint32_t i = 0; !parts && i < migration->step_count; i++) suggest_offer(&suggestion, migration->steps[i].name);
    if (suggestion.best.len)
        diagnostic_help(migration->diagnostics, diagnostic, "did you mean '%.*s'?", STR_ARG(suggestion.best));
}

static void decide_input(Migration *migration, const OldStep *step)
{
    const Node *connector = get(step->node, "connector"), *input = get(step->node, "input_from");
    if (step->closes_circle)
        decide(migration, SEVERITY_ERROR, input, INDENT_ID, "the step '%.*s' reads what is made of itself",
               STR_ARG(shown(step->name)));
    else if (input && step->input == NONE)
        decide_unknown(migration, input, "step", NULL);
    if (input && connector)
        decide(migration, SEVERITY_WARNING, connector, INDENT_ID,
               "the connector '%.*s' is left out: 'input_from' beside it is used",
               STR_ARG(shown(name_text(connector))));
    else if (connector && step->connector == NONE)
        decide_unknown(migration, connector, "connector", &migration->connectors);
    if (!input && !connector)
        decide(migration, SEVERITY_ERROR, step->node, INDENT_ID,
               "the step '%.*s' has neither 'connector' nor 'input_from': name its inputs", STR_ARG(step->id));
}

static void decide_step(Migration *migration, const OldStep *step)
{
    const Node *analyser = get(step->node, "analyser"), *id = get(step->node, "id");
    uint32_t first;
    if (!step->name.len)
        decide(migration, SEVERITY_WARNING, id ? id : step->node, INDENT_ID, "the step has no id; here it is '%.*s'",
               STR_ARG(step->id));
    else if (map_find(&migration->step_names, step->name, &first) && &migration->steps[first] != step)
        decide(migration, SEVERITY_WARNING, id, INDENT_ID,
               "there is a step '%.*s' already, in line %u; this one is '%.*s' here", STR_ARG(shown(step->name)),
               migration->steps[first].node->line, STR_ARG(step->id));
    else if (!str_is(step->id, step->name))
        decide(migration, SEVERITY_WARNING, id, INDENT_ID, "the step '%.*s' is the artifact '%.*s' here",
               STR_ARG(shown(step->name)), STR_ARG(step->id));
    decide_input(migration, step);
    if (analyser && step->analyser == NONE) decide_unknown(migration, analyser, "analyser", &migration->analysers);
    decide_rest(migration, INDENT_ID, &shape_artifact, step->node, step_used, step_kept);
}

static void write_step(Migration *migration, const OldStep *step, bool is_first_use)
{
    Part *analyser = step->analyser == NONE ? NULL : &migration->analysers.items[step->analyser];
    decide_step(migration, step);
    if (analyser && is_first_use) decide_part(migration, &migration->analysers, analyser, INDENT_ID, analyser_kept);
    yaml_write_key(migration->out, INDENT_ID, step->id);
    write_carried(migration, INDENT_KEY, &shape_artifact, step->node, step_kept_first);
    if (step->input != NONE)
        yaml_write_text_pair(migration->out, INDENT_KEY, "inputs", migration->steps[step->input].id);
    else if (step->connector != NONE)
        yaml_write_text_pair(migration->out, INDENT_KEY, "inputs", migration->connectors.items[step->connector].id);
    else buf_text(migration->out, "    inputs: []\n");
    if (get(step->node, "analyser")) write_part(migration, "transform", analyser);
    write_carried(migration, INDENT_KEY, &shape_artifact, step->node, step_kept_last);
    if (!step->is_read && !get(step->node, "output")) buf_text(migration->out, "    output: true\n");
}

static void write_artifacts(Migration *migration)
{
    bool *is_used = ARENA_ARRAY(migration->arena, bool, migration->analysers.count);
    bool is_first = true;
    buf_text(migration->out, "\nartifacts:\n");
    for (uint32_t i = 0; i < migration->connectors.count; i++) {
        if (!migration->connectors.items[i].user_count) continue;
        if (!is_first) buf_char(migration->out, '\n');
        is_first = false;
        write_source(migration, &migration->connectors.items[i]);
    }
    for (uint32_t i = 0; i < migration->step_count; i++) {
        const OldStep *step = &migration->steps[i];
        if (!is_first) buf_char(migration->out, '\n');
        is_first = false;
        write_step(migration, step, step->analyser != NONE && !is_used[step->analyser]);
        if (step->analyser != NONE) is_used[step->analyser] = true;
    }
}

static void write_unused(Migration *migration, const Parts *parts)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        const Part *part = &parts->items[i];
        if (part->user_count) continue;
        buf_char(migration->out, '\n');
        decide(migration, SEVERITY_WARNING, part->node, 0,
               part->is_repeated ? "there is a second %s '%.*s'; the first one counts" : "no step uses the %s '%.*s'",
               parts->one, STR_ARG(shown(part->name)));
        write_left_out(migration, 0, part->name, part->node);
    }
}

/* --- writing: the head ------------------------------------------------------------------------------------------- */

static const char *const root_used[] = { "connectors", "analysers", "execution", NULL };
static const char *const root_kept[] = {
    "name",   "description", "contact", "owner",  "tenant",       "namespace",
    "labels", "policies",    "policy",  "config", "failure_mode", NULL,
};
static const char *const root_kept_last[] = {
    "contact", "owner", "tenant", "namespace", "labels", "policies", "policy", "config", "failure_mode", NULL,
};

/* "flows/legacy-log_analysis.yaml" is "Legacy Log Analysis". */
static Str title_of(Arena *arena, Str file)
{
    size_t from = file.len, to = file.len;
    while (from && file.ptr[from - 1] != '/') from--;
    for (size_t i = from + 1; i < file.len; i++)
        if (file.ptr[i] == '.') to = i;
    char storage[256];
    Buf title = buf_on(storage, sizeof storage);
    bool begins = true;
    for (size_t i = from; i < to && title.len < sizeof storage; i++) {
        char c = file.ptr[i];
        bool is_gap = c == '-' || c == '_' || c == '.' || (unsigned char)c <= ' ';
        if (!is_gap && begins && title.len) buf_char(&title, ' ');
        if (!is_gap) buf_char(&title, begins && ascii_is_lower(c) ? (char)(c - 'a' + 'A') : c);
        begins = is_gap;
    }
    Str text = { title.ptr, utf8_valid_size(buf_peek(&title)) };
    return text.len ? arena_copy(arena, text) : STR("Runbook");
}

static Str file_base(Str file)
{
    size_t from = file.len;
    while (from && file.ptr[from - 1] != '/') from--;
    return str_slice(file, from, file.len);
}

static void write_head(Migration *migration)
{
    Str file = migration->diagnostics->file, title = title_of(migration->arena, file);
    Str why;
    const Node *own_name = carried(migration, &shape_runbook, migration->root, "name", &why);
    const Node *own_description = carried(migration, &shape_runbook, migration->root, "description", &why);
    Str description = arena_format(migration->arena, "%.*s, migrated from the old format", STR_ARG(title));
    yaml_write_comment(migration->out, 0,
                       arena_format(migration->arena, "Migrated by maestro from %.*s.", STR_ARG(file_base(file))));
    decide_rest(migration, 0, &shape_runbook, migration->root, root_used, root_kept);
    const char *derived = own_name        ? "The description is"
                        : own_description ? "The name is"
                                          : "Name and description are";
    if (!own_name || !own_description)
        yaml_write_comment(
            migration->out, 0,
            arena_format(migration->arena, "%s derived from the file's name: the old one has none.", derived));
    if (own_name) yaml_write_pair(migration->out, 0, STR("name"), own_name);
    else yaml_write_text_pair(migration->out, 0, "name", title);
    if (own_description) yaml_write_pair(migration->out, 0, STR("description"), own_description);
    else yaml_write_text_pair(migration->out, 0, "description", description);
    write_carried(migration, 0, &shape_runbook, migration->root, root_kept_last);
    if (!own_name) note(migration, "the name '%.*s' is derived from the file's name", STR_ARG(title));
    if (!own_description)
        note(migration, "the description '%.*s' is derived from the file's name", STR_ARG(description));
}

/* --- comments of the source -------------------------------------------------------------------------------------- */

/* Between two tokens of YAML there is nothing but space and comments. */
static bool has_comments(Str text)
{
    yaml_parser_t parser;
    bool found = false, is_over = false;
    size_t at = 0, character = 0;               /* the same place, in bytes and in characters */
    if (!text.len || !yaml_parser_initialize(&parser)) return false;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    while (!found && !is_over) {
        yaml_token_t token;
        if (!yaml_parser_scan(&parser, &token)) break;
        for (; at < text.len && character < token.start_mark.index; character++) {
            found |= text.ptr[at] == '#';
            for (at++; at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80;) at++;
        }
        for (; at < text.len && character < token.end_mark.index; character++)
            for (at++; at < text.len && ((unsigned char)text.ptr[at] & 0xc0) == 0x80;) at++;
        is_over = token.type == YAML_STREAM_END_TOKEN;
        yaml_token_delete(&token);
    }
    yaml_parser_delete(&parser);
    return found;
}

static void note_losses(Migration *migration)
{
    bool has_save_output = false;
    for (uint32_t i = 0; i < migration->step_count; i++)
        has_save_output |= node_get(migration->steps[i].node, "save_output") != NULL;
    if (has_save_output) note(migration, "'save_output' is left out: every artifact is available to others");
    if (text_format_of(migration->diagnostics->file) == TEXT_YAML && has_comments(migration->diagnostics->text))
        note(migration, "the comments of the old file are not kept");
}

/* --- the story --------------------------------------------------------------------------------------------------- */

bool runbook_is_old(const Node *root)
{
    if (root->kind != NODE_MAP || node_get(root, "artifacts") || !node_get(root, "execution")) return false;
    return node_get(root, "connectors") || node_get(root, "analysers");
}

static void refuse(Diagnostics *diagnostics, const Node *root)
{
    bool is_new = root->kind == NODE_MAP && node_get(root, "artifacts");
    bool is_workflow =
        root->kind == NODE_MAP && (node_get(root, "jobs") || node_get(root, "steps") || node_get(root, "workflow"));
    const char *what = is_new      ? "this runbook has the new format already: there is nothing to migrate"
                     : is_workflow ? "this is a workflow, not a runbook of the old format"
                                   : "this is no runbook of the old format";
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, root, "%s", what);
    if (!is_new)
        diagnostic_help(diagnostics, diagnostic,
                        "the old format has the keys 'connectors', 'analysers' and 'execution'");
}

void migrate(Arena *arena, const Node *root, Diagnostics *diagnostics, Buf *out_yaml, MigrateNotes *out_notes)
{
    *out_notes = (MigrateNotes){ 0 };
    if (!runbook_is_old(root)) {
        refuse(diagnostics, root);
        return;
    }
    Migration migration = {
        .arena = arena, .diagnostics = diagnostics, .root = root, .out = out_yaml, .notes = out_notes
    };
    const Node *execution = read_list(&migration, "execution");
    read_parts(&migration, &migration.connectors, "connectors", "connector");
    read_parts(&migration, &migration.analysers, "analysers", "analyser");
    if (execution) read_steps(&migration, execution);
    if (!migration.step_count && !diagnostics->error_count)
        diagnose(diagnostics, SEVERITY_ERROR, node_get(root, "execution"), "there are no steps to migrate");
    if (diagnostics->error_count) return;           /* what is left out here would be missing there without a trace */
    resolve_steps(&migration);
    find_circles(&migration);
    claim_ids(&migration);
    write_head(&migration);
    write_artifacts(&migration);
    write_unused(&migration, &migration.connectors);
    write_unused(&migration, &migration.analysers);
    note_losses(&migration);
    if (buf_overflowed(out_yaml)) {
        diagnose(diagnostics, SEVERITY_ERROR, NULL, "the result is larger than %zu bytes", out_yaml->size_max);
        buf_clear(out_yaml);
    }
    diagnostics_sort(diagnostics);
}
