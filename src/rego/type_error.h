/* type_error.h - what the type checker has to say, in the words and lines that Rego's users know.
 *
 *   undefined ref: data.a.p.x              the reference, a mark under what is wrong with it,
 *           data.a.p.x                     what is there and what could be
 *                    ^
 *                    have: "x"
 *                    want (one of): ["y"]
 *
 * References are shown with every name resolved; what the compiler took out of an expression stands in its place again.
 *
 * Owns: nothing.     Fails: never; entries go to Names.errors.     Thread: one.
 */
#ifndef REGO_TYPE_ERROR_H
#define REGO_TYPE_ERROR_H

#include "rego/plan.h"
#include "rego/types.h"

/* `position` is the item of the reference that is wrong. `have` NULL: the item itself is shown. `names` are keys that
 * would be right, an array or set; where there are none `want` is said, and where that is NULL, that there are none. */
void type_error_key(const Names *names, const FlatUnit *unit, const FlatTerm *ref, uint32_t position, const Type *have,
                    const Type *want, Value keys);
/* Nothing can be looked up in the item at `position`, which is of type `have`. */
void type_error_ref(const Names *names, const FlatUnit *unit, const FlatTerm *ref, uint32_t position, const Type *have);
void type_error_match(const Names *names, RegoLoc loc, const Type *left, const Type *right);
void type_error_call(const Names *names, RegoLoc loc, Str function, const char *what, const TypeParam *have,
                     uint32_t have_count, const TypeParam *want, uint32_t want_count);

#endif
