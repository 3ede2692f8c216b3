/* engine_test.h - what the tests of the compiler and the evaluator share: one policy, one query, one answer as text. */
#ifndef REGO_ENGINE_TEST_H
#define REGO_ENGINE_TEST_H

#include "rego/rego.h"

typedef struct EngineCase {
    const char *name;
    const char *module;         /* without its package line, which is `package t`; NULL: none */
    const char *query;
    const char *input, *data;   /* JSON, or NULL */
    const char *want;           /* the value of the query as JSON, "undefined", or the text of the error */
} EngineCase;

typedef struct EngineOptions {
    RegoCompileOptions compile;
    RegoBudget budget;
    bool strict;
    const RegoTracer *tracer;
} EngineOptions;

/* One policy and one query, for tests that look at more than an answer. */
typedef struct Engine {
    Arena arena;
    RegoErrors errors;
    RegoPolicy *policy;
    RegoQuery *query;
    RegoResult result;
    RegoEvalError error;
} Engine;

/* `module` is a whole text, or NULL; options may be NULL. False after a failed expectation; engine_close() either way. */
bool engine_open(Engine *engine, const char *module, const RegoCompileOptions *compile, const char *query,
                 const RegoQueryOptions *options);
void engine_close(Engine *engine);
/* `context` needs no arena. */
Status engine_eval(Engine *engine, RegoEvalContext context);

/* The answer of a case as text, in `arena`. */
Str engine_answer(Arena *arena, const EngineCase *c, const EngineOptions *options);
/* Runs the rows and compares. */
void engine_expect(const EngineCase *cases, size_t count, const EngineOptions *options);

#endif
