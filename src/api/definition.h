/* definition.h - a definition that was sent: read, compiled, or refused with its mistakes.
 *
 * It takes long and much, so it is bounded more tightly than a file that a command reads, and compiled beside the server's thread: aside.h.
 *
 * Owns:   what comes of it lives in the arena of the call given, and points into its body.
 * Fails:  by answers: 413 beyond API_DEFINITION_SIZE_MAX, 400 with every mistake, among them API_DEFINITION_NODE_COUNT_MAX and
 *         API_COMPILE_SIZE_MAX by name.
 * Thread: any, of a copy; the server's.
 */
#ifndef API_DEFINITION_H
#define API_DEFINITION_H

#include "api/call.h"
#include "lang/compile.h"

typedef struct Definition {
    Str text;                       /* as its author wrote it */
    Compiled compiled;
    Str document;                   /* of its plan, canonical; of definition_document() */
    Digest digest;                  /* of that */
} Definition;

/* Whether the body is small enough for one; false after answering. */
bool definition_fits(Call *call);
/* The definition of a body: YAML or JSON as it is, or {"definition": "text"}, compiled; there may be mistakes. False after answering. */
bool definition_compile(Call *call, Definition *out);
/* The same of a text that came otherwise. */
bool definition_compile_text(Call *call, Str text, TextFormat format, Definition *out);
/* Answers what is wrong with one that is no plan; false: nothing is. */
bool definition_is_refused(Call *call, const Definition *definition);
/* Answers that it belongs to 'default' since it does not say whose it is, where `tenant` is meant; false: it says so, or is of that tenant. What
 * was sent decides that alone, so that nobody learns from it what there is of others. */
bool definition_is_unnamed(Call *call, const Definition *definition, Str tenant);
/* The document of its plan, and its digest. */
MUST_USE Status definition_document(Call *call, Definition *definition, Error *err);
/* The same, which is read for the engine, too; false after answering. The copy of the call has what was read, until: */
bool definition_print(Call *copy, Definition *definition);
/* It goes with the petition that follows at once. */
void definition_hand_over(Call *call, Call *copy);
/* The digest of the plan of a text that came otherwise; false where it has mistakes, or after answering that it is too large. */
bool definition_digest(Call *call, Str text, Digest *out);

#endif
