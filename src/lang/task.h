/* task.h - one task, of a job or of a step tree: what its keys demand of one another, and its step in the plan.
 *
 * Owns: nothing.     Fails: by diagnostics.     Thread: one at a time.
 */
#ifndef LANG_TASK_H
#define LANG_TASK_H

#include "lang/compiler.h"
#include "lang/reference.h"
#include "lang/shape.h"

/* Mistakes that need nothing but the task and the catalog. */
void task_check(Compiler *compiler, const Node *task);
/* Its conditions and ${paths}; `place` says where the task stands. */
void task_references(References *references, const Place *place, const Node *task);
/* The tasks whose outputs it reads. */
void task_producers(References *references, const Node *task, ProducerVisit visit, void *context);
/* Its retry policy, by either key, or NULL. */
const Node *task_retries(const Node *task);
/* Whether the task (or job) ends the run whatever happens: its terminate_when is the literal true. */
bool task_always_terminates(const Node *task);

/* Adds the members of its step: everything but id, kind, name, job and parent. `inherited` are the policies that apply to
 * it from above. */
void task_lower(Compiler *compiler, const Shape *shape, const Node *task, const ValueList *inherited, MemberList *members);

/* The roots that conditions before the work may use. */
#define ROOTS_BEFORE (ROOT_PARAMS | ROOT_OUTPUTS | ROOT_PAYLOAD | ROOT_RUN)
#define ROOTS_AFTER (ROOTS_BEFORE | ROOT_OUTPUT)

#endif
