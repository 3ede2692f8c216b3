/* view_test.c - the descriptions of tables and queries, and what is generated from them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "harness/test.h"
#include "view/change.h"
#include "view/id_derive.h"
#include "view/queries.h"
#include "view/sql.h"

/* --- descriptions -------------------------------------------------------------------------------------------------- */

TEST(columns_are_numbered_within_their_table, "")
{
    EXPECT_INT(LEDGER_position, 0);
    EXPECT_INT(LOG_HEADS_log, 0);
    EXPECT_INT(RUNS_id, 1);
    EXPECT(!strcmp(table_info(TABLE_RUNS)->columns[RUNS_state].name, "state"));
    EXPECT(!strcmp(table_info(TABLE_BLOBS)->columns[BLOBS_created_ms].name, "created_ms"));
    EXPECT_INT(table_info(TABLE_TIMERS)->column_count, 2);
    EXPECT_INT(table_mask(table_info(TABLE_TIMERS)), 3);
    EXPECT_INT(table_fixed(TABLE_PLANS), COLUMN_BIT(PLANS_document) | COLUMN_BIT(PLANS_created_ms));
    EXPECT_INT(table_erasable(TABLE_LEDGER), COLUMN_BIT(LEDGER_payload));
    EXPECT_INT(table_sealed(TABLE_RUNS), 0);
}

TEST(names_are_unique_and_times_end_as_times_do, "")
{
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const TableInfo *info = table_info((Table)t);
        ROW(info->name);
        EXPECT(info->key_count > 0 && info->key_count < info->column_count);
        for (uint32_t u = 0; u < t; u++) EXPECT(strcmp(info->name, table_info((Table)u)->name) != 0);
        for (uint32_t c = 0; c < info->column_count; c++) {
            const ColumnInfo *column = &info->columns[c];
            if (column->type == COLUMN_TIME || column->type == COLUMN_STAMP) EXPECT(str_ends(str_of(column->name), STR("_ms")));
            if (column->type == COLUMN_MOMENT) EXPECT(str_ends(str_of(column->name), STR("_at")));
            if (c < info->key_count) EXPECT(column_is_required(column));
            for (uint32_t d = 0; d < c; d++) EXPECT(strcmp(column->name, info->columns[d].name) != 0);
        }
    }
}

TEST(no_query_has_more_parameters_than_an_ask_holds, "")
{
    for (uint32_t q = 0; q < QUERY_COUNT; q++) {
        const QueryInfo *query = query_info((Query)q);
        ROW(query->name);
        EXPECT(query_param_count(query) <= QUERY_PARAM_COUNT_MAX);
        EXPECT(query->row_count > 0);
    }
}

/* docs/data-model.md has a section for each table, and in it a row for each column, in order. */
TEST(the_data_model_page_tells_every_table_and_column, "proves: R-113")
{
    Arena arena;
    arena_init(&arena, SIZE_MAX);
    Str page = test_read_file(test_source_path("docs/data-model.md"));
    for (uint32_t t = 0; t < TABLE_COUNT; t++) {
        const TableInfo *info = table_info((Table)t);
        ROW(info->name);
        Str section = arena_format(&arena, "### %s\n\n%c%s.\n\n| column | type | null | meaning |\n| --- | --- | --- | --- |\n",
                                   info->name, info->meaning[0] - 'a' + 'A', info->meaning + 1);
        for (uint32_t c = 0; c < info->column_count; c++) {
            const ColumnInfo *column = &info->columns[c];
            static const char *const needs[] = { "", "yes", "", "yes", "yes", "yes" };
            static const char *const kept[] = { "", "", "; never changes", "; never changes", "; stays once there is a result",
                                                "; can be erased" };
            const char *meaning = column->meaning[0] ? column->meaning : "see the column before";
            section = arena_format(&arena, "%.*s| `%s` | %s | %s | %s%s |\n", STR_ARG(section), column->name,
                                   column_type_name((ColumnType)column->type), needs[column->need], meaning, kept[column->need]);
        }
        if (getenv("DATA_MODEL_PRINT")) printf("%.*s\n", STR_ARG(section));
        EXPECT(memmem(page.ptr, page.len, section.ptr, section.len) != NULL);
    }
    for (uint32_t i = 0; i < index_count; i++) {
        ROW(index_infos[i].name);
        Str name = arena_format(&arena, "`%s`", index_infos[i].name);
        EXPECT(memmem(page.ptr, page.len, name.ptr, name.len) != NULL);
    }
    arena_deinit(&arena);
}

/* --- statements ---------------------------------------------------------------------------------------------------- */

static void expect_sql(const Buf *buf, const char *want) { EXPECT_STR(buf_peek(buf), str_of(want)); }

TEST(changes_become_statements, "proves: R-064")
{
    static const struct { const char *name; Table table; RowOp op; uint64_t mask; const char *want; } rows[] = {
        { "insert", TABLE_TIMERS, ROW_INSERT, UINT64_MAX & 3, "INSERT INTO maestro_timers (run_no, due_ms) VALUES (?1, ?2)" },
        { "update", TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_state) | COLUMN_BIT(RUNS_updated_ms),
          "UPDATE maestro_workflows SET state = ?2, updated_ms = ?3 WHERE run_no = ?1" },
        { "update of what may be sealed", TABLE_STEP_RUNS, ROW_UPDATE, COLUMN_BIT(STEP_RUNS_result),
          "UPDATE maestro_step_runs SET result = ?3 WHERE workflow_id = ?1 AND step_index = ?2 AND maestro_step_runs.result IS NULL" },
        { "update of what is not", TABLE_STEP_RUNS, ROW_UPDATE, COLUMN_BIT(STEP_RUNS_status),
          "UPDATE maestro_step_runs SET status = ?3 WHERE workflow_id = ?1 AND step_index = ?2" },
        { "put", TABLE_TIMERS, ROW_PUT, 3,
          "INSERT INTO maestro_timers (run_no, due_ms) VALUES (?1, ?2) ON CONFLICT (run_no) DO UPDATE SET due_ms = ?2" },
        { "put of what is fixed", TABLE_PLANS, ROW_PUT, 7,
          "INSERT INTO maestro_plans (digest, document, created_ms) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING" },
        { "delete", TABLE_SIGNALS, ROW_DELETE, 0, "DELETE FROM maestro_signals WHERE run_no = ?1 AND number = ?2" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        char text[4096];
        Buf buf = buf_on(text, sizeof text);
        sql_change(&buf, SQL_SQLITE, rows[i].table, rows[i].op, rows[i].mask);
        expect_sql(&buf, rows[i].want);
    }
}

TEST(queries_become_statements, "proves: R-064")
{
    static const struct { Query query; const char *want; } rows[] = {
        { QUERY_TIMERS_DUE, "SELECT run_no, due_ms FROM maestro_timers WHERE due_ms <= ?1 ORDER BY due_ms, run_no LIMIT ?2" },
        { QUERY_COUNT_OF_STEP_RUNS, "SELECT count(*) FROM maestro_step_runs WHERE workflow_id = ?1 LIMIT ?2" },
        { QUERY_COUNT_BY_STATE, "SELECT state, count(*) FROM maestro_workflows GROUP BY state ORDER BY state LIMIT ?1" },
        { QUERY_COUNT_OF_STRETCH_BY_STATE,
          "SELECT state, count(*) FROM maestro_workflows WHERE run_no >= ?1 AND run_no <= ?2 GROUP BY state ORDER BY state LIMIT ?3" },
        { QUERY_REQUESTS_EXPIRED, "SELECT tenant, key FROM maestro_requests WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2" },
    };
    char text[4096];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Buf buf = buf_on(text, sizeof text);
        sql_query(&buf, SQL_SQLITE, rows[i].query);
        expect_sql(&buf, rows[i].want);
    }
    Buf buf = buf_on(text, sizeof text);
    sql_query(&buf, SQL_SQLITE, QUERY_RUNS_OF_REVISION);
    static const char end[] = " WHERE tenant = ?1 AND definition_key = ?2 AND definition_version = ?3 AND (started_ms, run_no) < (?4, ?5)"
                              " AND (?6 IS NULL OR state = ?6) ORDER BY started_ms DESC, run_no DESC LIMIT ?7";
    EXPECT(str_ends(buf_peek(&buf), str_of(end)));
}

TEST(a_time_is_shown_as_text_beside_its_milliseconds, "")
{
    char text[16384];
    Buf buf = buf_on(text, sizeof text);
    sql_create_table(&buf, SQL_SQLITE, TABLE_SIGNALS);
    EXPECT(memmem(text, buf.len, "received_ms INTEGER NOT NULL", 28) != NULL);
    EXPECT(memmem(text, buf.len, "received_at TEXT GENERATED ALWAYS", 33) != NULL);
    EXPECT(str_ends(buf_peek(&buf), STR("PRIMARY KEY (run_no, number)\n) WITHOUT ROWID")));
    buf_clear(&buf);
    sql_create_table(&buf, SQL_SQLITE, TABLE_STEP_RUNS);
    EXPECT(memmem(text, buf.len, "step_run_no INTEGER PRIMARY KEY NOT NULL", 40) != NULL);
    EXPECT(str_ends(buf_peek(&buf), STR("UNIQUE (workflow_id, step_index)\n)")));
}

/* --- rules --------------------------------------------------------------------------------------------------------- */

TEST(what_was_written_stays, "proves: R-041 R-046")
{
    Cell cells[COLUMN_COUNT_MAX] = { 0 };
    Cell erased = cell_null(), changed = cell_blob(STR("x"));
    static const struct { const char *name; Table table; RowOp op; uint64_t mask; bool has_payload; Status want; } rows[] = {
        { "a run's id", TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_id), false, ERR_DENIED },
        { "a run's parameters", TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_params_at), false, ERR_DENIED },
        { "a run's state", TABLE_RUNS, ROW_UPDATE, COLUMN_BIT(RUNS_state), false, OK },
        { "a record", TABLE_LEDGER, ROW_UPDATE, COLUMN_BIT(LEDGER_record), false, ERR_DENIED },
        { "a payload, erased", TABLE_LEDGER, ROW_UPDATE, COLUMN_BIT(LEDGER_payload), false, OK },
        { "a payload, changed", TABLE_LEDGER, ROW_UPDATE, COLUMN_BIT(LEDGER_payload), true, ERR_DENIED },
        { "a record, deleted", TABLE_LEDGER, ROW_DELETE, 0, false, ERR_DENIED },
        { "a step run, deleted", TABLE_STEP_RUNS, ROW_DELETE, 0, false, ERR_DENIED },
        { "a timer, deleted", TABLE_TIMERS, ROW_DELETE, 0, false, OK },
        { "a plan, put again", TABLE_PLANS, ROW_PUT, UINT64_MAX, false, OK },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        cells[LEDGER_payload] = rows[i].has_payload ? changed : erased;
        RowChange change = { (uint8_t)rows[i].table, (uint8_t)rows[i].op, rows[i].mask, cells };
        Error err = { 0 };
        EXPECT_INT(change_check(&change, &err), rows[i].want);
    }
}

/* --- ids ----------------------------------------------------------------------------------------------------------- */

TEST(derived_ids_follow_from_run_kind_and_number, "proves: C-37")
{
    Id run = id_make((uint8_t[ID_SIZE]){ 1 }), other = id_make((uint8_t[ID_SIZE]){ 2 });
    Id id = id_derive(&run, DERIVED_STEP_RUN, 1), again = id_derive(&run, DERIVED_STEP_RUN, 1);
    EXPECT(id_is_valid(id_peek(&id)));
    EXPECT_STR(id_peek(&id), id_peek(&again));
    /* Stored for ever: the text is part of the contract. */
    EXPECT_STR(id_peek(&id), STR("X4smp8okKvc7nK2XA3JNB"));
    Id different[] = { id_derive(&run, DERIVED_STEP_RUN, 2), id_derive(&run, DERIVED_BRANCH, 1), id_derive(&other, DERIVED_STEP_RUN, 1) };
    for (int i = 0; i < 3; i++) EXPECT(!str_is(id_peek(&id), id_peek(&different[i])));
}
