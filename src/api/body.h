/* body.h - the members that a body of JSON may have, and what is wrong with those that it has.
 *
 * Whoever sends a body is told its mistakes by their places, and not one after the other: what is found is collected and answered at once.
 *
 * Owns:   nothing; what is found lives in the arena of the call.
 * Fails:  by answers.     Bounds: API_FINDING_COUNT_MAX are told.     Thread: the server's.
 */
#ifndef API_BODY_H
#define API_BODY_H

#include "api/aside.h"
#include "api/call.h"
#include "base/limits.h"

/* Of VALUE_NULL any kind is right. A text has no U+0000, unless it is raw: a value, and not a name or words. */
typedef struct BodyMember {
    const char *name;
    ValueKind kind;
    bool is_required, is_raw;
    bool is_texts;                  /* a list of texts, none of them empty, and so many: */
    uint32_t item_count_min, item_count_max;        /* 0: any number */
    const char *item_limit;         /* the name of item_count_max */
    uint32_t item_size_max;         /* bytes of each; 0: any number */
} BodyMember;

typedef struct BodyFindings { Call *call; ProblemField fields[API_FINDING_COUNT_MAX]; uint32_t count; } BodyFindings;

/* Reads it as JSON, a large one beside the server's thread, and then goes on, be there JSON or not: call_parse() has the value, or what is wrong with
 * it, at once. `copy`: as of AsideDone; NULL where there was none. */
void body_read(Call *call, AsideDone done);
/* The same of a copy, in the aside's thread, behind other work. */
void body_read_beside(Call *copy);

/* Notes one, unless there are as many as are told. The text goes on behind the place: "is missing". */
void body_find(BodyFindings *found, Str pointer, const char *format, ...) PRINTF_LIKE(3, 4);
/* Notes a text that is none of these; NULL ends them. One that is not there is right. */
void body_find_word(BodyFindings *found, Value body, const char *name, const char *const *words);
bool body_is_full(const BodyFindings *found);           /* as many as are told: nobody needs to look any further */
/* Whether there is none; false after answering them. */
bool body_is_right(const BodyFindings *found);
/* Answers that this one member is wrong; false. */
bool body_refuse(Call *call, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);

/* Answers an error that is one of this member's, by its Status. */
void body_error(Call *call, const char *name, const Error *err);

/* Members that are of another kind than they have to be, those that nobody knows, and those that are missing. False after answering. */
bool body_check(Call *call, Value body, const BodyMember *known, uint32_t count);

#endif
