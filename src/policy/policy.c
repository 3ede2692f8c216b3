#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "rego/parser.h"

/* One package that is asked. */
typedef struct Package {
    Str name;                           /* "data.maestro.deploy" */
    bool has_allow, has_deny, has_reasons;
    RegoQuery *verdict;                 /* [allow, deny], or one of them */
    RegoQuery *reasons;                 /* NULL: it gives none */
} Package;

struct Policy {
    Arena arena;
    Str name;
    Digest digest;
    uint32_t hooks, reads;
    RegoPolicy *rego;
    Package *packages;
    uint32_t package_count;
};

/* --- hooks and phases --------------------------------------------------------------------------------------------- */

static const struct { const char *name; uint32_t hooks; } phases[] = {
    { "pre-flight", HOOK_BIT(HOOK_RUN_START) | HOOK_BIT(HOOK_STEP_DISPATCH) },
    { "mid-flight", HOOK_BIT(HOOK_RUN_RESUME) | HOOK_BIT(HOOK_SIGNAL) },
    { "post-flight", HOOK_BIT(HOOK_STEP_END) },
};

const char *hook_phase(Hook hook)
{
    size_t i = 0;
    while (!(phases[i].hooks & HOOK_BIT(hook))) i++;            /* each hook belongs to one */
    return phases[i].name;
}

uint32_t hooks_of_phase(Str phase)
{
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (str_is_text(phase, phases[i].name)) return phases[i].hooks;
    return 0;
}

/* --- make --------------------------------------------------------------------------------------------------------- */

static Status make_digest(Policy *policy, const PolicySet *set, Error *err);
static Status find_reads(Policy *policy, const PolicySet *set);
static Status find_packages(Policy *policy, Error *err);
static Status prepare(Policy *policy, Package *package, RegoErrors *errors);
static Status tell_first(const RegoErrors *errors, Status status, Error *err);

Status policy_make(const PolicySet *set, const PolicyOptions *options, Policy **out_policy, Error *err)
{
    Policy *policy = calloc(1, sizeof *policy);
    CHECK(policy);
    arena_init(&policy->arena, SIZE_MAX);
    policy->name = arena_copy(&policy->arena, options->name);
    policy->hooks = options->hooks;
    RegoErrors errors;
    rego_errors_init(&errors, &policy->arena);
    Status status = rego_compile(set->modules, (uint32_t)set->module_count, set->data, &(RegoCompileOptions){ 0 },
                                 &policy->rego, &errors);
    if (!status) status = find_reads(policy, set);
    if (!status) status = find_packages(policy, err);
    else status = tell_first(&errors, status, err);
    for (uint32_t i = 0; !status && i < policy->package_count; i++) {
        status = prepare(policy, &policy->packages[i], &errors);
        if (status) tell_first(&errors, status, err);
    }
    if (!status) status = make_digest(policy, set, err);
    if (status) policy_free(policy);
    else *out_policy = policy;
    return status;
}

void policy_free(Policy *policy)
{
    if (!policy) return;
    for (uint32_t i = 0; i < policy->package_count; i++) {
        rego_query_free(policy->packages[i].verdict);
        rego_query_free(policy->packages[i].reasons);
    }
    rego_policy_free(policy->rego);
    arena_deinit(&policy->arena);
    free(policy);
}

static Status tell_first(const RegoErrors *errors, Status status, Error *err)
{
    if (!errors->count) return error_set(err, status, "the policy does not compile");
    const RegoError *first = &errors->items[0];
    return error_set(err, status, "%.*s:%u:%u: %.*s", STR_ARG(first->file), first->loc.row, first->loc.col,
                     STR_ARG(first->text));
}

/* Over digests of the modules in their own order, so that neither names nor the order of files matter. */
static Status make_digest(Policy *policy, const PolicySet *set, Error *err)
{
    Value *texts = ARENA_ARRAY(&policy->arena, Value, set->module_count + 1);
    for (size_t i = 0; i < set->module_count; i++) {
        Digest digest = digest_of(set->modules[i].text);
        Buf text = buf_on(arena_bytes(&policy->arena, DIGEST_TEXT_SIZE), DIGEST_TEXT_SIZE);
        digest_print(&text, &digest);
        texts[i] = value_string(buf_peek(&text));
    }
    Value modules = value_set(&policy->arena, texts, (uint32_t)set->module_count);
    modules.kind = VALUE_ARRAY;                                 /* sorted by then, and a canonical form has no sets */
    MemberList members = { .arena = &policy->arena };
    member_list_add(&members, STR("modules"), modules);
    member_list_add(&members, STR("data"), set->data);
    member_list_add(&members, STR("hooks"), value_int(policy->hooks));
    return canonical_digest(member_list_object(&members), &policy->digest, err);
}

/* --- what it reads ------------------------------------------------------------------------------------------------ */

static bool part_is(const RegoTerm *ref, uint32_t index, const char *name)
{
    return rego_term_is_string(ref->items[index]) && str_is_text(value_text(ref->items[index]->value), name);
}

static uint32_t reads_of_ref(const RegoTerm *ref)
{
    if (ref->count < 2 || !rego_term_is_string(ref->items[1])) return POLICY_READS_ALL;
    if (part_is(ref, 1, "now")) return POLICY_READS_NOW;
    if (!part_is(ref, 1, "run")) return 0;
    if (ref->count < 3 || !rego_term_is_string(ref->items[2])) return POLICY_READS_PARAMS;
    return part_is(ref, 2, "params") || part_is(ref, 2, "payload") ? POLICY_READS_PARAMS : 0;
}

static bool look_at_term(void *context, RegoTerm **place)
{
    Policy *policy = context;
    RegoTerm *term = *place;
    if (rego_term_is_var(term, STR("input"))) policy->reads = POLICY_READS_ALL;
    if (term->kind != REGO_TERM_REF || !rego_term_is_var(term->items[0], STR("input"))) return true;
    policy->reads |= reads_of_ref(term);
    RegoWalk inner = { .context = context, .term = look_at_term };
    for (uint32_t i = 1; i < term->count; i++) rego_walk_term(&inner, &term->items[i]);
    return false;
}

/* By the names that are written; what is computed counts as all. */
static Status find_reads(Policy *policy, const PolicySet *set)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &scratch);
    RegoWalk walk = { .context = policy, .term = look_at_term };
    for (size_t i = 0; i < set->module_count; i++) {
        RegoModule *module;
        RegoParseOptions options = { .file = set->modules[i].file };
        CHECK(rego_parse_module(&scratch, set->modules[i].text, &options, &module, &errors) == OK);    /* it was compiled */
        rego_walk_module(&walk, module);
        for (uint32_t k = 0; k < module->import_count; k++) rego_walk_term(&walk, &module->imports[k].path);
    }
    arena_deinit(&scratch);
    return OK;
}

/* --- packages ----------------------------------------------------------------------------------------------------- */

static bool is_below_maestro(Str package)
{
    return str_is_text(package, "data.maestro") || str_starts(package, STR("data.maestro."));
}

static Package *package_of(Policy *policy, Str name)
{
    for (uint32_t i = 0; i < policy->package_count; i++)
        if (str_is(policy->packages[i].name, name)) return &policy->packages[i];
    if (policy->package_count == POLICY_PACKAGE_COUNT_MAX) return NULL;
    policy->packages[policy->package_count] = (Package){ .name = arena_copy(&policy->arena, name) };
    return &policy->packages[policy->package_count++];
}

static Status find_packages(Policy *policy, Error *err)
{
    policy->packages = ARENA_ARRAY(&policy->arena, Package, POLICY_PACKAGE_COUNT_MAX);
    for (uint32_t i = 0; i < rego_rule_count(policy->rego); i++) {
        RegoRuleInfo rule = rego_rule_info(policy->rego, i);
        bool is_allow = str_is_text(rule.name, "allow"), is_deny = str_is_text(rule.name, "deny");
        if (!is_below_maestro(rule.package) || (!is_allow && !is_deny)) continue;
        Package *package = package_of(policy, rule.package);
        if (!package)
            return error_set(err, ERR_LIMIT, "more than POLICY_PACKAGE_COUNT_MAX (%u) packages to ask", POLICY_PACKAGE_COUNT_MAX);
        package->has_allow |= is_allow;
        package->has_deny |= is_deny;
    }
    for (uint32_t i = 0; i < rego_rule_count(policy->rego); i++) {
        RegoRuleInfo rule = rego_rule_info(policy->rego, i);
        if (!str_is_text(rule.name, "reasons")) continue;
        for (uint32_t k = 0; k < policy->package_count; k++)
            policy->packages[k].has_reasons |= str_is(policy->packages[k].name, rule.package);
    }
    if (policy->package_count) return OK;
    return error_set(err, ERR_INVALID, "there is nothing to ask: no package at or below 'maestro' has a rule 'allow' or 'deny'");
}

static Status prepare(Policy *policy, Package *package, RegoErrors *errors)
{
    static const char *const forms[2][2] = { { NULL, "%.*s.deny" }, { "%.*s.allow", "[%.*s.allow, %.*s.deny]" } };
    const char *form = forms[package->has_allow][package->has_deny];
    RegoQueryOptions options = { .capture = true };
    Str name = package->name, text;
    if (package->has_allow && package->has_deny) text = arena_format(&policy->arena, form, STR_ARG(name), STR_ARG(name));
    else text = arena_format(&policy->arena, form, STR_ARG(name));
    Status status = rego_query_prepare(policy->rego, text, &options, &package->verdict, errors);
    if (status || !package->has_reasons) return status;
    text = arena_format(&policy->arena, "%.*s.reasons", STR_ARG(name));
    return rego_query_prepare(policy->rego, text, &options, &package->reasons, errors);
}

/* --- ask ---------------------------------------------------------------------------------------------------------- */

Str           policy_name(const Policy *policy) { return policy->name; }
const Digest *policy_digest(const Policy *policy) { return &policy->digest; }
bool          policy_is_asked(const Policy *policy, Hook hook) { return policy->hooks & HOOK_BIT(hook); }
Str policy_package(const Policy *policy, uint32_t index)
{
    return index < policy->package_count ? policy->packages[index].name : (Str){ 0 };
}

bool policy_has_allow(const Policy *policy)
{
    for (uint32_t i = 0; i < policy->package_count; i++)
        if (policy->packages[i].has_allow) return true;
    return false;
}

uint32_t      policy_reads(const Policy *policy) { return policy->reads; }

static bool evaluate(const RegoQuery *query, Value input, const PolicyMoment *moment, Value *out, RegoEvalError *error)
{
    arena_reset(moment->scratch);
    RegoEvalContext context = {
        .arena = moment->scratch, .strict = true, .cache = moment->cache, .zones = moment->zones, .seed = moment->seed,
        .now_ns = moment->now_ms * 1000000,
        .budget = { .step_count_max = POLICY_STEP_COUNT_MAX, .size_max = POLICY_EVAL_SIZE_MAX },
    };
    RegoResult result;
    if (rego_eval(query, input, &context, &result, error)) return false;
    *out = rego_result_value(&result);
    return true;
}

/* --- why ---------------------------------------------------------------------------------------------------------- */

/* Room for the end of a list that is cut. */
#define POLICY_MORE_SIZE 32u

static void add_text(Buf *out, Str text)
{
    size_t room = out->size_max - POLICY_MORE_SIZE - out->len;
    if (text.len > room) text.len = utf8_valid_size(str_slice(text, 0, room));
    buf_str(out, text);
}

static void add_reason(Buf *out, Arena *scratch, Value reason)
{
    static const char *const keys[] = { "msg", "message", "reason" };
    for (size_t i = 0; reason.kind == VALUE_OBJECT && i < sizeof keys / sizeof *keys; i++) {
        const Value *text = value_get_text(reason, keys[i]);
        if (text && text->kind == VALUE_STRING) {
            add_reason(out, scratch, *text);
            return;
        }
    }
    if (reason.kind == VALUE_STRING) add_text(out, value_text(rego_value_to_json(scratch, reason)));
    else buf_format(out, "(%s)", value_kind_name(reason));
}

static bool is_full(const Buf *out)
{
    return out->len + 2 * POLICY_MORE_SIZE > out->size_max;
}

static void add_reasons(Buf *out, Arena *scratch, Value reasons)
{
    bool is_list = reasons.kind == VALUE_SET || reasons.kind == VALUE_ARRAY;
    uint32_t count = is_list ? reasons.count : 1;
    for (uint32_t i = 0; i < count; i++) {
        if (i && is_full(out)) {
            buf_format(out, "; and %u more", count - i);
            return;
        }
        if (i) buf_text(out, "; ");
        add_reason(out, scratch, is_list ? reasons.items[i] : reasons);
    }
}

static bool is_list(Value value)
{
    return value.kind == VALUE_SET || value.kind == VALUE_ARRAY || value.kind == VALUE_OBJECT;
}

/* --- what an answer means ----------------------------------------------------------------------------------------- */

static PolicyAnswer take_deny(Value deny, const PolicyMoment *moment, Buf *why)
{
    bool is_reasons = is_list(deny) || deny.kind == VALUE_STRING;
    if ((is_list(deny) && deny.count == 0) || (deny.kind == VALUE_BOOL && !value_is_true(deny))) return POLICY_PERMITS;
    if (is_reasons) add_reasons(why, moment->scratch, deny);
    else if (deny.kind == VALUE_BOOL) buf_text(why, "deny is true");
    else buf_format(why, "deny is of the type %s", value_kind_name(deny));
    return is_reasons || deny.kind == VALUE_BOOL ? POLICY_DENIES : POLICY_UNCLEAR;
}

static PolicyAnswer take_allow(const Package *package, Value allow, Value input, const PolicyMoment *moment, Buf *why)
{
    if (value_is_true(allow)) return POLICY_PERMITS;
    RegoEvalError error;
    Value reasons;
    bool is_given = package->reasons && evaluate(package->reasons, input, moment, &reasons, &error) && rego_is_defined(reasons)
                    && (!is_list(reasons) || reasons.count);
    if (is_given) add_reasons(why, moment->scratch, reasons);
    else if (allow.kind == VALUE_BOOL) buf_text(why, "allow is false");
    else buf_format(why, "allow is of the type %s, not true", value_kind_name(allow));
    return is_given || allow.kind == VALUE_BOOL ? POLICY_DENIES : POLICY_UNCLEAR;
}

static PolicyAnswer package_answer(const Package *package, Value input, const PolicyMoment *moment, Buf *why)
{
    RegoEvalError error;
    Value answer;
    if (!evaluate(package->verdict, input, moment, &answer, &error)) {
        char storage[POLICY_TEXT_SIZE_MAX];
        Buf text = buf_on(storage, sizeof storage);
        rego_eval_error_print(&text, &error);
        buf_text(why, "it could not be evaluated: ");
        add_text(why, buf_peek(&text));
        return POLICY_UNCLEAR;
    }
    if (!rego_is_defined(answer)) {
        const char *rule = !package->has_deny ? "allow" : !package->has_allow ? "deny" : "allow or deny";
        buf_format(why, "%s of %.*s is undefined", rule, STR_ARG(str_slice(package->name, 5, package->name.len)));
        return POLICY_DENIES;
    }
    if (!package->has_allow) return take_deny(answer, moment, why);
    if (!package->has_deny) return take_allow(package, answer, input, moment, why);
    PolicyAnswer denied = take_deny(answer.items[1], moment, why);
    return denied ? denied : take_allow(package, answer.items[0], input, moment, why);
}

PolicyAnswer policy_answer(const Policy *policy, Value input, const PolicyMoment *moment, Arena *arena, Str *out_text)
{
    char storage[POLICY_TEXT_SIZE_MAX];
    for (uint32_t i = 0; i < policy->package_count; i++) {
        Buf why = buf_on(storage, sizeof storage);
        PolicyAnswer answer = package_answer(&policy->packages[i], input, moment, &why);
        if (answer == POLICY_PERMITS) continue;
        *out_text = arena_copy(arena, str_slice(buf_peek(&why), 0, utf8_valid_size(buf_peek(&why))));
        return answer;
    }
    return POLICY_PERMITS;
}

bool policy_permits(const Policy *policy, Value input, const PolicyMoment *moment, Arena *arena, Str *out_text)
{
    return policy_answer(policy, input, moment, arena, out_text) == POLICY_PERMITS;
}
