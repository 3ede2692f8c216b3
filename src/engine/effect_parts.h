/* effect_parts.h - what the files of effects share among themselves: internal.h has what others call.
 *
 * Owns: an OutEntry is the engine's, from out_add() to out_remove() or out_end().     Fails: never, but as said.     Thread: the engine's.
 */
#ifndef ENGINE_EFFECT_PARTS_H
#define ENGINE_EFFECT_PARTS_H

#include "engine/internal.h"

/* effect_place.c */
uint64_t holder_of(const Engine *engine, uint32_t slot);
Task effect_task(const Plan *plan, const Run *run, uint32_t step, bool is_undo, TaskStage stage);

/* effect_out.c */
bool out_is(const OutEntry *entry, const AttemptId *id);
OutEntry *out_find(Engine *engine, const AttemptId *id, bool is_reported);
OutEntry *out_find_stray(Engine *engine, const AttemptId *id);             /* given up, and its number is given out anew */
void out_end_handed(Engine *engine, Executor *executor, AttemptId id);
OutEntry *out_add(Engine *engine, Resident *resident, const Effect *effect);
void out_remove(Engine *engine, uint64_t run_no, OutEntry *entry);
void out_unreserve(Engine *engine, Executor *executor, OutEntry *entry);
void out_measure(Engine *engine, OutEntry *entry, const Executor *executor, size_t size);      /* so much its executor keeps of it */
void out_end(Engine *engine, const AttemptId *id, OutEntry *entry, bool is_reported);
bool out_take_back(Engine *engine, const AttemptId *id, bool is_reported);

/* effect_room.c */
void effect_take_room(Engine *engine, const Executor *executor, const Notice *notice);     /* somebody asks for work */

/* effect_attempt.c */
InputAnswer effect_make_attempt(Engine *engine, Resident *resident, const Effect *effect, char trace[TRACE_TEXT_SIZE],
                                struct Redaction **filled_secrets, Attempt *out, InputResult *result);
/* ERR_UNAVAILABLE where it may be had later. */
MUST_USE Status effect_give_credential(Engine *engine, const Executor *executor, struct Redaction **secrets, Attempt *attempt, Error *err);

#endif
