#include "lang/secret.h"

#include "harness/test.h"
#include "value/json.h"

typedef struct Found {
    const char *what;
    uint32_t line, count;
} Found;

static void note_found(void *context, const Node *at, const char *what)
{
    Found *found = context;
    if (found->count++) return;
    found->what = what;
    found->line = at->line;
}

static Found scan(const char *text, uint32_t *out_broker_count)
{
    Arena arena;
    Node *root;
    Error err;
    Found found = { 0 };
    SecretScan scan = { .found = note_found, .context = &found };
    arena_init(&arena, SIZE_MAX);
    if (EXPECT_OK(node_read(&arena, str_of(text), TEXT_YAML, &root, &err), &err)) secret_scan(&scan, root);
    if (out_broker_count) *out_broker_count = scan.broker_count;
    arena_deinit(&arena);
    return found;
}

TEST(a_secret_is_known_by_its_key_or_by_its_form, "proves: F-193")
{
    static const struct {
        const char *name, *text, *want;
    } rows[] = {
        { "a password", "input: { password: hunter2 }", "a literal password" },
        { "in any spelling", "input: { dbPassword: hunter2 }", "a literal password" },
        { "and any case", "input: { DB-PASSWORD: hunter2 }", "a literal password" },
        { "deep below", "input: { a: [{ b: { client_secret: x } }] }", "a literal secret" },
        { "in a list", "input: { token: [x] }", "a literal token" },
        { "an API key", "properties: { apiKey: x }", "a literal API key" },
        { "a secret access key", "payload: { aws_secret_access_key: x }", "a literal access key" },
        { "a flag", "args: [--token, abc]", "a literal token" },
        { "a flag with its value", "args: [\"--token=abc\"]", "a literal token" },
        { "an environment", "input: { env: [\"PGPASSWORD=x\", \"DB_PASSWORD=x\"] }", "a literal password" },
        { "a parameter", "input: { token: \"${params.t}\" }", "a secret that does not come from the broker" },
        { "a payload", "input: { token: \"${commit}\" }", "a secret that does not come from the broker" },
        { "a private key", "description: |\n  -----BEGIN OPENSSH PRIVATE KEY-----\n  b3BlbnNzaA", "a private key" },
        { "an AWS key", "log: \"using AKIAIOSFODNN7EXAMPLE\"", "an AWS access key" },
        { "a GitHub token", "input: { x: ghp_0123456789abcdefghijABCDEFGHIJ012345 }", "a GitHub token" },
        { "a bearer token", "input: { header: \"Authorization: Bearer abcdef0123456789abcdef\" }", "a bearer token" },
        { "a web token", "input: { x: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc }", "a JSON Web Token" },
        { "a URL", "input: { url: \"postgres://app:hunter2@db/x\" }", "a URL with a password" },
        { "a default", "params: [{ name: password, type: string, default: x }]", "a literal password" },

        { "the broker's", "input: { password: \"${secrets.DB}\" }", NULL },
        { "the broker's in a header", "input: { authorization: \"Bearer ${secrets.T}\" }", NULL },
        { "an output", "input: { token: \"${outputs.login.token}\" }", NULL },
        { "a name of a secret", "input: { password_file: /run/pw, token_url: \"https://x\", secret_name: db }", NULL },
        { "a page", "input: { next_page_token: abc, max_tokens: 5, tokens: many }", NULL },
        { "a number", "input: { token: 5 }", NULL },
        { "nothing", "input: { password: \"\" }", NULL },
        { "words of the language",
          "auth: { hmac: order-secret }\njobs: { token: { needs: [secret] } }\nwhen: payload.token == \"x\"", NULL },
        { "a schema", "input_schema: { properties: { password: { type: string } } }", NULL },
        { "prose", "description: \"Bearer authentication of the Basic authentication kind: AKIA is a prefix\"", NULL },
        { "a URL without one", "input: { url: \"https://app@db:5432/x:y@z\", v: \"http://a:${secrets.P}@h/\" }", NULL },
        { "a public key", "description: \"-----BEGIN PUBLIC KEY-----\"", NULL },
        { "part of a word", "description: XAKIAIOSFODNN7EXAMPLE", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        Found found = scan(rows[i].text, NULL);
        EXPECT_STR(str_of(found.what ? found.what : "(none)"), str_of(rows[i].want ? rows[i].want : "(none)"));
    }
    ROW(NULL);
}

TEST(secrets_are_found_where_they_stand_and_the_brokers_are_counted, "")
{
    uint32_t broker;
    Found found = scan(
        "a: 1\ninput:\n  user: me\n  password: x\n  token: \"${secrets.A}\"\n  key: \"${secrets.B}-${secrets.C}\"\nargs: [--secret, y]\n",
        &broker);
    EXPECT_INT(found.count, 2);
    EXPECT_INT(found.line, 4);
    EXPECT_INT(broker, 2);
}

TEST(a_secret_in_a_value_of_the_configuration_is_found, "")
{
    static const struct { const char *text, *want; } rows[] = {
        { "{\"settings\":{\"api_key\":\"x\"}}", "a literal API key" },
        { "{\"command\":[\"run\",\"--password\",\"x\"]}", "a literal password" },
        { "{\"url\":\"https://a:b@c/\"}", "a URL with a password" },
        { "{\"settings\":{\"env\":[\"TOKEN=x\"]}}", "a literal token" },
        { "{\"command\":[\"run\",\"--password\",\"${secrets.DB}\"],\"settings\":{\"n\":1,\"b\":null}}", NULL },
    };
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Value value;
        Error err;
        ROW(rows[i].text);
        if (!EXPECT_OK(json_parse(&arena, str_of(rows[i].text), &value, &err), &err)) continue;
        const char *what = secret_in_value(value);
        EXPECT_STR(str_of(what ? what : "(none)"), str_of(rows[i].want ? rows[i].want : "(none)"));
    }
    ROW(NULL);
    arena_deinit(&arena);
}
