#include "lang/cron.h"

#include <string.h>

#include "core/cron.h"

void cron_check(Diagnostics *diagnostics, const Node *node)
{
    Cron cron;
    Error err;
    if (cron_parse(node_text(node), STR(""), &cron, &err) == OK) {
        if (!cron_can_fire(&cron))
            diagnose(diagnostics, SEVERITY_WARNING, node, "there is no such day: this schedule never starts anything");
        return;
    }
    Diagnostic *diagnostic = diagnose_inside(diagnostics, node, err.column - 1, 1, "no cron expression: %s", err.text);
    diagnostic_help(diagnostics, diagnostic,
                    "minute hour day-of-month month day-of-week, for example \"30 2 * * MON-FRI\"");
}

static bool day_in_month(unsigned month, unsigned day)
{
    static const unsigned char days[] = { 0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month];
}

static bool read_digits(Str text, size_t from, size_t to, unsigned *out)
{
    uint64_t number;
    if (!str_to_u64(str_slice(text, from, to), &number) || to - from > 4) return false;
    *out = (unsigned)number;
    return true;
}

/* A yearly day such as "Dec 25", or one day such as 2026-12-25. */
static bool is_day(Str text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    unsigned month, day, year;
    if (text.len == 10 && text.ptr[4] == '-' && text.ptr[7] == '-')
        return read_digits(text, 0, 4, &year) && read_digits(text, 5, 7, &month) && read_digits(text, 8, 10, &day)
            && day_in_month(month, day);
    if (text.len < 5 || text.len > 6 || text.ptr[3] != ' ' || !read_digits(text, 4, text.len, &day)) return false;
    for (month = 1; month <= 12; month++)
        if (memcmp(months + 3 * (month - 1), text.ptr, 3) == 0) return day_in_month(month, day);
    return false;
}

void freeze_check(Diagnostics *diagnostics, const Node *node)
{
    Str text = node_text(node);
    size_t dots = 0;
    while (dots + 1 < text.len && !(text.ptr[dots] == '.' && text.ptr[dots + 1] == '.')) dots++;
    bool is_range = dots + 1 < text.len;
    Str first = str_trim(str_slice(text, 0, is_range ? dots : text.len)),
        last = str_trim(str_slice(text, dots + 2, text.len));
    bool are_days = is_day(first) && (!is_range || (is_day(last) && (first.len == 10) == (last.len == 10)));
    if (are_days && is_range && first.len == 10 && str_compare(first, last) > 0) {
        diagnose(diagnostics, SEVERITY_ERROR, node, "the range ends before it begins");
        return;
    }
    if (are_days) return;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "'%.*s' is no day", STR_ARG(text));
    diagnostic_help(diagnostics, diagnostic,
                    "a day is \"Dec 25\" (every year) or \"2026-12-25\"; a range has two, \"Dec 24..Dec 26\"");
}
