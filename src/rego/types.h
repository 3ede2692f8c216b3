/* types.h - what is known of a value before an evaluation, so that calls and comparisons that can never hold are found.
 *
 * A type is a set of values: one kind, perhaps with what its items are, or a union of several. The notation, and what may
 * meet what, are those of OPA's type checker, since authors know its messages. NULL stands for a type that is not known
 * (yet): `[x]` where nothing was said of x is an array of one unknown item, written array<???>.
 *
 *   array<number, string>          exactly these items         array[any]              any number of them
 *   object<a: number>              exactly these members       object[string: any]     any number of them
 *   set[number]                    set: the empty one          any<number, string>     one of these;  any: anything
 *
 * Owns:   nothing; types live in the arena given, and are immutable.
 * Fails:  never.
 * Bounds: REGO_TYPE_WEIGHT_MAX; a heavier type is one whose items are anything, so that it refuses less.
 * Thread: pure, any.
 */
#ifndef REGO_TYPES_H
#define REGO_TYPES_H

#include "base/buf.h"
#include "value/value.h"

typedef enum TypeKind {         /* in the order in which a union is written */
    TYPE_NULL,
    TYPE_BOOLEAN,
    TYPE_NUMBER,
    TYPE_STRING,
    TYPE_ARRAY,                 /* items, then any number of `rest` */
    TYPE_OBJECT,                /* keys and items; where is_open, then any number of members from `key` to `rest` */
    TYPE_SET,                   /* rest */
    TYPE_ANY,                   /* one of items, sorted; without items: anything */
    TYPE_FUNCTION,              /* items: its arguments; rest: its answer */
} TypeKind;

typedef struct Type Type;
struct Type {
    TypeKind kind;
    uint32_t count;
    const Value *keys;          /* of an object, sorted */
    const Type **items;         /* some may be NULL */
    const Type *key, *rest;
    bool is_open;
    bool is_unknown;            /* something in it is not known */
    uint32_t weight;            /* types inside it, shared ones counted each time: bounds what looking through it costs */
};

/* What a function takes or gives, as its declaration names it; `name` may be empty. */
typedef struct TypeParam {
    Str name;
    const Type *type;
} TypeParam;

extern const Type rego_type_any, rego_type_null, rego_type_boolean, rego_type_number, rego_type_string;

/* --- make -------------------------------------------------------------------------------------------------------- */

const Type *type_of_value(Arena *arena, Value value);
const Type *type_array(Arena *arena, const Type **items, uint32_t count, const Type *rest);
const Type *type_set(Arena *arena, const Type *rest);
const Type *type_function(Arena *arena, const Type **args, uint32_t count, const Type *answer);
/* `keys` and `items` are taken, and sorted in place. `key` and `rest` of an open object. */
const Type *type_object(Arena *arena, Value *keys, const Type **items, uint32_t count);
const Type *type_object_open(Arena *arena, const Type *object, const Type *key, const Type *rest);
/* Values of one or the other; of functions: one that takes and gives what either does. NULL for a function and a value. */
const Type *type_or(Arena *arena, const Type *a, const Type *b);
/* The same for two rules of one document: objects and sets become one object or set. */
const Type *type_merge(Arena *arena, const Type *a, const Type *b);
/* A declaration of builtins.def: arguments, then the answer behind them; `out_params` has room for arg_count + 1. */
void type_of_signature(Arena *arena, const char *signature, TypeParam *out_params, uint32_t arg_count);

/* --- ask --------------------------------------------------------------------------------------------------------- */

static inline bool type_is_unknown(const Type *type) { return !type || type->is_unknown; }
static inline bool type_is_anything(const Type *type) { return type && type->kind == TYPE_ANY && !type->count; }
/* Nothing can be looked up in it: an empty object, array or set. */
bool type_is_empty(const Type *type);
int  type_compare(const Type *a, const Type *b);
bool type_unifies(const Type *a, const Type *b);        /* some value may belong to both; false where one is not known */
const Type *type_select(Arena *arena, const Type *type, Value key);     /* NULL where nothing lies there */
const Type *type_keys(Arena *arena, const Type *type);          /* of all that can be looked up; NULL: nothing can */
const Type *type_values(Arena *arena, const Type *type);
/* The keys that are known by name, sorted; of a union those of all its objects. */
Value type_known_keys(Arena *arena, const Type *type);

/* --- print ------------------------------------------------------------------------------------------------------- */

void type_print(Buf *buf, const Type *type);            /* "array<number, string>", "???" */
/* "\n\thave: (number)\n\twant: (x: string)"; lines that are too wide keep only what makes the difference. */
void type_print_call(Buf *buf, const TypeParam *have, uint32_t have_count, const TypeParam *want, uint32_t want_count);
/* "\n\tleft  : number\n\tright : string", with a hint where the kinds are the same. */
void type_print_match(Buf *buf, const Type *left, const Type *right);

#endif
