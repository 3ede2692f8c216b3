/* revision.c - revisions of workflows: which one a start means, the next one where it is new, and which of them is active.
 *
 * A plan belongs to one workflow of one tenant, so a plan in memory knows its revision once that was looked up, and a start of it
 * costs nothing. Else the store is asked. Meanwhile, and until what follows is durable, nobody else looks up or changes revisions of
 * the same workflow: so what the store says is all there is, versions are in order, and no label is given twice. A version that
 * was removed is not given again: where one is, how far versions had got is kept.
 *
 * A start of a plan makes its revision the active one, since whoever runs a definition wants that from now on; but not where the
 * active one was deactivated and this is none that is new. A start of a version by its number changes no flag.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "view/revision_row.h"

typedef enum Question { ASK_DIGEST, ASK_VERSION, ASK_NEWEST, ASK_HIGHEST, ASK_LABEL, ASK_ACTIVE, ASK_USERS, ASK_NOTHING } Question;

struct Revising {
    struct Revising *next;              /* of all workflows that are being looked at */
    PlanEntry *entry;                   /* of a start; held */
    uint64_t seq;                       /* of the batch that changes a revision; 0: none does yet */
    MailList waiting;                   /* what is about the same workflow */
    bool is_answered;
    uint32_t found;                     /* the version that is meant; 0: there is none yet */
    int64_t updated_ms;                 /* when its flag changed last */
    uint32_t newest, active;            /* versions; 0: none */
    uint32_t highest;                   /* the highest version that was ever given */
    uint32_t labelled;                  /* the other version that has the label of this one; 0: none */
    bool is_text_same;                  /* and that was written just like this one */
    int64_t user_count;                 /* runs that are pinned to what was found; of a removal */
    Digest digest;                      /* of the plan of what was found */
    Str tenant, workflow;
    char bytes[];
};

/* --- one at a time ----------------------------------------------------------------------------------------------------------- */

static Revising *revising_find(Engine *engine, Str tenant, Str workflow)
{
    Revising *revising = engine->revising;
    while (revising && !(str_is(revising->workflow, workflow) && str_is(revising->tenant, tenant))) revising = revising->next;
    return revising;
}

static Revising *revising_add(Engine *engine, Str tenant, Str workflow, PlanEntry *entry)
{
    Revising *revising = calloc(1, sizeof *revising + tenant.len + workflow.len);
    CHECK(revising);
    if (tenant.len) memcpy(revising->bytes, tenant.ptr, tenant.len);
    if (workflow.len) memcpy(revising->bytes + tenant.len, workflow.ptr, workflow.len);
    revising->tenant = (Str){ revising->bytes, tenant.len };
    revising->workflow = (Str){ revising->bytes + tenant.len, workflow.len };
    revising->entry = entry;
    if (entry) plan_hold(entry);
    revising->next = engine->revising;
    engine->revising = revising;
    return revising;
}

static void revising_end(Engine *engine, Revising *revising)
{
    Revising **place = &engine->revising;
    while (*place != revising) place = &(*place)->next;
    *place = revising->next;
    for (Mail *mail; (mail = mail_list_take(&revising->waiting));) queue_mail(engine, tenant_of(engine, mail->tenant), mail);
    if (revising->entry) plan_let_go(revising->entry);
    free(revising);
}

void revision_drop(Engine *engine, Mail *mail)
{
    if (mail->revising) revising_end(engine, mail->revising);
    mail->revising = NULL;
}

void revisions_durable(Engine *engine)
{
    for (Revising *revising = engine->revising, *next; revising; revising = next) {
        next = revising->next;
        if (revising->seq && batch_is_durable(engine, revising->seq)) revising_end(engine, revising);
    }
}

void revisions_discard(Engine *engine)
{
    for (uint32_t i = 0; i < PLAN_SLOT_COUNT; i++)
        for (PlanEntry *entry = engine->plans.slots[i]; entry; entry = entry->next) entry->revision = 0;
    revisions_durable(engine);
}

void revisions_deinit(Engine *engine)
{
    while (engine->revising) {
        Revising *revising = engine->revising;
        engine->revising = revising->next;
        for (Mail *mail; (mail = mail_list_take(&revising->waiting));) mail_free(mail);
        free(revising);
    }
}

/* --- what the store says ------------------------------------------------------------------------------------------------------- */

static Str label_of(const PlanEntry *entry)
{
    return value_get_string(entry->plan.document, "label", STR(""));
}

static bool ask(Engine *engine, Mail *mail, Question question)
{
    const Revising *revising = mail->revising;
    const PlanEntry *entry = revising->entry;
    QueryAsk query = { .params = { cell_text(revising->tenant), cell_text(revising->workflow) } };
    switch (question) {
    case ASK_DIGEST:
        query.query = QUERY_REVISION_BY_DIGEST;
        query.params[2] = cell_blob((Str){ (const char *)entry->digest.bytes, DIGEST_SIZE });
        break;
    case ASK_VERSION: query.query = QUERY_REVISION_HEAD, query.params[2] = cell_int(mail->start.revision); break;
    case ASK_NEWEST: query.query = QUERY_REVISION_NEWEST; break;
    case ASK_HIGHEST: query.query = QUERY_REMOVAL; break;
    case ASK_LABEL: query.query = QUERY_REVISION_BY_LABEL, query.params[2] = cell_text(label_of(entry)); break;
    case ASK_USERS: query.query = QUERY_COUNT_OF_REVISION, query.params[2] = cell_int(mail->start.revision); break;
    case ASK_ACTIVE:
    case ASK_NOTHING: query.query = QUERY_REVISION_ACTIVE, query.params[2] = cell_int(1); break;
    }
    query.param_count = question == ASK_NEWEST || question == ASK_HIGHEST ? 2
                      : question == ASK_USERS ? 4 : 3;                  /* the fourth is null: in any state */
    return read_begin(engine, &query, &(PendingRead){ .kind = READ_REVISION, .part = question, .mail = mail });
}

static void take_answer(Revising *revising, Question question, const Cell *row)
{
    if (question == ASK_USERS) {
        revising->user_count = row[0].integer;
        return;
    }
    if (question == ASK_HIGHEST) {
        uint32_t removed = (uint32_t)row[REMOVALS_version].integer;
        if (removed > revising->highest) revising->highest = removed;
        return;
    }
    uint32_t version = (uint32_t)row[REVISIONS_version].integer;
    switch (question) {
    case ASK_DIGEST:
    case ASK_VERSION:
        revising->found = version;
        revising->updated_ms = row[REVISIONS_updated_ms].integer;
        if (row[REVISIONS_active].integer) revising->active = version;
        if (row[REVISIONS_digest].text.len == DIGEST_SIZE) memcpy(&revising->digest, row[REVISIONS_digest].text.ptr, DIGEST_SIZE);
        break;
    case ASK_NEWEST: revising->newest = revising->highest = version; break;
    case ASK_LABEL:
        revising->labelled = version;
        revising->is_text_same = revising->entry->text.len && str_is(row[REVISIONS_text].text, revising->entry->text);
        break;
    case ASK_ACTIVE: revising->active = version; break;
    case ASK_HIGHEST:
    case ASK_USERS:
    case ASK_NOTHING: break;
    }
}

/* Of what was not found the newest is asked for, to number the next one or to say what there is. */
static Question question_after(const Mail *mail, Question question)
{
    const Revising *revising = mail->revising;
    bool is_found = revising->found != 0, is_active = is_found && revising->active == revising->found;
    switch (question) {
    case ASK_DIGEST:
    case ASK_VERSION:
        if (mail->is_removal && is_found) return ASK_USERS;
        return is_active ? ASK_NOTHING : is_found ? ASK_ACTIVE : ASK_NEWEST;
    case ASK_NEWEST:
        return mail->is_removal || (mail->is_start && !mail->start.revision) ? ASK_HIGHEST : ASK_NOTHING;
    case ASK_HIGHEST:
        if (mail->is_removal || !revising->newest) return ASK_NOTHING;
        return label_of(revising->entry).len ? ASK_LABEL : ASK_ACTIVE;
    case ASK_LABEL: return ASK_ACTIVE;
    case ASK_USERS: return ASK_NEWEST;
    case ASK_ACTIVE:
    case ASK_NOTHING: break;
    }
    return ASK_NOTHING;
}

void revision_answered(Engine *engine, Mail *mail, uint32_t part, const ReadAnswer *answer)
{
    Status status = answer->status;
    Error err = answer->error;
    if (!status && answer->row_count) take_answer(mail->revising, (Question)part, answer->cells);
    Question next = status ? ASK_NOTHING : question_after(mail, (Question)part);
    if (!status && next != ASK_NOTHING && !ask(engine, mail, next))
        status = error_set(&err, ERR_UNAVAILABLE, "the store takes no more questions now");
    if (status) {
        revision_drop(engine, mail);
        batch_reply(engine, NULL, mail, status, &err, /* is_noop= */ false);
    } else if (next == ASK_NOTHING) {
        mail->revising->is_answered = true;
        queue_route(engine, mail);
    }
}

/* The workflow is this mail's to look at; false where the mail was taken: it waits for another one, or for the store. */
static bool look(Engine *engine, Mail *mail, Str tenant, Str workflow, PlanEntry *entry)
{
    if (mail->revising) {
        CHECK(mail->revising->is_answered);
        return true;
    }
    Revising *other = revising_find(engine, tenant, workflow);
    if (other && other->waiting.count >= engine->options.queue_count_max) {
        Error err;
        error_set(&err, ERR_LIMIT, "%" PRIu32 " requests about workflow '%.*s' wait already", other->waiting.count, STR_ARG(workflow));
        batch_reply(engine, NULL, mail, ERR_LIMIT, &err, /* is_noop= */ false);
        return false;
    }
    if (other) {
        mail_list_add(&other->waiting, mail);
        return false;
    }
    mail->revising = revising_add(engine, tenant, workflow, entry);
    if (!ask(engine, mail, entry ? ASK_DIGEST : ASK_VERSION)) {
        revision_drop(engine, mail);
        queue_mail(engine, tenant_of(engine, mail->tenant), mail);
    }
    return false;
}

/* --- what was seen before ------------------------------------------------------------------------------------------------------- */

static Status check_flag(const Revising *revising, Mail *mail, Error *err)
{
    const RevisionSeen *seen = &mail->seen;
    bool is_active = revising->active == revising->found;
    if (!seen->has_flag || (seen->is_active == is_active && seen->updated_ms == revising->updated_ms)) return OK;
    mail->is_stale = true;
    return error_set(err, ERR_CONFLICT, "revision %" PRIu32 " of '%.*s' has changed meanwhile: it is %s now", revising->found,
                     STR_ARG(revising->workflow), is_active ? "active" : "not active");
}

/* What takes the place of another one was compared with that one, and with none that was activated since. */
static Status check_place(const Revising *revising, Mail *mail, Error *err)
{
    if (!mail->seen.has_active || mail->seen.active == revising->active) return OK;
    mail->is_overtaken = true;
    if (!revising->active)
        return error_set(err, ERR_CONFLICT, "revision %" PRIu32 " of '%.*s' was deactivated meanwhile; ask again", mail->seen.active,
                         STR_ARG(revising->workflow));
    return error_set(err, ERR_CONFLICT, "revision %" PRIu32 " of '%.*s' was activated meanwhile, and nobody has compared this one with it; ask again",
                     revising->active, STR_ARG(revising->workflow));
}

/* --- which one ------------------------------------------------------------------------------------------------------------------ */

static Status refuse_unknown(const Revising *revising, uint32_t version, Error *err)
{
    if (!revising->newest) return error_set(err, ERR_NOT_FOUND, "there is no workflow '%.*s'", STR_ARG(revising->workflow));
    return error_set(err, ERR_NOT_FOUND, "workflow '%.*s' has no revision %" PRIu32 "; its newest is %" PRIu32,
                     STR_ARG(revising->workflow), version, revising->newest);
}

static Status choose(const Revising *revising, Mail *mail, uint32_t *out_version, Error *err)
{
    uint32_t wanted = mail->start.revision;
    bool is_active = revising->found && revising->active == revising->found;
    if (!revising->found && wanted) return refuse_unknown(revising, wanted, err);
    if (wanted && wanted != revising->found)
        return error_set(err, ERR_INVALID, "this plan is revision %" PRIu32 " of '%.*s', and not %" PRIu32, revising->found,
                         STR_ARG(revising->workflow), wanted);
    if (revising->found && !is_active && (wanted || !revising->active)) {
        mail->is_inactive = true;
        return error_set(err, ERR_CONFLICT, "revision %" PRIu32 " of workflow '%.*s' is not active", revising->found, STR_ARG(revising->workflow));
    }
    if (!revising->found && revising->labelled && !revising->is_text_same)
        return error_set(err, ERR_INVALID,
                         "version \"%.*s\" of '%.*s' is revision %" PRIu32 ", and this definition says something else; give it another version",
                         STR_ARG(label_of(revising->entry)), STR_ARG(revising->workflow), revising->labelled);
    *out_version = revising->found ? revising->found : revising->highest + 1;
    return OK;
}

RevisionFate revision_look(Engine *engine, Mail *mail, PlanEntry *entry, uint32_t *out_version, Error *err)
{
    uint32_t wanted = mail->start.revision;
    if (mail->is_stored_only && entry->revision) {
        *out_version = entry->revision;
        return REVISION_IS_KNOWN;
    }
    if (entry->revision && entry->is_active && (!wanted || wanted == entry->revision)) {
        *out_version = entry->revision;
        return REVISION_IS_KNOWN;
    }
    if (!look(engine, mail, entry->plan.tenant, entry->plan.id, entry)) return REVISION_IS_TAKEN;
    if (mail->is_stored_only && mail->revising->found) {
        *out_version = mail->revising->found;
        return REVISION_IS_KNOWN;
    }
    const Revising *revising = mail->revising;
    bool is_change = !mail->is_stored_only && !(revising->found && revising->active == revising->found);
    Status status = choose(revising, mail, out_version, err);
    if (!status && is_change) status = check_place(revising, mail, err);
    return status ? REVISION_IS_REFUSED : REVISION_IS_KNOWN;
}

/* --- changes -------------------------------------------------------------------------------------------------------------------- */

static Cell text_or_null(Arena *arena, Str text)
{
    return text.len ? cell_text(arena_copy(arena, text)) : cell_null();
}

static Cell *row_of(EngineBatch *batch, const Revising *revising, uint32_t version)
{
    Arena *arena = &batch->batch.arena;
    Cell *cells = ARENA_ARRAY(arena, Cell, table_info(TABLE_REVISIONS)->column_count);
    cells[REVISIONS_tenant] = cell_text(arena_copy(arena, revising->tenant));
    cells[REVISIONS_workflow_id] = cell_text(arena_copy(arena, revising->workflow));
    cells[REVISIONS_version] = cell_int(version);
    return cells;
}

/* What is written once more under the same label, because a later Maestro makes another plan of it, goes without the label. */
static void store_revision(Engine *engine, EngineBatch *batch, const Revising *revising, uint32_t version, bool is_active)
{
    const PlanEntry *entry = revising->entry;
    Arena *arena = &batch->batch.arena;
    Cell *cells = row_of(batch, revising, version);
    cells[REVISIONS_label] = revising->labelled ? cell_null() : text_or_null(arena, label_of(entry));
    cells[REVISIONS_digest] = cell_blob(arena_copy(arena, (Str){ (const char *)entry->digest.bytes, DIGEST_SIZE }));
    cells[REVISIONS_active] = cell_int(is_active);
    revision_row_describe(arena, entry->plan.document, entry->plan.id, cells);
    cells[REVISIONS_text] = cell_text(arena_copy(arena, entry->text.len ? entry->text : entry->document));
    cells[REVISIONS_created_ms] = cells[REVISIONS_updated_ms] = cell_int(engine->now_ms);
    projection_row(batch->projection, TABLE_REVISIONS, ROW_INSERT, table_mask(table_info(TABLE_REVISIONS)), cells);
}

static void set_flag(Engine *engine, EngineBatch *batch, const Revising *revising, uint32_t version, bool is_active)
{
    Cell *cells = row_of(batch, revising, version);
    cells[REVISIONS_active] = cell_int(is_active);
    cells[REVISIONS_updated_ms] = cell_int(engine->now_ms);
    projection_row(batch->projection, TABLE_REVISIONS, ROW_UPDATE,
                   COLUMN_BIT(REVISIONS_active) | COLUMN_BIT(REVISIONS_updated_ms), cells);
}

/* Of a start the record of its run has the id, and whoever looks for that must not find this one. */
static void note_change(Engine *engine, EngineBatch *batch, const Revising *revising, EventKind kind, uint32_t version,
                        const Mail *mail)
{
    Command command = mail->command;
    if (mail->is_start && !mail->is_stored_only) command.id = STR("");
    if (mail->is_start && !mail->is_stored_only && !command.rationale.len) command.rationale = STR("a run of it was started");
    Event event = { .kind = (uint8_t)kind, .tenant = revising->tenant, .name = revising->workflow, .revision = version,
                    .payload = EVENT_NO_PAYLOAD };
    if (kind == EVENT_REVISION_REMOVED) event.count = revising->highest;
    if (kind == EVENT_REVISION_STORED) {
        event.digest = &revising->entry->digest;
        if (!revising->labelled) event.text = label_of(revising->entry);
    }
    log_event_record(engine, batch, &event, &command);
}

/* Plans in memory know which of them may be started. */
static void remember(Engine *engine, const Revising *revising, const Digest *digest, uint32_t version, bool is_active)
{
    for (uint32_t i = 0; i < PLAN_SLOT_COUNT; i++)
        for (PlanEntry *entry = engine->plans.slots[i]; entry; entry = entry->next) {
            if (!str_is(entry->plan.id, revising->workflow) || !str_is(entry->plan.tenant, revising->tenant)) continue;
            bool is_it = memcmp(&entry->digest, digest, sizeof *digest) == 0;
            if (is_it) entry->revision = version;
            entry->is_active = is_it && is_active;
        }
}

void revision_begun(Engine *engine, Mail *mail, PlanEntry *entry, uint32_t version)
{
    Revising *revising = mail->revising;
    if (!revising) return;
    bool is_active = revising->found && revising->active == version;
    if (!is_active) {
        EngineBatch *batch = batch_open(engine);
        if (revising->active) set_flag(engine, batch, revising, revising->active, false);
        if (!revising->found) {
            store_revision(engine, batch, revising, version, /* is_active= */ true);
            note_change(engine, batch, revising, EVENT_REVISION_STORED, version, mail);
        } else {
            set_flag(engine, batch, revising, version, true);
        }
        note_change(engine, batch, revising, EVENT_REVISION_ACTIVATED, version, mail);
        revising->seq = batch->seq;
    }
    remember(engine, revising, &entry->digest, version, true);
    mail->revising = NULL;
    if (is_active) revising_end(engine, revising);
}

void revision_stored(Engine *engine, Mail *mail, PlanEntry *entry, uint32_t version)
{
    Revising *revising = mail->revising;
    if (!revising || revising->found) {
        revision_drop(engine, mail);
        batch_reply(engine, NULL, mail, OK, NULL, /* is_noop= */ true);
        return;
    }
    EngineBatch *batch = batch_open(engine);
    store_revision(engine, batch, revising, version, /* is_active= */ false);
    note_change(engine, batch, revising, EVENT_REVISION_STORED, version, mail);
    revising->seq = batch->seq;
    entry->revision = version;
    entry->is_active = false;
    mail->revising = NULL;
    batch_reply_open(engine, mail);
}

/* --- activation ------------------------------------------------------------------------------------------------------------------- */

static Status check_removal(const Revising *revising, uint32_t version, Error *err)
{
    if (revising->active == version)
        return error_set(err, ERR_CONFLICT, "revision %" PRIu32 " of '%.*s' is active", version, STR_ARG(revising->workflow));
    if (revising->user_count)
        return error_set(err, ERR_CONFLICT, "%" PRId64 " runs are pinned to revision %" PRIu32 " of '%.*s'", revising->user_count, version,
                         STR_ARG(revising->workflow));
    return OK;
}

static void note_highest(EngineBatch *batch, const Revising *revising)
{
    Arena *arena = &batch->batch.arena;
    Cell *cells = ARENA_ARRAY(arena, Cell, table_info(TABLE_REMOVALS)->column_count);
    cells[REMOVALS_tenant] = cell_text(arena_copy(arena, revising->tenant));
    cells[REMOVALS_workflow_id] = cell_text(arena_copy(arena, revising->workflow));
    cells[REMOVALS_version] = cell_int(revising->highest);
    projection_row(batch->projection, TABLE_REMOVALS, ROW_PUT, table_mask(table_info(TABLE_REMOVALS)), cells);
}

static void refuse_change(Engine *engine, Mail *mail, Status status, const Error *err)
{
    revision_drop(engine, mail);
    batch_reply(engine, NULL, mail, status, err, /* is_noop= */ false);
}

/* Its plan stays, as all plans do. */
static void remove_revision(Engine *engine, Mail *mail, uint32_t version)
{
    Revising *revising = mail->revising;
    Error err = { 0 };
    Status status = check_removal(revising, version, &err);
    if (status) {
        refuse_change(engine, mail, status, &err);
        return;
    }
    EngineBatch *batch = batch_open(engine);
    projection_row(batch->projection, TABLE_REVISIONS, ROW_DELETE, 0, row_of(batch, revising, version));
    note_highest(batch, revising);
    note_change(engine, batch, revising, EVENT_REVISION_REMOVED, version, mail);
    PlanEntry *entry = plan_cache_find(engine, &revising->digest);
    if (entry && entry->revision == version) entry->revision = 0;
    revising->seq = batch->seq;
    mail->revising = NULL;
    batch_reply_open(engine, mail);
}

void revision_mail(Engine *engine, Mail *mail)
{
    uint32_t version = mail->start.revision;
    if (!look(engine, mail, mail->tenant, mail->command.name, NULL)) return;
    Revising *revising = mail->revising;
    Error err = { 0 };
    Status status = revising->found ? check_flag(revising, mail, &err) : refuse_unknown(revising, version, &err);
    if (status) {
        refuse_change(engine, mail, status, &err);
        return;
    }
    if (mail->is_removal) {
        remove_revision(engine, mail, version);
        return;
    }
    bool is_active = revising->active == version;
    if (is_active == mail->is_activation) {
        revision_drop(engine, mail);
        batch_reply(engine, NULL, mail, OK, NULL, /* is_noop= */ true);
        return;
    }
    status = mail->is_activation ? check_place(revising, mail, &err) : OK;
    if (status) {
        refuse_change(engine, mail, status, &err);
        return;
    }
    EngineBatch *batch = batch_open(engine);
    if (mail->is_activation && revising->active) set_flag(engine, batch, revising, revising->active, false);
    set_flag(engine, batch, revising, version, mail->is_activation);
    note_change(engine, batch, revising, mail->is_activation ? EVENT_REVISION_ACTIVATED : EVENT_REVISION_DEACTIVATED, version, mail);
    remember(engine, revising, &revising->digest, version, mail->is_activation);
    revising->seq = batch->seq;
    mail->revising = NULL;
    batch_reply_open(engine, mail);
}

/* --- a run that goes on with another one ------------------------------------------------------------------------------------------- */

typedef enum TargetPart { TARGET_ROW, TARGET_PLAN } TargetPart;

PlanEntry *target_find(Engine *engine, Mail *mail)
{
    return mail->is_aimed ? mail_plan(engine, mail) : NULL;
}

static void target_ask(Engine *engine, Resident *resident, TargetPart part, const QueryAsk *ask)
{
    PendingRead read = { .kind = READ_TARGET, .run_no = resident->run_no, .part = part };
    Error err;
    if (read_begin(engine, ask, &read)) {
        resident->fetching = MISSING_TARGET;
        return;
    }
    error_set(&err, ERR_UNAVAILABLE, "the store takes no more questions now");
    batch_reply(engine, resident, mail_list_take(&resident->inbox), ERR_UNAVAILABLE, &err, /* is_noop= */ false);
}

void target_fetch(Engine *engine, Resident *resident, uint32_t version)
{
    const Plan *plan = &resident->plan->plan;
    target_ask(engine, resident, TARGET_ROW,
               &(QueryAsk){ .query = QUERY_REVISION_HEAD, .param_count = 3,
                            .params = { cell_text(plan->tenant), cell_text(plan->id), cell_int(version) } });
}

static Status take_target(Engine *engine, const Resident *resident, Mail *mail, uint32_t part, const ReadAnswer *answer, Error *err)
{
    const Plan *plan = &resident->plan->plan;
    PlanEntry *entry;
    if (answer->status) {
        *err = answer->error;
        return answer->status;
    }
    if (!answer->row_count)
        return error_set(err, ERR_NOT_FOUND, "workflow '%.*s' has no revision %" PRIu32 ": see 'maestro revisions'", STR_ARG(plan->id),
                         mail->command.revision);
    if (part == TARGET_ROW) {
        if (answer->cells[REVISIONS_digest].text.len != DIGEST_SIZE) return error_set(err, ERR_CORRUPT, "that revision names no plan");
        memcpy(&mail->plan, answer->cells[REVISIONS_digest].text.ptr, DIGEST_SIZE);
        mail->is_aimed = true;
        return OK;
    }
    Status status = plan_cache_add(engine, answer->cells[PLANS_document].text, &entry, err);
    if (!status) entry->is_stored = true;
    return status;
}

void target_answered(Engine *engine, Resident *resident, uint32_t part, const ReadAnswer *answer)
{
    Mail *mail = resident->inbox.first;
    Error err;
    resident->fetching = STEP_NONE;
    CHECK(mail);                                            /* it was put back first, and nobody took it meanwhile */
    Status status = take_target(engine, resident, mail, part, answer, &err);
    if (status) {
        mail = mail_list_take(&resident->inbox);
        batch_reply(engine, resident, mail, status, &err, /* is_noop= */ false);
    } else if (!target_find(engine, mail)) {
        Str digest = { (const char *)mail->plan.bytes, DIGEST_SIZE };
        target_ask(engine, resident, TARGET_PLAN,
                   &(QueryAsk){ .query = QUERY_PLAN, .params = { cell_blob(digest) }, .param_count = 1 });
        return;
    }
    decide_inbox(engine, resident);
    queue_work(engine, resident);
}
