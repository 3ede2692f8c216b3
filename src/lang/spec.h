/* spec.h - the tables of definitions as a JSON Schema, for editors and other programs.
 *
 * spec/definition.schema.json is what this writes; a test keeps the two equal. The schema accepts what the tables accept;
 * what needs more than one place (references, cycles, known names) only the compiler knows.
 *
 * Owns: the value lives in the arena.     Fails: never.     Thread: pure, any.
 */
#ifndef LANG_SPEC_H
#define LANG_SPEC_H

#include "base/arena.h"
#include "value/value.h"

Value spec_definition(Arena *arena);            /* workflows, step trees and runbooks */
Value spec_config(Arena *arena);                /* runners.yaml */
Value spec_server(Arena *arena);                /* what `maestro server --config` takes */

#endif
