#include "api/hook_rates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "value/canonical.h"

typedef struct Window { Digest name; int64_t begin_ms, per_ms, count; } Window;

typedef struct TenantRates {
    Str name;
    Window *windows;                    /* by the digests of their names */
    uint32_t count, capacity;
} TenantRates;

/* A clock that was put back has ended it as well: it would last too long. */
static bool is_over(const Window *window, int64_t now_ms) { return now_ms - window->begin_ms >= window->per_ms || now_ms < window->begin_ms; }

/* --- tenants --------------------------------------------------------------------------------------------------------------------------- */

static void tenant_deinit(TenantRates *tenant)
{
    free((char *)tenant->name.ptr);
    free(tenant->windows);
}

void hook_rates_deinit(HookRates *rates)
{
    for (uint32_t i = 0; i < rates->count; i++) tenant_deinit(&rates->tenants[i]);
    free(rates->tenants);
    *rates = (HookRates){ 0 };
}

static void sweep(TenantRates *tenant, int64_t now_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tenant->count; i++)
        if (!is_over(&tenant->windows[i], now_ms)) tenant->windows[kept++] = tenant->windows[i];
    tenant->count = kept;
}

/* Nothing is kept of a tenant whose windows have all run out. */
static void sweep_all(HookRates *rates, int64_t now_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < rates->count; i++) {
        sweep(&rates->tenants[i], now_ms);
        if (rates->tenants[i].count) rates->tenants[kept++] = rates->tenants[i];
        else tenant_deinit(&rates->tenants[i]);
    }
    rates->count = kept;
}

/* Where it is, or belongs. */
static uint32_t tenant_place(const HookRates *rates, Str name)
{
    uint32_t low = 0, high = rates->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (str_compare(rates->tenants[middle].name, name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static TenantRates *tenant_of(HookRates *rates, Str name, int64_t now_ms)
{
    uint32_t place = tenant_place(rates, name);
    if (place < rates->count && str_is(rates->tenants[place].name, name)) return &rates->tenants[place];
    if (rates->count == rates->capacity) {
        sweep_all(rates, now_ms);
        place = tenant_place(rates, name);
    }
    if (rates->count == rates->capacity) {
        rates->capacity = rates->capacity ? 2 * rates->capacity : 8;
        rates->tenants = realloc(rates->tenants, rates->capacity * sizeof *rates->tenants);
        CHECK(rates->tenants);
    }
    char *text = malloc(name.len + 1);
    CHECK(text);
    memcpy(text, name.ptr, name.len);
    memmove(&rates->tenants[place + 1], &rates->tenants[place], (rates->count++ - place) * sizeof *rates->tenants);
    rates->tenants[place] = (TenantRates){ .name = { text, name.len } };
    return &rates->tenants[place];
}

/* --- windows --------------------------------------------------------------------------------------------------------------------------- */

static uint32_t window_place(const TenantRates *tenant, const Digest *name)
{
    uint32_t low = 0, high = tenant->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (memcmp(&tenant->windows[middle].name, name, sizeof *name) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* When the first of them runs out. */
static int64_t next_ms(const TenantRates *tenant, int64_t now_ms)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < tenant->count; i++) {
        int64_t left = tenant->windows[i].begin_ms + tenant->windows[i].per_ms - now_ms;
        if (left < least) least = left;
    }
    return least;
}

/* NULL: there is no place, since every window is still open. */
static Window *window_of(TenantRates *tenant, const Digest *name, int64_t now_ms)
{
    uint32_t place = window_place(tenant, name);
    if (place < tenant->count && memcmp(&tenant->windows[place].name, name, sizeof *name) == 0) return &tenant->windows[place];
    if (tenant->count == tenant->capacity) {
        sweep(tenant, now_ms);
        place = window_place(tenant, name);
    }
    if (tenant->count == TENANT_HOOK_COUNT_MAX) return NULL;
    if (tenant->count == tenant->capacity) {
        tenant->capacity = tenant->capacity ? 2 * tenant->capacity : 4;
        tenant->windows = realloc(tenant->windows, tenant->capacity * sizeof *tenant->windows);
        CHECK(tenant->windows);
    }
    memmove(&tenant->windows[place + 1], &tenant->windows[place], (tenant->count++ - place) * sizeof *tenant->windows);
    tenant->windows[place] = (Window){ .name = *name, .begin_ms = now_ms };
    return &tenant->windows[place];
}

Status hook_rates_take(HookRates *rates, Str tenant_name, Str name, const HookLimit *limit, int64_t now_ms, int64_t *out_wait_ms, Error *err)
{
    TenantRates *tenant = tenant_of(rates, tenant_name, now_ms);
    Digest digest = digest_of(name);
    Window *window = window_of(tenant, &digest, now_ms);
    if (!window) {
        *out_wait_ms = next_ms(tenant, now_ms);
        return error_set(err, ERR_LIMIT,
                         "more than TENANT_HOOK_COUNT_MAX (%u) start triggers of the tenant were sent within the time of their rate_limit",
                         TENANT_HOOK_COUNT_MAX);
    }
    window->per_ms = limit->per_ms;                         /* another revision may say another one */
    if (is_over(window, now_ms)) window->begin_ms = now_ms, window->count = 0;
    if (window->count < limit->count) {
        window->count++;
        return OK;
    }
    *out_wait_ms = window->begin_ms + window->per_ms - now_ms;
    return error_set(err, ERR_LIMIT, "the trigger was sent %" PRId64 " times within %" PRId64
                     " s, which is its rate_limit", limit->count, limit->per_ms / 1000);
}
