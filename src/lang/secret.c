#include "lang/secret.h"

#include "lang/condition.h"
#include "lang/template.h"

#define KEY_SIZE_MAX 128u           /* of a key, from its end: what it names stands there */

/* --- texts that look like secrets -------------------------------------------------------------------------------- */

typedef enum Letters { LETTERS_UPPER, LETTERS_WORD, LETTERS_TOKEN } Letters;

/* A prefix that only such texts have, and how many characters of a kind follow at least; with a digit among them where
 * the prefix is a word of prose too. */
static const struct { Str prefix; Letters letters; size_t count_min; const char *what; bool needs_digit; } forms[] = {
    { STR_INIT("AKIA"), LETTERS_UPPER, 16, "an AWS access key" },
    { STR_INIT("ASIA"), LETTERS_UPPER, 16, "an AWS access key" },
    { STR_INIT("ghp_"), LETTERS_WORD, 30, "a GitHub token" },
    { STR_INIT("gho_"), LETTERS_WORD, 30, "a GitHub token" },
    { STR_INIT("ghs_"), LETTERS_WORD, 30, "a GitHub token" },
    { STR_INIT("ghu_"), LETTERS_WORD, 30, "a GitHub token" },
    { STR_INIT("github_pat_"), LETTERS_WORD, 22, "a GitHub token" },
    { STR_INIT("glpat-"), LETTERS_TOKEN, 20, "a GitLab token" },
    { STR_INIT("xoxb-"), LETTERS_TOKEN, 10, "a Slack token" },
    { STR_INIT("xoxp-"), LETTERS_TOKEN, 10, "a Slack token" },
    { STR_INIT("xoxa-"), LETTERS_TOKEN, 10, "a Slack token" },
    { STR_INIT("sk_live_"), LETTERS_WORD, 16, "a Stripe key" },
    { STR_INIT("rk_live_"), LETTERS_WORD, 16, "a Stripe key" },
    { STR_INIT("AIza"), LETTERS_TOKEN, 35, "a Google API key" },
    { STR_INIT("Bearer "), LETTERS_TOKEN, 16, "a bearer token", true },
    { STR_INIT("bearer "), LETTERS_TOKEN, 16, "a bearer token", true },
    { STR_INIT("Basic "), LETTERS_TOKEN, 12, "basic credentials", true },
    { STR_INIT("eyJ"), LETTERS_TOKEN, 40, "a JSON Web Token" },
};

static bool is_letter(char c, Letters letters)
{
    bool is_upper = ascii_is_upper(c) || ascii_is_digit(c);
    if (letters == LETTERS_UPPER) return is_upper;
    if (is_upper || ascii_is_lower(c) || c == '_') return true;
    return letters == LETTERS_TOKEN && (c == '-' || c == '.' || c == '+' || c == '/' || c == '=' || c == '~');
}

static bool form_at(Str text, size_t at, size_t form)
{
    Str rest = str_slice(text, at, text.len);
    if (!str_starts(rest, forms[form].prefix)) return false;
    if (at && (ascii_is_alnum(text.ptr[at - 1]) || text.ptr[at - 1] == '_')) return false; /* in the middle of a word */
    size_t end = forms[form].prefix.len;
    bool has_digit = false;
    for (; end < rest.len && is_letter(rest.ptr[end], forms[form].letters); end++)
        has_digit |= ascii_is_digit(rest.ptr[end]);
    return end - forms[form].prefix.len >= forms[form].count_min && (has_digit || !forms[form].needs_digit);
}

/* scheme://user:password@host, the password being no ${path}. */
static bool has_url_password(Str text, size_t at)
{
    Str rest = str_slice(text, at, text.len);
    if (!str_starts(rest, STR("://"))) return false;
    size_t colon = 0;
    for (size_t i = 3; i < rest.len; i++) {
        char c = rest.ptr[i];
        if (c == '@') return colon && i > colon + 1 && rest.ptr[colon + 1] != '$';
        if (c == ':' && !colon) colon = i;
        if (c == '/' || c == '?' || c == '#' || ascii_is_space(c) || c == '"' || c == '\'') return false;
    }
    return false;
}

static bool has_private_key(Str text, size_t at)
{
    Str rest = str_slice(text, at, text.len);
    if (!str_starts(rest, STR("-----BEGIN "))) return false;
    Str line = str_slice(rest, 0, str_find(rest, '\n', 0));
    for (size_t i = 0; i + 11 <= line.len; i++)
        if (str_starts(str_slice(line, i, line.len), STR("PRIVATE KEY"))) return true;
    return false;
}

static const char *form_in(Str text)
{
    for (size_t at = 0; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == '-' && has_private_key(text, at)) return "a private key";
        if (c == ':' && has_url_password(text, at)) return "a URL with a password";
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
            if (forms[f].prefix.ptr[0] == c && form_at(text, at, f)) return forms[f].what;
    }
    return NULL;
}

/* --- keys that name secrets -------------------------------------------------------------------------------------- */

/* As the last words of a key. A key that goes on after them (token_url, password_file, secret_name) names something else. */
static const struct { Str words; const char *what; } names[] = {
    { STR_INIT("password"), "a literal password" },        { STR_INIT("passwd"), "a literal password" },
    { STR_INIT("pwd"), "a literal password" },             { STR_INIT("passphrase"), "a literal passphrase" },
    { STR_INIT("passcode"), "a literal passcode" },        { STR_INIT("secret"), "a literal secret" },
    { STR_INIT("client_secret"), "a literal secret" },     { STR_INIT("token"), "a literal token" },
    { STR_INIT("apikey"), "a literal API key" },           { STR_INIT("api_key"), "a literal API key" },
    { STR_INIT("private_key"), "a literal private key" },  { STR_INIT("privatekey"), "a literal private key" },
    { STR_INIT("access_key"), "a literal access key" },    { STR_INIT("secret_key"), "a literal secret key" },
    { STR_INIT("signing_key"), "a literal signing key" },  { STR_INIT("encryption_key"), "a literal encryption key" },
    { STR_INIT("account_key"), "a literal account key" },  { STR_INIT("credential"), "a literal credential" },
    { STR_INIT("credentials"), "a literal credential" },   { STR_INIT("authorization"), "a literal authorization" },
};
/* Tokens that protect nothing. */
static const Str harmless[] = { STR_INIT("page_token"), STR_INIT("next_token"), STR_INIT("continuation_token"),
                                STR_INIT("cancellation_token") };

/* The end of a key as lower-case words with _ between them: clientSecret and CLIENT-SECRET are client_secret. */
static Str key_words(Str key, char storage[2 * KEY_SIZE_MAX])
{
    Buf words = buf_on(storage, 2 * KEY_SIZE_MAX);
    Str end = str_slice(key, key.len > KEY_SIZE_MAX ? key.len - KEY_SIZE_MAX : 0, key.len);
    for (size_t i = 0; i < end.len; i++) {
        char c = end.ptr[i];
        bool begins = i && ascii_is_upper(c) && ascii_is_lower(end.ptr[i - 1]);
        if (begins || !ascii_is_alnum(c)) buf_char(&words, '_');
        if (ascii_is_alnum(c)) buf_char(&words, ascii_to_lower(c));
    }
    return buf_peek(&words);
}

static bool ends_with_words(Str text, Str words)
{
    return str_ends(text, words) && (text.len == words.len || text.ptr[text.len - words.len - 1] == '_');
}

static const char *key_names(Str key)
{
    char storage[2 * KEY_SIZE_MAX];
    Str words = key_words(key, storage);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (ends_with_words(words, harmless[i])) return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ends_with_words(words, names[i].words)) return names[i].what;
    return NULL;
}

/* --- texts ------------------------------------------------------------------------------------------------------- */

/* Which roots the ${paths} of a text begin with; a bare name is looked up in the payload. */
static unsigned text_roots(Str text)
{
    TemplateScan scan = { .text = text };
    Path path;
    Error err;
    unsigned roots = 0;
    for (TemplateStep step; (step = template_next(&scan, &path, &err)) != TEMPLATE_END;) {
        Root root = step == TEMPLATE_PATH ? root_find(path.parts[0]) : (Root)0;
        roots |= root ? (unsigned)root : (unsigned)ROOT_PAYLOAD;
    }
    return roots;
}

/* A text under a key; an empty key stands for none. */
static const char *secret_in_text(Str key, Str text)
{
    const char *what = form_in(text);
    if (what || key.len == 0 || text.len == 0) return what;
    what = key_names(key);
    if (!what) return NULL;
    unsigned roots = text_roots(text);
    if (roots & ROOT_SECRETS) return NULL;
    if (roots & (ROOT_PARAMS | ROOT_PAYLOAD)) return "a secret that does not come from the broker";
    return roots ? NULL : what;
}

/* --password=x, or PASSWORD=x in an environment: the part behind the sign under the name before it. */
static const char *secret_in_argument(Str text)
{
    size_t sign = str_find(text, '=', 0);
    if (sign == text.len || sign == 0) return NULL;
    for (size_t i = 0; i < sign; i++)
        if (!ascii_is_alnum(text.ptr[i]) && text.ptr[i] != '-' && text.ptr[i] != '_' && text.ptr[i] != '.') return NULL;
    return secret_in_text(str_slice(text, 0, sign), str_slice(text, sign + 1, text.len));
}

/* The name that a flag such as --password gives to the argument behind it; empty where it is none. */
static Str flag_name(Str text)
{
    size_t dashes = 0;
    while (dashes < text.len && text.ptr[dashes] == '-') dashes++;
    return dashes && str_find(text, '=', 0) == text.len ? str_slice(text, dashes, text.len) : STR("");
}

/* --- definitions ------------------------------------------------------------------------------------------------- */

/* The keys under which authors put values of their own; elsewhere a key is a word of the language or a name. */
static bool holds_values(Str key)
{
    static const char *const keys[] = { "input",           "args",    "properties", "default", "default_output",
                                        "default_payload", "payload", "labels",     NULL };
    for (const char *const *known = keys; *known; known++)
        if (str_is_text(key, *known)) return true;
    return false;
}

static void scan_text(SecretScan *scan, Str key, bool is_value, const Node *node)
{
    const char *what = secret_in_text(key, node_text(node));
    if (!what && is_value) what = secret_in_argument(node_text(node));
    if (what) scan->found(scan->context, node, what);
    else if (text_roots(node_text(node)) & ROOT_SECRETS) scan->broker_count++;
}

static void scan_node(SecretScan *scan, Str key, bool is_value, const Node *node);

static void scan_list(SecretScan *scan, Str key, bool is_value, const Node *list)
{
    Str flag = STR("");
    for (uint32_t i = 0; i < list->count; i++) {
        const Node *item = &list->items[i];
        scan_node(scan, flag.len ? flag : key, is_value, item);
        flag = is_value && item->kind == NODE_TEXT ? flag_name(node_text(item)) : STR("");
    }
}

/* A parameter says what it is called in one key, and its default in another. */
static Str default_key(const Node *map)
{
    const Node *name = node_get(map, "name");
    return name && name->kind == NODE_TEXT && node_get(map, "type") ? node_text(name) : STR("");
}

static void scan_map(SecretScan *scan, bool is_value, const Node *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        Str key = node_text(node_key(map, i));
        bool is_default = !is_value && str_is(key, STR("default"));
        if (is_value) scan_node(scan, key, true, node_value(map, i));
        else scan_node(scan, is_default ? default_key(map) : STR(""), holds_values(key), node_value(map, i));
    }
}

static void scan_node(SecretScan *scan, Str key, bool is_value, const Node *node)
{
    if (node->kind == NODE_TEXT) scan_text(scan, key, is_value, node);
    else if (node->kind == NODE_LIST) scan_list(scan, key, is_value, node);
    else if (node->kind == NODE_MAP) scan_map(scan, is_value, node);
}

void secret_scan(SecretScan *scan, const Node *root)
{
    scan_node(scan, STR(""), false, root);
}

/* --- configuration ----------------------------------------------------------------------------------------------- */

static const char *value_secret(Str key, Value value)
{
    const char *what = NULL;
    if (value.kind == VALUE_STRING) {
        what = secret_in_text(key, value_text(value));
        return what ? what : secret_in_argument(value_text(value));
    }
    Str flag = STR("");
    for (uint32_t i = 0; value.kind == VALUE_ARRAY && !what && i < value.count; i++) {
        what = value_secret(flag.len ? flag : key, value.items[i]);
        flag = value.items[i].kind == VALUE_STRING ? flag_name(value_text(value.items[i])) : STR("");
    }
    for (uint32_t i = 0; value.kind == VALUE_OBJECT && !what && i < value.count; i++)
        what = value_secret(value_text(value.members[i].key), value.members[i].value);
    return what;
}

const char *secret_in_value(Value value)
{
    return value_secret(STR(""), value);
}
