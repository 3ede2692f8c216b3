/* schema.h - JSON Schema 2020-12: is this value what was agreed upon, and if not, what is wrong and where.
 *
 * A document is compiled once and then checks any number of instances. Task inputs and outputs, parameters, payloads
 * and request bodies all use it, so a violation carries what each of them shows: where in the instance, which keyword
 * of the schema, a sentence for people, and the values for programs that have words of their own.
 *
 * The core, applicator, unevaluated and validation vocabularies are complete: $id, $anchor and $dynamicAnchor make
 * places, $ref and $dynamicRef lead to them. `format`, content*, the meta-data keywords and unknown ones are
 * annotations and refuse nothing. Nothing is ever loaded: a reference leads to a place of its own document (embedded
 * $id included) or to the metaschema of 2020-12, which is built in; any other is refused by name, and so is any
 * other $schema.
 *   - Numbers are exact: 1.0 is an integer and equals 1; multipleOf divides decimals. Lengths count code points.
 *   - Patterns are those of value/pattern.h.
 *   - A schema that applies itself to the same place for ever ({"$ref": "#"}) is refused when compiled, where that can
 *     be seen, else stopped by SCHEMA_DEPTH_MAX.
 *
 * Owns:   a Schema lives in the arena given to schema_compile() and borrows the document, which must live as long. A
 *         SchemaReport lives in the arena given to schema_check(), which also serves as working memory.
 * Fails:  schema_compile() with ERR_INVALID for a document that is no schema; the text begins with the JSON pointer of
 *         the place. Both with ERR_LIMIT where a bound is spent, named in the text; that an instance violates its
 *         schema is no failure of schema_check() but its answer. ERR_INVALID too for an instance that holds what JSON
 *         has not: sets, and keys that are no strings.
 * Bounds: SCHEMA_* and PATTERN_*; the time of a check is bounded by SCHEMA_STEP_COUNT_MAX whatever schema and instance
 *         are, its stack by SCHEMA_DEPTH_MAX (below a megabyte), its memory by SCHEMA_MARK_COUNT_MAX, by
 *         PATTERN_MEMORY_SIZE_MAX and by the size of the largest array under uniqueItems.
 * Thread: pure. A Schema is immutable: any number of threads may check with it at once, each with an arena of its own.
 */
#ifndef VALUE_SCHEMA_H
#define VALUE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "value/value.h"

typedef struct Schema Schema;

/* --- make -------------------------------------------------------------------------------------------------------- */

/* `place` may be NULL; where compiling fails it is the JSON pointer of what is wrong in the document. */
MUST_USE Status schema_compile(Arena *arena, Value document, const Schema **out_schema, Str *place, Error *err);

/* --- use --------------------------------------------------------------------------------------------------------- */

typedef struct Violation {
    Str instance;           /* JSON pointer into the instance: "/items/3/name", "" for the whole */
    Str schema;             /* JSON pointer into the document, to the keyword: "/$defs/item/required"; in the built-in
                             * metaschema it begins with that document's URI and '#' */
    Str keyword;            /* "required"; where `false` stands for a schema, the keyword it stands under, if any */
    Str message;            /* "must be at least 3, is 2": what is expected of the place, then what is found */
    Str property;           /* the member that is missing or not allowed, else empty */
    Value wanted;           /* the keyword's value in the schema */
    Value found;            /* what the instance has at that place */
    uint32_t level;         /* 0, or 1 and more for a detail that explains the nearest one above it of a lower level:
                             * why the parts of an anyOf did not match */
} Violation;

typedef struct SchemaReport {
    const Violation *items;
    uint32_t count;         /* 0 where the instance is valid */
    bool is_cut;            /* there may be more than the SCHEMA_ERROR_COUNT_MAX reported */
} SchemaReport;

/* Checks all of the instance and reports all that is wrong. OK says that the check took place, the report's count what
 * it found. */
MUST_USE Status schema_check(const Schema *schema, Value instance, Arena *arena, SchemaReport *out_report, Error *err);

/* For callers that only go on with valid instances: stops at the first violation, which is ERR_INVALID with its place
 * and message in the text. `scratch` is working memory. */
MUST_USE Status schema_require(const Schema *schema, Value instance, Arena *scratch, Error *err);

#endif
