/* shape.h - what a definition may look like, as tables.
 *
 * Every key an author may write is one row: its name, its type, its default, a sentence about it. The same rows check a
 * definition, turn it into its normal form for the plan, give the "did you mean", and become spec/definition.schema.json.
 * Adding a key is adding a row (and, where the engine acts on it, the code that does).
 *
 * Normal form: a value in which shorthands are spelled out, durations are milliseconds (the key ends in _ms), money is in
 * millionths (_micro), enum values have their one spelling, and defaults are present.
 *
 * Owns:   tables are constant process data; normal forms live in the arena given.
 * Fails:  shape_check() reports every mistake as a diagnostic and goes on. Depth is that of the nodes.
 * Thread: pure, any.
 */
#ifndef LANG_SHAPE_H
#define LANG_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "lang/diagnostic.h"
#include "lang/node.h"
#include "value/value.h"

typedef struct Type Type;
typedef struct Shape Shape;

typedef enum TypeKind {
    TYPE_TEXT,
    TYPE_NAME,              /* letters, digits, - and _ ; with `dotted` also . / @ */
    TYPE_BOOL,
    TYPE_INT,
    TYPE_NUMBER,
    TYPE_MONEY,             /* -> integer millionths */
    TYPE_DURATION,          /* 500ms 30s 5m 48h 7d, joined as 1h30m -> integer milliseconds */
    TYPE_RATE,              /* 50/s 60/m 1000/h -> {"count", "per_ms"} */
    TYPE_ENUM,
    TYPE_CONDITION,         /* a Rego expression */
    TYPE_TEMPLATE,          /* a text with ${paths} */
    TYPE_CRON,
    TYPE_ANY,               /* any value; texts in it may hold ${paths} */
    TYPE_SCHEMA,            /* a JSON Schema, or the name of a registered one */
    TYPE_LIST,
    TYPE_MAP,               /* names to values of one type */
    TYPE_OBJECT,
    TYPE_EITHER,            /* told apart by the kind of node */
} TypeKind;

/* A value of an enum: `name` is the spelling of plans, tables and answers; `also` is accepted as well. */
typedef struct EnumName {
    const char *name, *also;
} EnumName;

struct Type {
    TypeKind kind;
    const char *what;               /* for messages: "a priority"; NULL where the kind says enough */
    const EnumName *names;          /* TYPE_ENUM, ended by a NULL name */
    const Type *item;               /* TYPE_LIST, TYPE_MAP */
    const Shape *shape;             /* TYPE_OBJECT */
    const Type *const *either;      /* TYPE_EITHER, ended by NULL */
    int64_t min, max;               /* TYPE_INT: the range; TYPE_TEXT: bytes; TYPE_LIST, TYPE_MAP: at least min items;
                                     * TYPE_DURATION, TYPE_NUMBER: 1 for more than nothing */
    bool dotted;                    /* TYPE_NAME */
    bool lone;                      /* TYPE_LIST: an item by itself stands for a list of one */
    bool seconds;                   /* TYPE_DURATION: a bare number is seconds */
    bool milliseconds;              /* TYPE_DURATION: a bare number is milliseconds */
    bool only_true;                 /* TYPE_BOOL: false has no meaning here */
};

enum { FIELD_REQUIRED = 1 };

typedef struct Field {
    const char *name;
    const Type *type;
    const char *doc;                /* one sentence, for editors and help */
    uint8_t flags;
    const char *otherwise;          /* the default, as JSON in the normal form; NULL: absent */
    const char *as;                 /* the name it has in the normal form, where that is another (an alias) */
} Field;

#define SHAPE_FIELD_COUNT_MAX 64u

struct Shape {
    const char *name;               /* "task": what messages call it */
    const char *doc;
    const Field *fields;            /* ended by a NULL name; at most SHAPE_FIELD_COUNT_MAX */
    const char *const *exactly_one; /* of these keys exactly one must be there; ended by NULL; may be NULL */
    const char *lone;               /* a scalar or list in place of the mapping stands for this key's value; may be NULL */
};

/* Reports everything about the node that does not fit the type. */
void shape_check(Diagnostics *diagnostics, const Node *node, const Type *type);

/* The normal form of a node that shape_check() found nothing wrong with. */
Value shape_value(Arena *arena, const Node *node, const Type *type);
/* The normal form of one key's value as a member list entry: with the name and unit it has in the plan. */
void shape_add(Arena *arena, MemberList *members, const Shape *shape, const Node *map, const char *name);
/* All keys of a mapping with their defaults, but for those named in `without` (ended by NULL; may be NULL). */
void shape_add_all(Arena *arena, MemberList *members, const Shape *shape, const Node *map, const char *const *without);

/* Scalars by themselves, for whoever meets them elsewhere. */
bool duration_read(Str text, int64_t *out_ms);
bool rate_read(Str text, int64_t *out_count, int64_t *out_per_ms);
/* Units of 1e-6, exactly; false for more than six decimals, a negative amount, or more than fits. */
bool money_read(Value number, int64_t *out_micro);
bool name_is_valid(Str text, bool dotted);
const EnumName *enum_find(const Type *type, Str text);

#endif
