#include "base/limits.h"
#include "dispatch/quota.h"
#include "harness/test.h"

#define HOUR_MS INT64_C(3600000)

TEST(an_attempt_is_held_back_by_the_first_thing_it_lacks, "proves: F-110 F-111 F-112")
{
    static const QuotaTerms terms = { .running_max = 3, .cpu_milli_max = 4000, .memory_mb_max = 1000, .runtime_ms_max = 60000,
                                      .has_cost_max = true, .cost_micro_max = 5000000, .window_ms = 1000000 };
    static const struct { const char *name; QuotaUse use; QuotaNeed need; bool is_undo; QuotaLack want; } rows[] = {
        { "nothing is under way", { 0 }, { 4000, 1000 }, false, QUOTA_ENOUGH },
        { "the last of all", { .running = 2, .cpu_milli = 3000, .memory_mb = 900 }, { 1000, 100 }, false, QUOTA_ENOUGH },
        { "one too many", { .running = 3 }, { 0, 0 }, false, QUOTA_RUNNING },
        { "a thousandth of a core too much", { .running = 1, .cpu_milli = 3001 }, { 1000, 1 }, false, QUOTA_CPU },
        { "a megabyte too much", { .running = 1, .memory_mb = 900 }, { 1000, 101 }, false, QUOTA_MEMORY },
        { "the time is used up", { .runtime_ms = 60000 }, { 1, 1 }, false, QUOTA_RUNTIME },
        { "a millisecond is left", { .runtime_ms = 59999 }, { 1, 1 }, false, QUOTA_ENOUGH },
        { "the money is used up", { .cost_micro = 5000000 }, { 1, 1 }, false, QUOTA_COST },
        { "a millionth is left", { .cost_micro = 4999999 }, { 1, 1 }, false, QUOTA_ENOUGH },
        { "who cleans up needs no money", { .cost_micro = 9000000, .runtime_ms = 90000 }, { 1, 1 }, true, QUOTA_ENOUGH },
        { "but room", { .running = 3, .cost_micro = 9000000 }, { 1, 1 }, true, QUOTA_RUNNING },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EXPECT_INT(quota_lack(&terms, &rows[i].use, &rows[i].need, rows[i].is_undo), rows[i].want);
    }
    static const QuotaTerms free_terms = { .window_ms = 1 };
    QuotaUse much = { .running = INT64_C(1) << 40, .runtime_ms = INT64_C(1) << 50, .cost_micro = INT64_C(1) << 50 };
    EXPECT_INT(quota_lack(&free_terms, &much, &(QuotaNeed){ 1 << 30, 1 << 30 }, false), QUOTA_ENOUGH);
    static const QuotaTerms nothing = { .has_cost_max = true, .window_ms = 1 };
    EXPECT_INT(quota_lack(&nothing, &(QuotaUse){ 0 }, &(QuotaNeed){ 0 }, false), QUOTA_COST);       /* a cap of 0 is one */
}

TEST(what_can_never_fit_is_told_from_what_has_to_wait, "proves: F-110")
{
    static const QuotaTerms terms = { .running_max = 1, .cpu_milli_max = 2000, .memory_mb_max = 512, .has_cost_max = true, .window_ms = 1 };
    EXPECT_INT(quota_never(&terms, &(QuotaNeed){ 2000, 512 }), QUOTA_ENOUGH);
    EXPECT_INT(quota_never(&terms, &(QuotaNeed){ 2001, 512 }), QUOTA_CPU);
    EXPECT_INT(quota_never(&terms, &(QuotaNeed){ 2000, 513 }), QUOTA_MEMORY);
}

TEST(what_is_taken_is_given_back_whole, "")
{
    QuotaUse use = { 0 };
    static const QuotaNeed needs[] = { { 1500, 10 }, { 0, 0 }, { 7, 4096 } };
    for (int i = 0; i < 3; i++) quota_take(&use, &needs[i]);
    EXPECT_INT(use.running, 3);
    EXPECT_INT(use.cpu_milli, 1507);
    EXPECT_INT(use.memory_mb, 4106);
    for (int i = 0; i < 3; i++) quota_give(&use, &needs[i]);
    EXPECT(!use.running && !use.cpu_milli && !use.memory_mb);
}

TEST(time_has_its_price_to_the_millionth_however_often_it_is_counted, "proves: F-112")
{
    QuotaUse once = { 0 }, often = { 0 };
    const int64_t price = 1234567;
    quota_charge(&once, 3 * HOUR_MS + 1234567, price);
    for (int64_t left = 3 * HOUR_MS + 1234567, part = 1; left > 0; left -= part, part = part % 977 + 1)
        quota_charge(&often, part < left ? part : left, price);
    EXPECT_INT(once.runtime_ms, often.runtime_ms);
    EXPECT_INT(once.cost_micro, often.cost_micro);
    EXPECT_INT(once.cost_micro, 3 * price + 1234567 * price / HOUR_MS);
    QuotaUse free_of_charge = { 0 };
    quota_charge(&free_of_charge, HOUR_MS, 0);
    EXPECT_INT(free_of_charge.cost_micro, 0);
}

TEST(amounts_end_at_their_bound_and_do_not_turn_over, "")
{
    QuotaUse use = { 0 };
    quota_charge(&use, INT64_MAX, INT64_MAX);
    quota_charge(&use, INT64_MAX, INT64_MAX);
    quota_pay(&use, INT64_MAX);
    EXPECT(use.runtime_ms > 0 && use.runtime_ms <= QUOTA_AMOUNT_MAX);
    EXPECT_INT(use.cost_micro, QUOTA_AMOUNT_MAX);
    quota_pay(&use, -5);
    EXPECT_INT(use.cost_micro, QUOTA_AMOUNT_MAX);
}

TEST(a_new_window_begins_with_nothing_used_and_clocks_that_go_back_begin_none, "proves: F-112")
{
    static const QuotaTerms terms = { .runtime_ms_max = 10, .has_cost_max = true, .cost_micro_max = 10, .window_ms = 1000 };
    QuotaUse use = { 0 };
    EXPECT(quota_turn(&terms, &use, 5500));
    EXPECT_INT(use.window_ms, 5000);
    EXPECT_INT(quota_window_end(&terms, &use), 6000);
    quota_charge(&use, 10, 0);
    quota_pay(&use, 3);
    use.running = 2;
    EXPECT(!quota_turn(&terms, &use, 5999));
    EXPECT(!quota_turn(&terms, &use, 4000));
    EXPECT_INT(quota_spent(&terms, &use), QUOTA_RUNTIME);
    EXPECT(quota_turn(&terms, &use, 6000));
    EXPECT_INT(quota_spent(&terms, &use), QUOTA_ENOUGH);
    EXPECT(use.running == 2 && !use.cost_micro);            /* what is under way still is */
}
