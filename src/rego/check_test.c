/* Policies with mistakes and what is said about them: test/cases/rego-check, whose README describes the form. */
#include "base/limits.h"
#include "harness/test.h"
#include "rego/rego.h"

#define MODULE_COUNT_MAX 8u

static Str line_next(Str *text)
{
    size_t end = str_find(*text, '\n', 0);
    Str line = str_slice(*text, 0, end);
    *text = str_slice(*text, end < text->len ? end + 1 : end, text->len);
    return line;
}

static bool has_option(Str header, const char *option)
{
    Str wanted = str_of(option);
    for (size_t i = 0; i + wanted.len <= header.len; i++)
        if (str_is(str_slice(header, i, i + wanted.len), wanted)) return true;
    return false;
}

static void errors_write(Buf *buf, const RegoErrors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        const RegoError *error = &errors->items[i];
        if (error->loc.row)
            buf_format(buf, "%.*s:%u:%u: ", STR_ARG(error->file), error->loc.row, error->loc.col);
        buf_format(buf, "%s: %.*s\n", rego_error_code_name(error->code), STR_ARG(error->text));
    }
}

/* Cuts the text of a case at its "--- file" lines; gives what stands behind "--- want". */
static Str modules_cut(Str text, RegoModuleText *modules, uint32_t *out_count)
{
    uint32_t count = 0;
    Str file = STR("a.rego");
    const char *from = text.ptr;
    for (;;) {
        const char *at = text.ptr;
        Str line = line_next(&text);
        bool is_end = !text.len;
        if (!str_starts(line, STR("--- ")) && !is_end) continue;
        if (count < MODULE_COUNT_MAX) modules[count++] = (RegoModuleText){ file, { from, (size_t)(at - from) } };
        if (is_end || str_is(line, STR("--- want"))) break;
        file = str_slice(line, 4, line.len);
        from = text.ptr;
    }
    *out_count = count;
    while (text.len && text.ptr[text.len - 1] == '\n') text.len--;
    return text;
}

static void case_run(Str header, Str text)
{
    char name[160];
    Buf label = buf_on(name, sizeof name - 1);
    buf_str(&label, str_slice(header, 4, header.len));
    name[label.len] = '\0';
    ROW(name);
    RegoModuleText modules[MODULE_COUNT_MAX];
    uint32_t count;
    Str want = modules_cut(text, modules, &count);
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    RegoErrors errors;
    rego_errors_init(&errors, &arena);
    const RegoCompileOptions options = { .strict = has_option(header, "[strict]"), .v0 = has_option(header, "[v0]"),
                                         .keep_print = true, .allow_network = true };
    RegoPolicy *policy = NULL;
    if (!rego_compile(modules, count, value_null(), &options, &policy, &errors)) rego_policy_free(policy);
    Buf got;
    buf_init(&got, REGO_ERROR_TEXT_SIZE_MAX * REGO_ERROR_COUNT_MAX);
    errors_write(&got, &errors);
    if (got.len) got.len--;
    EXPECT_STR(buf_peek(&got), want);
    buf_deinit(&got);
    arena_deinit(&arena);
}

static void file_run(const char *name)
{
    char path[128];
    Buf buf = buf_on(path, sizeof path - 1);
    buf_format(&buf, "test/cases/rego-check/%s.txt", name);
    path[buf.len] = '\0';
    Str text = test_read_file(test_source_path(path)), header = { 0 };
    const char *from = NULL;
    while (text.len) {
        const char *at = text.ptr;
        Str line = line_next(&text);
        if (!str_starts(line, STR("=== "))) continue;
        if (header.len) case_run(header, (Str){ from, (size_t)(at - from) });
        header = line;
        from = text.ptr;
    }
    EXPECT(header.len > 0);
    if (header.len) case_run(header, (Str){ from, (size_t)(text.ptr - from) });
}

TEST(types_that_never_meet_are_refused, "") { file_run("types"); }
TEST(references_into_nothing_are_refused, "") { file_run("refs"); }
TEST(calls_that_no_function_takes_are_refused, "") { file_run("calls"); }
TEST(a_few_mistakes_are_told_in_other_words, "") { file_run("differs"); }
TEST(names_and_scopes_are_checked, "") { file_run("names"); }
TEST(strict_mode_finds_what_is_of_no_use, "") { file_run("strict"); }
TEST(v1_demands_its_own_syntax, "") { file_run("v1"); }
