#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "maestro: internal error: %s is not so, at %s:%d\n", condition, file, line);
    abort();
}
