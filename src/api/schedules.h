/* schedules.h - the schedules of active revisions, as documents, and what overrides an occurrence of one: for the routes of the server and
 * for commands beside a store alike.
 *
 * An occurrence that a freeze, a blackout or a release window holds back can be overridden once, before it is due, with a reason (F-042):
 * then the server starts it as if nothing held it. What a calendar leaves out is no day of the schedule, and stays so. An override is of
 * (tenant, workflow, trigger, time): whichever revision is active then is started, if its schedule names that time.
 *
 * Owns:   everything lives in the arena given.
 * Fails:  ERR_NOT_FOUND where there is no such schedule or override; ERR_INVALID where the time is no occurrence; ERR_CONFLICT where nothing
 *         holds it, where what holds it does not yield, or where its time has passed.
 * Bounds: API_TIME_COUNT_MAX occurrences of a document.     Thread: that of the store.
 */
#ifndef API_SCHEDULES_H
#define API_SCHEDULES_H

#include "core/schedule.h"
#include "lang/catalog.h"
#include "view/store.h"

/* What schedules are read with. */
struct Agenda;
typedef struct ScheduleDesk {
    Store *store;
    const Catalog *catalog;             /* windows and calendars */
    ZoneSource zones;
    const struct Agenda *agenda;        /* of who starts them; NULL: nobody here does */
} ScheduleDesk;

ScheduleNames schedule_names(const ScheduleDesk *desk);

/* The next one of the triggers of a revision (view/revision_row.h) that is a schedule, from that one on; false: there is none. */
bool schedule_of_triggers(Value triggers, uint32_t from, uint32_t *out_trigger, Value *out_settings);

/* One schedule of a revision with its next occurrences: what is due, what holds it, whether that is overridden; and why nobody follows it. Its
 * members are added. */
MUST_USE Status schedule_describe(const ScheduleDesk *desk, const Cell *revision, uint32_t trigger, Value settings, int64_t from_ms,
                                  uint64_t time_count, MemberList *members, Error *err);

#define SCHEDULE_TRIGGER_ANY UINT32_MAX     /* the only schedule of its workflow */

typedef struct OverrideWish {
    Str tenant, workflow;
    uint32_t trigger;                   /* from 0; or SCHEDULE_TRIGGER_ANY, until it is checked */
    int64_t at_ms;
    Str held_by;                        /* by schedule_check_override() */
} OverrideWish;

/* Whether it can be: fills in what was left open. */
MUST_USE Status schedule_check_override(Arena *arena, const ScheduleDesk *desk, int64_t now_ms, OverrideWish *wish, Error *err);
/* Whether there is one, and its time lies ahead. */
MUST_USE Status schedule_check_removal(Arena *arena, const ScheduleDesk *desk, int64_t now_ms, OverrideWish *wish, Error *err);

/* The override of an occurrence; NULL: there is none. */
MUST_USE Status override_find(Arena *arena, Store *store, const OverrideWish *of, const Cell **out_row, Error *err);
/* As a document, without links. */
Value override_value(Arena *arena, const Cell *row);

#endif
