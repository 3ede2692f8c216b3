/* types.h - what is known of a value before an evaluation, so that calls and comparisons that can never hold are found.
 *
 * A type is a set of values: one kind, perhaps with what its items are, or a choice of several. Whatever is not known is
 * TYPE_ANY; the checks only ever ask whether two types can have a value in common, so not knowing never refuses anything.
 *
 * Owns:   nothing; types live in the arena given.
 * Fails:  never.     Bounds: TYPE_WEIGHT_MAX; a heavier type is one whose items are anything.     Thread: pure, any.
 */
#ifndef REGO_TYPES_H
#define REGO_TYPES_H

#include "base/buf.h"
#include "value/value.h"

typedef enum TypeKind {
    TYPE_ANY,
    TYPE_NULL,
    TYPE_BOOLEAN,
    TYPE_NUMBER,
    TYPE_STRING,
    TYPE_ARRAY,             /* items, then any number of `rest` */
    TYPE_OBJECT,            /* keys and items, then any number of `rest` */
    TYPE_SET,               /* rest */
    TYPE_CHOICE,            /* one of items */
} TypeKind;

typedef struct Type Type;
struct Type {
    TypeKind kind;
    uint32_t count;
    const Value *keys;      /* of an object, sorted */
    const Type **items;
    const Type *rest;       /* NULL: nothing beyond the items */
    uint32_t weight;        /* types inside it, shared ones counted each time: bounds what looking through it costs */
};

extern const Type type_anything, type_boolean;

const Type *type_of_value(Arena *arena, Value value);
const Type *type_choice(Arena *arena, const Type *a, const Type *b);
const Type *type_array(Arena *arena, const Type **items, uint32_t count);
const Type *type_set(Arena *arena, const Type *rest);
/* A declaration of builtins.def: the types of the arguments and of the answer. */
void type_of_signature(Arena *arena, const char *signature, const Type **out_args, uint32_t arg_count, const Type **out_result);

bool type_overlaps(const Type *a, const Type *b);       /* some value belongs to both */
/* What lies under a key: NULL where nothing ever can. `key` NULL: a key that is not known. */
const Type *type_step(Arena *arena, const Type *type, const Value *key);
void type_print(Buf *buf, const Type *type);            /* "array<number, string>" */

#endif
