#include "secret/trigger_auth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"
#include "value/json.h"

#define NOW_MS INT64_C(1766000000000)
#define NOW_TEXT "1766000000"

/* --- a world with two secrets, one token and two policies -------------------------------------------------------------- */

static Status find_secret(void *context, Str tenant, Str name, Str *out, Error *err)
{
    (void)context;
    if (str_is(name, STR("busy"))) return error_set(err, ERR_UNAVAILABLE, "the store is busy");
    bool is_hook = str_is(name, STR("hook-secret")), is_definition = str_is(name, STR("definition/orders")),
         is_forge = str_is(name, STR("forge"));
    if (!str_is(tenant, STR("acme")) || (!is_hook && !is_definition && !is_forge))
        return error_set(err, ERR_NOT_FOUND, "tenant '%.*s' has no secret '%.*s': maestro secret set %.*s", STR_ARG(tenant),
                         STR_ARG(name), STR_ARG(name));
    *out = is_forge ? STR("It's a Secret to Everybody") : is_hook ? STR("swordfish") : STR("of the definition");
    return OK;
}

static Status make_token(void *context, Str tenant, Str run_id, Str trigger, TriggerToken *out, Error *err)
{
    SealKey key = { { 1, 2, 3 } };
    (void)context;
    if (!str_is(tenant, STR("acme"))) return error_set(err, ERR_NOT_FOUND, "tenant '%.*s' has no key yet", STR_ARG(tenant));
    trigger_token_make(&key, run_id, trigger, out);
    return OK;
}

typedef struct Asked { char text[2048]; } Asked;

static bool permits(void *context, Str name, Value input, int64_t now_ms, Arena *arena, Str *out_why)
{
    Asked *asked = context;
    Error err;
    Buf text = buf_on(asked->text, sizeof asked->text - 1);
    (void)arena;
    EXPECT_INT(now_ms, NOW_MS);
    EXPECT_OK(json_print(&text, input, JSON_COMPACT, &err), &err);
    asked->text[text.len] = '\0';
    *out_why = STR("from nowhere");
    return str_is(name, STR("let-in")) && str_is(value_get_string(input, "source", STR("")), STR("10.0.0.7"));
}

typedef struct World {
    Arena arena;
    Asked asked;
    TriggerReplays replays;
    TriggerAuthority authority;
    TriggerSubject subject;
    TriggerHeader headers[4];
    TriggerRequest request;
    TriggerProof proof;
    Error err;
} World;

static void world_open(World *it, const char *auth)
{
    memset(it, 0, sizeof *it);
    arena_init(&it->arena, SIZE_MAX);
    it->authority = (TriggerAuthority){ .secret = find_secret, .token = make_token, .permits = permits, .policies = &it->asked };
    it->subject = (TriggerSubject){ .tenant = STR("acme"), .workflow = STR("orders"), .run_id = STR("run-1"),
                                    .trigger = STR("approval") };
    it->request = (TriggerRequest){ .method = STR("POST"), .path = STR("/maestro/trigger/run-1/approval"),
                                    .run_id = STR("run-1"), .trigger = STR("approval"), .headers = it->headers,
                                    .body = STR("{\"ok\":true}"), .source = STR("10.0.0.7"), .now_ms = NOW_MS };
    if (json_parse(&it->arena, str_of(auth), &it->subject.auth, &it->err)) it->subject.auth = value_null();
}

static void world_close(World *it)
{
    trigger_replays_deinit(&it->replays);
    arena_deinit(&it->arena);
}

static void header(World *it, const char *name, Str value)
{
    it->headers[it->request.header_count++] = (TriggerHeader){ str_of(name), value };
}

static void sign(World *it, const char *secret, const char *timestamp)
{
    it->request.header_count = 0;
    header(it, "x-maestro-timestamp", str_of(timestamp));
    header(it, "X-Maestro-Signature", trigger_sign(&it->arena, str_of(secret), str_of(timestamp), &it->request));
}

static Status authenticate(World *it)
{
    TriggerProof proof;
    Status status = trigger_authenticate(&it->authority, &it->subject, &it->request, &it->arena, &proof, &it->err);
    if (!status) status = trigger_remember(&it->replays, &proof, it->request.now_ms, &it->err);
    if (!status) it->proof = proof;
    return status;
}

static void expect_refused(World *it, const char *why)
{
    it->proof = (TriggerProof){ .identity = STR("untouched") };
    EXPECT_INT(authenticate(it), ERR_DENIED);
    EXPECT_STR(str_of(it->err.text), str_of(why));
    EXPECT_STR(it->proof.identity, STR("untouched"));
}

/* --- signatures -------------------------------------------------------------------------------------------------------- */

/* Against a value that another program made:
 * printf '1766000000\nPOST\n/maestro/trigger/run-1/approval\n{"ok":true}' | openssl dgst -sha256 -hmac swordfish */
TEST(a_signature_is_hmac_sha256_over_timestamp_method_path_and_body, "proves: A-197")
{
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    EXPECT_STR(trigger_sign(&it.arena, STR("swordfish"), STR(NOW_TEXT), &it.request),
               STR("sha256=4565a70b023f9cdb6679e9a191c44fc8c743305eb6deaa41adf2548e8f0612c8"));
    world_close(&it);
}

/* The secret, body and signature that GitHub's documentation has for those who check their own. */
TEST(a_signature_of_a_forge_is_hmac_sha256_over_the_body, "proves: A-197 F-048")
{
    static const char right[] = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    static const struct { const char *name, *auth, *header, *value, *body, *why; } rows[] = {
        { "right", "{\"hub_signature\":\"forge\"}", "x-hub-signature-256", right, "Hello, World!", NULL },
        { "of another body", "{\"hub_signature\":\"forge\"}", "X-Hub-Signature-256", right, "Hello, World",
          "the signature is not that of the body, made with the secret 'forge'" },
        { "of another secret", "{\"hub_signature\":\"hook-secret\"}", "X-Hub-Signature-256", right, "Hello, World!",
          "the signature is not that of the body, made with the secret 'hook-secret'" },
        { "the old header", "{\"hub_signature\":\"forge\"}", "X-Hub-Signature", right, "Hello, World!", "the header X-Hub-Signature-256 is missing" },
        { "too short", "{\"hub_signature\":\"forge\"}", "X-Hub-Signature-256", "sha256=7571", "Hello, World!",
          "X-Hub-Signature-256 is not sha256= and 64 hex digits" },
        { "of another method", "{\"hub_signature\":\"forge\"}", "X-Hub-Signature-256",
          "sha1=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
          "Hello, World!", "X-Hub-Signature-256 is not sha256= and 64 hex digits" },
        { "no secret is named", "{\"hub_signature\":true}", "X-Hub-Signature-256", right, "Hello, World!", "'hub_signature' names no secret" },
        { "not for what wants time and path", "{\"hmac\":\"forge\"}", "X-Hub-Signature-256", right, "Hello, World!",
          "the header X-Maestro-Signature is missing" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        world_open(&it, rows[i].auth);
        it.request.body = str_of(rows[i].body);
        header(&it, rows[i].header, str_of(rows[i].value));
        if (rows[i].why) expect_refused(&it, rows[i].why);
        else {
            EXPECT_OK(authenticate(&it), &it.err);
            EXPECT_STR(it.proof.identity, STR("hub_signature:forge"));
            EXPECT(str_starts(it.proof.id, STR("trigger/")) && it.proof.id.len <= REQUEST_ID_SIZE_MAX);
        }
        world_close(&it);
    }
}

TEST(a_body_that_a_forge_signed_is_taken_once_by_each_trigger, "proves: F-050")
{
    World it;
    world_open(&it, "{\"hub_signature\":\"forge\"}");
    it.request.body = STR("Hello, World!");
    header(&it, "X-Hub-Signature-256", STR("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"));
    EXPECT_OK(authenticate(&it), &it.err);
    Str first = it.proof.id;
    expect_refused(&it, "the request was received before");
    ROW("a delivery of another name, which nobody has signed");
    header(&it, "X-GitHub-Delivery", STR("72d3162e"));
    expect_refused(&it, "the request was received before");
    ROW("nor does the sender's word that it is the same let it in");
    header(&it, "Idempotency-Key", STR("again"));
    expect_refused(&it, "the request was received before");
    ROW("another trigger takes it as its own");
    it.subject.trigger = STR("other");
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT(!str_is(it.proof.id, first));
    ROW("after the window the owner of the log knows it by its id");
    it.subject.trigger = STR("approval");
    it.request.now_ms += TRIGGER_WINDOW_MS + 1;
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_STR(it.proof.id, first);
    world_close(&it);
}

TEST(what_is_signed_anew_with_the_same_key_is_the_first_come_again, "proves: F-050 F-006")
{
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    sign(&it, "swordfish", NOW_TEXT);
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT(str_starts(it.proof.id, STR("trigger/")) && !it.proof.alias.len);
    ROW("with a key its signature is its second id");
    sign(&it, "swordfish", "1766000001");
    header(&it, "Idempotency-Key", STR("k"));
    EXPECT_OK(authenticate(&it), &it.err);
    Str first = it.proof.id, signature = it.proof.alias;
    EXPECT(str_starts(signature, STR("trigger/")) && !str_is(signature, first));
    ROW("a replay is refused all the same, by whatever key");
    expect_refused(&it, "the request was received before");
    it.headers[it.request.header_count - 1].value = STR("other");
    expect_refused(&it, "the request was received before");
    ROW("signed anew");
    sign(&it, "swordfish", "1766000002");
    header(&it, "Idempotency-Key", STR("k"));
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_STR(it.proof.id, first);
    EXPECT(!str_is(it.proof.alias, signature));
    ROW("of another trigger it is another");
    it.subject.trigger = STR("other");
    sign(&it, "swordfish", "1766000003");
    header(&it, "Idempotency-Key", STR("k"));
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT(!str_is(it.proof.id, first));
    world_close(&it);
}

TEST(a_signed_trigger_that_came_to_nothing_may_come_again, "proves: F-049 F-050")
{
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    sign(&it, "swordfish", NOW_TEXT);
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_INT(authenticate(&it), ERR_DENIED);
    TriggerProof first = it.proof, other = { .tenant = STR("acme"), .replay_end_ms = 1 };
    trigger_withdraw(&it.replays, &(TriggerProof){ .tenant = STR("acme") });
    trigger_withdraw(&it.replays, &other);
    EXPECT_INT(authenticate(&it), ERR_DENIED);
    trigger_withdraw(&it.replays, &first);
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_INT(authenticate(&it), ERR_DENIED);
    world_close(&it);
}

TEST(a_signed_trigger_is_let_in_and_says_by_which_secret, "proves: A-196 A-197 A-211")
{
    static const struct { const char *name, *auth, *secret, *identity; } rows[] = {
        { "a named secret", "{\"hmac\":\"hook-secret\"}", "swordfish", "hmac:hook-secret" },
        { "that of the definition", "{\"hmac_of_definition\":true}", "of the definition", "hmac:definition/orders" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        world_open(&it, rows[i].auth);
        sign(&it, rows[i].secret, NOW_TEXT);
        EXPECT_OK(authenticate(&it), &it.err);
        EXPECT_STR(it.proof.identity, str_of(rows[i].identity));
        EXPECT(str_starts(it.proof.id, STR("trigger/")) && it.proof.id.len <= REQUEST_ID_SIZE_MAX);
        world_close(&it);
        world_open(&it, rows[i].auth);
        it.request.body = STR("");
        sign(&it, rows[i].secret, NOW_TEXT);
        EXPECT_OK(authenticate(&it), &it.err);
        world_close(&it);
    }
}

TEST(a_signature_that_is_not_right_lets_nobody_in, "proves: A-196 A-197")
{
    static const char wrong[] = "the signature is not that of time, method, path and body, made with the secret 'hook-secret'";
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    ROW("another secret");
    sign(&it, "swordfisH", NOW_TEXT);
    expect_refused(&it, wrong);
    ROW("no secret at all");
    sign(&it, "", NOW_TEXT);
    expect_refused(&it, wrong);
    ROW("a body that was changed");
    sign(&it, "swordfish", NOW_TEXT);
    it.request.body = STR("{\"ok\":false}");
    expect_refused(&it, wrong);
    it.request.body = STR("{\"ok\":true}");
    ROW("what was signed for another trigger");
    sign(&it, "swordfish", NOW_TEXT);
    it.request.path = STR("/maestro/trigger/run-2/approval");
    expect_refused(&it, wrong);
    ROW("a path that ends elsewhere");
    it.request.path = STR("/maestro/trigger/run-1/approval\n{");
    it.request.body = STR("\"ok\":true}");
    expect_refused(&it, "the path of the request has a line break");
    it.request.path = STR("/maestro/trigger/run-1/approval");
    it.request.body = STR("{\"ok\":true}");
    ROW("another method");
    it.request.method = STR("PUT");
    expect_refused(&it, wrong);
    it.request.method = STR("POST");
    ROW("time and body alone, as it was before addresses were signed");
    it.headers[1].value = STR("sha256=95420a4e5048aed3de73babd4d65a4dca5267ed7aae4460bfe58ae3d7c00465f");
    expect_refused(&it, wrong);
    ROW("a timestamp that was changed");
    sign(&it, "swordfish", "1765999999");
    it.headers[0].value = STR(NOW_TEXT);
    expect_refused(&it, wrong);
    ROW("the same number, written otherwise");
    sign(&it, "swordfish", NOW_TEXT);
    it.headers[0].value = STR("0" NOW_TEXT);
    expect_refused(&it, wrong);
    EXPECT_INT(it.replays.count, 0);            /* what proved wrong is not remembered */
    world_close(&it);
}

TEST(every_bit_of_a_signature_counts, "proves: A-197")
{
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    for (size_t i = 7; i < 71; i++) {
        sign(&it, "swordfish", NOW_TEXT);
        char *digit = (char *)it.headers[1].value.ptr + i;
        *digit = *digit == '0' ? '1' : '0';
        EXPECT_INT(authenticate(&it), ERR_DENIED);
    }
    world_close(&it);
}

TEST(what_is_no_signature_is_refused_with_the_reason, "proves: A-196")
{
    static const char form[] = "X-Maestro-Signature is not sha256= and 64 hex digits",
                      time_form[] = "X-Maestro-Timestamp is no number of seconds since 1970";
    static const struct { const char *name, *signature, *timestamp, *why; } rows[] = {
        { "no signature", NULL, NOW_TEXT, "the header X-Maestro-Signature is missing" },
        { "no timestamp", "sha256=00", NULL, "the header X-Maestro-Timestamp is missing" },
        { "neither", NULL, NULL, "the header X-Maestro-Signature is missing" },
        { "an empty one", "", NOW_TEXT, form },
        { "too short", "sha256=00", NOW_TEXT, form },
        { "another method", "sha1=0000000000000000000000000000000000000000000000000000000000000000", NOW_TEXT, form },
        { "no hex", "sha256=zz00000000000000000000000000000000000000000000000000000000000000", NOW_TEXT, form },
        { "too long", "sha256=000000000000000000000000000000000000000000000000000000000000000000", NOW_TEXT, form },
        { "no time", "sha256=0000000000000000000000000000000000000000000000000000000000000000", "yesterday", time_form },
        { "a time with a sign", "sha256=0000000000000000000000000000000000000000000000000000000000000000", "-5", time_form },
        { "a time beyond all", "sha256=0000000000000000000000000000000000000000000000000000000000000000", "18446744073709551615",
          time_form },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        world_open(&it, "{\"hmac\":\"hook-secret\"}");
        if (rows[i].signature) header(&it, "X-Maestro-Signature", str_of(rows[i].signature));
        if (rows[i].timestamp) header(&it, "X-Maestro-Timestamp", str_of(rows[i].timestamp));
        expect_refused(&it, rows[i].why);
        world_close(&it);
    }
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    sign(&it, "swordfish", NOW_TEXT);
    header(&it, "X-MAESTRO-SIGNATURE", it.headers[1].value);
    expect_refused(&it, "the header X-Maestro-Signature is there 2 times");
    world_close(&it);
}

TEST(a_signed_request_counts_within_its_window_alone, "proves: A-196")
{
    static const struct { const char *name, *timestamp; int64_t window_ms; const char *why; } rows[] = {
        { "just within", "1765999700", 0, NULL },
        { "a second too old", "1765999699", 0, "the request is 301 s old, and may be 300" },
        { "just as far ahead", "1766000300", 0, NULL },
        { "a second further", "1766000301", 0, "the request is dated 301 s ahead, and may be 300" },
        { "a window of its own", "1765999990", 10000, NULL },
        { "older than that", "1765999989", 10000, "the request is 11 s old, and may be 10" },
        { "from the beginning of time", "0", 0, "the request is 1766000000 s old, and may be 300" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        world_open(&it, "{\"hmac\":\"hook-secret\"}");
        it.subject.window_ms = rows[i].window_ms;
        sign(&it, "swordfish", rows[i].timestamp);
        if (rows[i].why) expect_refused(&it, rows[i].why);
        else EXPECT_OK(authenticate(&it), &it.err);
        world_close(&it);
    }
}

TEST(a_signed_request_is_taken_once, "proves: A-196")
{
    World it;
    world_open(&it, "{\"hmac\":\"hook-secret\"}");
    sign(&it, "swordfish", NOW_TEXT);
    EXPECT_OK(authenticate(&it), &it.err);
    expect_refused(&it, "the request was received before");
    it.request.now_ms += 299 * 1000;
    expect_refused(&it, "the request was received before");
    ROW("to another run");
    it.subject.run_id = it.request.run_id = STR("run-2");
    expect_refused(&it, "the request was received before");
    ROW("when it is too old anyway it is forgotten");
    it.request.now_ms = NOW_MS + 301 * 1000;
    expect_refused(&it, "the request is 301 s old, and may be 300");
    sign(&it, "swordfish", "1766000301");
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_INT(trigger_replays_count(&it.replays, STR("acme")), 1);
    world_close(&it);
}

/* As a digest has it: no two of them are neighbours. */
static ReplayKey key_of(uint32_t number)
{
    uint32_t spread = number * 2654435761u;
    ReplayKey key = { { 0 } };
    memcpy(key.bytes, &spread, sizeof spread);
    memcpy(key.bytes + 8, &number, sizeof number);
    return key;
}

TEST(requests_that_would_have_to_be_forgotten_are_refused_and_those_of_others_are_not, "proves: F-050 F-003")
{
    TriggerReplays replays = { 0 };
    Error err;
    for (uint32_t i = 0; i <= TENANT_REPLAY_COUNT_MAX; i++) {
        ReplayKey key = key_of(i);
        Status status = trigger_replays_add(&replays, STR("acme"), &key, NOW_MS, NOW_MS + i, &err);
        if (status != (i < TENANT_REPLAY_COUNT_MAX ? OK : ERR_LIMIT)) EXPECT_INT(i, -1);
    }
    EXPECT_INT(trigger_replays_count(&replays, STR("acme")), TENANT_REPLAY_COUNT_MAX);
    ROW("another tenant has its own");
    EXPECT_OK(trigger_replays_add(&replays, STR("other"), &(ReplayKey){ { 1 } }, NOW_MS, NOW_MS + 5, &err), &err);
    EXPECT_INT(trigger_replays_add(&replays, STR("other"), &(ReplayKey){ { 1 } }, NOW_MS, NOW_MS + 5, &err), ERR_DENIED);
    ROW("those whose time is over make room");
    EXPECT_OK(trigger_replays_add(&replays, STR("acme"), &(ReplayKey){ { 9 } }, NOW_MS + TENANT_REPLAY_COUNT_MAX / 2, INT64_MAX, &err), &err);
    EXPECT_INT(trigger_replays_count(&replays, STR("acme")), TENANT_REPLAY_COUNT_MAX / 2 + 1);
    ROW("those that are left are found, and no other");
    for (uint32_t i = 0; i < TENANT_REPLAY_COUNT_MAX; i += 999) {
        ReplayKey key = key_of(i);
        Status status = trigger_replays_add(&replays, STR("acme"), &key, NOW_MS + TENANT_REPLAY_COUNT_MAX / 2, INT64_MAX, &err);
        if (status != (i < TENANT_REPLAY_COUNT_MAX / 2 ? OK : ERR_DENIED)) EXPECT_INT(i, -1);
    }
    ROW("nothing is kept of a tenant that nothing is remembered of");
    trigger_replays_forget(&replays, STR("other"), &(ReplayKey){ { 1 } });
    EXPECT_INT(replays.count, 1);
    trigger_replays_deinit(&replays);
}

TEST(a_trigger_that_is_not_signed_has_its_window_too, "proves: F-050 F-048")
{
    static const char *const auths[] = { "{\"api_key\":true}", "{\"policy\":\"let-in\"}" };
    for (size_t i = 0; i < sizeof auths / sizeof *auths; i++) {
        ROW(auths[i]);
        World it;
        world_open(&it, auths[i]);
        it.request.identity = STR("key:acme/k1");
        ROW("a sender who says nothing sends something new each time");
        EXPECT_OK(authenticate(&it), &it.err);
        EXPECT_OK(authenticate(&it), &it.err);
        EXPECT_INT(it.proof.id.len, 0);
        ROW("a timestamp that is too old, and one that is too far ahead");
        header(&it, "X-Maestro-Timestamp", STR("1765999699"));
        expect_refused(&it, "the request is 301 s old, and may be 300");
        it.headers[0].value = STR("1766000301");
        expect_refused(&it, "the request is dated 301 s ahead, and may be 300");
        ROW("the same body of the same time");
        it.headers[0].value = STR(NOW_TEXT);
        EXPECT_OK(authenticate(&it), &it.err);
        EXPECT(it.proof.id.len > 0);
        expect_refused(&it, "the request was received before");
        it.request.body = STR("{\"ok\":false}");
        EXPECT_OK(authenticate(&it), &it.err);
        ROW("the same delivery, whatever its body");
        header(&it, "x-github-delivery", STR("d-1"));
        EXPECT_OK(authenticate(&it), &it.err);
        it.request.body = STR("{}");
        expect_refused(&it, "the request was received before");
        ROW("of another trigger it is another");
        it.subject.trigger = STR("denial");
        EXPECT_OK(authenticate(&it), &it.err);
        ROW("with an Idempotency-Key it is the first, come again: who takes it decides");
        header(&it, "Idempotency-Key", STR("k"));
        EXPECT_OK(authenticate(&it), &it.err);
        Str id = it.proof.id;
        EXPECT_OK(authenticate(&it), &it.err);
        EXPECT(id.len > 0);
        EXPECT_STR(it.proof.id, id);
        it.headers[0].value = STR("1765999699");
        expect_refused(&it, "the request is 301 s old, and may be 300");
        world_close(&it);
    }
}

TEST(a_secret_that_is_not_set_lets_nobody_in, "proves: A-196")
{
    static const struct { const char *name, *auth, *tenant, *why; } rows[] = {
        { "a named one", "{\"hmac\":\"nothing\"}", "acme", "tenant 'acme' has no secret 'nothing': maestro secret set nothing" },
        { "of another tenant", "{\"hmac\":\"hook-secret\"}", "other",
          "tenant 'other' has no secret 'hook-secret': maestro secret set hook-secret" },
        { "of a definition", "{\"hmac_of_definition\":true}", "other",
          "tenant 'other' has no secret 'definition/orders': maestro secret set definition/orders" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        world_open(&it, rows[i].auth);
        it.subject.tenant = str_of(rows[i].tenant);
        sign(&it, "swordfish", NOW_TEXT);
        expect_refused(&it, rows[i].why);
        EXPECT_INT(it.err.status, ERR_DENIED);
        world_close(&it);
    }
    World it;
    world_open(&it, "{\"hmac\":\"busy\"}");
    sign(&it, "swordfish", NOW_TEXT);
    EXPECT_INT(authenticate(&it), ERR_UNAVAILABLE);     /* that is no answer about the sender */
    it.authority.secret = NULL;
    expect_refused(&it, "this process has no secrets");
    world_close(&it);
}

/* --- tokens ------------------------------------------------------------------------------------------------------------ */

TEST(a_bearer_token_opens_its_trigger_of_its_run, "proves: A-196 A-198 A-211")
{
    static const char wrong[] = "the token is not that of this trigger of this run",
                      form[] = "Authorization is not Bearer and 43 characters";
    World it;
    TriggerToken token;
    world_open(&it, "{\"bearer\":true}");
    EXPECT_OK(make_token(NULL, STR("acme"), STR("run-1"), STR("approval"), &token, &it.err), &it.err);
    header(&it, "authorization", arena_format(&it.arena, "Bearer %s", token.text));
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_STR(it.proof.identity, STR("bearer"));
    EXPECT_STR(it.proof.id, STR(""));
    ROW("another run");
    it.subject.run_id = STR("run-2");
    expect_refused(&it, wrong);
    ROW("another trigger");
    it.subject.run_id = STR("run-1");
    it.subject.trigger = STR("other");
    expect_refused(&it, wrong);
    ROW("one character less, another scheme, nothing");
    it.subject.trigger = STR("approval");
    it.headers[0].value.len--;
    expect_refused(&it, form);
    it.headers[0].value = arena_format(&it.arena, "Basic  %s", token.text);
    expect_refused(&it, form);
    it.headers[0].value = STR("Bearer ");
    expect_refused(&it, form);
    ROW("without the header");
    it.request.header_count = 0;
    expect_refused(&it, "the header Authorization is missing");
    ROW("a tenant without a key");
    it.request.header_count = 1;
    it.headers[0].value = arena_format(&it.arena, "Bearer %s", token.text);
    it.subject.tenant = STR("other");
    expect_refused(&it, "tenant 'other' has no key yet");
    world_close(&it);
}

/* --- whom the caller knows, and policies ------------------------------------------------------------------------------- */

TEST(with_api_credentials_the_caller_says_who_it_is, "proves: A-199")
{
    World it;
    world_open(&it, "{\"api_key\":true}");
    expect_refused(&it, "the sender has shown no API credentials");
    it.request.identity = STR("key:ci");
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_STR(it.proof.identity, STR("key:ci"));
    world_close(&it);
}

TEST(a_policy_is_a_method_of_its_own, "proves: A-200")
{
    World it;
    world_open(&it, "{\"policy\":\"let-in\"}");
    header(&it, "X-Team", STR("ops"));
    header(&it, "x-team", STR("dev"));
    EXPECT_OK(authenticate(&it), &it.err);
    EXPECT_STR(it.proof.identity, STR("policy:let-in"));
    EXPECT_STR(str_of(it.asked.text),
               STR("{\"body\":{\"digest\":\"sha256:4062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f93\",\"size\":11},"
                   "\"headers\":{\"x-team\":\"ops,dev\"},\"hook\":\"trigger\",\"run\":\"run-1\",\"source\":\"10.0.0.7\","
                   "\"tenant\":\"acme\",\"trigger\":\"approval\",\"workflow\":\"orders\"}"));
    ROW("another address");
    it.request.source = STR("10.0.0.8");
    expect_refused(&it, "let-in: from nowhere");
    ROW("another policy");
    EXPECT_OK(json_parse(&it.arena, STR("{\"policy\":\"keep-out\"}"), &it.subject.auth, &it.err), &it.err);
    it.request.source = STR("10.0.0.7");
    expect_refused(&it, "keep-out: from nowhere");
    ROW("no policies");
    it.authority.permits = NULL;
    expect_refused(&it, "this process has no policies");
    world_close(&it);
}

/* --- bodies ------------------------------------------------------------------------------------------------------------ */

TEST(a_body_of_whoever_is_refused_is_gone_through, "proves: A-196 F-003")
{
    static const struct { const char *name, *auth; bool is_signed, is_compared; } rows[] = {
        { "a signature that is not right", "{\"hmac_of_definition\":true}", true, true },
        { "no signature", "{\"hmac\":\"hook-secret\"}", false, false },
        { "a secret that is not set", "{\"hmac\":\"none\"}", true, false }, { "a policy", "{\"policy\":\"keep-out\"}", false, true },
        { "no token", "{\"bearer\":true}", false, false }, { "no credentials", "{\"api_key\":true}", true, false },
        { "no such trigger", "{}", true, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        bool is_passed = false;
        world_open(&it, rows[i].auth);
        if (rows[i].is_signed) sign(&it, "swordfish", NOW_TEXT);
        it.request.is_passed = &is_passed;
        EXPECT_INT(authenticate(&it), ERR_DENIED);
        EXPECT_INT(is_passed, rows[i].is_compared);
        trigger_waste(&it.request);
        EXPECT(is_passed);
        world_close(&it);
    }
}

TEST(without_a_declared_method_nobody_is_let_in, "proves: A-196")
{
    static const struct { const char *name, *auth, *why; } rows[] = {
        { "null", "null", "the trigger 'approval' declares no authentication" },
        { "nothing", "{}", "the trigger 'approval' declares no authentication" },
        { "two", "{\"bearer\":true,\"api_key\":true}", "the trigger 'approval' declares no authentication" },
        { "an unknown one", "{\"none\":true}", "there is no authentication 'none'" },
        { "hmac without a name", "{\"hmac\":true}", "'hmac' names no secret" },
        { "a policy without a name", "{\"policy\":1}", "'policy' names no policy" },
        { "bearer that is off", "{\"bearer\":false}", "this process knows no bearer tokens" },
        { "api_key that is off", "{\"api_key\":false}", "the sender has shown no API credentials" },
        { "the definition's that is off", "{\"hmac_of_definition\":false}", "the trigger declares no authentication" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        World it;
        world_open(&it, rows[i].auth);
        it.request.identity = STR("key:ci");
        expect_refused(&it, rows[i].why);
        world_close(&it);
    }
    World it;
    world_open(&it, "{\"api_key\":true}");
    it.request.identity = STR("key:ci");
    it.request.header_count = TRIGGER_HEADER_COUNT_MAX + 1;
    EXPECT_INT(authenticate(&it), ERR_LIMIT);
    it.request.header_count = 0;
    it.request.body.len = TRIGGER_BODY_SIZE_MAX + 1;
    EXPECT_INT(authenticate(&it), ERR_LIMIT);
    world_close(&it);
}
