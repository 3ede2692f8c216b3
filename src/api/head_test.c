#include "api/head.h"

#include "harness/test.h"

#define HEADERS_MAX 4u

static const struct { const char *name, *method, *version; CallPair headers[HEADERS_MAX]; uint32_t count; const char *want; } rows[] = {
    { "an ordinary one", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("example.com:80") } }, 1, NULL },
    { "a host of IPv6", "GET", "HTTP/1.1", { { STR_INIT("host"), STR_INIT("[::1]:8080") } }, 1, NULL },
    { "an empty host is permitted", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("") } }, 1, NULL },
    { "the old version needs no host", "GET", "HTTP/1.0", { { STR_INIT("X"), STR_INIT("a\tb \xc3\xa9") } }, 1, NULL },
    { "a body in chunks", "POST", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("x") }, { STR_INIT("transfer-encoding"), STR_INIT("Chunked") } }, 2, NULL },
    { "no host", "GET", "HTTP/1.1", { { STR_INIT("X"), STR_INIT("y") } }, 1, "it has no Host" },
    { "two hosts", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("HOST"), STR_INIT("a") } }, 2, "it has more than one Host" },
    { "a host with a path", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a/b") } }, 1, "its Host is none" },
    { "a method that is no word", "G@T", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") } }, 1, "its method is no word" },
    { "a name with a space", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("X "), STR_INIT("y") } }, 2, "the name of a header is no word" },
    { "a name without a letter", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT(""), STR_INIT("y") } }, 2, "the name of a header is no word" },
    { "a value with NUL", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("X"), STR_INIT("a\0b") } }, 2,
      "the value of a header has a control character in it" },
    { "a value with the end of a line", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("X"), STR_INIT("a\rb") } }, 2,
      "the value of a header has a control character in it" },
    { "two lengths", "POST", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("Content-Length"), STR_INIT("5") },
      { STR_INIT("content-length"), STR_INIT("5") } }, 3, "it has more than one Content-Length" },
    { "a length beside chunks", "POST", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("Content-Length"), STR_INIT("5") },
      { STR_INIT("Transfer-Encoding"), STR_INIT("chunked") } }, 3, "it has both Content-Length and Transfer-Encoding" },
    { "another coding", "POST", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("Transfer-Encoding"), STR_INIT("gzip, chunked") } }, 2,
      "its Transfer-Encoding is not 'chunked'" },
    { "chunked twice", "POST", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("Transfer-Encoding"), STR_INIT("chunked") },
      { STR_INIT("Transfer-Encoding"), STR_INIT("chunked") } }, 3, "its Transfer-Encoding is not 'chunked'" },
};

TEST(a_head_that_two_readers_could_take_for_different_ones_is_refused, "proves: R-084")
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        const char *got = head_fault(&(Head){ str_of(rows[i].method), str_of(rows[i].version), rows[i].headers, rows[i].count });
        EXPECT_STR(str_of(got ? got : "fine"), str_of(rows[i].want ? rows[i].want : "fine"));
    }
}

TEST(a_target_with_scheme_and_host_has_its_path, "")
{
    static const struct { const char *target, *path; } targets[] = {
        { "/api", "/api" }, { "http://host/api/x", "/api/x" }, { "https://host:1/", "/" }, { "http://host", "/" }, { "*", "*" }, { "", "" },
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        ROW(targets[i].target);
        EXPECT_STR(head_path(str_of(targets[i].target)), str_of(targets[i].path));
    }
}
