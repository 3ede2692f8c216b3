/* queries.h - the named questions of queries.def as data.
 *
 * An adapter that speaks SQL makes a statement of a description (view/sql.h); the memory store works by it directly.
 *
 * Owns: nothing; everything is constant.     Fails: never.     Thread: pure, any.
 */
#ifndef VIEW_QUERIES_H
#define VIEW_QUERIES_H

#include "view/store.h"

typedef enum QueryKind { QUERY_ROWS, QUERY_WALK, QUERY_COUNT_ALL, QUERY_COUNT_BY } QueryKind;

typedef enum ConditionOp {
    CONDITION_END,                  /* no further condition */
    CONDITION_EQ, CONDITION_LT, CONDITION_LE, CONDITION_GT, CONDITION_GE,
    CONDITION_EQ_IF, CONDITION_LE_IF, CONDITION_GE_IF,      /* holds, too, where the parameter is null */
    CONDITION_IS_NULL,
    CONDITION_BEFORE, CONDITION_AFTER,                      /* of a pair of columns */
    CONDITION_BEYOND,                                       /* of a column and the three behind it */
    CONDITION_OP_COUNT
} ConditionOp;

#define QUERY_ORDER_COUNT_MAX 4u

typedef struct QueryCondition { uint8_t op, column, column_second; } QueryCondition;
typedef struct QueryOrder { bool is_given, is_down; uint8_t column; } QueryOrder;

typedef struct QueryInfo {
    const char *name;
    uint8_t table, kind;            /* a Table, a QueryKind */
    uint8_t along;                  /* the column of QUERY_COUNT_BY; of QUERY_WALK the one that names the next row */
    uint64_t columns;               /* mask of those it gives */
    QueryCondition conditions[QUERY_CONDITION_COUNT_MAX + 1];
    QueryOrder orders[QUERY_ORDER_COUNT_MAX];
    uint32_t row_count;
} QueryInfo;

const QueryInfo *query_info(Query query);
uint32_t query_param_count(const QueryInfo *info);
uint32_t query_cell_count(const QueryInfo *info);               /* of one row of its answer */
uint32_t condition_param_count(ConditionOp op);                 /* 0, 1, 2 or 4 */

#endif
