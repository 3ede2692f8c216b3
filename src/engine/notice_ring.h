/* notice_ring.h - the engine's inbox: notices of executors, from any thread.
 *
 * An executor hands in a notice by the sink; it is copied whole, queued, and the engine is woken once for however many
 * came. The engine takes them one after another in its turn. Where the inbox is full it says so and the executor keeps
 * what it has: a flood of log lines slows down who writes them, and never the engine.
 *
 * Owns:   the copies; a taken notice is valid until the next one is taken.
 * Fails:  notice_ring_open() with ERR_LIMIT; the sink answers false beyond a bound.
 * Bounds: a count given by the caller; NOTICE_SIZE_MAX bytes in all.
 * Thread: the sink any; notice_ring_take() the engine's. Close it after every executor that has its sink.
 */
#ifndef ENGINE_NOTICE_RING_H
#define ENGINE_NOTICE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/executor.h"

typedef struct NoticeRing NoticeRing;

/* count_max 0: NOTICE_COUNT_DEFAULT. */
MUST_USE Status notice_ring_open(uint32_t count_max, NoticeRing **out_ring, Error *err);
void notice_ring_close(NoticeRing *ring);

NoticeSink notice_ring_sink(NoticeRing *ring);
int  notice_ring_fd(const NoticeRing *ring);            /* readable where something came since the last lower */
/* Before the notices of a turn are taken, once: what comes after it raises the descriptor again. */
void notice_ring_lower(NoticeRing *ring);
bool notice_ring_is_raised(const NoticeRing *ring);     /* something came since the last lower */
bool notice_ring_take(NoticeRing *ring, Notice *out_notice);        /* the oldest; false where there is none */

#endif
