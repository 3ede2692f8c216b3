/* reads.c - questions to the store that are on their way, and who goes on with the answer. */
#include <stdlib.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"

bool read_begin(Engine *engine, const QueryAsk *ask, const PendingRead *read)
{
    if (!engine->reads) {
        engine->reads = calloc(ENGINE_READ_COUNT_MAX, sizeof *engine->reads);
        CHECK(engine->reads);
        for (uint32_t i = 0; i < ENGINE_READ_COUNT_MAX; i++) {
            engine->reads[i].next = engine->free_reads;
            engine->free_reads = &engine->reads[i];
        }
    }
    PendingRead *slot = engine->free_reads;
    if (!slot) return false;
    PendingRead *next = slot->next;
    *slot = *read;
    slot->is_asked = true;
    Resident *asker = read->run_no ? resident_find(engine, read->run_no) : NULL;
    slot->serial = asker ? asker->serial : 0;
    if (!store_read(engine->store, ask, (uint64_t)(slot - engine->reads))) {
        slot->next = next;
        return false;
    }
    engine->free_reads = next;
    engine->read_count++;
    return true;
}

/* A command whose run was not in memory: the answer says which run it is. */
static void run_found(Engine *engine, Mail *mail, const ReadAnswer *answer)
{
    Error err = { 0 };
    if (answer->status == ERR_UNAVAILABLE && !mail->reply) {
        queue_mail(engine, tenant_of_run(engine, mail->run_no), mail);  /* what executors and timers say is not lost */
        return;
    }
    if (answer->status || !answer->row_count) {
        Status status = answer->status ? answer->status : ERR_NOT_FOUND;
        if (answer->status) err = answer->error;
        else error_set(&err, ERR_NOT_FOUND, "there is no run %s", mail->run_no ? "of that number" : mail->run_id.text);
        batch_reply(engine, NULL, mail, status, &err, /* is_noop= */ false);
        return;
    }
    const Cell *archived_to = &answer->cells[RUNS_archived_to];
    if (archived_to->kind == CELL_TEXT) {                               /* nobody decides anything about it any more */
        error_set(&err, ERR_CONFLICT, "run %.*s was archived: its records are in %.*s", STR_ARG(answer->cells[RUNS_id].text),
                  STR_ARG(archived_to->text));
        batch_reply(engine, NULL, mail, ERR_CONFLICT, &err, /* is_noop= */ false);
        return;
    }
    uint64_t run_no = (uint64_t)answer->cells[RUNS_run_no].integer;
    Resident *resident = resident_find(engine, run_no);
    if (!resident) {
        Id id;
        CHECK(id_read(answer->cells[RUNS_id].text, &id));
        resident = resident_add(engine, run_no, &id);
        if (!load_begin(engine, resident, answer->cells)) {
            mail->run_no = run_no;
            queue_mail(engine, tenant_of(engine, answer->cells[RUNS_tenant].text), mail);
            return;
        }
    }
    decide_mail(engine, resident, mail);
}

void read_answered(Engine *engine, uint64_t read_id, const ReadAnswer *answer)
{
    CHECK(read_id < ENGINE_READ_COUNT_MAX);
    PendingRead *slot = &engine->reads[read_id], read = *slot;
    slot->is_asked = false;
    slot->next = engine->free_reads;
    engine->free_reads = slot;
    engine->read_count--;
    Resident *resident = read.run_no ? resident_find(engine, read.run_no) : NULL;
    if (resident && resident->serial != read.serial) resident = NULL;       /* it was asked for a run that was thrown away */
    switch (read.kind) {
    case READ_LOAD:
        if (resident && resident->loader) load_answer(engine, resident, read.part, answer);
        break;
    case READ_VALUE:
        engine->fetch_count--;
        engine->fetch_size -= read.size;
        if (resident && resident->fetching == read.part) load_fetched(engine, resident, read.part, answer);
        break;
    case READ_TARGET:
        if (resident && resident->fetching == MISSING_TARGET) target_answered(engine, resident, read.part, answer);
        break;
    case READ_PLAN: start_plan_answered(engine, read.mail, answer); break;
    case READ_KEY: start_key_answered(engine, read.mail, read.part, answer); break;
    case READ_START: start_record_answered(engine, read.mail, read.part, answer); break;
    case READ_REVISION: revision_answered(engine, read.mail, read.part, answer); break;
    case READ_SECRET: secret_answered(engine, read.mail, read.part, answer); break;
    case READ_REQUEST: request_answered(engine, read.mail, answer); break;
    case READ_RECALL: recall_answered(engine, read.mail, read.part, answer); break;
    case READ_EXPIRED: request_purged(engine, answer); break;
    case READ_RUN_ID: run_found(engine, read.mail, answer); break;
    case READ_RECOVER: recover_answered(engine, answer); break;
    case READ_TIMERS: timer_swept(engine, answer); break;
    case READ_DEDUPE:
        if (resident) dedupe_answered(engine, resident, read.part, answer);
        else engine->key_read_count--;
        break;
    }
}
