/* suggest.h - "did you mean": the known name nearest to one that is not.
 *
 * Distance counts letters changed, added, dropped or swapped with their neighbour, case and the signs - _ . ignored. A
 * name is near when less than about a third of it differs.
 *
 * Owns: nothing.     Bounds: names beyond NAME_SIZE_MAX are never near.     Thread: pure, any.
 */
#ifndef LANG_SUGGEST_H
#define LANG_SUGGEST_H

#include "base/str.h"

typedef struct Suggestion {
    Str wanted;             /* what was written */
    Str best;               /* the nearest so far; empty where none is near */
    unsigned distance;
} Suggestion;

Suggestion suggest_begin(Str wanted);
void       suggest_offer(Suggestion *suggestion, Str known);

#endif
