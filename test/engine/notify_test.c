/* Notifications of pauses as the engine carries them: when they leave, under which key, and after which end of an owner again. */
#include <string.h>

#include "engine/house.h"
#include "harness/test.h"

#define PAUSE(more) "workflow: p\njobs:\n  a:\n    tasks:\n      - { name: ask, run: noop, pause_after: { trigger: boss" more " } }\n" \
                    "      - { name: then, run: noop }\n"

static bool is_notified(const House *house, uint32_t nth, const char *end)
{
    Str key = house->keys[nth];
    size_t size = strlen(end);
    return key.len > size && memcmp(key.ptr + key.len - size, end, size) == 0;
}

TEST(a_notification_leaves_with_its_pause_and_is_tried_again_under_its_key_by_whoever_owns_the_log, "proves: A-182 A-012")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, PAUSE(", notify: noop"));
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "PAUSED", "boss");
    if (!EXPECT_INT(house.taken_count, 2)) return;
    EXPECT(is_notified(&house, 1, "/notification/1"));
    house_report(&house, CAUSE_TRANSIENT, NULL);
    EXPECT_INT(house_count(&house, run, EVENT_NOTIFICATION_FAILED), 1);
    EXPECT_INT(house.taken_count, 2);                           /* not at once */
    house_wait(&house, 5000);
    EXPECT_INT(house.taken_count, 3);
    house_kill_owner(&house);
    house_turns(&house);
    if (!EXPECT_INT(house.taken_count, 4)) return;              /* nobody knows whether it was received */
    EXPECT_STR(house.keys[2], house.keys[1]);
    EXPECT_STR(house.keys[3], house.keys[1]);
    house.reported = 3;
    house_report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house_count(&house, run, EVENT_NOTIFICATION_SENT), 1);
    house_wait(&house, 3600000);
    EXPECT_INT(house.taken_count, 4);                           /* once is enough */
    house_expect(&house, run, "PAUSED", "boss");
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_TRIGGER, .name = STR("boss") }, NULL), OK);
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");
    house_close(&house);
}

TEST(a_run_goes_on_whatever_becomes_of_its_notifications, "proves: A-182")
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, PAUSE(", notify: [noop, nobody@example.com]"));
    house_report(&house, CAUSE_NONE, NULL);
    EXPECT_INT(house.taken_count, 2);                           /* for the other one there is no runner, and that is a try */
    EXPECT_INT(house_count(&house, run, EVENT_NOTIFICATION_FAILED), 1);
    EXPECT_INT(house_command(&house, run, (Command){ .kind = COMMAND_TRIGGER, .name = STR("boss") }, NULL), OK);
    EXPECT_INT(house_count(&house, run, EVENT_NOTIFICATION_FAILED), 3);     /* both are withdrawn */
    EXPECT_INT(house.taken_count, 3);
    house_report(&house, CAUSE_NONE, NULL);                     /* who was told of the pause answers late */
    EXPECT_INT(house_count(&house, run, EVENT_NOTIFICATION_SENT), 0);
    house_report(&house, CAUSE_NONE, NULL);
    house_expect(&house, run, "SUCCEEDED", "");
    house_close(&house);
}
