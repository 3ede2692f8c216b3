#include "api/head.h"

#include "harness/test.h"

#define HEADERS_MAX 4u

static const struct { const char *name, *method, *version; CallPair headers[HEADERS_MAX]; uint32_t count; const char *want; } rows[] = {
    { "an ordinary one", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("example.com:80") } }, 1, NULL },
    { "a host of IPv6", "GET", "HTTP/1.1", { { STR_INIT("host"), STR_INIT("[::1]:8080") } }, 1, NULL },
    { "an empty host is permitted", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("") } }, 1, NULL },
    { "the old version needs no host", "GET", "HTTP/1.0", { { STR_INIT("X"), STR_INIT("a\tb \xc3\xa9") } }, 1, NULL },
    { "a body in chunks", "POST", "HTTP/1.1",
      { { STR_INIT("Host"), STR_INIT("x") }, { STR_INIT("transfer-encoding"), STR_INIT("Chunked") } }, 2, NULL },
    { "no host", "GET", "HTTP/1.1", { { STR_INIT("X"), STR_INIT("y") } }, 1, "it has no Host" },
    { "two hosts", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("HOST"), STR_INIT("a") } }, 2, "it has more than one Host" },
    { "a host with a path", "GET", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a/b") } }, 1, "its Host is none" },
    { "a method that is no word", "G@T", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") } }, 1, "its method is no word" },
    { "a name with a space", "GET", "HTTP/1.1",
      { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("X "), STR_INIT("y") } }, 2,
      "the name of a header is no word" },
    { "a name without a letter", "GET", "HTTP/1.1",
      { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT(""), STR_INIT("y") } }, 2, "the name of a header is no word" },
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
    { "chunks of the old version", "POST", "HTTP/1.0", { { STR_INIT("Transfer-Encoding"), STR_INIT("chunked") } }, 1,
      "HTTP/1.0 has no Transfer-Encoding" },
    { "chunked twice", "POST", "HTTP/1.1", { { STR_INIT("Host"), STR_INIT("a") }, { STR_INIT("Transfer-Encoding"), STR_INIT("chunked") },
      { STR_INIT("Transfer-Encoding"), STR_INIT("chunked") } }, 3, "its Transfer-Encoding is not 'chunked'" },
};

TEST(a_head_that_two_readers_could_take_for_different_ones_is_refused, "proves: R-084")
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        const char *got = head_fault(&(Head){ .method = str_of(rows[i].method), .version = str_of(rows[i].version),
                                               .headers = rows[i].headers, .header_count = rows[i].count });
        EXPECT_STR(str_of(got ? got : "fine"), str_of(rows[i].want ? rows[i].want : "fine"));
    }
}

#define LINE "GET\0/a?b=c\0HTTP/1.1\0"      /* without the second half of its end */
#define LINE_WORDS { 0, 3 }, { 4, 6 }, { 11, 8 }
#define IN_LINE "its line is not a method, a target and a version with one space between them"
#define IN_TWO "a header goes on in a second line, or has a NUL in it"

typedef struct Word { uint8_t at, len; } Word;

/* Heads as libmicrohttpd leaves them, and where it says that their words are: those of the line, then names and values. */
static const struct { const char *name; Str bytes; Word words[7]; uint32_t count; const char *want; } heads[] = {
    { "CR and LF", STR_INIT(LINE "\0Host\0 x\0\0A\0\t b \0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 }, { 30, 1 }, { 34, 2 } }, 2, NULL },
    { "LF alone", STR_INIT(LINE "Host\0 x\0A\0b\0\0"), { LINE_WORDS, { 20, 4 }, { 26, 1 }, { 28, 1 }, { 30, 1 } }, 2, NULL },
    { "an empty line of LF alone", STR_INIT(LINE "\0Host\0 x\0\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 } }, 1, NULL },
    { "an empty value", STR_INIT(LINE "\0Host\0\0\0A\0 \0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 26, 0 }, { 28, 1 }, { 31, 0 } }, 2, NULL },
    { "no header", STR_INIT(LINE "\0\0\0"), { LINE_WORDS }, 0, NULL },
    { "no header, LF alone", STR_INIT(LINE "\0"), { LINE_WORDS }, 0, NULL },
    { "a NUL in the method", STR_INIT("GET\0X\0/\0HTTP/1.1\0\0\0\0"), { { 0, 3 }, { 6, 1 }, { 8, 8 } }, 0, IN_LINE },
    { "two spaces before the target", STR_INIT("GET\0 /\0HTTP/1.1\0\0\0\0"), { { 0, 3 }, { 5, 1 }, { 7, 8 } }, 0, IN_LINE },
    { "a NUL in the target", STR_INIT("GET\0/\0b\0HTTP/1.1\0\0\0\0"), { { 0, 3 }, { 4, 1 }, { 8, 8 } }, 0, IN_LINE },
    { "a version that is not all", STR_INIT("GET\0/\0HTTP/1.1 \0\0\0\0"), { { 0, 3 }, { 4, 1 }, { 6, 8 } }, 0, IN_LINE },
    { "a line that goes beyond the head", STR_INIT("GET\0/\0HTTP"), { { 0, 3 }, { 4, 1 }, { 6, 8 } }, 0, IN_LINE },
    { "a name elsewhere", STR_INIT(LINE "\0Host\0 x\0\0 1\0\0\0\0Host1\0"), { LINE_WORDS, { 36, 5 }, { 27, 1 } }, 1, IN_TWO },
    { "a second line of spaces", STR_INIT(LINE "\0Host\0 x\0\0  \0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 } }, 1, IN_TWO },
    { "a second line before another header", STR_INIT(LINE "\0Host\0 x\0\0 y\0\0A\0b\0\0\0\0"),
      { LINE_WORDS, { 21, 4 }, { 27, 1 }, { 34, 1 }, { 36, 1 } }, 2, IN_TWO },
    { "a NUL in a value", STR_INIT(LINE "\0Host\0 x\0, y\0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 } }, 1, IN_TWO },
    { "a NUL before a value", STR_INIT(LINE "\0Host\0\0x\0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 26, 0 } }, 1, IN_TWO },
    { "a NUL before a value and after spaces", STR_INIT(LINE "\0Host\0 \0x\0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 0 } }, 1, IN_TWO },
    { "a line that begins with a NUL", STR_INIT(LINE "\0Host\0 x\0\0\0A: b\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 } }, 1, IN_TWO },
    { "a line that is a NUL", STR_INIT(LINE "\0Host\0 x\0\0\0\0\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 } }, 1, IN_TWO },
    { "a first line of headers that begins with a NUL", STR_INIT(LINE "\0\0A: b\0\0"), { LINE_WORDS }, 0, IN_TWO },
    { "no empty line", STR_INIT(LINE "\0Host\0 x\0"), { LINE_WORDS, { 21, 4 }, { 27, 1 } }, 1, IN_TWO },
    { "a value that goes beyond the head", STR_INIT(LINE "\0Host\0 x"), { LINE_WORDS, { 21, 4 }, { 27, 9 } }, 1, IN_TWO },
    { "a name that goes beyond the head", STR_INIT(LINE "\0Host"), { LINE_WORDS, { 21, 4 }, { 26, 0 } }, 1, IN_TWO },
};

static Str word_of(Str bytes, Word word) { return (Str){ bytes.ptr + word.at, word.len }; }

TEST(what_was_sent_beside_the_words_of_a_head_is_seen_by_where_they_lie, "proves: R-084")
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        Str bytes = heads[i].bytes;
        const Word *words = heads[i].words;
        CallPair headers[2];
        ROW(heads[i].name);
        for (uint32_t k = 0; k < heads[i].count; k++) headers[k] = (CallPair){ word_of(bytes, words[3 + 2 * k]), word_of(bytes, words[4 + 2 * k]) };
        const char *got = head_gap(&(Head){ .bytes = bytes, .method = word_of(bytes, words[0]), .target = word_of(bytes, words[1]),
                                            .version = word_of(bytes, words[2]), .headers = headers, .header_count = heads[i].count });
        EXPECT_STR(str_of(got ? got : "whole"), str_of(heads[i].want ? heads[i].want : "whole"));
    }
}

TEST(a_target_is_a_path_or_a_url_that_can_be_seen, "proves: R-084")
{
    static const struct { Str text; bool is_target; } targets[] = {
        { STR_INIT("/a?b=c&d=%20+"), true }, { STR_INIT("*"), true }, { STR_INIT("/\xc3\xa9"), true },
        { STR_INIT("http://h/a"), true }, { STR_INIT("/a#b"), false }, { STR_INIT("healthz"), false }, { STR_INIT("h:80"), false },
        { STR_INIT(""), false }, { STR_INIT("/a b"), false }, { STR_INIT("/a "), false }, { STR_INIT("/\tb"), false },
        { STR_INIT("/\x7f"), false }, { STR_INIT("/\r"), false }, { STR_INIT("/\0"), false },
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        ROW(targets[i].text.ptr);
        EXPECT(!head_target_fault(targets[i].text) == targets[i].is_target);
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
