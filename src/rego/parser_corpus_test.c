/* Every policy and query of the shared conformance cases is read, printed and read again. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/test.h"
#include "rego/parser.h"
#include "rego/print.h"
#include "value/json.h"

#define TREE_TEXT_SIZE_MAX (64u << 20)

typedef struct Corpus {
    Arena *arena;
    bool v0;
    unsigned case_count, module_count, query_count;
} Corpus;

static void expect_no_errors(Status status, const RegoErrors *errors, Str text)
{
    char line[1024];
    Buf buf = buf_on(line, sizeof line - 1);
    if (errors->count) rego_error_print(&buf, &errors->items[0]);
    test_expect(status == OK, __FILE__, __LINE__, "%.*s\n%.*s", STR_ARG(buf_peek(&buf)), STR_ARG(text));
}

static void print_both(Buf *source, Buf *calls, const RegoModule *module)
{
    buf_clear(source);
    buf_clear(calls);
    rego_print_module(source, module, REGO_PRINT_SOURCE);
    rego_print_module(calls, module, REGO_PRINT_CALLS);
}

/* The text that is printed must be read as the tree that it was printed from. */
static void expect_round_trip(Corpus *corpus, const RegoModule *module)
{
    Buf source, calls, source_again, calls_again;
    Buf *bufs[] = { &source, &calls, &source_again, &calls_again };
    for (size_t i = 0; i < 4; i++) buf_init(bufs[i], TREE_TEXT_SIZE_MAX);
    print_both(&source, &calls, module);
    RegoErrors errors;
    rego_errors_init(&errors, corpus->arena);
    RegoModule *again;
    Status status = rego_parse_module(corpus->arena, buf_peek(&source), &(RegoParseOptions){ .v0 = corpus->v0 }, &again,
                                      &errors);
    expect_no_errors(status, &errors, buf_peek(&source));
    if (status == OK) {
        print_both(&source_again, &calls_again, again);
        EXPECT_STR(buf_peek(&source_again), buf_peek(&source));
        EXPECT_STR(buf_peek(&calls_again), buf_peek(&calls));
    }
    for (size_t i = 0; i < 4; i++) buf_deinit(bufs[i]);
}

static void read_modules(Corpus *corpus, Value modules)
{
    for (uint32_t i = 0; i < modules.count; i++) {
        RegoErrors errors;
        rego_errors_init(&errors, corpus->arena);
        RegoModule *module;
        Str text = value_text(modules.items[i]);
        RegoParseOptions options = { .file = STR("test-0.rego"), .v0 = corpus->v0 };
        Status status = rego_parse_module(corpus->arena, text, &options, &module, &errors);
        expect_no_errors(status, &errors, text);
        if (status == OK) expect_round_trip(corpus, module);
        corpus->module_count++;
    }
}

static void read_case(Corpus *corpus, Value test_case)
{
    corpus->case_count++;
    const Value *modules = value_get_text(test_case, "modules");
    if (modules && modules->kind == VALUE_ARRAY) read_modules(corpus, *modules);

    RegoErrors errors;
    rego_errors_init(&errors, corpus->arena);
    Str query = value_get_string(test_case, "query", STR(""));
    RegoBody body;
    if (query.len) {
        expect_no_errors(rego_parse_query(corpus->arena, query, NULL, &body, &errors), &errors, query);
        corpus->query_count++;
    }
    Str input = value_get_string(test_case, "input_term", STR(""));
    RegoTerm *term;
    if (input.len) expect_no_errors(rego_parse_term(corpus->arena, input, NULL, &term, &errors), &errors, input);
}

static void read_file(const char *path, bool v0, Corpus *corpus)
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Error err;
    Value file;
    Str text = test_read_file(path);
    Status status = json_parse(&arena, text, &file, &err);
    EXPECT_OK(status, &err);
    const Value *cases = status == OK ? value_get_text(file, "cases") : NULL;
    corpus->arena = &arena;
    corpus->v0 = v0;
    for (uint32_t i = 0; cases && i < cases->count; i++) {
        char name[512];
        Str note = value_get_string(cases->items[i], "note", STR("?"));
        snprintf(name, sizeof name, "%.*s", STR_ARG(note));
        ROW(name);
        read_case(corpus, cases->items[i]);
    }
    ROW(NULL);
    arena_deinit(&arena);
}

static void read_directory(const char *shared, const char *sub, bool v0, Corpus *corpus)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", shared, sub);
    DIR *directory = opendir(path);
    REQUIRE(directory != NULL);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (!str_ends(str_of(entry->d_name), STR(".json"))) continue;
        char file[8192];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        read_file(file, v0, corpus);
    }
    closedir(directory);
}

TEST(every_shared_v1_case_is_read, "")
{
    const char *shared = test_shared_dir("rego-cases");
    if (!shared) NOT_RUN("the shared conformance cases are not on this machine");
    Corpus corpus = { 0 };
    read_directory(shared, "v1", /* v0= */ false, &corpus);
    read_directory(shared, "compile", /* v0= */ false, &corpus);
    EXPECT(corpus.module_count > 1000);
    EXPECT(corpus.query_count > 1000);
}

TEST(every_shared_v0_case_is_read, "")
{
    const char *shared = test_shared_dir("rego-cases");
    if (!shared) NOT_RUN("the shared conformance cases are not on this machine");
    Corpus corpus = { 0 };
    read_directory(shared, "v0", /* v0= */ true, &corpus);
    EXPECT(corpus.module_count > 1000);
}

TEST(every_shared_policy_is_read, "")
{
    const char *shared = test_shared_dir("rego-policies");
    if (!shared) NOT_RUN("the shared policies are not on this machine");
    Corpus corpus = { 0 };
    read_directory(shared, ".", /* v0= */ false, &corpus);
    EXPECT(corpus.module_count > 100);
}
