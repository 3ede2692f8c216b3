/* operand.h - what a builtin may ask of its operands, and the words in which it refuses them.
 *
 * Each question is one line at the head of a builtin: it answers with the operand taken apart, or writes
 * "operand N must be X but got Y" and the builtin returns BUILTIN_TYPE_ERROR. Operands are counted from 0 in calls and
 * from 1 in texts.
 *
 * Owns: nothing.     Fails: by returning false with the reason in `err`.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_OPERAND_H
#define REGO_BUILTINS_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "rego/builtins/builtin.h"
#include "value/value.h"

/* A set of kinds and how OPA names it. */
typedef struct OperandType {
    uint16_t kinds;             /* bits of KIND() */
    const char *name;           /* "string", "one of {array, set}" */
} OperandType;

#define KIND(kind) (1u << (kind))
#define KIND_NUMBER (KIND(VALUE_INT) | KIND(VALUE_DECIMAL))

extern const OperandType OPERAND_NULL, OPERAND_BOOLEAN, OPERAND_NUMBER, OPERAND_STRING, OPERAND_ARRAY, OPERAND_OBJECT,
    OPERAND_SET;
extern const OperandType OPERAND_ARRAY_OR_SET, OPERAND_SET_OR_ARRAY;    /* OPA words the same pair in two orders */

/* True where args[index] has one of the kinds. */
bool operand_is(const Value *args, uint32_t index, const OperandType *type, Error *err);
bool operand_string(const Value *args, uint32_t index, Str *out_text, Error *err);
/* An integer that an int64 holds, written without an exponent: 2 and 2.0 are, 2e0 is not. `name` is what OPA calls the
 * type here, "number" or "integer". */
bool operand_int(const Value *args, uint32_t index, const char *name, int64_t *out_integer, Error *err);
/* Any number that is an integer, 1.0 and 1e3 included. */
bool operand_is_integer(const Value *args, uint32_t index, const char *name, Error *err);
/* Every item of an array or set is a string: "must be array of strings but got array containing number". */
bool operand_of_strings(const Value *args, uint32_t index, Error *err);

/* The refusals themselves; each returns BUILTIN_TYPE_ERROR. */
BuiltinResult operand_refuse(Error *err, uint32_t index, const char *wanted, const char *got);
BuiltinResult operand_error(Error *err, uint32_t index, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
