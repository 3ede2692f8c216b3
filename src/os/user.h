/* user.h - whom the operating system knows this process as. Not by a variable, which anybody sets to what he likes.
 *
 * Owns: the name lives in the arena given.     Fails: never.     Thread: any.
 */
#ifndef OS_USER_H
#define OS_USER_H

#include "base/arena.h"

/* The name of the user that the process acts as; its number where it has no name. */
Str user_name(Arena *arena);

#endif
