/* mail.h - a command on its way: copied, owned, and kept until it is answered.
 *
 * A mail is one allocation that holds the command's texts, and its values as JSON text, so that ten thousand waiting ones
 * cost what they say and no more. Values are read into the arena of the decision when its turn comes.
 *
 * Owns:   itself; freed by mail_free().     Fails: mail_open() with ERR_INVALID where a text is no JSON (never for our own).
 * Thread: one at a time.
 */
#ifndef ENGINE_MAIL_H
#define ENGINE_MAIL_H

#include "base/arena.h"
#include "engine/engine.h"

typedef struct Mail {
    struct Mail *next;
    size_t size;                    /* of all of it */
    size_t *held;                   /* the engine's count of such bytes, once it is part of that; NULL: not yet */
    bool is_start;
    bool is_notice;                 /* from an executor: decided again where its commit fails */
    uint64_t serial;                /* of a notice: of its attempt */
    Executor *teller;               /* of a notice: who is told what became of it; NULL: nobody */
    bool is_unfit;                  /* a value of it is larger than any record holds: refused; a report of it is a failure */
    uint64_t receipt;               /* of a notice: by which its teller knows it; 0: without one */
    bool is_refused;                /* of a notice: nothing was recorded */
    bool is_repeat;                 /* of a report: its executor has said it before, and it is not decided again */
    bool recalls;                   /* of a report that is refused: the store knows whether it was taken before */
    bool is_over_quota;             /* of a start: its tenant has nothing left */
    int64_t quota_ms;               /* of that: when it has again */
    bool is_other_start;            /* its key belongs to a run with other parameters */
    bool is_revision;               /* activates a revision, or the contrary: start.revision of command.name */
    bool is_activation;
    RevisionSeen seen;              /* of that, and of a start */
    const char *outcome;            /* of a trigger that was taken: EngineReply */
    bool is_stale;                  /* the revision was not as it was seen, or the secret is not new */
    bool is_overtaken;              /* it was compared with another one than the active one */
    bool is_inactive;               /* of a start: its revision is not active */
    bool is_of_params;              /* of a start: its parameters are not as its plan wants them */
    bool is_stored_only;            /* of a start: no run begins, its plan becomes a revision */
    bool is_secret;                 /* stores the secret command.name, sealed in `params`; `payload`: the tenant's key, sealed */
    bool is_removal;                /* removes it, or that revision */
    bool is_new;                    /* stores it only where there is none of that name */
    KeepKind keep;                  /* what a server keeps: command.name, start.key, start.parent, payload, and: */
    int64_t since_ms, due_ms;
    struct PlanEntry *entry;        /* its plan, once that is in memory: held until the mail is freed; the engine's */
    struct Revising *revising;      /* what was found of the workflow's revisions; the engine's */
    struct KnownRequest *known;     /* of a request with an id that is being decided; the engine's */
    uint64_t run_no;                /* 0: by run_id; of a start: the run that has its key, once that is known */
    Id run_id;
    Command command;                /* its values are null: see mail_open() */
    Str value, output;              /* of the command, as JSON; empty: null */
    Str tenant;
    Digest plan;                    /* of a start; of a command that goes on with another revision, once `is_aimed` */
    bool is_aimed;
    int64_t queued_ms;              /* when it began to wait for its turn: of one that came between two turns, the time of the later */
    struct Mail *fresh_next;        /* of those that came between two turns */
    Str params, payload;
    StartRequest start;
    ReplyTo reply;
    void *context;
    char bytes[];
} Mail;

typedef struct MailList { Mail *first, *last; uint32_t count; } MailList;

Mail *mail_of_start(const EngineStart *start);
Mail *mail_of_request(const EngineRequest *request);
Mail *mail_of_revision(const EngineRevision *revision);
Mail *mail_of_secret(const EngineSecret *secret);
Mail *mail_of_keep(const EngineKeep *keep);
Mail *mail_of_notice(const Notice *notice, Str executor);        /* of that name: a report, effect, cost or signal */
Mail *mail_of_engine(uint64_t run_no, const Command *command);
void  mail_hold(Mail *mail, size_t *held);                  /* its bytes count there until it is freed; the first one stays */
void  mail_free(Mail *mail);

/* The command with its values, read into `arena`. */
MUST_USE Status mail_open(const Mail *mail, Arena *arena, Command *out_command, Error *err);
MUST_USE Status mail_open_start(const Mail *mail, Arena *arena, StartRequest *out_request, Error *err);

void  mail_list_add(MailList *list, Mail *mail);
void  mail_list_put_back(MailList *list, Mail *mail);       /* before all others */
Mail *mail_list_take(MailList *list);                       /* NULL where it is empty */

#endif
