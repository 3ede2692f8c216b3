#include "os/process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds between the signal that says "enough processor time" and the one that ends it. */
#define CPU_GRACE_S 5u

/* What the child writes for its parent before it gives up: they share memory until then. */
typedef struct Failure {
    volatile int error;
    const char *volatile doing;
} Failure;

typedef struct Birth {
    const ProcessSpec *spec;
    Failure failure;
} Birth;

#define CHILD_STACK_SIZE (64u * 1024)

/* Between its birth and the program a child works in our memory. What checks threads would count its calls as ours. */
#define IN_CHILD __attribute__((no_sanitize("thread")))

static int child_run(void *birth_pointer);
static Status failure_status(const ProcessSpec *spec, int error, const char *doing, Error *err);

/* clone() and not vfork(): the child has a stack of its own, so that nothing of this frame changes under the parent. */
Status process_start(const ProcessSpec *spec, pid_t *out_pid, Error *err)
{
    static _Alignas(16) char stack[CHILD_STACK_SIZE];
    Birth birth = { spec, { 0, "" } };
    pid_t pid = clone(child_run, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &birth);
    if (pid < 0) return failure_status(spec, errno, "a process", err);
    if (birth.failure.error == 0) {
        *out_pid = pid;
        return OK;
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    return failure_status(spec, birth.failure.error, birth.failure.doing, err);
}

IN_CHILD static bool limit(int which, uint64_t soft, uint64_t hard)
{
    struct rlimit now;
    if (getrlimit(which, &now) != 0) return false;
    struct rlimit wanted = { soft < now.rlim_max ? soft : now.rlim_max, hard < now.rlim_max ? hard : now.rlim_max };
    return setrlimit(which, &wanted) == 0;
}

IN_CHILD static bool give_up(Failure *failure, const char *doing)
{
    failure->error = errno ? errno : EINVAL;
    failure->doing = doing;
    return false;
}

/* Everything before the program. Only calls that are safe where memory is shared. */
IN_CHILD static bool child_prepare(const ProcessSpec *spec, Failure *failure)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (spec->memory_size_max && !limit(RLIMIT_AS, spec->memory_size_max, spec->memory_size_max))
        return give_up(failure, "its memory limit");
    if (spec->cpu_s_max && !limit(RLIMIT_CPU, spec->cpu_s_max, spec->cpu_s_max + CPU_GRACE_S))
        return give_up(failure, "its limit of processor time");
    if (spec->directory && chdir(spec->directory) != 0) return give_up(failure, "its directory");
    for (int i = 0; i < spec->fd_count; i++)
        if (dup2(spec->fds[i], i) < 0) return give_up(failure, "its descriptors");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return true;
}

/* Joins a directory and a name; false where they are too long together. */
IN_CHILD static bool path_join(char *out, const char *directory, size_t directory_size, const char *name)
{
    size_t name_size = strlen(name);
    if (directory_size + name_size + 2 > PROCESS_PATH_SIZE_MAX) return false;
    memcpy(out, directory, directory_size);
    if (directory_size) out[directory_size++] = '/';        /* an empty directory is the present one */
    memcpy(out + directory_size, name, name_size + 1);
    return true;
}

IN_CHILD static int child_run(void *birth_pointer)
{
    Birth *birth = birth_pointer;
    const ProcessSpec *spec = birth->spec;
    const char *name = spec->args[0];
    if (!child_prepare(spec, &birth->failure)) return 127;
    if (strchr(name, '/')) {
        execve(name, spec->args, spec->variables);
        give_up(&birth->failure, "the program");
        return 127;
    }
    int error = ENOENT;
    for (const char *at = spec->search_path; at && *name; ) {
        const char *colon = strchrnul(at, ':');
        char path[PROCESS_PATH_SIZE_MAX];
        if (path_join(path, at, (size_t)(colon - at), name)) {
            execve(path, spec->args, spec->variables);
            /* One that may not be started is worth more in a message than that others are not there. */
            if (errno != ENOENT && errno != ENOTDIR) error = errno;
            if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
        }
        at = *colon ? colon + 1 : NULL;
    }
    errno = error;
    give_up(&birth->failure, "the program");
    return 127;
}

static Status failure_status(const ProcessSpec *spec, int error, const char *doing, Error *err)
{
    static const struct { int error; Status status; const char *text; } reasons[] = {
        { ENOENT, ERR_NOT_FOUND, "does not exist" },     { ENOTDIR, ERR_NOT_FOUND, "does not exist" },
        { ELOOP, ERR_INVALID, "is a circle of links" },  { EACCES, ERR_DENIED, "may not be used" },
        { EPERM, ERR_DENIED, "may not be used" },        { ENOEXEC, ERR_INVALID, "is no program" },
        { ENAMETOOLONG, ERR_INVALID, "is too long" },    { E2BIG, ERR_LIMIT, "gets too many or too large arguments" },
        { EISDIR, ERR_DENIED, "is a directory" },        { EINVAL, ERR_INVALID, "is not valid" },
    };
    bool is_directory = strcmp(doing, "its directory") == 0;
    const char *what = is_directory && spec->directory ? spec->directory : spec->args[0];
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].error == error)
            return error_set(err, reasons[i].status, "%s %s: %s", doing, what, reasons[i].text);
    return error_set(err, ERR_UNAVAILABLE, "%s %s: %s", doing, what, strerror(error));
}
