/* scan.h - which items of a container are worth looking at.
 *
 * A body such as `some p in people; p.team == team` goes over all people for each team. Where a test behind a scan
 * compares something inside the item with what is known before the scan, the compiler notes it (plan_scan.c) and the
 * scan passes over items that cannot hold, by an index from hashes to places. The test is made all the same, so a
 * collision costs time alone.
 *
 *   base data    indexed when the policy is compiled, once for all evaluations
 *   the rest     indexed by an evaluation that scans the same container again and again
 *
 * Owns:   nothing; an index lives in the arena of its policy, query or evaluation.
 * Fails:  never; whoever gives the memory has weighed it.
 * Bounds: VALUE_COUNT_MAX items; scan_index_size() bytes.     Thread: immutable once made; any.
 */
#ifndef REGO_SCAN_H
#define REGO_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "value/value.h"

#define SCAN_END UINT32_MAX

#define SCAN_INDEX_COUNT_MIN 16u    /* of items: fewer are passed over as fast without an index */
#define SCAN_REPEAT_COUNT 2u        /* scans of a container that an evaluation makes before it indexes it */

/* Where the value that is tested lies in an item. */
typedef struct ScanPath {
    const Value *keys;
    uint32_t count;
    bool is_base;               /* steps as in base data */
} ScanPath;

/* Items whose tested values have equal hashes are a chain, in the order of the container. */
typedef struct ScanIndex {
    const void *items;          /* of the container: the very same one */
    uint32_t count;
    ScanPath path;
    uint32_t mask;
    uint32_t *first;            /* by hash */
    uint32_t *next;             /* by place */
} ScanIndex;

bool scan_path_equals(ScanPath a, ScanPath b);

/* Bytes behind `memory` for a container of that count. */
size_t scan_index_size(uint32_t count);
/* `memory` is aligned for uint32_t. */
void scan_index_make(Value container, ScanPath path, void *memory, ScanIndex *out_index);

/* The first place whose item may hold that value; index->next[] has the others. SCAN_END where there is none (left). */
uint32_t scan_index_first(const ScanIndex *index, Value wanted);

static inline bool scan_index_is_of(const ScanIndex *index, Value container)
{
    return index->items == container.items && index->count == container.count;
}

#endif
