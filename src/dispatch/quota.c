#include "dispatch/quota.h"

#include "base/check.h"
#include "base/limits.h"

#define HOUR_MS INT64_C(3600000)

static int64_t sum(int64_t a, int64_t b)
{
    return a > QUOTA_AMOUNT_MAX - b ? QUOTA_AMOUNT_MAX : a + b;
}

static bool is_beyond(int64_t max, int64_t used, int64_t more)
{
    return max && sum(used, more) > max;
}

QuotaLack quota_spent(const QuotaTerms *terms, const QuotaUse *use)
{
    if (terms->has_cost_max && use->cost_micro >= terms->cost_micro_max) return QUOTA_COST;
    if (terms->runtime_ms_max && use->runtime_ms >= terms->runtime_ms_max) return QUOTA_RUNTIME;
    return QUOTA_ENOUGH;
}

QuotaLack quota_lack(const QuotaTerms *terms, const QuotaUse *use, const QuotaNeed *need, bool is_undo)
{
    QuotaLack spent = is_undo ? QUOTA_ENOUGH : quota_spent(terms, use);
    if (spent) return spent;
    if (is_beyond(terms->running_max, use->running, 1)) return QUOTA_RUNNING;
    if (is_beyond(terms->cpu_milli_max, use->cpu_milli, need->cpu_milli)) return QUOTA_CPU;
    if (is_beyond(terms->memory_mb_max, use->memory_mb, need->memory_mb)) return QUOTA_MEMORY;
    return QUOTA_ENOUGH;
}

QuotaLack quota_never(const QuotaTerms *terms, const QuotaNeed *need)
{
    return quota_lack(terms, &(QuotaUse){ 0 }, need, /* is_undo= */ true);
}

const char *quota_name(QuotaLack lack)
{
    static const char *const names[QUOTA_LACK_COUNT] = { "none", "max_concurrency", "cpu", "memory_mb", "runtime", "cost" };
    return names[lack];
}

void quota_take(QuotaUse *use, const QuotaNeed *need)
{
    use->running = sum(use->running, 1);
    use->cpu_milli = sum(use->cpu_milli, need->cpu_milli);
    use->memory_mb = sum(use->memory_mb, need->memory_mb);
}

void quota_give(QuotaUse *use, const QuotaNeed *need)
{
    CHECK(use->running >= 1 && use->cpu_milli >= need->cpu_milli && use->memory_mb >= need->memory_mb);
    use->running--;
    use->cpu_milli -= need->cpu_milli;
    use->memory_mb -= need->memory_mb;
}

/* Whole hours by themselves, so that no product exceeds its type; what is less than a millionth is kept for the next time. */
void quota_charge(QuotaUse *use, int64_t runtime_ms, int64_t hour_micro)
{
    if (runtime_ms <= 0) return;
    use->runtime_ms = sum(use->runtime_ms, runtime_ms);
    if (hour_micro <= 0) return;
    int64_t price = hour_micro < QUOTA_PRICE_MAX ? hour_micro : QUOTA_PRICE_MAX;
    int64_t hours = runtime_ms / HOUR_MS < QUOTA_AMOUNT_MAX / price ? runtime_ms / HOUR_MS : QUOTA_AMOUNT_MAX / price;
    int64_t part = runtime_ms % HOUR_MS * price + use->price_rest;
    quota_pay(use, hours * price);
    quota_pay(use, part / HOUR_MS);
    use->price_rest = part % HOUR_MS;
}

void quota_pay(QuotaUse *use, int64_t cost_micro)
{
    if (cost_micro > 0) use->cost_micro = sum(use->cost_micro, cost_micro < QUOTA_AMOUNT_MAX ? cost_micro : QUOTA_AMOUNT_MAX);
}

bool quota_turn(const QuotaTerms *terms, QuotaUse *use, int64_t now_ms)
{
    int64_t begin = now_ms - now_ms % terms->window_ms;
    if (begin <= use->window_ms) return false;
    use->window_ms = begin;
    use->runtime_ms = use->cost_micro = use->price_rest = 0;
    return true;
}

int64_t quota_window_end(const QuotaTerms *terms, const QuotaUse *use)
{
    return use->window_ms + terms->window_ms;
}
