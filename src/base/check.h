/* check.h - assertions that stay on in release builds.
 *
 * CHECK catches our own bugs: the process stops at once, because the ledger makes restarting safe and going on unsafe.
 * Mistakes of users, networks and disks are never checked this way; they travel as a Status (base/status.h).
 */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#define CHECK(condition) \
    do { \
        if (__builtin_expect(!(condition), 0)) check_failed(#condition, __FILE__, __LINE__); \
    } while (0)

/* Prints the condition and its place to standard error and aborts. */
_Noreturn void check_failed(const char *condition, const char *file, int line);

#endif
