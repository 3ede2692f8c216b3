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
    TriggerProof proof = { 0 };
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
        if (!status && !proof.is_remembered) status = check_repeat(&check, err);
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

static_assert(MAC_SIZE == DIGEST_SIZE, "sums of both kinds have one size");

static void sum_make(TriggerSum *sum, Str body)
{
    crypto_auth_hmacsha256_state state;
    if (sum->is_digest) {
        Digest digest = digest_of(body);
        memcpy(sum->bytes, digest.bytes, sizeof sum->bytes);
        return;
    }
    crypto_auth_hmacsha256_init(&state, (const uint8_t *)sum->secret.ptr, sum->secret.len);
    if (sum->head.len) crypto_auth_hmacsha256_update(&state, (const uint8_t *)sum->head.ptr, sum->head.len);
    if (body.len) crypto_auth_hmacsha256_update(&state, (const uint8_t *)body.ptr, body.len);
    crypto_auth_hmacsha256_final(&state, sum->bytes);
    sodium_memzero(&state, sizeof state);
}

static bool is_same_sum(const TriggerSum *one, const TriggerSum *other)
{
    return one->is_digest == other->is_digest && str_is(one->secret, other->secret) && str_is(one->head, other->head);
}

/* False: it is wanted. */
static bool sum_find(TriggerSums *sums, Str body, Arena *arena, TriggerSum *sum)
{
    if (sums) sums->is_passed = true;
    if (!sums || body.len <= sums->size_max) {
        sum_make(sum, body);
        return true;
    }
    for (size_t i = 0; i < sums->count; i++) {
        if (!is_same_sum(&sums->sums[i], sum)) continue;
        memcpy(sum->bytes, sums->sums[i].bytes, sizeof sum->bytes);
        return i < sums->made_count;
    }
    sums->sums = arena_grow(arena, sums->sums, sizeof *sums->sums, sums->count, &sums->capacity);
    sums->sums[sums->count++] = (TriggerSum){ arena_copy(arena, sum->secret), arena_copy(arena, sum->head), sum->is_digest, { 0 } };
    return false;
}

bool trigger_sums_are_wanted(const TriggerSums *sums) { return sums->count > sums->made_count; }

void trigger_sums_make(TriggerSums *sums, Str body)
{
    for (; sums->made_count < sums->count; sums->made_count++) sum_make(&sums->sums[sums->made_count], body);
}

void trigger_waste(TriggerSums *sums, Str body, Arena *arena)
{
    TriggerSum sum = { .is_digest = true };
    if (!sums->is_passed) (void)sum_find(sums, body, arena, &sum);
}

static Status refuse_for_now(Error *err) { return error_set(err, ERR_DENIED, "what its body is compared with is not made yet"); }

/* Where one part ends is told by a line break, which none of them but the body has: a path with one is signed by nobody. */
static Str signed_before(Arena *arena, Str timestamp, const TriggerRequest *request)
{
    const Str parts[] = { timestamp, request->method, request->path };
    Buf text;
    buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_str(&text, parts[i]);
        buf_char(&text, '\n');
    }
    Str whole = arena_copy(arena, buf_peek(&text));
    buf_deinit(&text);
    return whole;
}

Str trigger_sign(Arena *arena, Str secret, Str timestamp, const TriggerRequest *request)
{
    TriggerSum sum = { .secret = secret, .head = signed_before(arena, timestamp, request) };
    char text[2 * MAC_SIZE + 16];
    Buf buf = buf_on(text, sizeof text);
    sum_make(&sum, request->body);
    buf_text(&buf, "sha256=");
    buf_hex(&buf, sum.bytes, sizeof sum.bytes);
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

/* Remembers what tells this request from others until it would be too old, and makes the id of it. */
static Status remember(const Check *check, const char *kind, Str what, int64_t end_ms, Error *err)
{
    TriggerProof *proof = check->proof;
    Digest digest;
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)kind, strlen(kind) + 1);
    if (what.len) crypto_hash_sha256_update(&state, (const uint8_t *)what.ptr, what.len);
    crypto_hash_sha256_final(&state, digest.bytes);
    memcpy(proof->replay.bytes, digest.bytes, sizeof proof->replay.bytes);
    Status status = trigger_replays_add(check->authority->replays, check->subject->tenant, &proof->replay, check->request->now_ms, end_ms, err);
    if (status) return status;
    proof->tenant = arena_copy(check->arena, check->subject->tenant);
    proof->is_remembered = true;
    return OK;
}

void trigger_withdraw(TriggerReplays *replays, const TriggerProof *proof)
{
    if (proof->is_remembered) trigger_replays_forget(replays, proof->tenant, &proof->replay);
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
    Str signature = { 0 }, timestamp = { 0 }, key = { 0 };
    TriggerSum sum = { 0 };
    uint8_t given[MAC_SIZE];
    int64_t at_ms = 0;
    Status status = header_find(request, "x-maestro-signature", "X-Maestro-Signature", &signature, err);
    if (!status) status = header_find(request, "x-maestro-timestamp", "X-Maestro-Timestamp", &timestamp, err);
    if (!status) status = header_maybe(request, "idempotency-key", "Idempotency-Key", &key, err);
    if (!status) status = mac_read(signature, "X-Maestro-Signature", given, err);
    if (!status) status = check_time(check, timestamp, &at_ms, err);
    if (!status) status = find_secret(check, name, &sum.secret, err);
    if (status) return status;
    if (str_find(request->path, '\n', 0) < request->path.len) return error_set(err, ERR_DENIED, "the path of the request has a line break");
    sum.head = signed_before(check->arena, timestamp, request);
    if (!sum_find(request->sums, request->body, check->arena, &sum)) return refuse_for_now(err);
    bool is_right = sodium_memcmp(given, sum.bytes, sizeof sum.bytes) == 0;
    sodium_memzero(&sum, sizeof sum);
    if (!is_right)
        return error_set(err, ERR_DENIED, "the signature is not that of time, method, path and body, made with the secret '%.*s'", STR_ARG(name));
    status = remember(check, "signature", (Str){ (const char *)given, sizeof given }, at_ms + window_of(check->subject), err);
    if (status) return status;
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
    Str signature = { 0 }, name = setting.kind == VALUE_STRING ? value_text(setting) : (Str){ 0 };
    TriggerSum sum = { 0 };
    uint8_t given[MAC_SIZE];
    if (!name.len) return error_set(err, ERR_DENIED, "'hub_signature' names no secret");
    Status status = header_find(request, "x-hub-signature-256", "X-Hub-Signature-256", &signature, err);
    if (!status) status = mac_read(signature, "X-Hub-Signature-256", given, err);
    if (!status) status = find_secret(check, name, &sum.secret, err);
    if (status) return status;
    if (!sum_find(request->sums, request->body, check->arena, &sum)) return refuse_for_now(err);
    bool is_right = sodium_memcmp(given, sum.bytes, sizeof sum.bytes) == 0;
    sodium_memzero(&sum, sizeof sum);
    if (!is_right) return error_set(err, ERR_DENIED, "the signature is not that of the body, made with the secret '%.*s'", STR_ARG(name));
    Str delivery = name_delivery(check, STR("x-hub-signature-256"), (Str){ (const char *)given, sizeof given });
    check->proof->identity = arena_format(check->arena, "hub_signature:%.*s", STR_ARG(name));
    return remember(check, "delivery", delivery, request->now_ms + window_of(check->subject), err);
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

static Str sum_hex(const Check *check, const TriggerSum *sum)
{
    char hex[2 * DIGEST_SIZE + 1];
    sodium_bin2hex(hex, sizeof hex, sum->bytes, sizeof sum->bytes);
    return arena_copy(check->arena, str_of(hex));
}

static Str digest_hex(const Check *check, Str text)
{
    TriggerSum sum = { .is_digest = true };
    sum_make(&sum, text);
    return sum_hex(check, &sum);
}

/* What tells a request of this trigger from others, which have deliveries of their own; and the id that is made of it. */
static Str name_delivery_of(const Check *check, Str name, Str digest)
{
    const TriggerSubject *subject = check->subject;
    Str whole = arena_format(check->arena, "%.*s %.*s %.*s %.*s %.*s", STR_ARG(subject->run_id), STR_ARG(subject->workflow),
                             STR_ARG(subject->trigger), STR_ARG(name), STR_ARG(digest));
    check->proof->id = arena_format(check->arena, "trigger/%.*s", STR_ARG(digest_hex(check, whole)));
    return whole;
}

static Str name_delivery(const Check *check, Str name, Str what) { return name_delivery_of(check, name, digest_hex(check, what)); }

static Status remember_delivery(const Check *check, Str name, Str what, int64_t end_ms, Error *err)
{
    return remember(check, "delivery", name_delivery(check, name, what), end_ms, err);
}

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
        if (!status && delivery.len) status = remember_delivery(check, str_of(deliveries[i].lower), delivery, end_ms, err);
    }
    if (status || delivery.len || !timestamp.len) return status;
    TriggerSum sum = { .is_digest = true };
    if (!sum_find(request->sums, request->body, check->arena, &sum)) return refuse_for_now(err);
    return remember(check, "delivery", name_delivery_of(check, timestamp, sum_hex(check, &sum)), end_ms, err);
}

/* --- the input of policies --------------------------------------------------------------------------------------------------- */

/* {"hook": "trigger", "run", "workflow", "tenant", "trigger", "headers": {lower: value}, "body": {"digest", "size"}, "source"}.
 * Of a header that is there several times the values are joined by commas. */
static Value policy_input(const Check *check, Str digest)
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
    member_list_add(&body, STR("digest"), value_string(arena_format(check->arena, "sha256:%.*s", STR_ARG(digest))));
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
    TriggerSum sum = { .is_digest = true };
    Str why;
    if (setting.kind != VALUE_STRING) return error_set(err, ERR_DENIED, "'policy' names no policy");
    if (!authority->permits) return error_set(err, ERR_DENIED, "this process has no policies");
    if (!sum_find(check->request->sums, check->request->body, check->arena, &sum)) return refuse_for_now(err);
    if (!authority->permits(authority->policies, value_text(setting), policy_input(check, sum_hex(check, &sum)), check->request->now_ms,
                            check->arena, &why))
        return error_set(err, ERR_DENIED, "%.*s: %.*s", STR_ARG(value_text(setting)), STR_ARG(why));
    check->proof->identity = arena_format(check->arena, "policy:%.*s", STR_ARG(value_text(setting)));
    return OK;
}
