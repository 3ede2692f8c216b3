/* log_share.h - how many lines of the log refused requests may take, and failed ones.
 *
 * Whoever sends requests that are refused needs no key for that, and each would be a line: tens of gigabytes an hour, in which nobody finds the
 * others. Of those that are alike (their status, route, key and address) the first API_LOG_LIKE_COUNT_MAX within API_LOG_SPAN_MS are written one
 * by one; how many more there were a line tells when that time is over, or the server ends. At most API_LOG_KIND_COUNT_MAX are told apart, of one
 * key, or of all who are not known, API_LOG_KEY_KIND_MAX, and further ones counted together: so strangers hide no failure of somebody else.
 *
 * Owns:   what it counts.     Fails: never.     Thread: the server's.
 */
#ifndef API_LOG_SHARE_H
#define API_LOG_SHARE_H

#include "api/key.h"

/* What is alike. Of those that are not told apart the status is 0. */
typedef struct LogKind { unsigned status; const char *route; char key[KEY_ID_SIZE + 1], source[64]; } LogKind;

typedef struct LogPlace {
    LogKind kind;
    int64_t since_ms;
    uint32_t line_count;            /* 0: nobody has it */
    uint64_t left_count;            /* that were left out since */
} LogPlace;

/* Zero at first. */
typedef struct LogShares { LogPlace places[API_LOG_KIND_COUNT_MAX + 1]; } LogShares;      /* the last one: all that have none of their own */

LogKind log_kind(const Call *call);
/* Whether one of that kind is written. */
bool log_share_take(LogShares *shares, const LogKind *kind, int64_t now_ms);
/* How many of which kind were left out, one after the other, as that is due, or all of it; false: nothing is. */
bool log_share_next(LogShares *shares, int64_t now_ms, bool is_end, LogKind *out_kind, uint64_t *out_count);
int64_t log_share_due_ms(const LogShares *shares, int64_t now_ms);        /* in how many ms; -1: nothing waits */

#endif
