#include "os/user.h"

#include <pwd.h>
#include <unistd.h>

#define ENTRY_SIZE_MAX 16384u           /* texts of one entry */

Str user_name(Arena *arena)
{
    char texts[ENTRY_SIZE_MAX];
    struct passwd entry, *found = NULL;
    uid_t user = geteuid();
    bool is_named = getpwuid_r(user, &entry, texts, sizeof texts, &found) == 0 && found && found->pw_name[0];
    return is_named ? arena_copy(arena, str_of(found->pw_name)) : arena_format(arena, "%lu", (unsigned long)user);
}
