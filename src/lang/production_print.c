/* The checklist for people and for programs. */
#include <inttypes.h>

#include "base/check.h"
#include "lang/production.h"

static const char *const line_names[PRODUCTION_LINE_COUNT] = {
    "specification", "policies", "placement and quotas", "observability", "audit",
    "failure handling", "security", "disaster recovery and resilience", "operator affordances", "runbooks",
};

/* The word in a report, the one in JSON, the one that counts, and its colour. */
static const struct { const char *word, *name, *counted, *color; } answers[ANSWER_COUNT] = {
    [ANSWER_PASS] = { "pass", "pass", "passed", "\x1b[32m" },
    [ANSWER_FAIL] = { "FAIL", "fail", "failed", "\x1b[1;31m" },
    [ANSWER_NOT_APPLICABLE] = { "n/a", "not-applicable", "not applicable", "\x1b[2m" },
    [ANSWER_UNDECIDED] = { "undecided", "undecided", "undecided", "\x1b[33m" },
};

const char *answer_name(Answer answer)
{
    return answers[answer].name;
}

const char *production_line_name(unsigned checklist_line)
{
    CHECK(checklist_line >= 1 && checklist_line <= PRODUCTION_LINE_COUNT);
    return line_names[checklist_line - 1];
}

/* Evidence repeats texts of the definition: what would move a terminal's cursor is left out. */
static void print_clean(Buf *out, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        buf_char(out, c < 0x20 || c == 0x7f ? ' ' : (char)c);
    }
}

static void print_result(const ProductionResult *result, Str file, bool color, Buf *out)
{
    const char *begin = color ? answers[result->answer].color : "", *end = color ? "\x1b[0m" : "";
    buf_format(out, "      %s%-9s%s  %-25s  ", begin, answers[result->answer].word, end, result->name);
    if (result->line) buf_format(out, "%.*s:%" PRIu32 ":%" PRIu32 ": ", STR_ARG(file), result->line, result->column);
    print_clean(out, result->evidence);
    buf_char(out, '\n');
}

void production_print(const ProductionReport *report, Str file, bool color, Buf *out)
{
    unsigned line = 0;
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++) {
        const ProductionResult *result = &report->results[i];
        if (result->checklist_line != line) {
            line = result->checklist_line;
            buf_format(out, "%s%2u. %s%s\n", color ? "\x1b[1m" : "", line, production_line_name(line),
                       color ? "\x1b[0m" : "");
        }
        print_result(result, file, color, out);
    }
    buf_char(out, '\n');
    for (unsigned i = 0; i < ANSWER_COUNT; i++)
        buf_format(out, "%s%" PRIu32 " %s", i ? ", " : "", report->counts[i], answers[i].counted);
    buf_char(out, '\n');
}

Value production_value(const ProductionReport *report, Str file, Arena *arena)
{
    ValueList list = { .arena = arena };
    for (size_t i = 0; i < PRODUCTION_CHECK_COUNT; i++) {
        const ProductionResult *result = &report->results[i];
        MemberList members = { .arena = arena };
        member_list_add(&members, STR("name"), value_string(str_of(result->name)));
        member_list_add(&members, STR("requirement"), value_string(str_of(result->requirement)));
        member_list_add(&members, STR("checklist_line"), value_int(result->checklist_line));
        member_list_add(&members, STR("checklist"), value_string(str_of(production_line_name(result->checklist_line))));
        member_list_add(&members, STR("answer"), value_string(str_of(answer_name(result->answer))));
        member_list_add(&members, STR("evidence"), value_string(result->evidence));
        member_list_add(&members, STR("file"), value_string(file));
        if (result->line) {
            member_list_add(&members, STR("line"), value_int(result->line));
            member_list_add(&members, STR("column"), value_int(result->column));
        }
        value_list_add(&list, member_list_object(&members));
    }
    return value_list_array(&list);
}
