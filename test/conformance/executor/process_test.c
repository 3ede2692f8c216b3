/* Programs as an executor, and the contract of a process runner. */
#include "exec/process/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "conformance/executor/suite.h"
#include "os/clock.h"
#include "value/json.h"

static const char *lock_path;           /* NULL, or what the next executor is opened with */
static int64_t grace_ms;
static uint64_t log_size_max;

static Status open_process(NoticeSink sink, uint32_t capacity, Executor **out_executor, Error *err)
{
    ProcessOptions options = { .name = STR("local"), .capacity = capacity, .sink = sink, .lock_path = lock_path,
                               .lock_wait_ms = 5000, .grace_ms = grace_ms, .log_size_max = log_size_max };
    Executor *executor;
    Status status = process_executor_open(&options, &executor, err);
    if (status) return status;
    status = process_executor_start(executor, err);
    if (status) executor->ops->close(executor);
    else *out_executor = executor;
    return status;
}

#define SHELL(line) { "shell", NULL, "{\"command\":\"" line "\"}" }
/* Announces, waits for the acknowledgement, acts, announces that, waits again. */
#define EFFECT_LINE "echo '{\\\"effect\\\":{\\\"charge\\\":5}}' >&3; read -r ack <&4; " \
                    "test \\\"$ack\\\" = '{\\\"acknowledged\\\":1}' || exit 1; " \
                    "echo '{\\\"effectCommitted\\\":true}' >&3; read -r ack <&4; " \
                    "test \\\"$ack\\\" = '{\\\"acknowledged\\\":2}' || exit 1"

static const Subject process = {
    .name = "process", .open = open_process,
    .works = { [WORK_SUCCEEDS] = SHELL("echo '{\\\"answer\\\":42}' > $MAESTRO_OUTPUT"), [WORK_FAILS] = SHELL("exit 3"),
               [WORK_FAILS_TRANSIENT] = SHELL("exit 75"),
               [WORK_FAILS_PERMANENT] = { "missing", "{\"command\":[\"no-program-of-this-name\"]}", NULL },
               [WORK_FAILS_INPUT] = SHELL("exit 65"), [WORK_FAILS_POLICY] = SHELL("exit 77"),
               [WORK_LOGS] = SHELL("echo a line of its log"), [WORK_TAKES_LONG] = SHELL("sleep 60"),
               [WORK_HAS_EFFECT] = SHELL(EFFECT_LINE) },
};
EXECUTOR_CASES(process)

/* Runs one attempt to its end; false where that failed. The stand is open either way. */
static bool run_attempt(Stand *stand, const Attempt *attempt)
{
    return EXPECT(stand->executor->ops->execute(stand->executor, attempt)) && EXPECT(stand_await(stand, stand->report_count + 1, 0));
}

static bool run_one(Stand *stand, Work work)
{
    if (!stand_open(stand, &process, 4)) return false;
    Attempt attempt = stand_attempt(stand, 1, work);
    return run_attempt(stand, &attempt);
}

/* --- what it gets ------------------------------------------------------------------------------------------------ */

TEST(process_gets_the_document_on_standard_input, "")
{
    Stand stand;
    if (stand_open(&stand, &process, 4)) {
        Attempt attempt = stand_attempt(&stand, 1, (Work)SHELL("cat > $MAESTRO_OUTPUT"));
        attempt.deadline_ms = attempt.now_ms + 60000;
        if (run_attempt(&stand, &attempt)) {
            Value document = stand_report(&stand, 1)->output;
            EXPECT_INT(value_get_int(document, "attempt", 0), 1);
            EXPECT_INT(value_get_int(document, "deadline", 0), attempt.deadline_ms);
            EXPECT_STR(value_get_string(document, "idempotencyKey", STR("")), STR("key-of-the-step"));
            EXPECT_STR(value_get_string(document, "traceparent", STR("")), attempt.traceparent);
            EXPECT_STR(stand_json(&stand, *value_get_text(document, "params")), STR("{\"p\":1}"));
            EXPECT(value_get_text(document, "input") && value_get_text(*value_get_text(document, "input"), "command"));
            EXPECT(value_get_text(document, "context") && value_get_text(document, "context")->kind == VALUE_NULL);
        }
    }
    stand_take_down(&stand);
}

TEST(process_has_only_the_variables_it_was_given, "")
{
    setenv("SECRET_OF_THE_ENGINE", "hidden", 1);
    setenv("PASSED_ON", "yes", 1);
    Stand stand;
    Work work = { "env-printer", "{\"command\":[\"/usr/bin/env\"],\"settings\":{\"env\":[\"PASSED_ON\",\"SET=to this\",\"NOT_THERE\"]}}",
                  "{\"x\":1}" };
    if (run_one(&stand, work)) {
        static const char *const expected[] = {
            "PASSED_ON=yes", "SET=to this", "MAESTRO_RUN=run-of-the-suite", "MAESTRO_TENANT=default", "MAESTRO_STEP=step",
            "MAESTRO_DEFINITION=suite", "MAESTRO_RUNNER=env-printer", "MAESTRO_ATTEMPT=1", "MAESTRO_INPUT={\"x\":1}",
            "MAESTRO_PARAMS={\"p\":1}", "MAESTRO_CONTEXT=null", "MAESTRO_IDEMPOTENCY_KEY=key-of-the-step", "MAESTRO_EVENTS=3",
            "MAESTRO_ACKS=4", "MAESTRO_OUTPUT=/", "MAESTRO_DEADLINE=", "MAESTRO_TRACEPARENT=00-", "PATH=",
        };
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            ROW(expected[i]);
            EXPECT(stand_logged(&stand, str_of(expected[i])));
        }
        ROW("nothing else");
        EXPECT(!stand_logged(&stand, STR("SECRET_OF_THE_ENGINE")));
        EXPECT(!stand_logged(&stand, STR("NOT_THERE")));
        for (uint32_t i = 0; i < stand.said_count; i++) {
            Str line = stand.said[i].text;
            EXPECT(str_starts(line, STR("MAESTRO_")) || str_starts(line, STR("PATH=")) || str_starts(line, STR("HOME="))
                   || str_starts(line, STR("LANG=")) || str_starts(line, STR("TZ=")) || str_starts(line, STR("PASSED_ON="))
                   || str_starts(line, STR("SET=")));
        }
    }
    stand_take_down(&stand);
    unsetenv("SECRET_OF_THE_ENGINE");
    unsetenv("PASSED_ON");
}

TEST(process_has_no_other_descriptors_and_its_own_session, "")
{
    int open_one = open("/dev/null", O_RDONLY);             /* without close-on-exec: still not inherited */
    Stand stand;
    if (run_one(&stand, (Work)SHELL("ls /proc/self/fd | tr '\\\\n' ' '; echo; ps -o sid= -p $$ | tr -d ' '; echo $$"))) {
        const Notice *fds = stand_said(&stand, NOTICE_LOG, 0), *session = stand_said(&stand, NOTICE_LOG, 1);
        const Notice *pid = stand_said(&stand, NOTICE_LOG, 2);
        /* 5 is ls itself, reading the directory. */
        if (EXPECT(fds != NULL)) EXPECT_STR(fds->text, STR("0 1 2 3 4 5 "));
        if (EXPECT(session && pid)) EXPECT_STR(session->text, pid->text);
    }
    stand_take_down(&stand);
    close(open_one);
}

TEST(process_gets_arguments_in_order_and_unchanged, "proves: F-160")
{
    static const struct { const char *name; Work work; const char *lines[3]; } cases[] = {
        { "behind a command", { "printer", "{\"command\":[\"printf\",\"[%s]\\\\n\"]}", NULL }, { "[a b]", "[$HOME;]", "[]" } },
        { "of a shell line", { "shell", NULL, "{\"script\":\"printf '<%s>\\\\n' \\\"$@\\\"\"}" }, { "<a b>", "<$HOME;>", "<>" } },
        { "behind a command line", { "printer", "{\"command\":\"printf '{%s}\\\\n'\"}", NULL }, { "{a b}", "{$HOME;}", "{}" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Stand stand;
        if (!stand_open(&stand, &process, 4)) return;
        Attempt attempt = stand_attempt(&stand, 1, cases[i].work);
        Value args[] = { value_string(STR("a b")), value_string(STR("$HOME;")), value_string(STR("")) };
        attempt.args = value_array(args, 3);
        if (run_attempt(&stand, &attempt)) {
            EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
            for (uint32_t line = 0; line < 3; line++) {
                const Notice *said = stand_said(&stand, NOTICE_LOG, line);
                if (EXPECT(said != NULL)) EXPECT_STR(said->text, str_of(cases[i].lines[line]));
            }
        }
        stand_take_down(&stand);
    }
}

TEST(process_of_arguments_alone_is_run_by_shell, "")
{
    Stand stand;
    if (stand_open(&stand, &process, 4)) {
        Attempt attempt = stand_attempt(&stand, 1, (Work){ "shell", NULL, NULL });
        Value args[] = { value_string(STR("echo")), value_string(STR("only args")) };
        attempt.args = value_array(args, 2);
        if (run_attempt(&stand, &attempt)) EXPECT(stand_logged(&stand, STR("only args")));
    }
    stand_take_down(&stand);
}

TEST(process_that_cannot_be_made_is_reported_and_says_why, "")
{
    static const struct { const char *name; Work work; Cause cause; const char *part; } cases[] = {
        { "nothing to run", { "shell", NULL, "{}" }, CAUSE_INPUT_INVALID, "nothing to run" },
        { "no command", { "other", "{\"description\":\"x\"}", NULL }, CAUSE_PERMANENT, "has no `command`" },
        { "no such program", { "r", "{\"command\":[\"/no/such/program\"]}", NULL }, CAUSE_PERMANENT, "/no/such/program: does not exist" },
        { "no program", { "r", "{\"command\":[\"/etc/passwd\"]}", NULL }, CAUSE_PERMANENT, "may not be used" },
        { "a directory", { "r", "{\"command\":[\"/etc\"]}", NULL }, CAUSE_PERMANENT, "may not be used" },
        { "no such directory", { "r", "{\"command\":[\"true\"],\"settings\":{\"directory\":\"/no/such/place\"}}", NULL },
          CAUSE_PERMANENT, "its directory /no/such/place" },
        { "a variable of ours", { "r", "{\"command\":[\"true\"],\"settings\":{\"env\":[\"MAESTRO_RUN=x\"]}}", NULL },
          CAUSE_INPUT_INVALID, "maestro's own" },
        { "a wrong variable", { "r", "{\"command\":[\"true\"],\"settings\":{\"env\":[5]}}", NULL }, CAUSE_INPUT_INVALID, "`env`" },
        { "a zero byte", { "shell", NULL, "{\"command\":\"a\\u0000b\"}" }, CAUSE_INPUT_INVALID, "zero byte" },
    };
    Stand stand;
    if (!stand_open(&stand, &process, 4)) return;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Attempt attempt = stand_attempt(&stand, i, cases[i].work);
        if (!run_attempt(&stand, &attempt)) break;
        const Report *report = stand_report(&stand, i);
        EXPECT_INT(report->cause, cases[i].cause);
        test_expect(memmem(report->message.ptr, report->message.len, cases[i].part, strlen(cases[i].part)) != NULL, __FILE__,
                    __LINE__, "the message is '%.*s'", STR_ARG(report->message));
    }
    stand_take_down(&stand);
}

TEST(process_arguments_beyond_the_limit_are_refused, "")
{
    Stand stand;
    if (stand_open(&stand, &process, 4)) {
        size_t size = PROCESS_REQUEST_SIZE_MAX;
        char *large = arena_alloc(&stand.arena, size);
        memset(large, 'x', size);
        Value args[] = { value_string((Str){ large, size }) };
        Attempt attempt = stand_attempt(&stand, 1, (Work){ "r", "{\"command\":[\"true\"]}", NULL });
        attempt.args = value_array(args, 1);
        if (run_attempt(&stand, &attempt)) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_INPUT_INVALID);
    }
    stand_take_down(&stand);
}

/* An input that no variable can hold comes by standard input all the same. */
TEST(process_gets_a_large_input, "")
{
    Stand stand;
    if (stand_open(&stand, &process, 4)) {
        size_t size = 3u << 20;
        char *large = arena_alloc(&stand.arena, size);
        memset(large, 'x', size);
        Attempt attempt = stand_attempt(&stand, 1, (Work){ "r", "{\"command\":\"test -z $MAESTRO_INPUT && wc -c > $MAESTRO_OUTPUT\"}", NULL });
        attempt.input = value_string((Str){ large, size });
        if (run_attempt(&stand, &attempt)) {
            int64_t count = 0;
            EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
            Value output = stand_report(&stand, 1)->output;
            if (output.kind == VALUE_INT) count = output.integer;
            EXPECT(count > (int64_t)size);
        }
    }
    stand_take_down(&stand);
}

/* --- what it gives ----------------------------------------------------------------------------------------------- */

TEST(process_output_is_JSON_or_a_permanent_failure, "")
{
    static const struct { const char *name; Work work; Cause cause; const char *want; } cases[] = {
        { "none", SHELL("true"), CAUSE_NONE, "null" },
        { "empty", SHELL(": > $MAESTRO_OUTPUT"), CAUSE_NONE, "null" },
        { "a number", SHELL("echo 12.50 > $MAESTRO_OUTPUT"), CAUSE_NONE, "12.50" },
        { "replaced by another file", SHELL("echo 5 > $MAESTRO_OUTPUT.new; mv $MAESTRO_OUTPUT.new $MAESTRO_OUTPUT"), CAUSE_NONE, "5" },
        { "no JSON", SHELL("echo hello > $MAESTRO_OUTPUT"), CAUSE_OUTPUT_INVALID, "its output is no JSON: line 1, column 1" },
        { "a pipe", SHELL("mkfifo $MAESTRO_OUTPUT"), CAUSE_OUTPUT_INVALID, "no file" },
        { "a link", SHELL("ln -s /etc/passwd $MAESTRO_OUTPUT"), CAUSE_OUTPUT_INVALID, "cannot be read" },
        { "a directory", SHELL("mkdir $MAESTRO_OUTPUT"), CAUSE_OUTPUT_INVALID, "no file" },
        { "too large", SHELL("truncate -s 17M $MAESTRO_OUTPUT"), CAUSE_OUTPUT_INVALID, "OUTPUT_SIZE_MAX" },
        { "details of a failure", SHELL("echo 7 > $MAESTRO_OUTPUT; exit 75"), CAUSE_TRANSIENT, "7" },
        { "no details of a failure", SHELL("echo x > $MAESTRO_OUTPUT; exit 75"), CAUSE_TRANSIENT, "null" },
    };
    Stand stand;
    if (!stand_open(&stand, &process, 4)) return;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Attempt attempt = stand_attempt(&stand, i, cases[i].work);
        if (!run_attempt(&stand, &attempt)) break;
        const Report *report = stand_report(&stand, i);
        EXPECT_INT(report->cause, cases[i].cause);
        Str got = cases[i].cause == CAUSE_OUTPUT_INVALID ? report->message : stand_json(&stand, report->output);
        test_expect(memmem(got.ptr, got.len, cases[i].want, strlen(cases[i].want)) != NULL, __FILE__, __LINE__, "got '%.*s'",
                    STR_ARG(got));
    }
    stand_take_down(&stand);
}

TEST(process_failure_tells_the_code_or_signal_and_what_was_said_last, "")
{
    static const struct { const char *name; Work work; Cause cause; const char *message; } cases[] = {
        { "a code", SHELL("echo out; echo first >&2; echo last >&2; exit 9"), CAUSE_ERROR, "exit code 9\nfirst\nlast" },
        { "a code with a meaning", SHELL("exit 75"), CAUSE_TRANSIENT, "exit code 75: a failure that may pass" },
        { "a signal", SHELL("kill -SEGV $$"), CAUSE_ERROR, "killed by signal 11 (SIGSEGV)" },
    };
    Stand stand;
    if (!stand_open(&stand, &process, 4)) return;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ROW(cases[i].name);
        Attempt attempt = stand_attempt(&stand, i, cases[i].work);
        if (!run_attempt(&stand, &attempt)) break;
        EXPECT_INT(stand_report(&stand, i)->cause, cases[i].cause);
        EXPECT_STR(stand_report(&stand, i)->message, str_of(cases[i].message));
    }
    stand_take_down(&stand);
}

TEST(process_says_its_last_lines_when_it_said_many, "")
{
    Stand stand;
    if (run_one(&stand, (Work)SHELL("for i in $(seq 1 200); do echo error line $i >&2; done; exit 1"))) {
        Str message = stand_report(&stand, 1)->message;
        EXPECT(str_ends(message, STR("\nerror line 200")));
        EXPECT(message.len < REPORT_TEXT_SIZE_MAX + 64);
        EXPECT(memmem(message.ptr, message.len, "line 5\n", 7) == NULL);
    }
    stand_take_down(&stand);
}

TEST(process_log_has_its_streams_and_is_text, "")
{
    Stand stand;
    if (run_one(&stand, (Work)SHELL("echo out; printf 'bad \\\\377 byte\\\\r\\\\n'; echo err >&2; printf 'no end'"))) {
        EXPECT(stand_logged(&stand, STR("out")));
        EXPECT(stand_logged(&stand, STR("bad \xEF\xBF\xBD byte")));
        EXPECT(stand_logged(&stand, STR("no end")));
        uint32_t errors = 0;
        for (uint32_t i = 0; i < stand.said_count; i++)
            if (stand.said[i].is_error) {
                errors++;
                EXPECT_STR(stand.said[i].text, STR("err"));
            } else {
                EXPECT(!str_ends(stand.said[i].text, STR("\r")));
            }
        EXPECT_INT(errors, 1);
    }
    stand_take_down(&stand);
}

TEST(process_lines_that_are_too_long_are_cut_and_say_so, "")
{
    Stand stand;
    if (run_one(&stand, (Work)SHELL("head -c 100000 /dev/zero | tr '\\\\0' x; echo; echo after; "
                                    "head -c 16384 /dev/zero | tr '\\\\0' y; echo"))) {
        const Notice *line = stand_said(&stand, NOTICE_LOG, 0), *exact = stand_said(&stand, NOTICE_LOG, 2);
        if (EXPECT(line && exact)) {
            EXPECT(line->text.len > LOG_LINE_SIZE_MAX && line->text.len < LOG_LINE_SIZE_MAX + 100);
            EXPECT(memmem(line->text.ptr, line->text.len, "[cut: the line exceeds", 22) != NULL);
            EXPECT_STR(stand_said(&stand, NOTICE_LOG, 1)->text, STR("after"));
            EXPECT_INT(exact->text.len, LOG_LINE_SIZE_MAX);
        }
        EXPECT_INT(stand.said_count, 3);
    }
    stand_take_down(&stand);
}

TEST(process_log_that_is_too_large_is_cut_once_and_the_program_goes_on, "")
{
    log_size_max = 1000;
    Stand stand;
    if (run_one(&stand, (Work)SHELL("for i in $(seq 1 20000); do echo 0123456789; done; echo 1 > $MAESTRO_OUTPUT"))) {
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
        EXPECT_STR(stand_json(&stand, stand_report(&stand, 1)->output), STR("1"));
        EXPECT_INT(stand.said_count, 1000 / 11 + 1);
        EXPECT(stand_logged(&stand, STR("[the log is cut here: it exceeds 1000 bytes]")));
    }
    stand_take_down(&stand);
    log_size_max = 0;
}

TEST(process_messages_become_notices, "")
{
    Stand stand;
    if (run_one(&stand, (Work)SHELL("echo '{\\\"cost\\\":0.5}' >&3; echo '{\\\"progress\\\":0.25}' >&3; echo '{\\\"heartbeat\\\":true}' >&3; "
                                    "echo '{\\\"signal\\\":{\\\"name\\\":\\\"ready\\\",\\\"value\\\":3}}' >&3; echo nonsense >&3"))) {
        const Notice *cost = stand_said(&stand, NOTICE_COST, 0), *progress = stand_said(&stand, NOTICE_PROGRESS, 0);
        const Notice *said = stand_said(&stand, NOTICE_SIGNAL, 0);
        if (EXPECT(cost != NULL)) EXPECT_INT(cost->number, 500000);
        if (EXPECT(progress != NULL)) EXPECT_INT(progress->number, 250);
        EXPECT(stand_said(&stand, NOTICE_HEARTBEAT, 0) != NULL);
        if (EXPECT(said != NULL)) EXPECT_STR(said->name, STR("ready"));
        EXPECT(stand_logged(&stand, STR("a message on MAESTRO_EVENTS is not understood")));
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
    }
    stand_take_down(&stand);
}

/* --- how it ends ------------------------------------------------------------------------------------------------- */

static int64_t ms_since(uint64_t start_ns)
{
    return (int64_t)((clock_monotonic_ns() - start_ns) / 1000000);
}

TEST(process_is_ended_at_its_deadline_and_by_the_runtime_of_its_job, "")
{
    for (int is_runtime = 0; is_runtime < 2; is_runtime++) {
        ROW(is_runtime ? "runtime" : "deadline");
        Stand stand;
        if (!stand_open(&stand, &process, 4)) return;
        Attempt attempt = stand_attempt(&stand, 1, (Work)SHELL("sleep 60"));
        Error err;
        if (!is_runtime) attempt.deadline_ms = attempt.now_ms + 150;
        else EXPECT_OK(json_parse(&stand.arena, STR("{\"runtime_ms\":150,\"cpu\":1}"), &attempt.resources, &err), &err);
        uint64_t start_ns = clock_monotonic_ns();
        if (run_attempt(&stand, &attempt)) {
            EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_TIMEOUT);
            EXPECT(ms_since(start_ns) >= 150);
            EXPECT(str_starts(stand_report(&stand, 1)->message, is_runtime ? STR("the runtime of its job is over; killed by")
                                                                           : STR("its time is over; killed by")));
        }
        stand_take_down(&stand);
    }
}

TEST(process_that_does_not_listen_is_killed_after_the_grace, "")
{
    grace_ms = 300;
    Stand stand;
    Work work = SHELL("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    if (stand_open(&stand, &process, 4) && EXPECT(stand_execute(&stand, 1, work)) && EXPECT(stand_await(&stand, 0, 1))) {
        Attempt attempt = stand_attempt(&stand, 1, work);
        uint64_t start_ns = clock_monotonic_ns();
        stand.executor->ops->end(stand.executor, &attempt.id);
        if (EXPECT(stand_await(&stand, 1, 0))) {
            EXPECT(ms_since(start_ns) >= 290);
            EXPECT_STR(stand_report(&stand, 1)->message, STR("it was ended on request; killed by signal 9 (SIGKILL)"));
        }
    }
    stand_take_down(&stand);
    grace_ms = 0;
}

TEST(process_that_ends_well_when_asked_still_counts_as_ended, "")
{
    Stand stand;
    Work work = SHELL("trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done");
    if (stand_open(&stand, &process, 4) && EXPECT(stand_execute(&stand, 1, work)) && EXPECT(stand_await(&stand, 0, 1))) {
        Attempt attempt = stand_attempt(&stand, 1, work);
        stand.executor->ops->end(stand.executor, &attempt.id);
        if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_CANCELLED);
    }
    stand_take_down(&stand);
}

static bool is_alive(Str pid_text)
{
    uint64_t pid = 0;
    if (!str_to_u64(pid_text, &pid) || pid == 0) return false;
    return kill((pid_t)pid, 0) == 0;
}

static bool is_gone_soon(Str pid_text)
{
    for (int i = 0; i < 300 && is_alive(pid_text); i++) poll(NULL, 0, 10);
    return !is_alive(pid_text);
}

TEST(process_leaves_nobody_of_its_group_behind_and_does_not_wait_for_them, "")
{
    Stand stand;
    uint64_t start_ns = clock_monotonic_ns();
    if (run_one(&stand, (Work)SHELL("sleep 60 & echo $!"))) {
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
        EXPECT(ms_since(start_ns) < 5000);
        const Notice *pid = stand_said(&stand, NOTICE_LOG, 0);
        if (EXPECT(pid != NULL)) EXPECT(is_gone_soon(pid->text));
    }
    stand_take_down(&stand);
}

TEST(process_that_left_its_session_ends_with_the_executor, "")
{
    Stand stand;
    Str pid = STR("");
    char storage[32] = "";
    if (run_one(&stand, (Work)SHELL("setsid sh -c 'echo $$; exec sleep 60 >/dev/null 2>&1' & sleep 0.3"))) {
        const Notice *said = stand_said(&stand, NOTICE_LOG, 0);
        if (EXPECT(said != NULL)) {
            snprintf(storage, sizeof storage, "%.*s", STR_ARG(said->text));
            pid = str_of(storage);
            EXPECT(is_alive(pid));
        }
    }
    stand_take_down(&stand);
    EXPECT(!is_alive(pid));
}

TEST(process_memory_is_limited_by_the_envelope_of_its_job, "")
{
    Stand stand;
    if (stand_open(&stand, &process, 4)) {
        Attempt attempt = stand_attempt(&stand, 1, (Work)SHELL("ulimit -v; ulimit -t"));
        Error err;
        EXPECT_OK(json_parse(&stand.arena, STR("{\"memory_mb\":512,\"cpu\":1.5,\"runtime_ms\":10000}"), &attempt.resources, &err), &err);
        if (run_attempt(&stand, &attempt) && EXPECT(stand.said_count == 2)) {
            EXPECT_STR(stand.said[0].text, STR("524288"));
            EXPECT_STR(stand.said[1].text, STR("20"));
        }
    }
    stand_take_down(&stand);
}

static int child_count(void)
{
    int count = 0;
    FILE *list = fopen("/proc/thread-self/children", "r");
    for (int pid; list && fscanf(list, "%d", &pid) == 1;) count++;
    if (list) fclose(list);
    return count;
}

TEST(process_executor_leaves_no_child_and_no_scratch_behind, "")
{
    char parent[] = P_tmpdir "/process-test-XXXXXX";
    REQUIRE(mkdtemp(parent) != NULL);
    setenv("TMPDIR", parent, 1);
    int before = child_count();
    Stand stand;
    if (run_one(&stand, (Work)SHELL("echo 1 > $MAESTRO_OUTPUT.other; echo 2 > $MAESTRO_OUTPUT"))) {
        EXPECT_INT(child_count(), before + 1);              /* the spawner, and no zombie beside it */
        EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_NONE);
    }
    stand_take_down(&stand);
    unsetenv("TMPDIR");
    EXPECT_INT(child_count(), before);
    EXPECT_INT(rmdir(parent), 0);                           /* it is empty again */
}

/* --- when one of the two is gone --------------------------------------------------------------------------------- */

/* An engine that is killed: its programs end by themselves, and the next one waits for that. */
TEST(process_programs_of_a_killed_engine_are_gone_before_the_next_executor_opens, "")
{
    char path[] = P_tmpdir "/process-lock-XXXXXX";
    int file = mkstemp(path);
    REQUIRE(file >= 0);
    close(file);
    int told[2];
    REQUIRE(pipe(told) == 0);
    pid_t engine = fork();
    if (engine == 0) {
        lock_path = path;
        close(told[0]);
        Stand stand;
        Work work = SHELL("trap '' TERM; echo $$; while :; do sleep 0.05; done");
        if (stand_open(&stand, &process, 4) && stand_execute(&stand, 1, work) && stand_await(&stand, 0, 1))
            dprintf(told[1], "%.*s", STR_ARG(stand.said[0].text));
        close(told[1]);
        for (;;) pause();
    }
    close(told[1]);
    char storage[32] = "";
    ssize_t got = read(told[0], storage, sizeof storage - 1);
    close(told[0]);
    EXPECT(got > 0);
    Str pid = str_of(storage);
    EXPECT(is_alive(pid));
    file = open(path, O_RDWR | O_CLOEXEC);
    EXPECT(flock(file, LOCK_EX | LOCK_NB) != 0);            /* held as long as there is somebody */
    kill(engine, SIGKILL);
    waitpid(engine, NULL, 0);
    lock_path = path;
    Stand stand;
    if (stand_open(&stand, &process, 4)) {                  /* waits: the program does not listen to TERM */
        EXPECT(!is_alive(pid));
        Attempt attempt = stand_attempt(&stand, 1, process.works[WORK_SUCCEEDS]);
        run_attempt(&stand, &attempt);
    }
    stand_take_down(&stand);
    lock_path = NULL;
    EXPECT_INT(flock(file, LOCK_EX | LOCK_NB), 0);          /* and free afterwards */
    close(file);
    unlink(path);
}

TEST(process_executor_does_not_open_while_others_are_still_there, "")
{
    char path[] = P_tmpdir "/process-lock-XXXXXX";
    int file = mkstemp(path);
    REQUIRE(file >= 0);
    EXPECT_INT(flock(file, LOCK_EX), 0);
    Error err;
    Executor *executor;
    ProcessOptions options = { .name = STR("local"), .capacity = 1, .lock_path = path, .lock_wait_ms = 50 };
    EXPECT_INT(process_executor_open(&options, &executor, &err), ERR_UNAVAILABLE);
    close(file);
    unlink(path);
}

static long thread_count(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) ? -1 : (long)tasks.st_nlink - 2;
}

/* A second thread would be a copy in the spawner that is forked then, with whatever lock it holds. */
TEST(process_spawners_of_several_executors_are_forked_before_there_is_a_thread, "")
{
    long before = thread_count();
    Executor *executors[2] = { NULL };
    ProcessOptions options = { .name = STR("local"), .capacity = 1 };
    Error err;
    for (int i = 0; i < 2; i++) REQUIRE(!process_executor_open(&options, &executors[i], &err));
    EXPECT_INT(thread_count(), before);
    for (int i = 0; i < 2; i++) EXPECT_OK(process_executor_start(executors[i], &err), &err);
    EXPECT_INT(thread_count(), before + 2);
    for (int i = 0; i < 2; i++) executors[i]->ops->close(executors[i]);
    EXPECT_INT(thread_count(), before);
}

TEST(process_executor_that_was_not_started_closes, "")
{
    Executor *executor;
    ProcessOptions options = { .name = STR("local"), .capacity = 1 };
    Error err;
    REQUIRE(!process_executor_open(&options, &executor, &err));
    executor->ops->close(executor);
}

static pid_t first_child(void)
{
    int pid = 0;
    FILE *list = fopen("/proc/thread-self/children", "r");
    if (list && fscanf(list, "%d", &pid) != 1) pid = 0;
    if (list) fclose(list);
    return pid;
}

TEST(process_attempts_of_a_lost_spawner_fail_and_may_be_tried_again, "")
{
    Stand stand;
    if (stand_open(&stand, &process, 4) && EXPECT(stand_execute(&stand, 1, (Work)SHELL("echo $$; sleep 60")))
        && EXPECT(stand_await(&stand, 0, 1))) {
        pid_t spawner = first_child();
        if (EXPECT(spawner > 0)) kill(spawner, SIGKILL);
        if (EXPECT(stand_await(&stand, 1, 0))) EXPECT_INT(stand_report(&stand, 1)->cause, CAUSE_TRANSIENT);
        EXPECT(is_gone_soon(stand.said[0].text));
        EXPECT(stand_execute(&stand, 2, (Work)SHELL("true")));
        if (EXPECT(stand_await(&stand, 2, 0))) EXPECT_INT(stand_report(&stand, 2)->cause, CAUSE_TRANSIENT);
    }
    stand_take_down(&stand);
}
