/* maestro ledger erase: payloads of a run that is over are set to NULL, and the log says why. */
#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "cli/ledger_write.h"
#include "cli/run_read.h"
#include "cli/server_order.h"
#include "cli/workplace.h"
#include "ledger/record.h"
#include "view/id_derive.h"

#define ERASED_COUNT_MAX 4u         /* records: of parameters, input, output, details */

static const Option options[] = {
    { "params", 0, NULL, NULL, "Erases what the run was started with." },
    { "input", 0, NULL, NULL, "Erases what the step was given." },
    { "output", 0, NULL, NULL, "Erases what the step gave back, or said about its failure." },
    { "reason", 0, "TEXT", NULL, "Why; it is kept in the ledger. Needed." },
    STORE_OPTION,
    { NULL },
};

typedef struct Erasing {
    const Args *args;
    Store *store;
    const Cell *row, *step;             /* of the run; of the step run, NULL where none was named */
    int64_t positions[ERASED_COUNT_MAX];
    uint32_t count;
} Erasing;

/* The record that a payload lies beside, once, and not where it was erased before. */
static Status add_record(Erasing *erasing, const Cell *at, Error *err)
{
    const Cell *record;
    if (at->kind != CELL_INT) return OK;
    for (uint32_t i = 0; i < erasing->count; i++)
        if (erasing->positions[i] == at->integer) return OK;
    QueryAsk ask = { .query = QUERY_RECORD, .params = { *at }, .param_count = 1 };
    Status status = row_select(erasing->args->arena, erasing->store, &ask, &record, err);
    if (!status && record && record[LEDGER_payload].kind == CELL_BLOB) erasing->positions[erasing->count++] = at->integer;
    return status;
}

static Status choose_records(Erasing *erasing, Error *err)
{
    const Args *args = erasing->args;
    bool is_all = !args_flag(args, "params") && !args_flag(args, "input") && !args_flag(args, "output");
    Status status = OK;
    if (args_flag(args, "params")) status = add_record(erasing, &erasing->row[RUNS_params_at], err);
    if (!status && erasing->step && (is_all || args_flag(args, "input"))) status = add_record(erasing, &erasing->step[STEP_RUNS_input_at], err);
    if (!status && erasing->step && (is_all || args_flag(args, "output"))) {
        status = add_record(erasing, &erasing->step[STEP_RUNS_output_at], err);
        if (!status) status = add_record(erasing, &erasing->step[STEP_RUNS_details_at], err);
    }
    if (!status && !erasing->count) status = error_set(err, ERR_NOT_FOUND, "there is nothing to erase: there was none, or it was erased before");
    return status;
}

/* A run that goes on may need it: what was erased under it would make it fail. */
static Status refuse_open(const Cell *row, Error *err)
{
    if (row_is_over(row)) return OK;
    return error_set(err, ERR_CONFLICT, "run %.*s is %s and may still need it; it can be erased once the run is over, and resolved where it "
                     "failed", STR_ARG(row[RUNS_id].text), run_state_name(row_state(row)));
}

/* The changes that go with the erasing. */
typedef struct Changes { Arena *arena; RowChange *rows; size_t count, capacity; } Changes;

static Cell *add_change(Changes *changes, Table table, uint32_t column)
{
    Cell *cells = ARENA_ARRAY(changes->arena, Cell, table_info(table)->column_count);
    changes->rows = arena_grow(changes->arena, changes->rows, sizeof *changes->rows, changes->count, &changes->capacity);
    changes->rows[changes->count++] = (RowChange){ (uint8_t)table, ROW_UPDATE, COLUMN_BIT(column), cells };
    cells[column] = cell_null();
    return cells;
}

/* Two tables show a payload as it is: what a branch looked at, and what a trigger brought. */
static Status erase_shown(const Erasing *erasing, Changes *changes, int64_t position, Error *err)
{
    const Cell *row;
    Record record;
    Arena *arena = erasing->args->arena;
    Id run = row_id(erasing->row);
    QueryAsk ask = { .query = QUERY_RECORD, .params = { cell_int(position) }, .param_count = 1 };
    Status status = row_select(arena, erasing->store, &ask, &row, err);
    if (!status && row) status = record_decode_any(arena, row[LEDGER_record].text, &record, err);
    for (uint32_t i = 0; !status && row && i < record.event_count; i++) {
        const Event *event = &record.events[i];
        bool is_branch = event->kind == EVENT_BRANCH_TAKEN;
        if (event->payload == EVENT_NO_PAYLOAD || (!is_branch && event->kind != EVENT_TRIGGER_RECEIVED)) continue;
        Id id = id_derive(&run, is_branch ? DERIVED_BRANCH : DERIVED_TRIGGER, record.head.first_event + i);
        Cell *cells = is_branch ? add_change(changes, TABLE_BRANCHES, BRANCHES_input_summary)
                                : add_change(changes, TABLE_TRIGGER_PAYLOADS, TRIGGER_PAYLOADS_payload);
        cells[is_branch ? BRANCHES_id : TRIGGER_PAYLOADS_id] = cell_text(arena_copy(arena, id_peek(&id)));
    }
    return status;
}

static Status erase(Erasing *erasing, Error *err)
{
    LedgerPen pen;
    Event events[ERASED_COUNT_MAX];
    Changes changes = { .arena = erasing->args->arena };
    Str reason = str_of(args_value(erasing->args, "reason"));
    Status status = ledger_own(erasing->args->arena, erasing->store, &pen, err);
    if (status == ERR_CONFLICT) error_prefix(err, "erasing needs the store for itself; end what uses it, erase, and start it again: ");
    if (!status) status = run_row(erasing->args->arena, erasing->store, erasing->row[RUNS_id].text, &erasing->row, err);
    if (!status) status = refuse_open(erasing->row, err);       /* as it is now that nobody else decides */
    if (!status) status = choose_records(erasing, err);
    if (status) return status;
    for (uint32_t i = 0; i < erasing->count; i++) {
        events[i] = (Event){ .kind = EVENT_PAYLOAD_ERASED, .count = (uint64_t)erasing->positions[i], .text = reason, .payload = EVENT_NO_PAYLOAD };
        add_change(&changes, TABLE_LEDGER, LEDGER_payload)[LEDGER_position] = cell_int(erasing->positions[i]);
        status = erase_shown(erasing, &changes, erasing->positions[i], err);
        if (status) return status;
    }
    return ledger_note(&pen, &(LedgerNote){ .events = events, .event_count = erasing->count, .rationale = reason,
                                            .changes = changes.rows, .change_count = (uint32_t)changes.count }, err);
}

/* The step that was named, as it ran last. */
static ExitCode find_step(Erasing *erasing)
{
    const Args *args = erasing->args;
    Plan plan;
    Error err;
    uint32_t step;
    if (args->operand_count < 2) return EXIT_CODE_OK;
    Status status = run_plan(args->arena, erasing->store, erasing->row, &plan, &err);
    if (status) return fail(&err);
    if (!plan_find_step(&plan, args->operands[1], &step)) return EXIT_CODE_UNAVAILABLE;
    status = run_step_row(args->arena, erasing->store, erasing->row, plan.steps[step].id, &erasing->step, &err);
    if (!status && !erasing->step) status = error_set(&err, ERR_NOT_FOUND, "step %.*s has not begun", STR_ARG(plan.steps[step].id));
    return status ? fail(&err) : EXIT_CODE_OK;
}

static const char *wrong_usage(const Args *args)
{
    const char *reason = args_value(args, "reason");
    if (!reason || !*reason) return "--reason TEXT is needed: the ledger keeps why something was erased";
    if (args->operand_count < 2 && !args_flag(args, "params")) return "name a STEP, or give --params for what the run was started with";
    if (args->operand_count < 2 && (args_flag(args, "input") || args_flag(args, "output"))) return "--input and --output are of a STEP";
    return NULL;
}

static ExitCode run(const Args *args)
{
    Erasing erasing = { .args = args };
    Error err;
    const char *wrong = wrong_usage(args);
    if (wrong) {
        fprintf(stderr, "maestro: %s\n", wrong);
        return EXIT_CODE_USAGE;
    }
    ExitCode code = server_refuse(args, "payloads are erased");
    if (!code) code = store_open_existing(args, &erasing.store);
    if (code) return code;
    code = find_row(args, erasing.store, args->operands[0], &erasing.row);
    if (!code && run_is_here(erasing.row, &err)) code = fail(&err);
    if (!code) code = find_step(&erasing);
    if (!code) {
        Status status = erase(&erasing, &err);
        if (status) code = fail(&err);
        for (uint32_t i = 0; i < erasing.count && !status; i++)
            printf("record %" PRId64 ": its payloads were erased\n", erasing.positions[i]);
    }
    store_close(erasing.store);
    return code;
}

const Verb command_ledger_erase = {
    .name = "ledger erase", .operands = "RUN [STEP]", .operand_count_min = 1, .operand_count_max = 2,
    .summary = "Erases what a run or a step was given or gave back, and records why.",
    .doc = "Payloads lie beside the records of the ledger, which hold only their salted digests: erasing one breaks no chain, and\n"
           "'maestro ledger verify' tells it as erased, not as damage. The event that says so is written in the same commit, with the\n"
           "reason. Without --input and --output, both of a step are erased. Payloads of one record are erased together, so what\n"
           "steps that began at the same moment were given goes with it.\n"
           "\n"
           "The run must be over, and the store not in use. Lines of logs, backups and exports made before are not touched, and the\n"
           "bytes stay in free pages of the file until they are used again.",
    .examples = "maestro ledger erase last --params --reason 'asked for by the customer'\n"
                "maestro ledger erase last mail.send --input --reason 'held an address'",
    .options = options, .run = run,
};
