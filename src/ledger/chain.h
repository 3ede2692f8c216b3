/* chain.h - hashes that make removal, reordering and change visible.
 *
 * Two chains run through the same records. A record's hash covers the hash of the record before it in the same run, so a
 * run can be verified by itself; the log's head covers the hashes of all records of the log in order. Heads are kept in the
 * run's row and the log's row, and can be anchored outside: what is cut off at the end is found by them.
 *
 *   hash  = BLAKE2b-256("maestro record" || run's previous hash || record bytes)
 *   head' = BLAKE2b-256("maestro log"    || head || hash)
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef LEDGER_CHAIN_H
#define LEDGER_CHAIN_H

#include "base/str.h"
#include "value/canonical.h"

Digest chain_record(const Digest *run_before, Str record);      /* a run's first record follows a digest of zeros */
Digest chain_log(const Digest *head_before, const Digest *record_hash);

#endif
