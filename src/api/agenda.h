/* agenda.h - the schedules of active revisions, as the server follows them.
 *
 * Read when the server begins, a small row a workflow (view/revision_row.h), and from then on only of workflows whose revisions have changed:
 * the records of the log say which. So what one workflow costs does not depend on how large its plan is, nor on how many others there are.
 *
 * Owns:   its entries; what was replaced stays until there is more of it (API_SCHEDULE_STALE_COUNT), and then everything is read again.
 * Fails:  by telling so in the log; what was there stays, and the next look reads everything.
 * Bounds: API_SCHEDULE_TENANT_MAX entries of a tenant, API_SCHEDULE_COUNT_MAX of all; of the others the first of each tenant is told, and of each who
 *         asks for it.     Thread: the server's.
 */
#ifndef API_AGENDA_H
#define API_AGENDA_H

#include "api/log.h"
#include "api/schedules.h"

struct Api;
typedef struct Agenda Agenda;

typedef struct AgendaEntry {
    Str tenant, workflow;
    int64_t version;
    uint32_t trigger;
    Value digest, payload;
    Schedule schedule;
    Occurrence next;
    bool is_over;                   /* it is due no more */
} AgendaEntry;

Agenda      *agenda_new(struct Api *api);
void         agenda_free(Agenda *agenda);
/* Takes in what has changed since the last look; the first occurrence of what is new lies behind `after_s`. */
void         agenda_look(Agenda *agenda, int64_t after_s);
/* In the order of tenants, workflows and triggers; valid until the next look. */
AgendaEntry *agenda_entries(Agenda *agenda, size_t *out_count);
/* It is one of more than are followed, by the last look. */
bool         agenda_leaves_out(const Agenda *agenda, Str tenant, Str workflow, uint32_t trigger);
/* A line of the log about one; at_s 0: about no occurrence of it. */
void         agenda_tell(const struct Api *api, LogLevel level, const AgendaEntry *entry, int64_t at_s, const char *message, Str why);

#endif
