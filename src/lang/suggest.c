#include "lang/suggest.h"

#include "base/limits.h"

#define COMPARED_MAX 40u            /* longer names are compared by their first letters: a typo is seldom so late */

static unsigned fold(Str text, char out[COMPARED_MAX])
{
    unsigned count = 0;
    for (size_t i = 0; i < text.len && count < COMPARED_MAX; i++) {
        char c = ascii_to_lower(text.ptr[i]);
        if (c != '-' && c != '_' && c != '.' && c != ' ') out[count++] = c;
    }
    return count;
}

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Optimal string alignment over three rows. */
static unsigned distance(Str a, Str b)
{
    char x[COMPARED_MAX], y[COMPARED_MAX];
    unsigned m = fold(a, x), n = fold(b, y);
    unsigned rows[3][COMPARED_MAX + 1];
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];
    for (unsigned j = 0; j <= n; j++) above[j] = j;
    for (unsigned i = 1; i <= m; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            unsigned cost = x[i - 1] != y[j - 1];
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[n];
}

Suggestion suggest_begin(Str wanted)
{
    unsigned size = wanted.len < COMPARED_MAX ? (unsigned)wanted.len : COMPARED_MAX;
    return (Suggestion){ .wanted = wanted, .distance = least(size / 3 + 2, size) };
}

void suggest_offer(Suggestion *suggestion, Str known)
{
    if (suggestion->wanted.len > NAME_SIZE_MAX || known.len > NAME_SIZE_MAX) return;
    size_t longer =
        known.len > suggestion->wanted.len ? known.len - suggestion->wanted.len : suggestion->wanted.len - known.len;
    if (longer > suggestion->distance + 4) return;
    unsigned found = distance(suggestion->wanted, known);
    if (found >= suggestion->distance) return;
    suggestion->distance = found;
    suggestion->best = known;
}
