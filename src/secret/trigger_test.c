#include "secret/trigger.h"

#include "core/terms.h"
#include "harness/test.h"
#include "value/json.h"

TEST(a_token_is_made_for_triggers_that_are_authenticated_by_one_alone, "proves: A-198")
{
    Arena arena;
    Error err;
    Value by_token, by_secret;
    arena_init(&arena, SIZE_MAX);
    EXPECT_OK(json_parse(&arena, STR("{\"bearer\":true}"), &by_token, &err), &err);
    EXPECT_OK(json_parse(&arena, STR("{\"hmac\":\"hook\"}"), &by_secret, &err), &err);
    const StepTerms steps[] = { { .pause = { .trigger = STR("signed"), .auth = by_secret } },
                                { .pause = { .trigger = STR("approval"), .auth = by_token } } };
    const uint32_t pauses[] = { 0, 1 };
    const PlanTerms terms = { .steps = steps, .pauses = pauses, .pause_count = 2 };
    const Plan plan = { .terms = &terms };
    EXPECT_OK(trigger_check_bearer(&plan, STR("run-1"), STR("approval"), &err), &err);
    EXPECT_INT(trigger_check_bearer(&plan, STR("run-1"), STR("signed"), &err), ERR_INVALID);
    EXPECT_STR(str_of(err.text), STR("run run-1 has no trigger 'signed' that is authenticated by a bearer token"));
    EXPECT_INT(trigger_check_bearer(&plan, STR("run-1"), STR("nothing"), &err), ERR_INVALID);

    const char *triggers = "[{\"manual\":true},{\"webhook\":{\"key\":\"paid\",\"auth\":{\"bearer\":true}}},"
                           "{\"webhook\":{\"key\":\"signed\",\"auth\":{\"hmac\":\"hook\"}}}]";
    Value webhooks;
    EXPECT_OK(json_parse(&arena, str_of(triggers), &webhooks, &err), &err);
    EXPECT_OK(trigger_check_webhook(webhooks, STR("orders"), STR("paid"), &err), &err);
    EXPECT_INT(trigger_check_webhook(webhooks, STR("orders"), STR("signed"), &err), ERR_INVALID);
    EXPECT_INT(trigger_check_webhook(webhooks, STR("orders"), STR("nothing"), &err), ERR_INVALID);
    EXPECT_STR(str_of(err.text), STR("workflow 'orders' has no webhook 'nothing' that is authenticated by a bearer token"));

    EXPECT_STR(trigger_workflow_bound(&arena, STR("orders")), STR("workflow/orders"));
    EXPECT_STR(trigger_webhook_name(&arena, STR("paid")), STR("webhook:paid"));
    arena_deinit(&arena);
}
