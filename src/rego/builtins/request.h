/* request.h - an HTTP request as http.send and providers.aws.sign_req take it: which members it may and must have.
 *
 * Owns: nothing.     Fails: by returning false with the reason in `err`.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_REQUEST_H
#define REGO_BUILTINS_REQUEST_H

#include "rego/builtins/builtin.h"

/* args[index] is an object with the right members; else BUILTIN_TYPE_ERROR is to be returned. */
bool request_check(const Value *args, uint32_t index, Error *err);

/* Writes `prefix` and the names as a set: operand N PREFIX: {"a", "b"}. */
BuiltinResult request_refuse(Error *err, uint32_t index, const char *prefix, const Value *names, size_t count);

#endif
