/* limits.h - every bound of the system, in one place.
 *
 * Crossing a limit is a refusal that names it, by the name it has here, and states its value; it is never a crash and
 * never a silent drop. Sizes are bytes unless the name says otherwise.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <assert.h>
#include <stdint.h>

/* --- memory ------------------------------------------------------------------------------------------------------ */
#define ARENA_BLOCK_SIZE        (64u * 1024)     /* first block; later ones double, so a large arena has few blocks */
#define ARENA_BLOCK_SIZE_MAX    (4u << 20)       /* beyond this doubling wastes more than it saves */

/* --- values and JSON --------------------------------------------------------------------------------------------- */
#define JSON_SIZE_MAX           (256u << 20)     /* one JSON text; requests have tighter limits of their own */
#define JSON_DEPTH_MAX          512u             /* arrays and objects inside one another: recursion over a value is bounded */
#define NUMBER_EXPONENT_MAX     10000            /* written or scientific, either sign: 1e10000 is accepted, 1e10001 not */
#define VALUE_COUNT_MAX         (1u << 28)       /* items of one container */

/* --- JSON Schema ------------------------------------------------------------------------------------------------- */
#define SCHEMA_NODE_COUNT_MAX   (1u << 16)       /* subschemas of one document */
#define SCHEMA_DEPTH_MAX        256u             /* subschemas applied inside one another while validating */
#define SCHEMA_STEP_COUNT_MAX   (1u << 26)       /* keyword evaluations for one instance: stops exponential schemas */
#define SCHEMA_ERROR_COUNT_MAX  64u              /* violations reported for one instance */
#define PATTERN_SIZE_MAX        4096u            /* one regular expression */
#define PATTERN_STEP_COUNT_MAX  (1u << 20)       /* backtracking steps of one match */

/* --- definitions ------------------------------------------------------------------------------------------------- */
#define DEFINITION_SIZE_MAX     (64u << 20)      /* one file: a 100,000-step workflow is about 15 MB of YAML */
#define DEFINITION_DEPTH_MAX    128u             /* nesting of one file; a step tree uses two levels a step */
#define DEFINITION_NODE_COUNT_MAX (1u << 24)     /* nodes of one file, aliases counted as what they stand for */
#define DIAGNOSTIC_COUNT_MAX    1000u            /* reported for one file; the rest are counted */
#define NAME_SIZE_MAX           128u             /* names of workflows, jobs, tasks, artifacts, signals, params, labels */
#define TEXT_SIZE_MAX           (16u * 1024)     /* a description, a message, a label's value */
#define CONDITION_SIZE_MAX      (8u * 1024)      /* one condition */
#define PLAN_STEP_COUNT_MAX     (1u << 20)       /* a million steps in one plan; measured at 100,000 */
#define PLAN_EDGE_COUNT_MAX     (1u << 23)
#define PLAN_SIZE_MAX           (512u << 20)     /* a plan in its stored form */
#define ATTEMPT_COUNT_MAX       1000u            /* tries of one step run */
#define ITERATION_COUNT_MAX     100000u          /* of one guarded cycle */
#define DURATION_MS_MAX         (INT64_C(1000) * 60 * 60 * 24 * 3660)   /* ten years */

/* --- ids --------------------------------------------------------------------------------------------------------- */
#define ID_SIZE                 21u              /* characters of a public id */
#define ID_TIME_SIZE            8u               /* of these, the leading ones of a run id that hold milliseconds */

static_assert(JSON_DEPTH_MAX >= DEFINITION_DEPTH_MAX, "a definition's values must be printable as JSON");

#endif
