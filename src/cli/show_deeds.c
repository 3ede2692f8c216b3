#include "cli/show_deeds.h"

#include <inttypes.h>

#include "cli/draw/plain.h"
#include "cli/grid.h"
#include "cli/human.h"
#include "value/json.h"
#include "view/id_derive.h"

/* --- reading -------------------------------------------------------------------------------------------------------------- */

static size_t row_of(const StepRows *rows, uint32_t column, Str id)
{
    size_t at = 0;
    while (at < rows->count && !str_is(rows->rows[at][column].text, id)) at++;
    return at;
}

/* The store gives them in no order. Their ids follow from their numbers, which count from 1 in the order of the rollback. */
static void order_compensations(StepRows *rows, const Id *run_id)
{
    for (size_t i = 0; i < rows->count; i++) {
        Id id = id_derive(run_id, DERIVED_COMPENSATION, i + 1);
        size_t at = row_of(rows, COMPENSATIONS_id, id_peek(&id));
        if (at >= rows->count) return;
        const Cell *row = rows->rows[at];
        rows->rows[at] = rows->rows[i];
        rows->rows[i] = row;
    }
}

Status show_deeds_read(ShowDeeds *deeds, Arena *arena, Store *store, const Cell *row, Error *err)
{
    *deeds = (ShowDeeds){ .arena = arena };
    if (row[RUNS_archived_to].kind == CELL_TEXT) return OK;
    Id run_id = row_id(row);
    QueryAsk decisions = { .query = QUERY_DECISIONS, .params = { row[RUNS_run_no], cell_int(0), cell_text(STR("")) }, .param_count = 3 };
    QueryAsk branches = { .query = QUERY_BRANCHES, .params = { row[RUNS_run_no], cell_int(0), cell_text(STR("")) }, .param_count = 3 };
    QueryAsk compensations = { .query = QUERY_COMPENSATIONS, .params = { row[RUNS_run_no] }, .param_count = 1 };
    Status status = row_select_all(arena, store, &decisions, &deeds->decisions, err);
    if (!status) status = row_select_all(arena, store, &branches, &deeds->branches, err);
    if (!status) status = row_select_all(arena, store, &compensations, &deeds->compensations, err);
    if (!status) order_compensations(&deeds->compensations, &run_id);
    return status;
}

/* --- for people ----------------------------------------------------------------------------------------------------------- */

static void put_text(Grid *grid, const Cell *cell)
{
    grid_cell(grid, cell->kind == CELL_TEXT ? plain_text(grid->arena, cell->text, PLAIN_JOINED) : STR(""));
}

static void put_time(Grid *grid, const Cell *cell)
{
    char storage[64];
    Buf buf = buf_on(storage, sizeof storage);
    if (cell->kind == CELL_INT) human_time(&buf, cell->integer);
    grid_buf(grid, &buf);
}

static void end_table(const Grid *grid)
{
    print_format("\n");
    grid_print(grid);
}

/* Of what it was decided: the step that is run anew, or those that are undone. */
static const Cell *decision_steps(const Cell *row)
{
    bool has_step = row[DECISIONS_retry_from_step_key].kind == CELL_TEXT;
    return &row[has_step ? DECISIONS_retry_from_step_key : DECISIONS_compensate_step_keys];
}

static void print_decisions(const ShowDeeds *deeds)
{
    static const GridColumn columns[] = { { "AT" }, { "DECISION" }, { "STEPS" }, { "WHO" }, { "WHY", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(deeds->arena, columns);
    for (size_t i = 0; i < deeds->decisions.count; i++) {
        const Cell *row = deeds->decisions.rows[i];
        put_time(&grid, &row[DECISIONS_created_ms]);
        put_text(&grid, &row[DECISIONS_decision_type]);
        put_text(&grid, decision_steps(row));
        put_text(&grid, &row[DECISIONS_decided_by]);
        put_text(&grid, &row[DECISIONS_reason]);
    }
    if (deeds->decisions.count) end_table(&grid);
}

static void print_branches(const ShowDeeds *deeds)
{
    static const GridColumn columns[] = { { "AT" }, { "BRANCH" }, { "TOOK" }, { "BY", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(deeds->arena, columns);
    for (size_t i = 0; i < deeds->branches.count; i++) {
        const Cell *row = deeds->branches.rows[i];
        put_time(&grid, &row[BRANCHES_evaluated_ms]);
        put_text(&grid, &row[BRANCHES_branch_point_key]);
        put_text(&grid, &row[BRANCHES_selected_branches]);
        put_text(&grid, &row[BRANCHES_condition_class]);
    }
    if (deeds->branches.count) end_table(&grid);
}

static void print_compensations(const ShowDeeds *deeds)
{
    static const GridColumn columns[] = { { "UNDOES" }, { "BY" }, { "STATE" }, { "TRIES", .is_number = true }, { "ENDED" },
                                          { "WHY", .is_cut = true }, { NULL } };
    Grid grid = grid_begin(deeds->arena, columns);
    char storage[64];
    Buf tries = buf_on(storage, sizeof storage);
    for (size_t i = 0; i < deeds->compensations.count; i++) {
        const Cell *row = deeds->compensations.rows[i];
        put_text(&grid, &row[COMPENSATIONS_step_key]);
        put_text(&grid, &row[COMPENSATIONS_compensation_job_class]);
        put_text(&grid, &row[COMPENSATIONS_status]);
        buf_format(&tries, "%" PRId64 " of %" PRId64, row[COMPENSATIONS_attempt].integer, row[COMPENSATIONS_max_attempts].integer);
        grid_buf(&grid, &tries);
        put_time(&grid, &row[COMPENSATIONS_finished_ms]);
        put_text(&grid, &row[COMPENSATIONS_failure_message]);
    }
    if (deeds->compensations.count) end_table(&grid);
}

void show_deeds_tables(const ShowDeeds *deeds)
{
    print_branches(deeds);
    print_decisions(deeds);
    print_compensations(deeds);
}

/* --- for programs --------------------------------------------------------------------------------------------------------- */

typedef enum MemberForm { FORM_VALUE, FORM_TIME, FORM_JSON } MemberForm;
typedef struct RowMember { const char *name; uint32_t column; MemberForm form; } RowMember;

static Value member_value(Arena *arena, const Cell *cell, MemberForm form)
{
    Value value;
    Error err;
    if (form == FORM_TIME) return cell_time(arena, cell);
    if (form == FORM_JSON && cell->kind == CELL_TEXT && !json_parse(arena, cell->text, &value, &err)) return value;
    return cell_value(cell);
}

static void add_rows(MemberList *members, const char *name, const StepRows *rows, const RowMember *shape)
{
    ValueList list = { .arena = members->arena };
    for (size_t i = 0; i < rows->count; i++) {
        MemberList one = { .arena = members->arena };
        for (const RowMember *member = shape; member->name; member++) {
            Value value = member_value(members->arena, &rows->rows[i][member->column], member->form);
            if (value.kind != VALUE_NULL) member_list_add(&one, str_of(member->name), value);
        }
        value_list_add(&list, member_list_object(&one));
    }
    if (rows->count) member_list_add(members, str_of(name), value_list_array(&list));
}

void show_deeds_add(const ShowDeeds *deeds, MemberList *members)
{
    static const RowMember decision[] = {
        { "at", DECISIONS_created_ms, FORM_TIME }, { "decision", DECISIONS_decision_type, FORM_VALUE },
        { "by", DECISIONS_decided_by, FORM_VALUE }, { "reason", DECISIONS_reason, FORM_VALUE },
        { "fromStep", DECISIONS_retry_from_step_key, FORM_VALUE }, { "steps", DECISIONS_compensate_step_keys, FORM_JSON }, { NULL },
    };
    static const RowMember branch[] = {
        { "at", BRANCHES_evaluated_ms, FORM_TIME }, { "branch", BRANCHES_branch_point_key, FORM_VALUE },
        { "condition", BRANCHES_condition_class, FORM_VALUE }, { "selected", BRANCHES_selected_branches, FORM_JSON },
        { "input", BRANCHES_input_summary, FORM_JSON }, { NULL },
    };
    static const RowMember compensation[] = {
        { "step", COMPENSATIONS_step_key, FORM_VALUE }, { "runner", COMPENSATIONS_compensation_job_class, FORM_VALUE },
        { "state", COMPENSATIONS_status, FORM_VALUE }, { "attempts", COMPENSATIONS_attempt, FORM_VALUE },
        { "attemptsMax", COMPENSATIONS_max_attempts, FORM_VALUE }, { "startedAt", COMPENSATIONS_started_ms, FORM_TIME },
        { "finishedAt", COMPENSATIONS_finished_ms, FORM_TIME }, { "message", COMPENSATIONS_failure_message, FORM_VALUE }, { NULL },
    };
    add_rows(members, "decisions", &deeds->decisions, decision);
    add_rows(members, "branches", &deeds->branches, branch);
    add_rows(members, "compensations", &deeds->compensations, compensation);
}
