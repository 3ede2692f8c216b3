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
    ShareOwner stranger = { 0 };
    size_t half = API_STRANGER_SHARE_MAX / 2;
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, half, &hold), SHARE_FREE);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, half, &hold), SHARE_FREE);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &hold), SHARE_OF_STRANGERS);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &other), SHARE_OF_STRANGERS);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), 2 * half);
    share_give_back(shares, &hold);
    EXPECT_INT(share_take(shares, SHARE_BODIES, stranger, 1, &other), SHARE_FREE);
    share_give_back(shares, &other);
    EXPECT_INT(share_taken(shares, SHARE_BODIES), 0);
    shares_free(shares);
}
