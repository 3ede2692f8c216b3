#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "rego/builtins/yaml_read.h"
#include "rego/parser.h"
#include "rego/plan.h"
#include "rego/print.h"
#include "rego/type_tree.h"

static const RegoCompileOptions options_default = { 0 };

/* --- reading ----------------------------------------------------------------------------------------------------- */

static bool is_builtin(Str name)
{
    return builtin_find(name) != NULL;
}

static Status modules_read(RegoPolicy *policy, const RegoModuleText *modules, uint32_t count, RegoErrors *errors)
{
    Status result = OK;
    policy->modules = ARENA_ARRAY(&policy->arena, RegoModule *, count + 1u);
    for (uint32_t i = 0; i < count; i++) {
        const RegoParseOptions options = { .file = arena_copy(&policy->arena, modules[i].file),
                                           .v0 = policy->options.v0, .keywords = policy->options.keywords,
                                           .is_builtin = is_builtin, .read_yaml = yaml_metadata_read };
        Status status = rego_parse_module(&policy->arena, modules[i].text, &options, &policy->modules[i], errors);
        if (status) result = status;
    }
    policy->module_count = count;
    return result;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

static const TreeNode *package_node(const RegoPolicy *policy, const RegoTerm *package)
{
    const TreeNode *node = policy->root;
    for (uint32_t i = 1; node && i < package->count; i++) node = tree_child(node, package->items[i]->value);
    return node;
}

static Names names_of(RegoPolicy *policy, const RegoModule *module, const RegoRule *rule, bool *import_used,
                      RegoErrors *errors)
{
    Names names = { .policy = policy, .arena = &policy->arena, .errors = errors, .file = module->file,
                    .text = module->text, .package = package_node(policy, module->package), .module = module,
                    .rule = rule, .import_used = import_used };
    if (policy->options.instrument) names.places = &policy->places;
    return names;
}

/* `heads_alone`: looks whether the heads can be safe at all, before any body is put in order. */
static void order_rule(const Names *names, FlatRule *flat, bool heads_alone)
{
    for (uint32_t i = 0; i < flat->branch_count; i++) {
        FlatBranch *branch = &flat->branches[i];
        uint8_t *bound = ARENA_ARRAY(names->arena, uint8_t, flat->unit.var_count + 1);
        FlatTerm **heads = ARENA_ARRAY(names->arena, FlatTerm *, branch->path_count + 2u);
        uint32_t count = 0;
        for (uint32_t k = 0; k < branch->path_count; k++) heads[count++] = branch->path[k];
        if (branch->key) heads[count++] = branch->key;
        if (branch->value) heads[count++] = branch->value;
        for (uint32_t k = 0; k < flat->arg_count; k++) {
            bound[k] = 1;
            if (flat->args[k]) safety_outputs(&(FlatStmt){ .kind = FLAT_UNIFY, .a = flat->args[k],
                                                           .b = &(FlatTerm){ .kind = FLAT_INPUT } }, bound);
        }
        if (heads_alone) safety_heads(names, &flat->unit, &branch->block, bound, heads, count);
        else (void)safety_order(names, &flat->unit, &branch->block, bound, heads, count);
    }
}

static void group_flatten(RegoPolicy *policy, RuleGroup *group, FlatRule *flats, bool **import_used, RegoErrors *errors)
{
    for (size_t i = 0; i < group->source_count; i++) {
        const RuleSource *source = &group->sources[i];
        uint32_t module = 0;
        while (policy->modules[module] != source->module) module++;
        Names names = names_of(policy, source->module, source->rule, import_used[module], errors);
        flat_rule(&names, source, &flats[i]);
    }
}

static bool group_exits_early(const RuleGroup *group)
{
    if (group->kind != GROUP_COMPLETE && group->kind != GROUP_FUNCTION) return false;
    const PlanBranch *first = NULL;
    for (uint32_t r = 0; r < group->rule_count; r++) {
        for (uint32_t b = 0; b < group->rules[r].branch_count; b++) {
            const PlanBranch *branch = &group->rules[r].branches[b];
            if (!branch->is_written) return false;
            if (!first) first = branch;
            if (!value_equals(first->constant, branch->constant)) return false;
        }
    }
    return first != NULL;
}

static void group_order(RegoPolicy *policy, RuleGroup *group, FlatRule *flats, bool heads_alone, RegoErrors *errors)
{
    for (size_t i = 0; i < group->source_count; i++) {
        Names names = names_of(policy, group->sources[i].module, group->sources[i].rule, NULL, errors);
        order_rule(&names, &flats[i], heads_alone);
    }
}

static void group_plan(RegoPolicy *policy, RuleGroup *group, FlatRule *flats, RegoErrors *errors)
{
    group->rules = ARENA_ARRAY(&policy->arena, PlanRule, group->source_count + 1);
    for (size_t i = 0; i < group->source_count; i++) {
        const RuleSource *source = &group->sources[i];
        Names names = names_of(policy, source->module, source->rule, NULL, errors);
        size_t error_count = errors->count + errors->dropped;
        type_check_rule(&names, group, &flats[i]);
        if (errors->count + errors->dropped > error_count) continue;
        PlanRule planned = { .source = source->rule, .group = group };
        plan_rule(&names, group, &flats[i], &planned);
        if (source->rule->flags & REGO_RULE_DEFAULT) {
            group->otherwise = ARENA_NEW(&policy->arena, PlanRule);
            *group->otherwise = planned;
        } else {
            group->rules[group->rule_count++] = planned;
        }
    }
    group->exits_early = group_exits_early(group);
    group->has_lookup = group->kind == GROUP_SET || group->kind == GROUP_OBJECT;
    for (uint32_t i = 0; i < group->rule_count; i++) group->has_lookup &= group->rules[i].key_register >= 0;
    plan_index(&policy->arena, group);
}

/* --- checks of modules ------------------------------------------------------------------------------------------- */

static Str import_alias(const RegoImport *import)
{
    if (import->alias.len) return import->alias;
    const RegoTerm *last = import->path->items[import->path->count - 1];
    return last->kind == REGO_TERM_VAR ? last->name : value_text(last->value);
}

static Str import_text(Arena *arena, const RegoImport *import)
{
    Buf buf;
    buf_init(&buf, REGO_TEXT_SIZE_MAX);
    rego_print_term(&buf, import->path, REGO_PRINT_CALLS);
    if (import->alias.len) buf_format(&buf, " as %.*s", STR_ARG(import->alias));
    Str text = arena_copy(arena, buf_peek(&buf));
    buf_deinit(&buf);
    return text;
}

static bool import_is_document(const RegoImport *import)
{
    const RegoTerm *head = import->path->items[0];
    return rego_term_is_var(head, STR("data")) || rego_term_is_var(head, STR("input"));
}

static void imports_check(RegoPolicy *policy, const RegoModule *module, const bool *used, RegoErrors *errors)
{
    Map seen;
    map_init(&seen, &policy->arena, module->import_count);
    for (uint32_t i = 0; i < module->import_count; i++) {
        const RegoImport *import = &module->imports[i];
        uint32_t first = 0;
        bool is_new = map_add(&seen, import_alias(import), i, &first);
        if (!is_new && (module->is_v1 || policy->options.strict))
            rego_errors_add(errors, REGO_ERROR_COMPILE, module->file, import->loc, "import must not shadow import %.*s",
                            STR_ARG(import_text(&policy->arena, &module->imports[first])));
        if (policy->options.strict && import_is_document(import) && !used[is_new ? i : first])
            rego_errors_add(errors, REGO_ERROR_COMPILE, module->file, import->loc, "import %.*s unused",
                            STR_ARG(import_text(&policy->arena, import)));
    }
}

/* --- what v1 and strict mode refuse ------------------------------------------------------------------------------ */

typedef struct ModuleCheck {
    RegoPolicy *policy;
    const RegoModule *module;
    RegoErrors *errors;
    const RegoTerm *call;           /* of the expression under way: its place is the expression's */
} ModuleCheck;

static bool is_root_name(const RegoTerm *term, Str *out_name)
{
    if (term->kind == REGO_TERM_REF && term->count == 1) term = term->items[0];
    if (term->kind != REGO_TERM_VAR) return false;
    *out_name = term->name;
    return str_is(term->name, STR("input")) || str_is(term->name, STR("data"));
}

static bool shadow_check_expr(void *context, RegoExpr **place)
{
    ModuleCheck *check = context;
    const RegoExpr *expr = *place;
    Str name;
    if (expr->kind != REGO_EXPR_CALL || expr->term->count != 3) return true;
    bool is_assign = str_is(rego_call_name(&check->policy->arena, expr->term), STR("assign"));
    if (is_assign && is_root_name(expr->term->items[1], &name))
        rego_errors_add(check->errors, REGO_ERROR_COMPILE, check->module->file, expr->loc,
                        "variables must not shadow %.*s (use a different variable name)", STR_ARG(name));
    return true;
}

static void shadows_check_rule(ModuleCheck *check, const RegoRule *rule)
{
    Str name;
    for (; rule; rule = rule->otherwise) {
        if (is_root_name(rule->head.ref[0], &name))
            rego_errors_add(check->errors, REGO_ERROR_COMPILE, check->module->file, rule->loc,
                            "rules must not shadow %.*s (use a different rule name)", STR_ARG(name));
        for (uint32_t i = 0; i < rule->head.arg_count; i++)
            if (is_root_name(rule->head.args[i], &name))
                rego_errors_add(check->errors, REGO_ERROR_COMPILE, check->module->file, rule->head.loc,
                                "args must not shadow %.*s (use a different variable name)", STR_ARG(name));
    }
}

/* A function is found by its name when it is called, so that its name is constants alone. */
static void functions_check(const RegoModule *module, RegoErrors *errors)
{
    for (uint32_t i = 0; i < module->rule_count; i++) {
        const RegoRule *rule = module->rules[i];
        for (uint32_t k = 1; rule->head.arg_count && k < rule->head.ref_count; k++) {
            if (rule->head.ref[k]->kind == REGO_TERM_SCALAR) continue;
            rego_errors_add(errors, REGO_ERROR_COMPILE, module->file, rule->head.loc,
                            "the name of a function consists of constants; part %u of this one is none", k + 1);
            break;
        }
    }
}

static void shadows_check(RegoPolicy *policy, RegoModule *module, RegoErrors *errors)
{
    if (!module->is_v1 && !policy->options.strict) return;
    ModuleCheck check = { policy, module, errors, NULL };
    const RegoWalk walk = { .context = &check, .expr = shadow_check_expr };
    for (uint32_t i = 0; i < module->rule_count; i++) {
        shadows_check_rule(&check, module->rules[i]);
        rego_walk_rule(&walk, module->rules[i]);
    }
}

static void deprecated_check_call(ModuleCheck *check, const RegoTerm *call, RegoLoc loc)
{
    const Builtin *builtin = builtin_find(rego_call_name(&check->policy->arena, call));
    if (!builtin || !(builtin->flags & BUILTIN_DEPRECATED)) return;
    const TreeNode *package = package_node(check->policy, check->module->package);
    const RegoTerm *head = call->items[0]->kind == REGO_TERM_REF ? call->items[0]->items[0] : call->items[0];
    const TreeNode *own = package ? tree_child(package, value_string(head->name)) : NULL;
    if (own && own->is_name) return;
    rego_errors_add(check->errors, REGO_ERROR_TYPE, check->module->file, loc,
                    "deprecated built-in function calls in expression: %s", builtin->name);
}

static bool deprecated_check_expr(void *context, RegoExpr **place)
{
    ModuleCheck *check = context;
    if ((*place)->kind != REGO_EXPR_CALL) return true;
    check->call = (*place)->term;
    deprecated_check_call(check, check->call, (*place)->loc);
    return true;
}

static bool deprecated_check_term(void *context, RegoTerm **place)
{
    ModuleCheck *check = context;
    if ((*place)->kind == REGO_TERM_CALL && *place != check->call) deprecated_check_call(check, *place, (*place)->loc);
    return true;
}

static void deprecated_check(RegoPolicy *policy, RegoModule *module, RegoErrors *errors)
{
    if (!module->is_v1 && !policy->options.strict) return;
    ModuleCheck check = { policy, module, errors, NULL };
    const RegoWalk walk = { .context = &check, .expr = deprecated_check_expr, .term = deprecated_check_term };
    rego_walk_module(&walk, module);
}

/* "conflicting rule for data path a/b found": base data where a rule has its document. */
static void data_check(RegoPolicy *policy, RegoErrors *errors)
{
    for (size_t i = 0; i < policy->group_count; i++) {
        const RuleGroup *group = policy->groups[i];
        const Value *at = &policy->data;
        for (uint32_t k = 0; at && k < group->path_count; k++) at = value_lookup(*at, group->path[k]);
        if (!at) continue;
        Buf buf;
        buf_init(&buf, REGO_TEXT_SIZE_MAX);
        for (uint32_t k = 0; k < group->path_count; k++) {
            if (k) buf_char(&buf, '/');
            buf_str(&buf, value_text(group->path[k]));
        }
        rego_errors_add(errors, REGO_ERROR_COMPILE, group->sources[0].module->file, group->sources[0].rule->loc,
                        "conflicting rule for data path %.*s found", STR_ARG(buf_peek(&buf)));
        buf_deinit(&buf);
    }
}

/* --- the whole --------------------------------------------------------------------------------------------------- */

static void rules_list(RegoPolicy *policy)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < policy->module_count; m++) count += policy->modules[m]->rule_count;
    policy->infos = ARENA_ARRAY(&policy->arena, RegoRuleInfo, count + 1u);
    for (uint32_t m = 0; m < policy->module_count; m++) {
        const RegoModule *module = policy->modules[m];
        Str package = tree_path_text(&policy->arena, package_node(policy, module->package));
        for (uint32_t i = 0; i < module->rule_count; i++) {
            const RegoRule *rule = module->rules[i];
            Buf buf;
            buf_init(&buf, REGO_TEXT_SIZE_MAX);
            rego_print_ref(&buf, rule->head.ref, rule->head.ref_count, REGO_PRINT_CALLS);
            Str name = arena_copy(&policy->arena, buf_peek(&buf));
            buf_deinit(&buf);
            policy->infos[policy->info_count++] = (RegoRuleInfo){
                .path = arena_format(&policy->arena, "%.*s.%.*s", STR_ARG(package), STR_ARG(name)), .name = name,
                .package = package, .file = module->file, .loc = rule->loc,
            };
        }
    }
}

static Status policy_compile(RegoPolicy *policy, RegoErrors *errors)
{
    uint64_t rule_count = 0;
    for (uint32_t m = 0; m < policy->module_count; m++) rule_count += policy->modules[m]->rule_count;
    if (rule_count > REGO_RULE_COUNT_MAX) {
        rego_errors_add(errors, REGO_ERROR_COMPILE, (Str){ 0 }, (RegoLoc){ 0 },
                        "a policy has more than REGO_RULE_COUNT_MAX (%u) rules", REGO_RULE_COUNT_MAX);
        return ERR_LIMIT;
    }
    errors->pass = REGO_PASS_CONFLICTS;
    policy_tree_build(policy, errors);
    if (policy->options.check_data) data_check(policy, errors);
    bool **import_used = ARENA_ARRAY(&policy->arena, bool *, policy->module_count + 1u);
    for (uint32_t m = 0; m < policy->module_count; m++)
        import_used[m] = ARENA_ARRAY(&policy->arena, bool, policy->modules[m]->import_count + 1u);
    FlatRule **flats = ARENA_ARRAY(&policy->arena, FlatRule *, policy->group_count + 1);
    for (size_t i = 0; i < policy->group_count; i++) {
        flats[i] = ARENA_ARRAY(&policy->arena, FlatRule, policy->groups[i]->source_count);
        group_flatten(policy, policy->groups[i], flats[i], import_used, errors);
    }
    errors->pass = REGO_PASS_USES;
    for (uint32_t m = 0; m < policy->module_count; m++) {
        imports_check(policy, policy->modules[m], import_used[m], errors);
        shadows_check(policy, policy->modules[m], errors);
    }
    annotations_check(policy, errors);
    if (rego_errors_settle(errors)) return ERR_INVALID;
    for (int heads_alone = 1; heads_alone >= 0; heads_alone--) {
        errors->pass = heads_alone ? REGO_PASS_HEADS : REGO_PASS_SAFETY;
        for (size_t i = 0; i < policy->group_count; i++)
            group_order(policy, policy->groups[i], flats[i], heads_alone, errors);
        if (rego_errors_settle(errors)) return ERR_INVALID;
    }
    for (uint32_t m = 0; m < policy->module_count; m++) functions_check(policy->modules[m], errors);
    if (rego_errors_settle(errors)) return ERR_INVALID;
    for (size_t i = 0; i < policy->group_count; i++)
        for (size_t k = 0; k < policy->groups[i]->source_count; k++) uses_find(policy, policy->groups[i], &flats[i][k]);
    if (policy->use_count > REGO_USE_COUNT_MAX) {
        rego_errors_add(errors, REGO_ERROR_COMPILE, (Str){ 0 }, (RegoLoc){ 0 },
                        "references of the policy may read more than REGO_USE_COUNT_MAX (%u) rules",
                        REGO_USE_COUNT_MAX);
        return ERR_LIMIT;
    }
    errors->pass = REGO_PASS_RECURSION;
    policy->order = recursion_check(policy, errors);
    if (rego_errors_settle(errors)) return ERR_INVALID;
    errors->pass = REGO_PASS_TYPES;
    policy->types = ARENA_NEW(&policy->arena, TypeNode);
    for (size_t i = 0; i < policy->group_count; i++)
        group_plan(policy, policy->groups[policy->order[i]], flats[policy->order[i]], errors);
    for (uint32_t m = 0; m < policy->module_count; m++) deprecated_check(policy, policy->modules[m], errors);
    rules_list(policy);
    return errors->count ? ERR_INVALID : OK;
}

Status rego_compile(const RegoModuleText *modules, uint32_t count, Value data, const RegoCompileOptions *options,
                    RegoPolicy **out_policy, RegoErrors *errors)
{
    RegoPolicy *policy = calloc(1, sizeof *policy);
    CHECK(policy);
    arena_init(&policy->arena, SIZE_MAX);
    policy->options = options ? *options : options_default;
    policy->data = data.kind == VALUE_OBJECT ? value_copy(&policy->arena, data) : (Value){ .kind = VALUE_OBJECT };
    size_t error_count = errors->count;
    Status status = modules_read(policy, modules, count, errors);
    if (!status) {
        status = policy_compile(policy, errors);
        rego_errors_sort(errors);
    }
    errors->pass = REGO_PASS_READ;
    if (status) {
        /* Names of files lie in the policy, which ends here. */
        for (size_t i = error_count; i < errors->count; i++)
            errors->items[i].file = arena_copy(errors->arena, errors->items[i].file);
        rego_policy_free(policy);
        return status;
    }
    *out_policy = policy;
    return OK;
}

void rego_policy_free(RegoPolicy *policy)
{
    if (!policy) return;
    arena_deinit(&policy->arena);
    free(policy);
}

uint32_t rego_rule_count(const RegoPolicy *policy)
{
    return policy->info_count;
}

RegoRuleInfo rego_rule_info(const RegoPolicy *policy, uint32_t index)
{
    CHECK(index < policy->info_count);
    return policy->infos[index];
}

uint32_t rego_place_count(const RegoPolicy *policy)
{
    return (uint32_t)policy->places.count;
}

const RegoPlace *rego_place(const RegoPolicy *policy, uint32_t index)
{
    CHECK(index < policy->places.count);
    return policy->places.items[index];
}

uint32_t rego_query_place_count(const RegoQuery *query)
{
    return (uint32_t)query->places.count;
}

const RegoPlace *rego_query_place(const RegoQuery *query, uint32_t index)
{
    CHECK(index < query->places.count);
    return query->places.items[index];
}

/* --- queries ----------------------------------------------------------------------------------------------------- */

static const TreeNode *package_by_text(const RegoPolicy *policy, Str text)
{
    if (!text.len) return NULL;
    const TreeNode *node = policy->root;
    size_t at = str_find(text, '.', 0);
    while (node && at < text.len) {
        size_t end = str_find(text, '.', at + 1);
        node = tree_child(node, value_string(str_slice(text, at + 1, end)));
        at = end;
    }
    return node;
}

static int binding_order(const void *a, const void *b)
{
    return str_compare(((const RegoBinding *)a)->name, ((const RegoBinding *)b)->name);
}

/* Variables of the query itself: those of nested blocks are not bound behind them. */
static uint32_t query_bindings(RegoQuery *query, const FlatUnit *unit, const uint8_t *bound, FlatTerm **yields)
{
    uint32_t count = 0;
    query->bindings = ARENA_ARRAY(&query->arena, RegoBinding, unit->var_count + 1);
    for (size_t i = query->name_count; i < unit->var_count; i++) {
        if ((unit->vars[i].flags & (FLAT_VAR_GENERATED | FLAT_VAR_WILDCARD)) || !bound[i]) continue;
        query->bindings[count++] = (RegoBinding){ unit->vars[i].name, value_int((int64_t)i) };
    }
    qsort(query->bindings, count, sizeof *query->bindings, binding_order);
    for (uint32_t i = 0; i < count; i++) {
        FlatTerm *var = ARENA_NEW(&query->arena, FlatTerm);
        *var = (FlatTerm){ .kind = FLAT_VAR, .var = (uint32_t)query->bindings[i].value.integer };
        yields[i] = var;
    }
    return count;
}

static Status query_compile(RegoQuery *query, Str text, const RegoQueryOptions *options, RegoErrors *errors)
{
    const RegoParseOptions parse = { .keywords = options->keywords };
    text = query->text = arena_copy(&query->arena, text);
    RegoBody body;
    Status status = rego_parse_query(&query->arena, text, &parse, &body, errors);
    if (status) return status;
    /* A query changes nothing of its policy: only its own arena is written to. */
    Names names = { .policy = (RegoPolicy *)query->policy, .arena = &query->arena, .errors = errors, .text = text,
                    .package = package_by_text(query->policy, options->package) };
    if (query->policy->options.instrument) names.places = &query->places;
    FlatRule flat;
    FlatTerm **captures;
    flat_query(&names, body, options->names, options->name_count, options->capture, &flat, &captures);
    query->name_count = options->name_count;
    if (errors->count) return ERR_INVALID;
    uint8_t *bound = ARENA_ARRAY(&query->arena, uint8_t, flat.unit.var_count + 1);
    memset(bound, 1, options->name_count);
    FlatTerm **heads = ARENA_ARRAY(&query->arena, FlatTerm *, body.count + 1u);
    uint32_t head_count = 0;
    for (uint32_t i = 0; options->capture && i < body.count; i++)
        if (captures[i]) heads[head_count++] = captures[i];
    if (!safety_order(&names, &flat.unit, &flat.branches[0].block, bound, heads, head_count)) return ERR_INVALID;
    type_check_query(&names, &flat);
    if (errors->count) return ERR_INVALID;
    FlatTerm **yields = ARENA_ARRAY(&query->arena, FlatTerm *, flat.unit.var_count + body.count + 1);
    query->binding_count = query_bindings(query, &flat.unit, bound, yields);
    query->captures = ARENA_ARRAY(&query->arena, QueryCapture, body.count + 1u);
    for (uint32_t i = 0; options->capture && i < body.count; i++) {
        if (!captures[i]) continue;
        yields[query->binding_count + query->capture_count] = captures[i];
        query->captures[query->capture_count++] = (QueryCapture){
            .text = rego_loc_text(text, body.exprs[i]->loc), .row = body.exprs[i]->loc.row,
            .col = body.exprs[i]->loc.col,
        };
    }
    plan_query(&names, &flat, yields, query->binding_count + query->capture_count, &query->unit, &query->block);
    return errors->count ? ERR_INVALID : OK;
}

Status rego_query_prepare(const RegoPolicy *policy, Str text, const RegoQueryOptions *options, RegoQuery **out_query,
                          RegoErrors *errors)
{
    static const RegoQueryOptions query_default = { 0 };
    RegoQuery *query = calloc(1, sizeof *query);
    CHECK(query);
    arena_init(&query->arena, SIZE_MAX);
    query->policy = policy;
    Status status = query_compile(query, text, options ? options : &query_default, errors);
    if (status) {
        rego_query_free(query);
        return status;
    }
    *out_query = query;
    return OK;
}

void rego_query_free(RegoQuery *query)
{
    if (!query) return;
    arena_deinit(&query->arena);
    free(query);
}
