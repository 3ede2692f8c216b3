/* cron.h - cron expressions and calendar days as a definition writes them: their mistakes as diagnostics.
 *
 * What an expression means is core/cron.h, what days and windows do core/schedule.h; here a mistake gets its place in the file.
 *
 * Owns: nothing.     Thread: pure, any.
 */
#ifndef LANG_CRON_H
#define LANG_CRON_H

#include "lang/diagnostic.h"
#include "lang/node.h"

void cron_check(Diagnostics *diagnostics, const Node *node);
/* "Dec 25" (each year), "2026-12-25", or two of a kind with ".." between them. */
void freeze_check(Diagnostics *diagnostics, const Node *node);
/* Of a configuration: "Sun 02:00-06:00"; "Mon". */
void window_check(Diagnostics *diagnostics, const Node *node);
void weekday_check(Diagnostics *diagnostics, const Node *node);

#endif
