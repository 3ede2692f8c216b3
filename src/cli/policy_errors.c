#include "cli/policy_errors.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "lang/diagnostic.h"
#include "rego/ast.h"

#define REPORT_SIZE_MAX (512u << 20)

/* --- mistakes as JSON --------------------------------------------------------------------------------------------- */

Value policy_location_value(Arena *arena, Str file, RegoLoc loc)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("file"), value_string(file));
    member_list_add(&members, STR("row"), value_int(loc.row));
    member_list_add(&members, STR("col"), value_int(loc.col));
    return member_list_object(&members);
}

Value policy_error_at(Arena *arena, Str text, const char *code, Str file, RegoLoc loc, Value details)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("message"), value_string(text));
    member_list_add(&members, STR("code"), value_string(str_of(code)));
    if (loc.row) member_list_add(&members, STR("location"), policy_location_value(arena, file, loc));
    if (details.kind != VALUE_NULL) member_list_add(&members, STR("details"), details);
    return member_list_object(&members);
}

/* The line in which a text cannot be read, and the byte; at the end of a text the last one of the last line. */
static Value line_details(Arena *arena, Str text, RegoLoc loc)
{
    size_t at = loc.offset < text.len ? loc.offset : text.len;
    while (at > 0 && loc.col == 0 && (at == text.len || text.ptr[at] == '\n')) at--;
    size_t from = at;
    while (from > 0 && text.ptr[from - 1] != '\n') from--;
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("line"), value_string(str_slice(text, from, str_find(text, '\n', from))));
    member_list_add(&members, STR("idx"), value_int((int64_t)(loc.col ? loc.col - 1 : at - from)));
    return member_list_object(&members);
}

/* What stands behind the first line: "have: (number)", "left  : string". */
static Value rest_details(Arena *arena, Str rest)
{
    MemberList members = { .arena = arena };
    for (size_t at = 0; at < rest.len;) {
        size_t end = str_find(rest, '\n', at);
        Str line = str_trim(str_slice(rest, at, end));
        size_t colon = str_find(line, ':', 0);
        if (colon < line.len)
            member_list_add(&members, str_trim(str_slice(line, 0, colon)),
                            value_string(str_trim(str_slice(line, colon + 1, line.len))));
        at = end + 1;
    }
    return members.count ? member_list_object(&members) : value_null();
}

Value policy_errors_value(Arena *arena, const PolicySet *set, Str query, const RegoErrors *errors)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < errors->count; i++) {
        const RegoError *error = &errors->items[i];
        Str text = error->file.len ? policy_module_text(set, error->file) : query;
        size_t first = str_find(error->text, '\n', 0);
        /* A first line that ends with a colon needs those behind it: "rule data.a conflicts with:". */
        bool is_open = first > 0 && first < error->text.len && error->text.ptr[first - 1] == ':';
        Value details = error->code == REGO_ERROR_PARSE ? line_details(arena, text, error->loc)
                      : is_open ? value_null()
                      : rest_details(arena, str_slice(error->text, first, error->text.len));
        Str message = error->code == REGO_ERROR_PARSE || details.kind == VALUE_NULL ? error->text
                                                                                     : str_slice(error->text, 0, first);
        const char *code = rego_error_code_name(error->code);
        value_list_add(&list, policy_error_at(arena, message, code, error->file, error->loc, details));
    }
    return value_list_array(&list);
}

Value policy_error_value(Arena *arena, const char *message)
{
    ValueList list = { .arena = arena };
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("message"), value_string(arena_copy(arena, str_of(message))));
    value_list_add(&list, member_list_object(&members));
    return value_list_array(&list);
}

Value policy_errors_document(Arena *arena, Value errors)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("errors"), errors);
    return member_list_object(&members);
}

/* --- mistakes for people ------------------------------------------------------------------------------------------ */

/* Characters to underline: those of the text up to the end of its line. */
static uint32_t mark_width(Str text, RegoLoc loc)
{
    Str marked = rego_loc_text(text, loc);
    marked.len = str_find(marked, '\n', 0);
    size_t width = utf8_count(marked);
    return width ? (uint32_t)width : 1;
}

static void print_file_errors(const Args *args, const RegoErrors *errors, Str file, Str text)
{
    Diagnostics diagnostics;
    diagnostics_init(&diagnostics, args->arena, file.len ? file : STR("query"), text);
    for (size_t i = 0; i < errors->count; i++) {
        const RegoError *error = &errors->items[i];
        if (!str_is(error->file, file)) continue;
        Node at = { .line = error->loc.row, .column = error->loc.col ? error->loc.col : 1,
                    .width = mark_width(text, error->loc) };
        size_t first = str_find(error->text, '\n', 0);
        Diagnostic *diagnostic = diagnose(&diagnostics, SEVERITY_ERROR, &at, "%s: %.*s", rego_error_code_name(error->code),
                                          STR_ARG(str_slice(error->text, 0, first)));
        diagnostic->details = str_slice(error->text, first + 1, error->text.len);
    }
    if (!diagnostics.error_count) return;
    diagnostics_sort(&diagnostics);
    Buf buf;
    buf_init(&buf, REPORT_SIZE_MAX);
    diagnostics_print(&diagnostics, args_color(args, STDERR_FILENO), &buf);
    print_err_tinted(&buf);
    buf_deinit(&buf);
}

void policy_errors_print(const Args *args, const PolicySet *set, Str query, const RegoErrors *errors)
{
    for (size_t i = 0; i < set->module_count; i++)
        print_file_errors(args, errors, set->modules[i].file, set->modules[i].text);
    print_file_errors(args, errors, STR(""), query);
    size_t total = errors->count + errors->dropped;
    fprintf(stderr, "maestro: %zu mistake%s\n", total, total == 1 ? "" : "s");
}

bool policy_wants_json(const Args *args)
{
    const char *format = args_value(args, "format");
    const Option *option = args->command->options;
    while (strcmp(option->name, "format") != 0) option++;
    return strcmp(format ? format : option->words[0], "json") == 0;
}

ExitCode policy_refuse(const Args *args, const PolicySet *set, Str query, const RegoErrors *errors)
{
    Arena *arena = args->arena;
    if (policy_wants_json(args))
        print_document(policy_errors_document(arena, policy_errors_value(arena, set, query, errors)));
    else policy_errors_print(args, set, query, errors);
    return EXIT_CODE_DATA;
}

ExitCode policy_refuse_load(const Args *args, const Error *err)
{
    if (!policy_wants_json(args)) return fail(err);
    print_document(policy_errors_document(args->arena, policy_error_value(args->arena, err->text)));
    return exit_code_of(err->status);
}
