#include "os/usage.h"

#include <dirent.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"

#define STAT_SIZE 1024

/* The fields of /proc/self/stat behind the name, which may hold anything: from 3 up, see proc(5). */
static bool read_stat(double fields[], int first, int last)
{
    char text[STAT_SIZE];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file) return false;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    char *at = strrchr(text, ')');
    for (int i = 3; at && i <= last; i++) {
        at = strchr(at + 1, ' ');
        if (at && i >= first) (void)sscanf(at, "%lf", &fields[i]);
    }
    return at != NULL;
}

static uint32_t count_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    uint32_t count = 0;
    if (!directory) return 0;
    for (const struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    closedir(directory);
    return count - 1;                       /* the directory's own */
}

static double boot_s(void)
{
    struct timespec wall, since_boot;
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return (double)(wall.tv_sec - since_boot.tv_sec) + (double)(wall.tv_nsec - since_boot.tv_nsec) / 1e9;
}

Usage usage_read(void)
{
    enum { STAT_UTIME = 14, STAT_STIME = 15, STAT_THREADS = 20, STAT_BEGAN = 22, STAT_VIRTUAL = 23, STAT_RESIDENT = 24, STAT_END };
    double fields[STAT_END] = { 0 }, ticks = (double)sysconf(_SC_CLK_TCK);
    struct rlimit limit = { 0 };
    if (!read_stat(fields, STAT_UTIME, STAT_RESIDENT) || getrlimit(RLIMIT_NOFILE, &limit)) return (Usage){ 0 };
    return (Usage){ .resident_size = (uint64_t)fields[STAT_RESIDENT] * (uint64_t)sysconf(_SC_PAGESIZE),
                    .virtual_size = (uint64_t)fields[STAT_VIRTUAL], .cpu_s = (fields[STAT_UTIME] + fields[STAT_STIME]) / ticks,
                    .began_s = boot_s() + fields[STAT_BEGAN] / ticks, .thread_count = (uint32_t)fields[STAT_THREADS],
                    .fd_count = count_descriptors(),
                    .fd_count_max = limit.rlim_cur > UINT32_MAX ? UINT32_MAX : (uint32_t)limit.rlim_cur };
}

void usage_return_large(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, HEAP_LARGE_SIZE);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEPT_SIZE);      /* else it would give back, and take again, with every batch */
#endif
}

void usage_return_all(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, ARENA_BLOCK_SIZE);
#endif
}

void usage_trim(void)
{
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
