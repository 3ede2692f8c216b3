/* debounce.h - starts that a trigger's debouncing holds back: several events within its time start one run, with the last payload.
 *
 * The time begins with the first event and is not begun anew by later ones, so that a sender that never stops does not keep a run from
 * starting. Each event is durable before it is answered (maestro_waiting_starts, and start-deferred in the ledger), and one that could
 * not be made durable counts for nothing. The run is started under an id that is made of what waits, so that it is started once, whatever
 * process is killed when. What waited while no server was there is started by the next. A start that is refused for good (no revision is
 * active any more) is told in the ledger, by start-settled.
 *
 * Payloads may be large: they lie in the store, and each is read when its run is started, a large one beside the server's thread.
 *
 * Owns:   what waits. Borrows the Api.
 * Fails:  debounces_open() with the store's reason. debounce_add() by answering.
 * Bounds: SHARE_STARTS of shares.h; API_DEBOUNCE_STARTING_SIZE.     Thread: the server's.
 */
#ifndef API_DEBOUNCE_H
#define API_DEBOUNCE_H

#include "api/api.h"

typedef struct Debounces Debounces;

typedef struct DebounceEvent {
    Str tenant, workflow;
    Str source;                     /* "webhook:order": the trigger, and the source of the run */
    int64_t span_ms;
    Str payload;                    /* JSON; empty: none */
    Str id;                         /* of a signed event: one that comes again is answered as the first; empty: none */
    Str alias;                      /* a second one; may be empty */
} DebounceEvent;

MUST_USE Status debounces_open(Api *api, Debounces **out_debounces, Error *err);
void debounces_free(Debounces *debounces);          /* NULL is permitted; after the bridge */

void debounce_add(Call *call, const DebounceEvent *event);      /* answers when it is durable */
void debounces_turn(Debounces *debounces, int64_t now_ms);      /* starts what is due */
int64_t debounces_due_ms(const Debounces *debounces, int64_t now_ms);      /* in how many ms; -1: nothing waits */

#endif
