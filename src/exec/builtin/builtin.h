/* builtin.h - the executor of the runners that are always there and need nothing: log, noop, sleep.
 *
 *   log     input.message (or input, a text) becomes a line of the run's log; output null
 *   noop    succeeds; the output is input.output, else null
 *   sleep   succeeds when input.duration (or input) is over: "30s", or a number of seconds; output null
 *
 * (`shell` is carried out by the process executor, `http` by the http one.) There is no thread: log and noop answer inside
 * execute(), sleepers lie in a heap and are woken by turn(), for which wake_fd() becomes readable in time.
 *
 * Owns:   a timer's descriptor and 40 bytes a sleeper.
 * Fails:  builtin_executor_open() with ERR_LIMIT. execute() answers false beyond SLEEP_COUNT_MAX or where the sink is full;
 *         turn() says when there is room. Inputs that are wrong are reported as such.
 * Thread: the engine's alone. Time is what Attempt.now_ms and turn() say, so that a simulated clock works.
 */
#ifndef EXEC_BUILTIN_BUILTIN_H
#define EXEC_BUILTIN_BUILTIN_H

#include "engine/executor.h"

typedef struct BuiltinOptions {
    Str name;
    NoticeSink sink;
    uint32_t capacity;              /* sleepers at a time; 0: SLEEP_COUNT_MAX */
} BuiltinOptions;

MUST_USE Status builtin_executor_open(const BuiltinOptions *options, Executor **out_executor, Error *err);
bool builtin_executor_offers(Str runner);       /* log, noop, sleep */

#endif
