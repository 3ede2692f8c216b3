/* native.h - the executor that calls C functions of this program.
 *
 * Functions are registered by name and carry out the runners of that name, on a small pool of threads; those declared
 * quick are called by the engine's thread inside execute(), for work that is shorter than handing it over. A function
 * speaks while it works through its NativeCall: logs, effects, costs, signals, heartbeats, whether it should stop.
 *
 * A function that returns other than OK has failed: by its report where that has a cause, else by its status (invalid: the
 * input is wrong; denied: a policy; unavailable: transient; else an error).
 *
 * A function that crashes takes the process with it. One that is to be ended is told so and not interrupted: C cannot stop
 * a thread safely. Closing waits close_ms for functions under way and then leaves their threads behind, with all that the
 * executor owns: they may go on until the process ends, and what they say is not heard any more.
 *
 * Owns:   its threads and copies of attempts. Names and contexts of functions must outlive it.
 * Fails:  native_executor_open() with ERR_LIMIT or ERR_INVALID. execute() answers false where too many wait; NOTICE_ROOM
 *         follows. A runner that is not registered is taken, and reported as failed.
 * Bounds: NATIVE_THREAD_COUNT_MAX, NATIVE_WAITING_COUNT_MAX.     Thread: as the port says.
 */
#ifndef EXEC_NATIVE_NATIVE_H
#define EXEC_NATIVE_NATIVE_H

#include "base/arena.h"
#include "engine/executor.h"

typedef struct NativeCall NativeCall;

/* `arena` lives until the report is delivered; `out_report` comes as a success with null as output. */
typedef Status (*NativeRun)(void *context, NativeCall *call, const Attempt *attempt, Arena *arena, Report *out_report);

typedef struct NativeFunction {
    Str runner;                     /* by which name it is run */
    NativeRun run;
    void *context;
    bool is_quick;                  /* on the engine's thread */
} NativeFunction;

typedef struct NativeOptions {
    Str name;
    const NativeFunction *functions;
    uint32_t function_count;
    uint32_t thread_count;          /* 0: none, everything counts as quick */
    uint32_t capacity;              /* attempts taken at a time; 0: NATIVE_WAITING_COUNT_MAX */
    NoticeSink sink;
    int64_t close_ms;               /* 0: NATIVE_CLOSE_MS_DEFAULT */
} NativeOptions;

MUST_USE Status native_executor_open(const NativeOptions *options, Executor **out_executor, Error *err);

/* --- for functions while they run ---------------------------------------------------------------------------------- */

bool native_call_is_ended(const NativeCall *call);              /* somebody wants it to stop: return soon */
void native_call_log(NativeCall *call, Str line, bool is_error);
/* Any message but a report; its id is filled in. Waits while the engine cannot take it; false where it was ended. */
bool native_call_notice(NativeCall *call, const Notice *notice);
/* A NOTICE_EFFECT: announces an effect, or says that it is done or will not be, and waits until that is durable. False: it is
 * not, do not act. A quick function has no way to wait: always false. */
bool native_call_effect(NativeCall *call, const Notice *effect);

#endif
