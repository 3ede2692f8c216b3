/* row_key.h - rows told apart by their keys, in tables of hashes that live as long as a call.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef VIEW_ROW_KEY_H
#define VIEW_ROW_KEY_H

#include "view/store.h"

bool     cell_is(const Cell *a, const Cell *b);
/* Of the table and the cells of its key. Where rows lie in memory is nobody's secret and no answer depends on it. */
uint64_t row_key_hash(Table table, const Cell *key);
bool     row_key_is(Table table, const Cell *a, const Cell *b);

#endif
