/* zone.h - the time zones that the machine knows.
 *
 * Zones are files of the IANA database below one directory. Each is read when it is first asked for and kept; a name that
 * is no name of a zone is never looked up, so that none leads out of the directory.
 *
 * Owns:   what was read, in an arena of its own, until zones_close().
 * Fails:  never; a zone that cannot be read is one that is not known.
 * Bounds: ZONE_SIZE_MAX a file, ZONE_COUNT_MAX of them.
 * Thread: any number; a lock is held while a zone is read or found.
 */
#ifndef OS_ZONE_H
#define OS_ZONE_H

#include "base/timezone.h"

typedef struct Zones Zones;

/* `directory` is usually ZONE_DIRECTORY; NULL asks $TZDIR and then takes that one. */
Zones     *zones_open(const char *directory);
void       zones_close(Zones *zones);           /* NULL is permitted */
ZoneSource zones_source(Zones *zones);

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

#endif
