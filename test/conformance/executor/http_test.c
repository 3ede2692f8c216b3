/* The built-in runner `http`: the suite, and what is sent and what answers mean. Services are in http_service_test.c. */
#include "exec/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "conformance/executor/http_server.h"
#include "conformance/executor/suite.h"
#include "rego/crypto/hash.h"
#include "value/json.h"

#define BASE "http://127.0.0.1:@PORT"

/* --- the subject ------------------------------------------------------------------------------------------------- */

static Status open_http(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    HttpOptions options = { .name = STR("http"), .sink = sink, .capacity = capacity };
    return http_executor_open(&options, out_executor, err);
}

#define GET(path) { "http", NULL, "{\"url\":\"" BASE path "\"}" }

static const Subject http = {
    .name = "http", .open = open_http, .before = http_server_start, .after = http_server_stop, .port = &http_server_port,
    .works = { [WORK_SUCCEEDS] = GET("/ok"), [WORK_FAILS_TRANSIENT] = GET("/503"), [WORK_FAILS_PERMANENT] = GET("/404"),
               [WORK_FAILS_INPUT] = { "http", NULL, "{}" }, [WORK_TAKES_LONG] = GET("/hold") },
};
EXECUTOR_CASES(http)

TEST(http_statuses_have_their_class, "")
{
    static const struct { Work work; const char *name; Cause cause; } cases[] = {
        { GET("/408"), "408", CAUSE_TRANSIENT }, { GET("/425"), "425", CAUSE_TRANSIENT }, { GET("/429"), "429", CAUSE_TRANSIENT },
        { GET("/500"), "500", CAUSE_TRANSIENT }, { GET("/503"), "503", CAUSE_TRANSIENT }, { GET("/403"), "403", CAUSE_PERMANENT },
        { GET("/404"), "404", CAUSE_PERMANENT }, { GET("/304"), "304", CAUSE_PERMANENT }, { GET("/empty"), "204", CAUSE_NONE },
        { GET("/problem"), "422", CAUSE_INPUT_INVALID }, { GET("/moved"), "a redirect", CAUSE_NONE },
        { GET("/circle"), "too many redirects", CAUSE_PERMANENT }, { GET("/file"), "a redirect to a file", CAUSE_PERMANENT },
        { GET("/drop"), "no answer", CAUSE_TRANSIENT }, { GET("/lie"), "no JSON", CAUSE_OUTPUT_INVALID },
        { GET("/large"), "too large", CAUSE_OUTPUT_INVALID },
        { { "http", NULL, "{\"url\":\"http://127.0.0.1:1/\"}" }, "nobody there", CAUSE_TRANSIENT },
        { { "http", NULL, "{\"url\":\"file:///etc/passwd\"}" }, "no http", CAUSE_INPUT_INVALID },
        { { "http", NULL, "{\"url\":\"" BASE "/ok\",\"method\":\"get it\"}" }, "no method", CAUSE_INPUT_INVALID },
        { { "http", NULL, "{\"url\":\"" BASE "/ok\",\"headers\":{\"X\":\"a\\r\\nY: b\"}}" }, "two headers in one", CAUSE_INPUT_INVALID },
        { { "http", NULL, "{\"url\":\"" BASE "/ok\",\"headers\":{\"X:\":\"a\"}}" }, "a name that is none", CAUSE_INPUT_INVALID },
        { { "http", NULL, "{\"url\":\"" BASE "/ok\",\"headers\":[1]}" }, "no headers", CAUSE_INPUT_INVALID },
    };
    Stand stand;
    if (!stand_open(&stand, &http, 4)) return;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        EXPECT(stand_execute(&stand, i, cases[i].work));
        if (!EXPECT(stand_await(&stand, i + 1, 0))) break;
        EXPECT_INT(stand_report(&stand, i)->cause, cases[i].cause);
    }
    stand_take_down(&stand);
}

TEST(http_answer_has_status_headers_and_a_body_by_its_type, "")
{
    static const struct { const char *name; Work work; const char *status, *body; } cases[] = {
        { "JSON", GET("/ok"), "200", "{\"answer\":42}" }, { "text", GET("/text"), "200", "\"plain\"" },
        { "bytes", GET("/bytes"), "200", "{\"base64\":\"//4=\"}" }, { "nothing", GET("/empty"), "204", "null" },
        { "details of a failure", GET("/problem"), "422", "{\"title\":\"no\"}" },
    };
    Stand stand;
    if (!stand_open(&stand, &http, 4)) return;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        EXPECT(stand_execute(&stand, i, cases[i].work));
        if (!EXPECT(stand_await(&stand, i + 1, 0))) break;
        Value output = stand_report(&stand, i)->output;
        const Value *status = value_get_text(output, "status"), *body = value_get_text(output, "body");
        if (!EXPECT(status && body)) continue;
        EXPECT_STR(stand_json(&stand, *status), str_of(cases[i].status));
        EXPECT_STR(stand_json(&stand, *body), str_of(cases[i].body));
    }
    const Value *headers = value_get_text(stand_report(&stand, 0)->output, "headers");
    if (EXPECT(headers != NULL)) EXPECT_STR(value_get_string(*headers, "x-two", STR("")), STR("a, b"));
    stand_take_down(&stand);
}

static Str echoed(Stand *stand, Work work)
{
    uint32_t number = stand->report_count;
    EXPECT(stand_execute(stand, number, work));
    if (!EXPECT(stand_await(stand, number + 1, 0))) return STR("");
    Value output = stand_report(stand, number)->output;
    const Value *body = value_get_text(output, "body");
    return value_get_string(body ? *body : output, "request", STR(""));
}

static bool has(Str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

TEST(http_request_is_sent_as_the_input_says, "")
{
    static const struct { const char *name; Work work; const char *parts[6]; const char *absent; } cases[] = {
        { "a plain one", GET("/echo"), { "GET /echo HTTP/1.1", "Idempotency-Key: key-of-the-step", "traceparent: 00-0af7651916cd43dd" },
          "Content-Type" },
        { "a body that is a value", { "http", NULL, "{\"url\":\"" BASE "/echo\",\"body\":{\"a\":[1]}}" },
          { "POST /echo", "Content-Type: application/json\r\n", "\r\n\r\n{\"a\":[1]}" }, "Expect" },
        { "a body that is a text", { "http", NULL, "{\"url\":\"" BASE "/echo\",\"method\":\"PUT\",\"body\":\"raw\","
          "\"headers\":{\"content-type\":\"text/x\",\"X-Own\":\"1\"}}" },
          { "PUT /echo", "content-type: text/x\r\n", "X-Own: 1\r\n", "\r\n\r\nraw" }, "application/json" },
        { "a method without a body", { "http", NULL, "{\"url\":\"" BASE "/echo\",\"method\":\"DELETE\"}" }, { "DELETE /echo" }, "Content-Length" },
        { "its own key", { "http", NULL, "{\"url\":\"" BASE "/echo\",\"headers\":{\"idempotency-key\":\"mine\"}}" },
          { "idempotency-key: mine" }, "key-of-the-step" },
        { "a runner that is a service", { "billing", "{\"url\":\"" BASE "/echo\",\"settings\":{\"headers\":{\"X-Team\":\"b\"}}}", "{\"x\":1}" },
          { "POST /echo", "X-Team: b\r\n", "Content-Type: application/json\r\n", "\"input\":{\"x\":1}", "\"params\":{\"p\":1}",
            "\"idempotencyKey\":\"key-of-the-step\"" }, "Expect" },
    };
    Stand stand;
    if (!stand_open(&stand, &http, 4)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Str request = echoed(&stand, cases[i].work);
        for (size_t part = 0; part < 6 && cases[i].parts[part]; part++)
            test_expect(has(request, cases[i].parts[part]), __FILE__, __LINE__, "'%s' is not in '%.*s'", cases[i].parts[part],
                        STR_ARG(request));
        EXPECT(!has(request, cases[i].absent));
    }
    stand_take_down(&stand);
}

TEST(http_deadline_is_the_timeout_of_the_request, "")
{
    Stand stand;
    if (stand_open(&stand, &http, 4)) {
        Attempt attempt = stand_attempt(&stand, 1, (Work)GET("/hold"));
        attempt.deadline_ms = attempt.now_ms + 150;
        EXPECT(stand.executor->ops->execute(stand.executor, &attempt));
        if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_TIMEOUT);
        attempt.id.step = 2;
        attempt.deadline_ms = attempt.now_ms;               /* over before it begins */
        EXPECT(stand.executor->ops->execute(stand.executor, &attempt));
        if (EXPECT(stand_await(&stand, 2, 0))) EXPECT_INT(stand_report(&stand, 2)->cause, CAUSE_TIMEOUT);
    }
    stand_take_down(&stand);
}

TEST(http_service_is_told_who_asks_by_a_token_or_a_signature, "")
{
    setenv("HTTP_TEST_TOKEN", "the-token", 1);
    setenv("HTTP_TEST_KEY", "the-key", 1);
    static const Work works[] = {
        { "svc", "{\"url\":\"" BASE "/echo\",\"settings\":{\"auth\":{\"bearer_env\":\"HTTP_TEST_TOKEN\"}}}", "{\"a\":1}" },
        { "svc", "{\"url\":\"" BASE "/echo\",\"settings\":{\"auth\":{\"hmac_env\":\"HTTP_TEST_KEY\"}}}", "{\"a\":1}" },
        { "svc", "{\"url\":\"" BASE "/echo\",\"settings\":{\"auth\":{\"hmac_env\":\"HTTP_TEST_NOWHERE\"}}}", "{\"a\":1}" },
    };
    Stand stand;
    if (stand_open(&stand, &http, 4)) {
        for (uint32_t i = 0; i < 3; i++) EXPECT(stand_execute(&stand, i, works[i]));
        if (EXPECT(stand_await(&stand, 3, 0))) {
            Str token = value_get_string(stand_report(&stand, 0)->output, "request", STR(""));
            Str signature = value_get_string(stand_report(&stand, 1)->output, "request", STR(""));
            EXPECT(memmem(token.ptr, token.len, "Authorization: Bearer the-token", 31) != NULL);
            const char *time = memmem(signature.ptr, signature.len, "X-Maestro-Timestamp: ", 21),
                *body = memmem(signature.ptr, signature.len, "\r\n\r\n", 4);
            if (EXPECT(time && body)) {
                Str seconds = { time + 21, strspn(time + 21, "0123456789") };
                Str message = arena_format(&stand.arena, "%.*s.%.*s", STR_ARG(seconds), (int)(signature.ptr + signature.len - body - 4), body + 4);
                Hash hash = hash_hmac(HASH_SHA256, STR("the-key"), message);
                char want[128] = "X-Maestro-Signature: sha256=";
                for (uint32_t i = 0; i < hash.size; i++) snprintf(want + 28 + 2 * i, 3, "%02x", hash.bytes[i]);
                EXPECT(memmem(signature.ptr, signature.len, want, strlen(want)) != NULL);
            }
            EXPECT_INT(stand_report(&stand, 2)->cause, CAUSE_PERMANENT);
            EXPECT(memmem(stand_report(&stand, 2)->message.ptr, stand_report(&stand, 2)->message.len, "HTTP_TEST_NOWHERE", 17) != NULL);
        }
    }
    stand_take_down(&stand);
}
