#include "os/zone.h"

#include "harness/test.h"

TEST(a_zone_of_the_machine_is_read_and_kept, "")
{
    Zones *zones = zones_open(NULL);
    ZoneSource source = zones_source(zones);
    Str bytes = source.read(source.owner, STR("Europe/Berlin"));
    Timezone zone;
    Error err;
    if (!bytes.len) NOT_RUN("this machine has no time zone database");
    EXPECT_OK(timezone_read(bytes, &zone, &err), &err);
    EXPECT_INT(timezone_at(&zone, 1700000000).offset_s, 3600);
    EXPECT(source.read(source.owner, STR("Europe/Berlin")).ptr == bytes.ptr);
    zones_close(zones);
}

TEST(what_is_no_zone_is_not_found, "")
{
    static const char *const names[] = { "Europe/Nowhere", "../../etc/passwd", "/etc/passwd", "", "Europe", "Europe/", ".", "a//b" };
    Zones *zones = zones_open(NULL);
    ZoneSource source = zones_source(zones);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ROW(names[i]);
        EXPECT_INT(source.read(source.owner, str_of(names[i])).len, 0);
    }
    zones_close(zones);
    zones = zones_open("/nowhere");
    source = zones_source(zones);
    EXPECT_INT(source.read(source.owner, STR("Europe/Berlin")).len, 0);
    zones_close(zones);
    zones_close(NULL);
}
