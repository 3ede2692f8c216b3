/* Step trees: sequences, choices, messages and work, nested; lowered to a graph whose chains are the sequences. */
#include "base/limits.h"
#include "lang/compiler.h"
#include "lang/reference.h"
#include "lang/shapes.h"
#include "lang/task.h"

typedef struct TreeStep {
    const Node *node;
    Str name;
    uint32_t parent;
    uint32_t scope;
    uint32_t sibling;           /* the step written behind it in the same list, or PLAN_NONE */
    StepKind kind;
} TreeStep;

/* A place from which the next step follows: a step, and for an arm without steps the key by which its branch leads on. */
typedef struct Exit {
    uint32_t step;
    Str key;                    /* empty: a plain order edge */
} Exit;

typedef struct Exits {
    Exit *items;
    size_t count, capacity;
} Exits;

typedef struct Tree {
    Compiler *compiler;
    References references;
    Map names, written;         /* of all steps; of those that the author has named */
    TreeStep *steps;            /* in the order of the text, a parent before its children */
    size_t count, capacity;
    uint32_t *task_steps;       /* task of the references -> step */
    size_t task_count, task_capacity;
} Tree;

/* --- collecting ------------------------------------------------------------------------------------------------- */

static StepKind step_kind(const Node *node)
{
    if (node_get(node, "sequence")) return STEP_SEQUENCE;
    return node_get(node, "if") ? STEP_BRANCH : STEP_TASK;
}

static Str step_name(Tree *tree, const Node *node)
{
    const Node *name = get_text(node, "name");
    if (!name) name = get_text(node, "id");
    if (name) return node_text(name);
    Arena *arena = tree->compiler->arena;
    Str made = arena_format(arena, "step-%zu", tree->count + 1), base = made;
    uint32_t ignored;
    for (unsigned number = 2; map_find(&tree->written, made, &ignored); number++)
        made = arena_format(arena, "%.*s-%u", STR_ARG(base), number);
    return made;
}

/* All names that the author has written, before any is made up. */
static void collect_names(Tree *tree, const Node *steps)
{
    for (uint32_t i = 0; i < many_count(steps); i++) {
        const Node *node = many_at(steps, i);
        if (node->kind != NODE_MAP) continue;
        static const char *const lists[] = { "sequence", "then", "else", "thenSteps", "elseSteps" };
        const Node *name = get_text(node, "name") ? get_text(node, "name") : get_text(node, "id");
        if (name) map_add(&tree->written, node_text(name), 0, NULL);
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) collect_names(tree, node_get(node, lists[k]));
    }
}

static void collect_list(Tree *tree, const Node *steps, uint32_t parent, uint32_t scope);

static const Node *arm_of(const Node *node, const char *key, const char *also)
{
    const Node *arm = node_get(node, key);
    return arm ? arm : node_get(node, also);
}

static void collect_step(Tree *tree, const Node *node, uint32_t parent, uint32_t scope)
{
    if (node->kind != NODE_MAP) return;
    Compiler *compiler = tree->compiler;
    TreeStep step = { node, step_name(tree, node), parent, scope, PLAN_NONE, step_kind(node) };
    tree->steps = arena_grow(compiler->scratch, tree->steps, sizeof step, tree->count, &tree->capacity);
    uint32_t index = (uint32_t)tree->count++;
    tree->steps[index] = step;

    uint32_t other;
    if (!map_add(&tree->names, step.name, index, &other)) {
        const Node *name = get_text(node, "name");
        diagnose(compiler->diagnostics, SEVERITY_ERROR, name ? name : node,
                 "there is a step '%.*s' already, in line %u", STR_ARG(step.name), tree->steps[other].node->line);
    }
    if (step.kind == STEP_TASK) {
        tree->task_steps = arena_grow(compiler->scratch, tree->task_steps, sizeof *tree->task_steps, tree->task_count,
                                      &tree->task_capacity);
        tree->task_steps[tree->task_count++] = index;
        references_pause(&tree->references, node, (uint32_t)tree->references.task_count);
        references_task(&tree->references,
                        (RefTask){ STR(""), step.name, 0, scope, may_be_skipped(node), false });
        return;
    }
    static const char *const work_only[] = { "input",        "args", "timeout",     "retries",         "retry",
                                             "compensation", "poll", "pause_after", "wait_for_signal", "optional_outputs", NULL };
    for (const char *const *key = work_only; *key; key++)
        if (node_get(node, *key))
            diagnose(compiler->diagnostics, SEVERITY_ERROR, node_get(node, *key),
                     "'%s' belongs to a step that does work; this one only holds others", *key);
    /* What stands under a condition may be missing to whoever comes behind it. */
    if (may_be_skipped(node)) scope = references_scope(&tree->references, scope);
    if (step.kind == STEP_SEQUENCE) {
        collect_list(tree, node_get(node, "sequence"), index, scope);
        return;
    }
    const Node *then_arm = arm_of(node, "then", "thenSteps"), *else_arm = arm_of(node, "else", "elseSteps");
    if (!then_arm && !else_arm)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, node, "a choice needs 'then' or 'else'");
    if (then_arm) collect_list(tree, then_arm, index, references_scope(&tree->references, scope));
    if (else_arm) collect_list(tree, else_arm, index, references_scope(&tree->references, scope));
}

static void collect_list(Tree *tree, const Node *steps, uint32_t parent, uint32_t scope)
{
    uint32_t last = PLAN_NONE;
    for (uint32_t i = 0; i < many_count(steps); i++) {
        const Node *node = many_at(steps, i);
        uint32_t index = (uint32_t)tree->count;
        if (last != PLAN_NONE) tree->steps[last].sibling = index;
        if (node->kind == NODE_MAP && !node_get(node, "if")
            && (arm_of(node, "then", "thenSteps") || arm_of(node, "else", "elseSteps")))
            diagnose(tree->compiler->diagnostics, SEVERITY_ERROR, node, "'then' and 'else' belong to a step with 'if'");
        collect_step(tree, node, parent, scope);
        last = tree->count > index ? index : PLAN_NONE;
    }
    if (last != PLAN_NONE) tree->steps[last].sibling = PLAN_NONE;
}

/* --- checking --------------------------------------------------------------------------------------------------- */

static void check_steps(Tree *tree)
{
    uint32_t task = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        const TreeStep *step = &tree->steps[i];
        Place place = { .roots = ROOTS_BEFORE, .task_limit = task, .scope = step->scope,
                        .optional = { node_get(step->node, "optional_outputs"), NULL } };
        if (step->kind == STEP_TASK) {
            task_check(tree->compiler, step->node);
            task_references(&tree->references, &place, step->node);
            task++;
        } else {
            check_policies(tree->compiler, step->node);
            reference_condition(&tree->references, &place, node_get(step->node, "if"));
            reference_condition(&tree->references, &place, node_get(step->node, "when"));
        }
    }
    /* Steps behind one that always ends the run, in the same sequence. */
    uint32_t ended_in = PLAN_NONE, ended_at = 0;
    for (uint32_t i = 0; i < tree->count; i++) {
        if (ended_at && tree->steps[i].parent == ended_in && tree->steps[i].scope == tree->steps[ended_at - 1].scope)
            diagnose(tree->compiler->diagnostics, SEVERITY_ERROR, tree->steps[i].node,
                     "this step is never reached: one before it always ends the run");
        if (!ended_at && tree->steps[i].kind == STEP_TASK && task_always_terminates(tree->steps[i].node)) {
            ended_in = tree->steps[i].parent;
            ended_at = i + 1;
        }
    }
}

/* --- lowering --------------------------------------------------------------------------------------------------- */

typedef struct DataEdges {
    Tree *tree;
    uint32_t step;
} DataEdges;

static void data_edge(void *context, uint32_t task)
{
    DataEdges *to = context;
    uint32_t from = to->tree->task_steps[task];
    if (from < to->step) draft_edge(&to->tree->compiler->draft, from, to->step, EDGE_DATA, STR(""));
}

static void exits_add(Tree *tree, Exits *exits, Exit exit)
{
    exits->items = arena_grow(tree->compiler->scratch, exits->items, sizeof exit, exits->count, &exits->capacity);
    exits->items[exits->count++] = exit;
}

static void connect(Tree *tree, const Exits *from, uint32_t to)
{
    for (size_t i = 0; i < from->count; i++)
        draft_edge(&tree->compiler->draft, from->items[i].step, to, from->items[i].key.len ? EDGE_BRANCH : EDGE_ORDER,
                   from->items[i].key);
}

/* The step that follows when this one and all below it are done, or PLAN_NONE at the end of the tree. */
static uint32_t step_behind(const Tree *tree, uint32_t index)
{
    while (index != PLAN_NONE && tree->steps[index].sibling == PLAN_NONE) index = tree->steps[index].parent;
    return index == PLAN_NONE ? PLAN_NONE : tree->steps[index].sibling;
}

static void lower_choice(Tree *tree, uint32_t index, MemberList *members)
{
    const Node *condition = node_get(tree->steps[index].node, "if");
    Str text = condition->kind == NODE_TEXT ? str_trim(node_text(condition))
             : condition->truth             ? STR("true")
                                            : STR("false");
    ValueList cases = { .arena = tree->compiler->arena };
    value_list_add(&cases, value_string(STR("then")));
    value_list_add(&cases, value_string(STR("else")));
    member_list_add(members, STR("type"), value_string(STR("exclusive")));
    member_list_add(members, STR("condition"), value_string(text));
    member_list_add(members, STR("cases"), value_list_array(&cases));
    if (step_behind(tree, index) != PLAN_NONE)
        member_list_add(members, STR("converge"), value_int(step_behind(tree, index)));
}

static void lower_members(Tree *tree, uint32_t index, const ValueList *policies)
{
    static const char *const kept_out[] = {
        "name",     "run", "log",  "intent", "spawn_budget", "idempotency", "idempotency_key", "retries", "poll", "policies",
        "sequence", "if",  "then", "else",   NULL,
    };
    const TreeStep *step = &tree->steps[index];
    Compiler *compiler = tree->compiler;
    MemberList members = { .arena = compiler->arena };
    member_list_add(&members, STR("id"), value_string(step->name));
    member_list_add(&members, STR("name"), value_string(step->name));
    member_list_add(&members, STR("kind"), value_string(str_of(step_kind_name(step->kind))));
    if (step->parent != PLAN_NONE) member_list_add(&members, STR("parent"), value_int(step->parent));
    if (step->kind == STEP_TASK) {
        task_lower(compiler, &shape_step, step->node, policies, &members);
    } else {
        shape_add_all(compiler->arena, &members, &shape_step, step->node, kept_out);
        if (step->kind == STEP_BRANCH) lower_choice(tree, index, &members);
    }
    draft_step(&compiler->draft, &members);
    DataEdges edges = { tree, index };
    if (step->kind == STEP_TASK) task_producers(&tree->references, step->node, data_edge, &edges);
    if (step->kind == STEP_TASK) return;
    producers_of_condition(&tree->references, node_get(step->node, "if"), data_edge, &edges);
    producers_of_condition(&tree->references, node_get(step->node, "when"), data_edge, &edges);
}

static Exits lower_list(Tree *tree, const Node *steps, Exits before, uint32_t *next, const ValueList *policies);

/* Writes the step at *next and all below it; returns from where the step behind it follows. */
static Exits lower_step(Tree *tree, Exits before, uint32_t *next, const ValueList *policies)
{
    uint32_t index = (*next)++;
    const TreeStep *step = &tree->steps[index];
    lower_members(tree, index, policies);
    connect(tree, &before, index);
    Exits after = { 0 };
    exits_add(tree, &after, (Exit){ index, STR("") });
    if (step->kind == STEP_TASK) return after;
    ValueList inner = { .arena = tree->compiler->arena };
    for (size_t i = 0; i < policies->count; i++) value_list_add(&inner, policies->items[i]);
    add_policies(&inner, step->node);
    if (step->kind == STEP_SEQUENCE) return lower_list(tree, node_get(step->node, "sequence"), after, next, &inner);

    static const char *const arms[2][2] = { { "then", "thenSteps" }, { "else", "elseSteps" } };
    Exits joined = { 0 };
    for (unsigned i = 0; i < 2; i++) {
        Exits arm = { 0 };
        exits_add(tree, &arm, (Exit){ index, str_of(arms[i][0]) });
        arm = lower_list(tree, arm_of(step->node, arms[i][0], arms[i][1]), arm, next, &inner);
        for (size_t k = 0; k < arm.count; k++) exits_add(tree, &joined, arm.items[k]);
    }
    return joined;
}

static Exits lower_list(Tree *tree, const Node *steps, Exits before, uint32_t *next, const ValueList *policies)
{
    for (uint32_t i = 0; i < many_count(steps) && compiler_fits(tree->compiler); i++) before = lower_step(tree, before, next, policies);
    return before;
}

/* --- the story -------------------------------------------------------------------------------------------------- */

static void offer_names(void *context, Suggestion *suggestion)
{
    const Tree *tree = context;
    for (size_t i = 0; i < tree->count; i++) suggest_offer(suggestion, tree->steps[i].name);
}

static bool find_task(void *context, Str name, const Node **out_task)
{
    Tree *tree = context;
    uint32_t task;
    if (!references_find(&tree->references, name, &task)) return false;
    *out_task = tree->steps[tree->task_steps[task]].node;
    return true;
}

void step_tree_compile(Compiler *compiler)
{
    const Node *steps = node_get(compiler->root, "steps");
    Tree tree = { .compiler = compiler };
    references_init(&tree.references, compiler);
    references_params(&tree.references);
    map_init(&tree.names, compiler->scratch, 0);
    map_init(&tree.written, compiler->scratch, 0);
    collect_names(&tree, steps);
    header_check(compiler, &tree.references);
    collect_list(&tree, steps, PLAN_NONE, SCOPE_TOP);
    if (tree.count == 0 && steps->kind == NODE_LIST)
        diagnose(compiler->diagnostics, SEVERITY_ERROR, steps, "there are no steps");
    check_steps(&tree);
    uint32_t compensations = 0;
    for (size_t i = 0; i < tree.count; i++) compensations += node_get(tree.steps[i].node, "compensation") != NULL;
    resolution_check(compiler, &(TaskNames){ find_task, NULL, offer_names, &tree }, compensations);
    if (compiler->diagnostics->error_count) return;
    header_lower(compiler);
    resolution_lower(compiler);
    ValueList policies = { .arena = compiler->arena };
    add_policies(&policies, compiler->root);
    uint32_t next = 0;
    lower_list(&tree, steps, (Exits){ 0 }, &next, &policies);
}
