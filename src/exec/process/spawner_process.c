/* The other side: the process that starts programs and outlives the engine for as long as it takes to end them. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "exec/process/spawner.h"
#include "exec/process/spawner_wire.h"
#include "os/clock.h"
#include "os/process.h"

#define KILL_ROUND_MS 10                /* between two rounds of killing what is left */

typedef struct SpawnerProcess {
    int fd, signal_fd;
    pid_t pids[PROCESS_COUNT_MAX];      /* by slot; 0: none */
    char message[sizeof(WireRequest) + PROCESS_REQUEST_SIZE_MAX + 1];
    char *texts[2 * PROCESS_ARG_COUNT_MAX + 2];
} SpawnerProcess;

static void signals_prepare(SpawnerProcess *process);
static bool request_take(SpawnerProcess *process, bool *out_is_gone);
static void children_reap(SpawnerProcess *process);
static void children_end(SpawnerProcess *process);

void spawner_live(int fd, const char *scratch)
{
    static SpawnerProcess process;      /* large, zero, and of one process: not for the stack */
    process.fd = fd;
    prctl(PR_SET_NAME, "maestro-spawner");
    prctl(PR_SET_CHILD_SUBREAPER, 1);   /* what programs leave behind comes here, so that it can be ended */
    signals_prepare(&process);

    struct pollfd waits[2] = { { .fd = fd, .events = POLLIN }, { .fd = process.signal_fd, .events = POLLIN } };
    bool is_gone = false;
    while (!is_gone) {
        while (poll(waits, 2, -1) < 0 && errno == EINTR) continue;
        if (waits[1].revents) children_reap(&process);
        if (waits[0].revents) request_take(&process, &is_gone);
    }
    children_end(&process);
    if (scratch) spawner_scratch_remove(scratch);
}

static void signals_prepare(SpawnerProcess *process)
{
    for (int signal_number = 1; signal_number < NSIG; signal_number++) signal(signal_number, SIG_DFL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    process->signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    CHECK(process->signal_fd >= 0);
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static void answer_send(SpawnerProcess *process, const SpawnAnswer *answer)
{
    /* The text is sent only where there is one. An engine that is gone is noticed by the next read. */
    size_t size = answer->has_started ? offsetof(SpawnAnswer, text) : sizeof *answer;
    while (send(process->fd, answer, size, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

/* Cuts the texts of a request apart; false where they are not as many as it says, which would be our own mistake. */
static bool texts_cut(SpawnerProcess *process, const WireRequest *request, char *text, char *end)
{
    uint32_t arg_count = request->arg_count, variable_count = request->variable_count;
    if (arg_count == 0 || arg_count > PROCESS_ARG_COUNT_MAX || variable_count > PROCESS_ARG_COUNT_MAX) return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < arg_count + variable_count; i++) {
        if (text >= end) return false;
        if (i == arg_count) process->texts[at++] = NULL;
        process->texts[at++] = text;
        text += strlen(text) + 1;
    }
    if (variable_count == 0) process->texts[at++] = NULL;
    process->texts[at] = NULL;
    return !request->has_directory || text < end;
}

static const char *search_path(char *const *variables)
{
    for (; *variables; variables++)
        if (strncmp(*variables, "PATH=", 5) == 0) return *variables + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

static void program_start(SpawnerProcess *process, const WireRequest *request, size_t size, const int *fds)
{
    char *text = process->message + sizeof *request, *end = process->message + size;
    *end = '\0';
    CHECK(request->slot < PROCESS_COUNT_MAX);
    CHECK(process->pids[request->slot] == 0);
    CHECK(texts_cut(process, request, text, end));
    char **variables = process->texts + request->arg_count + 1;
    ProcessSpec spec = { .args = process->texts, .variables = variables, .search_path = search_path(variables),
                         .fds = fds, .fd_count = SPAWNER_FD_COUNT, .memory_size_max = request->memory_size_max,
                         .cpu_s_max = request->cpu_s_max };
    if (request->has_directory) {
        uint32_t last = request->arg_count + request->variable_count;
        char *before = request->variable_count ? process->texts[last] : process->texts[request->arg_count - 1];
        CHECK(before);                      /* a program has a name, so there is a text before this one */
        spec.directory = before + strlen(before) + 1;
    }
    Error err;
    Status status = process_start(&spec, &process->pids[request->slot], &err);
    if (!status) return;
    SpawnAnswer answer = { .slot = request->slot, .why = (int32_t)status };
    snprintf(answer.text, sizeof answer.text, "%.*s", (int)sizeof answer.text - 1, err.text);
    answer_send(process, &answer);
}

static bool request_take(SpawnerProcess *process, bool *out_is_gone)
{
    WireRequest request;
    struct iovec part = { process->message, sizeof process->message - 1 };
    union { char bytes[CMSG_SPACE(SPAWNER_FD_COUNT * sizeof(int))]; struct cmsghdr align; } control;
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    ssize_t got = recvmsg(process->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < (ssize_t)sizeof request) {
        *out_is_gone = got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
        return false;
    }
    memcpy(&request, process->message, sizeof request);

    int fds[SPAWNER_FD_COUNT];
    int fd_count = 0;
    struct cmsghdr *beside = CMSG_FIRSTHDR(&message);
    if (beside && beside->cmsg_type == SCM_RIGHTS) {
        fd_count = (int)((beside->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds, CMSG_DATA(beside), (size_t)fd_count * sizeof(int));
    }
    if (request.kind == WIRE_SIGNAL) {
        CHECK(request.slot < PROCESS_COUNT_MAX);
        pid_t pid = process->pids[request.slot];            /* not reaped while it is here: the number is its own */
        if (pid > 0) kill(-pid, request.signal);
    } else if (fd_count == SPAWNER_FD_COUNT) {
        program_start(process, &request, (size_t)got, fds);
    } else {                                                /* this process has no room for descriptors */
        SpawnAnswer answer = { .slot = request.slot, .why = ERR_UNAVAILABLE, .text = "no descriptors for another process" };
        answer_send(process, &answer);
    }
    for (int i = 0; i < fd_count; i++) close(fds[i]);
    return true;
}

/* --- ends -------------------------------------------------------------------------------------------------------- */

static uint32_t slot_of(const SpawnerProcess *process, pid_t pid)
{
    uint32_t slot = 0;
    while (slot < PROCESS_COUNT_MAX && process->pids[slot] != pid) slot++;
    return slot;
}

/* The rest of its group is killed while its own end is not yet taken: until then no other group can have the number. */
static void child_reap(SpawnerProcess *process, pid_t pid)
{
    uint32_t slot = slot_of(process, pid);
    if (slot < PROCESS_COUNT_MAX) kill(-pid, SIGKILL);
    int wait_status = 0;
    if (waitpid(pid, &wait_status, 0) != pid || slot == PROCESS_COUNT_MAX) return;
    process->pids[slot] = 0;
    SpawnAnswer answer = { .slot = slot, .has_started = true, .wait_status = wait_status };
    answer_send(process, &answer);
}

static void children_reap(SpawnerProcess *process)
{
    struct signalfd_siginfo info;
    ssize_t got = read(process->signal_fd, &info, sizeof info);
    (void)got;
    for (;;) {
        siginfo_t child = { 0 };
        if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0 || child.si_pid == 0) return;
        child_reap(process, child.si_pid);
    }
}

static bool has_children(void)
{
    siginfo_t child = { 0 };
    return waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void groups_signal(const SpawnerProcess *process, int signal_number)
{
    for (uint32_t slot = 0; slot < PROCESS_COUNT_MAX; slot++)
        if (process->pids[slot] > 0) kill(-process->pids[slot], signal_number);
}

/* Every child of this process, those included that left their group and were left behind by their parents. */
static void children_kill(void)
{
    FILE *list = fopen("/proc/thread-self/children", "re");
    if (!list) return;
    for (int pid; fscanf(list, "%d", &pid) == 1;)
        if (pid > 0) kill(pid, SIGKILL);
    fclose(list);
}

/* The engine is gone: everybody is asked to end, given a short time, then ended, until nobody is left. */
static void children_end(SpawnerProcess *process)
{
    struct pollfd wait = { .fd = process->signal_fd, .events = POLLIN };
    groups_signal(process, SIGTERM);
    uint64_t end_ns = clock_monotonic_ns() + UINT64_C(1000000) * PROCESS_SPAWNER_GRACE_MS;
    for (children_reap(process); has_children(); children_reap(process)) {
        bool is_over = clock_monotonic_ns() >= end_ns;
        if (is_over) {
            groups_signal(process, SIGKILL);
            children_kill();
        }
        poll(&wait, 1, KILL_ROUND_MS);
    }
}
