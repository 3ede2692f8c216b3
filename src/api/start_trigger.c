#include "api/start_trigger.h"

#include "base/limits.h"
#include "os/clock.h"

/* --- which one ------------------------------------------------------------------------------------------------------------------------ */

static const struct { const char *kind, *key, *name, *source; } kinds[] = {
    { "webhook", "key", NULL, "webhook" }, { "signal", "name", NULL, "signal" }, { "git_push", NULL, "git_push", "push" },
    { "manual", NULL, "manual", "manual" },
};

/* `true`, and the short forms of a signal, are written out by the compiler. */
static const Value *settings_of(Value triggers, uint32_t index, const char *kind)
{
    const Value *settings = value_get_text(triggers.items[index], kind);
    return settings && settings->kind == VALUE_OBJECT ? settings : NULL;
}

bool start_trigger_manual(Value triggers, StartTrigger *out)
{
    for (uint32_t i = 0; i < triggers.count; i++) {
        const Value *settings = settings_of(triggers, i, "manual");
        if (!settings) continue;
        *out = (StartTrigger){ .settings = *settings, .source = STR("manual") };
        return true;
    }
    return false;
}

Status start_trigger_find(Call *call, Value triggers, Str name, StartTrigger *out, Error *err)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (uint32_t i = 0; i < triggers.count; i++) {
            const Value *settings = settings_of(triggers, i, kinds[k].kind);
            bool is_it = settings && (kinds[k].key ? str_is(value_get_string(*settings, kinds[k].key, STR("")), name)
                                                   : str_is_text(name, kinds[k].name));
            if (!is_it) continue;
            *out = (StartTrigger){ .settings = *settings, .is_push = str_is_text(STR("git_push"), kinds[k].kind),
                                   .source = kinds[k].key ? arena_format(&call->arena, "%s:%.*s", kinds[k].source, STR_ARG(name))
                                                          : str_of(kinds[k].source) };
            return OK;
        }
    return error_set(err, ERR_NOT_FOUND, "the workflow has no such start trigger");
}

/* --- who sends it ------------------------------------------------------------------------------------------------------------------------ */

/* The token of a trigger that starts something is of the workflow and not of a run: there is none yet. */
static Status prove(Call *call, Str tenant, Str workflow, const StartTrigger *trigger, const TriggerRequest *request, TriggerProof *out_proof,
                    Error *err)
{
    const Value *auth = value_get_text(trigger->settings, "auth");
    TriggerAuthority authority = trigger_authority(&call->api->triggers);
    TriggerSubject subject = { .tenant = tenant, .workflow = workflow, .run_id = trigger_workflow_bound(&call->arena, workflow),
                               .trigger = trigger->source, .auth = auth ? *auth : value_null(),
                               .window_ms = value_get_int(trigger->settings, "replay_window_ms", 0) };
    if (!value_get_bool(trigger->settings, "enabled", true))
        return error_set(err, ERR_NOT_FOUND, "the definition says that people do not start it: manual.enabled is false");
    return trigger_authenticate(&authority, &subject, request, &call->arena, out_proof, err);
}

Status start_trigger_prove(Call *call, Str tenant, Str workflow, Value triggers, const TriggerRequest *request, StartTrigger *trigger,
                           TriggerProof *out_proof, Error *err)
{
    if (!trigger->is_push) return prove(call, tenant, workflow, trigger, request, out_proof, err);
    Status status = ERR_DENIED;
    for (uint32_t i = 0; i < triggers.count && status == ERR_DENIED; i++) {
        const Value *settings = settings_of(triggers, i, "git_push");
        if (!settings) continue;
        trigger->settings = *settings;
        status = prove(call, tenant, workflow, trigger, request, out_proof, err);
    }
    return status;
}

/* So many within the time that the trigger declares. What counts is when one is let in, and not when its head came: whoever sends that early and
 * the body late would be before the time that has begun, and begin it anew. */
static Status take_rate(Call *call, Str tenant, Str workflow, const StartTrigger *trigger, int64_t now_ms, Error *err)
{
    const Value *given = value_get_text(trigger->settings, "rate_limit");
    HookLimit limit = { .count = given ? value_get_int(*given, "count", TRIGGER_RATE_COUNT) : TRIGGER_RATE_COUNT,
                        .per_ms = given ? value_get_int(*given, "per_ms", TRIGGER_RATE_MS) : TRIGGER_RATE_MS };
    int64_t wait_ms = 0;
    Str name = arena_format(&call->arena, "%.*s\n%.*s", STR_ARG(workflow), STR_ARG(trigger->source));
    Status status = hook_rates_take(&call->api->hook_rates, tenant, name, &limit, now_ms, &wait_ms, err);
    if (status) call->retry_s = (uint64_t)(wait_ms + 999) / 1000;
    return status;
}

Status start_trigger_admit(Call *call, Str tenant, Str workflow, const StartTrigger *trigger, const TriggerProof *proof, Error *err)
{
    TriggerReplays *replays = &call->api->triggers.replays;
    int64_t now_ms = clock_realtime_ms();
    Status status = trigger_remember(replays, proof, now_ms, err);
    if (status) return status;
    status = take_rate(call, tenant, workflow, trigger, now_ms, err);
    if (status) trigger_withdraw(replays, proof);
    else call->proof = arena_copy_items(&call->arena, proof, sizeof *proof);
    return status;
}

/* --- pushes --------------------------------------------------------------------------------------------------------------------------------- */

static bool is_of_branch(Value push, Str branch)
{
    Str ref = value_get_string(push, "ref", STR("")), prefix = STR("refs/heads/");
    return str_starts(ref, prefix) ? str_is(str_slice(ref, prefix.len, ref.len), branch) : str_is(ref, branch);
}

static bool is_of_repository(Value push, Str wanted)
{
    const Value *repository = value_get_text(push, "repository");
    if (!wanted.len) return true;
    if (!repository) return false;
    if (repository->kind == VALUE_STRING) return str_is(value_text(*repository), wanted);
    return str_is(value_get_string(*repository, "name", STR("")), wanted) || str_is(value_get_string(*repository, "full_name", STR("")), wanted);
}

/* What the host of the repository says of each commit; what it does not say is no valid signature. */
static bool is_signed(Value push)
{
    const Value *commits = value_get_text(push, "commits");
    if (!commits || commits->kind != VALUE_ARRAY || !commits->count) return false;
    for (uint32_t i = 0; i < commits->count; i++) {
        const Value *verification = value_get_text(commits->items[i], "verification");
        if (!verification || !value_get_bool(*verification, "verified", false)) return false;
    }
    return true;
}

bool start_trigger_fits(Call *call, Value triggers, Value push, StartTrigger *trigger, Str *out_why)
{
    const Value *entered = value_get_text(trigger->settings, "auth");
    *out_why = STR("no trigger of the workflow waits for pushes to this branch of this repository");
    for (uint32_t i = 0; i < triggers.count; i++) {
        const Value *settings = settings_of(triggers, i, "git_push"), *auth = settings ? value_get_text(*settings, "auth") : NULL;
        if (!auth || !entered || !value_equals(*auth, *entered)) continue;      /* who sent it has proved to be let in by this one alone */
        if (!is_of_branch(push, value_get_string(*settings, "branch", STR("")))) continue;
        if (!is_of_repository(push, value_get_string(*settings, "repository", STR("")))) continue;
        if (value_get_bool(*settings, "signed_commits_only", false) && !is_signed(push)) {
            *out_why = STR("a commit of the push has no valid signature, and the trigger takes signed ones only");
            continue;
        }
        *trigger = (StartTrigger){ .settings = *settings, .is_push = true,
                                   .source = arena_format(&call->arena, "push:%.*s", STR_ARG(value_get_string(*settings, "branch", STR("")))) };
        return true;
    }
    return false;
}
