#include "view/queries.h"

#include "base/check.h"

#define BIT(T, column) COLUMN_BIT(T##_##column)
#define ALL UINT64_MAX
#define ALL_BUT(bits) ~(bits)
#define ONLY(bits) (bits)
#define ROWS .kind = QUERY_ROWS
#define WALK(T, column) .kind = QUERY_WALK, .along = T##_##column
#define COUNT .kind = QUERY_COUNT_ALL
#define COUNT_BY(T, column) .kind = QUERY_COUNT_BY, .along = T##_##column
#define WHERE(...) { __VA_ARGS__ }
#define ANYWHERE { { CONDITION_END, 0, 0 } }
#define EQ(T, column) { CONDITION_EQ, T##_##column, 0 }
#define LT(T, column) { CONDITION_LT, T##_##column, 0 }
#define LE(T, column) { CONDITION_LE, T##_##column, 0 }
#define GT(T, column) { CONDITION_GT, T##_##column, 0 }
#define GE(T, column) { CONDITION_GE, T##_##column, 0 }
#define EQ_IF(T, column) { CONDITION_EQ_IF, T##_##column, 0 }
#define LE_IF(T, column) { CONDITION_LE_IF, T##_##column, 0 }
#define GE_IF(T, column) { CONDITION_GE_IF, T##_##column, 0 }
#define IS_NULL(T, column) { CONDITION_IS_NULL, T##_##column, 0 }
#define BEFORE(T, a, b) { CONDITION_BEFORE, T##_##a, T##_##b }
#define AFTER(T, a, b) { CONDITION_AFTER, T##_##a, T##_##b }
#define BEYOND(T, a) { CONDITION_BEYOND, T##_##a, 0 }
#define ORDER(...) { __VA_ARGS__ }
#define ANY { { false, false, 0 } }
#define UP(T, column) { true, false, T##_##column }
#define DOWN(T, column) { true, true, T##_##column }

static const QueryInfo queries[QUERY_COUNT] = {
#define QUERY(NAME, table_, kind_, columns_, where_, order_, row_count_) \
    { .name = #NAME, .table = TABLE_##table_, kind_, .columns = columns_, .conditions = where_, .orders = order_, \
      .row_count = row_count_ },
#include "view/queries.def"
};

static const uint8_t param_counts[CONDITION_OP_COUNT] = {
    [CONDITION_EQ] = 1, [CONDITION_LT] = 1, [CONDITION_LE] = 1, [CONDITION_GT] = 1, [CONDITION_GE] = 1,
    [CONDITION_EQ_IF] = 1, [CONDITION_LE_IF] = 1, [CONDITION_GE_IF] = 1, [CONDITION_BEFORE] = 2, [CONDITION_AFTER] = 2,
    [CONDITION_BEYOND] = 4,
};

const QueryInfo *query_info(Query query)
{
    CHECK(query < QUERY_COUNT);
    return &queries[query];
}

uint32_t condition_param_count(ConditionOp op) { return param_counts[op]; }

uint32_t query_param_count(const QueryInfo *info)
{
    uint32_t count = 0;
    for (const QueryCondition *condition = info->conditions; condition->op; condition++)
        count += param_counts[condition->op];
    return count;
}

uint32_t query_cell_count(const QueryInfo *info)
{
    if (info->kind == QUERY_ROWS || info->kind == QUERY_WALK) return table_info(info->table)->column_count;
    return info->kind == QUERY_COUNT_BY ? 2 : 1;
}
