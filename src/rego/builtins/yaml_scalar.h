/* yaml_scalar.h - what a plain word of YAML means: null, a boolean, a number, or just itself.
 *
 * These are the rules of the core schema with the liberties of Go's reader: 0x1f, 0b11, 0o17 and 017 are integers,
 * 1_000 is 1000, yes and no are words.
 *
 * Owns: nothing.     Fails: never.     Thread: pure, any.
 */
#ifndef REGO_BUILTINS_YAML_SCALAR_H
#define REGO_BUILTINS_YAML_SCALAR_H

#include "rego/builtins/exact.h"
#include "value/value.h"

typedef enum YamlKind {
    YAML_TEXT,
    YAML_NULL,
    YAML_BOOL,
    YAML_INTEGER,
    YAML_FLOAT,
    YAML_NO_NUMBER,             /* .inf and .nan: no JSON has them */
    YAML_TIME,                  /* looks like a date or time; kept as text */
} YamlKind;

typedef struct YamlScalar {
    YamlKind kind;
    bool truth;
    bool negative;
    uint64_t magnitude;         /* of an integer; a negative one is at most 2^63 */
    Float real;
} YamlScalar;

YamlScalar yaml_resolve(Str text);
/* True where older readers would take the word for something else than text: yes, On, 12:30. */
bool       yaml_is_ambiguous(Str text);
/* A double as JSON writes it. */
void       yaml_print_double(Buf *buf, Float number);

#endif
