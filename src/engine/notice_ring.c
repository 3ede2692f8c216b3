#include "engine/notice_ring.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/ring.h"
#include "os/wake.h"

/* One block of exactly the size that its notice needs: most notices are a line or a number, and an arena's usual block
 * would be a hundred times that. */
typedef struct Entry {
    Notice notice;
    Arena arena;
    size_t size;
} Entry;

struct NoticeRing {
    Ring ring;
    Wake wake;
    atomic_size_t size;                 /* bytes of all entries inside */
    Entry *taken;                       /* the one that the engine is looking at */
};

static bool ring_notice(void *context, const Notice *notice);
static size_t notice_size(const Notice *notice);
static void entry_fill(Entry *entry, const Notice *notice);
static void entry_free(NoticeRing *ring, Entry *entry);

Status notice_ring_open(uint32_t count_max, NoticeRing **out_ring, Error *err)
{
    NoticeRing *ring = calloc(1, sizeof *ring);
    CHECK(ring != NULL);
    Status status = wake_open(&ring->wake, err);
    if (status) {
        free(ring);
        return status;
    }
    ring_init(&ring->ring, count_max ? count_max : NOTICE_COUNT_DEFAULT);
    atomic_init(&ring->size, 0);
    *out_ring = ring;
    return OK;
}

void notice_ring_close(NoticeRing *ring)
{
    if (!ring) return;
    Notice rest;
    while (notice_ring_take(ring, &rest)) continue;
    wake_close(&ring->wake);
    ring_deinit(&ring->ring);
    free(ring);
}

NoticeSink notice_ring_sink(NoticeRing *ring)
{
    return (NoticeSink){ ring_notice, ring };
}

int notice_ring_fd(const NoticeRing *ring)
{
    return wake_fd(&ring->wake);
}

void notice_ring_lower(NoticeRing *ring)
{
    wake_lower(&ring->wake);
}

bool notice_ring_is_raised(const NoticeRing *ring)
{
    return wake_is_raised(&ring->wake);
}

bool notice_ring_take(NoticeRing *ring, Notice *out_notice)
{
    if (ring->taken) entry_free(ring, ring->taken);
    ring->taken = ring_take(&ring->ring);
    if (!ring->taken) return false;
    *out_notice = ring->taken->notice;
    return true;
}

static bool ring_notice(void *context, const Notice *notice)
{
    NoticeRing *ring = context;
    size_t size = sizeof(Entry) + notice_size(notice);
    size_t before = atomic_fetch_add(&ring->size, size);
    if (before > 0 && before + size > NOTICE_SIZE_MAX) {
        atomic_fetch_sub(&ring->size, size);
        return false;
    }
    Entry *entry = malloc(sizeof *entry);
    CHECK(entry != NULL);
    entry->size = size;
    entry_fill(entry, notice);
    if (!ring_put(&ring->ring, entry)) {
        entry_free(ring, entry);
        return false;
    }
    wake_raise(&ring->wake);
    return true;
}

static void entry_free(NoticeRing *ring, Entry *entry)
{
    atomic_fetch_sub(&ring->size, entry->size);
    arena_deinit(&entry->arena);
    free(entry);
}

#define BLOCK_EXTRA 64u

static size_t text_size(Str text)
{
    return text.len ? text.len + VALUE_COPY_EXTRA : 0;
}

static size_t notice_size(const Notice *notice)
{
    return value_copy_size(notice->value) + value_copy_size(notice->report.output) + text_size(notice->report.message)
         + text_size(notice->name) + text_size(notice->text) + text_size(notice->tenant);
}

static Str text_copy(Arena *arena, Str text)
{
    return text.len ? arena_copy(arena, text) : (Str){ 0 };
}

/* A small notice gets one block of just its size; a large one whole blocks, of which the last may stay empty in part. */
static void entry_fill(Entry *entry, const Notice *notice)
{
    size_t size = entry->size + BLOCK_EXTRA;
    arena_init(&entry->arena, size < ARENA_BLOCK_SIZE ? size : SIZE_MAX);
    entry->notice = *notice;
    Notice *copy = &entry->notice;
    copy->value = value_copy(&entry->arena, notice->value);
    copy->report.output = value_copy(&entry->arena, notice->report.output);
    copy->report.message = text_copy(&entry->arena, notice->report.message);
    copy->name = text_copy(&entry->arena, notice->name);
    copy->text = text_copy(&entry->arena, notice->text);
    copy->tenant = text_copy(&entry->arena, notice->tenant);
}
