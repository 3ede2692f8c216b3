/* value.h - the one JSON-like value, from the wire to policy to ledger.
 *
 * A Value is 16 bytes, passed by copy, and immutable once made: it may be shared by threads. Containers are contiguous;
 * members of objects and items of sets are sorted by the total order and unique, so equal values have equal layout.
 * Integers that fit are int64; every other number keeps the exact decimal text it was written with. No value holds a
 * double. Sets and keys that are no strings exist for the policy language and are refused by the JSON printer.
 *
 *   null < booleans (false < true) < numbers < strings (by bytes) < arrays (item by item, then by count)
 *        < objects (member by member, key before value, then by count) < sets (like arrays)
 *
 * Owns:   nothing. A value points only into the arena it was made in or into immutable process data; crossing a life
 *         is value_copy().
 * Fails:  never; sizes were bounded by whoever made the value (JSON_DEPTH_MAX bounds every recursion here).
 * Thread: pure, any.
 */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef enum ValueKind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,          /* a number: an integer that fits int64 and was written plainly */
    VALUE_DECIMAL,      /* any other number, by its JSON text */
    VALUE_STRING,
    VALUE_ARRAY,
    VALUE_OBJECT,
    VALUE_SET,
} ValueKind;

typedef struct Value Value;
typedef struct Member Member;

struct Value {
    uint8_t kind;                       /* a ValueKind */
    uint32_t count;                     /* bytes of a string or decimal, items, members; 0 or 1 for a boolean */
    union {
        int64_t integer;
        const char *text;
        const Value *items;
        const Member *members;
    };
};

struct Member {
    Value key, value;
};

/* --- make -------------------------------------------------------------------------------------------------------- */

static inline Value value_null(void) { return (Value){ .kind = VALUE_NULL }; }
static inline Value value_bool(bool truth) { return (Value){ .kind = VALUE_BOOL, .count = truth }; }
static inline Value value_int(int64_t integer) { return (Value){ .kind = VALUE_INT, .integer = integer }; }
/* Borrows the bytes, which must be valid UTF-8. */
static inline Value value_string(Str text)
{
    return (Value){ .kind = VALUE_STRING, .count = (uint32_t)text.len, .text = text.ptr };
}
/* Borrows the items. */
static inline Value value_array(const Value *items, uint32_t count)
{
    return (Value){ .kind = VALUE_ARRAY, .count = count, .items = items };
}
/* Takes the members: sorts them in place and, of equal keys, keeps the last value. `scratch` is for sorting only. */
Value value_object(Arena *scratch, Member *members, uint32_t count);
/* Takes the items: sorts them in place and drops repetitions; of 1 and 1.0 the one that was written first stays. */
Value value_set(Arena *scratch, Value *items, uint32_t count);
Value value_copy(Arena *arena, Value value);
/* What a copy takes at most. An allocation may be put to an even place and a text has a NUL behind it: never more than the extra. */
#define VALUE_COPY_EXTRA 32u
size_t value_copy_size(Value value);

/* A list that grows while a container is being made; its arrays live in the arena it was given. */
typedef struct ValueList {
    Arena *arena;
    Value *items;
    size_t count, capacity;
} ValueList;

typedef struct MemberList {
    Arena *arena;
    Member *members;
    size_t count, capacity;
} MemberList;

void  value_list_add(ValueList *list, Value item);
Value value_list_array(const ValueList *list);
void  member_list_add(MemberList *list, Str key, Value value);
Value member_list_object(const MemberList *list);

/* --- read -------------------------------------------------------------------------------------------------------- */

static inline bool value_is_number(Value value) { return value.kind == VALUE_INT || value.kind == VALUE_DECIMAL; }
static inline bool value_is_true(Value value) { return value.kind == VALUE_BOOL && value.count; }
static inline Str  value_text(Value value) { return (Str){ value.text, value.count }; }
const char *value_kind_name(Value value);       /* "null", "boolean", "number", "string", "array", "object", "set" */

/* The member of that name, or NULL where there is none or the value is no object. */
const Value *value_get(Value object, Str key);
const Value *value_get_text(Value object, const char *key);
/* The same by any key. */
const Value *value_lookup(Value object, Value key);
bool value_set_has(Value set, Value item);

/* Conveniences over value_get: the member if it has that type, else the default. 1.0 and 1e0 are integers as 1 is. */
Str     value_get_string(Value object, const char *key, Str otherwise);
int64_t value_get_int(Value object, const char *key, int64_t otherwise);
bool    value_get_bool(Value object, const char *key, bool otherwise);

/* --- compare ----------------------------------------------------------------------------------------------------- */

int  value_compare(Value a, Value b);           /* the total order: below, at or above 0 */
bool value_equals(Value a, Value b);

#endif
