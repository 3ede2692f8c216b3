#include "os/usage.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "harness/test.h"

TEST(a_process_knows_what_it_takes, "")
{
    Usage before = usage_read();
    EXPECT(before.resident_size > 4096 && before.virtual_size >= before.resident_size);
    EXPECT(before.thread_count >= 1);
    EXPECT(before.began_s <= (double)time(NULL) + 1 && before.began_s > 1e9);
    EXPECT(before.fd_count >= 1 && before.fd_count <= before.fd_count_max);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_INT(usage_read().fd_count, before.fd_count + 1);
    close(fd);
    volatile uint64_t sum = 0;
    for (uint64_t i = 0; usage_read().cpu_s <= before.cpu_s && i < 1000000; i++) sum += i;
    EXPECT(usage_read().cpu_s > before.cpu_s);
}
