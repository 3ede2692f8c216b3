#include "policy/guard.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "os/clock.h"
#include "os/zone.h"
#include "policy/hook_input.h"
#include "rego/builtins/cache.h"

/* A policy by its name, or why it cannot be asked. */
typedef struct Entry {
    Str name;
    Policy *policy;                     /* NULL: `why` */
    Str why;
} Entry;

/* The policies of a run, or of steps that have the same ones. */
typedef struct EntryList {
    const Entry *items[POLICY_ASKED_COUNT_MAX];
    uint32_t count;
    uint32_t hooks, reads;              /* of any of them */
    const Entry *unusable;              /* the first that cannot be asked; NULL: all can */
} EntryList;

/* What applies to a plan. */
typedef struct PlanGuard {
    bool is_made;
    Arena arena;
    Digest plan, digest;                /* of all that apply anywhere; zeros: none */
    const EntryList *run;               /* at the hooks of the run */
    const EntryList **steps;            /* by step */
    Value *placements;                  /* by step; null: not known */
    uint32_t step_count;
} PlanGuard;

struct Guard {
    Arena arena;                        /* of entries */
    const Catalog *catalog;
    const RegoModuleText *built_in;
    uint32_t built_in_count;
    Entry **entries;
    size_t entry_count, entry_capacity;
    uint32_t everywhere_count;          /* of these, the first ones apply to everything */
    PlanGuard plans[POLICY_PLAN_COUNT_MAX];
    PlanGuard *newest;                  /* asked last */
    Arena input, scratch;               /* of one verdict; of one evaluation */
    BuiltinCache cache;
    Zones *zones;
    ZoneSource zone_source;
    uint64_t verdict_count;
    Spread times[HOOK_COUNT];
};

static Entry *entry_add(Guard *guard, Str name)
{
    Entry *entry = ARENA_NEW(&guard->arena, Entry);
    entry->name = arena_copy(&guard->arena, name);
    guard->entries = arena_grow(&guard->arena, guard->entries, sizeof *guard->entries, guard->entry_count,
                                &guard->entry_capacity);
    guard->entries[guard->entry_count++] = entry;
    return entry;
}

/* --- open --------------------------------------------------------------------------------------------------------- */

/* The name of a policy that was given by its path: its last part. */
static Str name_of_path(const char *path)
{
    Str name = str_of(path);
    while (name.len > 1 && name.ptr[name.len - 1] == '/') name.len--;
    size_t from = name.len;
    while (from && name.ptr[from - 1] != '/') from--;
    return str_slice(name, from, name.len);
}

static Status load_path(const char *path, const PolicyOptions *options, Policy **out, Error *err)
{
    Arena arena;
    PolicySet set;
    arena_init(&arena, SIZE_MAX);
    policy_set_init(&set, &arena);
    Status status = policy_add_path(&set, path, err);
    if (!status) status = policy_make(&set, options, out, err);
    arena_deinit(&arena);
    return status;
}

Status guard_open(const GuardOptions *options, Guard **out_guard, Error *err)
{
    Guard *guard = calloc(1, sizeof *guard);
    CHECK(guard);
    arena_init(&guard->arena, SIZE_MAX);
    arena_init(&guard->input, SIZE_MAX);
    arena_init(&guard->scratch, SIZE_MAX);
    builtin_cache_init(&guard->cache);
    guard->zones = zones_open(options->zone_directory);
    guard->zone_source = zones_source(guard->zones);
    guard->catalog = options->catalog;
    guard->built_in = options->built_in;
    guard->built_in_count = options->built_in_count;
    Status status = OK;
    for (uint32_t i = 0; !status && i < options->path_count; i++) {
        Entry *entry = entry_add(guard, name_of_path(options->paths[i]));
        status = load_path(options->paths[i], &(PolicyOptions){ entry->name, HOOKS_ALL }, &entry->policy, err);
        if (status) error_prefix(err, "the policy '%s' cannot be used: ", options->paths[i]);
        guard->everywhere_count++;
    }
    if (status) guard_close(guard);
    else *out_guard = guard;
    return status;
}

void guard_close(Guard *guard)
{
    if (!guard) return;
    for (size_t i = 0; i < guard->entry_count; i++) policy_free(guard->entries[i]->policy);
    for (size_t i = 0; i < POLICY_PLAN_COUNT_MAX; i++)
        if (guard->plans[i].is_made) arena_deinit(&guard->plans[i].arena);
    builtin_cache_deinit(&guard->cache);
    zones_close(guard->zones);
    arena_deinit(&guard->scratch);
    arena_deinit(&guard->input);
    arena_deinit(&guard->arena);
    free(guard);
}

/* --- registered policies ------------------------------------------------------------------------------------------ */

static uint32_t hooks_of(Value settings)
{
    const Value *phases = value_get_text(settings, "phases");
    uint32_t hooks = 0;
    for (uint32_t i = 0; phases && i < phases->count; i++) hooks |= hooks_of_phase(value_text(phases->items[i]));
    return hooks;
}

/* "dir/policies/x.rego" of the configuration "dir/runners.yaml" and "policies/x.rego". */
static Str beside(Arena *arena, Str origin, Str file)
{
    size_t end = origin.len;
    while (end && origin.ptr[end - 1] != '/') end--;
    if (file.len && file.ptr[0] == '/') end = 0;
    return arena_format(arena, "%.*s%.*s", STR_ARG(str_slice(origin, 0, end)), STR_ARG(file));
}

static Status load_built_in(const Guard *guard, Str file, const PolicyOptions *options, Policy **out, Error *err)
{
    for (uint32_t i = 0; i < guard->built_in_count; i++) {
        if (!str_is(guard->built_in[i].file, file)) continue;
        Arena arena;
        PolicySet set;
        arena_init(&arena, SIZE_MAX);
        policy_set_init(&set, &arena);
        policy_set_add(&set, file, guard->built_in[i].text);
        Status status = policy_make(&set, options, out, err);
        arena_deinit(&arena);
        return status;
    }
    return error_set(err, ERR_NOT_FOUND, "%.*s: no such file is built in", STR_ARG(file));
}

static Status load_registered(Guard *guard, Str name, Policy **out, Error *err)
{
    const CatalogEntry *found = guard->catalog ? catalog_find(guard->catalog, CATALOG_POLICY, name) : NULL;
    if (!found) return error_set(err, ERR_NOT_FOUND, "it is not registered in the configuration of this process");
    Str file = value_get_string(found->settings, "file", STR(""));
    if (!file.len) return error_set(err, ERR_INVALID, "it is registered without a file (%.*s)", STR_ARG(found->origin));
    PolicyOptions options = { name, hooks_of(found->settings) };
    if (!guard->catalog->origin.len) return load_built_in(guard, file, &options, out, err);
    return load_path(beside(&guard->arena, found->origin, file).ptr, &options, out, err);
}

static const Entry *entry_of(Guard *guard, Str name)
{
    for (size_t i = guard->everywhere_count; i < guard->entry_count; i++)
        if (str_is(guard->entries[i]->name, name)) return guard->entries[i];
    Entry *entry = entry_add(guard, name);
    Error err;
    if (load_registered(guard, entry->name, &entry->policy, &err)) entry->why = arena_copy(&guard->arena, str_of(err.text));
    return entry;
}

/* --- what applies ------------------------------------------------------------------------------------------------- */

static void list_add(EntryList *list, const Entry *entry)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == entry) return;
    static const Entry too_many = { .name = STR_INIT("policies"), .why = STR_INIT("more than POLICY_ASKED_COUNT_MAX apply") };
    if (list->count == POLICY_ASKED_COUNT_MAX) {
        if (!list->unusable) list->unusable = &too_many;
        return;
    }
    list->items[list->count++] = entry;
    if (!entry->policy && !list->unusable) list->unusable = entry;
    if (!entry->policy) return;
    list->reads |= policy_reads(entry->policy);
    for (int hook = 0; hook < HOOK_COUNT; hook++)
        if (policy_is_asked(entry->policy, (Hook)hook)) list->hooks |= HOOK_BIT(hook);
}

/* Those of everything, then those named. */
static EntryList *list_make(Guard *guard, Arena *arena, const Value *names)
{
    EntryList *list = ARENA_NEW(arena, EntryList);
    for (uint32_t i = 0; i < guard->everywhere_count; i++) list_add(list, guard->entries[i]);
    for (uint32_t i = 0; names && i < names->count; i++) list_add(list, entry_of(guard, value_text(names->items[i])));
    return list;
}

/* Calls for each list of names in a plan's document, that of the run first. */
static void each_names(Value document, void (*take)(void *context, const Value *names), void *context)
{
    const Value *names = value_get_text(document, "policies"), *steps = value_get_text(document, "steps"), *before = names;
    take(context, names);
    for (uint32_t i = 0; steps && i < steps->count; i++) {
        names = value_get_text(steps->items[i], "policies");
        if (names && !(before && value_equals(*names, *before))) take(context, names);
        before = names;
    }
}

typedef struct Gathering { Guard *guard; EntryList *all; } Gathering;

static void gather(void *context, const Value *names)
{
    Gathering *gathering = context;
    for (uint32_t i = 0; names && i < names->count; i++)
        list_add(gathering->all, entry_of(gathering->guard, value_text(names->items[i])));
}

static EntryList *list_of_plan(Guard *guard, Arena *arena, Value document)
{
    Gathering gathering = { guard, list_make(guard, arena, NULL) };
    each_names(document, gather, &gathering);
    return gathering.all;
}

static Digest list_digest(const EntryList *list, Arena *scratch)
{
    Digest digest = { { 0 } };
    if (list->count == 1 && list->items[0]->policy) return *policy_digest(list->items[0]->policy);
    if (!list->count) return digest;
    uint8_t *bytes = arena_alloc(scratch, (size_t)list->count * DIGEST_SIZE);
    for (uint32_t i = 0; i < list->count; i++) {
        const Policy *policy = list->items[i]->policy;
        digest = digest_of(list->items[i]->name);
        memcpy(bytes + (size_t)i * DIGEST_SIZE, policy ? policy_digest(policy)->bytes : digest.bytes, DIGEST_SIZE);
    }
    return digest_of((Str){ (const char *)bytes, (size_t)list->count * DIGEST_SIZE });
}

static void see_names(void *context, const Value *names)
{
    if (names && names->count) *(bool *)context = true;
}

bool guard_is_named(Value document)
{
    bool is_named = false;
    each_names(document, see_names, &is_named);
    return is_named;
}

Status guard_admit(Guard *guard, Value document, Error *err)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    const Entry *unusable = list_of_plan(guard, &scratch, document)->unusable;
    Status status = OK;
    if (unusable)
        status = error_set(err, ERR_INVALID, "the policy '%.*s' cannot be used: %.*s", STR_ARG(unusable->name),
                           STR_ARG(unusable->why));
    arena_deinit(&scratch);
    return status;
}

Digest guard_digest(Guard *guard, Value document)
{
    Arena scratch;
    arena_init(&scratch, SIZE_MAX);
    Digest digest = list_digest(list_of_plan(guard, &scratch, document), &scratch);
    arena_deinit(&scratch);
    return digest;
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* Where an executor is, as it is registered: {cloud, executor, region}. */
static Value placement_at(const Guard *guard, Arena *arena, Str name)
{
    const Value *executor = guard->catalog ? value_get(guard->catalog->executors, name) : NULL;
    if (!executor) return value_null();
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("executor"), value_string(name));
    static const char *const keys[] = { "cloud", "region" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const Value *value = value_get_text(*executor, keys[i]);
        if (value) member_list_add(&members, str_of(keys[i]), *value);
    }
    return member_list_object(&members);
}

/* Where the runner of a step is offered first to its tenant: what is told where nobody says who is to carry it. */
static Value placement_of(const Guard *guard, Arena *arena, Str tenant, Str runner)
{
    CatalogEntry offer;
    bool is_offered = guard->catalog && catalog_offer(guard->catalog, runner, tenant, &offer);
    return is_offered ? placement_at(guard, arena, offer.origin) : value_null();
}

static void make_steps(Guard *guard, PlanGuard *made, const Plan *plan)
{
    const Value *names = NULL, *before = value_get_text(plan->document, "policies");
    const EntryList *list = made->run;
    made->step_count = plan->step_count;
    made->steps = ARENA_ARRAY(&made->arena, const EntryList *, plan->step_count + 1u);
    made->placements = ARENA_ARRAY(&made->arena, Value, plan->step_count + 1u);
    for (uint32_t i = 0; i < plan->step_count; i++) {
        names = value_get_text(plan->steps[i].settings, "policies");
        bool is_same = names && before ? value_equals(*names, *before) : names == before;
        if (!is_same) list = list_make(guard, &made->arena, names);
        before = names;
        made->steps[i] = list;
        bool is_again = i && str_is(plan->steps[i].runner, plan->steps[i - 1].runner);
        made->placements[i] = is_again ? made->placements[i - 1] : placement_of(guard, &made->arena, plan->tenant, plan->steps[i].runner);
    }
}

/* The plan's own; another one leaves the place where two want the same. */
static const PlanGuard *plan_of(Guard *guard, const Plan *plan)
{
    if (guard->newest && memcmp(&guard->newest->plan, &plan->digest, sizeof plan->digest) == 0) return guard->newest;
    PlanGuard *made = &guard->plans[plan->digest.bytes[0] % POLICY_PLAN_COUNT_MAX];
    guard->newest = made;
    if (made->is_made && memcmp(&made->plan, &plan->digest, sizeof plan->digest) == 0) return made;
    if (made->is_made) arena_reset(&made->arena);
    else arena_init(&made->arena, SIZE_MAX);
    Arena arena = made->arena;
    *made = (PlanGuard){ .is_made = true, .arena = arena, .plan = plan->digest };
    made->digest = list_digest(list_of_plan(guard, &made->arena, plan->document), &made->arena);
    made->run = list_make(guard, &made->arena, value_get_text(plan->document, "policies"));
    make_steps(guard, made, plan);
    return made;
}

/* --- verdicts ----------------------------------------------------------------------------------------------------- */

/* Of the run, so that chance is the same when the question is asked again. */
static uint64_t seed_of(const Run *run)
{
    uint64_t seed = 0;
    for (uint32_t i = 0; i < ID_SIZE; i++) seed = seed * 131 + (uint8_t)run->id.text[i];
    return seed;
}

static Verdict unusable(const VerdictAsk *ask, const Entry *entry, const Digest *digest)
{
    Str text = arena_format(ask->arena, "the policy '%.*s' cannot be used: %.*s", STR_ARG(entry->name), STR_ARG(entry->why));
    VerdictKind kind = ask->hook == HOOK_STEP_DISPATCH ? VERDICT_LATER : VERDICT_DENY;
    return (Verdict){ .kind = kind, .policy = *digest, .text = text, .name = entry->name };
}

static Verdict denial(const VerdictAsk *ask, const Entry *entry, Str why, Value input, const Digest *digest)
{
    Verdict verdict = { .kind = VERDICT_DENY, .policy = *digest, .denier = *policy_digest(entry->policy), .name = entry->name,
                        .text = arena_format(ask->arena, "%.*s: %.*s", STR_ARG(entry->name), STR_ARG(why)) };
    Error err;
    if (canonical_digest(input, &verdict.input, &err)) verdict.input = (Digest){ { 0 } };
    return verdict;
}

/* The parameters of the run, where a policy can read them; false: they have to be fetched first. */
static bool find_params(const VerdictAsk *ask, HookFacts *facts, Value *start)
{
    bool is_there = ask->hook == HOOK_RUN_START || ask->params(ask->context, ask->run, start);
    if (ask->hook == HOOK_RUN_START) *start = ask->input;
    if (!is_there) return false;
    facts->params = value_get(*start, STR("params"));
    facts->payload = value_get(*start, STR("payload"));
    return true;
}

static Verdict ask_all(Guard *guard, const EntryList *list, const VerdictAsk *ask, Value input, const Digest *digest)
{
    PolicyMoment moment = { .scratch = &guard->scratch, .cache = &guard->cache, .zones = &guard->zone_source,
                            .now_ms = ask->now_ms, .seed = seed_of(ask->run) };
    for (uint32_t i = 0; i < list->count; i++) {
        const Entry *entry = list->items[i];
        Str why;
        if (!policy_is_asked(entry->policy, ask->hook)) continue;
        if (!policy_permits(entry->policy, input, &moment, ask->arena, &why)) return denial(ask, entry, why, input, digest);
    }
    return (Verdict){ .kind = VERDICT_ALLOW, .policy = *digest };
}

Verdict guard_verdict(void *context, const VerdictAsk *ask)
{
    Guard *guard = context;
    static const Digest none;
    const PlanGuard *plan = plan_of(guard, ask->plan);
    const EntryList *list = ask->step == STEP_NONE ? plan->run : plan->steps[ask->step];
    const Digest *digest = memcmp(&plan->digest, &none, sizeof none) ? &plan->digest : &ask->built_in;
    if (list->unusable) return unusable(ask, list->unusable, digest);
    if (!(list->hooks & HOOK_BIT(ask->hook))) return (Verdict){ .kind = VERDICT_ALLOW, .policy = *digest };
    const Value *placement = ask->step == STEP_NONE ? NULL : &plan->placements[ask->step];
    HookFacts facts = { .has_now = list->reads & POLICY_READS_NOW,
                        .placement = placement && placement->kind == VALUE_OBJECT ? placement : NULL };
    Value start;
    if ((list->reads & POLICY_READS_PARAMS) && !find_params(ask, &facts, &start))
        return (Verdict){ .kind = VERDICT_MISSING, .policy = *digest };
    guard->verdict_count++;
    arena_reset(&guard->input);
    Value chosen;
    if (facts.placement && ask->executor.len && !str_is(value_get_string(*facts.placement, "executor", STR("")), ask->executor)) {
        chosen = placement_at(guard, &guard->input, ask->executor);          /* one of several that offer it */
        facts.placement = chosen.kind == VALUE_OBJECT ? &chosen : NULL;
    }
    uint64_t began_ns = clock_monotonic_ns();
    Verdict verdict = ask_all(guard, list, ask, hook_input(&guard->input, ask, &facts), digest);
    spread_add(&guard->times[ask->hook], spread_us, (clock_monotonic_ns() - began_ns) / 1000);
    return verdict;
}

Digest guard_policies(void *context, const Plan *plan) { return plan_of(context, plan)->digest; }

bool guard_permits(Guard *guard, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_text)
{
    PolicyMoment moment = { .scratch = &guard->scratch, .cache = &guard->cache, .zones = &guard->zone_source, .now_ms = now_ms };
    const Entry *entry = entry_of(guard, name);
    if (entry->policy) return policy_permits(entry->policy, input, &moment, arena, out_text);
    *out_text = arena_format(arena, "the policy '%.*s' cannot be used: %.*s", STR_ARG(name), STR_ARG(entry->why));
    return false;
}

/* --- telling ------------------------------------------------------------------------------------------------------ */

static Value describe(const Guard *guard, Arena *arena, const Entry *entry, bool is_everywhere)
{
    MemberList members = { .arena = arena };
    ValueList packages = { .arena = arena }, hooks = { .arena = arena };
    const CatalogEntry *found = is_everywhere || !guard->catalog ? NULL : catalog_find(guard->catalog, CATALOG_POLICY, entry->name);
    char storage[DIGEST_TEXT_SIZE];
    Buf digest = buf_on(storage, sizeof storage);
    for (uint32_t i = 0; entry->policy && policy_package(entry->policy, i).len; i++)
        value_list_add(&packages, value_string(arena_copy(arena, policy_package(entry->policy, i))));
    for (int hook = 0; entry->policy && hook < HOOK_COUNT; hook++)
        if (policy_is_asked(entry->policy, (Hook)hook)) value_list_add(&hooks, value_string(str_of(hook_name((Hook)hook))));
    if (entry->policy) digest_print(&digest, policy_digest(entry->policy));
    Str reviewer = found ? value_get_string(found->settings, "reviewed_by", STR("")) : STR("");
    Str description = found ? value_get_string(found->settings, "description", STR("")) : STR("");
    member_list_add(&members, STR("name"), value_string(arena_copy(arena, entry->name)));
    member_list_add(&members, STR("digest"), entry->policy ? value_string(arena_copy(arena, buf_peek(&digest))) : value_null());
    member_list_add(&members, STR("everywhere"), value_bool(is_everywhere));
    member_list_add(&members, STR("packages"), value_list_array(&packages));
    member_list_add(&members, STR("hooks"), value_list_array(&hooks));
    member_list_add(&members, STR("description"), description.len ? value_string(arena_copy(arena, description)) : value_null());
    member_list_add(&members, STR("reviewedBy"), reviewer.len ? value_string(arena_copy(arena, reviewer)) : value_null());
    member_list_add(&members, STR("unusable"), entry->policy ? value_null() : value_string(arena_copy(arena, entry->why)));
    return member_list_object(&members);
}

Value guard_describe(Guard *guard, Arena *arena)
{
    ValueList list = { .arena = arena };
    for (uint32_t i = 0; i < guard->everywhere_count; i++)
        value_list_add(&list, describe(guard, arena, guard->entries[i], /* is_everywhere= */ true));
    for (size_t i = 0; guard->catalog && i < guard->catalog->counts[CATALOG_POLICY]; i++)
        value_list_add(&list, describe(guard, arena, entry_of(guard, guard->catalog->entries[CATALOG_POLICY][i].name), /* is_everywhere= */ false));
    return value_list_array(&list);
}

uint64_t guard_verdict_count(const Guard *guard) { return guard->verdict_count; }
const Spread *guard_times(const Guard *guard) { return guard->times; }
