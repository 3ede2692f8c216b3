#include "api/known.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "harness/test.h"

#define BURST_MS ((int64_t)API_RATE_BURST_S * 1000)

static const KeyRates rates = { .key_per_s = 10, .tenant_per_s = 1000000 };

/* Key number `number` of a tenant; its id has the size of all ids. */
static Known *hear(Callers *callers, const char *tenant, uint32_t number, int64_t now_ms)
{
    char id[KEY_ID_SIZE + 1];
    (void)snprintf(id, sizeof id, "%08u", number);
    Known *known = known_find(&callers->keys, str_of(tenant), str_of(id));
    if (known) known_use(&callers->keys, known, now_ms);
    return known ? known : known_add(&callers->keys, str_of(tenant), str_of(id), callers->rates.key_per_s, now_ms);
}

/* How many requests of it are taken at that time, of those tried. */
static uint32_t pay(Callers *callers, Known *key, const char *tenant, uint32_t count, int64_t now_ms)
{
    uint32_t taken = 0;
    uint64_t wait_s;
    Error err;
    for (uint32_t i = 0; i < count; i++) taken += !known_pay(callers, key, str_of(tenant), STR("someone1"), now_ms, &wait_s, &err);
    return taken;
}

TEST(a_key_is_found_by_tenant_and_id_among_as_many_as_there_may_be, "")
{
    Callers callers;
    known_init(&callers, rates);
    for (uint32_t i = 0; i < API_KEY_COUNT_MAX; i++) REQUIRE(hear(&callers, i % 2 ? "acme" : "other", i / 2, 1000) != NULL);
    EXPECT_INT(callers.keys.count, API_KEY_COUNT_MAX);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < callers.keys.bucket_count; i++) {
        uint32_t size = 0;
        for (const Known *known = callers.keys.buckets[i]; known; known = known->chain) size++;
        longest = size > longest ? size : longest;
    }
    EXPECT(longest <= 16);                  /* of half as many keys as buckets; about seven */
    for (uint32_t i = 0; i < API_KEY_COUNT_MAX; i++) {
        char id[KEY_ID_SIZE + 1];
        (void)snprintf(id, sizeof id, "%08u", i / 2);
        const Known *known = known_find(&callers.keys, str_of(i % 2 ? "acme" : "other"), str_of(id));
        REQUIRE(known != NULL);
        EXPECT_STR(str_of(known->id), str_of(id));
        EXPECT_STR(str_of(known->tenant), str_of(i % 2 ? "acme" : "other"));
    }
    EXPECT(known_find(&callers.keys, STR("acm"), STR("e0000000")) == NULL);
    known_deinit(&callers);
}

TEST(a_rate_lets_a_burst_through_and_then_so_many_a_second, "")
{
    Callers callers;
    known_init(&callers, rates);
    Known *key = hear(&callers, "acme", 1, 1000);
    EXPECT_INT(pay(&callers, key, "acme", 50, 1000), 20);
    EXPECT_INT(pay(&callers, key, "acme", 50, 1500), 5);
    EXPECT_INT(pay(&callers, key, "acme", 50, 1500 + 10 * BURST_MS), 20);
    known_deinit(&callers);
}

TEST(no_key_that_is_in_use_is_forgotten_so_none_gets_its_rate_anew, "")
{
    Callers callers;
    known_init(&callers, rates);
    Known *used = hear(&callers, "acme", 0, 1000);
    EXPECT_INT(pay(&callers, used, "acme", 50, 1000), 20);
    for (uint32_t i = 1; i < API_KEY_COUNT_MAX; i++) REQUIRE(hear(&callers, "flood", i, 1000) != NULL);
    EXPECT(hear(&callers, "flood", API_KEY_COUNT_MAX, 1000 + BURST_MS - 1) == NULL);
    EXPECT(hear(&callers, "acme", 0, 1000 + BURST_MS - 1) == used);                  /* it is there, with what it has left */
    EXPECT(hear(&callers, "flood", API_KEY_COUNT_MAX, 1000 + BURST_MS) != NULL);     /* in the place of one that was silent for so long */
    EXPECT(hear(&callers, "acme", 0, 1000 + BURST_MS) == used);
    EXPECT_INT(callers.keys.count, API_KEY_COUNT_MAX);
    known_deinit(&callers);
}

TEST(keys_of_a_tenant_that_have_no_place_share_one_rate, "")
{
    Callers callers;
    known_init(&callers, rates);
    for (uint32_t i = 0; i < API_KEY_COUNT_MAX; i++) REQUIRE(hear(&callers, "flood", i, 1000) != NULL);
    EXPECT_INT(pay(&callers, NULL, "acme", 15, 1000), 15);
    EXPECT_INT(pay(&callers, NULL, "acme", 15, 1000), 5);                            /* as another key of the same tenant */
    EXPECT_INT(pay(&callers, NULL, "other", 50, 1000), 20);
    known_deinit(&callers);
}

TEST(a_tenant_that_is_in_use_is_not_forgotten_and_one_too_many_waits, "")
{
    Callers callers;
    uint64_t wait_s = 0;
    Error err;
    known_init(&callers, (KeyRates){ .key_per_s = 10, .tenant_per_s = 10 });
    for (uint32_t i = 0; i < API_TENANT_COUNT_MAX; i++) {
        char tenant[32];
        (void)snprintf(tenant, sizeof tenant, "tenant-%u", i);
        for (uint32_t k = 0; k < 20; k++) REQUIRE_OK(known_pay_tenant(&callers, str_of(tenant), 1000, &wait_s, &err), &err);
        EXPECT_INT(known_pay_tenant(&callers, str_of(tenant), 1000, &wait_s, &err), ERR_LIMIT);
    }
    EXPECT_INT(known_pay_tenant(&callers, STR("late"), 1500, &wait_s, &err), ERR_LIMIT);
    EXPECT(strstr(err.text, "API_TENANT_COUNT_MAX") != NULL);
    EXPECT_INT(wait_s, API_RATE_BURST_S);
    for (uint32_t k = 0; k < 5; k++) REQUIRE_OK(known_pay_tenant(&callers, STR("tenant-0"), 1500, &wait_s, &err), &err);
    EXPECT_INT(known_pay_tenant(&callers, STR("tenant-0"), 1500, &wait_s, &err), ERR_LIMIT);     /* half a second of its own rate, and no more */
    REQUIRE_OK(known_pay_tenant(&callers, STR("late"), 1000 + BURST_MS, &wait_s, &err), &err);
    known_deinit(&callers);
}
