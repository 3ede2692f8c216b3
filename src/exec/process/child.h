/* child.h - one program under way: its descriptors, its lines, its messages, and in the end its report.
 *
 * A child works in small steps: child_work() does what can be done now and says whether there is more, so that one that
 * talks much does not keep others waiting, and one whose lines nobody takes is tried again later.
 *
 *   begun ──start sent──▶ running ──answer──▶ ended ──lines drained, report taken──▶ free
 *                           │ child_end(): TERM, then child_is_late(): KILL
 *
 * Owns:   what it opened, its request and its report, until child_release().
 * Fails:  child_begin() never: what goes wrong becomes the report.
 * Thread: the supervisor's.
 */
#ifndef EXEC_PROCESS_CHILD_H
#define EXEC_PROCESS_CHILD_H

#include "base/arena.h"
#include "base/limits.h"
#include "engine/executor.h"
#include "exec/process/request.h"
#include "exec/process/spawner.h"
#include "exec/process/stream.h"

typedef enum ChildStream { CHILD_OUT, CHILD_ERR, CHILD_EVENTS, CHILD_ACKS, CHILD_STREAM_COUNT } ChildStream;

/* What all children of one executor share. */
typedef struct ChildHost {
    NoticeSink sink;
    Spawner spawner;
    int epoll_fd;
    uint64_t log_size_max;
    bool is_closing;                    /* reports that nobody takes are given up */
    Arena scratch;                      /* for one message or line */
    Buf line;                           /* a line made valid */
} ChildHost;

typedef struct Child {
    ChildHost *host;
    Request *request;                   /* NULL: this slot is free */
    uint32_t slot;
    Stream streams[CHILD_ACKS];
    int acks_fd;
    int given[SPAWNER_FD_COUNT];        /* the program's ends; -1 once they were sent */
    bool must_start;
    int must_signal;                    /* 0: none */
    Cause ended_by;
    bool has_answer, has_report;
    SpawnAnswer answer;
    uint64_t log_size;
    bool is_log_full;
    char said[REPORT_TEXT_SIZE_MAX];    /* the end of its standard error */
    size_t said_size;
    uint64_t ack_count, ack_count_written;
    bool is_acks_watched;
    bool is_busy;                       /* in the supervisor's list */
    Arena arena;                        /* of the report */
    Report report;
} Child;

typedef enum ChildState { CHILD_WAITS, CHILD_MORE, CHILD_STALLED, CHILD_DONE } ChildState;

void child_begin(Child *child, ChildHost *host, Request *request);      /* takes the request */
ChildState child_work(Child *child);
void child_end(Child *child, Cause cause, int signal);
void child_acknowledge(Child *child);
void child_answer(Child *child, const SpawnAnswer *answer);
void child_lost(Child *child);          /* the spawner is gone, and with it all that it had started */
void child_release(Child *child);

static inline uint64_t child_token(uint32_t slot, ChildStream stream) { return (uint64_t)slot << 8 | stream; }

#endif
