/* banned.h - calls that are compile errors in this project.
 *
 * Each of these has a bounded, re-entrant or checked counterpart in base/ or os/. Every translation unit sees this file
 * through the compiler's -include option, after the system headers it needs have been declared by themselves: the
 * poison applies to uses in our own text, never to the headers of libc.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok atoi atol atoll atof
/* Reads up to a NUL that a slice does not have, as far as the sanitizers are concerned; str_text_new() does not. */
#undef strndup
#pragma GCC poison strndup
#pragma GCC poison gmtime localtime ctime asctime rand srand tmpnam mktemp
/* The locale and the sign of char decide what these answer; base/str.h has the ASCII ones. */
#undef alloca
#undef isalpha
#undef isdigit
#undef isalnum
#undef isspace
#undef isupper
#undef islower
#undef tolower
#undef toupper
#pragma GCC poison alloca isalpha isdigit isalnum isspace isupper islower tolower toupper

#endif
