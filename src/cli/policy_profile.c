#include "cli/policy_profile.h"

#include <stdlib.h>
#include <string.h>

#include "cli/policy_report.h"
#include "os/clock.h"
#include "rego/ast.h"

static uint64_t clock_read(void *context)
{
    (void)context;
    return clock_monotonic_ns();
}

RegoProfile policy_profile_make(Arena *arena, const RegoPolicy *policy, const RegoQuery *query, bool timed)
{
    return (RegoProfile){
        .stats = ARENA_ARRAY(arena, RegoPlaceStats, rego_place_count(policy) + 1u),
        .query_stats = query ? ARENA_ARRAY(arena, RegoPlaceStats, rego_query_place_count(query) + 1u) : NULL,
        .clock_ns = timed ? clock_read : NULL,
    };
}

/* --- coverage ----------------------------------------------------------------------------------------------------- */

/* From the first character of a text to behind its last one. */
typedef struct Range {
    uint32_t row, col, end_row, end_col;
    bool is_covered;
} Range;

typedef struct Lines {
    uint64_t covered, missed;
} Lines;

static Range range_of(Str text, RegoLoc loc, bool is_covered)
{
    Str inside = rego_loc_text(text, loc);
    Range range = { loc.row, loc.col, loc.row, loc.col, is_covered };
    for (size_t i = 0; i < inside.len; i++) {
        if (inside.ptr[i] == '\n') {
            range.end_row++;
            range.end_col = 1;
        } else if (((unsigned char)inside.ptr[i] & 0xc0) != 0x80) {
            range.end_col++;
        }
    }
    return range;
}

static int point_order(uint32_t row_a, uint32_t col_a, uint32_t row_b, uint32_t col_b)
{
    if (row_a != row_b) return row_a < row_b ? -1 : 1;
    return col_a < col_b ? -1 : col_a > col_b;
}

/* By place; of equal ones the covered one first. */
static int range_order(const void *a, const void *b)
{
    const Range *x = a, *y = b;
    int order = point_order(x->row, x->col, y->row, y->col);
    if (!order) order = point_order(x->end_row, x->end_col, y->end_row, y->end_col);
    return order ? order : y->is_covered - x->is_covered;
}

static Value point_value(Arena *arena, uint32_t row, uint32_t col)
{
    MemberList members = { .arena = arena };
    member_list_add(&members, STR("row"), value_int(row));
    member_list_add(&members, STR("col"), value_int(col));
    return member_list_object(&members);
}

static void add_range(ValueList *list, const Range *range)
{
    MemberList members = { .arena = list->arena };
    member_list_add(&members, STR("start"), point_value(list->arena, range->row, range->col));
    member_list_add(&members, STR("end"), point_value(list->arena, range->end_row, range->end_col));
    value_list_add(list, member_list_object(&members));
}

/* `is_whole`: of all files; counts of one file are left out where they are 0. */
static void add_lines(MemberList *members, Lines lines, bool is_whole)
{
    uint64_t all = lines.covered + lines.missed;
    double percent = all ? 100.0 * (double)lines.covered / (double)all : 0;
    if (is_whole || lines.covered) member_list_add(members, STR("covered_lines"), value_int((int64_t)lines.covered));
    if (is_whole || lines.missed) member_list_add(members, STR("not_covered_lines"), value_int((int64_t)lines.missed));
    if (is_whole || lines.covered) member_list_add(members, STR("coverage"), policy_decimal(members->arena, percent));
}

/* Ranges of a file in their order, each once. */
static Range *file_ranges(Arena *arena, const RegoPolicy *policy, const RegoProfile *profile, Str file, Str text,
                          size_t *out_count)
{
    uint32_t place_count = rego_place_count(policy);
    Range *ranges = ARENA_ARRAY(arena, Range, place_count + 1u);
    size_t count = 0, kept = 0;
    for (uint32_t i = 0; i < place_count; i++) {
        const RegoPlace *place = rego_place(policy, i);
        if (place->kind != REGO_PLACE_BODY && str_is(place->file, file))
            ranges[count++] = range_of(text, place->loc, profile->stats[i].eval_count > 0);
    }
    if (count) qsort(ranges, count, sizeof *ranges, range_order);
    for (size_t i = 0; i < count; i++) {
        const Range *last = kept ? &ranges[kept - 1] : NULL;
        bool is_same = last && !point_order(last->row, last->col, ranges[i].row, ranges[i].col)
                    && !point_order(last->end_row, last->end_col, ranges[i].end_row, ranges[i].end_col);
        if (!is_same) ranges[kept++] = ranges[i];
    }
    *out_count = kept;
    return ranges;
}

/* A range counts as missed where no covered one holds it: of those before it, the one that ends last decides. */
static Value file_coverage(Arena *arena, const Range *ranges, size_t count, uint32_t row_count, Lines *out_lines)
{
    ValueList covered = { .arena = arena }, missed = { .arena = arena };
    uint8_t *rows = ARENA_ARRAY(arena, uint8_t, row_count + 2u);
    uint32_t end_row = 0, end_col = 0;
    *out_lines = (Lines){ 0, 0 };
    for (size_t i = 0; i < count; i++) {
        const Range *range = &ranges[i];
        bool is_beyond = point_order(range->end_row, range->end_col, end_row, end_col) > 0;
        if (!range->is_covered && !is_beyond) continue;
        if (range->is_covered && is_beyond) {
            end_row = range->end_row;
            end_col = range->end_col;
        }
        add_range(range->is_covered ? &covered : &missed, range);
        for (uint32_t row = range->row; row <= range->end_row && row <= row_count; row++)
            rows[row] |= range->is_covered ? 2 : 1;
    }
    for (uint32_t row = 0; row <= row_count; row++) {
        out_lines->covered += (rows[row] & 2) != 0;
        out_lines->missed += rows[row] & 1;
    }
    MemberList members = { .arena = arena };
    if (covered.count) member_list_add(&members, STR("covered"), value_list_array(&covered));
    if (missed.count) member_list_add(&members, STR("not_covered"), value_list_array(&missed));
    add_lines(&members, *out_lines, /* is_whole= */ false);
    return member_list_object(&members);
}

Value policy_coverage(Arena *arena, const PolicySet *set, const RegoPolicy *policy, const RegoProfile *profile,
                      double *out_percent)
{
    MemberList files = { .arena = arena }, members = { .arena = arena };
    Lines all = { 0, 0 };
    for (size_t i = 0; i < set->module_count; i++) {
        Str file = set->modules[i].file, text = set->modules[i].text;
        uint32_t row_count = 1;
        for (size_t k = 0; k < text.len; k++) row_count += text.ptr[k] == '\n';
        size_t count;
        Lines lines;
        const Range *ranges = file_ranges(arena, policy, profile, file, text, &count);
        member_list_add(&files, file, file_coverage(arena, ranges, count, row_count, &lines));
        all.covered += lines.covered;
        all.missed += lines.missed;
    }
    member_list_add(&members, STR("files"), member_list_object(&files));
    add_lines(&members, all, /* is_whole= */ true);
    *out_percent = all.covered + all.missed ? 100.0 * (double)all.covered / (double)(all.covered + all.missed) : 0;
    return member_list_object(&members);
}

/* --- profiles ----------------------------------------------------------------------------------------------------- */

typedef enum ProfileOrder { BY_TIME, BY_EVAL, BY_REDO, BY_EXPR, BY_FILE, BY_LINE, ORDER_COUNT } ProfileOrder;

const char *const policy_profile_orders[] = {
    [BY_TIME] = "total_time_ns", [BY_EVAL] = "num_eval", [BY_REDO] = "num_redo", [BY_EXPR] = "num_gen_expr",
    [BY_FILE] = "file",          [BY_LINE] = "line",     [ORDER_COUNT] = NULL,
};

static int order_of(uint64_t a, uint64_t b)
{
    return a > b ? -1 : a < b;
}

static int row_compare(const ProfileRow *a, const ProfileRow *b, ProfileOrder order)
{
    switch (order) {
    case BY_TIME: return order_of(a->stats.time_ns, b->stats.time_ns);
    case BY_EVAL: return order_of(a->stats.eval_count, b->stats.eval_count);
    case BY_REDO: return order_of(a->stats.redo_count, b->stats.redo_count);
    case BY_EXPR: return order_of(a->expr_count, b->expr_count);
    case BY_FILE: return str_compare(b->file, a->file);
    case BY_LINE: return order_of(a->loc.row, b->loc.row);
    case ORDER_COUNT: break;
    }
    return 0;
}

typedef struct Criteria {
    ProfileOrder orders[ORDER_COUNT];
    size_t count;
} Criteria;

static Criteria criteria_of(const char *const *words)
{
    Criteria criteria = { .count = 0 };
    for (size_t i = 0; words[i] && criteria.count < ORDER_COUNT; i++)
        for (size_t k = 0; k < ORDER_COUNT; k++)
            if (strcmp(words[i], policy_profile_orders[k]) == 0) criteria.orders[criteria.count++] = (ProfileOrder)k;
    return criteria;
}

static int by_criteria(const void *a, const void *b, void *context)
{
    const Criteria *criteria = context;
    int order = 0;
    for (size_t i = 0; !order && i < criteria->count; i++) order = row_compare(a, b, criteria->orders[i]);
    return order;
}

/* Statements of one line beside one another, and of these the equal ones of nested bodies. */
static int by_line(const void *a, const void *b)
{
    const RegoPlace *x = *(const RegoPlace *const *)a, *y = *(const RegoPlace *const *)b;
    int order = str_compare(x->file, y->file);
    if (!order) order = x->loc.row < y->loc.row ? -1 : x->loc.row > y->loc.row;
    return order ? order : x->row < y->row ? -1 : x->row > y->row;
}

static const RegoPlaceStats *stats_of(const RegoProfile *profile, const RegoPlace *place)
{
    return place->is_query ? &profile->query_stats[place->index] : &profile->stats[place->index];
}

static void row_add(ProfileRow *row, const RegoPlace *place, const RegoPlaceStats *stats)
{
    if (!row->stats.order || stats->order < row->stats.order) {
        row->loc = place->loc;
        row->stats.order = stats->order;
    }
    row->stats.eval_count += stats->eval_count;
    row->stats.redo_count += stats->redo_count;
    row->stats.time_ns += stats->time_ns;
}

ProfileRow *policy_profile_rows(Arena *arena, const RegoPolicy *policy, const RegoQuery *query,
                                const RegoProfile *profile, const char *const *orders, size_t *out_count)
{
    uint32_t policy_count = rego_place_count(policy), place_count = policy_count + rego_query_place_count(query);
    const RegoPlace **places = ARENA_ARRAY(arena, const RegoPlace *, place_count + 1u);
    ProfileRow *rows = ARENA_ARRAY(arena, ProfileRow, place_count + 1u);
    size_t count = 0, row_count = 0;
    for (uint32_t i = 0; i < place_count; i++) {
        const RegoPlace *place = i < policy_count ? rego_place(policy, i) : rego_query_place(query, i - policy_count);
        if (place->kind == REGO_PLACE_EXPR && stats_of(profile, place)->order) places[count++] = place;
    }
    if (count) qsort(places, count, sizeof *places, by_line);
    for (size_t i = 0; i < count; i++) {
        const RegoPlace *before = i ? places[i - 1] : NULL;
        bool is_same_line = before && str_is(before->file, places[i]->file) && before->loc.row == places[i]->loc.row;
        if (!is_same_line) rows[row_count++].file = places[i]->file;
        ProfileRow *row = &rows[row_count - 1];
        if (!is_same_line || before->row != places[i]->row) row->expr_count++;
        row_add(row, places[i], stats_of(profile, places[i]));
    }
    Criteria criteria = criteria_of(orders);
    if (row_count) qsort_r(rows, row_count, sizeof *rows, by_criteria, &criteria);
    *out_count = row_count;
    return rows;
}
