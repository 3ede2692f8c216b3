#include "api/hook_rates.h"

#include <stdio.h>

#include "base/limits.h"
#include "harness/test.h"

static const HookLimit twice = { .count = 2, .per_ms = 60000 };

static Status take(HookRates *rates, const char *tenant, uint32_t trigger, int64_t now_ms, int64_t *out_wait_ms)
{
    char name[32];
    Error err;
    (void)snprintf(name, sizeof name, "trigger-%u", trigger);
    return hook_rates_take(rates, str_of(tenant), str_of(name), &twice, now_ms, out_wait_ms, &err);
}

TEST(a_rate_holds_within_its_time_and_begins_anew_after_it, "proves: F-049")
{
    static const struct { const char *name; int64_t now_ms; Status want; int64_t wait_ms; } rows[] = {
        { "the first", 1000, OK, 0 }, { "the second", 30000, OK, 0 }, { "one too many", 31000, ERR_LIMIT, 30000 },
        { "to the end", 60999, ERR_LIMIT, 1 }, { "then anew", 61000, OK, 0 }, { "also when the clock was put back", 500, OK, 0 },
    };
    HookRates rates = { 0 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        int64_t wait_ms = 0;
        EXPECT_INT(take(&rates, "acme", 1, rows[i].now_ms, &wait_ms), rows[i].want);
        EXPECT_INT(wait_ms, rows[i].wait_ms);
    }
    hook_rates_deinit(&rates);
}

TEST(no_trigger_makes_another_forgotten_before_its_time, "proves: F-049")
{
    HookRates rates = { 0 };
    int64_t wait_ms = 0;
    EXPECT_INT(take(&rates, "acme", 0, 1000, &wait_ms), OK);
    EXPECT_INT(take(&rates, "acme", 0, 1000, &wait_ms), OK);
    for (uint32_t i = 1; i < TENANT_HOOK_COUNT_MAX; i++)
        EXPECT_INT(take(&rates, "acme", i, 2000, &wait_ms), OK);
    ROW("one more is refused, and told for how long");
    EXPECT_INT(take(&rates, "acme", TENANT_HOOK_COUNT_MAX, 3000, &wait_ms), ERR_LIMIT);
    EXPECT_INT(wait_ms, 58000);
    ROW("those that have places keep them");
    EXPECT_INT(take(&rates, "acme", 0, 3000, &wait_ms), ERR_LIMIT);
    EXPECT_INT(take(&rates, "acme", 7, 3000, &wait_ms), OK);
    EXPECT_INT(take(&rates, "acme", 7, 3000, &wait_ms), ERR_LIMIT);
    ROW("another tenant is not concerned");
    for (uint32_t i = 0; i < 100; i++) EXPECT_INT(take(&rates, "umbrella", i, 3000, &wait_ms), OK);
    ROW("a window that has run out gives its place away");
    EXPECT_INT(take(&rates, "acme", TENANT_HOOK_COUNT_MAX, 61000, &wait_ms), OK);
    EXPECT_INT(take(&rates, "acme", 0, 61000, &wait_ms), ERR_LIMIT);
    EXPECT_INT(take(&rates, "acme", 0, 62000, &wait_ms), OK);
    ROW("of many tenants those are dropped that send nothing any more");
    for (uint32_t i = 0; i < 1000; i++) {
        char tenant[32];
        (void)snprintf(tenant, sizeof tenant, "tenant-%u", i);
        EXPECT_INT(take(&rates, tenant, 1, 200000 + 60000 * (int64_t)i, &wait_ms), OK);
    }
    EXPECT(rates.capacity <= 16);
    hook_rates_deinit(&rates);
}
