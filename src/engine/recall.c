/* recall.c - a report that comes again: whether the first one was taken, by what the store has of its attempt.
 *
 * An executor remembers what it answered; the next process does not, and its memory is bounded. A report of an attempt that is over is
 * refused by the core, and before that refusal leaves, the rows of the attempt are asked: where it ended by the word of who had it, the
 * report is one that counted, and is answered as the first time. Which report it was is not looked at: there is one of an attempt.
 *
 *   refused, durable ─▶ the row of its step run ─▶ that of the attempt ─▶ settled(): taken, or not
 *
 * A lease that ran out takes the holder off the row of the step run; the row stays without it, so that whoever lost his lease is told so by
 * the next process, too. Of an attempt that was tried again its own row has the cause alone: a timeout may have been said by its holder or
 * found by the deadline, and counts as the latter, since nothing is called durable that may not be.
 *
 * Owns: the mail, until it is answered.     Fails: a store that does not answer is asked again.     Bounds: those of reads.
 */
#include "core/compensation.h"
#include "engine/internal.h"

typedef enum RecallPart { RECALL_STEP_RUN, RECALL_ATTEMPT } RecallPart;

bool recall_is_due(const Mail *mail)
{
    return mail->command.kind == COMMAND_REPORT && mail->is_notice && mail->teller && mail->teller->answers_again;
}

/* Compensations are part of the run, as long as no later rollback took their place. */
bool recall_compensation(const Run *run, const Command *command)
{
    for (uint32_t i = 0; i < run->rollback.count; i++) {
        const Compensation *item = &run->rollback.items[i];
        if (item->step == command->step && item->state == COMPENSATION_SUCCEEDED
            && rollback_attempt(run, item->attempt) == command->attempt)
            return true;
    }
    return false;
}

static void again_later(Engine *engine, Mail *mail)
{
    mail->recalls = false;
    queue_mail(engine, tenant_of_run(engine, mail->run_no), mail);
}

static void ask(Engine *engine, Mail *mail, RecallPart part)
{
    int64_t step_index = (int64_t)attempt_step_run(mail->serial) - 1;
    QueryAsk query = { .query = QUERY_STEP_RUN, .params = { cell_int((int64_t)mail->run_no), cell_int(step_index) }, .param_count = 2 };
    if (part == RECALL_ATTEMPT) {
        query.query = QUERY_ATTEMPTS;
        query.params[query.param_count++] = cell_int((int64_t)mail->command.attempt - 1);
        query.row_count_max = 1;
    }
    if (!read_begin(engine, &query, &(PendingRead){ .kind = READ_RECALL, .part = part, .mail = mail })) again_later(engine, mail);
}

bool recall_begin(Engine *engine, Mail *mail)
{
    if (!mail->is_refused || !mail->recalls || !attempt_step_run(mail->serial)) return false;
    ask(engine, mail, RECALL_STEP_RUN);
    return true;
}

/* Not by time, nor by who lost it. */
static bool is_said(const Cell *cause, bool is_tried_again)
{
    static const Cause found[] = { CAUSE_LEASE_EXPIRED, CAUSE_LOST, CAUSE_NOT_ACCEPTED, CAUSE_TIMEOUT };
    uint32_t count = sizeof found / sizeof *found - !is_tried_again;
    for (uint32_t i = 0; cause->kind == CELL_TEXT && i < count; i++)
        if (str_is_text(cause->text, cause_name(found[i]))) return false;
    return true;
}

/* The step run is over, or waits behind its work, and that attempt was its last. */
static bool is_last_of(const Mail *mail, const Cell *row)
{
    return row[STEP_RUNS_attempt].integer == (int64_t)mail->command.attempt && row[STEP_RUNS_holder].kind == CELL_INT
        && (uint64_t)row[STEP_RUNS_holder].integer == mail->command.holder
        && !str_is_text(row[STEP_RUNS_status].text, step_state_stored(STEP_RUNNING))
        && is_said(&row[STEP_RUNS_error_cause], /* is_tried_again= */ false);
}

static bool is_ended(const Mail *mail, const Cell *row)
{
    return row[ATTEMPTS_attempt].integer == (int64_t)mail->command.attempt && row[ATTEMPTS_finished_ms].kind == CELL_INT
        && is_said(&row[ATTEMPTS_error_cause], /* is_tried_again= */ true);
}

void recall_answered(Engine *engine, Mail *mail, uint32_t part, const ReadAnswer *answer)
{
    if (answer->status == ERR_UNAVAILABLE) {
        again_later(engine, mail);
        return;
    }
    bool has_row = !answer->status && answer->row_count;
    if (has_row) mail->is_refused = !(part == RECALL_STEP_RUN ? is_last_of(mail, answer->cells) : is_ended(mail, answer->cells));
    if (has_row && part == RECALL_STEP_RUN && mail->is_refused) {
        ask(engine, mail, RECALL_ATTEMPT);
        return;
    }
    effect_report_over(engine, mail);
    mail_free(mail);
}
