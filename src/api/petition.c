#include "api/petition.h"

#include "base/base64.h"
#include "base/civil.h"
#include "base/limits.h"
#include "secret/seal.h"
#include "value/number.h"

const char *const petition_unknown_words[] = { "hold", "compensate", "leave", NULL };
const char *const petition_undo_words[] = { "as-defined", "compensate", "leave", NULL };

typedef struct Petition {
    Engine *engine;
    Value request;
    EnginePlan *plan;               /* of a start; taken by whoever gives it to the engine: NULL then */
    ReplyTo reply;
    void *context;
} Petition;

static Status refuse_full(Error *err) { return error_set(err, ERR_LIMIT, "the engine takes no further requests now"); }

/* Who asks, and why: of every petition. */
static Command command_head(Value request)
{
    return (Command){ .id = value_get_string(request, "id", STR("")),
                      .alias = value_get_string(request, "alias", STR("")),
                      .asked = value_get_string(request, "asked", STR("")),
                      .actor = value_get_string(request, "actor", STR("")),
                      .rationale = value_get_string(request, "reason", STR("")),
                      .trace = value_get_string(request, "trace", STR("")),
                      .tracestate = value_get_string(request, "tracestate", STR("")),
                      .origin = value_get_string(request, "origin", STR("")),
                      .value = value_null(), .report.output = value_null() };
}

/* --- about a run ------------------------------------------------------------------------------------------------------------ */

static bool word_find(Str word, const char *const *words, unsigned *out)
{
    for (*out = 0; words[*out]; (*out)++)
        if (str_is_text(word, words[*out])) return true;
    return false;
}

static Status read_resolution(Value request, Command *command, Error *err)
{
    Str decision = value_get_string(request, "decision", STR("RETRY")), scope = value_get_string(request, "scope", STR("FULL"));
    Str mode = value_get_string(request, "mode", STR("RETRY_ONLY")), unknown = value_get_string(request, "unknown", STR("hold"));
    Str undo = value_get_string(request, "undo", STR("as-defined"));
    unsigned unknown_found, undo_found;
    bool is_known = decision_kind_find(decision, &command->decision) && compensation_scope_find(scope, &command->scope)
                 && retry_mode_find(mode, &command->mode) && word_find(unknown, petition_unknown_words, &unknown_found)
                 && word_find(undo, petition_undo_words, &undo_found);
    if (!is_known) return error_set(err, ERR_INVALID, "there is no such decision, scope or mode");
    command->unknown = (UnknownEffect)unknown_found;
    command->undo = (CancelUndo)undo_found;
    command->includes = value_get_bool(request, "includes", false);
    const Value *revision = value_get_text(request, "revision");
    if (revision && (revision->kind != VALUE_INT || revision->integer < 1 || revision->integer > UINT32_MAX))
        return error_set(err, ERR_INVALID, "a revision is a number from 1");
    if (revision) command->revision = (uint32_t)revision->integer;
    return OK;
}

static Status command_of(Value request, Command *out, Error *err)
{
    static const struct { const char *verb; CommandKind kind; } verbs[] = {
        { "pause", COMMAND_PAUSE }, { "resume", COMMAND_RESUME }, { "cancel", COMMAND_CANCEL }, { "signal", COMMAND_SIGNAL },
        { "trigger", COMMAND_TRIGGER },
        { "resolve", COMMAND_RESOLVE }, { "retry-from", COMMAND_RETRY_FROM }, { "compensate", COMMAND_COMPENSATE },
        { "retry-compensation", COMMAND_RETRY_COMPENSATION }, { "skip-compensation", COMMAND_SKIP_COMPENSATION },
        { "rebind", COMMAND_REBIND },
    };
    Str verb = value_get_string(request, "verb", STR(""));
    *out = command_head(request);
    out->name = value_get_string(request, "name", STR(""));
    out->job = value_get_string(request, "job", STR(""));
    out->is_denial = value_get_bool(request, "denial", false);
    out->bridge = value_get_string(request, "bridge", STR(""));
    const Value *payload = value_get_text(request, "payload");
    if (payload) out->value = *payload;
    Str sort = value_get_string(request, "kind", STR("operator"));
    if (!signal_kind_find(sort, &out->sort))
        return error_set(err, ERR_INVALID, "there is no kind of signal '%.*s'", STR_ARG(sort));
    Status status = read_resolution(request, out, err);
    if (status) return status;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (str_is_text(verb, verbs[i].verb)) {
            out->kind = verbs[i].kind;
            return OK;
        }
    return error_set(err, ERR_INVALID, "there is no command '%.*s'", STR_ARG(verb));
}

/* --- about no run --------------------------------------------------------------------------------------------------------------- */

/* What the sender had looked at: `against`, the version that its change was compared with, 0 where none was active; of the revision itself
 * `expected`, its flag and when that changed. */
static Status read_seen(Value request, RevisionSeen *out, Error *err)
{
    const Value *against = value_get_text(request, "against"), *expected = value_get_text(request, "expected");
    int64_t number;
    *out = (RevisionSeen){ 0 };
    if (against && (!number_to_int64(*against, &number) || number < 0 || number > UINT32_MAX))
        return error_set(err, ERR_INVALID, "'against' is no number of a revision");
    if (against) *out = (RevisionSeen){ .has_active = true, .active = (uint32_t)number };
    if (!expected) return OK;
    const Value *updated = value_get_text(*expected, "updated");
    if (!updated || !number_to_int64(*updated, &out->updated_ms)) return error_set(err, ERR_INVALID, "'expected' is no state of a revision");
    out->has_flag = true;
    out->is_active = value_get_bool(*expected, "active", false);
    return OK;
}

/* Which revision of a workflow may be started. */
static Status send_revision(const Petition *petition, bool is_activation, bool is_removal, Error *err)
{
    Value request = petition->request;
    const Value *version = value_get_text(request, "revision");
    int64_t number;
    if (!version || !number_to_int64(*version, &number) || number < 1 || number > UINT32_MAX)
        return error_set(err, ERR_INVALID, "'revision' is no number of one");
    EngineRevision revision = {
        .tenant = value_get_string(request, "tenant", STR("default")), .workflow = value_get_string(request, "workflow", STR("")),
        .version = (uint32_t)number, .is_activation = is_activation, .is_removal = is_removal, .reply = petition->reply, .context = petition->context,
        .command = command_head(request),
    };
    Status status = read_seen(request, &revision.seen, err);
    if (status) return status;
    return engine_revise(petition->engine, &revision) ? OK
               : refuse_full(err);
}

static Status read_sealed(Arena *arena, Value request, const char *key, Str *out, Error *err)
{
    Str text = value_get_string(request, key, STR(""));
    size_t wrong_at, size = 0;
    char *bytes = arena_bytes(arena, base64_decoded_size_max(text.len));
    if (!base64_decode(text, BASE64_STANDARD, bytes, &size, &wrong_at) || size > SECRET_SIZE_MAX + SEAL_EXTRA_SIZE)
        return error_set(err, ERR_INVALID, "'%s' is no sealed secret", key);
    *out = (Str){ bytes, size };
    return OK;
}

/* A secret, which its sender has sealed: this process could not read it without the key file either. */
static Status send_secret(const Petition *petition, bool is_removal, Error *err)
{
    Value request = petition->request;
    Arena arena;
    EngineSecret secret = {
        .tenant = value_get_string(request, "tenant", STR("default")), .name = value_get_string(request, "name", STR("")),
        .is_removal = is_removal, .is_new = !is_removal && value_get_bool(request, "new", false), .reply = petition->reply,
        .context = petition->context, .command = command_head(request),
    };
    arena_init(&arena, SIZE_MAX);
    Status status = secret.name.len ? secret_check_name(secret.name, err) : OK;
    if (!status && (!secret.tenant.len || secret.tenant.len > NAME_SIZE_MAX || (is_removal && !secret.name.len)))
        status = error_set(err, ERR_INVALID, "'tenant' and 'name' name no secret");
    if (!status && !is_removal) status = read_sealed(&arena, request, "sealed", &secret.sealed, err);
    if (!status && !is_removal) status = read_sealed(&arena, request, "tenantKey", &secret.tenant_key, err);
    if (!status && !engine_secret(petition->engine, &secret))
        status = refuse_full(err);
    arena_deinit(&arena);
    return status;
}

static int hex_digit(char c)
{
    return ascii_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "sha256:" and 64 hex digits, as digest_print() writes it. */
static bool read_digest(Str text, Digest *out)
{
    Str prefix = STR("sha256:");
    if (!str_starts(text, prefix) || text.len != prefix.len + 2 * DIGEST_SIZE) return false;
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        int high = hex_digit(text.ptr[prefix.len + 2 * i]), low = hex_digit(text.ptr[prefix.len + 2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* An occurrence that starts though something holds it back, or does not after all. That it is one was looked at before. */
static Status send_override(const Petition *petition, bool is_gone, Error *err)
{
    Value request = petition->request;
    const Value *trigger = value_get_text(request, "trigger");
    EngineKeep keep = {
        .kind = is_gone ? KEEP_OVERRIDE_GONE : KEEP_OVERRIDE, .tenant = value_get_string(request, "tenant", STR("default")),
        .name = value_get_string(request, "workflow", STR("")), .text = value_get_string(request, "held", STR("")), .command = command_head(request),
        .reply = petition->reply, .context = petition->context,
    };
    if (!keep.name.len || keep.name.len > NAME_SIZE_MAX || keep.tenant.len > NAME_SIZE_MAX || keep.text.len > NAME_SIZE_MAX)
        return error_set(err, ERR_INVALID, "'tenant' and 'workflow' name no schedule");
    if (!trigger || trigger->kind != VALUE_INT || trigger->integer < 0 || trigger->integer > UINT32_MAX)
        return error_set(err, ERR_INVALID, "'trigger' is the place of a trigger, from 0");
    if (!civil_read_time(value_get_string(request, "at", STR("")), &keep.due_ms)) return error_set(err, ERR_INVALID, "'at' is no time");
    if (!is_gone && !str_trim(keep.command.rationale).len) return error_set(err, ERR_INVALID, "'reason' is missing: an override needs one");
    if (keep.command.rationale.len > TEXT_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "'reason' has more than TEXT_SIZE_MAX (%u) bytes", TEXT_SIZE_MAX);
    keep.count = (uint64_t)trigger->integer;
    return engine_keep(petition->engine, &keep) ? OK : refuse_full(err);
}

/* What somebody says of a version of a policy. */
static Status send_review(const Petition *petition, Error *err)
{
    Value request = petition->request;
    Str verdict = value_get_string(request, "verdict", STR(""));
    Digest digest;
    EngineKeep keep = {
        .kind = KEEP_REVIEW, .tenant = value_get_string(request, "tenant", STR("default")), .name = value_get_string(request, "policy", STR("")),
        .key = value_get_string(request, "digest", STR("")), .payload = value_get_string(request, "reviewer", STR("")),
        .text = value_get_string(request, "comment", STR("")), .flags = str_is_text(verdict, "approved") ? REVIEW_APPROVED : REVIEW_REJECTED,
        .command = command_head(request), .reply = petition->reply, .context = petition->context,
    };
    if (!keep.name.len || keep.name.len > NAME_SIZE_MAX || keep.tenant.len > NAME_SIZE_MAX) return error_set(err, ERR_INVALID, "'policy' names none");
    if (!read_digest(keep.key, &digest)) return error_set(err, ERR_INVALID, "'digest' is no version of a policy: sha256: and 64 digits");
    if (!keep.payload.len || keep.payload.len > NAME_SIZE_MAX) return error_set(err, ERR_INVALID, "'reviewer' names nobody");
    if (keep.flags == REVIEW_REJECTED && !str_is_text(verdict, "rejected")) return error_set(err, ERR_INVALID, "'verdict' is approved or rejected");
    if (keep.text.len > TEXT_SIZE_MAX) return error_set(err, ERR_LIMIT, "'comment' has more than TEXT_SIZE_MAX (%u) bytes", TEXT_SIZE_MAX);
    return engine_keep(petition->engine, &keep) ? OK : refuse_full(err);
}

/* --- starts ------------------------------------------------------------------------------------------------------------------- */

static Status read_plan(Petition *petition, Digest *out, Error *err)
{
    Str digest = value_get_string(petition->request, "digest", STR(""));
    if (digest.len) {
        if (read_digest(digest, out)) return OK;
        return error_set(err, ERR_INVALID, "'digest' is no digest of a plan");
    }
    Status status = OK;
    if (petition->plan) engine_plan_take(petition->engine, petition->plan, out);
    else status = engine_plan_add(petition->engine, value_get_string(petition->request, "plan", STR("")), out, err);
    petition->plan = NULL;
    if (!status) engine_plan_text(petition->engine, out, value_get_string(petition->request, "text", STR("")));
    return status;
}

static Status send_start(Petition *petition, Error *err)
{
    Engine *engine = petition->engine;
    Value request = petition->request;
    if (engine_state(engine) == ENGINE_DRAINING)
        return error_set(err, ERR_UNAVAILABLE, "the process that owns the store is about to end");
    EngineStart start = {
        .tenant = value_get_string(request, "tenant", STR("default")),
        .request = { .params = value_null(), .payload = value_null(), .key = value_get_string(request, "key", STR("")),
                     .is_again = value_get_bool(request, "again", false),
                     .directory = value_get_string(request, "directory", STR("")) },
        .command = command_head(request),
        .reply = petition->reply, .context = petition->context,
    };
    const Value *params = value_get_text(request, "params");
    if (params) start.request.params = *params;
    const Value *revision = value_get_text(request, "revision");
    int64_t number;
    if (revision && (!number_to_int64(*revision, &number) || number < 0 || number > UINT32_MAX))
        return error_set(err, ERR_INVALID, "'revision' is no number of one");
    if (revision) start.request.revision = (uint32_t)number;
    const Value *payload = value_get_text(request, "payload");
    if (payload) start.request.payload = *payload;
    start.request.source = value_get_string(request, "source", STR("manual"));
    start.is_stored_only = str_is_text(value_get_string(request, "verb", STR("")), "store-revision");
    Status status = read_seen(request, &start.seen, err);
    if (!status) status = read_plan(petition, &start.plan, err);
    if (status) return status;
    if (engine_start(engine, &start)) return OK;
    return error_set(err, ERR_LIMIT, "the engine takes no further runs now: %s", engine_full_text(engine));
}

/* --- the door ------------------------------------------------------------------------------------------------------------------ */

static Status send_about_run(const Petition *petition, Error *err)
{
    EngineRequest out = { .tenant = value_get_string(petition->request, "tenant", STR("")), .reply = petition->reply,
                          .context = petition->context };
    Status status = command_of(petition->request, &out.command, err);
    if (status) return status;
    if (!id_read(value_get_string(petition->request, "run", STR("")), &out.run_id))
        return error_set(err, ERR_INVALID, "'run' is no id of a run");
    return engine_request(petition->engine, &out) ? OK : refuse_full(err);
}

Status petition_check(Value request, Error *err)
{
    static const char *const names[] = { "actor", "reason", "origin", "source", "name", "bridge", "tenant", "workflow",
                                         "job", "held", "trigger", "policy", "digest", "reviewer", "comment" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (value_get_string(request, names[i], STR("")).len > TEXT_SIZE_MAX)
            return error_set(err, ERR_LIMIT, "'%s' has more than TEXT_SIZE_MAX (%u) bytes", names[i], TEXT_SIZE_MAX);
    return OK;
}

static Status send_any(Petition *petition, Error *err)
{
    Status status = petition_check(petition->request, err);
    if (status) return status;
    Str verb = value_get_string(petition->request, "verb", STR(""));
    if (str_is_text(verb, "start") || str_is_text(verb, "store-revision")) return send_start(petition, err);
    if (str_is_text(verb, "activate") || str_is_text(verb, "deactivate") || str_is_text(verb, "remove-revision"))
        return send_revision(petition, str_is_text(verb, "activate"), str_is_text(verb, "remove-revision"), err);
    if (str_is_text(verb, "set-secret") || str_is_text(verb, "remove-secret"))
        return send_secret(petition, str_is_text(verb, "remove-secret"), err);
    if (str_is_text(verb, "override-schedule") || str_is_text(verb, "remove-override"))
        return send_override(petition, str_is_text(verb, "remove-override"), err);
    if (str_is_text(verb, "review-policy")) return send_review(petition, err);
    return send_about_run(petition, err);
}

Status petition_send_plan(Engine *engine, Value request, EnginePlan *plan, ReplyTo reply, void *context, Error *err)
{
    Petition petition = { .engine = engine, .request = request, .plan = plan, .reply = reply, .context = context };
    Status status = send_any(&petition, err);
    engine_plan_free(petition.plan);
    return status;
}

Status petition_send(Engine *engine, Value request, ReplyTo reply, void *context, Error *err)
{
    return petition_send_plan(engine, request, /* plan= */ NULL, reply, context, err);
}

/* --- refusals -------------------------------------------------------------------------------------------------------------------- */

ProblemKind petition_problem(const EngineReply *reply)
{
    return reply->is_other_request ? PROBLEM_REQUEST_KEY
         : reply->is_other_start   ? PROBLEM_KEY
         : reply->is_over_quota    ? PROBLEM_QUOTA
         : reply->is_of_params     ? PROBLEM_PARAMETERS
         : reply->is_inactive      ? PROBLEM_REVISION_NOT_ACTIVE : problem_of(reply->status);
}
