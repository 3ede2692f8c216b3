#include "api/shares.h"

#include <stdio.h>

#include "base/limits.h"
#include "harness/test.h"

static ShareBound take(Shares *shares, const char *tenant, const char *actor, ShareHold *hold)
{
    return share_take(shares, SHARE_STREAMS, (ShareOwner){ str_of(tenant), str_of(actor) }, 1, hold);
}

/* Takes until it is refused; tells how often, and by which bound. */
static uint32_t fill(Shares *shares, const char *tenant, const char *actor, ShareHold *holds, ShareBound *out_bound)
{
    uint32_t count = 0;
    while ((*out_bound = take(shares, tenant, actor, &holds[count])) == SHARE_FREE) count++;
    return count;
}

TEST(a_key_a_tenant_and_the_server_each_end_at_their_own_bound, "")
{
    static ShareHold holds[API_STREAM_COUNT_MAX + 8];
    static const struct { const char *name, *tenant, *actor; uint32_t want; ShareBound bound; } rows[] = {
        { "one key", "acme", "key:a", API_STREAM_KEY_MAX, SHARE_OF_KEY },
        { "another of the same tenant", "acme", "key:b", API_STREAM_TENANT_MAX - API_STREAM_KEY_MAX, SHARE_OF_KEY },
        { "a third has nothing left", "acme", "key:c", 0, SHARE_OF_TENANT },
        { "another tenant has its own, also where its key has the same name", "beta", "key:a", API_STREAM_KEY_MAX, SHARE_OF_KEY },
        { "a key of every tenant is of none", "*", "key:e", API_STREAM_COUNT_MAX - API_STREAM_TENANT_MAX - API_STREAM_KEY_MAX, SHARE_OF_KEY },
        { "then nothing is left for anybody", "gamma", "key:f", 0, SHARE_OF_SERVER },
    };
    Shares *shares = shares_new();
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        ShareBound bound;
        uint32_t more = fill(shares, rows[i].tenant, rows[i].actor, &holds[count], &bound);
        EXPECT_INT(more, rows[i].want);
        EXPECT_INT(bound, rows[i].bound);
        count += more;
    }
    EXPECT_INT(share_taken(shares, SHARE_STREAMS), API_STREAM_COUNT_MAX);
    share_give_back(shares, &holds[0]);
    share_give_back(shares, &holds[0]);                 /* once is enough */
    EXPECT_INT(take(shares, "acme", "key:c", &holds[0]), SHARE_FREE);
    for (uint32_t i = 0; i < count; i++) share_give_back(shares, &holds[i]);
    EXPECT_INT(share_taken(shares, SHARE_STREAMS), 0);
    shares_free(shares);
}

TEST(what_is_held_grows_and_is_given_back_as_one, "")
{
    Shares *shares = shares_new();
    ShareHold hold = { 0 }, other = { 0 };
    ShareOwner stranger = { .actor = STR("127.0.0.1") };
    size_t half = API_STRANGER_ADDRESS_MAX / 2;
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, half, &hold), SHARE_FREE);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, half, &hold), SHARE_FREE);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &hold), SHARE_OF_ADDRESS);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &other), SHARE_OF_ADDRESS);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), 2 * half);
    share_give_back(shares, &hold);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &other), SHARE_FREE);
    share_give_back(shares, &other);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), 0);
    shares_free(shares);
}

TEST(strangers_share_with_those_of_their_address_and_with_all_others, "")
{
    static ShareHold holds[4];
    static const struct { const char *name, *address; size_t amount; ShareBound bound; } rows[] = {
        { "one address", "127.0.0.1", API_STRANGER_ADDRESS_MAX, SHARE_FREE },
        { "it has no more", "127.0.0.1", 1, SHARE_OF_ADDRESS },
        { "another has its own", "127.0.0.2", API_STRANGER_SHARE_MAX - API_STRANGER_ADDRESS_MAX, SHARE_FREE },
        { "then nothing is left for a stranger", "127.0.0.3", 1, SHARE_OF_STRANGERS },
    };
    Shares *shares = shares_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ROW(rows[i].name);
        EXPECT_INT(share_take(shares, SHARE_BODIES, (ShareOwner){ .actor = str_of(rows[i].address) }, rows[i].amount, &holds[i]), rows[i].bound);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) share_give_back(shares, &holds[i]);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), 0);
    shares_free(shares);
}

TEST(what_moves_to_another_is_of_its_share_alone, "")
{
    Shares *shares = shares_new();
    ShareHold hold = { 0 }, other = { 0 }, none = { 0 };
    ShareOwner stranger = { .actor = STR("127.0.0.1") }, acme = { STR("acme"), STR("hmac:orders") };
    EXPECT_INT(share_move(shares, acme, &none), SHARE_FREE);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, API_STRANGER_ADDRESS_MAX, &hold), SHARE_FREE);
    EXPECT_INT(share_move(shares, acme, &hold), SHARE_FREE);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), API_STRANGER_ADDRESS_MAX);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, API_STRANGER_ADDRESS_MAX, &other), SHARE_FREE);
    EXPECT_INT(share_move(shares, acme, &other), SHARE_FREE);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &none), SHARE_FREE);
    EXPECT_INT(share_move(shares, acme, &none), SHARE_OF_KEY);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), API_BODY_SHARE_MAX);
    share_give_back(shares, &hold);
    share_give_back(shares, &other);
    share_give_back(shares, &none);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), 0);
    shares_free(shares);
}
