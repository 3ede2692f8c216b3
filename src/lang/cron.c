#include "lang/cron.h"

#include "core/schedule.h"

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

void freeze_check(Diagnostics *diagnostics, const Node *node)
{
    DayRange range;
    Error err;
    if (day_range_read(node_text(node), &range, &err) == OK) return;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "%s", err.text);
    if (str_ends(str_of(err.text), STR("is no day")))
        diagnostic_help(diagnostics, diagnostic,
                        "a day is \"Dec 25\" (every year) or \"2026-12-25\"; a range has two, \"Dec 24..Dec 26\"");
}

void window_check(Diagnostics *diagnostics, const Node *node)
{
    Window window;
    Error err;
    if (window_read(node_text(node), &window, &err) == OK) return;
    Diagnostic *diagnostic = diagnose(diagnostics, SEVERITY_ERROR, node, "%s", err.text);
    diagnostic_help(diagnostics, diagnostic,
                    "a window is \"Sun 02:00-06:00\", \"Mon-Fri 22:00-04:00\", \"Sat,Sun\", \"Dec 24..Dec 26\" or \"03:00-04:00\"");
}

void weekday_check(Diagnostics *diagnostics, const Node *node)
{
    uint32_t weekday;
    if (weekday_read(node_text(node), &weekday)) return;
    diagnose(diagnostics, SEVERITY_ERROR, node, "'%.*s' is no day of the week: write Mon, Tue, Wed, Thu, Fri, Sat or Sun",
             STR_ARG(node_text(node)));
}
