/* The features of runs two by two on the memory store: the cells that need commands. Each row is a story in one line.
 *
 * Steps are numbered as in the plan: 0 start, 1 route, 2 left, 3 right, 4 join, 5 last. In a story `2` says that the attempt handed
 * over next is one of step 2, and that it succeeds; `5!` that it fails; `~2` that it undoes step 2; `2?` that it is a poll which is
 * not complete, `2.` one that is; `a` and `b` that it is one of step 0, whose output selects that arm. `r2` retries from step 2,
 * `c2` does so once what follows is undone, `R` retries what failed, `C` compensates what failed, `U` what is under way, `T`
 * brings the trigger, `P` says that the run is paused for it, `w` lets a minute pass, `k` kills the owner.
 */
#include "engine/house.h"

#include "harness/test.h"

#define HEAD "workflow: m\n"
#define FLOW(head, left, join) HEAD head \
    "jobs:\n" \
    "  start: { tasks: [{ name: start, run: noop, compensation: { run: noop } }] }\n" \
    "  route: { needs: [start], branch: { type: exclusive, select: outputs.start.way, cases: { a: [left], b: [right] }, converge: join } }\n" \
    "  left: { tasks: [{ name: left, run: noop, compensation: { run: noop }" left " }] }\n" \
    "  right: { tasks: [{ name: right, run: noop, compensation: { run: noop } }] }\n" \
    "  join:\n    needs: [left, right]\n    tasks:\n" \
    "      - { name: join, run: noop, compensation: { run: noop }" join " }\n" \
    "      - { name: last, run: noop }\n"
#define PLAIN FLOW("", "", "")
#define POLLED FLOW("", ", poll: { interval: 30s, max_duration: 1h, max_attempts: 9 }", "")
#define POLLED_THEN_PAUSED FLOW("", ", poll: { interval: 30s, max_duration: 1h, max_attempts: 9 }, pause_after: { trigger: go }", "")
#define PAUSED FLOW("", ", pause_after: { trigger: go, timeout: 1h }", "")
#define PAUSED_AT_JOIN FLOW("", "", ", pause_after: { trigger: go, timeout: 1h }")
#define BY_ITSELF FLOW("", ", pause_after: { trigger: go, auto_resume_after: 30s }", "")
#define COMPENSATES FLOW("failure_resolution: { strategy: auto_compensate }\n", "", "")
#define RETRIES(left) FLOW("failure_resolution: { strategy: auto_retry, max_retries: 1, retry_delay: 30s }\n", left, "")

static const char *const step_names[] = { "start.start", "route", "left.left", "right.right", "join.join", "join.last" };

typedef struct Story { const char *name, *definition, *text, *state; } Story;

/* The attempt that was handed over next is of that step; it reports. */
static void attempt(House *house, uint32_t step, bool is_undo, Cause cause, const char *output)
{
    if (!EXPECT(house->reported < house->taken_count)) return;
    EXPECT_INT(house->taken[house->reported].step, step);
    EXPECT_INT(str_ends(house->keys[house->reported], STR("/compensation")), is_undo);
    house_report(house, cause, output);
}

static const char *attempt_story(House *house, const char *at)
{
    bool is_undo = *at == '~';
    const char *output = NULL;
    Cause cause = CAUSE_NONE;
    if (is_undo) at++;
    uint32_t step = *at == 'a' || *at == 'b' ? 0 : (uint32_t)(*at - '0');
    if (*at == 'a') output = "{\"way\": \"a\"}";
    if (*at == 'b') output = "{\"way\": \"b\"}";
    if (at[1] == '!') cause = CAUSE_PERMANENT;
    if (at[1] == '?') output = "{\"continue\": true}";
    if (at[1] == '.') output = "{\"complete\": true}";
    attempt(house, step, is_undo, cause, output);
    return at[1] == '!' || at[1] == '?' || at[1] == '.' ? at + 2 : at + 1;
}

static void order(House *house, uint64_t run, Command command)
{
    EXPECT_INT(house_command(house, run, command, NULL), OK);
}

static const char *retry_story(House *house, uint64_t run, const char *at)
{
    RetryMode mode = *at == 'c' ? COMPENSATE_THEN_RETRY : RETRY_ONLY;
    order(house, run, (Command){ .kind = COMMAND_RETRY_FROM, .name = str_of(step_names[at[1] - '0']), .mode = mode });
    return at + 2;
}

static void tell(const Story *story)
{
    House house;
    house_open(&house);
    uint64_t run = house_start(&house, story->definition);
    ROW(story->name);
    for (const char *at = story->text; *at;) {
        switch (*at) {
        case ' ': break;
        case 'R': order(&house, run, (Command){ .kind = COMMAND_RESOLVE, .decision = DECISION_RETRY }); break;
        case 'C': order(&house, run, (Command){ .kind = COMMAND_RESOLVE, .decision = DECISION_COMPENSATE }); break;
        case 'U': order(&house, run, (Command){ .kind = COMMAND_COMPENSATE }); break;
        case 'T': order(&house, run, (Command){ .kind = COMMAND_TRIGGER, .name = STR("go") }); break;
        case 'P': house_expect(&house, run, "PAUSED", "go"); break;
        case 'w': house_wait(&house, 60 * 1000); break;
        case 'k': house_kill_owner(&house); break;
        case 'r': case 'c': at = retry_story(&house, run, at); continue;
        default: at = attempt_story(&house, at); continue;
        }
        at++;
    }
    EXPECT_INT(house.taken_count, house.reported);                  /* nothing else was handed over */
    house_expect(&house, run, story->state, "");
    house_close(&house);
}

static void tell_all(const Story *stories, size_t count)
{
    for (size_t i = 0; i < count; i++) tell(&stories[i]);
}

#define TELL(stories) tell_all(stories, sizeof stories / sizeof *stories)

TEST(resolution_with_retries_and_compensations, "proves: A-255 A-256")
{
    static const Story stories[] = {
        { "what failed", PLAIN, "a245! R 5", "SUCCEEDED" },
        { "from a step", PLAIN, "a245! r2 245", "SUCCEEDED" },
        { "from what failed", PLAIN, "a245! r5 5", "SUCCEEDED" },
        { "compensated by decision", PLAIN, "a245! C ~4~2~0", "COMPENSATED" },
        { "compensated by strategy", COMPENSATES, "a245! ~4~2~0", "COMPENSATED" },
        { "failed again", PLAIN, "a245! R 5! C ~4~2~0", "COMPENSATED" },
    };
    TELL(stories);
}

TEST(retries_from_a_step_with_compensations_branches_polls_and_pauses, "proves: A-257 A-258 A-259 A-260")
{
    static const Story stories[] = {
        { "without undoing", PLAIN, "a245! r2 245", "SUCCEEDED" },
        { "undone first", PLAIN, "a245! c2 ~4 245", "SUCCEEDED" },
        { "the owner dies in between", PLAIN, "a245! c0 ~4 ~2 a 245", "SUCCEEDED" },
        { "the branch is asked again and takes the other arm", PLAIN, "a245! r0 b345", "SUCCEEDED" },
        { "from the branch point, with the same answer", PLAIN, "a245! r1 245", "SUCCEEDED" },
        { "within its arm", PLAIN, "b345! r3 345", "SUCCEEDED" },
        { "polls anew", POLLED, "a2? w2. 45! r2 2? w2? w2. 45", "SUCCEEDED" },
        { "the pause is awaited again", PAUSED, "a2 P T 45! r0 a2 P T 45", "SUCCEEDED" },
        { "from behind the pause it is not", PAUSED, "a2 P T 45! r4 45", "SUCCEEDED" },
    };
    TELL(stories);
}

TEST(compensations_with_branches_and_polls, "proves: A-261 A-262")
{
    static const Story stories[] = {
        { "one arm", COMPENSATES, "a245! ~4~2~0", "COMPENSATED" },
        { "the other", COMPENSATES, "b345! ~4~3~0", "COMPENSATED" },
        { "a poll", POLLED, "a2? w2. 45! C ~4~2~0", "COMPENSATED" },
    };
    TELL(stories);
}

TEST(branches_with_polls_and_pauses_and_polls_with_pauses, "proves: A-263 A-264 A-265")
{
    static const Story stories[] = {
        { "a poll in an arm", POLLED, "a2? w2? k w2. 45", "SUCCEEDED" },
        { "a poll in an arm that is not taken", POLLED, "b345", "SUCCEEDED" },
        { "a pause in an arm", PAUSED, "a2 P k P T 45", "SUCCEEDED" },
        { "a pause in an arm that is not taken", PAUSED, "b345", "SUCCEEDED" },
        { "a pause where arms come together", PAUSED_AT_JOIN, "a24 P T 5", "SUCCEEDED" },
        { "a pause that ends by itself", BY_ITSELF, "a2 P w 45", "SUCCEEDED" },
        { "a pause after a poll", POLLED_THEN_PAUSED, "a2? w2. P T 45", "SUCCEEDED" },
    };
    TELL(stories);
}

TEST(what_has_nothing_to_do_with_one_another_behaves_as_if_alone, "proves: A-266")
{
    static const Story stories[] = {
        { "a strategy and a branch", RETRIES(""), "a245! w 5", "SUCCEEDED" },
        { "a strategy and a failing arm", RETRIES(""), "a2! w 2! R 245", "SUCCEEDED" },
        { "a strategy and a poll that fails",
          RETRIES(", poll: { interval: 30s, max_duration: 1h }, retries: { attempts: 1 }"), "a2! w 2. 45",
          "SUCCEEDED" },
        { "a strategy and a pause", RETRIES(", pause_after: { trigger: go, timeout: 1h }"), "a2 P T 45! w 5", "SUCCEEDED" },
        { "a compensation while it is paused", PAUSED, "a2 P U ~2~0", "COMPENSATED" },
    };
    TELL(stories);
}
