/* rows_test.h - builtins tested by data: a file of calls, one a line, with the answer each must give.
 *
 *   {"f":"plus","a":[1,2],"r":3}
 *   {"f":"plus","a":[1,"x"],"c":"eval_type_error","e":"plus: operand 2 must be number but got string"}
 *   {"f":"max","a":[[]],"c":"undefined"}
 *
 * JSON is stretched by tags where it cannot hold a value: {"$set":[...]}, {"$obj":[[key,value],...]} for keys that
 * are no strings, and {"$hex":"ff00"} for a string that is no UTF-8. Numbers are compared as they are written. "e"
 * may be absent: then the text of the error is free.
 *
 * Thread: one at a time.
 */
#ifndef REGO_BUILTINS_ROWS_TEST_H
#define REGO_BUILTINS_ROWS_TEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "rego/builtins/builtin.h"
#include "rego/builtins/cache.h"

/* Runs every row of test/cases/rego-builtins/NAME.jsonl; each that fails is a failed expectation. */
void rows_run(const char *name);

/* A context with a large budget, the clock at 0 and a few zones. */
void rows_context(BuiltinContext *context, Arena *arena, uint64_t *steps);

/* What calls of a test share; `result` and `err` are those of the last one. */
typedef struct Call {
    Arena arena;
    BuiltinCache cache;
    BuiltinContext context;
    uint64_t steps;
    Value result;
    Error err;
} Call;

void          call_begin(Call *call);
void          call_end(Call *call);
BuiltinResult call_run(Call *call, const char *name, const char *arguments);    /* one array, JSON with tags */
BuiltinResult call_values(Call *call, const char *name, const Value *args);

bool  tagged_read(Arena *arena, Str json, Value *out_value, Error *err);
void  tagged_print(Buf *buf, Value value);
const char *result_code(BuiltinResult result);

#endif
