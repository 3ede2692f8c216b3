#include "lang/reference.h"

#include <string.h>

#include "base/limits.h"
#include "lang/shapes.h"
#include "lang/suggest.h"
#include "value/number.h"

#define AMBIGUOUS UINT32_MAX

void references_init(References *references, Compiler *compiler)
{
    *references = (References){ .compiler = compiler };
    Arena *arena = compiler->scratch;
    map_init(&references->params, arena, 0);
    map_init(&references->jobs, arena, 0);
    map_init(&references->task_names, arena, 0);
    map_init(&references->task_ids, arena, 0);
    map_init(&references->triggers, arena, 0);
    references_scope(references, SCOPE_TOP);
}

uint32_t references_scope(References *references, uint32_t parent)
{
    references->scopes = arena_grow(references->compiler->scratch, references->scopes, sizeof *references->scopes,
                                    references->scope_count, &references->scope_capacity);
    references->scopes[references->scope_count] = (RefScope){ parent };
    return (uint32_t)references->scope_count++;
}

bool scope_holds(const References *references, uint32_t outer, uint32_t inner)
{
    while (inner != outer && inner != SCOPE_TOP) inner = references->scopes[inner].parent;
    return inner == outer;
}

/* --- parameters ------------------------------------------------------------------------------------------------- */

static bool default_fits(const Node *value, Str type)
{
    if (str_is(type, STR("string"))) return value->kind == NODE_TEXT;
    if (str_is(type, STR("boolean"))) return value->kind == NODE_BOOL;
    if (value->kind != NODE_NUMBER) return false;
    if (str_is(type, STR("number"))) return true;
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    bool is_integer = number_is_integer(number_make(&scratch, node_text(value)));
    arena_deinit(&scratch);
    return is_integer;
}

void references_params(References *references)
{
    Diagnostics *diagnostics = references->compiler->diagnostics;
    const Node *params = get_list(references->compiler->root, "params");
    if (!params) params = get_list(references->compiler->root, "parameters");
    for (uint32_t i = 0; params && i < params->count; i++) {
        const Node *param = &params->items[i], *name = get_text(param, "name"), *type = get_text(param, "type");
        const Node *value = param->kind == NODE_MAP ? node_get(param, "default") : NULL;
        const Node *required = param->kind == NODE_MAP ? node_get(param, "required") : NULL;
        uint32_t line;
        if (name && !map_add(&references->params, node_text(name), name->line, &line))
            diagnose(diagnostics, SEVERITY_ERROR, name, "the parameter '%.*s' is declared twice, first in line %u",
                     STR_ARG(node_text(name)), line);
        if (value && type && !default_fits(value, node_text(type)))
            diagnose(diagnostics, SEVERITY_ERROR, value, "the default is %s, the parameter's type is %.*s",
                     node_kind_name(value), STR_ARG(node_text(type)));
        if (value && required && required->kind == NODE_BOOL && required->truth)
            diagnose(diagnostics, SEVERITY_ERROR, required, "a parameter with a default cannot be required");
    }
}

/* --- tasks ------------------------------------------------------------------------------------------------------ */

static Str task_id(Arena *arena, Str job, Str task)
{
    if (job.len == 0) return task;
    return arena_format(arena, "%.*s.%.*s", STR_ARG(job), STR_ARG(task));
}

uint32_t references_task(References *references, RefTask task)
{
    Arena *arena = references->compiler->scratch;
    references->tasks =
        arena_grow(arena, references->tasks, sizeof task, references->task_count, &references->task_capacity);
    uint32_t index = (uint32_t)references->task_count++;
    references->tasks[index] = task;
    uint32_t first = index;
    map_add(&references->task_ids, task_id(arena, task.job, task.task), index, &first);
    /* A second task of one name makes the bare name ambiguous: remembered under a name that no task can have. */
    if (!map_add(&references->task_names, task.task, index, NULL))
        map_add(&references->task_names, arena_format(arena, "!%.*s", STR_ARG(task.task)), AMBIGUOUS, NULL);
    return first;
}

void references_pause(References *references, const Node *task, uint32_t index)
{
    const Node *pause = task->kind == NODE_MAP ? node_get(task, "pause_after") : NULL;
    const Node *key = pause && pause->kind == NODE_MAP ? get_text(pause, "trigger") : pause;
    if (key && key->kind == NODE_TEXT) map_add(&references->triggers, node_text(key), index, NULL);
}

static bool is_ambiguous(const References *references, Str name)
{
    char storage[NAME_SIZE_MAX + 2];
    Buf marked = buf_on(storage, sizeof storage);
    uint32_t ignored;
    buf_char(&marked, '!');
    buf_str(&marked, name);
    return !buf_overflowed(&marked) && map_find(&references->task_names, buf_peek(&marked), &ignored);
}

bool references_find(const References *references, Str name, uint32_t *out_task)
{
    if (map_find(&references->task_ids, name, out_task)) return true;
    return !is_ambiguous(references, name) && map_find(&references->task_names, name, out_task);
}

/* --- resolution ------------------------------------------------------------------------------------------------- */

typedef struct Check {
    References *references;
    const Place *place;
} Check;

static Diagnostic *refuse(const References *references, const Node *node, const Path *path, const char *what, Str name)
{
    return diagnose_inside(references->compiler->diagnostics, node, path->offset, path->width, what, STR_ARG(name));
}

static void suggest_map(References *references, Diagnostic *diagnostic, Str wanted, const RefTask *tasks, size_t count)
{
    if (!may_suggest(references->compiler)) return;
    Suggestion suggestion = suggest_begin(wanted);
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&suggestion, tasks[i].task);
        suggest_offer(&suggestion, tasks[i].job);
    }
    if (suggestion.best.len)
        diagnostic_help(references->compiler->diagnostics, diagnostic, "did you mean '%.*s'?",
                        STR_ARG(suggestion.best));
}

/* The task that outputs.a.b means; false where it means none, which is reported if `node` is given. */
static bool resolve(References *references, const Node *node, const Path *path, uint32_t *out_task)
{
    if (path->part_count < 2) return false;
    Str first = path->parts[1];
    uint32_t job;
    bool is_job = map_find(&references->jobs, first, &job);
    if (is_job && path->part_count > 2) {
        char storage[2 * NAME_SIZE_MAX + 2];
        Buf id = buf_on(storage, sizeof storage);
        buf_str(&id, first);
        buf_char(&id, '.');
        buf_str(&id, path->parts[2]);
        if (!buf_overflowed(&id) && map_find(&references->task_ids, buf_peek(&id), out_task)) return true;
    }
    if (is_ambiguous(references, first)) {
        if (node) {
            Diagnostic *diagnostic = refuse(references, node, path, "several jobs have a task '%.*s'", first);
            diagnostic_help(references->compiler->diagnostics, diagnostic, "name its job as well: outputs.<job>.%.*s",
                            STR_ARG(first));
        }
        return false;
    }
    if (map_find(&references->task_names, first, out_task)) return true;
    if (map_find(&references->triggers, first, out_task)) return true;
    if (!node) return false;
    if (is_job && path->part_count > 2) {
        Str task = arena_format(references->compiler->scratch, "%.*s.%.*s", STR_ARG(first), STR_ARG(path->parts[2]));
        Diagnostic *diagnostic = refuse(references, node, path, "there is no task '%.*s'", task);
        diagnostic_help(references->compiler->diagnostics, diagnostic,
                        "'%.*s' is a job: outputs.%.*s.<task> names the output of one of its tasks", STR_ARG(first),
                        STR_ARG(first));
    } else if (is_job) {
        refuse(references, node, path, "'%.*s' is a job; name its task as well", first);
    } else {
        Diagnostic *diagnostic = refuse(references, node, path, "there is no task or job '%.*s'", first);
        suggest_map(references, diagnostic, first, references->tasks, references->task_count);
    }
    return false;
}

/* The names of an optional_outputs list. References of one task come together, so the last list is kept as a map. */
static const Map *optional_names(References *references, unsigned slot, const Node *list)
{
    if (references->optional_lists[slot] == list) return &references->optional_names[slot];
    references->optional_lists[slot] = list;
    map_init(&references->optional_names[slot], references->compiler->scratch, many_count(list));
    for (uint32_t i = 0; i < many_count(list); i++)
        if (many_at(list, i)->kind == NODE_TEXT)
            map_add(&references->optional_names[slot], node_text(many_at(list, i)), 0, NULL);
    return &references->optional_names[slot];
}

static bool is_declared_optional(References *references, const Place *place, const RefTask *task, Str id)
{
    uint32_t ignored;
    for (unsigned slot = 0; slot < 2; slot++) {
        if (!place->optional[slot]) continue;
        const Map *names = optional_names(references, slot, place->optional[slot]);
        if (map_find(names, task->task, &ignored) || map_find(names, task->job, &ignored)
            || map_find(names, id, &ignored))
            return true;
    }
    return false;
}

typedef enum Known { KNOWN_NEVER, KNOWN_SOMETIMES, KNOWN_ALWAYS } Known;

/* Within a guarded cycle the outputs of the last time round are there from the second time on. */
static bool came_round(References *references, const RefTask *task, const Place *place)
{
    for (uint32_t i = 0; i < references->guard_count; i++) {
        GraphEdge guard = references->guards[i];
        bool produced = task->job_index == guard.from || graph_reaches(references->graph, task->job_index, guard.from);
        bool consumed = place->job == guard.to || graph_reaches(references->graph, guard.to, place->job);
        if (produced && consumed) return true;
    }
    return false;
}

static Known when_known(References *references, uint32_t index, const Place *place)
{
    const RefTask *task = &references->tasks[index];
    if (references->is_cyclic) return KNOWN_ALWAYS;
    bool same_job = !references->graph || task->job_index == place->job;
    bool before = same_job ? index < place->task_limit || place->after_guard
                           : graph_reaches(references->graph, task->job_index, place->job);
    if (!before) return references->graph && came_round(references, task, place) ? KNOWN_SOMETIMES : KNOWN_NEVER;
    bool may_skip =
        task->may_skip || (task->job_may_skip && !same_job) || !scope_holds(references, task->scope, place->scope);
    return may_skip ? KNOWN_SOMETIMES : KNOWN_ALWAYS;
}

static void check_output(References *references, const Place *place, const Node *node, const Path *path)
{
    uint32_t index;
    if (path->part_count < 2 || !resolve(references, node, path, &index)) return;
    const RefTask *task = &references->tasks[index];
    Diagnostics *diagnostics = references->compiler->diagnostics;
    Str name = task_id(references->compiler->scratch, task->job, task->task);
    Known known = when_known(references, index, place);
    if (known == KNOWN_NEVER) {
        Diagnostic *diagnostic =
            refuse(references, node, path, "the output of '%.*s' is not known here: it does not come before", name);
        bool is_apart = !scope_holds(references, task->scope, place->scope) && !scope_holds(references, place->scope, task->scope);
        if (is_apart)
            diagnostic_help(diagnostics, diagnostic, "it is on another branch, which does not run together with this one");
        else if (references->graph && task->job_index != place->job)
            diagnostic_help(diagnostics, diagnostic, "add '%.*s' to the needs of this job, or of one that it needs",
                            STR_ARG(task->job));
    } else if (known == KNOWN_SOMETIMES && !is_declared_optional(references, place, task, name)) {
        Diagnostic *diagnostic = refuse(
            references, node, path, "the output of '%.*s' can be missing here: it is not produced on every way", name);
        diagnostic_help(diagnostics, diagnostic, "if that is meant, declare it: optional_outputs: [%.*s]",
                        STR_ARG(task->task));
    }
}

static void check_param(References *references, const Node *node, const Path *path)
{
    uint32_t line;
    if (path->part_count < 2 || map_find(&references->params, path->parts[1], &line)) return;
    Diagnostic *diagnostic = refuse(references, node, path, "there is no parameter '%.*s'", path->parts[1]);
    const Node *params = get_list(references->compiler->root, "params");
    if (!params) params = get_list(references->compiler->root, "parameters");
    Suggestion suggestion = suggest_begin(path->parts[1]);
    for (uint32_t i = 0; params && i < params->count && may_suggest(references->compiler); i++) {
        const Node *name = get_text(&params->items[i], "name");
        if (name) suggest_offer(&suggestion, node_text(name));
    }
    if (suggestion.best.len)
        diagnostic_help(references->compiler->diagnostics, diagnostic, "did you mean 'params.%.*s'?",
                        STR_ARG(suggestion.best));
    else
        diagnostic_help(references->compiler->diagnostics, diagnostic,
                        "declare it: params: [{ name: %.*s, type: string }]", STR_ARG(path->parts[1]));
}

static void check_run(References *references, const Node *node, const Path *path)
{
    static const char *const members[] = { "id",      "workflow", "tenant",  "version",   "started_at",
                                           "trigger", "parent",   "attempt", "iteration", NULL };
    if (path->part_count < 2) return;
    Suggestion suggestion = suggest_begin(path->parts[1]);
    for (const char *const *member = members; *member; member++) {
        if (str_is_text(path->parts[1], *member)) return;
        suggest_offer(&suggestion, str_of(*member));
    }
    Diagnostic *diagnostic = refuse(references, node, path, "a run has no '%.*s'", path->parts[1]);
    diagnostic_help(references->compiler->diagnostics, diagnostic,
                    "it has id, workflow, tenant, version, started_at, trigger, parent, attempt and iteration");
}

static void check_path(void *context, const Node *node, const Path *path)
{
    Check *check = context;
    References *references = check->references;
    Root root = root_find(path->parts[0]);
    if (!(root & check->place->roots)) {
        Diagnostic *diagnostic = refuse(references, node, path, "'%.*s' is not known at this place", path->parts[0]);
        char storage[128];
        Buf list = buf_on(storage, sizeof storage);
        diagnostic_help(references->compiler->diagnostics, diagnostic, "known are %s",
                        root_list(check->place->roots, &list));
    } else if (root == ROOT_SECRETS && check->place->is_command_line) {
        Diagnostic *diagnostic = refuse(references, node, path, "a program is started with this, which others can read: no place for '%.*s'",
                                        path->parts[0]);
        diagnostic_help(references->compiler->diagnostics, diagnostic,
                        "give it in another member of 'input': the program has it on standard input and in MAESTRO_INPUT");
    } else if (root == ROOT_OUTPUTS) {
        check_output(references, check->place, node, path);
    } else if (root == ROOT_PARAMS) {
        check_param(references, node, path);
    } else if (root == ROOT_RUN) {
        check_run(references, node, path);
    }
}

void reference_condition(References *references, const Place *place, const Node *condition)
{
    if (!condition) return;
    Check check = { references, place };
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    condition_paths(&scratch, condition, check_path, &check);
    arena_deinit(&scratch);
}

/* A first name that is no root is looked up in the trigger's payload; one letter off a root is rather a slip. */
static void check_bare(References *references, const Place *place, const Node *node, const Path *path)
{
    if (!(place->roots & ROOT_PAYLOAD)) {
        refuse(references, node, path, "'%.*s' is not known at this place", path->parts[0]);
        return;
    }
    static const char *const names[] = { "params", "outputs", "output", "payload", "secrets", NULL };
    for (const char *const *name = names; *name; name++) {
        Suggestion suggestion = suggest_begin(path->parts[0]);
        suggest_offer(&suggestion, str_of(*name));
        if (path->part_count < 2 || !suggestion.best.len || suggestion.distance > 1) continue;
        Diagnostic *diagnostic =
            diagnose(references->compiler->diagnostics, SEVERITY_WARNING, node,
                     "'${%.*s...}' is looked up in the trigger's payload", STR_ARG(path->parts[0]));
        diagnostic_help(references->compiler->diagnostics, diagnostic, "did you mean '${%s...}'?", *name);
        return;
    }
}

static void check_text(References *references, const Place *place, const Node *node)
{
    TemplateScan scan = { .text = node_text(node) };
    Path path;
    Error err;
    for (TemplateStep step; (step = template_next(&scan, &path, &err)) != TEMPLATE_END;) {
        if (step == TEMPLATE_WRONG) continue;
        if (root_find(path.parts[0])) check_path(&(Check){ references, place }, node, &path);
        else check_bare(references, place, node, &path);
    }
}

void reference_value(References *references, const Place *place, const Node *value)
{
    if (!value) return;
    if (value->kind == NODE_TEXT) check_text(references, place, value);
    if (node_is_scalar(value)) return;
    uint32_t step = value->kind == NODE_MAP ? 2 : 1;
    for (uint32_t i = 0; i < value->count; i++)
        reference_value(references, place, &value->items[i * step + (step - 1)]);
}

/* --- data edges ------------------------------------------------------------------------------------------------- */

typedef struct Producers {
    References *references;
    ProducerVisit visit;
    void *context;
} Producers;

static void produce(void *context, const Node *node, const Path *path)
{
    (void)node;
    Producers *producers = context;
    uint32_t task;
    if (root_find(path->parts[0]) == ROOT_OUTPUTS && resolve(producers->references, NULL, path, &task))
        producers->visit(producers->context, task);
}

void producers_of_condition(References *references, const Node *condition, ProducerVisit visit, void *context)
{
    if (!condition) return;
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    condition_paths(&scratch, condition, produce, &(Producers){ references, visit, context });
    arena_deinit(&scratch);
}

void producers_of_value(References *references, const Node *value, ProducerVisit visit, void *context)
{
    if (!value) return;
    if (value->kind == NODE_TEXT) {
        TemplateScan scan = { .text = node_text(value) };
        Path path;
        Error err;
        Producers producers = { references, visit, context };
        for (TemplateStep step; (step = template_next(&scan, &path, &err)) != TEMPLATE_END;)
            if (step == TEMPLATE_PATH) produce(&producers, value, &path);
    }
    if (node_is_scalar(value)) return;
    uint32_t step = value->kind == NODE_MAP ? 2 : 1;
    for (uint32_t i = 0; i < value->count; i++)
        producers_of_value(references, &value->items[i * step + (step - 1)], visit, context);
}
