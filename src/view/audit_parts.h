/* audit_parts.h - private to the audit: what its parts share. audit.c goes through the runs, audit_run.c compares one of them,
 * audit_log.c what follows from the records of the log itself, audit_fact.c the rows that single events of it make. */
#ifndef VIEW_AUDIT_PARTS_H
#define VIEW_AUDIT_PARTS_H

#include "core/plan.h"
#include "ledger/record.h"
#include "view/audit.h"

typedef struct Audit {
    Store *store;
    const AuditOptions *options;
    AuditReport *report;
    /* The plan that was asked for last: runs of one plan follow one another. */
    Arena plan_arena;
    Digest plan_digest;
    Plan plan;
    bool has_plan, is_plan_sound;
    Error plan_error;
    uint64_t step_run_no_end;       /* the number that the next step run gets; 0: not known */
    uint64_t step_run_no_last;      /* the greatest that was seen */
    uint64_t *keys;                 /* rows of maestro_dedupe that records of runs make, as hashes */
    size_t key_count, key_capacity;
    Arena key_arena;
    Arena scratch;                  /* of one text */
} Audit;

void audit_init(Audit *audit, Store *store, const AuditOptions *options, AuditReport *report);
void audit_deinit(Audit *audit);

/* The plan with this digest. ERR_CORRUPT where it is not there or is not what its digest says; the same answer is given again. */
MUST_USE Status audit_plan(Audit *audit, const Digest *digest, const Plan **out_plan, Error *err);

PRINTF_LIKE(4, 5)
void audit_tell(Audit *audit, FindingKind kind, Str run_id, const char *format, ...);
/* "maestro_signals (7, 1)": a row by its key. */
Str audit_place(Arena *arena, Table table, const Cell *cells);
/* A cell for people, cut where it is long. */
Str audit_text(Arena *arena, const Cell *cell);
/* A row of maestro_dedupe, all of it. */
uint64_t audit_key_hash(const Cell *cells);
/* One column. True where it is what it should be. */
bool audit_column(Audit *audit, Str run_id, Table table, const Cell *found, uint32_t column, Cell expected);

/* audit_run.c */
MUST_USE Status audit_compare_run(Audit *audit, const Cell *row, Error *err);

/* audit_log.c */
typedef struct AuditLog AuditLog;
AuditLog *audit_log_new(void);
void audit_log_free(AuditLog *log);
/* Reads the records of the log itself. */
MUST_USE Status audit_log_read(Audit *audit, AuditLog *log, Error *err);
/* Takes note of a run's row, and compares that of an archived one; `out_is_here` tells whether its records are here. */
void audit_log_run(Audit *audit, AuditLog *log, const Cell *row, bool *out_is_here);
/* Plans, revisions, the head of the log, keys that no record makes. */
MUST_USE Status audit_log_compare(Audit *audit, AuditLog *log, Error *err);

/* audit_fact.c; everything lives in the arena given */
typedef struct AuditFacts AuditFacts;
AuditFacts *audit_facts_new(Arena *arena);
void audit_facts_note(AuditFacts *facts, const Event *event, const RecordHead *head);
MUST_USE Status audit_facts_compare(Audit *audit, AuditFacts *facts, Error *err);

#endif
