/* openapi.c - the table of routes as a document: OpenAPI 3.1. Schemas are those of schemas.json. */
#include <string.h>

#include "api/openapi_schemas.h"
#include "api/route.h"
#include "base/check.h"
#include "value/json.h"

static const char *const method_words[] = { "get", "post", "put", "delete" };

#define TIME_SCHEMA "{\"type\":\"string\",\"format\":\"date-time\"}"
#define NAME_SCHEMA "{\"type\":\"string\",\"minLength\":1}"

/* What each name of a query is; of one route, where it is something else there. */
typedef struct Parameter { const char *name, *schema, *doc, *route; bool is_required; } Parameter;
static const Parameter parameters[] = {
    { "namespace", NAME_SCHEMA, "the tenant; without, all that the key may see", "executions", false },
    { "workflowId", NAME_SCHEMA, "the workflow", "executions", false },
    { "workflowId", NAME_SCHEMA, "the workflow", "override_remove", true },
    { "at", TIME_SCHEMA, "the occurrence", "override_remove", true },
    { "cursor", "{\"type\":\"string\"}", "nextCursor of the page before" },
    { "stepIndex", "{\"type\":\"integer\",\"minimum\":0}", "the index of one step run: its lines alone" },
    { "limit", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":500}", "how many a page has" },
    { "version", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":4294967295}", "of the revision" },
    { "wait", "{\"type\":\"string\",\"pattern\":\"^0*(([12]?[0-9]|30)s?|([12]?[0-9]{1,4}|30000)ms)$\"}",
      "how long to wait at most: 500ms, 5s or a number of seconds, up to 30 s" },
    { "namespace", "{\"type\":\"string\"}", "the tenant; without, or empty, that of the key" },
    { "state", "{\"enum\":[\"queued\",\"dispatched\",\"running\",\"paused\",\"waiting-signal\",\"succeeded\",\"failed\",\"compensating\","
               "\"compensated\",\"compensation-failed\",\"cancelled\",\"PENDING\",\"RUNNING\",\"COMPLETED\",\"FAILED\",\"CANCELLED\",\"pending\","
               "\"completed\"]}", "of the execution: a word of its state, or of its status in either case; of both, that state" },
    { "workflowId", "{\"type\":\"string\"}", "the workflow" },
    { "action", "{\"enum\":[\"validate\",\"plan\",\"run\"]}", "what to do with it; by default run" },
    { "from", TIME_SCHEMA, "after when; by default now" },
    { "count", "{\"type\":\"integer\",\"minimum\":0,\"maximum\":100}", "how many times of each" },
    { "node", "{\"type\":\"string\"}", "a node of the graph: only what it came from, or what came of it" },
    { "direction", "{\"enum\":[\"causes\",\"effects\"]}", "from that node; by default causes" },
    { "at", "{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^0*[1-9][0-9]*$\"}," TIME_SCHEMA "]}",
      "the number of an event, from 1, or a time such as 2026-11-16T01:25:00.000Z" },
    { "attempts", "{\"type\":\"string\",\"pattern\":\"^0*[1-9][0-9]*,0*[1-9][0-9]*$\"}", "two attempts of a step; by default the last two" },
    { "step", "{\"type\":\"string\"}", "the id or name of the step; by default the last one that was tried twice, or run again by a decision" },
    { "lastEventId", "{\"type\":\"string\"}", "of a stream alone: goes on behind this event, as the header Last-Event-ID does" },
    { "trigger", "{\"type\":\"integer\",\"minimum\":0,\"maximum\":4294967295}",
      "which trigger of the workflow, from 0; needed where it has several schedules" },
    { "reason", "{\"type\":\"string\"}", "why; it is recorded in the ledger" },
    { "with", "{\"type\":\"string\"}", "another execution" },
};

static bool takes_known(const Route *route) { return strstr(route->problems, "304") != NULL; }
static bool takes_event(const Route *route) { return strstr(route->query, "lastEventId") != NULL; }

#define ANY_HEADER "{\"type\":\"string\"}"

/* Headers that a route looks at. */
static const struct { const char *name; bool (*is_taken)(const Route *route); const char *schema, *doc; } headers[] = {
    { "If-Match", route_takes_match, NAME_SCHEMA, "entity tags: it is done only to what has one of them; else 412" },
    { "If-None-Match", takes_known, ANY_HEADER, "entity tags: what has one of them is not sent again; 304" },
    { "If-None-Match", route_takes_new, "{\"const\":\"*\"}", "it is done only where there is nothing of that name; else 412" },
    { "Last-Event-ID", takes_event, ANY_HEADER, "of a stream: goes on behind this one; one that was never sent is a 409" },
};

static Str next_word(Str *words)
{
    size_t end = str_find(*words, ' ', 0);
    Str word = str_slice(*words, 0, end);
    *words = str_slice(*words, end < words->len ? end + 1 : end, words->len);
    return word;
}

static void print_parameter(Buf *out, bool *is_first, Str name, const char *in, const Parameter *parameter)
{
    buf_text(out, *is_first ? "" : ",");
    *is_first = false;
    buf_format(out, "{\"name\":\"%.*s\",\"in\":\"%s\",\"required\":%s,\"description\":", STR_ARG(name), in,
               parameter->is_required ? "true" : "false");
    json_print_string(out, str_of(parameter->doc));
    buf_format(out, ",\"schema\":%s}", parameter->schema);
}

static const Parameter *parameter_of(const Route *route, Str name)
{
    size_t i = 0;
    while (!str_is_text(name, parameters[i].name) || (parameters[i].route && strcmp(parameters[i].route, route->name))) i++;
    return &parameters[i];
}

static void print_parameters(Buf *out, const Route *route)
{
    bool is_first = true;
    Str pattern = str_of(route->pattern), query = str_of(route->query);
    buf_text(out, "\"parameters\":[");
    for (size_t at = str_find(pattern, '{', 0); at < pattern.len; at = str_find(pattern, '{', at + 1)) {
        Str name = str_slice(pattern, at + 1, str_find(pattern, '}', at));
        if (name.ptr[name.len - 1] == '*') name.len--;
        Parameter part = { .schema = NAME_SCHEMA, .doc = "of the address", .is_required = true };
        if (str_is_text(name, "version")) part.schema = "{\"type\":\"integer\",\"minimum\":1}";
        print_parameter(out, &is_first, name, "path", &part);
    }
    for (Str name = next_word(&query); name.len; name = next_word(&query))
        print_parameter(out, &is_first, name, "query", parameter_of(route, name));
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (headers[i].is_taken(route))
            print_parameter(out, &is_first, str_of(headers[i].name), "header", &(Parameter){ .schema = headers[i].schema, .doc = headers[i].doc });
    if (route->method != METHOD_GET && route->access != ROUTE_OPEN) {
        bool is_shown_once = strcmp(route->answer, "KeyCreated") == 0;
        Parameter key = {
            .schema = "{\"type\":\"string\",\"minLength\":1,\"maxLength\":127,\"pattern\":\"^[^\\\\s]+(\\\\s+[^\\\\s]+)*$\"}",
            .doc = is_shown_once ? "at most 127 bytes; sent again with the same key, a request does nothing, and is refused: what was made "
                                   "is shown once"
                                 : "at most 127 bytes; sent again with the same key, a request does nothing, and gets the answer of the first; "
                                   "of an execution, as that stands then",
        };
        print_parameter(out, &is_first, STR("Idempotency-Key"), "header", &key);
    }
    buf_text(out, "],");
}

static void print_content(Buf *out, const char *schema, bool is_stream)
{
    bool is_json = !strchr(schema, '/');
    if (!*schema) return;
    if (is_json)
        buf_format(out, ",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}%s}", schema,
                   is_stream ? ",\"text/event-stream\":{\"schema\":{\"type\":\"string\"}}" : "");
    else buf_format(out, ",\"content\":{\"%s\":{\"schema\":{\"type\":\"string\"}}}", schema);
}

#define HEADER(name, doc) "\"" name "\":{\"required\":true,\"description\":\"" doc "\",\"schema\":{\"type\":\"string\"}}"
#define ID_HEADER HEADER("X-Request-Id", "By which the log knows this request")
#define TAG_HEADER HEADER("ETag", "Its entity tag, for If-Match and If-None-Match")

static void print_problem(Buf *out, Str status)
{
    static const struct { const char *status, *response; } others[] = {
        { "401", "ProblemOfKey" }, { "405", "ProblemOfMethod" }, { "429", "ProblemForNow" }, { "503", "ProblemForNow" },
    };
    const char *response = "Problem";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (str_is_text(status, others[i].status)) response = others[i].response;
    if (str_is_text(status, "204"))
        buf_text(out, ",\"204\":{\"description\":\"A stream that has ended, and of which the caller has had everything\","
                      "\"headers\":{" ID_HEADER "}}");
    else if (str_is_text(status, "304"))
        buf_text(out, ",\"304\":{\"description\":\"It is as the caller knows it\",\"headers\":{" TAG_HEADER "," ID_HEADER "}}");
    else buf_format(out, ",\"%.*s\":{\"$ref\":\"#/components/responses/%s\"}", STR_ARG(status), response);
}

/* What has an address of its own once it was made. */
static bool has_address(const char *schema)
{
    static const char *const schemas[] = { "Revision", "ExecutionDone", "RunbookAnswer", "KeyCreated" };
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (strcmp(schema, schemas[i]) == 0) return true;
    return false;
}

/* What every answer of that status has beside its body. */
static void print_headers(Buf *out, const Route *route, unsigned status)
{
    bool has_tag = strstr(route->problems, "304") || strcmp(route->answer, "Revision") == 0, has_place = status == 201 && has_address(route->answer);
    buf_format(out, ",\"headers\":{" ID_HEADER "%s%s}", has_tag ? "," TAG_HEADER : "",
               has_place ? "," HEADER("Location", "The address of what was made") : "");
}

/* Those that the route has not among its own. */
static void print_problems(Buf *out, const Route *route, Str statuses)
{
    for (Str status = next_word(&statuses); status.len; status = next_word(&statuses)) {
        bool is_own = false;
        Str own = str_of(route->problems);
        for (Str word = next_word(&own); word.len; word = next_word(&own)) is_own |= str_is(word, status);
        if (!is_own) print_problem(out, status);
    }
}

static void print_answers(Buf *out, const Route *route)
{
    Str own = str_of(route->problems);
    buf_format(out, "\"responses\":{\"%u\":{\"description\":\"Done\"", route->status);
    print_headers(out, route, route->status);
    print_content(out, route->answer, strstr(route->query, "lastEventId") != NULL);
    buf_char(out, '}');
    /* What is there already is answered as it is. */
    if (route->status == 201) {
        buf_text(out, ",\"200\":{\"description\":\"It was there already\"");
        print_headers(out, route, 200);
        print_content(out, route->answer, /* is_stream= */ false);
        buf_char(out, '}');
    }
    for (Str status = next_word(&own); status.len; status = next_word(&own)) print_problem(out, status);
    /* A head that is no request, is too large, or announces a body that is, and a server that is full, are refused whatever is asked for; and a store
     * that contradicts itself is told by whatever reads it. */
    print_problems(out, route, STR("400 405 413 431 500 503"));
    if (route->access != ROUTE_OPEN) print_problems(out, route, STR("401 403 429"));
    if (route->method != METHOD_GET) print_problems(out, route, STR("415"));
    buf_text(out, "}");
}

/* Whether nothing, which is read as an object without members, is less than that. */
static bool has_needs(Value schemas, Value schema)
{
    static const char *const words[] = { "oneOf", "anyOf" };
    const Value *needs = value_get_text(schema, "required"), *named = value_get_text(schema, "$ref");
    if (named) {
        Str path = value_text(*named);
        return has_needs(schemas, *value_get(schemas, str_slice(path, sizeof "#/components/schemas/" - 1, path.len)));
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const Value *choice = value_get_text(schema, words[i]);
        bool have_all = choice;
        for (uint32_t k = 0; choice && k < choice->count; k++) have_all &= has_needs(schemas, choice->items[k]);
        if (have_all) return true;
    }
    return needs && needs->count;
}

static void print_body(Buf *out, Value schemas, const Route *route)
{
    if (!*route->body) return;
    bool is_definition = strcmp(route->body, "Definition") == 0;
    bool is_needed = is_definition || has_needs(schemas, *value_get_text(schemas, route->body));
    buf_format(out, "\"requestBody\":{\"required\":%s", is_needed ? "true" : "false");
    if (is_definition)
        buf_text(out, ",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Definition\"}},"
                      "\"application/yaml\":{\"schema\":{\"type\":\"string\"}}}");
    else print_content(out, route->body, /* is_stream= */ false);
    buf_text(out, "},");
}

/* What holds for it as for others of its kind: who may ask, and how its answers are to be read. */
static void print_description(Buf *out, const Route *route)
{
    char storage[512];
    Buf text = buf_on(storage, sizeof storage);
    buf_format(&text, "%s.", route->summary);
    if (route->access == ROUTE_OPEN) buf_text(&text, " No key is needed.");
    else if (route->access == ROUTE_TOKEN) buf_text(&text, " The token of an attempt is the only credential, and is looked at before the body is.");
    else if (route->access == ROUTE_TRIGGER) buf_text(&text, " Who may ask is said by the trigger itself; a key counts where one is sent.");
    else if (*route->verb) buf_format(&text, " The key has to be allowed `%s`.", route->verb);
    if (route->method == METHOD_GET) buf_text(&text, " HEAD gets the same head, and no body.");
    if (strstr(route->query, "cursor")) buf_text(&text, " The answer is a page; nextCursor of it leads to the next one.");
    if (strstr(route->query, "wait")) buf_text(&text, " With wait, the answer may be a while in coming.");
    if (route_takes_new(route)) buf_text(&text, " With If-None-Match: * it is done only where there is nothing of that name.");
    if (route_takes_match(route)) buf_text(&text, " With If-Match it is done only to what the caller has seen.");
    if (strstr(route->problems, "304")) buf_text(&text, " With If-None-Match, what the caller knows already is not sent again.");
    CHECK(!buf_overflowed(&text));
    buf_text(out, "\"description\":");
    json_print_string(out, buf_peek(&text));
    buf_char(out, ',');
}

static void print_operation(Buf *out, Value schemas, const Route *route)
{
    buf_format(out, "\"%s\":{\"operationId\":\"%s\",\"summary\":", method_words[route->method], route->name);
    json_print_string(out, str_of(route->summary));
    buf_char(out, ',');
    print_description(out, route);
    if (route->access == ROUTE_OPEN) buf_text(out, "\"security\":[],");
    print_parameters(out, route);
    print_body(out, schemas, route);
    print_answers(out, route);
    buf_char(out, '}');
}

static void print_pattern(Buf *out, const char *pattern)
{
    for (const char *at = pattern; *at; at++)
        if (*at != '*') buf_char(out, *at);
}

void openapi_print(Buf *out)
{
    Arena arena;
    Value components;
    Error err;
    arena_init(&arena, SIZE_MAX);
    CHECK(json_parse(&arena, str_of(OPENAPI_SCHEMAS), &components, &err) == OK);
    buf_text(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Maestro\",\"version\":\"" MAESTRO_VERSION "\",\"description\":"
                  "\"Durable workflows: revisions, executions, events. No text of a body has a character U+0000, but what is in parameters and payloads.\","
                  "\"license\":{\"name\":\"Apache License 2.0\",\"identifier\":\"Apache-2.0\"}},"
                  "\"servers\":[{\"url\":\"/\"}],\"security\":[{\"key\":[]}],\"paths\":{");
    for (uint32_t i = 0; i < route_count; i++) {
        bool is_known = false;
        for (uint32_t k = 0; k < i && !is_known; k++) is_known = strcmp(routes[k].pattern, routes[i].pattern) == 0;
        if (is_known) continue;
        buf_text(out, i ? ",\"" : "\"");
        print_pattern(out, routes[i].pattern);
        buf_text(out, "\":{");
        bool is_first = true;
        for (uint32_t k = i; k < route_count; k++) {
            if (strcmp(routes[k].pattern, routes[i].pattern)) continue;
            if (!is_first) buf_char(out, ',');
            is_first = false;
            print_operation(out, *value_get_text(components, "schemas"), &routes[k]);
        }
        buf_char(out, '}');
    }
    buf_text(out, "},\"components\":");
    buf_text(out, OPENAPI_SCHEMAS);
    buf_text(out, "}");
    arena_deinit(&arena);
}
