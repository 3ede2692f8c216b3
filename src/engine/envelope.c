/* envelope.c - what a tenant is held to: attempts, cores and memory at a time, time and money in a window.
 *
 * Declared in runners.yaml (`tenants`); a tenant without limits has no envelope and costs nothing. What is lacking holds a step back,
 * which says so once; a start is refused where the window has nothing left, or where a step could never fit. What is under way is
 * charged every QUOTA_TICK_MS, and ended where time or money have run out: that is recorded, its executor is told, and whatever is
 * reported of it from then on, it has failed, `budget-exceeded`.
 *
 * What is used up in a window is a row, written with the commits that change it, so that another owner goes on from there. The row says
 * until when what is under way is charged in it; from then on the next owner charges what it inherits (inherit.c), which is held to
 * the envelope like what it gave out itself.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/civil.h"
#include "base/limits.h"
#include "engine/internal.h"
#include "value/number.h"

/* An attempt that is under way. */
struct Hold {
    struct Hold *next, *previous;
    Envelope *envelope;
    AttemptId id;
    QuotaNeed need;
    int64_t hour_micro, charged_ms;
    bool is_undo, has_cost;
    bool is_ended;                      /* it is to end, since this has run out: */
    QuotaLack lack;
};

struct Envelope {
    Tenant *tenant;
    QuotaTerms terms;
    QuotaUse use;
    QuotaUse placing;                   /* given away in the decision being made */
    uint64_t decision;                  /* which one that is */
    Hold *holds;
    int64_t charged_ms;                 /* until when whatever had begun by then is charged, also in its row */
    int64_t stored_ms;
    bool is_dirty;                      /* its row is not what is used */
};

/* --- make ------------------------------------------------------------------------------------------------------------------ */

static bool take_use(void *context, const Cell *cells, uint32_t count)
{
    Envelope *envelope = context;
    (void)count;
    envelope->use.window_ms = cells[TENANT_USE_window_ms].integer;
    envelope->use.runtime_ms = cells[TENANT_USE_runtime_ms].integer;
    envelope->use.cost_micro = cells[TENANT_USE_cost_micro].integer;
    envelope->charged_ms = cells[TENANT_USE_updated_ms].integer;
    return false;
}

Status envelopes_open(Engine *engine, Error *err)
{
    const EngineOptions *options = &engine->options;
    if (options->quota_count > QUOTA_COUNT_MAX)
        return error_set(err, ERR_LIMIT, "more than QUOTA_COUNT_MAX (%u) tenants with limits", QUOTA_COUNT_MAX);
    engine->envelopes = calloc(options->quota_count + 1, sizeof *engine->envelopes);
    CHECK(engine->envelopes);
    for (uint32_t i = 0; i < options->quota_count; i++) {
        Envelope *envelope = calloc(1, sizeof *envelope);
        CHECK(envelope);
        engine->envelopes[engine->envelope_count++] = envelope;
        envelope->terms = options->quotas[i].terms;
        CHECK(envelope->terms.window_ms > 0);
        envelope->tenant = tenant_of(engine, options->quotas[i].tenant);
        envelope->tenant->envelope = envelope;
        QueryAsk ask = { .query = QUERY_TENANT_USE, .params = { cell_text(options->quotas[i].tenant) }, .param_count = 1 };
        Status status = store_select(engine->store, &ask, take_use, envelope, err);
        if (status) return status;
        quota_turn(&envelope->terms, &envelope->use, engine->now_ms);
        envelope->stored_ms = engine->now_ms;
    }
    return OK;
}

void envelopes_deinit(Engine *engine)
{
    for (uint32_t i = 0; i < engine->envelope_count; i++) {
        for (Hold *hold = engine->envelopes[i]->holds, *next; hold; hold = next) {
            next = hold->next;
            free(hold);
        }
        free(engine->envelopes[i]);
    }
    free(engine->envelopes);
    engine->envelope_count = 0;
}

/* --- what an attempt needs --------------------------------------------------------------------------------------------------- */

/* Programs and what workers run take what their job declares; services and what is built in take nothing that we could count. */
static bool is_program(const Executor *executor)
{
    return executor && (str_is_text(executor->kind, "process") || str_is_text(executor->kind, "worker"));
}

static QuotaNeed need_of(const Envelope *envelope, const Plan *plan, uint32_t step, const Executor *executor)
{
    uint32_t job = plan->steps[step].job;
    const Value *resources = job == PLAN_NONE ? NULL : value_get_text(plan->jobs[job].settings, "resources");
    const Value *cpu = resources ? value_get_text(*resources, "cpu") : NULL;
    QuotaNeed need = { 0 };
    if (envelope->terms.cpu_milli_max && cpu && value_is_number(*cpu)) need.cpu_milli = number_milli(*cpu);
    else if (envelope->terms.cpu_milli_max && is_program(executor)) need.cpu_milli = QUOTA_CPU_MILLI_DEFAULT;
    if (envelope->terms.memory_mb_max && resources) need.memory_mb = value_get_int(*resources, "memory_mb", 0);
    return need;
}

/* An amount of a limit, as people write it. */
static Str amount(Arena *arena, QuotaLack lack, int64_t value)
{
    if (lack == QUOTA_CPU) return arena_format(arena, "%" PRId64 ".%03" PRId64 " cores", value / 1000, value % 1000);
    if (lack == QUOTA_MEMORY) return arena_format(arena, "%" PRId64 " MB", value);
    if (lack == QUOTA_RUNTIME) return arena_format(arena, "%" PRId64 ".%03" PRId64 " s", value / 1000, value % 1000);
    if (lack == QUOTA_COST) return arena_format(arena, "%" PRId64 ".%06" PRId64, value / 1000000, value % 1000000);
    return arena_format(arena, "%" PRId64, value);
}

static int64_t max_of(const QuotaTerms *terms, QuotaLack lack)
{
    const int64_t maxima[QUOTA_LACK_COUNT] = { 0, terms->running_max, terms->cpu_milli_max, terms->memory_mb_max, terms->runtime_ms_max,
                                               terms->cost_micro_max };
    return maxima[lack];
}

static int64_t used_of(const QuotaUse *use, QuotaLack lack)
{
    const int64_t used[QUOTA_LACK_COUNT] = { 0, use->running, use->cpu_milli, use->memory_mb, use->runtime_ms, use->cost_micro };
    return used[lack];
}

static Str spent_text(const Envelope *envelope, QuotaLack lack, Arena *arena)
{
    char text[32];
    Buf until = buf_on(text, sizeof text);
    civil_print_ms(&until, quota_window_end(&envelope->terms, &envelope->use));
    Str max = amount(arena, lack, max_of(&envelope->terms, lack)), used = amount(arena, lack, used_of(&envelope->use, lack));
    return arena_format(arena, "budget-exceeded: the tenant '%.*s' has used %.*s of its %s of %.*s; the next window begins at %.*s",
                        STR_ARG(envelope->tenant->name), STR_ARG(used), quota_name(lack), STR_ARG(max),
                        STR_ARG(buf_peek(&until)));
}

static Str lack_text(const Envelope *envelope, QuotaLack lack, const QuotaNeed *need, Arena *arena)
{
    if (lack == QUOTA_RUNTIME || lack == QUOTA_COST) return spent_text(envelope, lack, arena);
    Str max = amount(arena, lack, max_of(&envelope->terms, lack));
    Str used = amount(arena, lack, used_of(&envelope->use, lack) + used_of(&envelope->placing, lack));
    if (lack == QUOTA_RUNNING)
        return arena_format(arena, "the tenant '%.*s' has %.*s attempts under way, its max_concurrency",
                            STR_ARG(envelope->tenant->name), STR_ARG(used));
    Str wanted = amount(arena, lack, lack == QUOTA_CPU ? need->cpu_milli : need->memory_mb);
    return arena_format(arena, "it needs %.*s, and of the %s of the tenant '%.*s', %.*s, %.*s are in use", STR_ARG(wanted), quota_name(lack),
                        STR_ARG(envelope->tenant->name), STR_ARG(max), STR_ARG(used));
}

/* --- admission ----------------------------------------------------------------------------------------------------------------- */

static Status check_step(const Envelope *envelope, const Plan *plan, uint32_t step, const Executor *executor, Arena *arena, Error *err)
{
    QuotaNeed need = need_of(envelope, plan, step, executor);
    if (envelope->terms.memory_mb_max && !need.memory_mb && is_program(executor))
        return error_set(err, ERR_INVALID, "step %.*s: the tenant '%.*s' has a limit of memory_mb: the job has to declare resources.memory_mb",
                         STR_ARG(plan->steps[step].id), STR_ARG(envelope->tenant->name));
    QuotaLack lack = quota_never(&envelope->terms, &need);
    if (lack == QUOTA_ENOUGH) return OK;
    Str wanted = amount(arena, lack, lack == QUOTA_CPU ? need.cpu_milli : need.memory_mb), max = amount(arena, lack, max_of(&envelope->terms, lack));
    return error_set(err, ERR_INVALID, "step %.*s: it can never begin: it needs %.*s, and the tenant '%.*s' may have %.*s at a time",
                     STR_ARG(plan->steps[step].id), STR_ARG(wanted), STR_ARG(envelope->tenant->name), STR_ARG(max));
}

Status envelope_check_start(Engine *engine, const Tenant *tenant, const PlanEntry *entry, int64_t *out_quota_ms, Error *err)
{
    Envelope *envelope = tenant->envelope;
    if (!envelope) return OK;
    for (uint32_t i = 0; i < entry->plan.step_count; i++) {
        Status status = OK;
        if (entry->offers[i].count) status = check_step(envelope, &entry->plan, i, entry->offers[i].items->executor, &engine->arena, err);
        if (!status && entry->undo_offers[i].count)
            status = check_step(envelope, &entry->plan, i, entry->undo_offers[i].items->executor, &engine->arena, err);
        if (status) return status;
    }
    quota_turn(&envelope->terms, &envelope->use, engine->now_ms);
    QuotaLack spent = quota_spent(&envelope->terms, &envelope->use);
    if (spent == QUOTA_ENOUGH) return OK;
    engine->stats.quota_refused_count++;
    *out_quota_ms = quota_window_end(&envelope->terms, &envelope->use);
    return error_set(err, ERR_LIMIT, "%.*s", STR_ARG(spent_text(envelope, spent, &engine->arena)));
}

bool envelope_permits(Engine *engine, Tenant *tenant, const Plan *plan, uint32_t step, const Executor *executor, bool is_undo, Place *out)
{
    Envelope *envelope = tenant->envelope;
    if (!envelope) return true;
    if (recover_is_blind(engine)) {                     /* who holds what is not known yet */
        *out = (Place){ .kind = PLACE_LATER };
        return false;
    }
    Error err;
    if (check_step(envelope, plan, step, executor, &engine->arena, &err)) {
        *out = (Place){ .kind = PLACE_NEVER, .rationale = arena_copy(&engine->arena, str_of(err.text)) };
        return false;
    }
    if (envelope->decision != engine->decision_no) envelope->placing = (QuotaUse){ 0 };
    envelope->decision = engine->decision_no;
    quota_turn(&envelope->terms, &envelope->use, engine->now_ms);
    QuotaNeed need = need_of(envelope, plan, step, executor);
    QuotaUse use = envelope->use;
    use.running += envelope->placing.running;
    use.cpu_milli += envelope->placing.cpu_milli;
    use.memory_mb += envelope->placing.memory_mb;
    QuotaLack lack = quota_lack(&envelope->terms, &use, &need, is_undo);
    if (lack == QUOTA_ENOUGH) return true;
    *out = (Place){ .kind = PLACE_DEFERRED, .rationale = lack_text(envelope, lack, &need, &engine->arena) };
    if (engine->envelopes_due > engine->now_ms + QUOTA_TICK_MS) engine->envelopes_due = engine->now_ms + QUOTA_TICK_MS;
    return false;
}

void envelope_placed(Tenant *tenant, const Plan *plan, uint32_t step, const Executor *executor, bool is_back)
{
    Envelope *envelope = tenant->envelope;
    if (!envelope) return;
    QuotaNeed need = need_of(envelope, plan, step, executor);
    (is_back ? quota_give : quota_take)(&envelope->placing, &need);
}

/* --- under way ------------------------------------------------------------------------------------------------------------------- */

static Hold *hold_add(Engine *engine, Envelope *envelope, const Plan *plan, const AttemptId *id, const Executor *executor)
{
    Hold *hold = calloc(1, sizeof *hold);
    CHECK(hold);
    *hold = (Hold){ .next = envelope->holds, .envelope = envelope, .id = *id, .need = need_of(envelope, plan, id->step, executor),
                    .hour_micro = executor && executor->site ? executor->site->cost_micro : 0, .charged_ms = engine->now_ms,
                    .is_undo = attempt_rollback(id->attempt) != 0 };
    if (hold->next) hold->next->previous = hold;
    envelope->holds = hold;
    quota_take(&envelope->use, &hold->need);
    if (engine->envelopes_due > engine->now_ms + QUOTA_TICK_MS) engine->envelopes_due = engine->now_ms + QUOTA_TICK_MS;
    return hold;
}

Hold *envelope_begin(Engine *engine, Tenant *tenant, const Plan *plan, const AttemptId *id, const Executor *executor)
{
    return tenant->envelope ? hold_add(engine, tenant->envelope, plan, id, executor) : NULL;
}

/* It went on while nobody looked: what the row does not hold is charged with the next look, as far as it is of this window. */
Hold *envelope_inherit(Engine *engine, Tenant *tenant, const Plan *plan, const AttemptId *id, const Executor *executor,
                       int64_t begun_ms, bool has_cost)
{
    Envelope *envelope = tenant->envelope;
    if (!envelope) return NULL;
    Hold *hold = hold_add(engine, envelope, plan, id, executor);
    int64_t since = begun_ms > envelope->charged_ms ? begun_ms : envelope->charged_ms;
    if (since < envelope->use.window_ms) since = envelope->use.window_ms;
    if (since < hold->charged_ms) hold->charged_ms = since;
    hold->has_cost = has_cost;
    return hold;
}

static void charge(Engine *engine, Hold *hold)
{
    Envelope *envelope = hold->envelope;
    int64_t passed = engine->now_ms - hold->charged_ms;
    if (passed <= 0) return;
    hold->charged_ms = engine->now_ms;
    quota_charge(&envelope->use, passed, hold->hour_micro);
    envelope->is_dirty = true;
}

static void hold_remove(Hold *hold)
{
    Envelope *envelope = hold->envelope;
    quota_give(&envelope->use, &hold->need);
    *(hold->previous ? &hold->previous->next : &envelope->holds) = hold->next;
    if (hold->next) hold->next->previous = hold->previous;
    free(hold);
}

void envelope_end(Engine *engine, Hold *hold)
{
    if (!hold) return;
    Envelope *envelope = hold->envelope;
    quota_turn(&envelope->terms, &envelope->use, engine->now_ms);
    charge(engine, hold);
    hold_remove(hold);
    effect_room_of(engine, envelope->tenant);
}

void envelope_forget(Hold *hold)
{
    if (hold) hold_remove(hold);
}

bool envelope_ended(Engine *engine, const Hold *hold, Str *out_why)
{
    if (!hold || !hold->is_ended) return false;
    *out_why = spent_text(hold->envelope, hold->lack, &engine->arena);
    return true;
}

/* Money that an attempt says to have cost is charged with the record that says so. */
void envelope_pay(Engine *engine, EngineBatch *batch, Resident *resident, const Event *event)
{
    Envelope *envelope = resident->tenant->envelope;
    if (!envelope) return;
    int64_t micro = event->count < (uint64_t)QUOTA_AMOUNT_MAX ? (int64_t)event->count : QUOTA_AMOUNT_MAX;
    quota_turn(&envelope->terms, &envelope->use, engine->now_ms);
    quota_pay(&envelope->use, micro);
    envelope->is_dirty = true;
    batch->payments = arena_grow(&batch->batch.arena, batch->payments, sizeof *batch->payments, batch->payment_count, &batch->payment_capacity);
    batch->payments[batch->payment_count++] = (Payment){ envelope, micro };
    for (Hold *hold = envelope->holds; hold; hold = hold->next)
        if (hold->id.run_no == resident->run_no && hold->id.step == event->step) hold->has_cost = true;
    engine->envelopes_due = engine->now_ms;             /* it may have been the last of it */
}

/* Its commit failed: whoever said so says it again. */
void envelope_unpay(EngineBatch *batch)
{
    for (uint32_t i = 0; i < batch->payment_count; i++) {
        Envelope *envelope = batch->payments[i].envelope;
        envelope->use.cost_micro -= batch->payments[i].cost_micro < envelope->use.cost_micro
                                  ? batch->payments[i].cost_micro : envelope->use.cost_micro;
        envelope->is_dirty = true;
    }
    batch->payment_count = 0;
}

/* --- time ------------------------------------------------------------------------------------------------------------------------ */

/* Its end is decided like any other of the run, and its executor is told once that is durable. */
static void ask_end(Engine *engine, const Hold *hold)
{
    const AttemptId *id = &hold->id;
    Command end = { .kind = COMMAND_SPENT, .actor = STR("engine"), .rationale = spent_text(hold->envelope, hold->lack, &engine->arena),
                    .step = id->step, .attempt = id->attempt, .holder = id->holder };
    queue_mail(engine, hold->envelope->tenant, mail_of_engine(id->run_no, &end));
}

/* What goes beyond the window's time or money is to end; what undoes something is not. Of money only who costs any. */
static void end_spent(Engine *engine, Envelope *envelope, QuotaLack lack)
{
    for (Hold *hold = envelope->holds; hold; hold = hold->next) {
        bool is_meant = !hold->is_undo && !hold->is_ended && (lack == QUOTA_RUNTIME || hold->hour_micro || hold->has_cost);
        if (!is_meant || !effect_is_handed(engine, &hold->id)) continue;        /* one that nobody has yet is ended when somebody has it */
        hold->is_ended = true;
        hold->lack = lack;
        ask_end(engine, hold);
    }
}

static void look(Engine *engine, Envelope *envelope)
{
    const QuotaTerms *terms = &envelope->terms;
    for (Hold *hold = envelope->holds; hold; hold = hold->next) charge(engine, hold);
    envelope->charged_ms = engine->now_ms;
    bool is_new = quota_turn(terms, &envelope->use, engine->now_ms);
    QuotaLack spent = quota_spent(terms, &envelope->use);
    if (spent && !is_new) end_spent(engine, envelope, spent);
    if (!spent) effect_room_of(engine, envelope->tenant);
    int64_t due = INT64_MAX;
    if (envelope->holds || (envelope->tenant->waiting_count && !spent)) due = engine->now_ms + QUOTA_TICK_MS;
    else if (envelope->tenant->waiting_count) due = quota_window_end(terms, &envelope->use);
    if (due < engine->envelopes_due) engine->envelopes_due = due;
    if (envelope->is_dirty && engine->now_ms - envelope->stored_ms >= QUOTA_KEEP_MS) batch_open(engine);
}

void envelopes_turn(Engine *engine)
{
    if (engine->now_ms < engine->envelopes_due || engine->state == ENGINE_STALLED) return;
    if (recover_is_blind(engine)) {                     /* its end comes earlier, as a rule */
        engine->envelopes_due = engine->now_ms + QUOTA_TICK_MS;
        return;
    }
    engine->envelopes_due = INT64_MAX;
    for (uint32_t i = 0; i < engine->envelope_count; i++) look(engine, engine->envelopes[i]);
}

/* With the batch that is about to go out. */
void envelopes_store(Engine *engine, EngineBatch *batch)
{
    const TableInfo *info = table_info(TABLE_TENANT_USE);
    for (uint32_t i = 0; i < engine->envelope_count; i++) {
        Envelope *envelope = engine->envelopes[i];
        if (!envelope->is_dirty) continue;
        Cell *cells = ARENA_ARRAY(&batch->batch.arena, Cell, info->column_count);
        cells[TENANT_USE_tenant] = cell_text(envelope->tenant->name);
        cells[TENANT_USE_window_ms] = cell_int(envelope->use.window_ms);
        cells[TENANT_USE_runtime_ms] = cell_int(envelope->use.runtime_ms);
        cells[TENANT_USE_cost_micro] = cell_int(envelope->use.cost_micro);
        cells[TENANT_USE_updated_ms] = cell_int(envelope->charged_ms);
        projection_row(batch->projection, TABLE_TENANT_USE, ROW_PUT, table_mask(info), cells);
        envelope->is_dirty = false;
        envelope->stored_ms = engine->now_ms;
    }
}

/* Nothing of what was written counts: who was to end, by a decision that is gone, is asked about again. */
void envelopes_discard(Engine *engine)
{
    for (uint32_t i = 0; i < engine->envelope_count; i++) {
        engine->envelopes[i]->is_dirty = true;
        for (Hold *hold = engine->envelopes[i]->holds; hold; hold = hold->next) hold->is_ended = false;
    }
}

/* --- look ------------------------------------------------------------------------------------------------------------------------ */

static Value money(Arena *arena, int64_t micro)
{
    return number_make(arena, arena_format(arena, "%" PRId64 ".%06" PRId64, micro / 1000000, micro % 1000000));
}

static Value cores(Arena *arena, int64_t milli)
{
    return number_make(arena, arena_format(arena, "%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000));
}

static Value left(int64_t max, int64_t used) { return value_int(max > used ? max - used : 0); }

void envelope_show(Engine *engine, const Tenant *tenant, MemberList *members)
{
    const Envelope *envelope = tenant->envelope;
    Arena *arena = members->arena;
    MemberList limits = { .arena = arena }, use = { .arena = arena }, rest = { .arena = arena };
    if (!envelope) {
        member_list_add(&use, STR("running"), value_int(tenant->running_count + tenant->inherited_count));
        member_list_add(members, STR("limits"), member_list_object(&limits));
        member_list_add(members, STR("use"), member_list_object(&use));
        member_list_add(members, STR("left"), member_list_object(&rest));
        return;
    }
    const QuotaTerms *terms = &envelope->terms;
    QuotaUse now = envelope->use;
    quota_turn(terms, &now, engine->now_ms);
    member_list_add(&use, STR("running"), value_int(now.running));
    if (terms->running_max) {
        member_list_add(&limits, STR("maxConcurrency"), value_int(terms->running_max));
        member_list_add(&rest, STR("running"), left(terms->running_max, now.running));
    }
    if (terms->cpu_milli_max) {
        member_list_add(&limits, STR("cpu"), cores(arena, terms->cpu_milli_max));
        member_list_add(&use, STR("cpu"), cores(arena, now.cpu_milli));
        member_list_add(&rest, STR("cpu"), cores(arena, terms->cpu_milli_max > now.cpu_milli ? terms->cpu_milli_max - now.cpu_milli : 0));
    }
    if (terms->memory_mb_max) {
        member_list_add(&limits, STR("memoryMb"), value_int(terms->memory_mb_max));
        member_list_add(&use, STR("memoryMb"), value_int(now.memory_mb));
        member_list_add(&rest, STR("memoryMb"), left(terms->memory_mb_max, now.memory_mb));
    }
    if (terms->runtime_ms_max) {
        member_list_add(&limits, STR("runtimeMs"), value_int(terms->runtime_ms_max));
        member_list_add(&rest, STR("runtimeMs"), left(terms->runtime_ms_max, now.runtime_ms));
    }
    if (terms->has_cost_max) {
        int64_t over = terms->cost_micro_max > now.cost_micro ? terms->cost_micro_max - now.cost_micro : 0;
        member_list_add(&limits, STR("cost"), money(arena, terms->cost_micro_max));
        member_list_add(&rest, STR("cost"), money(arena, over));
    }
    member_list_add(&limits, STR("windowMs"), value_int(terms->window_ms));
    member_list_add(&use, STR("runtimeMs"), value_int(now.runtime_ms));
    member_list_add(&use, STR("cost"), money(arena, now.cost_micro));
    member_list_add(&use, STR("windowBeganMs"), value_int(now.window_ms));
    member_list_add(&use, STR("windowEndsMs"), value_int(quota_window_end(terms, &now)));
    member_list_add(members, STR("limits"), member_list_object(&limits));
    member_list_add(members, STR("use"), member_list_object(&use));
    member_list_add(members, STR("left"), member_list_object(&rest));
}
