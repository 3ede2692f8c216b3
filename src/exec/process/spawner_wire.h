/* spawner_wire.h - what the engine and its spawner say to one another: one message of the socket each.
 *
 * Both ends are one program, forked: plain structs, no byte order, no versions.
 */
#ifndef EXEC_PROCESS_SPAWNER_WIRE_H
#define EXEC_PROCESS_SPAWNER_WIRE_H

#include <stdint.h>

typedef enum WireKind { WIRE_START, WIRE_SIGNAL } WireKind;

/* To the spawner; the texts of a start follow it, its descriptors lie beside it. */
typedef struct WireRequest {
    uint32_t kind, slot;
    uint32_t arg_count, variable_count, has_directory;
    int32_t signal;
    uint64_t memory_size_max, cpu_s_max;
} WireRequest;

/* The whole life of the spawner: returns when the engine is gone and everything has ended. `fd` is its end of the socket,
 * the only descriptor it needs beside the lock's, which it has just to have it. */
void spawner_live(int fd, const char *scratch);
/* The directory, with the files and empty directories in it. Harmless where it is gone. */
void spawner_scratch_remove(const char *scratch);

#endif
