/* value_diff.h - what differs between two values, place by place.
 *
 * Objects are compared by their members, arrays by their items in order, everything else as a whole. A difference is
 * {"pointer": "/input/amount", "left": 5, "right": 7}; of what one side does not have its member is left out.
 *
 * Owns:   values borrow from both sides; the list grows in its arena.
 * Fails:  never.     Bounds: `count_max` differences, of the rest only how many; the depth of the values.     Thread: pure, any.
 */
#ifndef VALUE_VALUE_DIFF_H
#define VALUE_VALUE_DIFF_H

#include "value/value.h"

typedef struct ValueDiff {
    ValueList list;                 /* give it its arena */
    uint32_t count_max;
    uint32_t total;                 /* of all, also those that are not in the list */
} ValueDiff;

/* `pointer` is where the two stand. */
void value_diff(ValueDiff *diff, Str pointer, Value left, Value right);

#endif
