#include "secret/trigger_auth.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "value/canonical.h"

#define MAC_SIZE crypto_auth_hmacsha256_BYTES

/* One authentication: what the methods share. */
typedef struct Check {
    const TriggerAuthority *authority;
    const TriggerSubject *subject;
    const TriggerRequest *request;
    Arena *arena;
    TriggerProof *proof;
} Check;

static Status check_hmac(const Check *check, Value setting, Error *err);
static Status check_hmac_of_definition(const Check *check, Value setting, Error *err);
static Status check_hub_signature(const Check *check, Value setting, Error *err);
static Status check_bearer(const Check *check, Value setting, Error *err);
static Status check_api_key(const Check *check, Value setting, Error *err);
static Status check_policy(const Check *check, Value setting, Error *err);

static const struct { const char *key; Status (*check)(const Check *check, Value setting, Error *err); } methods[] = {
    { "hmac", check_hmac }, { "hmac_of_definition", check_hmac_of_definition },
    { "hub_signature", check_hub_signature }, { "bearer", check_bearer }, { "api_key", check_api_key }, { "policy", check_policy },
};

static Status check_repeat(const Check *check, Error *err);

/* Exactly one method: a plan that says anything else lets nobody in. */
Status trigger_authenticate(const TriggerAuthority *authority, const TriggerSubject *subject, const TriggerRequest *request,
                            Arena *arena, TriggerProof *out, Error *err)
{
    TriggerProof proof = { .tenant = subject->tenant };
    Check check = { authority, subject, request, arena, &proof };
    if (request->header_count > TRIGGER_HEADER_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "the request has more than TRIGGER_HEADER_COUNT_MAX (%u) headers",
                         TRIGGER_HEADER_COUNT_MAX);
    if (request->body.len > TRIGGER_BODY_SIZE_MAX)
        return error_set(err, ERR_LIMIT, "the request is larger than TRIGGER_BODY_SIZE_MAX (%u bytes)", TRIGGER_BODY_SIZE_MAX);
    if (subject->auth.kind != VALUE_OBJECT || subject->auth.count != 1)
        return error_set(err, ERR_DENIED, "the trigger '%.*s' declares no authentication", STR_ARG(subject->trigger));
    Str key = value_text(subject->auth.members[0].key);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (!str_is_text(key, methods[i].key)) continue;
        Status status = methods[i].check(&check, subject->auth.members[0].value, err);
        if (!status && !proof.replay_end_ms) status = check_repeat(&check, err);
        if (!status) *out = proof;
        return status;
    }
    return error_set(err, ERR_DENIED, "there is no authentication '%.*s'", STR_ARG(key));
}

/* --- headers --------------------------------------------------------------------------------------------------------------- */

static bool is_header(Str name, const char *wanted)
{
    for (size_t i = 0; i < name.len; i++)
        if (ascii_to_lower(name.ptr[i]) != wanted[i] || !wanted[i]) return false;
    return wanted[name.len] == '\0';
}

/* One that is there twice could be read as either. */
static Status header_find(const TriggerRequest *request, const char *lower, const char *shown, Str *out, Error *err)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < request->header_count; i++)
        if (is_header(request->headers[i].name, lower)) {
            *out = str_trim(request->headers[i].value);
            count++;
        }
    if (count == 1) return OK;
    return count ? error_set(err, ERR_DENIED, "the header %s is there %" PRIu32 " times", shown, count)
                 : error_set(err, ERR_DENIED, "the header %s is missing", shown);
}

/* --- signatures ------------------------------------------------------------------------------------------------------------ */

/* The code of a body with a secret, behind what is signed before it. */
static void mac_make(Str secret, const Str *before, size_t count, const TriggerRequest *request, uint8_t out[MAC_SIZE])
{
    crypto_auth_hmacsha256_state state;
    Str body = request->body;
    crypto_auth_hmacsha256_init(&state, (const uint8_t *)secret.ptr, secret.len);
    for (size_t i = 0; i < count; i++) {
        if (before[i].len) crypto_auth_hmacsha256_update(&state, (const uint8_t *)before[i].ptr, before[i].len);
        crypto_auth_hmacsha256_update(&state, (const uint8_t *)"\n", 1);
    }
    if (body.len) crypto_auth_hmacsha256_update(&state, (const uint8_t *)body.ptr, body.len);
    crypto_auth_hmacsha256_final(&state, out);
    sodium_memzero(&state, sizeof state);
    if (request->is_passed) *request->is_passed = true;
}

/* Where one part ends is told by a line break, which none of them but the body has: a path with one is signed by nobody. */
static void signature_make(Str secret, Str timestamp, const TriggerRequest *request, uint8_t out[MAC_SIZE])
{
    const Str before[] = { timestamp, request->method, request->path };
    mac_make(secret, before, sizeof before / sizeof *before, request, out);
}

/* Whether the code that was sent is the one that was made, which is wiped. */
static bool is_right_mac(const uint8_t given[MAC_SIZE], uint8_t made[MAC_SIZE])
{
    bool is_right = sodium_memcmp(given, made, MAC_SIZE) == 0;
    sodium_memzero(made, MAC_SIZE);
    return is_right;
}

static Digest body_digest(const TriggerRequest *request)
{
    if (request->is_passed) *request->is_passed = true;
    return digest_of(request->body);
}

void trigger_waste(const TriggerRequest *request)
{
    if (!*request->is_passed) (void)body_digest(request);
}

Str trigger_sign(Arena *arena, Str secret, Str timestamp, const TriggerRequest *request)
{
    uint8_t mac[MAC_SIZE];
    char text[2 * MAC_SIZE + 16];
    Buf buf = buf_on(text, sizeof text);
    signature_make(secret, timestamp, request, mac);
    buf_text(&buf, "sha256=");
    buf_hex(&buf, mac, sizeof mac);
    return arena_copy(arena, buf_peek(&buf));
}

static Status mac_read(Str text, const char *header, uint8_t out[MAC_SIZE], Error *err)
{
    Str prefix = STR("sha256="), hex = str_slice(text, prefix.len, text.len);
    size_t size = 0;
    if (!str_starts(text, prefix) || hex.len != 2 * MAC_SIZE || sodium_hex2bin(out, MAC_SIZE, hex.ptr, hex.len, NULL, &size, NULL)
        || size != MAC_SIZE)
        return error_set(err, ERR_DENIED, "%s is not sha256= and 64 hex digits", header);
    return OK;
}

static int64_t window_of(const TriggerSubject *subject)
{
    return subject->window_ms > 0 ? subject->window_ms : TRIGGER_WINDOW_MS;
}

static Status check_time(const Check *check, Str text, int64_t *out_ms, Error *err)
{
    uint64_t seconds;
    int64_t window = window_of(check->subject), now = check->request->now_ms;
    if (!str_to_u64(text, &seconds) || seconds > (uint64_t)(INT64_MAX / 4000))
        return error_set(err, ERR_DENIED, "X-Maestro-Timestamp is no number of seconds since 1970");
    *out_ms = (int64_t)seconds * 1000;
    if (*out_ms < now - window)
        return error_set(err, ERR_DENIED, "the request is %" PRId64 " s old, and may be %" PRId64, (now - *out_ms) / 1000,
                         window / 1000);
    if (*out_ms > now + window)
        return error_set(err, ERR_DENIED, "the request is dated %" PRId64 " s ahead, and may be %" PRId64, (*out_ms - now) / 1000,
                         window / 1000);
    return OK;
}

/* By what this request is told from others, until it would be too old. */
static void make_replay(const Check *check, const char *kind, Str what, int64_t end_ms)
{
    TriggerProof *proof = check->proof;
    Digest digest;
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)kind, strlen(kind) + 1);
    if (what.len) crypto_hash_sha256_update(&state, (const uint8_t *)what.ptr, what.len);
    crypto_hash_sha256_final(&state, digest.bytes);
    memcpy(proof->replay.bytes, digest.bytes, sizeof proof->replay.bytes);
    proof->replay_end_ms = end_ms;
}

Status trigger_remember(TriggerReplays *replays, const TriggerProof *proof, int64_t now_ms, Error *err)
{
    return proof->replay_end_ms ? trigger_replays_add(replays, proof->tenant, &proof->replay, now_ms, proof->replay_end_ms, err) : OK;
}

void trigger_withdraw(TriggerReplays *replays, const TriggerProof *proof)
{
    if (proof->replay_end_ms) trigger_replays_forget(replays, proof->tenant, &proof->replay);
}

TriggerProof trigger_proof_copy(Arena *arena, const TriggerProof *proof)
{
    TriggerProof copy = *proof;
    Str *const texts[] = { &copy.identity, &copy.id, &copy.alias, &copy.tenant };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = arena_copy(arena, *texts[i]);
    return copy;
}

/* A secret that is not set lets nobody in; that it cannot be read now is another matter. */
static Status find_secret(const Check *check, Str name, Str *out, Error *err)
{
    const TriggerAuthority *authority = check->authority;
    if (!authority->secret) return error_set(err, ERR_DENIED, "this process has no secrets");
    Status status = authority->secret(authority->vault, check->subject->tenant, name, out, err);
    if (status && !status_is_failure(status)) status = err->status = ERR_DENIED;
    return status;
}

static Status header_maybe(const TriggerRequest *request, const char *lower, const char *shown, Str *out, Error *err);
static Str name_delivery(const Check *check, Str name, Str what);

static Status check_signature(const Check *check, Str name, Error *err)
{
    const TriggerRequest *request = check->request;
    Str signature = { 0 }, timestamp = { 0 }, key = { 0 }, secret;
    uint8_t given[MAC_SIZE], made[MAC_SIZE];
    int64_t at_ms = 0;
    Status status = header_find(request, "x-maestro-signature", "X-Maestro-Signature", &signature, err);
    if (!status) status = header_find(request, "x-maestro-timestamp", "X-Maestro-Timestamp", &timestamp, err);
    if (!status) status = header_maybe(request, "idempotency-key", "Idempotency-Key", &key, err);
    if (!status) status = mac_read(signature, "X-Maestro-Signature", given, err);
    if (!status) status = check_time(check, timestamp, &at_ms, err);
    if (!status) status = find_secret(check, name, &secret, err);
    if (status) return status;
    if (str_find(request->path, '\n', 0) < request->path.len) return error_set(err, ERR_DENIED, "the path of the request has a line break");
    signature_make(secret, timestamp, request, made);
    if (!is_right_mac(given, made))
        return error_set(err, ERR_DENIED, "the signature is not that of time, method, path and body, made with the secret '%.*s'", STR_ARG(name));
    make_replay(check, "signature", (Str){ (const char *)given, sizeof given }, at_ms + window_of(check->subject));
    char hex[2 * MAC_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, given, sizeof given);
    check->proof->identity = arena_format(check->arena, "hmac:%.*s", STR_ARG(name));
    check->proof->id = arena_format(check->arena, "trigger/%s", hex);
    if (!key.len) return OK;
    check->proof->alias = check->proof->id;
    (void)name_delivery(check, STR("idempotency-key"), key);
    return OK;
}

static Status check_hmac(const Check *check, Value setting, Error *err)
{
    if (setting.kind != VALUE_STRING) return error_set(err, ERR_DENIED, "'hmac' names no secret");
    return check_signature(check, value_text(setting), err);
}

static bool is_on(Value setting) { return value_is_true(setting); }

static Status check_hmac_of_definition(const Check *check, Value setting, Error *err)
{
    if (!is_on(setting)) return error_set(err, ERR_DENIED, "the trigger declares no authentication");
    return check_signature(check, arena_format(check->arena, "definition/%.*s", STR_ARG(check->subject->workflow)), err);
}

/* --- of code forges ---------------------------------------------------------------------------------------------------------- */

/* X-Hub-Signature-256 is of the body alone. The delivery that a forge names beside it is not signed, and whoever has seen a request could
 * name another: a body is therefore taken once, whatever it is called. It is one of this trigger, since it may be sent to several. */
static Status check_hub_signature(const Check *check, Value setting, Error *err)
{
    const TriggerRequest *request = check->request;
    Str signature = { 0 }, secret, name = setting.kind == VALUE_STRING ? value_text(setting) : (Str){ 0 };
    uint8_t given[MAC_SIZE], made[MAC_SIZE];
    if (!name.len) return error_set(err, ERR_DENIED, "'hub_signature' names no secret");
    Status status = header_find(request, "x-hub-signature-256", "X-Hub-Signature-256", &signature, err);
    if (!status) status = mac_read(signature, "X-Hub-Signature-256", given, err);
    if (!status) status = find_secret(check, name, &secret, err);
    if (status) return status;
    mac_make(secret, /* before= */ NULL, 0, request, made);
    if (!is_right_mac(given, made))
        return error_set(err, ERR_DENIED, "the signature is not that of the body, made with the secret '%.*s'", STR_ARG(name));
    Str delivery = name_delivery(check, STR("x-hub-signature-256"), (Str){ (const char *)given, sizeof given });
    check->proof->identity = arena_format(check->arena, "hub_signature:%.*s", STR_ARG(name));
    make_replay(check, "delivery", delivery, request->now_ms + window_of(check->subject));
    return OK;
}

/* --- the others ------------------------------------------------------------------------------------------------------------ */

static Status check_bearer(const Check *check, Value setting, Error *err)
{
    const TriggerAuthority *authority = check->authority;
    const TriggerSubject *subject = check->subject;
    Str given = { 0 }, scheme = STR("Bearer ");
    TriggerToken token;
    if (!is_on(setting) || !authority->token) return error_set(err, ERR_DENIED, "this process knows no bearer tokens");
    Status status = header_find(check->request, "authorization", "Authorization", &given, err);
    if (status) return status;
    if (!str_starts(given, scheme) || given.len != scheme.len + TRIGGER_TOKEN_SIZE)
        return error_set(err, ERR_DENIED, "Authorization is not Bearer and %u characters", TRIGGER_TOKEN_SIZE);
    status = authority->token(authority->vault, subject->tenant, subject->run_id, subject->trigger, &token, err);
    if (status) return status_is_failure(status) ? status : (err->status = ERR_DENIED);
    bool is_right = sodium_memcmp(given.ptr + scheme.len, token.text, TRIGGER_TOKEN_SIZE) == 0;
    sodium_memzero(&token, sizeof token);
    if (!is_right) return error_set(err, ERR_DENIED, "the token is not that of this trigger of this run");
    check->proof->identity = STR("bearer");
    return OK;
}

static Status check_api_key(const Check *check, Value setting, Error *err)
{
    if (!is_on(setting) || !check->request->identity.len)
        return error_set(err, ERR_DENIED, "the sender has shown no API credentials");
    check->proof->identity = arena_copy(check->arena, check->request->identity);
    return OK;
}

/* --- those that sign nothing ------------------------------------------------------------------------------------------------- */

/* One that may be missing. */
static Status header_maybe(const TriggerRequest *request, const char *lower, const char *shown, Str *out, Error *err)
{
    for (uint32_t i = 0; i < request->header_count; i++)
        if (is_header(request->headers[i].name, lower)) return header_find(request, lower, shown, out, err);
    *out = (Str){ 0 };
    return OK;
}

static Str hex_of(const Check *check, Digest digest)
{
    char hex[2 * DIGEST_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, digest.bytes, sizeof digest.bytes);
    return arena_copy(check->arena, str_of(hex));
}

/* What tells a request of this trigger from others, which have deliveries of their own; and the id that is made of it. */
static Str name_delivery_of(const Check *check, Str name, Digest what)
{
    const TriggerSubject *subject = check->subject;
    Str whole = arena_format(check->arena, "%.*s %.*s %.*s %.*s %.*s", STR_ARG(subject->run_id), STR_ARG(subject->workflow),
                             STR_ARG(subject->trigger), STR_ARG(name), STR_ARG(hex_of(check, what)));
    check->proof->id = arena_format(check->arena, "trigger/%.*s", STR_ARG(hex_of(check, digest_of(whole))));
    return whole;
}

static Str name_delivery(const Check *check, Str name, Str what) { return name_delivery_of(check, name, digest_of(what)); }

static Status check_repeat(const Check *check, Error *err)
{
    static const struct { const char *lower, *shown; } deliveries[] = {
        { "webhook-id", "Webhook-Id" }, { "x-github-delivery", "X-GitHub-Delivery" }, { "x-gitlab-event-uuid", "X-Gitlab-Event-UUID" },
    };
    const TriggerRequest *request = check->request;
    Str timestamp, key, delivery = { 0 };
    int64_t at_ms = request->now_ms;
    Status status = header_maybe(request, "x-maestro-timestamp", "X-Maestro-Timestamp", &timestamp, err);
    if (!status && timestamp.len) status = check_time(check, timestamp, &at_ms, err);
    if (!status) status = header_maybe(request, "idempotency-key", "Idempotency-Key", &key, err);
    if (status) return status;
    if (key.len) {
        (void)name_delivery(check, STR("idempotency-key"), key);
        return OK;
    }
    int64_t end_ms = at_ms + window_of(check->subject);
    for (size_t i = 0; i < sizeof deliveries / sizeof *deliveries && !status && !delivery.len; i++) {
        status = header_maybe(request, deliveries[i].lower, deliveries[i].shown, &delivery, err);
        if (!status && delivery.len) make_replay(check, "delivery", name_delivery(check, str_of(deliveries[i].lower), delivery), end_ms);
    }
    if (!status && !delivery.len && timestamp.len)
        make_replay(check, "delivery", name_delivery_of(check, timestamp, body_digest(request)), end_ms);
    return status;
}

/* --- the input of policies --------------------------------------------------------------------------------------------------- */

/* {"hook": "trigger", "run", "workflow", "tenant", "trigger", "headers": {lower: value}, "body": {"digest", "size"}, "source"}.
 * Of a header that is there several times the values are joined by commas. */
static Value policy_input(const Check *check)
{
    const TriggerRequest *request = check->request;
    const TriggerSubject *subject = check->subject;
    MemberList headers = { .arena = check->arena }, body = { .arena = check->arena }, input = { .arena = check->arena };
    for (uint32_t i = 0; i < request->header_count; i++) {
        Str name = arena_copy(check->arena, request->headers[i].name), value = request->headers[i].value;
        for (size_t j = 0; j < name.len; j++) ((char *)name.ptr)[j] = ascii_to_lower(name.ptr[j]);
        size_t k = 0;
        while (k < headers.count && !str_is(value_text(headers.members[k].key), name)) k++;
        if (k == headers.count) {
            member_list_add(&headers, name, value_string(value));
        } else {
            Str joined = arena_format(check->arena, "%.*s,%.*s", STR_ARG(value_text(headers.members[k].value)), STR_ARG(value));
            headers.members[k].value = value_string(joined);
        }
    }
    Digest digest = body_digest(request);
    member_list_add(&body, STR("digest"), digest_value(check->arena, &digest));
    member_list_add(&body, STR("size"), value_int((int64_t)request->body.len));
    member_list_add(&input, STR("hook"), value_string(STR("trigger")));
    member_list_add(&input, STR("tenant"), value_string(subject->tenant));
    member_list_add(&input, STR("workflow"), value_string(subject->workflow));
    member_list_add(&input, STR("run"), value_string(subject->run_id));
    member_list_add(&input, STR("trigger"), value_string(subject->trigger));
    member_list_add(&input, STR("source"), value_string(request->source));
    member_list_add(&input, STR("headers"), member_list_object(&headers));
    member_list_add(&input, STR("body"), member_list_object(&body));
    return member_list_object(&input);
}

static Status check_policy(const Check *check, Value setting, Error *err)
{
    const TriggerAuthority *authority = check->authority;
    Str why;
    if (setting.kind != VALUE_STRING) return error_set(err, ERR_DENIED, "'policy' names no policy");
    if (!authority->permits) return error_set(err, ERR_DENIED, "this process has no policies");
    if (!authority->permits(authority->policies, value_text(setting), policy_input(check), check->request->now_ms, check->arena, &why))
        return error_set(err, ERR_DENIED, "%.*s: %.*s", STR_ARG(value_text(setting)), STR_ARG(why));
    check->proof->identity = arena_format(check->arena, "policy:%.*s", STR_ARG(value_text(setting)));
    return OK;
}
